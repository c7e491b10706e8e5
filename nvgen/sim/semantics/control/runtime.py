"""Functions of the CUDA driver: printing, assertions, and the heap of the device.

Layer: nvgen.sim.semantics.  A printf prints for each thread of the warp, in the order of lanes, to
Python's standard output; the driver prints when the host waits for the kernel.  CUDA C++
Programming Guide, Formatted Output; Assertion; Dynamic Global Memory Allocation and Operations.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nvgen.sim.faults import fault
from nvgen.sim.memory.regions import Access, Proxy, gather
from nvgen.sim.semantics.memory.accesses import Owners, find
from nvgen.sim.threads.machine import WARP, Outcome, Strand, lane_numbers
from nvgen.sim.watch import watch_allocation

CONVERSION = re.compile(r"%([-+ #0]*)(\d*)(\.\d+)?(hh|h|ll|l|z)?([diuxXocfFeEgGaAsp%])")
"""A conversion of a format: flags, width, precision, length, kind."""

_LONG = ("ll", "l", "z")
_AGENT = "a call of the runtime"
_MOST = 1 << 16
"""The most bytes of a string."""


def _addresses(strand: Strand, name: str) -> NDArray[np.int64]:
    """The addresses that the threads pass in a parameter."""
    data = np.ascontiguousarray(strand.frame.passed[name][strand.lanes])
    return data.view(np.int64)[:, 0]


def _text(strand: Strand, address: int) -> str:
    """The string at an address, up to its zero."""
    wanted = np.array([address], np.int64)
    for region, where, _ in find(strand.warp.cta, wanted, None, _AGENT, Access.READ):
        first = int(where[0] - region.base)
        data = region.data[first : first + _MOST].tobytes()
        return data.split(b"\0", 1)[0].decode("utf-8", "replace")
    return ""


def _bytes(strand: Strand, addresses: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    """Bytes that each thread has at its address."""
    found = np.zeros((addresses.size, size), np.uint8)
    memory, owners = strand.warp.cta.machine.memory, Owners.of(strand, size)
    for region, where, part in find(strand.warp.cta, addresses, None, _AGENT, Access.READ, owners):
        lanes = owners.lanes[part]
        offsets = memory.access(
            region, where, size, Access.READ, Proxy.GENERIC, _AGENT, lanes=lanes
        )
        found[part] = gather(region, offsets, size)
    return found


def _sizes(kinds: Sequence[re.Match[str]]) -> tuple[list[int], int]:
    """Where the argument of each conversion lies in the buffer, and how long that is."""
    places, end = [], 0
    for kind in kinds:
        size = 4 if kind[5] in "diuxXoc" and kind[4] not in _LONG else 8
        end = -(-end // size) * size
        places.append(end)
        end += size
    return places, end


def _formatted(strand: Strand, kind: re.Match[str], data: bytes) -> str:
    """One argument as C prints it."""
    flags, width, precision, length, letter = kind.groups()
    style = f"%{flags}{width}{precision or ''}"
    if letter in "fFeEgGaA":
        number = float(np.frombuffer(data, np.float64)[0])
        return number.hex() if letter in "aA" else (style + letter) % number
    size = 8 if letter in "sp" or length in _LONG else 4
    word = int.from_bytes(data[:size], "little", signed=letter in "di")
    match letter:
        case "s":
            return (style + "s") % _text(strand, word)
        case "p":
            return (style + "s") % hex(word)
        case "c":
            return (style + "c") % (word & 0xFF)
    return (style + ("d" if letter == "u" else letter)) % word


def _filled(text: str, values: Iterator[str]) -> str:
    """A format with its conversions filled in."""
    return CONVERSION.sub(lambda kind: "%" if kind[5] == "%" else next(values), text)


def _vprintf(strand: Strand, passed: Sequence[str], results: Sequence[str]) -> Outcome:
    formats, buffers = (_addresses(strand, name) for name in passed)
    lines = []
    for at, address in enumerate(formats):
        text = _text(strand, int(address))
        kinds = [kind for kind in CONVERSION.finditer(text) if kind[5] != "%"]
        places, size = _sizes(kinds)
        lane = int(np.flatnonzero(strand.lanes)[at])
        alone = strand.part(1 << lane)
        data = _bytes(alone, buffers[at : at + 1], size)[0].tobytes() if size else b""
        values = iter([_formatted(alone, k, data[p:]) for k, p in zip(kinds, places, strict=True)])
        lines.append(_filled(text, values))
        for name in results:
            count = np.array([len(kinds)], np.int32).view(np.uint8)
            strand.frame.passed[name][lane, :4] = count
    sys.stdout.write("".join(lines))
    return None


def _assertfail(strand: Strand, passed: Sequence[str], results: Sequence[str]) -> Outcome:
    message, file = (_text(strand, int(_addresses(strand, name)[0])) for name in passed[:2])
    line = int(
        np.ascontiguousarray(strand.frame.passed[passed[2]][strand.lanes]).view(np.uint32)[0, 0]
    )
    lanes = np.flatnonzero(strand.lanes)
    raise fault(
        "assertion",
        f"an assertion of the kernel fails: {message}",
        got=f"threads {int(lanes[0])} to {int(lanes[-1])} of warp {strand.warp.number}",
        expected=f"what {file}:{line} asserts",
    )


def _malloc(strand: Strand, passed: Sequence[str], results: Sequence[str]) -> Outcome:
    machine = strand.warp.cta.machine
    for lane, size in zip(lane_numbers(strand.mask), _addresses(strand, passed[0]), strict=True):
        region = machine.heap.allocate(machine.memory, int(size), _thread(strand, lane))
        if region is not None:
            watch_allocation(machine, region)
        address = np.array([0 if region is None else region.base], np.int64).view(np.uint8)
        for name in results:
            strand.frame.passed[name][lane, :8] = address
    return None


def _free(strand: Strand, passed: Sequence[str], results: Sequence[str]) -> Outcome:
    """Free is a write to the whole of it, which races with accesses that nothing orders before."""
    machine = strand.warp.cta.machine
    for lane, address in zip(lane_numbers(strand.mask), _addresses(strand, passed[0]), strict=True):
        if not address:
            continue
        region = machine.heap.find(int(address), _thread(strand, lane))
        machine.memory.access(
            region, np.array([address]), region.data.size, Access.WRITE, Proxy.GENERIC,
            f"free by {_thread(strand, lane)}", lanes=np.array([lane], np.intp),
        )  # fmt: skip
        machine.heap.free(region)
    return None


def _thread(strand: Strand, lane: int) -> str:
    warp = strand.warp
    return f"thread {warp.number * WARP + lane} of CTA {warp.cta.number}"


RUNTIME: dict[str, Callable[[Strand, Sequence[str], Sequence[str]], Outcome]] = {
    "vprintf": _vprintf,
    "__assertfail": _assertfail,
    "malloc": _malloc,
    "free": _free,
}
"""The functions by name; each gets the frame slots of its parameters and of its result."""
