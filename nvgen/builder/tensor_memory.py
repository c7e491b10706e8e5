"""Tensor memory of a kernel under construction: one allocation, and what is put into its columns.

Layer: nvgen.builder.  Columns are handed out from the first on.  The values and the metadata of a
sparse A are taken together.  PTX ISA, tcgen05.alloc; Sparse Matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from intrinsics.element import ElementType
from intrinsics.findings import InputError, input_error
from intrinsics.modifiers import MmaKind
from intrinsics.rows.tcgen05 import COLUMNS as ALLOCATIONS
from intrinsics.sparse import SparseColumns, sparse_columns
from intrinsics.tensor_address import COLUMNS
from nvgen.builder.control import Scope
from nvgen.builder.gemm_requirements import FAMILIES
from nvgen.builder.tiles import TensorTile
from nvgen.builder.values import Int, Pointer

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

_WARP = 32


def _refuse(text: str, *, got: str, expected: str, hint: str = "") -> InputError:
    return input_error("builder/tensor-memory", text, got=got, expected=expected, hint=hint)


@dataclass(frozen=True, slots=True)
class SparseTile:
    """A sparse A in tensor memory: `m` rows of `k` elements, of which the half at `values` is
    stored, and its metadata; both are taken from one allocation and lie at the same lanes.
    """

    values: Pointer
    metadata: Pointer
    m: int
    k: int
    dtype: ElementType
    columns: SparseColumns


@dataclass(slots=True)
class TensorMemory:
    """An allocation of `columns` columns at `address`, of which the first `used` are taken."""

    builder: KernelBuilder
    address: Int
    columns: int
    used: int = 0

    def take(self, columns: int) -> Pointer:
        """The next columns.

        Raises: InputError when fewer are left.
        """
        if columns <= 0 or self.used + columns > self.columns:
            raise _refuse(
                f"allocated tmem out of resource: {columns} columns of {self.columns - self.used} "
                "that are left",
                got=f"{columns} columns",
                expected=f"1..{self.columns - self.used} columns",
                hint="ask tensor_memory for more: a power of 2, 512 at most",
            )
        first = self.used
        self.used += columns
        return self.builder.tensor_pointer(self.address + first if first else self.address)

    def tile(self, m: int, n: int) -> TensorTile:
        """An accumulator of m rows and n columns of f32.

        Raises: InputError when it does not fit.
        """
        return TensorTile(self.take(n), m, n)

    def sparse_tile(
        self, m: int, k: int, dtype: ElementType, *, metadata: int | None = None
    ) -> SparseTile:
        """Room for a sparse A, and behind its values for the metadata.

        `k` counts the zeros too.  `metadata`, in columns, is checked against what the values need.

        Raises: InputError when they do not belong together or do not fit.
        """
        columns = _sparse_columns(k, dtype)
        if metadata not in (None, columns.metadata):
            raise _refuse(
                "the metadata does not match the values",
                got=f"{metadata} columns of metadata",
                expected=f"{columns.metadata} for {columns.values} columns of values",
            )
        both = self.take(columns.values + columns.metadata)
        return SparseTile(both, both + columns.values, m, k, dtype, columns)

    def free(self, *, warp: int = 0) -> None:
        """Give the columns back, by one warp, once all threads of the CTA have come here."""
        b = self.builder
        b.tcgen05_fence_before_thread_sync()
        b.barrier_cta_sync_aligned()
        b.tcgen05_fence_after_thread_sync()
        with b.if_warp(warp):
            b.tcgen05_dealloc(b.tensor_pointer(self.address), self.columns)
            b.tcgen05_relinq_alloc_permit()


def allocate(builder: KernelBuilder, name: str, columns: int, before: int, warp: int) -> Int:
    """Allocate by one warp, and publish the address to all threads of the CTA.

    `before` columns are allocated already; `name` is that of the slot in shared memory.

    Raises: InputError when there is no such allocation.
    """
    _check(builder, columns, before)
    try:
        slot = builder.shared_word(name)
    except InputError as full:
        finding = full.findings[0]
        raise _refuse(
            "failed to find scratch smem to allocate tmem",
            got=finding.got,
            expected=finding.expected,
            hint=finding.hint,
        ) from None
    with builder.if_warp(warp):
        builder.tcgen05_alloc(slot, columns)
    builder.tcgen05_fence_before_thread_sync()
    builder.barrier_cta_sync_aligned()
    builder.tcgen05_fence_after_thread_sync()
    return builder.load_word(slot)


def _check(builder: KernelBuilder, columns: int, before: int) -> None:
    if not ALLOCATIONS.accepts(columns):
        near = ALLOCATIONS.nearest(columns)
        raise _refuse(
            "a number of columns that cannot be allocated",
            got=str(columns),
            expected=str(ALLOCATIONS),
            hint=f"the nearest one is {near}" if near is not None else "",
        )
    if before + columns > COLUMNS:
        raise _refuse(
            f"allocated tmem out of resource: {before + columns} columns of {COLUMNS}",
            got=f"{columns} columns beside {before}",
            expected=f"{COLUMNS} columns in all",
        )
    x, y, z = builder.block
    if builder.scope is not Scope.CTA or x * y * z < _WARP:
        raise _refuse(
            "failed to init tmem: a whole warp allocates it, and all threads wait for its address",
            got=f"{builder.scope.value}, of {x * y * z}",
            expected="all threads of the CTA, 32 or more",
        )


def _sparse_columns(k: int, dtype: ElementType) -> SparseColumns:
    kind = next((f.kind for f in FAMILIES if dtype in f.types), None)
    if kind is None:
        raise _refuse(
            "no kind of MMA multiplies this type",
            got=dtype.value,
            expected=", ".join(dict.fromkeys(t.value for f in FAMILIES for t in f.types)),
        )
    try:
        return sparse_columns(kind, k, dtype.bits if kind is MmaKind.MXF4 else max(dtype.bits, 8))
    except ValueError as error:
        raise _refuse(str(error), got=str(k), expected=str(error).split(" is ")[-1]) from None
