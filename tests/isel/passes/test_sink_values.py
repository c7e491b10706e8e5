"""Values are computed behind the branches that pass by what reads them, as by LLVM's back end."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given

import nvgen
from intrinsics.modifiers import Space
from isel.passes.sink_values import sink_values
from nvgen import KernelBuilder, f16, f32
from tests.isel.passes.ssa_functions import Drawn, means, ssa_functions
from tests.oracle import llvm
from tests.turns import examples

TARGET = "sm_90a"

_HEAD = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) {
entry:
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %q = getelementptr float, ptr addrspace(1) %y, i32 %i
  %v = load float, ptr addrspace(1) %p
  %square = fmul float %v, %v
  %more = fadd float %square, 1.5
"""

KERNEL = (
    _HEAD
    + """\
  %kept = fadd float %v, 2.0
  %is_odd = icmp ult i32 %i, %n
  br i1 %is_odd, label %store, label %next
store:
  store float %kept, ptr addrspace(1) %p
  br label %next
next:
  br i1 %is_odd, label %last, label %end
last:
  %sum = fadd float %more, %kept
  store float %sum, ptr addrspace(1) %q
  br label %end
end:
  ret void
}
"""
)
"""%square and %more are read in %last alone, %kept in two blocks."""


BRANCH = r"@!?%p\d+ bra"


def sums_before(ptx: str, place: str) -> int:
    """The sums and products before the first place that an expression finds."""
    body = re.split(place, ptx[ptx.index("{") :])[0]
    return len(re.findall(r"\b(?:add|mul)(?:\.rn)?\.f32|\bfma\.rn\.f32", body))


def test_only_what_several_blocks_read_stays_before_the_branch() -> None:
    (by_llvm,) = llvm.compile_all([llvm.HEADER + KERNEL], TARGET, "8.7")
    ptx = nvgen.compile(KERNEL, target=TARGET).ptx
    assert sums_before(ptx, BRANCH) == sums_before(by_llvm.ptx, BRANCH) == 1


@pytest.mark.parametrize("n", [0, 5, 32])
def test_values_stay(n: int) -> None:
    x = np.arange(32, dtype=np.float32)
    y = np.full(32, -1, np.float32)
    expected_x, expected_y = x.copy(), y.copy()
    expected_x[:n] = x[:n] + 2
    expected_y[:n] = x[:n] * x[:n] + 1.5 + (x[:n] + 2)
    nvgen.compile(KERNEL, target=TARGET).run(x, y, n, block=32, device="sim")
    assert (x == expected_x).all()
    assert (y == expected_y).all()


def test_nothing_moves_into_a_loop() -> None:
    kernel = """
define ptx_kernel void @k(ptr addrspace(1) %x, float %a, i32 %n) {
entry:
  %square = fmul float %a, %a
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  store float %square, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""
    assert sums_before(nvgen.compile(kernel, target=TARGET).ptx, r"\$L_loop:") == 1


@examples(60)
@given(ssa_functions())
def test_the_meaning_stays(drawn: Drawn) -> None:
    expected = means(drawn.function)
    sink_values(drawn.function)
    assert means(drawn.function) == expected


CHAIN = (
    _HEAD
    + """\
  %is_large = fcmp ogt float %more, 4.0
  %chosen = select i1 %is_large, float %more, float %v
  %is_first = icmp ult i32 %i, %n
  br i1 %is_first, label %JOIN
special:
  %is_odd = icmp eq i32 %n, 7
  br i1 %is_odd, label %end, label %usual
usual:
  br label %end
end:
  %found = phi float VALUES
  store float %found, ptr addrspace(1) %q
  ret void
}
"""
)
"""What the first block computes to the end of a chain is the value on some ways only."""


@pytest.mark.parametrize(
    ("targets", "values", "before"),
    [
        ("special, label %usual", "[ 1.0, %special ], [ %chosen, %usual ]", 0),
        ("special, label %end", "[ %chosen, %entry ], [ 1.0, %special ], [ 2.0, %usual ]", 2),
        ("special, label %usual", "[ %chosen, %special ], [ %chosen, %usual ]", 2),
    ],
)
def test_what_a_phi_takes_on_one_way_is_computed_there(
    targets: str, values: str, before: int
) -> None:
    """In the second row a branch takes it itself, in the third one every way comes to it."""
    kernel = CHAIN.replace("JOIN", targets).replace("VALUES", values)
    (by_llvm,) = llvm.compile_all([llvm.HEADER + kernel], TARGET, "8.7")
    ptx = nvgen.compile(kernel, target=TARGET).ptx
    assert sums_before(ptx, BRANCH) == sums_before(by_llvm.ptx, BRANCH) == before


def test_what_assembly_writes_on_some_paths_stays() -> None:
    """`$0` has a value where `$1` is not 0, and LLVM takes it to have one always."""
    negate = """\
asm "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p bra L; not.b32 $0, $1; L: }", "=r,r" """
    kernel = f"""
define ptx_kernel void @k(ptr addrspace(1) %x) {{
  %v = load i32, ptr addrspace(1) %x
  %a = call i32 {negate}(i32 %v)
  %b = call i32 {negate}(i32 %a)
  store i32 %b, ptr addrspace(1) %x
  ret void
}}
"""
    x = np.array([12345], np.uint32)
    nvgen.compile(kernel, target=TARGET).run(x, block=1)
    assert x[0] == 12345


def test_what_reads_accumulators_stays_before_the_next_multiply() -> None:
    """Else they are copied for it, and ptxas lets no multiply overlap another."""
    b = KernelBuilder("k", block=128, target=TARGET)
    b.pointer("d", f32, output=True)
    b.u32("n")
    args = b.begin()
    tile = b.shared_tile("tile", f16, (64, 64))
    for chunk in range(4):
        b.store(b.words([b.const(0)] * 4), tile.chunk(b.tid_x >> 1, (b.tid_x & 1) * 4 + chunk))
    few = b.shared_tile("few", f16, (8, 64))
    b.store(b.words([b.const(0)] * 4), few.chunk(b.tid_x & 7, b.tid_x >> 4))
    b.fence_proxy_async(Space.SHARED_CTA)
    b.barrier_cta_sync_aligned()
    sums = b.warpgroup_tile(64, 8)
    b.gemm(sums, tile, few, accumulate=False)
    with b.range(args["n"]):
        scaled = sums.fragment * 2.0
        b.gemm(sums, tile, few, accumulate=True, in_flight=1)
        with b.if_(b.tid_x < 7):
            scaled.store(args["d"], 8)
        b.wgmma_wait_group(0)
    ptx = b.finish().compile().ptx
    assert re.findall(r"mov\.b32 %r\d+, %r\d+;", ptx) == []  # copies keep what it replaces
