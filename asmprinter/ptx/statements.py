"""One machine record as a PTX statement.

Layer: asmprinter.  Input: a record and the names of its function.  Output: its text.  The operands'
places are those of its row's notation.  PTX ISA, Instruction Statements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from asmprinter.ptx.names import Names, table_operand
from intrinsics.findings import VerificationError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.memo import Memo
from intrinsics.mir import (
    FloatImm,
    Form,
    Imm,
    Label,
    MachineInstr,
    Mem,
    Not,
    Op,
    Scalar,
    Sink,
    Special,
    Sym,
    Text,
)
from intrinsics.modifiers import ScalarType
from intrinsics.pseudo import unexpanded
from intrinsics.row import Bracket, Element, Kind, Residency


def instruction(mi: MachineInstr, registers: Sequence[str]) -> str:
    """One record as a PTX statement, with the names of its function's registers."""
    return statement(mi, Names(registers, {}, {}))


def statement(mi: MachineInstr, names: Names) -> str:
    """The statement of a record, with its guard, without indentation."""
    pattern = _PATTERNS[mi.form]
    if pattern is None:
        return _without_pattern(mi, names)
    text, ops, registers = pattern.begin, mi.ops, names.registers
    for slot, behind in pattern.places:
        op = ops[slot]
        text += (registers[op] if type(op) is int else _operand(op, names)) + behind
    if pattern.packed:
        text = mi.row.spell(mi.attributes()) + text
    return text if mi.guard is None else _guarded(text, mi, names)


def _guarded(text: str, mi: MachineInstr, names: Names) -> str:
    if mi.guard is None:
        return text
    if isinstance(mi.guard, Not):
        return f"@!{names.registers[mi.guard.reg]} {text}"
    return f"@{names.registers[mi.guard]} {text}"


def _without_pattern(mi: MachineInstr, names: Names) -> str:
    """A call, a branch through a table, or a statement that was kept as it stood.

    Raises: VerificationError for a pseudo record.
    """
    if mi.row.pseudo:
        raise VerificationError([unexpanded(mi)])
    if mi.row.id == "call":
        return _call(mi, names)
    if labels := table_operand(mi.row):
        table = names.tables.get(mi[labels]) or _operand(mi[labels], names)
        name = mi.row.spell(mi.form.attributes)
        return _guarded(f"{name} {_operand(mi['index'], names)}, {table};", mi, names)
    text, registers = mi.ops[0], mi.get("registers") or ()
    assert isinstance(text, Text)
    assert isinstance(registers, tuple)

    def named(place: re.Match[str]) -> str:
        number = int(place[1])
        return _scalar(registers[number], names) if number < len(registers) else place[0]

    return _KEPT.sub(named, text.text) + ";"


_KEPT = re.compile(r"%\[(\d+)\]")
"""What kept text has in the place of its registers."""


