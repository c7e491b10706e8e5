"""gemm_async in the registers of warps: exact on the simulator and a GPU, and what it requires."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.findings import InputError
from intrinsics.modifiers import CtaGroup
from nvgen import Kernel, KernelBuilder
from nvgen.instructions.roles import ExecutionScope
from nvgen.multiplies.register_multiplies import REQUIREMENTS
from nvgen.multiplies.warp_tile import WarpTile
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.pointers import Pointer

pytestmark = pytest.mark.seldom(3)

K, MN = Major.K, Major.MN
TARGETS = ("sm_80", "sm_90", "sm_120a")


def scope_of(b: KernelBuilder, scope: ExecutionScope) -> AbstractContextManager[None]:
    return {
        ExecutionScope.CTA: nullcontext,
        ExecutionScope.WARPGROUP: lambda: b.if_warpgroup(1),
        ExecutionScope.WARP: lambda: b.if_warp(1),
        ExecutionScope.THREAD: lambda: b.if_thread(0),
    }[scope]()


def build(
    target: str,
    *,
    a: tuple[int, int] = (64, 64),
    b: tuple[int, int] = (48, 64),
    d: tuple[int, int] | None = None,
    dtypes: tuple[E, E] = (E.F16, E.F16),
    sums: E = E.F32,
    majors: tuple[Major, Major] = (K, K),
    swizzle: int = 128,
    warps: tuple[int, int] = (1, 1),
    scope: ExecutionScope = ExecutionScope.WARP,
    threads: int = 256,
    **options: object,
) -> Kernel:
    """One gemm_async of tiles that all threads load; those of the scope store D."""
    builder = KernelBuilder("k", block=threads, dynamic_shared=True, target=target)
    for name in ("a", "b"):
        builder.pointer(name)
    builder.pointer("d", output=True)
    args = builder.begin()
    tiles = []
    for name, shape, dtype, major in zip("ab", (a, b), dtypes, majors, strict=True):
        tile = builder.shared_tile(f"{name}_tile", dtype, shape, swizzle=swizzle, major=major)
        builder.load_tile(tile, args[name], shape[1] if major is K else shape[0])
        tiles.append(tile)
    builder.load_commit()
    builder.load_wait()
    with scope_of(builder, scope):
        sum_tile = builder.warp_tile(*(d or (a[0], b[0])), sums, warps=warps)
        builder.gemm_async(sum_tile, *tiles, **options)
        store(builder, sum_tile, args["d"], b[0], sums.bits // 8)
    return builder.finish()


def store(b: KernelBuilder, d: WarpTile, memory: Pointer, pitch: int, size: int) -> None:
    """As the manual's figure of C and D of m16n8: two columns of row lane / 4, and of 8 below."""
    down, along = d.corner()
    lane = b.tid_x & 31
    for i, row in enumerate(d.parts):
        for j, part in enumerate(row):
            for half in range(2):
                pair = part.registers[2 * half : 2 * half + 2]
                row = lane // 4 + down + (16 * i + 8 * half)  # type: ignore[assignment]
                column = lane % 4 * 2 + along + 8 * j
                b.store(pair, memory + (row * pitch + column) * size, align=2 * size)


def run(launch: Launch, **arguments: object) -> None:
    """A·Bᵀ of small integers, twice where D is kept."""
    kernel = build(launch.target, **arguments)
    dtypes = arguments.get("dtypes", (E.F16, E.F16))
    shapes = arguments.get("a", (64, 64)), arguments.get("b", (48, 64))
    dice = np.random.default_rng(3)
    matrices = [
        dice.integers(0 if dtype is E.U8 else -4, 5, shape)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    sums = arguments.get("sums", E.F32)
    expected = (matrices[0] @ matrices[1].T).astype(sums.numpy)  # type: ignore[attr-defined]
    majors = arguments.get("majors", (K, K))
    stored = [
        np.ascontiguousarray(m if major is K else m.T).astype(dtype.numpy)
        for m, major, dtype in zip(matrices, majors, dtypes, strict=True)
    ]
    d = np.zeros_like(expected)
    launch(kernel, *stored, d)
    assert_exact(d, expected)


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("scope", "warps"),
    [
        (ExecutionScope.WARP, (1, 1)),
        (ExecutionScope.WARPGROUP, (2, 2)),
        (ExecutionScope.WARPGROUP, (4, 1)),
        (ExecutionScope.CTA, (4, 2)),
        (ExecutionScope.CTA, (2, 4)),
        (ExecutionScope.CTA, (1, 1)),
    ],
)
@kernel_test(schedules="late", targets=TARGETS)
def test_warps_of_a_scope_share_d(
    launch: Launch, scope: ExecutionScope, warps: tuple[int, int]
) -> None:
    """With one warp each that comes here computes all of it."""
    run(launch, scope=scope, warps=warps, b=(64, 64))


