"""A ring of many buffers, filled in long steps of K, comes round in some run.

What goes wrong with a buffer's second use shows only there.  PTX ISA, mbarrier: a phase ends when
all who were expected have arrived; what they read behind their arrival is theirs no more.
"""

from __future__ import annotations

import pytest

from nvgen import Kernel, KernelBuilder, f32

WIDE = 32


def summed(stages: int, step: int, *, late: bool) -> Kernel:
    """Sums of K columns, `step` of them for each buffer; `late` reads it when it is given back."""
    b = KernelBuilder("summed", block=64, target="sm_90a")
    b.tile_map("x", f32, (32, WIDE))
    b.pointer("y", f32, output=True)
    b.u32("k")
    args = b.begin()
    tiles = b.shared_tiles("tiles", f32, (32, WIDE), stages)
    ring = b.tile_ring("ring", tiles)
    b.make_mbarriers(*ring.mbarriers)
    with b.if_warp(1), b.elect():
        producer = ring.producer()
        with b.range(args["k"] // step) as turn, producer.fill() as slot:
            b.load_tile(slot.tiles[0], args["x"], (turn * WIDE, 0), slot.full)
    with b.if_warp(0):
        consumer, total = ring.consumer(), b.variable(0.0)
        with b.range(args["k"] // step):
            with consumer.use() as slot:
                if not late:
                    total.set(total.value + slot.tiles[0].at(b.lane, 0)[0])
                b.bar_warp_sync()  # before the one that is elected gives it back
            if late:
                total.set(total.value + slot.tiles[0].at(b.lane, 0)[0])
        args["y"][b.lane] = total.value
    return b.finish()


@pytest.mark.parametrize(("stages", "step"), [(2, 128), (4, 128), (3, 256), (7, 256)])
def test_what_is_read_too_late_is_found(stages: int, step: int) -> None:
    right = summed(stages, step, late=False).compile(level="function")
    assert [f.rule for f in right.findings if f.rule != "verify/level"] == []
    wrong = summed(stages, step, late=True).compile(level="function", allow=["*"])
    assert "shared/race" in {f.rule for f in wrong.findings}
