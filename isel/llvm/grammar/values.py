"""Operands from text: locals, constants of every kind, inline assembly, metadata.

Layer: isel.llvm (standard library only).
Input: a cursor at a value, its type, and the module's scope.  Output: `Value`.
"""

from __future__ import annotations

from collections.abc import Callable

from isel.llvm.grammar.floats import float_bits
from isel.llvm.grammar.lexer import Cursor, UnreadableError, unescape, unescape_bytes
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.types import read_type
from isel.llvm.types import (
    METADATA,
    PTR,
    ArrayType,
    FloatType,
    IntType,
    Type,
    VectorType,
    with_shape_of,
)
from isel.llvm.values import (
    BlockAddress,
    ConstArray,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstString,
    ConstStruct,
    ConstVector,
    GlobalRef,
    InlineAsm,
    InlineNode,
    Local,
    MetadataOperand,
    MetadataString,
    MetadataValue,
    NodeRef,
    NoneToken,
    Null,
    Poison,
    PtrAuth,
    Splat,
    Undef,
    Value,
    WrappedValue,
    Zero,
)
from isel.llvm.vocabulary import BINARY_OPCODES, CAST_OPCODES, FAST, OPCODES, AsmFlag, Flag, Opcode

_FLAGS = {flag.value: frozenset({flag}) for flag in Flag} | {"fast": FAST}
_ASM_FLAGS = {flag.value: flag for flag in AsmFlag}
_NO_FLAGS: frozenset[Flag] = frozenset()

_SIMPLE: dict[str, Callable[[Type], Value]] = {
    "null": Null,
    "undef": Undef,
    "poison": Poison,
    "zeroinitializer": Zero,
    "none": NoneToken,
}


_TRUTHS = {"true": 1, "false": 0}


def read_typed_value(cursor: Cursor, scope: SymbolTable) -> Value:
    """A type, then a value of that type; after `metadata`, any metadata."""
    type = read_type(cursor, scope)
    return read_value(cursor, scope, type)


def read_value(cursor: Cursor, scope: SymbolTable, type: Type) -> Value:
    """A value of `type`."""
    if type is METADATA:
        return MetadataValue(read_metadata_operand(cursor, scope))
    token = cursor.peek()
    if token[:1] == "%":
        return Local(cursor.name("%"), type)
    if token[:1] == "@":
        return GlobalRef(cursor.name("@"), type)
    if token in _SIMPLE:
        cursor.next()
        return _SIMPLE[token](type)
    if token in _TRUTHS or token[:1].isdecimal() or token[:1] == "-":
        return _number(cursor.next(), type)
    return _composite(cursor, scope, type)


def read_flags(cursor: Cursor) -> frozenset[Flag]:
    """The flags at the cursor, none too."""
    flags = _NO_FLAGS
    while (found := _FLAGS.get(cursor.peek())) is not None:
        cursor.next()
        flags |= found
    return flags


def read_shuffle_mask(cursor: Cursor, scope: SymbolTable) -> tuple[VectorType, tuple[int, ...]]:
    """A mask with its type; -1 stands for poison."""
    mask = read_typed_value(cursor, scope)
    if not isinstance(mask.type, VectorType):
        raise UnreadableError("a mask must be a vector")
    match mask:
        case Zero():
            return mask.type, (0,) * mask.type.count
        case Poison() | Undef():
            return mask.type, (-1,) * mask.type.count
        case Splat(element=element):
            return mask.type, (_mask_index(element),) * mask.type.count
        case ConstVector(elements=elements):
            return mask.type, tuple(_mask_index(e) for e in elements)
    raise UnreadableError(f"{mask} is no mask")


def read_inline_asm(cursor: Cursor) -> InlineAsm:
    """`asm flags "text", "constraints"`."""
    cursor.expect("asm")
    flags: list[AsmFlag] = []
    while (flag := _ASM_FLAGS.get(cursor.peek())) is not None:
        cursor.next()
        flags.append(flag)
    text = cursor.string()
    cursor.expect(",")
    return InlineAsm(text, cursor.string(), frozenset(flags), PTR)


def read_metadata_operand(cursor: Cursor, scope: SymbolTable) -> MetadataOperand:
    """A node, a string, a typed value or `null`, as in the elements of `!{…}`."""
    if cursor.accept("null"):
        return None
    token = cursor.peek()
    if token[:1] != "!":
        return WrappedValue(read_typed_value(cursor, scope))
    cursor.next()
    if token.startswith('!"'):
        return MetadataString(unescape(token[2:-1]))
    if token[1:].isdecimal():
        return NodeRef(int(token[1:]))
    return InlineNode(token + cursor.group())


def _mask_index(element: Value) -> int:
    match element:
        case ConstInt():
            return element.value
        case Poison() | Undef():
            return -1
    raise UnreadableError(f"{element} is no index of a mask")


def _number(token: str, type: Type) -> Value:
    if isinstance(type, FloatType):
        return ConstFloat(type, float_bits(token, type))
    if not isinstance(type, IntType):
        raise UnreadableError(f"{token!r} is no {type}")
    number = _TRUTHS[token] if token in _TRUTHS else int(token)
    return ConstInt(type, number & (1 << type.bits) - 1)


