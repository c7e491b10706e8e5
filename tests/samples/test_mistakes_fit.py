"""Each mistake that tests plant can be planted: the sample has its text once.

The mistakes take turns over the days; a sample that moved on is told today.
"""

from __future__ import annotations

import pytest

from tests.samples.attention import test_attention_sm100, test_attention_sm100_varlen
from tests.samples.gemm import test_gemm_sm100_mistakes, test_gemm_sm100_scaled
from tests.samples.modules import FOLDER

OF_ONE_SAMPLE = (test_attention_sm100, test_gemm_sm100_mistakes, test_gemm_sm100_scaled)
TEXTS = [
    *((test.NAME, row[-3]) for test in OF_ONE_SAMPLE for row in test.MISTAKES.values()),
    *((stem, old) for stem, old, _ in test_attention_sm100_varlen.MISTAKES.values()),
]


@pytest.mark.parametrize("stem", sorted({stem for stem, _ in TEXTS}))
def test_the_sample_has_the_text_once(stem: str) -> None:
    sample = (FOLDER / f"{stem}.py").read_text(encoding="utf-8")
    assert [old for of, old in TEXTS if of == stem and sample.count(old) != 1] == []
