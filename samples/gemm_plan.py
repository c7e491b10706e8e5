"""How a GEMM for Hopper is cut into tiles: what there is to choose, and what it takes.

samples/10_gemm_sm90.py is the kernel; `Kind` says what it multiplies, `Config` how.  All sizes of
tiles are counted in wgmma's terms: `m` rows of 64 at a time, `n` columns of 8 at a time.  With
`swap` the rows are those of B, and D is stored transposed, so that a small M is wgmma's N.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from nvgen import ElementType, Major

if TYPE_CHECKING:
    from nvgen import F32, Float, Int, Number, NumberType, Pointer

ROW = 128  # bytes along K that one span of the swizzling has
WARPGROUP, ROWS = 128, 64  # threads of a warpgroup, and rows of one multiply
ROOM = 228 * 1024  # bytes of shared memory of a multiprocessor
SMALLER = 2048  # of these, for the mbarriers of a CTA, alignment, and what the system takes


@dataclass(frozen=True, slots=True)
class Kind:
    """What is multiplied: the types of A and B and of D, and which way A and B lie in memory.

    K-major, an array of A is M × K, MN-major it is K × M; the same of B with N.  `epilogue` makes
    of the kernel's parameters, a sum, its row and its column in D what is stored there; `reads` are
    further parameters, pointers by their names and types, which come behind D.
    """

    dtype: ElementType = ElementType.BF16
    out: ElementType = ElementType.BF16
    a_major: Major = Major.K
    b_major: Major = Major.K
    epilogue: Callable[[dict[str, Pointer | Number], F32, Int, Int], Float] | None = None
    reads: tuple[tuple[str, NumberType], ...] = ()


BF16 = Kind()


@dataclass(frozen=True, slots=True)
class Config:
    """How the work is cut.

    A CTA has tiles of `m` by `n`, `consumers` warpgroups and a ring of `stages` buffers, each with
    `depth` spans of 128 bytes along K.  `cluster` CTAs, one below the other, share the columns'
    operand.  `split` CTAs share a tile: each multiplies a part of K, and adds up a slice of columns
    of what all send it.  Tiles follow one another down `group` clusters before the next column
    begins.  A warp has `staged` buffers for what it stores.
    `resident` CTAs share a multiprocessor.
    """

    m: int = 128
    n: int = 256
    consumers: int = 2
    stages: int = 4
    cluster: int = 1
    group: int = 8
    staged: int = 2
    depth: int = 1
    split: int = 1
    swap: bool = False
    resident: int = 1

    @property
    def threads(self) -> int:
        """Threads of a CTA: the consumers, and a warpgroup of which one warp is the producer."""
        return (self.consumers + 1) * WARPGROUP

    def registers(self, copies: int = 1) -> tuple[int, int] | None:
        """What a thread of the producer keeps and one of the consumers gets of 65,536 registers,
        where `copies` of the sums need more than all threads can have alike."""
        sums = copies * self.m * self.n // (self.consumers * WARPGROUP)
        if self.consumers == 2:  # 128·24 + 256·240 = 384·168, what a CTA begins with
            return (24, 240) if sums > 96 else None
        return (32, 160) if self.consumers == 3 and sums > 64 else None  # 512·128

    @property
    def ctas(self) -> int:
        """CTAs of a cluster: those that share an operand, times those that share a tile."""
        return self.cluster * self.split

    @property
    def clusters(self) -> tuple[int, int]:
        """Rows and columns, as wgmma sees them, that a cluster has."""
        return self.m * self.cluster, self.n

    @property
    def slices(self) -> int:
        """CTAs of a split that add up: as many as have equal slices of eight columns."""
        return max(s for s in range(1, self.split + 1) if self.n // 8 % s == 0)

    @property
    def slice(self) -> int:
        """Columns that such a CTA adds up and stores."""
        return self.n // self.slices

    def piece(self, out: ElementType) -> tuple[int, int]:
        """Rows and columns of D that a warp stores at once: 128 bytes wide at most."""
        if self.swap:
            return math.gcd(self.slice, 64), 16
        return 16, math.gcd(self.slice, ROW * 8 // out.bits)

    def shared_bytes(self, kind: Kind, stages: int | None = None) -> int:
        """What a CTA needs of shared memory, in bytes."""
        ring = (self.m + self.n) * ROW * self.depth * (self.stages if stages is None else stages)
        staging = math.prod(self.piece(kind.out)) * kind.out.bits // 8 * self.staged
        partials = self.split * self.m * self.slice * 4 if self.split > 1 else 0
        return ring + staging * self.consumers * 4 + partials + SMALLER

    def most_stages(self, kind: Kind) -> int:
        """How many buffers fit."""
        left = ROOM // self.resident - self.shared_bytes(kind, 0)
        return left // ((self.m + self.n) * ROW * self.depth)


LARGE = Config()


def tiles(config: Config, m: int, n: int) -> int:
    """How many tiles of a cluster D has."""
    down, across = (n, m) if config.swap else (m, n)
    rows, columns = config.clusters
    return -(-down // rows) * -(-across // columns)


def grid(config: Config, m: int, n: int, multiprocessors: int = 132) -> int:
    """How many CTAs: one for each multiprocessor, or for each tile if they are fewer."""
    at_once = multiprocessors * config.resident // config.ctas
    return min(tiles(config, m, n), at_once) * config.ctas


# ---- which configuration -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Machine:
    """What the model knows of a GPU: rates in bytes or cycles per microsecond, times in µs.

    Fitted to 2,800 timings of 150 products on an H100 (24 November 2026): of 98 products of which
    several configurations were timed, what the model chooses took 1.3 % longer than the fastest in
    the mean, and 8 % at most.  On an H200 (99 products, 1,073 timings) it is 2.8 % and 36 %.
    """

    at_once: tuple[int, ...] = (0, 132, 66, 39, 30, 22, 17, 15, 15)  # clusters of so many CTAs
    memory: float = 2.75e6  # from HBM
    held: float = 30e6  # bytes of A and B that are found in L2 by the next wave
    drift: float = 0.25  # the part of B that each further column or row of tiles reads anew
    far: float = 32768.0  # bytes of a row of B from which on this is so
    cache: float = 14.6e6  # from L2 to all shared memories
    port: float = 159e3  # into one shared memory
    ragged: float = 2.55  # times the bytes where rows are no multiple of 128
    latency: float = 2.06  # of a copy, for which the ring has buffers
    clock: float = 1540.0  # cycles of the tensor cores
    begin: float = 2.84  # of a launch
    turn: float = 0.056  # of a step, whatever is in it
    shown: float = 0.63  # the part of a step's shortest time that the others do not hide
    tile: float = 0.163  # of a tile, from its last multiply on
    store: float = 111e3  # sums, to D
    meet: float = 0.82  # of a tile that is split
    send: float = 29e3  # sums, from a CTA to others
    multicast: float = 1.11  # times a step, where CTAs share an operand
    beside: float = 0.1  # the part of a wave's shorter time, of multiplying or of HBM, that shows

    def longer(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """The time of two things that happen beside each other."""
        return np.maximum(one, other) + self.beside * np.minimum(one, other)


H100 = Machine()
H200 = Machine(memory=4.2e6)  # the same chip with faster memory


def machine_of(name: str) -> Machine:
    """What the model knows of a GPU with this name; of an unknown one that it is an H100."""
    return H200 if "H200" in name else H100


OVERLAP = {1: 0.77, 2: 1.0, 3: 1.0}  # of the multiplies of so many warpgroups with all else
AFTER = {1: 1.0, 2: 1.0, 3: 0.65}  # of what comes behind their last multiply


class Table:
    """Configurations, and columns of their numbers: time is predicted for all at once."""

    def __init__(self, configs: Sequence[Config], kind: Kind) -> None:
        self.configs, self.kind = tuple(configs), kind
        names = (*(field.name for field in fields(Config)), "slice", "ctas")
        self.columns = {
            name: np.array([float(getattr(config, name)) for config in configs]) for name in names
        }
        for name, of in (("overlap", OVERLAP), ("after", AFTER)):
            self.columns[name] = np.array([of[config.consumers] for config in configs])

    def times(self, m: int, n: int, k: int, machine: Machine = H100) -> np.ndarray:
        """Microseconds of a product: waves of tiles, each step of which one unit bounds.

        A split that leaves a CTA without a step takes for ever, and so do several narrow columns.
        """
        kind, c = self.kind, self.columns
        width, swap = kind.dtype.bits / 8, c["swap"] > 0
        down = np.ceil(np.where(swap, n, m) / (c["m"] * c["cluster"]))
        across = np.ceil(np.where(swap, m, n) / c["n"])
        at_once = np.array(machine.at_once)[c["ctas"].astype(int)] * c["resident"]
        steps = np.ceil(k * width / (ROW * c["depth"]))
        full, rest = np.divmod(down * across, at_once)
        tail = machine.tile + c["m"] * c["slice"] * 2 / machine.store
        split = machine.meet + c["m"] * c["n"] * 4 / machine.send
        tail = tail + np.where(c["split"] > 1, split, 0)
        moved = self._moved(m, n, k, down, across, at_once, machine) / (down * across)
        whole = self._wave(at_once * c["ctas"], k, steps, tail, machine)
        last = self._wave(rest * c["ctas"], k, steps, tail, machine)
        found = machine.begin + tail + full * machine.longer(whole, moved * at_once)
        found += np.where(rest > 0, machine.longer(last, moved * rest), 0)
        narrow = (c["n"] < 64) & (across > 1)  # they would read x again and again
        return np.where((steps < c["split"]) | narrow, math.inf, found)

    def _moved(self, m: int, n: int, k: int, down, across, at_once, machine: Machine) -> np.ndarray:
        """Microseconds of the bytes that HBM moves: each wave's anew where L2 does not hold all."""
        c, row = self.columns, k * self.kind.dtype.bits / 8
        high = np.minimum(c["group"], down)
        wide = np.minimum(np.ceil(at_once / high), across)
        wave = (high * c["m"] * c["cluster"] + wide * c["n"]) * row
        least = (m + n) * row
        again = np.maximum(least, down * across / at_once * wave)
        if n * row > machine.held:  # CTAs that read the same of B drift apart where K is long
            times = np.minimum(np.where(c["swap"] > 0, across, down), 4) - 1
            again = again + times * n * row * min(row / machine.far, 1) * machine.drift
        stored = m * n * self.kind.out.bits / 8
        return (np.where(least + stored > machine.held, again, least) + stored) / machine.memory

    def _wave(self, ctas, k: int, steps, tail, machine: Machine) -> np.ndarray:
        """Microseconds of a wave of so many CTAs."""
        c = self.columns
        sharing = np.clip(ctas / machine.at_once[1], 1, c["resident"])
        multiplies = c["m"] / ROWS * 4 * c["depth"] * c["overlap"] * sharing
        multiply = multiplies * np.maximum(c["n"] / 2, 16 + c["n"] / 4) / machine.clock
        ragged = machine.ragged if k * self.kind.dtype.bits % (ROW * 8) else 1.0
        nbytes = (c["m"] + c["n"] / c["cluster"]) * ROW * c["depth"] * ragged
        brought = nbytes / machine.port * sharing
        step = np.maximum(np.maximum(multiply, brought), machine.turn)
        step += machine.shown * np.minimum(np.minimum(multiply, brought), machine.turn)
        step = np.maximum(step, machine.latency / c["stages"])
        step = step * np.where(c["cluster"] > 1, machine.multicast, 1)
        step = np.maximum(step, ctas * nbytes / machine.cache)
        return np.ceil(steps / c["split"]) * step + tail * c["after"]


