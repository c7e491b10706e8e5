"""Bulk copies of bytes in a row: what they write, who counts them, and who must wait for them.

The expected bytes follow from the manual's words by numpy.  PTX ISA, cp.async.bulk;
cp.async.bulk.wait_group.  Tests marked `gpu` run on a GPU as well.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nvgen.launching.parameters import Output
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings, run

Bytes = NDArray[np.uint8]

SIZE = 1024
FILLER = 0xC3
VARIABLES = f".shared .align 128 .b8 tile[{SIZE}];\n.shared .align 8 .b64 bar;\n"
BYTES = "mbarrier::complete_tx::bytes"
SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"

PREPARE = f"""
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, tile; mov.u32 %r3, bar;
    mul.lo.u32 %r4, %tx, 16; add.u32 %r5, %r2, %r4;
    mov.u32 %r6, 0xC3C3C3C3;
    st.shared.v4.u32 [%r5], {{%r6, %r6, %r6, %r6}};
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    mbarrier.init.shared::cta.b64 [bar], 1;
made:
    fence.mbarrier_init.release.cluster;
    fence.proxy.async;
    {SYNC}
"""
"""%r1: rank; %r2, %r3: tile and mbarrier; %r5: the thread's 16 bytes, filled; %p1: not first."""

SHOW = f"""
    mov.u32 %r10, %ctaid.x; mad.lo.u32 %r10, %r10, {SIZE}, %r4;
    cvt.u64.u32 %rd9, %r10; add.u64 %rd9, %rd9, %a1;
    ld.shared.v4.u32 {{%r11, %r12, %r13, %r14}}, [%r5];
    st.global.v4.u32 [%rd9], {{%r11, %r12, %r13, %r14}};
"""
THREADS = SIZE // 16


def expect(size: str) -> str:
    """The first thread expects bytes."""
    return f"@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size};\n"


def wait(label: str = "spin", parity: int = 0) -> str:
    return f"""{label}:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [bar], {parity};
    @!%p9 bra {label};
"""


def source(size: int = SIZE) -> Bytes:
    """Bytes that are neither 0 nor the filler."""
    return ((np.arange(size) * 7) % 191 + 1).astype(np.uint8)


def shown(body: str, schedule: str, *, ctas: int = 1) -> Bytes:
    """The tile of each CTA behind `body`."""
    out = np.zeros((ctas, SIZE), np.uint8)
    run(
        PREPARE + body + SHOW, source(), Output(out), variables=VARIABLES, threads=THREADS,
        schedule=schedule, grid=(ctas, 1, 1), cluster=(ctas, 1, 1), target="sm_90a",
    )  # fmt: skip
    return out


