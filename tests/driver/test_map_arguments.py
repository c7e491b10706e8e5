"""What the driver is asked for a tensor map where NVIDIA's bindings are not installed.

The driver is stood in for; the names and the order are those of the CUDA driver API,
cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from intrinsics.findings import NOWHERE, DriverError, error_of
from intrinsics.tma.fields import Element
from intrinsics.tma.rules import Im2col, Request
from nvgen import InputError, KernelBuilder, bf16, f32
from nvgen.driver import device, launch, loaded, maps
from nvgen.driver.jobs import MapOf, Pointer
from nvgen.launching.tensor_map import tensor_map


class _Names:
    """An enum of the driver: every member is its own name."""

    def __getattr__(self, name: str) -> str:
        return name


def asked(monkeypatch: pytest.MonkeyPatch, request: Request) -> tuple[object, ...]:
    """The arguments of the only call of the driver."""
    calls: list[tuple[object, ...]] = []

    def call(*given: object) -> None:
        calls.append(given)

    kinds = ("DataType", "Interleave", "Swizzle", "L2promotion", "FloatOOBfill")
    driver = SimpleNamespace(
        **{f"CUtensorMap{kind}": _Names() for kind in kinds},
        cuuint32_t=int,
        cuuint64_t=int,
        cuTensorMapEncodeTiled=call,
        cuTensorMapEncodeIm2col=call,
    )
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=driver))
    maps.encode(request)
    (given,) = calls
    return given


@pytest.mark.parametrize("span", [32, 64, 128])
def test_a_swizzle_is_the_drivers_of_that_span(monkeypatch: pytest.MonkeyPatch, span: int) -> None:
    request = tensor_map(np.zeros((64, 128), np.float16), (16, span // 2), swizzle=span).request
    assert f"CU_TENSOR_MAP_SWIZZLE_{span}B" in asked(monkeypatch, request)


def test_the_lower_corner_stands_before_the_upper_one(monkeypatch: pytest.MonkeyPatch) -> None:
    images = Im2col((-1,), (-2,), 64, 96)
    request = Request(Element("BFLOAT16"), (64, 30, 8), (128, 3840), im2col=images, address=256)
    _, rank, address, *_, lower, upper, channels, pixels, _, _, _, _, _ = asked(
        monkeypatch, request
    )
    assert (rank, address, lower, upper, channels, pixels) == (3, 256, [-1], [-2], 64, 96)


def test_a_map_is_made_once_for_each_address_and_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def answer(request: Request) -> tuple[str, SimpleNamespace]:
        calls.append((request.address, request.dims, request.element))
        return "success", SimpleNamespace(opaque=[request.address] * 16)

    driver = SimpleNamespace(CUresult=SimpleNamespace(CUDA_SUCCESS="success"))
    monkeypatch.setitem(sys.modules, "cuda", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=driver))
    monkeypatch.setattr(device, "encode", answer)
    monkeypatch.setattr(device, "open_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    device.encoded_map.cache_clear()
    halves, shorter = np.zeros((64, 128), np.float16), np.zeros((32, 128), np.float16)
    wanted = [(halves, 4096), (halves, 8192), (shorter, 4096), (halves.view(np.uint16), 4096)]
    for array, address in wanted * 3:
        value = MapOf(0, tensor_map(array, (16, 64), swizzle=128).request)
        assert device.parameter(value, [address]).view(np.uint64)[0] == address
    device.encoded_map.cache_clear()
    assert calls == [
        (4096, (128, 64), Element.F16),
        (8192, (128, 64), Element.F16),
        (4096, (128, 32), Element.F16),
        (4096, (128, 64), Element.U16),
    ]


def test_a_launch_makes_tensor_maps_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `Compiled.run` does: arrays of numpy stand in for those on a GPU."""
    b = KernelBuilder("copy", block=32, target="sm_90a")
    b.tile_map("x", bf16, (64, 64))
    b.pointer("y", f32)
    b.begin()
    compiled = b.finish().compile()
    monkeypatch.setattr(launch, "load_kernel", lambda *given: given[-1])
    parameters = compiled.load()
    monkeypatch.setattr(loaded, "is_device_array", lambda given: isinstance(given, np.ndarray))
    monkeypatch.setattr(loaded, "_address", lambda *_: 4096)
    monkeypatch.setattr(loaded, "parameter", lambda value, _: value)
    kernel = loaded.LoadedKernel(
        "copy", compiled.module.functions[0].params, None, 0,
        SimpleNamespace(device=None), parameters=parameters,
    )  # fmt: skip
    x, y = np.zeros((128, 64), bf16.numpy), np.zeros(4, np.float32)
    found = tensor_map(x, (64, 64), 128)
    for given in (x, found):
        map_, pointer = kernel._images([given, y], None)
        assert isinstance(map_, MapOf)
        assert map_.request == found.request
        assert isinstance(pointer, Pointer)


def test_arguments_of_a_launch_go_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """By place, by name, or some of each; a name that no parameter has is refused."""
    b = KernelBuilder("numbers", block=32, target="sm_90a")
    b.u32("count")
    b.f32("scale")
    b.begin()
    kernel = b.finish()
    made: list[list[object]] = []
    code = SimpleNamespace(
        device=None, prepare=lambda _: None, launch=lambda _, images, __: made.append(images)
    )
    monkeypatch.setattr(loaded, "as_stream", lambda *_: None)
    monkeypatch.setattr(loaded, "parameter", lambda value, _: value)
    params = kernel.compile().module.functions[0].params
    there = loaded.LoadedKernel("numbers", params, (32, 1, 1), 0, code, None, kernel.parameters)
    there.launch(7, 2.5)
    there.launch(7, scale=2.5)
    there.launch(scale=2.5, count=7, grid=4)
    assert made[0] == made[1] == made[2]
    assert len(made[0]) == 2
    with pytest.raises(InputError, match="scal"):
        there.launch(7, scal=2.5)


def test_a_refused_launch_in_other_blocks_is_told_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver calls it an invalid argument, of which it has many."""

    def refused(*_: object) -> None:
        raise DriverError([error_of("cuda/invalid-value", "invalid argument", NOWHERE)])

    code = SimpleNamespace(device=None, prepare=lambda _: None, launch=refused)
    monkeypatch.setattr(loaded, "as_stream", lambda *_: None)
    there = loaded.LoadedKernel("none", [], (512, 1, 1), 0, code)
    told = r"compiled for blocks of \(512, 1, 1\), and is launched with \(1024, 1, 1\)"
    with pytest.raises(DriverError, match=told):
        there.launch(block=1024)
    with pytest.raises(DriverError) as caught:
        there.launch(grid=1 << 31)
    assert caught.value.findings[0].hint == "", "the block is not to blame"
