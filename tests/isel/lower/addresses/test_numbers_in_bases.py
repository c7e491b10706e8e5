"""An address behind another one that is numbers away from a base: the numbers come last."""

from __future__ import annotations

import re

import numpy as np

import nvgen

TEXT = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t.64 = zext i32 %t to i64
  %row1 = getelementptr i8, ptr addrspace(1) %x, i64 256
  %row2 = getelementptr [64 x i32], ptr addrspace(1) %row1, i64 1
  %far = getelementptr i8, ptr addrspace(1) %x, i64 16777216
  %p0 = getelementptr i32, ptr addrspace(1) %x, i64 %t.64
  %p1 = getelementptr i32, ptr addrspace(1) %row1, i64 %t.64
  %p2 = getelementptr i32, ptr addrspace(1) %row2, i64 %t.64
  %p3 = getelementptr i32, ptr addrspace(1) %far, i64 %t.64
  %v0 = load i32, ptr addrspace(1) %p0
  %v1 = load i32, ptr addrspace(1) %p1
  %v2 = load i32, ptr addrspace(1) %p2
  %s = add i32 %v0, %v1
  %d = sub i32 %s, %v2
  %o = getelementptr i32, ptr addrspace(1) %out, i64 %t.64
  store i32 %d, ptr addrspace(1) %o
  %a1 = ptrtoint ptr addrspace(1) %p1 to i64
  %a2 = ptrtoint ptr addrspace(1) %p2 to i64
  %a3 = ptrtoint ptr addrspace(1) %p3 to i64
  %d21 = sub i64 %a2, %a1
  %d32 = sub i64 %a3, %a2
  %more = getelementptr i8, ptr addrspace(1) %out, i64 256
  %q = getelementptr [2 x i64], ptr addrspace(1) %more, i64 %t.64
  store i64 %d21, ptr addrspace(1) %q
  %q1 = getelementptr i64, ptr addrspace(1) %q, i64 1
  store i64 %d32, ptr addrspace(1) %q1
  ret void
}
"""


def test_rows_at_known_distances_have_one_address() -> None:
    compiled = nvgen.compile(TEXT, target="sm_90a")
    loads = re.findall(r"ld\.global\.b32 %r\d+, \[(%rd\d+)(?:\+(\d+))?\]", compiled.ptx)
    assert [offset for _, offset in loads] == ["", "256", "512"]
    assert len({base for base, _ in loads}) == 1
    x = np.random.default_rng(0).integers(-99, 99, (3, 64), dtype=np.int32)
    out = np.zeros(64 * 5, np.int32)
    compiled.run(x, out, block=64)
    assert (out[:64] == x[0] + x[1] - x[2]).all()
    distances = out[64:].view(np.int64).reshape(64, 2)
    assert (distances == [256, 16777216 - 512]).all()
