"""Collector buffers: a use has its fill before it on every way, of the same matrix.

PTX ISA, tcgen05.mma: `.collector::a::use` "requires a previous fill to the collector buffer to be
still valid", and a missing qualifier is `.collector::a::discard`.
"""

from __future__ import annotations

import pytest

from intrinsics.findings import Severity
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.options import Options
from tests.each import each
from tests.isel.verifier.function.kernel_text import EPILOGUE, PROLOGUE, kernel
from tests.isel.verifier.function.tensor_kernels import issuing, line_of, said
from tests.nvgen.walkthrough.walkthrough_programs import (
    DEALLOC,
    ENCODE,
    RELINQUISH,
    WAIT,
    multiply,
    straight,
)

IDESC = 134742032
"""M = 128, N = 32, f16 x f16 in f32."""


def mma(
    collector: str = "", a: str = "%rd1", b: str = "%rd2", *, guard: str = "", n: int = 0
) -> str:
    """An MMA that names a collector, as `a::fill` or, when weight-stationary, `b0::fill`."""
    ws = ".ws" if collector.startswith("b") else ""
    spelled = f".collector::{collector}" if collector else ""
    return (
        f"    {guard}tcgen05.mma{ws}.cta_group::1.kind::f16{spelled} [%r3], {a}, {b}, "
        f"{IDESC + (n << 14)}, 0;\n"
    )


def ws(collector: str, b: str = "%rd2") -> str:
    """A weight-stationary one, N = 64."""
    return mma(collector, b=b, n=32)


LOOP = "    mov.u32 %r40, 0;\nLOOP:\n"
NEXT = "    add.u32 %r40, %r40, 1;\n    setp.lt.u32 %p9, %r40, %r9;\n    @%p9 bra LOOP;\n"
FIRST = "    setp.eq.u32 %p10, %r40, 0;\n"
LAST = "    sub.u32 %r41, %r9, 1;\n    setp.eq.u32 %p11, %r40, %r41;\n"


def four(text: str) -> str:
    """Of four passes, not of as many as an argument says."""
    return text.replace("%r9", "4")


def either(predicate: str, one: str, other: str, name: str = "") -> str:
    """One or the other, with branches."""
    return (
        f"    @{predicate} bra ONE{name};\n{other}    bra BOTH{name};\nONE{name}:\n{one}"
        f"BOTH{name}:\n"
    )


RIGHT = {
    "a chain": mma("a::fill") + mma("a::use") + mma("a::use") + mma("a::lastuse"),
    "a chain without its last use": mma("a::fill") + mma("a::use"),
    "filled again": mma("a::fill") + mma("a::fill", "%rd3") + mma("a::use", "%rd3"),
    "filled before a loop": mma("a::fill") + LOOP + mma("a::use") + NEXT,
    "filled and used up in a loop": LOOP + mma("a::fill") + mma("a::lastuse") + NEXT,
    "filled by the first pass": LOOP + FIRST
    + either("%p10", mma("a::fill"), mma("a::use")) + NEXT,
    "filled by the first pass, predicated": LOOP + FIRST
    + mma("a::fill", guard="@%p10 ") + mma("a::use", guard="@!%p10 ") + NEXT,
    "filled by the first pass, then used by all": LOOP + FIRST
    + mma("a::fill", guard="@%p10 ") + mma("a::use") + NEXT,
    "used up by the last pass": mma("a::fill") + LOOP + LAST
    + either("%p11", mma("a::lastuse"), mma("a::use")) + NEXT,
    "used up by the last pass, predicated": mma("a::fill") + LOOP + LAST
    + mma("a::lastuse", guard="@%p11 ") + mma("a::use", guard="@!%p11 ") + NEXT,
    "first, middle and last": LOOP + FIRST + LAST
    + either("%p10", mma("a::fill"),
             either("%p11", mma("a::lastuse"), mma("a::use"), "2"), "1") + NEXT,
    "the next one is filled ahead": mma("a::fill") + LOOP + mma("a::use") + four(LAST)
    + either("%p11", mma("a::lastuse"), "    add.s64 %rd1, %rd1, 2;\n" + mma("a::fill"))
    + four(NEXT),
    "a loop that may have no pass": "    setp.eq.u32 %p9, %r9, 0;\n    @%p9 bra NONE;\n"
    + mma("a::fill") + "NONE:\n" + LOOP + "    setp.ge.u32 %p9, %r40, %r9;\n    @%p9 bra OUT;\n"
    + mma("a::use") + "    add.u32 %r40, %r40, 1;\n    bra LOOP;\nOUT:\n",
    "each buffer for itself": ws("b0::fill") + ws("b3::fill", "%rd4") + ws("b0::use")
    + ws("b3::lastuse", "%rd4") + ws("b0::lastuse"),
    "b0 is discarded by default, b1 is not": ws("b1::fill") + mma(n=32).replace("mma.", "mma.ws.")
    + ws("b1::use"),
    "another buffer is discarded": ws("b2::fill") + ws("b1::discard") + ws("b2::use"),
    "A's buffer and B's are two": mma("a::fill") + ws("b0::fill") + mma("a::use")
    + ws("b0::use"),
    "a new A for each pass": LOOP + mma("a::fill") + mma("a::use", b="%rd4")
    + "    add.s64 %rd1, %rd1, 2;\n" + four(NEXT),
    "in tensor memory": mma("a::fill", "[%r3+64]") + mma("a::use", "[%r3+64]"),
}  # fmt: skip


