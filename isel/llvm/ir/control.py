"""Calls and terminators.

Layer: isel.llvm (standard library only).  LLVM Language Reference, Terminator Instructions; call.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.attributes import Attributes
from isel.llvm.ir.instructions import Instruction
from isel.llvm.types import FunctionType
from isel.llvm.values import GlobalRef, Value
from isel.llvm.vocabulary import Flag, TailKind


@dataclass(frozen=True, slots=True)
class Bundle:
    """`"tag"(operands)` of a call."""

    tag: str
    operands: tuple[Value, ...]


@dataclass(slots=True)
class CallBase(Instruction):
    """The base of `call` and `invoke`; `type` is the callee's return type.

    `argument_attributes` holds an entry for the arguments that have attributes only.  `vararg_type`
    is the callee's type when it takes a variable number of arguments.
    """

    callee: Value
    arguments: tuple[Value, ...]
    calling_convention: str
    attributes: Attributes
    return_attributes: Attributes
    argument_attributes: Mapping[int, Attributes]
    bundles: tuple[Bundle, ...]
    vararg_type: FunctionType | None

    @property
    def callee_name(self) -> str | None:
        """The name of the function called; None when it is not called by name."""
        return self.callee.name if isinstance(self.callee, GlobalRef) else None

    def operands(self) -> tuple[Value, ...]:
        """The arguments, the bundles' operands, the callee."""
        bundled = (value for bundle in self.bundles for value in bundle.operands)
        return *self.arguments, *bundled, self.callee


@dataclass(slots=True)
class Call(CallBase):
    """`tail call flags cc T callee(arguments) #N [ bundles ]`."""

    tail: TailKind
    flags: frozenset[Flag]


@dataclass(slots=True)
class Invoke(CallBase):
    """`invoke … to label %normal unwind label %unwind`."""

    normal: str
    unwind: str

    def targets(self) -> tuple[str, ...]:
        """The blocks of the normal return and of the exception."""
        return self.normal, self.unwind


@dataclass(slots=True)
class Return(Instruction):
    """`ret T value` or `ret void`."""

    value: Value | None

    def operands(self) -> tuple[Value, ...]:
        """The value, if any."""
        return () if self.value is None else (self.value,)


@dataclass(slots=True)
class Branch(Instruction):
    """`br label %target`."""

    target: str

    def targets(self) -> tuple[str, ...]:
        """Its only successor."""
        return (self.target,)


@dataclass(slots=True)
class CondBranch(Instruction):
    """`br i1 condition, label %if_true, label %if_false`."""

    condition: Value
    if_true: str
    if_false: str

    def operands(self) -> tuple[Value, ...]:
        """The condition."""
        return (self.condition,)

    def targets(self) -> tuple[str, ...]:
        """The block taken on true, then the other."""
        return self.if_true, self.if_false


@dataclass(slots=True)
class Switch(Instruction):
    """`switch T condition, label %default [ T value, label %block … ]`.

    `is_table` says that the condition is an i32 and one of the cases, which are 0, 1 and so on.
    """

    condition: Value
    default: str
    cases: tuple[tuple[Value, str], ...]
    is_table: bool = False

    def operands(self) -> tuple[Value, ...]:
        """The condition."""
        return (self.condition,)

    def targets(self) -> tuple[str, ...]:
        """The default, then each case's block."""
        return self.default, *(block for _, block in self.cases)


@dataclass(slots=True)
class IndirectBr(Instruction):
    """`indirectbr ptr address, [label %block, …]`."""

    address: Value
    blocks: tuple[str, ...]

    def operands(self) -> tuple[Value, ...]:
        """The address."""
        return (self.address,)

    def targets(self) -> tuple[str, ...]:
        """The blocks listed."""
        return self.blocks


@dataclass(slots=True)
class Unreachable(Instruction):
    """`unreachable`."""


@dataclass(slots=True)
class Unsupported(Instruction):
    """Instructions without a counterpart in PTX: callbr, and exception handling."""

    values: tuple[Value, ...]
    blocks: tuple[str, ...]

    def operands(self) -> tuple[Value, ...]:
        """The values, in LLVM's order."""
        return self.values

    def targets(self) -> tuple[str, ...]:
        """The blocks it may go to."""
        return self.blocks
