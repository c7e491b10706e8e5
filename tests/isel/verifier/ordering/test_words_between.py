"""Findings name the mistake: the variable, the arrival and the wait between two accesses, who
signals an mbarrier; and what follows from a mistake is not told beside it.

A ring of words: a warp stores, two warps read; each test plants one mistake, and finds its line.
"""

from __future__ import annotations

import sys

import pytest

from intrinsics.findings import Finding, Severity
from nvgen import KernelBuilder, VerificationError, bf16, f32, u32

STAGES = 2


def here(back: int = 0) -> str:
    """The line of Python that calls, as findings name it."""
    return f"test_words_between.py:{sys._getframe(1).f_lineno - back})"


def of_ring(mistake: str = "", count: int = 64) -> tuple[dict[str, str], list[Finding]]:
    """The lines of the ring's parts, and what is found in it."""
    b = KernelBuilder("ring", block=96, target="sm_90a")
    b.pointer("out", u32, output=True)
    b.u32("rounds")
    out, rounds = b.begin().values()
    words = b.shared_array("words", u32, 64 * STAGES)
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    b.make_mbarriers((full, 32), (empty, count))
    lines = {"init": here(1)}
    with b.if_warp(2):
        r = b.ring(STAGES)
        with b.range(rounds) as k:
            if mistake != "writer does not wait":
                b.wait(empty[r.stage], r.parity ^ 1)
            words[(r.stage ^ 1 if mistake == "other stage" else r.stage) * 64 + b.lane] = k
            lines["store"] = here(1)
            b.mbarrier_arrive(full[r.stage], relaxed=mistake == "relaxed")
            lines["arrival"] = here(1)
            r.advance()
    with b.if_(b.warp < 2):
        r = b.ring(STAGES)
        with b.range(rounds) as k:
            b.wait(full[r.stage], r.parity)
            lines["wait"] = here(1)
            out[k * 64 + b.tid_x] = words[r.stage * 64 + b.lane]
            lines["load"] = here(1)
            b.mbarrier_arrive(empty[r.stage])
            lines["release"] = here(1)
            r.advance()
    return lines, found_in(b)


def found_in(b: KernelBuilder) -> list[Finding]:
    kernel = b.finish()
    try:
        found = kernel.compile(level="all").findings
    except VerificationError as error:
        found = list(error.findings)
    return [f for f in found if f.severity is not Severity.NOTE]


def test_the_right_ring_has_no_finding() -> None:
    assert of_ring()[1] == []


def test_both_accesses_are_named_by_their_variable() -> None:
    lines, found = of_ring("writer does not wait")
    race = next(f for f in found if f.rule == "shared/race")
    assert race.got.count("of words") == 2
    assert lines["load"].endswith(f":{race.place.python_line})")
    assert lines["store"] in race.got


def test_the_relaxed_arrival_is_named() -> None:
    lines, (race,) = of_ring("relaxed")
    assert race.rule == "shared/race"
    arrival = race.got.index("the first arrival behind it")
    assert lines["arrival"] in race.got[arrival:]
    assert ".relaxed" in race.got
    assert ".release" in race.expected


def test_arrival_and_wait_are_named_where_the_stage_is_wrong() -> None:
    lines, found = of_ring("other stage")
    assert found[0].rule == "shared/race"
    last = found[0].got.index("the last wait before this")
    assert lines["wait"] in found[0].got[last:]
    assert "stage" in found[0].hint


def test_a_wait_in_vain_names_the_count_and_who_arrives() -> None:
    """96 arrivals are expected, and 64 come: the readers, who wait for the writer, follow."""
    lines, (found,) = of_ring(count=96)
    assert found.rule == "mbarrier/deadlock"
    assert "64 of 96 arrivals" in found.got
    assert lines["init"] in found.got
    assert lines["release"] in found.got
    assert found.expected == "96 arrivals, or mbarrier.init with as many as come"


