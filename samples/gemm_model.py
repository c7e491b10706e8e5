"""Which configuration of the Hopper GEMM is the fastest: a model of the time that each takes.

A product is waves of tiles, one for each CTA that the GPU holds at once.  A wave takes the time of
all steps of K of a tile, or that of HBM with what it reads.  A step takes as long as the unit that
bounds it: the tensor cores, the shared memory that copies write and these read, or L2 for all CTAs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np
from gemm_plan import BF16, ROW, ROWS, Config, Kind


@dataclass(frozen=True, slots=True)
class Machine:
    """What the model knows of a GPU: rates in bytes or cycles per microsecond, times in µs.

    Fitted to 3,989 timings of 228 products on an H200 (24 November 2026).  Of an H100 no more is
    known than its memory's rate.  Fitted without half of 113 products, it chose of these the one
    that took 2.6 % longer than the fastest of the sixteen timed, in the mean, and 24 % at most.
    """

    at_once: tuple[int, ...] = (0, 132, 66, 39, 30, 22, 17, 15, 15)  # clusters of so many CTAs
    memory: float = 3.0e6  # from HBM
    held: float = 30e6  # bytes of A and B that are found in L2 by the next wave
    drift: float = 0.175  # the part of B that each further column or row of tiles reads anew
    far: float = 32768.0  # bytes of a row of B from which on this is so
    cache: float = 18.0e6  # from L2 to all shared memories
    beyond: float = 6.5  # times a row of a matrix, what a row beyond its edge costs L2
    port: float = 246e3  # into one shared memory
    ragged: float = 2.55  # times the bytes where rows are no multiple of 128
    latency: float = 1.59  # of a copy, for which the ring has buffers
    clock: float = 1658.0  # cycles of a multiprocessor
    write: float = 0.51  # cycles of shared memory for 128 bytes that a copy writes
    begin: float = 1.90  # of a launch
    turn: float = 0.022  # of a step, whatever is in it
    shown: float = 0.25  # the part of a step's shortest time that the others do not hide
    tile: float = 0.24  # of a tile, from its last multiply on
    store: float = 108e3  # sums, to D
    turned: float = 2.3  # times that, for a D that is stored transposed
    piece: float = 0.035  # of each piece that a warp stores
    meet: float = 0.61  # of a tile that is split
    send: float = 43.7e3  # sums, from a CTA to others
    leave: float = 1.84  # of a tile whose parts meet in L2
    back: float = 26.7e3  # sums, through L2 to who adds them up
    multicast: float = 1.09  # times a step, where CTAs share an operand
    beside: float = 0.21  # the part of a wave's shorter time, of multiplying or of HBM, that shows
    odd: float = 1.02  # times a multiply whose columns are no multiple of 16

    def longer(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The time of two things that happen beside each other."""
        return np.maximum(one, other) + self.beside * np.minimum(one, other)


H100 = Machine()
H200 = Machine(memory=4.59e6)  # the same chip with faster memory


def machine_of(name: str) -> Machine:
    """What the model knows of a GPU with this name; of an unknown one that it is an H100."""
    return H200 if "H200" in name else H100


OVERLAP = {64: 1.10, 128: 1.0, 192: 1.03, 256: 1.06}
"""Times the multiplies of tiles of so many rows, of which other warpgroups hide the gaps."""

AFTER = {1: 1.0, 2: 1.0, 3: 0.89}  # of what comes behind the last multiply of warpgroups


@dataclass(frozen=True, slots=True)
class Product:
    """A product as configurations cut it: tiles down and across, what a wave of them is."""

    row: float  # bytes of a row of A or B
    down: np.ndarray
    across: np.ndarray
    at_once: np.ndarray  # clusters
    steps: np.ndarray  # of K
    beyond: np.ndarray  # rows of a CTA's tiles beyond the edges, in the mean


