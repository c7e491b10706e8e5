"""LLVM's intrinsics of a row: those that a verb may become, and that of a call, with types and
codes.

Layer: nvgen.builder.  Input: a row, and the attributes that a verb's name implies, or a call's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from llvmlite import ir

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import InputError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.legality import describe
from intrinsics.modifiers import Modifier
from intrinsics.patterns import PAIRS, arguments, find_spelling, results
from intrinsics.row import Attribute, Attributes, Code, Row
from nvgen.builder.numbers import WordLike
from nvgen.builder.pointers import Pointer
from nvgen.builder.vectors import Vector
from nvgen.builder.verb_rules import Draft, Operand
from nvgen.calling.callers import place_of_caller
from nvgen.calling.refusals import refuse


@dataclass(frozen=True)
class Choice:
    """A row that a verb may become, with the attributes that all its intrinsics have in common."""

    row: Row
    spellings: tuple[Spelling, ...]

    @cached_property
    def constants(self) -> dict[str, Attribute]:
        """Qualifiers that have one value in all intrinsics of the row."""
        found: dict[str, Attribute] = {}
        for name in self.row.qualifier:
            values = {spelling.attributes.get(name) for spelling in self.spellings}
            if len(values) == 1 and None not in values:
                (found[name],) = values
        return found

    def takes(self, draft: Draft) -> bool:
        """Whether the instruction has all that is given."""
        qualifiers, operands = self.row.qualifier, self.row.operand
        attributes = ((n, f) for n, f in draft.attributes.items() if isinstance(f, Modifier))
        fits = all(
            f in qualifiers[n].attributes if n in qualifiers else n in operands
            for n, f in attributes
        )
        return fits and set(draft.operands) <= operands.keys()


def choice_of(row: Row, stated: Attributes) -> Choice:
    """A row with the intrinsics that have all the attributes that a verb implies."""
    states = {n: f for n, f in stated.items() if n in row.qualifier}
    given = {n for n in stated if n in row.operand}
    fitting = (s for s in catalog.spellings_of(row) if _agrees(s, states))
    return Choice(row, tuple(s for s in fitting if given <= _results(s)))


def _agrees(spelling: Spelling, states: Attributes) -> bool:
    return all(
        spelling.attributes.get(name) is attribute or name in spelling.pattern.codes
        for name, attribute in states.items()
    )


def _results(spelling: Spelling) -> set[str]:
    return {part.name for part in results(spelling.pattern.result)}


def operands_of(spelling: Spelling) -> tuple[list[str], list[str]]:
    """The operands that an intrinsic must have, and those that a flag makes optional."""
    formal = arguments(spelling.pattern.args)
    flagged = {a.name for a in formal if a.sign == "?"}
    names = [a.name for a in formal if a.sign == ":"]
    must = [n for n in names if n not in flagged] + list(spelling.pattern.numbers)
    return must, [n for n in names if n in flagged]


# ---- the intrinsic of a call ---------------------------------------------------------------------


def spelled(
    row_id: str, wanted: Mapping[str, Attribute], operands: Mapping[str, Operand]
) -> Spelling:
    """LLVM's intrinsic for a row with attributes and operands."""
    spaces = {n: given.space for n, given in operands.items() if isinstance(given, Pointer)}
    try:
        return find_spelling(row_id, wanted, operands, spaces)
    except InputError as error:
        raise InputError([found.at(place_of_caller()) for found in error.findings]) from None


def check_length(spelling: Spelling, name: str, operand: Vector | Sequence[WordLike]) -> None:
    """Check that a list has as many values as the instruction takes."""
    count = spelling.row.operand[name].count
    assert count is not None
    wanted = max(count.of(spelling.attributes), 1)  # 0: a scalar without braces
    found = operand.count if isinstance(operand, Vector) else len(operand)
    if found != wanted:
        raise refuse(
            f"{name} of {spelling.name} has another length",
            got=str(found),
            expected=str(wanted),
        )


def result_type(spelling: Spelling, attributes: Mapping[str, Attribute]) -> ir.Type:
    """What the intrinsic gives: a structure where there are several results."""
    text = spelling.pattern.result
    if not text:
        return ir.VoidType()
    types = []
    for part in results(text):
        count = spelling.row.operand[part.name].count
        types.append(llvm_type(part.type, count.of(attributes) if count is not None else 1))
    return ir.LiteralStructType(types) if text.startswith("{") else types[0]


def code_of(table: Code, attribute: Attribute, qualifier: str) -> int:
    """The number that encodes an attribute in an intrinsic's arguments."""
    for code, known in table.items():
        if known is attribute:
            return code
    choices = ", ".join(sorted(describe(f) for f in table.values()))
    raise refuse(
        f"LLVM has no {qualifier} {describe(attribute)}", got=describe(attribute), expected=choices
    )


def llvm_type(text: str, count: int = 1) -> ir.Type:
    """The llvmlite type of an argument in a pattern; `count` is the length of `v*i32`."""
    if text.startswith("n*"):
        element = llvm_type(text[2:])
        return element if count == 1 else ir.LiteralStructType([element] * count)
    if text in PAIRS:
        return ir.VectorType(ir.HalfType(), 2)
    if text.startswith("v*"):
        element = llvm_type(text[2:])
        return element if count == 1 else ir.VectorType(element, count)
    if text.startswith("p"):
        return ir.PointerType(addrspace=int(text[1:] or 0))
    named = {"float": ir.FloatType(), "double": ir.DoubleType()}
    return named[text] if text in named else ir.IntType(int(text[1:]))
