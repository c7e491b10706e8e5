"""The operands of a PTX instruction: text to syntax, and syntax to the places of a row.

Layer: asmprinter.  Input: the text after an instruction's name.  Output: machine operands with the
registers of the current scope, then the same operands by name, as the row's syntax places them.
PTX ISA, Instruction Operands.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from asmprinter.ptx.reading.tokens import OperandError, Tokens, UndeclaredError, read_float
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    SINK,
    Imm,
    Mem,
    Not,
    Op,
    Scalar,
    Special,
    Sym,
)
from intrinsics.row import Attribute, Bracket, Element, Kind, Row
from intrinsics.special import special_registers


@dataclass(frozen=True, slots=True)
class Pair:
    """`x|y`."""

    first: Scalar
    second: Scalar


@dataclass(frozen=True, slots=True)
class Tensor:
    """`[map, {coordinates}]`."""

    base: Mem
    coords: Op


Syntax: TypeAlias = Op | Pair | Tensor

Resolve: TypeAlias = Callable[[str], Op | None]
"""Gives what a name stands for: a register, the registers of a vector, a symbol, a label; or None
when it is not declared."""


class _Parser(Tokens):
    """Recursive descent over the tokens of one operand list."""

    def __init__(self, text: str, resolve: Resolve) -> None:
        super().__init__(text)
        self.resolve = resolve

    def operands(self) -> list[Syntax]:
        found = []
        if self.tokens:
            found.append(self.operand())
        while self.at < len(self.tokens):
            self.take(",")
            found.append(self.operand())
        return found

    def operand(self) -> Syntax:
        match self.peek():
            case "{":
                return self.vector()
            case "[":
                return self.bracketed()
        first = self.value()
        if not isinstance(first, tuple) and self.peek() == "|":
            self.take("|")
            return Pair(first, self.scalar())
        return first

    def vector(self) -> tuple[Scalar, ...]:
        self.take("{")
        parts = [self.scalar()]
        while self.peek() == ",":
            self.take(",")
            parts.append(self.scalar())
        self.take("}")
        return tuple(parts)

    def bracketed(self) -> Mem | Tensor:
        self.take("[")
        mem = self.address()
        if self.peek() == ",":
            if mem.offset:
                raise OperandError("a tensor map's address takes no offset")
            self.take(",")
            coords = self.coordinates()
            if isinstance(coords, (Pair, Tensor)):
                raise OperandError("coordinates stand in braces")
            self.take("]")
            return Tensor(mem, coords)
        self.take("]")
        return mem

    def coordinates(self) -> Syntax:
        """Coordinates in braces, if there are any between them."""
        if (self.peek(), self.peek(1)) != ("{", "}"):
            return self.operand()
        self.take("{")
        self.take("}")
        return ()

    def address(self) -> Mem:
        if self.peek_kind() != "name":
            raise OperandError("an address begins with a register or a symbol")
        base = self.scalar()
        if isinstance(base, Sym):
            return Mem(Sym(base.name), base.offset)
        if type(base) is not int:
            raise OperandError("an address begins with a register or a symbol")
        return Mem(base, self.offset())

    def offset(self) -> int:
        """`+16` or `+-16` after a register or a symbol, or nothing."""
        if self.peek() != "+":
            return 0
        self.take()
        return self.expression()

    def scalar(self) -> Scalar:
        found = self.value()
        if isinstance(found, tuple):
            raise OperandError("a vector does not stand here")
        return found

    def value(self) -> Op:
        """The operand that a name or a number stands for."""
        kind, text = self.peek_kind(), self.peek()
        if kind == "name" and text != "WARP_SZ":
            self.take()
            return self.named(text)
        if kind == "float":
            self.take()
            return read_float(text)
        if text == "-" and self.peek_kind(1) == "float":
            self.take()
            return read_float(self.take()[1], negative=True)
        if text == "!" and self.peek_kind(1) == "name":
            self.take()
            return self.negated()
        return Imm(self.expression())

    def negated(self) -> Not:
        _, name = self.take()
        found = self.lookup(name)
        if type(found) is not int:
            raise OperandError(f"'!' negates a predicate, not '{name}'")
        return Not(found)

    def named(self, name: str) -> Op:
        if name == "_":
            return SINK
        found = self.lookup(name)
        return Sym(found.name, self.offset()) if isinstance(found, Sym) else found

    def lookup(self, name: str) -> Op:
        found = self.resolve(name)
        if found is not None:
            return found
        base, dot, component = name.partition(".")
        if dot and type(self.resolve(base)) is int:
            raise OperandError(f"the register '{base}' has no component '.{component}'")
        special = _special(name)
        if special in special_registers():
            return Special(special)
        raise UndeclaredError(name)


def _special(name: str) -> str:
    """A special register's name; .r .g .b .a are other words for .x .y .z .w."""
    base, dot, component = name.removeprefix("%").partition(".")
    return base + dot + {"r": "x", "g": "y", "b": "z", "a": "w"}.get(component, component)


