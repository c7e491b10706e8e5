"""Warpgroups that take turns, so that one multiplies while another computes.

Layer: nvgen.builder.  Each has a named barrier: it waits there, and the one before it arrives.  PTX
ISA, barrier{.cta}.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nvgen.builder.control import Scope
from nvgen.builder.numbers import Int
from nvgen.builder.refusals import refuse, whole

if TYPE_CHECKING:
    from nvgen.builder.kernel import KernelBuilder

_THREADS = 256
"""Of the one that waits and the one that arrives."""

_BARRIERS = 16


class Turns:
    """The first `warpgroups` warpgroups of a CTA by turns, with named barriers from `first` on.

    Without a `first` nobody waits.
    """

    def __init__(self, builder: KernelBuilder, first: int | None, warpgroups: int) -> None:
        first = None if first is None else whole(first, "number of a barrier")
        last = (first or 1) + whole(warpgroups, "number of warpgroups")
        if warpgroups < 2 or not 1 < last <= _BARRIERS or (first is not None and first < 1):
            raise refuse(
                "no such turns",
                got=f"{warpgroups} warpgroups, barriers from {first}",
                expected="two or more, each with one of the barriers 1 to 15",
            )
        if builder.scope is not Scope.WARPGROUP:
            raise refuse(
                "warpgroups take turns",
                got=builder.scope.value,
                expected="inside `b.if_warpgroup(0, 2)`",
            )
        self.builder, self.first, self.warpgroups = builder, first, warpgroups

    @contextmanager
    def mine(self) -> Iterator[None]:
        """What follows is done when it is this warpgroup's turn; the next one's comes behind it.

        All of them come here equally often.
        """
        self.wait()
        yield
        self.pass_on()

    def wait(self) -> None:
        """Wait for the turn."""
        if self.first is not None:
            mine = self.builder.warpgroup + self.first
            self.builder.barrier_cta_sync_aligned(mine, _THREADS)

    def pass_on(self) -> None:
        """The turn of the next one begins."""
        if self.first is not None:
            self.builder.barrier_cta_arrive_aligned(self._next(), _THREADS)

    def _next(self) -> Int:
        number = self.builder.warpgroup + 1
        if self.warpgroups == 2:
            return (number & 1) + (self.first or 0)
        return number % self.warpgroups + (self.first or 0)


@contextmanager
def turns(builder: KernelBuilder, first: int | None, warpgroups: int) -> Iterator[Turns]:
    """Turns, of which the first is that of warpgroup 0; at the end nobody waits any more.

    Raises: InputError outside of a role of warpgroups, and for other barriers than there are.
    """
    made = Turns(builder, first, warpgroups)
    if first is None:
        yield made
        return
    with builder.if_(builder.warpgroup == warpgroups - 1):
        made.pass_on()
    yield made
    with builder.if_(builder.warpgroup == 0):
        made.wait()
