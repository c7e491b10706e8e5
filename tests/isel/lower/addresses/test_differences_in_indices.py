"""Constants that indices are subtracted from are offsets; the addresses are what they were."""

from __future__ import annotations

import itertools
import re

import pytest

import nvgen
from tests.isel.lower.addresses.test_constants_in_indices import NUMBERS
from tests.oracle.side_by_side import compare

STEPS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "4 - x": (("sub", "4", "x"),),
    "-2 - x": (("sub", "-2", "x"),),
    "(4 - x) + 5": (("sub", "4", "x"), ("add", "first", "5")),
    "(-1 - x) + 5": (("sub", "-1", "x"), ("add", "first", "5")),
    "6 - (x + 2)": (("add", "x", "2"), ("sub", "6", "first")),
    "6 - (x - 2)": (("add", "x", "-2"), ("sub", "6", "first")),
    "1 - (3 - x)": (("sub", "3", "x"), ("sub", "1", "first")),
    "(9 - x) + y": (("sub", "9", "x"), ("add", "first", "y")),
    "(x + 9) - (y + 4)": (("add", "x", "9"), ("add", "y", "4"), ("sub", "first", "second")),
    "y + (9 - (4 - x))": (("sub", "4", "x"), ("sub", "9", "first"), ("add", "y", "second")),
}
"""An index as its steps: the operation, and its sides."""

RESULTS = ("first", "second", "third")
PARTS = """
  store volatile i32 {x}, ptr addrspace(1) %a
  store volatile i32 {y}, ptr addrspace(1) %b
  %x_{n} = load volatile i32, ptr addrspace(1) %a
  %y_{n} = load volatile i32, ptr addrspace(1) %b
"""
ADDRESS = """
  %wide_{n} = {extend} i32 %{last}_{n} to i64
  %p_{n} = getelementptr {element}, ptr addrspace(1) %out, i64 %wide_{n}
  %i_{n} = ptrtoint ptr addrspace(1) %p_{n} to i64
  %d_{n} = sub i64 %i_{n}, %zero
  %o_{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}
  store i64 %d_{n}, ptr addrspace(1) %o_{n}
"""
KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %zero = ptrtoint ptr addrspace(1) %out to i64
  %a = getelementptr i64, ptr addrspace(1) %out, i64 30
  %b = getelementptr i64, ptr addrspace(1) %out, i64 31
{}
  ret void
}}
"""


def keeps(index: str, x: int, y: int, flags: str) -> bool:
    """Whether each step has a result of 32 bits where the flags promise it."""
    values = {"x": x, "y": y}
    for name, (op, *sides) in zip(RESULTS, STEPS[index], strict=False):
        left, right = (values[side] if side in values else int(side) for side in sides)
        sign = -1 if op == "sub" else 1
        exact = left + sign * right
        positive = left % (1 << 32) + sign * (right % (1 << 32))
        if "nsw" in flags and not -(1 << 31) <= exact < 1 << 31:
            return False
        if "nuw" in flags and not 0 <= positive < 1 << 32:
            return False
        values[name] = (exact + (1 << 31)) % (1 << 32) - (1 << 31)
    return True


def of_case(index: str, flags: str, n: int) -> str:
    """The steps to the index of the case `n`."""
    lines = ""
    for name, (op, *sides) in zip(RESULTS, STEPS[index], strict=False):
        left, right = (f"%{side}_{n}" if side.isalpha() else side for side in sides)
        lines += f"  %{name}_{n} = {op}{flags} i32 {left}, {right}\n"
    return lines


def kernel(extend: str, flags: str, element: str) -> str:
    """A kernel that stores how far indices lead, of two or three pairs of numbers each."""
    cases: list[tuple[str, int, int]] = []
    for index in STEPS:
        pairs = [p for p in itertools.product(NUMBERS, repeat=2) if keeps(index, *p, flags)]  # type: ignore[call-arg]
        cases += [(index, x, y) for x, y in pairs[:: max(1, len(pairs) // 3)][:3]]
    return KERNEL.format(
        "".join(
            PARTS.format(x=x, y=y, n=n)
            + of_case(index, flags, n)
            + ADDRESS.format(n=n, last=RESULTS[len(STEPS[index]) - 1], **given)
            for n, (index, x, y) in enumerate(cases)
            for given in ({"extend": extend, "element": element},)
        )
    )


@pytest.mark.turns(3)
@pytest.mark.parametrize("flags", ["", " nsw", " nuw", " nuw nsw"])
def test_addresses_are_those_of_the_whole_difference(flags: str) -> None:
    compare(
        {
            f"{extend} {element}": kernel(extend, flags, element)
            for extend, element in itertools.product(("sext", "zext"), ("i32", "[5 x i16]"))
        }
    )


def test_elements_that_go_down_share_an_address() -> None:
    """As the words of a long number, from the highest on."""
    lines = "".join(
        f"""
  %d{n} = sub nsw i32 {n}, %k
  %w{n} = sext i32 %d{n} to i64
  %p{n} = getelementptr float, ptr addrspace(1) %x, i64 %w{n}
  %v{n} = load volatile float, ptr addrspace(1) %p{n}
