"""Single elements of tiles: where TMA puts them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType, Major
from nvgen import InputError, KernelBuilder, SharedTile, bf16, f32, i8, tf32, u32
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each

TYPES = {bf16: bf16.numpy, f32: np.float32, tf32: np.float32, i8: np.int8}
ROWS = K = 128


@each("swizzle", [0, 32, 64, 128], turns=4)
@each("major", list(Major))
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.value)
@kernel_test(schedules=["late"], targets="sm_90a")
def test_elements_are_where_tma_puts_them(
    launch: Launch, dtype: ElementType, major: Major, swizzle: int
) -> None:
    """Each element is loaded by its row and k; one of each row is stored, and goes out by TMA."""
    b = KernelBuilder("elements", block=ROWS, target=launch.target, dynamic_shared=True)
    for name in ("x", "changed"):
        b.tile_map(name, dtype, (ROWS, K), swizzle=swizzle, major=major, output=name != "x")
    stored = f32 if dtype is tf32 else dtype
    b.pointer("out", stored, output=True)
    args = b.begin()
    tile = b.shared_tile("tile", dtype, (ROWS, K), swizzle=swizzle, major=major)
    loaded = b.mbarrier("loaded")
    b.make_mbarriers((loaded, 1))
    with b.if_thread(0):
        b.arrive_expecting(loaded, tile)
        b.load_tile(tile, args["x"], (0, 0), loaded)
    b.wait(loaded, 0)
    with b.range(K) as k:
        args["out"][b.tid_x * K + k] = tile.at(b.tid_x, k)[0]
    tile.at(b.tid_x, 3)[0] = tile.at(b.tid_x, 5)[0]
    b.fence_proxy_async()
    b.barrier_cta_sync_aligned()
    with b.if_thread(0):
        b.store_tile(tile, args["changed"], (0, 0))
        b.cp_async_bulk_wait_group(0)
    x = np.random.default_rng(0).integers(-99, 99, (ROWS, K)).astype(TYPES[dtype])
    given = x if major is Major.K else np.ascontiguousarray(x.T)
    changed, out = np.zeros_like(given), np.zeros_like(x)
    launch(b.finish(), given, changed, out)
    assert_exact(out, x)
    x[:, 3] = x[:, 5]
    assert_exact(changed if major is Major.K else changed.T, x)


def test_what_has_no_address_is_refused() -> None:
    b = KernelBuilder("refused", block=32, target="sm_100a", dynamic_shared=True)
    b.u32("n")
    args = b.begin()
    half = b.shared_tile("half", ElementType.E2M1, (64, 128))
    whole: SharedTile = b.shared_tile("whole", bf16, (64, 64))
    for wrong in (
        lambda: half.at(0, 0),
        lambda: whole.at(64, 0),
        lambda: whole.at(0, -1),
        lambda: whole.at(args["n"].to(f32), 0),
    ):
        with pytest.raises(InputError):
            wrong()
    assert whole.at(args["n"], 63).of(u32) is not None
