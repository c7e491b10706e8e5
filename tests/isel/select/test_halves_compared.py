"""Comparisons of 64 bits whose upper halves are zero are of 32, and shifts of what was extended are
products of 32 by 32 bits; the values are LLVM's.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle.side_by_side import compare

pytestmark = pytest.mark.turns(6)

PREDICATES = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
VALUES = (0, 1, 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 16, 1 << 63, -16)
NUMBERS = (16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 16, -16)

FRAME = """
@x = addrspace(1) global [2 x i64] [i64 {x}, i64 {y}]
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %x = load volatile i64, ptr addrspace(1) @x
  %q = getelementptr i64, ptr addrspace(1) @x, i64 1
  %y = load volatile i64, ptr addrspace(1) %q
  %half = trunc i64 %x to i32
  %bits = zext i32 %half to i64
  %sign = sext i32 %half to i64
  store i64 -1, ptr addrspace(1) %out
{lines}
  ret void
}}
"""


def stored(lines: list[str], n: int) -> list[str]:
    """Lines that end in a value %v, which is written."""
    place = f"  %p{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n + 1}"
    return [*lines, place, f"  store i64 %v{n}, ptr addrspace(1) %p{n}"]


def comparisons(mask: int, right: str, x: int) -> str:
    """Some bits of a number, compared with another one in every way."""
    lines = ["  %m = and i64 %x, " + str(mask), "  %o = and i64 %y, 4294967295"]
    for n, predicate in enumerate(PREDICATES):
        made = [f"  %c{n} = icmp {predicate} i64 %m, {right}", f"  %v{n} = zext i1 %c{n} to i64"]
        lines += stored(made, n)
    return FRAME.format(x=x, y=16, lines="\n".join(lines))


@pytest.mark.parametrize("mask", [0xFFFFFFFC, 0xFFFFFFFF, 0x1FFFFFFFF, -1])
def test_comparisons_are_llvms(mask: int) -> None:
    rights = (*map(str, NUMBERS), "%o")
    compare({f"{x} and {right}": comparisons(mask, right, x) for x in VALUES for right in rights})


@pytest.mark.parametrize("source", ["bits", "sign"])
def test_shifts_are_llvms(source: str) -> None:
    amounts = (0, 1, 2, 29, 30, 31, 32, 33, 62, 63)
    lines = [
        line
        for n, amount in enumerate(amounts)
        for line in stored([f"  %v{n} = shl i64 %{source}, {amount}"], n)
    ]
    compare({f"{x}": FRAME.format(x=x, y=0, lines="\n".join(lines)) for x in VALUES})


def test_half_of_a_word_is_compared() -> None:
    ptx = nvgen.compile(comparisons(0xFFFFFFFC, "16", 16), target="sm_90a").ptx
    assert len(re.findall(r"setp\.(?:eq|ne)\.b32", ptx)) == 2
    assert len(re.findall(r"setp\.(?:lt|le|gt|ge)\.u32", ptx)) == 4
