"""Numbers that several threads hold as a layout says: those of a matrix's rows, and of its columns.

Layer: nvgen.builder.  What is computed along a row is joined by shuffles between the threads that
share the row.  PTX ISA, shfl.sync.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias

from llvmlite import ir

from intrinsics.modifiers import Shuffle
from nvgen.builder.fragment_layouts import Holders
from nvgen.builder.numbers import Float, Int, Number
from nvgen.builder.refusals import described, function_of, refuse
from nvgen.builder.shared_memory import SharedMemory
from nvgen.builder.vectors import Elementwise, Vector, vector_of

Joined: TypeAlias = Callable[[Number, Number], Number]
"""What makes one number of two, whatever their order."""

_WARP_BITS = 5
_WORD = 32


@dataclass(frozen=True, slots=True, eq=False)
class OfThreads(Elementwise):
    """Numbers that several threads hold, as a layout says."""

    vector: Vector = field()
    holders: Holders

    @property
    def builder(self) -> SharedMemory:
        """The kernel that it is of."""
        return self.holders.builder

    @property
    def value(self) -> ir.Value:
        """A thread's numbers as llvmlite's."""
        return self.vector.value

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is, in words."""

    def like(self, value: ir.Value) -> Self:
        """Other values of llvmlite's as such numbers."""
        return replace(self, vector=self.vector.like(value))

    def taken(self, other: object) -> ir.Value:
        """Numbers of the same layout and type, or one number for all, as llvmlite's.

        Raises: InputError for anything else.
        """
        found = self._operand(other).typed
        return self.builder.at_caller().bitcast(found, self.vector.value.type)

    def made(self, vector: Vector) -> Self:
        """Other numbers in the same layout."""
        return replace(self, vector=vector)


@dataclass(frozen=True, slots=True, eq=False)
class Rows(OfThreads):
    """A number for each row of a matrix that a thread has elements of.

    All threads that share a row hold the same number, but for what `row_reduce(…, whole=False)`
    gives, which is a thread's part until `whole` joins them.
    """

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"rows: {self.vector.words}"

    def __repr__(self) -> str:
        return f"<{self.words}; layout {self.holders.layout}>"

    def spread(self, other: Elementwise) -> Vector:
        """Numbers of the same rows.

        Raises: InputError for anything else.
        """
        if isinstance(other, Rows) and other.holders.layout.slots == self.holders.layout.slots:
            return other.vector
        raise refuse("no numbers of these rows", got=described(other), expected=self.words)

    def whole(self, function: Joined) -> Rows:
        """What `function` makes of the parts that threads hold of a row: all get it.

        All threads of the warp come here.  `function` does not ask for an order.

        Raises: InputError where several warps hold a row.
        """
        holders = self.holders
        if holders.across or any(bit >> _WARP_BITS for bit in holders.layout.sharing):
            raise refuse(
                "rows that several warps share",
                got=f"{holders.layout.rows} rows in warps side by side",
                expected="warp_tile(…, warps=(rows, 1))",
                hint="a reduction across warps goes through shared memory",
            )
        numbers, function = list(self.vector), function_of(function)
        for bit in holders.layout.sharing:
            numbers = [function(x, self._exchanged(x, bit)) for x in numbers]
        return self.made(vector_of(numbers)) if holders.layout.sharing else self

    def _exchanged(self, number: Number, bit: int) -> Number:
        """The number of the thread whose number differs in a bit."""
        if number.bits != _WORD:
            raise refuse("numbers of 32 bits are exchanged", got=number.words, expected="f32")
        b = self.builder
        word = number.word if isinstance(number, Float) else Int(b, number.value)
        found = b.shfl_sync(Shuffle.BFLY, word, bit)
        return number.like(b.at_caller().bitcast(found.value, number.value.type))

    def items(self) -> Iterator[tuple[Int, Number]]:
        """Each row's number in the matrix, with what the thread holds for it."""
        row, _ = self.holders.place()
        for down, number in zip(self.holders.layout.slots, self.vector, strict=True):
            yield row + down if down else row, number


@dataclass(frozen=True, slots=True, eq=False)
class Columns(OfThreads):
    """A number for each column of a matrix that a thread has elements of: a bias, say."""

    @property
    def words(self) -> str:
        """What it is, in words."""
        return f"columns: {self.vector.words}"

    def __repr__(self) -> str:
        return f"<{self.words}; layout {self.holders.layout}>"

    def spread(self, other: Elementwise) -> Vector:
        """Numbers of the same columns.

        Raises: InputError for anything else.
        """
        if isinstance(other, Columns) and other.holders.layout == self.holders.layout:
            return other.vector
        raise refuse("no numbers of these columns", got=described(other), expected=self.words)
