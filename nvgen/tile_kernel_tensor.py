"""A tile multiply on tcgen05: LLVM IR in the walkthrough's spelling that computes one tile.

Layer: nvgen.  Input: a tile multiply with an atom of one CTA or of a pair, weight-stationary or
not.  Output: the text of a kernel with 128 threads for each CTA:

    @multiply(a, b, d)      D = A · B, where C is zero

In global memory A lies as [m][k], B as [n][k] and D as [m][n], elements of fewer than 8 bits in a
byte each.  Shared memory is dynamic: A, then B, each in pieces of K as wide as the swizzle (128
bytes, or the whole row where that is less).  Of a pair each CTA has half of the rows of every atom,
of A and of B.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from intrinsics.descriptors.words import KIND_CODES, ControlWord
from intrinsics.element import ElementType
from intrinsics.findings import Finding, SelectionError, Severity
from intrinsics.limits import COLUMNS, MOST_SHARED
from intrinsics.multiplies.mma_atom import MmaAtom
from intrinsics.multiplies.tile_dot import TileDot

THREADS = 128

_ATOM_K = 32
"""Bytes of K that one dense multiply takes."""

_SPANS = {128: 1, 64: 2, 32: 3}
"""Bytes of a span, and the walkthrough's code of the swizzle that has it."""

_ELEMENTS = {ElementType.F32: "float", ElementType.F16: "half", ElementType.S32: "i32"}


def tensor_kernel(name: str, dot: TileDot, atom: MmaAtom) -> tuple[str, int]:
    """The kernel of `dot`, and the bytes of dynamic shared memory that it needs.

    Raises: SelectionError for an atom with metadata or scale factors, and for a tile that does not
    fit into the memories of a CTA.
    """
    plan = _Plan(name, dot, atom)
    for text, got, expected in plan.problems():
        finding = Finding(
            "nv_tileaa.dot/kernel", Severity.ERROR, text, op=dot.op, got=got, expected=expected
        )
        raise SelectionError([finding])
    return "\n".join(_lines(plan)) + "\n", plan.shared


# ---- what goes where -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """The sizes of a kernel: tiles in elements, rows of K in bytes, for one CTA."""

    name: str
    dot: TileDot
    atom: MmaAtom

    @property
    def ctas(self) -> int:
        return 2 if self.atom.pair else 1

    @property
    def row(self) -> int:
        return self.dot.a.columns * max(self.atom.a.bits, 8) // 8

    @property
    def m(self) -> int:
        return self.dot.a.rows // self.ctas

    @property
    def n(self) -> int:
        return self.dot.b.columns // self.ctas

    @property
    def rows(self) -> int:
        """Rows of A and D of one atom."""
        return self.atom.m // self.ctas

    @property
    def span(self) -> int:
        """Bytes of K in one piece of shared memory."""
        return next(span for span in _SPANS if self.row >= span)

    @property
    def shared(self) -> int:
        return (self.m + self.n) * self.row

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The accumulators: the first row and column of each in D, of both CTAs together."""
        m, n = self.dot.a.rows, self.dot.b.columns
        return [(i, j) for i in range(0, m, self.atom.m) for j in range(0, n, self.atom.n)]

    @property
    def sharing(self) -> int:
        """How many threads have a row of D: see PTX ISA, Data Path Layout Organization."""
        if self.atom.stationary:
            return THREADS // self.rows
        return 2 if self.atom.pair and self.rows == 64 else 1

    @property
    def values(self) -> int:
        """Elements of D that a thread has of one accumulator."""
        return self.atom.n // self.sharing

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit, what there is, and what would fit."""
        if self.atom.sparse or self.atom.scale is not None:
            text = "a kernel is made for atoms without metadata and scale factors"
            yield text, self.dot.atom, "no suffix, _ws or _2cta"
        taken = len(self.parts) * (1 << (max(self.values, 32) - 1).bit_length())
        if taken > COLUMNS:
            text = f"allocated tmem out of resource: {taken} columns of {COLUMNS}"
            yield text, f"{taken} columns", f"{COLUMNS} columns"
        if self.shared > MOST_SHARED:
            yield "the tiles do not fit into shared memory", str(self.shared), str(MOST_SHARED)

    def place(self, rows: int, first: int, byte: int) -> int:
        """Where byte `byte` of K of row `first` lies, in a tile of `rows` rows."""
        return byte // self.span * rows * self.span + first * self.span + byte % self.span


# ---- the kernel ------------------------------------------------------------------------------

_ENCODE = "call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3)"


