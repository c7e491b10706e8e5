"""Wide and odd integers, and calls of LLVM's arithmetic: values are those of LLVM or of Python."""
