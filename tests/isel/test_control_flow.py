"""Ways through small graphs, drawn by hand."""

from __future__ import annotations

import pytest

from isel.control_flow import (
    Dominators,
    components,
    dominators,
    live_on_entry,
    nodes_of,
    post_dominators,
    reach,
)

DIAMOND = [[1, 2], [3], [3], [4], []]  # 0 parts, 3 joins, 4 ends
LOOP = [[1], [2, 3], [1], []]  # 1 and 2 go round
ENDLESS = [[1, 2], [1], []]  # 1 never ends
TWO_ENDS = [[1, 2], [], []]
NESTED = [[1], [2, 4], [2, 3], [1], [5], []]  # 1 to 3 go round, 2 alone too


@pytest.mark.parametrize(
    ("after", "starts", "stops", "expected"),
    [
        (DIAMOND, [0], (), {0, 1, 2, 3, 4}),
        (DIAMOND, [1], {3}, {1}),
        (DIAMOND, [3], {3}, set()),
        (LOOP, LOOP[2], (), {1, 2, 3}),
        (LOOP, LOOP[0], {3}, {1, 2}),
        (LOOP, LOOP[3], (), set()),
    ],
)
def test_what_ways_come_to(after, starts, stops, expected):
    assert reach(after, starts, stops) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (DIAMOND, [{0, 3, 4}, {1, 3, 4}, {2, 3, 4}, {3, 4}, {4}]),
        (LOOP, [{0, 1, 3}, {1, 3}, {1, 2, 3}, {3}]),
        (ENDLESS, [{0, 2}, {0, 1, 2}, {2}]),
        (TWO_ENDS, [{0}, {1}, {2}]),
    ],
)
def test_what_every_way_passes(after, expected):
    found = [{i for i in range(len(after)) if bits >> i & 1} for bits in post_dominators(after)]
    assert found == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (DIAMOND, [{0}, {0, 1}, {0, 2}, {0, 3}, {0, 3, 4}]),
        (LOOP, [{0}, {0, 1}, {0, 1, 2}, {0, 1, 3}]),
        (TWO_ENDS, [{0}, {0, 1}, {0, 2}]),
        ([[], [0]], [{0}, {0, 1}]),  # nothing leads to 1
    ],
)
def test_what_every_way_from_the_start_passes(after, expected):
    found = [{i for i in range(len(after)) if bits >> i & 1} for bits in dominators(after)]
    assert found == expected


@pytest.mark.parametrize("after", [DIAMOND, LOOP, ENDLESS, TWO_ENDS, NESTED])
def test_nodes_of_a_component_reach_each_other(after):
    found, nodes = components(after), range(len(after))
    ways = [reach(after, [node]) for node in nodes]
    assert all(
        (found[a] == found[b]) == (b in ways[a] and a in ways[b]) for a in nodes for b in nodes
    )


def test_bits_are_the_nodes_in_order():
    assert list(nodes_of(0b1001_0010)) == [1, 4, 7]
    assert list(nodes_of(0)) == []


@pytest.mark.parametrize(
    ("after", "read", "written", "expected"),
    [
        (DIAMOND, [0, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 0, 1, 1, 0]),  # 1 writes it, 2 does not
        (LOOP, [0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 1, 0]),  # written before, read in each turn
        (LOOP, [0, 2, 0, 1], [0, 0, 2, 0], [3, 3, 1, 1]),  # 2 writes what 1 reads in the next turn
        (ENDLESS, [0, 0, 1], [0, 0, 0], [1, 0, 1]),
    ],
)
def test_what_is_live_is_read_before_it_is_written(after, read, written, expected):
    assert live_on_entry(after, read, written) == expected


@pytest.mark.parametrize("after", [DIAMOND, LOOP, ENDLESS, NESTED])
def test_what_is_not_below_a_node_does_not_pass_it(after: list[list[int]]) -> None:
    tree = Dominators(after)
    for node in range(len(after)):
        around = reach(after, [0], {node})  # without ever passing it
        assert set(tree.not_below(node)) == around | {node}
