"""isel: how LLVM IR becomes machine records, and whether they are right."""
