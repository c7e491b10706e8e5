"""bf16 by weights of 8 and 4 bits: numpy gives the product, which is exact before it is rounded."""

from __future__ import annotations

import numpy as np
import pytest

from nvgen.testing import Launch, assert_exact, kernel_test
from tests.samples.modules import named

TARGET = "sm_90a"
CUTS = [
    {"m": 16, "warpgroups": 1, "step": 128},
    {"m": 64, "warpgroups": 2, "stages": 3},
    {"m": 192, "warpgroups": 2, "stages": 2},
]
"""A narrow one, one whose rows of X end within a CTA's, one that takes more registers."""


@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@pytest.mark.turns(12)
@kernel_test(schedules=["early", "late", "random:1"], targets=TARGET)
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: str(cut["m"]))
def test_weights_of_few_bits(launch: Launch, bits: int, cut: dict[str, int]) -> None:
    sample, m, n, k = named("gemm/mixed"), 88, 128, 384
    config = sample.Config(bits, **cut)
    *given, expected = sample.operands(bits, m, n, k)
    y = np.zeros_like(expected)
    grid = config.grid(m, n)
    launch(sample.build(config).compile(), *given, y, n, k, grid=grid)
    assert_exact(y, expected)


@pytest.mark.turns(1)
@pytest.mark.seldom(4)
def test_the_sample_runs_itself(capsys: pytest.CaptureFixture[str]) -> None:
    named("gemm/mixed").main()
    assert capsys.readouterr().out.count("equal to numpy") == 2


def test_a_step_has_one_scale_for_a_row() -> None:
    """One over two groups would scale both with the first one's."""
    with pytest.raises(ValueError, match="a step of 256"):
        named("gemm/mixed").Config(4, step=256)
