"""How a GEMM for Hopper is cut into tiles: what there is to choose.

samples/10_gemm_sm90.py is the kernel; `Kind` says what it multiplies, `Config` how, and
gemm/model.py which configuration is thought the fastest.  All sizes of
tiles are counted in wgmma's terms: `m` rows of 64 at a time, `n` columns of 8 at a time.  With
`swap` the rows are those of B, and D is stored transposed, so that a small M is wgmma's N.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nvgen import ElementType, Major

if TYPE_CHECKING:
    from nvgen import F32, Float, Int, Number, NumberType, Pointer

ROW = 128  # bytes along K that one span of the swizzling has
WARPGROUP, ROWS = 128, 64  # threads of a warpgroup, and rows of one multiply
STORED = 16  # rows of wgmma's, or columns of D, of which a warp holds sums
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
    of what all send it.  Tiles follow one another along `group` tiles of A before the next rows of
    B begin; where CTAs of a cluster have the same rows of A, along those of B.  A warp has `staged`
    buffers for what it stores.  `resident` CTAs share a multiprocessor.  The tiles that do not fill
    the GPU are cut into `tail` parts along K.  `once` says that B is not read again: L2 gives up
    its lines first.  `early` lets launches overlap: one asks L2 for the first of B, and the next
    one may begin when all of A and B is brought.  With `pingpong` each of two warpgroups has a tile
    for itself, every other one of the CTA's: one multiplies while the other one stores.  `overlay`
    has what CTAs of a `split` send each other in the ring of buffers, if that is large enough.
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
    tail: int = 1
    once: bool = False
    early: bool = False
    pingpong: bool = False
    overlay: bool = False

    @property
    def team(self) -> int:
        """Warpgroups that multiply a tile together."""
        return 1 if self.pingpong else self.consumers

    @property
    def threads(self) -> int:
        """Threads of a CTA: the consumers, and a warpgroup of which one warp is the producer."""
        return (self.consumers + 1) * WARPGROUP

    def registers(self, copies: int = 1) -> tuple[int, int] | None:
        """What a thread of the producer keeps and one of the consumers gets of 65,536 registers,
        where `copies` of the sums need more than all threads can have alike."""
        sums = copies * self.m * self.n // (self.team * WARPGROUP)
        if self.consumers == 2:  # 128·24 + 256·240 = 384·168, what a CTA begins with
            return (24, 240) if sums > 96 else None
        return (32, 160) if self.consumers == 3 and sums > 64 else None  # 512·128

    @property
    def ctas(self) -> int:
        """CTAs of a cluster: those that share an operand, times those that share a tile."""
        return self.cluster * self.split

    @property
    def is_down(self) -> bool:
        """Whether tiles follow one another down, as wgmma sees them, before the next column begins.

        Where no CTAs share an operand that is along A: neighbours have the same rows of B, which
        may come from memory.
        """
        return not self.swap or self.cluster > 1

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

    @property
    def overlays(self) -> bool:
        """Whether the rows' operand has room for what others send of a slice."""
        return self.overlay and (self.split - 1) * self.slice * 4 <= ROW * self.depth * self.stages

    def piece(self, out: ElementType) -> tuple[int, int]:
        """Rows and columns of D that a warp stores at once: 128 bytes wide at most."""
        if self.swap:
            return highest(self.slice), STORED
        return STORED, math.gcd(self.slice, ROW * 8 // out.bits)

    def piece_bytes(self, out: ElementType) -> int:
        """What a warp stores at once, in bytes."""
        return math.prod(self.piece(out)) * out.bits // 8

    def wide(self, out: ElementType) -> int:
        """Columns of wgmma's D of a piece."""
        return self.piece(out)[0 if self.swap else 1]

    def pieces(self, out: ElementType) -> int:
        """Pieces of D that a warp stores of a tile."""
        return self.m // (self.team * ROWS) * (self.slice // self.wide(out))

    def shared_bytes(self, kind: Kind, stages: int | None = None) -> int:
        """What a CTA needs of shared memory, in bytes."""
        ring = (self.m + self.n) * ROW * self.depth * (self.stages if stages is None else stages)
        staging = self.piece_bytes(kind.out) * self.staged
        partials = 0 if self.split == 1 or self.overlay else self.split * self.m * self.slice * 4
        return ring + staging * self.consumers * 4 + partials + SMALLER

    def most_stages(self, kind: Kind) -> int:
        """How many buffers fit."""
        left = ROOM // self.resident - self.shared_bytes(kind, 0)
        return left // ((self.m + self.n) * ROW * self.depth)


@functools.cache
def highest(columns: int) -> int:
    """The rows of a piece of D that is stored transposed: as many as divide a tile's, up to 64."""
    return max(rows for rows in range(8, 65, 8) if columns % rows == 0)


LARGE = Config()


def tiles(config: Config, m: int, n: int) -> int:
    """How many tiles of a cluster D has."""
    down, across = (n, m) if config.swap else (m, n)
    rows, columns = config.clusters
    return -(-down // rows) * -(-across // columns)


def workspace(config: Config, m: int, n: int, ctas: int) -> tuple[int, int]:
    """How many f32 and flags of 32 bits a `tail` needs, of a launch of so many CTAs."""
    rest = tiles(config, m, n) % (ctas // config.cluster) * config.cluster
    parts = rest * (config.tail - 1)
    return parts * config.m * config.n, parts * config.consumers * 4


def grid(config: Config, m: int, n: int, multiprocessors: int = 132) -> int:
    """How many CTAs: one for each multiprocessor, or for each tile, or part, if they are fewer.

    Where CTAs share an operand, and nearly all do in all waves, as many as make these alike.
    """
    at_once = multiprocessors * config.resident // config.ctas
    count = tiles(config, m, n) * config.tail
    alike = -(-count // -(-count // at_once))
    if config.cluster > 1 and config.tail == 1 and alike > 0.9 * at_once:
        at_once = alike
    return min(count, at_once) * config.ctas
