"""Which tiles the Hopper GEMM chooses: such as fit, for every shape that TMA can walk over."""

from __future__ import annotations

import random

import pytest

from intrinsics.element import ElementType
from tests.benchmarks.gemm_shapes import drawn
from tests.samples.modules import named

E = ElementType
SHARED, RESERVED = 228 * 1024, 1024  # bytes of a multiprocessor, and of these for each CTA (sm_90)
STATIC = 1024  # for mbarriers


def kinds(sample) -> list:
    return [sample.Kind(E.BF16), sample.Kind(E.E4M3), sample.Kind(E.BF16, E.F32)]


@pytest.mark.turns(3)
@pytest.mark.parametrize("number", range(3))
def test_what_is_chosen_fits(number: int) -> None:
    sample = named("10_gemm_sm90")
    kind = kinds(sample)[number]
    from gemm.model import candidates

    table = candidates(kind)
    new = [config for config in table.configs if config.pingpong or config.overlay]
    dice = random.Random(number)
    for config in (*dice.sample(table.configs, 6), *dice.sample(new, 3)):
        kernel = sample.build(config, kind)
        each = kernel.dynamic_shared + STATIC + RESERVED
        assert each * config.resident <= SHARED, config
        assert config.threads * config.resident <= 1024


def test_of_the_widest_tiles_those_have_one_buffer_for_stores_that_bring_more_so() -> None:
    """192 × 80 in bf16: 6 times 34 KiB and 15 KiB fit, but not with 30 KiB; 128 × 192 keeps two."""
    sample = named("10_gemm_sm90")
    from gemm.candidates import full
    from gemm.plan import Config

    wide = full(Config(192, 80, 3, swap=True), sample.Kind())
    assert (wide.stages, wide.staged) == (6, 1)
    assert full(Config(128, 192, 2), sample.Kind()).staged == 2


def test_what_warpgroups_hide_in_turn_makes_short_products_faster() -> None:
    """Of 12 steps of K a tile's end is a large part, of 128 a small one."""
    sample = named("10_gemm_sm90")
    from gemm.model import H200, candidates

    def gain(k: int) -> float:
        table = candidates(sample.Kind())
        times = table.times(8192, 8192, k, H200)
        return times[~table.pingpong].min() / times[table.pingpong].min()

    assert gain(768) > max(gain(8192), 1)


