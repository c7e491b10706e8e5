"""Races: for each way to order two accesses a right kernel, and the same without the order.

The right one is clean under every schedule, and without the order the race is found under every
one.  What orders what is the manual's: PTX ISA, Memory Consistency Model; mbarrier; barrier;
tcgen05, Canonical synchronization patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from nvgen.launching.tensor_map import tensor_map
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings

VARIABLES = """.shared .align 128 .b8 tile[1024];
.shared .align 8 .b64 bar;
.shared .align 4 .b32 slot;
.global .align 4 .b32 flag;
.global .align 4 .b32 word;"""

INIT = """
    setp.ne.u32 %p1, %tx, 0;
    setp.lt.u32 %p2, %tx, 32;
    mov.u32 %r1, tile;
    mad.lo.u32 %r1, %tx, 4, %r1;
    xor.b32 %r3, %tx, 32;
    mov.u32 %r2, tile;
    mad.lo.u32 %r2, %r3, 4, %r2;
    st.shared.u32 [%r1], 0;
    @%p1 bra made;
    mbarrier.init.shared.b64 [bar], {count};
    fence.mbarrier_init.release.cluster;
made:
    bar.sync 0;
"""
"""The tile is zeros.  %p1: not thread 0; %p2: warp 0; %r1: the thread's own word; %r2: one of the
other warp's.
"""

WAIT = """
spin{n}:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], {n};
    @!%p3 bra spin{n};
"""

TMA = """
    @%p1 bra issued;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile],
        [%m0, {0, 0}], [bar];
issued:
"""

STORE = """
    fence.proxy.async;
    bar.sync 0;
    @%p1 bra stored;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m0, {0, 0}], [tile];
    cp.async.bulk.commit_group;
"""

MEMORY = """
    setp.ge.u32 %p9, %tx, 32;
    @%p9 bra ready;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
ready:
    bar.sync 0;
    ld.shared.u32 %r10, [slot];
    shl.b32 %r12, %tx, 16;
    and.b32 %r12, %r12, 0x600000;
    add.u32 %r11, %r10, %r12;
"""
GIVE_BACK = """
    @%p9 bra end;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
end:"""


RELAXED = """
    @!%p2 bra other;
    st.shared.u32 [%r1], %tx;
    fence.acq_rel.cta;
    mbarrier.arrive.relaxed.cta.shared.b64 _, [bar];
    bra.uni end;
other:
spin:
    mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p3, [bar], 0;
    @!%p3 bra spin;
    fence.acq_rel.cta;
    ld.shared.u32 %r4, [%r2];
end:"""
"""Warp 0 stores, and warp 1 reads behind an mbarrier that orders nothing itself."""


@dataclass(frozen=True)
class Case:
    """A kernel of 64 threads, and the piece of it that orders two accesses."""

    body: str
    order: str
    instead: str = ""
    count: int = 1
    threads: int = 64


CASES = {
    "bar.sync": Case("st.shared.u32 [%r1], %tx; bar.sync 1; ld.shared.u32 %r4, [%r2];",
                     "bar.sync 1;"),
    "bar.arrive and bar.sync": Case("""
    @%p2 bra first;
    bar.sync 2, 64;
    ld.shared.u32 %r4, [%r2];
    bra.uni end;
first:
    st.shared.u32 [%r1], %tx;
    bar.arrive 2, 64;
end:""", "bar.sync 2, 64;\n    ld.shared.u32 %r4, [%r2];",
        "ld.shared.u32 %r4, [%r2];\n    bar.sync 2, 64;"),
    "write after read": Case("ld.shared.u32 %r4, [%r2]; bar.sync 1; st.shared.u32 [%r1], %tx;",
                             "bar.sync 1;"),
    "bar.warp.sync": Case("""
    xor.b32 %r3, %tx, 1;
    mov.u32 %r2, tile;
    mad.lo.u32 %r2, %r3, 4, %r2;
    st.shared.u32 [%r1], %tx;
    bar.warp.sync -1;
    ld.shared.u32 %r4, [%r2];""", "bar.warp.sync -1;"),
    "a vote between waits and mbarrier.inval": Case("""
    @!%p2 bra end;
    @%p1 bra waits;
    mbarrier.arrive.shared.b64 _, [bar];
waits:""" + WAIT.format(n=0) + """
    vote.sync.ballot.b32 %r4, %p3, -1;
    @%p1 bra end;
    mbarrier.inval.shared.b64 [bar];
end:""", "vote.sync.ballot.b32 %r4, %p3, -1;"),
    "mbarrier": Case("""
    @!%p2 bra other;
    st.shared.u32 [%r1], %tx;
    mbarrier.arrive.shared.b64 _, [bar];
    bra.uni end;
other:""" + WAIT.format(n=0) + """
    ld.shared.u32 %r4, [%r2];
end:""", WAIT.format(n=0), count=32),
    "a store before its arrival": Case("""
    @!%p2 bra other;
    st.shared.u32 [%r1], %tx;
    mbarrier.arrive.shared.b64 _, [bar];
    bra.uni end;
other:""" + WAIT.format(n=0) + """
    ld.shared.u32 %r4, [%r2];
