"""Variable arguments: values from a caller's list, and calls as LLVM 22 makes them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm

TEXT = """
%pair = type { i8, i64 }

define internal i64 @sum(i32 %n, ...) noinline {
entry:
  %list = alloca ptr
  %other = alloca ptr
  call void @llvm.va_start.p0(ptr %list)
  %b = va_arg ptr %list, i32
  %d = va_arg ptr %list, double
  call void @llvm.va_copy.p0(ptr %other, ptr %list)
  %w = va_arg ptr %other, i128
  %s = va_arg ptr %other, %pair
  %again = va_arg ptr %list, i128
  call void @llvm.va_end.p0(ptr %list)
  %i = fptosi double %d to i64
  %e = extractvalue %pair %s, 1
  %h = lshr i128 %again, 64
  %t = trunc i128 %h to i64
  %l = trunc i128 %w to i64
  %c = sext i32 %b to i64
  %m = sext i32 %n to i64
  %r0 = add i64 %c, %i
  %r1 = add i64 %r0, %e
  %r2 = add i64 %r1, %t
  %r3 = add i64 %r2, %l
  %r4 = add i64 %r3, %m
  ret i64 %r4
}

define internal i64 @many(i64 %count, ...) noinline {
entry:
  %list = alloca ptr
  call void @llvm.va_start.p0(ptr %list)
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
  %before = phi i64 [ 0, %entry ], [ %total, %loop ]
  %v = va_arg ptr %list, i64
  %total = add i64 %before, %v
  %next = add i64 %n, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  ret i64 %total
}

define ptx_kernel void @k(ptr addrspace(1) %out, i64 %x, double %y) {
  %w = zext i64 %x to i128
  %h = shl i128 %w, 64
  %a = or i128 %h, 7
  %p = insertvalue %pair { i8 1, i64 0 }, i64 %x, 1
  %f = call i64 (i32, ...) @sum(i32 5, i32 -9, double %y, i128 %a, %pair %p)
  store i64 %f, ptr addrspace(1) %out
  %g = call i64 (i64, ...) @many(i64 3, i64 %x, i64 10, i64 100)
  %q = getelementptr i64, ptr addrspace(1) %out, i32 1
  store i64 %g, ptr addrspace(1) %q
  %t = select i1 true, ptr @many, ptr @many
  %i = call i64 (i64, ...) %t(i64 1, i64 %x)
  %z = getelementptr i64, ptr addrspace(1) %out, i32 2
  store i64 %i, ptr addrspace(1) %z
  ret void
}
"""


@pytest.mark.parametrize("opt", [0, 2])
def test_arguments_arrive(opt: int):
    out = np.zeros(3, np.int64)
    compiled = nvgen.compile(TEXT, target="sm_90a", opt=opt)
    compiled.run(out, 41, 12.75, block=1)
    assert out.tolist() == [5 - 9 + 12 + 41 + 41 + 7, 41 + 110, 41]
    assert compiled.cubin()


CALLS = """
declare i32 @ext(ptr, ...)
define i32 @f(ptr %p, double %x, i128 %w) {
  %a = call i32 (ptr, ...) @ext(ptr %p, i32 7, double %x, i8 3, ptr %p, i128 %w, float 1.0)
  ret i32 %a
}
define i32 @g(i32 %n, ...) {
  ret i32 %n
}
"""


@pytest.mark.skipif(llvm.VERSION != 22, reason=f"the oracle is LLVM 22, not {llvm.VERSION}")
def test_calls_are_llvms():
    """The same parameters, and the same places in the list."""
    (outcome,) = llvm.compile_all([llvm.HEADER + CALLS], "sm_90a", "8.6")
    ours = nvgen.compile(CALLS, target="sm_90a").ptx
    for text, local in ((outcome.ptx, r"%SP"), (ours, r"\w+")):
        heads = re.findall(r"\.param \.(\w+) (?:ext|g)_param_\d", text.replace("\t", " "))
        assert heads == ["b64", "b64", "b32", "b64"]
        stores = set(re.findall(rf"st(?:\.local)?(?:\.v2)?\.b\d+\s+\[{local}(\+\d+)?\],", text))
        assert {"", "+8", "+16", "+24", "+32", "+48"} <= {s or "" for s in stores}
