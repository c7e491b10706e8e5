"""How much is compared where everything races: a log of accesses that nothing orders."""

from __future__ import annotations

import pytest

from intrinsics import catalog
from intrinsics.mir import MachineInstr, form_of
from isel.verifier.function.events import Kind
from isel.verifier.ordering.log import Access, Log, Memory, Region
from isel.verifier.ordering.races import Finder, Missing

NOTHING = MachineInstr(form_of(catalog.row("ret")), ())
"""A record: races in shared memory ask nothing of it."""


def log_of(warps: int) -> Log:
    """In turns, a copy of one record and a copy of another, each by a warp of its own."""
    log = Log(0)
    for warp in range(warps):
        done = (("warp", warp), 1)
        region = Region(Memory.SHARED, 0, 0, 64, writes=True)
        clocks: list[dict[object, int]] = [{} for _ in range(5)]
        log.accesses.append(
            Access(warp % 2, Kind.COPY_IN, 0, warp, warp, [region], done, *clocks, done)
        )
    return log


class Counted(Finder):
    """A finder that counts the pairs of accesses that it looks at closely."""

    pairs = 0

    def _missing(self, old: Access, new: Access, one: Region, other: Region) -> Missing | None:
        self.pairs += 1
        return super()._missing(old, new, one, other)


@pytest.mark.parametrize("warps", [500, 2000])
def test_pairs_that_race_are_not_compared_for_ever(warps: int):
    finder = Counted(log_of(warps), [NOTHING, NOTHING])
    races = finder.races()
    told = {(race.first.index, race.second.index, race.missing) for race in races}
    assert told == {(a, b, Missing.ORDER) for a in (0, 1) for b in (0, 1)}
    assert finder.pairs < 2 * warps
