"""The function level where copies of a few bytes arrive at mbarriers when they are complete.

Right kernels are clean and judged to the end; each wrong one is one edit of a right one.  What is
expected is what the manual says: with .noinc the arrival is one of those that mbarrier.init counts,
without it the phase expects one more and gets it.  The simulator, which counts arrivals one by one,
agrees on each.  PTX ISA, cp.async.mbarrier.arrive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity, SimulationError
from isel.verifier.functions import verify_functions
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from nvgen.sim.threads.limits import Limits
from tests.isel.verifier import kernels

COUNTED = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full];"
UNCOUNTED = "cp.async.mbarrier.arrive.shared::cta.b64 [full];"
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [full];"
BARRIER = "bar.sync 0;"


def kernel(arrive: str, *, count: int = 128, guard: str = "") -> str:
    """128 threads copy 16 bytes each, arrive, wait for all, and read what another one copied."""
    body = f"""\
    .shared .align 128 .b8 tile[2048];
    .shared .align 8 .b64 full;
    .shared .align 8 .b64 other;
    mov.u32 %r1, %t;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra MADE;
    mbarrier.init.shared::cta.b64 [full], {count};
    fence.mbarrier_init.release.cluster;
MADE:
    {BARRIER}
    mad.wide.u32 %rd2, %r1, 16, %source;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, 16, %r2;
    cp.async.cg.shared.global [%r3], [%rd2], 16;
    {guard}
    {arrive}
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
    @!%p2 bra WAIT;
    xor.b32 %r4, %r1, 64;
    mad.lo.u32 %r5, %r4, 16, %r2;
    ld.shared.u32 %r6, [%r5];"""
    return kernels.kernel(body, ".param .u64 source")


def said(text: str) -> list[Finding]:
    """What the function level says, notes as well."""
    reading = read_ptx(text, "k.ptx")
    assert reading.findings == []
    return verify_functions(reading.module)


def run(text: str, schedule: str = "late") -> list[str]:
    """The rules that end a run."""
    source = np.arange(2048, dtype=np.uint8)
    try:
        simulate(
            read_ptx(text, "k.ptx").module, "k", [source], block=(128, 1, 1), grid=(1, 1, 1),
            schedule=parse_schedule(schedule), limits=Limits(100_000),
        )  # fmt: skip
    except SimulationError as error:
        return [f.rule for f in error.findings]
    return []


RIGHT = {
    "counted": kernel(COUNTED),
    "counted, and an arrival of each thread": kernel(COUNTED + ARRIVE, count=256),
    "not counted, and an arrival of each thread": kernel(UNCOUNTED + ARRIVE),
    "counted in two warps": kernel(COUNTED, count=64, guard="setp.ge.u32 %p3, %r1, 64;").replace(
        COUNTED, "@%p3 bra WAIT;\n    cp.async.wait_all;\n    " + COUNTED
    ).replace("xor.b32 %r4, %r1, 64", "and.b32 %r4, %r1, 63"),
    "in generic addresses": kernel(
        "cvta.shared.u64 %rd3, %rd3; cp.async.mbarrier.arrive.noinc.b64 [%rd3];",
        guard="mov.u64 %rd3, full;",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Wrong:
    """A broken kernel, the rule that it breaks, and what ends its run."""

    text: str
    rule: str
    ends: str


WRONG = {
    "more expected than arrive": Wrong(
        kernel(COUNTED, count=129), "mbarrier/arrivals", "sim/deadlock"
    ),
    "arrivals that are not counted alone": Wrong(
        kernel(UNCOUNTED), "mbarrier/arrivals", "sim/deadlock"
    ),
    "more arrive than expected": Wrong(
        kernel(COUNTED, count=64), "mbarrier/too-many-arrivals", "sim/race"
    ),
    "on what is no mbarrier": Wrong(
        kernel(COUNTED.replace("full", "other")),
        "mbarrier/uninitialized",
        "sim/mbarrier-uninitialized",
    ),
    "before it is made": Wrong(
        kernel(COUNTED).replace(BARRIER, ""), "mbarrier/published", "sim/mbarrier-uninitialized"
    ),
    "behind the wait": Wrong(
        kernel("").replace("    xor.b32", f"    {COUNTED}\n    xor.b32"),
        "mbarrier/deadlock",
        "sim/deadlock",
    ),
    "not counted, behind the wait": Wrong(
        kernel(UNCOUNTED).replace("    xor.b32", f"    {ARRIVE}\n    xor.b32"),
        "mbarrier/deadlock",
        "sim/deadlock",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_judged_and_clean(name: str) -> None:
    assert said(RIGHT[name]) == []
    assert run(RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_one_is_found(name: str) -> None:
    wrong = WRONG[name]
    found = said(wrong.text)
    assert wrong.rule in {f.rule for f in found if f.severity is Severity.ERROR}
    assert not any(f.incomplete for f in found)
    assert wrong.ends in run(wrong.text)
