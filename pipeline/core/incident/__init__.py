"""What happens in front of a camera: from movement to the start, the facts and the end of an incident.

Whatever follows a thing from picture to picture is here: `regions` (what moves), `track` (what an incident is about),
`standing` (what stopped), `things` (what is known of each).
"""
