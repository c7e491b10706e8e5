"""The rules of tensor maps against the driver: it takes what they take, and refuses the rest.

Random parameters, most of them legal or nearly so, are put to both.  CUDA driver API,
cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from intrinsics.smem_desc import Swizzle
from nvgen.tensor_fields import Element, Fill, Interleave, L2Promotion
from nvgen.tensor_map_rules import Im2col, Request, findings
from tests.oracle.gpu import on_gpu

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda"),
]

ADDRESS = 0x7F00_0000_0000
REQUESTS = 4000
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


def capability() -> int:
    """The compute capability of the GPU that is here: 90 for 9.0."""
    from nvgen.driver.device import open_device

    major, minor = open_device().compute_capability
    return 10 * int(major) + int(minor)


def disagreements(requests: list[Request]) -> list[str]:
    """What one takes and the other does not."""
    from cuda.bindings import driver

    from nvgen.driver.maps import encode

    here, differ = capability(), []
    for request in requests:
        status, *_ = encode(request)
        taken = status == driver.CUresult.CUDA_SUCCESS
        ours = [f.rule for f in findings(replace(request, capability=here))]
        if taken == bool(ours):
            differ.append(f"driver {'takes' if taken else 'refuses'}, rules {ours}: {request}")
    return differ


def test_the_driver_and_the_rules_agree_on_each_limit() -> None:
    differ = disagreements(list(single_changes()))
    assert not differ, "\n".join(differ)


def test_the_driver_and_the_rules_agree_on_random_requests() -> None:
    dice = random.Random(7)
    differ = disagreements([drawn(dice) for _ in range(REQUESTS)])
    assert not differ, f"{len(differ)}\n" + "\n".join(differ[:40])
