"""The table of seeded faults is whole: each applies, is no slip of syntax, and was found."""

from __future__ import annotations

import ast
import shlex
from collections import Counter

from tests.mutation import results
from tests.mutation.fault import Kind
from tests.mutation.faults import FAULTS
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


def test_the_page_shows_the_results() -> None:
    assert results.PAGE.read_text(encoding="utf-8") == results.page(FAULTS, results.read())
