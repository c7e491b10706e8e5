"""Tensor memory of a kernel: its allocation, the tiles in its columns, and D among them.

Layer: nvgen.multiplies.  Columns are assigned from the first on.  The values and the metadata of a
sparse A are assigned together.  Each warp of a warpgroup has the 32 lanes of its number modulo 4, a
thread a row.  PTX ISA, tcgen05.alloc; tcgen05.cp; tcgen05.ld; tcgen05.st; Sparse Matrices; Data
Path Layout Organization (layout D); Block Scaling.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import ClassVar

from llvmlite import ir

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.layouts.sparse import SparseColumns, sparse_columns
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COLUMNS, FEWEST_COLUMNS
from intrinsics.modifiers import CopyMulticast, CopyShape, CtaGroup, ScalarType
from intrinsics.multiplies.tensor_shapes import FAMILIES, accumulator_columns, row_blocks
from intrinsics.rows.tcgen05 import COLUMNS as ALLOCATIONS
from intrinsics.targets import Feature, spell, with_feature
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse, whole
from nvgen.fragments.fragment import Fragment, Rows
from nvgen.fragments.layouts import Holders, load_from_memory
from nvgen.instructions.roles import WARP, ExecutionScope, Roles
from nvgen.multiplies.accumulators import Multiply
from nvgen.multiplies.tensor_gemm import AccumulatorColumns, TensorRequest, issue
from nvgen.multiplies.tensor_requirements import check
from nvgen.multiplies.tensor_tiles import (
    WORD_COLUMNS,
    OperandTile,
    ScaleTile,
    SparseTile,
    access_of,
    by_warpgroup,
    lanes_layout,
    load_columns,
    scale_columns,
    store_columns,
    whole_words,
)
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.protocols import Protocols
from nvgen.shared_memory.tiles import SCALE_BLOCK, SharedScales, SharedTile, Tiles, container_bits
from nvgen.values.number_types import llvm_type_of
from nvgen.values.numbers import Int, IntLike, Number
from nvgen.values.pointers import Barrier, Pointer, descriptor_at
from nvgen.values.vectors import Vector, vector_of

_refuse = functools.partial(refuse, rule="tensor-memory")
_WITH_TENSOR_MEMORY = with_feature(Feature.HAS_TMEM)

_ROWS, _HALF = 128, 64
_LEAST = 8
"""Columns of 64 rows that one load has, or a multiple of them."""

_TYPES = {ElementType.F32: ScalarType.F32, ElementType.S32: ScalarType.S32}


@guarded
@dataclass(frozen=True, slots=True)
class TensorTile(AccumulatorColumns):
    """An accumulator in tensor memory: `m` rows and `n` columns of a type, from `pointer` on.

    Each 128 rows of a CTA are a block of `n` columns, one after the other.  In a CTA pair each CTA
    holds its half at the same address.  `columns` is their number in each CTA, where it is known.

    One thread multiplies into it, in warp scope one that is elected, with A in shared or tensor
    memory; `TensorOptions` are its options.
    """

    instruction: ClassVar[str] = "tcgen05.mma"
    of_a: ClassVar[tuple[type, ...]] = (SharedTile, OperandTile, SparseTile)
    expected_a: ClassVar[str] = "shared_tile(…), operand_tile(…) or sparse_tile(…)"
    name: ClassVar[str] = "the accumulators"

    def __repr__(self) -> str:
        words = f"{self.m}x{self.n} of {self.dtype.value}"
        return f"<D in tensor memory: {words}, {self.columns or 'unknown'} columns in each CTA>"

    @property
    def extent(self) -> int:
        """Columns from one of several accumulators to the next."""
        assert self.columns is not None
        return self.columns

    @property
    def nbytes(self) -> int:
        """Size of D in bytes, of both CTAs of a pair."""
        return self.m * self.n * self.dtype.bits // 8

    def start(self, asked: Multiply) -> None:
        """Start the multiply, by one thread: in warp scope an elected one."""
        found = asked.asked_of(TensorRequest)
        check(found)
        b, step = asked.builder, asked.step
        if isinstance(step, int) and not 0 <= step < found.steps:
            raise refuse("no such step of K", got=str(step), expected=f"0..{found.steps - 1}")
        with b.elect() if b.scope is ExecutionScope.WARP else nullcontext():
            issue(b, found)

    def load(self, first: int = 0, columns: int | None = None) -> Fragment:
        """Load columns into the registers of a warpgroup: of 128 rows one in each thread, of 64 the
        elements that wgmma's D has there.

        Of an accumulator of 256 rows of a CTA pair these are the rows of this CTA.  It waits for
        the load; waiting for the multiplies before it is the caller's part.

        Raises: InputError for another number of rows, columns out of range or that are no multiple
        of a load's, or outside of a warpgroup.
        """
        columns = self.n - first if columns is None else columns
        self._check(first, columns)
        b, type_ = self.builder, _TYPES[self.dtype]
        loaded = load_columns(b, self.pointer, first, columns, access_of(self.m))
        numbers = [Vector(b, words.value, words.count, type_) for words in loaded]
        several = len(numbers) > 1
        whole = vector_of([n for part in numbers for n in part]) if several else numbers[0]
        return Fragment(whole, Holders(b, lanes_layout(self.m, columns)))

    def rows(self, function: Callable[[Int], Number] | float) -> Rows:
        """A number for each row, before anything is loaded: see `Fragment.rows`.

        `function(row)` gives it, or it is the same number for all.
        """
        self._check(0, self.n)
        return self.layout_only.rows(function)

    @property
    def layout_only(self) -> Fragment:
        """A fragment of all columns, for what does not depend on the numbers."""
        b, layout, type_ = self.builder, lanes_layout(self.m, self.n), _TYPES[self.dtype]
        none = ir.Constant(ir.VectorType(llvm_type_of(type_), layout.count), None)
        return Fragment(Vector(b, none, layout.count, type_), Holders(b, layout))

    def from_memory(
        self,
        source: Pointer,
        pitch: IntLike,
        columns: int | None = None,
        *,
        align: int | None = None,
    ) -> Fragment:
        """What memory holds, as a matrix in the layout in which `load` gives `columns`; nothing is
        read from tensor memory.

        Parts of sums that other CTAs have stored, say: see `Fragment.from_memory`.
        """
        columns = self.n if columns is None else columns
        self._check(0, columns)
        holders = Holders(self.builder, lanes_layout(self.m, columns))
        return Fragment(load_from_memory(holders, source, pitch, align), holders)

    def take_fragment(self, fragment: Fragment, first: int) -> None:
        """Store a fragment of columns, from `first` on, and wait until it is stored."""
        b, columns = fragment.builder, fragment.layout.columns
        self._check(first, columns)
        fits = fragment.layout == lanes_layout(self.m, columns)
        if not fits or fragment.vector.type is not _TYPES[self.dtype]:
            got, expected = fragment.words, "what its load(…) gives, of the type of the tile"
            raise refuse(
                "no columns of an accumulator in tensor memory", got=got, expected=expected
            )
        store_columns(b, self.pointer, first, fragment.vector, access_of(self.m))

    def _check(self, first: int, columns: int) -> None:
        b = self.builder
        half_of_pair = self.m == 2 * _ROWS and self.columns == self.n
        half = self.m == _HALF and self.columns == self.n and not (first | columns) % _LEAST
        fits = (self.m == _ROWS or half or half_of_pair) and self.dtype in _TYPES
        if not by_warpgroup(b) or not fits or not 0 <= first < first + columns <= self.n:
            raise refuse(
                "no columns of an accumulator for a warpgroup",
                got=f"{columns} from {first} of {self.m}x{self.n} of {self.dtype.value}, "
                f"{b.scope.value}",
                expected=f"{_ROWS} rows of f32 or s32, or {_HALF} and multiples of {_LEAST} "
                "columns, which there are, by one warpgroup",
                hint="of 256 rows of a pair each CTA has 128: use memory.tile or memory.tiles"
                if self.m == 2 * _ROWS
                else "",
            )


# ---- the allocation ----------------------------------------------------------------------------


class Commits:
    """Commits of multiplies that one thread starts: each completes a phase of an mbarrier.

    PTX ISA, tcgen05.commit.
    """

    def __init__(self, builder: Protocols, mbarrier: Barrier) -> None:
        self.builder, self.mbarrier = builder, mbarrier
        self.parity = builder.variable(0)

    def commit(self) -> None:
        """By the thread that multiplied."""
        self.builder.tcgen05_commit(self.mbarrier)

    def count(self) -> None:
        """Behind a commit, by all threads that wait for it."""
        self.parity.set(self.parity.value ^ 1)

    def wait(self) -> None:
        """For the latest phase; before the first commit that is one that counts as complete."""
        self.builder.wait(self.mbarrier, self.parity.value ^ 1)
        self.builder.tcgen05_fence_after_thread_sync()


@guarded
@dataclass(slots=True)
class TensorMemory:
    """An allocation of `columns` columns at `address`, of which the first `used` are in use."""

    builder: SharedMemory
    address: Int
    columns: int
    cta_group: CtaGroup = CtaGroup.ONE
    used: int = 0

    def __repr__(self) -> str:
        return f"<tensor memory: {self.used} of {self.columns} columns taken>"

    def take(self, columns: int, align: int = 1) -> Pointer:
        """Take the next free columns, from a multiple of `align` on.

        Raises: InputError when fewer are left.
        """
        return self.at(self.reserve(columns, align))

    def at(self, first: int) -> Pointer:
        """The address of a column."""
        return pointer_at(self.builder, self.address + first if first else self.address)

    def reserve(self, columns: int, align: int = 1) -> int:
        """The number of the first of the next free columns, which are then taken: see `take`."""
        self.used = -(-self.used // whole(align, "alignment")) * align
        left = self.columns - self.used
        if columns <= 0 or columns > left:
            raise _refuse(
                f"allocated tmem out of resource: {columns} columns of {left} that are left",
                got=f"{columns} columns beside {self.used} that are taken",
                expected=f"1 to {left} columns" if left > 0 else f"{self.columns} columns in all",
                hint="ask tensor_memory for more: a power of 2, 512 at most",
            )
        self.used += columns
        return self.used - columns

    def tile(
        self,
        m: int,
        n: int,
        dtype: ElementType = ElementType.F32,
        *,
        stationary: bool = False,
        sparse: bool = False,
    ) -> TensorTile:
        """An accumulator of m rows and n columns; in a CTA pair m counts the rows of both.

        `stationary` and `sparse` say which MMA writes it: for some it has fewer columns than n.

        Raises: InputError when it does not fit.
        """
        columns = accumulator_columns(
            m, n, cta_group=self.cta_group, stationary=stationary, sparse=sparse
        )
        return TensorTile(self.take(columns), m, n, dtype, columns)

    def tiles(
        self, m: int, n: int, count: int, dtype: ElementType = ElementType.F32
    ) -> Tiles[TensorTile]:
        """Equal accumulators, which the kernel indexes (`accumulators[turn.stage]`): those that
        multiplies and epilogues take in turn.  See `tile`.

        Raises: InputError when they do not fit.
        """
        group, number = self.cta_group, whole(count, "number of accumulators")
        columns = accumulator_columns(m, n, cta_group=group, stationary=False, sparse=False)
        return Tiles(TensorTile(self.take(columns * number), m, n, dtype, columns), number)

    def operand_tile(
        self, m: int, k: int, dtype: ElementType, *, padded: bool = False
    ) -> OperandTile:
        """Columns for an A of m rows in this CTA and k elements.

        Raises: InputError when it does not fill whole columns, or does not fit.
        """
        bits = container_bits(dtype, padded=padded)
        if k <= 0 or k * bits % 32:
            got = f"K = {k} of {dtype.value} in {bits} bits"
            expected = f"a multiple of {32 // bits}"
            raise _refuse("a row of A fills whole cells of 32 bits", got=got, expected=expected)
        return OperandTile(self.take(k * bits // 32 * row_blocks(m)), m, k, dtype, padded)

    def scale_tiles(
        self,
        rows: int,
        k: int,
        count: int,
        dtype: ElementType = ElementType.UE8M0,
        size: int = 32,
        *,
        parts: int = 1,
    ) -> Tiles[ScaleTile]:
        """Columns for `count` blocks of scale factors, one after the other: one factor for each
        `size` of a row's `k` elements.

        Those of B in a CTA pair with M = 128 have 2 `parts`: see `ScaleTile`.

        Raises: InputError when they do not fit.
        """
        pointer = self.take(scale_columns(rows, k, size, parts) * count, WORD_COLUMNS)
        return Tiles(ScaleTile(pointer, rows, k, dtype, size, parts=parts), count)

    def metadata(self, k: int, dtype: ElementType, m: int = 128) -> Pointer:
        """Columns for the metadata of a sparse A in shared memory; `k` counts the zeros too.

        Each 128 of its `m` rows in this CTA have their own columns, from a multiple of 4 on.

        Raises: InputError when K is not a multiple of the instruction's K, or it does not fit.
        """
        columns = _sparse_columns(k, dtype).metadata
        before = whole_words(columns) * (row_blocks(m) - 1)
        return self.take(before + columns, WORD_COLUMNS)

    def sparse_tile(
        self, m: int, k: int, dtype: ElementType, *, metadata: int | None = None
    ) -> SparseTile:
        """Columns for a sparse A: its values, then the metadata.

        `k` counts the zeros too.  `metadata`, in columns, is checked against what the values need.

        Raises: InputError when the two do not match, or do not fit.
        """
        columns = _sparse_columns(k, dtype)
        if metadata not in (None, columns.metadata):
            got = f"{metadata} columns of metadata"
            expected = f"{columns.metadata} for {columns.values} columns of values"
            raise _refuse("the metadata does not match the values", got=got, expected=expected)
        last = columns.values + columns.metadata
        both = self.take(whole_words(last) * (row_blocks(m) - 1) + last, WORD_COLUMNS)
        return SparseTile(both, both + columns.values, m, k, dtype, columns)

    def free(self, *, warp: int = 0) -> None:
        """Free the columns, by one warp; all threads of the CTA execute it, as it begins with their
        barrier.

        The CTAs of a pair meet before (`b.cluster_sync()`), where one may still need the other.
        """
        b = self.builder
        b.tcgen05_fence_before_thread_sync()
        b.barrier_cta_sync_aligned()
        b.tcgen05_fence_after_thread_sync()
        with b.if_warp(warp):
            address = pointer_at(b, self.address)
            b.tcgen05_dealloc(address, self.columns, cta_group=self.cta_group)
            b.tcgen05_relinq_alloc_permit(cta_group=self.cta_group)


def pointer_at(b: SharedMemory, taddr: Int) -> Pointer:
    """A tensor memory address as a pointer."""
    return Pointer(b, b.at_caller().inttoptr(taddr.value, ir.PointerType(addrspace=6)))


def tensor_memory(
    b: SharedMemory, name: str, columns: int, *, warp: int = 0, cta_group: CtaGroup = CtaGroup.ONE
) -> TensorMemory:
    """Allocate columns of tensor memory, by one warp; all threads of the CTA execute it.

    With `cta_group` 2 those of both CTAs of a pair do.  `name` names the word of shared memory that
    holds the address.

    Raises: InputError for other numbers of columns than 32, 64, 128, 256 or 512, for a target that
    has no tensor memory, and where that warp does not execute it.
    """
    _check(b, columns, b.tensor_columns)
    address = _allocated(b, name, columns, warp, cta_group)
    b.tensor_columns += columns
    return TensorMemory(b, address, columns, cta_group)


def columns_known_later(b: SharedMemory, name: str) -> tuple[TensorMemory, Callable[[int], None]]:
    """An allocation whose size is told when all of it has been taken, and what tells it."""
    _check(b, FEWEST_COLUMNS, b.tensor_columns)
    later = b.const(COLUMNS)
    address = _allocated(b, name, later, 0, CtaGroup.ONE)
    made = TensorMemory(b, address, COLUMNS)

    def tell(columns: int) -> None:
        _check(b, columns, b.tensor_columns)
        made.columns, known = columns, ir.Constant(later.value.type, columns)
        b.tensor_columns += columns
        for block in b.at_caller().function.blocks:
            for instruction in block.instructions:
                instruction.replace_usage(later.value, known)

    return made, tell


def _allocated(b: SharedMemory, name: str, columns: IntLike, warp: int, group: CtaGroup) -> Int:
    """The address of columns that a warp allocates, once all threads of the CTA know it."""
    try:
        slot = b.shared_word(name)
    except InputError as full:
        finding = full.findings[0]
        got, expected = finding.got, finding.expected
        hint = finding.hint
        raise _refuse(
            "failed to find scratch smem to allocate tmem", got=got, expected=expected, hint=hint
        ) from None
    with b.if_warp(warp):
        b.tcgen05_alloc(slot, columns, cta_group=group)
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()
    return b.load_word(slot)


def _check(builder: SharedMemory, columns: int, before: int) -> None:
    if builder.target is not None and builder.target not in _WITH_TENSOR_MEMORY:
        got, expected = builder.target.name, spell(_WITH_TENSOR_MEMORY)
        hint = "accumulator(…) lies where each target's multiplies write it"
        raise _refuse("the target has no tensor memory", got=got, expected=expected, hint=hint)
    if not ALLOCATIONS.accepts(columns):
        got, expected = str(columns), str(ALLOCATIONS)
        hint = ALLOCATIONS.hint(columns)
        raise _refuse(
            "a number of columns that cannot be allocated", got=got, expected=expected, hint=hint
        )
    if before + columns > COLUMNS:
        raise _refuse(
            f"allocated tmem out of resource: {before + columns} columns of {COLUMNS}",
            got=f"{columns} columns beside {before}",
            expected=f"{COLUMNS} columns in all",
        )
    if builder.scope is not ExecutionScope.CTA or builder.threads < WARP:
        raise _refuse(
            "failed to init tmem: a whole warp allocates it, and all threads wait for its address",
            got=f"{builder.scope.value}, of {builder.threads}",
            expected="all threads of the CTA, 32 or more",
        )


def _sparse_columns(k: int, dtype: ElementType) -> SparseColumns:
    bits = container_bits(dtype, padded=False)
    family = next((f for f in FAMILIES if f.holds(dtype, bits)), None)
    if family is None:
        expected = ", ".join(dict.fromkeys(t.value for f in FAMILIES for t in f.types))
        raise _refuse("no kind of MMA multiplies this type", got=dtype.value, expected=expected)
    try:
        return sparse_columns(family.kind, k, bits)
    except ValueError as error:
        raise _refuse(str(error), got=str(k), expected=str(error).split(" is ")[-1]) from None


# ---- scale factors -----------------------------------------------------------------------------


_ROWS_OF_16 = SharedMemoryDescriptor(0, lbo=16, sbo=128, swizzle=Swizzle.NONE).encode()
"""Rows of 16 bytes, one after the other: a matrix without swizzling, one piece wide."""

_COPIES = {
    1: (CopyShape.S32X128B, CopyMulticast.WARPX4),
    2: (CopyShape.S64X128B, CopyMulticast.WARPX2_01_23),
}
"""What copies a block of each part: to all groups of 32 lanes, or of two to two of them each."""


def copy_scales(
    b: Roles, target: ScaleTile, source: SharedScales, *, cta_group: CtaGroup = CtaGroup.ONE
) -> None:
    """Start copies of scale factors into tensor memory, by one thread.

    MMAs that this thread issues later see them; with `cta_group` 2 each CTA of the pair copies from
    its own shared memory.  Factors that an earlier MMA reads are overwritten behind a wait for its
    commit and `tcgen05_fence_after_thread_sync`, in a ring behind `take`: stages have factors of
    their own.

    Raises: InputError when the two are of different shapes or types.
    """
    got, expected = _shape(source), _shape(target)
    if got != expected:
        raise refuse("scale factors of another shape", got=got, expected=expected)
    first = descriptor_at(b, source.pointer, _ROWS_OF_16)
    down, along = source.blocks
    shape, multicast = _COPIES[source.parts]
    for row in range(down):
        for word in range(along):
            block, columns = row * along + word, word * target.pitch + row * 4
            b.tcgen05_cp(
                target.pointer + columns if columns else target.pointer,
                first + (block * source.parts * SCALE_BLOCK >> 4) if block else first,
                shape=shape,
                multicast=multicast,
                cta_group=cta_group,
            )


def _shape(scales: ScaleTile | SharedScales) -> str:
    parts = f", in {scales.parts} parts" if scales.parts > 1 else ""
    rows = f"{scales.rows} rows of K {scales.k}"
    return f"{rows}, one for {scales.size} {scales.dtype.value}{parts}"


def copy_metadata(
    b: Roles, target: Pointer, source: Pointer, *, cta_group: CtaGroup = CtaGroup.ONE
) -> None:
    """Start a copy of 128 rows of 16 bytes from shared memory into four columns.

    Row r goes to lane r: four words of metadata of a sparse A.
    """
    b.tcgen05_cp(
        target,
        descriptor_at(b, source, _ROWS_OF_16),
        shape=CopyShape.S128X128B,
        cta_group=cta_group,
    )
