"""Addresses and spaces that are taken apart, against LLVM's values and data layout."""
