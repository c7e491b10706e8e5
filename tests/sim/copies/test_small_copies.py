"""Asynchronous copies of 4, 8 and 16 bytes: what they write, and who must wait for them.

The expected bytes follow from the manual's words by numpy.  PTX ISA, cp.async;
cp.async.commit_group; cp.async.wait_group; cp.async.mbarrier.arrive.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nvgen.launching.parameters import Output
from tests.sim.ptx import SCHEDULES, findings, run

VARIABLES = """.shared .align 128 .b8 tile[2048];
.shared .align 8 .b64 bar;"""

ADDRESSES = """
    mul.lo.u32 %r1, %tx, 16;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %rd1, %a0;
    add.u64 %rd3, %rd1, %a1;
    mov.u32 %r3, 0xC3C3C3C3;
    st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};
"""
"""%r2, %rd2, %rd3: the thread's 16 bytes of the tile, filled, of the source and of the result."""

SHOW = """
    ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r2];
    st.global.v4.u32 [%rd3], {%r4, %r5, %r6, %r7};
"""
OTHERS = """
    xor.b32 %r8, %tx, 32;
    mul.lo.u32 %r8, %r8, 16;
    mov.u32 %r9, tile;
    add.u32 %r2, %r9, %r8;
"""
"""%r2: the 16 bytes of the thread with the same lane in the other warp."""

INIT = """
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    mbarrier.init.shared.b64 [bar], {count};
made:
    bar.sync 0;
"""
SPIN = """
spin:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra spin;
"""
WAITS = (
    "cp.async.wait_all;",
    "cp.async.commit_group; cp.async.wait_group 0;",
    "cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1;",
)


def source(threads: int = 32) -> NDArray[np.uint8]:
    """Bytes that are neither 0 nor the filler."""
    return ((np.arange(threads * 16) * 7) % 191 + 1).astype(np.uint8)


def result(threads: int = 32) -> NDArray[np.uint8]:
    return np.zeros(threads * 16, np.uint8)


def copied(size: int, read: NDArray[np.int64]) -> NDArray[np.uint8]:
    """What 32 threads have in 16 bytes each: `read` bytes, zeros up to `size`, the filler."""
    found = np.full((32, 16), 0xC3, np.uint8)
    given = source().reshape(32, 16)
    for thread in range(32):
        count = int(read[thread])
        found[thread, :size] = 0
        found[thread, :count] = given[thread, :count]
    return found.reshape(-1)


# ---- what is copied --------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("form", "size"),
    [("ca.shared.global", 4), ("ca.shared.global", 8), ("ca.shared::cta.global", 16),
     ("cg.shared.global", 16), ("cg.shared.global.L2::128B", 16)],
)  # fmt: skip
def test_a_copy_brings_its_bytes_and_no_other(
    form: str, size: int, schedule: str, wait: str
) -> None:
    out = result()
    body = ADDRESSES + f"cp.async.{form} [%r2], [%rd2], {size};" + wait + SHOW
    run(body, source(), Output(out), variables=VARIABLES, schedule=schedule)
    assert (out == copied(size, np.full(32, size))).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("size", [4, 8, 16])
def test_a_source_size_fills_the_rest_with_zeros(size: int, schedule: str) -> None:
    out = result()
    body = (
        ADDRESSES
        + f"rem.u32 %r10, %tx, {size + 1};"
        + f"cp.async.ca.shared.global [%r2], [%rd2], {size}, %r10; cp.async.wait_all;"
        + SHOW
    )
    run(body, source(), Output(out), variables=VARIABLES, schedule=schedule)
    assert (out == copied(size, np.arange(32) % (size + 1))).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("negated", [False, True])
def test_an_ignored_source_gives_zeros(negated: bool, schedule: str) -> None:
    out = result()
    predicate = "!%p4" if negated else "%p4"
    body = (
        ADDRESSES
        + "setp.lt.u32 %p4, %tx, 5;"
        + f"cp.async.cg.shared.global [%r2], [%rd2], 16, {predicate}; cp.async.wait_all;"
        + SHOW
    )
    run(body, source(), Output(out), variables=VARIABLES, schedule=schedule)
    first = np.arange(32) < 5
    assert (out == copied(16, np.where(first == negated, 16, 0))).all()


# ---- waits -----------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_wait_covers_all_groups_but_the_latest(schedule: str) -> None:
    """The first group is there; the second one's bytes are looked at after a second wait."""
    out = result()
    body = (
        ADDRESSES
        + "cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group;"
        + "cp.async.ca.shared.global [%r2+4], [%rd2+4], 4; cp.async.commit_group;"
        + "cp.async.wait_group 1; ld.shared.u32 %r10, [%r2]; st.shared.u32 [%r2+8], %r10;"
        + "cp.async.wait_group 0;"
        + SHOW
    )
    run(body, source(), Output(out), variables=VARIABLES, schedule=schedule)
    expected = np.full((32, 16), 0xC3, np.uint8)
    given = source().reshape(32, 16)
    expected[:, :8] = given[:, :8]
    expected[:, 8:12] = given[:, :4]
    assert (out == expected.reshape(-1)).all()


TWO = (
    "cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group;"
    "cp.async.ca.shared.global [%r2+4], [%rd2+4], 4; cp.async.commit_group;"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "copy",
    [
        "cp.async.cg.shared.global [%r2], [%rd2], 16;",
        "cp.async.cg.shared.global [%r2], [%rd2], 16; cp.async.commit_group;",
        "cp.async.cg.shared.global [%r2], [%rd2], 16; cp.async.wait_group 0;",
        "cp.async.cg.shared.global [%r2], [%rd2], 16; cp.async.commit_group;cp.async.wait_group 1;",
        TWO + "cp.async.wait_group 1;",
    ],
)
def test_a_missing_wait_is_a_race(copy: str, schedule: str) -> None:
    out = result()
    (found,) = findings(
        ADDRESSES + copy + SHOW, source(), Output(out), variables=VARIABLES, schedule=schedule
    )
    assert found.rule == "sim/race"
    assert "cp.async.wait" in found.expected


