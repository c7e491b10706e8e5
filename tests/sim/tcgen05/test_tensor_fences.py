"""tcgen05.fence: without it an operation on tensor memory may leave its side of a wait or barrier.

PTX ISA, Memory Consistency Model for 5th generation of TensorCore operations: Canonical
synchronization patterns; tcgen05.fence.  A case is what two warps do, in words that `WORDS` spells
out; single threads (the first one of each warp) issue, commit and arrive.  It is right under every
schedule; without any one of its fences it is a race under every schedule, which names the fence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from intrinsics.findings import Finding, SimulationError
from tests.each import each
from tests.sim.matrices import matrix_descriptor
from tests.sim.ptx import SCHEDULES, run

_ROW = "{" + ", ".join(f"%r{20 + i}" for i in range(8)) + "}"

HEAD = f"""
    setp.ge.u32 %p9, %tx, 32;
    @%p9 bra ready;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
ready:
    setp.ne.u32 %p8, %tx, 0;
    @%p8 bra initialised;
    mbarrier.init.shared::cta.b64 [bar], 1;
    mbarrier.init.shared::cta.b64 [second], 1;
    mbarrier.init.shared::cta.b64 [done], 1;
    st.shared.b32 [flag], 0;
initialised:
    mov.u32 %r1, image;
    shl.b32 %r2, %tx, 4;
    add.u32 %r1, %r1, %r2;
    st.shared.v4.b32 [%r1], {{%r20, %r21, %r22, %r23}};
    fence.proxy.async;
    bar.sync 0;
    ld.shared.u32 %r10, [slot];
    mov.u32 %r1, image;
    and.b32 %r1, %r1, 0x3ffff;
    shr.u32 %r1, %r1, 4;
    cvt.u64.u32 %rd3, %r1;
    or.b64 %rd3, %rd3, {matrix_descriptor(span=0, lbo=128, sbo=256)};
    add.u32 %r11, %r10, {31 << 16};
    and.b32 %r2, %tx, 31;
    setp.eq.u32 %p2, %r2, 0;
    @%p9 bra filled;
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r10], {_ROW};
    tcgen05.wait::st.sync.aligned;
filled:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    @%p9 bra other;
"""
"""Warp 0 has written 8 columns of its lanes, and everybody knows it."""

TAIL = """
    bar.sync 0;
    @%p9 bra end;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
end:"""

VARIABLES = """.shared .align 4 .b32 slot;
.shared .align 4 .b32 flag;
.shared .align 8 .b64 bar;
.shared .align 8 .b64 second;
.shared .align 8 .b64 done;
.shared .align 1024 .b8 image[1024];"""


def commit(barrier: str) -> str:
    return (
        f"@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{barrier}];"
    )


def arrive(barrier: str, sem: str = "") -> str:
    return f"@%p2 mbarrier.arrive{sem}.shared::cta.b64 _, [{barrier}];"


def await_(barrier: str, sem: str = "") -> str:
    return f"""
again@:
    mbarrier.try_wait.parity{sem}.shared::cta.b64 %p3, [{barrier}], 0;
    @!%p3 bra again@;"""


WORDS = {
    "ld": f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {_ROW}, [%r10];",
    "wait::ld": "tcgen05.wait::ld.sync.aligned;",
    "st": f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r10], {_ROW};",
    "wait::st": "tcgen05.wait::st.sync.aligned;",
    "shift": "@%p2 tcgen05.shift.cta_group::1.down [%r10];",
    "cp.4x256b": "@%p2 tcgen05.cp.cta_group::1.4x256b [%r11], %rd3;",
    "before": "tcgen05.fence::before_thread_sync;",
    "after": "tcgen05.fence::after_thread_sync;",
    "fence": "fence.acq_rel.cta;",
    "barrier": "bar.sync 1;",
    "warp-sync": "bar.warp.sync -1;",
    "commit": commit("bar"),
    "commit-done": commit("done"),
    "commit-second": commit("second"),
    "arrive": arrive("bar"),
    "arrive-relaxed": arrive("bar", ".relaxed.cta"),
    "arrive-second": arrive("second"),
    "await": await_("bar"),
    "await-relaxed": await_("bar", ".relaxed.cta"),
    "await-second": await_("second"),
    "await-done": await_("done"),
    "set-flag": "@%p2 st.relaxed.cta.shared.b32 [flag], 1;",
    "see-flag": """
again@:
    ld.relaxed.cta.shared.b32 %r4, [flag];
    setp.eq.u32 %p3, %r4, 1;
    @!%p3 bra again@;""",
    "first-thread-awaits": """
    @!%p2 bra over@;
again@:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra again@;
over@:
    bar.warp.sync -1;""",
    "first-thread-awaits-and-fences": """
    @!%p2 bra over@;
again@:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra again@;
    tcgen05.fence::after_thread_sync;
over@:
    bar.warp.sync -1;""",
}
"""What a warp does; labels get a number instead of @."""


def spelt(words: str, first: int) -> str:
    return "\n".join(WORDS[w].replace("@:", f"{first + i}:").replace("@;", f"{first + i};")
                     for i, w in enumerate(words.split()))  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What warp 0 does, and warp 1; the lanes are those of warp 0."""

    one: str
    other: str = ""

    def without(self, fence: str, number: int) -> Case:
        """The same without one of its fences of a kind."""
        words = [*self.one.split(), "|", *self.other.split()]
        at = [i for i, word in enumerate(words) if word == fence][number]
        one, _, other = " ".join(words[:at] + words[at + 1 :]).partition("|")
        return Case(one, other)

    def body(self) -> str:
        return "\n".join(
            [HEAD, spelt(self.one, 100), "bra.uni met;", "other:", spelt(self.other, 200), "met:"]
        )


