"""PTX statements of ldmatrix, stmatrix and movmatrix, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, registers, shuffle, spoil, unique

_SHAPES = ("", ".m8n8", ".m8n16", ".m16n8", ".m16n16", ".m8n32")
_NUMS = ("", ".x1", ".x2", ".x4", ".x8")
_FORMATS = (
    "", ".b16", ".b8", ".b32", ".f16", ".b8x16", ".b6x16_p32", ".b8x16.b6x16_p32",
    ".b8x16.b4x16_p64", ".b4x16_p64.b8x16", ".b8.b8x16.b6x16_p32", ".b16.b8x16.b4x16_p64",
)  # fmt: skip
_SPACES = ("", ".shared", ".shared::cta", ".shared::cluster", ".global")
_VECTORS = (
    "{%f1, %f2}", "{%s1, %u2}", "{%hx1, %hx2}", "{%r1, %hx1}", "{%r1, %f1}", "{%f1, %s1}",
    "{%r1, _}", "{_, _}", "{%r1, %r1}", "{%r1, 1}", "{0, 1}", "{%f1, 1}", "{%r1, 1.5}", "{%r1}",
    "{%rd1, %rd2}", "{%h1, %h2}", "{%r1, %h2}", "{%p1, %p2}", "{%r1, %r2, %r3}", "%r1",
    "{%uh1, %uh2}", "{%hf1, %hf2}", "{%r1, smem}", "{%s1, 1}", "{%r1, 0f3F800000}", "{1.5, 1.5}",
)  # fmt: skip
_ADDRESSES = (
    "[%r1]", "[%rd1]", "[%rd1+16]", "[%r1+-16]", "[%rd1+8]", "[smem]", "[smem+32]", "[mbar]",
    "[gmem]", "[cmem]", "[lmem]", "[kparam]", "[16]", "[%u1]", "[%s1]", "[%sd1]", "[%h1]", "[%f1]",
    "[%fd1]", "%rd1",
)  # fmt: skip


def _product(
    form: Callable[[str, str, str], str], lengths: tuple[int, ...], formats: tuple[str, ...]
) -> list[str]:
    """All modifiers that decide about a shape, each with vectors of several lengths."""
    return [
        form(f"{shape}{num}{trans}.shared{format_}", registers(count), "[%rd1]")
        for shape, num, trans, format_, count in itertools.product(
            _SHAPES, _NUMS, ("", ".trans"), formats, lengths
        )
    ]


def _load(modifiers: str, vector: str, address: str) -> str:
    return f"ldmatrix.sync.aligned{modifiers} {vector}, {address};"


def _store(modifiers: str, vector: str, address: str) -> str:
    return f"stmatrix.sync.aligned{modifiers} {address}, {vector};"


def loads() -> list[str]:
    """ldmatrix: the product of shape, number, transposition, formats and registers.

    Then spaces and addresses, and vectors of every kind of register, but not `_` for a whole one,
    of which ptxas dies.
    """
    out = _product(_load, (1, 2, 4, 8), _FORMATS)
    legal = ((".m8n8.x2", ".b16"), (".m16n16.x1.trans", ".b8"), (".m8n16.x2", ".b8x16.b6x16_p32"))
    for (head, format_), space, address in itertools.product(legal, _SPACES, _ADDRESSES):
        out.append(_load(head + space + format_, "{%r1, %r2}", address))
    for (head, format_), vector in itertools.product(legal, _VECTORS):
        out.append(_load(f"{head}.shared{format_}", vector, "[%rd1]"))
    out += spoil("ldmatrix.sync.aligned.m8n8.x1.shared.b16", ("{%r1}", "[%rd1]"))
    out += spoil("ldmatrix.sync.aligned.m16n16.x1.trans.b8", ("{%r1, %r2}", "[%rd1]"), SOME)
    mods = [".sync", ".aligned", ".m8n8", ".x1", ".trans", ".shared", ".b16"]
    out += shuffle("ldmatrix", mods, "{%r1}", "[%rd1]")
    mods = [".sync", ".aligned", ".m8n16", ".x1", ".shared", ".b8x16", ".b4x16_p64"]
    out += shuffle("ldmatrix", mods, "{%r1}", "[%rd1]")
    return unique(out)


def stores() -> list[str]:
    """stmatrix: the same."""
    out = _product(_store, (1, 2, 4, 8), _FORMATS)
    legal = ((".m8n8.x2", ".b16"), (".m16n8.x2.trans", ".b8"))
    for (head, format_), space, address in itertools.product(legal, _SPACES, _ADDRESSES):
        out.append(_store(head + space + format_, "{%r1, %r2}", address))
    for (head, format_), vector in itertools.product(legal, (*_VECTORS, "_")):
        out.append(_store(f"{head}.shared{format_}", vector, "[%rd1]"))
    out += spoil("stmatrix.sync.aligned.m8n8.x1.shared.b16", ("[%rd1]", "{%r1}"))
    out += spoil("stmatrix.sync.aligned.m16n8.x1.trans.b8", ("[%rd1]", "{%r1}"), SOME)
    mods = [".sync", ".aligned", ".m8n8", ".x1", ".trans", ".shared", ".b16"]
    out += shuffle("stmatrix", mods, "[%rd1]", "{%r1}")
    return unique(out)


def transpositions() -> list[str]:
    """movmatrix."""
    out = [
        f"movmatrix.sync.aligned{shape}{trans}{type_} %r1, %r2;"
        for shape, trans, type_ in itertools.product(
            _SHAPES, ("", ".trans"), ("", ".b16", ".b8", ".b32")
        )
    ]
    out += spoil("movmatrix.sync.aligned.m8n8.trans.b16", ("%r1", "%r2"))
    out += shuffle("movmatrix", [".sync", ".aligned", ".m8n8", ".trans", ".b16"], "%r1", "%r2")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "matrix loads": loads,
    "matrix stores": stores,
    "matrix transpositions": transpositions,
}
