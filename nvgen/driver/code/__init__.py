"""The code of kernels: what the driver loads, and machine code that is kept on disk."""
