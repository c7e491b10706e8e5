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
    Tree,
    addresses_in,
    check_shape,
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


_DECLARED = "pred b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 f32 f64"
LINKAGES = ("visible", "extern", "weak", "common")


TYPES: dict[str, ScalarType] = {t.value: t for t in ScalarType if t.value in _DECLARED.split()}
"""The types of what is declared; others are only in the names of instructions."""


ATTRIBUTE = r"\.attribute\s*\((?:[^()]|\([^()]*\))*\)"
UNIFIED = r"\.unified\s*\(\s*\w+\s*,\s*\w+\s*\)"
_ATTRIBUTES = re.compile(
    rf"\.attribute\s*\(\s*(?:\.managed|{UNIFIED})(?:\s*,\s*(?:\.managed|{UNIFIED}))*\s*\)"
)


_VARIABLE = re.compile(
    rf"(?P<linkage>(?:(?:\.(?:{'|'.join(LINKAGES)})|(?P<early>{ATTRIBUTE}))\s*+)*)"
    rf"\.(?P<space>\w+)\s*+(?:(?P<late>{ATTRIBUTE})\s*+|\.align\s++(?P<align>[0-9]+)\s*+)*"
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


_REGISTER = re.compile(rf"(?P<name>{NAME})(?:<(?P<count>[0-9]+)>)?")


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
    type_ = type_of(match["type"], int(match["vector"] or 1), text)
    _check_head(match, type_, text)
    return [_variable(text, match, one, type_) for one in found]


def type_of(name: str, vector: int, text: str) -> ScalarType:
    """The type of a declaration, of which a vector has so many elements.

    Raises: DeclarationError.
    """
    type_ = TYPES.get(name)
    if type_ is None:
        raise DeclarationError(f"nothing is declared with the type .{name}", text)
    if type_.bits * vector > _LONGEST_VECTOR or (vector > 1 and type_ is ScalarType.PRED):
        raise DeclarationError(f"a vector has {_LONGEST_VECTOR} bits at most, and no .pred", text)
    return type_


_LONGEST_VECTOR = 128


def _check_head(head: re.Match[str], type_: ScalarType, text: str) -> None:
    """Whether there are variables of a linkage, a state space and a type.

    Raises: DeclarationError.
    """
    if len(linkages_in(head["linkage"])) > 1:
        raise DeclarationError("a variable has one linkage", text)
    if type_ is ScalarType.PRED:
        raise DeclarationError("predicates are registers", text)
    attribute = head["early"] or head["late"]
    if attribute and not (head["space"] == "global" and _ATTRIBUTES.fullmatch(attribute)):
        raise DeclarationError("what is global may be .managed or .unified(…, …)", attribute)
    is_value = head["space"] == Space.PARAM.value and "[" not in head["rest"]
    if is_value and (type_ is ScalarType.F16X2 or head["vector"]):
        raise DeclarationError("no parameter has this type", text)


def linkages_in(text: str) -> list[str]:
    """The linking directives of a declaration."""
    return re.findall(rf"\.({'|'.join(LINKAGES)})\b", text)


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
        tree = None if init is None else _initial(init, head, type_)
    except RecursionError:
        raise DeclarationError("an expression is nested too deep", text) from None
    except (OperandError, OverflowError) as error:
        raise DeclarationError(f"cannot read this declaration: {error}", text) from None
    if dims and not dims[0] and tree is not None:
        dims[0] = count_of(tree)
    if head["vector"]:
        dims.append(int(head["vector"]))
    _check_values(tree, dims, int(head["vector"] or 0), text)
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


def _initial(init: str, head: re.Match[str], type_: ScalarType) -> Tree:
    """The initial values of a variable.

    Raises: OperandError.
    """
    if head["space"] not in ("global", "const") or "extern" in linkages_in(head["linkage"]):
        raise OperandError("only what is global or constant, and defined here, has initial values")
    return initial_values(init, type_)


def _check_values(tree: Tree | None, dims: list[int], vector: int, text: str) -> None:
    """Whether initial values stand in braces as the dimensions of a variable say.

    Raises: DeclarationError.
    """
    try:
        if tree is not None:
            check_shape(tree, dims, vector)
    except OperandError as error:
        raise DeclarationError(f"cannot read this declaration: {error}", text) from None


def _export(linkage: str) -> Export:
    return next((e for e in Export if e.value and e.value in linkage), Export.NONE)


_LABELS = re.compile(rf"({NAME})\s*(?:<\s*([0-9]{{1,9}})\s*>)?")


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


_MOST_REGISTERS = 1 << 32


def read_registers(text: str) -> list[RegistersRead]:
    """`.reg .b32 a, b, %r<3>`.

    Raises: DeclarationError.
    """
    match = _REGISTERS.fullmatch(text.strip())
    if match is None:
        raise DeclarationError("cannot read this declaration", text)
    type_ = type_of(match["type"], int(match["vector"] or 1), text)
    found = []
    for name in match["names"].split(","):
        one = _REGISTER.fullmatch(name.strip())
        if one is None:
            raise DeclarationError("cannot read this register name", name)
        count = int(one["count"]) if one["count"] else None
        if count is not None and count >= _MOST_REGISTERS:
            raise DeclarationError("so many registers cannot be declared", name)
        found.append(RegistersRead(one["name"], type_, count, int(match["vector"] or 0)))
    return found
