"""A module from the text that LLVM prints for it.

Layer: isel.llvm (needs `intrinsics` for the error type and the collector only).
Input: `str(module)` of llvmlite: verified IR in LLVM 22's own spelling.
Output: `Module`.  Text that can't be read is a bug of nvgen, since LLVM wrote it: `InternalError`
names the line.

One pass over the lines; those of a function's body go to `grammar.instructions`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

from intrinsics.collector import paused_collector
from intrinsics.findings import InternalError
from isel.llvm.attributes import Attributes
from isel.llvm.grammar.attributes import read_attributes
from isel.llvm.grammar.instructions import InstructionReader
from isel.llvm.grammar.lexer import Cursor, UnreadableError, name_of
from isel.llvm.grammar.parts import read_node
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.symbols import read_function_header, read_global
from isel.llvm.grammar.types import read_named_type
from isel.llvm.ir import Alias, Block, Function, Instruction, Module

_TYPE = re.compile(r'(%"[^"]*"|%[-\w$.]+) = type (.*)')
_BEHIND_TYPES = frozenset("@d")
"""What lines begin with behind all types: variables, definitions and declarations."""

_LABEL = re.compile(r'("[^"]*"|[-\w$.]+):')
_CONTINUED = "          "  # how LLVM indents the further lines of an instruction


@paused_collector()
def read_module(text: str, *, fast: bool = True) -> Module:
    """Read LLVM's printed text; `fast=False` cuts every instruction by its tokens."""
    return _ModuleReader(text, fast).read()


class _ModuleReader:
    """The state of one reading: the lines, where it is, and what it has found."""

    def __init__(self, text: str, fast: bool) -> None:
        self._text = text
        # Not splitlines: LLVM ends lines with \n alone.
        self._lines = text.split("\n")
        self._next = 0  # index of the line after the current one
        self._fast = fast
        self._scope = SymbolTable()
        self._module = Module()

    def read(self) -> Module:
        """The whole module."""
        try:
            self._note_types()
            self._read_groups()
            self._instructions = InstructionReader(self._scope, self._text)
            while self._next < len(self._lines):
                line = self._lines[self._next]
                self._next += 1
                if line:
                    self._read_top_level(line)
        except Exception as error:
            line = self._lines[min(self._next, len(self._lines)) - 1]
            raise InternalError(
                f"cannot read line {self._next} of LLVM's text: {error}\n  {line}"
            ) from error
        return self._module

    # The top level.

    def _read_top_level(self, line: str) -> None:
        read = _READERS.get(line[0]) or _READERS.get(line.partition(" ")[0])
        if read is None:
            raise UnreadableError(f"no statement begins with {line.split(maxsplit=1)[0]!r}")
        read(self, line)

    def _pass_over(self, line: str) -> None:
        """What is read before everything else, as groups are, or tells nothing."""
        self._whole(line)

    def _read_declaration(self, line: str) -> None:
        number = self._next
        function = read_function_header(self._whole(line), self._scope, number)
        self._module.functions[function.name] = function

    def _read_source_filename(self, line: str) -> None:
        self._module.source_filename = self._string_after(line, 2)

    def _read_module_asm(self, line: str) -> None:
        self._module.module_asm.append(self._string_after(line, 2))

    def _whole(self, line: str) -> str:
        """`line`, with the lines that a string broken by a line end goes on in.

        LLVM escapes line ends, except in the key of a string attribute and in the name of a
        garbage collector.
        """
        parts = [line]
        is_open = line.count('"') % 2
        while is_open and self._next < len(self._lines):
            parts.append(self._lines[self._next])
            is_open ^= parts[-1].count('"') % 2
            self._next += 1
        return "\n".join(parts)

    def _string_after(self, line: str, skipped: int) -> str:
        if line[-1] == '"' and "\\" not in line and line.count('"') == 2:  # as most are
            return line[line.index('"') + 1 : -1]
        cursor = Cursor(self._whole(line))
        for _ in range(skipped):
            cursor.next()
        text = cursor.string()
        cursor.expect_end()
        return text

    def _read_target(self, line: str) -> None:
        if line.startswith("target datalayout"):
            self._module.data_layout = self._string_after(line, 3)
        else:
            self._module.triple = self._string_after(line, 3)

    def _note_types(self) -> None:
        """The struct types; they may refer to later ones."""
        for line in self._lines:
            if line[:1] in _BEHIND_TYPES:
                break
            if line[:1] != "%":
                continue
            match = _TYPE.fullmatch(line)
            if match is None:
                raise UnreadableError(f"no definition of a type: {line}")
            self._scope.type_texts[name_of(match[1])] = match[2]
        for name in list(self._scope.type_texts):
            self._module.types[name] = read_named_type(name, self._scope)

    def _read_groups(self) -> None:
        """The attribute groups, which LLVM prints last and everything refers to."""
        for line in self._lines_beginning("attributes #"):
            head, _, text = line.partition(" = ")
            number = int(head.removeprefix("attributes #"))
            found = _read_group(text, self._scope) if "%" in text else _plain_group(text)
            self._module.attribute_groups[number] = found
        self._scope.groups = self._module.attribute_groups

    def _lines_beginning(self, prefix: str) -> Iterator[str]:
        """The lines that begin with `prefix`, found by searching the text, not line by line."""
        text = self._text
        start = text.find("\n" + prefix)
        while start >= 0:
            end = text.find("\n", start + 1)
            is_open = end >= 0 and text.count('"', start, end) % 2
            while is_open and end >= 0:
                before, end = end, text.find("\n", end + 1)
                is_open ^= text.count('"', before, end if end >= 0 else len(text)) % 2
            yield text[start + 1 : end if end >= 0 else len(text)]
            start = text.find("\n" + prefix, start + 1)

    def _read_comdat(self, line: str) -> None:
        cursor = Cursor(line)
        name = cursor.name("$")
        cursor.expect("=")
        cursor.expect("comdat")
        self._module.comdats[name] = cursor.next()
        cursor.expect_end()

    def _read_global(self, line: str) -> None:
        number = self._next
        symbol = read_global(self._whole(line), self._scope, number)
        if isinstance(symbol, Alias):
            self._module.aliases[symbol.name] = symbol
        else:
            self._module.globals[symbol.name] = symbol

    def _read_metadata(self, line: str) -> None:
        key, equals, text = self._whole(line).partition(" = ")
        if not equals:
            raise UnreadableError("metadata without a definition")
        if key[1:].isdecimal():
            self._module.metadata[int(key[1:])] = text
            return
        self._module.named_metadata[name_of(key)] = self._node_list(text)

    def _node_list(self, text: str) -> tuple[int | str, ...]:
        cursor = Cursor(text)
        cursor.expect("!")
        cursor.expect("{")
        nodes: list[int | str] = []
        while not cursor.accept("}"):
            if nodes:
                cursor.expect(",")
            nodes.append(read_node(cursor))
        cursor.expect_end()
        return tuple(nodes)

    # Functions.

    def _read_definition(self, line: str) -> None:
        number = self._next
        function = read_function_header(self._whole(line), self._scope, number)
        self._module.functions[function.name] = function
        self._read_body(function)

    def _read_body(self, function: Function) -> None:
        lines, blocks = self._lines, function.blocks
        read_common = self._instructions.read_common
        is_fast = self._fast
        instructions: list[Instruction] = []
        ordinal, number = 0, self._next
        while True:
            line = lines[number]
            number += 1
            if line[:2] == "  ":
                if line[2] == " ":  # "    #dbg_value(…)"
                    continue
                if not blocks:  # a first block without a label
                    blocks.append(Block(_entry_number(function), instructions))
                record = read_common(line, number, ordinal) if is_fast else None
                if record is None:
                    self._next = number
                    if line.startswith("  uselistorder "):
                        continue
                    record = self._read_slowly(line, ordinal)
                    number = self._next
                instructions.append(record)
                ordinal += 1
            elif line == "}":
                self._next = number
                return
            elif line and line[0] != ";":
                self._next = number
                instructions = []
                blocks.append(Block(_block_name(line), instructions))

    def _read_slowly(self, line: str, ordinal: int) -> Instruction:
        """An instruction of several lines, or one that asks for all of the grammar."""
        number = self._next
        text = self._with_continuation(self._whole(line))
        reader = self._instructions
        record = reader.read_common(text, number, ordinal) if self._fast and text != line else None
        return record or reader.read(text, number, ordinal)

    def _with_continuation(self, line: str) -> str:
        """An instruction with its further lines: a switch's cases, an invoke's targets."""
        parts = [line]
        in_switch = line.endswith(" [")
        while in_switch or self._lines[self._next].startswith(_CONTINUED):
            parts.append(self._lines[self._next])
            self._next += 1
            in_switch = in_switch and not parts[-1].startswith("  ]")
        return "\n".join(parts)


