"""The builder: kernels written in Python, as LLVM IR.  Its public names are those of `nvgen`."""
