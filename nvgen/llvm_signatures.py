"""What is wrong with the declaration of an intrinsic, where LLVM's verifier says only that it is.

Layer: nvgen.  Input: the verifier's message, which names neither line nor types, and the text.
Output: the line of the declaration, its types, and those of the row's notation.
"""

from __future__ import annotations

import re

from intrinsics import catalog
from intrinsics.findings import Finding, Place, Severity
from isel.select.intrinsics import PAIRS, PREFIX, Argument, arguments, results

_INCORRECT = "Intrinsic has incorrect"


def declared_wrong(message: str, printed: str, text: str, file: str) -> Finding | None:
    """What is said of an intrinsic that is declared with other types; None for other messages."""
    named = re.search(r"@(llvm\.[\w.]+)", printed)
    if not message.startswith(_INCORRECT) or named is None:
        return None
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
        expected=signature(name),
        hint="declare it with these types, and call it so",
    )


def signature(name: str) -> str:
    """The declaration of an intrinsic that a row spells; "" for another one."""
    spelling = catalog.spelling(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    if spelling is None:
        return ""
    given = ", ".join(map(_type, arguments(spelling.pattern.args)))
    text = spelling.pattern.result
    found = ", ".join(map(_type, results(text))) or "void"
    found = f"{{ {found} }}" if text.startswith("{") else found
    return f"declare {found} @{name}({given})"


def _type(argument: Argument) -> str:
    """A type of the notation as LLVM writes it; n stands for a number that the form says."""
    text, several = argument.type, ""
    if text.endswith("*"):
        text, several = text[:-1], " …"
    if text.startswith("v*"):
        return f"<n x {_plain(text[2:])}>"
    if text.startswith("n*"):
        text, several = text[2:], " …"
    return _plain(text) + several


def _plain(text: str) -> str:
    if text in PAIRS:
        return PAIRS[text]
    if re.fullmatch(r"p\d*", text):
        return f"ptr addrspace({text[1:]})" if text[1:] not in ("", "0") else "ptr"
    return text
