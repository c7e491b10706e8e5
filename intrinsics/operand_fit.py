"""Do the operands of a record fit their slots?

Layer: intrinsics.  Input: a form with its operands, the classes of the registers and the state
spaces of the symbols.  Output: whether they fit; what is wrong, `operand_problems` says, whose
answers are kept by the shape of an operand.  PTX ISA, Instruction Operands; Type Information for
Instructions and Operands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from intrinsics.mir import (
    FloatImm,
    Form,
    Imm,
    Label,
    Mem,
    Op,
    Special,
    Sym,
)
from intrinsics.modifiers import ScalarType
from intrinsics.operand_problems import OperandSlot
from intrinsics.operand_types import SpaceOf, literals
from intrinsics.row import (
    Attributes,
    Numbers,
    Operand,
)

HasSpecial = Callable[[Special, ScalarType], bool]
"""Whether there is a special register, and it can be read as a type."""


class PlainFit:
    """A short cut for the records of one form without packed words.

    Each shape of an operand (a register's class, those of a vector, an address by its register's
    class or its symbol's state space, a special register, a label) is judged once in each slot, by
    `operand_problems`'s own judge; only ranges of numbers are asked for every record.
    """

    def __init__(self, form: Form, has: HasSpecial) -> None:
        slots = [_KnownSlot(operand, form.attributes, has) for operand in form.operands if operand]
        self._slots = tuple(slots)
        self._distinct = [i for i, slot in enumerate(slots) if slot.distinct]

    def holds(self, ops: Sequence[Op], classes: Sequence[ScalarType], space_of: SpaceOf) -> bool:
        """Whether the operands are plainly right; what is not plain is False too."""
        if self._distinct and not self._are_distinct(ops):
            return False
        slots = self._slots
        for i, op in enumerate(ops):
            slot = slots[i]
            shape: _Shape
            if type(op) is int:
                if slot.known.get(shape := classes[op]):
                    continue  # as most are
            elif type(op) is Imm:
                if not slot.takes(op):
                    return False
                continue
            elif type(op) is Mem:
                base = op.base
                found = space_of(base.name) if isinstance(base, Sym) else classes[base]
                shape = found, op.offset != 0
            elif type(op) is Label:
                shape = Label
            elif type(op) is Special:
                shape = Special, op.name
            elif type(op) is FloatImm and not slot.in_range:
                shape = FloatImm, op.type
            elif type(op) is Sym:
                shape = Sym, space_of(op.name), op.offset != 0
            elif type(op) is tuple:
                if not _PLAIN_PARTS.issuperset(map(type, op)):
                    return False
                shape = tuple([classes[part] if type(part) is int else Label for part in op])
            else:
                return False
            known = slot.known.get(shape)
            if not (slot.judge(shape, op, classes, space_of) if known is None else known):
                return False
        return True

    def _are_distinct(self, ops: Sequence[Op]) -> bool:
        """Whether no register stands twice where all must differ."""
        seen: set[Op] = set()
        for i in self._distinct:
            op = ops[i]
            registers: tuple[Op, ...] = op if type(op) is tuple else (op,)
            count = len(seen) + len(registers)
            seen.update(registers)
            if len(seen) < count:
                return False
        return True


_PLAIN_PARTS = frozenset((int, Label))
"""What a vector or a table of labels consists of where all is plain."""

_Shape: TypeAlias = ScalarType | tuple[object, ...] | type[Label]


class _KnownSlot:
    """What one slot of a form is known to take."""

    __slots__ = (
        "_any_number",
        "_attributes",
        "_has",
        "_numbers",
        "_operand",
        "distinct",
        "in_range",
        "known",
    )

    def __init__(self, operand: Operand, attributes: Attributes, has: HasSpecial) -> None:
        self._operand = operand
        self._attributes = attributes
        self._has = has
        self.distinct = operand.distinct
        self.in_range = operand.fraction  # whether only some floating-point numbers may stand here
        self.known: dict[_Shape, bool] = {}
        self._numbers = literals(operand, attributes)
        self._any_number = self._numbers == Numbers()

    def takes(self, op: Imm) -> bool:
        return self._any_number or (self._numbers is not None and self._numbers.accepts(op.value))

    def judge(
        self, shape: _Shape, op: Op, classes: Sequence[ScalarType], space_of: SpaceOf
    ) -> bool:
        """Ask the judge of all operands about an operand of this shape, and keep the answer."""
        slot = OperandSlot(self._attributes, self._operand, classes, space_of)
        found = not any(True for _ in slot.problems(op))
        if type(op) is Special:
            found = found and self._has(op, slot.type)
        self.known[shape] = found
        return found


@functools.cache
def plain_fit(form: Form) -> PlainFit:
    """The fast check of a form without packed words, independent of the target: no special register
    passes it.
    """
    return PlainFit(form, lambda op, type: False)
