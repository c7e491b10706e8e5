"""The Hopper GEMM: exact on the simulator and on a GPU, at the edges too, without a spill.

numpy gives the expected product; ptxas and nvdisasm say what the machine code is.
"""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np
import pytest

from intrinsics.element import ElementType, Major
from intrinsics.findings import InputError
from nvgen.compilation.compiled import Compiled
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.oracle import sass
from tests.samples.modules import named

pytestmark = pytest.mark.seldom(3)

E = ElementType
TYPES = (E.BF16, E.F16, E.E4M3)
TARGET = "sm_90a"


def sample() -> ModuleType:
    return named("10_gemm_sm90")


def plan() -> ModuleType:
    return named("gemm/plan")


def problem() -> ModuleType:
    return named("gemm/problem")


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


def kind(dtype: ElementType) -> object:
    return sample().Kind(dtype, E.F16 if dtype is E.F16 else E.BF16)


@functools.cache
def compiled(name: str, dtype: ElementType, opt: int) -> Compiled:
    kernel = sample().build(sample().Config(**SMALL[name]), kind(dtype))
    made: Compiled = kernel.compile(target=TARGET, opt=opt)
    return made


@pytest.mark.turns(16)
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


@pytest.mark.turns(4)
@kernel_test(schedules=["late"], targets=TARGET, opt=[0, 3])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.value)
def test_every_type(launch: Launch, dtype: ElementType) -> None:
    size = 128, 136, 304
    a, b, expected = sample().operands(*size, kind(dtype))
    d = np.full_like(expected, np.nan)
    made = compiled("two consumers", dtype, launch.opt)
    launch(made, a, b, d, *size, grid=1)
    assert_exact(d, expected)


MN, K = Major.MN, Major.K
EARLY = {"early": True}  # launches overlap: L2 is asked for B before the one before has ended
CUT: list[tuple[dict[str, int], tuple[int, int, int], tuple[object, ...], int]] = [
    ({"m": 64, "n": 16, "split": 2, "swap": True}, (16, 264, 200), (), 2),
    ({"m": 64, "n": 24, "split": 3, "swap": True}, (20, 72, 200), (E.BF16, E.F32), 3),
    ({"m": 64, "n": 8, "split": 3, "swap": True}, (5, 64, 72), (), 3),
    ({"m": 64, "n": 40}, (70, 80, 72), (E.BF16, E.F32), 2),
    ({"m": 128, "n": 96, "split": 2}, (72, 104, 200), (E.BF16, E.BF16, MN, MN), 2),
    ({"m": 64, "n": 16, "swap": True}, (16, 72, 72), (E.F16, E.F16, MN, MN), 2),
    ({"m": 64, "n": 64, "cluster": 2}, (130, 64, 72), (E.F16, E.F16, K, MN), 2),
    ({"m": 64, "n": 32, "swap": True, "depth": 2}, (30, 72, 400), (E.E5M2, E.F16), 2),
    ({"m": 64, "n": 32, "split": 2, "cluster": 2, "swap": True}, (40, 200, 136), (), 4),
    ({"m": 64, "n": 16, "swap": True, "stages": 3, "once": True} | EARLY, (9, 200, 344), (), 2),
    ({"m": 64, "n": 16, "swap": True, "depth": 2} | EARLY, (9, 200, 344), (), 2),
    ({"m": 64, "n": 32, "split": 2, "cluster": 2} | EARLY, (80, 40, 344), (), 4),
    ({"m": 64, "n": 16, "swap": True, "group": 2}, (75, 200, 72), (), 2),
    ({"m": 64, "n": 16, "swap": True, "group": 2, "cluster": 2}, (75, 336, 72), (), 2),
    ({"m": 64, "n": 8, "swap": True}, (75, 72, 72), (), 20),
]
"""Configurations of one consumer, sizes, what is multiplied, and how many CTAs multiply it.

Tiles of which several CTAs each multiply a part of K, one of them none; D stored transposed, its
tiles in groups of two along A and along B, and of four and six where all are one wave; odd widths;
all types and majors.
"""


@pytest.mark.parametrize("early", [False, True])
def test_the_next_launch_may_begin_behind_the_last_copy_or_at_the_exit(early: bool) -> None:
    config = sample().Config(m=64, n=64, consumers=1, stages=2, early=early)
    lines = sample().build(config).compile(target=TARGET).ptx.splitlines()
    begins = [at for at, line in enumerate(lines) if "launch_dependents" in line]
    copies = [at for at, line in enumerate(lines) if "bulk.tensor.2d.shared" in line]
    assert len(begins) == early
    assert all(at > max(copies) for at in begins)


