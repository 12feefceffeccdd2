"""What was measured of a language model on a device, and with which incidents."""