def parse_operands(text: str, resolve: Resolve) -> list[Syntax]:
    """Parse an operand list.

    Raises: OperandError.
    """
    plain = _plain_operands(text, resolve)
    if plain is not None:
        return plain
    try:
        return _Parser(text, resolve).operands()
    except RecursionError:
        raise OperandError("an expression is nested too deep") from None


_NUMBER = r"-?(?:0|[1-9][0-9]{0,8})"
_PLAIN = re.compile(
    rf"\s*+(?:(%[\w$]++)|({_NUMBER})|\[\s*+(%[\w$]++)(?:\+({_NUMBER}))?\s*+\]|\{{([^{{}}]*+)\}})"
    r"\s*+(,|\Z)"
)
"""A register, a number, an address, or registers in braces, and what stands behind it."""


def _plain_operands(text: str, resolve: Resolve) -> list[Syntax] | None:
    """Operands that are registers, numbers and addresses, as most are; None where one is not."""
    found: list[Syntax] = []
    at, behind = 0, ","
    while behind:
        match = _PLAIN.match(text, at)
        if match is None:
            return None
        name, number, base, offset, parts, behind = match.groups()
        if number:
            found.append(Imm(int(number)))
        elif parts is not None:
            vector = [resolve(part.strip()) for part in parts.split(",")]
            registers = [reg for reg in vector if type(reg) is int]
            if len(registers) < len(vector):
                return None
            found.append(tuple(registers))
        else:
            reg = resolve(name or base)
            if type(reg) is not int:
                return None
            found.append(reg if name else Mem(reg, int(offset or 0)))
        at = match.end()
    return found


# ---- placing operands ------------------------------------------------------------------------


def _shape(op: Syntax) -> str:
    match op:
        case Pair():
            return "|"
        case Tensor():
            return "["
        case tuple():
            return "{"
        case Mem():
            return "m"
        case _:
            return "_" if op is SINK else "x"


def place(
    row: Row, attributes: dict[str, Attribute], operands: Sequence[Syntax]
) -> dict[str, Op] | None:
    """The operands by name, or None when they cannot be laid on the row's syntax.

    An optional operand that a qualifier implies is looked for when the qualifier is there.  A
    result that is discarded with `_` is left out.
    """
    shapes = "".join(_shape(op) for op in operands)
    wanted = tuple(attributes.get(qualifier) is not None for qualifier in row.tied)
    elements = _layout(row, wanted, shapes)
    if elements is None:
        return None
    placed: dict[str, Op] = {}
    for element, op in zip(elements, operands, strict=True):
        if isinstance(op, Pair):
            pairs = zip(element.names, (op.first, op.second), strict=True)
            placed.update((name.lstrip("?"), part) for name, part in pairs)
        elif isinstance(op, Tensor):
            placed[element.names[0]] = op.base
            placed[element.names[1]] = op.coords
        else:
            placed[element.names[0]] = op
    sunk = [n for n, op in placed.items() if op is SINK and row.operand[n].sink]
    for name in sunk:
        if row.operand[name].kind is Kind.REGISTER:
            del placed[name]
    return placed


