"""One kernel body on every target: exact on the simulator, clean for the verifier and ptxas.

Matrices hold small integers, so every sum is exact and must equal numpy's.  On a GPU the same
bodies run for the targets that it takes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.findings import InputError, Verdict, verdict
from intrinsics.modifiers import CtaGroup
from nvgen import KernelBuilder
from nvgen.compilation.compiled import Compiled
from nvgen.multiplies.portable import OF_PORTABLE
from nvgen.shared_memory.tiles import SharedTile
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.nvgen.portable_programs import (
    FP8_TARGETS,
    INTEGER_TARGETS,
    ONE_OF_EACH,
    TARGETS,
    Case,
    tiles,
)
from tests.samples.modules import PORTABLE, sample

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]

K, MN = Major.K, Major.MN


@pytest.mark.turns(12)
@kernel_test(schedules=("early", "late"), targets=ONE_OF_EACH)
def test_halves_are_exact(launch: Launch) -> None:
    Case(n=64).run(launch)


@pytest.mark.turns(12)
@kernel_test(schedules="all", random=2, targets=TARGETS)
def test_halves_are_exact_everywhere(launch: Launch) -> None:
    Case().run(launch)


@pytest.mark.turns(12)
@kernel_test(schedules="late", targets=ONE_OF_EACH, opt=(1, 2, 3))
def test_halves_are_exact_optimised(launch: Launch) -> None:
    Case(n=64).run(launch)


CASES = {
    "bf16": Case(dtypes=(E.BF16, E.BF16), out=E.BF16),
    "f16 to f16": Case(out=E.F16, n=64),
    "tf32": Case(dtypes=(E.TF32, E.TF32), n=32),
    "two warpgroups": Case(threads=256, out=E.BF16),
    "64 rows": Case(m=64, n=48),
    "a narrow D": Case(n=16),
    "256 rows": Case(m=256, n=64, threads=256),
    "two spans of K": Case(k=128, n=64),
    "64-byte swizzling": Case(swizzle=64, n=64),
    "32-byte swizzling": Case(swizzle=32, n=64),
    "MN-major": Case(k=64, majors=(MN, MN)),
    "MN-major B, two warpgroups": Case(k=32, majors=(K, MN), swizzle=64, threads=256),
    "MN-major A of 256 rows": Case(m=256, n=64, k=32, majors=(MN, K), swizzle=64, threads=256),
    "step by step": Case(single=True, n=64),
    "step by step, MN-major": Case(single=True, n=64, k=64, majors=(MN, MN)),
}


@pytest.mark.turns(12)
@pytest.mark.parametrize("name", CASES)
@kernel_test(schedules="late", targets=ONE_OF_EACH)
def test_forms_of_tiles(launch: Launch, name: str) -> None:
    CASES[name].run(launch)


@pytest.mark.turns(12)
@pytest.mark.parametrize("dtypes", [(E.E4M3, E.E4M3), (E.E5M2, E.E4M3)])
@kernel_test(schedules="late", targets=FP8_TARGETS)
def test_fp8(launch: Launch, dtypes: tuple[E, E]) -> None:
    Case(dtypes=dtypes, n=64, out=E.F16).run(launch)


@pytest.mark.turns(12)
@pytest.mark.parametrize("dtypes", [(E.S8, E.S8), (E.U8, E.S8)])
@kernel_test(schedules="late", targets=INTEGER_TARGETS)
def test_integers(launch: Launch, dtypes: tuple[E, E]) -> None:
    Case(dtypes=dtypes, n=64, out=E.S32).run(launch)


# ---- several of them, again and again --------------------------------------------------------


def two_products(target: str) -> KernelBuilder:
    """D of A·Aᵀ, twice, and of A·Bᵀ + A·Bᵀ, in two accumulators; the first is used again."""
    b = KernelBuilder("k", block=128, target=target, dynamic_shared=True)
    for name in ("a", "b"):
        b.pointer(name)
    b.pointer("d", output=True)
    args = b.begin()
    a_tile, b_tile = (b.shared_tile(name, E.F16, (64, 64)) for name in ("a_tile", "b_tile"))
    first, second = b.accumulator(64, 64), b.accumulator(64, 64)
    b.load_tile(a_tile, args["a"], 64)
    b.load_tile(b_tile, args["b"], 64)
    b.load_commit()
    b.load_wait()
    with b.range(2) as turn:
        b.gemm(first, a_tile, a_tile)
        first.store(args["d"] + (turn * (64 * 64 * 4)).zext(64), 64)
        b.barrier_cta_sync_aligned()
    for accumulate in (False, True):
        b.gemm_async(second, a_tile, b_tile, accumulate=accumulate)
    second.commit()
    second.wait()
    second.store(args["d"] + 2 * 64 * 64 * 4, 64)
    return b


@functools.cache
def compiled_products(target: str, opt: int) -> Compiled:
    made: Compiled = two_products(target).finish().compile(opt=opt)
    return made


@pytest.mark.turns(12)
@kernel_test(schedules=("early", "late"), targets=ONE_OF_EACH, opt=(0, 3))
def test_accumulators_are_used_again_and_side_by_side(launch: Launch) -> None:
    dice = np.random.default_rng(7)
    a, b = (dice.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
    d = np.zeros((3, 64, 64), np.float32)
    launch(compiled_products(launch.target, launch.opt), a, b, d)
    wide = a.astype(np.float32)
    same = wide @ wide.T
    assert_exact(d, np.stack([same, same, 2 * wide @ b.astype(np.float32).T]))


# ---- the sample ------------------------------------------------------------------------------


@pytest.mark.turns(6)
def test_the_sample_runs_and_says_where_it_has_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a target of each instruction; the others have their turns below."""
    module = sample(PORTABLE)
    assert set(ONE_OF_EACH) < set(module.TARGETS)
    monkeypatch.setattr(module, "TARGETS", ONE_OF_EACH)
    module.main()
    said = capsys.readouterr().out
    assert all(target in said for target in ONE_OF_EACH)
    assert "never run on a real Blackwell GPU" in " ".join((module.__doc__ or "").split())


