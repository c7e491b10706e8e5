"""Kernels of Triton and numba for samples 15 and 16, and the comparison of two compilers."""
