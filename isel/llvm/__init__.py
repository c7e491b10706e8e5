"""LLVM IR as Python records: types, values, instructions, and the reader of LLVM's printed text.

Layer: isel.  Input: the text that LLVM prints for a module.  Output: `ir.Module`.
"""
