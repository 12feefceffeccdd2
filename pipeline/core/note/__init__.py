"""Standing notes: a sentence of the operator, read once into what code can check."""
