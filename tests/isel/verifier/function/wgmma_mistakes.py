"""Kernels with wgmma with one mistake each: a right kernel, one edit, the rule that it breaks.

What is wrong is wrong by the manual: PTX ISA, wgmma.fence, wgmma.mma_async, wgmma.commit_group,
wgmma.wait_group, fence.proxy.async.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from intrinsics.findings import Severity
from tests.isel.verifier.function.warpgroup_kernels import (
    ATTENTION,
    ON_ALL,
    ON_GROUP,
    ON_TABLE,
    ON_WORD,
    ONE_LEFT,
    OVERLAPPED,
    REGISTERS,
    SCALED,
    STORED,
    TILE,
    TURNS,
    TWO_SUMS,
)
from tests.isel.verifier.function.warpgroup_rings import PING_PONG, RING, RING_PEELED
from tests.isel.verifier.function.wgmma_text import MNEMONICS


@dataclass(frozen=True, slots=True)
class Mistake:
    """`text` with the `nth` occurrence of `old` replaced breaks `rule` on the line with `at`.

    `at_nth` says which of the lines with `at`; `also` names what the same mistake brings with it.
    """

    rule: str
    text: str
    old: str
    new: str
    at: str
    nth: int = 0
    at_nth: int = 0
    also: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR

    def broken(self) -> str:
        """The kernel with the mistake."""
        old, new = _full(self.old), _full(self.new)
        parts = self.text.split(old)
        assert len(parts) > self.nth + 1, f"{old!r} does not occur so often"
        return old.join(parts[: self.nth + 1]) + new + old.join(parts[self.nth + 1 :])

    def line(self) -> int:
        """The line of the finding, counted from 1."""
        at = _full(self.at)
        return [i for i, x in enumerate(self.broken().splitlines(), 1) if at in x][self.at_nth]


def _full(text: str) -> str:
    return Template(text).substitute(MNEMONICS)


_FENCE = "wgmma.mma_async/fence"
_EARLY = "wgmma.mma_async/in-flight"
_A_EARLY = "wgmma.mma_async/a-in-flight"
_RELEASED = "wgmma.mma_async/stage-released"
_MODIFIED = "wgmma.mma_async/operand-modified"
_MIXED = "wgmma.mma_async/mixed"
_LAST = "    st.shared.v4.b32 [%r4+48], {%r1, %r1, %r1, %r1};\n"
_BARRIER = "shared/barrier"
_COMMIT = "wgmma.mma_async/no-commit"
_WAIT_APART = "wgmma.wait_group/warpgroup"
_REST = ("wgmma.mma_async/warpgroup", "wgmma.commit_group/warpgroup", "wgmma.wait_group/warpgroup")

MISTAKES = {
    # ---- wgmma.fence ---------------------------------------------------------------------------
    "no fence": Mistake(_FENCE, TILE, "$fence;", "", "$m0"),
    "zeros behind the fence": Mistake(
        _FENCE, STORED, "    $fence;\n", "    $fence;\n    mov.f32 %f3, 0f00000000;\n", "$m0"),
    "a fence before the loop only": Mistake(
        _FENCE, SCALED, "TURN:\n    $fence;\n", "    $fence;\nTURN:\n", "$m0"),
    "a fence in the first turn only": Mistake(
        _FENCE, SCALED, "    $fence;\n",
        "    setp.ne.u32 %p9, %r21, 0;\n    @%p9 bra ON;\n    $fence;\nON:\n", "$m0"),
    "no fence behind the scores": Mistake(_FENCE, ATTENTION, "$fence;", "", "$r0", nth=1),
    "A behind the fence": Mistake(
        _FENCE, REGISTERS, "    mov.b32 %r30, 0;\n    $fence;\n",
        "    $fence;\n    mov.b32 %r30, 0;\n", "$r0", at_nth=1),
    "no fence behind a read": Mistake(
        _FENCE, REGISTERS, "    mov.b32 %r30, 0;\n    $fence;\n", "    add.f32 %f8, %f0, %f1;\n",
        "$r0", at_nth=1),

    # ---- in flight -----------------------------------------------------------------------------
    "no wait": Mistake(_EARLY, TILE, "$wait 0;", "", "st.global"),
    "no wait in the loop": Mistake(_EARLY, TURNS, "$wait 0;", "", "st.global"),
    "no wait behind the loop": Mistake(_EARLY, ONE_LEFT, "$wait 0;", "", "st.global"),
    "a group too many": Mistake(_EARLY, TURNS, "$wait 0;", "$wait 1;", "st.global"),
    "scaled in flight": Mistake(_EARLY, SCALED, "$wait 0;", "$wait 1;", "mul.f32"),
    "scaled before the wait": Mistake(
        _EARLY, SCALED, "    $wait 0;\n    mul.f32 %f0, %f0, 0f40000000;\n",
        "    mul.f32 %f0, %f0, 0f40000000;\n    $wait 0;\n", "mul.f32"),
    "the first of two sums": Mistake(_EARLY, TWO_SUMS, "$wait 1;", "$wait 2;", "add.f32 %f8"),
    "the second of two sums": Mistake(_EARLY, TWO_SUMS, "$wait 0;", "$wait 1;", "add.f32 %f0"),
    "a wait on one way only": Mistake(
        _EARLY, TILE, "    $wait 0;\n",
        "    ld.param.u32 %r20, [steps];\n    setp.eq.u32 %p9, %r20, 0;\n    @%p9 bra ON;\n"
        "    $wait 0;\nON:\n", "st.global"),
    "committed behind the wait": Mistake(
        _EARLY, TILE, "    $commit;\n    $wait 0;\n", "    $wait 0;\n    $commit;\n",
        "st.global"),
    "A changes in flight": Mistake(
        _A_EARLY, REGISTERS, "    $wait 0;\n    mov.b32 %r30, 0;\n",
        "    mov.b32 %r30, 0;\n    $wait 0;\n", "mov.b32 %r30, 0"),
    "A of the next step in flight": Mistake(
        _A_EARLY, OVERLAPPED, "$wait 0;", "", "cvt.rn.f16x2.f32 %r30", nth=1, at_nth=1),
    "the scores in flight": Mistake(
        _EARLY, ATTENTION, "$wait 0;", "", "cvt.rn.f16x2.f32 %r30"),
    "the scores of the next step in flight": Mistake(
        _EARLY, OVERLAPPED, "$wait 1;", "$wait 2;", "max.f32"),

    # ---- groups --------------------------------------------------------------------------------
    "no commit": Mistake(_COMMIT, TILE, "$commit;", "", "$m0", also=(_EARLY,)),
    "the second product is not committed": Mistake(
        _COMMIT, TWO_SUMS, "$commit;", "", "$m1", nth=1, also=(_EARLY,)),
    "committed on one way only": Mistake(
        _COMMIT, TURNS, "    $commit;\n", "    setp.ne.u32 %p9, %r21, 0;\n    @%p9 $commit;\n",
        "$m0", also=(_EARLY,)),

    # ---- shapes --------------------------------------------------------------------------------
    "another N": Mistake(
        _MIXED, TILE, "$m0, %rd3", "$m16, %rd3", "$m16", also=("wgmma.mma_async/unwritten",)),
    "the other half of an accumulator": Mistake(
        _MIXED, TILE, "$m0, %rd3", "$m0, %rd3".replace("$m0", MNEMONICS["m0"].replace(
            "%f0, %f1, %f2, %f3", "%f2, %f3, %f4, %f5")), "{%f2, %f3, %f4, %f5}",
        also=("wgmma.mma_async/unwritten",)),
    "another K": Mistake(
        _MIXED, TILE, "$m0, %rd3, %rd4, $rest", "$t0, %rd3, %rd4, 1, 1, 1", "$t0",
        severity=Severity.REVIEW),

    # ---- shared memory -------------------------------------------------------------------------
    "given back before the wait": Mistake(
        _RELEASED, RING, "    $wait 0;\n    mov.u32 %r26, empty;\n    add.s32 %r26, %r26, %r24;\n"
        "    $arrive [%r26];\n",
        "    mov.u32 %r26, empty;\n    add.s32 %r26, %r26, %r24;\n    $arrive [%r26];\n"
        "    $wait 0;\n", "$arrive"),
    "given back with a group in flight": Mistake(
        _RELEASED, RING, "$wait 0;", "$wait 1;", "$arrive", also=(_EARLY,)),
    "given back in every turn, and never waited for": Mistake(
        _RELEASED, RING, "$wait 0;", "", "$arrive", also=(_EARLY,)),
    "the stage of this turn": Mistake(
        _RELEASED, RING_PEELED, "    $arrive [%r45];\n    mov.u32 %r45, empty;\n",
        "    $arrive [%r45];\n    $arrive [%r45];\n    mov.u32 %r45, empty;\n", "$arrive",
        at_nth=1),
    "the last stage before the last wait": Mistake(
        _RELEASED, RING_PEELED, "    $wait 0;\n    $arrive [%r45];\n",
        "    $arrive [%r45];\n    $wait 0;\n", "$arrive", at_nth=1),
    "one of two consumers does not wait": Mistake(
        _RELEASED, PING_PONG, "$wait 0;", "$wait 1;", "$arrive", nth=1, at_nth=1,
        also=(_EARLY,)),
    "overwritten in flight": Mistake(
        _MODIFIED, STORED, "    $wait 0;\n    bar.sync 0;\n    st.shared.f32 [%r3], %f8;\n",
        "    st.shared.f32 [%r3], %f8;\n    $wait 0;\n    bar.sync 0;\n", "st.shared.f32",
        also=("shared/proxy-fence",), severity=Severity.REVIEW),
    "a word overwritten in flight": Mistake(
        _MODIFIED, STORED, "    $wait 0;\n    bar.sync 0;\n    st.shared.f32 [%r3], %f8;\n",
        "    st.shared.f32 [a_ring], %f8;\n    $wait 0;\n    bar.sync 0;\n", "st.shared.f32",
        also=("shared/proxy-fence",)),
    "refilled in flight": Mistake(
        _MODIFIED, TILE, "    $wait 0;\n",
        "    @%p1 bra ON;\n    $copy [b_ring], [%rd13, {0, 0}], [full];\nON:\n    $wait 0;\n",
        "$copy", at_nth=2),

    # ---- who and when --------------------------------------------------------------------------
    "three warps": Mistake(
        "wgmma.fence/warpgroup", TURNS, ".reqntid 128", ".reqntid 96", "$fence", also=_REST),
    "two of four warps": Mistake(
        "wgmma.fence/warpgroup", TURNS, "TURN:\n",
        "    mov.u32 %r1, %tid.x;\n    setp.ge.u32 %p9, %r1, 64;\n    @%p9 ret;\nTURN:\n",
        "$fence", also=_REST),
    "a wait in one warp": Mistake(
        _WAIT_APART, ON_GROUP, "shr.u32 %r40, %r1, 7;", "shr.u32 %r40, %r1, 5;", "$wait"),
    "a wait that a vote decides": Mistake(
        _WAIT_APART, ON_ALL, "bar.red.or.pred %p10, 0, %p9;",
        "vote.sync.any.pred %p10, %p9, 0xffffffff;", "$wait", severity=Severity.REVIEW),
    "a predicate that a vote decides": Mistake(
        _WAIT_APART, ON_ALL, "bar.red.or.pred %p10, 0, %p9;\n    @!%p10 bra ON;\n",
        "vote.sync.all.pred %p10, %p9, 0xffffffff;\n    @%p10 ", "$wait", severity=Severity.REVIEW),
    "a word of each warp": Mistake(
        _WAIT_APART, ON_WORD, "mul.wide.u32 %rd8, 1, 4;",
        "shr.u32 %r43, %r1, 5;\n    mul.wide.u32 %rd8, %r43, 4;", "$wait",
        severity=Severity.REVIEW),
    "a number that a shuffle hands on": Mistake(
        _WAIT_APART, ON_ALL, "bar.red.or.pred %p10, 0, %p9;",
        "shfl.sync.idx.b32 %r41, %r40, 0, 31, 0xffffffff;\n    setp.eq.u32 %p10, %r41, 7;", "$wait",
        severity=Severity.REVIEW),
    "a table that tells warps apart": Mistake(
        _WAIT_APART, ON_TABLE, "16843009", "257", "$wait"),
    "as many waits as the warp has before it": Mistake(
        _WAIT_APART, TURNS, "    $wait 0;\n",
        "    mov.u32 %r40, %tid.x;\n    shr.u32 %r40, %r40, 5;\nMORE:\n    $wait 0;\n"
        "    setp.ne.u32 %p9, %r40, 0;\n    sub.u32 %r40, %r40, 1;\n    @%p9 bra MORE;\n", "$wait"),
    "a fence that a vote decides": Mistake(
        "wgmma.fence/warpgroup", ON_ALL, "    @!%p10 bra ON;\n",
        "    vote.sync.any.pred %p11, %p9, 0xffffffff;\n    @%p11 $fence;\n    @!%p10 bra ON;\n",
        "$fence", at_nth=1, severity=Severity.REVIEW),
    "a group that a vote decides": Mistake(
        "wgmma.commit_group/warpgroup", ON_ALL, "    @!%p10 bra ON;\n",
        "    vote.sync.any.pred %p11, %p9, 0xffffffff;\n    @%p11 $commit;\n    @!%p10 bra ON;\n",
        "$commit", at_nth=1, severity=Severity.REVIEW),
    "a group in one warp": Mistake(
        "wgmma.commit_group/warpgroup", ON_ALL, "    @!%p10 bra ON;\n",
        "    setp.lt.u32 %p11, %r1, 32;\n    @%p11 $commit;\n    @!%p10 bra ON;\n",
        "$commit", at_nth=1),
    "the copy is not waited for": Mistake(
        "wgmma.mma_async/before-copy", TILE, "@!%p2 bra LOADED;", "", "$m0"),
    "a stage is not waited for": Mistake(
        "wgmma.mma_async/before-copy", RING, "    @!%p7 bra FULL;\n", "", "$m0"),
    "no proxy fence": Mistake("shared/proxy-fence", STORED, "$proxy;", "",
        "st.shared.v4.b32 [%r3], "),
    "the proxy fence before the store": Mistake(
        "shared/proxy-fence", STORED, f"{_LAST}    $proxy;\n",
        f"    $proxy;\n{_LAST}", "st.shared.v4.b32 [%r4+48]"),
    "no barrier behind the stores": Mistake(
        _BARRIER, STORED, "    $proxy;\n    bar.sync 0;\n", "    $proxy;\n", "$m0"),
    "no barrier behind the stores of B": Mistake(
        _BARRIER, STORED, "    $proxy;\n    bar.sync 0;\n",
        "    $proxy;\n    bar.warp.sync -1;\n", "$m0"),
}  # fmt: skip
