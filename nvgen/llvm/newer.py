"""LLVM IR of newer versions, rewritten in the spelling of LLVM 22.

Layer: nvgen.  Input: the text of a module.  Output: the same with other spellings of the same
numbers, line by line, so that places keep their lines.  LLVM Language Reference, Simple Constants.

`f0x3C23D70A` gives the bits of a number in its own type, `+inf`, `-inf` and `+qnan` have names,
`+nan(0x1)` has a payload, and a decimal that a type does not hold is rounded to it.
"""

from __future__ import annotations

import functools
import re
import struct
from fractions import Fraction

from intrinsics.lazy_dataclass import dataclass

_TYPE = r"(?<![\w%@.$\"-])(?:half|bfloat|float|double)\b"
_NUMBER = re.compile(
    rf'"(?:[^"\\]|\\.)*"|;[^\n]*|(?P<newline>\n)|(?P<type>{_TYPE})'
    r"|(?<![\w.%@$])(?:f0x(?P<bits>[0-9A-Fa-f]+)|(?P<sign>[+-])(?P<word>inf|qnan|s?nan)\b"
    r"(?:\(0x(?P<payload>[0-9A-Fa-f]+)\))?|(?P<decimal>[+-]?\d+\.\d*(?:[eE][+-]?\d+)?))"
)
_MAY_BE_NEWER = (
    re.compile(r"\.(?<=\d\.)(?:(?!0*+e\+00\b)|(?<=\d\d\.))"),
    re.compile(r"f0x"),
    re.compile(r"inf(?<=[+-]inf)"),
    re.compile(r"nan(?<=[+-]nan|[qs]nan)"),
)
"""Numbers but for `1.000000e+00` and its like, which every type holds; each begins with letters
that are searched for at once."""
_GONE = re.compile(r"nocreateundeforpoison(?<=[\s(]nocreateundeforpoison)\s+")
"""An attribute that only says more than LLVM 22 knows."""


@dataclass(frozen=True, slots=True)
class _Format:
    """A type of floating point: bits of its exponent and of its fraction."""

    exponent: int
    fraction: int
    prefix: str = "0x"

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction


_FORMATS = {
    "half": _Format(5, 10, "0xH"),
    "bfloat": _Format(8, 7, "0xR"),
    "float": _Format(8, 23),
    "double": _Format(11, 52),
}


def in_older_words(text: str) -> str:
    """`text` with the numbers that LLVM 22 does not read spelled as it does.

    Lines without such a number, which are most, are passed over; not where a string may go on over
    a line's end.
    """
    if any(line.count('"') % 2 for line in text.split("\n")):
        text = _respelled(text)
    else:
        text = _with_lines_respelled(text)
    return _GONE.sub("", text)


def _with_lines_respelled(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for at in sorted(found.start() for newer in _MAY_BE_NEWER for found in newer.finditer(text)):
        if at < done:
            continue
        start = text.rfind("\n", done, at) + 1 or done
        end = (text.find("\n", at) + 1 or len(text) + 1) - 1
        line = text[start:end]
        is_typed = "float" in line or "double" in line or "half" in line  # bfloat, too
        pieces += text[done:start], _respelled(line) if is_typed else line
        done = end
    return "".join([*pieces, text[done:]])


def _respelled(text: str) -> str:
    known: _Format | None = None

    def spelled(match: re.Match[str]) -> str:
        nonlocal known
        if match["type"]:
            known = _FORMATS[match["type"]]
        elif match["newline"]:
            known = None
        elif known is not None:
            return _spelled(match[0], known)
        return match[0]

    return _NUMBER.sub(spelled, text)


@functools.lru_cache(4096)
def _spelled(text: str, known: _Format) -> str:
    """A number of a type, or a string or a comment, as LLVM 22 reads it."""
    match = _NUMBER.match(text)
    bits = None if match is None else _bits(match, known)
    return text if bits is None else _shown(bits, known)


def _bits(match: re.Match[str], known: _Format) -> int | None:
    """The bits of a number in its type; None for what LLVM 22 reads as it stands."""
    if match["bits"]:
        bits = int(match["bits"], 16)
        return bits if bits >> known.bits == 0 else None
    if match["word"]:
        return _special(match["word"], int(match["payload"] or "0", 16), known) | (
            (match["sign"] == "-") << known.bits - 1
        )
    if match["decimal"]:
        number = Fraction(match["decimal"])
        negative = match["decimal"].startswith("-")
        bits = rounded(abs(number), known)
        exact = bits < known.infinity and _value(bits, known) == abs(number)
        return None if exact or known.bits == 64 else bits | negative << known.bits - 1
    return None


def _special(word: str, payload: int, known: _Format) -> int:
    quiet = 1 << known.fraction - 1
    match word:
        case "inf":
            return known.infinity
        case "qnan":
            return known.infinity | quiet
        case "snan":
            return known.infinity | (payload or 1)
    return known.infinity | (payload or quiet)


def rounded(number: Fraction, known: _Format) -> int:
    """The bits of the nearest number of a type, of two the even one; `number` is not negative."""
    if not number:
        return 0
    bias = (1 << known.exponent - 1) - 1
    power = max(_log2(number), 1 - bias)
    scaled = number / Fraction(2) ** (power - known.fraction)
    fraction = round(scaled)  # to the even one of two
    if power == 1 - bias and fraction < 1 << known.fraction:
        return fraction
    return min(fraction + ((power + bias - 1) << known.fraction), known.infinity)


def _log2(number: Fraction) -> int:
    power = number.numerator.bit_length() - number.denominator.bit_length()
    return power if Fraction(2) ** power <= number else power - 1


def _value(bits: int, known: _Format) -> Fraction:
    bias = (1 << known.exponent - 1) - 1
    exponent, fraction = bits >> known.fraction, bits & ((1 << known.fraction) - 1)
    if not exponent:
        return fraction * Fraction(2) ** (1 - bias - known.fraction)
    return (fraction + (1 << known.fraction)) * Fraction(2) ** (exponent - bias - known.fraction)


def _shown(bits: int, known: _Format) -> str:
    """Bits as LLVM 22 spells them: a float as the double of the same value."""
    if known.bits == 16:
        return f"{known.prefix}{bits:04X}"
    return f"0x{bits if known.bits == 64 else _widened(bits):016X}"


def _widened(bits: int) -> int:
    """The double of a float; a NaN keeps its payload, which a conversion could make quiet."""
    sign, rest = bits >> 31 << 63, bits & 0x7FFFFFFF
    if rest >= 0x7F800000:
        return sign | 0x7FF << 52 | (rest & 0x7FFFFF) << 29
    (number,) = struct.unpack(">f", rest.to_bytes(4, "big"))
    return sign | int.from_bytes(struct.pack(">d", number), "big")
