"""Tensor maps to ask for: each limit alone, crossed choices, and random ones nearly legal.

Written from the CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, without a look
at the rules that they judge.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.tma.fields import Element, Fill, Interleave, L2Promotion
from intrinsics.tma.rules import Im2col, Request

ADDRESS = 0x7F00_0000_0000
"""Where the tensors begin; the driver does not look there."""

SEEDS = range(7, 13)
"""Random requests that are recorded: so many, of each seed."""

OF_A_SEED = 4000

_DIMS = (1, 2, 7, 64, 127, 128, 256, 300, 4096, 0, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32)
_STRIDES = (16, 32, 48, 64, 128, 512, 4096, 8, 24, 1 << 39, (1 << 40) - 16, 1 << 40)


def drawn(dice: random.Random) -> Request:
    """A request whose parameters are legal more often than not."""
    element = dice.choice(list(Element))
    rank = dice.choice((1, 2, 3, 3, 4, 5))
    interleave = dice.choice((Interleave.NONE, Interleave.NONE, *Interleave))
    inner = dice.choice((16, 32, 64, 128, 128, 8, 24, 256)) * 8 // element.bits
    dims = tuple(dice.choice(_DIMS[: 9 if dice.random() < 0.8 else None]) for _ in range(rank))
    if dice.random() < 0.7:
        dims = (256, *dims[1:])
    images = None
    if rank >= 3 and dice.random() < 0.4:
        images = _images(dice, rank, min(inner, 300))
    few = 6 if dice.random() < 0.8 else None
    return Request(
        element,
        dims,
        tuple(dice.choice(_STRIDES[:few]) for _ in range(rank - 1)),
        () if images else (min(inner, 400), *(dice.choice((1, 8, 256, 257, 0)[: 3 if few else None])
                                              for _ in range(rank - 1))),
        tuple(dice.choice((1, 1, 2, 8, 9, 0)[: 4 if few else None]) for _ in range(rank)),
        interleave,
        dice.choice(list(Swizzle)),
        dice.choice(list(L2Promotion)),
        dice.choice((Fill.ZEROS, Fill.ZEROS, Fill.NANS)),
        images,
        ADDRESS + dice.choice((0, 0, 0, 16, 32, 8)),
    )  # fmt: skip


def _images(dice: random.Random, rank: int, inner: int) -> Im2col:
    limit = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}[rank]
    ends = (0, 0, -1, 1, limit - 1, -limit, limit, -limit - 1)[: 4 if dice.random() < 0.7 else None]
    lower = tuple(dice.choice(ends) for _ in range(rank - 2))
    upper = tuple(dice.choice(ends) for _ in range(rank - 2))
    return Im2col(lower, upper, inner, dice.choice((1, 16, 128, 1024, 1025, 0)))


def plain() -> Request:
    """A request that everybody takes."""
    return Request(Element.F16, (256, 256, 256), (512, 131072), (64, 8, 8), address=ADDRESS)


def single_changes() -> Iterator[Request]:
    """One parameter at a time set to its limits and beyond."""
    base = plain()
    for element in Element:
        yield replace(base, element=element, box=(128 if element.bits < 8 else 16, 8, 8))
    for n in _DIMS:
        yield replace(base, dims=(256, n, 256))
    for n in (0, *_STRIDES):
        yield replace(base, strides=(n, 131072))
    for n in (0, 1, 255, 256, 257):
        yield replace(base, box=(64, n, 8))
    for inner in (1, 4, 8, 12, 16, 256, 264):
        for swizzle in Swizzle:
            yield replace(base, box=(inner, 8, 8), swizzle=swizzle)
    for n in (0, 1, 2, 8, 9):
        yield replace(base, element_strides=(1, n, 1))
        yield replace(base, element_strides=(n, 1, 1))
    for interleave in Interleave:
        for swizzle in Swizzle:
            yield replace(base, interleave=interleave, swizzle=swizzle, box=(16, 8, 8))
    for fill in Fill:
        for element in Element:
            yield replace(
                base, element=element, fill=fill, box=(128 if element.bits < 8 else 8, 8, 8)
            )
    for lower in (-32769, -32768, -1, 0, 255, 256, 257, 32767, 32768):
        images = Im2col((lower,), (0,), 64, 16)
        yield replace(base, box=(), im2col=images)
        yield replace(base, box=(), im2col=replace(images, lower=(0,), upper=(-lower,)))
    for channels in (0, 4, 8, 12, 256, 257):
        yield replace(base, box=(), im2col=Im2col((0,), (0,), channels, 16))
    for pixels in (0, 1, 1023, 1024, 1025):
        yield replace(base, box=(), im2col=Im2col((0,), (0,), 64, pixels))


_STRIDES_OF = (512, 512 * 256, 512 * 256**2, 512 * 256**3)
_LENGTHS = (0, 4, 8, 12, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 512, 1024)
_LIMITS = (0, 8, 16, 24, 32, 48, 64, 512, 1024, 1 << 39, (1 << 40) - 32, (1 << 40) - 16, 1 << 40)


def cube(rank: int) -> Request:
    """256 elements in each dimension, a small box."""
    box = (16,) + (4,) * (rank - 1)
    return Request(Element.F16, (256,) * rank, _STRIDES_OF[: rank - 1], box, address=ADDRESS)


def layouts() -> Iterator[Request]:
    """Interleaving by swizzling, crossed with rows, ranks, addresses and strides."""
    elements = (Element.U8, Element.F16, Element.F32, Element.F64, Element.BF16, Element.TF32)
    for interleave, swizzle in itertools.product(Interleave, Swizzle):
        for element, size in itertools.product(elements, _LENGTHS):
            inner = size * 8 // element.bits
            dims, strides = (1024, 256, 256), (4096, 4096 * 256)
            tiles = Request(
                element, dims, strides, (inner, 8, 8), (), interleave, swizzle, address=ADDRESS
            )
            yield tiles
            yield replace(tiles, box=(), im2col=Im2col((0,), (0,), inner, 16))
        for rank in range(1, 6):
            base = replace(cube(rank), interleave=interleave, swizzle=swizzle)
            yield base
            for offset in (0, 8, 16, 32, 64):
                yield replace(base, address=ADDRESS + offset)
            for stride, at in itertools.product(_LIMITS, range(rank - 1)):
                strides = (*base.strides[:at], stride, *base.strides[at + 1 :])  # type: ignore[assignment]
                yield replace(base, strides=strides)


def element_strides() -> Iterator[Request]:
    """Element strides at each dimension, for tiles and images."""
    for interleave, at, step in itertools.product(Interleave, range(3), range(12)):
        swizzle = Swizzle.B32 if interleave is Interleave.B32 else Swizzle.NONE
        steps = (*(1,) * at, step, *(1,) * (2 - at))
        for extent, element in itertools.product(
            (1, 2, 4, 8, 16, 64, 128, 255, 256), (Element.F16, Element.U8)
        ):
            box = [8, 4, 4]
            box[at] = extent
            yield replace(
                cube(3), element=element, box=tuple(box), element_strides=steps,
                interleave=interleave, swizzle=swizzle,
            )  # fmt: skip
        images = Im2col((0,), (0,), 16, 16)
        yield replace(
            cube(3), box=(), element_strides=steps, interleave=interleave, swizzle=swizzle,
            im2col=images,
        )  # fmt: skip


def sizes() -> Iterator[Request]:
    """Boxes and dimensions at their limits, and boxes at the limit of shared memory."""
    for x, y, z in itertools.product((0, 1, 8, 255, 256, 257), repeat=3):
        inner = x * 16 if x * 16 <= 256 else x
        yield replace(cube(3), element=Element.U8, box=(inner, y, z))
    for n in (0, 1, 2, 3, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1):
        for at in range(3):
            dims = (*(256,) * at, n, *(256,) * (2 - at))
            yield replace(cube(3), dims=dims, box=(64, 8, 8))


def corners() -> Iterator[Request]:
    """Bounding boxes of images whose corners lie at their limits."""
    lowest = (
        -40000,
        -32769,
        -32768,
        -129,
        -128,
        -17,
        -16,
        -1,
        0,
        1,
        15,
        16,
        127,
        128,
        32767,
        32768,
    )
    highest = (-300, -257, -256, -255, -32768, -128, -16, 0, 15, 16, 127, 128, 300, 32767, 32768)
    for rank, lower, upper in itertools.product((3, 4, 5), lowest, highest):
        images = Im2col((lower,) * (rank - 2), (upper,) * (rank - 2), 64, 16)
        yield replace(cube(rank), box=(), im2col=images)


def fills() -> Iterator[Request]:
    """What stands outside of the tensor, and L2's promotion, for each type."""
    for fill, element, l2 in itertools.product(Fill, Element, L2Promotion):
        inner = 128 if element.bits < 8 else 16
        yield replace(cube(3), element=element, box=(inner, 8, 8), l2=l2, fill=fill)


def random_requests(seed: int, count: int = OF_A_SEED) -> list[Request]:
    """Requests by lot."""
    dice = random.Random(seed)
    return [drawn(dice) for _ in range(count)]


def recorded_requests() -> list[Request]:
    """All of them, in the order of the record."""
    of_seeds = [r for seed in SEEDS for r in random_requests(seed)]
    families = (layouts(), element_strides(), sizes(), corners(), fills())
    return [*single_changes(), *of_seeds, *itertools.chain(*families)]
