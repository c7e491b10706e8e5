"""What the driver is asked for a tensor map: its own enums and argument order, without a GPU.

NVIDIA's bindings bring the enums; the functions, which need a driver, are stood in for.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from intrinsics.tma.fields import Element, Fill, Interleave, L2Promotion, Wide
from intrinsics.tma.rules import Im2col, Request
from nvgen.driver import maps
from nvgen.launching.tensor_map import tensor_map

driver = pytest.importorskip("cuda.bindings.driver", reason="needs cuda-bindings")

TYPES = {
    np.uint8: "UINT8", np.int32: "INT32", np.float16: "FLOAT16", np.float32: "FLOAT32",
    ml_dtypes.bfloat16: "BFLOAT16", ml_dtypes.float8_e4m3fn: "UINT8", np.float64: "FLOAT64",
}  # fmt: skip


def asked(monkeypatch: pytest.MonkeyPatch, request: Request) -> tuple[str, tuple]:
    """Which function of the driver is called with what, its integers as Python's."""
    calls = []
    for name in ("Tiled", "Im2col", "Im2colWide"):
        monkeypatch.setattr(
            driver,
            f"cuTensorMapEncode{name}",
            lambda *given, name=name: calls.append((name, given)),
        )
    maps.encode(request)
    ((name, given),) = calls
    plain = (driver.cuuint32_t, driver.cuuint64_t)
    return name, tuple(
        [int(x) if isinstance(x, plain) else x for x in value] if isinstance(value, list) else value
        for value in given
    )


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_a_tile_of_an_array(monkeypatch: pytest.MonkeyPatch, dtype: type) -> None:
    size = np.dtype(dtype).itemsize
    made = tensor_map(np.zeros((64, 128), dtype), (16, 32 // size), swizzle=32).request
    kind = getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{TYPES[dtype]}")
    assert asked(monkeypatch, made) == (
        "Tiled",
        (
            kind, 2, 0, [128, 64], [128 * size], [32 // size, 16], [1, 1],
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_32B,
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        ),
    )  # fmt: skip


@pytest.mark.parametrize("wide", [None, Wide.W])
def test_images(monkeypatch: pytest.MonkeyPatch, wide: Wide | None) -> None:
    images = Im2col((-1,), (-2,), 64, 96, wide)
    request = Request(
        Element("BFLOAT16"), (64, 30, 8), (128, 3840), im2col=images, element_strides=(1, 2, 1),
        interleave=Interleave.NONE, l2=L2Promotion.B256, fill=Fill.NANS, address=256,
    )  # fmt: skip
    corners: tuple = ([-1], [-2]) if wide is None else (-1, -2)
    modes = (
        () if wide is None else (driver.CUtensorMapIm2ColWideMode.CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,)
    )
    assert asked(monkeypatch, request) == (
        "Im2col" if wide is None else "Im2colWide",
        (
            driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, 256,
            [64, 30, 8], [128, 3840], *corners, 64, 96, [1, 2, 1],
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE, *modes,
            driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE,
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
        ),
    )  # fmt: skip


@pytest.mark.parametrize("element", Element)
def test_every_type_is_one_of_the_drivers(
    monkeypatch: pytest.MonkeyPatch, element: Element
) -> None:
    _, given = asked(monkeypatch, Request(element, (64, 8), (256,), (16, 4)))
    assert given[0].name == f"CU_TENSOR_MAP_DATA_TYPE_{element.value}"
