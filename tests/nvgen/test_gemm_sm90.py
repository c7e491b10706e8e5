"""The Hopper GEMM: exact on the simulator and on a GPU, at the edges too, without a spill.

numpy gives the expected product; ptxas and nvdisasm say what the machine code is.
"""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from nvgen.compiled import Compiled
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.nvgen.samples import named
from tests.oracle import sass

E = ElementType
TYPES = (E.BF16, E.F16, E.E4M3)
TARGET = "sm_90a"


def sample() -> ModuleType:
    return named("10_gemm_sm90")


SMALL = {
    "one consumer": {"m": 64, "n": 64, "consumers": 1, "stages": 2},
    "two consumers": {"m": 128, "n": 128, "consumers": 2, "stages": 3},
    "two of 128 rows": {"m": 256, "n": 64, "consumers": 2, "stages": 2, "group": 1},
    "cluster": {"m": 64, "n": 64, "consumers": 1, "stages": 2, "cluster": 2},
    "cluster, two consumers": {"m": 128, "n": 64, "consumers": 2, "stages": 3, "cluster": 2},
    "three stages, three buffers": {
        "m": 64, "n": 128, "consumers": 1, "stages": 3, "group": 2, "staged": 3,
    },
}  # fmt: skip
"""Configurations of one or two CTAs whose rings go round several times."""


@functools.cache
def compiled(name: str, dtype: ElementType, opt: int) -> Compiled:
    kernel = sample().build(sample().Config(**SMALL[name]), dtype)
    made: Compiled = kernel.compile(target=TARGET, opt=opt)
    return made


@pytest.mark.turns(4)
@kernel_test(schedules="all", random=2, targets=TARGET)
@pytest.mark.parametrize("name", SMALL)
def test_every_configuration_gives_the_product(launch: Launch, name: str) -> None:
    """Three tiles for each CTA or pair, the last beyond the edges of D; a rest of K."""
    cluster = SMALL[name].get("cluster", 1)
    rows = 2 if cluster == 1 else 1
    m, n = rows * cluster * SMALL[name]["m"], 3 * SMALL[name]["n"]
    size = m - 24, n - 40, 232
    a, b, expected = sample().operands(*size)
    d = np.full_like(expected, np.nan)
    launch(compiled(name, E.BF16, 0), a, b, d, *size, grid=2, cluster=cluster)
    assert_exact(d, expected)


@kernel_test(schedules=["late"], targets=TARGET, opt=[0, 3])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.value)
def test_every_type(launch: Launch, dtype: ElementType) -> None:
    size = 128, 136, 304
    a, b, expected = sample().operands(*size, dtype)
    d = np.full_like(expected, np.nan)
    made = compiled("two consumers", dtype, launch.opt)
    launch(made, a, b, d, *size, grid=1)
    assert_exact(d, expected)


EDGES = [(1, 8, 8), (64, 64, 64), (65, 72, 72), (128, 8, 640), (127, 264, 8)]


@kernel_test(schedules=["early", "late"], targets=TARGET)
@pytest.mark.parametrize("size", EDGES, ids=str)
def test_edges(launch: Launch, size: tuple[int, int, int]) -> None:
    a, b, expected = sample().operands(*size)
    d = np.full_like(expected, np.nan)
    launch(compiled("two consumers", E.BF16, 0), a, b, d, *size, grid=2)
    assert_exact(d, expected)


@pytest.mark.parametrize(
    ("n", "k", "dtype", "got"),
    [
        (8, 12, E.BF16, ["K = 12"]),
        (12, 16, E.F16, ["N = 12"]),
        (8, 8, E.E4M3, ["K = 8"]),
        (4, 0, E.BF16, ["K = 0", "N = 4"]),
    ],
)
def test_rows_that_tma_cannot_walk_over(n: int, k: int, dtype: ElementType, got: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        sample().check(n, k, dtype)
    assert [f.got for f in caught.value.findings] == got
    assert {f.rule for f in caught.value.findings} == {"gemm/stride"}


def test_rows_that_tma_can_walk_over() -> None:
    sample().check(8, 8, E.BF16)
    sample().check(8, 16, E.E4M3)


@pytest.mark.parametrize(
    "shape", [(1, 8), (1024, 1024), (2048, 2048), (2048, 1024), (100000, 8), (16384, 16384)]
)
def test_a_grid_covers_every_tile_and_no_more_than_the_gpu(shape: tuple[int, int]) -> None:
    config = sample().choose(*shape)
    for cluster in (1, 2):
        chosen = sample().Config(config.m, config.n, config.consumers, 2, cluster)
        ctas = sample().grid(chosen, *shape)
        rows, columns = chosen.m * cluster, chosen.n
        tiles = -(-shape[0] // rows) * -(-shape[1] // columns)
        assert ctas % cluster == 0
        assert ctas == min(tiles, 132 // cluster) * cluster


# ---- machine code ----------------------------------------------------------------------------


@functools.cache
def best(dtype: ElementType, opt: int, cluster: int) -> Compiled:
    config = sample().Config(cluster=cluster)
    made: Compiled = sample().build(config, dtype).compile(target=TARGET, opt=opt)
    return made


@pytest.mark.turns(4)
@pytest.mark.parametrize("cluster", [1, 2])
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.value)
def test_accumulators_stay_in_place(dtype: ElementType, opt: int, cluster: int) -> None:
    """ptxas neither spills nor serialises the multiplies; 384 threads have 168 registers each."""
    assembled = best(dtype, opt, cluster).assembled()
    assert assembled.findings == ()
    resources = assembled.resources["gemm_sm90"]
    assert (resources.spill_stores, resources.spill_loads, resources.stack) == (0, 0, 0)
    assert resources.registers <= 65536 // 384 // 8 * 8


@pytest.mark.skipif(sass.find_nvdisasm() is None, reason="no nvdisasm: nvidia-cuda-nvdisasm")
@pytest.mark.parametrize("opt", [0, 3])
def test_a_step_is_four_multiplies_and_two_copies(opt: int) -> None:
    """A step of K: four multiplies of K = 16, one wait for the step before, two copies by TMA.

    No register is moved; a value goes to a uniform register here and there.
    """
    listing = sass.listing(best(E.BF16, opt, 1).cubin())
    loop = listing.smallest("HGMMA")
    assert (loop["HGMMA"], loop["WARPGROUP"]) == (4, 2)  # WARPGROUP.ARRIVE and .DEPBAR
    assert loop["MOV"] + loop["IMAD"] <= 8
    assert listing.smallest("UTMALDG")["UTMALDG"] == 2
