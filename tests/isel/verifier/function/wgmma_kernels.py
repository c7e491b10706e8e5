"""Kernels in PTX with wgmma for tests of the function level, by their names."""

from __future__ import annotations

from tests.isel.verifier.function.warpgroup_kernels import (
    ATTENTION,
    ON_ALL,
    ON_GROUP,
    ON_TABLE,
    ON_WORD,
    ONE_LEFT,
    OVERLAPPED,
    REGISTERS,
    SCALED,
    STORED,
    TILE,
    TURNS,
    TWO_SUMS,
)
from tests.isel.verifier.function.warpgroup_rings import PING_PONG, RING, RING_ONE_LEFT, RING_PEELED

CLEAN = {
    "on all": ON_ALL,
    "on a word": ON_WORD,
    "on the warpgroup": ON_GROUP,
    "on a table": ON_TABLE,
    "tile": TILE,
    "stored": STORED,
    "turns": TURNS,
    "one left": ONE_LEFT,
    "scaled": SCALED,
    "two sums": TWO_SUMS,
    "registers": REGISTERS,
    "attention": ATTENTION,
    "overlapped": OVERLAPPED,
    "ring": RING,
    "ring, one left": RING_ONE_LEFT,
    "ring, peeled": RING_PEELED,
    "ping-pong": PING_PONG,
}
