"""Broken synchronisation of the samples that nobody finds, and why: each pattern with its samples.

Most of it breaks nothing, by the manual; `UNCLEAR` is what the manual does not settle.  A pattern
matches the whole name of a mutant (`Mutant.name`), in all samples that it names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.samples.synchronisation import Mutant


@dataclass(frozen=True, slots=True)
class Unfound:
    """Mutants of some samples that nobody finds."""

    pattern: str
    samples: tuple[str, ...]
    why: str

    def covers(self, sample: str, mutant: Mutant) -> bool:
        """Whether it speaks of a mutant of a sample."""
        return sample in self.samples and re.fullmatch(self.pattern, mutant.name) is not None


_SCALED = ("mxfp8", "nvfp4")
_TILES = (*_SCALED, "sparse")  # a ring, and an epilogue that reads all of the sums at once
_RINGS = (*_TILES, "pair")
_ALL = (*_RINGS, "tile", "warps", "walkthrough", "stationary")
_HOPPER = ("hopper", "cluster")

# ---- what breaks nothing -----------------------------------------------------------------------

_ALLOC = (
    "tcgen05.alloc is synchronous and no tcgen05 operation is under way before it; the first MMA "
    "is made by the warp that allocated, the first load stands behind a fence of its own"
)
_SAME_FENCE = (
    "nothing but a wait stands between this fence and another: the one that is left orders the MMA "
    "after what the threads that read the accumulator did"
)
_NO_OTHER = (
    "the wait is for bytes that TMA brings, which it acquires; no tcgen05 operation of another "
    "thread comes before the MMA, which is what the fence orders"
)
_SIGNED = (
    "the transaction count is signed: bytes may come before they are expected, while the arrival "
    "that is made with the expectation is missing"
)
_REGISTERS = (
    "the registers are used at once, and a true dependency of registers is respected; the columns "
    "are handed on behind a later tcgen05.wait::ld of the same thread"
)
_LAST_WAIT = "it still stands before what hands the columns on"
_DEALLOC = (
    "tcgen05.dealloc is synchronous, and so is tcgen05.wait::ld, behind which no load runs; "
    "the fences order asynchronous operations"
)
_NOTHING_BETWEEN = "no use of what it publishes stands before the next barrier"
_CLUSTER = "the barrier of the cluster beside it has all threads of both CTAs wait as well"
_PROXY = (
    "a proxy fence may stand on either side of the barrier: it is on the way from the stores to "
    "the MMA, in the thread that issues the MMA"
)

_PROXY_OUT = (
    "a proxy fence may stand on either side of the barrier: here it is in the thread that issues "
    "the TMA store"
)

_SAME_SHAPE = (
    "multiplies of the same shape before it are all that has touched the accumulators: they need "
    "no wgmma.fence"
)
_LAST_USE = "nothing in the kernel uses the numbers in shared memory behind it"
_ELECT = (
    "elect.sync, with which it changes places, orders nothing: the store still stands behind it"
)

# ---- what is not settled -----------------------------------------------------------------------

UNCLEAR = (
    "threads learn of mbarrier.init by the barrier, which releases and acquires; whether the "
    "async proxy needs the fence to signal the mbarrier, the manual does not say (CUTLASS has the "
    "fence, Triton leaves it out in kernels of one CTA)"
)
CONVERGED = (
    "bar.sync is aligned: all threads of a warp execute the same one, as they do where their ways "
    "join; whether they must have met before it, the manual does not say"
)


def _each(edits: str, statement: str, numbers: str) -> str:
    return rf"({edits}) {re.escape(statement)}\S* #({numbers})"


_INIT, _EXPECT = "mbarrier.init", "mbarrier.arrive.expect_tx"
_BEFORE, _AFTER = "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"
_WAIT = "tcgen05.wait::ld"

UNFOUND = (
    Unfound(
        _each("drop", "fence.mbarrier_init", "1"),
        tuple({*_ALL} - {*_SCALED, "pair", "tile", "warps", "stationary"}),
        UNCLEAR,
    ),
    Unfound(_each("later", "fence.mbarrier_init", "1"), ("walkthrough",), UNCLEAR),
    Unfound(_each("later", _INIT, "1"), ("walkthrough",), UNCLEAR),
    Unfound(_each("later", _INIT, "2"), ("tile", "stationary"), UNCLEAR),
    Unfound(_each("later", _INIT, "9"), ("sparse",), UNCLEAR),
    Unfound(_each("later", _INIT, "12"), ("warps",), UNCLEAR),
    Unfound(_each("drop|later", "bar.warp.sync", "1"), (*_RINGS, "warps"), CONVERGED),
    # the allocation
    Unfound(_each("drop|later|earlier", _BEFORE, "1"), _ALL, _ALLOC),
    Unfound(_each("drop|later|earlier", _AFTER, "1"), _ALL, _ALLOC),
    Unfound(_each("later", "bar.sync", "1"), tuple({*_ALL} - {"walkthrough"}), _ALLOC),
    Unfound(_each("later", "bar.sync", "2"), ("walkthrough",), _ALLOC),
    Unfound(_each("drop|later", "bar.sync", "1"), ("walkthrough",), _NOTHING_BETWEEN),
    # the loads of shared memory
    Unfound(_each("later", _EXPECT, "1"), (*_TILES, "tile", "warps", "stationary"), _SIGNED),
    Unfound(_each("drop|later", _AFTER, "2"), ("pair", "stationary"), _NO_OTHER),
    Unfound(_each("drop|later", _AFTER, "2|3"), ("warps",), _SAME_FENCE),
    Unfound(_each("later", "fence.proxy.async", "1"), ("walkthrough",), _PROXY),
    Unfound(_each("later", "fence.proxy.async", "[1-4]"), ("warps",), _PROXY_OUT),
    # the epilogue
    Unfound(_each("drop|earlier", _WAIT, "[123]"), (*_TILES, "tile", "warps"), _REGISTERS),
    Unfound(_each("drop|earlier", _WAIT, "[1-7]"), ("pair",), _REGISTERS),
    Unfound(_each("drop|earlier", _WAIT, "1"), ("stationary",), _REGISTERS),
    Unfound(_each("later", _WAIT, "[1-4]"), (*_TILES, "tile"), _LAST_WAIT),
    Unfound(_each("later", _WAIT, "[1-8]"), ("pair",), _LAST_WAIT),
    Unfound(_each("later", _WAIT, "[12]"), ("stationary",), _LAST_WAIT),
    Unfound(_each("later", _WAIT, "4"), ("warps",), _LAST_WAIT),
    # the end
    Unfound(_each("drop|later|earlier", _BEFORE, "2"), tuple({*_ALL} - {"warps"}), _DEALLOC),
    Unfound(_each("drop|later|earlier", _BEFORE, "3"), ("warps",), _DEALLOC),
    Unfound(_each("drop|later|earlier", _AFTER, "4"), (*_RINGS, "stationary"), _DEALLOC),
    Unfound(_each("drop|later|earlier", _AFTER, "3"), ("walkthrough",), _DEALLOC),
    Unfound(_each("later", "bar.sync", "2"), (*_RINGS, "stationary"), _DEALLOC),
    Unfound(_each("later", "bar.sync", "4"), ("walkthrough",), _DEALLOC),
    Unfound(_each("drop", "bar.sync", "2"), ("pair",), _CLUSTER),
    Unfound(_each("later", "barrier.cluster.wait", "2"), ("pair",), _CLUSTER),
    # Hopper
    Unfound(_each("later", _INIT, "4"), ("hopper",), UNCLEAR),
    Unfound(_each("drop|later", "bar.warp.sync", "1"), ("hopper",), CONVERGED),
    Unfound(_each("drop", "bar.warp.sync", "1"), ("cluster",), CONVERGED),
    Unfound(_each("drop|later", "bar.warp.sync", "4"), ("cluster",), CONVERGED),
    Unfound(_each("later", _EXPECT, "1"), _HOPPER, _SIGNED),
    Unfound(_each("drop|later", "wgmma.fence", "2"), _HOPPER, _SAME_SHAPE),
    Unfound(_each("later", "fence.proxy.async", "1"), _HOPPER, _PROXY),
    Unfound(_each("later", "bar.warp.sync", "3"), _HOPPER, _ELECT),
    # softmax, layer norm
    Unfound(_each("drop|earlier", "bar.sync", "[48]"), ("softmax", "layer norm"), _LAST_USE),
)
