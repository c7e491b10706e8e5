"""CTAs of a cluster that tell each other of their multiplies: arrivals of all of them count.

Each of two CTAs multiplies a tile of its own and commits to an mbarrier of both, as kernels do
whose stages TMA multicasts fill: an mbarrier completes a phase with two arrivals.  PTX ISA,
tcgen05.commit: `.multicast::cluster` signals at the same offset in each CTA of the mask.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType as E
from intrinsics.findings import Verdict, VerificationError, verdict
from intrinsics.modifiers import LdStNum
from nvgen import Kernel, KernelBuilder
from nvgen.values.pointers import Pointer

ROWS, N, K = 128, 64, 64
BOTH = 0b11


def build(arrivals: int = 2, told: int | None = BOTH) -> Kernel:
    """@k(a, b, d): D = A·Bᵀ, 128 rows by each CTA; `told` is the mask of the commit."""
    b = KernelBuilder("k", block=128, cluster=2, dynamic_shared=True)
    b.tensor_map("a", dtype=E.F16, box=(ROWS, K), swizzle=128)
    b.tensor_map("b", dtype=E.F16, box=(N, K), swizzle=128)
    b.pointer("d", output=True)
    args = b.begin()
    a, w, target = (args[name] for name in "abd")
    assert isinstance(a, Pointer)
    assert isinstance(w, Pointer)
    assert isinstance(target, Pointer)
    a_tile, b_tile = (
        b.shared_tile("a_tile", E.F16, (ROWS, K)),
        b.shared_tile("b_tile", E.F16, (N, K)),
    )
    loaded, done = b.mbarrier("loaded"), b.mbarrier("done")
    b.make_mbarriers((loaded, 1), (done, arrivals))
    b.barrier_cluster_sync()
    tmem = b.tensor_memory("tmem", N)
    d, rank = tmem.tile(ROWS, N), b.cluster_ctarank

    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, a_tile.nbytes + b_tile.nbytes)
        b.load_tile(a_tile, a, (0, rank * ROWS), loaded)
        b.load_tile(b_tile, w, (0, 0), loaded)
    b.wait(loaded, 0)
    with b.if_warp(0), b.elect():
        b.gemm_async(d, a_tile, b_tile)
        b.tcgen05_commit(done, cta_mask=told)
    b.wait(done, 0)
    b.tcgen05_fence_after_thread_sync()
    row = target + (rank * ROWS + b.tid_x).zext(64) * (N * 4)
    values = b.tcgen05_ld(d.pointer + (b.tid_x >> 5 << 21), num=LdStNum.X64)
    b.tcgen05_wait_ld()
    b.store(values, row, align=16)
    b.bar_warp_sync()
    b.barrier_cluster_sync()
    tmem.free()
    return b.finish()


@pytest.mark.turns(6)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("schedule", ["early", "late", "random:1"])
def test_each_of_two_ctas_tells_both(schedule: str, opt: int) -> None:
    compiled = build().compile(target="sm_100a", level="all", opt=opt, grid=2)
    assert verdict(compiled.findings) is Verdict.CLEAN
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (rows, K)).astype(np.float16) for rows in (2 * ROWS, N))
    d = np.zeros((2 * ROWS, N), np.float32)
    compiled.run(a, b, d, grid=2, schedule=schedule)
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize(
    ("arrivals", "told", "rule"),
    [
        (3, BOTH, "mbarrier/arrivals"),  # one more than there are CTAs
        (2, None, "mbarrier/arrivals"),  # nobody else is told
        (1, BOTH, "mbarrier/deadlock"),  # the second arrival begins another phase, and ends it
    ],
)
def test_another_number_of_arrivals(arrivals: int, told: int | None, rule: str) -> None:
    with pytest.raises(VerificationError) as caught:
        build(arrivals, told).compile(target="sm_100a", level="function")
    assert rule in {f.rule for f in caught.value.findings}
