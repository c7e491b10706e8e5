"""What kernels execute: a method for each instruction, branches and loops, and roles of threads.

What an instruction's method takes follows from its row (`rows` of `intrinsics`) and LLVM's pattern
of it: `verb` derives it, `table` names those that have a name or a sentence of their own, and
`methods` makes them.
"""