@pytest.mark.turns(12)
@kernel_test(schedules=["early", "late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(CUT)))
def test_however_it_is_cut_the_product_is_exact(launch: Launch, number: int) -> None:
    cut, size, given, grid = CUT[number]
    what = sample().Kind(*given)
    config = sample().Config(**{"consumers": 1, "stages": 2} | cut)
    made = sample().build(config, what).compile(target=TARGET)
    assert made.findings == []
    a, b, expected = sample().operands(*size, what)
    d = np.full_like(expected, np.nan)
    launch(made, a, b, d, *size, grid=grid, cluster=config.ctas)
    assert_exact(d, expected)


def test_what_may_still_be_written_is_only_asked_for() -> None:
    """Before the wait for the launch before L2 is asked for B, and nothing is copied."""
    config = sample().Config(
        **{"m": 64, "n": 16, "consumers": 1, "stages": 2, "swap": True} | EARLY
    )
    ptx = sample().build(config, sample().Kind()).compile(target=TARGET).ptx
    begun, _, _ = ptx.partition("griddepcontrol.wait")
    assert "cp.async.bulk.prefetch.tensor" in begun
    assert "cp.async.bulk.tensor.2d.shared" not in begun


PARTS = [
    ({"m": 64, "n": 64, "tail": 2}, (75, 136, 200), 4),
    ({"m": 64, "n": 32, "tail": 3, "swap": True}, (30, 200, 400), 3),
    ({"m": 64, "n": 64, "tail": 2, "cluster": 2}, (150, 72, 200), 6),
    ({"m": 128, "n": 32, "tail": 8, "swap": True, "consumers": 2}, (30, 120, 72), 3),
]
"""Configurations whose last tiles are cut along K, sizes, and how many CTAs share them.

One whole wave before and none; clusters; more parts than steps of K.
"""


@pytest.mark.turns(16)
@kernel_test(schedules=["early", "late", "random:1"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(PARTS)))
def test_parts_of_the_last_tiles_meet_in_memory(launch: Launch, number: int) -> None:
    """Each flag is down again at the end, so that the next launch finds it so."""
    cut, size, grid = PARTS[number]
    config = sample().Config(**{"consumers": 1, "stages": 2} | cut)
    a, b, expected = sample().operands(*size)
    d = np.full_like(expected, np.nan)
    sums, words = plan().workspace(config, *size[:2], grid)
    room, flags = np.full(sums, np.nan, np.float32), np.zeros(words, np.uint32)
    made = sample().build(config).compile(target=TARGET)
    assert made.findings == []
    launch(made, a, b, d, *size, room, flags, grid=grid, cluster=config.ctas)
    assert_exact(d, expected)
    assert words
    assert not flags.any()


EARLIER = [({"m": 64, "n": 64}, (75, 136, 72)), ({"m": 64, "n": 40, "swap": True}, (45, 136, 72))]
"""Configurations of whose tiles parts would lie beyond the edges of D, and sizes."""


@pytest.mark.turns(4)
@kernel_test(schedules=["late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(EARLIER)))
def test_the_last_tiles_begin_earlier_and_store_only_their_own(launch: Launch, number: int) -> None:
    """No element is stored twice: the simulator would find that nothing orders the two stores."""
    cut, size = EARLIER[number]
    config = sample().Config(**{"consumers": 1, "stages": 2} | cut)
    a, b, expected = sample().operands(*size)
    d = np.full_like(expected, np.nan)
    launch(sample().build(config).compile(target=TARGET), a, b, d, *size, grid=3)
    assert_exact(d, expected)


EDGES = [(1, 8, 8), (64, 64, 64), (65, 72, 72), (128, 8, 640), (127, 264, 8)]


@pytest.mark.turns(4)
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
        problem().check(1, n, k, kind(dtype))
    assert [f.got for f in caught.value.findings] == got
    assert {f.rule for f in caught.value.findings} == {"gemm/stride"}


def test_rows_that_tma_can_walk_over() -> None:
    problem().check(1, 8, 8, kind(E.BF16))
    problem().check(1, 8, 16, kind(E.E4M3))


@pytest.mark.parametrize(
    "shape", [(1, 8), (1024, 1024), (2048, 2048), (2048, 1024), (100000, 8), (16384, 16384)]
)
def test_a_grid_covers_every_tile_and_no_more_than_the_gpu(shape: tuple[int, int]) -> None:
    for cluster, split, swap in ((1, 1, False), (2, 1, False), (1, 4, True), (2, 3, True)):
        chosen = sample().Config(cluster=cluster, split=split, swap=swap)
        ctas = plan().grid(chosen, *shape)
        rows, columns = (256, 128 * cluster) if swap else (128 * cluster, 256)
        tiles = -(-shape[0] // rows) * -(-shape[1] // columns)
        assert ctas == min(tiles, 132 // (cluster * split)) * cluster * split


# ---- machine code ----------------------------------------------------------------------------


@functools.cache
def best(dtype: ElementType, opt: int, cluster: int) -> Compiled:
    config = sample().Config(cluster=cluster)
    made: Compiled = sample().build(config, kind(dtype)).compile(target=TARGET, opt=opt)
    return made


@pytest.mark.turns(16)
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


@pytest.mark.turns(3)
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
