"""LLVM itself, kept in processes: what it parses, links and verifies, and what its errors say.

What newer and older compilers spell otherwise is put right here: behind this room all text is
LLVM 22's.  What llvmlite's modules in Python lack is here too.
"""
