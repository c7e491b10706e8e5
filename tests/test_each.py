"""Tests of many cases: none is left out, what fails is named, and each case has its turn."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from tests.each import each
from tests.turns import DAILY, has_turn, leave_out, todays


def config(
    day: int = 1, *, live: bool = False, daily: bool = False, device: str = "sim", case: str = ""
):
    """As much of pytest's configuration as is asked for."""
    option = SimpleNamespace(day=day, live=live, daily=daily, nvgen_device=device)
    return SimpleNamespace(option=option, getoption={"case": case}.get, stash={})


def run(test, **options) -> None:
    test(request=request(**options))


def request(*, seldom: int = 0, **options) -> SimpleNamespace:
    """What pytest tells a test."""
    mark = SimpleNamespace(args=(seldom,)) if seldom else None
    node = SimpleNamespace(nodeid="f.py::test[a]", get_closest_marker={"seldom": mark}.get)
    return SimpleNamespace(config=config(**options), node=node)


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
        test(request=request(), part_of_cases=part)
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
    days = [[name for name in NAMES if has_turn(request(day=day), name, 3)] for day in range(3)]
    assert sorted(itertools.chain.from_iterable(days)) == sorted(NAMES)
    assert all(70 < len(names) < 130 for names in days)


def test_all_have_their_turn_when_all_are_asked_for_and_on_a_gpu() -> None:
    assert all(has_turn(request(live=True), name, 3) for name in NAMES)
    assert all(has_turn(request(device="cuda"), name, 3) for name in NAMES)


def test_what_runs_on_every_day_is_what_takes_no_turns() -> None:
    assert not any(has_turn(request(daily=True), name, 3) for name in NAMES)
    assert all(has_turn(request(daily=True), name, 1) for name in NAMES)
    taking_turns = [item(f"f.py::test{name}") for name in ("[a]", "[b]", "_c", "_d")]
    always = [item("f.py::test_e", own=False), item("f.py::test_one[a]", 8)]
    assert kept(taking_turns + always, 0, daily=True) == ["f.py::test_e", "f.py::test_one[a]"]


def item(nodeid: str, turns: int = 3, *, own: bool = True, seldom: int = 0) -> SimpleNamespace:
    """A test as pytest collects it, whose own mark, or else its file's, says how many turns."""
    mark = SimpleNamespace(name="turns", args=(turns,))
    marks = {"turns": mark} | ({"seldom": SimpleNamespace(args=(seldom,))} if seldom else {})
    cases = {"callspec": None} if "[" in nodeid else {}
    return SimpleNamespace(
        nodeid=nodeid, own_markers=[mark] if own else [], get_closest_marker=marks.get, **cases
    )


def kept(items: list[SimpleNamespace], day: int, **options) -> list[str]:
    """Which of the tests run on a day."""
    items, settings = list(items), config(day, **options)
    settings.args, settings.hook = ["tests"], deselecting()
    leave_out(settings, items)
    return [item.nodeid for item in items]


def deselecting() -> SimpleNamespace:
    """pytest's hooks, which are told what is left out."""
    return SimpleNamespace(pytest_deselected=lambda items: None)


def test_the_cases_of_a_function_run_on_one_day_in_twice_as_many_as_they_have_turns() -> None:
    items = [item(f"f.py::test[{n}]", own=False) for n in range(7)]
    days = [kept(items, day) for day in range(6)]
    assert sorted(len(names) for names in days) == [1, 1, 1, 1, 1, 2]
    assert sorted(itertools.chain(*days)) == [item.nodeid for item in items]


def test_few_cases_have_as_many_turns_as_they_are() -> None:
    items = [item("f.py::test[a]", 8), item("f.py::test[b]", 8)]
    days = [kept(items, day) for day in range(4)]
    assert sorted(days) == [[], [], ["f.py::test[a]"], ["f.py::test[b]"]]
    assert all(kept(items[:1], day) == ["f.py::test[a]"] for day in range(4)), "alone: every day"


def test_tests_of_a_file_that_have_no_cases_take_turns_where_they_are_marked_themselves() -> None:
    marked = [item("f.py::test_a"), item("f.py::test_b"), item("f.py::test_c")]
    others = [item("f.py::test_d", own=False)]
    days = [kept(marked + others, day) for day in range(6)]
    assert all("f.py::test_d" in names and len(names) <= 2 for names in days)
    assert {name for names in days for name in names} == {i.nodeid for i in marked + others}


def test_no_test_is_left_out_when_all_are_asked_for_or_one_by_its_name_or_on_a_gpu() -> None:
    items = [item(f"f.py::test[{n}]") for n in range(7)]
    assert len(kept(items, 0, live=True)) == len(kept(items, 0, device="cuda")) == 7
    one = list(items)
    leave_out(SimpleNamespace(option=config().option, args=["f.py::test[4]"], stash={}), one)
    assert one == items


@pytest.mark.parametrize("turns", [1, 3, 4])
def test_what_runs_seldom_has_each_of_its_turns_once_in_a_few(turns: int) -> None:
    items = [item(f"f.py::test[{n}]", turns, seldom=3) for n in range(6)]
    days = [kept(items, day) for day in range(1000, 1000 + 3 * turns)]
    assert sorted(itertools.chain(*days)) == [item.nodeid for item in items]
    assert max(map(len, days)) <= -(-6 // turns)


def test_cases_of_each_that_run_seldom_do_so_on_one_day_of_as_many() -> None:
    ran = []

    @each("n", range(60), turns=2)
    def test(n: int) -> None:
        ran.append(n)

    for day in range(6):
        run(test, day=day, seldom=3)
    assert sorted(ran) == list(range(60))


@pytest.mark.parametrize("turns", [2, 3, 4, 6])
def test_in_a_test_that_takes_turns_every_case_of_a_list_has_its_turn(turns: int) -> None:
    """The test runs on one day in six."""
    names, ran = [f"case {n}" for n in range(12)], []
    items = [item(f"f.py::test[{case}]") for case in "abc"]
    for day in range(1000, 1000 + 6 * turns):
        settings = request(day=day)
        settings.config.args, settings.config.hook = ["tests"], deselecting()
        leave_out(settings.config, here := list(items))
        if "f.py::test[a]" in [one.nodeid for one in here]:
            ran.append(todays(settings, names, turns, "names"))
    assert len(ran) == turns
    assert sorted(itertools.chain(*ran)) == sorted(names)


def test_of_a_short_list_one_case_runs_on_every_day() -> None:
    ran = []

    @each("n", range(4), turns=6)
    def test(n: int) -> None:
        ran.append(n)

    for day in range(4):
        run(test, day=day)
        assert len(ran) == day + 1
    assert sorted(ran) == list(range(4))


def test_what_runs_on_every_day_is_known() -> None:
    @each("n", range(3), turns=3)
    def some(n: int) -> None: ...

    @each("n", range(3))
    def all_of_them(n: int) -> None: ...

    items = [item("f.py::test[a]"), item("f.py::test[b]"), item("g.py::test[a]")]
    for name, function in {"some": some, "all": all_of_them}.items():
        items.append(SimpleNamespace(nodeid=f"f.py::{name}", own_markers=[], function=function))
    stash: dict[object, object] = {}
    leave_out(SimpleNamespace(option=config().option, args=["f.py::test[a]"], stash=stash), items)
    assert stash[DAILY] == {"g.py::test[a]", "f.py::all"}
