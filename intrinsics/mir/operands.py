"""Operands of machine records: registers, literals, symbols, addresses, labels.

Layer: intrinsics.mir.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import TypeAlias, TypeGuard

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType

# ---- operands --------------------------------------------------------------------------------


Reg: TypeAlias = int
"""A virtual register: an index into its function's register table."""


@dataclass(slots=True, unsafe_hash=True)
class Imm:
    """An integer literal, as written (not wrapped to a width)."""

    value: int


_FLOAT = {ScalarType.F32: "<f", ScalarType.F64: "<d"}


@dataclass(slots=True, unsafe_hash=True)
class FloatImm:
    """A floating-point literal: its bits in `type` (f32 or f64)."""

    bits: int
    type: ScalarType

    def bits_as(self, type: ScalarType) -> int:
        """The bits of the same number in `type`, rounded to nearest; untyped bits stay."""
        if type is self.type or type.kind != "f":
            return self.bits
        (value,) = struct.unpack(
            _FLOAT[self.type], self.bits.to_bytes(self.type.bits // 8, "little")
        )
        return int.from_bytes(struct.pack(_FLOAT[type], value), "little")


@dataclass(slots=True, unsafe_hash=True)
class Sym:
    """The address of a global variable, parameter or function, plus a constant number of bytes."""

    name: str
    offset: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Special:
    """A special register: `%tid.x` is `Special("tid.x")`."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class Label:
    """A block of the same function, by name."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class Text:
    """A statement that is kept as text."""

    text: str


@dataclass(slots=True, unsafe_hash=True)
class Mem:
    """An address operand: a register or symbol plus a constant number of bytes.

    A symbol in it has no offset of its own.
    """

    base: Reg | Sym
    offset: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Not:
    """A negated predicate register."""

    reg: Reg


def guard_register(guard: Reg | Not) -> Reg:
    """The register of a guard, negated or not."""
    return guard.reg if isinstance(guard, Not) else guard


def negated(guard: Reg | Not) -> Reg | Not:
    """The guard that holds where this one does not."""
    return guard.reg if isinstance(guard, Not) else Not(guard)


class Sink(Enum):
    """A discarded result: `_`."""

    SINK = "_"


SINK = Sink.SINK


Scalar: TypeAlias = Reg | Imm | FloatImm | Sym | Special | Label | Text | Mem | Not | Sink


Op: TypeAlias = Scalar | tuple[Scalar, ...]


HOLDERS = frozenset((tuple, Mem, Not))
"""The types of operands that contain registers, beside registers themselves."""


# ---- forms and records -----------------------------------------------------------------------


def registers_in(ops: tuple[Op, ...], places: tuple[int, ...]) -> list[Reg]:
    """The registers in the operands at these positions, in order: a plain loop, for speed."""
    found: list[Reg] = []
    for i in places:
        op = ops[i]
        if type(op) is int:
            found.append(op)
        elif type(op) in HOLDERS:
            found += registers_of(op)
    return found


_REGISTERS = frozenset((int,))
_WIDE = 8


def _are_registers(parts: tuple[Scalar, ...]) -> TypeGuard[tuple[Reg, ...]]:
    """Whether a wide vector has nothing else in it; of a narrow one a loop tells sooner."""
    return len(parts) > _WIDE and _REGISTERS.issuperset(map(type, parts))


def registers_of(op: Op) -> tuple[Reg, ...]:
    """The registers in an operand, in order."""
    if type(op) is int:
        return (op,)
    if type(op) is Mem:
        return (op.base,) if type(op.base) is int else ()
    if type(op) is tuple:
        if _are_registers(op):
            return op
        found: list[Reg] = []
        for part in op:
            if type(part) is int:
                found.append(part)
            elif type(part) in HOLDERS:
                found += registers_of(part)
        return tuple(found)
    return (op.reg,) if type(op) is Not else ()


def mapped(op: Op, table: dict[Reg, Reg]) -> Op:
    """The operand with every register that `table` names replaced."""
    if isinstance(op, tuple):
        if _are_registers(op):
            return tuple([table.get(reg, reg) for reg in op])
        return tuple([_mapped_scalar(part, table) for part in op])
    return _mapped_scalar(op, table)


def _mapped_scalar(op: Scalar, table: dict[Reg, Reg]) -> Scalar:
    if type(op) is int:
        return table.get(op, op)
    if type(op) is Mem and type(op.base) is int:
        return Mem(table.get(op.base, op.base), op.offset)
    if type(op) is Not:
        return Not(table.get(op.reg, op.reg))
    return op
