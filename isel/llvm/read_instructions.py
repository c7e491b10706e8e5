"""The complete instruction reader.

Layer: isel.llvm (standard library only). Input: an instruction's text with its continuation lines,
and where it stands. Output: its record.  `read_lines` reads the common shapes faster and must
agree.  `read_arithmetic`, `read_memory`, `read_calls` and `read_control` have the grammars.
"""

from __future__ import annotations

from collections.abc import Mapping

from isel.llvm.ir import Attachment, Call, Instruction
from isel.llvm.lexer import Cursor, UnreadableError
from isel.llvm.read_arithmetic import ARITHMETIC
from isel.llvm.read_calls import CALLS
from isel.llvm.read_control import CONTROL
from isel.llvm.read_memory import MEMORY
from isel.llvm.read_parts import Reader, read_attachment
from isel.llvm.scope import SymbolTable
from isel.llvm.vocabulary import Opcode, TailKind

_OPCODES = {opcode.value: opcode for opcode in Opcode}
_TAILS = {tail.value: tail for tail in TailKind if tail is not TailKind.NONE}
_READERS: Mapping[Opcode, Reader] = {**ARITHMETIC, **MEMORY, **CALLS, **CONTROL}


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