@pytest.mark.turns(16)
@kernel_test(schedules="random", random=1, targets=TARGETS)
def test_the_sample_is_exact(launch: Launch) -> None:
    """Two tiles of D, five steps of K."""
    size = 128, 256, 320
    a, b, expected = sample(PORTABLE).operands(*size, E.BF16)
    d = np.zeros(expected.shape, E.BF16.numpy)
    kernel = sample(PORTABLE).build(launch.target, E.BF16, E.BF16)
    launch(kernel, a, b, d, *size, grid=2)
    assert_exact(d, expected.astype(E.BF16.numpy))


# ---- what the verifier and ptxas say ---------------------------------------------------------

SHOWN = {
    "f16": Case(),
    "bf16, two warpgroups": CASES["two warpgroups"],
    "fp8": Case(dtypes=(E.E4M3, E.E4M3), out=E.F16),
    "MN-major": CASES["MN-major"],
}


@pytest.mark.turns(24)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("target", TARGETS)
def test_the_verifier_and_ptxas_find_nothing(target: str, name: str, opt: int) -> None:
    if name == "fp8" and target not in FP8_TARGETS:
        pytest.skip("fp8 is from sm_89 on")
    compiled = SHOWN[name].build(target).compile(opt=opt, level="function")
    assert verdict(compiled.findings) is Verdict.CLEAN
    assembled = compiled.assembled()
    if (target, name) == ("sm_90", "fp8"):  # sm_90 has no such instruction: ptxas widens to f16
        assert {f.rule for f in assembled.findings} <= {"ptxas/spill"}
        return
    assert assembled.findings == ()
    assert all(used.spill_stores == 0 for used in assembled.resources.values())


INSTRUCTIONS = {
    "sm_80": "mma.sync",
    "sm_89": "mma.sync",
    "sm_90": "mma.sync",
    "sm_90a": "wgmma.mma_async",
    "sm_100a": "tcgen05.mma.",
    "sm_103a": "tcgen05.mma.",
    "sm_110a": "tcgen05.mma.",
    "sm_120a": "mma.sync",
}


@pytest.mark.turns(3)
@pytest.mark.parametrize("target", TARGETS)
def test_each_target_has_its_instruction(target: str) -> None:
    ptx = CASES["a narrow D"].build(target).compile().ptx
    assert {name for name in set(INSTRUCTIONS.values()) if f"\t{name}" in ptx} == {
        INSTRUCTIONS[target]
    }


# ---- what is refused -------------------------------------------------------------------------

Refused = Callable[[KernelBuilder, SharedTile, SharedTile], object]


def findings(target: str, body: Refused, **arguments: object) -> dict[str, tuple[str, str]]:
    """What was got and expected, by rule."""
    with pytest.raises(InputError) as caught:
        tiles(target, body, **arguments)
    return {f.rule: (f.got, f.expected) for f in caught.value.findings}


