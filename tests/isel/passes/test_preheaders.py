"""A loop that a branch enters has a block in front of it, as loops have in LLVM's back end."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.llvm_sass import machine_code

TARGET = "sm_90a"

_STORES = "".join(
    f"""\
  %p{k} = getelementptr i8, ptr addrspace(1) %p, i64 {4 * k}
  store i32 %{"bit" if k % 4 < 2 else "others"}, ptr addrspace(1) %p{k}
"""
    for k in range(16)
)

KERNEL = f"""
define ptx_kernel void @k(ptr addrspace(1) %x, i64 %bytes) {{
entry:
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %step = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %count = lshr i64 %bytes, 6
  %place = and i32 %i, 31
  %bit = shl nuw i32 1, %place
  %others = xor i32 %bit, -1
  %first = sext i32 %i to i64
  %any = icmp ugt i64 %count, %first
  br i1 %any, label %turn, label %end
end:
  ret void
turn:
  %j = phi i32 [ %next, %turn ], [ %i, %entry ]
  %word = shl nsw i32 %j, 4
  %word.64 = sext i32 %word to i64
  %p = getelementptr i32, ptr addrspace(1) %x, i64 %word.64
{_STORES}\
  %next = add nsw i32 %j, %step
  %next.64 = sext i32 %next to i64
  %more = icmp ugt i64 %count, %next.64
  br i1 %more, label %turn, label %end, !llvm.loop !0
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
!0 = distinct !{{!0, !1}}
!1 = !{{!"llvm.loop.unroll.disable"}}
"""
"""%bit and %others are read in the loop alone, which some threads pass by."""


def test_the_machine_code_is_no_longer_than_that_of_llvms_ptx() -> None:
    (by_llvm,) = llvm.compile_all([llvm.HEADER + KERNEL], TARGET, "8.7")
    texts = {"nvgen": nvgen.compile(KERNEL, target=TARGET).ptx, "LLVM": by_llvm.ptx}
    size = {name: len(code) for name, code in machine_code(texts, TARGET, "8.7").items()}
    assert size["nvgen"] <= size["LLVM"], size


def test_what_the_loop_alone_reads_is_computed_behind_the_branch() -> None:
    ptx = nvgen.compile(KERNEL, target=TARGET).ptx
    before, _, behind = re.split(r"(@!?%p\d+ bra)", ptx, maxsplit=1)
    assert "shl.b32" not in before
    assert behind.index("shl.b32") < behind.index("st.global")


@pytest.mark.parametrize("count", [0, 3, 40, 70])
def test_values_stay(count: int) -> None:
    x = np.zeros(16 * 70, np.uint32)
    nvgen.compile(KERNEL, target=TARGET).run(x, 64 * count, block=32, device="sim")
    j = np.arange(count)
    bit = np.left_shift(1, j % 32).astype(np.uint32)  # thread j % 32 has the row
    expected = np.zeros((70, 4, 4), np.uint32)
    expected[:count, :, :2] = bit[:, None, None]
    expected[:count, :, 2:] = ~bit[:, None, None]
    assert (x == expected.reshape(-1)).all()
