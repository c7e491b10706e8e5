"""What kernels compute with: numbers, vectors, addresses, variables, and the module they are in."""
