"""Prefix sums in one pass over memory, of any number of elements (decoupled look-back).

    y[i] = x[0] + … + x[i]

A CTA has a tile.  It sums its own elements, tells the others, and looks back over what the tiles
before it have told: sums of their own, until one has told the sum of all up to it.  So no tile
waits for more than the one before it has read, and each element is read and written once.

    each thread    16 bytes ─► sums of its four elements
    the CTA        b.cta_scan: shuffles, then shared memory
    the grid       st.release.gpu of what is told ─► ld.acquire.gpu by later tiles

What is told is one word of 64 bits: the sum, and which sum it is.  Tiles are numbered as their CTAs
start, by a counter, so that the tiles before one have started, too.  Merrill and Garland,
Single-pass Parallel Prefix Scan with Decoupled Look-back (2016).

Runs on the CPU simulator for every target, and on an H200 (29 November 2026).
"""

from __future__ import annotations

import operator

import numpy as np

from nvgen import AtomicOp, Kernel, KernelBuilder, u32, u64

THREADS = 128
EACH = 4  # elements of a thread: 16 bytes
TILE = THREADS * EACH
NOTHING, OWN, ALL = 0, 1, 2  # what a tile has told: its own sum, or that of all up to it
TARGETS = ("sm_80", "sm_90a")


def build() -> Kernel:
    """The kernel, as LLVM IR: a CTA for each tile of `count` elements, a multiple of four.

    `told` has a word for each tile, `started` one for all: zeros before a launch.
    """
    b = KernelBuilder("scan", block=THREADS)
    b.pointer("x", u32)
    b.pointer("y", u32, output=True)
    b.pointer("told", u64)
    b.pointer("started", u32)
    b.u32("count")
    x, y, told, started, count = b.begin().values()
    shared = b.shared_array("shared", u32, 2)  # the tile; the sum of all tiles before it

    with b.if_thread(0):
        shared[0] = b.atom(AtomicOp.ADD, u32, started, 1)
    b.barrier_cta_sync_aligned()
    tile = shared[0]
    place = tile * TILE + b.thread * EACH
    held = b.variable(b.vector([b.u32(0)] * EACH))
    with b.if_(place < count):
        held.set(b.load(x.at(place), u32, EACH, align=16))
    sums = list(held.value)
    for i in range(1, EACH):
        sums[i] = sums[i - 1] + sums[i]
    before, whole = b.cta_scan(sums[-1], operator.add, initial=0)

    def tell(what: int, total) -> None:
        b.atom_store(told.at(tile), total.to(u64) << 32 | what)

    with b.if_thread(0):
        tell(OWN, whole)
        total, state, at = b.variable(0), b.variable(NOTHING), b.variable(tile)
        with b.while_(lambda: (at.value > 0) & (state.value != ALL)):
            word = b.atom_load(told.at(at.value - 1))
            state.set(word.to(u32))
            with b.if_(state.value != NOTHING):
                total.set(total.value + (word >> 32).to(u32))
                at.set(at.value - 1)
        tell(ALL, total.value + whole)
        shared[1] = total.value
    b.barrier_cta_sync_aligned()

    base = before + shared[1]
    with b.if_(place < count):
        b.store(b.vector([base + part for part in sums]), y.at(place), align=16)
    return b.finish()


def operands(count: int) -> tuple[np.ndarray, ...]:
    """Random numbers, their prefix sums as numpy has them, and what tiles tell and count in."""
    x = np.random.default_rng(0).integers(0, 2**16, count, dtype=np.uint32)
    tiles = -(-count // TILE)
    told, started = np.zeros(tiles, np.uint64), np.zeros(1, np.uint32)
    return x, np.cumsum(x, dtype=np.uint32), told, started


def main() -> None:
    """Run two lengths on the simulator, and compare with numpy."""
    for count in (4, 3000):
        x, expected, told, started = operands(count)
        y = np.zeros_like(x)
        compiled = build().compile(target="sm_90a")
        compiled.run(x, y, told, started, count, grid=told.size, device="sim")
        assert (y == expected).all(), "the result differs from numpy"
        print(f"{count} elements in {told.size} tiles: equal to numpy")


if __name__ == "__main__":
    main()
