"""Rules about whole functions: right kernels are clean, and each of their mistakes is found."""
