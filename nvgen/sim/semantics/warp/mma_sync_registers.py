"""mma: registers of a warp as elements of matrices, and back.

Layer: nvgen.sim.semantics.  Elements of less than 32 bits fill a register from its lowest bits on.
Narrow elements of kind::f8f6f4 and kind::mxf8f6f4 have a byte each: four bits stand in its middle,
six at its low end.  The other bits of the byte are ignored here; what they do is not documented.
PTX ISA, mma; Matrix Fragments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.layouts.fragments_mma import Indices
from intrinsics.mir import MachineInstr, Op
from intrinsics.modifiers import Modifier, ScalarType
from intrinsics.modifiers.wgmma import MatrixType
from nvgen.sim.faults import fault
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.machine import Strand, Warp

Bits: TypeAlias = NDArray[np.unsignedinteger]
"""Bits of elements, right-aligned, or of registers."""

Registers: TypeAlias = Callable[[Warp], Bits]
"""The elements of an operand: 32 threads by elements."""

FOURS = (MatrixType.S4, MatrixType.U4)
_BITS: dict[Modifier, int] = {MatrixType.B1: 1, **dict.fromkeys(FOURS, 4), ScalarType.F64: 64}
_CONTAINED = {4: (2, 0xF), 6: (0, 0x3F)}
"""Where elements of 4 and 6 bits stand in a byte, and which bits they have."""


def bits_of(type_: object, *, packed: bool = False) -> int:
    """Bits of an element of A or B in a register; with `packed`, 4-bit elements are packed."""
    assert isinstance(type_, Modifier)
    return 4 if packed else _BITS.get(type_) or max(ElementType(type_.value).bits, 8)


def elements(c: Compiler, op: Op, type_: ScalarType, bits: int) -> Registers:
    """The elements, `bits` each, in an operand's registers, the lowest ones first."""
    assert isinstance(op, tuple)
    parts = [c.get(part, type_) for part in op]

    def read(warp: Warp) -> Bits:
        return _cut(np.stack([part(warp) for part in parts], axis=1), bits)

    return read


def _cut(registers: Bits, bits: int) -> Bits:
    """(32, registers) to (32, elements)."""
    if registers.dtype.itemsize * 8 == bits:
        return registers
    if bits in _WHOLE:
        return np.ascontiguousarray(registers, np.uint32).view(_WHOLE[bits])
    each = 32 // bits
    shifts = np.arange(each, dtype=np.uint32) * np.uint32(bits)
    parts = registers[:, :, None].astype(np.uint32) >> shifts & np.uint32((1 << bits) - 1)
    return parts.reshape(len(registers), -1)


_WHOLE = {8: np.uint8, 16: np.uint16}
"""Types of numpy that registers consist of."""


def out_of_bytes(codes: Bits, type_: Modifier) -> Bits:
    """The codes of a narrow type in the bytes that contain them."""
    shift, mask = _CONTAINED.get(ElementType(type_.value).bits, (0, 0xFF))
    return codes >> np.uint32(shift) & np.uint32(mask)


def writer(c: Compiler, op: Op, bits: int) -> Callable[[Strand, Bits], None]:
    """Write elements, `bits` each, to the registers of an operand; `_` takes nothing."""
    assert isinstance(op, tuple)
    setters = [c.set(part) if type(part) is int else None for part in op]

    def write(strand: Strand, found: Bits) -> None:
        registers = found
        if bits == 16:
            words = found.astype(np.uint32)
            registers = words[:, ::2] | words[:, 1::2] << np.uint32(16)
        for number, setter in enumerate(setters):
            if setter is not None:
                setter(strand, registers[:, number])

    return write


def matrices(held: Bits, at: tuple[Indices, ...], shape: tuple[int, ...]) -> Bits:
    """The matrix, or several, whose elements the threads hold."""
    found = np.zeros(shape, held.dtype)
    found[at] = held
    return found


def too_few(mi: MachineInstr, strand: Strand) -> Exception:
    """The error about a multiply that not all threads of a warp execute."""
    return fault(
        "partial-warp",
        f"{mi.row.head} by a warp of fewer than 32 threads",
        got=f"lanes {strand.mask:#010x}",
        expected="32 threads, each with its part of the matrices",
        hint="launch blocks of a multiple of 32 threads",
        section=mi.row.section,
    )
