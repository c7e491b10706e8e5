"""A file of ptxas's verdicts on a list of statements, for each target and PTX version asked about.

The file begins with one line of JSON:

    {"ptxas": "V13.5.37", "pairs": ["sm_90a 8.6", ...], "groups": [["3f", 2], ...]}

A group holds the statements on which ptxas gave the same verdicts; its first part is a number in
hexadecimal whose bit n is set when the statement is legal on pair n, its second the number of its
statements.  Behind the line follow, group after group, the keys of the statements in ascending
order, `KEY` bytes each: the start of the BLAKE2b digest of a statement's text.

So a statement that changes has no verdict any more and the others keep theirs, the order in which
statements are listed says nothing, and the same verdicts always give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

KEY = 5
"""Bytes of a key: two of 30,000 statements have the same one with a probability of 1 in 2,400."""


class Pair(NamedTuple):
    """A target and a PTX version."""

    target: str
    ptx: str

    def __str__(self) -> str:
        return f"{self.target} {self.ptx}"


class DamagedFileError(ValueError):
    """A file of verdicts that is not one."""


def key_of(statement: str) -> bytes:
    """What stands for a statement in a file."""
    return hashlib.blake2b(statement.encode(), digest_size=KEY).digest()


@dataclass(frozen=True, slots=True)
class VerdictFile:
    """Verdicts by the keys of statements: bit n is set when it is legal on `pairs[n]`."""

    ptxas: str
    pairs: tuple[Pair, ...]
    verdicts: Mapping[bytes, int]

    @classmethod
    def of(cls, ptxas: str, pairs: tuple[Pair, ...], verdicts: Mapping[str, int]) -> VerdictFile:
        """From the statements themselves.

        Raises: DamagedFileError when two statements have the same key: make `KEY` larger.
        """
        keys = {key_of(statement): bits for statement, bits in verdicts.items()}
        if len(keys) != len(verdicts):
            raise DamagedFileError(f"two statements have the same key of {KEY} bytes")
        return cls(ptxas, pairs, keys)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        groups: dict[int, list[bytes]] = {}
        for key, bits in self.verdicts.items():
            groups.setdefault(bits, []).append(key)
        ordered = sorted(groups.items())
        head = {
            "ptxas": self.ptxas,
            "pairs": [str(pair) for pair in self.pairs],
            "groups": [[f"{bits:x}", len(keys)] for bits, keys in ordered],
        }
        keys = b"".join(key for _, group in ordered for key in sorted(group))
        return json.dumps(head, separators=(",", ":")).encode() + b"\n" + keys

    @classmethod
    def from_bytes(cls, data: bytes) -> VerdictFile:
        """Read a file.

        Raises: DamagedFileError.
        """
        line, _, keys = data.partition(b"\n")
        try:
            head = json.loads(line)
            pairs = tuple(Pair(*text.split(" ")) for text in head["pairs"])
            groups = [(int(bits, 16), int(count)) for bits, count in head["groups"]]
            ptxas = str(head["ptxas"])
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFileError(f"no file of verdicts: {error}") from None
        if len(keys) != KEY * sum(count for _, count in groups):
            raise DamagedFileError("another number of keys than the groups have")
        verdicts: dict[bytes, int] = {}
        at = 0
        for bits, count in groups:
            for place in range(at, at + KEY * count, KEY):
                verdicts[keys[place : place + KEY]] = bits
            at += KEY * count
        return cls(ptxas, pairs, verdicts)


def load(path: Path) -> VerdictFile | None:
    """The file at `path`, or None where there is none.  Raises: DamagedFileError."""
    return VerdictFile.from_bytes(path.read_bytes()) if path.exists() else None
