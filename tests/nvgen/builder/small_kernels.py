"""A kernel of a few verbs, as LLVM IR, and what it calls."""

from __future__ import annotations

import re
from collections.abc import Callable

from intrinsics.element import ElementType
from nvgen import KernelBuilder


def kernel(body: Callable[[KernelBuilder, dict], object]) -> str:
    """The LLVM IR of a kernel with a pointer, tensor maps of 2, 1 and 5 dimensions, and `body`."""
    b = KernelBuilder("k", block=128)
    b.pointer("out")
    b.tensor_map("map", dtype=ElementType.F16, box=(8, 64), swizzle=128)
    b.tensor_map("line", dtype=ElementType.F16, box=(64,), swizzle=128)
    b.tensor_map("five", dtype=ElementType.F16, box=(1, 1, 1, 1, 64), swizzle=128)
    body(b, b.begin())
    return b.finish().llvm


def calls(text: str) -> list[str]:
    """The intrinsics that a kernel calls, in order."""
    return re.findall(r"call .*?@llvm\.nvvm\.([\w.]+)\(", text)


def taddr(b: KernelBuilder):
    """A tensor memory address."""
    return b.tensor_pointer(b.const(0))
