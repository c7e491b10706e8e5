"""The builder: kernels written in Python, as LLVM IR.  Its public names are those of `nvgen`.

`KernelBuilder`, in `kernel`, is one class, each of whose bases is in the room that its verbs belong
to.  A room imports those before it:

    values         numbers, vectors, addresses, variables    BuilderBase
    verbs          a method for each instruction             Verbs, Atomics
    control        branches, loops, roles, functions         ControlFlow, Roles, DeviceCalls
    shared_memory  tiles, mbarriers, rings, copies           SharedMemory, Protocols, Reductions,
                                                             TileCopies
    fragments      matrices in registers
    multiplies     D = A·B of tiles, on each target          TileOperations
"""
