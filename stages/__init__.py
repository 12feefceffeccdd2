"""The stages: each a function from a message to messages, with a warm-up."""