def _lines(plan: _Plan) -> Iterator[str]:
    atom = plan.atom
    load, vector = _load(plan)
    yield "@tiles = external addrspace(3) global [0 x i8], align 1024"
    yield f"define ptx_kernel void @{plan.name}(ptr addrspace(1) %a, ptr addrspace(1) %b, " + (
        "ptr addrspace(1) %d) #0 {"
    )
    yield "entry:"
    yield "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
    yield "  %rank = " + (_RANK if plan.atom.pair else "add i32 0, 0")
    for h in range(len(plan.parts)):
        yield f"  %h{h} = call i32 @llvm.nvvm.tcgen05.alloc.shared(i32 {-(-plan.values // 4)})"
    yield f"  %btile = getelementptr i8, ptr addrspace(3) @tiles, i32 {plan.m * plan.row}"
    yield "  br label %a.head"
    yield from _staged(plan, "a", "@tiles", atom.m, "entry", "b.head")
    yield from _staged(plan, "b", "%btile", atom.n, "a.head", "ready")
    yield "ready:"
    yield "  call void @llvm.nvvm.fence.proxy.async.shared_cta()"
    yield from _MEET[plan.ctas]
    yield from _multiplies(plan)
    yield f"  call void @llvm.nvvm.tcgen05.wait.cta_group__{plan.ctas}()"
    for h in range(len(plan.parts)):
        yield f"  %acc{h} = call {vector} {load}(i32 %h{h})"
    yield from _stored(plan, vector)
    for h in range(len(plan.parts)):
        yield f"  call void @llvm.nvvm.tcgen05.dealloc(i32 %h{h}, i32 {-(-plan.values // 4)})"
    yield "  call void @llvm.nvvm.tcgen05.relinquish_alloc_permit()"
    yield "  ret void"
    yield "}"
    yield from _DECLARATIONS
    yield f"declare {vector} {load}(i32)"
    yield f"declare void {_multiply(plan)}(i32, i64, i64, i32, i32, i1)"
    yield f"declare void @llvm.nvvm.tcgen05.wait.cta_group__{plan.ctas}()"
    cluster = ' "nvvm.cluster_dim"="2,1,1"' if plan.atom.pair else ""
    yield f'attributes #0 = {{ "nvvm.reqntid"="{THREADS}"{cluster} }}'
    yield f'!0 = !{{!"{atom.name}", !"K", !"K"}}'


def _load(plan: _Plan) -> tuple[str, str]:
    """The load of an accumulator, and its type."""
    element = _ELEMENTS[plan.atom.d]
    bits = 16 if element == "half" else 32
    name = f"@llvm.nvvm.tcgen05.ld.m{plan.rows}n8x{bits}b"
    return name, f"<{plan.values} x {element}>"


def _multiply(plan: _Plan) -> str:
    """The name of the multiply."""
    variant = "ws." * plan.atom.stationary
    return f"@llvm.nvvm.tcgen05.mma.{variant}cta_group__{plan.ctas}"


def _staged(
    plan: _Plan, name: str, target: str, size: int, before: str, after: str
) -> Iterator[str]:
    """A loop that copies a tile by its 16-byte pieces, and exchanges those as the swizzle says.

    An atom has `size` rows of the tile, of which the CTA has its part.
    """
    pieces, span = plan.row // 16, plan.span
    rows, own = (plan.m if name == "a" else plan.n), size // plan.ctas
    yield f"{name}.head:"
    yield f"  %{name}.i = phi i32 [ %tid, %{before} ], [ %{name}.next, %{name}.copy ]"
    yield f"  %{name}.more = icmp ult i32 %{name}.i, {rows * pieces}"
    yield f"  br i1 %{name}.more, label %{name}.copy, label %{after}"
    yield f"{name}.copy:"
    yield f"  %{name}.row = udiv i32 %{name}.i, {pieces}"
    yield f"  %{name}.piece = urem i32 %{name}.i, {pieces}"
    yield f"  %{name}.span = udiv i32 %{name}.piece, {span // 16}"
    yield f"  %{name}.in = urem i32 %{name}.piece, {span // 16}"
    yield f"  %{name}.s = mul i32 %{name}.span, {rows * span}"
    yield f"  %{name}.r = mul i32 %{name}.row, {span}"
    yield f"  %{name}.p = mul i32 %{name}.in, 16"
    yield f"  %{name}.sr = add i32 %{name}.s, %{name}.r"
    yield f"  %{name}.srp = add i32 %{name}.sr, %{name}.p"
    yield f"  %{name}.high = lshr i32 %{name}.srp, 7"
    yield f"  %{name}.few = and i32 %{name}.high, {span // 16 - 1}"
    yield f"  %{name}.x = shl i32 %{name}.few, 4"
    yield f"  %{name}.at = xor i32 %{name}.srp, %{name}.x"
    yield f"  %{name}.atom = udiv i32 %{name}.row, {own}"
    yield f"  %{name}.others = add i32 %{name}.atom, %rank"
    yield f"  %{name}.more.rows = mul i32 %{name}.others, {own if plan.ctas == 2 else 0}"
    yield f"  %{name}.more.pieces = mul i32 %{name}.more.rows, {pieces}"
    yield f"  %{name}.source = add i32 %{name}.i, %{name}.more.pieces"
    yield f"  %{name}.from = getelementptr <4 x i32>, ptr addrspace(1) %{name}, i32 %{name}.source"
    yield f"  %{name}.to = getelementptr i8, ptr addrspace(3) {target}, i32 %{name}.at"
    yield f"  %{name}.data = load <4 x i32>, ptr addrspace(1) %{name}.from, align 16"
    yield f"  store <4 x i32> %{name}.data, ptr addrspace(3) %{name}.to, align 16"
    yield f"  %{name}.next = add i32 %{name}.i, {THREADS}"
    yield f"  br label %{name}.head"