SHIFTS = "shift commit-done await-done"
LOADS = "ld wait::ld"

CASES = {
    "a load, and the shift of another thread": Case(
        "ld wait::ld before arrive", f"await after {SHIFTS}"),
    "a load, and the shift of another thread, by relaxed accesses": Case(
        "ld wait::ld before arrive-relaxed", f"await-relaxed after {SHIFTS}"),
    "a store, and the shift of another thread": Case(
        "st wait::st before arrive", f"await after {SHIFTS}"),
    "a store, and the shift of another thread behind a barrier": Case(
        "st wait::st before barrier", f"barrier after {SHIFTS}"),
    "a store, and the shift of another thread behind a flag": Case(
        "st wait::st before set-flag", f"see-flag after {SHIFTS}"),
    "a shift that is waited for, and the load of the same thread": Case(
        f"shift commit await after {LOADS}"),
    "a shift that is waited for by relaxed accesses, and the load of the same thread": Case(
        f"shift commit await-relaxed after {LOADS}"),
    "a shift, and the load of who waits for its commit": Case(
        f"await after {LOADS}", "shift commit"),
    "a shift, and the store of who waits for its commit": Case(
        "await after st wait::st", "shift commit"),
    "a commit that is handed on": Case(
        f"await-second after {LOADS}", "shift commit await arrive-second"),
    "a commit that one thread of the warp waits for": Case(
        f"first-thread-awaits after {LOADS}", "shift commit"),
    "a shift, and a copy of another thread that is pipelined behind it": Case(
        "shift before arrive commit-done await-done", "await after cp.4x256b commit-second "
        "await-second"),
}  # fmt: skip
"""Right kernels, of which every fence is needed."""

FREE = {
    "a wait between the fence and the arrival": Case(
        "ld before wait::ld arrive", f"await after {SHIFTS}"),
    "loads and stores of one warp": Case("st wait::st ld wait::ld st wait::st"),
    "a load and the shift of the same thread": Case(f"ld wait::ld {SHIFTS}"),
    "a store and the shift of the same thread": Case(f"st wait::st {SHIFTS}"),
    "a copy pipelined behind a shift": Case(f"shift cp.4x256b {SHIFTS.replace('shift', '')}"),
    "who waited for a commit issues what is pipelined": Case(
        "shift commit await cp.4x256b commit-done await-done"),
}  # fmt: skip
"""Right kernels that need no fence, or not where the others have it."""


def found(case: Case, schedule: str) -> Finding | None:
    try:
        run(
            case.body() + TAIL,
            np.zeros(4, np.uint32),
            variables=VARIABLES,
            threads=64,
            schedule=schedule,
        )
    except SimulationError as error:
        return error.findings[0]
    return None


@pytest.mark.turns(3)
@pytest.mark.parametrize("schedule", SCHEDULES)
@each("case", [*CASES.values(), *FREE.values()], ids=[*CASES, *FREE])
def test_a_right_kernel(case: Case, schedule: str):
    assert found(case, schedule) is None


def fences() -> list[tuple[str, str, int]]:
    """Every fence of every case: its kind, and which one it is of that."""
    return [
        (name, fence, number)
        for name, case in CASES.items()
        for fence in ("before", "after")
        for number in range(f"{case.one} {case.other}".split().count(fence))
    ]


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name, fence, number", fences())
def test_without_a_fence_it_is_a_race(name: str, fence: str, number: int, schedule: str):
    finding = found(CASES[name].without(fence, number), schedule)
    assert finding is not None
    assert finding.rule == "sim/race"
    if "relaxed" not in name and "flag" not in name:  # there it orders the threads as well
        assert f"tcgen05.fence::{fence}_thread_sync" in finding.message
        assert f"tcgen05.fence::{fence}_thread_sync" in finding.expected


WRONG = {
    "the fence before the wait": (
        Case(f"after await {LOADS}", "shift commit"), "after"),
    "the fence behind the arrival": (
        Case("ld wait::ld arrive before", f"await after {SHIFTS}"), "before"),
    "another fence behind the wait": (
        Case(f"await-relaxed fence {LOADS}", "shift commit"), "after"),
    "another fence before the arrival": (
        Case("ld wait::ld fence arrive-relaxed", f"await after {SHIFTS}"), "before"),
    "the other fence behind the wait": (
        Case(f"await before {LOADS}", "shift commit"), "after"),
    "the other fence before the arrival": (
        Case("ld wait::ld after arrive", f"await after {SHIFTS}"), "before"),
    "the fence of one thread, and the load of all": (
        Case(f"first-thread-awaits-and-fences {LOADS}", "shift commit"), "after"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("what", WRONG)
def test_a_fence_that_does_not_help(what: str, schedule: str):
    case, fence = WRONG[what]
    finding = found(case, schedule)
    assert finding is not None
    assert finding.rule == "sim/race"
    assert f"tcgen05.fence::{fence}_thread_sync" in finding.expected
    assert finding.section == "PTX ISA, tcgen05.fence"


UNWAITED = {
    "a load": (Case("ld before arrive wait::ld", f"await after {SHIFTS}"), "tcgen05.wait::ld"),
    "a shift": (Case(f"await after {LOADS}", "shift before arrive commit-done await-done"),
                "tcgen05.commit"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNWAITED)
def test_fences_wait_for_nothing(what: str):
    """What is not pipelined has to be complete: the finding asks for the wait, not for a fence."""
    case, wait = UNWAITED[what]
    finding = found(case, "early")
    assert finding is not None
    assert finding.rule == "sim/race"
    assert finding.expected.startswith(wait)
