"""PTX statements that write tensor maps, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, shuffle, spoil, statement, unique

_FIELDS = (
    ".global_address", ".rank", ".box_dim", ".global_dim", ".global_stride", ".element_stride",
    ".elemtype", ".interleave_layout", ".swizzle_mode", ".fill_mode", ".swizzle_atomicity", "",
    ".nosuch",
)  # fmt: skip


_TYPES = (".b32", ".b64", ".u32", "")
_SPACES = ("", ".global", ".shared::cta", ".shared", ".local")
_BEHIND = ("%r2", "%rd2", "1", "0, %r2", "0, %rd2", "1, 64", "5, 64", "%r1, %r2", "")
_NUMBERS = (*map(str, range(-1, 18)), "4294967296", "1+1", "WARP_SZ", "1.0", "smem", "%r1")


def _replace(field: str, space: str, type_: str, given: str) -> str:
    name = f"tensormap.replace.tile{field}{space}.b1024{type_}"
    return statement(name, "[%rd1]", given)


def replacements() -> list[str]:
    """tensormap.replace.

    ptxas dies of one without a type and without anything behind the address: there is none here.
    Full products: field x type x operands behind the address; field x space x a value, a dimension
    with a value, a code; field x numbers as its code or value, and as its dimension.
    """
    out = []
    for field, type_, given in itertools.product(_FIELDS, _TYPES, _BEHIND):
        if type_ or given:
            out.append(_replace(field, ".global", type_, given))
    for field, given in itertools.product(_FIELDS[2:6], ("%hx1", "%s1", "smem+4", "%fd1", "%sd1")):
        type_ = ".b64" if field == ".global_stride" else ".b32"
        out.append(_replace(field, ".global", type_, f"1, {given}"))
    for field, space, type_, given in itertools.product(
        _FIELDS, _SPACES, _TYPES[:2], ("%rd2", "0, %r2", "1")
    ):
        out.append(_replace(field, space, type_, given))
    for field, number in itertools.product(_FIELDS, _NUMBERS):
        type_ = ".b64" if field in (".global_address", ".global_stride") else ".b32"
        out.append(_replace(field, ".global", type_, number))
        out.append(_replace(field, ".global", type_, f"{number}, 16"))
    for field, given in (  # type: ignore[assignment]
        (".rank", ("%r2",)), (".box_dim", ("1", "%r2")), (".fill_mode", ("1",)),
        (".global_stride", ("1", "%rd2")),
    ):  # fmt: skip
        type_ = ".b64" if field == ".global_stride" else ".b32"
        name = f"tensormap.replace.tile{field}.shared::cta.b1024{type_}"
        out += spoil(name, ("[%r1]", *given), SOME)
        mods = [".tile", field, ".global", ".b1024", type_]
        out += shuffle("tensormap.replace", mods, "[%rd1]", *given)
    out += spoil("tensormap.replace.tile.global_address.b1024.b64", ("[%rd1]", "%rd2"))
    for mode, width in itertools.product(("", ".im2col", ".im2col::w"), (".b1024", ".b512", "")):
        out.append(f"tensormap.replace{mode}.rank.global{width}.b32 [%rd1], 3;")
    return unique(out)


def copies() -> list[str]:
    """tensormap.cp_fenceproxy.

    Full products: semantics x scope x what follows x size; the spaces; spoilt ones.
    """
    out = []
    head = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic"
    for sem, scope, tail, size in itertools.product(
        ("", ".release", ".acquire", ".acq_rel"),
        ("", ".cta", ".cluster", ".gpu", ".sys"),
        (".sync.aligned", ".sync", ".aligned", ""),
        ("128", "64", "%r3", ""),
    ):
        out.append(statement(f"{head}{sem}{scope}{tail}", "[%rd1]", "[%r1]", size))
    for dst, src in itertools.product(("", ".global", ".shared::cta", ".shared"), repeat=2):
        name = f"tensormap.cp_fenceproxy{dst}{src}.tensormap::generic.release.gpu.sync.aligned"
        out.append(f"{name} [%rd1], [%r1], 128;")
    whole = head + ".release.gpu.sync.aligned"
    out += [f"{whole} [%rd1], [%r1], {n};" for n in (0, 127, 129, 256, 4294967424, -128)]
    out += spoil(whole, ("[%rd1]", "[%r1]", "128"))
    mods = [".global", ".shared::cta", ".tensormap::generic", ".release", ".gpu", ".sync"]
    out += shuffle("tensormap.cp_fenceproxy", [*mods, ".aligned"], "[%rd1]", "[%r1]", "128")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "tensor map fields": replacements,
    "tensor map copies": copies,
}
