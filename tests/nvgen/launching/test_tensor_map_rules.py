"""The requirements of tensor maps, one by one, as the CUDA driver API words them.

Whether the driver agrees, tests/driver/test_tensor_map_gpu.py asks it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import InputError
from intrinsics.tma.fields import Element, Fill, Interleave, Wide
from intrinsics.tma.rules import Im2col, Request, findings
from nvgen.launching.tensor_map import Options, im2col_map, tensor_map
from tests.each import each

PLAIN = Request(Element.F16, (256, 256, 256), (512, 131072), (64, 8, 8), address=1 << 40)
IMAGES = Im2col((-1,), (0,), 64, 16)
WIDE = Im2col((-1,), (0,), 32, 16, Wide.W)

CASES: dict[str, tuple[dict[str, object], str]] = {
    "no dimension": ({"dims": (), "strides": (), "box": ()}, "rank"),
    "six dimensions": ({"dims": (8,) * 6, "strides": (16,) * 5, "box": (8,) + (1,) * 5}, "rank"),
    "interleaved, of two dimensions": (
        {"dims": (64, 8), "strides": (512,), "box": (64, 8), "interleave": Interleave.B16},
        "interleave-rank",
    ),
    "an empty dimension": ({"dims": (256, 0, 256)}, "empty"),
    "too long": ({"dims": (256, (1 << 32) + 1, 2)}, "dimension"),
    "4 bits, 130 in a row": (
        {"element": Element.U4_ALIGN16, "dims": (130, 8, 8), "box": (128, 1, 1)},
        "packed-dimension",
    ),
    "4 bits, 129 in a row": (
        {"element": Element.U4_ALIGN8, "dims": (129, 8, 8)}, "packed-dimension",
    ),
    "an address of 8": ({"address": 8}, "address"),
    "an address of 16, interleaved": (
        {"address": 16, "interleave": Interleave.B32, "swizzle": Swizzle.B32}, "address",
    ),
    "an address of 16, 6 bits": (
        {"address": 16, "element": Element.U6_ALIGN16, "box": (128, 1, 1)}, "address",
    ),
    "a stride of 24": ({"strides": (24, 4096)}, "stride"),
    "a stride of 48, interleaved": (
        {"strides": (48, 4096), "interleave": Interleave.B32, "swizzle": Swizzle.B32}, "stride",
    ),
    "a stride of 1 TiB": ({"strides": (512, 1 << 40)}, "stride-limit"),
    "box of another rank": ({"box": (64, 8)}, "box"),
    "box of 257": ({"box": (64, 257, 1)}, "box"),
    "rows of 24 bytes": ({"box": (12, 8, 8)}, "box-bytes"),
    "rows of 128 bytes, swizzled by 64": ({"swizzle": Swizzle.B64}, "swizzle-span"),
    "6 bits, a box of 64": ({"element": Element.U6_ALIGN16}, "packed-box"),
    "4 bits with gaps, swizzled by 64": (
        {"element": Element.U4_ALIGN16, "box": (128, 1, 1), "swizzle": Swizzle.B64},
        "packed-swizzle",
    ),
    "6 bits, interleaved": (
        {"element": Element.U6_ALIGN16, "box": (128, 1, 1), "interleave": Interleave.B16},
        "packed-interleave",
    ),
    "a step of 9": ({"element_strides": (1, 9, 1)}, "element-stride"),
    "a step of 0": ({"element_strides": (1, 1, 0)}, "element-stride"),
    "a first step of 9": ({"element_strides": (9, 1, 1)}, "element-stride"),
    "rows of 24 bytes, interleaved": (
        {"interleave": Interleave.B16, "box": (12, 8, 8)}, "box-bytes",
    ),
    "more than shared memory": ({"box": (64, 256, 8)}, "box-size"),
    "more pixels than shared memory holds": (
        {"box": (), "im2col": replace(IMAGES, channels=128, pixels=1024)}, "box-size",
    ),
    "atoms of 32 bytes, on sm_90": (
        {"swizzle": Swizzle.B128_ATOM32, "capability": 90}, "swizzle-target",
    ),
    "NaNs for integers": ({"element": Element.U16, "fill": Fill.NANS}, "fill"),
    "images of two dimensions": (
        {"dims": (64, 8), "strides": (128,), "box": (), "im2col": Im2col((), (), 64, 8)},
        "im2col-rank",
    ),
    "two corners in three dimensions": (
        {"box": (), "im2col": replace(IMAGES, lower=(0, 0))}, "im2col-corner",
    ),
    "a corner of 32768": (
        {"box": (), "im2col": replace(IMAGES, lower=(32768,), upper=(32767,))}, "im2col-corner",
    ),
    "a corner of 128 in four dimensions": (
        {
            "dims": (64, 512, 512, 2), "strides": (128, 65536, 1 << 25), "box": (),
            "im2col": Im2col((0, 128), (0, 0), 64, 16),
        },
        "im2col-corner",
    ),
    "a corner of 16 in five dimensions": (
        {
            "dims": (64, 64, 64, 64, 2), "strides": (128, 8192, 1 << 19, 1 << 25), "box": (),
            "im2col": Im2col((0, 0, 16), (0, 0, 0), 64, 16),
        },
        "im2col-corner",
    ),
    "a box without pixels": (
        {"box": (), "im2col": replace(IMAGES, upper=(-257,))}, "im2col-box",
    ),
    "257 channels": (
        {"box": (), "im2col": replace(IMAGES, channels=264)}, "im2col-channels",
    ),
    "1025 pixels": ({"box": (), "im2col": replace(IMAGES, pixels=1025)}, "im2col-pixels"),
    "channels wider than the swizzle": (
        {"box": (), "im2col": IMAGES, "swizzle": Swizzle.B32}, "swizzle-span",
    ),
    "wide, without swizzling": ({"box": (), "im2col": WIDE}, "wide-swizzle"),
    "wide, on sm_90": (
        {"box": (), "im2col": WIDE, "swizzle": Swizzle.B64, "capability": 90}, "wide-target",
    ),
    "4 bits, on sm_90": ({"element": Element.U4_ALIGN8, "capability": 90}, "packed-target"),
}  # fmt: skip


@each("change, rule", CASES.values(), ids=CASES)
def test_a_requirement_that_is_not_met(change: dict[str, object], rule: str) -> None:
    found = findings(replace(PLAIN, **change))
    assert [f.rule for f in found] == [f"tensor-map/{rule}"]
    assert all(f.got and f.expected and f.hint and "cuTensorMapEncode" in f.section for f in found)


LEGAL: dict[str, dict[str, object]] = {
    "as it is": {},
    "the longest": {"dims": (256, 1 << 32, 256)},
    "a box of 256": {"box": (64, 256, 1)},
    "a step of 8": {"element_strides": (1, 8, 1)},
    "a step that leaves so few elements that they fit": {
        "box": (64, 256, 8), "element_strides": (1, 2, 1),
    },
    "a stride of 0: the same row again and again": {"strides": (0, 131072)},
    "interleaved by 32, swizzled by 64": {
        "interleave": Interleave.B32, "swizzle": Swizzle.B64, "box": (16, 8, 8),
    },
    "atoms of 32 bytes, on sm_100": {"swizzle": Swizzle.B128_ATOM32, "capability": 100},
    "interleaved by 32": {
        "interleave": Interleave.B32, "swizzle": Swizzle.B32, "box": (16, 8, 8),
    },
    "NaNs": {"fill": Fill.NANS},
    "6 bits": {"element": Element.U6_ALIGN16, "box": (128, 8, 8), "swizzle": Swizzle.B128},
    "images": {"box": (), "im2col": IMAGES},
    "corners at their limits": {
        "dims": (64, 300, 300, 2), "strides": (128, 65536, 1 << 25), "box": (),
        "im2col": Im2col((-128, 127), (127, -128), 64, 1024),
    },
    "wide": {"box": (), "im2col": WIDE, "swizzle": Swizzle.B64, "capability": 100},
    "wide, as many pixels as it always has": {
        "box": (), "im2col": replace(WIDE, wide=Wide.W128, pixels=4096), "swizzle": Swizzle.B128,
    },
}  # fmt: skip


@each("change", LEGAL.values(), ids=LEGAL)
def test_what_has_all_that_is_required(change: dict[str, object]) -> None:
    assert findings(replace(PLAIN, **change)) == []


def test_images_of_an_array() -> None:
    """N x H x W x C: the driver is told C, W, H, N and the corners with W first."""
    images = Im2col((-1, -2), (1, 2), 32, 16)
    map_ = im2col_map(np.zeros((2, 5, 7, 64), np.float16), images, 64)
    assert map_.request.dims == (64, 7, 5, 2)
    assert map_.request.strides == (128, 7 * 128, 35 * 128)
    assert map_.request.im2col == images
    assert (map_.row_bytes, map_.box_bytes) == (64, 64 * 16)


def test_a_wide_copy_of_128_pixels_ignores_what_a_column_has() -> None:
    array = np.zeros((2, 5, 7, 64), np.float16)
    for wide, pixels in ((Wide.W, 16), (Wide.W128, 128)):
        map_ = im2col_map(array, Im2col((0,), (0,), 32, 16, wide), 64)
        assert map_.box_bytes == 64 * pixels


def test_a_box_that_strides_over_elements_brings_fewer() -> None:
    """ceil(box / stride) of them, but for the innermost dimension."""
    options = Options(element_strides=(3, 2, 1))
    map_ = tensor_map(np.zeros((64, 64, 64), np.float32), (8, 8, 8), options=options)
    assert map_.request.element_strides == (1, 2, 3)
    assert map_.box == (8, 8, 8)
    assert map_.copied == (8, 4, 3)
    assert map_.box_bytes == 8 * 4 * 3 * 4


@pytest.mark.parametrize(
    ("element", "inner"), [(Element.U4_ALIGN8, 512), (Element.U6_ALIGN16, 341)]
)
def test_packed_elements_lie_in_an_array_of_bytes(element: Element, inner: int) -> None:
    array = np.zeros((4, 256), np.uint8)
    options = Options(element=element)
    if inner % 128:
        with pytest.raises(InputError) as caught:
            tensor_map(array, (1, 128), options=options)
        assert [f.rule for f in caught.value.findings] == ["tensor-map/packed-dimension"]
        return
    assert tensor_map(array, (1, 128), options=options).dims == (inner, 4)


def test_elements_of_another_size_than_the_arrays() -> None:
    with pytest.raises(InputError) as caught:
        tensor_map(np.zeros((8, 64), np.float16), (8, 64), options=Options(element=Element.TF32))
    assert [f.rule for f in caught.value.findings] == ["tensor-map/element"]
    map_ = tensor_map(
        np.zeros((8, 64), np.float32), (8, 32), 128, Options(element=Element.TF32_FTZ)
    )
    assert map_.request.element is Element.TF32_FTZ


def test_the_strides_of_a_convolution_are_those_of_the_inner_dimensions() -> None:
    images, array = Im2col((-1, -1), (-1, -1), 64, 16), np.zeros((2, 8, 12, 64), np.float16)
    made = im2col_map(array, images, 128, strides=(2, 3))
    assert made == im2col_map(array, images, 128, Options(element_strides=(1, 2, 3, 1)))
    assert made.element_strides == (1, 3, 2, 1)  # innermost first: C, W, H, N
