"""A warp that may see the phase of an mbarrier too late.

On an H200 an attention kernel hung; this is the likely cause, reconstructed.

A warpgroup goes through a ring of two buffers; its first warp alone tells the producer that one
is free.  Another warp that is two buffers behind waits for a parity that has come and gone.  Only a
schedule that lets it lag shows that; the rule sees it in every run.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import NvgenError
from nvgen import KernelBuilder, bf16
from nvgen.built import Kernel
from tests.sim.ptx import findings

RULE = "mbarrier/phase-missed"
MISSED = "sim/mbarrier-phase-missed"
NONE_SEEN = "it saw none of the phases"
SEEDS = [f"random:{seed}" for seed in range(8)]


def ring(*, each_warp: bool, multiplies: bool = False) -> Kernel:
    """One thread fills the buffers; a warpgroup waits for each, and gives it back."""
    b = KernelBuilder("walk", block=256, dynamic_shared=True, target="sm_90a")
    b.tile_map("x", bf16, (64, 64))
    b.u32("steps")
    args = b.begin()
    buffers = b.shared_tiles("tiles", bf16, (64, 64), 2)
    tiles = b.tile_ring("ring", buffers, warps=4 if each_warp else 1)
    b.make_mbarriers(*tiles.mbarriers)
    with b.if_warpgroup(1), b.if_warp(4), b.elect():
        producer = tiles.producer()
        with b.range(args["steps"]), producer.fill() as slot:
            b.load_tile(slot.tile, args["x"], (0, 0), slot.full)
    with b.if_warpgroup(0):
        consumer, sums = tiles.consumer(), b.warpgroup_tile(64, 64)
        with b.range(args["steps"]):
            slot = consumer.take()
            if multiplies:
                b.gemm(sums, slot.tile, slot.tile)
            consumer.release(slot)
    return b.finish()


def hangs(kernel: Kernel, schedule: str) -> bool:
    """Whether a run ends with the finding that a phase was missed."""
    compiled = kernel.compile(level="record")
    try:
        compiled.run(np.zeros((64, 64), bf16.numpy), 12, grid=1, device="sim", schedule=schedule)
    except NvgenError as error:
        return any(f.rule == MISSED or f.hint.startswith(NONE_SEEN) for f in error.findings)
    return False


@pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
def test_the_rule_sees_what_some_schedules_show() -> None:
    wrong = ring(each_warp=False)
    found = [f for f in wrong.compile().findings if f.rule == RULE]
    assert len(found) == 1
    assert "ring_full" in found[0].got
    assert "warp 1" in found[0].got
    assert not hangs(wrong, "early")
    assert not hangs(wrong, "late")
    assert any(hangs(wrong, seed) for seed in SEEDS)


@pytest.mark.turns(3)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
def test_each_warp_tells_that_it_is_through() -> None:
    right = ring(each_warp=True)
    assert right.compile().findings == []
    assert not any(hangs(right, seed) for seed in SEEDS[:4])


@pytest.mark.turns(3)
@pytest.mark.filterwarnings("error::nvgen.FindingWarning")
def test_a_multiply_that_all_warps_come_to_keeps_them_together() -> None:
    right = ring(each_warp=False, multiplies=True)
    assert right.compile().findings == []
    assert not any(hangs(right, seed) for seed in SEEDS[:4])


TWO_PHASES = """
    setp.ge.u32 %p1, %tx, 32;
    setp.ne.u32 %p2, %tx, 0;
    @!%p2 mbarrier.init.shared.b64 [bar], 1;
    bar.sync 0;
    @%p1 bra look;
    @!%p2 mbarrier.arrive.shared.b64 _, [bar];
    @!%p2 mbarrier.arrive.shared.b64 _, [bar];
    bra end;
look:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra look;
end:
"""
"""Warp 1 waits for the first phase, and nothing keeps the second one from ending as well."""


def test_a_thread_that_waited_meanwhile_is_told_at_its_wait() -> None:
    variables = ".shared .align 8 .b8 bar[8];"
    (found,) = findings(TWO_PHASES, variables=variables, threads=64, schedule="early")
    assert found.rule == MISSED
    assert "phase 0 of bar ended" in found.message
    assert found.got == "phase 2 under way, of the same parity 0"
    assert found.op.startswith("MBARRIER_TRY_WAIT_PARITY")
    assert found.place.line > 0
    (late,) = findings(TWO_PHASES, variables=variables, threads=64, schedule="late")
    assert late.rule == "sim/deadlock", "it came when both had ended"
    assert late.hint.startswith(f"{NONE_SEEN} 0 to 1 of bar end")
