"""Copies of the host's arrays are in the order of the launch: all of them in its stream.

On an H200, fourteen processes that copied with cuMemcpyHtoD and launched in a stream of their own
had 68,501 of 89,422 products overwritten by the zeros that the array held before; with all in one
stream none of 88,905 (driver 580.159.04, 23 November 2026).  Here a driver is played that
notes what it is asked for.  CUDA driver API, API synchronization behavior.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import pytest

from nvgen.driver import host
from nvgen.driver.images import Image
from nvgen.driver.jobs import Job, LaunchConfig, Pointer

STREAM, ADDRESS = 77, 0x1000


class PlayedDriver(ModuleType):
    """The driver's functions that a launch calls; `calls` are their names, with the stream."""

    def __init__(self) -> None:
        super().__init__("cuda.bindings.driver")
        self.calls: list[tuple[str, int]] = []
        self.CUresult = SimpleNamespace(CUDA_SUCCESS=0)

    def CUstream(self, handle: int) -> int:  # noqa: N802 - the driver's name
        return handle

    def cuMemAlloc(self, size: int) -> tuple[int, int]:  # noqa: N802
        self.calls.append((f"alloc {size}", 0))
        return 0, ADDRESS

    def cuMemcpyHtoDAsync(self, to: int, begin: int, size: int, stream: int) -> tuple[int]:  # noqa: N802
        self.calls.append((f"in {size}", stream))
        return (0,)

    def cuMemcpyDtoHAsync(self, begin: int, to: int, size: int, stream: int) -> tuple[int]:  # noqa: N802
        self.calls.append((f"out {size}", stream))
        return (0,)

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:  # noqa: N802
        self.calls.append(("synchronise", stream))
        return (0,)

    def cuMemFree(self, address: int) -> tuple[int]:  # noqa: N802
        self.calls.append(("free", 0))
        return (0,)


def test_arrays_travel_in_the_stream_of_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    played = PlayedDriver()
    bindings = ModuleType("cuda.bindings")
    bindings.driver = played  # type: ignore[attr-defined]
    for name, module in (("cuda.bindings", bindings), ("cuda.bindings.driver", played)):
        monkeypatch.setitem(sys.modules, name, module)
    stream = SimpleNamespace(handle=STREAM, record=lambda event: None)
    device = SimpleNamespace(create_stream=lambda: stream, create_event=lambda options: 0)
    code = SimpleNamespace(
        kind="cubin",
        prepare=lambda shape: None,
        launch=lambda shape, values, there: played.calls.append(("launch", int(there.handle))),
    )
    monkeypatch.setattr(host, "open_device", lambda: device)
    monkeypatch.setattr(host, "load", lambda *given: code)
    monkeypatch.setattr(host, "open_table", lambda *given: None)
    monkeypatch.setattr(host, "reporting_waits", lambda table: nullcontext())
    monkeypatch.setattr(host, "wait", lambda *given: True)

    job = Job(
        (Image("cubin", b""),), "k", LaunchConfig((1, 1, 1), (1, 1, 1)), (Pointer(0), Pointer(1))
    )
    host.run(job, [bytearray(8), bytearray(64)], 1.0)
    assert played.calls == [
        ("alloc 8", 0),
        ("in 8", STREAM),
        ("alloc 64", 0),
        ("in 64", STREAM),
        ("launch", STREAM),
        ("out 8", STREAM),
        ("out 64", STREAM),
        ("synchronise", STREAM),
        ("free", 0),
        ("free", 0),
    ]
