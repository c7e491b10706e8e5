"""The table of seeded faults is whole: each applies, is no slip of syntax, and was found."""

from __future__ import annotations

import ast
import shlex
from collections import Counter

import pytest

from tests import turns
from tests.mutation import days, results
from tests.mutation.fault import Kind
from tests.mutation.faults import FAULTS
from tests.mutation.results import Result
from tests.mutation.trees import ROOT

FEWEST = 60


def test_there_are_enough_of_every_kind() -> None:
    assert len(FAULTS) >= FEWEST
    assert {fault.kind for fault in FAULTS} == {*Kind}


def test_every_fault_has_a_name_of_its_own() -> None:
    assert {name: n for name, n in Counter(f.name for f in FAULTS).items() if n > 1} == {}


def test_every_fault_applies_and_is_no_slip_of_syntax() -> None:
    for fault in FAULTS:
        whole = (ROOT / fault.file).read_text(encoding="utf-8")
        broken = fault.applied(whole)
        assert broken != whole, fault.name
        if fault.file.endswith(".py"):
            assert ast.dump(ast.parse(broken)) != ast.dump(ast.parse(whole)), fault.name


def test_the_tests_that_should_find_a_fault_are_there() -> None:
    for fault in FAULTS:
        files = [word for word in shlex.split(fault.tests) if word.startswith("tests/")]
        assert files, fault.name
        assert [file for file in files if not (ROOT / file).is_file()] == [], fault.name


def test_every_fault_was_found() -> None:
    known = results.read()
    assert {*known} == {fault.name for fault in FAULTS}
    assert [name for name, result in known.items() if not result.found_by] == []


def test_every_fault_is_found_on_every_day(pytestconfig: pytest.Config) -> None:
    """As far as the tests that found it are collected here: all of them, where all are run.

    A file of which single tests are named is collected in part.
    """
    daily = pytestconfig.stash[turns.DAILY]
    parts = {word.partition("::")[0] for word in pytestconfig.args if "::" in word}
    files = {test.partition("::")[0] for test in daily} - parts
    known = {
        name: result
        for name, result in results.read().items()
        if all(test.partition("::")[0] in files for test in result.found_by)
    }
    assert days.not_every_day(known, daily) == []


@pytest.mark.parametrize(
    ("found_by", "lost"), [(("f.py::a", "f.py::b"), []), (("f.py::b",), ["x"]), ((), ["x"])]
)
def test_one_finder_that_takes_no_turns_is_enough(
    found_by: tuple[str, ...], lost: list[str]
) -> None:
    known = {"x": Result("f.py", found_by)}
    assert days.not_every_day(known, {"f.py::a", "f.py::c"}) == lost


def test_the_page_shows_the_results() -> None:
    assert results.PAGE.read_text(encoding="utf-8") == results.page(FAULTS, results.read())