def order_of(
    row: Row, attributes: dict[str, Attribute], operands: Sequence[Syntax], slots: Sequence[str]
) -> tuple[int, ...] | None:
    """For each of a form's slots the operand in it; None where an operand is not one slot's."""
    shapes = "".join(_shape(op) for op in operands)
    wanted = tuple(attributes.get(qualifier) is not None for qualifier in row.tied)
    names = [element.names[0] for element in _layout(row, wanted, shapes) or ()]
    if not set(shapes) <= set("xm{") or sorted(names) != sorted(slots):
        return None
    return tuple(map(names.index, slots))


def in_order(operands: Sequence[Syntax], order: tuple[int, ...]) -> tuple[Op, ...]:
    """The operands of a form's slots, as `order_of` has their order."""
    found = [operands[place] for place in order]
    return tuple([op for op in found if not isinstance(op, (Pair, Tensor))])


def lacks_coordinates(row: Row, operands: Sequence[Syntax]) -> bool:
    """Whether a tensor map stands alone among operands where the row's has coordinates."""
    at = next((i for i, e in enumerate(row.elements) if e.bracket is Bracket.TENSOR), None)
    if at is None or at >= len(operands):
        return False
    op = operands[at]
    return not op.coords if isinstance(op, Tensor) else isinstance(op, Mem)


@functools.cache
def _layout(row: Row, wanted: tuple[bool, ...], shapes: str) -> tuple[Element, ...] | None:
    """The elements that `shapes` (one letter an operand) fill: tied groups as wanted first."""
    tied = dict(zip(row.tied.values(), wanted, strict=True))
    groups = sorted({e.group for e in row.elements if e.group is not None})
    best: tuple[int, tuple[Element, ...]] | None = None
    for chosen in itertools.product((False, True), repeat=len(groups)):
        there = {group for group, is_there in zip(groups, chosen, strict=True) if is_there}
        elements = tuple(e for e in row.elements if e.group is None or e.group in there)
        if len(elements) != len(shapes):
            continue
        named = {n for e in elements for n in e.names}
        cost = sum(10 for name, want in tied.items() if (name in named) != want)
        cost += sum(_misfit(row, e, s) for e, s in zip(elements, shapes, strict=True))
        if best is None or cost < best[0]:
            best = cost, elements
    if best is None:
        return None
    if any(_impossible(row, e, s) for e, s in zip(best[1], shapes, strict=True)):
        return None
    return best[1]


def _misfit(row: Row, element: Element, shape: str) -> int:
    if element.bracket in (Bracket.PAIR, Bracket.TENSOR):
        return 0
    kind = row.operand[element.names[0]].kind
    wanted = {
        Kind.VECTOR: "{x",
        Kind.ADDRESS: "m",
        Kind.TENSOR_ADDRESS: "m",
        Kind.MATRIX: "mx",
        Kind.SOURCE: "x{m",
        Kind.LABELS: "{",
    }.get(kind, "x_")
    return 0 if shape in wanted else 3


def _impossible(row: Row, element: Element, shape: str) -> bool:
    if element.bracket is Bracket.TENSOR:
        return shape != "["
    if element.bracket is Bracket.PAIR:
        return shape != "|" and not (element.pair_optional and shape in "x_")
    return shape in "|["


def unbrace(row: Row, attributes: dict[str, Attribute], placed: dict[str, Op]) -> None:
    """Take the braces from a vector of one where there is one value.

    ptxas takes `ld.b32 {%r1}, [%rd1]` for `ld.b32 %r1, [%rd1]`, but not so with atom and red; and
    scale factors of mma in braces, as CUTLASS writes them.
    """
    if row.head not in ("ld", "st") and not row.head.startswith("mma"):
        return
    for name, op in placed.items():
        if not isinstance(op, tuple) or len(op) != 1:
            continue
        operand = row.operand[name]
        count = operand.count.of(attributes) if operand.count is not None else 1
        of_memory = row.head in ("ld", "st") and operand.kind is Kind.VECTOR and not count
        if of_memory or name in ("sfa", "sfb"):
            placed[name] = op[0]
