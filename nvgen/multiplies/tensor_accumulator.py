"""D in tensor memory: what multiplies into it, and its columns to and from registers.

Layer: nvgen.multiplies.  Each warp of a warpgroup has the 32 lanes of its number modulo 4, a thread
a row.  PTX ISA, tcgen05.mma; tcgen05.ld; tcgen05.st; Data Path Layout Organization (layout D).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import ClassVar

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse
from nvgen.fragments.fragment import Fragment, Rows
from nvgen.fragments.layouts import Holders, load_from_memory
from nvgen.instructions.roles import ExecutionScope
from nvgen.multiplies.accumulators import Multiply
from nvgen.multiplies.tensor_gemm import AccumulatorColumns, TensorRequest, issue
from nvgen.multiplies.tensor_requirements import check
from nvgen.multiplies.tensor_tiles import (
    OperandTile,
    SparseTile,
    access_of,
    by_warpgroup,
    lanes_layout,
    load_columns,
    store_columns,
)
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.number_types import llvm_type_of
from nvgen.values.numbers import Int, IntLike, Number
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector, vector_of

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
