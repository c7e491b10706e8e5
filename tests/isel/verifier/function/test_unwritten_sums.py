"""Sums that begin with registers which nothing has written before the first multiply.

What is expected follows from the paths of each small kernel: its accumulators are %f1 to %f4.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.each import each
from tests.isel.verifier.kernels import kernel, said

HEAD = """\
    mov.u32 %r1, %n;
    setp.eq.u32 %p1, %r1, 0;
    mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b64 %rd1, 0x400000000;
    mov.f32 %f5, 0f00000000;
"""
MMA = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
    "{%r2, %r3, %r4, %r5}, {%r2, %r3}, {%f1, %f2, %f3, %f4};"
)
FROM_ZERO = MMA.replace(
    "}, {%r2, %r3}, {%f1, %f2, %f3, %f4}", "}, {%r2, %r3}, {%f5, %f5, %f5, %f5}"
)
WGMMA = (
    "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
    "{%f1, %f2, %f3, %f4}, %rd1, %rd1, ADDS, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; "
    "wgmma.wait_group.sync.aligned 0;"
)
SET = "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;"
HALF = "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1;"
TURNS = "TURN: {} add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 9; @%p2 bra TURN;"

WRONG = {
    "nothing writes them": (MMA, "mma", "4 of 4"),
    "two are written": (f"{HALF} {MMA}", "mma", "2 of 4"),
    "the multiply alone does, in a loop": (TURNS.format(MMA), "mma", "4 of 4"),
    "later ones do": (f"{MMA} {SET} {MMA}", "mma", "4 of 4"),
    "only behind it in a loop": (TURNS.format(f"{MMA} {SET}"), "mma", "4 of 4"),
    "wgmma adds to them": (WGMMA.replace("ADDS", "1"), "wgmma.mma_async", "4 of 4"),
}
RIGHT = {
    "all are set": f"{SET} {MMA}",
    "in a loop, set before": f"{SET} {TURNS.format(MMA)}",
    "on one of two ways": f"@%p1 bra ON; {SET}\nON: {MMA}",
    "by an earlier multiply": f"{SET} {MMA} {MMA}",
    "by a multiply that adds to zeros": f"{FROM_ZERO} {MMA}",
    "wgmma does not add": WGMMA.replace("ADDS", "0"),
}


def unwritten(body: str) -> list[tuple[str, str]]:
    """The rule and the words of the findings about unwritten sums, each a warning."""
    found = said(kernel(HEAD + body, ".param .u32 n"))
    found = [f for f in found if f.rule.endswith("/unwritten")]
    assert all(f.severity is Severity.WARNING for f in found)
    return [(f.rule, f.got) for f in found]


@each("name", WRONG)
def test_what_nobody_has_written(name: str) -> None:
    body, op, got = WRONG[name]
    ((rule, words),) = unwritten(body)
    assert rule == f"{op}/unwritten"
    assert words.startswith(got)


@each("name", RIGHT)
def test_what_some_way_writes(name: str) -> None:
    assert unwritten(RIGHT[name]) == []
