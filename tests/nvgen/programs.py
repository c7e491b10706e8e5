"""Small kernels as LLVM IR, for the tests of the command line."""

from __future__ import annotations

ADD = """\
define ptx_kernel void @add(ptr addrspace(1) %out, i32 %n) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %sum = add i32 %i, %n
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %sum, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
"""out[i] = i + n."""

AXPY = """\
define ptx_kernel void @axpy(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %a) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr i32, ptr addrspace(1) %x, i32 %i
  %py = getelementptr i32, ptr addrspace(1) %y, i32 %i
  %vx = load i32, ptr addrspace(1) %px
  %vy = load i32, ptr addrspace(1) %py
  %ax = mul i32 %a, %vx
  %sum = add i32 %ax, %vy
  store i32 %sum, ptr addrspace(1) %py
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
"""y[i] = a * x[i] + y[i]."""

FILL = """\
define ptx_kernel void @fill(ptr addrspace(1) %out, float %a) {
  store float %a, ptr addrspace(1) %out
  ret void
}
"""
"""out[0] = a."""

COPY16 = """\
define ptx_kernel void @copy(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr i16, ptr addrspace(1) %in, i32 %i
  %b = getelementptr i16, ptr addrspace(1) %out, i32 %i
  %v = load i16, ptr addrspace(1) %a
  store i16 %v, ptr addrspace(1) %b
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
"""out[i] = in[i], 16 bits each."""

WAITS = """\
@bar = internal addrspace(3) global i64 undef, align 8
define ptx_kernel void @waits(ptr addrspace(1) %out) {
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @bar, i32 1)
  br label %wait
wait:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @bar, i64 0)
  br i1 %done, label %end, label %wait
end:
  store i32 1, ptr addrspace(1) %out
  ret void
}
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
"""
"""Waits for an arrival that nobody makes."""

BAD_ALLOC = """\
@slot = internal addrspace(3) global i32 undef
define ptx_kernel void @k(ptr addrspace(1) %out) {
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @slot, i32 48)
  ret void
}
declare void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3), i32)
"""
"""Allocates 48 columns; PTX ISA, tcgen05.alloc: a power of two from 32 to 512."""


def kernel(body: str, *declarations: str, parameters: str = "ptr addrspace(1) %out") -> str:
    """A kernel with this body, which begins on line 2."""
    head = f"define ptx_kernel void @k({parameters}) {{"
    return "\n".join([head, *body.strip("\n").split("\n"), "  ret void", "}", *declarations, ""])
