"""Block-scaled products on Blackwell: what numpy gives, no review, and mistakes that are found.

ptxas assembles them.  They never ran on a real Blackwell GPU.
"""

from __future__ import annotations

import numpy as np
import pytest

from nvgen.compilation.compiled import Compiled
from nvgen.machine_code.assembler import assemble
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each
from tests.oracle import sass
from tests.samples.found_mistakes import found_by
from tests.samples.modules import edited, named

pytestmark = pytest.mark.seldom(3)

NAME = "gemm/sm100_scaled"
KINDS = {"MXFP8": "MX", "MXFP4": "MX", "NVFP4": "NV"}
CASES = {
    "edges, two tiles of a CTA": ("MXFP8", {}, (140, 200, 160)),
    "NVFP4, K within a block of factors": ("NVFP4", {}, (40, 136, 288)),
    "NVFP4, a pair": ("NVFP4", {"cluster": 2}, (136, 136, 288)),
    "MXFP8, a pair, two blocks of columns": ("MXFP8", {"n": 256, "cluster": 2}, (40, 264, 144)),
    "MXFP4, two consumers": ("MXFP4", {"m": 256, "consumers": 2}, (136, 40, 288)),
    "MXFP8, transposed": ("MXFP8", {"swap": True}, (40, 136, 144)),
    "MXFP8, two pairs": ("MXFP8", {"cluster": 4}, (264, 40, 144)),
    "MXFP8, K in two parts": ("MXFP8", {"split": 2}, (40, 40, 272)),
}
ASSEMBLED = [
    ("sm_100a", "MXFP8", {"stages": 5}), ("sm_103a", "NVFP4", {"stages": 4}),
    ("sm_110a", "MXFP4", {"stages": 4}), ("sm_100a", "NVFP4", {"stages": 4, "cluster": 2}),
    ("sm_100a", "MXFP8", {"n": 256, "stages": 4, "cluster": 2}),
    ("sm_100a", "NVFP4", {"n": 256, "stages": 5, "cluster": 2}),
]  # fmt: skip


def built(kind: str, cut: dict):
    sample = named(NAME)
    config = sample.Config(**{"m": 128, "n": 128, "consumers": 1, "stages": 2} | cut)
    return sample.build(config, getattr(sample, kind), getattr(sample, KINDS[kind]))


@pytest.mark.turns(64)
@kernel_test(schedules="all", targets="sm_100a")
@pytest.mark.parametrize("case", CASES)
def test_products(launch: Launch, case: str) -> None:
    (name, cut, (m, n, k)), sample = CASES[case], named(NAME)
    kind, factors = getattr(sample, name), getattr(sample, KINDS[name])
    a, b, expected, *scales = sample.operands(m, n, k, kind, factors)
    d, reads = np.full_like(expected, np.nan), [np.ones(1, np.float32)] * len(kind.reads)
    ctas = cut.get("cluster", 1) * cut.get("split", 1)  # type: ignore[attr-defined]
    launch(built(name, cut), a, b, d, *reads, m, n, k, *scales, grid=ctas, cluster=ctas)
    assert_exact(d, expected)


@pytest.mark.turns(12)
@pytest.mark.parametrize("number", range(len(ASSEMBLED)))
def test_nothing_is_to_be_said_of_it(number: int) -> None:
    """By rules of all levels but that no launch is known, and by ptxas: no spilled registers."""
    target, kind, cut = ASSEMBLED[number]
    made = built(kind, cut).compile(target=target, opt=3, level="all")
    assert [f.rule for f in made.findings] == ["verify/level"]
    log = assemble(made.ptx, made.target).log
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    assert "warning" not in log


@pytest.mark.turns(6)
@pytest.mark.skipif(sass.find_nvdisasm() is None, reason="nvdisasm is not installed")
def test_a_step_of_k_has_its_multiplies_and_copies() -> None:
    """Of NVFP4 256 of K: four multiplies of 64, four copies of factors of A and of B, a commit."""
    made = built("NVFP4", {"cluster": 2, "stages": 4}).compile(target="sm_100a", opt=3)
    loop = sass.listing(made.cubin()).innermost("UTCOMMA")
    assert (loop["UTCOMMA"], loop["UTCCP"], loop["UTCBAR"]) == (4, 8, 1)


def test_what_is_not_possible_is_refused() -> None:
    """Half a block of factors, more of them than columns, sums that take all columns."""
    for kind, cut in (
        ("MXFP8", {"n": 64}), ("NVFP4", {"n": 256, "stages": 6}), ("MXFP8", {"m": 64}),
        ("MXFP8", {"m": 256, "n": 256, "consumers": 2}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="no such tiles"):
            built(kind, cut)


COPY = "            b.copy_scales(target, self.shared_factors[name][stage], cta_group=self.pair)\n"
MISTAKES: dict[str, tuple[str, str, str]] = {
    "no factors are copied": (COPY, "            pass\n", "sim/uninitialized"),
    "only the even CTA's factors are copied": (
        COPY, COPY.replace("self.pair", "blackwell.CtaGroup.ONE"), "tcgen05/cta-groups"),
    "the factors of another step": (
        "(0, step * self.words, first", "(0, step, first", "numbers"),
    "bytes of factors are not expected": (
        "        self.more_bytes = sum(ring.nbytes for ring in self.shared_factors.values())\n", "",
        "mbarrier/bytes"),
    "factors are counted at each CTA": (
        "self.counted(stage), self.args", "self.full[stage], self.args",
        "cp.async.bulk.tensor/operand-modified"),
    "one buffer of factors for all steps": (
        "self.tensor_factors[name][stage]", "self.tensor_factors[name][0]",
        "tcgen05.cp/not-pipelined"),
}  # fmt: skip


def found_in(old: str, new: str) -> set[str]:
    """The rules that find a mistake, or `numbers` where only the product is wrong."""
    sample = edited(NAME, old, new)
    config, (m, n, k) = sample.Config(128, 128, 1, stages=2, cluster=2), (136, 40, 1024)

    def compiled() -> Compiled:
        kernel = sample.build(config, sample.MXFP4, sample.MX)
        return kernel.compile(target=sample.TARGETS[0], opt=3)

    def is_right(made: Compiled) -> bool:
        a, b, expected, *scales = sample.operands(m, n, k, sample.MXFP4, sample.MX)
        d = np.full_like(expected, np.nan)
        made.run(a, b, d, m, n, k, *scales, grid=2, cluster=2, device="sim", schedule="late")
        return np.array_equal(d, expected)

    return found_by(compiled, is_right)


@pytest.mark.wrong_kernel
@each("name", MISTAKES, turns=6)
def test_a_planted_mistake_is_found(name: str) -> None:
    old, new, rule = MISTAKES[name]
    assert rule in found_in(old, new)
