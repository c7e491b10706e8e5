"""Declarations in MIR text: variables, parameters, launch attributes, locations.

Layer: asmprinter.  Input: tokens.  Output: the parts of an `intrinsics.mir.Module` that are not
records.  The grammar stands in `asmprinter.mir.reader`; each function reads the rule that it is
named after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from asmprinter.mir.tokens import END, BadTextError, Token, Tokens, integer
from asmprinter.ptx.reading.initialisers import LARGEST_INITIAL
from intrinsics.limits import MOST_PARAMETER_BYTES
from intrinsics.mir import (
    Address,
    DirectivePosition,
    Export,
    KeptDirective,
    Launch,
    Linkage,
    Location,
    MachineFunction,
    Param,
    Prototype,
    Variable,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx, Target

Named = TypeVar("Named")

GENERIC = "generic"
"""The space of a pointer that says none."""

LAUNCH = {
    "reqntid": 3,
    "maxntid": 3,
    "cluster": 3,
    "maxnreg": 1,
    "minctasm": 1,
    "maxclusterrank": 1,
    **dict.fromkeys(("blocksareclusters", "implicitcluster"), 0),
    **dict.fromkeys(("internal", "weak", "noreturn", "named"), 0),
}
"""The launch words, and how many numbers at most stand behind each."""

_ADDRESS = 8
"""Bytes of an address."""

_LINKAGES = ("extern", *(export.value for export in Export if export.value))
_SPACES = {space.value: space for space in Space if " " not in space.value}
_CLASSES = {cls.value: cls for cls in ScalarType}


def target(tokens: Tokens) -> Target:
    """A target's name."""
    return _one_of(TARGETS, tokens, "unknown target", "one of `nvgen targets`")


def options(tokens: Tokens) -> Iterator[str]:
    """Options of `.target` beside the target."""
    while tokens.next.kind == "word":
        yield tokens.take()


def version(tokens: Tokens) -> Ptx:
    """A PTX version."""
    token = tokens.next
    major, _, minor = tokens.take("version").partition(".")
    found = Ptx(integer(token, major), integer(token, minor))
    if found not in PTX_VERSIONS:
        expected = f"{PTX_VERSIONS[0]} to {PTX_VERSIONS[-1]}"
        raise BadTextError(f"unknown PTX version {token.text}", token, expected)
    return found


def register_class(tokens: Tokens) -> ScalarType:
    """A register class, or the type of a parameter."""
    return _one_of(_CLASSES, tokens, "no register class", "b32, b64, pred, f32, …")


def _one_of(known: Mapping[str, Named], tokens: Tokens, problem: str, expected: str) -> Named:
    """What the next word names."""
    token = tokens.next
    found = known.get(tokens.take("word"))
    if found is None:
        raise BadTextError(f"{problem} '{token.shown}'", token, expected)
    return found


def is_variable(token: Token) -> bool:
    """Whether a variable's line begins here."""
    return token.kind == "word" and (token.text in _LINKAGES or token.text in _SPACES)


def variable(tokens: Tokens) -> Variable:
    """A variable's line."""
    linkage = next((word for word in _LINKAGES if tokens.take_if("word", word)), "")
    space = _space(tokens)
    name = tokens.symbol()
    tokens.take("mark", ":")
    size, align = _size_and_align(tokens)
    cls = register_class(tokens) if tokens.take_if("word", "type") else ScalarType.B8
    begin = tokens.next
    data = _bytes(tokens) if tokens.take_if("mark", "=") else None
    if data is not None and len(data) > size:
        raise BadTextError("more bytes than the variable has", begin, f"at most {size}")
    addresses: list[Address] = []
    while tokens.take_if("word", "at"):
        begin = tokens.next
        addresses.append(_address(tokens))
        if not _has_room(addresses, data or b""):
            raise BadTextError(
                "an address stands among the bytes", begin, "eight of them, which no other takes"
            )
    attribute = tokens.string() if tokens.take_if("word", "attribute") else ""
    export = Export.NONE if linkage == "extern" else Export(linkage)
    if addresses and size > LARGEST_INITIAL:
        raise BadTextError(
            "no variable of such a size has addresses among its values",
            begin,
            f"at most {LARGEST_INITIAL} bytes",
        )
    return Variable(
        name,
        space,
        size,
        align,
        data,
        linkage == "extern",
        cls,
        export,
        tuple(addresses),
        attribute,
    )


