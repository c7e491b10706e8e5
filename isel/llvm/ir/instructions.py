"""The base of all instructions.

Layer: isel.llvm (standard library only).  LLVM Language Reference, Instruction Reference.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.types import Type
from isel.llvm.values import Value
from isel.llvm.vocabulary import Flag, FloatPredicate, IntPredicate, Opcode

Attachment = tuple[str, int | str]

Attachments = tuple[Attachment, ...]

# The fields of `Instruction` but for `type`, in order: what a record begins with.
Common = tuple[Opcode, str | None, int, int, int | None, Attachments]


@dataclass(slots=True)
class Instruction:
    """The base of all instructions."""

    opcode: Opcode
    result: str | None
    line: int
    ordinal: int
    dbg: int | None
    metadata: Attachments
    type: Type

    def operands(self) -> tuple[Value, ...]:
        """The values it reads, in LLVM's order."""
        return ()

    def targets(self) -> tuple[str, ...]:
        """The blocks it may go to, in LLVM's order."""
        return ()

    @property
    def place(self) -> tuple[int, int, int | None, Attachments]:
        """What instructions have in common that stand for this one: behind opcode and result."""
        return self.line, self.ordinal, self.dbg, ()

    def attachment(self, kind: str) -> int | str | None:
        """The node attached as `kind`: its id, or the text of a node written in place."""
        return dict(self.metadata).get(kind) if self.metadata else None


@dataclass(slots=True)
class BinaryOp(Instruction):
    """`add nsw T lhs, rhs` and its seventeen like."""

    lhs: Value
    rhs: Value
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """Both sides."""
        return self.lhs, self.rhs


@dataclass(slots=True)
class UnaryOp(Instruction):
    """`fneg T operand`."""

    operand: Value
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """Its only operand."""
        return (self.operand,)


@dataclass(slots=True)
class Cast(Instruction):
    """`zext nneg T operand to U`; `type` is U."""

    operand: Value
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """Its only operand."""
        return (self.operand,)


@dataclass(slots=True)
class Compare(Instruction):
    """`icmp slt T lhs, rhs` or `fcmp oeq T lhs, rhs`."""

    predicate: IntPredicate | FloatPredicate
    lhs: Value
    rhs: Value
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """Both sides."""
        return self.lhs, self.rhs


@dataclass(slots=True)
class Freeze(Instruction):
    """`freeze T operand`."""

    operand: Value

    def operands(self) -> tuple[Value, ...]:
        """Its only operand."""
        return (self.operand,)


@dataclass(slots=True)
class Select(Instruction):
    """`select C condition, T if_true, T if_false`; the condition may be a vector."""

    condition: Value
    if_true: Value
    if_false: Value
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """The condition and both choices."""
        return self.condition, self.if_true, self.if_false


@dataclass(slots=True)
class Phi(Instruction):
    """`phi T [ value, %block ], …`."""

    incoming: tuple[tuple[Value, str], ...]
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """The incoming values."""
        return tuple(value for value, _ in self.incoming)
