"""Loads of what nothing writes: nvgen's are the non-coherent ones that LLVM's back end makes."""

from __future__ import annotations

import pytest

import nvgen
from tests.oracle import llvm

UNWRITTEN = "ptr addrspace(1) noalias readonly"
WRITTEN = "ptr addrspace(1)"

WAYS = {
    "stepped in a loop": """
  br label %loop
loop:
  %p = phi ptr addrspace(1) [ %a, %0 ], [ %q, %loop ]
  %i = phi i32 [ 0, %0 ], [ %j, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t, %loop ]
  %v = load i32, ptr addrspace(1) %p
  %t = add i32 %sum, %v
  %q = getelementptr i32, ptr addrspace(1) %p, i64 3
  %j = add i32 %i, 1
  %again = icmp ne i32 %j, %n
  br i1 %again, label %loop, label %done
""",
    "one of two": """
  %c = icmp ult i32 %n, 7
  %s = select i1 %c, ptr addrspace(1) %a, ptr addrspace(1) %b
  %p = getelementptr i32, ptr addrspace(1) %s, i64 3
  %t = load i32, ptr addrspace(1) %p
  br label %done
""",
    "two ways": """
  %c = icmp ult i32 %n, 7
  %other = getelementptr i32, ptr addrspace(1) %b, i32 %n
  br i1 %c, label %one, label %join
one:
  br label %join
join:
  %p = phi ptr addrspace(1) [ %other, %0 ], [ %a, %one ]
  %t = load i32, ptr addrspace(1) %p
  br label %done
""",
}


def kernel(a: str, b: str, way: str) -> str:
    return f"""
define ptx_kernel void @k({a} %a, {b} %b, ptr addrspace(1) %out, i32 %n) {{
{way}
done:
  store i32 %t, ptr addrspace(1) %out
  ret void
}}
"""


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("a", [UNWRITTEN, WRITTEN])
@pytest.mark.parametrize("b", [UNWRITTEN, WRITTEN])
def test_loads_are_those_of_llvm(a: str, b: str, way: str) -> None:
    text = kernel(a, b, way)
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.7", opt=3)
    ours = nvgen.compile(text, target="sm_90a", opt=0).ptx
    assert ours.count("ld.global.nc.") == theirs.ptx.count("ld.global.nc.")
