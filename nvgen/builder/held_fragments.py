"""Accumulators in registers as matrices: what they hold at a place of the kernel, and assignment.

Layer: nvgen.builder.  An accumulator is a variable whose value is a fragment; its operators are
those of the fragment that it holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from llvmlite import ir

from intrinsics.element import ElementType
from nvgen.builder.fragments import Condition, Fragment, Holders, Joined, Rows
from nvgen.builder.number_types import element_of, llvm_type_of, scalar_type
from nvgen.builder.numbers import Int, IntLike, Number
from nvgen.builder.pointers import Pointer
from nvgen.builder.regions import Changing
from nvgen.builder.register_operands import RegisterTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.vectors import Elementwise, Vector

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder


class HeldFragment(ABC):
    """The operations of the `fragment` that an accumulator holds; each says what it raises there.

    Of wgmma it means something behind a wait for the multiplies that wrote it.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def fragment(self) -> Fragment:
        """What it holds at this place of the kernel."""

    @abstractmethod
    def set(self, value: object) -> None:
        """Assign a matrix of the same layout and type, or one number for all elements."""

    def __add__(self, other: Elementwise | HeldFragment | Number | float) -> Fragment:
        return self.fragment + _fragment_of(other)

    def __sub__(self, other: Elementwise | HeldFragment | Number | float) -> Fragment:
        return self.fragment - _fragment_of(other)

    def __mul__(self, other: Elementwise | HeldFragment | Number | float) -> Fragment:
        return self.fragment * _fragment_of(other)

    def __truediv__(self, other: Elementwise | HeldFragment | Number | float) -> Fragment:
        return self.fragment / _fragment_of(other)

    def __neg__(self) -> Fragment:
        return -self.fragment

    def map(self, function: Callable[[Number], Number]) -> Fragment:
        """What `function` makes of each element."""
        return self.fragment.map(function)

    def to(self, dtype: object) -> Fragment:
        """The elements in another type."""
        return self.fragment.to(dtype)

    def coordinates(self) -> list[tuple[Int, Int]]:
        """The row and the column of each of the thread's elements."""
        return self.fragment.coordinates()

    def where(self, condition: Condition, otherwise: Number | float) -> Fragment:
        """The elements for whose row and column `condition` holds, `otherwise` for the others."""
        return self.fragment.where(condition, otherwise)

    def scale_rows(self, factors: Rows) -> Fragment:
        """Each row times its factor."""
        return self.fragment.scale_rows(factors)

    def row_reduce(self, function: Joined, *, whole: bool = True) -> Rows:
        """What `function` makes of all elements of a row."""
        return self.fragment.row_reduce(function, whole=whole)

    def row_max(self, *, whole: bool = True) -> Rows:
        """The greatest element of each row."""
        return self.fragment.row_max(whole=whole)

    def row_sum(self, *, whole: bool = True) -> Rows:
        """The sum of each row."""
        return self.fragment.row_sum(whole=whole)

    def rows(self, function: Callable[[Int], Number] | float) -> Rows:
        """A number for each row."""
        return self.fragment.rows(function)

    def as_a_operand(self, dtype: ElementType | None = None) -> RegisterTile:
        """The matrix as A of a multiply by the same threads."""
        return self.fragment.as_a_operand(dtype)

    def as_tile(self, tile: SharedTile) -> None:
        """Store the matrix into a tile in shared memory, in the tile's type."""
        self.fragment.as_tile(tile)

    def store(self, target: Pointer, pitch: IntLike, *, where: Condition | None = None) -> None:
        """Store the matrix to memory, row by row."""
        self.fragment.store(target, pitch, where=where)


def _fragment_of(
    other: Elementwise | HeldFragment | Number | float,
) -> Elementwise | Number | float:
    return other.fragment if isinstance(other, HeldFragment) else other


def kernel_of(part: Changing) -> KernelBuilder:
    """The kernel that an accumulator is of."""
    from nvgen.builder.kernel import KernelBuilder

    assert isinstance(part.builder, KernelBuilder)
    return part.builder


def held(
    builder: KernelBuilder, values: Sequence[ir.Value], dtype: ElementType, holders: Holders
) -> Fragment:
    """The parts of an accumulator, one after the other, as a matrix."""
    type_ = element_of(scalar_type(dtype))
    count = holders.layout.count
    llvm = ir.VectorType(llvm_type_of(type_), count // len(values))
    typed = [builder.at_caller().bitcast(value, llvm) for value in values]
    return Fragment(Vector(builder, _joined(builder, typed), count, type_), holders)


def assign(parts: Sequence[Changing], value: ir.Value) -> None:
    """Give each part of an accumulator its elements."""
    builder, i32 = parts[0].builder, ir.IntType(32)
    size = value.type.count // len(parts)
    for number, part in enumerate(parts):
        piece = value
        if len(parts) > 1:
            wanted = [ir.Constant(i32, number * size + i) for i in range(size)]
            mask = ir.Constant(ir.VectorType(i32, size), wanted)
            undefined = ir.Constant(value.type, ir.Undefined)
            piece = builder.at_caller().shuffle_vector(value, undefined, mask)
        part.raw = builder.at_caller().bitcast(piece, part.raw.type)


def _joined(builder: KernelBuilder, values: Sequence[ir.Value]) -> ir.Value:
    """Vectors of one type, one behind the other."""
    if len(values) == 1:
        return values[0]
    i32, size = ir.IntType(32), values[0].type.count
    at_caller = builder.at_caller()
    if len(values) & len(values) - 1 == 0:
        wanted = [ir.Constant(i32, i) for i in range(2 * size)]
        mask = ir.Constant(ir.VectorType(i32, 2 * size), wanted)
        pairs = zip(values[::2], values[1::2], strict=True)
        return _joined(builder, [at_caller.shuffle_vector(a, b, mask) for a, b in pairs])
    whole = ir.VectorType(values[0].type.element, size * len(values))
    found: ir.Value = ir.Constant(whole, ir.Undefined)
    for number, value in enumerate(values):
        for i in range(size):
            element = at_caller.extract_element(value, ir.Constant(i32, i))
            found = at_caller.insert_element(found, element, ir.Constant(i32, number * size + i))
    return found
