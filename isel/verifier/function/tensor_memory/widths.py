"""The columns and lanes of tensor memory that the shape of an instruction covers.

Layer: isel.verifier.function.  Input: shapes.  Output: columns of 32 bits, and masks of lanes
relative to the lane of the address.  PTX ISA, Data Movement Shape, Data Path Layout Organization,
Block Scaling, Sparse Matrices.
"""

from __future__ import annotations

from intrinsics.mir import Form
from intrinsics.modifiers import SCALED_KINDS, CopyShape, LdStNum, LdStShape, MmaKind
from isel.verifier.function.tensor_memory.matrices import MmaExtents

ALL_LANES = (1 << 128) - 1
_HALF_LANES = sum(0xFFFF << quarter for quarter in (0, 32, 64, 96))
"""Lanes 0 to 15 of each quarter: a layout that uses half of the datapath."""

REPEATED = {
    LdStShape.S16X64B: 2,
    LdStShape.S16X128B: 4,
    LdStShape.S16X256B: 8,
    LdStShape.S32X32B: 1,
    LdStShape.S16X32BX2: 1,
}
"""Columns of one repetition of a shape of tcgen05.ld and tcgen05.st."""

COPIED = {
    CopyShape.S128X256B: (8, ALL_LANES),
    CopyShape.S4X256B: (8, 1),
    CopyShape.S128X128B: (4, ALL_LANES),
    CopyShape.S64X128B: (4, ALL_LANES),
    CopyShape.S32X128B: (4, ALL_LANES),
}
"""Columns and lanes of a copy; the shapes of 64 and 32 rows are multicast to all lanes."""

SHIFTED = 8
"""Columns of the 32-byte elements that a shift moves."""


def moved_columns(form: Form) -> int:
    """Columns of a load or store, or of one half of a split one; 0 where that is not known.

    A register that packs two numbers of 16 bits covers two columns.
    """
    shape, number = form.attributes.get("shape"), form.attributes.get("num")
    if not isinstance(shape, LdStShape) or not isinstance(number, LdStNum):
        return 0
    packed = form.attributes.get("pack") is not None or form.attributes.get("unpack") is not None
    return REPEATED[shape] * number.times * (2 if packed else 1)


def a_columns(shape: MmaExtents | None) -> int:
    """Columns of an A in tensor memory: 32 bytes of a row, 48 with K = 96.

    Where the shape is not known, those that are certainly read.
    """
    return 12 if shape is not None and shape.k96 else 8


def metadata_columns(shape: MmaExtents) -> int:
    """Columns of metadata: 4 bits for each chunk of A, of which there are 8 or 16 in a row."""
    return 1 if shape.kind in (MmaKind.F16, MmaKind.TF32) else 2


def scale_columns(shape: MmaExtents) -> tuple[int, int] | None:
    """Columns of the scale factors of A and of B that are certainly read; None where none are.

    In layout B, the scale factors of B's halves are in lanes of their own, like D's.
    """
    if shape.kind not in SCALED_KINDS:
        return None
    rows_of_b = shape.n // (accumulator(shape)[0] or 1)
    return max(shape.m // shape.ctas // 32, 1), -(-rows_of_b // 32)


def accumulator(shape: MmaExtents) -> tuple[int, int]:
    """The factor by which D's columns are folded, and the lanes that D covers; 0 if unknown.

    Layouts A, D: not folded; B, E, G: halves or quarters in different lanes of the same columns; C,
    F: every second group of 16 lanes.
    """
    if shape.stationary:
        return {32: 4, 64: 2, 128: 1}.get(shape.m, 0), ALL_LANES
    rows = shape.m // shape.ctas
    if rows == 128:
        return 1, ALL_LANES
    if rows != 64:
        return 0, 0
    return (2, ALL_LANES) if shape.ctas == 2 and not shape.sparse else (1, _HALF_LANES)


def lanes_of(shape: MmaExtents | None) -> int:
    """The lanes of D, as a mask, where it begins at lane 0; all where that is not known."""
    parts, lanes = accumulator(shape) if shape is not None else (0, ALL_LANES)
    return lanes if parts else ALL_LANES


def lane_alignment(shape: MmaExtents) -> tuple[int, ...]:
    """The lanes at which D may begin; PTX ISA, Tensor Memory Datapath Lane Alignment."""
    parts, lanes = accumulator(shape)
    if not parts:
        return ()
    return (0, 16) if lanes == _HALF_LANES else (0,)
