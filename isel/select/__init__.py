"""The selection table: LLVM IR to machine records, in SSA form."""
