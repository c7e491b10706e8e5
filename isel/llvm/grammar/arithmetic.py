"""Arithmetic, casts, comparisons, and what takes vectors and aggregates apart.

Layer: isel.llvm (standard library only). Input: the pieces of an instruction. Output: its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import methodcaller

from isel.llvm.grammar.forms import Syntax, outside_strings, whole
from isel.llvm.grammar.lexer import UnreadableError
from isel.llvm.grammar.pieces import Pieces, read_local
from isel.llvm.ir import (
    BinaryOp,
    Cast,
    Common,
    Compare,
    ExtractElement,
    ExtractValue,
    Freeze,
    InsertElement,
    InsertValue,
    Instruction,
    Phi,
    Select,
    ShuffleVector,
    UnaryOp,
)
from isel.llvm.types import ArrayType, StructType, Type, with_shape_of
from isel.llvm.vocabulary import BINARY_OPCODES, CAST_OPCODES, Opcode

_AT_TO = methodcaller("rsplit", " to ", 1)
_BRACKETS = {"{": "}", "[": "]", "<": ">"}


def _binary(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second = pieces
    flags, values, lhs = p.flagged(first)
    return BinaryOp(*at, values.type, lhs, values[second], flags)


def _unary(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    flags, values, operand = p.flagged(pieces[0])
    return UnaryOp(*at, values.type, operand, flags)


def _freeze(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    operand = p.typed(pieces[0])
    return Freeze(*at, operand.type, operand)


def _cast(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    source, target = pieces
    flags, _, operand = p.flagged(source)
    return Cast(*at, p.types[target].type, operand, flags)


def _compare(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second = pieces
    (flags, predicate, type, values), lhs = p.compared(at[0], first)
    return Compare(*at, type, predicate, lhs, values[second], flags)


def _select(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second, third = pieces
    flags, _, condition = p.flagged(first)
    if_true, if_false = p.typed(second), p.typed(third)
    return Select(*at, if_true.type, condition, if_true, if_false, flags)


def _cut_phi(body: str) -> list[str]:
    """`flags T`, then each value and its block."""
    head, _, listed = body.partition(" [ ")
    if listed[-2:] != " ]":
        raise UnreadableError("expected a list of values and blocks")
    pieces = [head]
    for pair in listed[:-2].split(" ], [ "):
        pieces += pair.rsplit(", ", 1)
    return pieces


def _phi(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    flags, values = p.flagged_types[pieces[0]]
    incoming = [
        (values[value], read_local(block))
        for value, block in zip(pieces[1::2], pieces[2::2], strict=True)
    ]
    return Phi(*at, values.type, tuple(incoming), flags)


def _extractelement(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second = pieces
    vector = p.typed(first)
    return ExtractElement(*at, vector.type.scalar, vector, p.typed(second))


def _insertelement(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second, third = pieces
    vector = p.typed(first)
    return InsertElement(*at, vector.type, vector, p.typed(second), p.typed(third))


def _shufflevector(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    left, right, text = pieces
    first, second = p.typed(left), p.typed(right)
    shape, mask = p.masks[text]
    return ShuffleVector(*at, with_shape_of(first.type.scalar, shape), first, second, mask)


def _cut_aggregate(body: str) -> list[str]:
    """The aggregate with its type, and what follows."""
    # A type ends at its bracket and a space; one with brackets inside may be cut too early.
    closing = _BRACKETS.get(body[0], "")
    end = body.index(closing)
    while body[end + len(closing)] != " ":
        end = body.index(closing, end + 1)
    end = body.index(", ", end + len(closing))
    return [body[:end], *body[end + 2 :].split(", ")]


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


def _extractvalue(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, *numbers = pieces
    aggregate = p.typed(first)
    indices = tuple([int(number) for number in numbers])
    return ExtractValue(*at, element_type_at(aggregate.type, indices), aggregate, indices)


def _insertvalue(p: Pieces, at: Common, pieces: list[str]) -> Instruction:
    first, second, *numbers = pieces
    aggregate = p.typed(first)
    indices = tuple([int(number) for number in numbers])
    return InsertValue(*at, aggregate.type, aggregate, p.typed(second), indices)


ARITHMETIC: Mapping[Opcode, Syntax] = {
    **dict.fromkeys(BINARY_OPCODES, Syntax(_binary)),
    **dict.fromkeys(CAST_OPCODES, Syntax(_cast, _AT_TO, outside_strings(_AT_TO))),
    Opcode.FNEG: Syntax(_unary, whole, whole),
    Opcode.FREEZE: Syntax(_freeze, whole, whole),
    Opcode.ICMP: Syntax(_compare),
    Opcode.FCMP: Syntax(_compare),
    Opcode.SELECT: Syntax(_select),
    Opcode.PHI: Syntax(_phi, _cut_phi, outside_strings(_cut_phi)),
    Opcode.EXTRACTELEMENT: Syntax(_extractelement),
    Opcode.INSERTELEMENT: Syntax(_insertelement),
    Opcode.SHUFFLEVECTOR: Syntax(_shufflevector, methodcaller("split", ", ", 2)),
    Opcode.EXTRACTVALUE: Syntax(_extractvalue, _cut_aggregate),
    Opcode.INSERTVALUE: Syntax(_insertvalue, _cut_aggregate),
}
"""Arithmetic, comparisons, vectors and aggregates."""
