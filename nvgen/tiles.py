"""From a tile multiply to a kernel: LLVM IR in the walkthrough's spelling that computes one tile.

Layer: nvgen.  Input: a tile multiply, with or without its atom.  Output: what is wrong with it, as
findings; and the text of a kernel of one CTA with 128 threads:

    @multiply(a, b, d)      D = A · B, where C is zero

In global memory A lies as [m][k], B as [n][k] and D as [m][n], elements of fewer than 8 bits in a
byte each.  Shared memory is dynamic, `shared_bytes` of it: A, then B, each in pieces of K as wide
as the swizzle (128 bytes, or the whole row where that is less).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmprinter.tile_reader import Read, read_tiles
from intrinsics.descriptors.tensor_address import COLUMNS
from intrinsics.descriptors.words import KIND_CODES, ControlWord
from intrinsics.element import ElementType
from intrinsics.findings import Finding, Place, SelectionError, Severity, errors, input_error
from intrinsics.multiplies.mma_atom import AtomError, MmaAtom, parse_atom
from intrinsics.multiplies.tile_dot import TileDot, pick_dot
from intrinsics.multiplies.tile_multiply import TileMultiply

KERNEL = "multiply"
THREADS = 128

_ATOM_K = 32
"""Bytes of K that one dense multiply takes."""

_SPANS = {128: 1, 64: 2, 32: 3}
"""Bytes of a span, and the walkthrough's code of the swizzle that has it."""

_MOST_SHARED = 227 * 1024
_ELEMENTS = {ElementType.F32: "float", ElementType.F16: "half", ElementType.S32: "i32"}


def judge(read: Read) -> list[Finding]:
    """What is wrong with a tile multiply, and with the atom that it has."""
    return [
        Finding(
            f"{read.op.op}/{problem.rule}", Severity.ERROR, problem.text, read.place,
            op=read.op.op, got=problem.got, expected=problem.expected, hint=problem.hint,
            subject=problem.subject, section="PTX ISA, Matrix Shape",
        )
        for problem in read.op.problems()
    ]  # fmt: skip


def with_atom(read: Read) -> TileDot:
    """The multiply with its atom, which is picked where it has none.

    Raises: SelectionError with everything that is wrong with it.
    """
    if wrong := errors(judge(read)):
        raise SelectionError(wrong)
    if isinstance(read.op, TileDot):
        return read.op
    return _picked(read, read.op)


def _picked(read: Read, multiply: TileMultiply) -> TileDot:
    try:
        return pick_dot(multiply)
    except AtomError as error:
        finding = Finding(
            f"{multiply.op}/no-atom", Severity.ERROR, str(error), read.place, op=multiply.op,
            expected=error.expected, section="PTX ISA, Matrix Shape",
        )  # fmt: skip
        raise SelectionError([finding]) from None


def only_kernel(text: str, file: str) -> tuple[str, Place]:
    """The kernel of the one multiply in `text`, and where the multiply stands.

    Raises: InputError for a text that has none or several; SelectionError with everything that is
    wrong with them.
    """
    found = read_tiles(text, file)
    if wrong := [finding for read in found for finding in errors(judge(read))]:
        raise SelectionError(wrong)
    if len(found) != 1:
        raise input_error(
            "tile/several", "a kernel is made of one multiply", place=Place(file),
            got=f"{len(found)} multiplies", expected="one",
            hint="nvgen trace --mma N tells of each of several",
        )  # fmt: skip
    return kernel(with_atom(found[0])), found[0].place


def shared_bytes(dot: TileDot) -> int:
    """Bytes of dynamic shared memory that the kernel needs."""
    return _Plan.of(dot).shared


def kernel(dot: TileDot) -> str:
    """The kernel of `dot`.

    Raises: SelectionError for an atom that is not dense and of one CTA, and for a tile that does
    not fit into the memory of a CTA.
    """
    plan = _Plan.of(dot)
    for text, got, expected in plan.problems():
        finding = Finding(
            "nv_tileaa.dot/one-cta", Severity.ERROR, text, op=dot.op, got=got, expected=expected
        )
        raise SelectionError([finding])
    return "\n".join(_lines(plan)) + "\n"


