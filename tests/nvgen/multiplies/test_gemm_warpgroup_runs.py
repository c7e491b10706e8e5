"""gemm in the registers of warpgroups, run: a producer with TMA, two consumers, a ring of stages.

The product is numpy's; integers are exact, so a GPU gives the same bits.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from intrinsics.element import ElementType as E
from intrinsics.findings import InputError, SimulationError
from intrinsics.layouts.fragments_wgmma import metadata_fragment
from nvgen import Kernel, KernelBuilder, u32
from nvgen.compilation.compiled import Compiled
from nvgen.testing import Launch, assert_exact, kernel_test

pytestmark = pytest.mark.seldom(3)

CONSUMERS, STAGES = 2, 3
SPAN = 128  # bytes of a row of a tile


@functools.cache
def pipeline(dtype: E, sums: E, rows: int, n: int, in_flight: int, *, wrong: str = "") -> Kernel:
    """D, a consumer's registers one thread behind the other: CONSUMERS · `rows` by `n`.

    With a group in flight a stage is given back one turn later.  `wrong` leaves something out.
    """
    depth = SPAN * 8 // dtype.bits
    b = KernelBuilder("k", block=128 * (CONSUMERS + 1), dynamic_shared=True)
    b.tensor_map("a", dtype=dtype, box=(rows * CONSUMERS, depth), swizzle=SPAN)
    b.tensor_map("b", dtype=dtype, box=(n, depth), swizzle=SPAN)
    b.pointer("d", output=True)
    b.integer("steps")
    args = b.begin()
    a_ring = b.shared_tiles("a_ring", dtype, (rows * CONSUMERS, depth), STAGES)
    b_ring = b.shared_tiles("b_ring", dtype, (n, depth), STAGES)
    full, empty = b.mbarriers("full", STAGES), b.mbarriers("empty", STAGES)
    with b.if_thread(0):
        for stage in range(STAGES):
            b.mbarrier_init(full[stage], 1)
            b.mbarrier_init(empty[stage], 128 * CONSUMERS)
        b.fence_mbarrier_init_release_cluster()
    b.barrier_cta_sync_aligned()
    with b.if_thread(128 * CONSUMERS):
        ring = b.ring(STAGES)
        with b.range(args["steps"]) as step:
            b.wait(empty[ring.stage], ring.parity ^ 1)
            loaded = full[ring.stage]
            b.mbarrier_arrive_expect_tx(loaded, a_ring.nbytes + b_ring.nbytes)
            for tile, tensor in ((a_ring, "a"), (b_ring, "b")):
                at = (step * depth, 0)
                b.cp_async_bulk_tensor_g2s_tile(tile[ring.stage].pointer, loaded, args[tensor], at)
            ring.advance()
    for number in range(CONSUMERS):
        with b.if_warpgroup(number):
            d, ring, given = b.warpgroup_tile(rows, n, sums), b.ring(STAGES), b.ring(STAGES)
            with b.range(args["steps"]) as step:
                b.wait(full[ring.stage], ring.parity)
                mine = a_ring[ring.stage].part(number * rows, rows)
                left = in_flight + (wrong == "a stage too early")
                b.gemm(d, mine, b_ring[ring.stage], accumulate=step != 0, in_flight=left)
                if in_flight:
                    with b.if_(step != 0):
                        b.mbarrier_arrive(empty[given.stage])
                        given.advance()
                else:
                    b.mbarrier_arrive(empty[ring.stage])
                ring.advance()
            if in_flight and wrong != "the last wait":
                b.wgmma_wait_group(0)
            for index, part in enumerate(d.parts):
                words = len(d.parts) * part.raw.type.count
                place = b.tid_x * (4 * words) + 4 * part.raw.type.count * index
                b.store(part.registers, args["d"] + place.zext(64), align=16)
    return b.finish()


def in_registers(d: np.ndarray, rows: int) -> np.ndarray:
    """D as the threads hold it: threads by 64 rows by elements."""
    n = d.shape[1]
    thread, i = np.arange(128)[:, None], np.arange(n // 2)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + i // 2 % 2 * 8
    column = i // 4 * 8 + thread % 4 * 2 + i % 2
    blocks = d.reshape(CONSUMERS, rows // 64, 64, n)[:, :, row, column]
    return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).reshape(CONSUMERS * 128, -1)


TYPES = {
    "f16": (E.F16, E.F32, 4),
    "f16 in f16": (E.F16, E.F16, 2),
    "bf16": (E.BF16, E.F32, 4),
    "tf32": (E.TF32, E.F32, 4),
    "e4m3": (E.E4M3, E.F32, 4),
    "e5m2": (E.E5M2, E.F32, 4),
    "s8": (E.S8, E.S32, 100),
}
"""Types of A and B, and of D, and up to which integers are drawn."""


def operands(name: str, rows: int, n: int, steps: int) -> tuple[np.ndarray, ...]:
    dtype, sums, limit = TYPES[name]
    dice = np.random.default_rng(3)
    k = steps * SPAN * 8 // dtype.bits
    shapes = ((rows * CONSUMERS, k), (n, k))
    a, b = (dice.integers(1 - limit, limit, shape).astype(dtype.numpy) for shape in shapes)
    return a, b, (a.astype(np.float64) @ b.astype(np.float64).T).astype(sums.numpy)


@functools.cache
def compiled(name: str, rows: int, n: int, in_flight: int, opt: int) -> Compiled:
    kernel = pipeline(*TYPES[name][:2], rows, n, in_flight)
    made: Compiled = kernel.compile(target="sm_90a", opt=opt)
    return made


@pytest.mark.turns(10)
@kernel_test(schedules="all", random=1, targets="sm_90a", opt=(0, 3))
@pytest.mark.parametrize("in_flight", [0, 1])
@pytest.mark.parametrize(("rows", "n"), [(64, 64), (128, 24)])
@pytest.mark.parametrize("name", ["f16", "s8"])
def test_a_pipeline(launch: Launch, name: str, rows: int, n: int, in_flight: int) -> None:
    """Seven steps of K go more than twice round the ring."""
    a, b, expected = operands(name, rows, n, 7)
    d = in_registers(np.zeros_like(expected), rows)
    launch(compiled(name, rows, n, in_flight, launch.opt), a, b, d, 7)
    assert_exact(d, in_registers(expected, rows))


@pytest.mark.turns(3)
@kernel_test(schedules="random", random=1, targets="sm_90a")
@pytest.mark.parametrize("name", TYPES)
def test_every_type(launch: Launch, name: str) -> None:
    a, b, expected = operands(name, 64, 32, 3)
    d = in_registers(np.zeros_like(expected), 64)
    launch(pipeline(*TYPES[name][:2], 64, 32, 0), a, b, d, 3)
    assert_exact(d, in_registers(expected, 64))


@pytest.mark.wrong_kernel
@pytest.mark.turns(3)
@pytest.mark.parametrize("schedule", ["early", "late", "random:2"])
@pytest.mark.parametrize(
    ("wrong", "rule"), [("the last wait", "wgmma-registers"), ("a stage too early", "race")]
)
def test_a_wait_too_few(wrong: str, rule: str, schedule: str) -> None:
    a, b, expected = operands("f16", 64, 16, 7)
    d = in_registers(np.zeros_like(expected), 64)
    compiled = pipeline(E.F16, E.F32, 64, 16, 1, wrong=wrong).compile(target="sm_90a")
    with pytest.raises(SimulationError) as caught:
        compiled.run(a, b, d, 7, device="sim", schedule=schedule)
    assert caught.value.findings[0].rule == f"sim/{rule}"


@pytest.mark.turns(3)
@kernel_test(schedules=["early", "late"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("dtype", [E.BF16, E.E4M3, E.S8], ids=lambda t: t.value)
@pytest.mark.parametrize("rows", [64, 128])
def test_a_sparse_a_by_any_two_of_each_four(launch: Launch, dtype: E, rows: int) -> None:
    n, steps, sums = 32, 2, E.S32 if dtype is E.S8 else E.F32
    k = steps * 512 // dtype.bits
    words = rows // 64 * steps
    b = KernelBuilder("k", block=128, target=launch.target, dynamic_shared=True)
    b.tile_map("a", dtype, (rows, k // 2), swizzle=64)
    b.tile_map("b", dtype, (n, k))
    b.pointer("metadata", u32)
    b.pointer("d", sums, output=True)
    args = b.begin()
    a = b.shared_tile("a_tile", dtype, (rows, k // 2), swizzle=64)
    right, full = b.shared_tile("b_tile", dtype, (n, k)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, a, right)
        b.load_tile(a, args["a"], (0, 0), full)
        b.load_tile(right, args["b"], (0, 0), full)
    b.wait(full, 0)
    d = b.warpgroup_tile(rows, n, sums)
    held = b.load(args["metadata"].at(b.thread * words), u32, words)
    b.gemm(d, a, right, metadata=held)
    d.store(args["d"], n)

    rng = np.random.default_rng(rows)
    places = np.sort(
        rng.permuted(np.tile(np.arange(4), (rows, k // 4, 1)), axis=2)[..., :2], axis=2
    )
    kept = rng.integers(-4, 5, (rows, k // 4, 2))
    whole = np.zeros((rows, k // 4, 4), np.int64)
    np.put_along_axis(whole, places, kept, 2)
    other = rng.integers(-4, 5, (n, k))
    got = np.zeros((rows, n), sums.numpy)
    given = metadata_of(places, dtype.bits)
    launch(
        b.finish().compile(opt=launch.opt),
        kept.reshape(rows, -1).astype(dtype.numpy),
        other.astype(dtype.numpy),
        given,
        got,
    )
    assert_exact(got, (whole.reshape(rows, k) @ other.T).astype(sums.numpy))


def metadata_of(places: np.ndarray, bits: int) -> np.ndarray:
    """Each thread's words: for every 64 rows, and in these for every step of K."""
    rows, chunks = places.shape[:2]
    index = (places[..., 0] | places[..., 1] << 2).astype(np.uint32)
    thread, bit = metadata_fragment(bits)
    each = thread.shape[1]
    found = []
    for top in range(0, rows, 64):
        for first in range(0, chunks, each):
            words = np.zeros(128, np.uint32)
            part = index[top : top + 64, first : first + each]
            np.bitwise_or.at(
                words, np.broadcast_to(thread, part.shape), part << bit.astype(np.uint32)
            )
            found.append(words)
    return np.stack(found, 1)


def test_metadata_that_do_not_fit_are_refused() -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.pointer("x", u32)
    x = b.begin()["x"]
    a, right = b.shared_tile("a", E.BF16, (64, 64)), b.shared_tile("b", E.BF16, (32, 128))
    d, words = b.warpgroup_tile(64, 32), b.load(x, u32, 3)
    for metadata, said in ((words, "a Vector of 4 words"), (x, "a Vector of 4 words")):
        with pytest.raises(InputError, match=said):
            b.gemm(d, a, right, metadata=metadata)
    with pytest.raises(InputError, match="do not belong together"):
        b.gemm(d, a, right)
