"""Where matrix elements lie: swizzled shared memory, and the lanes of tensor memory.

Layer: intrinsics (numpy).  PTX ISA, Canonical Layouts, Shared Memory Layout and Swizzling (Table
53), Data Path Layout Organization, Matrix Fragments.  The manual draws the data-path layouts and
the fragments; the lanes of layouts D and F agree with CuTe's tensor-memory fragments for M = 128
and M = 64, and the fragments with its traits of tensor-memory copies.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import Major
from intrinsics.modifiers import LdStShape
from intrinsics.smem_desc import SharedMemoryDescriptor, Swizzle

Addresses = NDArray[np.int64]

_XOR = {Swizzle.NONE: 0, Swizzle.B32: 0x10, Swizzle.B64: 0x30, Swizzle.B128: 0x70}


def swizzle(addresses: Addresses, mode: Swizzle) -> Addresses:
    """The addresses where bytes really lie: bits 4.. are XORed with bits 7.. of the address.

    Raises: NotImplementedError for 128-byte swizzling with 32-byte atoms.
    """
    mask = _XOR.get(mode)
    if mask is None:
        raise NotImplementedError("128-byte swizzling with 32-byte atoms")
    return addresses ^ (addresses >> 3 & mask)


def matrix_addresses(
    descriptor: SharedMemoryDescriptor, rows: int, k: int, size: int, major: Major
) -> Addresses:
    """Byte addresses of the elements of a rows × k matrix, as an array of that shape.

    `size` is bytes an element.  The canonical layouts of the manual, in bytes: a K-major swizzled
    matrix has rows of the swizzle span, 8 of them in a group, groups SBO apart; an MN-major one has
    the same with rows and k exchanged, its spans LBO apart; without swizzling 16-byte pieces take
    the place of spans.
    """
    row = np.arange(rows, dtype=np.int64)[:, None]
    column = np.arange(k, dtype=np.int64)[None, :]
    span, swizzled = descriptor.swizzle.span, descriptor.swizzle is not Swizzle.NONE
    if major is Major.K:
        along, across = column * size, row
        far = 0 if swizzled else descriptor.lbo
        near_step, group_step = span, descriptor.sbo
    else:
        along, across = row * size, column
        far = descriptor.lbo if swizzled else descriptor.sbo
        near_step, group_step = span, descriptor.sbo if swizzled else descriptor.lbo
    in_one_span = major is Major.K and swizzled  # a whole row
    within = along if in_one_span else along % span + along // span * far
    offset = within + across % 8 * near_step + across // 8 * group_step
    return swizzle(descriptor.address + offset, descriptor.swizzle)


def accumulator_lanes(m: int, lane: int = 0) -> NDArray[np.int64]:
    """The tensor memory lane of each row of D (or A) of a dense MMA of one CTA.

    M = 128 is layout D, lane = row; M = 64 is layout F, sixteen lanes of each warp's 32, beginning
    at `lane` 0 or 16.
    """
    row = np.arange(m, dtype=np.int64)
    if m == 128:
        return row + lane
    return row // 16 * 32 + row % 16 + lane


def fragment_cells(
    shape: LdStShape, registers: int, half_split: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lane and the column of each thread's registers, counted from the instruction's address.

    Two arrays of 32 threads by `registers`, which broadcast where they do not depend on both.  In a
    shape of 16 lanes, what four threads hold is a row of one repetition, and rows 8 to 15 come from
    the next registers (in .16x64b from the odd threads); `half_split` is how many columns the
    second half of a .16x32bx2 lies behind the first.
    """
    thread = np.arange(32, dtype=np.int64)[:, None]
    register = np.arange(registers, dtype=np.int64)[None, :]
    match shape:
        case LdStShape.S32X32B:
            return thread, register
        case LdStShape.S16X64B:
            return thread // 4 + thread % 2 * 8, register * 2 + thread // 2 % 2
        case LdStShape.S16X128B:
            return thread // 4 + register % 2 * 8, register // 2 * 4 + thread % 4
        case LdStShape.S16X256B:
            column = register // 4 * 8 + thread % 4 * 2 + register % 2
            return thread // 4 + register // 2 % 2 * 8, column
        case LdStShape.S16X32BX2:
            return thread % 16, register + thread // 16 * half_split
    assert_never(shape)
