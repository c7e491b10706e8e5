"""The warp-specialised GEMM: right under every schedule, and wrong without any of its waits.

numpy gives the expected product; nvdisasm says what ptxas makes of the loops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import SimulationError, VerificationError
from nvgen import Kernel, KernelBuilder
from nvgen.compilation.compiled import Compiled
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.oracle import sass
from tests.samples.modules import warp_specialized

pytestmark = pytest.mark.seldom(3)

SCHEDULES = ("early", "late", "random:1", "random:2", "random:5", "random:6")
TYPES = (ElementType.F16, ElementType.BF16)
TARGET = "sm_100a"


def product(
    compiled: Compiled, shape: tuple[int, int, int], grid: int, schedule: str, dtype: ElementType
) -> tuple[np.ndarray, np.ndarray]:
    """What the kernel gives, and what numpy does."""
    a, b, expected = warp_specialized().operands(*shape, dtype)
    d = np.full(expected.shape, np.nan, np.float32)
    compiled.run(a, b, d, *shape, grid=grid, schedule=schedule)
    return d, expected


@pytest.mark.turns(6)
@kernel_test(schedules="all", random=1, targets=TARGET)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.value)
def test_the_ring_wraps_and_every_schedule_gives_the_product(launch: Launch, dtype: ElementType):
    """16 steps of K for one CTA: the ring of four goes round four times, the accumulators twice."""
    size = 256, 256, 256
    a, b, expected = warp_specialized().operands(*size, dtype)
    d = np.full_like(expected, np.nan)
    launch(_compiled(dtype), a, b, d, *size)
    assert_exact(d, expected)


SHAPES = [
    ((128, 384, 192), 1),
    ((128, 384, 192), 2),
    ((384, 128, 64), 3),
    ((256, 256, 256), 3),
    ((128, 128, 64), 2),
]


@pytest.mark.turns(8)
@kernel_test(schedules="all", random=1, targets=TARGET)
@pytest.mark.parametrize(("shape", "grid"), SHAPES, ids=str)
def test_any_shape_and_grid(launch: Launch, shape: tuple[int, int, int], grid: int):
    """One kernel for all; a CTA has one tile more than another, or none at all."""
    a, b, expected = warp_specialized().operands(*shape)
    d = np.full_like(expected, np.nan)
    launch(_compiled(ElementType.F16), a, b, d, *shape, grid=grid)
    assert_exact(d, expected)


@functools.cache
def _compiled(dtype: ElementType) -> Compiled:
    compiled: Compiled = warp_specialized().build(dtype).compile(target=TARGET)
    return compiled


def test_a_launch_gives_the_kernel_its_shared_memory():
    """4 stages of A and B in f16, and two staging buffers of 128 rows of 128 bytes."""
    kernel: Kernel = warp_specialized().build()
    assert kernel.dynamic_shared == 4 * 2 * 128 * 64 * 2 + 2 * 128 * 128
    a, b, d = warp_specialized().operands(128, 128, 64)
    with pytest.raises(SimulationError) as caught:
        kernel.compile(target=TARGET).run(a, b, d, 128, 128, 64, smem=1024)
    assert caught.value.findings[0].rule == "sim/out-of-bounds"


# ---- without ---------------------------------------------------------------------------------


class Left(NamedTuple):
    """A verb that is left out: of which barrier, and which of the calls (all, if none)."""

    verb: str
    barrier: str = ""
    calls: tuple[int, ...] = ()


OUT = {
    "wait for a free buffer of the ring": Left("wait", "empty", (0,)),
    "wait for the last commits": Left("wait", "empty", (1,)),
    "wait for the bytes": Left("wait", "full"),
    "wait for a free accumulator": Left("wait", "free"),
    "wait for the sums": Left("wait", "sums"),
    "the bytes that are expected": Left("mbarrier_arrive_expect_tx"),
    "commit of a step": Left("tcgen05_commit", "empty"),
    "commit of a tile": Left("tcgen05_commit", "sums"),
    "arrival on a free accumulator": Left("mbarrier_arrive"),
    "wait for the staging buffer": Left("cp_async_bulk_wait_group_read", "", (0, 1, 2, 3)),
    "wait for the last store": Left("cp_async_bulk_wait_group_read", "", (4,)),
    "group of stores": Left("cp_async_bulk_commit_group"),
    "proxy fence": Left("fence_proxy_async"),
    "barrier before staging": Left("barrier_cta_sync_aligned", "", (1, 3, 5, 7)),
    "barrier after staging": Left("barrier_cta_sync_aligned", "", (2, 4, 6, 8)),
    "barrier before deallocation": Left("barrier_cta_sync_aligned", "", (9,)),
    "deallocation": Left("tcgen05_dealloc"),
}


def careless(left: Left) -> type[KernelBuilder]:
    """A builder that leaves something out."""
    plain: Callable[..., object] = getattr(KernelBuilder, left.verb)
    seen: list[object] = []

    def skip(self: KernelBuilder, *args: object, **options: object) -> None:
        names = {getattr(arg, "name", "") for arg in args}
        if left.barrier and left.barrier not in names:
            plain(self, *args, **options)
            return
        seen.append(args)
        if left.calls and len(seen) - 1 not in left.calls:
            plain(self, *args, **options)

    return type("Careless", (KernelBuilder,), {left.verb: skip})


@pytest.mark.turns(12)
@pytest.mark.parametrize("name", OUT)
def test_nothing_can_be_left_out(name: str, monkeypatch: pytest.MonkeyPatch):
    """Some schedule shows it: a finding, a deadlock, or a wrong product; or the verifier does."""
    sample = warp_specialized()
    monkeypatch.setattr(sample, "KernelBuilder", careless(OUT[name]))
    try:
        compiled = sample.build().compile(target=TARGET)
    except VerificationError:
        return  # a rule is certain of it
    assert any(not is_right(compiled, schedule) for schedule in SCHEDULES)


def is_right(compiled: Compiled, schedule: str) -> bool:
    try:
        found, expected = product(compiled, (256, 256, 128), 1, schedule, ElementType.F16)
    except SimulationError:
        return False
    return np.array_equal(found, expected)


# ---- machine code ----------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.skipif(sass.find_nvdisasm() is None, reason="no nvdisasm: nvidia-cuda-nvdisasm")
@pytest.mark.parametrize("target", warp_specialized().TARGETS)
def test_a_step_of_the_main_loops_is_what_the_sample_says(target: str):
    """Four multiplies and a commit in one loop, two copies in another; no loop does two steps."""
    listing = sass.listing(warp_specialized().build().compile(target=target).cubin())
    multiply, copy = listing.innermost("UTCHMMA"), listing.innermost("UTMALDG")
    assert (multiply["UTCHMMA"], multiply["UTCBAR"], multiply["UTMALDG"]) == (4, 1, 0)
    assert (copy["UTMALDG"], copy["UTCHMMA"]) == (2, 0)
    assert listing.kinds.count("UTMASTG") == 4, "no loop over threads around a store"
    assert listing.innermost("UTMASTG")["UTMASTG"] == 4, "a tile's four parts, in one loop"
