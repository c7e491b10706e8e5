"""Packed sequences on Blackwell: within the bound of roundings, no review, mistakes are found.

numpy computes in f64 what is expected; ptxas assembles it.  It never ran on a real Blackwell GPU.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from nvgen.machine_code.assembler import assemble
from nvgen.testing import Launch, kernel_test
from tests.each import each
from tests.samples.modules import edited, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
NAME = "attention/sm100_varlen"

CASES = {
    "d 64, causal, a window, heads that share K": (64, True, True, (3, 200), (90, 300), 100, 2),
    "d 64, causal, rows that see no key": (64, True, False, (130,), (70,), 0, 1),
    "d 128, all keys": (128, False, False, (65, 1), (130, 64), 0, 1),
    "d 128, causal, fewer rows than keys": (128, True, False, (140,), (270,), 0, 2),
}


def given(case: tuple, config) -> tuple[list, dict, np.ndarray]:
    """Arguments of a launch, O among them, its grid, and what numpy gives."""
    sample = named(NAME)
    _, _, _, lengths, keys, window, ratio = case
    *rows, begins, begins_keys = sample.operands(lengths, keys, 2, ratio, config)
    rows[0][::2] *= 8  # every other row with a peak
    o = np.full_like(rows[0], np.nan)
    arrays = [x.reshape(len(x), -1) for x in (*rows, o)]
    numbers = sample.packed_numbers(config, 2, ratio, lengths, keys)
    counter, behind = np.zeros(1, np.uint32), (begins, begins_keys, arrays[3], window)
    expected = sample.expected(*rows, begins, begins_keys, config, window)
    grid = sample.grid(config, 2 * len(lengths), max(lengths), 2)
    return [*arrays, counter, *numbers, *behind], {"grid": grid}, expected


@pytest.mark.turns(20)
@kernel_test(schedules="all", targets="sm_100a")
@pytest.mark.parametrize("name", CASES)
def test_sequences_side_by_side(launch: Launch, name: str) -> None:
    """P and O are rounded once each, to 8 bits or more; sums are of f32."""
    sample, case = named(NAME), CASES[name]
    config = sample.choose(case[0], causal=case[1], window=case[2])
    made = sample.build(config).compile(target=launch.target, opt=launch.opt)
    arguments, shape, expected = given(case, config)
    launch(made, *arguments, **shape)
    o, v = arguments[3].reshape(expected.shape), arguments[2]
    bound = np.abs(v.astype(np.float64)).max() * (2.0**-8 + 2.0**-8) + 1e-5
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()


@pytest.mark.turns(8)
@pytest.mark.parametrize(("d", "causal", "window"), [
    (64, True, True), (64, False, False), (128, True, True), (128, True, False)
])  # fmt: skip
def test_ptxas_has_nothing_to_say(d: int, causal: bool, window: bool) -> None:
    """No spilled registers, at any place."""
    sample = named(NAME)
    config = sample.choose(d, causal=causal, window=window)
    made = sample.build(config).compile(target="sm_100a", level="all")
    rules = {f.rule for f in made.findings}
    assert rules <= {"verify/level", "verify/turns", "verify/unreached"}
    log = assemble(made.ptx, made.target).log
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    assert "warning" not in log


# ---- planted mistakes ----------------------------------------------------------------------------

MISTAKES: dict[str, tuple[str, str, str]] = {
    "a later block is not masked": (
        "attention/sm100", "        self.mask(row, column)\n        return self.s",
        "        return self.s"),
    "keys of the next sequence are seen": (
        "attention/varlen", "return head * self.config.d, self.first_key + row",
        "return head * self.config.d, self.first + row"),
}  # fmt: skip


def joined(base: ModuleType) -> type:
    """The kernel with one of its two bases edited."""
    sample = named(NAME)
    packed = getattr(base, "PackedAttention", sample.PackedAttention)
    machine = getattr(base, "BlackwellAttention", sample.BlackwellAttention)
    return type("Edited", (packed, machine), {})


@each("name", MISTAKES, turns=4)
def test_a_planted_mistake_is_found(name: str) -> None:
    """Neither is one of order, which rules would see: the result differs."""
    case = (64, True, True, (3, 200), (40, 300), 60, 2)
    config = named(NAME).choose(64, causal=True, window=True)
    made = joined(edited(*MISTAKES[name]))(config).finish().compile(target="sm_100a")
    arguments, shape, expected = given(case, config)
    made.run(*arguments, **shape, device="sim", schedule="late")
    o = arguments[3].reshape(expected.shape)
    assert not (np.abs(o.astype(np.float64) - expected) < 2.0**-4).all()
