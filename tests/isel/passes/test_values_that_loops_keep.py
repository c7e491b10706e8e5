"""A value that a loop changes on some ways only, beside its old one: one move a turn, as LLVM's.

LLVM has another move, of the new value's register to itself through the copy of the old one.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) {
entry:
  %first = load i32, ptr addrspace(1) %x
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %old = phi i32 [ %first, %entry ], [ %new, %latch ]
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %i
  %q = getelementptr i32, ptr addrspace(1) %y, i32 %i
  %v = load i32, ptr addrspace(1) %p
  %many = icmp ugt i32 %v, %n
  br i1 %many, label %change, label %latch
change:
  %w = load i32, ptr addrspace(1) %q
  br label %latch
latch:
  %new = phi i32 [ %old, %loop ], [ %w, %change ]
  %product = mul i32 %new, %i
  store i32 %product, ptr addrspace(1) %p
  store i32 %old, ptr addrspace(1) %q
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 32
  br i1 %more, label %loop, label %end
end:
  store i32 %new, ptr addrspace(1) %x
  ret void
}
"""


def moves(ptx: str) -> int:
    """The moves between registers in a kernel."""
    return len(re.findall(r"mov\.b32\s+%r\d+, %r", ptx))


def test_a_turn_copies_the_old_value_once() -> None:
    (by_llvm,) = llvm.compile_all([llvm.HEADER + KERNEL], "sm_90a", "8.7")
    assert moves(nvgen.compile(KERNEL, target="sm_90a").ptx) == 1 < moves(by_llvm.ptx)


@pytest.mark.parametrize("n", [0, 7, 20, 40])
def test_the_old_value_is_the_one_of_the_turn_before(n: int) -> None:
    x = np.random.default_rng(n).permutation(32).astype(np.int32)
    y = np.arange(100, 132, dtype=np.int32)
    expected_x, expected_y, value = x.copy(), y.copy(), x[0]
    for i in range(32):
        old, value = value, y[i] if x[i] > n else value
        expected_x[i], expected_y[i] = value * i, old
    expected_x[0] = value
    nvgen.compile(KERNEL, target="sm_90a").run(x, y, n, block=1, device="sim")
    assert (x == expected_x).all()
    assert (y == expected_y).all()
