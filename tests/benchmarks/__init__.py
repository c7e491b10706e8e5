"""Times, counts and machine code beside LLVM, ptxas, torch and Triton: run by hand."""
