"""The paths that a walk takes: those that one thread can take.

Expected paths are the arrivals at mbarriers that are executed on them, worked out by hand.
"""

from __future__ import annotations

from isel.verifier.function.events import Event, Kind
from isel.verifier.function.roles import Analysis
from tests.isel.verifier.function.test_function_flow import function

ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [bars+{}];"
LEAVES_OUT = "@{} bra {}; {} {}:"


def left_out(guard: str, label: str, at: int) -> str:
    """An arrival at the mbarrier of this offset, unless a predicate holds."""
    return LEAVES_OUT.format(guard, label, ARRIVE.format(at), label)


UNKNOWN = "ld.param.u32 %r1, [n]; setp.ne.u32 %p1, %r1, 7;"
TWICE = left_out("%p1", "A", 0) + left_out("%p1", "B", 8)


def paths(statements: str, lanes: int | None = None) -> set[tuple[int, ...]]:
    """The offsets of the mbarriers at which a thread of warp 0 arrives, path by path."""

    def step(before: tuple[int, ...], event: Event) -> tuple[int, ...]:
        if event.kind is not Kind.ARRIVE:
            return before
        assert event.place is not None
        assert event.place.offset is not None
        return (*before, event.place.offset)

    walker = Analysis(function(statements), (64, 1, 1)).walkers[0]
    start: tuple[int, ...] = ()
    return {state for _, state in walker.walk(start, step, lanes).at_exit()}


def test_a_register_decides_the_same_twice() -> None:
    assert paths(UNKNOWN + TWICE) == {(), (0, 8)}


def test_the_opposite_decides_the_opposite() -> None:
    assert paths(UNKNOWN + left_out("%p1", "A", 0) + left_out("!%p1", "B", 8)) == {(0,), (8,)}


def test_a_register_that_is_written_in_between_decides_anew() -> None:
    written = "setp.ne.u32 %p1, %r1, 8;"
    found = paths(UNKNOWN + left_out("%p1", "A", 0) + written + left_out("%p1", "B", 8))
    assert found == {(), (0,), (8,), (0, 8)}


def test_a_predicated_arrival_is_executed_or_skipped_as_branches_are() -> None:
    guarded = f"@!%p1 {ARRIVE.format(0)}"
    assert paths(UNKNOWN + guarded + left_out("%p1", "B", 8)) == {(), (0, 8)}


def test_the_elected_thread_takes_its_own_edges_only() -> None:
    elected = "elect.sync %r1|%p1, 0xffffffff;"
    assert paths(elected + left_out("!%p1", "A", 0) + left_out("!%p1", "B", 8)) == {(), (0, 8)}


def test_a_walk_of_some_lanes_takes_edges_of_these_lanes() -> None:
    below = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 4;"
    other = "setp.lt.u32 %p2, %r1, 8;"
    statements = below + other + left_out("%p1", "A", 0) + left_out("%p2", "B", 8)
    assert paths(statements) == {(), (0,), (0, 8)}
    assert paths(statements, lanes=0b1111) == {()}
    assert paths(statements, lanes=0b1111_0000) == {(0,)}


def test_more_paths_through_a_node_than_are_kept_apart_are_all_taken() -> None:
    """Four predicates skip or execute an arrival each: sixteen paths through one block."""
    asked = "".join(f"setp.ne.u32 %p{i}, %r1, {i};" for i in range(1, 5))
    guarded = "".join(f"@%p{i} {ARRIVE.format(8 * (i - 1))}" for i in range(1, 5))
    found = paths("ld.param.u32 %r1, [n];" + asked + guarded)
    assert len(found) == 16


def test_positions_are_counted_as_walks_reach_them() -> None:
    """Of two decisions four combinations come to where both are asked for again."""
    asked = UNKNOWN + "setp.ne.u32 %p2, %r1, 8;"
    again = left_out("%p2", "C", 16) + left_out("%p1", "D", 24) + left_out("%p2", "E", 0)
    walker = Analysis(function(asked + left_out("%p1", "A", 0) + again), (32, 1, 1)).walkers[0]
    walker.walk(0, lambda state, _: state)
    count, lanes = len(walker.positions.at), walker.flow.warp.lanes
    assert walker.positions.are_fewer(count + 1, lanes)
    assert not walker.positions.are_fewer(count, lanes)