end:""", "st.shared.u32 [%r1], %tx;\n    mbarrier.arrive.shared.b64 _, [bar];",
        "mbarrier.arrive.shared.b64 _, [bar];\n    st.shared.u32 [%r1], %tx;", count=32),
    "the earlier one of two readers": Case("""
    setp.ge.u32 %p4, %tx, 64;
    @%p4 bra writer;
    @%p2 bra first;
""" + 20 * "    mov.u32 %r6, 0;\n" + """
    ld.shared.u32 %r4, [tile];
    mbarrier.arrive.shared.b64 _, [bar];
    bra.uni end;
first:
    ld.shared.u32 %r5, [tile];
    mbarrier.arrive.shared.b64 _, [bar];
    bra.uni end;
writer:""" + WAIT.format(n=0) + """
    setp.ne.u32 %p5, %tx, 64;
    @%p5 bra end;
    st.shared.u32 [tile], 7;
end:""", "ld.shared.u32 %r5, [tile];\n    mbarrier.arrive.shared.b64 _, [bar];",
        "mbarrier.arrive.shared.b64 _, [bar];\n    ld.shared.u32 %r5, [tile];", 64, 96),
    "all lanes before an elected arrival": Case("""
    @!%p2 bra other;
    st.shared.u32 [%r1], %tx;
    bar.warp.sync -1;
    @%p1 bra end;
    mbarrier.arrive.shared.b64 _, [bar];
    bra.uni end;
other:""" + WAIT.format(n=0) + """
    ld.shared.u32 %r4, [%r2];
end:""", "bar.warp.sync -1;"),
    "a fence before a relaxed arrival": Case(
        RELAXED, "fence.acq_rel.cta;\n    mbarrier", "mbarrier", count=32),
    "a fence behind a relaxed wait": Case(RELAXED, "fence.acq_rel.cta;\n    ld", "ld", count=32),
    "a copy's mbarrier": Case(
        TMA + WAIT.format(n=0) + "ld.shared.u32 %r4, [tile];"
        + WAIT.format(n=0).replace("spin", "last"), WAIT.format(n=0)),
    "reads before a copy": Case(
        "st.shared.u32 [tile], 1; bar.sync 2; ld.shared.u32 %r4, [tile];\n    bar.sync 1;"
        + TMA + WAIT.format(n=0), "bar.sync 1;"),
    "wait_group.read": Case(
        "st.shared.u32 [%r1], 1;" + STORE + "cp.async.bulk.wait_group.read 0;"
        "st.shared.u32 [tile], 2; cp.async.bulk.wait_group 0; stored:",
        "cp.async.bulk.wait_group.read 0;"),
    "wait_group": Case(
        "st.shared.u32 [%r1], 1;" + STORE + "cp.async.bulk.wait_group 0;\n"
        "ld.global.u32 %r4, [%a1]; cp.async.bulk.wait_group.read 0; stored:",
        "cp.async.bulk.wait_group 0;"),
    "tcgen05.wait::st": Case(MEMORY + """
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%tx};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r11];
    tcgen05.wait::ld.sync.aligned;
    tcgen05.wait::st.sync.aligned;
    bar.sync 0;""" + GIVE_BACK, "tcgen05.wait::st.sync.aligned;\n    tcgen05.ld",
        "tcgen05.ld"),
    "tcgen05.wait::ld behind the use of the value": Case(MEMORY + """
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%tx};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r11];
    add.u32 %r20, %r20, 1;
    tcgen05.wait::ld.sync.aligned;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%r20};
    tcgen05.wait::ld.sync.aligned;
    tcgen05.wait::st.sync.aligned;
    bar.sync 0;""" + GIVE_BACK, "tcgen05.wait::ld.sync.aligned;\n    tcgen05.st", "tcgen05.st"),
    "a barrier before tcgen05.dealloc": Case(MEMORY + """
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r11], {%tx};
    tcgen05.wait::st.sync.aligned;
    bar.sync 1;""" + GIVE_BACK, "bar.sync 1;"),
    "release and acquire": Case("""
    @!%p1 bra writer;
    setp.ne.u32 %p4, %tx, 32;
    @%p4 bra end;
look:
    ld.acquire.gpu.global.u32 %r4, [flag];
    setp.eq.u32 %p5, %r4, 0;
    @%p5 bra look;
    ld.global.u32 %r5, [word];
    bra.uni end;
writer:
    st.global.u32 [word], 1;
    st.release.gpu.global.u32 [flag], 1;
end:""", "st.release.gpu", "st.relaxed.gpu"),
    "fences around relaxed accesses": Case("""
    @!%p1 bra writer;
    setp.ne.u32 %p4, %tx, 32;
    @%p4 bra end;
look:
    ld.volatile.global.u32 %r4, [flag];
    setp.eq.u32 %p5, %r4, 0;
    @%p5 bra look;
    fence.acq_rel.gpu;
    ld.global.u32 %r5, [word];
    bra.uni end;
writer:
    st.global.u32 [word], 1;
    membar.gl;
    atom.global.add.u32 %r6, [flag], 1;
