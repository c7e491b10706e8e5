"""Synchronisation patterns on the simulator: what runs show of the mistakes.

Right kernels end well under every schedule; a mutant ends with a finding under one of them, unless
it stands in `pattern_unseen`.  One mutant of each rule runs every day, the others take turns, and
so do the schedules of a right kernel.  The kernels and what is wrong with each are the manual's,
written without a look at the simulator (`canonical_*`, `pattern_mutants*`).
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import pytest

from tests.each import each
from tests.isel.verifier.patterns.pattern_missed import MISSED
from tests.isel.verifier.patterns.pattern_runs import STEPS, loops, run
from tests.isel.verifier.patterns.pattern_unseen import NOWHERE, UNSEEN
from tests.isel.verifier.patterns.test_canonical_patterns import ALL, CLEAN, FIRST, OTHERS, TURNS
from tests.turns import has_turn

SCHEDULES = ("early", "late", "random:0")

SHOWN_BY = {"nothing_to_do: not freed without steps": ("early", 0)}
"""Mutants that the first schedule does not show, and the schedule and steps of a loop that do."""


@each("name, schedule", list(itertools.product(CLEAN, SCHEDULES)), turns=6)
def test_a_right_kernel_ends_well(name: str, schedule: str) -> None:
    assert run(CLEAN[name], schedule) == []


@each("name", [name for name, kernel in CLEAN.items() if loops(kernel)], turns=6)
def test_a_right_kernel_ends_well_whose_loop_has_no_steps(name: str) -> None:
    assert run(CLEAN[name], "early", steps=0) == []


@functools.cache
def shown(name: str) -> tuple[str, tuple[str, int]]:
    """The rule that a run of a mutant breaks, and which run; "" when no schedule shows one.

    The recorded run comes first.  That something is not simulated says nothing about the mutant.
    """
    kernel = ALL[name].broken()
    runs = [(schedule, STEPS) for schedule in SCHEDULES]
    if loops(kernel):
        runs.append(("early", 0))
    recorded = SHOWN_BY.get(name, runs[0])
    for schedule, steps in dict.fromkeys([recorded, *runs]):
        found = run(kernel, schedule, steps=steps)
        if found and found[0].rule != "sim/not-simulated":
            return found[0].rule, (schedule, steps)
    return "", recorded


def verdict(name: str) -> str:
    """The rule that a run of a mutant breaks; "" when no schedule shows one."""
    return shown(name)[0]


@each("name", FIRST, xfail=UNSEEN)
def test_a_mistake_shows(name: str) -> None:
    assert verdict(name), ALL[name].rule


@each("name", OTHERS, xfail=UNSEEN, turns=TURNS)
def test_another_mistake_of_a_kind_shows(name: str) -> None:
    assert verdict(name), ALL[name].rule


def test_the_tables_name_mutants() -> None:
    assert UNSEEN.keys() | SHOWN_BY.keys() <= ALL.keys()


def test_what_shows_a_mistake_is_recorded(request: pytest.FixtureRequest) -> None:
    """Of the mutants that have their turn; and that the first schedule does not show the others."""
    today = [name for name in OTHERS if has_turn(request, name, TURNS)]
    for name in (*FIRST, *today):
        assert shown(name)[1] == SHOWN_BY.get(name, (SCHEDULES[0], STEPS)), name
    for name in SHOWN_BY:
        kernel = ALL[name].broken()
        assert [run(kernel, schedule) for schedule in SCHEDULES] == [[], [], []], name


def test_what_is_found_nowhere() -> None:
    """Neither by the static rules nor by a run."""
    assert UNSEEN.keys() & MISSED.keys() == NOWHERE


def test_mistakes_in_the_order_of_things_are_races(request: pytest.FixtureRequest) -> None:
    """Of the mistakes that show, races are the most; then what never ends or was never written."""
    today = [name for name in OTHERS if has_turn(request, name, TURNS)]
    shown = [verdict(name) for name in (*FIRST, *today) if name not in UNSEEN]
    kinds = Counter(shown)
    print(dict(kinds))
    assert kinds["sim/race"] >= 0.4 * len(shown)
    assert kinds["sim/deadlock"] >= 0.2 * len(shown)
    assert kinds["sim/uninitialized"] >= 0.06 * len(shown)
