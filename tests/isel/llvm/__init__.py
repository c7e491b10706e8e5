"""The reader of LLVM IR, against LLVM: each construct by example, a corpus by its binding."""
