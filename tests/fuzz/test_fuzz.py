"""The fuzzer finds what is planted, makes it small, and survives what an input does to a worker."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.fuzz import doors, seeds
from tests.fuzz.campaign import Campaign, Source
from tests.fuzz.functions import random_function, smaller
from tests.fuzz.inputs import Input, Kind, arguments, of_arguments, read
from tests.fuzz.problems import Outcome, Problem, ProblemError
from tests.fuzz.shrink import minimal
from tests.fuzz.structure import LANGUAGES
from tests.fuzz.worker import Limits, outcome_of, outcomes

SHORT = Limits(seconds=0.3, clock=30.0, memory=4 << 30)
QUICK = (Kind.LLVM, Kind.PTX, Kind.MIR, Kind.CACHE, Kind.ARRAY, Kind.ARGUMENTS)


def planted(item: Input) -> Outcome:
    """A door that fails on two words, wherever they stand."""
    if "fneg" in item.text and "define" in item.text:
        raise KeyError("planted")
    return Outcome(accepted=True)


def deadly(item: Input) -> Outcome:
    """A door at which an input does what it says."""
    match item.text:
        case "abort":
            os.abort()
        case "exit":
            os._exit(3)
        case "hang":
            while True:
                pass
        case "memory":
            bytearray(8 << 30)
        case "problem":
            raise ProblemError(Problem.VALUES, "here", "1 became 2")
    return Outcome(accepted=True)


def spoken(text: str) -> Input:
    return Input(Kind.CACHE, text.encode())


# ---- what is found ---------------------------------------------------------------------------


@pytest.mark.turns(3)
def test_a_planted_bug_is_found_and_made_small(tmp_path: Path):
    told: list[str] = []
    campaign = Campaign(1, tmp_path, (Kind.LLVM,), planted, shrink_seconds=60.0, tell=told.append)
    campaign.run(inputs=128)
    ((kind, where),) = campaign.found
    assert (kind, where) == ("exception", "KeyError in test_fuzz.py:planted")
    found = campaign.found[kind, where]
    assert found.item.text in ("definefneg", "fnegdefine")
    assert read(found.path) == found.item
    assert found.times > 1
    assert any("planted" in line for line in told)
    assert any("--replay" in line for line in campaign.summary())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abort", Problem.SIGNAL),
        ("exit", Problem.SIGNAL),
        ("hang", Problem.HANG),
        ("memory", Problem.MEMORY),
        ("problem", Problem.VALUES),
        ("nothing", None),
    ],
)
def test_a_worker_survives_and_the_problem_is_reported(text: str, problem: Problem | None):
    """And those before and behind it are taken all the same."""
    batch = [spoken("before"), spoken(text), spoken("behind")]
    found = [outcome for _, outcome in outcomes(batch, deadly, SHORT)]
    assert [outcome.problem for outcome in found] == [None, problem, None]
    if problem is Problem.HANG:
        assert found[1].where == "test_fuzz.py:deadly"


def test_a_worker_that_only_sleeps_is_ended_by_the_clock():
    def sleepy(item: Input) -> Outcome:
        time.sleep(60)
        return Outcome()

    found = outcome_of(spoken(""), sleepy, Limits(seconds=5.0, clock=0.3))
    assert found.problem is Problem.HANG


def test_parts_that_are_not_needed_go():
    assert minimal(range(100), lambda some: {3, 50, 97} <= set(some)) == [3, 50, 97]


def test_a_random_function_is_made_smaller_by_its_plan():
    item = random_function(random.Random(4))
    less = [other for other in smaller(item) if len(other.data) < len(item.data)]
    assert less
    assert all(other.plan != item.plan for other in less)


# ---- what is drawn ---------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_inputs():
    one, other = (Source(random.Random(3)) for _ in range(2))
    assert [one.draw() for _ in range(60)] == [other.draw() for _ in range(60)]


@pytest.mark.turns(3)
def test_mutants_of_each_language_get_behind_the_reader():
    """Some are accepted and some refused, under many rules."""
    source = Source(random.Random(6), tuple(LANGUAGES))
    batch = [source.draw() for _ in range(600)]
    for item, outcome in outcomes(batch, doors.take):
        source.learn(item, outcome)
        assert outcome.problem is None, (outcome, item.text)
    for kind in LANGUAGES:
        assert len({rule for of, rule in source.rules if of is kind}) >= 6


def test_inputs_survive_their_files(tmp_path: Path):
    source = Source(random.Random(5), QUICK)
    for number in range(80):
        item = source.draw()
        path = tmp_path / f"{number}{item.kind.value}"
        path.write_bytes(item.file())
        again = read(path)
        assert (again.kind, again.data) == (item.kind, item.data)
        if item.kind in LANGUAGES:
            assert again.options == item.options


def test_command_lines_survive_as_text():
    words = ["run", "a b", "é", "\ud800", "\n", "--arg", "in:\x1b"]
    assert arguments(of_arguments(words)) == words


def test_every_command_line_that_is_spoilt_is_right_before():
    for item, outcome in outcomes(seeds.command_lines(), doors.take):
        assert outcome.problem is None, (arguments(item), outcome)
