"""A in registers, made of narrow numbers in shared memory: int8, fp8, and two of 4 bits in a byte.

numpy is the oracle; the products are sums of small integers, and exact.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import ElementType, Int, KernelBuilder, bf16, e4m3, e5m2, f16, f32, i8, u8, u32
from nvgen.testing import Launch, assert_exact, kernel_test

M, N, K = 128, 32, 64
E2M1 = ElementType.E2M1


@pytest.mark.turns(8)
@kernel_test(schedules=["early", "late"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("dtype", [bf16, f16], ids=lambda t: t.value)
@pytest.mark.parametrize("bits", [8, 4])
def test_weights_of_few_bits(launch: Launch, dtype: ElementType, bits: int) -> None:
    b = KernelBuilder("k", block=128, target=launch.target, dynamic_shared=True)
    b.pointer("w", i8 if bits == 8 else u8)
    b.tile_map("x", dtype, (N, K))
    b.pointer("out", f32, output=True)
    args = b.begin()
    pitch = K * bits // 8
    staged = b.shared_array("staged", i8 if bits == 8 else u8, M * pitch)
    tile, full = b.shared_tile("x_tile", dtype, (N, K)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, tile)
        b.load_tile(tile, args["x"], (0, 0), full)
    with b.range(M * pitch, start=b.tid_x, step=128) as i:
        staged[i] = args["w"][i]
    b.barrier_cta_sync_aligned()
    b.wait(full, 0)

    def weight(row: Int, column: Int):
        if bits == 8:
            return staged[row * pitch + column].to(f32)
        byte = staged[row * pitch + column // 2].to(u32)
        return ((byte >> column % 2 * 4) & 15).to(f32) - 8.0

    sums = b.warpgroup_tile(M, N)
    b.gemm(sums, b.warpgroup_operand_of(M, K, dtype, weight), tile)
    sums.store(args["out"], N)
    rng = np.random.default_rng(bits)
    w, x = rng.integers(-8, 8, (M, K)), rng.integers(-4, 5, (N, K))
    nibbles = ((w[:, ::2] + 8) | (w[:, 1::2] + 8) << 4).astype(np.uint8)
    out = np.zeros((M, N), np.float32)
    given = w.astype(np.int8) if bits == 8 else nibbles
    launch(b.finish().compile(opt=launch.opt), given, x.astype(dtype.numpy), out)
    assert_exact(out, (w @ x.T).astype(np.float32))


@pytest.mark.turns(24)
@kernel_test(schedules=["early", "late"], targets=("sm_90a", "sm_100a"), opt=[0, 3])
@pytest.mark.parametrize("dtype", [bf16, f16], ids=lambda t: t.value)
@pytest.mark.parametrize(
    ("given", "bits"), [(i8, 8), (u8, 8), (e4m3, 8), (e5m2, 8), (i8, 4), (u8, 4), (E2M1, 4)]
)
def test_tiles_of_bytes(launch: Launch, dtype: ElementType, given: ElementType, bits: int) -> None:
    """Rows that have a scale each, K in the order of threads."""
    m = M if launch.target == "sm_90a" else 64  # in tensor memory it has that layout
    element, given = (given, u8) if given is E2M1 else (None, given)
    b = KernelBuilder("k", block=128, target=launch.target, dynamic_shared=True)
    width = K * bits // 8
    b.tile_map("w", given, (m, width), swizzle=width)
    b.tile_map("x", dtype, (N, K))
    b.pointer("scales", dtype)
    b.pointer("out", f32, output=True)
    args = b.begin()
    w_tile = b.shared_tile("w_tile", given, (m, width), swizzle=width)
    x_tile, full = b.shared_tile("x_tile", dtype, (N, K)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, w_tile, x_tile)
        b.load_tile(w_tile, args["w"], (0, 0), full)
        b.load_tile(x_tile, args["x"], (0, 0), full)
    b.wait(full, 0)
    weights = b.warpgroup_fragment(w_tile, dtype, packed=element or bits == 4)
    scales = weights.rows(lambda row: args["scales"][row])
    sums = b.warpgroup_tile(m, N)
    b.gemm(sums, weights.scale_rows(scales), x_tile)
    sums.store(args["out"], N)
    rng = np.random.default_rng(bits)
    least = 0 if given is u8 else -(2 ** (bits - 1))
    w, x = rng.integers(least, least + 2**bits, (m, K)), rng.integers(-4, 5, (N, K))
    if given in (e4m3, e5m2):
        w = (w // 16).astype(given.numpy).view(np.uint8)
    scale = 2.0 ** rng.integers(-2, 3, m)
    out = np.zeros((m, N), np.float32)
    launch(
        b.finish().compile(opt=launch.opt),
        in_order_of_threads(w, bits).view(given.numpy),
        x.astype(dtype.numpy),
        scale.astype(dtype.numpy),
        out,
    )
    numbers = w.view(given.numpy).astype(np.int64) if given in (e4m3, e5m2) else w
    if element is not None:
        positive = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        numbers = np.concatenate([positive, -positive])[w]
    assert_exact(out, (numbers * scale[:, None] @ x.T).astype(np.float32))


def in_order_of_threads(w: np.ndarray, bits: int) -> np.ndarray:
    """Weights as bytes: thread q has columns 2q, 2q + 1, 2q + 8 and 2q + 9 of each 16."""
    rows, size = len(w), 128 // bits
    column = [
        16 * s + 8 * j + 2 * q + e
        for q in range(4)
        for s in range(size // 16)
        for j in range(2)
        for e in range(2)
    ]
    held = w.reshape(rows, -1, size)[:, :, column].reshape(rows, -1)
    if bits == 8:
        return held.astype(np.uint8)
    return (held[:, ::2] & 15 | (held[:, 1::2] & 15) << 4).astype(np.uint8)


def test_tiles_of_other_types_are_refused() -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    halves = b.shared_tile("halves", bf16, (64, 64))
    narrow = b.shared_tile("narrow", i8, (64, 16), swizzle=0)
    for tile, dtype in ((halves, bf16), (narrow, bf16), (b.shared_tile("t", i8, (64, 64)), f32)):
        with pytest.raises(InputError, match="no such A of bytes"):
            b.warpgroup_fragment(tile, dtype)


@pytest.mark.parametrize(("m", "k", "dtype"), [(65, 64, bf16), (64, 8, bf16), (64, 64, f32)])
def test_refused(m: int, k: int, dtype: ElementType) -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match="no A in the registers"):
        b.warpgroup_operand_of(m, k, dtype, lambda row, _: row.to(f32))
