"""The builder: kernels written in Python, as LLVM IR.  Its public names are those of `nvgen`.

`KernelBuilder`, in `kernel`, is one class whose bases stand in rooms.  Each room imports those
before it: `values`, `verbs`, `control`, `shared_memory`, `fragments`, `multiplies`.
"""
