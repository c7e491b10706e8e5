"""The complete instruction reader.

Layer: isel.llvm (standard library only). Input: an instruction's text with its continuation lines,
and where it stands. Output: its record.  `read_lines` reads the common shapes faster and must
agree.

A function for each instruction's grammar: this is one table, whatever its length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.ir import (
    Alloca,
    AtomicRMW,
    Attachment,
    Attachments,
    BinaryOp,
    Branch,
    Bundle,
    Call,
    Cast,
    Common,
    Compare,
    CompareExchange,
    CondBranch,
    ExtractElement,
    ExtractValue,
    Fence,
    Freeze,
    GetElementPtr,
    IndirectBr,
    InsertElement,
    InsertValue,
    Instruction,
    Invoke,
    Load,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    UnaryOp,
    Unreachable,
    Unsupported,
    VAArg,
)
from isel.llvm.lexer import Cursor, UnreadableError
from isel.llvm.read_attributes import read_attributes
from isel.llvm.read_types import read_address_space, read_type
from isel.llvm.read_values import (
    address_type,
    read_flags,
    read_inline_asm,
    read_shuffle_mask,
    read_typed_value,
    read_value,
)
from isel.llvm.scope import SymbolTable
from isel.llvm.types import (
    I1,
    I32,
    TOKEN,
    VOID,
    ArrayType,
    FunctionType,
    PointerType,
    StructType,
    Type,
    with_shape_of,
)
from isel.llvm.values import ConstInt, Value
from isel.llvm.vocabulary import (
    BINARY_OPCODES,
    C_CALLING_CONVENTION,
    CALLING_CONVENTIONS,
    CAST_OPCODES,
    Flag,
    FloatPredicate,
    IntPredicate,
    Opcode,
    Ordering,
    RMWOperation,
    TailKind,
)

_OPCODES = {opcode.value: opcode for opcode in Opcode}
ORDERINGS = {ordering.value: ordering for ordering in Ordering}
OPERATIONS = {operation.value: operation for operation in RMWOperation}
_INT_PREDICATES = {predicate.value: predicate for predicate in IntPredicate}
_FLOAT_PREDICATES = {predicate.value: predicate for predicate in FloatPredicate}
_TAILS = {tail.value: tail for tail in TailKind if tail is not TailKind.NONE}


def read_instruction(text: str, scope: SymbolTable, line: int, ordinal: int) -> Instruction:
    """Parse the instruction in `text`."""
    cursor = Cursor(text)
    result: str | None = None
    if cursor.peek(1) == "=":
        result = cursor.name("%")
        cursor.expect("=")
    tail = _TAILS.get(cursor.peek(), TailKind.NONE)
    if tail is not TailKind.NONE:
        cursor.next()
    word = cursor.next()
    if word not in _OPCODES:
        raise UnreadableError(f"no instruction is called {word!r}")
    opcode = _OPCODES[word]
    instruction = _READERS[opcode](cursor, scope, (opcode, result, line, ordinal, None, ()))
    if isinstance(instruction, Call):
        instruction.tail = tail
    _attach(instruction, cursor)
    cursor.expect_end()
    return instruction


def _attach(instruction: Instruction, cursor: Cursor) -> None:
    attachments: list[Attachment] = []
    while cursor.accept(","):
        kind, node = read_attachment(cursor)
        if kind == "dbg" and isinstance(node, int):
            instruction.dbg = node
        else:
            attachments.append((kind, node))
    instruction.metadata = tuple(attachments)


def read_attachment(cursor: Cursor) -> Attachment:
    """`!kind !7`, or `!kind !DIExpression()`."""
    return cursor.name("!"), read_node(cursor)


def read_node(cursor: Cursor) -> int | str:
    """`!7`, as its number, or `!DIExpression()`, as its text."""
    token = cursor.next()
    if token[0] != "!":
        raise UnreadableError(f"expected a node, found {token!r}")
    return int(token[1:]) if token[1:].isdecimal() else token + cursor.group()


def _block(cursor: Cursor) -> str:
    cursor.expect("label")
    return cursor.name("%")


def _blocks(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("[")
    blocks: list[str] = []
    while not cursor.accept("]"):
        if blocks:
            cursor.expect(",")
        blocks.append(_block(cursor))
    return tuple(blocks)


def _unwind(cursor: Cursor) -> tuple[str, ...]:
    """The block that an exception goes to, if it does not go to the caller."""
    cursor.expect("unwind")
    if cursor.accept("to"):
        cursor.expect("caller")
        return ()
    return (_block(cursor),)


def _typed(cursor: Cursor, scope: SymbolTable) -> Value:
    return read_typed_value(cursor, scope)


def _comma_typed(cursor: Cursor, scope: SymbolTable) -> Value:
    cursor.expect(",")
    return read_typed_value(cursor, scope)


# Arithmetic, casts, comparisons.


def _binary(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    lhs = _typed(cursor, scope)
    cursor.expect(",")
    rhs = read_value(cursor, scope, lhs.type)
    return BinaryOp(*at, lhs.type, lhs, rhs, flags)


def _unary(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    operand = _typed(cursor, scope)
    return UnaryOp(*at, operand.type, operand, flags)


def _freeze(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    operand = _typed(cursor, scope)
    return Freeze(*at, operand.type, operand)


def _cast(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    operand = _typed(cursor, scope)
    cursor.expect("to")
    type = read_type(cursor, scope)
    return Cast(*at, type, operand, flags)


def _compare(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    predicate = read_predicate(cursor, at[0])
    lhs = _typed(cursor, scope)
    cursor.expect(",")
    rhs = read_value(cursor, scope, lhs.type)
    type = with_shape_of(I1, lhs.type)
    return Compare(*at, type, predicate, lhs, rhs, flags)


def read_predicate(cursor: Cursor, opcode: Opcode) -> IntPredicate | FloatPredicate:
    """The predicate of a comparison."""
    word = cursor.next()
    if opcode is Opcode.ICMP and word in _INT_PREDICATES:
        return _INT_PREDICATES[word]
    if opcode is Opcode.FCMP and word in _FLOAT_PREDICATES:
        return _FLOAT_PREDICATES[word]
    raise UnreadableError(f"no predicate of {opcode.value} is called {word!r}")


def _select(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    condition = _typed(cursor, scope)
    if_true = _comma_typed(cursor, scope)
    if_false = _comma_typed(cursor, scope)
    return Select(*at, if_true.type, condition, if_true, if_false, flags)


def _phi(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    type = read_type(cursor, scope)
    incoming: list[tuple[Value, str]] = []
    while not incoming or cursor.another():
        cursor.expect("[")
        value = read_value(cursor, scope, type)
        cursor.expect(",")
        incoming.append((value, cursor.name("%")))
        cursor.expect("]")
    return Phi(*at, type, tuple(incoming), flags)


# Memory.


def _alloca(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    inalloca = cursor.accept("inalloca")
    swifterror = cursor.accept("swifterror")
    allocated = read_type(cursor, scope)
    count: Value = ConstInt(I32, 1)
    alignment: int | None = None
    address_space = 0
    while cursor.another():
        if cursor.accept("align"):
            alignment = cursor.integer()
        elif cursor.peek() == "addrspace":
            address_space = read_address_space(cursor)
        else:
            count = _typed(cursor, scope)
    type = PointerType(address_space)
    return Alloca(*at, type, allocated, count, alignment, inalloca, swifterror)


def _load(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    atomic = cursor.accept("atomic")
    volatile = cursor.accept("volatile")
    type = read_type(cursor, scope)
    pointer = _comma_typed(cursor, scope)
    scope_name, ordering = _sync_scope(cursor), _ordering(cursor) if atomic else None
    alignment = _alignment(cursor)
    return Load(*at, type, pointer, alignment, volatile, ordering, scope_name)


def _store(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    atomic = cursor.accept("atomic")
    volatile = cursor.accept("volatile")
    value = _typed(cursor, scope)
    pointer = _comma_typed(cursor, scope)
    scope_name, ordering = _sync_scope(cursor), _ordering(cursor) if atomic else None
    alignment = _alignment(cursor)
    return Store(*at, VOID, value, pointer, alignment, volatile, ordering, scope_name)


def _sync_scope(cursor: Cursor) -> str:
    if not cursor.accept("syncscope"):
        return ""
    cursor.expect("(")
    name = cursor.string()
    cursor.expect(")")
    return name


def _ordering(cursor: Cursor) -> Ordering:
    word = cursor.next()
    if word not in ORDERINGS:
        raise UnreadableError(f"no ordering is called {word!r}")
    return ORDERINGS[word]


def _alignment(cursor: Cursor) -> int | None:
    if not cursor.another():
        return None
    cursor.expect("align")
    return cursor.integer()


def _fence(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    scope_name = _sync_scope(cursor)
    ordering = _ordering(cursor)
    return Fence(*at, VOID, ordering, scope_name)


def _cmpxchg(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    weak = cursor.accept("weak")
    volatile = cursor.accept("volatile")
    pointer = _typed(cursor, scope)
    expected = _comma_typed(cursor, scope)
    replacement = _comma_typed(cursor, scope)
    scope_name = _sync_scope(cursor)
    success, failure = _ordering(cursor), _ordering(cursor)
    alignment = _alignment(cursor)
    type = StructType((expected.type, I1))
    return CompareExchange(
        *at,
        type,
        pointer,
        expected,
        replacement,
        success,
        failure,
        scope_name,
        alignment,
        weak,
        volatile,
    )


def _atomicrmw(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    volatile = cursor.accept("volatile")
    word = cursor.next()
    if word not in OPERATIONS:
        raise UnreadableError(f"no atomic operation is called {word!r}")
    pointer = _typed(cursor, scope)
    value = _comma_typed(cursor, scope)
    scope_name = _sync_scope(cursor)
    ordering = _ordering(cursor)
    alignment = _alignment(cursor)
    return AtomicRMW(
        *at,
        value.type,
        OPERATIONS[word],
        pointer,
        value,
        ordering,
        scope_name,
        alignment,
        volatile,
    )


def _getelementptr(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags = read_flags(cursor)
    element_type = read_type(cursor, scope)
    operands = [_comma_typed(cursor, scope)]
    while cursor.another():
        operands.append(_typed(cursor, scope))
    base, *indices = operands
    return GetElementPtr(
        *at, address_type(tuple(operands)), element_type, base, tuple(indices), flags
    )


def _va_arg(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    pointer = _typed(cursor, scope)
    cursor.expect(",")
    type = read_type(cursor, scope)
    return VAArg(*at, type, pointer)


# Vectors and aggregates.


def _extractelement(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    vector = _typed(cursor, scope)
    index = _comma_typed(cursor, scope)
    type = vector.type.scalar
    return ExtractElement(*at, type, vector, index)


def _insertelement(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    vector = _typed(cursor, scope)
    element = _comma_typed(cursor, scope)
    index = _comma_typed(cursor, scope)
    return InsertElement(*at, vector.type, vector, element, index)


def _shufflevector(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    first = _typed(cursor, scope)
    second = _comma_typed(cursor, scope)
    cursor.expect(",")
    shape, mask = read_shuffle_mask(cursor, scope)
    type = with_shape_of(first.type.scalar, shape)
    return ShuffleVector(*at, type, first, second, mask)


def _indices(cursor: Cursor) -> tuple[int, ...]:
    indices: list[int] = []
    while cursor.another():
        indices.append(cursor.integer())
    return tuple(indices)


def element_type_at(type: Type, indices: tuple[int, ...]) -> Type:
    """The type of the element of an aggregate that the indices lead to."""
    for index in indices:
        match type:
            case StructType():
                type = type.elements[index]
            case ArrayType():
                type = type.element
            case _:
                raise UnreadableError(f"{type} has no elements")
    return type


def _extractvalue(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    aggregate = _typed(cursor, scope)
    indices = _indices(cursor)
    type = element_type_at(aggregate.type, indices)
    return ExtractValue(*at, type, aggregate, indices)


def _insertvalue(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    aggregate = _typed(cursor, scope)
    element = _comma_typed(cursor, scope)
    indices = _indices(cursor)
    return InsertValue(*at, aggregate.type, aggregate, element, indices)


# Calls.


class CallHead(NamedTuple):
    """The part of a call between the opcode and the callee."""

    flags: frozenset[Flag]
    calling_convention: str
    return_attributes: Attributes
    return_type: Type
    vararg_type: FunctionType | None
    callee_type: PointerType


def read_call_head(cursor: Cursor, scope: SymbolTable) -> CallHead:
    """Flags, calling convention, the result's attributes, address space and type."""
    flags = read_flags(cursor)
    convention = read_calling_convention(cursor)
    attributes = read_attributes(cursor, scope)
    callee_type = PointerType(read_address_space(cursor))
    type = read_type(cursor, scope)
    if isinstance(type, FunctionType):
        return CallHead(flags, convention, attributes, type.return_type, type, callee_type)
    return CallHead(flags, convention, attributes, type, None, callee_type)


