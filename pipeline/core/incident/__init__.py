"""What happens in front of a camera: from movement to the start, the facts and the end of an incident."""
