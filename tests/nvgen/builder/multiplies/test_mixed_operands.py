"""A in registers, made of narrow integers in shared memory: int8, and two of four bits in a byte.

numpy is the oracle; the products are sums of small integers, and exact.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import ElementType, Int, KernelBuilder, bf16, f16, f32, i8, u8, u32
from nvgen.testing import Launch, assert_exact, kernel_test

M, N, K = 128, 32, 64


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


@pytest.mark.parametrize(("m", "k", "dtype"), [(65, 64, bf16), (64, 8, bf16), (64, 64, f32)])
def test_refused(m: int, k: int, dtype: ElementType) -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match="no A in the registers"):
        b.warpgroup_operand_of(m, k, dtype, lambda row, _: row.to(f32))