@each("name", RIGHT)
def test_right(name: str):
    assert [f for f in said(issuing(RIGHT[name])) if "collector" in f.rule] == []


ELECTED = """\
    elect.sync %r50|%p12, -1;
    @!%p12 bra SKIP{n};
{body}SKIP{n}:
"""


def elected(body: str, n: int) -> str:
    """By the elected thread."""
    return ELECTED.format(body=body, n=n)


THREADS = {
    "elected twice": elected(mma("a::fill"), 1) + elected(mma("a::use"), 2),
    "elected again in a loop": elected(mma("a::fill"), 1) + LOOP
    + elected(mma("a::use"), 2) + NEXT,
    "thread 0, then the elected one": "    @%p1 bra SKIP1;\n" + mma("a::fill") + "SKIP1:\n"
    + elected(mma("a::use"), 2),
    "thread 0 by a predicate, then the elected one": mma("a::fill", guard="@!%p1 ")
    + elected(mma("a::use"), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", THREADS)
def test_threads_of_one_warp(name: str):
    text = issuing(THREADS[name]).replace("    @%p1 bra WAIT;\n", "")
    assert [f for f in said(text) if "collector" in f.rule] == []


def test_an_elected_thread_that_uses_what_it_has_used_up():
    body = elected(mma("a::fill"), 1) + LOOP + elected(mma("a::lastuse"), 2) + NEXT
    text = issuing(body).replace("    @%p1 bra WAIT;\n", "")
    (found,) = [f for f in said(text) if "collector" in f.rule]
    assert found.place.line == line_of(text, "a::lastuse")


UNFILLED = {
    "never filled": (mma() + mma("a::use"), "a", "a::use"),
    "never filled, last use": (mma("a::lastuse"), "a", "a::lastuse"),
    "discarded by default": (mma("a::fill") + mma(b="%rd4") + mma("a::use"), "a", "a::use"),
    "discarded": (mma("a::fill") + mma("a::discard") + mma("a::use"), "a", "a::use"),
    "used up": (mma("a::fill") + mma("a::lastuse") + mma("a::use"), "a", "a::use"),
    "used up by each pass": (mma("a::fill") + LOOP + mma("a::lastuse") + NEXT, "a", "a::lastuse"),
    "used before it is filled": (LOOP + mma("a::use") + mma("a::fill") + NEXT, "a", "a::use"),
    "used up on one of two ways": (
        "    setp.eq.u32 %p9, %r9, 0;\n" + mma("a::fill")
        + either("%p9", mma("a::lastuse"), mma("a::use", "%rd1", "%rd4"))
        + mma("a::use", b="%rd2"), "a", "a::use [%r3], %rd1, %rd2"),
    "in another buffer": (ws("b1::fill") + ws("b2::use"), "b2", "b2::use"),
    "in A's buffer": (mma("a::fill") + ws("b0::use"), "b0", "b0::use"),
    "b0 discarded by default": (
        ws("b0::fill") + mma(n=32).replace("mma.", "mma.ws.") + ws("b0::use"), "b0", "b0::use"),
    "after the loop has used it up": (
        LOOP + mma("a::fill") + mma("a::lastuse") + NEXT + mma("a::use"), "a", "a::use"),
}  # fmt: skip


@each("name", UNFILLED)
def test_without_preceding_fill(name: str):
    body, buffer, at = UNFILLED[name]
    text = issuing(body)
    (found,) = [f for f in said(text) if "collector" in f.rule]
    assert found.rule.endswith("/collector-fill")
    assert found.message == f"collector::{buffer}::use without preceding fill"
    assert found.severity is Severity.ERROR
    assert found.place.line == line_of(text, at)


def test_what_ended_the_buffer_is_named():
    text = issuing(UNFILLED["used up"][0])
    (found,) = [f for f in said(text) if "collector" in f.rule]
    assert f"line {line_of(text, 'a::lastuse')}" in found.got


ELSEWHERE = {
    "another descriptor": mma("a::fill") + mma("a::use", "%rd3"),
    "another variable": mma("a::fill") + mma("a::use", "%rd2"),
    "another column": mma("a::fill", "[%r3+64]") + mma("a::use", "[%r3+72]"),
    "another memory": mma("a::fill") + mma("a::use", "[%r3+64]"),
    "another B": ws("b0::fill") + ws("b0::use", "%rd4"),
    "another A in the next pass": mma("a::fill") + LOOP + mma("a::use")
    + mma("a::fill", "%rd3") + NEXT,
}  # fmt: skip
ANOTHER = {
    "another kind": mma("a::fill") + mma("a::use").replace("f16", "f8f6f4"),
    "another M": mma("a::fill")
    + mma("a::use").replace(str(IDESC), str(IDESC - (128 >> 4 << 24) + (64 >> 4 << 24))),
}


@each("name", ANOTHER | ELSEWHERE)
def test_another_matrix(name: str):
    """At another place there may be an equal one: a review."""
    text = issuing((ANOTHER | ELSEWHERE)[name])
    (found,) = [f for f in said(text) if "collector" in f.rule]
    rule = ("matrix", Severity.ERROR) if name in ANOTHER else ("place", Severity.REVIEW)
    assert (found.rule.partition("/collector-")[2], found.severity) == rule
    assert found.place.line == line_of(text, "::use")
    assert found.got
    assert found.expected != found.got


def test_a_buffer_that_another_warp_fills_is_not_judged():
    body = (
        PROLOGUE
        + "    setp.ne.u32 %p3, %r1, 32;\n    @%p2 bra SECOND;\n"
        + mma("a::fill")
        + "    $commit [done];\n    $before;\n    $arrive [full];\n    bra JOIN;\nSECOND:\n"
        + "    @%p3 bra JOIN;\nTURN:\n    $try %p4, [full], 0;\n    @!%p4 bra TURN;\n    $after;\n"
        + mma("a::use")
        + "    $commit [back];\nJOIN:\n    $try %p5, [done], 0;\n    @!%p5 bra JOIN;\n"
        + "WAIT:\n    $try %p6, [back], 0;\n    @!%p6 bra WAIT;\n    $after;\n"
        + "    $load {%r22, %r23}, [%r5];\n    $loaded;\n"
        + EPILOGUE
    ).replace("[back], 128", "[back], 1")
    assert [f for f in said(kernel(body)) if "collector" in f.rule] == []


def test_the_block_need_not_be_known():
    text = issuing(UNFILLED["never filled"][0]).replace(".reqntid 32", "")
    assert [f.rule for f in said(text) if "collector" in f.rule] == ["tcgen05.mma/collector-fill"]
    text = issuing(RIGHT["filled by the first pass"]).replace(".reqntid 32", "")
    assert [f.rule for f in said(text) if "collector" in f.rule] == []


# ---- ways through the flow graph -------------------------------------------------------------

CHOICE = "    setp.eq.u32 %p9, %r9, 3;\n"


def when(predicate: str, body: str, name: str) -> str:
    """Only where the predicate holds, with branches."""
    negated = predicate[1:] if predicate.startswith("!") else "!" + predicate
    return f"    @{negated} bra PAST{name};\n{body}PAST{name}:\n"


NOT_ON_ALL_WAYS = {
    "filled on one arm, used behind": CHOICE + when("%p9", mma("a::fill"), "1") + mma("a::use"),
    "filled on one arm, used on the other": CHOICE + either("%p9", mma("a::fill"), mma("a::use")),
    "filled where c holds, used where it does not": (
        CHOICE + when("%p9", mma("a::fill"), "1") + when("!%p9", mma("a::use"), "2")),
    "so, by predicates": (
        CHOICE + mma("a::fill", guard="@%p9 ") + mma("a::use", guard="@!%p9 ")),
    "filled where one condition holds, used where another does": (
        CHOICE + "    setp.eq.u32 %p10, %r8, 3;\n"
        + when("%p9", mma("a::fill"), "1") + when("%p10", mma("a::use"), "2")),
    "filled on one arm ahead of a loop": (
        CHOICE + when("%p9", mma("a::fill"), "1") + "    mov.u32 %r40, 0;\nLOOP:\n" + mma("a::use")
        + "    add.u32 %r40, %r40, 1;\n    setp.lt.u32 %p10, %r40, %r8;\n    @%p10 bra LOOP;\n"),
}  # fmt: skip


@each("name", NOT_ON_ALL_WAYS)
def test_a_way_to_a_use_without_a_fill_is_an_error_that_names_it(name: str):
    text = issuing(NOT_ON_ALL_WAYS[name])
    (found,) = [f for f in said(text) if "collector" in f.rule]
    assert found.message == "collector::a::use without preceding fill"
    assert found.severity is Severity.ERROR
    assert found.place.line == line_of(text, "a::use")
    assert "predicates" in name or "a way through" in found.got


ON_ALL_WAYS = {
    "filled and used where c holds": (
        CHOICE + when("%p9", mma("a::fill"), "1") + when("%p9", mma("a::use"), "2")),
    "so, with the condition computed again": (
        CHOICE + when("%p9", mma("a::fill"), "1") + "    setp.eq.u32 %p10, %r9, 3;\n"
        + when("%p10", mma("a::use"), "2")),
    "filled on both arms": CHOICE + either("%p9", mma("a::fill"), mma("a::fill")) + mma("a::use"),
    "used where another condition on the same number may hold": (
        CHOICE + "    setp.gt.u32 %p10, %r9, 2;\n    setp.lt.u32 %p11, %r9, 4;\n"
        "    and.pred %p10, %p10, %p11;\n"
        + when("%p9", mma("a::fill"), "1") + when("%p10", mma("a::use"), "2")),
    "where memory says so twice": (
        "    ld.global.u32 %r40, [%rd7];\n    ld.global.u32 %r41, [%rd7];\n"
        "    setp.eq.u32 %p9, %r40, 3;\n    setp.eq.u32 %p10, %r41, 3;\n"
        + when("%p9", mma("a::fill"), "1") + when("%p10", mma("a::use"), "2")),
}  # fmt: skip


@each("name", ON_ALL_WAYS)
def test_a_use_whose_fill_other_decisions_go_with_is_no_error(name: str):
    """Where two decisions may be about the same thing, nothing is claimed."""
    assert [f for f in said(issuing(ON_ALL_WAYS[name])) if "collector" in f.rule] == []


# ---- through the walkthrough's spelling ------------------------------------------------------

USE = "i32 193, i32 3"
IS_NULL = ("%n = ptrtoint ptr addrspace(1) %a to i64", "%c = icmp eq i64 %n, 0")
MOVED = (
    "%sx = getelementptr i8, ptr addrspace(3) @sa, i32 2048",
    f"%dx = {ENCODE} %sx, i32 512, i32 16, i32 0, i32 1)",
)


def again(words: str = USE, a: str = "%da") -> str:
    return multiply(enable="true", words=words).replace("%da", a)


WALKTHROUGH = {
    "filled, then used": ((multiply(), again()), ""),
    "filled and used where c holds": (
        (*IS_NULL, "br i1 %c, label %f, label %j", "f:", multiply(), "br label %j", "j:",
         "br i1 %c, label %u, label %e", "u:", again(), "br label %e", "e:"), ""),
    "never filled": ((multiply(words=USE),), "collector-fill"),
    "filled on one arm": (
        (*IS_NULL, "br i1 %c, label %f, label %j", "f:", multiply(), "br label %j", "j:", again()),
        "collector-fill"),
    "used where it was not filled": (
        (*IS_NULL, "br i1 %c, label %f, label %j", "f:", multiply(), "br label %j", "j:",
         "br i1 %c, label %e, label %u", "u:", again(), "br label %e", "e:"), "collector-fill"),
    "another part of A": ((*MOVED, multiply(), again(a="%dx")), "collector-place"),
    "B in the place of A": ((multiply(), again(a="%db")), "collector-place"),
}  # fmt: skip


@each("name", WALKTHROUGH)
def test_collector_words_of_the_walkthrough(name: str):
    lines, rule = WALKTHROUGH[name]
    text = straight(*lines, WAIT, f"{DEALLOC} %h, i32 16)", RELINQUISH)
    found = check_text(text, Options(target="sm_100a", level="function")).judged
    assert [f.rule.partition("/")[2] for f in found if "collector" in f.rule] == [rule] * bool(rule)