# ---- what goes where -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Plan:
    """The sizes of a kernel: tiles in elements, rows of K in bytes."""

    dot: TileDot
    atom: MmaAtom
    row: int

    @classmethod
    def of(cls, dot: TileDot) -> _Plan:
        atom = parse_atom(dot.atom)
        return cls(dot, atom, dot.a.columns * max(atom.a.bits, 8) // 8)

    @property
    def m(self) -> int:
        return self.dot.a.rows

    @property
    def n(self) -> int:
        return self.dot.b.columns

    @property
    def span(self) -> int:
        """Bytes of K in one piece of shared memory."""
        return next(span for span in _SPANS if self.row >= span)

    @property
    def shared(self) -> int:
        return (self.m + self.n) * self.row

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The accumulators: their first row and column."""
        return [
            (i, j) for i in range(0, self.m, self.atom.m) for j in range(0, self.n, self.atom.n)
        ]

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit, what there is, and what would fit."""
        if self.atom.variants:
            yield "a kernel is made for dense atoms of one CTA", self.dot.atom, "no suffix"
        taken = sum(1 << (max(self.atom.n, 32) - 1).bit_length() for _ in self.parts)
        if taken > COLUMNS:
            text = f"allocated tmem out of resource: {taken} columns of {COLUMNS}"
            yield text, f"{taken} columns", f"{COLUMNS} columns"
        if self.shared > _MOST_SHARED:
            yield "the tiles do not fit into shared memory", str(self.shared), str(_MOST_SHARED)

    def place(self, rows: int, first: int, byte: int) -> int:
        """Where byte `byte` of K of row `first` lies, in a tile of `rows` rows."""
        return byte // self.span * rows * self.span + first * self.span + byte % self.span


# ---- the kernel ------------------------------------------------------------------------------

_ENCODE = "call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3)"


def _lines(plan: _Plan) -> Iterator[str]:
    atom = plan.atom
    load, vector = _load(plan)
    yield "@tiles = external addrspace(3) global [0 x i8], align 1024"
    yield f"define ptx_kernel void @{KERNEL}(ptr addrspace(1) %a, ptr addrspace(1) %b, " + (
        "ptr addrspace(1) %d) #0 {"
    )
    yield "entry:"
    yield "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
    for h in range(len(plan.parts)):
        yield f"  %h{h} = call i32 @llvm.nvvm.tcgen05.alloc.shared(i32 {-(-atom.n // 4)})"
    yield f"  %btile = getelementptr i8, ptr addrspace(3) @tiles, i32 {plan.m * plan.row}"
    yield "  br label %a.head"
    yield from _staged(plan, "a", "@tiles", plan.m, "entry", "b.head")
    yield from _staged(plan, "b", "%btile", plan.n, "a.head", "ready")
    yield "ready:"
    yield "  call void @llvm.nvvm.fence.proxy.async.shared_cta()"
    yield "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
    yield from _multiplies(plan)
    yield "  call void @llvm.nvvm.tcgen05.wait.cta_group__1()"
    for h in range(len(plan.parts)):
        yield f"  %acc{h} = call {vector} {load}(i32 %h{h})"
    yield from _stored(plan, vector)
    for h in range(len(plan.parts)):
        yield f"  call void @llvm.nvvm.tcgen05.dealloc(i32 %h{h}, i32 {-(-atom.n // 4)})"
    yield "  call void @llvm.nvvm.tcgen05.relinquish_alloc_permit()"
    yield "  ret void"
    yield "}"
    yield from _DECLARATIONS
    yield f"declare {vector} {load}(i32)"
    yield f'attributes #0 = {{ "nvvm.reqntid"="{THREADS}" }}'
    yield f'!0 = !{{!"{atom.name}", !"K", !"K"}}'


def _load(plan: _Plan) -> tuple[str, str]:
    """The load of an accumulator, and its type."""
    element = _ELEMENTS[plan.atom.d]
    bits = 16 if element == "half" else 32
    name = f"@llvm.nvvm.tcgen05.ld.m{plan.atom.m}n8x{bits}b"
    return name, f"<{plan.atom.n} x {element}>"


def _staged(
    plan: _Plan, name: str, target: str, rows: int, before: str, after: str
) -> Iterator[str]:
    """A loop that copies a tile by its 16-byte pieces, and exchanges those as the swizzle says."""
    pieces, span = plan.row // 16, plan.span
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
    yield f"  %{name}.from = getelementptr <4 x i32>, ptr addrspace(1) %{name}, i32 %{name}.i"
    yield f"  %{name}.to = getelementptr i8, ptr addrspace(3) {target}, i32 %{name}.at"
    yield f"  %{name}.data = load <4 x i32>, ptr addrspace(1) %{name}.from, align 16"
    yield f"  store <4 x i32> %{name}.data, ptr addrspace(3) %{name}.to, align 16"
    yield f"  %{name}.next = add i32 %{name}.i, {THREADS}"
    yield f"  br label %{name}.head"


def _multiplies(plan: _Plan) -> Iterator[str]:
    """One for each atom of the tile, K outermost."""
    kind = next(code for code, kind in KIND_CODES.items() if kind is plan.atom.kind)
    ctrl = ControlWord(mma_kind=kind).encode()
    for byte in range(0, plan.row, _ATOM_K):
        for name, rows, step in (("a", plan.m, plan.atom.m), ("b", plan.n, plan.atom.n)):
            for first in range(0, rows, step):
                yield from _encoded(plan, name, rows, first, byte)
        for h, (i, j) in enumerate(plan.parts):
            enable = "true" if byte else "false"
            yield (
                f"  call void @llvm.nvvm.tcgen05.mma.cta_group__1(i32 %h{h}, i64 %a.{i}.{byte}, "
                f"i64 %b.{j}.{byte}, i32 {ctrl}, i32 1, i1 {enable}), !nvgen.atom !0"
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
    """Each thread stores its row; with M = 64 sixteen threads of each warp have one."""
    element = _ELEMENTS[plan.atom.d]
    if plan.atom.m == 64:
        yield "  %warp = lshr i32 %tid, 5"
        yield "  %lane = and i32 %tid, 31"
        yield "  %sixteen = shl i32 %warp, 4"
        yield "  %row = add i32 %sixteen, %lane"
        yield "  %stores = icmp ult i32 %lane, 16"
    else:
        yield "  %row = add i32 %tid, 0"
        yield "  %stores = icmp ult i32 %tid, 128"
    yield "  br i1 %stores, label %store, label %done"
    yield "store:"
    yield f"  %begin = mul i32 %row, {plan.n}"
    for h, (i, j) in enumerate(plan.parts):
        yield f"  %o{h} = add i32 %begin, {i * plan.n + j}"
        yield f"  %to{h} = getelementptr {element}, ptr addrspace(1) %d, i32 %o{h}"
        yield f"  store {vector} %acc{h}, ptr addrspace(1) %to{h}, align 16"
    yield "  br label %done"
    yield "done:"


_DECLARATIONS = (
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
    "declare void @llvm.nvvm.fence.proxy.async.shared_cta()",
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
    "declare i32 @llvm.nvvm.tcgen05.alloc.shared(i32)",
    "declare i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3), i32, i32, i32, i32)",
    "declare void @llvm.nvvm.tcgen05.mma.cta_group__1(i32, i64, i64, i32, i32, i1)",
    "declare void @llvm.nvvm.tcgen05.wait.cta_group__1()",
    "declare void @llvm.nvvm.tcgen05.dealloc(i32, i32)",
    "declare void @llvm.nvvm.tcgen05.relinquish_alloc_permit()",
)
