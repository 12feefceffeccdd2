"""Times in plain language, English and Chinese, each kind in a module of its own; `reading.read` reads them all."""
