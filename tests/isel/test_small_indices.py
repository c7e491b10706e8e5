"""An index of 8 or 16 bits is multiplied by one instruction, as in LLVM's code."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm

KERNEL = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %x, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i{bits}, ptr addrspace(1) %x, i32 %t
  %n = load i{bits}, ptr addrspace(1) %q
  %i = {extends} i{bits} %n to i64
  %a = getelementptr [3 x i32], ptr addrspace(1) %p, i64 %i
  %v = load i32, ptr addrspace(1) %a
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %v, ptr addrspace(1) %o
  ret void
}}
"""


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("extends", ["zext", "sext"])
def test_small_indices_are_multiplied_once(extends: str, bits: int) -> None:
    text = KERNEL.format(extends=extends, bits=bits)
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.6", opt=3)
    ours = nvgen.compile(text, target="sm_90a")
    for ptx in (ours.ptx, theirs.ptx):
        assert len(re.findall(r"mul\.wide\.\w+\s.*, 12;", ptx)) == 1
        assert "mul.lo" not in ptx

    numbers = np.array([0, 1, 5, 100, 127 if extends == "sext" else 255], f"u{bits // 8}")
    table, out = np.arange(3 * 256, dtype=np.uint32), np.zeros(len(numbers), np.uint32)
    ours.run(table, numbers, out, block=len(numbers))
    assert out.tolist() == [3 * int(n) for n in numbers]
