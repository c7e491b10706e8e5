"""Declarations of PTX: variables with initial values, parameters, registers, function headers.

Layer: asmprinter.  Input: the text of one declaration.  Output: what it declares, or a
`DeclarationError`.  PTX ISA, State Spaces, Types, and Variables; Performance-Tuning Directives.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from asmprinter.ptx_source import NAME
from asmprinter.ptx_tokens import OperandError, Tokens, read_float
from intrinsics.mir import (
    Address,
    Export,
    FloatImm,
    Launch,
    Linkage,
    Param,
    Prototype,
    Variable,
)
from intrinsics.modifiers import ScalarType, Space

VARIABLE_SPACES = {
    s.value: s for s in (Space.GLOBAL, Space.SHARED, Space.CONST, Space.LOCAL, Space.PARAM)
}
"""The state spaces that variables live in, by their directives."""

LINKAGES = ("visible", "extern", "weak", "common")

_TYPES = {t.value: t for t in ScalarType}
_ATTRIBUTE = r"\.attribute\s*\((?:[^()]|\([^()]*\))*\)"
_VARIABLE = re.compile(
    rf"(?P<linkage>(?:(?:\.(?:{'|'.join(LINKAGES)})|(?P<early>{_ATTRIBUTE}))\s*+)*)"
    rf"\.(?P<space>\w+)\s*+(?:(?P<late>{_ATTRIBUTE})\s*+|\.align\s++(?P<align>\d+)\s*+)*"
    r"(?:\.v(?P<vector>[248])\s*+)?\.(?P<type>\w+)\s++(?P<rest>.*)",
    re.DOTALL,
)
_DECLARATOR = re.compile(
    rf"\s*+(?P<name>{NAME})\s*+(?P<dims>(?:\[[^]]*\]\s*+)*+)"
    r"(?:=\s*+(?P<init>\{.*\}|[^{,]*+))?\s*+",
    re.DOTALL,
)
_OPAQUE_TYPES = ("texref", "samplerref", "surfref")
_PARAM = re.compile(
    r"\.param\s*+(?:\.align\s++(?P<align0>\d+)\s*+)?\.(?P<type>\w+)\s++"
    r"(?:(?P<ptr>\.ptr)\s*+(?:\.(?P<space>global|shared|const|local)\s*+)?"
    r"(?:\.align\s++(?P<align>\d+)\s++)?)?"
    rf"(?P<name>{NAME})\s*+(?P<dims>(?:\[\s*+\d+\s*+\]\s*+)*)"
)
_HEADER = re.compile(
    rf"(?P<linkage>(?:\.(?:{'|'.join(LINKAGES)})\s*+)*)\.(?P<kind>entry|func)\b\s*+"
    rf"(?P<attribute>{_ATTRIBUTE})?\s*+(?P<results>\([^)]*\))?\s*+(?P<name>{NAME})\s*+"
    r"(?P<params>\([^)]*\))?(?P<rest>.*)",
    re.DOTALL,
)
_REGISTERS = re.compile(
    r"\.reg\s*+(?:\.v(?P<vector>[24])\s*+)?\.(?P<type>\w+)\s++(?P<names>.*)", re.DOTALL
)
_REGISTER = re.compile(rf"(?P<name>{NAME})(?:<(?P<count>\d+)>)?")
_NUMBERS = r"\s++\d+(?:\s*+,\s*+\d+)*"
_COUNTED = "reqntid|maxntid|reqnctapercluster|maxnreg|minnctapersm|maxclusterrank"
_TUNING = re.compile(
    rf"\.(?P<name>{_COUNTED})(?P<numbers>{_NUMBERS})"
    r"|\.(?P<flag>explicitcluster|blocksareclusters|noreturn)\b"
)
_PROTOTYPE = re.compile(
    r"\.callprototype\s*+(?P<results>\([^)]*\))?\s*+_\s*+(?P<params>\([^)]*\))?\s*+"
    r"(?P<rest>.*)",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r'\.\w+(?:"[^"]*"|[^."])*')
_MARK = re.compile(r"\{[^{}()]*+\}|[{},()]")
"""What separates declarators; a list in braces with none within is passed over at once."""

_DECIMALS = re.compile(r"\{[-\d,\s]*+\}")
_OCTAL = re.compile(r"(?<!\d)0\d")
_FLOATS = {
    ScalarType.F32: re.compile(r"\{\s*+(?:0[fF][0-9a-fA-F]{8}\s*+(?:,\s*+|(?=\})))*+\}"),
    ScalarType.F64: re.compile(r"\{\s*+(?:0[dD][0-9a-fA-F]{16}\s*+(?:,\s*+|(?=\})))*+\}"),
}
_UNITS = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""How `struct` calls numbers of some bytes."""

