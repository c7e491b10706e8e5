"""The race detector: each order of the memory model, with what makes it and without."""
