"""cp.async copies by the lanes of a warp, and the arrivals that signal their completion.

PTX ISA, cp.async.mbarrier.arrive: each thread's arrival follows its own copies; an arrival of one
thread behind its own cp.async.wait_all says nothing of what the other lanes have copied.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import nvgen
from intrinsics.findings import Severity, SimulationError
from tests.each import each
from tests.isel.verifier.kernels import kernel, severities

BODY = """\
    .shared .align 128 .b8 words[128];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 told;
    setp.eq.u32 %p1, %t, 0;
    and.b32 %r1, %t, 31;
    shl.b32 %r1, %r1, 2;
    mov.u32 %r2, words;
    add.u32 %r3, %r2, %r1;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %x, %rd1;
    @%p1 mbarrier.init.shared.b64 [full], 32;
    @%p1 mbarrier.init.shared.b64 [told], 1;
    bar.sync 0;
    setp.ge.u32 %p2, %t, 32;
    @%p2 bra OTHERS;
    cp.async.ca.shared.global [%r3], [%rd2], 4;
    {behind}
    elect.sync _|%p3, 0xffffffff;
    @%p3 mbarrier.arrive.shared.b64 _, [told];
    bra END;
OTHERS:
TOLD:
    mbarrier.try_wait.parity.shared.b64 %p4, [told], 0;
    @!%p4 bra TOLD;
    {wait}
    ld.shared.b32 %r5, [%r3];
    st.global.b32 [%rd2+128], %r5;
END:"""
"""Warp 0 copies, one of its threads arrives; warp 1 reads."""
EACH = "cp.async.mbarrier.arrive.noinc.shared.b64 [full];"
WAIT = """
FULL:
    mbarrier.try_wait.parity.shared.b64 %p5, [full], 0;
    @!%p5 bra FULL;
"""
WAITED = "cp.async.wait_all;"
ALONE = {("mbarrier.arrive/other-threads", Severity.REVIEW)}

CASES: dict[str, tuple[str, str, set[tuple[str, Severity]]]] = {
    "each lane arrives behind its copies": (EACH, WAIT, set()),
    "the warp synchronises": (f"{WAITED} bar.warp.sync 0xffffffff;", "", set()),
    "one lane arrives for all": (WAITED, "", ALONE),
}


@each("name", CASES)
def test_lanes_arrive_for_what_they_copy(name: str) -> None:
    behind, wait, expected = CASES[name]
    body = BODY.format(behind=behind, wait=wait)
    assert severities(kernel(body, ".param .u64 x", ".reqntid 64")) == expected


# ---- waits of some lanes -------------------------------------------------------------------------

COPIED = """\
    .shared .align 128 .b8 words[256];
    and.b32 %r1, %t, 31;
    shl.b32 %r2, %t, 2;
    mov.u32 %r3, words;
    add.u32 %r4, %r3, %r2;
    cvt.u64.u32 %rd1, %r2;
    add.u64 %rd2, %x, %rd1;
    setp.eq.u32 %p1, %r1, 0;
    setp.lt.u32 %p2, %r1, 16;
    cp.async.ca.shared.global [%r4], [%rd2], 4;
    cp.async.commit_group;
"""
"""Each thread of two warps copies its word."""
OTHER_WARP = """
    bar.sync 0;
    xor.b32 %r5, %r2, 128;
    add.u32 %r5, %r3, %r5;
"""
OTHER_HALF = """
    bar.warp.sync 0xffff;
    xor.b32 %r5, %r4, 64;
"""
OWN = """
    mov.u32 %r5, %r4;
"""
READ = "    ld.shared.b32 %r6, [%r5];\n    st.global.b32 [%rd2+256], %r6;\nEND:"
HALVES = "@%p2 bra A; cp.async.wait_group 0; bra B; A: cp.async.wait_group 0; B:"
HALF = "@!%p2 bra END; cp.async.wait_all;"

WAITS = {
    "all wait": ("cp.async.wait_all;" + OTHER_WARP, True),
    "one half, then the other": (HALVES + OTHER_WARP, True),
    "one lane, then all": ("@%p1 cp.async.wait_all; cp.async.wait_group 0;" + OTHER_WARP, True),
    "one lane of each warp": ("@%p1 cp.async.wait_group 0;" + OTHER_WARP, False),
    "a half reads what it has waited for": (HALF + OWN, True),
    "a half reads what the other copies": (HALF + OTHER_HALF, False),
}
SCHEDULES = ["late", "random:1", "random:2"]


@pytest.mark.wrong_kernel
@each("name", WAITS)
def test_each_lane_waits_for_what_it_copies(name: str) -> None:
    body, is_right = WAITS[name]
    text = kernel(COPIED + body + READ, ".param .u64 x", ".reqntid 64")
    assert severities(text) == (set() if is_right else {("shared/race", Severity.ERROR)})
    for schedule in SCHEDULES:
        run(text, schedule, is_right=is_right)


def run(text: str, schedule: str, *, is_right: bool, size: int = 128) -> None:
    """Run a kernel whose parameter is an array; a wrong one races."""
    launch: Callable[..., object] = nvgen.compile(text, level="record").run
    x = np.arange(size, dtype=np.int32)
    if is_right:
        launch(x, grid=1, block=64, device="sim", schedule=schedule)
        return
    with pytest.raises(SimulationError) as error:
        launch(x, grid=1, block=64, device="sim", schedule=schedule)
    assert {f.rule for f in error.value.findings} == {"sim/race"}


ARRIVING = """\
    .shared .align 128 .b8 words[128];
    .shared .align 8 .b64 full;
    shl.b32 %r2, %t, 2;
    and.b32 %r1, %r2, 127;
    mov.u32 %r3, words;
    add.u32 %r4, %r3, %r1;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %x, %rd1;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [full], {count};
    bar.sync 0;
    setp.ge.u32 %p2, %t, 32;
    @%p2 bra FULL;
    cp.async.ca.shared.global [%r4], [%rd2], 4;
    {who} cp.async.mbarrier.arrive.noinc.shared.b64 [full];
    bra END;
FULL:
    mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
    @!%p3 bra FULL;
    ld.shared.b32 %r6, [%r4];
    st.global.b32 [%rd2+128], %r6;
END:"""
"""Warp 0 copies, some of its lanes arrive, and warp 1 waits for these arrivals alone."""
ARRIVALS = {"all lanes arrive": (32, "", True), "one lane arrives": (1, "@%p1", False)}


@pytest.mark.wrong_kernel
@each("name", ARRIVALS)
def test_an_arrival_follows_the_copies_of_its_lane(name: str) -> None:
    count, who, is_right = ARRIVALS[name]
    text = kernel(ARRIVING.format(count=count, who=who), ".param .u64 x", ".reqntid 64")
    found = {("cp.async.mbarrier.arrive/other-threads", Severity.REVIEW)}
    assert severities(text) == (set() if is_right else found)
    for schedule in SCHEDULES:
        run(text, schedule, is_right=is_right)
