"""The fast instruction reader: common instructions from one line each.

Layer: isel.llvm (standard library only). Input: a line of a function's body. Output: its record, or
None for a line that `read_instructions` must read.

This reader never looks at single characters.  It cuts a line at ", " and at last spaces and looks
the pieces up in dictionaries; on a miss, the complete reader reads the piece, all of it.  A cut
inside brackets leaves a piece that the complete reader refuses, so a line is read right or not at
all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

from intrinsics.memo import Memo
from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.ir import (
    Alloca,
    AtomicRMW,
    Attachments,
    BinaryOp,
    Branch,
    Call,
    Cast,
    Common,
    Compare,
    CondBranch,
    ExtractElement,
    ExtractValue,
    Freeze,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    UnaryOp,
    Unreachable,
)
from isel.llvm.lexer import UnreadableError, name_of, read_whole
from isel.llvm.read_arithmetic import element_type_at
from isel.llvm.read_calls import CallHead, read_groups
from isel.llvm.read_memory import OPERATIONS, ORDERINGS
from isel.llvm.read_pieces import PLAIN_NAME, QUOTED_NAME, pieces_of, plain_name
from isel.llvm.read_values import (
    address_type,
)
from isel.llvm.scope import SymbolTable
from isel.llvm.types import I32, PTR, VOID, PointerType, with_shape_of
from isel.llvm.values import ConstInt, GlobalRef, Value
from isel.llvm.vocabulary import (
    BINARY_OPCODES,
    CAST_OPCODES,
    Opcode,
    TailKind,
)

_COMMENT = re.compile(r"/\*.*?\*/ ")
_NO_ARGUMENT_ATTRIBUTES: Mapping[int, Attributes] = {}
_BRACKETS = {"{": "}", "[": "]", "<": ">"}
_ONE = ConstInt(I32, 1)


class LineReader:
    """Reads lines of one module's functions."""

    def __init__(self, scope: SymbolTable, length: int = 0) -> None:
        pieces = pieces_of(scope, length)
        self._types = pieces.types
        self._heads = pieces.heads
        self._typed_constants = pieces.typed_constants
        self._flagged_types = pieces.flagged_types
        self._comparisons = pieces.comparisons
        self._masks = pieces.masks
        self._call_heads = pieces.call_heads
        self._asm = pieces.asm
        self._argument_heads = pieces.argument_heads
        self._attachments = pieces.attachments
        self._callees: dict[str, GlobalRef] = {}
        self._groups = Memo(functools.partial(_read_groups, scope))
        self._groups[""] = NO_ATTRIBUTES

    def read(self, line: str, number: int, ordinal: int) -> Instruction | None:
        """The record of one line, or of a switch with the lines of its cases; or None."""
        result: str | None = None
        if line[2] == "%":
            name, _, rest = line.partition(" = ")
            result = name[3:]
            if not result.isalnum() and PLAIN_NAME.fullmatch(result) is None:
                if QUOTED_NAME.fullmatch(name, 2) is None:
                    return None
                result = name_of(name[2:])
            word, _, body = rest.partition(" ")
        else:
            word, _, body = line[2:].partition(" ")
        dbg: int | None = None
        metadata: Attachments = ()
        try:
            opcode, handler = _HANDLERS[word]
            start = 0
            if '"' in body:
                start = _after_quotes(opcode, body)
            elif "/" in body:
                body = _COMMENT.sub("", body)
            # Long types make the search for one character first worth its while.
            end = body.find(", !", start) if "!" in body else -1
            if end >= 0:
                dbg, metadata = self._attachments[body[end + 2 :]]
                body = body[:end]
            return handler(self, (opcode, result, number, ordinal, dbg, metadata), body)
        except (UnreadableError, LookupError, ValueError):
            return None

    def _typed(self, piece: str) -> Value:
        head, _, text = piece.rpartition(" ")
        values = self._heads[head]
        return self._typed_constants[piece] if values is None else values[text]

    # Arithmetic, casts, comparisons.

    def _binary(self, at: Common, body: str) -> Instruction:
        first, right = body.split(", ")
        head, _, left = first.rpartition(" ")
        flags, values = self._flagged_types[head]
        return BinaryOp(*at, values.type, values[left], values[right], flags)

    def _unary(self, at: Common, body: str) -> Instruction:
        head, _, text = body.rpartition(" ")
        flags, values = self._flagged_types[head]
        return UnaryOp(*at, values.type, values[text], flags)

    def _freeze(self, at: Common, body: str) -> Instruction:
        operand = self._typed(body)
        return Freeze(*at, operand.type, operand)

    def _cast(self, at: Common, body: str) -> Instruction:
        source, _, target = body.rpartition(" to ")
        head, _, text = source.rpartition(" ")
        flags, values = self._flagged_types[head]
        return Cast(*at, self._types[target].type, values[text], flags)

    def _compare(self, at: Common, body: str) -> Instruction:
        first, right = body.split(", ")
        head, _, left = first.rpartition(" ")
        flags, predicate, type, values = self._comparisons[at[0], head]
        return Compare(*at, type, predicate, values[left], values[right], flags)

    def _select(self, at: Common, body: str) -> Instruction:
        first, second, third = body.split(", ")
        head, _, text = first.rpartition(" ")
        flags, conditions = self._flagged_types[head]
        condition = conditions[text]
        if_true, if_false = self._typed(second), self._typed(third)
        return Select(*at, if_true.type, condition, if_true, if_false, flags)

    def _phi(self, at: Common, body: str) -> Instruction:
        head, _, listed = body.partition(" [ ")
        if not listed.endswith(" ]"):
            raise UnreadableError("expected a list of values and blocks")
        flags, values = self._flagged_types[head]
        incoming: list[tuple[Value, str]] = []
        for pair in listed[:-2].split(" ], [ "):
            text, _, block = pair.rpartition(", ")
            incoming.append((values[text], _read_label("label " + block)))
        return Phi(*at, values.type, tuple(incoming), flags)

    # Memory.

    def _alloca(self, at: Common, body: str) -> Instruction:
        type, alignment = body.rsplit(", ", 1)
        return Alloca(
            *at, PTR, self._types[type].type, _ONE, _read_alignment(alignment), False, False
        )

    def _load(self, at: Common, body: str) -> Instruction:
        volatile = body.startswith("volatile ")
        first, second, third = (body[9:] if volatile else body).rsplit(", ", 2)
        type = self._types[first].type
        return Load(*at, type, self._typed(second), _read_alignment(third), volatile, None, "")

    def _store(self, at: Common, body: str) -> Instruction:
        volatile = body.startswith("volatile ")
        first, second, third = (body[9:] if volatile else body).rsplit(", ", 2)
        value, pointer = self._typed(first), self._typed(second)
        return Store(*at, VOID, value, pointer, _read_alignment(third), volatile, None, "")

    def _atomicrmw(self, at: Common, body: str) -> Instruction:
        first, second, alignment = body.split(", ")
        operation, _, place = first.partition(" ")
        piece, _, ordering = second.rpartition(" ")
        pointer, value = self._typed(place), self._typed(piece)
        return AtomicRMW(
            *at,
            value.type,
            OPERATIONS[operation],
            pointer,
            value,
            ORDERINGS[ordering],
            "",
            _read_alignment(alignment),
            False,
        )

    def _getelementptr(self, at: Common, body: str) -> Instruction:
        # A struct ends before the pointer; one inside another is cut too early.
        end = body.index("}, ptr ") + 1 if "{" in body else body.index(", ")
        head, pieces = body[:end], body[end + 2 :].split(", ")
        flags, elements = self._flagged_types[head]
        operands = tuple([self._typed(piece) for piece in pieces])
        type = address_type(operands)
        return GetElementPtr(*at, type, elements.type, operands[0], operands[1:], flags)

    # Vectors and aggregates.

    def _extractelement(self, at: Common, body: str) -> Instruction:
        first, second = body.split(", ")
        vector, index = self._typed(first), self._typed(second)
        return ExtractElement(*at, vector.type.scalar, vector, index)

    def _insertelement(self, at: Common, body: str) -> Instruction:
        first, second, third = body.split(", ")
        vector = self._typed(first)
        return InsertElement(*at, vector.type, vector, self._typed(second), self._typed(third))

    def _shufflevector(self, at: Common, body: str) -> Instruction:
        left, right, text = body.split(", ", 2)
        first, second = self._typed(left), self._typed(right)
        shape, mask = self._masks[text]
        return ShuffleVector(*at, with_shape_of(first.type.scalar, shape), first, second, mask)

    def _aggregate(self, body: str) -> tuple[Value, list[str]]:
        """The aggregate that `body` begins with, and the pieces after it."""
        # A type ends at its bracket and a space; one with brackets inside may be cut too early.
        closing = _BRACKETS.get(body[0], "")
        end = body.index(closing)
        while body[end + len(closing)] != " ":
            end = body.index(closing, end + 1)
        end += len(closing)
        text, *pieces = body[end + 1 :].split(", ")
        return self._types[body[:end]][text], pieces

    def _extractvalue(self, at: Common, body: str) -> Instruction:
        aggregate, pieces = self._aggregate(body)
        indices = tuple([int(piece) for piece in pieces])
        return ExtractValue(*at, element_type_at(aggregate.type, indices), aggregate, indices)

    def _insertvalue(self, at: Common, body: str) -> Instruction:
        aggregate, (first, *rest) = self._aggregate(body)
        indices = tuple([int(piece) for piece in rest])
        return InsertValue(*at, aggregate.type, aggregate, self._typed(first), indices)

    # Calls.

    def _call(self, at: Common, body: str) -> Call:
        if '"' in body and " asm " in body:
            return self._call_asm(at, body)
        name = body.index(" @")
        opening = body.index("(", name)
        head = self._call_heads[body[:name]]
        callee = self._callee(body[name + 2 : opening], head.callee_type)
        return self._finish_call(at, head, callee, body[opening:])

    def _tail_call(self, at: Common, body: str) -> Call:
        return self._marked_call(at, body, TailKind.TAIL)

    def _must_tail_call(self, at: Common, body: str) -> Call:
        return self._marked_call(at, body, TailKind.MUSTTAIL)

    def _no_tail_call(self, at: Common, body: str) -> Call:
        return self._marked_call(at, body, TailKind.NOTAIL)

    def _marked_call(self, at: Common, body: str, tail: TailKind) -> Call:
        if body[:5] != "call ":
            raise UnreadableError("expected a call")
        call = self._call(at, body[5:])
        call.tail = tail
        return call

    def _call_asm(self, at: Common, body: str) -> Call:
        before, text, comma, constraints, rest = body.split('"')
        if comma != ", ":
            raise UnreadableError("no plain call of inline assembly")
        head, callee = self._asm[before, text, constraints]
        return self._finish_call(at, head, callee, rest)

    def _finish_call(self, at: Common, head: CallHead, callee: Value, rest: str) -> Call:
        """A call, from the parenthesis before its arguments on."""
        closing = rest.rindex(")")
        if rest[0] != "(":
            raise UnreadableError("expected arguments")
        arguments, argument_attributes = self._arguments(rest[1:closing])
        return Call(
            *at,
            head.return_type,
            callee,
            arguments,
            head.calling_convention,
            self._groups[rest[closing + 1 :]],
            head.return_attributes,
            argument_attributes,
            (),
            head.vararg_type,
            TailKind.NONE,
            head.flags,
        )

    def _callee(self, name: str, type: PointerType) -> GlobalRef:
        callee = self._callees.get(name)
        if callee is None or callee.type is not type:
            callee = self._callees[name] = GlobalRef(plain_name("@" + name), type)
        return callee

    def _arguments(self, text: str) -> tuple[tuple[Value, ...], Mapping[int, Attributes]]:
        if not text:
            return (), _NO_ARGUMENT_ATTRIBUTES
        arguments: list[Value] = []
        attributes: dict[int, Attributes] = {}
        for piece in text.split(", "):
            head, _, value = piece.rpartition(" ")
            found = self._argument_heads[head]
            if found is None:
                arguments.append(self._typed(piece))
                continue
            values, given = found
            if given:
                attributes[len(arguments)] = given
            arguments.append(values[value])
        return tuple(arguments), attributes

    # Control flow.

    def _ret(self, at: Common, body: str) -> Instruction:
        return Return(*at, VOID, None if body == "void" else self._typed(body))

    def _br(self, at: Common, body: str) -> Instruction:
        if body.startswith("label "):
            return Branch(*at, VOID, _read_label(body))
        first, second, third = body.split(", ")
        condition = self._typed(first)
        return CondBranch(*at, VOID, condition, _read_label(second), _read_label(third))

    def _switch(self, at: Common, body: str) -> Instruction:
        head, _, listed = body.partition(" [\n")
        *cases, end = listed.split("\n")
        if end != "  ]":
            raise UnreadableError("expected cases, a line each")
        condition, default = head.split(", ")
        targets: list[tuple[Value, str]] = []
        for case in cases:
            value, block = case[4:].split(", ")
            targets.append((self._typed(value), _read_label(block)))
        return Switch(*at, VOID, self._typed(condition), _read_label(default), tuple(targets))

    def _unreachable(self, at: Common, body: str) -> Instruction:
        if body:
            raise UnreadableError(f"did not expect {body!r}")
        return Unreachable(*at, VOID)