def read_calling_convention(cursor: Cursor) -> str:
    """A calling convention if one comes next, else C's."""
    word = cursor.peek()
    if word not in CALLING_CONVENTIONS and not (word[:2] == "cc" and word[2:].isdecimal()):
        return C_CALLING_CONVENTION
    cursor.next()
    return word + cursor.group() if cursor.peek() == "(" else word


# The fields of `CallBase`, in order: those of `Instruction`, then its own.
_CallFields = tuple[
    Opcode,
    str | None,
    int,
    int,
    int | None,
    Attachments,
    Type,
    Value,
    tuple[Value, ...],
    str,
    Attributes,
    Attributes,
    dict[int, Attributes],
    tuple[Bundle, ...],
    FunctionType | None,
]


def _call_fields(
    cursor: Cursor, scope: SymbolTable, at: Common
) -> tuple[frozenset[Flag], _CallFields]:
    head = read_call_head(cursor, scope)
    callee: Value
    if cursor.peek() == "asm":
        callee = read_inline_asm(cursor)
    else:
        callee = read_value(cursor, scope, head.callee_type)
    arguments, argument_attributes = _arguments(cursor, scope)
    attributes = read_groups(cursor, scope)
    return head.flags, (
        *at,
        head.return_type,
        callee,
        arguments,
        head.calling_convention,
        attributes,
        head.return_attributes,
        argument_attributes,
        _bundles(cursor, scope),
        head.vararg_type,
    )


