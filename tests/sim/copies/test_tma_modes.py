"""Tensor copies beyond tiles: images, four rows, steps between elements, reductions, prefetches.

What an im2col copy brings is said here by loops over images, rows and pixels; the published cases
are those of Triton's tutorial on the mode, which run on Hopper.  PTX ISA, Tensors: im2col mode,
Tiled Mode; cp.reduce.async.bulk.tensor.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from intrinsics.findings import DriverError, Finding, Severity, SimulationError
from intrinsics.tma.fields import Element, Wide
from intrinsics.tma.rules import Im2col
from nvgen.driver.errors import TIMEOUT
from nvgen.launching.tensor_map import Options, TensorMap, im2col_map, tensor_map
from tests.sim.copies import test_tma, test_tma_store
from tests.sim.layouts import tma_tile
from tests.sim.ptx import SCHEDULES, findings, run
from tests.turns import examples

SIZE, FILLER = test_tma.SIZE, test_tma.FILLER


def loading(name: str, coords: tuple[int, ...], behind: str, nbytes: int) -> str:
    """The kernel that fills shared memory, loads with one statement, and shows it."""
    place = ", ".join(map(str, coords))
    statement = f"cp.async.bulk.tensor.{name} [tile], [%m0, {{{place}}}], [bar]{behind};"
    text = re.sub(r"cp\.async\.bulk\.tensor.*?\[bar\];", "COPY", test_tma.KERNEL, flags=re.DOTALL)
    return text.format(count=nbytes).replace("COPY", statement)


def loaded(body: str, map_: TensorMap, schedule: str = "early") -> NDArray[np.uint8]:
    seen = np.zeros(SIZE, np.uint8)
    run(body, map_, seen, variables=test_tma.VARIABLES, schedule=schedule)
    return seen


def in_shared(rows: NDArray[np.generic], span: int) -> NDArray[np.uint8]:
    """Shared memory when it holds these rows and the filler."""
    memory, written = tma_tile(rows, rows.shape, (0, 0), span=span, base=0, size=SIZE)
    return np.where(written, memory, np.uint8(FILLER))


# ---- images ----------------------------------------------------------------------------------

COMPLETE = ".mbarrier::complete_tx::bytes"


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


def image(shape: tuple[int, ...]) -> NDArray[np.uint16]:
    return (np.arange(int(np.prod(shape))) % 60000 + 1).astype(np.uint16).reshape(shape)


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


# ---- images, one row of each -----------------------------------------------------------------


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


# ---- four rows, steps ------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["shared::cluster", "shared::cta"])
@pytest.mark.parametrize("rows", [(1, 7, 3, 0), (5, 5, -1, 20)])
def test_four_rows_that_are_gathered(rows: tuple[int, ...], to: str):
    """The row length is the box's; rows outside of the tensor are zeros."""
    array = image((9, 64))
    map_ = tensor_map(array, (1, 32), 64)
    body = loading(f"2d.{to}.global.tile::gather4{COMPLETE}", (16, *rows), "", 4 * 64)
    padded = {row: array[row, 16:48] if 0 <= row < 9 else np.zeros(32, np.uint16) for row in rows}
    expected = np.stack([padded[row] for row in rows])
    assert np.array_equal(loaded(body, map_), in_shared(expected, 64))


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_steps_between_elements(schedule: str):
    """A box of 9 x 8 with a step of 4 is 3 rows of every fourth row."""
    array = image((30, 64))
    map_ = tensor_map(array, (9, 32), 64, Options(element_strides=(4, 1)))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (0, 2), "", map_.box_bytes)
    assert np.array_equal(loaded(body, map_, schedule), in_shared(array[2:11:4, :32], 64))


def test_boxes_of_several_rows_are_not_gathered():
    array = image((9, 64))
    body = loading(f"2d.shared::cta.global.tile::gather4{COMPLETE}", (0, 1, 2, 3, 4), "", 256)
    map_ = tensor_map(array, (4, 32), 64)
    found = findings(body, map_, np.zeros(SIZE, np.uint8), variables=test_tma.VARIABLES)
    assert found[0].rule == "sim/tma-four-rows"


# ---- stores and reductions -------------------------------------------------------------------


