"""The process that launches: a line of JSON for each launch, from the one with a given number on.

    python -m tests.benchmarks.beside_llvm.gpu PACKED FIRST

Both compilers' code runs on the same memory, which holds the same bytes before each.  A kernel that
faults or hangs ends this process; whoever started it begins again behind that launch.
"""

from __future__ import annotations

import json
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from statistics import median

import numpy as np
from cuda.bindings import driver
from numpy.typing import NDArray

from nvgen.driver.device import Code, load, ok, open_device
from nvgen.driver.images import Image
from tests.benchmarks.beside_llvm import launches
from tests.benchmarks.beside_llvm.differences import difference
from tests.benchmarks.beside_llvm.launches import COMPILERS, LEVELS

ROUNDS = 21
SPAN = 1.0
"""Milliseconds that the launches of one graph take, about."""
MOST = 100
"""Launches of one graph at most."""


@dataclass(slots=True)
class Result:
    """What became of one launch at one level: times in microseconds."""

    module: str
    kernel: str
    level: str
    values: str = ""
    times: dict[str, float] = field(default_factory=dict)
    spread: float = 0.0
    """The third quartile of nvgen's times by the first, less 1."""


class Memory:
    """The arrays of a launch on the GPU, whose addresses kernels get, and what they held first."""

    def __init__(self, given: launches.Arguments) -> None:
        self.device = open_device()
        self.stream = self.device.create_stream()
        self._there = driver.CUstream(int(self.stream.handle))
        self.given = given
        self._first, self.addresses = (
            [int(ok(driver.cuMemAlloc(array.nbytes), "no memory")) for array in given.arrays]
            for _ in range(2)
        )
        for array, there in zip(given.arrays, self._first, strict=True):
            ok(driver.cuMemcpyHtoDAsync(there, array.ctypes.data, array.nbytes, self._there), "in")

    def restore(self) -> None:
        """Put back what the arrays held at first."""
        for array, here, there in zip(self.given.arrays, self._first, self.addresses, strict=True):
            ok(driver.cuMemcpyDtoDAsync(there, here, array.nbytes, self._there), "back")

    def contents(self) -> list[NDArray[np.generic]]:
        """What the arrays hold."""
        found = [np.empty_like(array) for array in self.given.arrays]
        for array, here in zip(found, self.addresses, strict=True):
            ok(driver.cuMemcpyDtoHAsync(array.ctypes.data, here, array.nbytes, self._there), "out")
        self.stream.sync()
        return found

    def close(self) -> None:
        """Give the memory back."""
        for address in (*self._first, *self.addresses):
            ok(driver.cuMemFree(address), "memory")


def results(packed: zipfile.ZipFile, first: int) -> Iterator[Result]:
    """The launches from `first` on, at each level."""
    for module, launch in launches.packed(packed)[first:]:
        given = launches.arguments(launch)
        with closing(Memory(given)) as memory:
            for level in LEVELS:
                found = Result(module, launch.kernel, level)
                yield _measured(found, launch, memory, lambda key: packed.read(key))


def _measured(
    found: Result, launch: launches.Launch, memory: Memory, code: Callable[[str], bytes]
) -> Result:
    """Compare what both leave, then time both."""

    def loaded(compiler: str, exact: str = "") -> Code:
        data = code(f"{found.module}/{found.level} {compiler}{exact}")
        own = load(memory.device, [Image("cubin", data)], launch.kernel)
        own.prepare(launch.shape)
        return own

    codes = {compiler: loaded(compiler) for compiler in COMPILERS}
    found.values = _compared(launch, memory, codes)
    if found.values.startswith("differs"):
        exact = _compared(launch, memory, {one: loaded(one, " exact") for one in COMPILERS})
        if exact.startswith("equal"):
            found.values = f"contraction: {found.values}"
    timed = _timed(launch, memory, codes)
    found.times = {compiler: median(own) for compiler, own in timed.items()}
    low, high = np.percentile(timed["nvgen"], [25, 75])
    found.spread = float(high / low - 1)
    return found


def _compared(launch: launches.Launch, memory: Memory, codes: dict[str, Code]) -> str:
    values = memory.given.bound(memory.addresses)

    def left(compiler: str) -> list[NDArray[np.generic]]:
        memory.restore()
        codes[compiler].launch(launch.shape, values, memory.stream)
        return memory.contents()

    llvm, ours = left("llvm"), left("nvgen")
    if (said := difference(ours, llvm, memory.given.types)) is None:
        changed = sum(
            int(np.count_nonzero(one.view(np.uint8) != before.view(np.uint8)))
            for one, before in zip(llvm, memory.given.arrays, strict=True)
        )
        return f"equal, {changed} bytes written" if changed else "nothing written"
    for _ in range(3):
        if difference(left("llvm"), llvm, memory.given.types) is not None:
            return f"varies from run to run: {said}"
    return f"differs: {said}"


def _timed(
    launch: launches.Launch, memory: Memory, codes: dict[str, Code]
) -> dict[str, list[float]]:
    """Microseconds of a launch, by compiler: graphs of many, in random order."""
    values = memory.given.bound(memory.addresses)
    device, stream = memory.device, memory.stream
    options = {"timing_enabled": True}
    begin, end = device.create_event(options), device.create_event(options)

    def once(compiler: str, count: int) -> float:
        memory.restore()
        graph = graphs[compiler, count]
        stream.record(begin)
        graph.launch(stream)
        stream.record(end)
        end.sync()
        return float(end - begin) / count

    graphs = {(one, 1): code.repeated(launch.shape, values, 1) for one, code in codes.items()}
    slowest = max(min(once(one, 1) for _ in range(3)) for one in codes)
    count = 1 if launch.once else max(1, min(MOST, int(SPAN / slowest)))
    graphs |= {
        (one, count): code.repeated(launch.shape, values, count) for one, code in codes.items()
    }
    found: dict[str, list[float]] = {one: [] for one in codes}
    order = list(codes)
    for one in order:
        once(one, count)
    for _ in range(ROUNDS):
        random.shuffle(order)
        for one in order:
            found[one].append(1000 * once(one, count))
    for graph in graphs.values():
        graph.close()
    return found


def main() -> None:
    """Print a line for each launch and level."""
    with zipfile.ZipFile(sys.argv[1]) as packed:
        for found in results(packed, int(sys.argv[2])):
            print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    main()
