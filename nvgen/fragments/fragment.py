"""Matrices in the registers of several threads.

Layer: nvgen.fragments.  A fragment is a value: what an accumulator holds at a place of the kernel,
or what was computed of it.  Which elements a thread has is its layout's; reductions along a row
take those of a thread, and `Rows` joins them.  PTX ISA, Register Fragments of wgmma.mma_async;
Matrix Fragments for mma; tcgen05.ld.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeVar, overload, runtime_checkable

from intrinsics.element import ElementType
from intrinsics.layouts.register_layout import (
    FragmentLayout,
    operand_layout,
    sources,
)
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Shuffle
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, function_of, refuse
from nvgen.fragments.column_reductions import reduced_columns
from nvgen.fragments.layouts import (
    Condition,
    Joined,
    OfThreads,
    RegisterTile,
    load_from_memory,
    load_from_tile,
    store,
    store_in_tile,
    store_through,
)
from nvgen.fragments.operand_bytes import as_bytes
from nvgen.instructions.control_flow import condition_of
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.number_types import Several
from nvgen.values.numbers import Int, IntLike, Number
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Elementwise, Vector, as_words, greater, joined, vector_of

_WARP_BITS = 5


@guarded
@dataclass(frozen=True, slots=True, eq=False)
class Fragment(OfThreads):
    """A matrix in registers; operators go element by element.

    The other operand is a fragment of the same layout, `Rows` or `Columns` of it, which are
    broadcast along the rows or the columns, or one number for all.
    """

    @property
    def layout(self) -> FragmentLayout:
        """Which elements each thread holds."""
        return self.holders.layout

    @property
    def words(self) -> str:
        """A description for messages and `repr`."""
        return f"{self.layout.rows}x{self.layout.columns}, {self.vector.words}"

    def __repr__(self) -> str:
        held = self.vector.type.value if self.vector.type else "registers"
        return f"<matrix of {held}; layout {self.layout}>"

    def spread(self, other: Elementwise) -> Vector:
        """A matrix of the same layout, or the numbers of its rows or columns along them."""
        found = _along(self.layout, other)
        if found is None:
            got = other.words if isinstance(other, OfThreads) else described(other)
            raise refuse("another layout", got=got, expected=f"{self.words}, or rows of it")
        return found

    def _operand(self, other: object) -> Vector:
        """The other side, of an accumulator what it holds."""
        return Elementwise._operand(self, _held(other))

    # ---- places ------------------------------------------------------------------------------

    def coordinates(self) -> list[tuple[Int, Int]]:
        """The row and the column of each of the thread's elements, as unsigned integers."""
        row, column = self.holders.corner()
        places = zip(self.layout.down, self.layout.along, strict=True)
        return [(row + down, column + along) for down, along in places]

    def where(
        self, condition: Condition, otherwise: Number | float, *, of: Rows | None = None
    ) -> Fragment:
        """The matrix with `otherwise` in place of each element where `condition(row, column)` does
        not hold.

        `acc.where(lambda row, column: column <= row, -math.inf)` is a causal mask.  With `of`
        (`Rows`) `condition` gets the row's number of these in place of the row.

        Raises: InputError for a number of another type, and for `Rows` of another layout.
        """
        b, condition = self.builder, function_of(condition, "row", "column")
        places = self.coordinates()
        if of is not None:
            spread = zip(self._of_rows(of), places, strict=True)
            places = [(number, column) for number, (_, column) in spread]
        kept = [
            number.like(
                b.at_caller().select(
                    condition_of(condition(row, column)), number.value, number.taken(otherwise)
                )
            )
            for number, (row, column) in zip(self.vector, places, strict=True)
        ]
        return self.made(vector_of(kept))

    def _of_rows(self, rows: Rows) -> list[Int]:
        """The integer of each element's row."""
        slots, found = self.layout.slots, rows.vector if isinstance(rows, Rows) else ()
        numbers = [number for number in found if isinstance(number, Int)]
        if len(numbers) != len(slots) or rows.holders.layout.slots != slots:
            raise refuse("no integers of these rows", got=described(rows), expected="s.rows(…)")
        return [numbers[slot] for slot in self.layout.slot_of]

    def map_at(self, function: Callable[[Number, Int, Int], Number]) -> Fragment:
        """Apply `function(element, row, column)` to each element."""
        made = function_of(function, "element", "row", "column")
        pairs = zip(self.vector, self.coordinates(), strict=True)
        return self.made(vector_of([made(x, row, column) for x, (row, column) in pairs]))

    # ---- rows --------------------------------------------------------------------------------

    def scale_rows(self, factors: Rows) -> Fragment:
        """Multiply each row by its factor."""
        return self * factors

    def row_reduce(self, function: Joined, *, whole: bool = True) -> Rows:
        """Each row's elements combined by `function`, in no fixed order.

        Without `whole` each thread combines its own elements only, without a shuffle.

        Raises: InputError where several warps share a row.
        """
        numbers, function = list(self.vector), function_of(function, "x", "y")
        parts = [
            joined([x for x, s in zip(numbers, self.layout.slot_of, strict=True) if s == slot],
                    function)
            for slot in range(len(self.layout.slots))
        ]  # fmt: skip
        found = Rows(vector_of(parts), self.holders)
        return found.whole(function) if whole else found

    def row_max(self, *, whole: bool = True) -> Rows:
        """The maximum of each row; see `row_reduce`."""
        return self.row_reduce(greater, whole=whole)

    def row_sum(self, *, whole: bool = True) -> Rows:
        """The sum of each row; see `row_reduce`."""
        return self.row_reduce(_sum, whole=whole)

    def rows(self, function: Callable[[Int], Number] | float) -> Rows:
        """A number for each row: `function(row)`, or the same number for all.

        Raises: InputError where it does not give numbers of one type.
        """
        if not callable(function):
            count = len(self.layout.slots)
            return Rows(self.vector.taken_apart([0] * count).splat(function), self.holders)
        row, _ = self.holders.corner()
        made = function_of(function, "row")
        numbers = [made(row + down if down else row) for down in self.layout.slots]
        return Rows(vector_of(numbers), self.holders)

    def columns(self, function: Callable[[Int], Number]) -> Columns:
        """A number for each column, `function(column)`: a bias, say.

        `sums + sums.columns(lambda column: bias[column])` loads each number once for all rows.

        Raises: InputError where it does not give numbers of one type.
        """
        _, column = self.holders.corner()
        made = function_of(function, "column")
        numbers = [made(column + along if along else column) for along in self.layout.column_slots]
        return Columns(vector_of(numbers), self.holders)

    def column_reduce(self, function: Joined, *, barrier: IntLike | None = None) -> Columns:
        """Each column's elements combined by `function`, in no fixed order.

        All threads that hold the matrix execute it, and those of a column get the result.  The
        warps of a warpgroup's matrix meet twice, at `barrier`, as in `b.cta_reduce`.

        Raises: InputError for a matrix that `warp_tile` divides among warps, and for a warpgroup
        without a barrier.
        """
        return Columns(vector_of(reduced_columns(self, function, barrier)), self.holders)

    def column_sum(self, *, barrier: IntLike | None = None) -> Columns:
        """The sum of each column, the gradient of a bias, say; see `column_reduce`."""
        return self.column_reduce(_sum, barrier=barrier)

    def part_of_columns(self, first: int, columns: int) -> Fragment:
        """Columns `first` to `first + columns` - 1 as a matrix, which counts them from 0.

        An epilogue of 256 columns goes through a tile of 64 in four parts.

        Raises: InputError for columns that not all threads hold alike, or out of range: with wgmma
        and mma.sync multiples of eight.
        """
        layout = self.layout
        there = [e for e, along in enumerate(layout.along) if 0 <= along - first < columns]
        part = replace(
            layout,
            columns=columns,
            down=tuple(layout.down[e] for e in there),
            along=tuple(layout.along[e] - first for e in there),
        )
        even = part.count * layout.columns == layout.count * columns
        within = even and part.along and max(part.along) + sum(part.column_bits) < columns
        if self.holders.first is not None or not within or first + columns > layout.columns:
            got = f"{columns} from {first} on"
            expected = f"multiples of eight within {layout.columns}, not shared by warps"
            raise refuse("no such part of the columns", got=got, expected=expected)
        held = self.vector.taken_apart(there)
        return Fragment(held, replace(self.holders, layout=part))

    # ---- elsewhere ---------------------------------------------------------------------------

    def as_a_operand(self, dtype: ElementType | None = None) -> RegisterTile:
        """The matrix as A of a multiply by the same threads, rounded to `dtype` if that is given.

        Raises: InputError for a type that no multiply has, for K that is not a multiple of the
        instruction's, and where a thread does not hold the elements of A that it must give: 8-bit
        types have another layout in A than in D.
        """
        made = self if dtype is None else self.to(dtype)
        type_, layout = made.vector.type, self.layout
        element = element_of_a(made.vector)
        steps = layout.columns * type_.bits // 256 if type_ else 0
        if element is None or self.holders.across or steps * 256 != layout.columns * element.bits:
            expected = "f16 or bf16, whole steps of 32 bytes along K, not shared by warps"
            raise refuse("no A of a multiply", got=made.words, expected=expected)
        wanted = operand_layout(layout.threads, element.bits)
        typed, fragments = made.vector, []
        for row in range(0, layout.rows, wanted.rows):
            line = []
            for step in range(steps):
                found = sources(layout, wanted, row, step * wanted.columns)
                if not found:
                    raise refuse(
                        f"threads do not hold their part of A in {element.value}",
                        got=made.words,
                        expected="f16 or bf16 in the layout of wgmma or mma.sync",
                        hint="as_tile(…) stores it for a multiply that reads shared memory; one "
                        "into tensor memory takes the matrix itself: b.gemm(d, p.to(bf16), v)",
                    )
                line.append(as_words(typed.taken_apart(found)))
            fragments.append(tuple(line))
        return RegisterTile(tuple(fragments), element, wanted.rows)

    as_bytes = as_bytes

    def as_rows_of(self, whole: Fragment) -> Fragment:
        """A warp's own matrix as its rows of a warpgroup's matrix.

        D of mma.sync has the layout of a warp's rows of wgmma's D.

        Raises: InputError where the threads do not hold the same elements.
        """
        mine, theirs = self.layout, whole.layout
        lanes = len(mine.row_bits)
        same = (mine.row_bits, mine.column_bits, mine.down, mine.along) == (
            theirs.row_bits[:lanes], theirs.column_bits[:lanes], theirs.down, theirs.along
        )  # fmt: skip
        if not same or self.vector.type is not whole.vector.type:
            raise refuse("no rows of that matrix", got=self.words, expected=whole.words)
        return whole.made(self.vector)

    def as_tile(self, tile: SharedTile | TakesFragment, *, first: int = 0) -> None:
        """Store the matrix into a tile of the same shape in shared memory, swizzled; by stmatrix
        where possible (16-bit elements, sm_90 and later).

        Rows of the matrix are rows of the tile, K- or MN-major: into `tile.transposed` it goes
        transposed.  All threads that hold the matrix execute it,
        without a barrier: `fence_proxy_async` and a barrier follow.

        A fragment that was loaded from tensor memory may be stored to an accumulator there, or
        rounded into an A, from its column `first` on; the store is waited for.

        Raises: InputError for a tile of another shape or type, or with elements of less than a
        byte.
        """
        if isinstance(tile, TakesFragment):
            tile.take_fragment(self, first)
            return
        store_in_tile(self, tile)

    def from_tile(self, tile: SharedTile) -> Fragment:
        """A matrix of this layout: what a tile of this shape in shared memory holds, by ldmatrix
        where possible (16-bit elements).

        `sums + sums.from_tile(c_tile).to(f32)` adds a C that came by TMA.  Rows of the matrix are
        rows of the tile.  All threads that hold the matrix execute it, without a barrier.

        Raises: InputError for a tile of another shape, or with elements of less than a byte.
        """
        return self.made(load_from_tile(self.holders, tile))

    def from_memory(self, source: Pointer, pitch: IntLike, *, align: int | None = None) -> Fragment:
        """A matrix of this layout: what memory holds, its rows `pitch` elements apart.

        `sums + sums.from_memory(residual.at(corner), n).to(f32)` adds one of another type.  `align`
        (bytes) is the known alignment of rows, which bounds the width of a load.

        Raises: InputError for a pointer without a number type, and an alignment that is not a power
        of two.
        """
        return self.made(load_from_memory(self.holders, source, pitch, align))

    store, store_through = store, store_through


