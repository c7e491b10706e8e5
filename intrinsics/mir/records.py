"""The machine record: a form, its operands, a guard and a source location.

Layer: intrinsics.mir.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Set

from intrinsics.findings import Finding, Severity, VerificationError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir.forms import Form
from intrinsics.mir.operands import (
    HOLDERS,
    Imm,
    Label,
    Not,
    Op,
    Reg,
    Scalar,
    guard_register,
    mapped,
    registers_in,
    registers_of,
)
from intrinsics.modifiers import ScalarType
from intrinsics.row import Attribute, Row


@dataclass(slots=True)
class MachineInstr:
    """One machine record.

    `guard` is the predicate that must hold (`@p`, `@!p`); `loc` is an index into the module's
    locations.
    """

    form: Form
    ops: tuple[Op, ...]
    guard: Reg | Not | None = None
    loc: int = 0

    def __getitem__(self, slot: str) -> Op:
        return self.ops[self.form.index[slot]]

    def get(self, slot: str) -> Op | None:
        """The operand in `slot`, or None where the form has no such slot."""
        i = self.form.index.get(slot)
        return None if i is None else self.ops[i]

    @property
    def opcode(self) -> str:
        """The opcode's name."""
        return self.form.opcode

    @property
    def row(self) -> Row:
        """The row it is an instance of."""
        return self.form.row

    def attributes(self) -> dict[str, Attribute]:
        """All attributes of this record, those in packed words included."""
        if self.form.row.packed_fields is None:
            return self.form.attributes
        return _unpacked(self.form, tuple(self.packed_fields().items()))

    def scalar_type(self, qualifier: str = "type") -> ScalarType:
        """The type in a qualifier that every form of the row has."""
        found = self.form.attributes[qualifier]
        assert isinstance(found, ScalarType)
        return found

    def packed_fields(self) -> dict[str, int]:
        """The packed words of the record, by slot.

        Raises: VerificationError where a word is not a literal, so that the form is not known.
        """
        words = self.form.row.packed_fields
        found: dict[str, int] = {}
        unknown: list[str] = []
        for slot in words.slots(self.form.attributes) if words else ():
            op = self.get(slot)
            if isinstance(op, Imm):
                found[slot] = op.value
            else:
                unknown.append(slot)
        if unknown:
            raise VerificationError([_unknown_word(self.form, slot) for slot in unknown])
        return found

    def defs(self) -> list[Reg]:
        """Registers that it writes."""
        form = self.form
        if form.writes_first and type(first := self.ops[0]) is int:
            return [first]
        found = registers_in(self.ops, form.defs)
        return found + registers_in(self.ops, form.updates) if form.updates else found

    def uses(self) -> list[Reg]:
        """Registers that it reads, the guard's and the bases of written addresses among them."""
        result = registers_in(self.ops, self.form.uses)
        if self.guard is not None:
            result.append(guard_register(self.guard))
        return result

    def mentions(self, registers: Set[Reg]) -> bool:
        """Whether the record writes or reads one of these registers."""
        for op in self.ops:
            if type(op) is int:
                if op in registers:
                    return True
            elif type(op) in HOLDERS and not registers.isdisjoint(registers_of(op)):
                return True
        return self.guard is not None and guard_register(self.guard) in registers

    def map_registers(self, table: dict[Reg, Reg]) -> None:
        """Replace registers as `table` says."""
        ops: list[Op] = []
        for op in self.ops:
            if type(op) is int:
                op = table.get(op, op)
            elif type(op) in HOLDERS:
                op = mapped(op, table)
            ops.append(op)
        self.ops = tuple(ops)
        if isinstance(self.guard, Not):
            self.guard = Not(table.get(self.guard.reg, self.guard.reg))
        elif self.guard is not None:
            self.guard = table.get(self.guard, self.guard)

    def labels(self) -> list[str]:
        """The labels among its operands, in order: a branch's target, or those of a table."""
        found: list[str] = []
        for op in self.ops:
            if type(op) is Label:
                found.append(op.name)
            elif type(op) is tuple:
                found += [part.name for part in op if type(part) is Label]
        return found

    def map_labels(self, table: Mapping[str, str]) -> None:
        """Rename labels as `table` says."""
        self.ops = tuple(
            [
                tuple([_labelled(part, table) for part in op])
                if isinstance(op, tuple)
                else _labelled(op, table)
                for op in self.ops
            ]
        )


@functools.lru_cache(1 << 12)
def _unpacked(form: Form, words: tuple[tuple[str, int], ...]) -> dict[str, Attribute]:
    """All attributes of the records of a form that have these words."""
    assert form.row.packed_fields is not None
    found, _ = form.row.packed_fields.unpack(dict(words), form.attributes)
    return {**form.attributes, **found}


def _labelled(op: Scalar, table: Mapping[str, str]) -> Scalar:
    return Label(table.get(op.name, op.name)) if isinstance(op, Label) else op


def _unknown_word(form: Form, slot: str) -> Finding:
    """The finding for a packed word that is not a literal."""
    return Finding(
        f"{form.row.head}/packed-word",
        Severity.ERROR,
        f"{slot} is packed into the instruction: it cannot be in a register",
        op=form.opcode,
        got=f"{slot} is no number",
        expected=f"{slot}: imm:…",
        hint="PTX spells what the word holds as modifiers, which are fixed",
        section=f"PTX ISA, {form.row.section}",
        subject=slot,
    )


def appearances(mi: MachineInstr) -> list[Reg]:
    """Registers in the order of the text: guard, results, then the other operands."""
    found = registers_in(mi.ops, mi.form.defs) + registers_in(mi.ops, mi.form.uses)
    if mi.guard is not None:
        found.insert(0, mi.guard.reg if isinstance(mi.guard, Not) else mi.guard)
    return found
