"""Which looks at mbarriers a loop waits with: the shapes that compilers give such loops."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.mir import MachineFunction
from isel.control_flow import reach
from isel.loops import innermost_loops
from isel.passes.wait_loops import looks
from tests.each import each

TRY = "mbarrier.try_wait.parity.shared::cta.b64 {}, [bar], 0;"


def function(body: str) -> MachineFunction:
    text = f"""
.version 8.0
.target sm_90a
.address_size 64
.shared .align 8 .b64 bar;
.visible .entry k()
{{
    .reg .pred %p<9>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
{body}
    ret;
}}
"""
    reading = read_ptx(text, "k.ptx")
    assert not reading.findings
    return reading.module.functions[0]


WAITING = {
    "a branch back while it fails": f"L: {TRY.format('%p1')} @!%p1 bra L;",
    "a branch out, and one back": f"L: {TRY.format('%p1')} @%p1 bra D; bra L; D:",
    "two tries a turn": (
        f"L: {TRY.format('%p1')} @%p1 bra D; {TRY.format('%p2')} @%p2 bra D; bra L; D:"
    ),
    "a rest between tries": f"L: {TRY.format('%p1')} @%p1 bra D; nanosleep.u32 20; bra L; D:",
    "the answer as a number": (
        f"L: {TRY.format('%p1')} selp.b32 %r1, 1, 0, %p1; setp.ne.s32 %p2, %r1, 0; @!%p2 bra L;"
    ),
    "inside a loop over tiles": (
        f"mov.b32 %r1, 0; T: L: {TRY.format('%p1')} @!%p1 bra L; "
        "add.s32 %r1, %r1, 1; setp.lt.s32 %p2, %r1, 8; @%p2 bra T;"
    ),
    "by a token": (
        "mbarrier.arrive.shared::cta.b64 %rd1, [bar]; "
        "L: mbarrier.test_wait.shared::cta.b64 %p1, [bar], %rd1; @!%p1 bra L;"
    ),
    "with other work between": (
        f"mov.b32 %r1, 0; L: add.s32 %r1, %r1, 1; {TRY.format('%p1')} @!%p1 bra L;"
    ),
}

NOT_WAITING = {
    "one look": f"{TRY.format('%p1')} @%p1 bra D; D:",
    "a look ahead in a loop over tiles": (
        f"mov.b32 %r1, 0; T: {TRY.format('%p1')} @%p1 bra W; mov.b32 %r2, 1; W: "
        "add.s32 %r1, %r1, 1; setp.lt.s32 %p2, %r1, 8; @%p2 bra T;"
    ),
}


@each("body", WAITING.values(), ids=WAITING.keys())
def test_a_loop_waits(body: str) -> None:
    found = looks(function(body))
    assert found
    for look in found:
        assert look.loop is not None
        assert look.block in look.loop.blocks


@pytest.mark.parametrize("body", NOT_WAITING.values(), ids=NOT_WAITING.keys())
def test_no_loop_waits(body: str) -> None:
    (look,) = looks(function(body))
    assert look.loop is None


def test_the_loop_is_the_innermost_one() -> None:
    made = function(WAITING["inside a loop over tiles"])
    (look,) = looks(made)
    assert look.loop is not None
    inside = [mi.row.id for i in look.loop.blocks for mi in made.blocks[i].instrs]
    assert "add.int" not in inside


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    count = draw(st.integers(1, 9))
    nodes = st.integers(0, count - 1)
    return draw(st.lists(st.lists(nodes, max_size=2, unique=True), min_size=count, max_size=count))


@given(graphs())
def test_innermost_loops_of_any_graph(after: list[list[int]]) -> None:
    """A node is in a loop if a way leads back to it, and all of a loop reaches all of it."""
    found = innermost_loops(after)
    for node in range(len(after)):
        assert (node in found) is (node in reach(after, after[node]))
    for node, loop in found.items():
        assert node in loop.blocks
        assert loop.entries <= loop.blocks
        within = [[j for j in following if j in loop.blocks] for following in after]
        assert all(reach(within, within[one]) == loop.blocks for one in loop.blocks)
        for i, following in enumerate(after):
            if i not in loop.blocks:
                assert loop.entries.issuperset(loop.blocks.intersection(following))
