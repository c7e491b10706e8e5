"""Small kernels: right ones are clean and give what they should, wrong ones are found twice.

By the rules about whole functions, and by a run under some schedule.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import nvgen
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity, SimulationError
from isel.verifier.functions import verify_functions
from tests.each import each
from tests.isel.verifier.function.small_kernels import KERNELS
from tests.isel.verifier.function.small_texts import Small

SCHEDULES = ("early", "late", "random:1", "random:2")
MISTAKES = {f"{kernel}, {name}": (kernel, name) for kernel, small in KERNELS.items()
            for name in small.mistakes}  # fmt: skip


def said(text: str) -> list[Finding]:
    """What is found in a kernel, without notes."""
    found = verify_functions(read_ptx(text, "k.ptx").module)
    return [f for f in found if f.severity is not Severity.NOTE]


@functools.cache
def compiled(text: str) -> nvgen.Compiled:
    """A kernel for all its runs."""
    return nvgen.compile(text)


def run(small: Small, text: str, schedule: str) -> np.ndarray:
    """What a kernel writes."""
    out = np.zeros(small.expected.size, np.int32)
    x = np.arange(1024, dtype=np.int32)
    compiled(text).run(
        out, x, small.n, grid=small.ctas, block=64, cluster=small.ctas, schedule=schedule
    )
    return out


def ends(small: Small, text: str, schedule: str) -> set[str]:
    """How a run ends: the rules that it broke."""
    try:
        run(small, text, schedule)
    except SimulationError as error:
        return {finding.rule for finding in error.findings}
    return set()


@each("name", KERNELS)
def test_a_right_kernel_is_clean(name: str) -> None:
    assert said(KERNELS[name].text) == []


@each("name", KERNELS, turns=2)
def test_a_right_kernel_gives_its_numbers(name: str) -> None:
    small = KERNELS[name]
    for schedule in SCHEDULES:
        assert (run(small, small.text, schedule) == small.expected).all()


@pytest.mark.wrong_kernel
@each("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    small = KERNELS[MISTAKES[name][0]]
    wrong = small.mistakes[MISTAKES[name][1]]
    text = small.text
    for old, new in wrong.edits:
        assert old in text, old
        text = text.replace(old, new)
    found = {(f.rule, f.severity.value) for f in said(text)}
    assert (wrong.rule, wrong.severity) in found
    if wrong.run:
        assert any(wrong.run in ends(small, text, schedule) for schedule in SCHEDULES)
