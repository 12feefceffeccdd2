"""Ask language models: prompts, sentences, digests, scores of notes. Prompts contain only text of facts."""
