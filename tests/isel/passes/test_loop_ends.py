"""An inner loop ends where the outer one goes on: the outer values are copied there, once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.llvm_sass import machine_code

TARGET = "sm_90a"

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) {
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %next, %inner ]
  %left = phi i32 [ 7, %entry ], [ %less, %inner ]
  %sum = phi i32 [ 0, %entry ], [ %total, %inner ]
  %more = icmp sgt i32 %left, 0
  br i1 %more, label %turn, label %end
turn:
  %less = add i32 %left, -1
  %next = add i32 %i, 1
  br label %inner
inner:
  %j = phi i32 [ 0, %turn ], [ %following, %body ]
  %rest = phi i32 [ 7, %turn ], [ %fewer, %body ]
  %total = phi i32 [ %sum, %turn ], [ %added, %body ]
  %again = icmp sgt i32 %rest, 0
  br i1 %again, label %body, label %outer
body:
  %fewer = add i32 %rest, -1
  %following = add i32 %j, 1
  %row = mul i32 %i, %n
  %place = add i32 %row, %j
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %place
  %v = load i32, ptr addrspace(1) %p
  %scaled = mul i32 %v, %i
  %added = add i32 %total, %scaled
  br label %inner
end:
  store i32 %sum, ptr addrspace(1) %y
  ret void
}
"""
"""%next is there before the inner loop, which reads %i."""


def test_ptxas_unrolls_the_inner_loop_as_that_of_llvms_ptx() -> None:
    (by_llvm,) = llvm.compile_all([llvm.HEADER + KERNEL], TARGET, "8.7")
    ptx = nvgen.compile(KERNEL, target=TARGET).ptx
    rolled = re.sub(r"^(\$L_\w+:)", r'\1 .pragma "nounroll";', ptx, flags=re.MULTILINE)
    texts = {"nvgen": ptx, "LLVM": by_llvm.ptx, "rolled": rolled}
    size = {name: len(code) for name, code in machine_code(texts, TARGET, "8.7").items()}
    assert size["rolled"] < size["LLVM"] <= size["nvgen"], size


@pytest.mark.parametrize("n", [7, 9])
def test_the_inner_loop_reads_the_values_of_this_turn(n: int) -> None:
    x = np.random.default_rng(n).integers(-99, 99, 7 * n).astype(np.int32)
    y = np.zeros(1, np.int32)
    nvgen.compile(KERNEL, target=TARGET).run(x, y, n, block=1, device="sim")
    assert y[0] == sum(x[i * n + j] * i for i in range(7) for j in range(7))


def test_what_the_inner_loop_computes_for_the_next_turn_needs_no_block() -> None:
    """Its register is the PHI's own, which nothing else reads while it is computed."""
    kernel = """
define ptx_kernel void @k(ptr addrspace(1) %x, i32 %n) {
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %changed, %inner ]
  %first = xor i32 %i, 5
  %more = icmp slt i32 %first, %n
  br i1 %more, label %inner, label %end
inner:
  %j = phi i32 [ %first, %outer ], [ %changed, %inner ]
  %changed = mul i32 %j, %n
  %again = icmp slt i32 %changed, 99
  br i1 %again, label %inner, label %outer
end:
  store i32 %first, ptr addrspace(1) %x
  ret void
}
"""
    assert "mov.b32 %r" not in nvgen.compile(kernel, target=TARGET).ptx.split("$L_outer:")[1]
