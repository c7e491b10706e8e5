"""Forms: a row with its opcode's attributes settled, interned, with what is derived from them.

Layer: intrinsics.mir.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir.operands import Mem, Op
from intrinsics.modifiers import Modifier, Sem
from intrinsics.row import Access, Attribute, Effect, Kind, Operand, Residency, Row


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """A row with its opcode's attributes and operand positions determined; interned by
    `form_of`.
    """

    row: Row
    values: tuple[Attribute, ...]  # one per form_attribute_names(row)
    attributes: dict[str, Attribute]
    opcode: str
    slots: tuple[str, ...]
    index: dict[str, int]
    operands: tuple[Operand | None, ...]  # per slot; None for a packed word
    defs: tuple[int, ...]  # slots that are written and not read
    uses: tuple[int, ...]  # slots that are read
    updates: tuple[int, ...]  # slots that are read and written
    in_order: bool  # whether written slots come before read ones
    writes_first: bool  # whether only its first operand is written
    is_terminator: bool
    is_pure: bool

    def __repr__(self) -> str:
        return f"<{self.opcode}>"


@functools.cache
def form_attribute_names(row: Row) -> tuple[str, ...]:
    """The attributes that distinguish the forms of `row`: qualifiers, optional operands,
    residencies.
    """
    in_words = row.packed_fields.qualifiers if row.packed_fields else frozenset()
    return tuple(name for name in row.attribute_names if name not in in_words)


@functools.cache
def _intern(row: Row, values: tuple[Attribute, ...]) -> Form:
    attributes = dict(zip(form_attribute_names(row), values, strict=True))
    words = row.packed_fields.slots(attributes) if row.packed_fields else ()
    slots = tuple(
        s
        for s in row.slot_names
        if (attributes[s] if s in row.optional else s in row.operand or s in words)
    )
    operands = tuple(row.operand.get(s) for s in slots)
    effect = row.effects.effect
    written = tuple(i for i, o in enumerate(operands) if o is not None and o.access is Access.WRITE)
    others = tuple(i for i in range(len(slots)) if i not in written)
    updated = tuple(
        i for i, o in enumerate(operands) if o is not None and o.access is Access.UPDATE
    )
    return Form(
        row,
        values,
        attributes,
        opcode_name(row, attributes),
        slots,
        {name: i for i, name in enumerate(slots)},
        operands,
        written,
        others,
        updated,
        (*written, *others) == tuple(range(len(slots))),
        written == (0,) and not updated,
        Effect.TERMINATOR in effect,
        row.effects.is_pure and attributes.get("sem") in (None, Sem.WEAK),
    )


def form_of(row: Row, **attributes: Attribute) -> Form:
    """The form of `row` under `attributes`; those that are not named are absent.

    A qualifier value that implies an operand (a row's `tied`) is derived from the operand.
    """
    return _form_of(row, tuple(attributes.items()))


@functools.cache
def _form_of(row: Row, given: tuple[tuple[str, Attribute], ...]) -> Form:
    attributes = dict(given)
    for qualifier, operand in row.tied.items():
        if qualifier not in attributes and attributes.get(operand) and qualifier in row.qualifier:
            attributes[qualifier] = row.qualifier[qualifier].values[0]
    return _intern(
        row, tuple(_default(row, name, attributes) for name in form_attribute_names(row))
    )


def operand_attributes(row: Row, operands: Mapping[str, Op]) -> dict[str, Attribute]:
    """What the operands that are there say of a form: optional ones, and where matrices live."""
    attributes: dict[str, Attribute] = {name: name in operands for name in row.optional}
    for operand in row.operands:
        if operand.kind is Kind.MATRIX:
            there = isinstance(operands.get(operand.name), Mem)
            attributes[operand.name] = Residency.TENSOR if there else Residency.SHARED
    return attributes


def _default(row: Row, name: str, attributes: dict[str, Attribute]) -> Attribute:
    if name in attributes:
        return attributes[name]
    if name in row.optional:
        return False
    qualifier = row.qualifier.get(name)
    if qualifier is None:
        return Residency.SHARED
    if qualifier.optional:
        return None
    assert len(qualifier.values) == 1, f"{row.id}: {name} must be given"
    return qualifier.values[0]


def opcode_name(row: Row, attributes: dict[str, Attribute]) -> str:
    """The opcode of a form: the head and the qualifiers that the opcode spells."""
    before, after = row.opcode_ends
    found = [attributes[name] for name in row.opcode_qualifiers]
    spelled = [attribute.opcode for attribute in found if isinstance(attribute, Modifier)]
    return "_".join(part for part in (before.strip("_"), *spelled, after.strip("_")) if part)
