"""A kernel in the walkthrough's spelling for any atom, and where its threads get D from.

A lies in global memory as rows of M, B as rows of N; a row has 128 bytes, all of them along K.  Of
D each thread stores what it holds: thread t of CTA r writes row 128 r + t of the output.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tests.nvgen.walkthrough.walkthrough_programs import DECLARATIONS, stage

TYPES: dict[str, object] = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
    "s32": np.int32,
}
KINDS = {"f16": 3, "bf16": 3, "tf32": 4, "e4m3": 5, "e5m2": 5, "s8": 1, "u8": 1}
"""The code of the kind in the control word, by A's type."""

ELEMENTS = {"f32": "float", "f16": "half", "s32": "i32"}
"""What LLVM calls the elements of D."""

ROW = 128
"""Bytes of a row of A or B."""

MORE = """
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
"""


@dataclass(frozen=True)
class Atom:
    """M, N and the types of D, A and B; weight-stationary, or on a pair."""

    m: int
    n: int
    d: str = "f32"
    a: str = "bf16"
    b: str = "bf16"
    ws: bool = False
    pair: bool = False

    @property
    def k(self) -> int:
        """K of one instruction: 32 bytes."""
        return 32 // np.dtype(TYPES[self.a]).itemsize

    @property
    def name(self) -> str:
        suffix = "_ws" * self.ws + "_2cta" * self.pair
        return f"sm100_umma_m{self.m}n{self.n}k{self.k}_{self.d}_{self.a}_{self.b}{suffix}"

    @property
    def ctas(self) -> int:
        return 2 if self.pair else 1

    @property
    def rows(self) -> int:
        """Rows of D in one CTA."""
        return self.m // self.ctas

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory for B."""
        return max(self.n // self.ctas, 16) * ROW

    @property
    def parts(self) -> int:
        """How many threads share a row."""
        if self.ws:
            return 128 // self.m
        return 2 if self.pair and self.m == 128 else 1

    @property
    def values(self) -> int:
        """Elements of D that a thread holds."""
        return self.n // self.parts

    def gathered(self, stored: np.ndarray) -> np.ndarray:
        """D (m × n) from what the threads stored, (CTAs, 128, values).

        PTX ISA, Data Path Layout Organization: layouts A and D have a row for each thread; F has
        sixteen rows for each warp; B, E and G go on along N in further lanes.
        """
        thread = np.arange(128)
        if self.rows == 64 and self.parts == 1:
            row, part = thread // 32 * 16 + thread % 16, np.zeros(128, np.int64)
        else:
            row, part = thread % self.rows, thread // self.rows
        d = np.zeros((self.ctas, self.rows, self.parts, self.values), stored.dtype)
        d[:, row, part] = stored
        return d.reshape(self.m, self.n)


def kernel(atom: Atom, steps: int = 4) -> str:
    """The kernel @k(a, b, d), with a multiply for each 32 bytes of K."""
    group = 2 if atom.pair else 1
    bits = "16" if atom.d == "f16" else "32"
    vector = f"<{atom.values} x {ELEMENTS[atom.d]}>"
    ws = "ws." * atom.ws
    mma = f"@llvm.nvvm.tcgen05.mma.{ws}cta_group__{group}"
    load = f"@llvm.nvvm.tcgen05.ld.m{atom.rows}n8x{bits}b"
    ctrl = KINDS[atom.a] << 6 | group
    barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
    if atom.pair:
        barrier = (
            "call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n"
            "  call void @llvm.nvvm.barrier.cluster.wait.aligned()"
        )
    encode = "call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3)"
    strides = "i32 1024, i32 16, i32 0, i32 1"
    return f"""\
