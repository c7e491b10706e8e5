"""Pointers in structs that a kernel takes by value point to global memory, as LLVM says too."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm

GIVEN = """
%s = type { ptr, i64, [2 x ptr], i64 }
define ptx_kernel void @k(ptr byval(%s) align 8 READONLY %a) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = load ptr, ptr %a
  %q = getelementptr i8, ptr %a, i64 16
  %e = and i32 %t, 1
  %i = getelementptr ptr, ptr %q, i32 %e
  %r = load ptr, ptr %i
  %h = getelementptr i8, ptr %a, i64 32
  %n = load i64, ptr %h
  %m = inttoptr i64 %n to ptr
  %v = load i32, ptr %p
  %w = atomicrmw add ptr %r, i32 %v monotonic
  store i32 %w, ptr %m
  %z = getelementptr i32, ptr %p, i32 %t
  %odd = trunc i32 %t to i1
  %one = select i1 %odd, ptr %z, ptr %m
  store i32 7, ptr %one
  ret void
}
"""

WRITTEN = """
%s = type { ptr }
@tile = internal addrspace(3) global [4 x i64] undef, align 8
define ptx_kernel void @k(ptr %out, ptr byval(%s) align 8 %a) {
  store ptr addrspacecast (ptr addrspace(3) @tile to ptr), ptr %a
  %p = load volatile ptr, ptr %a
  store i64 5, ptr %p
  %v = load i64, ptr addrspace(3) @tile
  store i64 %v, ptr %out
  ret void
}
"""

EITHER = """
%s = type { ptr }
@keeps = internal addrspace(3) global ptr undef, align 8
define ptx_kernel void @k(i64 %c, ptr byval(%s) align 8 %a) {
  %zero = icmp eq i64 %c, 0
  %which = select i1 %zero, ptr addrspacecast (ptr addrspace(3) @keeps to ptr), ptr %a
  %p = load ptr, ptr %which
  store i64 9, ptr %p
  ret void
}
"""
"""What a choice between a struct and another variable holds is not known."""


def generic(ptx: str) -> list[str]:
    """The accesses of a PTX text that name no space."""
    return re.findall(r"^\s+((?:ld|st|atom)(?:\.(?:relaxed|sys|add|[busf]\d+))* )", ptx, re.M)


@pytest.mark.parametrize("attribute", ["", "readonly"])
def test_accesses_by_pointers_in_structs_name_the_space_that_llvms_name(attribute: str) -> None:
    text = llvm.HEADER + GIVEN.replace("READONLY", attribute)
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.6")
    assert generic(theirs.ptx) == []
    ours = nvgen.compile(text, target="sm_90a").ptx
    assert generic(ours) == []
    assert "cvta" not in ours


def test_a_pointer_that_the_kernel_put_there_itself_may_point_anywhere() -> None:
    out = np.zeros(1, np.uint64)
    nvgen.compile(WRITTEN, target="sm_90a").run(out, np.zeros(1, np.uint64), block=1, device="sim")
    assert out[0] == 5


def test_what_is_read_from_a_struct_or_from_elsewhere_may_point_anywhere() -> None:
    assert generic(nvgen.compile(EITHER, target="sm_90a").ptx) == ["ld.b64 ", "st.b64 "]
