"""Kernels in Python: which LLVM IR they are, what is refused, with the caller's line."""
