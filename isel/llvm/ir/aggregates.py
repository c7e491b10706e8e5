"""Instructions on elements of vectors and aggregates.

Layer: isel.llvm (standard library only).  LLVM Language Reference, Vector Operations; Aggregate
Operations.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.ir.instructions import Instruction
from isel.llvm.values import Value


@dataclass(slots=True)
class ExtractElement(Instruction):
    """`extractelement V vector, T index`."""

    vector: Value
    index: Value

    def operands(self) -> tuple[Value, ...]:
        """The vector and the index."""
        return self.vector, self.index


@dataclass(slots=True)
class InsertElement(Instruction):
    """`insertelement V vector, T element, U index`."""

    vector: Value
    element: Value
    index: Value

    def operands(self) -> tuple[Value, ...]:
        """The vector, the new element and the index."""
        return self.vector, self.element, self.index


@dataclass(slots=True)
class ShuffleVector(Instruction):
    """`shufflevector V first, V second, mask`: -1 in the mask is poison."""

    first: Value
    second: Value
    mask: tuple[int, ...]

    def operands(self) -> tuple[Value, ...]:
        """Both vectors."""
        return self.first, self.second


@dataclass(slots=True)
class ExtractValue(Instruction):
    """`extractvalue T aggregate, indices`."""

    aggregate: Value
    indices: tuple[int, ...]

    def operands(self) -> tuple[Value, ...]:
        """The aggregate."""
        return (self.aggregate,)


@dataclass(slots=True)
class InsertValue(Instruction):
    """`insertvalue T aggregate, U element, indices`."""

    aggregate: Value
    element: Value
    indices: tuple[int, ...]

    def operands(self) -> tuple[Value, ...]:
        """The aggregate and the new element."""
        return self.aggregate, self.element
