"""Generic addresses of many variables on the stack are computed where they are used."""

from __future__ import annotations

import re

import nvgen
from tests.oracle.side_by_side import TARGET, compare

MANY = 20


def module(count: int) -> str:
    """Addresses of variables go to a function in two blocks, and through a phi to a load."""
    variables = "".join(
        f"  %a{n} = alloca i64, align 8\n  store i64 {n + 1}, ptr %a{n}\n" for n in range(count)
    )
    first = "".join(
        f"  %v{n} = call i64 @add(ptr %a{n}, i64 %v{n - 1})\n".replace("%v-1", "%given")
        for n in range(count)
    )
    second = "".join(
        f"  %w{n} = call i64 @add(ptr %a{n}, i64 %w{n - 1})\n".replace("%w-1", f"%v{count - 1}")
        for n in range(count)
    )
    return f"""
define internal i64 @add(ptr %p, i64 %x) noinline {{
  %v = load i64, ptr %p
  %w = mul i64 %v, 3
  store i64 %w, ptr %p
  %sum = add i64 %w, %x
  ret i64 %sum
}}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
entry:
  %given = load volatile i64, ptr addrspace(1) %out
{variables}{first}  %odd = trunc i64 %given to i1
  br i1 %odd, label %last, label %again
again:
{second}  br label %last
last:
  %p = phi ptr [ %a0, %entry ], [ %a1, %again ]
  %sum = phi i64 [ 5, %entry ], [ %w{count - 1}, %again ]
  %one = call i64 @add(ptr %p, i64 %sum)
  %two = call i64 @add(ptr %a{count - 1}, i64 %one)
  store i64 %two, ptr addrspace(1) %out
  ret void
}}
"""


def conversions(ptx: str) -> list[int]:
    """How many local addresses become generic in each block of the kernel."""
    kernel = ptx.split(".entry")[1]
    return [block.count("cvta.local") for block in re.split(r"^\$L\w+:", kernel, flags=re.M)]


def test_values_are_what_llvm_leaves() -> None:
    compare({"many": module(MANY), "few": module(3)})


def test_each_block_computes_what_it_uses() -> None:
    """Those that a phi takes stay where they are."""
    assert conversions(nvgen.compile(module(MANY), target=TARGET).ptx) == [MANY, MANY - 2, 1]


def test_a_few_are_computed_once() -> None:
    assert conversions(nvgen.compile(module(3), target=TARGET).ptx) == [3, 0, 0]
