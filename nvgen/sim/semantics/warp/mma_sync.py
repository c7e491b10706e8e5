"""mma, mma.sp: a warp multiplies matrices in its registers.

Layer: nvgen.sim.semantics.  All 32 threads execute it together: their elements become matrices, a
sparse A is expanded, elements are scaled, and D goes back to registers.  What is modelled of the
numbers is in `mma_sync_numbers`.  PTX ISA, mma; mma.sp; Matrix Fragments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from intrinsics.layouts.fragments_mma import fragment_a, fragment_b, fragment_c
from intrinsics.layouts.fragments_mma_sparse import stored
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Modifier, ScalarType, ScaleVec
from intrinsics.modifiers.mma_sync import MmaLayout, MmaShape
from nvgen.sim.semantics.warp import mma_sync_quarters
from nvgen.sim.semantics.warp.mma_sync_factors import factors
from nvgen.sim.semantics.warp.mma_sync_numbers import Factors, Kept, multiplier
from nvgen.sim.semantics.warp.mma_sync_registers import (
    Bits,
    bits_of,
    elements,
    matrices,
    out_of_bytes,
    too_few,
    writer,
)
from nvgen.sim.semantics.warp.mma_sync_sparse import expander
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import FULL, Outcome, Step, Strand, Warp

T = ScalarType


@dataclass(frozen=True, slots=True)
class _Family:
    """What the rows of a family have beside their qualifiers.

    `contained` are narrow elements in bytes, `packed` those of four bits without; `ordered` says
    that indices of a sparse A always ascend; `usual` is how many scale factors there are where the
    instruction does not say.
    """

    contained: bool = False
    packed: bool = False
    ordered: bool = False
    usual: ScaleVec | None = None


_PLAIN = _Family()
_FAMILIES = {
    **dict.fromkeys(("f16", "bf16", "tf32", "f64", "int8", "int4", "b1"), _PLAIN),
    "fp8": _Family(ordered=True),
    "f8f6f4": _Family(contained=True, ordered=True),
    "mxf8f6f4": _Family(contained=True, ordered=True, usual=ScaleVec.X1),
    "mxf4": _Family(packed=True, ordered=True, usual=ScaleVec.X2),
    "mxf4nvf4": _Family(packed=True, ordered=True, usual=ScaleVec.X4),
}
_ORDERED = "::ordered_metadata"

Codes: TypeAlias = Callable[[Warp], Bits]
"""The codes of a matrix, row by row; B's rows are its columns."""


def multiply(c: Compiler, mi: MachineInstr) -> Step:
    """D = A·B + C.

    Raises: NotSimulatedError for metadata that no source explains.
    """
    attributes = mi.form.attributes
    shape = attributes["shape"]
    assert isinstance(shape, MmaShape)
    if shape is MmaShape.M8N8K4 and attributes["atype"] is T.F16:
        return mma_sync_quarters.multiply(c, mi)
    assert (attributes["alayout"], attributes["blayout"]) == (MmaLayout.ROW, MmaLayout.COL)
    family = _FAMILIES[mi.row.id.rpartition(".")[2]]
    a, (b, _) = _a(c, mi, family), _held(c, mi, "b", family, shape)
    kept = _kept(c, mi, family) if "sp_meta" in mi.row.operand else None
    scales = _scales(c, mi, family)
    summed = mi.row.operand["c"].type_under(attributes)
    old = elements(c, mi["c"], summed, 16 if attributes["ctype"] is T.F16 else summed.bits)
    write = writer(c, mi["d"], 16 if attributes["dtype"] is T.F16 else summed.bits)
    compute, at = multiplier(attributes), fragment_c(shape)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        if strand.mask != FULL:
            raise too_few(mi, strand)
        before = matrices(old(warp), at, (shape.m, shape.n))
        given = scales(strand) if scales else None
        d = compute(a(warp), b(warp), before, given, kept=kept(warp) if kept else None)
        write(strand, d[at])
        return None

    return run


def _a(c: Compiler, mi: MachineInstr, family: _Family) -> Codes:
    """A, 16 (or 8) by K."""
    shape = mi.form.attributes["shape"]
    assert isinstance(shape, MmaShape)
    if "sp_meta" not in mi.row.operand:
        return _held(c, mi, "a", family, shape)[0]
    read, bits = _held(c, mi, "a", family, stored(shape))
    expand = expander(c, mi, bits, ordered=_is_ordered(mi, family))
    return lambda warp: expand(warp, read(warp))


def _is_ordered(mi: MachineInstr, family: _Family) -> bool:
    return family.ordered or mi.row.head.endswith(_ORDERED)


def _kept(c: Compiler, mi: MachineInstr, family: _Family) -> Callable[[Warp], Kept]:
    """Which elements of a sparse A are stored."""
    shape, type_ = mi.form.attributes["shape"], mi.form.attributes["atype"]
    assert isinstance(shape, MmaShape)
    assert isinstance(type_, Modifier)
    bits = bits_of(type_, packed=family.packed)
    expand = expander(c, mi, bits, ordered=_is_ordered(mi, family))
    ones = np.ones((shape.m, shape.k // 2), np.uint8)
    return lambda warp: expand(warp, ones) != 0


def _held(
    c: Compiler, mi: MachineInstr, name: str, family: _Family, shape: MmaShape
) -> tuple[Codes, int]:
    """The codes of A or B that registers hold for a shape, and the bits of an element there."""
    type_ = mi.form.attributes[f"{name}type"]
    assert isinstance(type_, Modifier)
    bits = bits_of(type_, packed=family.packed)
    held = elements(c, mi[name], mi.row.operand[name].type_under(mi.form.attributes), bits)
    at = fragment_a(shape, bits) if name == "a" else fragment_b(shape, bits)[::-1]
    size = (shape.m if name == "a" else shape.n, shape.k)

    def read(warp: Warp) -> Bits:
        codes = matrices(held(warp), at, size)
        return out_of_bytes(codes, type_) if family.contained else codes

    return read, bits


def _scales(
    c: Compiler, mi: MachineInstr, family: _Family
) -> Callable[[Strand], tuple[Factors, Factors]] | None:
    """The factors of all elements of A and of B, where there are some."""
    if family.usual is None:
        return None
    shape = mi.form.attributes["shape"]
    assert isinstance(shape, MmaShape)
    a, b = (factors(c, mi, name, family.usual, shape.k) for name in "ab")
    return lambda strand: (a(strand), b(strand))


_HEADS = ("mma", "mma.sp", f"mma.sp{_ORDERED}")
_DENSE = ("f64", "b1")
_KINDS = tuple(name for name in _FAMILIES if name.endswith("f4"))
SEMANTICS: dict[str, Maker] = {
    f"{head}.{family}": multiply
    for head in _HEADS
    for family in _FAMILIES
    if head == "mma" or (family not in _DENSE and (head != "mma.sp" or family not in _KINDS))
}
