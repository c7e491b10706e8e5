"""The Hopper GEMM whose CTAs share a tile, and send their sums into each other's ring of buffers.

numpy gives the expected product; mistakes are planted in what keeps copies and sums apart.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType
from isel.verifier.launch import LaunchShape
from isel.verifier.levels import verify
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each
from tests.samples.gemm.gemm_mistakes import found_in
from tests.samples.modules import named

pytestmark = pytest.mark.seldom(3)

E = ElementType
TARGET = "sm_90a"

CUT: list[tuple[dict[str, int], tuple[int, int, int], tuple[object, ...], int]] = [
    ({"m": 64, "n": 48, "split": 2}, (130, 72, 264), (), 2),
    ({"m": 256, "n": 32, "split": 2, "consumers": 2}, (250, 72, 136), (E.F16, E.F16), 2),
    ({"m": 64, "n": 48, "split": 3, "swap": True}, (50, 136, 528), (E.E4M3, E.BF16), 3),
    ({"m": 64, "n": 64, "split": 2, "cluster": 2}, (150, 72, 264), (), 4),
    ({"m": 64, "n": 24, "split": 2, "swap": True}, (24, 136, 200), (E.BF16, E.F32), 4),
    ({"m": 192, "n": 32, "split": 4, "consumers": 3}, (190, 40, 64), (), 4),
]
"""Configurations, sizes, what is multiplied, and how many CTAs multiply it.

Several tiles for each CTA; CTAs that add up nothing, and such that have no step of K; ragged edges.
"""


def config(cut: dict[str, int]) -> object:
    return named("10_gemm_sm90").Config(**{"consumers": 1, "stages": 3, "overlay": True} | cut)


@pytest.mark.turns(16)
@kernel_test(schedules="all", random=1, targets=TARGET)
@pytest.mark.parametrize("number", range(len(CUT)))
def test_the_product_is_exact(launch: Launch, number: int) -> None:
    cut, size, given, grid = CUT[number]
    sample, chosen = named("10_gemm_sm90"), config(cut)
    assert chosen.overlays  # type: ignore[attr-defined]
    what = sample.Kind(*given)
    made = sample.build(chosen, what).compile(target=TARGET)
    assert made.findings == []
    a, b, expected = sample.operands(*size, what)
    d = np.full_like(expected, np.nan)
    launch(made, a, b, d, *size, grid=grid, cluster=chosen.ctas)  # type: ignore[attr-defined]
    assert_exact(d, expected)


@pytest.mark.turns(3)
@pytest.mark.parametrize("cluster", [1, 2])
def test_nothing_is_found_of_a_launch(cluster: int) -> None:
    """At level all, its sizes known."""
    kernel = named("10_gemm_sm90").build(config({"m": 64, "n": 64, "split": 2, "cluster": cluster}))
    made = kernel.compile(target=TARGET, opt=3)
    ctas = 2 * cluster
    sizes = LaunchShape((3 * ctas, 1, 1), (256, 1, 1), (ctas, 1, 1), kernel.dynamic_shared)
    assert verify(made.module, made.target, made.ptx_version, "all", sizes) == []


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "cut",
    [
        {"m": 256, "n": 160, "split": 4, "consumers": 2, "swap": True, "staged": 1},
        {"m": 192, "n": 192, "split": 2, "consumers": 3},
        {"m": 128, "n": 256, "split": 2, "consumers": 2, "cluster": 2},
    ],
    ids=str,
)
def test_sums_stay_in_place(cut: dict[str, int]) -> None:
    """High tiles have four buffers, ptxas neither spills nor serialises the multiplies."""
    made = named("10_gemm_sm90").build(config(cut | {"stages": 4})).compile(target=TARGET, opt=3)
    assembled = made.assembled()
    assert assembled.findings == ()
    resources = assembled.resources["gemm_sm90"]
    assert (resources.spill_stores, resources.spill_loads, resources.stack) == (0, 0, 0)


# ---- mistakes --------------------------------------------------------------------------------

ROOM = "        b.wait(self.room, self.rounds.parity, scope=Scope.CLUSTER)\n"
TELL = "b.mbarrier_arrive_space_cluster(room)\n"
SENT = "        b.wait(self.sent, self.rounds.parity, scope=Scope.CLUSTER)\n        blocks"
BACK = "        b.fence_proxy_async(Space.SHARED_CTA)\n        b.bar_warp_sync()\n"
HOLD = "self.b.wait(self.added, self.brought.parity ^ 1, scope=self.gemm.scope)"

MISTAKES = {
    "lost wait for room": (ROOM, "", "st.async/operand-modified"),
    "wrong parity of the wait for room": (
        ROOM, ROOM.replace("parity,", "parity ^ 1,"), "st.async/operand-modified"),
    "nobody tells of room": (TELL, "pass\n", "mbarrier/arrivals"),
    "only oneself is told of room": (
        "thread * config.cluster + gemm.rank)", "gemm.part * config.cluster + gemm.rank)",
        "st.async/operand-modified"),
    "room before the last multiplies": (
        "        b.wgmma_wait_group(0)\n", "", "st.async/operand-modified"),
    "lost wait for sums": (SENT, "        blocks", "ld/before-copy"),
    "wrong parity of the wait for sums": (
        SENT, SENT.replace("parity,", "parity ^ 1,"), "ld/before-copy"),
    "bytes of all are expected": (
        "(config.split - 1) * config.m", "config.split * config.m", "mbarrier/deadlock"),
    "sums to oneself too": (
        "b.if_(gemm.part != to)", "b.if_(gemm.part >= 0)", "st.async/operand-modified"),
    "sums in another's place": ("(config.split - 1 - to)", "(config.split - to)", "numbers"),
    "another's slice": ("self.gemm.part == number", "self.gemm.part != number", "numbers"),
    "the next tile comes at once": (HOLD, "pass", "st.async/operand-modified"),
    "the first tile waits": (HOLD, HOLD.replace(" ^ 1", ""), "mbarrier/deadlock"),
    "nobody gives the ring back": (
        "b.mbarrier_arrive(self.added)", "pass", "mbarrier/arrivals"),
    "a lane gives back for its warp": (
        BACK, BACK.replace("        b.bar_warp_sync()\n", ""), "mbarrier.arrive/other-threads"),
}  # fmt: skip
"""What stands in gemm/overlay.py or the sample, what instead of it, and the rule that finds it."""


@pytest.mark.wrong_kernel
@pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
@each("name", MISTAKES, turns=8)
def test_a_planted_mistake_is_found(name: str) -> None:
    old, new, rule = MISTAKES[name]
    cut = {"m": 64, "n": 48, "consumers": 1, "stages": 3, "split": 2, "overlay": True}
    assert rule in found_in(cut, (64, 96, 264), old, new)