_DEEPEST = 64
"""Braces within braces, and calls within calls, of an initial value."""


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
    type_ = _TYPES.get(match["type"])
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
        dims = [_number(d) if d.strip() else 0 for d in re.findall(r"\[([^]]*)\]", one["dims"])]
        tree = _tree(init, type_) if init else None
    except RecursionError:
        raise DeclarationError("an expression is nested too deep", text) from None
    except (OperandError, OverflowError) as error:
        raise DeclarationError(f"cannot read this declaration: {error}", text) from None
    if dims and not dims[0] and tree is not None:
        dims[0] = _count(tree)
    if head["vector"]:
        dims.append(int(head["vector"]))
    size = element * math.prod(dims)
    found: list[tuple[int, Symbol]] = []
    if size > _LARGEST or any(dim < 0 for dim in dims):
        raise DeclarationError("no variable has such a size", text)
    data = None if tree is None else b"".join(_laid_out(tree, dims, element, 0, found))
    if data is not None and len(data) > size:
        raise DeclarationError("more initial values than elements", text)
    if data is not None and size > LARGEST_INITIAL:
        raise DeclarationError("no variable of such a size is held with its initial values", text)
    addresses = _addresses(found, element)
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


_LARGEST = 1 << 40
LARGEST_INITIAL = 1 << 24
"""Bytes of a variable whose zeros behind its initial values are held, and printed, like those."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """An address among initial values; `mask` says which of its bits are meant, 0 all of them."""

    name: str
    offset: int = 0
    generic: bool = False
    mask: int = 0


@dataclass(frozen=True, slots=True)
class Plain:
    """Numbers in braces, and nothing else: the bytes of all."""

    data: bytes
    count: int


Tree: TypeAlias = "bytes | Symbol | Plain | list[Tree]"
"""Initial values: the bytes of one, an address, or what stands in braces."""


def _number(text: str) -> int:
    tokens = Tokens(text)
    value = tokens.expression()
    tokens.end()
    return value


def _count(tree: Tree) -> int:
    """How many values stand in the outermost braces; one that stands in none is one."""
    if isinstance(tree, Plain):
        return tree.count
    return len(tree) if isinstance(tree, list) else 1


def _tree(text: str, type_: ScalarType) -> Tree:
    plain = _plain(text.strip(), type_)
    if plain is not None:
        return plain
    tokens = Tokens(text)
    found = _value(tokens, type_, 0)
    tokens.end()
    return found


def _plain(text: str, type_: ScalarType) -> Plain | None:
    """A list of decimal numbers, or of floating-point numbers as bits; None for any other.

    Tables are written so, some with a million values: a token at a time would take seconds.
    """
    size = max(type_.bits // 8, 1)
    pattern = _FLOATS.get(type_)
    if pattern is not None:
        if pattern.fullmatch(text) is None:
            return None
        numbers = [int(n, 16) for n in re.findall(r"0[fFdD]([0-9a-fA-F]+)", text)]
    else:
        if type_.kind == "f" or size not in _UNITS or not _DECIMALS.fullmatch(text):
            return None
        if _OCTAL.search(text):
            return None
        try:
            numbers = [int(n) & (1 << 8 * size) - 1 for n in text[1:-1].split(",")]
        except ValueError:  # nothing between commas, or too much
            return None
    return Plain(struct.pack(f"<{len(numbers)}{_UNITS[size]}", *numbers), len(numbers))


def _value(tokens: Tokens, type_: ScalarType, depth: int) -> Tree:
    if depth > _DEEPEST:
        raise OperandError("braces nested too deep")
    if tokens.peek() == "{":
        tokens.take("{")
        found: list[Tree] = []
        while tokens.peek() != "}":
            found.append(_value(tokens, type_, depth + 1))
            if tokens.peek() != "}":
                tokens.take(",")
        tokens.take("}")
        return found
    masked = tokens.peek().startswith("0x") and tokens.peek(1) == "("
    if masked or (tokens.peek_kind() == "name" and tokens.peek() != "WARP_SZ"):
        return _address(tokens)
    return _bytes(tokens, type_)


def _address(tokens: Tokens) -> Symbol:
    """`x`, `x+8`, `generic(x)+-8` or `0xFF(x)`."""
    mask = 0
    if tokens.peek_kind() != "name":
        mask = _number(tokens.take()[1])
        tokens.take("(")
    found = _unmasked(tokens, 0)
    if mask:
        tokens.take(")")
    return dataclasses.replace(found, mask=mask)


def _unmasked(tokens: Tokens, depth: int) -> Symbol:
    if depth > _DEEPEST:
        raise OperandError("parentheses nested too deep")
    _, name = tokens.take()
    found = Symbol(name)
    if tokens.peek() == "(":
        tokens.take("(")
        found = dataclasses.replace(_unmasked(tokens, depth + 1), generic=name == "generic")
        tokens.take(")")
    if tokens.peek() != "+":
        return found
    tokens.take("+")
    return dataclasses.replace(found, offset=found.offset + tokens.expression())


def _bytes(tokens: Tokens, type_: ScalarType) -> bytes:
    size = max(type_.bits // 8, 1)
    negative = tokens.peek() == "-" and tokens.peek_kind(1) == "float"
    if negative:
        tokens.take("-")
    if tokens.peek_kind() == "float":
        return _float_bytes(read_float(tokens.take()[1], negative=negative), type_)
    value = tokens.expression()
    if type_.kind == "f" and type_.bits in (32, 64):
        try:
            return struct.pack("<f" if type_.bits == 32 else "<d", float(value))
        except OverflowError:
            raise OperandError(f"an integer beyond {type_.ptx}") from None
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _float_bytes(literal: FloatImm, type_: ScalarType) -> bytes:
    rounds = type_ in (ScalarType.F32, ScalarType.F64)
    if not rounds and literal.type.bits != type_.bits:
        raise OperandError(f"{literal.type.ptx} for {type_.ptx}")
    return literal.bits_as(type_).to_bytes(type_.bits // 8, "little")


def _laid_out(
    tree: Tree, dims: list[int], element: int, at: int, found: list[tuple[int, Symbol]]
) -> Iterator[bytes]:
    """The bytes in order; an inner brace that says less than its dimension is filled with zeros.

    Addresses are zeros, and noted in `found` with the bytes that they stand at.
    """
    if isinstance(tree, Symbol):
        found.append((at, tree))
        yield bytes(element)
    elif isinstance(tree, bytes):
        yield tree
    elif isinstance(tree, Plain):
        yield tree.data
    else:
        inner = math.prod(dims[1:]) * element
        for part in tree:
            data = b"".join(_laid_out(part, dims[1:], element, at, found))
            data = data.ljust(inner, b"\0") if isinstance(part, list) else data
            at += len(data)
            yield data


def _addresses(found: list[tuple[int, Symbol]], element: int) -> tuple[Address, ...] | None:
    """The addresses in an initial value; None where parts of one are missing."""
    whole: list[Address] = []
    step = 1 if element == 8 else 8
    for first in range(0, len(found), step):
        group = found[first : first + step]
        at, symbol = group[0]
        parts = [dataclasses.replace(symbol, mask=0xFF << 8 * n) for n in range(8)]
        right = [(at + n, part) for n, part in enumerate(parts)] if step == 8 else None
        if (group if step == 8 else symbol.mask or None) != right:
            return None
        whole.append(Address(at, symbol.name, symbol.offset, symbol.generic))
    return tuple(whole)


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
    type_ = _TYPES.get(match["type"]) if match else None
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


# ---- functions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeaderRead:
    """A function's header; `attributes` are directives that nvgen has no other place for."""

    name: str
    is_kernel: bool
    results: list[Param]
    params: list[Param]
    launch: Launch
    attributes: tuple[str, ...]
    linkage: Linkage
    noreturn: bool

    @property
    def signature(self) -> Prototype:
        """What the function takes and gives."""
        params, results = tuple(self.params), tuple(self.results)
        return Prototype(self.name, params, results, self.noreturn, self.attributes)