def storing(statement: str) -> str:
    """The kernel that fills shared memory and stores with one statement."""
    pattern = r"cp\.async\.bulk\.tensor.*?\[tile\+\{offset\}\];"
    text = re.sub(pattern, "COPY", test_tma_store.KERNEL, flags=re.DOTALL).format()
    return text.replace("COPY", statement)


def stored(statement: str, map_: TensorMap, values: NDArray[np.generic], schedule: str) -> None:
    image_ = np.zeros(SIZE, np.uint8)
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    image_[: raw.size] = raw
    run(storing(statement), map_, image_, variables=test_tma_store.VARIABLES, schedule=schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_four_rows_that_are_scattered(schedule: str):
    target = image((9, 64))
    expected = target.copy()
    values = image((4, 32)) + np.uint16(5000)
    rows = (8, 2, 30, 5)
    for row, value in zip(rows, values, strict=True):
        if row < 9:
            expected[row, 16:48] = value
    statement = (
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
        f" [%m0, {{16, {', '.join(map(str, rows))}}}], [tile];"
    )
    stored(statement, tensor_map(target, (1, 32)), values, schedule)
    assert np.array_equal(target, expected)


LOST = "neither ended nor failed"


def refusal(launch: Callable[[], None]) -> str:
    """The rule of what ends a launch that the machine refuses.

    Once in five runs of twelve processes on an H200 (24 November 2026) a launch neither ended nor
    failed in a minute, though its process still asked the driver.  A new process is asked once
    more: a fault that gets lost is a warning, and a kernel that hangs fails.
    """
    for turn in range(2):
        with pytest.raises((SimulationError, DriverError)) as caught:
            launch()
        (rule,) = {f.rule for f in caught.value.findings}
        if rule != TIMEOUT:
            return rule
        warnings.warn(f"launch {turn + 1} {LOST}", stacklevel=2)
    return TIMEOUT


@pytest.mark.parametrize(("hangs", "rule"), [(1, "cuda/illegal-instruction"), (2, TIMEOUT)])
def test_a_launch_that_hangs_is_asked_once_more(hangs: int, rule: str):
    answers = [TIMEOUT] * hangs + ["cuda/illegal-instruction"]

    def launch() -> None:
        raise DriverError([Finding(answers.pop(0), Severity.ERROR, "")])

    with pytest.warns(match=LOST):
        assert refusal(launch) == rule


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pixels_that_are_stored(schedule: str):
    """Through the box, from a pixel on; those behind the last image are dropped."""
    target = image((2, 4, 4, 16))
    expected = target.copy()
    values = image((24, 16)) + np.uint16(9000)
    pixels = [(n, h, w) for n in range(3) for h in range(4) for w in range(4)]
    for pixel, value in zip(pixels[pixels.index((0, 3, 1)) :], values, strict=False):
        if pixel[0] < 2:
            expected[pixel] = value
    statement = (
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
        " [%m0, {0, 1, 3, 0}], [tile];"
    )
    map_ = im2col_map(target, Im2col((0, 0), (0, 0), 16, 24))
    stored(statement, map_, values, schedule)
    assert np.array_equal(target, expected)


BEFORE = {
    "a box that begins before the image": ((-1, 0), (0, 0), (0, -1, 0, 0)),
    "a box that ends behind it": ((0, 0), (1, 1), (0, 2, 2, 0)),
    "an image before the first": ((0, 0), (0, 0), (0, 2, 2, -1)),
    "channels before the first": ((0, 0), (0, 0), (-8, 0, 0, 0)),
}


@pytest.mark.gpu
@pytest.mark.filterwarnings(f"default:.*{LOST}")
@pytest.mark.parametrize("case", BEFORE)
def test_pixels_that_are_not_stored(case: str):
    """The copy does not run: on a GPU an illegal instruction."""
    lower, upper, start = BEFORE[case]
    map_ = im2col_map(np.zeros((2, 4, 4, 16), np.uint16), Im2col(lower, upper, 16, 24))
    statement = (
        "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
        f" [%m0, {{{', '.join(map(str, start))}}}], [tile];"
    )
    found = refusal(lambda: stored(statement, map_, image((24, 16)), "early"))
    assert found in ("sim/tma-coordinate", "cuda/illegal-instruction")


def increments(old: NDArray[np.uint32], new: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """PTX ISA, red: .inc"""
    return np.where(old >= new, 0, old + 1).astype(np.uint32)


def decrements(old: NDArray[np.uint32], new: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """PTX ISA, red: .dec"""
    return np.where((old == 0) | (old > new), new, old - 1).astype(np.uint32)


REDUCTIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "inc": increments, "dec": decrements,
}  # fmt: skip
TYPES = [np.uint32, np.int32, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
CASES = [
    *((op, type_) for op in ("add", "min", "max", "and", "or", "xor") for type_ in TYPES),
    *(("min", np.int64), ("max", np.int64)),
    *(("inc", np.uint32), ("dec", np.uint32)),
    *(("add", type_) for type_ in FLOATS),
    *((op, type_) for op in ("min", "max") for type_ in FLOATS[:2]),
]


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "type_"), CASES)
def test_a_reduction_combines_with_what_is_there(op: str, type_: type):
    """Elements inside of the tensor only: the box ends two rows behind it."""
    dice = np.random.default_rng(3)
    dtype = np.dtype(type_)
    if dtype.kind in "iu":
        bits = np.dtype(f"u{dtype.itemsize}")
        old = dice.integers(0, 1 << 8 * dtype.itemsize, (6, 16), bits).view(dtype)
        new = dice.integers(0, 1 << 8 * dtype.itemsize, (8, 16), bits).view(dtype)
        old[0, :8], new[0, :4] = 0, 0
    else:
        old, new = (dice.integers(-200, 200, (n, 16)).astype(dtype) for n in (6, 8))
        old[old == 0], new[new == 0] = 1, 1
    expected = old.copy()
    expected[:] = REDUCTIONS[op](old, new[:6])
    statement = (
        f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group"
        " [%m0, {0, 0}], [tile];"
    )
    stored(statement, tensor_map(old, (8, 16)), new, "random:3")
    assert np.array_equal(old.view(np.uint8), expected.view(np.uint8))


ILLEGAL = [
    *((op, np.int64) for op in ("add", "and", "or", "xor", "inc", "dec")),
    *((op, type_) for op in ("inc", "dec") for type_ in (np.int32, np.uint64, np.float32)),
    *((op, type_) for op in ("min", "max", "and") for type_ in (np.float32, np.float64)),
    *((op, type_) for op in ("or", "xor") for type_ in FLOATS[:2]),
    *(("add", type_) for type_ in (np.uint8, np.uint16)),
]
"""What an H200 (driver 580.159.04, 23 November 2026) calls an illegal instruction."""


@pytest.mark.gpu
@pytest.mark.filterwarnings(f"default:.*{LOST}")
@pytest.mark.parametrize(("op", "type_"), ILLEGAL)
def test_a_reduction_that_the_machine_does_not_have(op: str, type_: type):
    old, new = np.ones((6, 16), type_), np.ones((8, 16), type_)  # type: ignore[var-annotated]
    statement = (
        f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group"
        " [%m0, {0, 0}], [tile];"
    )
    found = refusal(lambda: stored(statement, tensor_map(old, (8, 16)), new, "early"))
    assert found in ("sim/tensor-reduction", "cuda/illegal-instruction")


# ---- elements of 4 and 6 bits ----------------------------------------------------------------


def shown(body: str, nbytes: int) -> str:
    """The kernel, which looks only at the first bytes of each 16 and shows zeros for the others."""
    whole = "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r2];"
    assert whole in body
    part = "ld.shared.v2.u32 {%r5, %r6}, [%r2];\n    mov.u32 %r7, 0;\n    mov.u32 %r8, 0;"
    if nbytes == 12:
        part += "\n    ld.shared.u32 %r7, [%r2+8];"
    return body.replace(whole, part)


PADDED = {Element.U4_ALIGN16: 8, Element.U6_ALIGN16: 12}
"""Bytes of 16 elements, which lie at multiples of 16 bytes in shared memory."""


@pytest.mark.parametrize("span", [0, 128])
@pytest.mark.parametrize("element", PADDED)
@pytest.mark.parametrize(("column", "row"), [(0, 0), (128, 2), (128, -1), (256, 0)])
def test_padded_elements(element: Element, column: int, row: int, span: int):
    """A gap behind every 16 elements; the mbarrier counts what is copied, and not the gaps.

    CUDA driver API, CUtensorMapDataType; the count is the one that CUTLASS expects for numbers of
    4 bits that are unpacked in shared memory (sizeof_bits of the type in global memory).
    """
    size = PADDED[element]
    array = (np.arange(5 * 16 * size) * 7 % 191 + 1).astype(np.uint8).reshape(5, 16 * size)
    map_ = tensor_map(array, (4, 128), span, Options(element=element))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (column, row), "", 4 * 8 * size)
    pieces = np.zeros((4, 8, 16), np.uint8)
    for line, chunk in itertools.product(range(4), range(8)):
        start = (column // 16 + chunk) * size
        if 0 <= row + line < 5 and start < array.shape[1]:
            pieces[line, chunk, :size] = array[row + line, start : start + size]
    expected = in_shared(pieces.reshape(4, 128), span).reshape(-1, 16)
    expected[:, size:] = 0
    seen = loaded(shown(body, size), map_)
    assert np.array_equal(seen.reshape(-1, 16), expected)


def test_what_stands_between_padded_elements_is_not_known():
    array = np.ones((4, 64), np.uint8)
    map_ = tensor_map(array, (4, 128), 0, Options(element=Element.U4_ALIGN16))
    load = f"2d.shared::cluster.global.tile{COMPLETE}"

    def rule(body: str, variables: str = test_tma.VARIABLES) -> str:
        found = findings(body, map_, np.zeros(SIZE, np.uint8), variables=variables)
        return found[0].rule

    assert rule(loading(load, (0, 0), "", 256)) == "sim/uninitialized"
    assert rule(loading(load, (32, 0), "", 256)) == "sim/tma-coordinate"
    store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m0, {0, 0}], [tile];"
    assert rule(storing(store), test_tma_store.VARIABLES) == "sim/not-simulated"


