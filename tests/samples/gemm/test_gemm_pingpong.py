"""The Hopper GEMM by two warpgroups in turn: one multiplies a tile while the other one stores its.

numpy gives the expected product; mistakes are planted in the order of the two.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from intrinsics.element import ElementType, Major
from isel.verifier.launch import LaunchShape
from isel.verifier.levels import verify
from nvgen import f32
from nvgen.compilation.compiled import Compiled
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each
from tests.oracle import sass
from tests.samples.gemm.gemm_mistakes import found_in
from tests.samples.modules import named

pytestmark = pytest.mark.seldom(3)

E, MN, K = ElementType, Major.MN, Major.K
TARGET = "sm_90a"


def biased(args, value, row, column):
    return value + args["bias"][column]


CUT: list[tuple[dict[str, int], tuple[int, int, int], tuple[object, ...], int]] = [
    ({"m": 64, "n": 64}, (150, 136, 232), (), 2),
    ({"m": 64, "n": 64}, (150, 136, 232), (E.F16, E.F16), 1),
    ({"m": 64, "n": 48, "stages": 3}, (140, 136, 400), (E.E4M3, E.BF16), 1),
    ({"m": 128, "n": 32, "stages": 3, "group": 1}, (300, 40, 72), (E.BF16, E.F32), 1),
    ({"m": 64, "n": 32, "swap": True}, (72, 136, 136), (E.F16, E.F16, MN, MN), 2),
    ({"m": 64, "n": 64, "cluster": 2}, (150, 136, 136), (E.BF16, E.BF16, K, MN), 2),
    ({"m": 128, "n": 32, "cluster": 2, "swap": True}, (70, 304, 80), (E.E5M2, E.F16), 2),
    ({"m": 64, "n": 32, "depth": 2, "staged": 1}, (64, 32, 8), (), 1),
    ({"m": 64, "n": 32, "stages": 5, "early": True}, (100, 72, 136), (), 1),
]
"""Configurations, sizes, what is multiplied, and how many CTAs multiply it.