Numbers = TypeVar("Numbers", bound="Rows | Columns")

if TYPE_CHECKING:  # what operators of rows and columns give

    @overload
    def _operator(self: Rows, other: Columns | Fragment) -> Fragment: ...

    @overload
    def _operator(self: Columns, other: Rows | Fragment) -> Fragment: ...

    @overload
    def _operator(self: Rows, other: Rows | Number | float) -> Rows: ...

    @overload
    def _operator(self: Columns, other: Columns | Number | float) -> Columns: ...

    def _operator(self: object, other: object) -> object: ...


@guarded
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows(OfThreads):
    """A number for each row of a matrix that a thread has elements of.

    All threads that share a row hold the same number, except after `row_reduce(…, whole=False)`:
    then each has its own part, until `whole` combines them.  With `Columns` or a matrix operators
    give a matrix: `(rows - columns).ex2()`.
    """

    kind: ClassVar[str] = "rows"

    def beside(self, other: object) -> Self:
        """Beside a matrix or its columns a matrix of the same layout; else itself."""
        return _matrix(self, other)

    if TYPE_CHECKING:
        __add__ = __sub__ = __mul__ = __truediv__ = min = max = _operator  # type: ignore[assignment]

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
            hint = "across warps it goes through shared memory; d.apply(…) gets parts of rows"
            raise refuse("rows that several warps share", got=got, expected=expected, hint=hint)
        numbers, function = list(self.vector), function_of(function, "x", "y")
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
    """A number for each column of a matrix that a thread has elements of: a bias, say.

    With `Rows` or a matrix operators give a matrix.
    """

    kind: ClassVar[str] = "columns"

    def beside(self, other: object) -> Self:
        """Beside a matrix or its rows a matrix of the same layout; else itself."""
        return _matrix(self, other)

    if TYPE_CHECKING:
        __add__ = __sub__ = __mul__ = __truediv__ = min = max = _operator  # type: ignore[assignment]

    def spread(self, other: Elementwise) -> Vector:
        """Numbers of the same columns."""
        if isinstance(other, Columns) and other.holders.layout == self.holders.layout:
            return other.vector
        raise refuse("no numbers of these columns", got=described(other), expected=self.words)