class Table:
    """Configurations, and columns of their numbers: time is predicted for all at once."""

    def __init__(self, configs: Sequence[Config], kind: Kind) -> None:
        self.configs, self.kind = tuple(configs), kind
        names = (*(field.name for field in fields(Config)), "slice", "ctas")
        self.columns = {
            name: np.array([float(getattr(config, name)) for config in configs]) for name in names
        }
        self.columns["wide"] = np.array([config.wide(kind.out) for config in configs])
        self.columns["pieces"] = np.array([config.pieces(kind.out) for config in configs])
        self.columns["overlap"] = np.array([OVERLAP[config.m] for config in configs])
        self.columns["after"] = np.array([AFTER[config.consumers] for config in configs])

    def times(self, m: int, n: int, k: int, machine: Machine = H100) -> np.ndarray:
        """Microseconds of a product: waves of tiles, each step of which one unit bounds.

        A split that leaves a CTA without a step takes for ever, and so do several narrow columns.
        """
        c, p = self.columns, self._cut(m, n, k, machine)
        count = p.down * p.across
        full, rest = np.divmod(count, p.at_once)
        turned = np.where(c["swap"] > 0, machine.turned, 1)
        tail = machine.tile + c["m"] * c["slice"] * 2 / machine.store * turned
        tail = tail + machine.piece * c["pieces"]
        split = machine.meet + c["m"] * c["n"] * 4 / machine.send
        tail = tail + np.where(c["split"] > 1, split, 0)
        moved = self._moved(m, n, p, machine) / count
        step, after = self._step(p.at_once * c["ctas"], p, machine), tail * c["after"]
        whole = np.ceil(p.steps / c["split"]) * step + after
        parts = np.minimum(c["tail"], p.steps)
        units = np.ceil(rest * parts / p.at_once)
        left = units * (np.ceil(p.steps / c["split"] / parts) * self._step(
            np.where(parts > 1, p.at_once, rest) * c["ctas"], p, machine
        ) + after)  # fmt: skip
        meet = machine.leave + c["m"] * c["n"] * 4 * parts / machine.back
        left = machine.longer(left + np.where(parts > 1, meet, 0), moved * rest)
        found = machine.begin + tail + full * machine.longer(whole, moved * p.at_once)
        found += np.where(rest > 0, left, 0)
        narrow = (c["n"] < 64) & (p.across > 1)  # they would read x again and again
        return np.where((p.steps < c["split"]) | narrow, math.inf, found)

    def _cut(self, m: int, n: int, k: int, machine: Machine) -> Product:
        c, swap, row = self.columns, self.columns["swap"] > 0, k * self.kind.dtype.bits / 8
        high, wide = np.where(swap, n, m), np.where(swap, m, n)
        down = np.ceil(high / (c["m"] * c["cluster"]))
        across = np.ceil(wide / c["n"])
        below = down * c["m"] * c["cluster"] - high
        below = np.where(high < c["m"], below, below % 16)  # or the last tile begins earlier
        right = across * c["n"] - wide
        right = np.where(wide < c["n"], right, right % c["wide"])
        at_once = np.array(machine.at_once)[c["ctas"].astype(int)] * c["resident"]
        beyond = below / down / c["cluster"] + right / across / c["cluster"]
        return Product(row, down, across, at_once, np.ceil(row / (ROW * c["depth"])), beyond)

    def _moved(self, m: int, n: int, p: Product, machine: Machine) -> np.ndarray:
        """Microseconds of the bytes that HBM moves: each wave's anew where L2 does not hold all."""
        c = self.columns
        high = np.minimum(c["group"], p.down)
        wide = np.minimum(np.ceil(p.at_once / high), p.across)
        wave = (high * c["m"] * c["cluster"] + wide * c["n"]) * p.row
        least = (m + n) * p.row
        again = np.maximum(least, p.down * p.across / p.at_once * wave)
        if n * p.row > machine.held:  # CTAs that read the same of B drift apart where K is long
            times = np.minimum(np.where(c["swap"] > 0, p.across, p.down), 4) - 1
            again = again + times * n * p.row * min(p.row / machine.far, 1) * machine.drift
        stored = m * n * self.kind.out.bits / 8
        return (np.where(least + stored > machine.held, again, least) + stored) / machine.memory

    def _step(self, ctas, p: Product, machine: Machine) -> np.ndarray:
        """Microseconds of a step of K of so many CTAs."""
        c = self.columns
        sharing = np.clip(ctas / machine.at_once[1], 1, c["resident"])
        instructions = c["m"] / ROWS * 4 * c["depth"] * sharing
        longer = c["overlap"] * np.where(c["n"] % 16 > 0, machine.odd, 1)
        multiply = instructions * longer * c["n"] / 2 / machine.clock
        written = machine.write * (c["m"] + c["n"]) * c["depth"] * sharing
        shared = (instructions * (16 + c["n"] / 4) + written) / machine.clock
        ragged = machine.ragged if p.row % ROW else 1.0
        nbytes = (c["m"] + c["n"] / c["cluster"]) * ROW * c["depth"] * ragged
        brought = np.maximum(nbytes / machine.port * sharing, shared)
        step = np.maximum(np.maximum(multiply, brought), machine.turn)
        step += machine.shown * np.minimum(np.minimum(multiply, brought), machine.turn)
        step = np.maximum(step, machine.latency / c["stages"])
        step = step * np.where(c["cluster"] > 1, machine.multicast, 1)
        more = (machine.beyond - 1) * p.beyond * ROW * c["depth"]
        return np.maximum(step, ctas * (nbytes + more) / machine.cache)


def shapes() -> Iterator[tuple[int, int, int, bool]]:
    """Rows and columns of tiles, warpgroups, and whether A and B change sides.

    Columns of few rows of A are as narrow as they come: what lies beyond M costs.
    """
    for m, warpgroups, widest in ((64, 1, 256), (128, 2, 256), (192, 3, 192), (256, 2, 160)):
        for n in range(64, widest + 1, 16):
            yield m, n, warpgroups, False
        for n in range(64, widest + 1, 8 if m <= 128 else 16):
            yield m, n, warpgroups, True
    for m, n in product((64, 128), range(8, 64, 8)):
        yield m, n, m // 64, True


def cuts(m: int, n: int) -> Iterator[dict[str, int]]:
    """How tiles of a shape may be shared, and how a CTA may bring them."""
    for cluster in (1, 2):
        if n % (8 * cluster):
            continue
        for split in range(1, 8 // cluster + 1 if m <= 128 else 2):
            yield {"cluster": cluster, "split": split}
            if n <= 64 and m <= 128:
                yield {"cluster": cluster, "split": split, "depth": 2}
            if cluster == 1 and n <= 112 and m == 64:
                yield from ({"split": split, "resident": many} for many in (2, 3))
        if n >= 64:
            yield from ({"cluster": cluster, "tail": parts} for parts in (2, 3, 4))


@functools.cache
def candidates(kind: Kind = BF16) -> Table:
    """All configurations that are worth a thought."""
    found = []
    for m, n, warpgroups, swap in shapes():
        for cut in cuts(m, n):
            config = Config(m, n, warpgroups, 1, swap=swap, **cut)
            stages = min(config.most_stages(kind), 12)
            if stages >= 3 and (config.resident < 3 or n < 104):  # which need more registers
                found.append(replace(config, stages=stages))
    return Table(found, kind)


@functools.lru_cache(4096)
def choose(m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H100) -> Config:
    """The configuration that the model thinks the fastest."""
    table = candidates(kind)
    return table.configs[int(np.argmin(table.times(m, n, k, machine)))]
