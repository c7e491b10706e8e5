"""Arithmetic of tensor copies: reductions in global memory, and elements that a copy would change.

Layer: nvgen.sim.semantics.  Integers wrap around; floating-point sums are rounded to the nearest.
What public documents leave open (subnormal numbers, NaNs, signs of zeros) is refused.  PTX ISA,
cp.reduce.async.bulk.tensor; CUDA driver API, CUtensorMapDataType.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import AtomicOp
from intrinsics.tma.fields import REDUCTIONS, Element
from nvgen.sim.faults import fault, not_simulated

Elements = NDArray[np.generic]

_INTEGERS = {
    Element.U32: np.uint32,
    Element.S32: np.int32,
    Element.U64: np.uint64,
    Element.S64: np.int64,
}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_BITWISE = (AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR)


def combined(op: AtomicOp, element: Element, old: Elements, new: Elements) -> Elements:
    """What a reduction leaves of what is there and what it brings; the type of `old`.

    Raises: Fault for a type that no GPU combines so, NotSimulatedError.
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
    if element in (Element.F16, Element.BF16, Element.F32, Element.F64):
        return (_sum if op is AtomicOp.ADD else partial(_extreme, op))(element, old, new)
    raise not_simulated(f"tensor reductions .{op.value} of {element.name}")


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


_LEAST = {Element.F16: 2.0**-14, Element.BF16: 2.0**-126, Element.F32: 2.0**-126}


def _floats(element: Element, bits: Elements) -> NDArray[np.float64]:
    """Elements as numbers that hold them exactly.

    Raises: NotSimulatedError for NaNs and subnormals.
    """
    if element is Element.BF16:
        wide = bits.view(np.uint16).astype(np.uint32) << 16
        numbers = wide.view(np.float32).astype(np.float64)
    elif element is Element.F16:
        numbers = bits.view(np.float16).astype(np.float64)
    elif element is Element.F32:
        numbers = bits.view(np.float32).astype(np.float64)
    else:
        numbers = bits.view(np.float64)
    least = _LEAST.get(element, 2.0**-1022)
    if np.isnan(numbers).any() or ((numbers != 0) & (np.abs(numbers) < least)).any():
        raise not_simulated("tensor reductions of NaNs and subnormal numbers")
    return numbers


def _sum(element: Element, old: Elements, new: Elements) -> Elements:
    with np.errstate(over="ignore"):
        total = _floats(element, old) + _floats(element, new)
        if element is Element.F16:
            found: Elements = total.astype(np.float16).view(np.uint16)
        elif element is Element.BF16:
            word = total.astype(np.float32).view(np.uint32)
            found = ((word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16)
        else:
            found = total.astype(np.float32) if element is Element.F32 else total
    _floats(element, found)
    return found.view(old.dtype)


def _extreme(op: AtomicOp, element: Element, old: Elements, new: Elements) -> Elements:
    a, b = _floats(element, old), _floats(element, new)
    if ((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))).any():
        raise not_simulated("the least or greatest of two zeros with different signs")
    first = a <= b if op is AtomicOp.MIN else a >= b
    return np.where(first, old, new)


def check_kept(element: Element, elements: Elements) -> None:
    """Whether a copy leaves elements as they are.

    Raises: NotSimulatedError where it rounds to TF32 or flushes subnormals.
    """
    if element not in (Element.F32_FTZ, Element.TF32, Element.TF32_FTZ):
        return
    bits = elements.view(np.uint32)
    flushes = element is not Element.TF32
    if element is not Element.F32_FTZ and (bits & 0x1FFF).any():
        raise not_simulated("numbers that a copy rounds to TF32")
    if flushes and ((bits & 0x7F80_0000 == 0) & (bits & 0x7F_FFFF != 0)).any():
        raise not_simulated("subnormal numbers that a copy flushes")
