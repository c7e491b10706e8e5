"""Kernels in the walkthrough's spelling, put together from parts.

A matrix of 64 elements of k (in bytes: 128) a row, or of 64 m a row of k, is staged by its 16-byte
pieces into 128-byte-swizzled shared memory: piece p of row r goes to place p ^ r % 8 of its row.
"""

from __future__ import annotations

DECLARATIONS = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.tcgen05.alloc.shared(i32)
declare i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3), i32, i32, i32, i32)
declare void @llvm.nvvm.tcgen05.mma.cta_group__1(i32, i64, i64, i32, i32, i1)
declare void @llvm.nvvm.tcgen05.wait.cta_group__1()
declare <128 x float> @llvm.nvvm.tcgen05.ld.m64n8x32b(i32)
declare void @llvm.nvvm.tcgen05.dealloc(i32, i32)
declare void @llvm.nvvm.tcgen05.relinquish_alloc_permit()
"""

ATOM = '!{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}'

ENCODE = "call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3)"
MMA = "call void @llvm.nvvm.tcgen05.mma.cta_group__1(i32"
WAIT = "call void @llvm.nvvm.tcgen05.wait.cta_group__1()"
LD = "call <128 x float> @llvm.nvvm.tcgen05.ld.m64n8x32b(i32"
ALLOC = "call i32 @llvm.nvvm.tcgen05.alloc.shared(i32"
DEALLOC = "call void @llvm.nvvm.tcgen05.dealloc(i32"
RELINQUISH = "call void @llvm.nvvm.tcgen05.relinquish_alloc_permit()"

BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def module(body: str, *, atom: str = ATOM, threads: str = "128", size: int = 32768) -> str:
    """A kernel @k(a, b, d) with two tiles in shared memory, called @sa and @sb."""
    attribute = f'"nvvm.reqntid"="{threads}"' if threads else "nounwind"
    return f"""\
@sa = internal addrspace(3) global [8192 x i8] undef, align 1024
@sb = internal addrspace(3) global [{size} x i8] undef, align 1024
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %d) #0 {{
{body}
}}
{DECLARATIONS}
attributes #0 = {{ {attribute} }}
!0 = {atom}
"""


def straight(*lines: str, atom: str = ATOM, threads: str = "128") -> str:
    """A kernel without branches, with a handle %h of 16 columns, and descriptors %da and %db."""
    body = [
        "entry:",
        f"%h = {ALLOC} 16)",
        f"%da = {ENCODE} @sa, i32 512, i32 16, i32 0, i32 1)",
        f"%db = {ENCODE} @sb, i32 2048, i32 128, i32 0, i32 1)",
        *lines,
        "ret void",
    ]
    return module("\n".join(body), atom=atom, threads=threads)


def multiply(handle: str = "%h", enable: str = "false", words: str = "i32 193, i32 1") -> str:
    """A multiply of %da and %db."""
    return f"{MMA} {handle}, i64 %da, i64 %db, {words}, i1 {enable}), !nvgen.atom !0"


def stage(name: str, source: str, target: str, rows: int, after: str, *, gap: int = 0) -> str:
    """Blocks that copy a tile of 128-byte rows, `gap` bytes between groups of eight; then `after`.

    Before them %tid is the thread's number of 128, and the block that comes before is %{name}.in.
    """
    return f"""
{name}.in:
  br label %{name}
{name}:
  %{name}.i = phi i32 [ %tid, %{name}.in ], [ %{name}.n, %{name} ]
  %{name}.r = lshr i32 %{name}.i, 3
  %{name}.m = and i32 %{name}.r, 7
  %{name}.p = xor i32 %{name}.i, %{name}.m
  %{name}.c = shl i32 %{name}.p, 4
  %{name}.g = lshr i32 %{name}.r, 3
  %{name}.s = mul i32 %{name}.g, {gap}
  %{name}.o = add i32 %{name}.c, %{name}.s
  %{name}.f = getelementptr <4 x i32>, ptr addrspace(1) {source}, i32 %{name}.i
  %{name}.t = getelementptr i8, ptr addrspace(3) {target}, i32 %{name}.o
  %{name}.v = load <4 x i32>, ptr addrspace(1) %{name}.f, align 16
  store <4 x i32> %{name}.v, ptr addrspace(3) %{name}.t, align 16
  %{name}.n = add i32 %{name}.i, 128
  %{name}.x = icmp ult i32 %{name}.n, {rows * 8}
  br i1 %{name}.x, label %{name}, label {after}
"""


def store(name: str, handle: str, target: str, after: str) -> str:
    """Blocks that load an accumulator and store its rows of 512 bytes; then `after`."""
    return f"""
{name}:
  %{name}.acc = {LD} {handle})
  %{name}.lane = and i32 %tid, 31
  %{name}.half = icmp ult i32 %{name}.lane, 16
  br i1 %{name}.half, label %{name}.store, label {after}
{name}.store:
  %{name}.w = lshr i32 %tid, 5
  %{name}.f = shl i32 %{name}.w, 4
  %{name}.r = add i32 %{name}.f, %{name}.lane
  %{name}.to = getelementptr [128 x float], ptr addrspace(1) {target}, i32 %{name}.r
  store <128 x float> %{name}.acc, ptr addrspace(1) %{name}.to, align 16
  br label {after}
"""