"""
        for n in (6, 5, 4)
    )
    text = f"define ptx_kernel void @k(ptr addrspace(1) %x, i32 %k) {{{lines}  ret void\n}}\n"
    read = re.findall(r"\[(%rd\d+)\+(\d+)\]", nvgen.compile(text, target="sm_90a").ptx)
    assert [offset for _, offset in read] == ["24", "20", "16"]
    assert len({base for base, _ in read}) == 1


def test_differences_of_a_sum_share_an_address() -> None:
    """As a scan of two elements a thread has them: `s[2 * t - step]` and `s[2 * t + 1 - step]`."""
    lines = "".join(
        f"""
  %e{n} = add i32 %t, {n}
  %d{n} = sub i32 %e{n}, %k
  %w{n} = sext i32 %d{n} to i64
  %p{n} = getelementptr inbounds float, ptr addrspace(1) %x, i64 %w{n}
  %v{n} = load volatile float, ptr addrspace(1) %p{n}
"""
        for n in (1, 2, 3)
    )
    head = "define ptx_kernel void @k(ptr addrspace(1) %x, i32 %t, i32 %k)"
    ptx = nvgen.compile(f"{head} {{{lines}  ret void\n}}\n", target="sm_90a").ptx
    read = re.findall(r"\[(%rd\d+)\+(\d+)\]", ptx)
    assert [offset for _, offset in read] == ["4", "8", "12"]
    assert len({base for base, _ in read}) == 1


LANES = """
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %zero = ptrtoint ptr addrspace(1) %out to i64
  store volatile i32 {start}, ptr addrspace(1) %out
  %start = load volatile i32, ptr addrspace(1) %out
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %tid, 127
{lines}
  ret void
}}
"""
ROW = """
  %c{n} = or disjoint i32 %lane, {number}
  %s{n} = or disjoint i32 %start, %c{n}
  %e{n} = {extend} i32 %s{n} to i64
  %p{n} = getelementptr i16, ptr addrspace(1) %out, i64 %e{n}
"""
DISTANCE = """
  %i{n} = ptrtoint ptr addrspace(1) %p{n} to i64
  %d{n} = sub i64 %i{n}, %zero
  %o{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}
  store i64 %d{n}, ptr addrspace(1) %o{n}
"""


@pytest.mark.parametrize("extend", ["sext", "zext"])
def test_bits_that_are_not_set_are_added(extend: str) -> None:
    """The elements that a thread has of a block of a loop, as Triton numbers them."""
    rows = [ROW.format(n=n, number=128 * n, extend=extend) for n in range(1, 8)]
    modules = {
        f"from {start}": LANES.format(
            start=start,
            lines="".join(row + DISTANCE.format(n=n) for n, row in enumerate(rows, 1)),
        )
        for start in (0, 1024, -(1 << 31), -1024)
    }
    compare(modules)
    loads = "".join(
        f"{row}  %v{n} = load volatile i16, ptr addrspace(1) %p{n}\n"
        for n, row in enumerate(rows, 1)
    )
    text = LANES.format(start=0, lines=loads)
    read = re.findall(
        r"ld\.\S+16 \S+, \[(%rd\d+)\+(\d+)\]", nvgen.compile(text, target="sm_90a").ptx
    )
    assert len({base for base, _ in read}) == 1
    assert [int(offset) for _, offset in read] == [256 * n for n in range(1, 8)]
