"""What is said of an incident: templates, the grammar of a sentence, and the proof that it says only facts."""
