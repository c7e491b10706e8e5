"""Descriptors for tests, built bit by bit as the manual's tables have them, and PTX around them."""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding
from intrinsics.mir import Module
from isel.verifier.descriptors.check import verify_descriptors

F16, F32 = 0, 1  # codes of D's types for kind::f16


def plain(
    *, m: int = 128, n: int = 128, a: int = 0, b: int = 0, d: int = F32, sparse: int = 0,
    selector: int = 0, saturate: int = 0, negate: int = 0, transpose_a: int = 0,
    transpose_b: int = 0, shift: int = 0, more: int = 0,
) -> int:  # fmt: skip
    """Table 42."""
    word = selector | sparse << 2 | saturate << 3 | d << 4 | a << 7 | b << 10 | negate << 13
    word |= transpose_a << 15 | transpose_b << 16 | (n >> 3) << 17 | (m >> 4) << 24 | shift << 30
    return word | more


def scaled(
    *, m: int = 128, n: int = 128, a: int = 1, b: int = 1, sparse: int = 0, ue8m0: int = 1,
    sfa: int = 0, sfb: int = 0, k96: int = 0, transpose_a: int = 0, more: int = 0,
) -> int:  # fmt: skip
    """Tables 43 and 44; type 1 is e5m2 for mxf8f6f4, e2m1 for the 4-bit kinds."""
    word = sparse << 2 | sfb << 4 | a << 7 | b << 10 | transpose_a << 15 | (n >> 3) << 17
    return word | ue8m0 << 23 | (m >> 7) << 27 | sfa << 29 | k96 << 31 | more


def smem(
    *, address: int = 0x4000, lbo: int = 16, sbo: int = 1024, constant: int = 1, base: int = 0,
    absolute: int = 0, swizzle: int = 2, more: int = 0,
) -> int:  # fmt: skip
    """Table 40; sizes in bytes."""
    word = address >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | constant << 46 | base << 49
    return word | absolute << 52 | swizzle << 61 | more


def mma(
    idesc: int | str, *, modifiers: str = ".cta_group::1.kind::f16", a: int | str | None = None,
    b: int | str | None = None, meta: str = "", scales: str = "", d: str = "[%r1]", more: str = "",
) -> str:  # fmt: skip
    """A tcgen05.mma with descriptors as literals or registers."""
    a, b = smem() if a is None else a, smem() if b is None else b
    return f"tcgen05.mma{modifiers} {d}, {a}, {b}{meta}, {idesc}{scales}, %p1{more};"


HEAD = """\
.version 9.4
.target {target}
.address_size 64
.shared .align 1024 .b8 tile[65536];
.shared .align 8 .b64 mbar;
"""


def kernel(statements: str, directives: str = "", name: str = "k") -> str:
    """A kernel of PTX statements."""
    return f"""\
.visible .entry {name}(.param .u64 given) {directives}
{{
.reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>;
{statements}
ret;
}}
"""


def module_of(statements: str, target: str = "sm_100a", directives: str = "") -> Module:
    """A kernel of PTX statements that the reader understands."""
    reading = read_ptx(HEAD.format(target=target) + kernel(statements, directives), "k.ptx")
    assert reading.findings == []
    return reading.module


def found_in(statements: str, target: str = "sm_100a", directives: str = "") -> list[Finding]:
    """What the rules about descriptors say of PTX statements."""
    return verify_descriptors(module_of(statements, target, directives))
