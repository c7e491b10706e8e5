"""The rules about synchronisation: right kernels are clean, one mistake gives one rule."""

from __future__ import annotations

from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from tests.each import each
from tests.isel.verifier.function import function_mistakes
from tests.isel.verifier.function.consequences import besides, others
from tests.isel.verifier.function.function_mistakes import Mistake
from tests.isel.verifier.function.function_sync_kernels import CLEAN
from tests.isel.verifier.function.function_sync_mistakes import MISTAKES
from tests.isel.verifier.function.test_function_rules import module_of, said


@each("name", CLEAN)
def test_a_right_kernel_is_clean(name: str):
    assert verify_functions(module_of(CLEAN[name])) == []


@each("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_breaks_its_rule_where_it_is(mistake: Mistake):
    found = said(mistake.broken())
    (hit,) = (f for f in found if f.rule == mistake.rule and f.place.line == mistake.line())
    assert hit.severity is (Severity.REVIEW if mistake.perhaps else Severity.ERROR)
    assert others(found, hit) - {mistake.rule} == besides(mistake.also) - {mistake.rule}


@each("mistake", MISTAKES.values(), ids=MISTAKES, turns=3)
def test_the_kernel_without_the_mistake_is_clean(mistake: Mistake):
    assert said(mistake.text) == []


def test_each_rule_has_two_mistakes():
    rules = [m.rule for m in (*MISTAKES.values(), *function_mistakes.MISTAKES.values())]
    assert {m.rule for m in MISTAKES.values() if rules.count(m.rule) < 2} == set()
