"""Integers of any width to records: arithmetic, comparison, and LLVM's intrinsics on them."""