def test_what_follows_stands_behind_its_cause() -> None:
    """Of a race and a wait that may be in vain, the race is the first, whatever its line is."""
    b = KernelBuilder("order", block=64, target="sm_90a")
    b.pointer("out", u32, output=True)
    out, word = b.begin()["out"], b.shared_array("word", u32, 1)
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_warp(1):
        b.wait(full, 0)
    with b.if_(b.warp == 0):
        word[0] = b.lane
    out[b.tid_x] = word[0]
    found = found_in(b)
    followers = [f.rule.endswith(("/deadlock", "/phase-missed")) for f in found]
    assert followers == sorted(followers)
    assert not followers[0]


def of_tiles(*, waits: bool) -> list[Finding]:
    """A ring of tiles that TMA fills, whose reader may not wait for the copies."""
    b = KernelBuilder("of_tiles", block=160, dynamic_shared=True, target="sm_90a")
    b.tile_map("a", bf16, (64, 64))
    b.pointer("d", f32, output=True)
    b.u32("steps")
    args = b.begin()
    other = b.shared_tile("other", bf16, (64, 64))
    tiles = b.shared_tiles("tiles", bf16, (64, 64), STAGES)
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    b.make_mbarriers((full, 1), (empty, 4))
    with b.if_warp(4), b.elect():
        r = b.ring(STAGES)
        with b.range(args["steps"]) as k:
            b.wait(empty[r.stage], r.parity ^ 1)
            b.arrive_expecting(full[r.stage], tiles)
            b.load_tile(tiles[r.stage], args["a"], (k * 64, 0), full[r.stage])
            r.advance()
    with b.if_warpgroup(0):
        r, sums = b.ring(STAGES), b.warpgroup_tile(64, 64)
        with b.range(args["steps"]) as k:
            if waits:
                b.wait(full[r.stage], r.parity)
            b.gemm(sums, tiles[r.stage], tiles[r.stage], accumulate=k != 0)
            with b.if_(b.lane == 0):
                b.mbarrier_arrive(empty[r.stage])
            r.advance()
        sums.store(args["d"], other.rows)
    return found_in(b)


def test_a_tile_in_dynamic_shared_memory_has_its_name() -> None:
    """And of a wait that lacks the read is told first, not the next copy, which would be behind."""
    assert of_tiles(waits=True) == []
    found = of_tiles(waits=False)
    assert found[0].rule == "wgmma.mma_async/before-copy"
    assert found[0].got.count("of tiles") == 2
    assert "mbarrier full" in found[0].got
    assert [f.follows for f in found] == sorted(f.follows for f in found)


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (0, "asks full for parity 0 again, and does not wait"),
        (1, "it asks for parity 1, which passes before phase 0 is over"),
    ],
)
def test_a_consumer_that_asks_for_the_phase_before_is_told_so(first: int, says: str) -> None:
    """One buffer, filled again and again; the consumer never changes the parity it asks for."""
    b = KernelBuilder("stale", block=64, target="sm_90a")
    b.pointer("x", u32)
    b.pointer("out", u32, output=True)
    b.u32("rounds")
    x, out, rounds = b.begin().values()
    words = b.shared_array("words", u32, 32, align=128)
    full, empty = b.mbarrier("full"), b.mbarrier("empty")
    b.make_mbarriers((full, 1), (empty, 32))
    with b.if_thread(32), b.range(rounds) as k:
        b.wait(empty, (k & 1) ^ 1)
        b.mbarrier_arrive_expect_tx(full, 128)
        b.cp_async_bulk_global_to_shared_cluster(words.at(0), full, x.at(k * 32), 128)
    with b.if_warp(0), b.range(rounds) as k:
        b.wait(full, first)
        line = here(1)
        out[k * 32 + b.tid_x] = words[b.lane]
        b.mbarrier_arrive(empty)
    (found,) = [f for f in found_in(b) if says in f.got]
    assert found.severity is Severity.ERROR
    assert line in found.got
