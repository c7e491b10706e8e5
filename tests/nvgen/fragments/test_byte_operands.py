"""fp8 through two multiplies: sums as A of the second one, whose B is transposed on its way."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from nvgen import KernelBuilder, Space, bf16, e4m3, e5m2, f32
from nvgen.built import Kernel
from nvgen.testing import Launch, kernel_test

TARGET = "sm_90a"
SIZE, WARPS = 128, 2


def twice(dtype: ElementType, *, by_warps: bool = False) -> Kernel:
    """D = fp8(A·Bᵀ)·C, of 64, 128 and 128 rows of 128: by a warpgroup, or by each of its warps."""
    b = KernelBuilder("twice", block=128, dynamic_shared=True, target=TARGET)
    shapes = {"a": (64, SIZE), "b": (SIZE, SIZE), "c": (SIZE, SIZE)}
    for name, shape in shapes.items():
        b.tile_map(name, dtype, shape)
    b.pointer("d", f32, output=True)
    args = b.begin()
    tiles = {name: b.shared_tile(f"{name}_tile", dtype, shape) for name, shape in shapes.items()}
    turned, full = b.shared_tile("turned", dtype, (SIZE, SIZE)), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, *tiles.values())
        for name, tile in tiles.items():
            b.load_tile(tile, args[name], (0, 0), full)
    b.wait(full, 0)
    with b.if_(b.warp < WARPS):
        b.transpose_bytes(tiles["c"], turned, index=b.warp, warps=WARPS)
        b.fence_proxy_async(Space.SHARED_CTA)
    b.barrier_cta_sync_aligned()
    if by_warps:
        s = b.warp_tile(16, SIZE)
        b.gemm_async(s, tiles["a"].part(b.warp * 16, 16), tiles["b"])
        whole = b.warpgroup_tile(64, SIZE)
        words = s.fragment.as_rows_of(whole.fragment).as_bytes(dtype)
    else:
        s = b.warpgroup_tile(64, SIZE)  # type: ignore[assignment]
        b.gemm(s, tiles["a"], tiles["b"])
        words = s.as_bytes(dtype)
    d = b.warpgroup_tile(64, SIZE)
    fragments = [words[i : i + 4] for i in range(0, words.count, 4)]
    b.gemm(d, b.warpgroup_operand([fragments], dtype), turned)
    d.store(args["d"], SIZE)
    return b.finish()


@pytest.mark.turns(3)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
@kernel_test(schedules=["late"], targets=TARGET)
@pytest.mark.parametrize(("dtype", "by_warps"), [(e4m3, False), (e5m2, True)])
def test_a_product_of_products(launch: Launch, dtype: ElementType, by_warps: bool) -> None:
    """Few nonzero elements, so that sums are small integers, which fp8 has."""
    rng = np.random.default_rng(3)
    a = np.where(rng.random((64, SIZE)) < 0.04, rng.integers(-1, 2, (64, SIZE)), 0)
    b, c = rng.integers(-1, 2, (2, SIZE, SIZE))
    d = np.full((64, SIZE), np.nan, np.float32)
    first = (a @ b.T).astype(dtype.numpy).astype(np.float32)
    operands = (x.astype(dtype.numpy) for x in (a, b, c))
    launch(twice(dtype, by_warps=by_warps).compile(opt=launch.opt), *operands, d)
    assert (d == first @ c.astype(np.float32)).all()


def test_tiles_that_are_not_transposed() -> None:
    b = KernelBuilder("k", block=128, dynamic_shared=True, target=TARGET)
    b.begin()
    tile, other = b.shared_tile("x", e4m3, (64, 128)), b.shared_tile("y", bf16, (128, 64))
    with pytest.raises(InputError, match="transposed tile of bytes"):
        b.transpose_bytes(tile, other)
    with pytest.raises(InputError, match="no bytes of A"):
        b.warpgroup_tile(64, 128).as_bytes(bf16)
    with pytest.raises(InputError, match="no bytes of A"):
        b.warpgroup_tile(64, 16).as_bytes(e4m3)


def test_the_next_a_is_made_beside_the_multiply() -> None:
    """Its registers are not those that the multiply still reads."""
    b = KernelBuilder("beside", block=128, dynamic_shared=True, target=TARGET)
    b.u32("steps")
    b.pointer("d", f32, output=True)
    args = b.begin()
    tile = b.shared_tile("tile", e4m3, (SIZE, SIZE))
    for chunk in range(SIZE // 16):
        b.store(b.words([b.const(0)] * 4), tile.chunk(b.tid_x, chunk), align=16)
    b.fence_proxy_async(Space.SHARED_CTA)
    b.barrier_cta_sync_aligned()
    s, d = b.warpgroup_tile(64, SIZE), b.warpgroup_tile(64, SIZE)
    s.set(1.0)
    p = b.variable(s.as_bytes(e4m3))
    with b.range(args["steps"]) as step:
        fragments = [p.value[i : i + 4] for i in range(0, p.value.count, 4)]
        b.wgmma_fence()
        b.gemm_async(d, b.warpgroup_operand([fragments], e4m3), tile, accumulate=True)
        b.wgmma_commit_group()
        s.set(s.fragment + step.to(f32))
        following = s.as_bytes(e4m3)
        b.wgmma_wait_group(0)
        p.set(following)
    d.store(args["d"], SIZE)
    found = b.finish().compile(level="all").findings
    assert not [f for f in found if f.rule == "wgmma.mma_async/in-flight"]
