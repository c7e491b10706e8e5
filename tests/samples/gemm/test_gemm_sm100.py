"""The Hopper GEMM's family on Blackwell: the same products and outputs, and no review.

numpy gives the expected products; ptxas assembles it.  It never ran on a real Blackwell GPU.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType, Major
from nvgen.compilation.compiled import Compiled
from nvgen.machine_code.assembler import assemble
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.oracle import sass
from tests.samples.modules import named

pytestmark = pytest.mark.seldom(3)

E = ElementType
NAME = "gemm/sm100"
CASES = {
    "edges, two tiles of a CTA": ({"m": 128, "n": 64}, {}, (200, 136, 152)),
    "few rows": ({"m": 128, "n": 32, "swap": True}, {}, (40, 200, 152)),
    "fp8": ({"m": 128, "n": 64}, {"dtype": E.E4M3}, (200, 136, 272)),
    "D in f32": ({"m": 128, "n": 64}, {"dtype": E.F16, "out": E.F32}, (136, 136, 72)),
    "two consumers": ({"m": 256, "n": 64, "consumers": 2}, {}, (300, 72, 152)),
    "rows along M and N": (
        {"m": 128, "n": 64}, {"a_major": Major.MN, "b_major": Major.MN}, (200, 72, 152)),
    "B asked for early": ({"m": 128, "n": 64, "early": True}, {}, (200, 136, 344)),
    "B read once": ({"m": 128, "n": 64, "early": True, "once": True}, {}, (200, 136, 344)),
    "a pair": ({"m": 128, "n": 64, "cluster": 2}, {}, (264, 136, 136)),
    "a pair, few rows": ({"m": 128, "n": 32, "cluster": 2, "swap": True}, {}, (40, 264, 72)),
    "a pair, D in f32": (
        {"m": 128, "n": 256, "cluster": 2}, {"dtype": E.E4M3, "out": E.F32}, (136, 132, 144)),
    "a pair, rows along M and N": (
        {"m": 128, "n": 128, "cluster": 2, "early": True},
        {"a_major": Major.MN, "b_major": Major.MN}, (136, 136, 72)),
    "two pairs that ask for B": (
        {"m": 128, "n": 64, "cluster": 4, "early": True}, {}, (300, 72, 152)),
    "two pairs that bring B for each other": (
        {"m": 128, "n": 64, "cluster": 4}, {}, (300, 72, 152)),
    "K in two parts": ({"m": 128, "n": 32, "split": 2}, {}, (40, 40, 136)),
    "K in two parts, a pair each": (
        {"m": 128, "n": 32, "cluster": 2, "split": 2}, {}, (40, 40, 136)),
    "the last tiles in two parts": ({"m": 128, "n": 64, "tail": 2}, {}, (136, 72, 136)),
    "the last tiles in two parts, by pairs": (
        {"m": 128, "n": 64, "cluster": 2, "tail": 2}, {}, (136, 72, 136)),
}  # fmt: skip
GRIDS = {"the last tiles in two parts": 3}


def compiled(cut: dict, kind: dict, **options) -> Compiled:
    sample = named(NAME)
    config = sample.Config(**{"consumers": 1, "stages": 2} | cut)
    made: Compiled = sample.build(config, sample.Kind(**kind)).compile(
        target=sample.TARGETS[0], **options
    )
    return made


@pytest.mark.turns(96)
@kernel_test(schedules="all", targets="sm_100a")
@pytest.mark.parametrize("case", CASES)
def test_products(launch: Launch, case: str) -> None:
    cut, kind, size = CASES[case]
    a, b, expected = named(NAME).gemm.operands(*size, named(NAME).Kind(**kind))
    d = np.full_like(expected, np.nan)
    ctas = cut.get("cluster", 1) * cut.get("split", 1)
    room = [np.zeros(1 << 15, np.float32), np.zeros(16, np.uint32)] if "tail" in cut else []
    grid = GRIDS.get(case, max(ctas, 2))
    launch(compiled(cut, kind), a, b, d, *size, *room, grid=grid, cluster=ctas)
    assert_exact(d, expected)
    assert not any(flags.any() for flags in room[1:])


@pytest.mark.turns(3)
@kernel_test(schedules=["late"], targets="sm_100a")
def test_gated_products(launch: Launch) -> None:
    """The same code joins and stores them as on Hopper."""
    gated, sample, (m, n, k) = named("gemm/gate_up"), named(NAME), (72, 136, 72)
    x, gate, up, of_gate, of_up = gated.operands(m, n, k)
    d = np.full((m, n), np.nan, x.dtype)
    relu = {"activation": staticmethod(lambda gate: gate.max(0.0))}
    config = sample.Config(m=128, n=32, consumers=1, stages=2)
    kernel = sample.build(config, output=type("Joined", (gated.GatedOutput,), relu))
    made = kernel.compile(target=launch.target)
    launch(made, x, gated.interleaved(gate, up), d, m, 2 * n, k, grid=2)
    assert_exact(d, (np.maximum(of_gate, 0) * of_up).astype(x.dtype))


@pytest.mark.turns(3)
@kernel_test(schedules=["late"], targets="sm_100a")
def test_rows_in_fp8_have_scales(launch: Launch) -> None:
    """By the same code too."""
    quantised, sample, (m, n, k) = named("gemm/quantised"), named(NAME), (72, 256, 72)
    a, b, sums = sample.gemm.operands(m, n, k, sample.Kind(out=E.F32))
    d, scales = np.zeros((m, n), E.E4M3.numpy), np.zeros((m, n // 128), np.float32)
    amax = np.zeros(1, np.uint32)
    config = sample.Config(m=128, n=128, consumers=1, stages=2)
    kernel = sample.build(config, quantised.FP8, output=quantised.QuantisedOutput)
    launch(kernel.compile(target=launch.target), a, b, d, scales, amax, m, n, k, grid=2)
    blocks = sums.reshape(m, -1, 128)
    np.testing.assert_allclose(scales, np.abs(blocks).max(2) / 448, rtol=1e-6)
    assert amax.view(np.float32)[0] == np.abs(sums).max()
    back = d.astype(np.float32).reshape(blocks.shape) * scales[:, :, None]
    np.testing.assert_allclose(back, blocks, rtol=2.0**-4, atol=scales.max() * 2.0**-7)


ASSEMBLED = [
    ("sm_100a", {"stages": 5}), ("sm_103a", {"stages": 5}), ("sm_110a", {"stages": 5}),
    ("sm_100a", {"n": 256, "stages": 5, "cluster": 2}), ("sm_103a", {"stages": 5, "cluster": 4}),
    ("sm_100a", {"split": 2}), ("sm_100a", {"cluster": 2, "split": 2}),
    ("sm_110a", {"tail": 2}), ("sm_100a", {"cluster": 2, "tail": 2}),
]  # fmt: skip


@pytest.mark.turns(8)
@pytest.mark.parametrize("number", range(len(ASSEMBLED)))
def test_nothing_is_to_be_said_of_it(number: int) -> None:
    """By rules of all levels but that no launch is known, and which ring no made-up run takes
    round; and by ptxas: no spilled registers.
    """
    target, cut = ASSEMBLED[number]
    sample = named(NAME)
    config = sample.Config(**{"m": 128, "n": 128, "consumers": 1, "stages": 2} | cut)
    made = sample.build(config).compile(target=target, opt=3, level="all")
    assert {f.rule for f in made.findings} - {"verify/turns"} == {"verify/level"}
    log = assemble(made.ptx, made.target).log
    assert "0 bytes spill stores, 0 bytes spill loads" in log
    assert "warning" not in log


@pytest.mark.turns(3)
@pytest.mark.skipif(sass.find_nvdisasm() is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize("cluster", [1, 2])
def test_a_step_of_k_is_what_other_compilers_make_of_it(cluster: int) -> None:
    """As sample 02 lists them: four multiplies and a commit for two copies."""
    cut = {"m": 128, "n": 128, "stages": 4, "cluster": cluster}
    listing = sass.listing(compiled(cut, {}, opt=3).cubin())
    multiply, copy = listing.innermost("UTCHMMA"), listing.innermost("UTMALDG")
    assert (multiply["UTCHMMA"], multiply["UTCBAR"], multiply["UTMALDG"]) == (4, 1, 0)
    assert (copy["UTMALDG"], copy["UTCHMMA"]) == (2, 0)


def test_what_is_not_possible_is_refused() -> None:
    sample = named(NAME)
    for cut in ({"m": 64, "consumers": 1}, {"m": 256, "consumers": 2}, {"m": 128, "split": 2}):
        config = sample.Config(**{"n": 256, "consumers": 1, "stages": 2} | cut)
        with pytest.raises(ValueError, match="no such tiles"):
            sample.build(config)


def test_it_says_where_it_has_run() -> None:
    words = " ".join((named(NAME).__doc__ or "").split())
    assert "never run on a real Blackwell GPU" in words
