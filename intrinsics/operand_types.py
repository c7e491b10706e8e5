"""Which registers and which numbers a type takes.

Layer: intrinsics.  Input: the type that a slot wants, a register's class or a literal.  Output:
whether it fits, or what is wrong with a number.  PTX ISA, Type Information for Instructions and
Operands; Operand Size Exceeding Instruction-Type Size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from intrinsics.mir import (
    FloatImm,
    Form,
    Imm,
    Op,
    Scalar,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.row import (
    Attributes,
    Kind,
    Numbers,
    NumbersFrom,
    Operand,
    Problem,
    VectorNumbers,
)

SpaceOf = Callable[[str], Space | None]
"""Gives the state space of a symbol, or None when it is unknown."""

_PACKED = (ScalarType.U16X2, ScalarType.S16X2, ScalarType.U8X4, ScalarType.S8X4)

_UNTYPED = (
    *_PACKED,
    *(ScalarType.F16X2, ScalarType.BF16, ScalarType.BF16X2, ScalarType.F32X2, ScalarType.TF32),
    *(ScalarType.E4M3X2, ScalarType.E5M2X2, ScalarType.E2M3X2, ScalarType.E3M2X2),
    *(ScalarType.E2M1X2, ScalarType.UE8M0X2),
    *(ScalarType.E4M3X4, ScalarType.E5M2X4, ScalarType.E2M3X4, ScalarType.E3M2X4),
    *(ScalarType.E2M1X4, ScalarType.E2M1P4X4, ScalarType.UE8M0X4),
)
"""Types without registers of their own: untyped bits hold them (and .f16x2 itself)."""

_ONE = 0x3F800000
"""The bits of 1.0 as an f32; those of positive numbers have the order of the numbers."""


def out_of_range(name: str, number: int, numbers: Numbers) -> Problem | None:
    """The error about a number that an operand does not take; None if it does."""
    if numbers.accepts(number):
        return None
    hint = numbers.hint(number)
    return Problem(numbers.rule, f"{name} is out of range", str(number), str(numbers), hint=hint)


def later_numbers(form: Form, ops: Sequence[Op]) -> Iterator[tuple[Operand, NumbersFrom]]:
    """The numbers of a record that not every target takes, and what takes them."""
    for operand, op in zip(form.operands, ops, strict=True):
        if operand is None or not isinstance(op, Imm):
            continue
        numbers = operand.numbers_under(form.attributes)
        if not numbers.accepts(op.value):
            continue
        for later in numbers.later:
            if op.value >= later.least:
                yield operand, later


def literals(operand: Operand, attributes: Attributes) -> Numbers | None:
    """The integers that a slot takes, where only their range counts; None for no integer."""
    if operand.limit:
        return None
    match operand.kind:
        case Kind.NUMBER:
            numbers = operand.numbers_under(attributes)
            return None if numbers.later else numbers
        case Kind.VALUE if number_fits(operand.type_under(attributes), Imm(0)):
            return operand.numbers_under(attributes)
        case Kind.SOURCE if number_fits(operand.type_under(attributes), Imm(0)):
            return Numbers()
        case Kind.PREDICATE if operand.takes_number(attributes):
            return operand.numbers_under(attributes)
        case Kind.VECTOR if operand.count is not None and not operand.count.of(attributes):
            takes = operand.vector_numbers is not VectorNumbers.NONE
            fitting = takes and number_fits(operand.type_under(attributes), Imm(0))
            return Numbers() if fitting else None
    return None


@functools.cache
def fits(wanted: ScalarType, cls: ScalarType, *, widened: bool = False) -> bool:
    """Whether a register of class `cls` may stand where an instruction wants type `wanted`.

    Untyped bits agree with everything of their width, and packed types with nothing else;
    signedness never matters.  Where `widened` holds a wider register may stand, but a
    floating-point type takes its own width only.
    PTX ISA, Instruction Statements: Type Information for Instructions and Operands.
    """
    if (wanted is ScalarType.PRED) != (cls is ScalarType.PRED):
        return False
    if cls.bits != wanted.bits and not (widened and cls.bits > wanted.bits):
        return False
    if cls is ScalarType.F16X2:
        return wanted.kind in "bi"
    if wanted in _UNTYPED:
        return cls.kind == "b"
    if wanted.kind == "f" and cls.kind == "f":
        return cls.bits == wanted.bits
    return wanted.kind == "b" or cls.kind in ("b", wanted.kind)


def number_fits(wanted: ScalarType, op: Scalar) -> bool:
    """Whether a literal may stand for a value of type `wanted`."""
    if isinstance(op, Imm):
        return wanted.kind != "f" and wanted not in _UNTYPED
    if not isinstance(op, FloatImm):
        return False
    if op.type is ScalarType.F32:
        return wanted in (ScalarType.F32, ScalarType.F64, ScalarType.B32)
    return wanted in (ScalarType.F32, ScalarType.F64, ScalarType.B64)


def is_fraction(op: Scalar) -> bool:
    """Whether a literal is a floating-point number above 0, and 1 at most."""
    return isinstance(op, FloatImm) and 0 < op.bits_as(ScalarType.F32) <= _ONE