ALL = {"scope": ExecutionScope.CTA, "warps": (4, 2)}
FORMS: dict[str, dict[str, object]] = {
    "bf16": {"dtypes": (E.BF16, E.BF16)},
    "tf32": {"dtypes": (E.TF32, E.TF32), "a": (64, 64), "b": (16, 64)},
    "s8": {"dtypes": (E.S8, E.U8), "a": (64, 128), "b": (32, 128), "sums": E.S32},
    "an odd number of eight columns": {"b": (24, 64)},
    "three spans": {"a": (64, 192), "b": (16, 192)},
    "64-byte swizzling": {"a": (64, 64), "b": (16, 64), "swizzle": 64},
    "32-byte swizzling": {"a": (64, 64), "b": (16, 64), "swizzle": 32},
    "MN-major A": {"majors": (MN, K), "a": (128, 32), "b": (16, 32), "swizzle": 64, **ALL},
    "MN-major B": {"majors": (K, MN), "b": (128, 64), **ALL},
    "both MN-major, shares within a span": {
        "majors": (MN, MN), "a": (64, 48), "b": (64, 48), **ALL
    },
    "MN-major, 32-byte swizzling": {
        "majors": (MN, MN), "a": (64, 16), "b": (48, 16), "swizzle": 32
    },
}  # fmt: skip


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", FORMS)
@kernel_test(schedules="early", targets=("sm_80", "sm_90"))
def test_forms_of_tiles(launch: Launch, name: str) -> None:
    run(launch, **FORMS[name])


@kernel_test(schedules="early", targets=("sm_89", "sm_90", "sm_120a"))
def test_fp8(launch: Launch) -> None:
    run(launch, dtypes=(E.E4M3, E.E5M2), a=(64, 128), b=(16, 128))


# ---- what it requires ------------------------------------------------------------------------

SMALL = {"a": (64, 32), "b": (64, 32)}
BROKEN: dict[str, dict[str, object]] = {
    "scope": {"scope": ExecutionScope.CTA, "warps": (2, 2)},
    "option": {"cta_group": CtaGroup.TWO},
    "target": {"dtypes": (E.E4M3, E.E4M3), "a": (64, 128), "b": (64, 128)},
    "dtype": {"dtypes": (E.F16, E.BF16)},
    "accumulator": {"sums": E.S32},
    "shape": {"d": (128, 48)},
    "step": {"step": 4},
    "major": {"dtypes": (E.TF32, E.TF32), "majors": (MN, K), **SMALL},
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_requirement_is_named(rule: str) -> None:
    with pytest.raises(InputError) as caught:
        build("sm_80", **BROKEN[rule])
    found = {f.rule: f for f in caught.value.findings}[f"gemm_async/{rule}"]
    assert found.got
    assert found.expected


def test_every_requirement_can_be_broken() -> None:
    """All but those that `load_tile` has, too, and the kernel's own tiles: below."""
    rules = {r.rule for r in REQUIREMENTS}
    assert rules - set(BROKEN) == {
        "kernel",
        "k",
        "swizzle",
        "registers",
    }


@pytest.mark.parametrize(
    ("rule", "k", "swizzle"), [("k", 24, 32), ("swizzle", 48, 128), ("swizzle", 64, 0)]
)
def test_k_and_swizzling(rule: str, k: int, swizzle: int) -> None:
    b = KernelBuilder("k", block=32)
    b.begin()
    tile = b.shared_tile("tile", E.F16, (16, k), swizzle=swizzle)
    with pytest.raises(InputError, match=f"gemm_async/{rule}"):
        b.gemm_async(b.warp_tile(16, 16), tile, tile)


def test_a_wrong_k_is_reported_once() -> None:
    """24 elements are no multiple of 16, and no whole span either."""
    b = KernelBuilder("k", block=32)
    b.begin()
    tile = b.shared_tile("tile", E.F16, (16, 24), swizzle=64)
    with pytest.raises(InputError) as caught:
        b.gemm_async(b.warp_tile(16, 16), tile, tile)
    assert [f.rule for f in caught.value.findings] == ["gemm_async/k"]


def test_atoms_of_32_bytes_are_not_read_by_warps() -> None:
    b = KernelBuilder("k", block=32)
    b.begin()
    tile = b.shared_tile("tile", E.F16, (16, 64), atom=32)
    with pytest.raises(InputError, match="gemm_async/swizzle"):
        b.gemm_async(b.warp_tile(16, 16), tile, tile)


@pytest.mark.parametrize("name", ["D", "A", "B"])
def test_tiles_are_of_the_kernel_that_multiplies_them(name: str) -> None:
    own, other = KernelBuilder("own", block=32), KernelBuilder("other", block=32)
    for builder in (own, other):
        builder.begin()
    of = {tile: other if tile == name else own for tile in "DAB"}
    a_tile, b_tile = (of[t].shared_tile(t, E.F16, (16, 64)) for t in "AB")
    with pytest.raises(InputError, match=f"{name} of another KernelBuilder"):
        own.gemm_async(of["D"].warp_tile(16, 16), a_tile, b_tile)


NONSENSE: dict[str, Callable[[KernelBuilder], object]] = {
    "half a fragment": lambda b: b.warp_tile(8, 8),
    "columns for two warps": lambda b: b.warp_tile(16, 8, warps=(1, 2)),
    "no warps": lambda b: b.warp_tile(16, 8, warps=(0, 1)),
    "sums in f16": lambda b: b.warp_tile(16, 8, E.F16),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_a_share_is_made_of_fragments(name: str) -> None:
    b = KernelBuilder("k", block=64)
    b.begin()
    with pytest.raises(InputError, match="no such tile in the registers of warps"):
        NONSENSE[name](b)
