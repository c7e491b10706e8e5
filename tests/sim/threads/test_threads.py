"""Threads: divergence, guards, exits, indices, and warps that are not full.

What each thread must compute is computed by Python, thread by thread.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from tests.sim.ptx import SCHEDULES, findings, run

STORE = "\n    mad.wide.u32 %rd1, %tx, 4, %a0;\n    st.global.u32 [%rd1], {};"


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_leave_a_loop_one_by_one(schedule: str):
    """A loop with a branch inside, whose number of turns differs from lane to lane."""
    body = """
    add.u32 %r1, %tx, 1;
    mov.u32 %r2, 0;
turn:
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra done;
    add.u32 %r2, %r2, 1;
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra even;
    mad.lo.u32 %r1, %r1, 3, 1;
    bra turn;
even:
    shr.u32 %r1, %r1, 1;
    bra turn;
done:""" + STORE.format("%r2")
    seen = np.zeros(64, np.uint32)
    run(body, seen, threads=64, schedule=schedule)
    assert seen.tolist() == [collatz(n + 1) for n in range(64)]


@pytest.mark.gpu
@pytest.mark.parametrize(("guard", "value"), [("%p1", 1), ("!%p1", 0)])
def test_a_guarded_instruction_acts_in_the_lanes_that_pass(guard: str, value: int):
    body = """
    and.b32 %r1, %tx, 1;
    setp.eq.u32 %p1, %r1, 1;
    mov.u32 %r2, 10;
    @{0} mov.u32 %r2, 20;
    mad.wide.u32 %rd1, %tx, 4, %a0;
    @{0} st.global.u32 [%rd1], %r2;
    st.global.u32 [%rd1+128], %r2;"""
    seen = np.zeros((2, 32), np.uint32)
    run(body.format(guard), seen)
    passes = np.arange(32) % 2 == value
    assert seen[0].tolist() == np.where(passes, 20, 0).tolist()
    assert seen[1].tolist() == np.where(passes, 20, 10).tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("leave", ["ret", "exit"])
def test_some_lanes_exit_and_the_others_go_on(leave: str, schedule: str):
    body = f"    setp.gt.u32 %p1, %tx, 20;\n    @%p1 {leave};" + STORE.format("7")
    seen = np.zeros(32, np.uint32)
    run(body, seen, schedule=schedule)
    assert seen.tolist() == [7] * 21 + [0] * 11


EXCHANGES = {
    "redux.sync.add.u32 %r1, %tx, 0xffffffff;": [sum(range(21))] * 21,
    "setp.gt.u32 %p2, %tx, 3;\nvote.sync.ballot.b32 %r1, %p2, 0xffffffff;": [0x1FFFF0] * 21,
    "shfl.sync.idx.b32 %r1, %tx, 3, 31, 0xffffffff;": [3] * 21,
    "shr.u32 %r2, %tx, 2;\nmatch.any.sync.b32 %r1, %r2, 0xffffffff;": [
        0xF << lane // 4 * 4 & 0x1FFFFF for lane in range(21)
    ],
}
"""By what threads of a warp tell each other, the results of the lanes 0 to 20."""


@pytest.mark.gpu
@pytest.mark.parametrize("leave", ["ret", "exit"])
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_nobody_waits_at_a_shuffle_for_who_has_exited(exchange: str, leave: str):
    """PTX ISA, shfl.sync: threads wait for those of the mask that have not exited."""
    body = f"    setp.gt.u32 %p1, %tx, 20;\n    @%p1 {leave};\n    {exchange}"
    seen = np.zeros(32, np.uint32)
    run(body + STORE.format("%r1"), seen)
    assert seen.tolist() == EXCHANGES[exchange] + [0] * 11


def test_who_exits_behind_a_branch_lets_the_others_go_on():
    """The lanes of the other side come to the end while those of this one shuffle."""
    body = (
        """
    setp.gt.u32 %p1, %tx, 15;
    @%p1 bra done;
    shfl.sync.down.b32 %r1, %tx, 8, 31, 0xffffffff;"""
        + STORE.format("%r1")
        + "\ndone:"
    )
    seen = np.zeros(32, np.uint32)
    run(body, seen)
    assert seen[:8].tolist() == list(range(8, 16))


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_come_together_again(schedule: str):
    """After branches of different length, all lanes are at one barrier of the warp."""
    body = """
    and.b32 %r1, %tx, 3;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra short;
    mov.u32 %r2, 0;
