"""Explanations of wrong declarations of intrinsics, which LLVM's verifier only calls wrong.

Layer: nvgen.  Input: the verifier's message, which names neither line nor types, and the text.
Output: the line of the declaration, its types, and those of the row's notation.
"""

from __future__ import annotations

import difflib
import re

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import Finding, Place, Severity
from intrinsics.patterns import PAIRS, PREFIX, Argument, arguments, results
from intrinsics.special import special_registers

_INCORRECT = "Intrinsic has incorrect"
_NUMBER = ("Callsite was not defined with variable", "Intrinsic was not defined with variable")
"""What LLVM says of a declaration with more or fewer arguments than an intrinsic has."""

_ELSEWHERE = "the LLVM Language Reference says what it takes"


def declared_wrong(message: str, printed: str, text: str, file: str) -> Finding | None:
    """The finding about an intrinsic declared with wrong types; None for other messages."""
    named = re.search(r"@(llvm\.[\w.]+)", printed)
    if not message.startswith((_INCORRECT, *_NUMBER)) or named is None:
        return None
    if message.startswith(_NUMBER):
        message = f"{_INCORRECT} number of arguments"
    name = named[1]
    declared = re.search(
        rf'^[ \t]*(declare\b[^@\n]*@"?{re.escape(name)}"?[ \t]*\([^\n]*\))', text, re.MULTILINE
    )
    line = text.count("\n", 0, declared.start(1)) + 1 if declared else 0
    column = declared.start(1) - text.rfind("\n", 0, declared.start(1)) if declared else 0
    return Finding(
        "llvm/verifier",
        Severity.ERROR,
        f"{message.rstrip('!')}: @{name}",
        Place(file, line, column),
        got=declared[1] if declared else printed,
        expected=(expected := signature(name)),
        hint=_hint(name, declared[1] if declared else "") if expected else _ELSEWHERE,
    )


def _hint(name: str, declared: str) -> str:
    """What to do: another intrinsic of the family may have just the types that were declared."""
    types = declared.replace(f'@"{name}"', "@").replace(f"@{name}", "@")
    if types and name.startswith(PREFIX):
        head = name.removeprefix(PREFIX).split(".")[0] + "."
        same = [
            PREFIX + other
            for other in catalog.spellings()
            if other.startswith(head) and signature(PREFIX + other, "") == types
        ]
        if near := difflib.get_close_matches(name, same, n=1, cutoff=0.0):
            return f"declare it with these types, and call it so; yours are those of @{near[0]}"
    return "declare it with these types, and call it so"


def signature(name: str, shown: str | None = None) -> str:
    """The declaration of an intrinsic that a row spells, called `shown` if given; "" for another.

    Numbers of elements are those that the name says.
    """
    spelling = catalog.spelling(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    if spelling is None:
        return _of_special(name)
    given = [type_ for a in arguments(spelling.pattern.args) for type_ in _types(spelling, a)]
    text = spelling.pattern.result
    found = ", ".join(type_ for a in results(text) for type_ in _types(spelling, a)) or "void"
    several = text.startswith("{") or ", " in found
    found = f"{{ {found} }}" if several and not found.startswith("{") else found
    return f"declare {found} @{name if shown is None else shown}({', '.join(given)})"


def signatures() -> dict[str, str]:
    """The declarations of all intrinsics that nvgen selects to rows, by their names, in order."""
    names = sorted(PREFIX + name for name in catalog.spellings())
    special = (PREFIX + register.llvm for register in special_registers().values() if register.llvm)
    return {name: signature(name) for name in (*names, *sorted(special))}


def _of_special(name: str) -> str:
    """The declaration of what reads a special register."""
    for register in special_registers().values():
        if register.llvm and PREFIX + register.llvm == name:
            widths = {type_.bits for type_ in register.types}
            return f"declare i{32 if 32 in widths else max(widths)} @{name}()"
    return ""


def _types(spelling: Spelling, argument: Argument) -> list[str]:
    """The types that one argument of the notation stands for, as LLVM writes them."""
    text = argument.type
    if not text.startswith(("v*", "n*")):
        return [_plain(text)]
    operand = spelling.row.operand.get(argument.name)
    number = operand.count.of(spelling.attributes) if operand is not None and operand.count else 0
    one = _plain(text[2:].replace("f32", "float"))
    if text.startswith("n*"):
        return [one] * max(number, 1)
    return [f"<{number} x {one}>" if number > 1 else one]


def _plain(text: str) -> str:
    if text in PAIRS:
        return PAIRS[text]
    if re.fullmatch(r"p\d*", text):
        return f"ptr addrspace({text[1:]})" if text[1:] not in ("", "0") else "ptr"
    return text
