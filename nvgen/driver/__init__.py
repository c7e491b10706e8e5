"""Kernels on a GPU, through the CUDA driver.

Layer: nvgen.  `gpus` asks what is here, `images` makes the code that is loaded, `jobs` binds the
arguments of a launch, `device` loads, launches, waits and times.  Launches of host arrays happen in
`worker`, a process of their own that `client` can end: a kernel that never returns or that faults
takes nothing of the user's with it.
"""
