"""How a GEMM for Hopper is cut into tiles: what there is to choose, and what it takes.

samples/10_gemm_sm90.py is the kernel; `Kind` says what it multiplies, `Config` how.  All sizes of
tiles are counted in wgmma's terms: `m` rows of 64 at a time, `n` columns of 8 at a time.  With
`swap` the rows are those of B, and D is stored transposed, so that a small M is wgmma's N.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from intrinsics.element import ElementType, Major

if TYPE_CHECKING:
    from nvgen.builder.float_values import F32
    from nvgen.builder.values import Int

ROW = 128  # bytes along K that one span of the swizzling has
WARPGROUP, ROWS = 128, 64  # threads of a warpgroup, and rows of one multiply
ROOM = 228 * 1024  # bytes of shared memory of a multiprocessor
SMALLER = 2048  # of these, for the mbarriers of a CTA, alignment, and what the system takes


@dataclass(frozen=True, slots=True)
class Kind:
    """What is multiplied: the types of A and B and of D, and which way A and B lie in memory.

    K-major, an array of A is M × K, MN-major it is K × M; the same of B with N.  `epilogue` makes
    of a sum, its row and its column in D what is stored there.
    """

    dtype: ElementType = ElementType.BF16
    out: ElementType = ElementType.BF16
    a_major: Major = Major.K
    b_major: Major = Major.K
    epilogue: Callable[[F32, Int, Int], F32] | None = None


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

    @property
    def moves_registers(self) -> bool:
        """Whether consumers need more registers than 384 threads can have alike."""
        return self.consumers == 2 and self.m * self.n // (2 * WARPGROUP) > 96

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
    """What the model knows of a GPU: rates in bytes or cycles per microsecond, times in µs."""

    multiprocessors: int = 132
    clusters: tuple[int, ...] = (0, 132, 66, 42, 32, 24, 20, 17, 16)  # at once, by their CTAs
    clock: float = 1600.0  # cycles of the tensor cores, as they run under load
    memory: float = 4.0e6  # of HBM
    cache: float = 5.5e6  # from L2 to all shared memories
    port: float = 64.0 * 1600  # into one shared memory
    begin: float = 2.5  # from a launch to the first multiply, and the last store
    turn: float = 0.08  # of a step, whatever is in it
    tile: float = 0.6  # of a tile: the last multiply to the first store
    store: float = 60.0e3  # D, of one CTA
    meet: float = 1.0  # of a tile that is split: until all have sent
    send: float = 40.0e3  # of sums, from one CTA to others


H200 = Machine()


def predicted(
    config: Config, m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H200
) -> float:
    """Microseconds that a product takes by a model: waves of tiles, each step bound by one unit."""
    width = kind.dtype.bits // 8
    steps = -(-k * width // (ROW * config.depth))
    if steps < config.split:
        return math.inf
    count, at_once = tiles(config, m, n), machine.clusters[config.ctas]
    waves = -(-count // at_once)
    busy = min(count, at_once) * config.ctas
    x, y = config.m * ROW * config.depth, config.n * ROW * config.depth
    halves = config.m // ROWS * 4 * config.depth  # multiplies of a step
    multiply = halves * max(config.n / 2, (ROWS * 32 + config.n * 32) / 128) / machine.clock
    brought = (x + y) / machine.port
    shared = busy * (x + y / config.cluster) / machine.cache
    step = max(multiply, brought, shared) + machine.turn
    per_tile = machine.tile + config.m * config.slice * kind.out.bits / 8 / machine.store
    if config.split > 1:
        per_tile += machine.meet + config.m * config.n * 4 / machine.send
    moved = (m + n) * k * width + m * n * kind.out.bits // 8
    time = waves * (-(-steps // config.split) * step + per_tile)
    return machine.begin + max(time, moved / machine.memory)


@functools.cache
def candidates(kind: Kind = BF16) -> tuple[Config, ...]:
    """All configurations that are worth a thought."""
    tall = [(128, n, 2) for n in (64, 96, 128, 160, 192, 224, 256)] + [(256, 128, 2), (64, 64, 1)]
    small = [(m, n, m // 64) for m in (64, 128) for n in (8, 16, 32, 48, 64, 96, 128)]
    found = []
    for swap, shapes in ((False, tall), (True, [*tall, *small])):
        for (m, n, consumers), split, cluster in product(shapes, (1, 2, 3, 4, 6, 8), (1, 2)):
            if split * cluster > 8 or n % (8 * cluster):
                continue
            depth = 2 if n <= 64 and not (split > 4) else 1
            config = Config(m, n, consumers, 1, cluster, depth=depth, split=split, swap=swap)
            stages = min(config.most_stages(kind), 12)
            if stages >= 3:
                found.append(replace(config, stages=stages))
    return tuple(dict.fromkeys(found))


@functools.lru_cache(4096)
def choose(m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H200) -> Config:
    """The configuration that the model thinks the fastest."""
    return min(candidates(kind), key=lambda config: predicted(config, m, n, k, kind, machine))
