"""The rules about wgmma: right kernels are clean, and one mistake gives one rule at its line."""

from __future__ import annotations

import re

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from isel.verifier.functions import verify_functions
from tests.each import each
from tests.isel.verifier.function.consequences import besides, others
from tests.isel.verifier.function.wgmma_kernels import CLEAN
from tests.isel.verifier.function.wgmma_mistakes import MISTAKES, Mistake
from tests.oracle.ptxas_modules import report

BOXES = {"map_a": 8192, "map_b": 1024}
"""The bytes of a box of each tensor map; the phases of `full` expect their sum."""


def said(text: str) -> list[Finding]:
    """What the function level says of a kernel, but for notes."""
    reading = read_ptx(text, "k.ptx")
    assert reading.findings == []
    return [f for f in verify_functions(reading.module) if f.severity is not Severity.NOTE]


@each("name", CLEAN, turns=3)
def test_a_right_kernel_is_clean(name: str) -> None:
    assert verify_functions(read_ptx(CLEAN[name], "k.ptx").module, boxes=BOXES) == []


@each("name", CLEAN, turns=3)
def test_ptxas_takes_a_right_kernel_and_lets_its_multiplies_overlap(name: str) -> None:
    done = report(CLEAN[name], "sm_90a")
    assert "Used" in done
    assert not re.search(r"error|\(C75\d\d\)", done), done


@each("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_breaks_its_rule_where_it_is(mistake: Mistake) -> None:
    found = said(mistake.broken())
    hit = [f for f in found if f.rule == mistake.rule and f.place.line == mistake.line()]
    assert hit, found
    assert hit[0].severity is mistake.severity
    assert hit[0].expected
    assert others(found, hit[0]) - {mistake.rule} == besides(mistake.also)


@each("mistake", MISTAKES.values(), ids=MISTAKES, turns=3)
def test_ptxas_takes_the_mistake(mistake: Mistake) -> None:
    """That is why there is a rule about it."""
    assert "Used" in report(mistake.broken(), "sm_90a")


def test_each_rule_has_two_mistakes() -> None:
    rules = [m.rule for m in MISTAKES.values()]
    assert {rule for rule in rules if rules.count(rule) < 2} == set()