def _composite(cursor: Cursor, scope: SymbolTable, type: Type) -> Value:
    token = cursor.next()
    if token.startswith('c"'):
        return ConstString(type, unescape_bytes(token[2:-1]))
    if token == "[":
        return ConstArray(type, _integers(cursor, type) or _typed_list(cursor, scope, "]"))
    if token == "{" or (token == "<" and cursor.peek() == "{"):
        return _struct(token, cursor, scope, type)
    if token == "<":
        return ConstVector(type, _typed_list(cursor, scope, ">"))
    reader = _WORDS.get(token)
    if reader is not None:
        return reader(cursor, scope, type)
    if token in OPCODES:
        return _expression(OPCODES[token], cursor, scope)
    raise UnreadableError(f"expected a {type}, found {token!r}")


def _typed_list(cursor: Cursor, scope: SymbolTable, closing: str) -> tuple[Value, ...]:
    if cursor.accept(closing):
        return ()
    values = [read_typed_value(cursor, scope)]
    while cursor.accept(","):
        values.append(read_typed_value(cursor, scope))
    cursor.expect(closing)
    return tuple(values)


def _integers(cursor: Cursor, type: Type) -> tuple[Value, ...]:
    """The elements of an array of integers, if nothing but numbers comes next: tables are long."""
    if not isinstance(type, ArrayType) or not isinstance(type.element, IntType):
        return ()
    words = cursor.until("]")
    numbers = words[1::3]
    is_plain = {*words[::3]} == {str(type.element)} and {*words[2::3]} <= {","}
    if not is_plain or not "".join(numbers).replace("-", "").isdecimal():
        return ()
    cursor.skip(len(words) + 1)
    element, mask = type.element, (1 << type.element.bits) - 1
    return tuple([ConstInt(element, int(number) & mask) for number in numbers])


def _struct(token: str, cursor: Cursor, scope: SymbolTable, type: Type) -> Value:
    packed = token == "<"
    if packed:
        cursor.expect("{")
    elements = _typed_list(cursor, scope, "}")
    if packed:
        cursor.expect(">")
    return ConstStruct(type, elements)


def _splat(cursor: Cursor, scope: SymbolTable, type: Type) -> Value:
    cursor.expect("(")
    element = read_typed_value(cursor, scope)
    cursor.expect(")")
    return Splat(type, element)


def _block_address(cursor: Cursor, scope: SymbolTable, type: Type) -> Value:
    cursor.expect("(")
    function = cursor.name("@")
    cursor.expect(",")
    block = cursor.name("%")
    cursor.expect(")")
    return BlockAddress(function, block, type)


def _ptrauth(cursor: Cursor, scope: SymbolTable, type: Type) -> Value:
    cursor.expect("(")
    return PtrAuth(type, _typed_list(cursor, scope, ")"))


def _function(cursor: Cursor, scope: SymbolTable, type: Type) -> Value:
    """A function by another of its addresses: PTX has one."""
    return GlobalRef(cursor.name("@"), type)


_WORDS: dict[str, Callable[[Cursor, SymbolTable, Type], Value]] = {
    "splat": _splat,
    "blockaddress": _block_address,
    "ptrauth": _ptrauth,
    "dso_local_equivalent": _function,
    "no_cfi": _function,
}


def _expression(opcode: Opcode, cursor: Cursor, scope: SymbolTable) -> Value:
    flags = read_flags(cursor)
    if opcode is Opcode.GETELEMENTPTR:
        return _address(cursor, scope, flags)
    cursor.expect("(")
    if opcode in CAST_OPCODES:
        operand = read_typed_value(cursor, scope)
        cursor.expect("to")
        result = read_type(cursor, scope)
        cursor.expect(")")
        return ConstExpr(opcode, result, (operand,), flags)
    if opcode is Opcode.SHUFFLEVECTOR:
        return _shuffle(cursor, scope)
    operands = _typed_list(cursor, scope, ")")
    return ConstExpr(opcode, _result_of(opcode, operands), operands, flags)


def _result_of(opcode: Opcode, operands: tuple[Value, ...]) -> Type:
    first = operands[0].type
    if opcode is Opcode.EXTRACTELEMENT:
        return first.scalar
    if opcode in BINARY_OPCODES or opcode is Opcode.INSERTELEMENT:
        return first
    raise UnreadableError(f"{opcode.value} is no constant expression")


def _address(cursor: Cursor, scope: SymbolTable, flags: frozenset[Flag]) -> Value:
    in_range: tuple[int, int] | None = None
    if cursor.accept("inrange"):
        cursor.expect("(")
        low = cursor.integer()
        cursor.expect(",")
        in_range = low, cursor.integer()
        cursor.expect(")")
    cursor.expect("(")
    element_type = read_type(cursor, scope)
    cursor.expect(",")
    operands = _typed_list(cursor, scope, ")")
    return ConstExpr(
        Opcode.GETELEMENTPTR, address_type(operands), operands, flags, element_type, in_range
    )


def address_type(operands: tuple[Value, ...]) -> Type:
    """The type of a getelementptr of these operands: a vector if any of them is one."""
    base = operands[0].type
    for operand in operands:
        if isinstance(operand.type, VectorType):
            return with_shape_of(base.scalar, operand.type)
    return base


def _shuffle(cursor: Cursor, scope: SymbolTable) -> Value:
    first = read_typed_value(cursor, scope)
    cursor.expect(",")
    second = read_typed_value(cursor, scope)
    cursor.expect(",")
    shape, mask = read_shuffle_mask(cursor, scope)
    cursor.expect(")")
    result = with_shape_of(first.type.scalar, shape)
    return ConstExpr(Opcode.SHUFFLEVECTOR, result, (first, second), mask=mask)