def read_header(text: str) -> HeaderRead:
    """`.visible .entry k(.param .u64 p) .maxntid 128`.

    Raises: DeclarationError.
    """
    match = _HEADER.fullmatch(text.strip())
    if match is None:
        raise DeclarationError("cannot read this function's header", text)
    launch, others, noreturn = _launch(match["rest"], text)
    linkage = match["linkage"]
    before = [" ".join(match["attribute"].split())] if match["attribute"] else []
    return HeaderRead(
        match["name"],
        match["kind"] == "entry",
        list(_params(match["results"])),
        list(_params(match["params"])),
        launch,
        (*before, *others),
        next((x for x in Linkage if x.value and x.value in linkage), Linkage.INTERNAL),
        noreturn,
    )


def read_prototype(name: str, text: str) -> Prototype:
    """`.callprototype (.param .b32 _) _ (.param .b64 _)`, which the label `name` stands before.

    Raises: DeclarationError.
    """
    match = _PROTOTYPE.fullmatch(text.strip())
    if match is None:
        raise DeclarationError("cannot read this prototype", text)
    params, results = tuple(_params(match["params"])), tuple(_params(match["results"]))
    _, others, noreturn = _launch(match["rest"], text)
    return Prototype(name, params, results, noreturn, tuple(others))


