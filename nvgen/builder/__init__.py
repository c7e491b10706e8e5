"""The builder: kernels written in Python, as LLVM IR.  Its public names are those of `nvgen`.

`KernelBuilder`, in `kernel`, is one class: it has parameters and a body, functions on the device,
and the verbs of the rooms below, each of which imports those before it:

    values         numbers, vectors, addresses, variables
    instructions   a method for each instruction,            BuilderBase, Verbs, Atomics,
                   branches, loops, roles                    ControlFlow, Roles
    shared_memory  tiles, mbarriers, rings, copies           SharedMemory, Protocols, Reductions,
                                                             TileCopies
    fragments      matrices in registers
    multiplies     D = A·B of tiles, on each target
    builder        verbs of tiles, functions, parameters     TileOperations, DeviceCalls
"""
