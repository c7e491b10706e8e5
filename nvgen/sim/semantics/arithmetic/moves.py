"""Moves: registers, numbers, addresses and special registers; registers packed and unpacked.

Layer: nvgen.sim.semantics.  32 lanes at a time.  PTX ISA, mov; Special Registers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr, Special
from intrinsics.modifiers import ScalarType
from nvgen.sim.faults import not_simulated
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.lane_values import LONG, unsigned, words_of
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand, Values, Warp

Integers = NDArray[np.integer]


def mov(c: Compiler, mi: MachineInstr) -> Step:
    """A register, a number, an address or a special register."""
    source, reg = mi["a"], mi["d"]
    assert type(reg) is int
    type_ = mi.scalar_type()
    long = type_.bits > 64
    write, get = (c.set_whole(reg), c.get_whole) if long else (c.set(reg), c.get)
    value = special(source.name) if isinstance(source, Special) else get(source, type_)

    def run(strand: Strand) -> Outcome:
        write(strand, value(strand.warp))
        return None

    return run


def _lane_numbers(warp: Warp) -> Integers:
    found: Integers = warp.number * WARP + np.arange(WARP, dtype=np.int64)
    return found


def special(name: str) -> Getter:
    """The value of a special register in each lane.

    Raises: NotSimulatedError for those that are no property of the launch.
    """
    base, _, axis = name.partition(".")
    if axis == "w":
        raise not_simulated(f"%{name}")
    at = "xyz".index(axis) if axis else 0
    fixed: dict[str, Callable[[Warp], int]] = {
        "ntid": lambda w: w.cta.machine.block[at],
        "ctaid": lambda w: w.cta.index[at],
        "nctaid": lambda w: w.cta.machine.grid[at],
        "warpid": lambda w: w.number,
        "nwarpid": lambda w: len(w.cta.warps),
        "clusterid": lambda w: w.cta.cluster.index[at],
        "nclusterid": lambda w: w.cta.machine.grid[at] // w.cta.machine.cluster[at],
        "cluster_ctaid": lambda w: w.cta.index[at] % w.cta.machine.cluster[at],
        "cluster_nctaid": lambda w: w.cta.machine.cluster[at],
        "cluster_ctarank": lambda w: w.cta.rank,
        "cluster_nctarank": lambda w: int(np.prod(w.cta.machine.cluster)),
        "dynamic_smem_size": lambda w: w.cta.dynamic_size,
        "total_smem_size": lambda w: w.cta.shared.data.size,
    }
    if base in fixed:
        read = fixed[base]
        return lambda warp: np.full(WARP, read(warp), np.uint32)
    if base in _CLOCKS:
        shift, bits = _CLOCKS[base]
        return lambda warp: np.full(
            WARP, warp.cta.machine.steps >> shift & ((1 << bits) - 1), unsigned(bits)
        )
    if base == "is_explicit_cluster":
        return lambda warp: np.full(WARP, warp.cta.machine.explicit_cluster, np.bool_)
    if base == "tid":
        return lambda warp: _thread_index(warp, at)
    if base == "laneid":
        return lambda warp: np.arange(WARP, dtype=np.uint32)
    if base.startswith("lanemask_"):
        return lambda warp: _LANE_MASKS[base.removeprefix("lanemask_")]
    raise not_simulated(f"%{name}")


_CLOCKS = {
    "clock": (0, 32),
    "clock_hi": (32, 32),
    "clock64": (0, 64),
    "globaltimer": (0, 64),
    "globaltimer_lo": (0, 32),
    "globaltimer_hi": (32, 32),
}
"""Clocks count the records that the launch has executed: which bits each register shows."""


def _thread_index(warp: Warp, at: int) -> Values:
    x, y, _ = warp.cta.machine.block
    linear = _lane_numbers(warp)
    parts = (linear % x, linear // x % y, linear // (x * y))
    return parts[at].astype(np.uint32)


def _lane_mask(test: Callable[[int, int], bool]) -> Values:
    masks = [sum(1 << j for j in range(WARP) if test(j, lane)) for lane in range(WARP)]
    return np.array(masks, np.uint32)


_LANE_MASKS: dict[str, Values] = {
    "eq": _lane_mask(lambda j, lane: j == lane),
    "le": _lane_mask(lambda j, lane: j <= lane),
    "lt": _lane_mask(lambda j, lane: j < lane),
    "ge": _lane_mask(lambda j, lane: j >= lane),
    "gt": _lane_mask(lambda j, lane: j > lane),
}


def pack(c: Compiler, mi: MachineInstr) -> Step:
    """Parts put together into one register, the first in the lowest bits."""
    parts, reg = mi["a"], mi["d"]
    assert isinstance(parts, tuple)
    assert type(reg) is int
    width = mi.scalar_type().bits // len(parts)
    getters = [c.get(part, ScalarType(f"b{width}")) for part in parts]
    count = max(mi.scalar_type().bits // 64, 1)
    write = c.set_whole(reg) if count > 1 else c.set(reg)

    def run(strand: Strand) -> Outcome:
        words: list[Integers] = [np.zeros(WARP, np.uint64) for _ in range(count)]
        for i, get in enumerate(getters):
            word, at = divmod(i * width, 64)
            words[word] |= get(strand.warp).astype(np.uint64) << np.uint64(at)
        write(strand, words[0] if len(words) == 1 else long_of(*words))
        return None

    return run


def unpack(c: Compiler, mi: MachineInstr) -> Step:
    """The parts of a register, the lowest bits first."""
    parts = mi["d"]
    assert isinstance(parts, tuple)
    type_ = mi.scalar_type()
    width = type_.bits // len(parts)
    a = c.get_whole(mi["a"], type_) if type_.bits > 64 else c.get(mi["a"], type_)
    writers = [c.set(part) if type(part) is int else None for part in parts]
    mask = np.uint64((1 << width) - 1)

    def run(strand: Strand) -> Outcome:
        value = a(strand.warp)
        words = words_of(value) if type_.bits > 64 else (value,)
        for i, write in enumerate(writers):
            word, at = divmod(i * width, 64)
            if write is not None:
                write(strand, words[word].astype(np.uint64) >> np.uint64(at) & mask)
        return None

    return run


def long_of(low: Integers, high: Integers) -> Values:
    """128 bits of two words."""
    return np.ascontiguousarray(np.stack((low, high), axis=1)).view(LONG)[:, 0]


SEMANTICS: dict[str, Maker] = {
    "mov": mov,
    "mov.pack2": pack,
    "mov.pack4": pack,
    "mov.unpack2": unpack,
    "mov.unpack4": unpack,
}