def _read_groups(scope: SymbolTable, text: str) -> Attributes:
    return read_whole(text, lambda cursor: read_groups(cursor, scope))


_Handler = Callable[[LineReader, Common, str], Instruction]

_READERS: dict[Opcode, _Handler] = {
    **dict.fromkeys(BINARY_OPCODES, LineReader._binary),
    **dict.fromkeys(CAST_OPCODES, LineReader._cast),
    Opcode.FNEG: LineReader._unary,
    Opcode.FREEZE: LineReader._freeze,
    Opcode.ICMP: LineReader._compare,
    Opcode.FCMP: LineReader._compare,
    Opcode.SELECT: LineReader._select,
    Opcode.PHI: LineReader._phi,
    Opcode.ALLOCA: LineReader._alloca,
    Opcode.LOAD: LineReader._load,
    Opcode.STORE: LineReader._store,
    Opcode.ATOMICRMW: LineReader._atomicrmw,
    Opcode.GETELEMENTPTR: LineReader._getelementptr,
    Opcode.EXTRACTELEMENT: LineReader._extractelement,
    Opcode.INSERTELEMENT: LineReader._insertelement,
    Opcode.SHUFFLEVECTOR: LineReader._shufflevector,
    Opcode.EXTRACTVALUE: LineReader._extractvalue,
    Opcode.INSERTVALUE: LineReader._insertvalue,
    Opcode.CALL: LineReader._call,
    Opcode.RET: LineReader._ret,
    Opcode.BR: LineReader._br,
    Opcode.SWITCH: LineReader._switch,
    Opcode.UNREACHABLE: LineReader._unreachable,
}
_HANDLERS = {
    **{opcode.value: (opcode, handler) for opcode, handler in _READERS.items()},
    "tail": (Opcode.CALL, LineReader._tail_call),
    "musttail": (Opcode.CALL, LineReader._must_tail_call),
    "notail": (Opcode.CALL, LineReader._no_tail_call),
}
"""The method that reads the instructions of each opcode."""


def _after_quotes(opcode: Opcode, body: str) -> int:
    """The index at which attachments may begin in a line with quotation marks.

    Raises: UnreadableError for a name that a cut may go through.
    """
    if opcode is Opcode.CALL and " asm " in body:
        return body.rindex('"')
    if '"' in QUOTED_NAME.sub("", body):
        raise UnreadableError("a quoted name that a cut may go through")
    return 0


@functools.lru_cache(4096)
def _read_label(text: str) -> str:
    if not text.startswith("label %"):
        raise UnreadableError(f"expected a label, found {text!r}")
    return plain_name(text[6:])


@functools.lru_cache(4096)
def _read_alignment(text: str) -> int:
    if not text.startswith("align "):
        raise UnreadableError(f"expected an alignment, found {text!r}")
    return int(text[6:])
