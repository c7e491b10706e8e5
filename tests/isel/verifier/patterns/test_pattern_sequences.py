"""Random sequences of right steps: no finding."""

from __future__ import annotations

from hypothesis import given

from intrinsics.findings import Finding, Severity
from nvgen.compilation.options import Options
from nvgen.loading import load
from tests.each import each
from tests.isel.verifier.patterns.pattern_missed import SEQUENCES, SEQUENCES_RULES
from tests.isel.verifier.patterns.pattern_sequences import EXAMPLES, STEPS, Step, kernel
from tests.turns import examples


def said(steps: list[Step]) -> list[Finding]:
    """What is said of the kernel that takes these steps, but for notes."""
    program = load("k.ptx", kernel(steps).ptx(), Options(target="sm_100a", level="all"))
    return [f for f in program.findings if f.severity is not Severity.NOTE]


@each("name", EXAMPLES, xfail=dict.fromkeys(SEQUENCES, "a false alarm"))
def test_an_example_is_right(name: str):
    assert said(EXAMPLES[name]) == []


@given(STEPS)
@examples(60)
def test_a_sequence_of_right_steps_is_right(steps: list[Step]):
    assert {f.rule for f in said(steps)} <= set(SEQUENCES_RULES)
