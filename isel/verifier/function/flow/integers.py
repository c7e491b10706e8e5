"""Integers as the machine has them: bits, read with or without a sign.

Layer: isel.verifier.function.  PTX ISA, Integer Arithmetic, Comparison and Selection Instructions.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

from intrinsics.memo import Memo
from intrinsics.mir import Form, MachineInstr
from intrinsics.modifiers import Compare, ScalarType


def is_plain(mi: MachineInstr) -> bool:
    """Whether arithmetic wraps: no saturation, clamping or packed numbers."""
    return _IS_PLAIN[mi.form]


def _is_plain(form: Form) -> bool:
    type_ = form.attributes.get("type")
    clamps = any(form.attributes.get(name) is not None for name in ("sat", "relu"))
    return not clamps and not (isinstance(type_, ScalarType) and type_.is_packed)


_IS_PLAIN = Memo(_is_plain)


def signed(value: int, bits: int) -> int:
    """The low bits of a number, read with a sign."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def typed(type_: ScalarType, value: int) -> int:
    """The low bits of a number as its type has them: with a sign or without."""
    return reader(type_)(value)


@functools.cache
def reader(type_: ScalarType) -> Callable[[int], int]:
    """The function that reads the low bits of a number as a type has them."""
    bits = type_.bits
    mask, sign = (1 << bits) - 1, 1 << bits - 1
    if type_.is_signed:
        return lambda value: (value & mask ^ sign) - sign
    return lambda value: value & mask


COMPARISONS: dict[Compare, Callable[[int, int], bool]] = {
    Compare.EQ: operator.eq,
    Compare.NE: operator.ne,
    **dict.fromkeys((Compare.LT, Compare.LO), operator.lt),
    **dict.fromkeys((Compare.LE, Compare.LS), operator.le),
    **dict.fromkeys((Compare.GT, Compare.HI), operator.gt),
    **dict.fromkeys((Compare.GE, Compare.HS), operator.ge),
}
"""Comparisons of numbers that have been read as their type has them."""