def _arguments(
    cursor: Cursor, scope: SymbolTable
) -> tuple[tuple[Value, ...], dict[int, Attributes]]:
    cursor.expect("(")
    arguments: list[Value] = []
    attributes: dict[int, Attributes] = {}
    while not cursor.accept(")"):
        if arguments:
            cursor.expect(",")
        if cursor.accept("..."):  # a musttail call passes on the caller's variable arguments
            cursor.expect(")")
            break
        type = read_type(cursor, scope)
        found = read_attributes(cursor, scope)
        if found:
            attributes[len(arguments)] = found
        arguments.append(read_value(cursor, scope, type))
    return tuple(arguments), attributes


def read_groups(cursor: Cursor, scope: SymbolTable) -> Attributes:
    """The attributes of the groups `#N` at the cursor, together."""
    attributes = NO_ATTRIBUTES
    while cursor.peek()[:1] == "#":
        number = int(cursor.next()[1:])
        if number not in scope.groups:
            raise UnreadableError(f"no attribute group #{number}")
        attributes = attributes.merged(scope.groups[number])
    return attributes


def _bundles(cursor: Cursor, scope: SymbolTable) -> tuple[Bundle, ...]:
    if not cursor.accept("["):
        return ()
    bundles: list[Bundle] = []
    while not cursor.accept("]"):
        if bundles:
            cursor.expect(",")
        tag = cursor.string()
        cursor.expect("(")
        operands: list[Value] = []
        while not cursor.accept(")"):
            if operands:
                cursor.expect(",")
            operands.append(_typed(cursor, scope))
        bundles.append(Bundle(tag, tuple(operands)))
    return tuple(bundles)


