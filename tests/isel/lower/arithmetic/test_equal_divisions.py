"""A division of 64 bits that another one equals on every way is made once, as LLVM does."""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.side_by_side import compare

KERNEL = """
@number = addrspace(1) global [3 x i64] [i64 -12345678901234, i64 987654321, i64 5]
define ptx_kernel void @k(ptr addrspace(1) %out) {{
entry:
  %pa = getelementptr i64, ptr addrspace(1) @number, i64 0
  %pb = getelementptr i64, ptr addrspace(1) @number, i64 1
  %pc = getelementptr i64, ptr addrspace(1) @number, i64 2
  %a = load volatile i64, ptr addrspace(1) %pa
  %b = load volatile i64, ptr addrspace(1) %pb
  %c = load volatile i64, ptr addrspace(1) %pc
  %o1 = getelementptr i64, ptr addrspace(1) %out, i64 1
  %o2 = getelementptr i64, ptr addrspace(1) %out, i64 2
{body}
}}
"""
REMAINDER = """  %s{n} = add {flags}i64 %a, %c
  %m{n} = srem i64 %s{n}, %b
  store i64 %m{n}, ptr addrspace(1) %o{n}"""
BRANCH = "  %w = icmp slt i64 %a, %c\n  br i1 %w, label %one, label %other\none:\n"


def remainder(n: int, flags: str = "") -> str:
    return REMAINDER.format(n=n, flags=flags)


ONCE = {
    "in one block": f"{remainder(1)}\n{remainder(2)}\n  ret void",
    "behind a branch": f"{remainder(1)}\n{BRANCH}{remainder(2)}\n  ret void\nother:\n  ret void",
}
TWICE = {
    "on two ways": f"{BRANCH}{remainder(1)}\n  ret void\nother:\n{remainder(2)}\n  ret void",
    "of another promise": f"{remainder(1, 'nsw ')}\n{remainder(2)}\n  ret void",
    "of other numbers": f"{remainder(1)}\n{remainder(2).replace('%c', '%b')}\n  ret void",
}


@pytest.mark.parametrize("name", [*ONCE, *TWICE])
def test_divisions_are_made_once_on_a_way(name: str) -> None:
    text = KERNEL.format(body=(ONCE | TWICE)[name])
    compare({name: text})
    (by_llvm,) = llvm.compile_all([llvm.HEADER + text], "sm_90a", "8.6")
    ours, theirs = (
        len(re.findall(r"rem\.s64", ptx))
        for ptx in (nvgen.compile(text, target="sm_90a", opt=0).ptx, by_llvm.ptx)
    )
    assert ours == (1 if name in ONCE else 2)
    assert name not in ONCE or theirs == 1