end:""", "fence.acq_rel.gpu;"),
}  # fmt: skip


def found(case: Case, body: str, schedule: str) -> list[tuple[str, str]]:
    """Rules and the rest of the findings of a run."""
    source = np.arange(256, dtype=np.uint8).reshape(4, 64)
    map_ = tensor_map(source, (4, 64))
    text = INIT.format(count=case.count) + body
    all_ = findings(
        text, map_, source, variables=VARIABLES, threads=case.threads, schedule=schedule
    )
    return [(f.rule, f"{f.place} {f.got}") for f in all_]


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", CASES)
def test_with_the_order_all_is_well(name: str, schedule: str) -> None:
    assert found(CASES[name], CASES[name].body, schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", CASES)
def test_without_it_the_race_is_found(name: str, schedule: str) -> None:
    case = CASES[name]
    assert case.body.count(case.order) >= 1
    bad = found(case, case.body.replace(case.order, case.instead, 1), schedule)
    assert [rule for rule, _ in bad] == ["sim/race"]
    signals = sum(map(bad[0][1].count, ("its next signal to others: at ", "heard of others at ")))
    assert bad[0][1].count("<input>:") == 2 + signals, "both places, and the signals between"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_store_behind_the_arrival_of_one_thread(schedule: str) -> None:
    """Its next access is in a later epoch, though nobody else signals in between."""
    body = """
    @!%p1 bra waiter;
    setp.ne.u32 %p4, %tx, 32;
    @%p4 bra end;
    mbarrier.arrive.shared.b64 _, [bar];
    st.shared.u32 [tile], 5;
    bra.uni end;
waiter:""" + WAIT.format(n=0) + """
    nanosleep.u32 1000;
    ld.shared.u32 %r4, [tile];
end:"""  # fmt: skip
    assert [rule for rule, _ in found(Case(body, "", count=1), body, schedule)] == ["sim/race"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_shuffle_before_an_arrival_for_all_is_no_matter_of_scopes(schedule: str) -> None:
    body = """
    @!%p2 bra other;
    st.shared.u32 [%r1], %tx;
    shfl.sync.idx.b32 %r5, %tx, 0, 31, -1;
    @%p1 bra end;
    mbarrier.arrive.shared.b64 _, [bar];
    bra.uni end;
other:""" + WAIT.format(n=0) + """
    ld.shared.u32 %r4, [%r2];
end:"""  # fmt: skip
    source = np.zeros((4, 64), np.uint8)
    [race] = findings(
        INIT.format(count=1) + body, tensor_map(source, (4, 64)), source,
        variables=VARIABLES, threads=64, schedule=schedule,
    )  # fmt: skip
    assert race.message.endswith("and nothing orders the two")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("turned", [False, True])
def test_a_shuffle_orders_no_accesses(schedule: str, turned: bool) -> None:
    """A store before a load, and a load before a store, each of another lane."""
    accesses = ["st.shared.u32 [%r1], %tx;", "ld.shared.u32 %r4, [%r2];"]
    first, second = reversed(accesses) if turned else accesses
    body = f"""
    xor.b32 %r3, %tx, 1;
    mov.u32 %r2, tile;
    mad.lo.u32 %r2, %r3, 4, %r2;
    {first}
    shfl.sync.idx.b32 %r5, %tx, 0, 31, -1;
    {second}"""
    assert [rule for rule, _ in found(Case(body, ""), body, schedule)] == ["sim/race"]


BENIGN = {
    "atomics of all threads": "atom.shared.add.u32 %r4, [tile], 1; red.shared.add.u32 [tile], 1;",
    "volatile accesses": "st.volatile.shared.u32 [tile], %tx; ld.volatile.shared.u32 %r4, [tile];",
    "the same value": "st.shared.u32 [tile], 7;",
    "bytes side by side": "st.shared.u8 [%r1], 1; ld.shared.u8 %r4, [%r2+1];",
    "all threads read": "ld.shared.u32 %r4, [tile]; ld.global.u32 %r5, [word];",
    "a vote of those that waited, a fence and a count of warps before mbarrier.inval": """
    @%p1 bra waits;
    mbarrier.arrive.shared.b64 _, [bar];
waits:"""
    + WAIT.format(n=0)
    + """
    vote.sync.ballot.b32 %r4, %p3, -1;
    and.b32 %r5, %tx, 31;
    setp.ne.u32 %p4, %r5, 0;
    @%p4 bra end;
    fence.sc.cta;
    atom.acquire.cta.global.add.u32 %r6, [word], 1;
    setp.ne.u32 %p4, %r6, 1;
    @%p4 bra end;
    mbarrier.inval.shared.b64 [bar];
end:""",
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", BENIGN)
def test_what_is_no_race(name: str, schedule: str) -> None:
    body = BENIGN[name]
    assert not found(Case(body, ""), body, schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_plain_store_races_with_an_atomic(schedule: str) -> None:
    body = "@%p2 atom.shared.add.u32 %r4, [tile], 1; @!%p2 st.shared.u32 [tile], %tx;"
    assert [rule for rule, _ in found(Case(body, ""), body, schedule)] == ["sim/race"]
