"""The grammar of LLVM's text, each part at one place: tokens, types, values, instructions, symbols.

Layer: isel.llvm.  `instructions` says how lines are cut, and `kept` what their pieces mean.
"""