def _address(tokens: Tokens) -> Address:
    """An address among the bytes of a variable, behind `at`."""
    at = tokens.integer()
    generic = tokens.take_if("word", GENERIC)
    name, negative = tokens.symbol(), tokens.take_if("mark", "-")
    offset = tokens.integer()
    return Address(at, name, -offset if negative else offset, generic)


def _has_room(addresses: list[Address], data: bytes) -> bool:
    """Whether the last address has eight of the bytes for itself."""
    *others, last = addresses
    free = all(abs(last.at - other.at) >= _ADDRESS for other in others)
    return free and last.at + _ADDRESS <= len(data)


def prototype(tokens: Tokens) -> Prototype:
    """A function that is declared, behind the word that says so."""
    tokens.take()
    name = tokens.symbol()
    tokens.take("mark", "(")
    params: list[Param] = []
    results: list[Param] = []
    while not tokens.take_if("mark", ")"):
        (results if tokens.is_next("word", "result") else params).append(_param(tokens))
        if not tokens.is_next("mark", ")"):
            tokens.take("mark", ",")
    noreturn = tokens.take_if("word", "noreturn")
    return Prototype(name, tuple(params), tuple(results), noreturn, tuple(_attributes(tokens)))


def _attributes(tokens: Tokens) -> Iterator[str]:
    while tokens.take_if("word", "attribute"):
        yield tokens.string()


def kept(tokens: Tokens) -> KeptDirective:
    """A directive of PTX, behind the word that says so."""
    tokens.take()
    token = tokens.next
    places = {where.value: where for where in DirectivePosition}
    found = places.get(tokens.take("word"))
    if found is None:
        raise BadTextError(f"no place '{token.shown}'", token, ", ".join(places))
    return KeptDirective(tokens.string(), found)


def _space(tokens: Tokens) -> Space:
    token = tokens.next
    found = _SPACES.get(tokens.take("word"))
    if found is None:
        raise BadTextError(f"no state space '{token.shown}'", token, ", ".join(_SPACES))
    return found


def _size_and_align(tokens: Tokens) -> tuple[int, int]:
    tokens.take("word", "size")
    size = tokens.integer()
    tokens.take("word", "align")
    return size, tokens.integer()


def _bytes(tokens: Tokens) -> bytes:
    token = tokens.next
    digits = tokens.take("hex").removeprefix("0x")
    if len(digits) % 2:
        raise BadTextError("half a byte is left over", token, "two hex digits for each byte")
    return bytes.fromhex(digits)


def location(tokens: Tokens) -> Location:
    """The location after the `=` of a location's line."""
    file = tokens.string()
    tokens.take("mark", ":")
    line = tokens.integer()
    tokens.take("mark", ":")
    column = tokens.integer()
    found = Location(file, line, column)
    if tokens.take_if("word", "from"):
        found.python_file = tokens.string()
        tokens.take("mark", ":")
        found.python_line = tokens.integer()
    while tokens.take_if("word", "called"):
        caller = tokens.string()
        tokens.take("mark", ":")
        found.callers += ((caller, tokens.integer()),)
        found.called += (tokens.string() if tokens.take_if("word", "as") else "",)
    found.called = found.called if any(found.called) else ()
    if tokens.take_if("word", "behind"):
        found.directives = tokens.string()
    return found


# ---- a function's header ---------------------------------------------------------------------