@functools.cache
def candidates(kind: Kind = BF16) -> Table:
    """All configurations that are worth a thought."""
    tall = [(128, n, 2) for n in range(64, 257, 16)] + [(256, 128, 2), (192, 128, 3), (192, 176, 3)]
    tall += [(192, 192, 3), (64, 64, 1), (64, 96, 1), (64, 128, 1), (64, 192, 1), (64, 256, 1)]
    small = [(m, n, m // 64) for m in (64, 128) for n in (8, 16, 24, 32, 48)]
    found = []
    for swap, shapes in ((False, tall), (True, [*tall, *small])):
        for (m, n, consumers), split, cluster in product(shapes, range(1, 9), (1, 2)):
            if split * cluster > 8 or n % (8 * cluster):
                continue
            for depth, resident in ((1, 1), (2, 1), (1, 2), (1, 3)):
                config = Config(
                    m, n, consumers, 1, cluster, depth=depth, split=split, swap=swap,
                    resident=resident,
                )  # fmt: skip
                stages = min(config.most_stages(kind), 12)
                narrow = n <= 64 and (m == 64 or (m == 128 and depth == 2))
                alone = cluster == 1 or resident == 1
                if stages >= 3 and alone and (narrow or depth == resident == 1):
                    found.append(replace(config, stages=stages))
    return Table(found, kind)


@functools.lru_cache(4096)
def choose(m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H100) -> Config:
    """The configuration that the model thinks the fastest."""
    table = candidates(kind)
    return table.configs[int(np.argmin(table.times(m, n, k, machine)))]
