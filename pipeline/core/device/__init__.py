"""The board: heat, load, memory, cores, energy, and what is given up under them."""
