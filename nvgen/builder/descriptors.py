"""Matrix descriptors that a kernel computes.

Layer: nvgen.builder.  PTX ISA, Shared memory descriptor; Asynchronous Warpgroup Level Matrix Shared
Memory Layout, Matrix Descriptor Format.
"""

from __future__ import annotations

from nvgen.builder.numbers import Int, IntLike


def advanced(descriptor: Int, offset: IntLike) -> Int:
    """The descriptor of the same layout `offset` bytes further on, a multiple of 16.

    Addresses lie in the low bits in units of 16 bytes, so one addition moves them.
    """
    if isinstance(offset, Int):
        return descriptor + (offset >> 4).zext(64)
    return descriptor + (offset >> 4) if offset else descriptor
