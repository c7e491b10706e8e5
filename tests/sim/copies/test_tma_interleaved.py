"""Copies of tensors whose channels are interleaved: N x C / 8 x H x W x 8, in slices of 16 bytes.

The manual names the layouts and no more.  What is expected is what an H100
does: a coordinate of W counts slices, a box brings one slice of channels whatever it says there,
slices lie one behind the other, W first, and swizzling changes their places by their addresses
alone.  PTX ISA, Tensors, Interleave layout.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from intrinsics.findings import InputError
from intrinsics.tma.fields import Interleave
from nvgen.launching.tensor_map import Options, TensorMap, tensor_map
from tests.sim.copies import test_tma
from tests.sim.copies.test_tma import SIZE
from tests.sim.copies.tma_launches import COMPLETE, loaded, loading, stored
from tests.sim.layouts import swizzled
from tests.sim.ptx import SCHEDULES, findings
from tests.turns import examples

SLICE = {Interleave.B16: 16, Interleave.B32: 32}


def tensor(shape: tuple[int, ...], size: int) -> NDArray[np.uint16]:
    """Slices of `size` bytes, all elements different (modulo 60,000) and none of them 0."""
    count = int(np.prod(shape)) * size // 2
    numbers = (np.arange(count) % 60000 + 1).astype(np.uint16)
    return numbers.reshape(*shape, size // 2)


def places(
    shape: tuple[int, ...], box: tuple[int, ...], start: tuple[int, ...], size: int, span: int
) -> list[tuple[tuple[int, ...] | None, int, int]]:
    """For each 16 bytes of a box: the slice (None outside), where in it, and where in memory.

    Everything is outermost first: N, C / 8, …, H, W.
    """
    found, at = [], 0
    brought = (box[0], 1, *box[2:])
    for index in itertools.product(*map(range, brought)):
        here = tuple(s + i for s, i in zip(start, index, strict=True))
        inside = all(0 <= x < n for x, n in zip(here, shape, strict=True))
        for piece in range(0, size, 16):
            found.append((here if inside else None, piece, swizzled(at, span)))
            at += 16
    return found


@st.composite
def interleaved_copies(draw: st.DrawFn):
    """Shape, box and start without the slice; how it is interleaved, and the swizzling."""
    rank = draw(st.integers(3, 5))
    which = draw(st.sampled_from(list(SLICE)))
    shape = (*(draw(st.integers(1, 4)) for _ in range(rank - 1)), draw(st.integers(1, 12)))
    box = (*(draw(st.integers(1, 3)) for _ in range(rank - 1)), draw(st.sampled_from([8, 16])))
    start = tuple(draw(st.integers(-2, n)) for n in shape)
    span = draw(st.sampled_from([0, 32, 64, 128]))
    assume(int(np.prod((box[0], *box[2:]))) * SLICE[which] <= test_tma.SIZE)
    return which, shape, box, start, span


def map_of(
    array: NDArray[np.uint16], which: Interleave, box: tuple[int, ...], span: int
) -> TensorMap:
    return tensor_map(array, box, span, Options(interleave=which))


@pytest.mark.gpu
@examples(150)
@given(interleaved_copies(), st.sampled_from(SCHEDULES))
def test_a_copy_brings_one_slice_of_channels(copy, schedule: str) -> None:
    which, shape, box, start, span = copy
    size = SLICE[which]
    array = tensor(shape, size)
    map_ = map_of(array, which, box, span)
    coords = start[::-1]
    name = f"{len(shape)}d.shared::cluster.global.tile{COMPLETE}"
    found = loaded(loading(name, coords, "", map_.box_bytes), map_, schedule)
    expected = np.full(test_tma.SIZE, test_tma.FILLER, np.uint8)
    for slice_, piece, at in places(shape, box, start, size, span):
        bytes_ = np.zeros(16, np.uint8)
        if slice_ is not None:
            bytes_ = array[slice_].view(np.uint8)[piece : piece + 16]
        expected[at : at + 16] = bytes_
    assert np.array_equal(found, expected)


@pytest.mark.gpu
@examples(90)
@given(interleaved_copies(), st.sampled_from(SCHEDULES))
def test_a_store_puts_it_back(copy, schedule: str) -> None:
    which, shape, box, start, span = copy
    start = tuple(max(0, s) for s in start)
    size = SLICE[which]
    target = tensor(shape, size)
    expected = target.copy()
    image = ((np.arange(SIZE) * 13 + np.arange(SIZE) // 256) % 253).astype(np.uint8)
    for slice_, piece, at in places(shape, box, start, size, span):
        if slice_ is not None:
            expected[slice_].view(np.uint8)[piece : piece + 16] = image[at : at + 16]
    coords = ", ".join(map(str, start[::-1]))
    statement = (
        f"cp.async.bulk.tensor.{len(shape)}d.global.shared::cta.tile.bulk_group"
        f" [%m0, {{{coords}}}], [tile];"
    )
    stored(statement, map_of(target, which, box, span), image, schedule)
    assert np.array_equal(target, expected)


def test_the_last_dimension_is_a_slice() -> None:
    with pytest.raises(InputError, match="no slice of interleaved channels"):
        tensor_map(np.zeros((2, 3, 4, 16), np.uint16), (1, 1, 8), 0,
                   Options(interleave=Interleave.B16))  # fmt: skip


def test_images_of_interleaved_channels_are_refused() -> None:
    from intrinsics.tma.rules import Im2col
    from nvgen.launching.tensor_map import im2col_map

    array = tensor((2, 3, 5, 6, 8), 16)
    images = Im2col((0, 0, 0), (0, 0, 0), 8, 8)
    map_ = im2col_map(array, images, 0, Options(interleave=Interleave.B16))
    name = f"5d.shared::cluster.global.im2col{COMPLETE}"
    body = loading(name, (0, 0, 0, 0, 0), ", {0, 0, 0}", 128)
    found = findings(body, map_, np.zeros(test_tma.SIZE, np.uint8), variables=test_tma.VARIABLES)
    assert found[0].rule == "sim/not-simulated"
