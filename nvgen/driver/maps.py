"""Tensor maps as the driver encodes them.

Layer: nvgen.driver.  Input: the parameters of a tensor map.  Output: what the driver answers: its
status, and the map.  CUDA driver API, cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col,
cuTensorMapEncodeIm2colWide.
"""

from __future__ import annotations

import numpy as np

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.tma.rules import Im2col, Request

_SWIZZLES = {
    Swizzle.NONE: "NONE",
    Swizzle.B32: "32B",
    Swizzle.B64: "64B",
    Swizzle.B128: "128B",
    Swizzle.B128_ATOM32: "128B_ATOM_32B",
}


def encode(request: Request) -> tuple[object, ...]:
    """The driver's status for these parameters, and the tensor map if it succeeded."""
    from cuda.bindings import driver

    rank = len(request.dims)
    tensor = (
        _named(driver.CUtensorMapDataType, "DATA_TYPE", request.element.value),
        rank,
        request.address or 0,
        [driver.cuuint64_t(n) for n in request.dims],
        [driver.cuuint64_t(n) for n in request.strides or (16,)],  # no strides: not looked at
    )
    steps = [driver.cuuint32_t(n) for n in request.steps]
    interleave = _named(driver.CUtensorMapInterleave, "INTERLEAVE", request.interleave.value)
    ends = (
        _named(driver.CUtensorMapSwizzle, "SWIZZLE", _SWIZZLES[request.swizzle]),
        _named(driver.CUtensorMapL2promotion, "L2_PROMOTION", request.l2.value),
        _named(driver.CUtensorMapFloatOOBfill, "FLOAT_OOB_FILL", request.fill.value),
    )
    images = request.im2col
    answer: tuple[object, ...]
    if images is None:
        box = [driver.cuuint32_t(n) for n in request.box]
        answer = driver.cuTensorMapEncodeTiled(*tensor, box, steps, interleave, *ends)
    elif images.wide is None:
        pixels = (list(images.lower), list(images.upper), images.channels, images.pixels)
        answer = driver.cuTensorMapEncodeIm2col(*tensor, *pixels, steps, interleave, *ends)
    else:
        row = (images.lower[0], images.upper[0], images.channels, images.pixels)
        mode = _named(driver.CUtensorMapIm2ColWideMode, "IM2COL_WIDE_MODE", images.wide.value)
        answer = driver.cuTensorMapEncodeIm2colWide(*tensor, *row, steps, interleave, mode, *ends)
    return answer


def _named(kind: object, what: str, name: str) -> object:
    """A member of one of the driver's enums, which cannot be asked by subscript."""
    found: object = getattr(kind, f"CU_TENSOR_MAP_{what}_{name}")
    return found


def function_of(images: Im2col | None) -> str:
    """The driver's function that makes such a tensor map."""
    if images is None:
        return "cuTensorMapEncodeTiled"
    return "cuTensorMapEncodeIm2col" + ("Wide" if images.wide else "")


def words_of(encoded: object) -> np.ndarray:
    """The bytes of a tensor map that the driver has made."""
    words = np.array([int(word) for word in getattr(encoded, "opaque")], np.uint64)  # noqa: B009
    return words.view(np.uint8)