def header(tokens: Tokens, report: Callable[[BadTextError], None]) -> MachineFunction:
    """A function up to its `{`; malformed parts are reported and left out."""
    function = MachineFunction("", tokens.take("word") == "kernel")
    try:
        function.name = tokens.symbol()
        tokens.take("mark", "(")
        _params(tokens, function, report)
        _launch(tokens, function)
        tokens.take("mark", "{")
        tokens.end()
    except BadTextError as bad:
        report(bad)
    return function


def _params(
    tokens: Tokens, function: MachineFunction, report: Callable[[BadTextError], None]
) -> None:
    while not tokens.take_if("mark", ")"):
        if tokens.next.kind == END or tokens.is_next("mark", "{"):
            raise tokens.unexpected("')'")
        begin = tokens.at
        try:
            found = function.results if tokens.is_next("word", "result") else function.params
            found.append(_param(tokens))
        except BadTextError as bad:
            report(bad)
            tokens.at = max(tokens.at, begin + 1)
            while not _ends_param(tokens.next):
                tokens.at += 1
        tokens.take_if("mark", ",")


def _ends_param(token: Token) -> bool:
    return token.kind == END or (token.kind, token.text) in (
        ("word", "param"), ("word", "result"), ("mark", ","), ("mark", ")"), ("mark", "{"),
    )  # fmt: skip


def _param(tokens: Tokens) -> Param:
    if not tokens.take_if("word", "result"):
        tokens.take("word", "param")
    name = tokens.symbol()
    tokens.take("mark", ":")
    cls = register_class(tokens)
    begin = tokens.next
    size, align = _size_and_align(tokens)
    if cls is not ScalarType.B8 and size != max(cls.bits // 8, 1):
        raise BadTextError(
            f"a {cls.value} has another size", begin, f"size {cls.bits // 8}", f"size {size}"
        )
    if not 1 <= size <= MOST_PARAMETER_BYTES:
        raise BadTextError(
            f"no parameter has {size} bytes", begin, f"size 1 to size {MOST_PARAMETER_BYTES}"
        )
    pointee, is_pointer, pointee_align = None, tokens.take_if("word", "ptr"), 1
    if is_pointer:
        pointee = None if tokens.take_if("word", GENERIC) else _space(tokens)
        pointee_align = tokens.integer()
    constant = tokens.take_if("word", "constant")
    called = tokens.string() if tokens.take_if("word", "called") else ""
    return Param(
        name, cls, size, align, pointee, is_pointer, pointee_align, constant, called=called
    )


def _launch(tokens: Tokens, function: MachineFunction) -> None:
    found: dict[str, tuple[int, ...]] = {}
    attributes: list[str] = []
    while not tokens.is_next("mark", "{"):
        token = tokens.next
        if tokens.take_if("word", "attribute"):
            attributes.append(tokens.string())
            continue
        if token.kind != "word" or token.text not in LAUNCH:
            raise tokens.unexpected("'{' or a launch word")
        word = tokens.take()
        if word in found:
            raise BadTextError(f"{word} is said twice", token, f"{word} once")
        found[word] = _numbers(tokens, LAUNCH[word]) if LAUNCH[word] else ()
    function.keep_names = "named" in found
    function.noreturn = "noreturn" in found
    function.attributes = tuple(attributes)
    if "weak" in found:
        function.linkage = Linkage.WEAK
    elif "internal" in found:
        function.linkage = Linkage.INTERNAL
    function.launch = Launch(
        found.get("reqntid", ()),
        found.get("maxntid", ()),
        found.get("cluster", ()),
        found.get("maxnreg", (0,))[0],
        found.get("minctasm", (0,))[0],
        found.get("maxclusterrank", (0,))[0],
        "blocksareclusters" in found,
        "implicitcluster" in found,
    )


def _numbers(tokens: Tokens, most: int) -> tuple[int, ...]:
    found = [tokens.integer()]
    while len(found) < most and tokens.next.kind == "int":
        found.append(tokens.integer())
    return tuple(found)