def _params(text: str | None) -> Iterator[Param]:
    for part in (text or "")[1:-1].split(","):
        if part.strip():
            yield _param(part)


def _param(text: str) -> Param:
    match = _PARAM.fullmatch(text.strip())
    type_ = _TYPES.get(match["type"]) if match else None
    if match is None or type_ is None:
        raise DeclarationError("cannot read this parameter", text)
    element = max(type_.bits // 8, 1)
    dims = [int(n) for n in re.findall(r"\d+", match["dims"])]
    return Param(
        match["name"],
        ScalarType.B8 if dims else type_,
        element * math.prod(dims),
        int(match["align0"] or element),
        VARIABLE_SPACES[match["space"]] if match["space"] else None,
        match["ptr"] is not None,
        int(match["align"] or 1),
    )


def _launch(text: str, whole: str) -> tuple[Launch, list[str], bool]:
    """What stands behind a function's parameters: what is known, the other directives as texts."""
    found: dict[str, tuple[int, ...]] = {}
    flags = set()
    for match in _TUNING.finditer(text):
        flags.add(match["flag"])
        if match["name"]:
            found[match["name"]] = tuple(int(n) for n in match["numbers"].split(","))
    others = _TUNING.sub("", text)
    if _DIRECTIVE.sub("", others).strip():
        raise DeclarationError("cannot read this function's header", whole)

    def one(name: str) -> int:
        return next(itertools.chain(found.get(name, ()), (0,)))

    launch = Launch(
        found.get("reqntid", ()),
        found.get("maxntid", ()),
        found.get("reqnctapercluster", ()),
        one("maxnreg"),
        one("minnctapersm"),
        one("maxclusterrank"),
        "blocksareclusters" in flags,
        "reqnctapercluster" in found and not flags & {"explicitcluster", "blocksareclusters"},
    )
    if "explicitcluster" in flags and not launch.cluster:
        others += ".explicitcluster"
    kept = [" ".join(match[0].split()) for match in _DIRECTIVE.finditer(others)]
    return launch, kept, "noreturn" in flags
