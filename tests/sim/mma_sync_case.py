"""One mma as a kernel of one warp: LLVM IR, registers packed by published layouts, and a run.

A kernel `k(a, b, c, d)` loads each thread's registers, multiplies and stores D.  Matrices are given
as bits of their elements; where they go is CUTLASS's, not the library's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import nvgen
from tests.intrinsics.published.mma_fragments import FACTORS, SUMS, Layout, places
from tests.oracle import gpu
from tests.oracle.mma_sync_signatures import BITS, NAME, signature, types_of

Bits = NDArray[np.unsignedinteger]

SUM_BITS = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}


class Case(NamedTuple):
    """An intrinsic by its name, with what the name says."""

    name: str
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str

    @classmethod
    def of(cls, name: str) -> Case:
        """Read a name (without `llvm.nvvm.`)."""
        match = NAME.fullmatch(name)
        assert match is not None, name
        return cls(name, *(int(match[x]) for x in "mnk"), *types_of(name))

    @property
    def bits(self) -> int:
        """Bits of an element of A and B in a register."""
        return BITS.get(self.a, 8)

    def run(self, a: Bits, b: Bits, c: Bits, target: str = "sm_90a") -> Bits:
        """D of A (m, k), B (n, k) and C (m, n), as bits."""
        layout_a, layout_b = FACTORS[self.m, self.n, self.k, self.bits]
        sums = SUMS[self.m]
        given = [
            pack(a, layout_a, self.bits),
            pack(b, layout_b, self.bits),
            pack(c, sums, SUM_BITS[self.c]),
        ]
        size = SUM_BITS[self.d]
        registers = self.m * self.n // 32 * size // max(size, 32) if size < 32 else None
        count = registers or self.m * self.n // 32
        out = np.zeros((32, count), np.uint64 if size == 64 else np.uint32)
        compiled = nvgen.compile(module(self.name), target=target)
        gpu.launch(compiled, *given, out, block=(32, 1, 1))
        return unpack(out, sums, self.m, self.n, size)


def pack(matrix: Bits, layout: Layout, bits: int) -> Bits:
    """The registers of 32 threads that hold a matrix, (32, registers)."""
    values = matrix[places(layout, len(matrix))]
    if bits >= 32:
        return np.ascontiguousarray(values.astype(np.uint64 if bits == 64 else np.uint32))
    each = 32 // bits
    parts = values.astype(np.uint64).reshape(32, -1, each)
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(bits)
    return np.ascontiguousarray((parts << shifts).sum(axis=2, dtype=np.uint64).astype(np.uint32))


def unpack(registers: Bits, layout: Layout, m: int, n: int, bits: int) -> Bits:
    """The matrix whose elements 32 threads hold."""
    values = registers
    if bits == 16:
        halves = [registers & np.uint32(0xFFFF), registers >> np.uint32(16)]
        values = np.stack(halves, axis=2).reshape(32, -1)
    found = np.zeros((m, n), values.dtype)
    found[places(layout, m)] = values
    return found


def module(name: str) -> str:
    """The kernel that makes the call."""
    known = signature(name)
    lines: list[str] = []
    values: list[str] = []
    for matrix in "abc":
        type_, count = getattr(known, matrix)
        lines.append(f"  %{matrix}p = getelementptr [{count} x {type_}], ptr addrspace(1) %{matrix}"
                     ", i32 %t")  # fmt: skip
        for at in range(count):
            lines += [
                f"  %{matrix}p{at} = getelementptr {type_}, ptr addrspace(1) %{matrix}p, i32 {at}",
                f"  %{matrix}{at} = load {type_}, ptr addrspace(1) %{matrix}p{at}",
            ]
            values.append(f"{type_} %{matrix}{at}")
    type_, count = known.d
    lines.append(f"  %r = call {known.result} @llvm.nvvm.{name}({', '.join(values)})")
    lines.append(f"  %dp = getelementptr [{count} x {type_}], ptr addrspace(1) %d, i32 %t")
    for at in range(count):
        lines += [
            f"  %r{at} = extractvalue {known.result} %r, {at}",
            f"  %dp{at} = getelementptr {type_}, ptr addrspace(1) %dp, i32 {at}",
            f"  store {type_} %r{at}, ptr addrspace(1) %dp{at}",
        ]
    parameters = ", ".join(f"ptr addrspace(1) %{x}" for x in "abcd")
    body = "\n".join(lines)
    return f"""target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare {known.result} @llvm.nvvm.{name}({", ".join(known.args)})
define ptx_kernel void @k({parameters}) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{body}
  ret void
}}
"""
