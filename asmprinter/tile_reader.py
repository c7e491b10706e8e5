"""Tile multiplies from text: the forms that `tile_multiply` and `tile_dot` print.

Layer: asmprinter.  Input: text with operations `cuda_tile.mmaf`, `cuda_tile.mmai` and
`nv_tileaa.dot`, comments (`//`), and declarations of operands (`%a : !cuda_tile.tile<64x16xbf16>`).
Output: the operations with their lines.  What they say is judged elsewhere.
"""

from __future__ import annotations

import re

from asmprinter.tile_words import BEGIN, LOWERED
from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError, Place, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.multiplies.tile_dot import TileDot
from intrinsics.multiplies.tile_multiply import Names, Tile, TileMultiply

_TYPE = r"(?:!cuda_tile\.tile|tensor)<([^<>]*)>"
_DECLARED = re.compile(rf"^\s*%(\w+)\s*:\s*{_TYPE}\s*$", re.MULTILINE)
_OPERATION = re.compile(
    rf"%(\w+)\s*=\s*(cuda_tile\.mma[fi]|nv_tileaa\.dot)\s+%(\w+)\s*,\s*%(\w+)\s*,\s*%(\w+)\s*"
    rf"(?:\{{([^{{}}]*)\}}\s*)?:\s*{_TYPE}\s*,\s*{_TYPE}\s*,\s*{_TYPE}(?:\s*->\s*{_TYPE})?"
)
_ATTRIBUTE = re.compile(r'\s*(\w+)\s*=\s*(?:"([^"]*)"|#cute\.mma_atom<(\w+)>)\s*')
_ATTRIBUTES = {
    "cuda_tile.mmaf": ("fastmath",),
    "cuda_tile.mmai": ("fastmath",),
    "nv_tileaa.dot": ("atom", "input_precision", "fastmath"),
}
_OTHER_NAMES = {
    "f8E4M3FN": ElementType.E4M3,
    "f8E5M2": ElementType.E5M2,
    "i8": ElementType.S8,
    "i32": ElementType.S32,
}
"""Element types as MLIR calls them, where that is not what PTX does."""


@dataclass(frozen=True, slots=True)
class Read:
    """An operation and where it stands."""

    op: TileMultiply | TileDot
    place: Place


def read_tiles(text: str, file: str = "") -> list[Read]:
    """The multiplies of `text`, in order.

    Raises: InputError for one that cannot be read, or whose operand was declared otherwise; for a
    text that has none, but operations that a multiply was taken apart into.
    """
    refuse_lowered(text, file)
    bare = _without_comments(text)
    declared = {match[1]: match[2] for match in _DECLARED.finditer(bare)}
    found = []
    for begin in BEGIN.finditer(bare):
        place = Place(file, bare.count("\n", 0, begin.start()) + 1)
        match = _OPERATION.match(bare, begin.start())
        if match is None:
            got = " ".join(bare[begin.start() :].split("\n", 1)[0].split())
            raise _error(
                place, "the operation is not understood", got,
                "%d = cuda_tile.mmaf %a, %b, %c { … } : three tile types",
            )  # fmt: skip
        found.append(Read(_operation(match, declared, place), place))
    return found


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def refuse_lowered(text: str, file: str = "") -> None:
    """Refuse a multiply of tiles that is in its third, lowered form: the first two are read.

    Raises: InputError.
    """
    bare = _without_comments(text)
    lowered = None if BEGIN.search(bare) else LOWERED.search(bare)
    if lowered is None:
        return
    dialect = lowered[1].partition(".")[0]
    finding = Finding(
        "tile/lowered", Severity.ERROR,
        f"a multiply that was taken apart into {dialect} operations, its third form, is not read",
        Place(file, bare.count("\n", 0, lowered.start(1)) + 1), got=lowered[1],
        expected="its first form (cuda_tile.mmaf), its second (nv_tileaa.dot), or LLVM IR",
        hint="give the multiply before it is taken apart, and `nvgen trace` shows each stage; or "
        "lower it with the compiler that wrote this, to llvm.nvvm.tcgen05.mma",
    )  # fmt: skip
    raise InputError([finding])


def _operation(
    match: re.Match[str], declared: dict[str, str], place: Place
) -> TileMultiply | TileDot:
    names = Names(match[3], match[4], match[5], match[1])
    for name, type_ in zip(match.group(3, 4, 5), match.group(7, 8, 9), strict=True):
        if name in declared and _tile(declared[name], place) != _tile(type_, place):
            raise _error(place, f"%{name} is of another type", type_, declared[name])
    a, b, c = (_tile(type_, place) for type_ in match.group(7, 8, 9))
    attributes = _attributes(match[2], match[6] or "", place)
    fastmath = attributes.get("fastmath", "")
    if match[2] != "nv_tileaa.dot":
        return TileMultiply(a, b, c, fastmath, names)
    if match[10] is None or _tile(match[10], place) != c:
        raise _error(place, "the result is of another type than C", match[10] or "", str(c))
    for name in ("atom", "input_precision"):
        if name not in attributes:
            raise _error(place, f"nv_tileaa.dot has no attribute {name}", "", f"{name} = …")
    atom, precision = attributes["atom"], attributes["input_precision"]
    return TileDot(a, b, c, atom, precision, fastmath, names)


def _attributes(op: str, text: str, place: Place) -> dict[str, str]:
    found: dict[str, str] = {}
    # a string may hold commas: an attribute ends behind its quotation mark
    for part in filter(str.strip, re.findall(r'(?:[^,"]|"[^"]*")+', text)):
        match = _ATTRIBUTE.fullmatch(part)
        if match is None or match[1] not in _ATTRIBUTES[op]:
            known = ", ".join(_ATTRIBUTES[op])
            raise _error(place, f"an attribute that {op} does not have", part.strip(), known)
        found[match[1]] = match[2] if match[2] is not None else match[3]
    return found


def _tile(text: str, place: Place) -> Tile:
    match = re.fullmatch(r"\s*(\d{1,18})x(\d{1,18})x(\w+)\s*", text)
    if match is None:
        raise _error(place, "a tile has two dimensions and an element type", text, "64x16xbf16")
    try:
        element = _OTHER_NAMES.get(match[3]) or ElementType(match[3])
    except ValueError:
        known = ", ".join(member.value for member in ElementType)
        raise _error(place, "no element type of a tile", match[3], known) from None
    return Tile(int(match[1]), int(match[2]), element)


def _error(place: Place, text: str, got: str, expected: str) -> InputError:
    finding = Finding("tile/syntax", Severity.ERROR, text, got=got, expected=expected)
    return InputError([finding.at(place)])
