"""LLVM IR that PTX has no instruction for, rewritten as LLVM IR that it has instructions for.

Layer: isel.lower, between isel.llvm and isel.select.
"""
