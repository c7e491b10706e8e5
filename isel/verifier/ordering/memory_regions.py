"""Regions of the memories that threads share: what accesses are compared by.

Layer: isel.verifier.ordering.
"""

from __future__ import annotations

from enum import Enum, auto

from intrinsics.lazy_dataclass import dataclass


class Memory(Enum):
    """The memory that is accessed."""

    SHARED = auto()
    TENSOR = auto()


@dataclass(frozen=True, slots=True)
class Region:
    """`first` to `last` (bytes of shared memory, columns of tensor memory) in the lanes of a mask.

    `exact` says that all of it is accessed; otherwise it is a hull, or a guess.
    """

    memory: Memory
    rank: int
    first: int
    last: int
    lanes: int = -1
    writes: bool = False
    exact: bool = True
    name: str = ""

    def meets(self, other: Region) -> bool:
        """Whether both have a memory location in common, and one of them writes it."""
        return (
            (self.writes or other.writes)
            and self.first < other.last
            and other.first < self.last
            and self.lanes & other.lanes != 0
        )

    def covers(self, other: Region) -> bool:
        """Whether it contains all of the other region."""
        return (
            self.first <= other.first and other.last <= self.last and other.lanes & ~self.lanes == 0
        )
