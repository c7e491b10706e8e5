r"""How names and strings are spelled in MIR text, in both directions.

Layer: asmprinter.  Input: names and strings as the records have them.  Output: their spelling, and
the names and strings back from it.

Names come from LLVM and from PTX, and LLVM allows any character in them.  What is not `PLAIN`
stands in quotes, so that `[%p-16]` is an address, and `[%"p-16"]` the register LLVM calls `p-16`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from intrinsics.mir import MachineFunction

PLAIN = r"(?:\.?[\w$]+(?:\.[\w$]+)*)"
"""Names that stand without quotes; `%1` too, where a block is named."""

STRING = r'(?:"(?:\\.|[^"\\])*+")'

_BLOCK = re.compile(f"%?{PLAIN}")
_PLAIN = re.compile(PLAIN)
_NUMBER = re.compile("[0-9]+")
_REGISTER = re.compile(f"%({PLAIN}|{STRING})(?:#([0-9]+))?")
_RANGE_END = re.compile(r"(%(?:.*[^0-9])?)(0|[1-9][0-9]{0,4})")

# ---- strings ---------------------------------------------------------------------------------

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = {shown[1]: character for character, shown in _ESCAPES.items()}


def escaped(text: str) -> str:
    """`text` on one line: what does not print stands as `\\n` or by number, `\\u{2028}`."""
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\u{{{ord(character):x}}}"


def quoted(text: str) -> str:
    """`text` as a STRING."""
    return f'"{escaped(text)}"'


def unquoted(shown: str) -> str:
    """The text of a STRING.

    Raises: ValueError for an escape that there is not.
    """
    return re.sub(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", _character, shown[1:-1])


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2] not in _ESCAPED:
        raise ValueError(f"no escape \\{match[2]}")
    return _ESCAPED[match[2]]


# ---- symbols and blocks ----------------------------------------------------------------------


def symbol(name: str) -> str:
    """A symbol as `@NAME`."""
    return "@" + (name if _PLAIN.fullmatch(name) else quoted(name))


def block(name: str) -> str:
    """A block as `bb.NAME`."""
    return "bb." + (name if _BLOCK.fullmatch(name) else quoted(name))


def bare(shown: str) -> str:
    """The name behind `@` or `bb.`."""
    return unquoted(shown) if shown.startswith('"') else shown


# ---- registers -------------------------------------------------------------------------------


class RegisterName(NamedTuple):
    """A register's name, parsed.

    `name` is the one in the register table, None where the spelling is only a number; `number`
    tells registers of the same name apart.
    """

    name: str | None
    number: str = "1"


def register_names(function: MachineFunction) -> list[str]:
    """Distinct names of the registers of `function`, without their classes."""
    return list(_register_names(function, function.keep_names))


def _register_names(function: MachineFunction, keep: bool) -> Iterator[str]:
    seen: dict[str, int] = {}
    for reg, name in enumerate(function.regs.names):
        if not name and not keep:
            yield f"%{reg}"
            continue
        seen[name] = seen.get(name, 0) + 1
        again = f"#{seen[name]}" if seen[name] > 1 else ""
        yield f"%{_ptx_name(name) if keep else _hint(name)}{again}"


def _hint(name: str) -> str:
    plain = _PLAIN.fullmatch(name) and not _NUMBER.fullmatch(name)
    return name if plain else quoted(name)


def _ptx_name(name: str) -> str:
    """PTX's names have a `%` of their own, mostly; it is not said twice."""
    return name[1:] if name[:1] == "%" and _PLAIN.fullmatch(name, 1) else quoted(name)


def register_name(shown: str, *, keep: bool) -> RegisterName:
    """Parse a register's name; `keep` for a function that keeps PTX's names."""
    match = _REGISTER.fullmatch(shown)
    assert match is not None, shown
    name, number = match[1], match[2]
    if not keep and number is None and _NUMBER.fullmatch(name):
        return RegisterName(None, name)
    if name.startswith('"'):
        name = unquoted(name)
    elif keep:
        name = "%" + name
    return RegisterName(name, number or "1")


def register_range(first: str, last: str) -> list[str]:
    """`%r.0` to `%r.3`, or [] when the two do not span a range."""
    begin, end = _RANGE_END.fullmatch(first), _RANGE_END.fullmatch(last)
    if begin is None or end is None or begin[1] != end[1]:
        return []
    return [f"{begin[1]}{n}" for n in range(int(begin[2]), int(end[2]) + 1)]
