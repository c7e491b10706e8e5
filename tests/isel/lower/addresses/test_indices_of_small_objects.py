"""Sums in indices of shared and local variables, without promises that they do not overflow."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from nvgen import Compiled

TEXT = """
@s = internal addrspace(3) global [64 x i32] undef, align 16

define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {{
  {variable}
  %a = load i32, ptr addrspace(1) %x
  br label %fill
fill:
  %i = phi i32 [ 0, %0 ], [ %j, %fill ]
  %there = getelementptr i32, ptr {space} {name}, i32 %i
  %value = mul i32 %i, 7
  store i32 %value, ptr {space} %there
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 64
  br i1 %more, label %fill, label %done
done:
{lines}  ret void
}}
"""
LINE = """
  %s{n} = {sum}
  %e{n} = {extend} i32 %s{n} to i64
  %p{n} = getelementptr {flags} i32, ptr {space} {name}, i64 %e{n}
  %v{n} = load i32, ptr {space} %p{n}
  %o{n} = getelementptr i32, ptr addrspace(1) %out, i32 {n}
  store i32 %v{n}, ptr addrspace(1) %o{n}
"""
PLACES = {
    "shared": {"variable": "", "space": "addrspace(3)", "name": "@s"},
    "local": {"variable": "%l = alloca [64 x i32]", "space": "", "name": "%l"},
}
NUMBERS = (0, 1, -3, 40, 9)


def kernel(place: str, flags: str, extend: str, sums: tuple[str, ...]) -> Compiled:
    lines = "".join(
        LINE.format(n=n, sum=one, extend=extend, flags=flags, **PLACES[place])
        for n, one in enumerate(sums)
    )
    return nvgen.compile(TEXT.format(lines=lines, **PLACES[place]), target="sm_90a", opt=0)


def run(compiled: Compiled, a: int, count: int) -> list[int]:
    out = np.zeros(count, np.uint32)
    compiled.run(np.array([a], np.int32), out, block=1, device="sim")
    return [int(value) for value in out]


def offsets(compiled: Compiled, place: str) -> int:
    """How many loads have a number in their addresses."""
    return len(re.findall(rf"ld\.{place}\.b32 \S+, \[%rd\d+[+]-?\d+\]", compiled.ptx))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("a", [3, 20, 23])
def test_numbers_are_offsets(place: str, a: int) -> None:
    compiled = kernel(place, "inbounds", "sext", tuple(f"add i32 %a, {n}" for n in NUMBERS))
    assert offsets(compiled, place) == len(NUMBERS) - 1
    assert run(compiled, a, len(NUMBERS)) == [7 * (a + n) for n in NUMBERS]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("a", [-20, -9])
def test_an_index_may_be_negative_before_the_number_is_added(place: str, a: int) -> None:
    compiled = kernel(place, "inbounds", "sext", ("add i32 %a, 30", "sub i32 10, %a"))
    assert run(compiled, a, 2) == [7 * (a + 30), 7 * (10 - a)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("flags", "extend"), [("inbounds", "zext"), ("", "zext")])
def test_what_is_extended_with_zeros_may_overflow(place: str, flags: str, extend: str) -> None:
    """-5 + 8 is 3, also as an unsigned number."""
    compiled = kernel(place, flags, extend, ("add i32 %a, 8", "add i32 %a, 30"))
    assert not offsets(compiled, place)
    assert run(compiled, -5, 2) == [7 * 3, 7 * 25]


@pytest.mark.parametrize("place", PLACES)
def test_a_sum_of_two_values_may_overflow(place: str) -> None:
    """Twice 2**31 + 1 is 2: both have a number, and neither can be left out alone."""
    compiled = nvgen.compile(
        TEXT.format(
            lines="  %d = add i32 %a, 2\n"
            + LINE.format(
                n=0, sum="add i32 %d, %d", extend="sext", flags="inbounds", **PLACES[place]
            ),
            **PLACES[place],
        ),
        target="sm_90a",
        opt=0,
    )
    assert run(compiled, (1 << 31) - 1, 1) == [7 * 2]
    assert run(compiled, 5, 1) == [7 * 14]


@pytest.mark.parametrize("place", PLACES)
def test_without_the_promise_an_address_is_computed_as_it_stands(place: str) -> None:
    """How far from the variable `sext(a + 8)` elements are, where the sum overflows."""
    where = PLACES[place]
    lines = f"""
  %s = add i32 %a, 8
  %e = sext i32 %s to i64
  %p = getelementptr i32, ptr {where["space"]} {where["name"]}, i64 %e
  %n = ptrtoint ptr {where["space"]} %p to i64
  %z = ptrtoint ptr {where["space"]} {where["name"]} to i64
  %d = sub i64 %n, %z
  %h = lshr i64 %d, 2
  %t = trunc i64 %h to i32
  store i32 %t, ptr addrspace(1) %out
"""
    compiled = nvgen.compile(TEXT.format(lines=lines, **where), target="sm_90a", opt=0)
    for a in ((1 << 31) - 3, 5, -20):
        assert run(compiled, a, 1) == [(a + 8) % (1 << 32)]
