"""What is built on the Hopper GEMM: kinds, and which configurations of these are possible.

The kernels are gemm/gate_up.py, gemm/grouped.py, gemm/quantised.py and gemm/block_scaled.py, of
which a launch whose kernel lies on disk needs nothing but this.  A choice takes a fifth of a
millisecond, and is kept.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace

from gemm.model import H100, Machine, plan
from gemm.plan import BF16, ROOM, STORED, WARPGROUP, Config, Kind
from nvgen import ElementType, f32, u32

TURN = 8  # rows of the gate in B, then of the other product
BLOCK = 128  # elements along K, rows of B, or columns of D, that share a scale; rows of one expert

QUANTISED = Kind(ElementType.BF16, ElementType.E4M3, reads=(("scales", f32), ("amax", u32)))
"""A and B in bf16; behind D the launch gives M × N/128 scales, and one word."""

WITHOUT_AMAX = Kind(ElementType.BF16, ElementType.E4M3, reads=(("scales", f32),))
"""The same without the word, where nobody wants to know the largest element."""

BLOCK_SCALED = Kind(ElementType.E4M3, reads=(("scale_b", f32),))

# ---- gated ---------------------------------------------------------------------------------------


ACTIVATION = 1.09
"""Times the plain product's time, that of wide gated tiles which warpgroups store together.
H200, 29 November 2026, four products."""


def can_gate(c: Config) -> bool:
    """Whether a warp's piece has blocks of both products, and no workspace is needed."""
    return (c.swap or c.slice % (2 * TURN) == 0) and c.tail == 1


def slower_gated(c: Config) -> float:
    """Times the plain product's time: warpgroups in turn hide the activation."""
    if not can_gate(c):
        return math.inf
    return 1.0 if c.pingpong or c.split > 1 or c.n < BLOCK else ACTIVATION


def plan_gated(m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H100) -> Config:
    """The configuration that is thought the fastest, of the possible."""
    return plan(m, n, k, kind, machine, slower_gated)


# ---- D in fp8 ------------------------------------------------------------------------------------


WARPS = BLOCK // STORED
"""Of a CTA that tell each other what they have seen of a block of D that is transposed."""


def can_quantise(c: Config) -> bool:
    """Whether a warp has whole blocks of D's rows, or all warps of a tile one, and no workspace is
    needed."""
    turned = c.swap and c.m == BLOCK and c.consumers == 2
    return c.tail == 1 and (turned or (not c.swap and c.slice % BLOCK == 0))


TURNED = 1.07
"""Times the plain product's time, where all warps tell each other what they have seen of each row.
H200, 29 November 2026, three products, up to eight configurations each."""

LARGER = 1.04
"""Times that of smaller tiles, where those beyond 128 × 128 are scaled: 1.035 the same day for
three others, in long launches of warpgroups in turn, which the model thought 2 % faster then."""


def slower_quantised(c: Config) -> float:
    """Times the plain product's time, what a configuration takes."""
    if not can_quantise(c):
        return math.inf
    if c.swap and not c.pingpong:
        return TURNED
    return LARGER if c.m * c.n > BLOCK * BLOCK else 1.0


def told(rows: int) -> int:
    """How many f32 warps tell each other of so many rows of D, and of the next ones."""
    return 2 * WARPS * rows


@functools.lru_cache(4096)
def plan_quantised(
    m: int, n: int, k: int, kind: Kind = QUANTISED, machine: Machine = H100
) -> Config:
    """The configuration that the model thinks the fastest, of those that are possible."""
    found = plan(m, n, k, kind, machine, slower_quantised)
    nbytes = told(found.wide(kind.out)) * 4 if found.swap else 0
    return with_room(found, kind, lambda stages: nbytes)


def with_room(c: Config, kind: Kind, more: Callable[[int], int]) -> Config:
    """As many buffers as fit with the bytes that these need `more`."""
    room = ROOM // c.resident
    fits = (n for n in range(c.stages, 0, -1) if c.shared_bytes(kind, n) + more(n) <= room)
    return replace(c, stages=next(fits))


# ---- grouped -------------------------------------------------------------------------------------


def can_group(c: Config) -> bool:
    """Whether tiles of such a configuration have one expert each."""
    alone = c.cluster == c.split == c.tail == 1 and not c.swap
    return alone and BLOCK % c.m == 0


def slower_grouped(c: Config) -> float:
    """Times the plain product's time: as long."""
    return 1.0 if can_group(c) else math.inf


def plan_grouped(m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H100) -> Config:
    """The configuration for as many rows in all, of those that are possible."""
    return plan(m, n, k, kind, machine, slower_grouped)


# ---- block-scaled --------------------------------------------------------------------------------

SLOWER = {1: 1.12, 2: 1.155, 3: 1.15}
"""Times the plain product's time, what so many warpgroups take that promote what they multiply.
H200, 29 November 2026, 23 products; of one warpgroup six."""

SCALES = 1.25  # times that, where several warpgroups have another scale for each of their columns
FEWER = 1.05  # times that, where several multiply fewer columns than share a scale of B
SHARED = 1.04  # times that, where a pair of CTAs shares an operand


@functools.lru_cache(4096)
def plan_scaled(
    m: int, n: int, k: int, kind: Kind = BLOCK_SCALED, machine: Machine = H100
) -> Config:
    """Of the configurations whose sums fit twice into registers the one that is thought fastest.

    A tile has rows of B of one scale only, and scales of A in whole lines of TMA.
    """
    found = plan(m, n, k, kind, machine, slower_scaled)
    return with_scales(found, kind)


def slower_scaled(c: Config) -> float:
    """Times the plain product's time, what a configuration takes."""
    if not can_scale(c):
        return math.inf
    times = SLOWER[c.consumers] * (SHARED if c.cluster > 1 else 1)
    if c.consumers > 1:
        times *= (SCALES if c.swap else 1) * (FEWER if c.n < BLOCK else 1)
    return times


def with_scales(c: Config, kind: Kind) -> Config:
    """As many buffers as fit with their scales, and 2 KiB to spare."""
    rows = c.n if c.swap else c.m
    return with_room(c, kind, lambda stages: stages * rows * 4 + 2048)


def can_scale(c: Config) -> bool:
    """Whether such a tile has one scale of B for a step, and registers for its sums twice or more.

    Nobody takes turns at whole tiles: warpgroups share a tile, and multiply while others add up.
    """
    of_b, of_a = (c.m, c.n) if c.swap else (c.n, c.m)
    fits = c.m * c.n // (c.consumers * WARPGROUP) <= 64 and c.depth == c.tail == 1
    lies = BLOCK % of_b == 0 and of_a % 32 == 0
    return fits and lies and c.stages > 3 and c.cluster < 4 and not c.pingpong
