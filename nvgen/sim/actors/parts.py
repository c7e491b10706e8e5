"""Interfaces of threads, as clocks, barriers and operations use them.

Layer: nvgen.sim.  `nvgen.sim.threads.machine` has the warps, CTAs and strands themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from intrinsics.findings import Place


class CtaPart(Protocol):
    """A thread block."""

    @property
    def number(self) -> int:
        """Its number in the grid."""

    @property
    def warps(self) -> Sequence[WarpPart]:
        """Its warps, in order."""


class WarpPart(Protocol):
    """A warp; `launched` and `alive` are masks of lanes."""

    @property
    def cta(self) -> CtaPart:
        """The CTA that it belongs to."""

    @property
    def number(self) -> int:
        """Its number in the CTA."""

    @property
    def launched(self) -> int:
        """The threads that it began with."""

    @property
    def alive(self) -> int:
        """The threads that have not exited."""


class StrandPart(Protocol):
    """Threads of one warp at the same record."""

    @property
    def warp(self) -> WarpPart:
        """Their warp."""

    @property
    def mask(self) -> int:
        """Their lanes."""


class InstructionPart(Protocol):
    """An instruction of the program."""

    @property
    def place(self) -> Place:
        """Its source location."""
