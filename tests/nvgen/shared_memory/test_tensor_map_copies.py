"""A grouped copy from the builder to a machine: each CTA changes a tensor map for its own array."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.modifiers import MapField
from nvgen import Kernel, KernelBuilder
from nvgen.launching.tensor_map import tensor_map
from nvgen.testing import Launch, kernel_test
from nvgen.values.pointers import Pointer

ROWS, COLUMNS, ROOM = 8, 32, 5
"""A tile, and how many rows of words each array has room for."""


def grouped() -> Kernel:
    """CTA i copies a tile of array i, which begins behind those before it and has rows[i] rows."""
    b = KernelBuilder("grouped", block=32)
    b.tensor_map("template", dtype=ElementType.F32, box=(ROWS, COLUMNS))
    for name in ("data", "rows", "maps"):
        b.pointer(name)
    b.pointer("out", output=True)
    args = b.begin()
    template, data, rows, maps, out = (
        pointer for pointer in args.values() if isinstance(pointer, Pointer)
    )
    lane = b.tid_x
    map_, loaded = b.shared_tensor_map("map"), b.mbarrier("loaded")
    tile = b.shared_tile("tile", ElementType.F32, (ROWS, COLUMNS), swizzle=0)
    b.store(b.load_word(template + lane * 4), map_ + lane * 4)
    b.bar_warp_sync()
    mine = maps + b.ctaid_x * 128
    with b.if_thread(0):
        b.tensormap_replace(map_, MapField.GLOBAL_ADDRESS, data + b.ctaid_x * (ROOM * COLUMNS * 4))
        b.tensormap_replace(map_, MapField.GLOBAL_DIM, b.load_word(rows + b.ctaid_x * 4), dim=1)
        b.mbarrier_init(loaded, 1)
        b.fence_mbarrier_init_release_cluster()
    b.bar_warp_sync()
    b.tensormap_cp_fenceproxy(mine, map_)
    b.fence_proxy_tensormap_acquire(mine)
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, tile.nbytes)
        b.cp_async_bulk_tensor_g2s_tile(tile.pointer, loaded, mine, (0, 1))
    b.bar_warp_sync()
    b.wait(loaded, 0)
    for row in range(ROWS):
        place = (b.ctaid_x * ROWS + row) * (COLUMNS * 4) + lane * 4
        b.store(b.load_word(tile.pointer + row * (COLUMNS * 4) + lane * 4), out + place)
    return b.finish()


@pytest.mark.turns(4)
@kernel_test(schedules="all", targets="sm_90a", opt=(0, 3))
def test_each_cta_copies_from_an_array_of_its_own(launch: Launch) -> None:
    """Rows behind the end of an array are zeros, though the next array is there."""
    rows = np.array([5, 2, 4, 1], np.uint32)
    data = np.arange(1, len(rows) * ROOM * COLUMNS + 1, dtype=np.float32)
    data = data.reshape(len(rows), ROOM, COLUMNS)  # type: ignore[assignment]
    expected = np.zeros((len(rows), ROWS, COLUMNS), np.float32)
    for group, count in enumerate(rows):
        expected[group, : count - 1] = data[group, 1:count]
    out = np.ones_like(expected)
    template = tensor_map(np.zeros((16, COLUMNS), np.float32), (ROWS, COLUMNS))
    maps = np.zeros((len(rows), 128), np.uint8)
    launch(grouped(), template, data, rows, maps, out, grid=len(rows), block=32)
    assert np.array_equal(out, expected)
