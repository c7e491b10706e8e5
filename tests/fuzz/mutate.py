"""Texts and bytes, spoilt at random: by bytes, by tokens, by lines.

Everything is drawn from a `random.Random`, so that a seed says the whole run.  A `Language` knows
how its texts fall into tokens, and which words it has: a token is exchanged with another of its
class most of the time, so that what comes out is read far enough to matter.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.words import KEYWORDS

ODD = "\0\n\r\t\"'%*./;:@!#[](){}<>0é\u2028\x85\x1b\ufeff\\"
LONGEST = 60_000
"""Characters of a mutant; texts that grow beyond are cut."""

BOUNDARIES = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257),
    *(511, 512, 513, 1023, 1024, 1025, 4095, 4096, 65535, 65536, 1 << 20, (1 << 23) - 1, 1 << 23),
    *((1 << 24) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63),
    *((1 << 64) - 1, 1 << 64, 1 << 127, (1 << 128) - 1, 10**30, 10**400),
)
"""Integers at which something may end."""


def boundary(rng: random.Random) -> str:
    """An integer at or beside an end, now and then a negative one."""
    value = rng.choice(BOUNDARIES) + rng.choice((0, 0, 0, -1, 1))
    return str(-value if rng.random() < 0.2 else value)


Tokens = Sequence[tuple[str, str]]
"""Tokens, each with its class."""


@dataclass
class Language:
    """Tokens and words of one kind of text.

    `classes` are patterns of tokens that can stand for each other, the first that fits counting;
    `words` are those of each class in all seeds.  Tokens of the same class and `context` can most
    likely stand for each other; those of a `rigid` class hardly ever.
    """

    classes: tuple[tuple[str, str], ...]
    context: Callable[[Tokens, int], str] = lambda tokens, at: ""
    rigid: tuple[str, ...] = ()
    words: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = "|".join(f"(?P<{name}>{pattern})" for name, pattern in self.classes)
        self._token = re.compile(rf"{named}|(?P<space>\s+)|(?P<other>.)", re.DOTALL)

    def tokens(self, text: str) -> list[tuple[str, str]]:
        """The text as pairs of a token and its class."""
        return [(m[0], m.lastgroup or "other") for m in self._token.finditer(text)]

    def learn(self, texts: Sequence[str]) -> None:
        """Take in the words of texts."""
        found: dict[str, dict[str, None]] = {}
        for text in texts:
            for token, kind in self.tokens(text):
                found.setdefault(kind, {})[token] = None
        for kind, words in found.items():
            known = dict.fromkeys(self.words.get(kind, ()))
            self.words[kind] = list(known | words)


# ---- bytes -----------------------------------------------------------------------------------


def spoil_bytes(data: bytes, rng: random.Random) -> bytes:
    """One or some bytes left out, changed, doubled, or the end cut off."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        at = rng.randrange(len(made) + 1)
        match rng.randrange(6):
            case 0:
                made[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del made[at : at + rng.choice((1, 1, 2, 16))]
            case 2:
                made[at:at] = rng.choice(ODD).encode()
            case 3 if at < len(made):
                made[at] ^= 1 << rng.randrange(8)
            case 4:
                other = rng.randrange(len(made) + 1)
                made[at:at] = made[other : other + rng.choice((1, 4, 32))]
            case 5 if rng.random() < 0.2:
                del made[at:]
    return bytes(made)


# ---- tokens ----------------------------------------------------------------------------------


def spoil_tokens(text: str, rng: random.Random, language: Language) -> str:
    """One or some tokens exchanged, left out, doubled or changed to an end of their range."""
    tokens = language.tokens(text)
    solid = [i for i, (_, kind) in enumerate(tokens) if kind != "space"]
    if not solid:
        return text
    made = [token for token, _ in tokens]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.choice(solid)
        kind = tokens[at][1]
        match rng.randrange(10):
            case 0 | 1 | 2 | 3:
                made[at] = rng.choice(language.words.get(kind) or [made[at]])
            case 4 | 5:
                alike = [i for i in solid if tokens[i][1] == kind]
                other = rng.choice(alike)
                made[at], made[other] = made[other], made[at]
            case 6:
                made[at] = boundary(rng) if kind == "number" else rng.choice(_any(language, rng))
            case 7:
                made[at] = ""
            case 8:
                made[at] += " " + made[at]
            case _:
                other = rng.choice(solid)
                made[at], made[other] = made[other], made[at]
    return "".join(made)


def gently(text: str, rng: random.Random, language: Language) -> str:
    """A token or two become others of their class and context: the text stays nearly right."""
    tokens = language.tokens(text)
    made = [token for token, _ in tokens]
    soft = [i for i, (_, kind) in enumerate(tokens) if kind not in language.rigid]
    for at in rng.sample(soft, min(len(soft), rng.choice((1, 1, 1, 2)))):
        kind = tokens[at][1]
        context = language.context(tokens, at)
        alike = (i for i in soft if tokens[i][1] == kind)
        near = [tokens[i][0] for i in alike if language.context(tokens, i) == context]
        if kind == "number" and rng.random() < 0.6:
            made[at] = boundary(rng)
        else:
            known = language.words.get(kind) if kind not in ("local", "symbol", "name") else None
            made[at] = rng.choice(known if known and rng.random() < 0.5 else near)
    return "".join(made)


def _any(language: Language, rng: random.Random) -> list[str]:
    return language.words[rng.choice([*language.words])] or [""]


def numbers_at_ends(text: str, rng: random.Random, language: Language) -> str:
    """Some of the numbers become ones at which something may end."""
    tokens = language.tokens(text)
    numbers = [i for i, (_, kind) in enumerate(tokens) if kind == "number"]
    made = [token for token, _ in tokens]
    for at in rng.sample(numbers, min(len(numbers), rng.choice((1, 1, 2, 5)))):
        made[at] = boundary(rng)
    return "".join(made)


_ODD_NAMES = ('"a b"', '"\\00"', "x" * 300, "llvm.x", ".L", "$", "0", '"é"', "k.1", "_")


def renamed(text: str, rng: random.Random, language: Language) -> str:
    """One name becomes another everywhere: one that is there, or one that is odd."""
    names = [token for token, kind in language.tokens(text) if kind in ("name", "local", "symbol")]
    if not names:
        return text
    old, other = rng.choice(names), rng.choice(names)
    new = other if rng.random() < 0.5 else old[:1] + rng.choice((*_ODD_NAMES, *KEYWORDS))
    return re.sub(re.escape(old) + r"(?![\w.$-])", lambda _: new, text)


# ---- lines -----------------------------------------------------------------------------------


def spoil_lines(text: str, rng: random.Random, others: Sequence[str]) -> str:
    """Lines or runs of lines left out, doubled, moved, or taken from another text."""
    lines = text.splitlines(keepends=True) or [""]
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, count = rng.randrange(len(lines) + 1), rng.choice((1, 1, 1, 2, 5))
        match rng.randrange(6):
            case 0:
                del lines[at : at + count]
            case 1:
                other = rng.randrange(len(lines) + 1)
                lines[at:at] = lines[other : other + count]
            case 2:
                taken = lines[at : at + count]
                del lines[at : at + count]
                other = rng.randrange(len(lines) + 1)
                lines[other:other] = taken
            case 3 | 4:
                foreign = rng.choice(others).splitlines(keepends=True) or [""]
                other = rng.randrange(len(foreign))
                lines[at:at] = foreign[other : other + count]
            case _:
                lines[at:at] = lines[at : at + 1] * rng.choice((1, 2, 40))
    return "".join(lines)


def spliced(text: str, rng: random.Random, others: Sequence[str]) -> str:
    """The beginning of one text and the end of another, or one behind the other."""
    other = rng.choice(others)
    if rng.random() < 0.3:
        return text + other
    one, two = text.splitlines(keepends=True), other.splitlines(keepends=True)
    return "".join(one[: rng.randrange(len(one) + 1)] + two[rng.randrange(len(two) + 1) :])


FUNCTION = re.compile(
    r"^(?:define|kernel|func|\.visible|\.weak|\.extern|\.func|\.entry)\b[^;{]*?\{\n.*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
"""A function of LLVM IR, MIR or PTX, as they are usually written."""


def crossed(text: str, rng: random.Random, others: Sequence[str]) -> str:
    """A function of another text in place of one of this text's, or behind them."""
    foreign, own = FUNCTION.findall(rng.choice(others)), list(FUNCTION.finditer(text))
    if not foreign:
        return text
    new = rng.choice(foreign)
    if not own or rng.random() < 0.4:
        return text + new
    old = rng.choice(own)
    return text[: old.start()] + new + text[old.end() :]


Spoiler = Callable[[str, random.Random], str]


def spoilt(
    text: str, rng: random.Random, language: Language, others: Sequence[str], own: Sequence[Spoiler]
) -> bytes:
    """The text, spoilt gently or in one to three ways; `own` are the language's."""
    ways: list[Spoiler] = [
        lambda t, r: spoil_tokens(t, r, language),
        lambda t, r: spoil_tokens(t, r, language),
        lambda t, r: numbers_at_ends(t, r, language),
        lambda t, r: spoil_lines(t, r, others),
        lambda t, r: spoil_lines(t, r, others),
        lambda t, r: spliced(t, r, others),
        lambda t, r: crossed(t, r, others),
        lambda t, r: renamed(t, r, language),
        *own,
        *own,
    ]
    if rng.random() < 0.5:
        return gently(text, rng, language).encode("utf-8", "surrogateescape")
    if rng.random() < 0.06:
        return spoil_bytes(text.encode("utf-8", "surrogateescape"), rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(ways)(text, rng)[:LONGEST]
    return text.encode("utf-8", "surrogateescape")
