"""PTX statements of wmma.load, wmma.store and wmma.mma, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, registers, shuffle, spoil, unique

_SHAPES = (
    ".m16n16k16", ".m8n32k16", ".m32n8k16", ".m16n16k8", ".m8n8k4", ".m8n8k32", ".m8n8k128",
    ".m16n8k16",
)  # fmt: skip
_DEADLY = (".m8n8k32", ".m8n8k128")
"""Shapes of halves that ptxas 13.5 dies of."""

_TYPES = ("f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1", "f32", "s32", "e4m3")
_LAYOUTS = (".row", ".col")
_SPACES = ("", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const")
_PREFIXES = {"f64": "%fd", "f32": "%f"}


def _held(type_: str, count: int, first: int = 1) -> str:
    prefix = _PREFIXES.get(type_)  # of these there are eight
    return registers(count, prefix) if prefix else registers(count, "%r", first)


def _factors(type_: str, shape: str, name: str) -> int:
    """Registers of A or B, as the manual's table has them."""
    if type_ == "f16":
        return 8
    few, many = {"a": (".m8n32k16", ".m32n8k16"), "b": (".m32n8k16", ".m8n32k16")}[name]
    if type_ in ("bf16", "tf32"):
        return 2 if shape == few else 8 if shape == many else 4
    if type_ in ("s8", "u8"):
        return 1 if shape == few else 4 if shape == many else 2
    return 1


def _sums(type_: str, shape: str) -> int:
    return 4 if type_ == "f16" else 2 if shape.startswith(".m8n8") else 8


def loads() -> list[str]:
    """wmma.load: every matrix, layout, shape and type, each with vectors of several lengths."""
    out = []
    for name, layout, shape, type_ in itertools.product("abc", _LAYOUTS, _SHAPES, _TYPES):
        right = _sums(type_, shape) if name == "c" else _factors(type_, shape, name)
        for count in sorted({right, 2, 8}):
            op = f"wmma.load.{name}.sync.aligned{layout}{shape}.{type_}"
            out.append(f"{op} {_held(type_, count)}, [%rd1];")
    plain = "wmma.load.a.sync.aligned.row.m16n16k16"
    vector = registers(8, "%r", 1)
    strides = ("", ", %r9", ", 16", ", %rd9", ", %f9", ", -16", ", 0")
    out += [
        f"{plain}{space}.f16 {vector}, [%rd1]{stride};"
        for space, stride in itertools.product(_SPACES, strides)
    ]
    out += [
        f"wmma.load.{name}.sync.aligned.row.m16n16k16.shared::cta.f16 "
        f"{_held('f16', count)}, [%rd1];"
        for name, count in (("b", 8), ("c", 4))
    ]
    out += spoil(f"{plain}.f16", (vector, "[%rd1]", "%r9"), SOME)
    mods = [".sync", ".aligned", ".row", ".m16n16k16", ".global", ".f16"]
    out += shuffle("wmma.load.a", mods, vector, "[%rd1]")
    return unique(out)


def stores() -> list[str]:
    """wmma.store: the same of D."""
    out = []
    for layout, shape, type_ in itertools.product(_LAYOUTS, _SHAPES, _TYPES):
        for count in sorted({_sums(type_, shape), 2, 8}):
            op = f"wmma.store.d.sync.aligned{layout}{shape}.{type_}"
            out.append(f"{op} [%rd1], {_held(type_, count)};")
    plain = "wmma.store.d.sync.aligned.row.m16n16k16"
    vector = registers(8, "%f")
    out += [
        f"{plain}{space}.f32 [%rd1], {vector}{stride};"
        for space, stride in itertools.product(_SPACES, ("", ", %r9", ", 16"))
    ]
    out += spoil(f"{plain}.f32", ("[%rd1]", vector, "%r9"), SOME)
    mods = [".sync", ".aligned", ".row", ".m16n16k16", ".global", ".f32"]
    out += shuffle("wmma.store.d", mods, "[%rd1]", vector)
    return unique(out)


def _product(mods: str, types: tuple[str, str, str, str], shape: str, more: int = 0) -> str:
    d, a, b, c = types
    vectors = (
        _held(d, _sums(d, shape), 40), _held(a, _factors(a, shape, "a") + more, 1),
        _held(b, _factors(b, shape, "b"), 11), _held(c, _sums(c, shape), 21),
    )  # fmt: skip
    return f"wmma.mma{mods} {', '.join(vectors)};"


def products() -> list[str]:
    """wmma.mma: layouts and shapes with every pair of types, saturated and rounded or not."""
    out = []
    for (a, b), shape in itertools.product(itertools.product(_LAYOUTS, repeat=2), _SHAPES):
        head = f".sync.aligned{a}{b}{shape}"
        for d, c, last in itertools.product(("f16", "f32", "s32"), ("f16", "f32"),
                                            ("", ".satfinite")):  # fmt: skip
            if shape not in _DEADLY:
                out.append(_product(f"{head}.{d}.{c}{last}", (d, "f16", "f16", c), shape))
        for type_, total, last in itertools.product(
            _TYPES[1:9], ("f32", "s32", "f64"), ("", ".satfinite")
        ):
            mods = f"{head}.{total}.{type_}.{type_}.{total}{last}"
            out.append(_product(mods, (total, type_, type_, total), shape))
        for mode in (".rn", ".rz", ".rm", ".rp", ".rna"):
            for type_, total in (("f64", "f64"), ("bf16", "f32"), ("s8", "s32")):
                mods = f"{head}{mode}.{total}.{type_}.{type_}.{total}"
                out.append(_product(mods, (total, type_, type_, total), shape))
        for op in (".xor.popc", ".and.popc", ".or.popc", ".xor", ""):
            mods = f"{op}{head}.s32.b1.b1.s32"
            out.append(_product(mods, ("s32", "b1", "b1", "s32"), shape))
    head = ".sync.aligned.row.col.m16n16k16"
    for a, b in itertools.product(_TYPES[:9], repeat=2):
        types = ("s32", a, b, "s32")
        if a != b:
            out.append(_product(f"{head}.s32.{a}.{b}.s32", types, ".m16n16k16"))
    out.append(_product(f"{head}.f32.f32", ("f32", "f16", "f16", "f32"), ".m16n16k16", 1))
    vectors = (registers(8, "%f"), registers(8, "%r", 1), registers(8, "%r", 11),
               registers(8, "%f"))  # fmt: skip
    out += spoil(f"wmma.mma{head}.f32.f32", vectors, SOME)
    mods = [".sync", ".aligned", ".row", ".col", ".m16n16k16", ".f32", ".f32"]  # type: ignore[assignment]
    out += shuffle("wmma.mma", mods, *vectors)
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "wmma loads": loads,
    "wmma stores": stores,
    "wmma products": products,
}
