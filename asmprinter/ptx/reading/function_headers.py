"""Headers of PTX functions: results, parameters, and the directives about a launch.

Layer: asmprinter.  Input: the text of a header or prototype.  Output: what it declares, or a
`DeclarationError`.  PTX ISA, Kernel and Function Directives; Performance-Tuning Directives.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from asmprinter.ptx.reading.declarations import (
    ATTRIBUTE,
    LINKAGES,
    UNIFIED,
    VARIABLE_SPACES,
    DeclarationError,
    linkages_in,
    type_of,
)
from asmprinter.ptx.reading.initialisers import number_in
from asmprinter.ptx.source import NAME
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import NOTHING_SAID, Launch, Linkage, Param, Prototype
from intrinsics.modifiers import ScalarType

_PARAM = re.compile(
    r"\.param\s*+(?:\.align\s++(?P<align0>[0-9]+)\s*+)?\.(?P<type>\w+)\s++"
    r"(?:(?P<ptr>\.ptr)\s*+(?:\.(?P<space>global|shared|const|local)\s*+)?"
    r"(?:\.align\s++(?P<align>[0-9]+)\s++)?)?"
    rf"(?P<name>{NAME})\s*+(?P<dims>(?:\[\s*+[0-9]+\s*+\]\s*+)*)"
)


_HEADER = re.compile(
    rf"(?P<linkage>(?:\.(?:{'|'.join(LINKAGES)})\s*+)*)\.(?P<kind>entry|func)\b\s*+"
    rf"(?P<attribute>{ATTRIBUTE})?\s*+(?P<results>\([^)]*\))?\s*+(?P<name>{NAME})\s*+"
    r"(?P<params>\([^)]*\))?(?P<rest>.*)",
    re.DOTALL,
)


_UNIFIED = re.compile(rf"\.attribute\s*\(\s*{UNIFIED}\s*\)")
_OF_CALLS = re.compile(r"\.(?:attribute|abi_preserve)")
"""Directives of functions that are called, which kernels are not."""


_NUMBER = r"(?:0[xX][0-9a-fA-F]++|[0-9]++)U?+"
_NUMBERS = rf"\s++{_NUMBER}(?:\s*+,\s*+{_NUMBER})*+(?![\w.])"


_COUNTED = "reqntid|maxntid|reqnctapercluster|maxnreg|minnctapersm|maxclusterrank"


_TUNING = re.compile(
    rf"\.(?P<name>{_COUNTED})(?P<numbers>{_NUMBERS})"
    r"|\.(?P<flag>explicitcluster|blocksareclusters|noreturn)\b"
)


_UNREAD = re.compile(rf"\.(?:{_COUNTED}|maxnctapersm|noreturn)\b")
"""What is left of a bound that has no number, of one that PTX had once, and of a second word."""


_PROTOTYPE = re.compile(
    r"\.callprototype\s*+(?P<results>\([^)]*\))?\s*+_\s*+(?P<params>\([^)]*\))?\s*+"
    r"(?P<rest>.*)",
    re.DOTALL,
)


_DIRECTIVE = re.compile(r'\.\w+(?:"[^"]*"|[^."])*')


# ---- functions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeaderRead:
    """A function's header; attributes are directives that nvgen has no other place for."""

    signature: Prototype
    is_kernel: bool
    launch: Launch
    linkage: Linkage
    is_external: bool = False


def read_header(text: str) -> HeaderRead:
    """`.visible .entry k(.param .u64 p) .maxntid 128`.

    Raises: DeclarationError.
    """
    match = _HEADER.fullmatch(text.strip())
    if match is None:
        raise DeclarationError("cannot read this function's header", text)
    before = [" ".join(match["attribute"].split())] if match["attribute"] else []
    signature, launch = _signature(match["name"], match, text, before)
    said = linkages_in(match["linkage"])
    is_kernel = match["kind"] == "entry"
    _check(signature, launch, said, text, is_kernel=is_kernel)
    linkage = next((x for x in Linkage if x.value in said), Linkage.INTERNAL)
    return HeaderRead(signature, is_kernel, launch, linkage, "extern" in said)


def read_prototype(name: str, text: str) -> Prototype:
    """`.callprototype (.param .b32 _) _ (.param .b64 _)`, which the label `name` stands before.

    Raises: DeclarationError.
    """
    match = _PROTOTYPE.fullmatch(text.strip())
    if match is None:
        raise DeclarationError("cannot read this prototype", text)
    return _signature(name, match, text)[0]