def _call(mi: MachineInstr, names: Names) -> str:
    """A call, whose lists stand in parentheses; one by pointer says its parameters even if none."""

    def listed(op: Op | None) -> str:
        return f"({', '.join(_scalar(part, names) for part in op)})" if type(op) is tuple else "()"

    places = [listed(mi["results"])] if mi.get("results") is not None else []
    places.append(_operand(mi["callee"], names))
    table = mi.get("prototype")
    if table is not None or mi.get("params") is not None:
        places.append(listed(mi.get("params")))
    if table is not None:
        places.append(_operand(table, names))
    return _guarded(f"{mi.row.spell(mi.form.attributes)} {', '.join(places)};", mi, names)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The statements of a form: what they begin with (`add.s32 `), and the slots whose operands
    follow, each with what stands behind it (`, `, in the end `;`).

    Where packed words have a say in the name, the text begins after it.
    """

    begin: str
    places: tuple[tuple[int, str], ...]
    packed: bool


def _pattern(form: Form) -> _Pattern | None:
    """The pattern of a form; None for what is no instruction of its own."""
    if form.row.pseudo or form.row.id in ("opaque", "call") or table_operand(form.row):
        return None
    name = form.row.spell(form.attributes) if form.row.packed_fields is None else ""
    places = _template(form)
    operands = ", ".join(_wrapped(place) for place in places)
    slots = [i for place in places for i in place.slots if i >= 0]
    begin, *behind = (f"{name} {operands};" if places else f"{name};").split(_HOLE)
    return _Pattern(begin, tuple(zip(slots, behind, strict=True)), bool(form.row.packed_fields))


_HOLE = "%s"
"""What stands in the place of an operand while a pattern is made."""

_PATTERNS = Memo(_pattern)


@dataclass(frozen=True, slots=True)
class _Place:
    """One place of the operand list: slots (-1: discarded) and how they are wrapped."""

    slots: tuple[int, ...]
    bracket: Bracket


def _wrapped(place: _Place) -> str:
    """A place as a part of a pattern."""
    shown = [_HOLE if i >= 0 else "_" for i in place.slots]
    match place.bracket:
        case Bracket.PLAIN:
            return shown[0]
        case Bracket.ADDRESS:
            return f"[{shown[0]}]"
        case Bracket.PAIR:
            return "|".join(shown)
        case Bracket.TENSOR:
            return f"[{', '.join(shown)}]"


def _template(form: Form) -> tuple[_Place, ...]:
    row = form.row
    absent = {g for e in row.elements if (g := e.group) is not None and not _there(form, e)}
    places = []
    for element in row.elements:
        if element.group in absent:
            continue
        slots = tuple(form.index.get(n.lstrip("?"), -1) for n in element.names)
        bracket = element.bracket
        if bracket is Bracket.PAIR and element.pair_optional and slots[1] < 0:
            slots, bracket = slots[:1], Bracket.PLAIN
        elif row.operand[element.names[0]].kind is Kind.MATRIX:
            in_tensor_memory = form.attributes[element.names[0]] is Residency.TENSOR
            bracket = Bracket.ADDRESS if in_tensor_memory else Bracket.PLAIN
        places.append(_Place(slots, bracket))
    return tuple(places)


def _there(form: Form, element: Element) -> bool:
    return all(form.attributes.get(name) for name in element.names)


def _operand(op: Op, names: Names) -> str:
    """One operand; an address comes without its brackets."""
    if type(op) is Imm:  # most operands that are no registers
        return str(op.value)
    if type(op) is Mem:
        return _memory(op, names)
    if type(op) is Label:
        return label_text(op.name, names)
    if type(op) is FloatImm:
        return float_literal(op)
    if isinstance(op, tuple):
        return "{" + ", ".join([_scalar(part, names) for part in op]) + "}"
    return _scalar(op, names)


def _scalar(op: Scalar, names: Names) -> str:
    match op:
        case int():
            return names.registers[op]
        case Imm(value):
            return str(value)
        case Mem():
            return _memory(op, names)
        case Sym(name, offset):
            return f"{name}+{offset}" if offset else name
        case Text(text):
            return text
        case Special(name):
            return f"%{name}"
        case Label(name):
            return label_text(name, names)
        case Not(reg):
            return f"!{names.registers[reg]}"
        case FloatImm():
            return float_literal(op)
        case Sink():
            return "_"


def label_text(name: str, names: Names) -> str:
    """The label of a block."""
    return names.labels.get(name) or (name if name[:1] == "$" else "$L_" + name)


def _memory(address: Mem, names: Names) -> str:
    base = address.base
    shown = names.registers[base] if isinstance(base, int) else base.name
    return f"{shown}+{address.offset}" if address.offset else shown


def float_literal(number: FloatImm) -> str:
    """A floating-point number by its bits: `0f3F800000`."""
    if number.type is ScalarType.F32:
        return f"0f{number.bits:08X}"
    return f"0d{number.bits:016X}"
