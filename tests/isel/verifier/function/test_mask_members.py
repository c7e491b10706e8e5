"""Member masks of shuffles, votes and bar.warp.sync: deadlocks, and threads outside of their mask.

What is expected is the manual's: a thread waits until all threads of the mask that have not exited
execute the same instruction with the same mask, and one that the mask does not name must not come.
Each kernel is one warp or two of sm_90; the part of it that matters is given.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from tests.each import each
from tests.isel.verifier.kernels import kernel, said

HEAD = "mov.u32 %r0, %laneid; mov.u32 %r1, %t; mov.u32 %r2, %n;\n"

ALL, HALF = "0xffffffff", "0xffff"
SUM = "shfl.sync.bfly.b32 %r3, %r0, 1, 31,"
ASK = "vote.sync.any.pred %p3, %p3,"
MEET = "bar.sync 0;"
MEET_IN_WARP = "bar.warp.sync 0xffffffff;"


def _kernel(body: str, block: str = ".reqntid 64") -> str:
    return kernel(HEAD + body, ".param .u32 n", block)


def _rules(body: str) -> list[str]:
    """The rules that a kernel breaks, all of them errors."""
    found = said(_kernel(body))
    assert all(f.severity is Severity.ERROR for f in found)
    return sorted({f.rule for f in found})


def _if(condition: str, then: str, otherwise: str = "", behind: str = "") -> str:
    """A branch on a condition of lanes, and what follows."""
    return (
        f"{condition} @!%p1 bra ELSE; {then} bra.uni AFTER;\nELSE: {otherwise}\nAFTER: {behind}\n"
    )


ONE = "setp.eq.u32 %p1, %r0, 0;"
SIXTEEN = "setp.lt.u32 %p1, %r0, 16;"
ELECTED = "elect.sync _|%p1, 0xffffffff;"
SAME = "setp.eq.u32 %p1, %r2, 0;"
WARP_0 = "setp.lt.u32 %p1, %r1, 32;"
OTHERS_LEAVE = "@!%p1 ret;"

ELSEWHERE = {
    "one lane shuffles, the others wait at a barrier": (
        _if(ONE, f"{SUM} {ALL};", behind=MEET), "shfl"),
    "the elected thread votes, the others wait for the warp": (
        _if(ELECTED, f"{ASK} {ALL};", behind=f"bar.warp.sync {ALL}; {MEET}"), "vote"),
    "a half names one thread of the other": (
        _if(SIXTEEN, f"{SUM} 0x1ffff;", behind=MEET), "shfl"),
    "the halves do something else": (
        _if(SIXTEEN, f"{SUM} {ALL};", f"shfl.sync.up.b32 %r3, %r0, 1, 0, {ALL};", MEET), "shfl"),
    "the halves give other masks": (
        _if(SIXTEEN, f"bar.warp.sync {ALL};", "bar.warp.sync 0xffff0001;", MEET), "bar.warp.sync"),
    "a thread elects in a branch": (
        _if(ONE, f"elect.sync _|%p2, {ALL};", behind=MEET), "elect.sync"),
}  # fmt: skip
RIGHT = {
    "the whole warp": f"{SUM} {ALL}; {MEET}",
    "one of two warps": _if(WARP_0, f"{SUM} {ALL};", behind=MEET),
    "a parameter decides": _if(SAME, f"{SUM} {ALL};", behind=MEET),
    "the others have exited": f"{SIXTEEN} {OTHERS_LEAVE} {SUM} {ALL};",
    "the others exit": _if(SIXTEEN, f"{SUM} {ALL};"),
    "a half by itself": _if(SIXTEEN, f"{SUM} {HALF};", behind=MEET),
    "each half by itself": _if(SIXTEEN, f"{SUM} {HALF};", f"{SUM} 0xffff0000;", MEET),
    "both halves do the same": _if(SIXTEEN, f"{SUM} {ALL};", f"{SUM} {ALL};", MEET),
    "both halves do the same two": _if(
        SIXTEEN, f"{SUM} {ALL}; {ASK} {ALL};", f"{SUM} {ALL}; {ASK} {ALL};", MEET),
    "the halves meet at two places": _if(
        SIXTEEN, f"bar.warp.sync {ALL};", f"bar.warp.sync {ALL};", MEET),
    "the halves meet at two places, twice": _if(
        SIXTEEN, f"bar.warp.sync {ALL}; {MEET_IN_WARP}", f"bar.warp.sync {ALL};", MEET_IN_WARP),
    "data decide": f"ld.shared.u32 %r4, [%r1]; {_if('setp.eq.u32 %p1, %r4, 0;', f'{SUM} {ALL};')}",
}  # fmt: skip


@each("name", ELSEWHERE)
def test_threads_that_wait_for_each_other_at_two_places(name: str):
    body, op = ELSEWHERE[name]
    assert f"{op}/threads-elsewhere" in _rules(body)


@each("name", RIGHT)
def test_threads_that_come_or_have_exited(name: str):
    assert _rules(RIGHT[name]) == []


@each("mask", [HALF, "0", "0xfffffffe"])
def test_a_mask_names_whoever_comes(mask: str):
    assert _rules(f"{SUM} {mask}; {MEET}") == ["shfl/no-member"]


@each("mask", [HALF, "0xfffffffe"])
def test_a_mask_may_be_in_a_register(mask: str):
    given = f"mov.b32 %r4, {mask};"
    assert _rules(f"{given} {SUM} %r4; {MEET}") == ["shfl/no-member"]
    assert _rules(f"{given} {ASK} %r4; {MEET}") == ["vote/no-member"]
    turn = "shfl.sync.bfly.b32 %r5, %r5, 1, 31, %r4; add.u32 %r5, %r5, 1;"
    turns = f"mov.b32 %r5, 0; TURN: {turn} setp.lt.u32 %p1, %r5, %r2; @%p1 bra TURN; {MEET}"
    assert _rules(f"{given} {turns}") == ["shfl/no-member"]  # of data that change


def test_a_mask_in_a_register_that_names_all():
    assert _rules(f"mov.b32 %r4, {ALL}; {SUM} %r4; {ASK} %r4; {MEET}") == []


def test_a_mask_in_a_register_names_who_waits_elsewhere():
    body = f"mov.b32 %r4, {ALL}; {_if(SIXTEEN, f'{SUM} %r4;', behind=MEET)}"
    assert _rules(body) == ["shfl/threads-elsewhere"]
    half = f"mov.b32 %r4, {HALF}; {_if(SIXTEEN, f'{SUM} %r4;', behind=MEET)}"
    assert _rules(half) == []


@each("block", ["", ".maxntid 64", ".reqntid 16"])
def test_a_block_may_have_no_more_threads_than_the_mask_names(block: str):
    found = said(_kernel(f"{SUM} {HALF};", block))
    doubts = [f.rule for f in found if f.severity is Severity.REVIEW]
    assert doubts == ([] if "reqntid" in block else ["shfl/no-member"])
    assert not any(f.severity is Severity.ERROR for f in found)


# ---- shuffles whose sources are gone ------------------------------------------------------------


def shuffled(how: str, mask: str = ALL) -> str:
    """A shuffle by a mode and its two operands."""
    mode, operands = how.split(" ", 1)
    return f"shfl.sync.{mode}.b32 %r3, %r0, {operands}, {mask};"


UNDEFINED = {
    "each partner has exited": f"{SIXTEEN} {OTHERS_LEAVE} {shuffled('bfly 16, 31')}",
    "the thread that is read has exited": f"{SIXTEEN} {OTHERS_LEAVE} {shuffled('idx 31, 31')}",
    "the others exit behind the branch": _if(SIXTEEN, shuffled("down 16, 31")),
    "no partner is in the mask": _if(SIXTEEN, shuffled("bfly 16, 31", HALF), behind=MEET),
}
DEFINED = {
    "partners among those who stay": f"{SIXTEEN} {OTHERS_LEAVE} {shuffled('bfly 8, 31')}",
    "some read from threads that have exited": f"{SIXTEEN} {OTHERS_LEAVE} {shuffled('down 8, 31')}",
    "beyond the segment each reads itself": f"{SIXTEEN} {OTHERS_LEAVE} {shuffled('down 16, 15')}",
    "the other half shuffles too": _if(
        SIXTEEN, shuffled("bfly 16, 31"), shuffled("bfly 16, 31"), MEET),
    "data decide who exits": "ld.shared.u32 %r4, [%r1]; setp.eq.u32 %p1, %r4, 0; "
    f"{OTHERS_LEAVE} {shuffled('bfly 16, 31')}",
    "by an argument": f"{SIXTEEN} {OTHERS_LEAVE} {shuffled('bfly %r2, 31')}",
}  # fmt: skip


def warnings(body: str, block: str = ".reqntid 64") -> list[str]:
    """The warnings about a kernel; there is no error."""
    found = said(_kernel(body, block))
    assert not any(f.severity is Severity.ERROR for f in found)
    return sorted({f.rule for f in found if f.severity is Severity.WARNING})


@each("name", UNDEFINED)
def test_a_shuffle_that_reads_from_nobody(name: str):
    assert warnings(UNDEFINED[name]) == ["shfl/no-source"]


@each("name", DEFINED)
def test_a_shuffle_of_which_some_thread_gets_a_number(name: str):
    assert warnings(DEFINED[name]) == []


def test_a_block_has_no_such_lanes():
    assert warnings(shuffled("bfly 16, 31"), ".reqntid 16") == ["shfl/no-source"]
    assert warnings(shuffled("bfly 16, 31"), ".reqntid 32") == []
    assert warnings(shuffled("bfly 16, 31"), ".reqntid 48") == ["shfl/no-source"]  # warp 1


# ---- branches in branches ------------------------------------------------------------------------


def _within(condition: str, then: str, behind: str) -> str:
    """A branch on %p4, in which there is another one, and what all threads come to."""
    return f"{condition} @!%p4 bra OUT; {then} OUT: {behind}"


BOTH_MEET = f"bar.warp.sync {ALL}; {MEET}"
SOME_WARPS = "shr.u32 %r4, %r1, 5; setp.lt.u32 %p4, %r4, %r2;"
SOME_THREADS = "setp.lt.u32 %p4, %r1, %r2;"
FEW = f"{SOME_WARPS} setp.lt.u32 %p5, %r0, 16; and.pred %p1, %p4, %p5;"
HALF_SUMS = {
    "of all": (_if(SIXTEEN, f"{SUM} {ALL};"), True),
    "of the half": (_if(SIXTEEN, f"{SUM} {HALF};"), False),
    "by both halves": (_if(SIXTEEN, f"{SUM} {ALL};", f"{SUM} {ALL};"), False),
}


@each("name", HALF_SUMS)
def test_lanes_part_within_another_branch(name: str):
    """Whether whole warps come is not known; of a part of one nobody else may have come."""
    body, is_wrong = HALF_SUMS[name]
    found = ["shfl/threads-elsewhere"] if is_wrong else []
    assert _rules(_within(SOME_WARPS, body, BOTH_MEET)) == found
    reviews = said(_kernel(_within(SOME_THREADS, body, BOTH_MEET)))
    assert [(f.rule, f.severity) for f in reviews] == [(r, Severity.REVIEW) for r in found]


def test_a_warp_and_lanes_of_it_in_one_condition():
    assert _rules(_if(FEW, f"{SUM} {ALL};", behind=BOTH_MEET)) == ["shfl/threads-elsewhere"]
    assert _rules(_if(FEW, f"{SUM} {HALF};", behind=BOTH_MEET)) == []


def test_a_shuffle_within_another_branch_that_reads_from_nobody():
    gone, there = (_if(SIXTEEN, shuffled(how)) for how in ("down 16, 31", "down 8, 31"))
    assert warnings(_within(SOME_WARPS, gone, "")) == ["shfl/no-source"]
    assert warnings(_within(SOME_WARPS, there, "")) == []
    assert warnings(_within(SOME_THREADS, gone, "")) == []  # these may be a part of the half


def test_a_mask_within_a_branch_names_whoever_comes():
    assert _rules(_within(SOME_WARPS, f"{SUM} {HALF};", MEET)) == ["shfl/no-member"]
    assert _rules(_within(SOME_WARPS, f"{SUM} {ALL};", MEET)) == []


def test_the_finding_says_where_the_others_are():
    text = _kernel(_if(ONE, f"{SUM} {ALL};", behind=f"\n{MEET}"))
    (found,) = said(text)
    line = 1 + next(i for i, written in enumerate(text.splitlines()) if MEET in written)
    assert f"bar.sync in line {line}" in found.got
    assert "one thread" in found.got
