"""A module of LLVM IR as light records.

Layer: isel.llvm (standard library only). Input: fields, as the reader finds them in LLVM's printed
text. Output: `Module`, `Function`, `Block` and one class per shape of instruction.  Operands are in
`values`, types in `types`, enums in `vocabulary`, attribute sets in `attributes`.

Records are mutable and cheap to make.  Every instruction has

  `opcode`;
  `result`, its name, None when it gives no value;
  `type`, of the result;
  `line` in the printed text, from 1;
  `ordinal`, its index in the function, from 0;
  `dbg`, the id of its debug location, or None;
  `metadata`, its other attachments in order: a kind, and a node's id, or the text of an inline one.

`operands()` are its values in LLVM's order, without blocks; `targets()` its successor blocks.  One
class per instruction: this is one table, whatever its length.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.types import PTR, VOID, FunctionType, OpaqueType, StructType, Type
from isel.llvm.values import GlobalRef, Null, Value
from isel.llvm.vocabulary import (
    C_CALLING_CONVENTION,
    Flag,
    FloatPredicate,
    IntPredicate,
    Linkage,
    Opcode,
    Ordering,
    RMWOperation,
    StorageClass,
    TailKind,
    UnnamedAddr,
    Visibility,
)

Attachment = tuple[str, int | str]
Attachments = tuple[Attachment, ...]

# The fields of `Instruction` but for `type`, in order: what a record begins with.
Common = tuple[Opcode, str | None, int, int, int | None, Attachments]


@dataclass(slots=True)
class Instruction:
    """What every instruction has."""

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
        """The one operand."""
        return (self.operand,)


@dataclass(slots=True)
class Cast(Instruction):
    """`zext nneg T operand to U`; `type` is U."""

    operand: Value
    flags: frozenset[Flag]

    def operands(self) -> tuple[Value, ...]:
        """The one operand."""
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
        """The one operand."""
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


@dataclass(frozen=True, slots=True)
class Bundle:
    """`"tag"(operands)` of a call."""

    tag: str
    operands: tuple[Value, ...]


@dataclass(slots=True)
class CallBase(Instruction):
    """What `call` and `invoke` share; `type` is what the callee returns.

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
    def function_type(self) -> FunctionType:
        """The type under which the callee is called."""
        if self.vararg_type is not None:
            return self.vararg_type
        return FunctionType(self.type, tuple(a.type for a in self.arguments))

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
        """Where it returns to, and where an exception goes."""
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
        """The one target."""
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


@dataclass(slots=True)
class Block:
    """A basic block; an unnamed one has the number that LLVM gives it, as its name."""

    name: str
    instructions: list[Instruction]


@dataclass(slots=True)
class Param:
    """A parameter; a declaration's have no names."""

    name: str
    type: Type
    attributes: Attributes


@dataclass(slots=True)
class Symbol:
    """What globals, functions, aliases and ifuncs share; `line` is in the printed text, from 1.

    `dso_local` is the word; LLVM leaves it out where linkage or visibility implies it.
    """

    name: str
    line: int
    linkage: Linkage = Linkage.EXTERNAL
    visibility: Visibility = Visibility.DEFAULT
    storage_class: StorageClass = StorageClass.DEFAULT
    dso_local: bool = False
    unnamed_addr: UnnamedAddr = UnnamedAddr.NONE
    address_space: int = 0
    section: str = ""
    partition: str = ""
    comdat: str = ""
    alignment: int | None = None
    metadata: Attachments = ()

    def attachment(self, kind: str) -> int | str | None:
        """The node attached as `kind` (`dbg` too): its id, or the text of one written in place."""
        return dict(self.metadata).get(kind) if self.metadata else None


@dataclass(slots=True)
class GlobalVariable(Symbol):
    """`@name = … global T initializer, …`; a declaration's initializer is None.

    `thread_local` is "" for an ordinary variable, else the model ("generaldynamic" when LLVM prints
    none); `sanitizer` holds the words `no_sanitize_address` and its like.
    """

    value_type: Type = VOID
    initializer: Value | None = None
    is_constant: bool = False
    externally_initialized: bool = False
    thread_local: str = ""
    code_model: str = ""
    sanitizer: tuple[str, ...] = ()
    attributes: Attributes = NO_ATTRIBUTES

    @property
    def is_declaration(self) -> bool:
        """Whether the variable is defined in another module."""
        return self.initializer is None


@dataclass(slots=True)
class Alias(Symbol):
    """`@name = alias T, aliasee`, or with `ifunc` its resolver."""

    value_type: Type = VOID
    target: Value = field(default_factory=lambda: Null(PTR))
    thread_local: str = ""
    is_ifunc: bool = False


@dataclass(slots=True)
class Function(Symbol):
    """A declaration or a definition; `attributes` are those of its `#N` groups together."""

    return_type: Type = VOID
    params: list[Param] = field(default_factory=list)
    vararg: bool = False
    blocks: list[Block] = field(default_factory=list)
    attributes: Attributes = NO_ATTRIBUTES
    return_attributes: Attributes = NO_ATTRIBUTES
    calling_convention: str = C_CALLING_CONVENTION
    is_declaration: bool = True
    gc: str = ""
    prefix: Value | None = None
    prologue: Value | None = None
    personality: Value | None = None

    @property
    def function_type(self) -> FunctionType:
        """The function's type."""
        return FunctionType(self.return_type, tuple(p.type for p in self.params), self.vararg)

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction, in order of ordinals."""
        return itertools.chain.from_iterable([block.instructions for block in self.blocks])

    def with_blocks(self, blocks: list[Block]) -> Function:
        """A copy with another body."""
        found = self.copier()()
        found.blocks = blocks
        return found

    def copier(self) -> Callable[[], Function]:
        """What makes copies of it, as it is now."""
        return functools.partial(Function, *_FIELDS_OF_FUNCTION(self))


_FIELDS_OF_FUNCTION = operator.attrgetter(*[field.name for field in fields(Function)])


@dataclass(slots=True, weakref_slot=True)
class Module:
    """A module as LLVM printed it.

    `metadata` maps a node's id to its text after `=`; `isel.llvm.metadata` reads it.
    `named_metadata` maps a name to ids, or to the text of nodes written in place.  `functions`
    holds declarations and definitions alike, in order.
    """

    source_filename: str = ""
    data_layout: str = ""
    triple: str = ""
    module_asm: list[str] = field(default_factory=list)
    types: dict[str, StructType | OpaqueType] = field(default_factory=dict)
    comdats: dict[str, str] = field(default_factory=dict)
    globals: dict[str, GlobalVariable] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    attribute_groups: dict[int, Attributes] = field(default_factory=dict)
    named_metadata: dict[str, tuple[int | str, ...]] = field(default_factory=dict)
    metadata: dict[int, str] = field(default_factory=dict)

    def definitions(self) -> Iterator[Function]:
        """The functions that have a body."""
        return (f for f in self.functions.values() if not f.is_declaration)
