"""Random programs of ordinary LLVM IR: the host, the simulator and a GPU agree."""
