"""What each of LLVM's mma intrinsics takes and gives, from its name and the manual's matrices.

A thread of a warp holds a 32nd of each matrix, in registers of 32 bits (of 64 for f64).  LLVM lists
the registers one by one, two f16 as `<2 x half>`, f32 as `float`, f64 as `double`, all other
elements packed into `i32`.  LLVM's verifier confirms it: it rejects what differs from its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
"""Bits of an element of A or B in a register; those of the narrow floating-point types have 8."""

NAME = re.compile(
    r"mma(?P<sparse>\.sp(?:\.ordered\.metadata)?)?(?:\.(?P<op>and|xor)\.popc)?"
    r"(?P<scaled>\.block\.scale)?\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)\.(?P<layouts>\w+\.\w+)"
    r"(?P<satfinite>\.satfinite)?(?P<kind>\.kind\.f8f6f4|\.mxf8f6f4|\.mxf4nvf4|\.mxf4)?"
    r"(?:\.scale\.(?P<vec>\dx))?\.(?P<types>[\w.]+)"
)


@dataclass(frozen=True)
class Signature:
    """The types of D, A, B and C, how many registers each has, and what follows C."""

    d: tuple[str, int]
    a: tuple[str, int]
    b: tuple[str, int]
    c: tuple[str, int]
    rest: tuple[str, ...] = ()

    @property
    def args(self) -> list[str]:
        """The types of the arguments."""
        return [t for t, n in (self.a, self.b, self.c) for _ in range(n)] + [*self.rest]

    @property
    def selector(self) -> int | None:
        """Where the sparsity selector, a constant, stands among the arguments."""
        return self.a[1] + self.b[1] + self.c[1] + 1 if len(self.rest) in (2, 8) else None

    @property
    def result(self) -> str:
        """The type of the result."""
        return "{ " + ", ".join([self.d[0]] * self.d[1]) + " }"


def types_of(name: str) -> tuple[str, str, str, str]:
    """The types of D, A, B and C that a name says."""
    match = NAME.fullmatch(name)
    assert match is not None, name
    parts = match["types"].split(".")
    if match["scaled"]:
        parts.pop()
    if len(parts) == 4:
        return parts[0], parts[1], parts[2], parts[3]
    if set(parts) <= {"f16", "f32"}:
        return parts[0], "f16", "f16", parts[1]
    a, b = parts[0], parts[-1]
    sums = "f64" if a == "f64" else "f32" if a in ("bf16", "tf32") else "s32"
    return sums, a, b, sums


def signature(name: str) -> Signature:
    """The signature of the intrinsic `llvm.nvvm.<name>`."""
    match = NAME.fullmatch(name)
    assert match is not None, name
    m, n, k = (int(match[part]) for part in "mnk")
    d, a, b, c = types_of(name)
    packed = match["kind"] in (".mxf4", ".mxf4nvf4")
    bits = 4 if packed else BITS.get(a, 8)
    eighth = 4 if (m, n, k, a) == (8, 8, 4, "f16") else 1  # four of eight threads each
    stored = k // 2 if match["sparse"] else k
    rest = ["i32", "i32"] if match["sparse"] else []
    rest += ["i32", "i16", "i16"] * 2 if match["scaled"] else []
    return Signature(
        _registers(d, m * n * eighth),
        _factor(a, m * stored * eighth, bits),
        _factor(b, n * k * eighth, bits),
        _registers(c, m * n * eighth),
        tuple(rest),
    )


def _registers(type_: str, elements: int) -> tuple[str, int]:
    name = {"f16": "<2 x half>", "f32": "float", "f64": "double", "s32": "i32"}[type_]
    return name, elements // 32 // (2 if type_ == "f16" else 1)


def _factor(type_: str, elements: int, bits: int) -> tuple[str, int]:
    if type_ == "f64":
        return "double", elements // 32
    return "<2 x half>" if type_ == "f16" else "i32", elements * bits // 32 // 32
