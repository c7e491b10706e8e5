"""mma: a warp multiplies matrices in its registers.

Layer: nvgen.sim.semantics.  All 32 threads execute it together.  What is modelled of the numbers:

    floating point  as in `mma_numbers`: the products of one instruction are summed exactly, rounded
                    to binary32 once, and added to C in binary32; D in f16 is rounded once more
    f64             products are added to C one after the other, from the lowest k on, each by a
                    fused multiply-add that rounds to nearest even
    integers, bits  exact; sums wrap, or saturate with .satfinite

The chip adds products of floating-point numbers in ways and orders that are not documented, so its
last bits may differ where sums are not exact.  PTX ISA, mma; Matrix Fragments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.fragments_mma import Indices, fragment_a, fragment_b, fragment_c
from intrinsics.mir import MachineInstr, Op
from intrinsics.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers import Modifier, Rounding, ScalarType
from intrinsics.packing import decode
from intrinsics.row import Facts
from intrinsics.wgmma import BitOperation, MatrixType
from nvgen.sim.compile import Compiler, Maker
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.ieee import F64, multiply_add
from nvgen.sim.machine import FULL, Fragment, Outcome, Step, Warp
from nvgen.sim.semantics.mma_numbers import accumulate, accumulate_integers, integer_sums, sums

T = ScalarType
Bits: TypeAlias = NDArray[np.unsignedinteger]
"""Bits of elements, right-aligned, or of registers."""

Numbers: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
Registers: TypeAlias = Callable[[Warp], Bits]
"""The registers of an operand: 32 threads by registers."""

Multiply: TypeAlias = Callable[[Bits, Bits, Bits], Bits]
"""D of A (m, k), B (n, k) and C (m, n), all of them bits."""


# ---- one record ------------------------------------------------------------------------------


def multiply(c: Compiler, mi: MachineInstr) -> Step:
    """D = A·B + C.

    Raises: NotSimulatedError for the shape in which four multiplies share a warp.
    """
    facts = mi.form.facts
    shape, atype = facts["shape"], facts["atype"]
    assert isinstance(shape, MmaShape)
    layouts = facts["alayout"], facts["blayout"]
    if layouts != (MmaLayout.ROW, MmaLayout.COL) or (shape is MmaShape.M8N8K4 and atype is T.F16):
        raise not_simulated("mma.m8n8k4 of f16: each quarter of a warp multiplies by itself")
    bits = bits_of(atype)
    held = mi.row.operand["a"].type_under(facts)
    a = _registers(c, mi["a"], held, bits)
    b = _registers(c, mi["b"], held, bits)
    summed = mi.row.operand["c"].type_under(facts)
    each = 16 if facts["ctype"] is T.F16 else summed.bits
    old = _registers(c, mi["c"], summed, each)
    write = _writer(c, mi["d"], 16 if facts["dtype"] is T.F16 else summed.bits)
    compute = multiplier(facts)
    a_at, b_at, c_at = fragment_a(shape, bits), fragment_b(shape, bits), fragment_c(shape)
    b_at = b_at[::-1]

    def run(fragment: Fragment) -> Outcome:
        warp = fragment.warp
        if fragment.mask != FULL:
            raise _too_few(mi, fragment)
        d = compute(
            _matrix(a(warp), a_at, (shape.m, shape.k)),
            _matrix(b(warp), b_at, (shape.n, shape.k)),
            _matrix(old(warp), c_at, (shape.m, shape.n)),
        )
        write(fragment, d[c_at])
        return None

    return run


def _too_few(mi: MachineInstr, fragment: Fragment) -> Exception:
    return fault(
        "partial-warp",
        f"{mi.row.head} by a warp of fewer than 32 threads",
        got=f"lanes {fragment.mask:#010x}",
        expected="32 threads, each with its part of the matrices",
        hint="launch blocks of a multiple of 32 threads",
        section=mi.row.section,
    )


def _registers(c: Compiler, op: Op, type_: ScalarType, bits: int) -> Registers:
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
    each = 32 // bits
    shifts = np.arange(each, dtype=np.uint32) * np.uint32(bits)
    parts = registers[:, :, None].astype(np.uint32) >> shifts & np.uint32((1 << bits) - 1)
    return parts.reshape(len(registers), -1)


def _writer(c: Compiler, op: Op, bits: int) -> Callable[[Fragment, Bits], None]:
    """Write elements, `bits` each, to the registers of an operand; `_` takes nothing."""
    assert isinstance(op, tuple)
    setters = [c.set(part) if type(part) is int else None for part in op]

    def write(fragment: Fragment, elements: Bits) -> None:
        registers = elements
        if bits == 16:
            words = elements.astype(np.uint32)
            registers = words[:, ::2] | words[:, 1::2] << np.uint32(16)
        for number, setter in enumerate(setters):
            if setter is not None:
                setter(fragment, registers[:, number])

    return write


def _matrix(elements: Bits, at: tuple[Indices, Indices], shape: tuple[int, int]) -> Bits:
    """The matrix whose elements the threads hold."""
    found = np.zeros(shape, elements.dtype)
    found[at] = elements
    return found


# ---- elements --------------------------------------------------------------------------------

_FOURS = (MatrixType.S4, MatrixType.U4)
_BITS: dict[Modifier, int] = {MatrixType.B1: 1, **dict.fromkeys(_FOURS, 4), T.F64: 64}


def bits_of(type_: object) -> int:
    """How many bits an element of A or B takes in a register."""
    assert isinstance(type_, Modifier)
    return _BITS.get(type_) or max(ElementType(type_.value).bits, 8)


def _numbers(codes: Bits, type_: Modifier) -> Numbers:
    """What codes of a type of A or B stand for."""
    if type_ in _FOURS:
        whole = codes.astype(np.int64)
        return whole - (whole >> 3 << 4) if type_ is MatrixType.S4 else whole
    return decode(codes, ElementType(type_.value))


# ---- numbers ---------------------------------------------------------------------------------


def multiplier(facts: Facts) -> Multiply:
    """What a form computes."""
    atype, btype, op = facts["atype"], facts["btype"], facts.get("op")
    assert isinstance(atype, Modifier)
    assert isinstance(btype, Modifier)
    if atype is T.F64:
        return _fused
    if isinstance(op, BitOperation):
        return functools.partial(_counted, op)
    if facts["dtype"] is T.S32:
        saturate = facts.get("satfinite") is not None
        return functools.partial(_whole, atype, btype, saturate=saturate)
    return functools.partial(_rounded, atype, btype, facts["ctype"], facts["dtype"])


def _rounded(
    atype: Modifier, btype: Modifier, ctype: object, dtype: object, a: Bits, b: Bits, c: Bits
) -> Bits:
    total = sums(_numbers(a, atype).astype(np.float64), _numbers(b, btype).astype(np.float64))
    wide = c.astype(np.uint32)
    if ctype is T.F16:
        wide = c.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    kind = ElementType.F16 if dtype is T.F16 else ElementType.F32
    with np.errstate(over="ignore", invalid="ignore"):
        return accumulate(total + wide.view(np.float32), None, kind, 0)


def _whole(atype: Modifier, btype: Modifier, a: Bits, b: Bits, c: Bits, *, saturate: bool) -> Bits:
    total = integer_sums(
        _numbers(a, atype).astype(np.float64), _numbers(b, btype).astype(np.float64)
    )
    return accumulate_integers(total, c.astype(np.uint32), saturate=saturate)


def _counted(op: BitOperation, a: Bits, b: Bits, c: Bits) -> Bits:
    one, other = a[:, None, :] != 0, b[None, :, :] != 0
    both = one & other if op is BitOperation.AND else one ^ other
    return accumulate_integers(
        both.sum(axis=2, dtype=np.int64), c.astype(np.uint32), saturate=False
    )


def _fused(a: Bits, b: Bits, c: Bits) -> Bits:
    found = c.astype(np.uint64)
    for i, j in np.ndindex(found.shape):
        total = int(found[i, j])
        for one, other in zip(a[i].tolist(), b[j].tolist(), strict=True):
            total = multiply_add(one, other, total, F64, Rounding.RN)
        found[i, j] = total
    return found


_FAMILIES = ("f16", "bf16", "tf32", "f64", "fp8", "int8", "int4", "b1")
SEMANTICS: dict[str, Maker] = {f"mma.{family}": multiply for family in _FAMILIES}
