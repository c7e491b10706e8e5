"""LLVM in processes of its own: what they answer, also when LLVM dies, hangs or is closed."""
