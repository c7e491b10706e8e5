"""Branches through tables, as the rules about whole functions and the passes see them."""

from __future__ import annotations

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.mir import Module, successors
from isel.uniformity import divergence
from isel.verifier.function.flow.tables import with_comparisons
from isel.verifier.functions import verify_functions

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 c)\n"
KERNEL = """.reqntid 64
{{
.reg .b32 %r<4>;
.reg .pred %p<3>;
T: .branchtargets A, B, A;
mov.u32 %r1, %tid.x;
ld.param.u32 %r2, [c];
setp.eq.s32 %p1, %r2, 9;
{index}
{guard}brx.idx %r3, T;
{behind}
A:
bar.sync 0;
ret;
B:
{arm}
ret;
}}
"""
OF_WARP = "shr.u32 %r3, %r1, 5;"
OF_ALL = "and.b32 %r3, %r2, 1;"


def _module(index: str, arm: str = "", guard: str = "", behind: str = "") -> Module:
    text = KERNEL.format(index=index, arm=arm, guard=guard, behind=behind)
    reading = read_ptx(HEAD + text)
    assert reading.findings == []
    return reading.module


def _rules(module: Module) -> set[str]:
    return {f.rule for f in verify_functions(module)} - {"verify/block"}


def test_threads_of_a_warp_that_part_at_a_table_do_not_meet_at_a_barrier() -> None:
    """Even threads come to a barrier of whole warps, odd ones do not."""
    assert _rules(_module("and.b32 %r3, %r1, 1;")) == {"bar.sync/aligned"}
    assert _rules(_module(OF_WARP, "bar.sync 0;")) == set()


def test_a_table_that_all_threads_read_alike_parts_none() -> None:
    assert _rules(_module(OF_ALL)) == set()


@pytest.mark.parametrize("guard", ["@%p1 ", "@!%p1 "])
def test_a_guarded_branch_goes_on_where_its_guard_does_not_hold(guard: str) -> None:
    """Nobody comes to the barrier but threads that the guard holds for, or that go on."""
    assert _rules(_module("mov.b32 %r3, 1;", guard=guard, behind="bar.sync 0;\nret;")) == set()
    (function,) = with_comparisons(_module("mov.b32 %r3, 1;", guard=guard)).functions
    assert "brx.idx" not in {mi.row.id for mi in function.instructions()}


def test_the_blocks_of_a_table_follow_its_branch() -> None:
    (function,) = _module(OF_WARP).functions
    names = [block.name for block in function.blocks]
    assert [[names[n] for n in after] for after in successors(function)] == [["A", "B"], [], []]


def test_an_index_that_threads_do_not_agree_on_parts_them() -> None:
    (function,) = _module("mov.b32 %r3, %r1;").functions
    assert {function.blocks[n].name for n in divergence(function).blocks} == {"A", "B"}
    (function,) = _module(OF_ALL).functions
    assert divergence(function).blocks == {}
