"""LLVM IR as numba writes it for libNVVM: typed pointers, and atomic operations by its names."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle.ptxas import find_ptxas

MODULE = """
define void @k(float addrspace(1)* %x, double* %sum, i32 addrspace(1)* %count) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr float, float addrspace(1)* %x, i32 %t
  %v = load float, float addrspace(1)* %at
  %d = fpext float %v to double
  %a = call double @"llvm.nvvm.atomic.load.add.f64.p0f64"(double* %sum, double %d)
  %b = call i32 @llvm.nvvm.atomic.load.inc.32.p1i32(i32 addrspace(1)* %count, i32 9)
  ret void
}
declare double @"llvm.nvvm.atomic.load.add.f64.p0f64"(double*, double)
declare i32 @llvm.nvvm.atomic.load.inc.32.p1i32(i32 addrspace(1)*, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
!nvvm.annotations = !{!0}
!0 = !{void (float addrspace(1)*, double*, i32 addrspace(1)*)* @k, !"kernel", i32 1}
"""


@pytest.mark.parametrize("opt", [None, 3])
def test_atomic_operations_are_relaxed_and_right(opt: int | None) -> None:
    """atomicAdd orders nothing, and atomicInc goes round behind its limit."""
    compiled = nvgen.compile(MODULE, target="sm_90a", opt=opt)
    x, total, count = np.arange(32, dtype=np.float32), np.zeros(1), np.zeros(1, np.uint32)
    compiled.run(x, total, count, block=32, device="sim")
    assert total[0] == x.sum()
    assert count[0] == 32 % 10
    atoms = re.findall(r"\b(?:atom|red)\S+", compiled.ptx)
    assert len(atoms) == 2
    assert all(".gpu" in atom and "acq" not in atom for atom in atoms), atoms
    assert "fence" not in compiled.ptx
    if find_ptxas() is not None:
        assert compiled.cubin()


def test_a_mistake_in_such_text_keeps_its_line() -> None:
    text = MODULE.replace("float %v to", "float %w to")
    with pytest.raises(nvgen.InputError) as caught:
        nvgen.compile(text, target="sm_90a")
    assert caught.value.findings[0].place.line == 6
