"""load_tile and store_tile of images (im2col) and of rows from anywhere (gather, scatter)."""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import Im2col, Kernel, KernelBuilder, bf16, f32, im2col_map, u32
from nvgen.testing import Launch, kernel_test
from tests.each import each

PIXELS = 16


def pixels(channels: int, swizzle: int, offsets: tuple[int, int] | None) -> Kernel:
    """One look of a filter at 16 pixels, through shared memory to rows of `out`.

    Without `offsets` the kernel gets them.
    """
    b = KernelBuilder("pixels", block=32, target="sm_90a")
    b.image_map("images", f32, (PIXELS, channels), swizzle=swizzle)
    b.tile_map("out", f32, (PIXELS, channels), swizzle=swizzle, output=True)
    b.u32("s")
    b.u32("r")
    args = b.begin()
    tap = offsets or (args["s"], args["r"])
    tile = b.shared_tile("tile", f32, (PIXELS, channels), swizzle=swizzle)
    loaded = b.mbarrier("loaded")
    b.make_mbarriers((loaded, 1))
    with b.if_thread(0):
        first = (0, -1, -1, 0)  # channel, W, H, image
        b.prefetch_tile(tile, args["images"], first, offsets=tap)
        b.arrive_expecting(loaded, tile)
        b.load_tile(tile, args["images"], first, loaded, offsets=tap)
        b.wait(loaded, 0)
        b.store_tile(tile, args["out"], (0, 0))
        b.cp_async_bulk_wait_group(0)
    return b.finish()


@pytest.mark.turns(3)
@each("channels, swizzle", [(32, 0), (32, 128), (64, 128), (32, 64)])
@kernel_test(schedules="all", targets="sm_90a")
def test_a_tile_of_pixels_is_what_the_filter_sees(
    launch: Launch, channels: int, swizzle: int
) -> None:
    """Two images of 3 x 4 pixels; the filter's base goes over them, padded by one all around."""
    images = np.arange(1, 2 * 3 * 4 * channels + 1, dtype=np.float32).reshape(2, 3, 4, channels)
    span = (swizzle or 16) // 4
    box = Im2col((-1, -1), (-1, -1), span, PIXELS)
    out = np.full((PIXELS, channels), np.nan, np.float32)
    expected = np.zeros_like(out)
    bases = [(n, h, w) for n in range(2) for h in range(-1, 2) for w in range(-1, 3)]
    for row, (n, h, w) in enumerate(bases[:PIXELS]):
        if h + 2 < 3 and w + 1 < 4:
            expected[row] = images[n, h + 2, w + 1]
    for offsets in ((1, 2), None):
        kernel = pixels(channels, swizzle, offsets)
        launch(kernel, im2col_map(images, box, swizzle), out, 1, 2, grid=1, block=32)
        assert np.array_equal(out, expected)


@each("rank", [3, 5])
@kernel_test(schedules="all", targets="sm_90a")
def test_lines_and_volumes_there_and_back(launch: Launch, rank: int) -> None:
    """Images of one and of three dimensions without a filter: a tile is consecutive pixels."""
    b = KernelBuilder("pixels", block=32, target=launch.target)
    for name in ("images", "copies"):
        b.image_map(name, f32, (PIXELS, 32), rank=rank, output=name == "copies")
    args = b.begin()
    tile, loaded = b.shared_tile("tile", f32, (PIXELS, 32)), b.mbarrier("loaded")
    b.make_mbarriers((loaded, 1))
    with b.if_thread(0):
        first, none = (0,) * rank, (0,) * (rank - 2)
        b.arrive_expecting(loaded, tile)
        b.load_tile(tile, args["images"], first, loaded, offsets=none)
        b.wait(loaded, 0)
        copies = args["copies"]
        b.cp_async_bulk_tensor_s2g_im2col(copies, first, tile.pointer)
        b.cp_async_bulk_commit_group()
        b.cp_async_bulk_wait_group(0)
    sizes = {3: (8,), 5: (2, 2, 2)}[rank]
    images = np.random.default_rng(rank).standard_normal((2, *sizes, 32)).astype(np.float32)
    copied = np.zeros_like(images)
    box = Im2col((0,) * (rank - 2), (0,) * (rank - 2), 32, PIXELS)
    launch(b.finish(), im2col_map(images, box, 128), im2col_map(copied, box, 128))
    assert np.array_equal(copied, images)


