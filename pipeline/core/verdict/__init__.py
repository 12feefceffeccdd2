"""What an incident means: rules decide from facts, and the note that speaks of it may change that."""