def _call(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags, fields = _call_fields(cursor, scope, at)
    return Call(*fields, TailKind.NONE, flags)


def _invoke(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    _, fields = _call_fields(cursor, scope, at)
    cursor.expect("to")
    normal = _block(cursor)
    cursor.expect("unwind")
    return Invoke(*fields, normal, _block(cursor))


def _callbr(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    flags, fields = _call_fields(cursor, scope, at)
    call = Call(*fields, TailKind.NONE, flags)
    cursor.expect("to")
    default = _block(cursor)
    return Unsupported(*at, call.type, call.operands(), (default, *_blocks(cursor)))


# Control flow.


def _ret(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    value: Value | None = None
    if not cursor.accept("void"):
        value = _typed(cursor, scope)
    return Return(*at, VOID, value)


def _br(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    if cursor.peek() == "label":
        target = _block(cursor)
        return Branch(*at, VOID, target)
    condition = _typed(cursor, scope)
    cursor.expect(",")
    if_true = _block(cursor)
    cursor.expect(",")
    if_false = _block(cursor)
    return CondBranch(*at, VOID, condition, if_true, if_false)


def _switch(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    condition = _typed(cursor, scope)
    cursor.expect(",")
    default = _block(cursor)
    cursor.expect("[")
    cases: list[tuple[Value, str]] = []
    while not cursor.accept("]"):
        value = _typed(cursor, scope)
        cursor.expect(",")
        cases.append((value, _block(cursor)))
    return Switch(*at, VOID, condition, default, tuple(cases))


def _indirectbr(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    address = _typed(cursor, scope)
    cursor.expect(",")
    blocks = _blocks(cursor)
    return IndirectBr(*at, VOID, address, blocks)


def _unreachable(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    return Unreachable(*at, VOID)


# Exceptions.


def _resume(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    return Unsupported(*at, VOID, (_typed(cursor, scope),), ())


def _landingpad(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    type = read_type(cursor, scope)
    cursor.accept("cleanup")
    clauses: list[Value] = []
    while cursor.peek() in ("catch", "filter"):
        cursor.next()
        clauses.append(_typed(cursor, scope))
    return Unsupported(*at, type, tuple(clauses), ())


def _catchswitch(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    parent = _parent(cursor, scope)
    handlers = _blocks(cursor)
    return Unsupported(*at, TOKEN, (parent,), (*_unwind(cursor), *handlers))


def _parent(cursor: Cursor, scope: SymbolTable) -> Value:
    cursor.expect("within")
    return read_value(cursor, scope, TOKEN)


def _pad(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    """`catchpad` or `cleanuppad within parent [arguments]`."""
    parent = _parent(cursor, scope)
    cursor.expect("[")
    arguments: list[Value] = []
    while not cursor.accept("]"):
        if arguments:
            cursor.expect(",")
        arguments.append(_typed(cursor, scope))
    return Unsupported(*at, TOKEN, (*arguments, parent), ())


def _catchret(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    cursor.expect("from")
    pad = read_value(cursor, scope, TOKEN)
    cursor.expect("to")
    return Unsupported(*at, VOID, (pad,), (_block(cursor),))


def _cleanupret(cursor: Cursor, scope: SymbolTable, at: Common) -> Instruction:
    cursor.expect("from")
    pad = read_value(cursor, scope, TOKEN)
    return Unsupported(*at, VOID, (pad,), _unwind(cursor))


_READERS: dict[Opcode, Callable[[Cursor, SymbolTable, Common], Instruction]] = {
    **dict.fromkeys(BINARY_OPCODES, _binary),
    **dict.fromkeys(CAST_OPCODES, _cast),
    Opcode.FNEG: _unary,
    Opcode.FREEZE: _freeze,
    Opcode.ICMP: _compare,
    Opcode.FCMP: _compare,
    Opcode.SELECT: _select,
    Opcode.PHI: _phi,
    Opcode.ALLOCA: _alloca,
    Opcode.LOAD: _load,
    Opcode.STORE: _store,
    Opcode.FENCE: _fence,
    Opcode.CMPXCHG: _cmpxchg,
    Opcode.ATOMICRMW: _atomicrmw,
    Opcode.GETELEMENTPTR: _getelementptr,
    Opcode.VA_ARG: _va_arg,
    Opcode.EXTRACTELEMENT: _extractelement,
    Opcode.INSERTELEMENT: _insertelement,
    Opcode.SHUFFLEVECTOR: _shufflevector,
    Opcode.EXTRACTVALUE: _extractvalue,
    Opcode.INSERTVALUE: _insertvalue,
    Opcode.CALL: _call,
    Opcode.INVOKE: _invoke,
    Opcode.CALLBR: _callbr,
    Opcode.RET: _ret,
    Opcode.BR: _br,
    Opcode.SWITCH: _switch,
    Opcode.INDIRECTBR: _indirectbr,
    Opcode.UNREACHABLE: _unreachable,
    Opcode.RESUME: _resume,
    Opcode.LANDINGPAD: _landingpad,
    Opcode.CATCHSWITCH: _catchswitch,
    Opcode.CATCHPAD: _pad,
    Opcode.CLEANUPPAD: _pad,
    Opcode.CATCHRET: _catchret,
    Opcode.CLEANUPRET: _cleanupret,
}