@pytest.mark.parametrize("span", [0, 32, 64])
@pytest.mark.parametrize(("column", "row"), [(0, 0), (32, 2), (-32, -1), (96, 3)])
def test_elements_of_4_bits_side_by_side(column: int, row: int, span: int):
    """They are the bytes that hold them."""
    array = (np.arange(5 * 64) * 7 % 191 + 1).astype(np.uint8).reshape(5, 64)
    map_ = tensor_map(array, (4, 64), span, Options(element=Element.U4_ALIGN8))
    body = loading(f"2d.shared::cluster.global.tile{COMPLETE}", (column, row), "", 4 * 32)
    expected = np.zeros((4, 32), np.uint8)
    for line, byte in itertools.product(range(4), range(32)):
        y, x = row + line, column // 2 + byte
        if 0 <= y < 5 and 0 <= x < 64:
            expected[line, byte] = array[y, x]
    assert np.array_equal(loaded(body, map_), in_shared(expected, span))


def test_elements_of_4_bits_are_stored():
    target = np.zeros((5, 64), np.uint8)
    values = (np.arange(4 * 32) * 7 % 191 + 1).astype(np.uint8).reshape(4, 32)
    expected = target.copy()
    expected[2:, 16:48] = values[:3]
    statement = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m0, {32, 2}], [tile];"
    map_ = tensor_map(target, (4, 64), 0, Options(element=Element.U4_ALIGN8))
    stored(statement, map_, values, "early")
    assert np.array_equal(target, expected)


# ---- prefetches ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "place", "expected"),
    [
        ("2d.L2.global.tile", "{0, 1}", ""),
        ("3d.L2.global.tile", "{0, 1, 0}", "sim/tensor-map-rank"),
        ("3d.L2.global.im2col", "{0, 1, 0}], {0}", "sim/tensor-map-rank"),
    ],
)
def test_a_prefetch_has_no_effect_and_a_tensor_map(name: str, place: str, expected: str):
    array = image((4, 32))
    before = array.copy()
    end = ";" if "]" in place else "];"
    body = f"cp.async.bulk.prefetch.tensor.{name} [%m0, {place}{end}"
    found = findings(body, tensor_map(array, (1, 32)))
    assert (found[0].rule if found else "") == expected
    assert np.array_equal(array, before)
