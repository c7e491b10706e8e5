"""Bits of the thread's number are one `bfe`, but where registers are to be uniform."""

from __future__ import annotations

import numpy as np
import pytest

import nvgen

MBARRIER = "call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @bar)"
THREADS = 256


def kernel(register: str, shift: int, mask: int, more: str = "") -> str:
    return f"""
@bar = internal addrspace(3) global i64 undef
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %of = call i32 @llvm.nvvm.read.ptx.sreg.{register}()
  {more}
  %high = lshr i32 %of, {shift}
  %part = and i32 %high, {mask}
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %part, ptr addrspace(1) %p
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.{register}()
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
""".replace("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n", "", register == "tid.x")


@pytest.mark.parametrize(
    ("shift", "mask", "one"), [(5, 3, True), (1, 1, True), (4, 15, True), (3, 5, False)]
)
def test_bits_that_stand_together(shift: int, mask: int, *, one: bool) -> None:
    compiled = nvgen.compile(kernel("tid.x", shift, mask), target="sm_90a")
    assert ("bfe.u32" in compiled.ptx) is one
    assert ("shr.u32" in compiled.ptx) is not one
    out = np.zeros(THREADS, np.uint32)
    compiled.run(out, block=THREADS, device="sim")
    assert out.tolist() == [t >> shift & mask for t in range(THREADS)]


def test_other_numbers_are_shifted() -> None:
    """ptxas knows them to be uniform, whatever is done to them."""
    assert "bfe" not in nvgen.compile(kernel("ctaid.x", 5, 3), target="sm_90a").ptx


@pytest.mark.wrong_kernel  # a barrier that nobody initialises is invalidated
def test_functions_with_barriers_stay_as_they_are() -> None:
    assert "bfe" not in nvgen.compile(kernel("tid.x", 5, 3, MBARRIER), target="sm_90a").ptx