def _multiplies(plan: _Plan) -> Iterator[str]:
    """One for each atom of the tile, K outermost."""
    kind = next(code for code, kind in KIND_CODES.items() if kind is plan.atom.kind)
    ctrl = ControlWord(cta_group=plan.ctas, mma_kind=kind).encode()
    collector = 0 if plan.atom.stationary else 1
    for byte in range(0, plan.row, _ATOM_K):
        for name, rows, step in (("a", plan.m, plan.rows), ("b", plan.n, plan.atom.n // plan.ctas)):
            for first in range(0, rows, step):
                yield from _encoded(plan, name, rows, first, byte)
        for h, (i, j) in enumerate(plan.parts):
            enable = "true" if byte else "false"
            a, b = i // plan.ctas, j // plan.ctas
            yield (
                f"  call void {_multiply(plan)}(i32 %h{h}, i64 %a.{a}.{byte}, "
                f"i64 %b.{b}.{byte}, i32 {ctrl}, i32 {collector}, i1 {enable}), !nvgen.atom !0"
            )


def _encoded(plan: _Plan, name: str, rows: int, first: int, byte: int) -> Iterator[str]:
    tile = "@tiles" if name == "a" else "%btile"
    at = f"%{name}.at.{first}.{byte}"
    offset = plan.place(rows, first, byte)
    yield f"  {at} = getelementptr i8, ptr addrspace(3) {tile}, i32 {offset}"
    yield (
        f"  %{name}.{first}.{byte} = {_ENCODE} {at}, i32 {8 * plan.span}, i32 16, i32 0, "
        f"i32 {_SPANS[plan.span]})"
    )


def _stored(plan: _Plan, vector: str) -> Iterator[str]:
    """Each thread stores what it has of each accumulator: a row, or a part of it."""
    element = _ELEMENTS[plan.atom.d]
    if plan.rows == 64 and plan.sharing == 1:  # sixteen threads of each warp have a row
        yield "  %warp = lshr i32 %tid, 5"
        yield "  %lane = and i32 %tid, 31"
        yield "  %sixteen = shl i32 %warp, 4"
        yield "  %within = add i32 %sixteen, %lane"
        yield "  %part = add i32 0, 0"
        yield "  %stores = icmp ult i32 %lane, 16"
    else:
        yield f"  %within = urem i32 %tid, {plan.rows}"
        yield f"  %part = udiv i32 %tid, {plan.rows}"
        yield f"  %stores = icmp ult i32 %tid, {THREADS}"
    yield "  br i1 %stores, label %store, label %done"
    yield "store:"
    yield f"  %before = mul i32 %rank, {plan.rows}"
    yield "  %row = add i32 %before, %within"
    yield f"  %line = mul i32 %row, {plan.dot.b.columns}"
    yield f"  %along = mul i32 %part, {plan.values}"
    yield "  %begin = add i32 %line, %along"
    align = min(16, plan.values * plan.atom.d.bits // 8 & -(plan.values * plan.atom.d.bits // 8))
    for h, (i, j) in enumerate(plan.parts):
        yield f"  %o{h} = add i32 %begin, {i * plan.dot.b.columns + j}"
        yield f"  %to{h} = getelementptr {element}, ptr addrspace(1) %d, i32 %o{h}"
        yield f"  store {vector} %acc{h}, ptr addrspace(1) %to{h}, align {align}"
    yield "  br label %done"
    yield "done:"


_RANK = "call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()"
_MEET = {
    1: ("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",),
    2: (
        "  call void @llvm.nvvm.barrier.cluster.arrive.aligned()",
        "  call void @llvm.nvvm.barrier.cluster.wait.aligned()",
    ),
}
"""All threads of one CTA, or of a pair, meet."""

_DECLARATIONS = (
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
    "declare void @llvm.nvvm.fence.proxy.async.shared_cta()",
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
    "declare i32 @llvm.nvvm.tcgen05.alloc.shared(i32)",
    "declare i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3), i32, i32, i32, i32)",
    "declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()",
    "declare void @llvm.nvvm.barrier.cluster.arrive.aligned()",
    "declare void @llvm.nvvm.barrier.cluster.wait.aligned()",
    "declare void @llvm.nvvm.tcgen05.dealloc(i32, i32)",
    "declare void @llvm.nvvm.tcgen05.relinquish_alloc_permit()",
)
