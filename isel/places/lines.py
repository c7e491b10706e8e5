"""The instructions of LLVM IR that has one a line, as printers write it.

Layer: isel (standard library).  Input: the text that the user gave.  Output: where each instruction
of each function begins; or nothing, when a line is not one instruction: then `isel.places.tokens`
cuts the text token by token, which costs more.
"""

from __future__ import annotations

import re
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.grammar.lexer import name_of
from isel.llvm.vocabulary import Opcode

_INSTRUCTION = re.compile(
    r'(?:(%(?:[-\w$.]+|"[^"]*")) = )?(?:(?:tail|musttail|notail) )?([a-z_]+)\b', re.ASCII
)
# What most lines are: no label, no comment, no escape in a name.
_PLAIN = re.compile(r'\s*+(?:%([-\w$.]+|"[^"\\]*") = )?([a-z]+)(?: |$)', re.ASCII)
_LABEL = re.compile(r'(?:[-\w$.]+|"[^"]*"):[ \t]*(?:;|$)', re.ASCII)
_HEADER = re.compile(r'define\b[^@"\n]*@([-\w$.]+|"[^"]*")\(.*\{[ \t]*(?:;.*)?$', re.ASCII)
OPCODES = frozenset(opcode.value for opcode in Opcode)
_SEVERAL_LINES = frozenset(("invoke", "callbr", "landingpad", "catchswitch"))
_PLAIN_OPCODES = OPCODES - _SEVERAL_LINES - {"call", "switch"}
# Calls that LLVM turns into debug records, or drops.
DEBUG_CALLS = re.compile(r'@"?llvm\.dbg\.(?:value|declare|assign|label|addr)\b')


@dataclass(slots=True)
class Scanned:
    """The instructions of a function: (line, column) from 1, and (result, opcode) of each."""

    places: list[tuple[int, int]] = field(default_factory=list)
    shown: list[tuple[str | None, str]] = field(default_factory=list)

    def add(self, number: int, line: str, stripped: str) -> str:
        """The opcode of the line's instruction, which is added unless it is about debugging; "" for
        a line that is not one instruction.
        """
        match = _INSTRUCTION.match(stripped)
        if match is None or match[2] not in OPCODES or match[2] in _SEVERAL_LINES:
            return ""
        if match[2] != "call" or not DEBUG_CALLS.search(stripped):
            self.places.append((number, len(line) - len(line.lstrip()) + 1))
            self.shown.append((_result(match[1]), match[2]))
        return match[2]


def scan_lines(text: str) -> dict[str, Scanned] | None:
    """The instructions of every named function, or None when some line is none of one instruction.

    A text that has two instructions on one line may pass; it has too few of them then.
    """
    functions: dict[str, Scanned] = {}
    inside: Scanned | None = None
    in_table = False  # of a switch
    headers = 0
    opened = ""  # a header without its brace
    for number, line in enumerate(text.split("\n"), 1):
        if inside is not None and not in_table:
            plain = _PLAIN.match(line)
            if plain is not None and plain[2] in _PLAIN_OPCODES:
                name = plain[1]
                inside.places.append((number, plain.start(1) if name else plain.start(2) + 1))
                if name is not None and name[0] == '"':
                    name = _result("%" + name)
                inside.shown.append((name, plain[2]))
                continue
        stripped = line.strip()
        if inside is None:
            if opened and stripped == "{":  # on a line of its own
                stripped = f"{opened} {{"
            opened = ""
            if not stripped.startswith("define"):
                continue
            if not stripped.endswith("{") and ";" not in stripped:
                opened = stripped
                continue
            header = _HEADER.match(stripped)
            if header is None:
                return None
            headers += 1
            inside = functions.setdefault(_name(header[1]), Scanned())
        elif in_table:
            in_table = not stripped.startswith("]") and not stripped.endswith("]")
        elif stripped == "}":
            inside = None
        elif not _is_empty(stripped):
            if not (opcode := inside.add(number, line, stripped)):
                return None
            in_table = opcode == "switch" and stripped.endswith("[")
    functions.pop("", None)
    return functions if inside is None and headers == text.count("define") else None


def _is_empty(line: str) -> bool:
    """Whether no instruction stands on the line."""
    return not line or line.startswith((";", "#dbg_")) or _LABEL.match(line) is not None


def _name(shown: str) -> str:
    """A function's name, "" for a number, which LLVM may change."""
    return "" if shown.isdecimal() else name_of("@" + shown)


def _result(shown: str | None) -> str | None:
    return None if shown is None else name_of(shown)
