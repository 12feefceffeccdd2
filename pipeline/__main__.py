"""`python -m pipeline` is the command `pipeline`."""

from pipeline.start import main

main()
