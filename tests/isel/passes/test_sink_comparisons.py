"""Comparisons are made where their predicates are wanted, when the machine has not so many."""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle.side_by_side import TARGET, compare


def module(count: int, *, joined: bool = False) -> str:
    """A kernel whose loop asks for as many comparisons that come before it."""
    numbers = range(count)
    before = "".join(f"  %p{n} = icmp slt i32 %lane, {3 * n + 1}\n" for n in numbers)
    inside = "".join(
        f"  %a{n} = select i1 %p{n}, i64 {2 * n + 1}, i64 %i\n"
        f"  %s{n} = {'add' if n % 2 else 'xor'} i64 %{f's{n - 1}' if n else 'sum'}, %a{n}\n"
        for n in numbers
    )
    phi = "  %keep = phi i1 [ %p0, %entry ], [ %p1, %loop ]\n" if joined else ""
    kept = "  %last = select i1 %keep, i64 7, i64 %more\n" if joined else ""
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %out) {{
entry:
  store volatile i32 5, ptr addrspace(1) %out
  %lane = load volatile i32, ptr addrspace(1) %out
{before}  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 1, %entry ], [ %new, %loop ]
{phi}{inside}  %more = mul i64 %s{count - 1}, 3
{kept}  %new = add i64 %{"last" if joined else "more"}, 1
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, 5
  br i1 %again, label %loop, label %end
end:
  store i64 %new, ptr addrspace(1) %out
  ret void
}}
"""


def comparisons(ptx: str) -> list[int]:
    """How many comparisons with the lane each block of the kernel has."""
    blocks = re.split(r"^\$L\w+:", ptx.split(".entry")[1], flags=re.MULTILINE)
    return [n for n in (block.count("setp.lt.s32") for block in blocks) if n]


@pytest.mark.parametrize(
    ("count", "blocks"),
    [(7, "kept"), (8, "made again"), (16, "made again")],
)
def test_more_than_seven_are_made_where_they_are_used(count: int, blocks: str) -> None:
    ptx = nvgen.compile(module(count), target=TARGET).ptx
    assert comparisons(ptx) == [count]
    before, inside = ptx.split("setp.lt.s32", 1)[0], ptx.split("setp.lt.s32")[-1]
    assert ("selp" in before, "selp" in inside) == (False, True)
    loop = next(
        block for block in re.split(r"^\$L\w+:", ptx, flags=re.MULTILINE) if "selp" in block
    )
    assert ("setp.lt.s32" in loop) == (blocks == "made again")


def test_many_one_after_the_other_are_kept() -> None:
    """Each is wanted in the block behind that of the one before: two are kept at a time."""
    store = "  store volatile i32 %{}, ptr addrspace(1) %out\n"
    steps = "".join(
        f"  %c{n} = icmp slt i32 %lane, {3 * n + 1}\n  br i1 %even, label %b{n}, label %a{n}\n"
        f"b{n}:\n  %s{n} = zext i1 %c{n} to i32\n{store.format(f's{n}')}  br label %a{n}\n"
        f"a{n}:\n  %t{n} = select i1 %c{n}, i32 {n}, i32 7\n{store.format(f't{n}')}"
        for n in range(12)
    )
    kernel = f"""
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  store volatile i32 5, ptr addrspace(1) %out
  %lane = load volatile i32, ptr addrspace(1) %out
  %even = icmp eq i32 %lane, 6
{steps}  ret void
}}
"""
    ptx = nvgen.compile(kernel, target=TARGET).ptx
    assert sum(comparisons(ptx)) == 12
    compare({"one after the other": kernel})


def test_what_a_phi_takes_stays() -> None:
    """Its value is wanted at the end of another block; the others are made again."""
    assert comparisons(nvgen.compile(module(12, joined=True), target=TARGET).ptx) == [2, 10]


def test_values_are_what_llvm_leaves() -> None:
    compare(
        {
            f"{count}, {joined}": module(count, joined=joined)
            for count in (7, 8, 16)
            for joined in (False, True)
        }
    )
