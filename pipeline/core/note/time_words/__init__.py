"""Read times in English and Chinese, one module for each kind of time; `reading.read_times` reads them all."""
