"""Where an instruction stands in the user's LLVM IR.

Layer: isel (standard library, and `isel.llvm` for records).
Input: the text that the user gave, which is not what LLVM prints: LLVM moves and strips lines.
Output: for each function the place of its n-th instruction, n being the ordinal in LLVM's print.

The scan is no parser.  LLVM IR has no mark between instructions, but each begins with a name and
`=`, or with its opcode; and an opcode in the middle of one is a constant expression, which has
parentheses right after it, or an atomic operation.  That is enough to cut a body into instructions.
"""

from __future__ import annotations

import re

from intrinsics.collector import paused_collector
from intrinsics.lazy_dataclass import dataclass
from intrinsics.lines import Lines
from isel.llvm.grammar.lexer import name_of
from isel.llvm.ir import Instruction, Module
from isel.llvm.vocabulary import Flag, FloatPredicate, IntPredicate, Opcode, TailKind
from isel.place_lines import DEBUG_CALLS, OPCODES, scan_lines

_TOKEN = re.compile(
    r"""(?:\s++|;[^\n]*+|/\*.*?\*/)*+(
      "[^"]*":?                   # a string, or a label in quotes
    | [%@$!c]"[^"]*"              # a quoted name, a metadata string, a c"…" constant
    | [%@$!\#^][-\w$.\\]*         # a name, a debug record, an attribute group
    | [-\w$.]+:?                  # a word, a number, a label
    | .
    | \Z                          # so that a comment at the end is skipped, not searched
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NAME = r'[-\w$.]++|"[^"\n]*+"'
_GLOBAL = re.compile(
    rf"^[ \t]*+(?P<begin>)(?:define\b[^\n@]*+@(?P<function>{_NAME})\("
    rf"|@(?P<variable>{_NAME})[ \t]*+=)",
    re.MULTILINE | re.ASCII,
)
_OPENING = frozenset("([{<")
_CLOSING = frozenset(")]}>")
_TAILS = frozenset(tail.value for tail in TailKind if tail is not TailKind.NONE)
_STARTS = OPCODES | _TAILS
_WORDS = {opcode: opcode.value for opcode in Opcode}
# What may stand between the opcode of a constant expression and its parenthesis.
_FLAGS = frozenset(word.value for words in (Flag, IntPredicate, FloatPredicate) for word in words)

_PRINTED_COLUMN = 3
"""Where LLVM prints instructions: behind two spaces."""

Position = tuple[int, int]


@dataclass(slots=True)
class Found:
    """An instruction of the user's text; `place` is its line and column, from 1."""

    place: Position
    result: str | None
    opcode: str
    callee: str = ""


def map_places(user_text: str) -> dict[str, list[Position]]:
    """For each function that `user_text` defines, the (line, column) of its n-th instruction.

    Lines and columns count from 1, columns in characters.  A function without a name is left out,
    because LLVM may give it another number when it prints.
    """
    return {
        name: [found.place for found in instructions]
        for name, instructions in _scan(user_text).items()
    }


@paused_collector()
def align_places(module: Module, user_text: str, printed: str = "") -> dict[str, list[Position]]:
    """`map_places`, checked against the module that LLVM made of the text.

    LLVM replaces calls of intrinsics that it has renamed since, at times by several instructions:
    those get the call's place.  A function is left out when its instructions do not correspond, or
    when it can't be told which of two neighbouring calls an instruction replaces.

    `printed` is LLVM's text of the module, if it is at hand: what the user's has in common with it
    needs no scan.
    """
    same_lines = _lines_in_common(module, _seen(user_text), printed)
    if same_lines is not None:
        return same_lines
    by_lines = _aligned_lines(module, user_text)
    if by_lines is not None:
        return by_lines
    scanned = _scan(user_text)
    known = {name: module.functions[name] for name in scanned if name in module.functions}
    tried = {n: _align(scanned[n], list(f.instructions())) for n, f in known.items()}
    aligned = {name: found for name, found in tried.items() if found is not None}
    return {name: [found.place for found in instructions] for name, instructions in aligned.items()}


def _lines_in_common(module: Module, text: str, printed: str) -> dict[str, list[Position]] | None:
    """The places in a text whose functions have LLVM's own lines, as what LLVM printed has."""
    if not printed or "/*" in text:
        return None
    lines, shown = text.split("\n"), printed.split("\n")
    found: dict[str, list[Position]] = {}
    end = 0
    try:
        for function in module.definitions():
            start = lines.index(shown[function.line - 1], end)
            end = lines.index("}", start)
            body = [line for line in lines[start:end] if line[:2] == "  "]
            if body != [shown[i.line - 1] for i in function.instructions()]:
                return None
            if not function.name.isdecimal():
                found[function.name] = [
                    (number, _PRINTED_COLUMN)
                    for number, line in enumerate(lines[start:end], start + 1)
                    if line[:2] == "  "
                ]
    except ValueError:  # there is no such line
        return None
    return found


def _aligned_lines(module: Module, text: str) -> dict[str, list[Position]] | None:
    """The places in a text with one instruction a line, if they are all LLVM's."""
    scanned = scan_lines(_seen(text))
    if scanned is None:
        return None
    for name, found in scanned.items():
        function = module.functions.get(name)
        printed = list(function.instructions()) if function else []
        if found.shown == [(i.result, _WORDS[i.opcode]) for i in printed]:
            continue
        if len(printed) != len(found.shown):
            return None
        if not all(_agrees(*shown, i) for shown, i in zip(found.shown, printed, strict=True)):
            return None
    return {name: found.places for name, found in scanned.items()}


def _seen(text: str) -> str:
    """The text as far as LLVM sees it."""
    return text.partition("\0")[0]


def places_of_globals(user_text: str) -> dict[str, Position]:
    """Where each function and variable is defined that a line begins with."""
    lines = Lines(user_text)
    found: dict[str, Position] = {}
    for match in _GLOBAL.finditer(user_text):
        written = match["function"] or match["variable"]
        found.setdefault(name_of("@" + written), lines.position(match.start("begin")))
    return found


def _scan(text: str) -> dict[str, list[Found]]:
    """The instructions of every named function that ends with its brace."""
    return _Scanner(text).scan()


class _Scanner:
    """Tokens of the user's text; methods take and return positions, which are indices."""

    def __init__(self, text: str) -> None:
        self._lines = Lines(text)
        self._tokens: list[str] = []
        self._offsets: list[int] = []
        for match in _TOKEN.finditer(_seen(text)):
            self._tokens.append(match[1])
            self._offsets.append(match.start(1))
        # Empty tokens at the end, so that looking ahead needs no test.
        self._tokens += [""] * 8

    def scan(self) -> dict[str, list[Found]]:
        """The instructions of every named function that ends with its brace."""
        functions: dict[str, list[Found]] = {}
        index = 0
        while index < len(self._offsets):
            if self._tokens[index] != "define":
                index += 1
                continue
            name, index = self._skip_header(index + 1)
            found, index = self._scan_body(index)
            if name and found is not None:
                functions[name] = found
        return functions

    def _skip_header(self, index: int) -> tuple[str, int]:
        """The function's name, and the index after the brace that opens its body."""
        name = ""
        depth = 0
        while token := self._tokens[index]:
            index += 1
            if depth == 0 and not name and token[0] == "@":
                name = token
            if depth == 0 and token == "{" and self._begins_body(index):
                break
            depth += (token in _OPENING) - (token in _CLOSING)
        named = len(name) > 1 and not name[1:].isdecimal()
        return name_of(name) if named else "", index

    def _begins_body(self, index: int) -> bool:
        # Prefix and prologue data come before the body, and may be structs in braces.
        return (
            self._is_label(index)
            or self._tokens[index].startswith("#dbg_")
            or self._is_definition(index)
            or self._is_opcode(index)
        )

    def _is_label(self, index: int) -> bool:
        return len(self._tokens[index]) > 1 and self._tokens[index][-1] == ":"

    def _is_definition(self, index: int) -> bool:
        token = self._tokens[index]
        return len(token) > 1 and token[0] == "%" and self._tokens[index + 1] == "="

    def _is_opcode(self, index: int) -> bool:
        """Whether an opcode stands here that is not a constant expression's."""
        if self._tokens[index] not in _STARTS:
            return False
        index += 1
        while self._tokens[index] in _FLAGS:
            index += 1
        return self._tokens[index] not in ("(", "inrange")

    def _scan_body(self, index: int) -> tuple[list[Found] | None, int]:
        """The instructions up to the closing brace, and the index after it; None without one."""
        instructions: list[Found] = []
        depth = 0
        while token := self._tokens[index]:
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                if depth == 0:
                    return [f for f in instructions if not _is_debug_call(f)], index + 1
                depth -= 1
            elif depth == 0:
                if self._is_definition(index) or self._is_opcode(index):
                    found, index = self._take_instruction(index)
                    instructions.append(found)
                    continue
                if token[0] == "@" and instructions and not instructions[-1].callee:
                    instructions[-1].callee = token
            index += 1
        return None, index

    def _take_instruction(self, index: int) -> tuple[Found, int]:
        """What begins at `index`, and the index after its opcode and an atomic operation's name."""
        offset = self._offsets[index]
        result: str | None = None
        if self._is_definition(index):
            result = name_of(self._tokens[index])
            index += 2
        if self._tokens[index] in _TAILS:
            index += 1
        opcode = self._tokens[index]
        index += 1
        if opcode == Opcode.ATOMICRMW.value:
            index += 2 if self._tokens[index] == "volatile" else 1
        return Found(self._lines.position(offset), result, opcode), index


def _is_debug_call(found: Found) -> bool:
    return found.opcode == Opcode.CALL.value and DEBUG_CALLS.match(found.callee) is not None


def _align(scanned: list[Found], printed: list[Instruction]) -> list[Found] | None:
    """For each printed instruction the scanned one it came from."""
    if len(scanned) == len(printed) and all(map(_may_be, scanned, printed)):
        return scanned
    aligned: list[Found] = []
    for index, found in enumerate(scanned):
        if len(aligned) < len(printed) and _same(found, printed[len(aligned)]):
            aligned.append(found)
            continue
        if found.opcode != Opcode.CALL.value:
            return None
        following = scanned[index + 1] if index + 1 < len(scanned) else None
        while len(aligned) < len(printed):
            if following is not None and _same(following, printed[len(aligned)]):
                break
            aligned.append(found)
    return aligned if len(aligned) == len(printed) else None


def _may_be(found: Found, printed: Instruction) -> bool:
    return found.opcode == Opcode.CALL.value or _same(found, printed)


def _same(found: Found, printed: Instruction) -> bool:
    return _agrees(found.result, found.opcode, printed)


def _agrees(result: str | None, opcode: str, printed: Instruction) -> bool:
    if opcode != _WORDS[printed.opcode]:
        return False
    if result == printed.result and result is not None:
        return True
    # LLVM numbers what has no name, and numbers anew when it has replaced a call.
    unnamed = result is None or result.isdecimal()
    return unnamed and (printed.result is None or printed.result.isdecimal())
