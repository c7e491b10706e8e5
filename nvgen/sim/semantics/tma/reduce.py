"""Arithmetic of tensor copies: reductions in global memory, and elements that a copy would change.

Layer: nvgen.sim.semantics.  Integers wrap around; floating-point sums are rounded to the nearest.
What public documents leave open is as an H100 does it: subnormal numbers count, but in sums of FTZ
maps; NaNs become one NaN, but in sums of f64; -0 is less than 0; loads alone round to TF32, whether
the map flushes or not, and the bits 0x7ff7 stand in every half of what lies outside of a tensor.
PTX ISA, cp.reduce.async.bulk.tensor; CUDA driver API, CUtensorMapDataType.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import AtomicOp
from intrinsics.tma.fields import REDUCTIONS, Element
from nvgen.sim.faults import fault

Elements = NDArray[np.generic]

_INTEGERS = {
    Element.U32: np.uint32,
    Element.S32: np.int32,
    Element.U64: np.uint64,
    Element.S64: np.int64,
}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_OUTSIDE = 0x7FF7
_TF32_NAN = 0x7FFF_E000


def combined(op: AtomicOp, element: Element, old: Elements, new: Elements) -> Elements:
    """The result of a reduction of `old`, in the type of `old`, with the values that the copy
    brings.

    Raises: Fault for a type that no GPU combines so.
    """
    if element not in REDUCTIONS[op]:
        raise fault(
            "tensor-reduction",
            "no GPU combines elements of this type so: the instruction is illegal",
            got=f".{op.value} of {element.name}",
            expected=f"{', '.join(sorted(e.name for e in REDUCTIONS[op]))}",
            section="cp.reduce.async.bulk.tensor",
        )
    kind = _INTEGERS.get(element)
    if kind is not None:
        return _integers(op, old.view(kind), new.view(kind)).view(old.dtype)
    return (_sum if op is AtomicOp.ADD else partial(_extreme, op))(element, old, new)


def _integers(op: AtomicOp, old: Elements, new: Elements) -> Elements:
    assert isinstance(old, np.ndarray)
    bits = _UNSIGNED[old.dtype.itemsize]
    a, b = old.view(bits), new.view(bits)
    found: Elements
    match op:
        case AtomicOp.ADD:
            found = a + b
        case AtomicOp.AND:
            found = a & b
        case AtomicOp.OR:
            found = a | b
        case AtomicOp.XOR:
            found = a ^ b
        case AtomicOp.MIN:
            found = np.minimum(old, new)
        case AtomicOp.MAX:
            found = np.maximum(old, new)
        case AtomicOp.INC:
            found = np.where(a >= b, 0, a + 1).astype(bits)
        case AtomicOp.DEC:
            found = np.where((a == 0) | (a > b), b, a - 1).astype(bits)
        case _:
            raise AssertionError(op)
    return found.view(old.dtype)


def _wide(element: Element, bits: Elements) -> NDArray[np.float64]:
    """Elements as numbers that hold them exactly."""
    with np.errstate(invalid="ignore"):  # NaNs that signal
        if element is Element.BF16:
            word = bits.view(np.uint16).astype(np.uint32) << 16
            return word.view(np.float32).astype(np.float64)
        if element is Element.F64:
            return bits.view(np.float64)
        return bits.view(np.float16 if element is Element.F16 else np.float32).astype(np.float64)


def _narrow(element: Element, numbers: NDArray[np.float64]) -> Elements:
    """The nearest elements, as bits; a NaN has all bits but the sign."""
    with np.errstate(over="ignore", invalid="ignore"):
        if element is Element.F16:
            bits: Elements = numbers.astype(np.float16).view(np.uint16)
        elif element is Element.BF16:
            word = numbers.astype(np.float32).view(np.uint32)
            bits = ((word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16)
        else:
            bits = numbers.astype(np.float32).view(np.uint32)
    half = bits.dtype.itemsize == 2
    return np.where(np.isnan(numbers), 0x7FFF if half else 0x7FFF_FFFF, bits).astype(bits.dtype)


def _sum(element: Element, old: Elements, new: Elements) -> Elements:
    if element is Element.F64:
        return _double_sum(old, new)
    flushes = element in (Element.F32_FTZ, Element.TF32_FTZ)
    if flushes:
        old, new = _flushed(old), _flushed(new)
    with np.errstate(invalid="ignore"):
        found = _narrow(element, _wide(element, old) + _wide(element, new))
    return (_flushed(found) if flushes else found).view(old.dtype)


def _double_sum(old: Elements, new: Elements) -> Elements:
    """The sums; a NaN is passed on unchanged, that of the copy before that in memory."""
    a, b = old.view(np.float64), new.view(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
    bits = np.where(np.isnan(total), np.uint64(0xFFF8 << 48), total.view(np.uint64))
    bits = np.where(np.isnan(a), a.view(np.uint64), bits)
    return np.where(np.isnan(b), b.view(np.uint64), bits).view(old.dtype)


def _flushed(bits: Elements) -> Elements:
    """Zeros of the same sign in place of subnormal numbers of 32 bits."""
    word = bits.view(np.uint32)
    small = word & 0x7F80_0000 == 0
    return np.where(small, word & 0x8000_0000, word).astype(np.uint32).view(bits.dtype)


def _extreme(op: AtomicOp, element: Element, old: Elements, new: Elements) -> Elements:
    """Of two zeros the negative one is less; a number comes before a NaN."""
    a, b = _wide(element, old), _wide(element, new)
    first = (a < b) | ((a == b) & np.signbit(a))
    if op is AtomicOp.MAX:
        first = (a > b) | ((a == b) & ~np.signbit(a))
    found = np.where(first | np.isnan(b), old, new)
    neither = np.isnan(a) & np.isnan(b)
    return np.where(neither, old.dtype.type(0x7FFF), found).astype(old.dtype)


def loaded(element: Element, elements: Elements) -> Elements:
    """Elements as a load writes them: TF32 is rounded to nearest, ties to even."""
    if element not in (Element.TF32, Element.TF32_FTZ):
        return elements
    bits = elements.view(np.uint32)
    rounded = bits + 0xFFF + (bits >> 13 & 1) & np.uint32(0xFFFF_E000)
    found = np.where(bits & 0x7FFF_FFFF > 0x7F80_0000, np.uint32(_TF32_NAN), rounded)
    return found.astype(np.uint32).view(elements.dtype)


def not_a_number(dtype: np.dtype[np.generic]) -> Elements:
    """The NaN that fills elements outside of a tensor, where that is asked for."""
    return np.frombuffer(_OUTSIDE.to_bytes(2, "little") * (dtype.itemsize // 2), dtype)
