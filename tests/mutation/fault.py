"""A seeded fault: one slip that a person could make, and the tests that should see it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What sort of slip a fault is."""

    LEGALITY = "legality bit"
    RULE = "dropped rule"
    LAYOUT = "layout bit"
    FIELD = "descriptor field"
    OPCODE = "opcode or control word"
    PRINTED = "printed text"
    READ = "text that is read"
    COMPARE = "signed and unsigned"
    ALIGNMENT = "alignment"
    TIE = "tie of accumulators"
    FLOW = "dominance and phis"
    IMMEDIATE = "LLVM's numbers"
    PLACE = "place of a finding"
    SHIELD = "shield"
    ORDER = "fence or clock edge"
    SCHEDULE = "schedule"
    BARRIER = "mbarrier"
    CLUSTER = "cluster"
    ARITHMETIC = "arithmetic"
    TOOL = "command line"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Fault:
    """`old`, which stands once in `file`, becomes `new`.

    `tests` is what pytest is given first: the narrowest selection that should find the fault.
    """

    name: str
    kind: Kind
    file: str
    old: str
    new: str
    why: str
    tests: str

    @property
    def room(self) -> str:
        """The part of the project that it is in."""
        return "/".join(self.file.split("/")[:-1])

    def applied(self, text: str) -> str:
        """The text of the file with the fault.

        Raises: ValueError when `old` does not stand there exactly once.
        """
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: the text to change stands {count} times in {self.file}")
        return text.replace(self.old, self.new)
