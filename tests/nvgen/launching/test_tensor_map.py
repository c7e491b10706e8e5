"""Tensor maps: the requirements of cuTensorMapEncodeTiled in the CUDA driver API."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import InputError
from nvgen.launching.tensor_map import tensor_map
from tests.each import each


def test_what_the_driver_is_told_begins_with_the_innermost_dimension() -> None:
    """globalDim, globalStrides (bytes, without the innermost) and boxDim, each in that order."""
    map_ = tensor_map(np.zeros((3, 5, 64), np.float16), (1, 4, 32), swizzle=64)
    assert map_.dims == (64, 5, 3)
    assert map_.strides == (64 * 2, 64 * 2 * 5)
    assert map_.box == (32, 4, 1)
    assert map_.swizzle is Swizzle.B64
    assert (map_.item_size, map_.row_bytes, map_.box_bytes) == (2, 64, 64 * 4)


def test_a_view_has_the_strides_of_what_it_views() -> None:
    whole = np.zeros((8, 64), np.float32)
    map_ = tensor_map(whole[::2, 16:48], (4, 32))
    assert (map_.dims, map_.strides) == ((32, 4), (2 * 64 * 4,))


@pytest.mark.parametrize(
    "dtype",
    [np.uint8, np.int64, np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn],
)
def test_elements_of_one_to_eight_bytes(dtype: type) -> None:
    assert tensor_map(np.zeros((2, 16), dtype), (2, 16)).item_size == np.dtype(dtype).itemsize


F32 = np.zeros((8, 64), np.float32)
REFUSED = {
    "no dimension": (np.float32(1), (), 0, "rank"),
    "six dimensions": (np.zeros((1,) * 5 + (4,), np.float32), (1,) * 5 + (4,), 0, "rank"),
    "another rank": (F32, (64,), 0, "box"),
    "box of 0": (F32, (0, 64), 0, "box"),
    "box of 257": (np.zeros((300, 64), np.float32), (257, 64), 0, "box"),
    "rows of 12 bytes": (F32, (8, 3), 0, "box-bytes"),
    "stride of 20 bytes": (np.zeros((8, 5), np.float32), (8, 4), 0, "stride"),
    "reversed": (F32[::-1], (8, 64), 0, "stride"),
    "transposed": (F32.T, (64, 8), 0, "packed"),
    "every second": (F32[:, ::2], (8, 32), 0, "packed"),
    "no such swizzle": (F32, (8, 4), 16, "swizzle"),
    "wider than the swizzle": (F32, (8, 16), 32, "swizzle-span"),
    "wider than any swizzle": (F32, (8, 64), 128, "swizzle-span"),
    "16 bytes an element": (np.zeros((8, 64), np.complex128), (8, 1), 0, "element"),
    "text": (np.zeros((8, 64), "U1"), (8, 4), 0, "element"),
    "nothing": (np.zeros((0, 64), np.float32), (8, 64), 0, "empty"),
}


@each("array, box, swizzle, rule", REFUSED.values(), ids=REFUSED)
def test_what_the_driver_would_refuse(
    array: np.ndarray, box: tuple[int, ...], swizzle: int, rule: str
) -> None:
    with pytest.raises(InputError) as caught:
        tensor_map(np.asarray(array), box, swizzle)
    findings = caught.value.findings
    assert f"tensor-map/{rule}" in [f.rule for f in findings]
    assert all(f.got and f.expected and "cuTensorMapEncodeTiled" in f.section for f in findings)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as caught:
        tensor_map(np.zeros((8, 5), np.float32), (300, 3), 48)
    assert {f.rule.partition("/")[2] for f in caught.value.findings} == {
        "swizzle", "box", "stride", "box-bytes",
    }  # fmt: skip