_READERS: dict[str, Callable[[_ModuleReader, str], None]] = {
    ";": lambda reader, line: None,
    "%": lambda reader, line: None,
    "^": lambda reader, line: None,
    "!": _ModuleReader._read_metadata,
    "@": _ModuleReader._read_global,
    "$": _ModuleReader._read_comdat,
    "define": _ModuleReader._read_definition,
    "declare": _ModuleReader._read_declaration,
    "source_filename": _ModuleReader._read_source_filename,
    "target": _ModuleReader._read_target,
    "module": _ModuleReader._read_module_asm,
    **dict.fromkeys(("attributes", "uselistorder", "uselistorder_bb"), _ModuleReader._pass_over),
}
"""What reads a line of the top level, by its first character or its first word."""


def _read_group(text: str, scope: SymbolTable) -> Attributes:
    cursor = Cursor(text)
    cursor.expect("{")
    found = read_attributes(cursor, scope)
    cursor.expect("}")
    cursor.expect_end()
    return found


@functools.lru_cache(1 << 10)
def _plain_group(text: str) -> Attributes:
    """A group that names none of the module's types means the same in all modules."""
    return _read_group(text, SymbolTable())


def _entry_number(function: Function) -> str:
    # LLVM counts the unnamed arguments first, then the first block.
    return str(sum(p.name.isascii() and p.name.isdecimal() for p in function.params))


def _block_name(line: str) -> str:
    name = line[: line.find(":")]
    if name.isalnum():  # as most are
        return name
    match = _LABEL.match(line)
    if match is None:
        raise UnreadableError("expected a label")
    return name_of("%" + match[1])
