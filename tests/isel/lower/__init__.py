"""What the machine has not is taken apart: values are those of LLVM's code on the host."""
