"""What LLVM's wmma intrinsics take and give, written down from the manual's table of fragments.

Nothing of nvgen's is used here.  PTX ISA, Matrix Fragments for WMMA.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_COUNTS = {"f16": ("<2 x half>", 8), "bf16": ("i32", 4), "tf32": ("i32", 4), "f64": ("double", 1),
           "s8": ("i32", 2), "u8": ("i32", 2)}  # fmt: skip
_SHAPES = {("m8n32k16", "a"): (1, 2), ("m8n32k16", "b"): (2, 1), ("m32n8k16", "a"): (2, 1),
           ("m32n8k16", "b"): (1, 2)}  # fmt: skip
_SUMS = {"f16": ("<2 x half>", 4), "f32": ("float", 8), "f64": ("double", 2)}


class Signature(NamedTuple):
    """The result's type, and those of the arguments."""

    result: str
    arguments: tuple[str, ...]


def fragment(shape: str, matrix: str, type_: str) -> tuple[str, int]:
    """LLVM's type of a register, and how many a thread has of a matrix."""
    if matrix in "cd":
        return _SUMS.get(type_, ("i32", 2 if shape.startswith("m8n8") else 8))
    held, count = _COUNTS.get(type_, ("i32", 1))
    times, by = _SHAPES.get((shape, matrix), (1, 1))
    return held, count if type_ == "f16" else count * times // by


def structure(held: str, count: int) -> str:
    """The type of several registers; one alone stands for itself."""
    return held if count == 1 else f"{{ {', '.join([held] * count)} }}"


def signature(name: str) -> Signature:
    """Of `wmma.…`, the name behind `llvm.nvvm.`."""
    _, shape, kind, *rest = name.split(".")
    stride = ("i32",) * ("stride" in rest)
    if kind in ("load", "store"):
        pointer = f"ptr addrspace({rest[-1][1:]})"
        held, count = fragment(shape, rest[0], rest[-2])
        if kind == "load":
            return Signature(structure(held, count), (pointer, *stride))
        return Signature("void", (pointer, *[held] * count, *stride))
    types = [word for word in rest if re.fullmatch(r"(?:b?f|tf|s|u|b)\d+", word)]
    a, c, d = types[0], "s32", "s32"
    if len(types) == 2:
        a, c, d = "f16", types[1], types[0]
    elif a in ("bf16", "tf32", "f64"):
        c = d = "f64" if a == "f64" else "f32"
    taken = [fragment(shape, *one) for one in (("a", a), ("b", a), ("c", c))]
    arguments = tuple(held for held, count in taken for _ in range(count))
    return Signature(structure(*fragment(shape, "d", d)), arguments)
