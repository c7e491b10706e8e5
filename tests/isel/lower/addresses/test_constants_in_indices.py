"""Constants that hide in the sums of an index are offsets; the addresses are what they were."""

from __future__ import annotations

import itertools
import re

import pytest

import nvgen
from tests.oracle.side_by_side import compare

NUMBERS = (-(1 << 31), -(1 << 31) + 3, -7, -1, 0, 5, (1 << 31) - 4, (1 << 31) - 1)
"""What the parts of an index are: signed numbers of 32 bits."""

LINES = """
  store volatile i32 {x}, ptr addrspace(1) %a
  store volatile i32 {y}, ptr addrspace(1) %b
  %x{n} = load volatile i32, ptr addrspace(1) %a
  %y{n} = load volatile i32, ptr addrspace(1) %b
  %m{n} = add{flags} i32 %x{n}, {constant}
  %s{n} = add{flags} i32 {sides}
  %e{n} = {extend} i32 %s{n} to i64
  %p{n} = getelementptr {element}, ptr addrspace(1) %out, i64 %e{n}
  %i{n} = ptrtoint ptr addrspace(1) %p{n} to i64
  %d{n} = sub i64 %i{n}, %zero
  %o{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}
  store i64 %d{n}, ptr addrspace(1) %o{n}
"""


def _fits(total: int, flags: str) -> bool:
    """Whether a sum of parts that are not negative, or signed, is what the flags promise."""
    return "nsw" not in flags or -(1 << 31) <= total < 1 << 31


def _holds(x: int, y: int, constant: int, flags: str) -> bool:
    if not (_fits(x + constant, flags) and _fits(x + constant + y, flags)):
        return False
    parts = [part % (1 << 32) for part in (x, constant, y)]
    return "nuw" not in flags or sum(parts) < 1 << 32


def kernel(extend: str, flags: str, constant: int, element: str) -> str:
    """A kernel that stores how far each sum of two numbers and a constant leads."""
    pairs = [
        (x, y) for x, y in itertools.product(NUMBERS, repeat=2) if _holds(x, y, constant, flags)
    ]
    lines = [
        LINES.format(
            x=x, y=y, n=n, flags=flags, constant=constant, extend=extend, element=element,
            sides=f"%m{n}, %y{n}" if n % 2 else f"%y{n}, %m{n}",
        )
        for n, (x, y) in enumerate(pairs[:: max(1, len(pairs) // 24)][:28])
    ]  # fmt: skip
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %zero = ptrtoint ptr addrspace(1) %out to i64
  %a = getelementptr i64, ptr addrspace(1) %out, i64 30
  %b = getelementptr i64, ptr addrspace(1) %out, i64 31
{"".join(lines)}
  ret void
}}
"""


@pytest.mark.turns(3)
@pytest.mark.parametrize("flags", ["", " nsw", " nuw", " nuw nsw"])
def test_addresses_are_those_of_the_whole_sum(flags: str) -> None:
    compare(
        {
            f"{extend} {constant} {element}": kernel(extend, flags, constant, element)
            for extend, (constant, element) in itertools.product(
                ("sext", "zext"), ((1, "i32"), (-1, "i8"), (3, "[5 x i16]"))
            )
        }
    )


STENCIL = """
define ptx_kernel void @k(ptr addrspace(1) %x, i32 %column, i32 %row) {
  %one = add nsw i32 %column, 1
  %at = add nsw i32 %one, %row
  %wide = sext i32 %at to i64
  %p = getelementptr float, ptr addrspace(1) %x, i64 %wide
  %v = load float, ptr addrspace(1) %p
  %two = add nsw i32 %column, -1
  %beside = add nsw i32 %row, %two
  %far = sext i32 %beside to i64
  %q = getelementptr float, ptr addrspace(1) %x, i64 %far
  store float %v, ptr addrspace(1) %q
  ret void
}
"""


def test_neighbours_in_a_row_share_an_address() -> None:
    ptx = nvgen.compile(STENCIL, target="sm_90a").ptx
    read, written = re.findall(r"\[(%rd\d+)\+(-?\d+)\]", ptx)
    assert (read[0], read[1], written[1]) == (written[0], "4", "-4")
