"""One mma as a kernel of one warp: LLVM IR, registers packed by published layouts, and a run.

A kernel `k(a, b, c, d)` loads each thread's registers, multiplies and stores D; where there are
metadata or scale factors `k(a, b, c, e, d)` loads those of each thread, too.  Matrices are given as
bits of their elements; where they go is CUTLASS's, not the library's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import nvgen
from tests.intrinsics.published.mma_fragments import FACTORS, SUMS, Layout, places
from tests.intrinsics.published.mma_sparse import DEEP_B
from tests.oracle import gpu
from tests.oracle.mma_sync_signatures import BITS, NAME, signature, types_of

Bits = NDArray[np.unsignedinteger]

SUM_BITS = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}
PACKED = (".mxf4", ".mxf4nvf4")


@dataclass(frozen=True)
class Extra:
    """What follows C: 32 words each of metadata and factors, and the numbers that select."""

    metadata: Bits = field(default_factory=lambda: np.zeros(32, np.uint32))
    selector: int = 0
    sfa: Bits = field(default_factory=lambda: np.zeros(32, np.uint32))
    sfb: Bits = field(default_factory=lambda: np.zeros(32, np.uint32))
    sfa_place: tuple[int, int] = (0, 0)
    sfb_place: tuple[int, int] = (0, 0)

    @property
    def words(self) -> Bits:
        """What each thread loads: (32, 3)."""
        return np.stack([self.metadata, self.sfa, self.sfb], axis=1).astype(np.uint32)


NOTHING = Extra()


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
    sparse: bool = False
    kind: str = ""
    factors: int = 0
    scale: str = ""

    @classmethod
    def of(cls, name: str) -> Case:
        """Read a name (without `llvm.nvvm.`)."""
        match = NAME.fullmatch(name)
        assert match is not None, name
        kind = match["kind"] or ""
        usual = {".mxf8f6f4": "1x", ".mxf4": "2x"}.get(kind, "0")
        return cls(  # type: ignore[call-arg]
            name,
            *(int(match[x]) for x in "mnk"),
            *types_of(name),
            match["sparse"] is not None,
            kind,
            int((match["vec"] or usual)[0]),
            name.rpartition(".")[2] if match["scaled"] else "",
        )

    @property
    def bits(self) -> int:
        """Bits of an element of A and B in a register."""
        return 4 if self.kind in PACKED else BITS.get(self.a, 8)

    @property
    def chunk(self) -> int:
        """Elements of a sparse A that share an index."""
        return {32: 2, 4: 8}.get(self.bits, 4)

    def run(
        self, a: Bits, b: Bits, c: Bits, target: str = "sm_90a", extra: Extra = NOTHING
    ) -> Bits:
        """D of A (m, k, or what is stored of it), B (n, k) and C (m, n), as bits."""
        layout_a, layout_b = self._layouts()
        sums = SUMS[self.m]
        given = [
            pack(a, layout_a, self.bits),
            pack(b, layout_b, self.bits),
            pack(c, sums, SUM_BITS[self.c]),
        ]
        if signature(self.name).rest:
            given.append(extra.words)
        size = SUM_BITS[self.d]
        registers = self.m * self.n // 32 * size // max(size, 32) if size < 32 else None
        count = registers or self.m * self.n // 32
        out = np.zeros((32, count), np.uint64 if size == 64 else np.uint32)
        ptx = "9.1" if self.factors == 4 and self.scale == "ue8m0" else None
        compiled = nvgen.compile(module(self.name, extra), target=target, ptx=ptx)
        gpu.launch(compiled, *given, out, block=(32, 1, 1))
        return unpack(out, sums, self.m, self.n, size)

    def _layouts(self) -> tuple[Layout, Layout]:
        """Those of A, or of what is stored of it, and of B."""
        if not self.sparse:
            return FACTORS[self.m, self.n, self.k, self.bits]
        half = FACTORS[self.m, self.n, self.k // 2, self.bits][0]
        if (self.k, self.bits) in DEEP_B:
            return half, DEEP_B[self.k, self.bits]
        return half, FACTORS[self.m, self.n, self.k, self.bits][1]


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


def module(name: str, extra: Extra = NOTHING) -> str:
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
    if known.rest:
        lines.append("  %ep = getelementptr [3 x i32], ptr addrspace(1) %e, i32 %t")
        for at, word in enumerate(("meta", "sfa", "sfb")):
            lines += [
                f"  %ep{at} = getelementptr i32, ptr addrspace(1) %ep, i32 {at}",
                f"  %{word} = load i32, ptr addrspace(1) %ep{at}",
            ]
    if known.selector is not None:
        values += ["i32 %meta", f"i32 {extra.selector}"]
    if "i16" in known.rest:
        for word, place in (("sfa", extra.sfa_place), ("sfb", extra.sfb_place)):
            values += [f"i32 %{word}", *(f"i16 {number}" for number in place)]
    type_, count = known.d
    lines.append(f"  %r = call {known.result} @llvm.nvvm.{name}({', '.join(values)})")
    lines.append(f"  %dp = getelementptr [{count} x {type_}], ptr addrspace(1) %d, i32 %t")
    for at in range(count):
        lines += [
            f"  %r{at} = extractvalue {known.result} %r, {at}",
            f"  %dp{at} = getelementptr {type_}, ptr addrspace(1) %dp, i32 {at}",
            f"  store {type_} %r{at}, ptr addrspace(1) %dp{at}",
        ]
    parameters = ", ".join(f"ptr addrspace(1) %{x}" for x in ("abced" if known.rest else "abcd"))
    body = "\n".join(lines)
    return f"""target triple = "nvptx64-nvidia-cuda"
declare {known.result} @llvm.nvvm.{name}({", ".join(known.args)})
define ptx_kernel void @k({parameters}) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{body}
  ret void
}}
"""
