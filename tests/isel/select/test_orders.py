"""A choice between conditions that compare the same numbers is one comparison more, of these."""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle.side_by_side import TARGET, compare

pytestmark = pytest.mark.turns(6)

SIGNED = ("eq", "ne", "slt", "sle", "sgt", "sge")
UNSIGNED = ("eq", "ne", "ult", "ule", "ugt", "uge")
PAIRS = sorted({(c, n) for names in (SIGNED, UNSIGNED) for c in names for n in names})
VALUES = [(5, 5), (5, 6), (6, 5), (-1, 1), (1, -1)]


def module(condition: str, otherwise: str, x: int, y: int, *, swapped: bool, bits: int = 32) -> str:
    """A kernel that chooses by one comparison between a bit and another comparison."""
    sides = "%y, %x" if swapped else "%x, %y"
    return f"""
@v = addrspace(1) global [2 x i{bits}] [i{bits} {x}, i{bits} {y}]
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %x = load volatile i{bits}, ptr addrspace(1) @v
  %q = getelementptr i{bits}, ptr addrspace(1) @v, i64 1
  %y = load volatile i{bits}, ptr addrspace(1) %q
  %bit = icmp ult i{bits} %x, 6
  %c = icmp {condition} i{bits} %x, %y
  %n = icmp {otherwise} i{bits} {sides}
  %r = select i1 %c, i1 %bit, i1 %n
  %word = zext i1 %r to i64
  %more = add i64 %word, 2
  store i64 %more, ptr addrspace(1) %out
  ret void
}}
"""


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("condition", "otherwise"), PAIRS)
def test_values_are_those_of_llvms_code(condition: str, otherwise: str, swapped: bool) -> None:
    compare(
        {
            f"{x}, {y}": module(condition, otherwise, x, y, swapped=swapped, bits=16 << swapped)
            for x, y in VALUES
        }
    )


@pytest.mark.parametrize(
    ("otherwise", "swapped", "left"),
    [("sge", False, "gt.s32"), ("sle", False, "lt.s32"), ("ule", True, "lt.u32")],
)
def test_nothing_is_negated(otherwise: str, swapped: bool, left: str) -> None:
    """`left` holds of the sides as the other comparison has them."""
    ptx = nvgen.compile(module("eq", otherwise, 5, 6, swapped=swapped), target=TARGET).ptx
    assert "not.pred" not in ptx
    assert re.search(rf"setp\.{left}", ptx)
