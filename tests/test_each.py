"""Tests of many cases: none is left out, what fails is named, and each case has its turn."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from tests.each import each
from tests.turns import has_turn, leave_out


def config(day: int = 1, *, live: bool = False, device: str = "sim", case: str = ""):
    """As much of pytest's configuration as is asked for."""
    option = SimpleNamespace(day=day, live=live, nvgen_device=device)
    return SimpleNamespace(option=option, getoption={"case": case}.get)


def run(test, **options) -> None:
    test(request=SimpleNamespace(config=config(**options)))


def test_every_case_runs_though_one_fails() -> None:
    ran = []

    @each("n", range(4), ids=lambda n: f"case {n}")
    def test(n: int) -> None:
        ran.append(n)
        assert n not in (1, 3)

    with pytest.raises(ExceptionGroup, match="2 of 4 cases fail:\n  case 1\n  case 3\n") as caught:
        run(test)
    assert ran == [0, 1, 2, 3]
    assert [e.__notes__ for e in caught.value.exceptions] == [
        ["in the case 'case 1'"], ["in the case 'case 3'"],
    ]  # fmt: skip


def test_pytests_own_failures_are_named_too() -> None:
    @each("n", [0])
    def test(n: int) -> None:
        with pytest.raises(ValueError, match="nothing"):
            pass

    with pytest.raises(BaseExceptionGroup, match="1 of 1 cases fail"):
        run(test)


def test_a_case_that_is_known_to_fail_has_to_fail() -> None:
    @each("n", [0, 1], xfail={"1": "a reason"})
    def right(n: int) -> None:
        assert n == 0

    @each("n", [0, 1], xfail={"1": "a reason"})
    def stale(n: int) -> None:
        assert n < 2

    run(right)
    with pytest.raises(ExceptionGroup) as caught:
        run(stale)
    assert "'1' is known to fail (a reason), and does not" in str(caught.value.exceptions[0])


def test_cases_of_several_arguments_and_one_inside_another() -> None:
    ran = []

    @each("a, b", lambda: [(1, 2), (3, 4)])
    @each("c", "xy")
    def test(a: int, b: int, c: str) -> None:
        ran.append((a, b, c))

    run(test)
    assert ran == [(1, 2, "x"), (1, 2, "y"), (3, 4, "x"), (3, 4, "y")]


def test_parts_have_all_cases_among_them() -> None:
    ran = []

    @each("n", range(7), parts=3)
    def test(n: int) -> None:
        ran.append(n)

    for part in range(3):
        test(request=SimpleNamespace(config=config()), part_of_cases=part)
    assert sorted(ran) == list(range(7))


def test_one_case_can_be_asked_for() -> None:
    ran = []

    @each("name", ["f16", "bf16", "tf32"], turns=3)
    def test(name: str) -> None:
        ran.append(name)

    run(test, case="tf")
    assert ran == ["tf32"]


NAMES = [f"case {n}" for n in range(300)]


def test_every_case_has_its_turn_once_in_as_many_days() -> None:
    days = [[name for name in NAMES if has_turn(config(day), name, 3)] for day in range(3)]
    assert sorted(itertools.chain.from_iterable(days)) == sorted(NAMES)
    assert all(70 < len(names) < 130 for names in days)


def test_all_have_their_turn_when_all_are_asked_for_and_on_a_gpu() -> None:
    assert all(has_turn(config(live=True), name, 3) for name in NAMES)
    assert all(has_turn(config(device="cuda"), name, 3) for name in NAMES)


def test_tests_of_one_case_are_never_left_out() -> None:
    mark = SimpleNamespace(args=(3,))
    alone = SimpleNamespace(name="alone", get_closest_marker=lambda _: mark)
    many = [
        SimpleNamespace(name=name, get_closest_marker=lambda _: mark, callspec=None)
        for name in NAMES
    ]
    left = []
    asked = config()
    asked.hook = SimpleNamespace(pytest_deselected=lambda items: left.extend(items))
    items = [alone, *many]
    leave_out(asked, items)
    assert alone in items
    assert len(items) + len(left) == 301
    assert 70 < len(items) < 130
