"""A question to `nvgen explain`: a value, and the options that say how to read it.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection

from intrinsics.findings import input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import MmaKind
from nvgen.commands.layouts.values import kind_of

Fields = list[tuple[str, str, str]]
"""Rows (bits, field, meaning)."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call: the text of the value, its number where it is one, and the options."""

    what: str
    text: str
    value: int
    options: argparse.Namespace

    def kind(self, default: MmaKind) -> MmaKind:
        """The MMA kind that was named.

        Raises: InputError.
        """
        name: str | None = self.options.kind
        return default if name is None else kind_of(name, "explain/kind")

    def number(self, option: str, known: Collection[int]) -> int | None:
        """An option's number, one of those that exist; None where it was not given.

        Raises: InputError.
        """
        text: str | None = getattr(self.options, option)
        if text is None:
            return None
        try:
            value = int(text, 0)
        except ValueError:
            value = -1
        if value in known:
            return value
        raise input_error(
            "explain/option", f"--{option} does not take this", got=text,
            expected=", ".join(map(str, known)),
        )  # fmt: skip
