"""What a period amounts to: incidents in groups, each told in a sentence of counts."""
