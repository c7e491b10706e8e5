"""LLVM IR to machine records: what LLVM's own printer, verifier and code say of the same text."""
