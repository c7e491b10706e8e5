"""Source locations of instructions, in the user's text and in the source that debug info names.

`tokens` and `lines` cut the user's text into instructions, `align` matches them with the module
that LLVM made of it, and `debug` follows debug locations.
"""
