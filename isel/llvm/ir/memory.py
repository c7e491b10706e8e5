"""Instructions that read, write or allocate memory.

Layer: isel.llvm (standard library only).  LLVM Language Reference, Memory Access and Addressing
Operations.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.ir.instructions import Instruction
from isel.llvm.types import Type
from isel.llvm.values import Value
from isel.llvm.vocabulary import Flag, Ordering, RMWOperation


@dataclass(slots=True)
class Alloca(Instruction):
    """`alloca T, U count, align N, addrspace(N)`; a count that is not printed is i32 1."""

    allocated_type: Type
    count: Value
    alignment: int | None
    inalloca: bool
    swifterror: bool

    def operands(self) -> tuple[Value, ...]:
        """The count."""
        return (self.count,)


@dataclass(slots=True)
class Load(Instruction):
    """`load atomic volatile T, ptr pointer syncscope("…") ordering, align N`.

    `ordering` is None when the load is not atomic; `scope` is "" for the whole system.
    """

    pointer: Value
    alignment: int | None
    volatile: bool
    ordering: Ordering | None
    scope: str

    def operands(self) -> tuple[Value, ...]:
        """The address."""
        return (self.pointer,)


@dataclass(slots=True)
class Store(Instruction):
    """`store atomic volatile T value, ptr pointer syncscope("…") ordering, align N`."""

    value: Value
    pointer: Value
    alignment: int | None
    volatile: bool
    ordering: Ordering | None
    scope: str

    def operands(self) -> tuple[Value, ...]:
        """The value and the address."""
        return self.value, self.pointer


@dataclass(slots=True)
class GetElementPtr(Instruction):
    """`getelementptr flags T, ptr base, indices`; `type` is a vector if any operand is one."""

    element_type: Type
    base: Value
    indices: tuple[Value, ...]
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """The base and the indices."""
        return self.base, *self.indices


@dataclass(slots=True)
class AtomicRMW(Instruction):
    """`atomicrmw volatile operation ptr pointer, T value syncscope("…") ordering, align N`."""

    operation: RMWOperation
    pointer: Value
    value: Value
    ordering: Ordering
    scope: str
    alignment: int | None
    volatile: bool

    def operands(self) -> tuple[Value, ...]:
        """The address and the value."""
        return self.pointer, self.value


@dataclass(slots=True)
class CompareExchange(Instruction):
    """`cmpxchg weak volatile ptr pointer, T expected, T replacement … success failure, align N`."""

    pointer: Value
    expected: Value
    replacement: Value
    success: Ordering
    failure: Ordering
    scope: str
    alignment: int | None
    weak: bool
    volatile: bool

    def operands(self) -> tuple[Value, ...]:
        """The address, what must be there, and what to put there."""
        return self.pointer, self.expected, self.replacement


@dataclass(slots=True)
class Fence(Instruction):
    """`fence syncscope("…") ordering`."""

    ordering: Ordering
    scope: str


@dataclass(slots=True)
class VAArg(Instruction):
    """`va_arg ptr list, T`."""

    pointer: Value

    def operands(self) -> tuple[Value, ...]:
        """The argument list."""
        return (self.pointer,)
