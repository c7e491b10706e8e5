"""The text and the constraints of inline assembly, as LLVM defines them.

Layer: isel.select.  Input: `asm "text", "constraints"`.  Output: the constraints one by one, and
the text as PTX in which operand n is called `$n`, or is the number that it is.  LLVM Language
Reference, Inline Assembler Expressions; Supported Constraint Code List: NVPTX.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from isel.diagnostics import Unselectable

T = ScalarType

REGISTERS = {
    "b": T.PRED,
    "c": T.B16,
    "h": T.B16,
    "r": T.B32,
    "f": T.B32,
    "l": T.B64,
    "N": T.B64,
    "d": T.B64,
    "q": T.B128,
}
"""The class of register that each letter asks for."""

_IMMEDIATE = frozenset("nis")
_CONSTRAINT = re.compile(r"(?P<out>=?)(?P<marks>[&*%]*)(?:(?P<tie>\d+)|(?P<letters>[A-Za-z]+))")
_PLACE = re.compile(
    r"\$(?:(?P<number>\d+)|\{(?P<braced>\d+)(?::(?P<modifier>\w))?\}|\{:(?P<word>\w+)\}"
    r"|(?P<mark>[$(|)]))"
)
_WORDS = {"uid": "0", "comment": "//", "private": "$L__"}
"""`${:uid}` tells the copies of a text apart, which have names of their own here anyhow."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """The constraint on one operand: a register of a class, the same as another operand, or a
    number.

    `tie` is the number of the output that an input shares the register of.  `indirect` operands
    are pointers to what the text reads or writes.
    """

    is_output: bool
    register: ScalarType | None = None
    tie: int | None = None
    may_be_number: bool = False
    indirect: bool = False


@functools.lru_cache(1024)
def read_constraints(text: str) -> tuple[Constraint, ...]:
    """The constraints of the operands; clobbers are left out.

    Raises: Unselectable.
    """
    parts = [part.strip() for part in text.split(",")] if text else []
    return tuple([_constraint(part) for part in parts if not part.startswith("~")])


def _constraint(part: str) -> Constraint:
    match = _CONSTRAINT.fullmatch(part)
    if match is None:
        raise _bad_constraint(part)
    out, indirect = bool(match["out"]), "*" in match["marks"]
    if match["tie"]:
        return Constraint(out, tie=int(match["tie"]))
    letters = match["letters"]
    if "m" in letters:
        return Constraint(out, T.B64, indirect=True)
    register = next((REGISTERS[letter] for letter in letters if letter in REGISTERS), None)
    number = not _IMMEDIATE.isdisjoint(letters)
    if register is None and (out or not number):
        raise _bad_constraint(part)
    if indirect:
        raise _bad_constraint(part)
    return Constraint(out, register, may_be_number=number)


def _bad_constraint(part: str) -> Unselectable:
    letters = ", ".join(REGISTERS)
    return Unselectable(
        "inline-asm",
        f"no operand of PTX is '{part}'",
        op="asm",
        got=part,
        expected=f"{letters} (registers), n, i, s (numbers), m (memory) or a number (tied)",
        section="LLVM Language Reference, Inline Asm Constraint String",
    )


def substitute(text: str, numbers: Mapping[int, str], memory: Sequence[int], count: int) -> str:
    """The text with operand n called `$n`; `numbers` are spelled out, `memory` is in brackets.

    Raises: Unselectable.
    """
    text = _first_alternatives(text)
    found: list[str] = []
    end = 0
    for match in _PLACE.finditer(text):
        found.append(text[end : match.start()])
        end = match.end()
        if match["mark"] or match["word"]:
            found.append("$" if match["mark"] == "$" else _WORDS.get(match["word"] or "", ""))
            continue
        number = int(match["number"] or match["braced"])
        if number >= count:
            raise _bad_text(match[0], f"one of {count} operands")
        found.append(_shown(number, match["modifier"] or "", numbers, memory))
    found.append(text[end:])
    return "".join(found)


def _shown(number: int, modifier: str, numbers: Mapping[int, str], memory: Sequence[int]) -> str:
    if modifier not in ("", "r") and (modifier not in ("c", "n") or number not in numbers):
        raise _bad_text(f"${{{number}:{modifier}}}", "${N}, ${N:c} or ${N:n} of a number")
    if number in numbers:
        spelled = numbers[number]
        return str(-int(spelled)) if modifier == "n" else spelled
    return f"[${number}]" if number in memory else f"${number}"


def _bad_text(got: str, expected: str) -> Unselectable:
    return Unselectable(
        "inline-asm",
        "the text names an operand that there is not",
        op="asm",
        got=got,
        expected=expected,
        section="LLVM Language Reference, Inline Asm Template Escapes",
    )


def _first_alternatives(text: str) -> str:
    """Of `$(a$|b$)`, which has a text for each dialect of an assembler, the first."""
    if "$(" not in text:
        return text
    return re.sub(r"\$\((.*?)(?:\$\|.*?)?\$\)", lambda m: m[1], text, flags=re.DOTALL)
