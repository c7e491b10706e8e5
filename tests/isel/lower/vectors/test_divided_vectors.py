"""Vectors that are divided element by element, beside Python's integers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.isel.select.test_wide_division import expected

NUMBERS = (0, 1, 2, 7, 1000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 32) - 8)
PAIRS = [(a, b) for a in NUMBERS for b in NUMBERS[1:] if (a, b) != (1 << 31, (1 << 32) - 1)]
"""Dividends and divisors; the quotient left out has no value as a signed number."""


def kernel(*lines: str, bits: int = 32) -> str:
    """A pair of numbers for each thread, as a vector `%ab`, and its results `%r` as another."""
    vector = f"<2 x i{bits}>"
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr {vector}, ptr addrspace(1) %x, i32 %t
  %o = getelementptr {vector}, ptr addrspace(1) %out, i32 %t
  %ab = load {vector}, ptr addrspace(1) %p
  %a = extractelement {vector} %ab, i32 0
  %b = extractelement {vector} %ab, i32 1
  %aa = insertelement {vector} %ab, i{bits} %a, i32 1
  %b1 = insertelement {vector} <i{bits} poison, i{bits} 1>, i{bits} %b, i32 0
{"".join(f"  {line}{chr(10)}" for line in lines)}  store {vector} %r, ptr addrspace(1) %o
  ret void
}}
"""


def results(text: str, bits: int = 32) -> list[list[int]]:
    kind = np.uint32 if bits == 32 else np.uint64
    out = np.zeros((len(PAIRS), 2), kind)
    nvgen.compile(text, target="sm_90a").run(np.array(PAIRS, kind), out, block=len(PAIRS))
    return [[int(value) for value in row] for row in out]


def divisions(text: str) -> list[str]:
    return re.findall(r"\b(?:div|rem)\.\w+", nvgen.compile(text, target="sm_90a").ptx)


@pytest.mark.parametrize("opcode", ["udiv", "sdiv", "urem", "srem"])
def test_what_is_divided_by_one_takes_no_division(opcode: str) -> None:
    text = kernel(f"%r = {opcode} <2 x i32> %aa, %b1")
    assert results(text) == [[expected(opcode, a, b, 32), a if "div" in opcode else 0]
                             for a, b in PAIRS]  # fmt: skip
    assert len(divisions(text)) == 1


@pytest.mark.parametrize(("sign", "bits"), [("s", 32), ("s", 64), ("u", 64)])
def test_a_remainder_is_what_its_quotient_leaves(sign: str, bits: int) -> None:
    """Also that of a number that was divided by 1 before."""
    vector = f"<2 x i{bits}>"
    text = kernel(
        f"%q = {sign}div {vector} %aa, %b1",
        f"%m = {sign}rem {vector} %q, %b1",
        f"%bb = insertelement {vector} %b1, i{bits} %b, i32 1",
        f"%n = {sign}rem {vector} %q, %bb",
        f"%n.1 = extractelement {vector} %n, i32 1",
        f"%q.0 = extractelement {vector} %q, i32 0",
        f"%r.0 = insertelement {vector} %n, i{bits} %q.0, i32 0",
        f"%r = insertelement {vector} %r.0, i{bits} %n.1, i32 1",
        bits=bits,
    )
    wanted = [[expected(f"{sign}{o}", a, b, bits) for o in ("div", "rem")] for a, b in PAIRS]
    assert results(text, bits) == wanted
    assert divisions(text) == [f"div.{sign}{bits}"]


def test_a_quotient_of_another_block_may_not_be_there() -> None:
    text = kernel(
        "%c = icmp ult i32 %a, 5",
        "br i1 %c, label %small, label %done",
        "small:",
        "%q = sdiv <2 x i32> %aa, %b1",
        "br label %done",
        "done:",
        "%s = phi <2 x i32> [ zeroinitializer, %0 ], [ %q, %small ]",
        "%m = srem <2 x i32> %aa, %b1",
        "%r = add <2 x i32> %s, %m",
    )
    whole = (1 << 32) - 1
    assert results(text) == [
        [
            (expected("srem", a, b, 32) + (expected("sdiv", a, b, 32) if a < 5 else 0)) & whole,
            a if a < 5 else 0,
        ]
        for a, b in PAIRS
    ]
