"""Vectors that are taken apart: values are those of LLVM on the host."""
