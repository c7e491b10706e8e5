"""Instructions, from the lines that LLVM prints.

Layer: isel.llvm (standard library only). Input: a line of a function's body, with the lines that
continue it. Output: the record of its instruction.

There is one grammar, in the tables of `arithmetic`, `memory`, `calls` and `control`.  Most lines
are read without a look at their single characters: they are cut at ", " and at last spaces, and
their pieces are looked up (`pieces`).  A cut inside of brackets or quotation marks leaves a piece
that is none of the grammar, so that a line is read right or not at all; then it is cut by its
tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from isel.llvm.grammar.arithmetic import ARITHMETIC
from isel.llvm.grammar.calls import CALLS, RARE_CALLS
from isel.llvm.grammar.control import CONTROL, RARE_CONTROL
from isel.llvm.grammar.forms import Statement, Syntax
from isel.llvm.grammar.lexer import Cursor, UnreadableError, plain_name
from isel.llvm.grammar.memory import MEMORY, RARE_MEMORY
from isel.llvm.grammar.parts import read_attachments
from isel.llvm.grammar.pieces import Pieces
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.ir import Attachments, Call, Common, Instruction
from isel.llvm.vocabulary import OPCODES, Opcode, TailKind

_TAILS = {tail.value: tail for tail in TailKind if tail is not TailKind.NONE}
_FORMS: Mapping[Opcode, Syntax] = {**ARITHMETIC, **MEMORY, **CALLS, **CONTROL}
_STATEMENTS: Mapping[Opcode, Statement] = {**RARE_MEMORY, **RARE_CALLS, **RARE_CONTROL}
_COMMON = {opcode.value: (opcode, form.cut, form.read) for opcode, form in _FORMS.items()}
_CALL = Opcode.CALL
_COMMENT = re.compile(r"/\*.*?\*/ ")


class InstructionReader:
    """Reads the instructions of one module's functions."""

    def __init__(self, scope: SymbolTable, text: str = "") -> None:
        self._pieces = Pieces(scope, len(text))
        self._attachments = self._pieces.attachments
        self._has_comments = "/*" in text

    def read_common(self, line: str, number: int, ordinal: int) -> Instruction | None:
        """The record of a line that is cut right in the fast way; None for another one."""
        result: str | None = None
        try:
            if line[2] == "%":
                _, _, name, equals, word, body = line.split(" ", 5)
                result = name[1:]
                if not result.isalnum():
                    result = plain_name(name)
                if equals != "=":
                    return None
            else:
                word, _, body = line[2:].partition(" ")
            tail = None
            if word not in _COMMON:
                tail = _TAILS[word]
                word, _, body = body.partition(" ")
            opcode, cut, read = _COMMON[word]
            dbg: int | None = None
            metadata: Attachments = ()
            if self._has_comments and '"' not in body:
                body = _COMMENT.sub("", body)
            if "!" in body:  # a search for one character is worth its while where types are long
                start = body.rindex('"') if opcode is _CALL and " asm " in body else 0
                end = body.find(", !", start)
                if end >= 0:
                    dbg, metadata = self._attachments[body[end + 2 :]]
                    body = body[:end]
            pieces = body.split(", ") if cut is None else cut(body)
            found = read(self._pieces, (opcode, result, number, ordinal, dbg, metadata), pieces)
        except (UnreadableError, LookupError, ValueError):
            return None
        if tail is not None:
            _set_tail(found, tail)
        return found

    def read(self, text: str, number: int, ordinal: int) -> Instruction:
        """The record of any instruction, by its tokens."""
        cursor = Cursor(text)
        result: str | None = None
        if cursor.peek(1) == "=":
            result = cursor.name("%")
            cursor.expect("=")
        tail = _TAILS.get(cursor.peek())
        if tail is not None:
            cursor.next()
        word = cursor.next()
        if word not in OPCODES:
            raise UnreadableError(f"no instruction is called {word!r}")
        found = self._read(cursor, (OPCODES[word], result, number, ordinal, None, ()))
        if cursor.accept(","):
            found.dbg, found.metadata = read_attachments(cursor)
        cursor.expect_end()
        if tail is not None:
            _set_tail(found, tail)
        return found

    def _read(self, cursor: Cursor, at: Common) -> Instruction:
        statement = _STATEMENTS.get(at[0])
        if statement is not None:
            return statement(cursor, self._pieces, at)
        form = _FORMS[at[0]]
        return form.read(self._pieces, at, form.cut_exactly(cursor.text_before_attachments()))


def _set_tail(instruction: Instruction, tail: TailKind) -> None:
    if not isinstance(instruction, Call):
        raise UnreadableError("expected a call")
    instruction.tail = tail
