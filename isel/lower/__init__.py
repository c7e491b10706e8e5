"""LLVM IR that PTX has no instruction for, rewritten as LLVM IR that it has instructions for.

Layer: isel.lower, between isel.llvm and isel.select.  `module` and `function` say what is rewritten
and in which order; the rooms hold the rewritings, by what they are about.
"""
