"""Where the instructions of a module stand in the user's LLVM IR.

Layer: isel (standard library, and `isel.llvm` for records).
Input: the text that the user gave, which is not what LLVM prints: LLVM moves and strips lines.
Output: for each function the place of its n-th instruction, n being the ordinal in LLVM's print.
"""

from __future__ import annotations

import re

from intrinsics.collector import paused_collector
from intrinsics.lines import Lines
from isel.llvm.grammar.lexer import name_of
from isel.llvm.ir import Instruction, Module
from isel.llvm.vocabulary import Opcode
from isel.places.lines import scan_lines
from isel.places.tokens import Found, Position, scan_tokens

_NAME = r'[-\w$.]++|"[^"\n]*+"'
_GLOBAL = re.compile(
    rf"^[ \t]*+(?P<begin>)(?:define\b[^\n@]*+@(?P<function>{_NAME})\("
    rf"|@(?P<variable>{_NAME})[ \t]*+=)",
    re.MULTILINE | re.ASCII,
)
_WORDS = {opcode: opcode.value for opcode in Opcode}
_PRINTED_COLUMN = 3
"""Where LLVM prints instructions: behind two spaces."""


@paused_collector()
def align_places(module: Module, user_text: str, printed: str = "") -> dict[str, list[Position]]:
    """For each function that `user_text` defines, the (line, column) of its n-th instruction.

    Lines and columns count from 1, columns in characters.  LLVM replaces calls of intrinsics that
    it has renamed since, at times by several instructions: those get the call's place.  A function
    is left out when its instructions do not correspond to those of the module, or when it can't be
    told which of two neighbouring calls an instruction replaces.

    `printed` is LLVM's text of the module, if it is at hand: what the user's has in common with it
    needs no scan.
    """
    text = user_text.partition("\0")[0]  # LLVM reads no further
    same_lines = _lines_in_common(module, text, printed)
    if same_lines is not None:
        return same_lines
    by_lines = _aligned_lines(module, text)
    if by_lines is not None:
        return by_lines
    scanned = scan_tokens(text)
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
    scanned = scan_lines(text)
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


def places_of_globals(user_text: str) -> dict[str, Position]:
    """The position of each function and variable definition that begins a line."""
    lines = Lines(user_text)
    found: dict[str, Position] = {}
    for match in _GLOBAL.finditer(user_text):
        written = match["function"] or match["variable"]
        found.setdefault(name_of("@" + written), lines.position(match.start("begin")))
    return found


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