An odd number of tiles for a CTA and a single one; fewer steps of K than buffers, and several times
as many; ragged edges, clusters, D stored transposed.
"""


def pingpong(cut: dict[str, int], what: object = None):
    """The kernel of such a configuration."""
    sample = named("10_gemm_sm90")
    config = sample.Config(**{"consumers": 2, "stages": 2, "pingpong": True} | cut)
    return sample.build(config, what or sample.Kind())


@pytest.mark.turns(12)
@kernel_test(schedules="all", random=2, targets=TARGET)
@pytest.mark.parametrize("number", range(len(CUT)))
def test_the_product_is_exact(launch: Launch, number: int) -> None:
    cut, size, given, grid = CUT[number]
    sample = named("10_gemm_sm90")
    what = sample.Kind(*given)
    made = pingpong(cut, what).compile(target=TARGET)
    assert made.findings == []
    a, b, expected = sample.operands(*size, what)
    d = np.full_like(expected, np.nan)
    launch(made, a, b, d, *size, grid=grid, cluster=cut.get("cluster", 1))
    assert_exact(d, expected)


@kernel_test(schedules=["late"], targets=TARGET)
def test_an_epilogue_reads_its_bias(launch: Launch) -> None:
    sample, (m, n, k) = named("10_gemm_sm90"), (130, 40, 72)
    kind = sample.Kind(epilogue=biased, reads=(("bias", f32),))
    a, b, _ = sample.operands(m, n, k)
    bias = np.arange(n, dtype=np.float32) - 20
    d = np.full((m, n), np.nan, a.dtype)
    made = pingpong({"m": 64, "n": 32}, kind).compile(target=TARGET)
    launch(made, a, b, d, bias, m, n, k, grid=2)
    assert_exact(d, (a.astype(np.float32) @ b.astype(np.float32).T + bias).astype(a.dtype))


@pytest.mark.turns(4)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("cluster", [1, 2])
def test_nothing_is_found_of_a_launch(cluster: int, opt: int) -> None:
    """At level all, its sizes known."""
    kernel = pingpong({"m": 64, "n": 64, "cluster": cluster})
    made = kernel.compile(target=TARGET, opt=opt)
    sizes = LaunchShape((6, 1, 1), (384, 1, 1), (cluster, 1, 1), kernel.dynamic_shared)
    assert verify(made.module, made.target, made.ptx_version, "all", sizes) == []


# ---- machine code ----------------------------------------------------------------------------


@functools.cache
def largest(m: int, n: int, opt: int) -> Compiled:
    made: Compiled = pingpong({"m": m, "n": n, "stages": 4}).compile(target=TARGET, opt=opt)
    return made


@pytest.mark.turns(6)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("tile", [(64, 256), (128, 128), (128, 208)], ids=str)
def test_sums_stay_in_place(tile: tuple[int, int], opt: int) -> None:
    """ptxas neither spills nor serialises the multiplies, of 208 sums of a thread either."""
    assembled = largest(*tile, opt).assembled()
    assert assembled.findings == ()
    resources = assembled.resources["gemm_sm90"]
    assert (resources.spill_stores, resources.spill_loads, resources.stack) == (0, 0, 0)


@pytest.mark.turns(6)
@pytest.mark.skipif(sass.find_nvdisasm() is None, reason="no nvdisasm: nvidia-cuda-nvdisasm")
def test_a_step_is_eight_multiplies() -> None:
    """Of 128 rows: four of K = 16 for each 64 of them, one wait for the step before."""
    loop = sass.listing(largest(128, 128, 3).cubin()).smallest("HGMMA")
    assert (loop["HGMMA"], loop["WARPGROUP"]) == (8, 2)  # WARPGROUP.ARRIVE and .DEPBAR
    assert loop["MOV"] + loop["IMAD"] <= 8


# ---- mistakes --------------------------------------------------------------------------------

WAIT = "            b.barrier_cta_sync_aligned(TURN + b.warpgroup, 2 * WARPGROUP)\n"
PASS = (
    "        with b.if_(work.is_last ^ 1):\n"
    "            b.barrier_cta_arrive_aligned(TURN + 1 - b.warpgroup, 2 * WARPGROUP)\n"
)
FIRST = "        with b.if_(work.number != first):\n            b.barrier"
PAST = "self.gemm.ring.advance(self.gemm.steps_before(work))"
STEP = "                b.wgmma_wait_group(1)\n"
RELEASE = "                self.release(held.value)\n"

MISTAKES = {
    "lost wait for the turn": (WAIT, "", "cp.async.bulk.tensor/operand-modified"),
    "lost arrival": (PASS, "", "sync/deadlock"),
    "arrival at its own barrier": (
        "TURN + 1 - b.warpgroup", "TURN + b.warpgroup", "sim/mbarrier-arrivals"),
    "the other's turn begins with one's own": (
        "        yield\n" + PASS, PASS + "        yield\n",
        "cp.async.bulk.tensor/operand-modified"),
    "the first tile waits too": (
        FIRST, FIRST.replace("!=", ">="),
        "mbarrier/deadlock"),
    "a barrier of half its threads": (
        WAIT, WAIT.replace("2 * ", ""), "cp.async.bulk.tensor/operand-modified"),
    "the other's buffers are not passed": (
        f"            {PAST}\n", "", "sim/mbarrier-arrivals"),
    "one buffer less is passed": (PAST, PAST[:-1] + " - 1)", "mbarrier/phase-missed"),
    "wrong parity": (
        "b.wait(self.full[ring.stage], ring.parity)",
        "b.wait(self.full[ring.stage], ring.parity ^ 1)", "wgmma.mma_async/before-copy"),
    "early release": (STEP + RELEASE, RELEASE + STEP, "mbarrier/phase-missed"),
    "no last wait": (
        "        b.wgmma_wait_group(0)\n", "", "wgmma.mma_async/in-flight"),
    "both release a buffer": (
        "config.team * arrivals", "config.consumers * arrivals", "mbarrier/deadlock"),
    "both multiply every tile": ("step=step * 2", "step=step", "sim/race"),
}  # fmt: skip
"""What stands in the sample or in gemm/sharing.py, what instead of it, and the rule that finds it:
the verifier, or the first run in the simulator."""

IN_PAIRS = {
    "wrong parity": "cp.async.bulk.tensor/peer-exit",
    "arrival at its own barrier": "sim/race",
    "the other's buffers are not passed": "sim/race",
}
"""The rules that find them in a pair of CTAs, where these are others: a relaxed arrival at another
CTA's mbarrier releases no more than fences do."""


@pytest.mark.wrong_kernel
@pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
@each("name, cluster", [(name, c) for name in MISTAKES for c in (1, 2)], turns=13)
def test_a_planted_mistake_is_found(name: str, cluster: int) -> None:
    old, new, rule = MISTAKES[name]
    if cluster == 2:
        rule = IN_PAIRS.get(name, rule)
    cut = {"m": 64, "n": 32, "consumers": 2, "stages": 2, "pingpong": True, "cluster": cluster}
    assert rule in found_in(cut, (64 * cluster, 160, 328), old, new)