def _along(layout: FragmentLayout, other: object) -> Vector | None:
    """The numbers of a matrix of a layout, or those of its rows or columns along them."""
    if isinstance(other, Fragment) and other.layout == layout:
        return other.vector
    if isinstance(other, Rows) and other.holders.layout.slots == layout.slots:
        return other.vector.taken_apart(layout.slot_of)
    if isinstance(other, Columns) and other.holders.layout == layout:
        return other.vector.taken_apart(layout.column_slot_of)
    return None


def element_of_a(numbers: Vector) -> ElementType | None:
    """The type of elements of A that numbers are; None for numbers that no multiply has."""
    return next((e for e in ElementType if numbers.type and e.value == numbers.type.value), None)


def _held(other: object) -> object:
    """The other operand, of an accumulator what it holds."""
    is_held = isinstance(other, Several) and not isinstance(other, Elementwise)
    return getattr(other, "fragment", other) if is_held else other


def _matrix(mine: Numbers, other: object) -> Numbers:
    """Rows or columns along a matrix: of the other operand, or of both together."""
    other = _held(other)
    if type(other) is type(mine) or not isinstance(other, OfThreads):
        return mine
    holders = mine.holders if isinstance(other, Rows) else other.holders
    found = _along(holders.layout, mine)
    return mine if found is None else Fragment(found, holders)  # type: ignore[return-value]  # see `_operator`


@runtime_checkable
class TakesFragment(Protocol):
    """What a matrix may be stored in by its own instructions: D or A in tensor memory."""

    def take_fragment(self, fragment: Fragment, first: int) -> None:
        """Store columns, from the column `first` on, and wait until they are there."""


def _sum(a: Number, b: Number) -> Number:
    return a + b  # type: ignore[operator, arg-type]  # both are of one type
