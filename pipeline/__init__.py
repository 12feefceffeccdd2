"""fieldwatch: what a camera sees, as structured events."""
