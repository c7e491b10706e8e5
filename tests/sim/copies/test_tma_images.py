"""Tensor copies of images, im2col and w128: which pixels are copied, against loops over them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from intrinsics.tma.fields import Wide
from intrinsics.tma.rules import Im2col
from nvgen.launching.tensor_map import Options, TensorMap, im2col_map, tensor_map
from tests.sim.copies import test_tma
from tests.sim.copies.tma_launches import COMPLETE, SIZE, image, in_shared, loaded, loading
from tests.sim.ptx import SCHEDULES, findings
from tests.turns import examples


def pixels_of(
    array: NDArray[np.generic],
    images: Im2col,
    base: tuple[int, ...],
    offsets: tuple[int, ...],
    steps: tuple[int, ...],
    channel: int,
) -> NDArray[np.generic]:
    """Pixels x channels of a copy; everything is given outermost first, `base` and `steps` with N.

    A dimension goes on from the base by its step, and begins anew where the box begins.
    """
    spatial = array.shape[1:-1]
    lows = images.lower[::-1]
    ends = [n + high for n, high in zip(spatial, images.upper[::-1], strict=True)]
    found = np.zeros((images.pixels, images.channels), array.dtype)
    n, *pixel = base
    for row in range(images.pixels):
        at = (n, *(p + o for p, o in zip(pixel, offsets, strict=True)))
        if all(0 <= x < size for x, size in zip(at, array.shape[:-1], strict=True)):
            values = array[at][channel : channel + images.channels]
            found[row, : len(values)] = values
        for axis in reversed(range(len(pixel))):
            pixel[axis] += steps[1 + axis]
            if pixel[axis] < ends[axis]:
                break
            pixel[axis] = lows[axis]
        else:
            n += steps[0]
    return found


@st.composite
def im2col_copies(draw: st.DrawFn):
    """Images, a map of them, where a copy begins, offsets within the filter, and steps."""
    spatial = draw(st.integers(1, 3))
    shape = (draw(st.integers(1, 2)), *(draw(st.integers(1, 5)) for _ in range(spatial)), 32)
    lower = [draw(st.integers(-2, 1)) for _ in range(spatial)]
    upper = [draw(st.integers(-2, 2)) for _ in range(spatial)]
    sizes = [n + u - low for n, low, u in zip(shape[1:-1], lower, upper, strict=True)]
    assume(all(n > 0 for n in sizes))
    span = draw(st.sampled_from([0, 32, 64]))
    channels = draw(st.sampled_from([8, 16] if span == 32 else [8, 16, 32]))
    images = Im2col(tuple(lower[::-1]), tuple(upper[::-1]), channels, draw(st.integers(1, 40)))
    steps = [draw(st.integers(1, 3)) for _ in range(spatial + 1)]
    base = [low + draw(st.integers(0, n - 1)) for low, n in zip(lower, sizes, strict=True)]
    offsets = tuple(draw(st.integers(0, 3)) for _ in range(spatial))
    start = (draw(st.integers(0, shape[0])), *base)
    return shape, images, start, offsets, tuple(steps), draw(st.integers(-1, 4)) * 8, span


@pytest.mark.gpu
@examples(180)
@given(im2col_copies(), st.sampled_from(SCHEDULES))
def test_an_im2col_copy_goes_through_the_pixels_of_its_box(copy, schedule: str):
    shape, images, start, offsets, steps, channel, span = copy
    assume(channel >= 0)
    array = image(shape)
    map_ = im2col_map(array, images, span, Options(element_strides=(*steps, 1)))
    coords = (channel, *start[::-1])
    behind = ", {" + ", ".join(map(str, offsets[::-1])) + "}"
    name = f"{len(shape)}d.shared::cluster.global.im2col{COMPLETE}"
    expected = pixels_of(array, images, start, offsets, steps, channel)
    seen = loaded(loading(name, coords, behind, map_.box_bytes), map_, schedule)
    assert np.array_equal(seen, in_shared(expected, span))


PUBLISHED = {
    "all": ((0, 0), (0, 0), (0, 0, 0), (0, 0), 1, list(range(1, 17))),
    "padded": (
        (-1, -1), (-1, -1), (0, -1, -1), (0, 0), 1,
        [0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11],
    ),
    "moved": ((-1, -1), (-1, -1), (0, -1, -1), (1, 1), 1, list(range(1, 17))),
    "two images": ((0, 0), (0, 0), (0, 1, 3), (0, 0), 2, list(range(8, 24))),
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("case", PUBLISHED.values(), ids=PUBLISHED)
def test_published_im2col_copies(case):
    """Images of 4 x 4 pixels with 32 equal channels, numbered from 1; 16 pixels are brought."""
    lower, upper, (n, h, w), (oh, ow), count, expected = case
    numbers = np.arange(1, 16 * count + 1, dtype=np.float32)
    array = np.repeat(numbers, 32).reshape(count, 4, 4, 32)
    map_ = im2col_map(array, Im2col(lower, upper, 32, 16), 128)
    name = f"4d.shared::cluster.global.im2col{COMPLETE}"
    body = loading(name, (0, w, h, n), f", {{{ow}, {oh}}}", map_.box_bytes)
    rows = np.repeat(np.array(expected, np.float32), 32).reshape(16, 32)
    assert np.array_equal(loaded(body, map_), in_shared(rows, 128))


def test_what_an_im2col_copy_may_not_do():
    array = image((1, 5, 6, 32))
    map_ = im2col_map(array, Im2col((0, 0), (-1, 0), 32, 16), 64)
    name = f"4d.shared::cluster.global.im2col{COMPLETE}"

    def rule(coords: tuple[int, ...], which: TensorMap = map_, of: str = name) -> str:
        behind = ", {0, 0}" if "im2col" in of else ""
        body = loading(of, coords, behind, 1024)
        found = findings(body, which, np.zeros(SIZE, np.uint8), variables=test_tma.VARIABLES)
        return found[0].rule

    assert rule((0, 5, 0, 0)) == "sim/tma-im2col-base"  # the box ends at 4
    assert rule((0, -1, 0, 0)) == "sim/tma-im2col-base"
    assert rule((4, 0, 0, 0)) == "sim/tma-coordinate"  # an innermost coordinate of 8 bytes
    tiles = tensor_map(array, (1, 1, 1, 32))
    assert rule((0, 0, 0, 0), tiles) == "sim/tensor-map-mode"
    tile = name.replace(".im2col", ".tile")
    assert rule((0, 0, 0, 0), map_, tile) == "sim/tensor-map-mode"


def row_pixels(
    array: NDArray[np.generic],
    corners: tuple[int, int],
    start: tuple[int, ...],
    offset: int,
    step: int,
    count: int,
) -> NDArray[np.generic]:
    """What the manual says of im2col::w without a halo; `start` is outermost first, with N.

    Corners and W move by `offset`; the pixels go along W within the box, with D and H held, and
    from there to the next image.
    """
    width, place = array.shape[-2], start[1:-1]
    window = range(corners[0] + offset, width + corners[1] + offset, step)
    visited = [
        (n, w)
        for n in range(array.shape[0] + 200)
        for w in window
        if (n, w) >= (start[0], start[-1] + offset)
    ]
    found = np.zeros((count, array.shape[-1]), array.dtype)
    for row, (n, w) in enumerate(visited[:count]):
        at = (n, *place, w)
        if all(0 <= x < size for x, size in zip(at, array.shape[:-1], strict=True)):
            found[row] = array[at]
    return found


@st.composite
def wide_copies(draw: st.DrawFn):
    """Images with 32 channels, the corners of the row, pixels (0: 128), a start, and an offset."""
    outer = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 2)))]
    shape = (draw(st.integers(1, 4)), *outer, draw(st.integers(1, 9)), 32)
    corners = (draw(st.integers(-2, 1)), draw(st.integers(-2, 2)))
    size = shape[-2] + corners[1] - corners[0]
    assume(size > 0)
    step = draw(st.integers(1, 3))
    first = corners[0] + step * draw(st.integers(0, (size - 1) // step))
    place = [draw(st.integers(-1, n)) for n in outer]
    start = (draw(st.integers(0, shape[0])), *place, first)
    return shape, corners, start, draw(st.integers(0, 4)), step, draw(st.integers(0, 40))


@examples(150)
@given(wide_copies(), st.sampled_from([64, 128]))
def test_a_wide_copy_goes_through_one_row_of_each_image(copy, span: int):
    shape, corners, start, offset, step, pixels = copy
    wide, count = (Wide.W, pixels) if pixels else (Wide.W128, 128)
    assume(count * span <= SIZE)
    array = image(shape)
    images = Im2col((corners[0],), (corners[1],), 32, count, wide)
    steps = (1,) * (len(shape) - 2) + (step, 1)
    map_ = im2col_map(array, images, span, Options(element_strides=steps))
    mode = "im2col::w" if pixels else "im2col::w::128"
    name = f"{len(shape)}d.shared::cluster.global.{mode}{COMPLETE}"
    body = loading(name, (0, *start[::-1]), f", {{0, {offset}}}", map_.box_bytes)
    expected = row_pixels(array, corners, start, offset, step, count)
    assert np.array_equal(loaded(body, map_), in_shared(expected, span))


def test_what_is_not_known_of_wide_copies_is_refused():
    """Which pixels a halo has, and those before the box: the manual shows it in figures only."""
    array = image((3, 5, 6, 32))
    map_ = im2col_map(array, Im2col((0,), (-1,), 32, 16, Wide.W), 64)

    def rule(w: int, behind: str, mode: str = "im2col::w", which: TensorMap = map_) -> str:
        name = f"4d.shared::cta.global.{mode}{COMPLETE}"
        body = loading(name, (0, w, 1, 0), behind, 1024)
        found = findings(body, which, np.zeros(SIZE, np.uint8), variables=test_tma.VARIABLES)
        return found[0].rule if found else ""

    assert rule(0, ", {0, 1}") == ""
    assert rule(0, ", {2, 0}") == "sim/not-simulated"
    assert rule(-1, ", {0, 0}") == "sim/not-simulated"
    assert rule(5, ", {0, 0}") == "sim/tma-im2col-base"
    assert rule(0, ", {0, 0}", "im2col") == "sim/tensor-map-mode"
    whole = im2col_map(array, Im2col((0, 0), (0, 0), 32, 16), 64)
    assert rule(0, ", {0, 0}", which=whole) == "sim/tensor-map-mode"
    longer = im2col_map(array, Im2col((0,), (0,), 32, 16, Wide.W128), 64)
    assert rule(0, ", {0, 0}", which=longer) == "sim/tensor-map-mode"
