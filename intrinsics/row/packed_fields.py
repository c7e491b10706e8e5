"""Qualifiers that are packed into words of a record: the interface of their encoders.

Layer: intrinsics.row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from intrinsics.lazy_dataclass import dataclass
from intrinsics.row.attributes import Attribute, Attributes


class PackedFields(Protocol):
    """Qualifiers that a record keeps in packed words beside its operands."""

    def slots(self, attributes: Attributes) -> tuple[str, ...]:
        """The slots that hold the words of a form with `attributes`."""

    @property
    def qualifiers(self) -> frozenset[str]:
        """The qualifiers that are encoded in the words only."""

    def pack(self, attributes: Attributes) -> dict[str, int]:
        """The words for `attributes`, by slot."""

    def unpack(
        self, words: Mapping[str, int], attributes: Attributes
    ) -> tuple[dict[str, Attribute], tuple[Problem, ...]]:
        """The attributes in `words`, and their problems; `attributes` are the opcode's."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a packed word or an operand, before it becomes a finding."""

    rule: str
    text: str
    got: str = ""
    expected: str = ""
    subject: str = ""  # the operand or modifier to blame
    hint: str = ""