@pytest.mark.parametrize("copy", [TWO, "cp.async.cg.shared.global [%r2], [%rd2], 16;"])
def test_without_a_wait_the_late_bytes_are_not_there(copy: str) -> None:
    out = result()
    run(
        ADDRESSES + copy + SHOW, source(), Output(out),
        variables=VARIABLES, schedule="late", races=False,
    )  # fmt: skip
    assert (out == 0xC3).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_other_threads_read_behind_a_barrier(schedule: str) -> None:
    out = result(64)
    body = (
        ADDRESSES
        + "cp.async.cg.shared.global [%r2], [%rd2], 16; cp.async.wait_all; bar.sync 0;"
        + OTHERS
        + SHOW
    )
    run(body, source(64), Output(out), variables=VARIABLES, schedule=schedule, threads=64)
    assert (out.reshape(2, -1) == source(64).reshape(2, -1)[::-1]).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_is_no_wait(schedule: str) -> None:
    body = ADDRESSES + "cp.async.cg.shared.global [%r2], [%rd2], 16; bar.sync 0;" + OTHERS + SHOW
    (found,) = findings(
        body, source(64), Output(result(64)), variables=VARIABLES, schedule=schedule, threads=64
    )
    assert found.rule == "sim/race"


HALVES = """
    cp.async.cg.shared.global [%r2], [%rd2], 16;
    and.b32 %r8, %tx, 31;
    setp.lt.u32 %p2, %r8, 16;
    @%p2 cp.async.wait_all;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_each_thread_waits_for_its_own_copies(schedule: str) -> None:
    out = result(64)
    body = ADDRESSES + HALVES + "@!%p2 cp.async.wait_all; bar.sync 0;" + OTHERS + SHOW
    run(body, source(64), Output(out), variables=VARIABLES, schedule=schedule, threads=64)
    assert (out.reshape(2, -1) == source(64).reshape(2, -1)[::-1]).all()


def test_a_thread_does_not_wait_for_those_of_others() -> None:
    """The upper half of each warp has not waited when its bytes are read."""
    (found,) = findings(
        ADDRESSES + HALVES + "bar.sync 0;" + OTHERS + SHOW,
        source(64), Output(result(64)), variables=VARIABLES, schedule="late", threads=64,
    )  # fmt: skip
    assert found.rule == "sim/race"


# ---- mbarriers -------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("arrive", "count"),
    [
        ("cp.async.mbarrier.arrive.noinc.shared.b64 [bar];", 64),
        (
            "cp.async.mbarrier.arrive.shared::cta.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];",
            64,
        ),
    ],
)
def test_copies_arrive_at_an_mbarrier(arrive: str, count: int, schedule: str) -> None:
    out = result(64)
    body = (
        ADDRESSES
        + INIT.format(count=count)
        + "cp.async.ca.shared.global [%r2], [%rd2], 8;"
        + "cp.async.ca.shared.global [%r2+8], [%rd2+8], 8;"
        + arrive
        + SPIN
        + OTHERS
        + SHOW
    )
    run(body, source(64), Output(out), variables=VARIABLES, schedule=schedule, threads=64)
    assert (out.reshape(2, -1) == source(64).reshape(2, -1)[::-1]).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_arrival_does_not_wait_for_later_copies(schedule: str) -> None:
    body = (
        ADDRESSES
        + INIT.format(count=64)
        + "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];"
        + "cp.async.cg.shared.global [%r2], [%rd2], 16;"
        + SPIN
        + SHOW
    )
    (found,) = findings(
        body, source(64), Output(result(64)), variables=VARIABLES, schedule=schedule, threads=64
    )
    assert found.rule == "sim/race"


def test_more_arrivals_than_expected() -> None:
    body = (
        ADDRESSES
        + INIT.format(count=1)
        + "@!%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;"
        + "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];"
    )
    (found,) = findings(body, source(), Output(result()), variables=VARIABLES)
    assert found.rule == "sim/mbarrier-arrivals"


# ---- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copy", "rule"),
    [
        ("cp.async.cg.shared.global [%r2], [%rd2], 16, %r3;", "sim/copy-size"),
        ("cp.async.cg.shared.global [%r2+8], [%rd2], 16;", "sim/misaligned"),
        ("cp.async.cg.shared.global [%r2], [%rd2+8], 16;", "sim/misaligned"),
        ("cp.async.cg.shared.global [%r2], [%rd2+512], 16;", "sim/out-of-bounds"),
        ("cp.async.cg.shared.global [%r2+2048], [%rd2], 16;", "sim/out-of-bounds"),
    ],
)
def test_a_wrong_copy_is_found(copy: str, rule: str) -> None:
    body = ADDRESSES + copy + "cp.async.wait_all;"
    (found,) = findings(body, source(), Output(result()), variables=VARIABLES, schedule="late")
    assert found.rule == rule


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_source_that_is_not_read_may_be_anywhere(schedule: str) -> None:
    out = result()
    body = (
        ADDRESSES
        + "mov.u32 %r10, 0; cp.async.cg.shared.global [%r2], [%rd2+512], 16, %r10;"
        + "cp.async.wait_all;"
        + SHOW
    )
    run(body, source(), Output(out), variables=VARIABLES, schedule=schedule)
    assert (out == 0).all()