def _signature(
    name: str, match: re.Match[str], text: str, before: Sequence[str] = ()
) -> tuple[Prototype, Launch]:
    """What a header or a prototype says; `before` are directives in front of its name."""
    launch, others, noreturn = _launch(match["rest"], text)
    params, results = tuple(_params(match["params"])), tuple(_params(match["results"]))
    return Prototype(name, params, results, noreturn, (*before, *others)), launch


def _check(
    signature: Prototype, launch: Launch, linkages: list[str], text: str, *, is_kernel: bool
) -> None:
    """Whether there are functions with such a header.

    Raises: DeclarationError.
    """
    if len(linkages) > 1 or "common" in linkages:
        raise DeclarationError("a function is .extern, .visible, .weak or none of these", text)
    names = [param.name for param in (*signature.results, *signature.params)]
    if len(set(names)) < len(names):
        raise DeclarationError("two parameters have one name", text)
    if len(signature.results) > 1:
        raise DeclarationError("a function has one result", text)
    if launch != NOTHING_SAID and not is_kernel:
        raise DeclarationError("only kernels have bounds of their launches", text)
    if is_kernel and (signature.results or any(map(_OF_CALLS.match, signature.attributes))):
        raise DeclarationError("a kernel has no results, and is not called", text)
    if any(not _UNIFIED.match(one) for one in signature.attributes if one.startswith(".attribute")):
        raise DeclarationError("a function may be .unified(…, …)", text)
    if launch.blocks_are_clusters and not (launch.reqntid and launch.cluster):
        raise DeclarationError(".blocksareclusters needs .reqntid and .reqnctapercluster", text)
    if signature.noreturn and (is_kernel or signature.results):
        raise DeclarationError("only functions without results are .noreturn", text)


def _params(text: str | None) -> Iterator[Param]:
    for part in (text or "")[1:-1].split(","):
        if part.strip():
            yield _param(part)


def _param(text: str) -> Param:
    match = _PARAM.fullmatch(text.strip())
    if match is None:
        raise DeclarationError("cannot read this parameter", text)
    type_ = type_of(match["type"], 1, text)
    if type_ is ScalarType.PRED or (type_ is ScalarType.F16X2 and not match["dims"]):
        raise DeclarationError("no parameter has this type", text)
    element = max(type_.bits // 8, 1)
    dims = [int(n) for n in re.findall(r"[0-9]+", match["dims"])]
    return Param(
        match["name"],
        ScalarType.B8 if dims else type_,
        element * math.prod(dims),
        int(match["align0"] or element),
        VARIABLE_SPACES[match["space"]] if match["space"] else None,
        match["ptr"] is not None,
        int(match["align"] or 1),
    )


def _check_bounds(found: Mapping[str, tuple[int, ...]], whole: str) -> None:
    """Whether launches have such bounds.  PTX ISA, Performance-Tuning Directives.

    Raises: DeclarationError.
    """
    for name, numbers in found.items():
        most = 1 if name in ("maxnreg", "minnctapersm", "maxclusterrank") else 3
        if len(numbers) > most or max(numbers) >= 1 << 32:
            count = "one number" if most == 1 else "one to three numbers"
            raise DeclarationError(f".{name} has {count} of 32 bits", whole)
        if 0 in numbers and name not in ("reqnctapercluster", "maxclusterrank"):
            raise DeclarationError(f".{name} has no numbers below 1", whole)
    for one, other in (("reqntid", "maxntid"), ("reqnctapercluster", "maxclusterrank")):
        if one in found and other in found:
            raise DeclarationError(f".{one} and .{other} cannot both be said", whole)


def _launch(text: str, whole: str) -> tuple[Launch, list[str], bool]:
    """What stands behind a function's parameters: what is known, the other directives as texts."""
    found: dict[str, tuple[int, ...]] = {}
    flags = set()
    for match in _TUNING.finditer(text):
        flags.add(match["flag"])
        if match["name"]:
            found[match["name"]] = tuple(map(number_in, match["numbers"].split(",")))
    _check_bounds(found, whole)
    others = _TUNING.sub("", text)
    if _DIRECTIVE.sub("", others).strip() or _UNREAD.search(others):
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
