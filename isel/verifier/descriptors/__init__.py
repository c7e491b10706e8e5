"""The contents of descriptors, masks and counts, where they are known.

ptxas does not check them.  A value that is a literal, or that comes through registers, is traced
back bit by bit (known-bits analysis), and checked against the instruction that takes it.
"""
