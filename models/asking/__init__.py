"""What language models are asked: prompts, and the answers that count. Only text of facts goes in."""