def test_every_shape_has_a_configuration_that_works() -> None:
    """Each CTA of a split has a step of K, and narrow tiles take all columns at once."""
    sample = named("10_gemm_sm90")
    from gemm.model import plan
    from gemm.plan import tiles

    shapes = [(s.m, s.n, s.k) for s in drawn(3, 60)] + [(1, 8, 8), (100000, 8, 8), (5, 4096, 40)]
    for m, n, k in shapes:
        kind = sample.Kind()
        config = plan(m, n, k, kind)
        assert -(-k // (64 * config.depth)) >= config.split
        rows = -(-(n if config.swap else m) // (config.m * config.cluster))
        assert config.n >= 64 or tiles(config, m, n) == rows


LAYOUTS = {"A": ("MN", "K"), "B": ("K", "MN"), "both": ("MN", "MN")}


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_chosen_can_be_built_of_operands_that_lie_mn_major(name: str) -> None:
    """Of wgmma's N, too, which comes in spans of 32 bytes or more."""
    sample = named("10_gemm_sm90")
    from gemm.model import plan

    kind = sample.Kind(E.BF16, E.F32, *(sample.Major[x] for x in LAYOUTS[name]))
    sizes = {(-(-s.m // 8) * 8, s.n, s.k) for s in drawn(8, 40)}
    sizes |= {(336, 3072, 768), (3000, 24576, 1536), (144, 1024, 4096), (8, 4096, 4096)}
    chosen = {plan(*size, kind) for size in sizes}
    for config in chosen:  # PTX ISA: shared memory of wgmma is swizzled by 32, 64 or 128 bytes
        is_mn = LAYOUTS[name][0 if config.swap else 1] == "MN"
        assert not is_mn or config.n // config.cluster * 2 % 32 == 0
    for config in sorted(chosen, key=lambda c: c.n // c.cluster % 64)[-2:]:
        sample.build(config, kind)


def test_rows_that_end_within_a_sector_of_l2_make_ctas_share_them() -> None:
    """8208 bytes: 1000 × 4096 took 65.5 µs alone and 48.4 in pairs on an H200; 8224 are no such."""
    named("10_gemm_sm90")
    from gemm.model import H200, plan

    assert plan(1000, 4096, 4104, machine=H200).cluster > 1
    assert plan(2000, 2048, 4112, machine=H200).cluster == 1


def test_few_rows_are_columns_of_multiplies() -> None:
    """A single row of A takes one tile of eight columns, and K is split where tiles are few."""
    named("10_gemm_sm90")
    from gemm.model import plan

    one, few = plan(1, 28672, 4096), plan(1, 1024, 8192)
    assert (one.swap, one.n, one.split) == (True, 8, 1)
    assert few.split > 1


def test_the_ring_brings_nothing_while_sums_lie_in_it() -> None:
    """Where HBM is busy, in each of several waves, other ways to share a tile are faster."""
    named("10_gemm_sm90")
    from gemm.model import H200, plan

    config = plan(139, 36864, 7168, machine=H200)
    assert not config.overlay


def test_the_gpu_decides() -> None:
    """The H200 has more bandwidth, so that what cost nothing on an H100 counts on it."""
    named("10_gemm_sm90")
    from gemm.model import H100, H200, machine_of, plan

    assert machine_of("NVIDIA H200") is H200
    assert machine_of("NVIDIA H100 80GB HBM3") is machine_of("another") is H100
    shape = 131, 36864, 7168  # 192 columns would be padded by 61
    assert plan(*shape, machine=H200).n < 192


def test_the_time_grows_with_the_work() -> None:
    sample = named("10_gemm_sm90")
    from gemm.model import candidates

    table = candidates(sample.Kind())
    least = [table.times(m, 4096, 4096).min() for m in (1, 128, 1024, 4096, 16384)]
    assert least == sorted(least)


def test_some_launches_overlap_and_others_begin_at_the_exit() -> None:
    """L2's lines are given up first where nothing is read twice."""
    from gemm.model import H200, plan
    from gemm.plan import tiles

    seen = set()
    for shape in drawn(5, 30):
        config = plan(shape.m, shape.n, shape.k, machine=H200)
        rows = tiles(config, shape.m, shape.n) // tiles(config, 1, shape.n)  # that read B anew
        assert config.once == (shape.m <= 128 and rows == 1)
        seen.add(config.early)
    assert seen == {False, True}


def test_nothing_faster_is_left_out() -> None:
    """A choice looks at configurations for few rows of A, or for more: of all none is faster."""
    sample = named("10_gemm_sm90")
    from gemm.model import H200, candidates, launched, launches, plan

    table = candidates(sample.Kind())
    for shape in drawn(7, 60):
        size = shape.m, shape.n, shape.k
        best = launched(table, int(launches(table, *size, H200).argmin()), shape.m)
        assert plan(*size, machine=H200) == best


def test_only_possible_configurations_are_chosen() -> None:
    """For what is built on the GEMM, of which some tiles are no choice."""
    family = named("gemm/family_plan")
    ways = {
        family.plan_scaled: family.can_scale,
        family.plan_gated: family.can_gate,
        family.plan_quantised: family.can_quantise,
        family.plan_grouped: family.can_group,
    }
    for plan, is_possible in ways.items():
        for m in (1, 100, 512, 5000):
            config = plan(m, 4096, 7168)
            assert is_possible(config), (plan, m)


def test_waves_of_pairs_are_alike_where_nearly_all_ctas_have_one() -> None:
    """Of 132 CTAs: 256 tiles of pairs are four waves of 64; 70 are no two of 35, a half of them."""
    named("10_gemm_sm90")
    from gemm.plan import Config, grid

    pairs, alone = Config(m=128, n=256, cluster=2), Config(m=128, n=256)
    assert grid(pairs, 4096, 4096) == 128
    assert grid(alone, 4096, 4096) == 132
    assert grid(pairs, 70 * 256, 256) == 132
    assert grid(pairs, 256, 512) == 4
