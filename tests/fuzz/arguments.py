"""Command lines, arrays and results of tuning, spoilt."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from tests.fuzz import seeds
from tests.fuzz.inputs import Input, Kind, arguments, of_arguments
from tests.fuzz.mutate import ODD, boundary, spoil_bytes

_TEXT = """\
- -- = , : 0 -1 nan inf 1e400 0x é 1,2,3,4 0x0x0 * [ *[ /dev/null /dev/full . nosuch/o k.ll k.ptx
k.mir a.npy empty o.ptx p.py bad.ll s.ll -O3 -h --json --strict --level all --target sm_100a sm_90
sm_00 --bisect --arg --smem --bound-waits --format json --ptx 9.0 --emit cubin llvm --print-after
select --schedule late random: early --device cuda
"""
_WORDS = ("", "\ud800", "a" * 5000, "9" * 5000, *_TEXT.split())


def spoilt_arguments(rng: random.Random) -> Input:
    """A command line with words or their parts exchanged."""
    lines = seeds.command_lines()
    words = arguments(rng.choice(lines))
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(words) + 1)
        match rng.randrange(7):
            case 0:
                words[at : at + 1] = [rng.choice(_WORDS)]
            case 1:
                words.insert(at, rng.choice(_WORDS))
            case 2:
                del words[at : at + 1]
            case 3:
                words[at:at] = words[rng.randrange(len(words) + 1) :]
            case 4 if at < len(words):
                words[at] = re.sub(r"\d+", lambda _: boundary(rng), words[at], count=1)
            case 5 if at < len(words):
                parts = re.split(r"([:,=\[\]x.])", words[at])
                parts[rng.randrange(len(parts))] = rng.choice(("", *_WORDS))
                words[at] = "".join(parts)
            case _ if at < len(words):
                place = rng.randrange(len(words[at]) + 1)
                words[at] = words[at][:place] + rng.choice(ODD) + words[at][place:]
            case _:
                words += arguments(rng.choice(lines))[1:]
    return of_arguments([_harmless(word) for word in words])


def _harmless(word: str) -> str:
    """No file outside the folder of the test, but for devices; no line ends, as in a file."""
    if re.search(r"(?:^|[:=])/(?!dev/)", word) or ".." in word:
        return word.replace("/", "_").replace("..", "__")
    return word


_HEADERS = (
    ("(16,)", "(%s,)"),
    ("(16,)", "(0,%s,%s)"),
    ("(16,)", "(-1,)"),
    ("(16,)", "[16]"),
    ("(16,)", "(" * 200 + ")" * 200),
    ("(16,)", "(2,2,2,2," + "1," * 70 + ")"),
    ("<i4", "<%s%s"),
    ("<i4", "<c%s"),
    ("<i4", "U%s"),
    ("<i4", "|V0"),
    ("<i4", "M8[s]"),
    ("'<i4'", "[('a','<i4',(%s,))]"),
    ("<f2", "O"),
    ("False", "True"),
    ("False", "1"),
    ("'shape'", "'shape','x'"),
    ("{", "{" * 100),
)
"""What becomes of what in an array's header."""


def spoilt_array(rng: random.Random) -> Input:
    """An array's file with bytes or its header spoilt."""
    item = rng.choice(seeds.arrays())
    if rng.random() < 0.5:
        return replace(item, data=spoil_bytes(item.data, rng))
    old, new = rng.choice(_HEADERS)
    made = new % tuple(boundary(rng) for _ in range(new.count("%s")))
    data = item.data.replace(old.encode(), made.encode(), 1)
    if rng.random() < 0.7:  # the header's length is told before it
        end = data.index(b"}") + 1 if b"}" in data else len(data)
        size = (end - 10 + 1).to_bytes(2, "little") if end < 60000 else b"\xff\xff"
        data = data[:8] + size + data[10:end] + b"\n" + bytes(64)
    return replace(item, data=data)


_VALUES = r"""
null true [] {} "" 1e999 -0.0 NaN Infinity "\ud800" [[[[]]]] {"a":{"b":[1]}} 10e10000 "x"
123456789012345678901234567890
"""


def spoilt_cache(rng: random.Random) -> Input:
    """Results with bytes or values spoilt."""
    item = rng.choice(seeds.caches())
    if rng.random() < 0.5 or not item.data:
        return replace(item, data=spoil_bytes(item.data, rng))
    text = item.text
    value = rng.choice((*_VALUES.split(), "[" * 100_000, "9" * 5000, boundary(rng)))
    places = [m.span(1) for m in re.finditer(r'(?:: |, )("[^"]*"|[\d.]+|null|\{[^}]*\})', text)]
    if places:
        start, end = rng.choice(places)
        text = text[:start] + value + text[end:]
    return Input(Kind.CACHE, text.encode("utf-8", "surrogateescape"))