def rows(k: int, swizzle: int, *, scatter: bool) -> Kernel:
    """Rows whose numbers a list has come together in a tile, or are spread from there."""
    b = KernelBuilder("rows", block=32, target="sm_100a")
    b.row_map("far", bf16, k, swizzle=swizzle, output=scatter)
    b.tile_map("near", bf16, (PIXELS, k), swizzle=swizzle, output=not scatter)
    b.pointer("list", u32)
    args = b.begin()
    tile = b.shared_tile("tile", bf16, (PIXELS, k), swizzle=swizzle)
    loaded = b.mbarrier("loaded")
    b.make_mbarriers((loaded, 1))
    with b.if_thread(0):
        numbers = [args["list"][i] for i in range(PIXELS)]
        there, here = (0, numbers), (0, 0)
        source, at, target, to = (
            (args["near"], here, args["far"], there)
            if scatter
            else (args["far"], there, args["near"], here)
        )
        b.prefetch_tile(tile, source, at)
        b.arrive_expecting(loaded, tile)
        b.load_tile(tile, source, at, loaded)
        b.wait(loaded, 0)
        b.store_tile(tile, target, to)
        b.cp_async_bulk_wait_group(0)
    return b.finish()


@pytest.mark.turns(3)
@each("k, swizzle", [(64, 128), (128, 128), (32, 64), (16, 32)])
@kernel_test(schedules="all", targets="sm_100a")
def test_rows_come_from_anywhere(launch: Launch, k: int, swizzle: int) -> None:
    far = np.arange(40 * k).reshape(40, k).astype(bf16.numpy)
    chosen = np.array([3, 39, 3, 0, *range(20, 32)], np.uint32)
    near = np.zeros((PIXELS, k), bf16.numpy)
    launch(rows(k, swizzle, scatter=False), far, near, chosen, grid=1, block=32)
    assert np.array_equal(near, far[chosen])


@each("k, swizzle", [(64, 128), (128, 128)])
@kernel_test(schedules="all", targets="sm_100a")
def test_rows_go_anywhere(launch: Launch, k: int, swizzle: int) -> None:
    near = np.arange(PIXELS * k).reshape(PIXELS, k).astype(bf16.numpy)
    chosen = np.array([3, 39, 4, 0, *range(20, 32)], np.uint32)
    far = np.zeros((40, k), bf16.numpy)
    expected = far.copy()
    expected[chosen] = near
    launch(rows(k, swizzle, scatter=True), far, near, chosen, grid=1, block=32)
    assert np.array_equal(far, expected)


# ---- refusals ----------------------------------------------------------------------------------


def refused(kind: str, at: object, **named: object) -> InputError:
    b = KernelBuilder("k", block=32, target="sm_100a")
    b.image_map("images", f32, (PIXELS, 32))
    b.row_map("rows", f32, 32)
    args = b.begin()
    tile, loaded = b.shared_tile("tile", f32, (PIXELS, 32)), b.mbarrier("loaded")
    with pytest.raises(InputError) as caught, b.if_thread(0):
        b.load_tile(tile, args[kind], at, loaded, **named)
    return caught.value


@each(
    "kind, at, named, text",
    [
        ("images", (0, 0, 0, 0), {}, "offsets within a filter"),
        ("images", (0, 0, 0, 0), {"offsets": (1,)}, "offsets within a filter"),
        ("images", (0, 0), {"offsets": (1, 1)}, "pixels of images of images do not make"),
        ("rows", (0, [1, 2, 3, 4]), {}, "four at once"),
        ("rows", (0, 0), {}, "four at once"),
        ("rows", (0, [0] * PIXELS), {"offsets": (1, 1)}, "offsets within a filter"),
    ],
)
def test_what_makes_no_copies_is_refused(
    kind: str, at: object, named: dict[str, object], text: str
) -> None:
    (found,) = refused(kind, at, **named).findings
    assert text in found.message
    assert found.place is not None
    assert found.place.file == __file__


def test_a_map_of_images_is_made_as_the_kernel_wants_it() -> None:
    images = np.zeros((2, 3, 4, 32), np.float32)
    compiled, out = pixels(32, 128, (0, 0)).compile(), np.zeros((PIXELS, 32), np.float32)
    few = im2col_map(images, Im2col((-1, -1), (-1, -1), 32, 8), 128)
    for given in (images, few):
        with pytest.raises(InputError, match="'images' is a tensor map of images"):
            compiled.run(given, out)


def test_what_no_tensor_map_has_names_the_parameter() -> None:
    b = KernelBuilder("copy", block=32, target="sm_90a")
    b.tile_map("keys", bf16, (64, 64), rank=3)
    b.begin()
    with pytest.raises(InputError, match="tensor map 'keys': the box has another rank"):
        b.finish().compile().run(np.zeros((64, 64), bf16.numpy))
