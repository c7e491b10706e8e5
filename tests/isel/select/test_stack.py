"""Memory on the stack: sizes that a run decides, saved and restored; variables behind the entry.

LLVM's own PTX of the same modules runs beside nvgen's on the simulator, and ptxas takes both.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from intrinsics.findings import SelectionError, SimulationError
from tests.oracle import side_by_side

DYNAMIC = """

define internal i64 @reversed(i32 %n) noinline {
entry:
  %list = alloca i64, i32 %n
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %i1, %fill ]
  %at = getelementptr i64, ptr %list, i32 %i
  %w = zext i32 %i to i64
  store i64 %w, ptr %at
  %i1 = add i32 %i, 1
  %full = icmp eq i32 %i1, %n
  br i1 %full, label %sum, label %fill
sum:
  %j = phi i32 [ 0, %fill ], [ %j1, %sum ]
  %s = phi i64 [ 0, %fill ], [ %s1, %sum ]
  %from = getelementptr i64, ptr %list, i32 %j
  %v = load i64, ptr %from
  %ten = mul i64 %s, 10
  %s1 = add i64 %ten, %v
  %j1 = add i32 %j, 1
  %done = icmp eq i32 %j1, %n
  br i1 %done, label %end, label %sum
end:
  ret i64 %s1
}

define ptx_kernel void @k(ptr addrspace(1) %out) {
entry:
  %five = call i64 @reversed(i32 5)
  store i64 %five, ptr addrspace(1) %out
  %eight = call i64 @reversed(i32 8)
  %o1 = getelementptr i64, ptr addrspace(1) %out, i32 1
  store i64 %eight, ptr addrspace(1) %o1
  %none = load i64, ptr addrspace(1) %o1
  %n = and i64 %none, 7
  %a = alloca { i8, i32, i8 }, i64 %n, align 64
  %b = alloca i8, i64 %n
  %c = trunc i64 %n to i5
  %d = alloca i24, i5 %c
  store i8 3, ptr %a
  store i8 4, ptr %b
  store i24 70000, ptr %d
  %x = load i8, ptr %a
  %y = load i8, ptr %b
  %z = load i24, ptr %d
  %xw = zext i8 %x to i64
  %yw = zext i8 %y to i64
  %zw = zext i24 %z to i64
  %xy = add i64 %xw, %yw
  %xyz = add i64 %xy, %zw
  %o2 = getelementptr i64, ptr addrspace(1) %out, i32 2
  store i64 %xyz, ptr addrspace(1) %o2
  %number = ptrtoint ptr %a to i64
  %below = and i64 %number, 63
  %o3 = getelementptr i64, ptr addrspace(1) %out, i32 3
  store i64 %below, ptr addrspace(1) %o3
  br label %loop
loop:
  %i = phi i64 [ 1, %entry ], [ %i1, %loop ]
  %t = phi i64 [ 0, %entry ], [ %t1, %loop ]
  %saved = call ptr @llvm.stacksave.p0()
  %much = alloca i64, i64 9000
  %more = mul i64 %i, 1000
  %part = alloca i64, i64 %more
  %last = getelementptr i64, ptr %part, i64 999
  store i64 %i, ptr %last
  %read = load i64, ptr %last
  %t1 = add i64 %t, %read
  call void @llvm.stackrestore.p0(ptr %saved)
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i, 30
  br i1 %done, label %end, label %loop
end:
  %o4 = getelementptr i64, ptr addrspace(1) %out, i32 4
  store i64 %t1, ptr addrspace(1) %o4
  ret void
}
"""

HOISTED = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
entry:
  %word = load i64, ptr addrspace(1) %out
  %zero = icmp eq i64 %word, 0
  br label %loop
loop:
  %i = phi i64 [ 1, %entry ], [ %i1, %next ]
  %t = phi i64 [ 0, %entry ], [ %t1, %next ]
  %p = alloca i64
  %q = alloca [3 x i64], align 32
  store i64 %i, ptr %p
  br i1 %zero, label %here, label %next
here:
  %other = alloca i64
  %second = getelementptr i64, ptr %q, i64 2
  store i64 %t, ptr %second
  store i64 %t, ptr %other
  br label %next
next:
  %v = load i64, ptr %p
  %t1 = add i64 %t, %v
  %i1 = add i64 %i, 1
  %done = icmp eq i64 %i, 10
  br i1 %done, label %end, label %loop
end:
  store i64 %t1, ptr addrspace(1) %out
  ret void
}
"""


@pytest.mark.parametrize("opt", [0, 2])
def test_memory_is_that_of_llvm(opt: int):
    side_by_side.compare({"dynamic": DYNAMIC, "hoisted": HOISTED}, opt=opt)


def test_each_thread_has_its_own_stack():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = add i32 %t, 1
  %list = alloca i32, i32 %n
  %last = getelementptr i32, ptr %list, i32 %t
  store i32 %n, ptr %last
  %first = load i32, ptr %last
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %first, ptr addrspace(1) %p
  ret void
}
"""
    out = np.zeros(64, np.int32)
    nvgen.compile(text, target="sm_90a", opt=0).run(out, block=64, device="sim")
    assert out.tolist() == list(range(1, 65))


KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %out, i64 %n) {{
entry:
  %p = alloca i64, i64 %n
  {0}
  ret void
}}
"""
RUNS = {
    "within": ("store i64 1, ptr %p", 4, ""),
    "outside": ("%q = getelementptr i64, ptr %p, i64 4\n  store i64 1, ptr %q", 4, "sim/out-of-bo"),
    "too much": ("store i64 1, ptr %p", 70_000, "sim/local-memory"),
    "given back twice": (
        "%a = getelementptr i8, ptr addrspace(5) null, i32 16\n"
        "  %b = addrspacecast ptr addrspace(5) %a to ptr\n"
        "  call void @llvm.stackrestore.p0(ptr %b)", 4, "sim/stack-restore",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_the_simulator_knows_the_bounds(name: str):
    body, count, rule = RUNS[name]
    compiled = nvgen.compile(KERNEL.format(body), target="sm_90a", opt=0)
    out = np.zeros(4, np.int64)
    if not rule:
        compiled.run(out, count, block=1, device="sim")
        return
    with pytest.raises(SimulationError) as caught:
        compiled.run(out, count, block=1, device="sim")
    assert caught.value.findings[0].rule.startswith(rule)


def test_a_stack_needs_ptx_7_3():
    text = KERNEL.format("store i64 1, ptr %p")
    assert "alloca.u64" in nvgen.compile(text, target="sm_75", ptx="7.3", opt=0).ptx
    with pytest.raises(SelectionError) as caught:
        nvgen.compile(text, target="sm_75", ptx="7.2", opt=0)
    (finding,) = caught.value.findings
    assert (finding.rule, finding.place.line) == ("select/target", 4)
    assert "7.3" in finding.expected
