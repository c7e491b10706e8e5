"""When asynchronous operations take effect: what each schedule promises, without a kernel.

Kernels that go wrong under one schedule show a race under every one, so they do not tell whether a
schedule does what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from intrinsics.findings import Place
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.async_ops.engine import Engine
from nvgen.sim.async_ops.schedule import parse_schedule


def operation(effect: Callable[[], None], *after: AsyncOp, lazy: bool = False) -> AsyncOp:
    return AsyncOp("copy", (0, 0, 0), "tma", effect, Place(), after, lazy)


def played(schedule: str, lazy: int = 0, ordered: bool = False) -> tuple[list[int], list[int]]:
    """Which of three operations have taken effect at their issue, and all in their order."""
    seen: list[int] = []
    engine = Engine(parse_schedule(schedule))
    first = operation(partial(seen.append, 1), lazy=lazy == 1)
    second = operation(partial(seen.append, 2), *([first] if ordered else []), lazy=lazy == 2)
    third = operation(partial(seen.append, 3), lazy=lazy == 3)
    for op in (first, second, third):
        engine.issue(op)
    at_issue = [*seen]
    while engine.progress():
        pass
    return at_issue, seen


@pytest.mark.parametrize(
    ("schedule", "at_issue", "order"),
    [
        ("early", [1, 2, 3], [1, 2, 3]),
        ("late", [], [3, 2, 1]),
        ("delay:2", [1, 3], [1, 3, 2]),
        ("delay:1,3", [2], [2, 1, 3]),
    ],
)
def test_a_schedule_does_what_it_says(schedule: str, at_issue: list[int], order: list[int]) -> None:
    assert played(schedule) == (at_issue, order)


def test_an_operation_that_only_a_wait_observes_is_delayed_longest() -> None:
    assert played("late", lazy=3) == ([], [2, 1, 3])


@pytest.mark.parametrize("schedule", ["late", *(f"random:{seed}" for seed in range(8))])
def test_an_order_of_the_machine_holds_under_every_schedule(schedule: str) -> None:
    _, order = played(schedule, ordered=True)
    assert order.index(1) < order.index(2)


def test_chance_comes_to_every_order_and_a_seed_to_one() -> None:
    orders = [played(f"random:{seed}") for seed in range(100)]
    assert len({tuple(order) for _, order in orders}) == 6
    assert [played(f"random:{seed}") for seed in range(100)] == orders


def test_whether_an_operation_is_hopeless_is_found_in_time() -> None:
    """Each of a hundred operations is ordered after all before it: 2^99 paths lead to the first."""
    operations: list[AsyncOp] = []
    for _ in range(100):
        operations.append(operation(lambda: None, *operations))
    assert not operations[-1].hopeless
    operations[0].failed = True
    assert operations[-1].hopeless
