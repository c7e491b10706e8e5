"""What stands in descriptors, masks and counts, where it is known.

ptxas never looks into them.  A value that is a literal, or that comes to an instruction through
registers, is followed back to the numbers that it is made of, bit by bit, and judged against the
instruction that takes it.
"""
