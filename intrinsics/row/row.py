"""The row itself: one PTX instruction family, with what is derived from its notation.

Layer: intrinsics.row.  The notation is described in the package's docstring.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier
from intrinsics.row.attributes import Attributes
from intrinsics.row.effects import PURE, Effects
from intrinsics.row.llvm import Llvm
from intrinsics.row.operands import Kind, Operand
from intrinsics.row.packed_fields import PackedFields
from intrinsics.row.rules import Rule
from intrinsics.row.syntax import Element, Literal, Qualifier, parse_modifiers, parse_operands
from intrinsics.targets import EVERYWHERE, Capability


@dataclass(frozen=True, eq=False)
class Row:
    """One PTX instruction family; see the module's docstring for the notation.

    `section` names the manual's section, `name` tells rows of one head apart (`add.int`), `opcode`
    replaces the head in opcode names (`*` where the qualifiers go), `tied` says which optional
    operand an qualifier value implies, `numbers` publishes opcode numbers, `elsewhere` lists
    modifiers that PTX has with this head in forms that nvgen does not know yet, `aliases` other
    names of the head; `late` maps a modifier that belongs into the head to the longer head; the
    simulator knows no row without `simulated`, and no form with one of the qualifiers or operands
    that `unsimulated` names; `aligned` maps operands that are addresses in shared memory to the
    alignment that they need: bytes, or the operand with their number.  A `pseudo` row is no
    instruction: it has no PTX, and a pass turns its records into others.  `about` says what the
    instruction does, to users of the verb that is called as the row is.
    """

    head: str
    modifiers: str = ""
    syntax: str = ""
    qualifiers: Mapping[str, Iterable[Modifier]] = field(default_factory=dict)
    operands: tuple[Operand, ...] = ()
    section: str = ""
    name: str = ""
    needs: Capability = EVERYWHERE
    needs_text: str = ""
    rules: tuple[Rule, ...] = ()
    effects: Effects = PURE
    llvm: tuple[Llvm, ...] = ()
    packed_fields: PackedFields | None = None
    slots: str = ""
    opcode: str = ""
    tied: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    late: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = True
    unsimulated: tuple[str, ...] = ()
    aligned: Mapping[str, int | str] = field(default_factory=dict)
    pseudo: bool = False
    about: str = ""
    id: str = field(init=False)
    """The row's unique name: no property, for it is asked of record after record."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.name or self.head)

    @cached_property
    def items(self) -> tuple[Qualifier | Literal, ...]:
        """Modifiers in print order."""
        return parse_modifiers(self.modifiers, self.qualifiers)

    @cached_property
    def qualifier(self) -> dict[str, Qualifier]:
        """Qualifiers by name, in print order."""
        return {item.name: item for item in self.items if isinstance(item, Qualifier)}

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """Operand places in PTX order."""
        return parse_operands(self.syntax)

    @cached_property
    def operand(self) -> dict[str, Operand]:
        """Operands by name."""
        return {operand.name: operand for operand in self.operands}

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the operands of each optional group."""
        found: dict[int, tuple[str, ...]] = {}
        for element in self.elements:
            if element.group is not None:
                found[element.group] = found.get(element.group, ()) + element.names
        return tuple(found.values())

    @cached_property
    def optional(self) -> frozenset[str]:
        """Operands that may be left out: in braces, or a result that `_` discards."""
        seconds = {e.names[1][1:] for e in self.elements if e.pair_optional}
        sunk = {o.name for o in self.operands if o.sink and o.kind is Kind.REGISTER}
        return frozenset(itertools.chain.from_iterable(self.groups)) | seconds | sunk

    @cached_property
    def slot_names(self) -> tuple[str, ...]:
        """A record's slots when everything is there: operands, and packed words."""
        if self.slots:
            return tuple(self.slots.split())
        return tuple(n.lstrip("?") for element in self.elements for n in element.names)

    @cached_property
    def opcode_qualifiers(self) -> tuple[str, ...]:
        """Qualifiers that the opcode spells."""
        in_words = self.packed_fields.qualifiers if self.packed_fields else frozenset()
        return tuple(name for name in self.qualifier if name not in in_words)

    @cached_property
    def attribute_names(self) -> tuple[str, ...]:
        """The attributes that rules of this row may test, in a fixed order."""
        matrices = tuple(o.name for o in self.operands if o.kind is Kind.MATRIX)
        return (*self.qualifier, *sorted(self.optional), *matrices)

    @cached_property
    def opcode_ends(self) -> tuple[str, str]:
        """The parts of an opcode's name before and after the qualifiers."""
        text = self.opcode or re.sub(r"\W+", "_", self.head).upper()
        before, _, after = text.partition("*")
        return before, after

    def spell(self, attributes: Attributes) -> str:
        """The instruction's name with its modifiers, in canonical order."""
        parts = [self.head]
        for item in self.items:
            if isinstance(item, Literal):
                parts.append(item.ptx)
                continue
            attribute = attributes.get(item.name)
            if isinstance(attribute, Modifier):
                parts.append(attribute.ptx)
        return "".join(parts)

    def __repr__(self) -> str:
        return f"<Row {self.id}>"
