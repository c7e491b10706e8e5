"""What kernels compute with: numbers, vectors and addresses, and where each may be used."""
