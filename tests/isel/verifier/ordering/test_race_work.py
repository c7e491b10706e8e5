"""How much is compared where everything races: a log of accesses that nothing orders."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from intrinsics import catalog
from intrinsics.mir import MachineInstr, form_of
from isel.verifier.function.events import Kind
from isel.verifier.ordering.judgement.history import Footprint
from isel.verifier.ordering.judgement.races import Finder, Missing
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.clocks import Clock, source_of
from isel.verifier.ordering.run.log import Access, Log

NOTHING = MachineInstr(form_of(catalog.row("ret")), ())
"""A record: races in shared memory ask nothing of it."""


def log_of(warps: int) -> Log:
    """In turns, a copy of one record and a copy of another, each by a warp of its own."""
    log = Log(0)
    for warp in range(warps):
        done = (source_of("warp", warp), 1)
        region = Region(Memory.SHARED, 0, 0, 64, writes=True)
        clocks: list[Clock] = [{} for _ in range(5)]
        log.accesses.append(
            Access(warp % 2, Kind.COPY_IN, 0, warp, warp, [region], done, *clocks, done)  # type: ignore[call-arg]
        )
    return log


class Counted(Finder):
    """A finder that counts the pairs of accesses that it looks at closely."""

    pairs = 0

    def _missing(self, old: Access, new: Access, one: Region, other: Region) -> Missing | None:
        self.pairs += 1
        return super()._missing(old, new, one, other)


@pytest.mark.parametrize("warps", [500, 2000])
def test_pairs_that_race_are_not_compared_for_ever(warps: int) -> None:
    finder = Counted(log_of(warps), [NOTHING, NOTHING])
    races = finder.races()
    told = {(race.first.index, race.second.index, race.missing) for race in races}
    assert told == {(a, b, Missing.ORDER) for a in (0, 1) for b in (0, 1)}
    assert finder.pairs < 2 * warps


def rounds(sites: int, warps: int, turns: int, pieces: int) -> Log:
    """A loop without a barrier: each warp stores at the same places by each of many records."""
    log = Log(0)
    for turn in range(turns * sites * warps):
        warp, site = turn % warps, turn // warps % sites
        done = (source_of("warp", warp), turn // warps + 1)
        regions = [
            Region(Memory.SHARED, 0, 64 * i, 64 * i + 32, writes=True) for i in range(pieces)
        ]
        clocks: list[Clock] = [{} for _ in range(5)]
        log.accesses.append(
            Access(site, Kind.SHARED_STORE, 0, warp, turn, regions, done, *clocks, done)  # type: ignore[call-arg]
        )
    return log


@pytest.mark.parametrize("turns", [1, 8])
def test_a_loop_in_which_everything_races_is_not_compared_for_ever(turns: int) -> None:
    sites, warps = 20, 16
    finder = Counted(rounds(sites, warps, turns, 32), [NOTHING] * sites)
    told = {(race.first.index, race.second.index) for race in finder.races()}
    assert {(a, b) for a in range(sites) for b in range(sites) if a < b} <= told
    assert finder.pairs < 30_000  # of 13 million pairs in eight turns


def rows_of_16_bytes(columns: int, turns: int) -> Log:
    """Warps store rows of 16 bytes, 64 bytes apart, each in columns of its own, again and again."""
    log = Log(0)
    pieces = [
        [Region(Memory.SHARED, 0, at, at + 16, writes=True) for at in range(16 * c, 2048, 64)]
        for c in range(columns)
    ]
    for turn in range(columns * turns):
        column, done = turn % columns, (source_of("warp", turn % columns), turn + 1)
        clocks: list[Clock] = [{} for _ in range(5)]
        log.accesses.append(
            Access(column, Kind.SHARED_STORE, 0, column, turn, pieces[column], done, *clocks, done)  # type: ignore[call-arg]
        )
    return log


def test_rows_side_by_side_are_not_compared() -> None:
    finder = Counted(rows_of_16_bytes(4, 10), [NOTHING] * 4)
    assert finder.races() == []
    assert finder.pairs == 0


def test_shapes_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    touches = Mock(side_effect=Footprint.touches)
    monkeypatch.setattr(Footprint, "touches", lambda one, other: touches(one, other))
    Finder(rows_of_16_bytes(4, 50), [NOTHING] * 4).races()
    assert 0 < touches.call_count <= 2 * 6  # six pairs of columns, perhaps asked the other way too
