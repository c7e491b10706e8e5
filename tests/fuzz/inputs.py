"""One input of the fuzzer, and its file.

A text keeps what goes with it (its target, say) in a comment on its first line, so that a file is
all there is to an input, and behind a dash why it is kept:

    ; fuzz: opt=0 target=sm_90a
    // fuzz: level=all - a number of 400 digits

That line is no part of the input.  Arguments are one a line, with Python's escapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tests.property.plans import Plan


class Kind(Enum):
    """What an input is; the value is the suffix of its file."""

    LLVM = ".ll"
    MIR = ".mir"
    PTX = ".ptx"
    ARGUMENTS = ".args"
    CACHE = ".jsonl"
    ARRAY = ".npy"
    FUNCTION = ".function"


COMMENTS = {Kind.LLVM: ";", Kind.MIR: ";", Kind.PTX: "//"}
"""How a comment begins, where there are any."""


@dataclass(frozen=True)
class Input:
    """Bytes for one door, and how they go in.

    `options` are pairs of a name and a value, such as ("target", "sm_90a").  `plan` is what a
    random function was written from: it is made smaller by its plan, not by its text.
    """

    kind: Kind
    data: bytes
    options: tuple[tuple[str, str], ...] = ()
    plan: Plan | None = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        """What goes with the input under a name."""
        return dict(self.options).get(name, default)

    @property
    def text(self) -> str:
        """The bytes as text; what is not UTF-8 stays, as surrogates."""
        return self.data.decode("utf-8", "surrogateescape")

    def file(self) -> bytes:
        """The contents of the input's file."""
        comment = COMMENTS.get(self.kind)
        if comment is None:
            return self.data
        words = " ".join(f"{name}={value}" for name, value in self.options)
        return f"{comment} fuzz: {words}".rstrip().encode() + b"\n" + self.data


def read(path: Path) -> Input:
    """The input in a file."""
    kind, data = Kind(path.suffix), path.read_bytes()
    if kind not in COMMENTS:
        return Input(kind, data)
    head, _, rest = data.partition(b"\n")
    match = re.fullmatch(r"(?:;|//) fuzz:(.*)", head.decode("utf-8", "replace"))
    if match is None:
        return Input(kind, data)
    said = match[1].partition(" - ")[0]
    pairs = (word.partition("=") for word in said.split() if "=" in word)
    return Input(kind, rest, tuple((name, value) for name, _, value in pairs))


def arguments(item: Input) -> list[str]:
    """The command line that an input of arguments stands for."""
    return [
        line.encode("latin-1", "backslashreplace").decode("unicode_escape", "replace")
        for line in item.text.split("\n")
        if line
    ]


def of_arguments(words: list[str]) -> Input:
    """A command line as an input; no word is empty."""
    lines = [word.encode("unicode_escape").decode() or " " for word in words]
    return Input(Kind.ARGUMENTS, "\n".join(lines).encode())
