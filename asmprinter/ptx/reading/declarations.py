"""Declarations of PTX: variables with initial values, and registers.

Layer: asmprinter.  Input: the text of one declaration.  Output: what it declares, or a
`DeclarationError`.  PTX ISA, State Spaces, Types, and Variables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from asmprinter.ptx.reading.initialisers import (
    LARGEST_INITIAL,
    Symbol,
    addresses_in,
    count_of,
    initial_values,
    laid_out,
    number_in,
)
from asmprinter.ptx.reading.tokens import OperandError
from asmprinter.ptx.source import NAME
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Export, Variable
from intrinsics.modifiers import ScalarType, Space

VARIABLE_SPACES = {
    s.value: s for s in (Space.GLOBAL, Space.SHARED, Space.CONST, Space.LOCAL, Space.PARAM)
}
"""The state spaces that variables live in, by their directives."""


LINKAGES = ("visible", "extern", "weak", "common")


TYPES = {t.value: t for t in ScalarType}


ATTRIBUTE = r"\.attribute\s*\((?:[^()]|\([^()]*\))*\)"


_VARIABLE = re.compile(
    rf"(?P<linkage>(?:(?:\.(?:{'|'.join(LINKAGES)})|(?P<early>{ATTRIBUTE}))\s*+)*)"
    rf"\.(?P<space>\w+)\s*+(?:(?P<late>{ATTRIBUTE})\s*+|\.align\s++(?P<align>\d+)\s*+)*"
    r"(?:\.v(?P<vector>[248])\s*+)?\.(?P<type>\w+)\s++(?P<rest>.*)",
    re.DOTALL,
)


_DECLARATOR = re.compile(
    rf"\s*+(?P<name>{NAME})\s*+(?P<dims>(?:\[[^]]*\]\s*+)*+)"
    r"(?:=\s*+(?P<init>\{.*\}|[^{,]*+))?\s*+",
    re.DOTALL,
)


_OPAQUE_TYPES = ("texref", "samplerref", "surfref")


_REGISTERS = re.compile(
    r"\.reg\s*+(?:\.v(?P<vector>[24])\s*+)?\.(?P<type>\w+)\s++(?P<names>.*)", re.DOTALL
)


_REGISTER = re.compile(rf"(?P<name>{NAME})(?:<(?P<count>\d+)>)?")


_MARK = re.compile(r"\{[^{}()]*+\}|[{},()]")
"""What separates declarators; a list in braces with none within is passed over at once."""


class DeclarationError(Exception):
    """A declaration that cannot be read; `what` is its text."""

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = " ".join(what.split())


# ---- variables -------------------------------------------------------------------------------


class OpaqueTypeError(DeclarationError):
    """A variable of a type that nvgen has no place for; `names` are what is declared."""

    def __init__(self, what: str, space: Space, names: tuple[str, ...]) -> None:
        super().__init__("a type that is not known to nvgen", what)
        self.space = space
        self.names = names


@dataclass(frozen=True, slots=True)
class VariableRead:
    """A variable, and whether its initial value holds addresses that were left out."""

    variable: Variable
    lost_address: bool


def read_variables(text: str) -> list[VariableRead]:
    """`.global .align 8 .b8 x[4] = {1, 2}, y`.

    Raises: OpaqueTypeError for textures and their like, DeclarationError.
    """
    match = _VARIABLE.fullmatch(text.strip())
    if match is None or match["space"] not in VARIABLE_SPACES:
        raise DeclarationError("cannot read this declaration", text)
    declarators = [_DECLARATOR.fullmatch(part) for part in _parts(match["rest"])]
    if None in declarators:
        raise DeclarationError("cannot read this declaration", text)
    found = [one for one in declarators if one is not None]
    if match["type"] in _OPAQUE_TYPES:
        names = tuple(one["name"] for one in found)
        raise OpaqueTypeError(text, VARIABLE_SPACES[match["space"]], names)
    type_ = TYPES.get(match["type"])
    if type_ is None:
        raise DeclarationError("cannot read this declaration", text)
    return [_variable(text, match, one, type_) for one in found]


def _parts(text: str) -> Iterator[str]:
    """What stands between the commas that stand in no braces."""
    depth, begin = 0, 0
    for match in _MARK.finditer(text):
        mark = match[0]
        depth += (mark in "{(") - (mark in "})") if len(mark) == 1 else 0
        if mark == "," and not depth:
            yield text[begin : match.start()]
            begin = match.end()
    yield text[begin:]


def _variable(
    text: str, head: re.Match[str], one: re.Match[str], type_: ScalarType
) -> VariableRead:
    element = max(type_.bits // 8, 1)
    init = one["init"]
    try:
        dims = [number_in(d) if d.strip() else 0 for d in re.findall(r"\[([^]]*)\]", one["dims"])]
        tree = initial_values(init, type_) if init else None
    except RecursionError:
        raise DeclarationError("an expression is nested too deep", text) from None
    except (OperandError, OverflowError) as error:
        raise DeclarationError(f"cannot read this declaration: {error}", text) from None
    if dims and not dims[0] and tree is not None:
        dims[0] = count_of(tree)
    if head["vector"]:
        dims.append(int(head["vector"]))
    size = element * math.prod(dims)
    found: list[tuple[int, Symbol]] = []
    if size > LARGEST or any(dim < 0 for dim in dims):
        raise DeclarationError("no variable has such a size", text)
    data = None if tree is None else b"".join(laid_out(tree, dims, element, 0, found))
    if data is not None and len(data) > size:
        raise DeclarationError("more initial values than elements", text)
    if data is not None and size > LARGEST_INITIAL:
        raise DeclarationError("no variable of such a size is held with its initial values", text)
    addresses = addresses_in(found, element)
    variable = Variable(
        one["name"],
        VARIABLE_SPACES[head["space"]],
        size,
        int(head["align"] or element * int(head["vector"] or 1)),
        None if data is None else data.ljust(size, b"\0"),
        "extern" in head["linkage"],
        type_ if head["space"] == Space.PARAM.value and not dims else ScalarType.B8,
        _export(head["linkage"]),
        addresses or (),
        " ".join((head["early"] or head["late"] or "").split()),
    )
    return VariableRead(variable, addresses is None)


def _export(linkage: str) -> Export:
    return next((e for e in Export if e.value and e.value in linkage), Export.NONE)


_LABELS = re.compile(rf"({NAME})\s*(?:<\s*(\d{{1,9}})\s*>)?")


_MOST_LABELS = 1 << 16


def read_labels(text: str) -> list[str]:
    """The labels of a table, in order; `N<3>` are N0, N1 and N2.

    Raises: DeclarationError.  PTX ISA, Control Flow Directives: .branchtargets.
    """
    found: list[str] = []
    for part in text.split(","):
        match = _LABELS.fullmatch(part.strip())
        count = int(match[2] or 1) if match else 0
        if match is None or not 0 < count <= _MOST_LABELS:
            raise DeclarationError("a table lists labels", part.strip() or text)
        found += [match[1]] if match[2] is None else [f"{match[1]}{n}" for n in range(count)]
    return found


LARGEST = 1 << 40


# ---- registers -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegistersRead:
    """One name of a `.reg`: a register, `count` of them, or a vector of `width`."""

    name: str
    type: ScalarType
    count: int | None = None
    width: int = 0


def read_registers(text: str) -> list[RegistersRead]:
    """`.reg .b32 a, b, %r<3>`.

    Raises: DeclarationError.
    """
    match = _REGISTERS.fullmatch(text.strip())
    type_ = TYPES.get(match["type"]) if match else None
    if match is None or type_ is None:
        raise DeclarationError("cannot read this declaration", text)
    found = []
    for name in match["names"].split(","):
        one = _REGISTER.fullmatch(name.strip())
        if one is None:
            raise DeclarationError("cannot read this register name", name)
        count = int(one["count"]) if one["count"] else None
        found.append(RegistersRead(one["name"], type_, count, int(match["vector"] or 0)))
    return found
