"""Findings, places, verdicts, and the exceptions that carry them."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import pytest

from intrinsics.findings import (
    NOWHERE,
    AssemblerError,
    Finding,
    InputError,
    InternalError,
    NvgenError,
    Place,
    SelectionError,
    Severity,
    SimulationError,
    Verdict,
    VerificationError,
    errors,
    input_error,
    once,
    verdict,
    without_copies,
)
from tests.each import each


def finding(severity: Severity, *, incomplete: bool = False) -> Finding:
    return Finding("a/b", severity, "text", incomplete=incomplete)


ERROR = finding(Severity.ERROR)
WARNING = finding(Severity.WARNING)
REVIEW = finding(Severity.REVIEW)
NOTE = finding(Severity.NOTE)
UNJUDGED = finding(Severity.REVIEW, incomplete=True)


@each(
    "findings, expected",
    [
        ([], Verdict.CLEAN),
        ([NOTE], Verdict.CLEAN),
        ([WARNING, NOTE], Verdict.CLEAN),
        ([REVIEW], Verdict.REVIEW),
        ([UNJUDGED], Verdict.INCOMPLETE),
        ([UNJUDGED, REVIEW], Verdict.INCOMPLETE),
        ([ERROR], Verdict.ERROR),
        ([NOTE, UNJUDGED, REVIEW, ERROR], Verdict.ERROR),
    ],
)
def test_an_error_outweighs_what_was_not_judged_which_outweighs_a_doubt(
    findings: list[Finding], expected: Verdict
):
    for order in itertools.permutations(findings):
        assert verdict(order) is expected


def test_nothing_is_called_clean_that_was_not_judged():
    for severity in Severity:
        if severity is not Severity.ERROR:
            assert verdict([finding(severity, incomplete=True)]) is Verdict.INCOMPLETE


def test_the_errors_among_findings_keep_their_order():
    other = Finding("c/d", Severity.ERROR, "other")
    assert errors([NOTE, ERROR, REVIEW, other, WARNING]) == [ERROR, other]


# ---- in words --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place(), "<input>"),
        (Place("k.ll"), "k.ll"),
        (Place("k.ll", 42), "k.ll:42"),
        (Place("k.ll", 42, 3), "k.ll:42:3"),
        (Place("k.ll", 0, 3), "k.ll"),  # a column alone says nothing
        (Place("k.ll", 42, 3, "gemm"), "k.ll:42:3, in @gemm"),
        (Place("k.ll", 42, 3, "gemm", "gemm.py", 118), "k.ll:42:3, in @gemm, from gemm.py:118"),
    ],
)
def test_a_place_in_words(place: Place, text: str):
    assert str(place) == text


def test_a_finding_in_words():
    found = Finding(
        "tcgen05.mma/i8-target",
        Severity.ERROR,
        "INT8 type is supported only on arch-conditional variants.",
        Place("gemm.ll", 42, 3, "gemm", "gemm.py", 118),
        got="target sm_103a",
        expected="sm_100a, sm_101a or sm_110a",
        hint="kind::f8f6f4 runs on sm_103a",
        section="PTX ISA, tcgen05.mma",
    )
    first, place, *rest = str(found).split("\n")
    assert first == (
        "error[tcgen05.mma/i8-target]: INT8 type is supported only on arch-conditional variants."
    )
    assert place.strip() == "--> gemm.ll:42:3, in @gemm, from gemm.py:118"
    assert [line.strip(" =").split(":")[0] for line in rest] == ["got", "expected", "help", "see"]


def test_what_is_not_known_is_not_shown():
    assert str(Finding("a/b", Severity.NOTE, "text")) == "note[a/b]: text"


def test_a_finding_moves_to_a_place_and_stays_the_same():
    place = Place("k.ll", 7)
    moved = ERROR.at(place)
    assert moved.place == place
    assert ERROR.place is NOWHERE
    assert dataclasses.replace(moved, place=NOWHERE) == ERROR


def test_findings_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ERROR.rule = "c/d"  # type: ignore[misc]


# ---- exceptions ------------------------------------------------------------------------------

KINDS = (InputError, SelectionError, VerificationError, AssemblerError, SimulationError)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_carries_and_shows_all_its_findings(kind: type[NvgenError]):
    second = Finding("c/d", Severity.ERROR, "second")
    error = kind([ERROR, second])
    assert isinstance(error, NvgenError)
    assert error.findings == (ERROR, second)
    assert str(error) == f"{ERROR}\n{second}"


def test_a_bug_of_nvgen_is_no_error_of_the_user():
    assert not issubclass(InternalError, NvgenError)
    assert not any(issubclass(a, b) for a, b in itertools.permutations(KINDS, 2))


def test_an_input_error_of_one_finding():
    error = input_error("x/y", "wrong", got="1", expected="2", hint="try 2", place=Place("f", 3))
    assert isinstance(error, InputError)
    (only,) = error.findings
    assert only == Finding(
        "x/y", Severity.ERROR, "wrong", Place("f", 3), got="1", expected="2", hint="try 2"
    )


@pytest.mark.parametrize("kind", [InputError, SelectionError, SimulationError, AssemblerError])
def test_an_error_comes_whole_out_of_another_process(kind: type[NvgenError]):
    """multiprocessing and concurrent.futures hand errors on as pickles."""
    error = kind([ERROR, WARNING])
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is kind
    assert found.findings == error.findings
    assert str(found) == str(error)


def test_what_repeats_a_finding_at_its_line_is_left_out():
    """What differs only in what was got is the same mistake in another copy of the line."""
    here = ERROR.at(Place("a.ll", 3, 5, "k"))
    copy = dataclasses.replace(here, got="[sa+64]")
    others = [
        ERROR.at(Place("a.ll", 4, 5, "k")),
        ERROR.at(Place("a.ll", 3, 5, "other")),
        dataclasses.replace(here, message="another"),
        dataclasses.replace(here, subject="d"),
        WARNING.at(here.place),
    ]
    assert once([here, copy, *others, here, copy]) == [here, *others]


def test_what_stands_nowhere_is_never_the_same():
    assert once([ERROR, ERROR]) == [ERROR, ERROR]


# ---- copies from one line of Python ----------------------------------------------------------


def unrolled(line: int, python: int, callers: tuple[tuple[str, int], ...] = ()) -> Finding:
    """What is found at a line of LLVM IR that a line of Python has made."""
    return finding(Severity.ERROR).at(Place("k.ll", line, 3, "k", "k.py", python, callers))


def test_a_loop_that_python_unrolls_is_told_once_with_a_count() -> None:
    found = [unrolled(10, 5), unrolled(14, 5), unrolled(16, 6), unrolled(18, 5)]
    first, other = without_copies(found)
    assert (first.message, first.place) == (
        "text (3 times from this line)", found[0].place,
    )  # fmt: skip
    assert other == found[2]
    assert str(VerificationError(found)).count("error[a/b]") == 2
    assert VerificationError(found).findings == tuple(found), "nothing is lost for programs"


def test_a_helper_that_is_called_from_two_lines_is_told_of_both() -> None:
    found = [unrolled(10, 5, (("k.py", 8),)), unrolled(14, 5, (("k.py", 9),))]
    assert without_copies(found) == found


def test_what_no_python_made_is_never_taken_for_the_same() -> None:
    found = [unrolled(10, 0), unrolled(10, 0)]
    assert without_copies(found) == found