def in_a_warp(b: KernelBuilder, x: SharedTile, y: SharedTile) -> None:
    sums = b.accumulator(128, 128)
    with b.if_warp(0):
        b.gemm_async(sums, x, y)


BROKEN: dict[str, Refused] = {
    "scope": in_a_warp,
    "option": lambda b, x, y: b.gemm_async(b.accumulator(128, 128), x, y, cta_group=CtaGroup.TWO),
    "accumulator": lambda b, x, y: b.gemm_async(b.accumulator(128, 128, E.S32), x, y),
}


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_requirement_is_named(rule: str, target: str) -> None:
    got, expected = findings(target, BROKEN[rule])[f"gemm_async/{rule}"]
    assert got
    assert expected


def test_every_requirement_can_be_broken() -> None:
    """All but the kernel: below."""
    assert {r.rule for r in OF_PORTABLE} - set(BROKEN) == {"kernel"}


def test_an_accumulator_is_of_the_cta_and_of_a_type_that_all_have() -> None:
    def in_a_warp_alone(b: KernelBuilder, x: SharedTile, y: SharedTile) -> None:
        with b.if_warp(0):
            b.accumulator(128, 128)

    (scope,) = findings("sm_90a", in_a_warp_alone).values()
    assert scope == ("one warp", "all threads of the CTA")
    (sums,) = findings("sm_90a", lambda b, x, y: b.accumulator(128, 128, E.F16)).values()
    assert sums == ("f16", "f32 or s32")


def test_a_type_that_a_target_lacks_names_the_targets_that_have_it() -> None:
    found = findings("sm_80", lambda b, x, y: b.gemm(b.accumulator(128, 128), x, y), dtype=E.E4M3)
    assert found == {"gemm_async/target": ("e4m3 on sm_80", "sm_89 and later")}


def test_a_target_without_multiplies_names_those_that_have_them() -> None:
    found = findings("sm_75", lambda b, x, y: b.accumulator(128, 128))
    assert found == {"builder/target": ("sm_75, sums in f32", "sm_80 and later")}


def test_integers_are_not_summed_in_tensor_memory() -> None:
    (got, expected) = findings("sm_100a", lambda b, x, y: b.accumulator(128, 128, E.S32))[
        "builder/target"
    ]
    assert got == "sm_100a, sums in s32"
    assert "sm_90a" in expected
    assert "sm_100a" not in expected


@pytest.mark.parametrize("target", ONE_OF_EACH)
@pytest.mark.parametrize("name", ["D", "A", "B"])
def test_tiles_are_of_the_kernel_that_multiplies_them(target: str, name: str) -> None:
    own, other = (
        KernelBuilder("k", block=128, target=target, dynamic_shared=True) for _ in range(2)
    )
    for builder in (own, other):
        builder.begin()
    of = {tile: other if tile == name else own for tile in "DAB"}
    sums = of["D"].accumulator(128, 128)
    a_tile, b_tile = (of[t].shared_tile(t, E.F16, (128, 64)) for t in "AB")
    with pytest.raises(InputError, match=f"{name} of another KernelBuilder"):
        own.gemm(sums, a_tile, b_tile)


NO_SUCH: dict[str, tuple[str, int, Refused]] = {
    "no whole warps": ("sm_80", 48, lambda b, x, y: b.accumulator(64, 64)),
    "no fragments": ("sm_80", 128, lambda b, x, y: b.accumulator(24, 64)),
    "no whole warpgroups": ("sm_90a", 64, lambda b, x, y: b.accumulator(64, 64)),
    "rows that warpgroups cannot share": ("sm_90a", 256, lambda b, x, y: b.accumulator(64, 64)),
    "a third of a tile": ("sm_100a", 128, lambda b, x, y: b.accumulator(96, 64)),
    "too many columns": ("sm_100a", 128, lambda b, x, y: b.accumulator(512, 256)),
    "columns that warpgroups cannot share": (
        "sm_100a", 256, lambda b, x, y: b.accumulator(128, 24)
    ),
    "a type of sums": ("sm_90a", 128, lambda b, x, y: b.accumulator(128, 64, E.F16)),
    "a type that is not stored": (
        "sm_90a",
        128,
        lambda b, x, y: b.accumulator(128, 64).store(x.pointer, 64, E.E4M3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_SUCH)
def test_what_there_is_not(name: str) -> None:
    target, threads, body = NO_SUCH[name]
    assert all(
        got and expected for got, expected in findings(target, body, threads=threads).values()
    )


def test_an_accumulator_is_of_a_target() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    with pytest.raises(InputError, match="depends on the target"):
        b.accumulator(128, 128)
