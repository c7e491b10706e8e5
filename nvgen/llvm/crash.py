"""The error about a module that crashes LLVM, with the place of the cause where it can be found.

Layer: nvgen.  Input: the text, LLVM's last words, and a way to try texts.  Output: findings.

LLVM does not say where.  What it dies of is nearly always an intrinsic, a piece of metadata, an
attribute group or the body of a function, and the text without that is one that it survives.  So
these suspects are taken out from the end of the text on, by bisection: the last one that must stay
for LLVM to die is the reason, or the part of it that stands last.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence

from intrinsics.findings import Finding, InputError, Place, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.lines import Lines
from nvgen.llvm.process import LlvmDiedError, LlvmTimeoutError

_SECONDS = 20.0
"""How long the reason is looked for; a search is some twenty tries of milliseconds each."""

_MOST_TEXT = 4_000_000
"""Characters of a text that is not searched: each try reads it."""

_SUSPECT = re.compile(
    r"""(?P<comment>;[^\n]*)
      | (?P<intrinsic>@llvm\.[-\w$.\\]+ | @"(?:llvm\.|\\)[^"\n]*")
      | (?P<string>c?"[^"]*")
      | (?P<named>^[ \t]*![-a-zA-Z$._\\][-\w$.\\]*[ \t]*=[ \t]*!\{[^}\n]*\})
      | (?P<record>^[ \t]*\#dbg_\w+\([^\n]*$)
      | (?P<attachment>![-a-zA-Z$._\\][-\w$.\\]*[ ]+
            (?:!\d+|!\{[^{}\n]*\}|![\w\\]+\([^()\n]*\)))
      | (?P<group>^[ \t]*attributes[ ]+\#\d+[ ]*=[ ]*\{[^}\n]*\})
    """,
    re.VERBOSE | re.MULTILINE,
)
_ENTRY = re.compile(r"(?:,\s*)?!(\d+)")
_DECLARES = re.compile(r"\b(?:declare|define)\b[^@]*\Z")
_NODE = re.compile(r"^[ \t]*!(\d+)[ \t]*=", re.MULTILINE)
_HEADER = re.compile(r"^[ \t]*define\b[^\n]*\{[ \t]*(?:;[^\n]*)?$", re.MULTILINE)
_CLOSED = re.compile(r"^[ \t]*\}", re.MULTILINE)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{2})")


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A part of the text that LLVM may die of, what does not kill instead, and where it is shown.

    Suspects are taken out from the last on, so that what is left of a list is its beginning.
    """

    begin: int
    end: int
    instead: str
    shown: int


def crashed(words: str, text: str, file: str, survives: Callable[[str], bool]) -> InputError:
    """The error for a text on which LLVM does not terminate."""
    expected = "intrinsics with LLVM's signatures, well-formed metadata and debug info"
    hint = "an intrinsic of an older LLVM with other arguments is the usual reason"
    if words.startswith(("SIG", "signal")):
        expected = "intrinsics with LLVM's signatures, and less nesting"
        hint = "types, constants or metadata nested too deep are the usual reason"
    found = _locate(text, survives)
    place = Place(file)
    if found is not None:
        place = Place(file, *Lines(text).position(found.shown))
        hint = "LLVM reads the module without what stands here"
    return InputError(
        [
            Finding(
                "llvm/crash",
                Severity.ERROR,
                "LLVM aborts when it reads this module",
                place,
                got=words,
                expected=expected,
                hint=hint,
            )
        ]
    )


def timed_out(limit: str, file: str, doing: str, hint: str = "") -> InputError:
    """The error for a text on which LLVM does not terminate."""
    return InputError(
        [
            Finding(
                "llvm/timeout",
                Severity.ERROR,
                f"LLVM does not end when it {doing} this module",
                Place(file),
                got=f"nothing after {limit}",
                expected="an answer in a hundredth of that",
                hint=hint,
            )
        ]
    )


def _locate(text: str, survives: Callable[[str], bool]) -> _Suspect | None:
    """The suspect that must stay for LLVM to die; None when that cannot be told in time."""
    if len(text) > _MOST_TEXT:
        return None
    until = time.monotonic() + _SECONDS
    for suspects in (list(_parts(text)), list(_bodies(text))):
        found = _last_needed(text, suspects, survives, until)
        if found is not None:
            return found
    return None


def _last_needed(
    text: str, suspects: Sequence[_Suspect], survives: Callable[[str], bool], until: float
) -> _Suspect | None:
    try:
        if not suspects or not survives(_without(text, suspects)):
            return None
        alive, dead = 0, len(suspects)  # LLVM lives with so many of them, dies with so many
        while dead - alive > 1:
            if time.monotonic() > until:
                return None
            middle = (alive + dead) // 2
            if survives(_without(text, suspects[middle:])):
                alive = middle
            else:
                dead = middle
        return suspects[alive]
    except (LlvmDiedError, LlvmTimeoutError):
        return None


def _parts(text: str) -> Iterator[_Suspect]:
    """Intrinsics, metadata and attribute groups."""
    nodes = {match[1]: match.start(1) - 1 for match in _NODE.finditer(text)}
    for match in _SUSPECT.finditer(text):
        begin, end = match.span()
        shown = begin + len(match[0]) - len(match[0].lstrip(" \t"))
        match match.lastgroup:
            case "intrinsic":
                name = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), match[0][1:].strip('"'))
                if name.startswith("llvm."):
                    yield _Suspect(begin, end, _another(text, begin, end, name), shown)
            case "named":
                for entry in _ENTRY.finditer(text, text.index("{", begin), end):
                    place = nodes.get(entry[1], entry.start())
                    yield _Suspect(entry.start(), entry.end(), "", place)
            case "group":
                yield _Suspect(begin, end, match[0].partition("{")[0] + "{ }", shown)
            case "record":
                yield _Suspect(begin, end, "", shown)
            case "attachment":
                yield _Suspect(_with_comma(text, begin), end, "", shown)


def _with_comma(text: str, begin: int) -> int:
    """Where the comma is that stands before an attachment, if one does."""
    at = begin
    while at > 0 and text[at - 1] in " \t":
        at -= 1
    return at - 1 if text[at - 1 : at] == "," else begin


def _another(text: str, begin: int, end: int, name: str) -> str:
    """The replacement of an intrinsic: another name where it is declared, null where it is used."""
    declares = _DECLARES.search(text, max(begin - 400, 0), begin)
    defines = text[end : end + 40].lstrip().startswith("=")
    return f'@"nvgen:{name}"' if declares or defines else "null"


def _bodies(text: str) -> Iterator[_Suspect]:
    """The functions, each for its body."""
    at = 0
    while (header := _HEADER.search(text, at)) and (closed := _CLOSED.search(text, header.end())):
        first = header[0].partition(";")[0]
        shown = header.start() + len(first) - len(first.lstrip())
        at = closed.end()
        yield _Suspect(header.start(), at, first + "\n  unreachable\n}", shown)


def _without(text: str, suspects: Sequence[_Suspect]) -> str:
    pieces, at = [], 0
    for suspect in suspects:
        pieces += [text[at : suspect.begin], suspect.instead]
        at = suspect.end
    return "".join([*pieces, text[at:]])