@sa = internal addrspace(3) global [{max(atom.rows, 16) * ROW} x i8] undef, align 1024
@sb = external addrspace(3) global [0 x i8], align 1024
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %d) #0 {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %rank = {"call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()" if atom.pair else "add i32 0, 0"}
  %h = call i32 @llvm.nvvm.tcgen05.alloc.shared(i32 1)
  %aoff = mul i32 %rank, {atom.rows * ROW}
  %boff = mul i32 %rank, {atom.n // atom.ctas * ROW}
  %afrom = getelementptr i8, ptr addrspace(1) %a, i32 %aoff
  %bfrom = getelementptr i8, ptr addrspace(1) %b, i32 %boff
  br label %sta.in
{stage("sta", "%afrom", "@sa", atom.rows, "%stb.in", gap=0)}
{stage("stb", "%bfrom", "@sb", atom.n // atom.ctas, "%ready", gap=0)}
ready:
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  {barrier}
  br label %mul
mul:
  %s = phi i32 [ 0, %ready ], [ %s.n, %mul ]
  %o = mul i32 %s, 32
  %at = getelementptr i8, ptr addrspace(3) @sa, i32 %o
  %bt = getelementptr i8, ptr addrspace(3) @sb, i32 %o
  %da = {encode} %at, {strides})
  %db = {encode} %bt, {strides})
  %more = icmp ne i32 %s, 0
  call void {mma}(i32 %h, i64 %da, i64 %db, i32 {ctrl}, i32 0, i1 %more), !nvgen.atom !0
  %s.n = add i32 %s, 1
  %s.x = icmp ult i32 %s.n, {steps}
  br i1 %s.x, label %mul, label %out
out:
  call void @llvm.nvvm.tcgen05.wait.cta_group__{group}()
  %acc = call {vector} {load}(i32 %h)
  %first = mul i32 %rank, 128
  %row = add i32 %first, %tid
  %to = getelementptr [{atom.values} x {ELEMENTS[atom.d]}], ptr addrspace(1) %d, i32 %row
  store {vector} %acc, ptr addrspace(1) %to, align {16 if atom.values % 8 == 0 else 4}
  call void @llvm.nvvm.tcgen05.dealloc(i32 %h, i32 1)
  call void @llvm.nvvm.tcgen05.relinquish_alloc_permit()
  ret void
}}
{_declarations(atom, mma, load, vector)}
attributes #0 = {{ "nvvm.reqntid"="128" {'"nvvm.cluster_dim"="2,1,1"' if atom.pair else ""} }}
!0 = !{{!"{atom.name}", !"K", !"K"}}
"""


def _declarations(atom: Atom, mma: str, load: str, vector: str) -> str:
    named = ("mma.cta_group__1", "tcgen05.ld.", "wait.cta_group__1")
    kept = [x for x in DECLARATIONS.split("\n") if not any(name in x for name in named)]
    group = 2 if atom.pair else 1
    return "\n".join(
        [
            *kept,
            f"declare void {mma}(i32, i64, i64, i32, i32, i1)",
            f"declare {vector} {load}(i32)",
            f"declare void @llvm.nvvm.tcgen05.wait.cta_group__{group}()",
            MORE if atom.pair else "",
        ]
    )


def operands(atom: Atom, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A and B of small integers, whose rows have 128 bytes; at least sixteen rows of each CTA."""
    rng = np.random.default_rng(seed)
    low = 0 if "u8" in (atom.a, atom.b) else -2
    columns = [ROW // np.dtype(TYPES[t]).itemsize for t in (atom.a, atom.b)]
    a = rng.integers(low, 3, (max(atom.m, 16), columns[0])).astype(TYPES[atom.a])
    b = rng.integers(low, 3, (max(atom.n, 16) + 16, columns[1])).astype(TYPES[atom.b])
    return a, b


def expected(atom: Atom, a: np.ndarray, b: np.ndarray, steps: int = 4) -> np.ndarray:
    """A times B transposed over the K of `steps` instructions, in numpy's own arithmetic."""
    k = steps * atom.k
    wide = np.int64 if atom.d == "s32" else np.float64
    return a[: atom.m, :k].astype(wide) @ b[: atom.n, :k].astype(wide).T
