"""Bits that are known to be zero are not cleared again."""

from __future__ import annotations

import itertools

import numpy as np

import nvgen

BYTES = """
declare i8 @llvm.umin.i8(i8, i8)
declare i8 @llvm.umax.i8(i8, i8)
define ptx_kernel void @k(ptr addrspace(1) %x) {
  %p = getelementptr i8, ptr addrspace(1) %x, i64 1
  %q = getelementptr i8, ptr addrspace(1) %x, i64 2
  %a = load i8, ptr addrspace(1) %x
  %b = load i8, ptr addrspace(1) %p
  %c = load i8, ptr addrspace(1) %q
  %low = call i8 @llvm.umin.i8(i8 %a, i8 %b)
  %high = call i8 @llvm.umax.i8(i8 %a, i8 %b)
  %mid = call i8 @llvm.umin.i8(i8 %high, i8 %c)
  %or = or i8 %mid, 65
  %less = icmp ult i8 %or, %low
  %one = select i1 %less, i8 %or, i8 %low
  %two = and i8 %one, %c
  %most = icmp ugt i8 %two, 3
  %r = select i1 %most, i8 %two, i8 7
  %s = lshr i8 %r, 1
  store i8 %s, ptr addrspace(1) %x
  ret void
}
"""


def test_what_is_made_of_bytes_alone_has_no_bits_above_them() -> None:
    compiled = nvgen.compile(BYTES, target="sm_90a")
    assert "cvt" not in compiled.ptx
    for a, b, c in itertools.product((0, 3, 64, 127, 128, 200, 255), repeat=3):
        x = np.array([a, b, c], np.uint8)
        compiled.run(x, block=1, device="sim")
        either = min(max(a, b), c) | 65
        both = min(either, min(a, b)) & c
        assert x[0] == (both if both > 3 else 7) >> 1