# ---- to shared memory ------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("space", ["shared::cluster", "shared::cta"])
@pytest.mark.parametrize(("to", "at", "size"), [(0, 0, 1024), (16, 48, 16), (512, 256, 272)])
def test_a_load_brings_its_bytes_and_no_other(
    space: str, to: int, at: int, size: int, schedule: str
) -> None:
    body = expect(str(size)) + f"mov.u32 %r7, {size};\n" if size == 16 else expect(str(size))
    given = "%r7" if size == 16 else str(size)
    body += f"@!%p1 cp.async.bulk.{space}.global.{BYTES} [tile+{to}], [%a0+{at}], {given}, [bar];\n"
    expected = np.full(SIZE, FILLER, np.uint8)
    expected[to : to + size] = source()[at : at + size]
    assert (shown(body + wait(), schedule)[0] == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_each_thread_may_load_its_part(schedule: str) -> None:
    """In another order than the threads'."""
    body = f"""{expect(str(SIZE))}
    xor.b32 %r7, %r4, 0x30; cvt.u64.u32 %rd1, %r7; add.u64 %rd1, %rd1, %a0;
    cp.async.bulk.shared::cluster.global.{BYTES} [%r5], [%rd1], 16, [bar];
    {wait()}"""
    expected = source().reshape(-1, 4, 16)[:, ::-1].reshape(-1)
    assert (shown(body, schedule)[0] == expected).all()


NOTHING = {
    "to shared memory": f"cp.async.bulk.shared::cta.global.{BYTES} [tile], [%a0], %r7, [bar];",
    "to another CTA": "xor.b32 %r8, %r1, 1; mapa.shared::cluster.u32 %r9, %r2, %r8;"
    "mapa.shared::cluster.u32 %r8, %r3, %r8;"
    f"cp.async.bulk.shared::cluster.shared::cta.{BYTES} [%r9], [%r2], %r7, [%r8];",
    "to global memory": "cp.async.bulk.global.shared::cta.bulk_group [%a1], [tile], %r7;",
    "a reduction": "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a1], [tile], %r7;",
    "a prefetch": "cp.async.bulk.prefetch.L2.global [%a0], %r7;",
}


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("form", NOTHING)
def test_no_bytes_are_nothing(form: str, schedule: str) -> None:
    """The manual says nothing of them; on an H100 no barrier counts anything, and nothing fails."""
    body = f"""
    mov.u32 %r7, 0; @%p1 bra over;
    {NOTHING[form]}
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    mbarrier.arrive.shared::cta.b64 _, [bar];
over: {wait()}{SYNC}"""
    assert (shown(body, schedule, ctas=2) == FILLER).all()


@pytest.mark.gpu
@pytest.mark.parametrize("mask", [0, 1, 2, 5, 11, 15])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_multicast_goes_to_the_ctas_of_its_mask(mask: int, schedule: str) -> None:
    """From CTA 2, to the same place of each, where its mbarrier counts."""
    body = f"""
    shr.u32 %r7, {mask}, %r1; and.b32 %r7, %r7, 1; setp.eq.u32 %p2, %r7, 0;
    @%p2 bra go;
    {expect("64")}
go: setp.ne.or.u32 %p3, %r1, 2, %p1;
    @%p3 bra sent;
    mov.b16 %rs1, {mask};
    cp.async.bulk.shared::cluster.global.{BYTES}.multicast::cluster
        [tile+32], [%a0+128], 64, [bar], %rs1;
sent:
    @%p2 bra done;
    {wait()}
done: {SYNC}"""
    expected = np.full((4, SIZE), FILLER, np.uint8)
    for rank in range(4):
        if mask >> rank & 1:
            expected[rank, 32:96] = source()[128:192]
    assert (shown(body, schedule, ctas=4) == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_load_to_another_cta(schedule: str) -> None:
    """Its address and its mbarrier's are both those of the next CTA."""
    body = f"""{expect("32")}
    xor.b32 %r7, %r1, 1;
    mapa.shared::cluster.u32 %r8, %r2, %r7; mapa.shared::cluster.u32 %r9, %r3, %r7;
    mul.wide.u32 %rd1, %r1, 64; add.u64 %rd1, %rd1, %a0;
    @!%p1 cp.async.bulk.shared::cluster.global.{BYTES} [%r8], [%rd1], 32, [%r9];
    {wait()} {SYNC}"""
    expected = np.full((2, SIZE), FILLER, np.uint8)
    expected[0, :32], expected[1, :32] = source()[64:96], source()[:32]
    assert (shown(body, schedule, ctas=2) == expected).all()


# ---- to another CTA --------------------------------------------------------------------------

MINE = """
    ld.global.u32 %r20, [%a0];
    mad.lo.u32 %r20, %r1, 0x01010101, %r20;
    st.shared.v4.u32 [%r5], {%r20, %r4, %r20, %r1};
    fence.proxy.async;
    bar.sync 0;
"""
"""Each thread writes something of its own."""


def mine(rank: int) -> NDArray[np.uint32]:
    first = int(source()[:4].view(np.uint32)[0]) + rank * 0x01010101
    found = np.empty((THREADS, 4), np.uint32)
    found[:] = first, 0, first, rank
    found[:, 1] = np.arange(THREADS) * 16
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_shared_memory_goes_to_the_next_cta(schedule: str) -> None:
    """Each CTA sends its first half to the second half of the next one."""
    body = f"""{MINE}{expect(str(SIZE // 2))}
    add.u32 %r7, %r1, 1; and.b32 %r7, %r7, 3;
    mapa.shared::cluster.u32 %r8, %r2, %r7; mapa.shared::cluster.u32 %r9, %r3, %r7;
    {SYNC}
    @!%p1 cp.async.bulk.shared::cluster.shared::cta.{BYTES}
        [%r8+{SIZE // 2}], [tile], {SIZE // 2}, [%r9];
    {wait()} {SYNC}"""
    seen = shown(body, schedule, ctas=4).view(np.uint32).reshape(4, THREADS, 4)
    half = THREADS // 2
    for rank in range(4):
        assert (seen[rank, :half] == mine(rank)[:half]).all()
        assert (seen[rank, half:] == mine((rank - 1) % 4)[:half]).all()


# ---- to global memory ------------------------------------------------------------------------

STORED = f"""
    mul.wide.u32 %rd8, %r1, {SIZE}; add.u64 %rd8, %rd8, %a1;
    @%p1 bra rest;
    {{copy}}
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
rest:
"""


def stored(copy: str, schedule: str, target: str = "sm_90a") -> Bytes:
    out = np.full((1, SIZE), 0x77, np.uint8)
    run(
        PREPARE + MINE + STORED.format(copy=copy), source(), Output(out), variables=VARIABLES,
        threads=THREADS, schedule=schedule, target=target,
    )  # fmt: skip
    return out[0]


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("to", "at", "size"), [(0, 0, 1024), (16, 48, 16), (512, 256, 272)])
def test_a_store_writes_its_bytes_and_no_other(to: int, at: int, size: int, schedule: str) -> None:
    copy = f"cp.async.bulk.global.shared::cta.bulk_group [%rd8+{to}], [tile+{at}], {size};"
    expected = np.full(SIZE, 0x77, np.uint8)
    expected[to : to + size] = mine(0).reshape(-1).view(np.uint8)[at : at + size]
    assert (stored(copy, schedule) == expected).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("mask", [0, 1, 0x8001, 0x0FF0, 0xA5C3, 0xFFFF])
def test_a_mask_chooses_bytes_of_every_16(mask: int, schedule: str) -> None:
    copy = f"""mov.b16 %rs1, {mask};
    cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd8], [tile], 64, %rs1;"""
    expected = np.full(SIZE, 0x77, np.uint8)
    chosen = np.tile([bool(mask >> i & 1) for i in range(16)], 4)
    expected[:64][chosen] = mine(0).reshape(-1).view(np.uint8)[:64][chosen]
    assert (stored(copy, schedule, "sm_100a") == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_is_read_may_be_overwritten(schedule: str) -> None:
    """Behind wait_group.read the source is free, whether the store is complete or not."""
    copy = """cp.async.bulk.global.shared::cta.bulk_group [%rd8], [tile], 32;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    st.shared.u32 [tile], 0;"""
    expected = np.full(SIZE, 0x77, np.uint8)
    expected[:32] = mine(0).reshape(-1).view(np.uint8)[:32]
    assert (stored(copy, schedule) == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("read", ["", ".read"])
def test_a_wait_counts_groups_that_an_earlier_one_left(read: str, schedule: str) -> None:
    """Each wait leaves one group under way, so that the second one covers the first two groups."""
    copy = f"""cp.async.bulk.global.shared::cta.bulk_group [%rd8], [tile], 32;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group{read} 1;
    cp.async.bulk.global.shared::cta.bulk_group [%rd8+32], [tile+32], 32;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group{read} 1;
    st.shared.u32 [tile], 0;"""
    expected = np.full(SIZE, 0x77, np.uint8)
    expected[:64] = mine(0).reshape(-1).view(np.uint8)[:64]
    assert (stored(copy, schedule) == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_prefetch_changes_nothing(schedule: str) -> None:
    body = "@!%p1 cp.async.bulk.prefetch.L2.global [%a0], 256;"
    assert (shown(body, schedule)[0] == FILLER).all()


# ---- bytes outside of an allocation ----------------------------------------------------------

PART = f"cp.async.bulk.shared::cta.global.{BYTES}.ignore_oob [tile], [%a0], 32, %r7, %r8, [bar];"


def part(left: int, right: int, show: str = "") -> str:
    return f"""mov.u32 %r7, {left}; mov.u32 %r8, {right};
    {expect("32")} @!%p1 {PART} {wait()} {show}"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_lies_in_the_allocation_comes(schedule: str) -> None:
    """20 bytes of 32 are there; the others are not looked at."""
    show = "@%p1 exit; ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [tile];"
    show += "ld.shared.u32 %r15, [tile+16];"
    show += "st.global.v4.u32 [%a1], {%r11, %r12, %r13, %r14}; st.global.u32 [%a1+16], %r15;"
    out = np.zeros(32, np.uint8)
    run(
        PREPARE + part(0, 12, show), source(20), Output(out), variables=VARIABLES,
        threads=THREADS, schedule=schedule, version="9.2",
    )  # fmt: skip
    assert (out[:20] == source(20)).all()


# ---- what goes wrong -------------------------------------------------------------------------

LOAD = f"@!%p1 cp.async.bulk.shared::cluster.global.{BYTES}"
STORE = "@!%p1 cp.async.bulk.global.shared::cta.bulk_group"
SEND = f"@!%p1 cp.async.bulk.shared::cluster.shared::cta.{BYTES}"
PEER = "xor.b32 %r7, %r1, 1; mapa.shared::cluster.u32 %r8, %r2, %r7;"
PEER += "mapa.shared::cluster.u32 %r9, %r3, %r7;"

MISTAKES = {
    "a size in a register that is no multiple of 16": (
        f"mov.u32 %r7, 24; {LOAD} [tile], [%a0], %r7, [bar];", "bulk-alignment"),
    "a source that is not aligned": (f"{LOAD} [tile], [%a0+8], 16, [bar];", "bulk-alignment"),
    "a destination that is not aligned": (f"{LOAD} [tile+4], [%a0], 16, [bar];", "bulk-alignment"),
    "beyond global memory": (f"{LOAD} [tile], [%a0+1008], 32, [bar];" + wait(), "out-of-bounds"),
    "beyond shared memory": (
        f"{LOAD} [tile+1008], [%a0], 64, [bar]; {expect('64')}" + wait(), "out-of-bounds"),
    "no mbarrier": (f"{LOAD} [tile], [%a0], 16, [tile+64];" + wait(), "mbarrier-uninitialized"),
    "an mbarrier elsewhere": (f"{PEER} {LOAD} [tile], [%a0], 16, [%r9];", "bulk-mbarrier"),
    "the own CTA": (f"{SEND} [tile+64], [tile], 16, [bar];", "own-cta"),
    "a destination that is not one's own": (
        f"{PEER} {LOAD.replace('shared::cluster', 'shared::cta')} [%r8], [%a0], 16, [%r9];",
        "shared-cta"),
    "a multicast to a CTA that there is not": (
        f"{LOAD}.multicast::cluster [tile], [%a0], 16, [bar], 7;", "cluster-rank"),
    "more bytes than expected, and a wait": (
        f"{expect('32')} {LOAD} [tile], [%a0], 16, [bar];" + wait(), "deadlock"),
    "16 ignored bytes": (part(16, 0), "bulk-ignored"),
    "an ignored byte is read": (
        part(3, 0) + "@%p1 exit; ld.shared.u32 %r11, [tile]; exit;", "uninitialized"),
    "reading before the wait": (
        f"{LOAD} [tile], [%a0], 16, [bar]; {expect('16')} ld.shared.u32 %r11, [tile];" + wait(),
        "race"),
    "writing the source before the peer waits": (
        f"{PEER} {SEND} [%r8], [tile+64], 16, [%r9]; {expect('16')} "
        "@!%p1 st.shared.u32 [tile+64], 1;" + wait() + SYNC, "race"),
    "writing the source of a store": (
        f"@%p1 exit; {STORE} [%a1], [tile], 16; cp.async.bulk.commit_group;"
        "st.shared.u32 [tile], 1; cp.async.bulk.wait_group 0; exit;", "race"),
    "no proxy fence": (
        f"st.shared.u32 [%r5], 5; bar.sync 0; {STORE} [%a1], [tile], 16;"
        "@!%p1 cp.async.bulk.commit_group; @!%p1 cp.async.bulk.wait_group 0;", "proxy-fence"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("body, rule", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(body: str, rule: str, schedule: str) -> None:
    found = findings(
        PREPARE + body + SYNC, source(), Output(np.zeros(SIZE, np.uint8)), variables=VARIABLES,
        threads=THREADS, schedule=schedule, grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip
    assert [f.rule for f in found][:1] == ["sim/" + rule], found
    assert found[0].place.line
