"""A producer and a consumer, one warp each, and the same without the producer's arrival."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvgen import Kernel, KernelBuilder
from nvgen.values.pointers import Pointer

ROUNDS = 3
THREADS = 64
TARGET = "sm_90a"
STUCK = (
    "CTA 0, warp 0, lanes 0-31 wait for empty, parity 0",
    "CTA 0, warp 1, lanes 0-31 wait for full[1], parity 0",
)
"""Who waits for what, for ever, when nobody arrives at `full[1]`."""


def hand_over(*, arrives: bool = True, rounds: int = ROUNDS) -> Kernel:
    """Warp 0 writes 32 words in each round and arrives; warp 1 waits, and writes them to `out`."""
    b = KernelBuilder("hand_over", block=THREADS)
    b.pointer("out", output=True)
    out = b.begin()["out"]
    assert isinstance(out, Pointer)
    full, empty = b.mbarriers("full", 2), b.mbarrier("empty")
    words = b.mbarriers("words", 16)[0].pointer  # 32 words that lie in a row
    lane = b.tid_x & 31
    with b.if_thread(0):
        b.mbarrier_init(full[1], 32)
        b.mbarrier_init(empty, 32)
    b.barrier_cta_sync_aligned()
    word = words + (lane * 4).zext(64)
    with b.if_warp(0), b.range(rounds) as i:
        b.wait(empty, (i & 1) ^ 1)
        b.store(i * 100 + lane, word, align=4)
        if arrives:
            b.mbarrier_arrive(full[1])
    with b.if_warp(1), b.range(rounds) as i:
        b.wait(full[1], i & 1)
        value = b.load_word(word)
        b.mbarrier_arrive(empty)
        b.store(value, out + ((i * 32 + lane) * 4).zext(64), align=4)
    return b.finish()


def expected(rounds: int = ROUNDS) -> NDArray[np.int32]:
    """What the consumer writes."""
    return np.stack([i * 100 + np.arange(32) for i in range(rounds)]).astype(np.int32)
