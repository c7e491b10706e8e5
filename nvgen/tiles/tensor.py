"""A tile multiply on tcgen05: LLVM IR in the walkthrough's spelling that computes one tile.

Layer: nvgen.  Input: a tile multiply with an atom.  Output: the text of a kernel with 128 threads
for each CTA, one or a pair:

    @multiply(a, b, d)              D = A · B, where C is zero
    @multiply(a, b, e, d)           A is sparse: what is stored of it, and its metadata
    @multiply(a, b, sfa, sfb, d)    block-scaled: A and B have scale factors

In global memory A lies as [m][k] (of a sparse one [m][k / 2]), B as [n][k] and D as [m][n].
Elements of fewer than 8 bits have a byte each, but for mxf4 and mxf4nvf4.  Metadata and factors are
images of tensor memory, one for each step of K of each atom's rows, as [rows][steps][CTAs]: of
metadata 128 lanes of 16 bytes, of factors 32 lanes of 16 bytes, which stand for 128 rows.  Those of
B are the same in both CTAs of a pair, and are two blocks of 32 lanes where an atom has more than
128 columns, or where a CTA of a pair has 64 rows: then each half of the columns has one.  Shared
memory is dynamic: A, then B, each in pieces of K as wide as the swizzle (128 bytes, or the whole
row where that is less), then the images.  Of a pair each CTA has half of the rows of every atom, of
A and of B.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.descriptors.packed_fields import KIND_CODES, ControlWord
from intrinsics.element import ElementType
from intrinsics.findings import Finding, SelectionError, Severity
from intrinsics.modifiers import MmaKind
from intrinsics.multiplies.mma_atom import MmaAtom
from intrinsics.multiplies.tile_dot import TileDot
from nvgen.tiles.plan import SPANS, THREADS, Images, Matrix, Plan

_ELEMENTS = {ElementType.F32: "float", ElementType.F16: "half", ElementType.S32: "i32"}


def tensor_kernel(name: str, dot: TileDot, atom: MmaAtom) -> tuple[str, int]:
    """The kernel of `dot`, and the bytes of dynamic shared memory that it needs.

    Raises: SelectionError for a tile that does not fit into the memories of a CTA.
    """
    plan = Plan(name, dot, atom)
    for text, got, expected in plan.problems():
        finding = Finding(
            "nv_tileaa.dot/kernel", Severity.ERROR, text, op=dot.op, got=got, expected=expected
        )
        raise SelectionError([finding])
    return "\n".join(_lines(plan)) + "\n", plan.shared


# ---- the kernel ------------------------------------------------------------------------------

_ENCODE = "call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3)"


def _lines(plan: Plan) -> Iterator[str]:
    load, vector = _load(plan)
    given = ["a", "b", *(one.name for one in plan.images), "d"]
    parameters = ", ".join(f"ptr addrspace(1) %{name}" for name in given)
    yield "@tiles = external addrspace(3) global [0 x i8], align 1024"
    yield f"define ptx_kernel void @{plan.name}({parameters}) #0 {{"
    yield "entry:"
    yield "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
    yield "  %rank = " + (_RANK if plan.atom.pair else "add i32 0, 0")
    for name, columns in plan.handles:
        yield f"  {name} = call i32 @llvm.nvvm.tcgen05.alloc.shared(i32 {columns})"
    yield "  br label %a.head"
    yield from _loops(plan)
    yield "ready:"
    yield "  call void @llvm.nvvm.fence.proxy.async.shared_cta()"
    yield from _MEET[plan.ctas]
    for images in plan.images:
        yield from _copied(images)
    yield from _multiplies(plan)
    yield f"  call void @llvm.nvvm.tcgen05.wait.cta_group__{plan.ctas}()"
    for h in range(len(plan.parts)):
        yield f"  %acc{h} = call {vector} {load}(i32 %h{h})"
    yield from _stored(plan, vector)
    for name, columns in plan.handles:
        yield f"  call void @llvm.nvvm.tcgen05.dealloc(i32 {name}, i32 {columns})"
    yield "  call void @llvm.nvvm.tcgen05.relinquish_alloc_permit()"
    yield "  ret void"
    yield "}"
    yield from _DECLARATIONS
    yield f"declare {vector} {load}(i32)"
    handles = "i32, " * len(plan.images)
    yield f"declare void {_multiply(plan)}(i32, i64, i64, {handles}i32, i32, i1)"
    yield f"declare void @llvm.nvvm.tcgen05.wait.cta_group__{plan.ctas}()"
    cluster = ' "nvvm.cluster_dim"="2,1,1"' if plan.atom.pair else ""
    yield f'attributes #0 = {{ "nvvm.reqntid"="{THREADS}"{cluster} }}'
    yield f'!0 = !{{!"{plan.atom.name}", !"K", !"K"}}'


def _loops(plan: Plan) -> Iterator[str]:
    """A loop for each array that is brought to shared memory."""
    names = ["a", "b", *(one.name for one in plan.images)]
    before = ["entry", *(f"{name}.head" for name in names)]
    after = [*(f"{name}.head" for name in names[1:]), "ready"]
    for matrix, begin, end in zip((plan.a, plan.b), before, after, strict=False):
        yield from _staged(plan, matrix, begin, end)
    for images, begin, end in zip(plan.images, before[2:], after[2:], strict=False):
        yield from _brought(plan, images, begin, end)


def _load(plan: Plan) -> tuple[str, str]:
    """The load of an accumulator, and its type."""
    element = _ELEMENTS[plan.atom.d]
    bits = 16 if element == "half" else 32
    name = f"@llvm.nvvm.tcgen05.ld.m{plan.rows}n8x{bits}b"
    return name, f"<{plan.values} x {element}>"


def _multiply(plan: Plan) -> str:
    """The name of the multiply."""
    atom = plan.atom
    variant = "ws." * atom.stationary + "sp." * atom.sparse
    variant += "block_scale." * (atom.scale is not None)
    return f"@llvm.nvvm.tcgen05.mma.{variant}cta_group__{plan.ctas}"


def _staged(plan: Plan, matrix: Matrix, before: str, after: str) -> Iterator[str]:
    """A loop that copies a matrix by its 16-byte pieces, and exchanges those by the swizzle."""
    name, pieces, span, own = matrix.name, matrix.row // 16, matrix.span, matrix.own
    yield from _head(name, matrix.rows * pieces, before, after)
    yield f"  %{name}.row = udiv i32 %{name}.i, {pieces}"
    yield f"  %{name}.piece = urem i32 %{name}.i, {pieces}"
    yield f"  %{name}.span = udiv i32 %{name}.piece, {span // 16}"
    yield f"  %{name}.in = urem i32 %{name}.piece, {span // 16}"
    yield f"  %{name}.s = mul i32 %{name}.span, {matrix.rows * span}"
    yield f"  %{name}.r = mul i32 %{name}.row, {span}"
    yield f"  %{name}.p = mul i32 %{name}.in, 16"
    yield f"  %{name}.sr = add i32 %{name}.s, %{name}.r"
    yield f"  %{name}.srp = add i32 %{name}.sr, %{name}.p"
    yield f"  %{name}.high = lshr i32 %{name}.srp, 7"
    yield f"  %{name}.few = and i32 %{name}.high, {span // 16 - 1}"
    yield f"  %{name}.x = shl i32 %{name}.few, 4"
    yield f"  %{name}.swizzled = xor i32 %{name}.srp, %{name}.x"
    yield f"  %{name}.at = add i32 %{name}.swizzled, {matrix.base}"
    yield f"  %{name}.atom = udiv i32 %{name}.row, {own}"
    yield f"  %{name}.others = add i32 %{name}.atom, %rank"
    yield f"  %{name}.more.rows = mul i32 %{name}.others, {own if plan.ctas == 2 else 0}"
    yield f"  %{name}.more.pieces = mul i32 %{name}.more.rows, {pieces}"
    yield f"  %{name}.source = add i32 %{name}.i, %{name}.more.pieces"
    yield from _tail(name)


def _brought(plan: Plan, images: Images, before: str, after: str) -> Iterator[str]:
    """A loop that copies images, those of the CTA where each has its own."""
    name, pieces = images.name, images.size // 16
    yield from _head(name, images.count * pieces, before, after)
    yield f"  %{name}.image = udiv i32 %{name}.i, {pieces}"
    if images.spread:
        yield from _spread(name)
    else:
        yield f"  %{name}.others = add i32 %{name}.image, %rank"
        own = plan.ctas == 2 and images.each
        yield f"  %{name}.more.pieces = mul i32 %{name}.others, {pieces if own else 0}"
        yield f"  %{name}.source = add i32 %{name}.i, %{name}.more.pieces"
    yield f"  %{name}.bytes = mul i32 %{name}.i, 16"
    yield f"  %{name}.at = add i32 %{name}.bytes, {images.base}"
    yield from _tail(name)


def _spread(name: str) -> Iterator[str]:
    """Which of two blocks of 32 lanes a piece comes from, and which lane of it: the pieces of 128
    lanes of 32 bytes go by eight lanes, of which the first pieces come first."""
    yield f"  %{name}.eight = lshr i32 %{name}.i, 4"
    yield f"  %{name}.first = shl i32 %{name}.eight, 3"
    yield f"  %{name}.within = and i32 %{name}.i, 7"
    yield f"  %{name}.lane = or i32 %{name}.first, %{name}.within"
    yield f"  %{name}.l = and i32 %{name}.lane, 31"
    yield f"  %{name}.half = shl i32 %{name}.i, 2"
    yield f"  %{name}.block = and i32 %{name}.half, 32"
    yield f"  %{name}.images = shl i32 %{name}.image, 6"
    yield f"  %{name}.blocks = or i32 %{name}.images, %{name}.block"
    yield f"  %{name}.source = or i32 %{name}.blocks, %{name}.l"


def _head(name: str, count: int, before: str, after: str) -> Iterator[str]:
    yield f"{name}.head:"
    yield f"  %{name}.i = phi i32 [ %tid, %{before} ], [ %{name}.next, %{name}.copy ]"
    yield f"  %{name}.more = icmp ult i32 %{name}.i, {count}"
    yield f"  br i1 %{name}.more, label %{name}.copy, label %{after}"
    yield f"{name}.copy:"


def _tail(name: str) -> Iterator[str]:
    yield f"  %{name}.from = getelementptr <4 x i32>, ptr addrspace(1) %{name}, i32 %{name}.source"
    yield f"  %{name}.to = getelementptr i8, ptr addrspace(3) @tiles, i32 %{name}.at"
    yield f"  %{name}.data = load <4 x i32>, ptr addrspace(1) %{name}.from, align 16"
    yield f"  store <4 x i32> %{name}.data, ptr addrspace(3) %{name}.to, align 16"
    yield f"  %{name}.next = add i32 %{name}.i, {THREADS}"
    yield f"  br label %{name}.head"


def _copied(images: Images) -> Iterator[str]:
    """Copies to tensor memory, which the multiplies behind them wait for."""
    for number in range(images.count):
        at, desc = f"%{images.name}.at{number}", f"%{images.name}.d{number}"
        offset = images.base + number * images.size
        stride = 256 if images.spread else 128
        yield f"  {at} = getelementptr i8, ptr addrspace(3) @tiles, i32 {offset}"
        yield f"  {desc} = {_ENCODE} {at}, i32 {stride}, i32 128, i32 0, i32 0)"
        handle = f"%{images.name}.h{number}"
        yield (
            f"  call void @llvm.nvvm.tcgen05.cp.smem.tmem(i32 {handle}, i64 {desc}, {images.copy})"
        )


def _multiplies(plan: Plan) -> Iterator[str]:
    """One for each atom of the tile, K outermost."""
    atom = plan.atom
    ctrl = ControlWord(
        cta_group=plan.ctas,
        block_scale=atom.scale is not None,
        scale_vec_size=2 if atom.kind is MmaKind.MXF4NVF4 else 0,
        mma_kind=next(code for code, kind in KIND_CODES.items() if kind is atom.kind),
    ).encode()
    collector = 0 if atom.stationary else 1
    for step in range(plan.steps):
        for matrix in (plan.a, plan.b):
            for first in range(0, matrix.rows, matrix.own):
                yield from _encoded(matrix, first, step)
        for h, (i, j) in enumerate(plan.parts):
            row, column = i // atom.m, j // atom.n
            numbers = {one.name: row * plan.steps + step for one in plan.images}
            numbers["sfb"] = column * plan.steps + step
            more = "".join(f"i32 %{one.name}.h{numbers[one.name]}, " for one in plan.images)
            yield (
                f"  call void {_multiply(plan)}(i32 %h{h}, i64 %a.{row * plan.a.own}.{step}, "
                f"i64 %b.{column * plan.b.own}.{step}, {more}i32 {ctrl}, i32 {collector}, "
                f"i1 {'true' if step else 'false'}), !nvgen.atom !0"
            )


def _encoded(matrix: Matrix, first: int, step: int) -> Iterator[str]:
    at = f"%{matrix.name}.at.{first}.{step}"
    offset = matrix.place(first, step * matrix.step)
    yield f"  {at} = getelementptr i8, ptr addrspace(3) @tiles, i32 {offset}"
    yield (
        f"  %{matrix.name}.{first}.{step} = {_ENCODE} {at}, i32 {8 * matrix.span}, i32 16, i32 0, "
        f"i32 {SPANS[matrix.span]})"
    )


def _stored(plan: Plan, vector: str) -> Iterator[str]:
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
    "declare void @llvm.nvvm.tcgen05.cp.smem.tmem(i32, i64, i32, i32, i32)",
    "declare void @llvm.nvvm.tcgen05.dealloc(i32, i32)",
    "declare void @llvm.nvvm.tcgen05.relinquish_alloc_permit()",
)
