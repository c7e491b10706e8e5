"""Grouped and masked products on Blackwell: each expert's rows, plain and in MXFP8.

numpy gives the expected products.  They never ran on a real Blackwell GPU.
"""

from __future__ import annotations

import numpy as np
import pytest

from nvgen.machine_code.assembler import assemble
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.samples.modules import named

pytestmark = pytest.mark.seldom(3)

NAME = "gemm/sm100_grouped"
CUTS = {
    "a CTA": {"n": 64},
    "transposed, few rows": {"n": 32, "swap": True},
    "a pair, transposed": {"n": 64, "cluster": 2, "swap": True},
    "MXFP8": {"n": 128},
    "MXFP8, a pair, transposed": {"n": 128, "cluster": 2, "swap": True},
}


def built(name: str, cut: dict, *, masked: bool = False):
    sample = named(NAME)
    config = sample.Config(**{"m": 128, "consumers": 1, "stages": 2} | cut)
    if not name.startswith("MXFP8"):
        return sample.build(config, masked=masked)
    return sample.build(config, sample.MXFP8, sample.scaled.MX, masked=masked)


@pytest.mark.turns(30)
@kernel_test(schedules="all", targets="sm_100a")
@pytest.mark.parametrize("name", CUTS)
def test_blocks_of_experts(launch: Launch, name: str) -> None:
    """In any order; rows of none are left as they are."""
    sample, experts, (n, k) = named(NAME), np.array([1, -1, 0], np.int32), (40, 144)
    made = sample.scaled_operands if name.startswith("MXFP8") else sample.operands
    a, b, expected, *factors = made(experts, n, k, 2)
    d, ctas = np.zeros_like(expected), max(2, CUTS[name].get("cluster", 1))
    kernel = built(name, CUTS[name])
    launch(kernel, a, b, d, len(a), n, k, *factors, experts, grid=ctas,
           cluster=CUTS[name].get("cluster", 1))  # fmt: skip
    assert_exact(d, expected)


MASKED = {"a CTA": {"n": 64}, "a pair, its rows of A": {"n": 64, "cluster": 2}} | {
    name: CUTS[name] for name in ("a pair, transposed", "MXFP8, a pair, transposed")
}


@pytest.mark.turns(12)
@kernel_test(schedules="all", targets="sm_100a")
@pytest.mark.parametrize("name", MASKED)
def test_rows_that_count(launch: Launch, name: str) -> None:
    """Of experts with some of their rows, none, or all."""
    sample, counts, (m, n, k) = named(NAME), np.array([70, 0, 130], np.int32), (130, 40, 144)
    rng = np.random.default_rng(0)
    kind = sample.MXFP8 if name.startswith("MXFP8") else sample.BF16
    given = [[sample.scaled.matrix(rng, rows, k, kind) for _ in counts] for rows in (m, n)]
    (a, scale_a, of_a), (b, scale_b, of_b) = (
        [np.stack(part) for part in zip(*one, strict=True)] for one in given
    )
    factors = [scale_a, scale_b] if kind is sample.MXFP8 else []
    if not factors:
        of_a, of_b = a.astype(np.float32), b.astype(np.float32)
    expected = (of_a @ of_b.transpose(0, 2, 1)).astype(np.float32).astype(kind.out.numpy)
    d, ctas = np.zeros_like(expected), MASKED[name].get("cluster", 1)
    numbers = m, n, k, *factors, counts, 3
    launch(built(name, MASKED[name], masked=True), a, b, d, *numbers, grid=2, cluster=ctas)
    for expert, count in enumerate(counts):
        assert_exact(d[expert, :count], expected[expert, :count])
    assert not d[1].any()


@pytest.mark.turns(8)
@pytest.mark.parametrize(("name", "masked"), [
    ("a CTA", False), ("a pair, transposed", False), ("MXFP8, a pair, transposed", True),
    ("a pair, its rows of A", True),
])  # fmt: skip
def test_nothing_is_to_be_said_of_it(name: str, masked: bool) -> None:
    """By rules of all levels but that no launch is known, and which ring no made-up run takes
    round; and by ptxas: no spilled registers.
    """
    made = built(name, (CUTS | MASKED)[name] | {"stages": 4}, masked=masked)
    compiled = made.compile(target="sm_100a", opt=3, level="all")
    assert {f.rule for f in compiled.findings} - {"verify/turns"} == {"verify/level"}
    log = assemble(compiled.ptx, compiled.target).log
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    assert "warning" not in log


def test_two_experts_share_no_tile() -> None:
    for cut in ({"n": 64, "cluster": 2}, {"n": 96, "swap": True}, {"n": 64, "split": 2}):
        with pytest.raises(ValueError, match="no such tiles have one expert"):
            built("a CTA", cut)
