"""Hardware limits: threads, CTAs of a cluster, shared and tensor memory.

Layer: intrinsics.  What differs from target to target is `Target`'s own.  PTX ISA, Tensor Memory;
mbarrier, Contents of the mbarrier object; CUDA C++ Programming Guide, Technical Specifications per
Compute Capability.
"""

from __future__ import annotations

MOST_THREADS = 1024
"""Threads of a CTA."""

PORTABLE_CLUSTER = 8
"""CTAs of a cluster that every GPU with clusters can run."""

FEWER_PARAMETER_BYTES, MOST_PARAMETER_BYTES = 4352, 32_764
"""Bytes of all parameters of a kernel before PTX 8.1, and since.  PTX ISA, Kernel Function
Parameters."""

MOST_CLUSTER = 16
"""CTAs of a cluster that some GPUs can run, when they are asked to."""

STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that ptxas lets a kernel declare but for targets `a` (sm_90a), and that a
launch may have without asking for more."""

MOST_SHARED = 227 * 1024
"""Bytes of shared memory that a CTA can have on sm_90 and sm_100, which have most."""

CONSTANT_BYTES = 64 * 1024
"""Bytes of all constant variables of a module.  PTX ISA, Constant State Space."""

REGISTERS = 1 << 16
"""Registers of 32 bits of a multiprocessor, for all of its CTAs."""

WARPGROUP_WARPS = 4
"""Warps of a warpgroup; the number of its first is a multiple of it.  PTX ISA, Warpgroup."""

LANES, COLUMNS = 128, 512
"""Lanes and columns of the tensor memory of a multiprocessor, of 32 bits each."""

TENSOR_COPY_ALIGNMENT = 128
"""Bytes that a tensor copy's shared address is a multiple of; an H200 traps on less, swizzled or
not."""

BULK_COPY_ALIGNMENT = 16
"""Bytes that a bulk copy's addresses and size are multiples of."""

MATRIX_ROW_BYTES = 16
"""Bytes of a matrix row of ldmatrix and stmatrix, of whose multiple its address is."""

COORDINATE_BYTES = 16
"""Bytes of whose multiple the innermost coordinate of a tensor copy is; an H200 traps otherwise."""

FEWEST_COLUMNS = 32
"""Columns of the smallest allocation."""

MOST_TX = (1 << 20) - 1
"""Bytes that a phase of an mbarrier may still expect; as many arrivals, too."""
