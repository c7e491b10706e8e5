"""LLVM's optimiser around asynchronous operations: none is moved or lost, by what LLVM IR says."""
