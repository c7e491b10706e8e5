"""Layouts of fragments: the threads that hold a matrix in registers, and their rows and columns.

Layer: nvgen.builder.  `intrinsics.layouts.register_layout` gives the elements of each thread; here
its numbers become instructions.  Reductions along a row use shuffles between the threads that share
the row.  PTX ISA, shfl.sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import ClassVar, Self, TypeAlias

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.layouts.fragments_wgmma import ROWS as WARPGROUP_ROWS
from intrinsics.layouts.register_layout import FragmentLayout
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Shuffle
from nvgen.builder.shared_memory.allocations import SharedMemory
from nvgen.builder.values.number_types import constant
from nvgen.builder.values.numbers import Int, IntLike, Number
from nvgen.builder.values.regions import Host
from nvgen.builder.values.vectors import Elementwise, Vector, vector_of
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, function_of, refuse

Joined: TypeAlias = Callable[[Number, Number], Number]
"""An associative and commutative function of two numbers."""

_WARP_BITS = 5


def scaled_bits(number: Int, steps: Sequence[int]) -> Int:
    """The sum of `steps[i]` for each bit i of a number; neighbours that double go together."""
    total: Int | None = None
    i = 0
    while i < len(steps):
        last = i
        while last + 1 < len(steps) and steps[last + 1] == 2 * steps[last] != 0:
            last += 1
        if steps[i]:
            part = (number >> i) & ((1 << last - i + 1) - 1) if i else number & (2 << last) - 1
            part = part * steps[i] if steps[i] != 1 else part
            total = part if total is None else total + part
        i = last + 1
    return Int(number.builder, constant(0, 32)) if total is None else total


@dataclass(frozen=True, slots=True)
class Holders:
    """The threads that hold a matrix, and the position of this thread's part in it.

    A matrix of several warps, rows × columns of them, is divided; `first` gives the first row and
    column of a warp.
    """

    builder: SharedMemory
    layout: FragmentLayout
    first: Callable[[], tuple[IntLike, IntLike]] | None = None
    across: bool = False
    """Whether several warps hold elements of one row."""

    def corner(self) -> tuple[Int, Int]:
        """The row and the column that this thread's elements are counted from."""
        thread = self.builder.thread
        row = scaled_bits(thread, self.layout.row_bits)
        column = scaled_bits(thread, self.layout.column_bits)
        if self.first is not None:
            down, along = self.first()
            row, column = row + down, column + along
        return row, column


# ---- numbers of rows and columns -----------------------------------------------------------------


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class OfThreads(Elementwise):
    """Numbers that several threads hold, in a layout."""

    vector: Vector = field()
    holders: Holders
    kind: ClassVar[str]
    """What the numbers are of."""

    @property
    def builder(self) -> SharedMemory:
        """The kernel that it is of."""
        return self.holders.builder

    @property
    def value(self) -> ir.Value:
        """A thread's numbers as llvmlite's."""
        return self.vector.value

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"{self.kind}: {self.vector.words}"

    def __repr__(self) -> str:
        return f"<{self.words}; layout {self.holders.layout}>"

    def like(self, value: ir.Value) -> Self:
        """Other values of llvmlite's as such numbers."""
        return replace(self, vector=self.vector.like(value))

    def taken(self, other: object) -> ir.Value:
        """Numbers of the same layout and type, or one number for all, as llvmlite's."""
        found = self._operand(other).typed
        return self.builder.at_caller().bitcast(found, self.vector.value.type)

    def made(self, vector: Vector) -> Self:
        """Other numbers in the same layout."""
        return replace(self, vector=vector)


@guarded
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows(OfThreads):
    """A number for each row of a matrix that a thread has elements of.

    All threads that share a row hold the same number, except after `row_reduce(…, whole=False)`:
    then each has its own part, until `whole` combines them.
    """

    kind: ClassVar[str] = "rows"

    def spread(self, other: Elementwise) -> Vector:
        """Numbers of the same rows."""
        if isinstance(other, Rows) and other.holders.layout.slots == self.holders.layout.slots:
            return other.vector
        raise refuse("no numbers of these rows", got=described(other), expected=self.words)

    def whole(self, function: Joined) -> Rows:
        """Combine the threads' parts of each row by `function`; all threads of the row get the
        result.

        All threads of the warp execute it.  `function` is associative and commutative.

        Raises: InputError where several warps share a row.
        """
        holders = self.holders
        if holders.across or any(bit >> _WARP_BITS for bit in holders.layout.sharing):
            got = f"{holders.layout.rows} rows in warps side by side"
            expected = "warp_tile(…, warps=(rows, 1))"
            hint = "a reduction across warps goes through shared memory"
            raise refuse("rows that several warps share", got=got, expected=expected, hint=hint)
        numbers, function = list(self.vector), function_of(function)
        exchange = self.builder.shfl_sync
        for bit in holders.layout.sharing:
            numbers = [function(x, exchange(Shuffle.BFLY, x, bit)) for x in numbers]  # type: ignore[type-var]  # of either type
        return self.made(vector_of(numbers)) if holders.layout.sharing else self

    def items(self) -> Iterator[tuple[Int, Number]]:
        """Each row's index in the matrix, with the thread's number for it."""
        row, _ = self.holders.corner()
        for down, number in zip(self.holders.layout.slots, self.vector, strict=True):
            yield row + down if down else row, number


@guarded
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Columns(OfThreads):
    """A number for each column of a matrix that a thread has elements of: a bias, say."""

    kind: ClassVar[str] = "columns"

    def spread(self, other: Elementwise) -> Vector:
        """Numbers of the same columns."""
        if isinstance(other, Columns) and other.holders.layout == self.holders.layout:
            return other.vector
        raise refuse("no numbers of these columns", got=described(other), expected=self.words)


# ---- A of a multiply ---------------------------------------------------------------------------


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class RegisterTile:
    """A in registers: `fragments[i][s]` are the four of rows i·`each` and following, and of step s
    of K.

    A register holds 32 bits of a row along K, laid out as in the manual's figures of A. One
    multiply has `each` rows: 64 of a warpgroup, 16 of a warp.
    """

    fragments: tuple[tuple[Vector, ...], ...]
    dtype: ElementType
    each: int = WARPGROUP_ROWS

    def __repr__(self) -> str:
        fragments = f"{len(self.fragments)} times {len(self.fragments[0])} fragments"
        return f"<A in registers: {self.m}x{self.k} of {self.dtype.value}, {fragments}>"

    @property
    def m(self) -> int:
        """Rows."""
        return len(self.fragments) * self.each

    @property
    def k(self) -> int:
        """Columns."""
        return len(self.fragments[0]) * 256 // self.dtype.bits

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.dtype.bits

    @property
    def builder(self) -> Host:
        """The kernel that it is of."""
        return self.fragments[0][0].builder
