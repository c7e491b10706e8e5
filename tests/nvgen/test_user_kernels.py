"""Kernels as a user writes them, with the builder's public verbs: equal to numpy on every schedule.

A of six bits in tensor memory times B of four; two products chained through registers, as in
attention; int8, with K split over a CTA pair that exchanges its partial sums through distributed
shared memory; block scaling by a pair, in a ring of two stages.  Each is clean at level
`function`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.findings import SimulationError
from intrinsics.modifiers import CtaGroup, LdStNum, MmaKind, Scope
from intrinsics.tma.fields import Element
from nvgen import Kernel, KernelBuilder, u32
from nvgen.compilation.compiled import Compiled
from nvgen.launching.tensor_map import Options, TensorMap, tensor_map
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Int
from nvgen.values.pointers import Barrier, Pointer
from tests.oracle.block_scaled import numbers

Array = npt.NDArray[np.generic]


class Case(NamedTuple):
    """A kernel, what it is given, and what must come out of it."""

    kernel: Kernel
    inputs: tuple[Array | TensorMap, ...]
    expected: Array
    ctas: int = 1


def opened(b: KernelBuilder, *barriers: Barrier) -> None:
    """One arrival completes a phase of each of the mbarriers; the cluster may use them then."""
    with b.if_thread(0):
        for barrier in barriers:
            b.mbarrier_init(barrier, 1)
        b.fence_mbarrier_init_release_cluster()


def lanes(b: KernelBuilder, columns: Pointer) -> Pointer:
    """The lanes that a warp reaches."""
    return columns + (b.tid_x >> 5 << 21)


def stored(b: KernelBuilder) -> None:
    """What all threads have stored to tensor memory is there for all."""
    b.tcgen05_wait_st()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()


def dump(b: KernelBuilder, columns: Pointer, count: int, target: Pointer | Int, row: Int) -> None:
    """A lane of `count` columns into a row of memory."""
    assert isinstance(target, Pointer)
    place = target + row.zext(64) * (4 * count)
    for first in range(0, count, 32):
        values = b.tcgen05_ld(lanes(b, columns) + first, num=LdStNum.X32)
        b.tcgen05_wait_ld()
        b.store(values, place + 4 * first, align=16)


def unpacked() -> Case:
    """As `narrow`, with E2M1 side by side in global memory: the copy leaves the gaps."""
    kernel, (first, padded), expected, _ = narrow(packed=True)
    n, k = padded.shape
    side_by_side = np.ascontiguousarray(padded.reshape(n, k // 16, 16)[:, :, :8]).reshape(n, k // 2)
    options = Options(element=Element.U4_ALIGN16)
    return Case(kernel, (first, tensor_map(side_by_side, (n, k), 128, options)), expected)


def narrow(*, packed: bool = False) -> Case:
    """E3M2 in tensor memory, which threads bring, times E2M1 in shared memory."""
    m, n, k = 128, 96, 128
    b = KernelBuilder("narrow", block=128)
    b.pointer("a")
    b.tensor_map("b", dtype=E.E2M1 if packed else E.U8, box=(n, k), swizzle=128)
    b.pointer("d", output=True)
    args = b.begin()
    right = b.shared_tile("right", E.E2M1, (n, k), padded=True)
    loaded, done = b.mbarrier("loaded"), b.mbarrier("done")
    opened(b, loaded, done)
    tmem = b.tensor_memory("tmem", 128)
    d, left = tmem.tile(m, n), tmem.operand_tile(m, k, E.E3M2)
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, right.nbytes // 2 if packed else right.nbytes)
        b.cp_async_bulk_tensor_g2s_tile(right.pointer, loaded, args["b"], (0, 0))
    row = b.load(args["a"] + b.tid_x.zext(64) * k, u32, left.columns, align=16)
    b.tcgen05_st(lanes(b, left.pointer), row, num=LdStNum.X32)
    stored(b)
    with b.if_warp(0):
        b.wait(loaded, 0)
        with b.elect():
            b.gemm_async(d, left, right)
            b.tcgen05_commit(done)
    b.wait(done, 0)
    b.tcgen05_fence_after_thread_sync()
    dump(b, d.pointer, n, args["d"], b.tid_x)
    tmem.free()

    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 64, (m, k)), rng.integers(0, 16, (n, k))
    pairs = second.reshape(n, k // 16, 8, 2)
    padded = np.zeros((n, k // 16, 16), np.uint8)  # 8 bytes of elements, 8 of padding
    padded[:, :, :8] = pairs[..., 0] | pairs[..., 1] << 4
    expected = numbers(first, "e3m2") @ numbers(second, "e2m1").T
    inputs = first.astype(np.uint8), padded.reshape(n, k)
    return Case(b.finish(), inputs, expected.astype(np.float32))


def rounded(bits: Int) -> Int:
    """The bits of an f32 that is no NaN, rounded to bf16 in the upper half: nearest, even."""
    return bits + ((bits >> 16 & 1) + 0x7FFF)


def chained() -> Case:
    """O = bf16(Q·Kᵀ)·V: the scores become an A in tensor memory, V lies with its rows as K."""
    m, keys, dim = 128, 64, 64
    b = KernelBuilder("chained", block=128)
    for name, rows in (("q", m), ("k", keys), ("v", keys)):
        b.tensor_map(name, dtype=E.BF16, box=(rows, dim), swizzle=128)
    b.pointer("o", output=True)
    args = b.begin()
    tiles = {
        "q": b.shared_tile("q_tile", E.BF16, (m, dim)),
        "k": b.shared_tile("k_tile", E.BF16, (keys, dim)),
        "v": b.shared_tile("v_tile", E.BF16, (dim, keys), major=Major.MN),
    }
    loaded, scored, done = b.mbarrier("loaded"), b.mbarrier("scored"), b.mbarrier("done")
    opened(b, loaded, scored, done)
    tmem = b.tensor_memory("tmem", 256)
    s, o = tmem.tile(m, keys), tmem.tile(m, dim)
    p = tmem.operand_tile(m, keys, E.BF16)
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, sum(tile.nbytes for tile in tiles.values()))
        for name, tile in tiles.items():
            b.cp_async_bulk_tensor_g2s_tile(tile.pointer, loaded, args[name], (0, 0))
    with b.if_warp(0):
        b.wait(loaded, 0)
        b.tcgen05_fence_after_thread_sync()
        with b.elect():
            b.gemm_async(s, tiles["q"], tiles["k"])
            b.tcgen05_commit(scored)
    b.wait(scored, 0)
    b.tcgen05_fence_after_thread_sync()
    scores = b.tcgen05_ld(lanes(b, s.pointer), num=LdStNum.X64)
    b.tcgen05_wait_ld()
    halves = [rounded(score) for score in scores]
    words = [low >> 16 | high & 0xFFFF0000 for low, high in zip(*[iter(halves)] * 2, strict=True)]
    b.tcgen05_st(lanes(b, p.pointer), b.words(words), num=LdStNum.X32)
    stored(b)
    with b.if_warp(0), b.elect():
        b.gemm_async(o, p, tiles["v"])
        b.tcgen05_commit(done)
    b.wait(done, 0)
    b.tcgen05_fence_after_thread_sync()
    dump(b, o.pointer, dim, args["o"], b.tid_x)
    tmem.free()

    rng = np.random.default_rng(3)
    q, k, v = (
        rng.integers(-8, 9, (rows, dim)).astype(ml_dtypes.bfloat16) for rows in (m, keys, keys)
    )
    exact = q.astype(np.float32) @ k.astype(np.float32).T
    narrowed = exact.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert (narrowed != exact).any()  # some scores are rounded
    return Case(b.finish(), (q, k, v), narrowed @ v.astype(np.float32))


def split_k(*, one_speaks: bool = False) -> Case:
    """S8 times U8, half of K by each CTA of a pair; each keeps half of the columns of the sum.

    Every thread says when its sums are with the other; if `one_speaks`, the first does for all,
    without having waited for them.
    """
    m, n, k = 128, 64, 128  # K of a CTA
    half = n // 2
    b = KernelBuilder("split_k", block=128, cluster=2)
    b.tensor_map("a", dtype=E.S8, box=(m, k), swizzle=128)
    b.tensor_map("b", dtype=E.U8, box=(n, k), swizzle=128)
    b.pointer("d", output=True)
    args = b.begin()
    left, right = b.shared_tile("left", E.S8, (m, k)), b.shared_tile("right", E.U8, (n, k))
    inbox = b.shared_tile("inbox", E.S32, (m, half)).pointer
    loaded, done, came = b.mbarrier("loaded"), b.mbarrier("done"), b.mbarrier("came")
    with b.if_thread(0):
        b.mbarrier_init(came, 1 if one_speaks else 128)
    opened(b, loaded, done)
    b.barrier_cluster_sync()
    tmem = b.tensor_memory("tmem", n)
    d, rank = tmem.tile(m, n).pointer, b.cluster_ctarank
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, left.nbytes + right.nbytes)
        for tile, name in ((left, "a"), (right, "b")):
            b.cp_async_bulk_tensor_g2s_tile(tile.pointer, loaded, args[name], (rank * k, 0))
    with b.if_warp(0):
        b.wait(loaded, 0)
        b.tcgen05_fence_after_thread_sync()
        with b.elect():
            word = InstructionDescriptor(MmaKind.I8, m, n, E.S8, E.U8, E.S32).encode()
            for step in range(k // 32):
                first, second = b.descriptor(left) + 2 * step, b.descriptor(right) + 2 * step
                b.tcgen05_mma(d, first, second, word, int(step > 0), kind=MmaKind.I8)
            b.tcgen05_commit(done)
    b.wait(done, 0)
    b.tcgen05_fence_after_thread_sync()
    other = rank ^ 1
    given = b.tcgen05_ld(lanes(b, d) + other * half, num=LdStNum.X32)
    kept = b.tcgen05_ld(lanes(b, d) + rank * half, num=LdStNum.X32)
    b.tcgen05_wait_ld()
    row = b.tid_x.zext(64) * (4 * half)
    b.store(given, b.mapa_shared_cluster(inbox, other) + row, align=16)
    with b.if_(b.tid_x < (1 if one_speaks else 128)):
        b.mbarrier_arrive_space_cluster(b.of_cta(came, other))
    b.wait(came, 0, scope=Scope.CLUSTER)
    got = b.load(inbox + row, u32, half, align=16)
    total = b.words([mine + theirs for mine, theirs in zip(kept, got, strict=True)])
    b.store(total, args["d"] + (b.tid_x * n + rank * half).zext(64) * 4, align=16)
    b.barrier_cluster_sync()  # nobody is gone while the other still writes to him
    tmem.free()

    rng = np.random.default_rng(4)
    a = rng.integers(-128, 128, (m, 2 * k)).astype(np.int8)
    w = rng.integers(0, 256, (n, 2 * k)).astype(np.uint8)
    return Case(b.finish(), (a, w), a.astype(np.int32) @ w.astype(np.int32).T, ctas=2)


def scaled_pair() -> Case:
    """E4M3 times E5M2 with UE8M0 factors, 256 rows by a pair, factors copied for both CTAs."""
    m, n, k, steps, stages = 256, 128, 128, 4, 2
    both = CtaGroup.TWO
    b = KernelBuilder("scaled_pair", block=192, cluster=2, dynamic_shared=True)
    b.tensor_map("a", dtype=E.E4M3, box=(m // 2, k), swizzle=128)
    b.tensor_map("b", dtype=E.E5M2, box=(n // 2, k), swizzle=128)
    for name in ("sfa", "sfb"):
        b.tensor_map(name, dtype=E.S32, box=(1, 128))
    b.pointer("d", output=True)
    args = b.begin()
    rings = {
        "a": b.shared_tiles("a_ring", E.E4M3, (m // 2, k), stages),
        "b": b.shared_tiles("b_ring", E.E5M2, (n // 2, k), stages),
    }
    blocks = {
        "sfa": b.shared_scales("sfa_ring", m // 2, k, stages),
        "sfb": b.shared_scales("sfb_ring", n, k, stages),
    }
    full, empty = b.mbarriers("full", stages), b.mbarriers("empty", stages)
    sums = b.mbarrier("sums")
    opened(b, sums, *(some[stage] for some in (full, empty) for stage in range(stages)))
    b.barrier_cluster_sync()
    tmem = b.tensor_memory("tmem", 256, warp=5, cta_group=both)
    d, rank = tmem.tile(m, n), b.cluster_ctarank
    factors = {
        "sfa": tmem.scale_tiles(m // 2, k, stages),
        "sfb": tmem.scale_tiles(n, k, stages),
    }
    with b.if_warp(4), b.elect():
        ring = b.ring(stages)
        with b.range(steps) as step:
            b.wait(empty[ring.stage], ring.parity ^ 1)
            nbytes = sum(some.nbytes for some in (*rings.values(), *blocks.values()))  # type: ignore[attr-defined]
            with b.if_(rank == 0):
                b.mbarrier_arrive_expect_tx(full[ring.stage], 2 * nbytes)
            places = {
                "a": (rings["a"][ring.stage].pointer, (step * k, rank * (m // 2))),
                "b": (rings["b"][ring.stage].pointer, (step * k, rank * (n // 2))),
                "sfa": (blocks["sfa"][ring.stage].pointer, (0, rank * steps + step)),
                "sfb": (blocks["sfb"][ring.stage].pointer, (0, step)),
            }
            there = b.of_even_cta(full[ring.stage])
            for name, (target, place) in places.items():
                b.cp_async_bulk_tensor_g2s_tile(target, there, args[name], place, cta_group=both)
            ring.advance()
        with b.range(stages):
            b.wait(empty[ring.stage], ring.parity ^ 1)
            ring.advance()
    with b.if_(rank == 0), b.if_warp(5), b.elect():
        ring = b.ring(stages)
        with b.range(steps) as step:
            b.wait(full[ring.stage], ring.parity)
            b.tcgen05_fence_after_thread_sync()
            held = {name: some[ring.stage] for name, some in factors.items()}
            for name, target in held.items():  # type: ignore[assignment]
                b.copy_scales(target, blocks[name][ring.stage], cta_group=both)
            left, right = rings["a"][ring.stage], rings["b"][ring.stage]
            b.gemm_async(d, left, right, accumulate=step != 0, cta_group=both, **held)
            b.tcgen05_commit(empty[ring.stage], cta_group=both, cta_mask=3)
            ring.advance()
        b.tcgen05_commit(sums, cta_group=both, cta_mask=3)
    with b.if_(b.tid_x < 128):
        b.wait(sums, 0)
        b.tcgen05_fence_after_thread_sync()
        dump(b, d.pointer, n, args["d"], rank * 128 + b.tid_x)
    b.bar_warp_sync()
    b.barrier_cluster_sync()
    tmem.free(warp=5)

    rng = np.random.default_rng(5)
    inputs, words, meant = [], [], []
    for rows, type_ in ((m, E.E4M3), (n, E.E5M2)):
        values = rng.integers(-4, 5, (rows, k * steps)).astype(type_.numpy)
        exponents = rng.integers(-2, 3, (rows, k * steps // 32))
        inputs.append(values)
        words.append(blocked(exponents + 127))
        meant.append(values.astype(np.float64) * np.exp2(exponents).repeat(32, axis=1))
    product = (meant[0] @ meant[1].T).astype(np.float32)
    return Case(b.finish(), (*inputs, *words), product, ctas=2)


def blocked(factors: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Factors in blocks of 128 rows by four; those of row r at 16 (r mod 32) + 4 (r div 32)."""
    rows, count = factors.shape
    found = np.zeros((rows // 128 * count // 4, 512), np.uint8)
    row, factor = np.arange(rows)[:, None], np.arange(count)[None, :]
    inside = row % 32 * 16 + row % 128 // 32 * 4 + factor % 4
    found[row // 128 * (count // 4) + factor // 4, inside] = factors
    return found.view(np.int32)


KERNELS: tuple[Callable[[], Case], ...] = (narrow, unpacked, chained, split_k, scaled_pair)


@functools.cache
def compiled(make: Callable[[], Case]) -> tuple[Case, Compiled]:
    """Once for all schedules."""
    case = make()
    return case, case.kernel.compile(target="sm_100a", level="function")


@pytest.mark.turns(8)
@pytest.mark.parametrize("make", KERNELS)
@kernel_test(schedules="all", random=2, targets=["sm_100a"])
def test_a_kernel_of_a_user_is_clean_and_equal_to_numpy(
    launch: Launch, make: Callable[[], Case]
) -> None:
    case, made = compiled(make)
    packed = ["verify/boxes"] if make is unpacked else []  # only the launch says that it has gaps
    assert [found.rule for found in made.findings] == packed
    out = np.full_like(case.expected, 77)
    launch(made, *case.inputs, out, grid=case.ctas)
    assert_exact(out, case.expected)


@kernel_test(schedules="all", random=1, targets=["sm_100a"])
def test_one_thread_that_speaks_for_all_is_a_race(launch: Launch) -> None:
    """Its arrival releases its own stores to the other CTA, not those of other warps."""
    case = split_k(one_speaks=True)
    with pytest.raises(SimulationError, match=r"sim/(race|uninitialized)"):
        launch(case.kernel, *case.inputs, np.zeros_like(case.expected), grid=case.ctas)
