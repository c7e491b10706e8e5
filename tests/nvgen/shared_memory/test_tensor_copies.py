"""Tensor copies from the builder to a machine: pixels of images come in and are added to rows."""

from __future__ import annotations

import numpy as np

from intrinsics.element import ElementType
from intrinsics.modifiers import AtomicOp
from intrinsics.tma.rules import Im2col
from nvgen import Kernel, KernelBuilder
from nvgen.launching.tensor_map import im2col_map, tensor_map
from nvgen.testing import Launch, kernel_test

PIXELS, CHANNELS = 16, 32


def gathered() -> Kernel:
    """16 pixels of N x H x W x C, seen through one place of a filter, added to rows of `out`."""
    b = KernelBuilder("gathered", block=32)
    b.tensor_map("images", dtype=ElementType.F32, box=(1, 1, 1, CHANNELS))
    b.tensor_map("out", dtype=ElementType.F32, box=(PIXELS, CHANNELS))
    args = b.begin()
    tile = b.shared_tile("tile", ElementType.F32, (PIXELS, CHANNELS), swizzle=0)
    loaded = b.mbarrier("loaded")
    with b.if_thread(0):
        b.mbarrier_init(loaded, 1)
        b.fence_mbarrier_init_release_cluster()
        b.cp_async_bulk_tensor_prefetch_im2col(args["images"], (0, -1, -1, 0), (1, 2))
        b.mbarrier_arrive_expect_tx(loaded, tile.nbytes)
        place = (0, -1, -1, 0)  # channel, W, H, image
        b.cp_async_bulk_tensor_g2s_im2col(tile.pointer, loaded, args["images"], place, (1, 2))
        b.wait(loaded, 0)
        b.cp_async_bulk_tensor_reduce_tile(AtomicOp.ADD, args["out"], (0, 0), tile.pointer)
        b.cp_async_bulk_commit_group()
        b.cp_async_bulk_wait_group(0)
    return b.finish()


@kernel_test(schedules="all", targets="sm_90a", opt=(0, 3))
def test_pixels_of_images_are_added_to_rows(launch: Launch) -> None:
    """Two images of 3 x 4 pixels; the filter's base goes over them, padded by one all around.

    At offset (1, 2) of the filter (W first) it looks at two rows down and one column on.
    """
    images = np.arange(1, 2 * 3 * 4 * CHANNELS + 1, dtype=np.float32).reshape(2, 3, 4, CHANNELS)
    out = np.full((PIXELS, CHANNELS), 0.5, np.float32)
    box = Im2col((-1, -1), (-1, -1), CHANNELS, PIXELS)
    expected = out.copy()
    bases = [(n, h, w) for n in range(2) for h in range(-1, 2) for w in range(-1, 3)]
    for row, (n, h, w) in enumerate(bases[:PIXELS]):
        if h + 2 < 3 and w + 1 < 4:
            expected[row] += images[n, h + 2, w + 1]
    result = tensor_map(out, (PIXELS, CHANNELS))
    launch(gathered(), im2col_map(images, box), result, grid=1, block=32)
    assert np.array_equal(out, expected)
