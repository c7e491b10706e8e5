"""Tensor memory of a kernel: its allocation, the tiles in its columns, and commits of multiplies.

Layer: nvgen.multiplies.  Columns are assigned from the first on.  The values and the metadata of a
sparse A are assigned together.  PTX ISA, tcgen05.alloc; tcgen05.dealloc; tcgen05.commit; Sparse
Matrices.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.layouts.sparse import SparseColumns, sparse_columns
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COLUMNS, FEWEST_COLUMNS
from intrinsics.modifiers import CtaGroup
from intrinsics.multiplies.tensor_shapes import FAMILIES, accumulator_columns, row_blocks
from intrinsics.rows.tcgen05 import COLUMNS as ALLOCATIONS
from intrinsics.targets import Feature, spell, with_feature
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse, whole
from nvgen.instructions.roles import WARP, ExecutionScope
from nvgen.multiplies.tensor_accumulator import TensorTile
from nvgen.multiplies.tensor_tiles import (
    WORD_COLUMNS,
    OperandTile,
    ScaleTile,
    SparseTile,
    scale_columns,
    whole_words,
)
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.shared_memory.protocols import Protocols
from nvgen.shared_memory.tiles import Tiles, container_bits
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Barrier, Pointer

_refuse = functools.partial(refuse, rule="tensor-memory")
_WITH_TENSOR_MEMORY = with_feature(Feature.HAS_TMEM)


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
