"""A launch whose arrays are copies of the host's: in, run, out.

Layer: nvgen.driver.  Runs in whatever process calls it; `worker` is one that can be ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, SupportsInt

import numpy as np

from intrinsics.lazy_dataclass import dataclass
from nvgen.driver.bounded_waits import open_table, reporting_waits
from nvgen.driver.device import load, ok, open_device, parameter, wait
from nvgen.driver.errors import SIMULATE, timed_out
from nvgen.driver.jobs import Job

if TYPE_CHECKING:
    from cuda.core import Stream


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a launch: its time between two events, and which image ran."""

    milliseconds: float
    code: str


def run(
    job: Job,
    contents: list[bytearray],
    seconds: float | None,
    *,
    begun: Callable[[], None] = lambda: None,
    still_wanted: Callable[[], bool] = lambda: True,
) -> Ran:
    """Run a job; `contents` are the memories, and hold afterwards what the kernel left there.

    Raises: DriverError; after one the GPU's context may be of no more use to this process.
    """
    device = open_device()
    code = load(device, job.images, job.kernel)
    table = open_table(code, job.bounds)
    code.prepare(job.shape)
    stream = device.create_stream()
    timing = {"timing_enabled": True}
    first, last = device.create_event(timing), device.create_event(timing)
    with _copies(contents, stream) as addresses:
        values = [parameter(value, addresses) for value in job.values]
        begun()
        stream.record(first)
        code.launch(job.shape, values, stream)
        stream.record(last)
        with reporting_waits(table):
            ended = wait(last, seconds, still_wanted)
        if not ended:
            raise timed_out(job.kernel, seconds or 0, SIMULATE)
        _fetch(contents, addresses, stream)
        return Ran(last - first, code.kind)


@contextmanager
def _copies(contents: Sequence[bytearray], stream: Stream) -> Iterator[list[int]]:
    """The memories on the device; freed unless something went wrong, when nothing can be.

    They are copied in `stream`.  cuMemcpyHtoD may return before the device has all of pageable
    memory, and the launch's stream waits for no other: what the kernel wrote was overwritten.
    """
    from cuda.bindings import driver

    there = driver.CUstream(int(stream.handle))
    addresses = []
    for data in contents:
        found = ok(driver.cuMemAlloc(max(len(data), 1)), "no memory for an array")
        assert isinstance(found, SupportsInt)
        address = int(found)
        addresses.append(address)
        if data:
            copy = driver.cuMemcpyHtoDAsync(address, _begin(data), len(data), there)
            ok(copy, "an array was not copied")
    yield addresses
    for address in addresses:
        ok(driver.cuMemFree(address), "memory was not freed")


def _fetch(contents: Sequence[bytearray], addresses: Sequence[int], stream: Stream) -> None:
    from cuda.bindings import driver

    there = driver.CUstream(int(stream.handle))
    for data, address in zip(contents, addresses, strict=True):
        if data:
            copy = driver.cuMemcpyDtoHAsync(_begin(data), address, len(data), there)
            ok(copy, "an array was not copied back")
    ok(driver.cuStreamSynchronize(there), "the arrays were not copied back")


def _begin(data: bytearray) -> int:
    """The address of the first byte."""
    return int(np.frombuffer(data, np.uint8).ctypes.data)