long:
    add.u32 %r2, %r2, %r1;
    setp.lt.u32 %p2, %r2, 6;
    @%p2 bra long;
short:
    bar.warp.sync 0xffffffff;
    elect.sync %r3|%p3, 0xffffffff;
    selp.u32 %r4, 1, 0, %p3;""" + STORE.format("%r4")
    seen = np.zeros(32, np.uint32)
    run(body, seen, schedule=schedule)
    assert seen.sum() == 1


@pytest.mark.gpu
@pytest.mark.parametrize("threads", [1, 17, 32, 48, 96])
def test_a_warp_need_not_be_full(threads: int):
    """An aligned barrier waits for the threads that the last warp has, and no others run."""
    seen = np.zeros(128, np.uint32)
    run("    bar.sync 0;" + STORE.format("1"), seen, threads=threads)
    assert seen.tolist() == [1] * threads + [0] * (128 - threads)


@pytest.mark.gpu
def test_special_registers_follow_the_shape_of_the_launch():
    """x runs fastest; a lane is a thread's linear number modulo 32."""
    names = ("tid.x", "tid.y", "tid.z", "ctaid.x", "ctaid.y", "ctaid.z", "laneid", "warpid")
    reads = {name: f"llvm.nvvm.read.ptx.sreg.{name}" for name in (*names, "ntid.x", "ntid.y")}
    body = [f"  %{n.replace('.', '')} = call i32 @{f}()" for n, f in reads.items()]
    body += [
        "  %t1 = mul i32 %tidz, %ntidy",
        "  %t2 = add i32 %t1, %tidy",
        "  %t3 = mul i32 %t2, %ntidx",
        "  %thread = add i32 %t3, %tidx",
        "  %c1 = mul i32 %ctaidz, 3",
        "  %c2 = add i32 %c1, %ctaidy",
        "  %c3 = mul i32 %c2, 2",
        "  %cta = add i32 %c3, %ctaidx",
        "  %n1 = mul i32 %cta, 40",
        "  %number = add i32 %n1, %thread",
        "  %row = mul i32 %number, 8",
    ]
    for i, name in enumerate(names):
        body += [
            f"  %i{i} = add i32 %row, {i}",
            f"  %p{i} = getelementptr i32, ptr addrspace(1) %out, i32 %i{i}",
            f"  store i32 %{name.replace('.', '')}, ptr addrspace(1) %p{i}",
        ]
    text = "define ptx_kernel void @k(ptr addrspace(1) %out) {\n" + "\n".join(body)
    compiled = nvgen.compile(text + "\n  ret void\n}\n", target="sm_100a")
    seen = np.zeros((4, 3, 2, 40, 8), np.uint32)
    compiled.run(seen, grid=(2, 3, 4), block=(5, 4, 2))
    for (z, y, x, thread), _ in np.ndenumerate(seen[..., 0]):
        expected = (thread % 5, thread // 5 % 4, thread // 20, x, y, z, thread % 32, thread // 32)
        assert tuple(seen[z, y, x, thread]) == expected


def test_a_loop_that_never_changes_anything_is_reported():
    (finding,) = findings("turn:\n    bra turn;")
    assert finding.rule == "sim/deadlock"
    assert "lanes 0-31" in finding.message


def test_a_loop_that_counts_for_ever_meets_the_limit_of_steps():
    loop = "    mov.u32 %r1, 0;\nturn:\n    add.u32 %r1, %r1, 1;\n    bra turn;"
    finding, standing = findings(loop)
    assert finding.rule == standing.rule == "sim/max-steps"
    assert finding.place.line > 0
    assert "CTA 0, warp 0, lanes 0-31" in standing.message
    assert standing.place == finding.place


@pytest.mark.parametrize("threads", [64, 256])
def test_a_trap_ends_the_kernel(threads: int):
    body = "    setp.eq.u32 %p1, %tx, 33;\n    @%p1 trap;"
    (finding,) = findings(body, threads=threads)
    assert finding.rule == "sim/trap"
