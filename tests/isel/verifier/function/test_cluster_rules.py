"""CTAs that work together: pairs, cluster barriers, multicasts, against the PTX ISA.

A right kernel is clean; each mistake is one edit of it, and breaks one rule at one line.  What is
expected is the manual's: Issue Granularity and tcgen05.alloc ask for a peer that runs and has not
exited, barrier.cluster for one wait behind each arrival, by every thread that has not exited.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from isel.verifier.functions import verify_functions
from isel.verifier.ordering.integers.windows import in_window, rank_of, signals_of
from tests.each import each
from tests.isel.verifier.function.condition_kernels import PAIR
from tests.isel.verifier.function.consequences import besides, others
from tests.isel.verifier.function.kernel_text import kernel

SYNC = "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n"
TWO = ".reqnctapercluster 2"

REMOTE = kernel(
    """
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p2, %r1, 0;
    mov.u32 %r30, %cluster_ctarank;
    @%p2 bra INITIALISED;
    $init [full], 1;
    $initialised;
INITIALISED:
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    @%p2 bra WAIT;
    xor.b32 %r31, %r30, 1;
    mov.u32 %r32, full;
    mapa.shared::cluster.u32 %r33, %r32, %r31;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r33];
WAIT:
    $try %p3, [full], 0;
    @!%p3 bra WAIT;
    ret;
""",
    ".reqntid 64\n.reqnctapercluster 2",
)
"""Each CTA arrives at the other's mbarrier, and waits at its own: no barrier is left to do."""

ONE_WAITS = REMOTE.replace(
    "    xor.b32 %r31, %r30, 1;\n",
    "    mov.u32 %r31, 0;\n    setp.eq.u32 %p4, %r30, 0;\n    @%p4 bra WAIT;\n",
).replace(
    "WAIT:\n", "WAIT:\n    setp.ne.u32 %p5, %r30, 0;\n    @%p5 bra END;\n",
).replace("    ret;", "END:\n    ret;")  # fmt: skip
"""CTA 1 arrives at the mbarrier of CTA 0, which waits; at its own nobody arrives or waits."""

UNWAITED = kernel(
    """
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p2, %r1, 0;
    @!%p2 mbarrier.init.shared::cta.b64 [full], 2;
    @!%p2 fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p2 bra DONE;
    mov.u32 %r32, full;
    mapa.shared::cluster.u32 %r33, %r32, 0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r33];
DONE:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
""",
    ".reqntid 64\n.reqnctapercluster 2",
)
"""An arrival that nobody waits for here: the cluster's barrier keeps its target alive."""

SECOND = UNWAITED.replace("%r33, %r32, 0;", "%r33, %r32, 1;")

BEFORE_THE_END = "    tcgen05.fence::before_thread_sync;\n    bar.sync 0;\n" + SYNC

LEADER = PAIR.replace("WAIT:\n", "    bra WAIT;\nPEER:\n    bra JOIN;\nWAIT:\n", 1).replace(
    "    @%p4 bra WAIT;", "    @%p3 bra PEER;\n    @%p2 bra WAIT;"
).replace(
    BEFORE_THE_END, "JOIN:\n" + BEFORE_THE_END,
)  # fmt: skip
"""The odd CTA only lends its memory: it goes to the end at once, and waits there."""

MULTICAST = kernel(
    """
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra INITIALISED;
    $init [full], 1;
    $initialised;
INITIALISED:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p2 bra WAIT;
    mov.b64 %rd1, map_a;
    cvta.param.u64 %rd2, %rd1;
    $expect [full], 16384;
    mov.u32 %r30, %cluster_ctarank;
    setp.ne.u32 %p3, %r30, 0;
    @%p3 bra WAIT;
    mov.u16 %rs1, 15;
    $copy.multicast::cluster [a_tile], [%rd2, {0, 0}], [full], %rs1;
WAIT:
    $try %p4, [full], 0;
    @!%p4 bra WAIT;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    ret;
""",
    ".reqntid 64\n.reqnctapercluster 2, 2",
)
"""One CTA of four loads a tile for all of them."""

WHOLE = kernel(
    """
    mov.u32 %r1, %tid.x;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    bar.sync 0;
    ret;
""",
    ".reqntid 64\n.reqnctapercluster 2",
)

CLEAN = {
    "pair": PAIR, "remote": REMOTE, "one waits": ONE_WAITS, "unwaited": UNWAITED, "second": SECOND,
    "leader": LEADER, "multicast": MULTICAST, "whole": WHOLE,
    "arrival long before the wait": WHOLE.replace("    bar.sync 0;\n", "").replace(
        "arrive;\n", "arrive;\n    bar.sync 0;\n"),
    "warps that have left": WHOLE.replace(
        "    barrier.cluster.arrive;", "    setp.ge.u32 %p1, %r1, 32;\n    @%p1 ret;\n"
        "    barrier.cluster.arrive;"),
    "lanes that have left": WHOLE.replace(
        "    barrier.cluster.arrive;", "    setp.ge.u32 %p1, %r1, 16;\n    @%p1 ret;\n"
        "    barrier.cluster.arrive;").replace("    bar.sync 0;\n", ""),
    "four of them": PAIR.replace(TWO, ".reqnctapercluster 2, 1, 2").replace(
        "%rs1, 3;", "%rs1, 15;"),
    "a pair across y": PAIR.replace(TWO, ".reqnctapercluster 1, 2"),
}  # fmt: skip


def findings(
    text: str, block: tuple[int, ...] = (), cluster: tuple[int, ...] = ()
) -> list[Finding]:
    reading = read_ptx(text, "k.ptx")
    assert reading.findings == []
    return verify_functions(reading.module, block, cluster)


def said(text: str, block: tuple[int, ...] = (), cluster: tuple[int, ...] = ()) -> list[Finding]:
    return [f for f in findings(text, block, cluster) if f.severity is not Severity.NOTE]


@each("name", CLEAN)
def test_a_right_kernel_is_clean(name: str) -> None:
    assert findings(CLEAN[name]) == []


@dataclass(frozen=True, slots=True)
class Mistake:
    """`text` with one `old` replaced by `new` (the `nth`) breaks `rule` at the first line with `at`
    (or at the `at_nth`)."""

    rule: str
    text: str
    old: str
    new: str
    at: str
    nth: int = 0
    at_nth: int = 0
    also: set[str] = field(default_factory=set)

    def broken(self) -> str:
        parts = self.text.split(self.old)
        assert len(parts) > self.nth + 1
        return (
            self.old.join(parts[: self.nth + 1]) + self.new + self.old.join(parts[self.nth + 1 :])
        )

    def line(self) -> int:
        lines = [n for n, x in enumerate(self.broken().splitlines(), 1) if self.at in x]
        return lines[self.at_nth]


ALLOC, DEALLOC, MMA = "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.mma.cta_group::2"

MISTAKES = {
    # ---- who is there ------------------------------------------------------------------------
    "a cluster of one": Mistake(
        "tcgen05/pair-cluster", PAIR, TWO, ".reqnctapercluster 1", ALLOC,
        also={"tcgen05.commit/multicast-mask"}),
    "a cluster of three": Mistake("tcgen05/pair-cluster", PAIR, TWO, ".reqnctapercluster 3", ALLOC),
    "one CTA at most": Mistake(
        "tcgen05/pair-cluster", PAIR, TWO, ".maxclusterrank 1", ALLOC,
        also={"tcgen05.commit/multicast-mask"}),
    "nobody waits for the peer": Mistake("tcgen05.alloc/peer", PAIR, SYNC, "\n\n", ALLOC),
    "the peer is not waited for on one way": Mistake(
        "tcgen05.alloc/peer", PAIR, SYNC,
        "    ld.param.u32 %r9, [steps]; setp.eq.u32 %p9, %r9, 0; @%p9 bra ON;\n" + SYNC + "ON:\n",
        ALLOC),
    "arrived, but not waited": Mistake(
        "tcgen05.alloc/peer", PAIR, "    barrier.cluster.wait.aligned;\n    @%p1 bra ALLOCATED;",
        "    @%p1 bra ALLOCATED;", ALLOC,
        also={"barrier.cluster.arrive/again"}),
    "freed without the peer": Mistake("tcgen05.dealloc/peer", PAIR, SYNC, "\n\n", DEALLOC, nth=1),
    "freed, then the barrier": Mistake(
        "tcgen05.dealloc/peer", PAIR,
        SYNC + "    @%p1 bra END;\n    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 64;\n"
        "END:\n",
        "    @%p1 bra END;\n    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 64;\nEND:\n"
        + SYNC, DEALLOC),
    # ---- who stays ---------------------------------------------------------------------------
    "the peer leaves at once": Mistake(
        "tcgen05/peer-exit", LEADER, "    bra JOIN;", "    ret;", MMA,
        also={"tcgen05.alloc/never-freed"}),
    "nobody waits at the end": Mistake(
        "tcgen05/peer-exit", LEADER, SYNC, "\n\n", MMA, nth=1, also={"tcgen05.dealloc/peer"}),
    "an arrival that nobody waits for": Mistake(
        "mbarrier.arrive/peer-exit", UNWAITED,
        "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n", "", "mbarrier.arrive"),
    "an arrival behind the last barrier": Mistake(
        "mbarrier.arrive/peer-exit", UNWAITED,
        "DONE:\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n", "DONE:\n",
        "mbarrier.arrive"),
    # ---- who is meant ------------------------------------------------------------------------
    "three CTAs of two": Mistake(
        "tcgen05.commit/multicast-mask", PAIR, "mov.u16 %rs1, 3;", "mov.u16 %rs1, 7;",
        "tcgen05.commit"),
    "no CTA": Mistake(
        "tcgen05.commit/multicast-mask", PAIR, "mov.u16 %rs1, 3;", "mov.u16 %rs1, 0;",
        "tcgen05.commit"),
    "a copy beyond the cluster": Mistake(
        "cp.async.bulk.tensor/multicast-mask", MULTICAST, "mov.u16 %rs1, 15;",
        "mov.u16 %rs1, 48;", "multicast"),
    "a copy to the CTA behind the last": Mistake(
        "cp.async.bulk.tensor/multicast-mask", MULTICAST, "mov.u16 %rs1, 15;",
        "mov.u16 %rs1, 16;", "multicast"),
    "a copy for four of two": Mistake(
        "cp.async.bulk.tensor/multicast-mask", MULTICAST, ".reqnctapercluster 2, 2", TWO,
        "multicast"),
    "a third CTA": Mistake(
        "mapa/rank", UNWAITED, "%r33, %r32, 0;", "%r33, %r32, 2;", "mapa"),
    "the first behind the cluster": Mistake(
        "mapa/rank", SECOND, ".reqnctapercluster 2", ".reqnctapercluster 1", "mapa"),
    "a commit for one CTA": Mistake(
        "mbarrier/peer-unheard", PAIR,
        ".shared::cluster.multicast::cluster.b64 [done], %rs1;", ".shared::cluster.b64 [done];",
        "[done], 0"),
    "all tell the first": Mistake(
        "mbarrier/peer-unheard", REMOTE, "%r33, %r32, %r31;", "%r33, %r32, 0;", "[full], 0",
        also={"mbarrier/arrivals"}),
    # ---- the cluster's barrier ---------------------------------------------------------------
    "arrived twice": Mistake(
        "barrier.cluster.arrive/again", WHOLE, "    barrier.cluster.wait;\n",
        "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n", "arrive", at_nth=1),
    "arrived in a loop": Mistake(
        "barrier.cluster.arrive/again", WHOLE, "    barrier.cluster.arrive;\n",
        "    mov.u32 %r3, 0;\nL:\n    barrier.cluster.arrive;\n    add.u32 %r3, %r3, 1;\n"
        "    setp.lt.u32 %p3, %r3, 2;\n    @%p3 bra L;\n", "arrive"),
    "not arrived": Mistake(
        "barrier.cluster.wait/no-arrive", WHOLE, "    barrier.cluster.arrive;\n", "", "wait"),
    "not arrived on one way": Mistake(
        "barrier.cluster.wait/no-arrive", WHOLE, "    barrier.cluster.arrive;\n",
        "    ld.param.u32 %r9, [steps];\n    setp.eq.u32 %p9, %r9, 0;\n"
        "    @%p9 barrier.cluster.arrive;\n", "wait"),
    "not waited": Mistake(
        "barrier.cluster.arrive/no-wait", WHOLE, "    barrier.cluster.wait;\n", "", "arrive"),
    "not waited for the last": Mistake(
        "barrier.cluster.arrive/no-wait", WHOLE, "    ret;",
        "    barrier.cluster.arrive;\n    ret;", "arrive", at_nth=1),
    "one thread": Mistake(
        "barrier.cluster.wait/part", WHOLE,
        "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n",
        "    setp.ne.u32 %p1, %r1, 0;\n    @%p1 bra ON;\n    barrier.cluster.arrive;\n"
        "    barrier.cluster.wait;\nON:\n", "wait"),
    "one warp": Mistake(
        "barrier.cluster.wait/part", WHOLE,
        "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n",
        "    setp.ge.u32 %p1, %r1, 32;\n    @%p1 bra ON;\n    barrier.cluster.arrive;\n"
        "    barrier.cluster.wait;\nON:\n", "wait"),
    "a part of a warp, aligned": Mistake(
        "barrier.cluster.arrive/aligned", WHOLE,
        "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n",
        "    setp.ge.u32 %p1, %r1, 16;\n    @%p1 bra ON;\n    barrier.cluster.arrive.aligned;\n"
        "    barrier.cluster.wait;\nON:\n", "arrive",
        also={"barrier.cluster.wait/part"}),
    "an elected thread, aligned": Mistake(
        "barrier.cluster.wait/aligned", WHOLE,
        "    barrier.cluster.wait;\n",
        "    elect.sync _|%p2, -1;\n    @%p2 barrier.cluster.wait.aligned;\n", "wait",
        also={"barrier.cluster.arrive/no-wait"}),
}  # fmt: skip
REVIEWS = {
    "barrier.cluster.arrive/no-wait",
    "tcgen05.dealloc/peer",  # two warps free "collectively": does the first wait for the other?
}


@each("name", MISTAKES)
def test_a_mistake_breaks_its_rule_where_it_is(name: str) -> None:
    mistake = MISTAKES[name]
    found = said(mistake.broken())
    hit = [f for f in found if f.rule == mistake.rule and f.place.line == mistake.line()]
    assert hit, found
    assert hit[0].severity is (Severity.REVIEW if mistake.rule in REVIEWS else Severity.ERROR)
    assert others(found, hit[0]) - {mistake.rule} == besides(mistake.also)


@each("name", MISTAKES)
def test_a_mistake_is_one_edit_of_a_clean_kernel(name: str) -> None:
    assert MISTAKES[name].text in CLEAN.values()
    assert MISTAKES[name].broken() != MISTAKES[name].text


def test_each_rule_has_two_mistakes() -> None:
    rules = [m.rule for m in MISTAKES.values()]
    once = {r for r in rules if rules.count(r) < 2}
    assert {r for r in once if not r.endswith("/aligned")} == set()


# ---- the size of the cluster -----------------------------------------------------------------

UNSIZED = PAIR.replace(TWO, "")


def test_an_unknown_cluster_is_said_to_be_unknown() -> None:
    (note,) = findings(UNSIZED)
    assert note.rule == "verify/cluster"
    assert note.incomplete
    assert "--cluster" in note.expected


@pytest.mark.parametrize(("cluster", "rules"), [
    ((2,), []), ((1, 2, 1), []), ((1,), ["tcgen05/pair-cluster", "tcgen05.commit/multicast-mask"]),
    ((3, 1, 1), ["tcgen05/pair-cluster"]),
])  # fmt: skip
def test_the_cluster_may_come_from_outside(cluster: tuple[int, ...], rules: list[str]) -> None:
    assert [f.rule for f in findings(UNSIZED, (), cluster)] == rules


def test_what_the_kernel_says_counts_more_than_what_is_said_outside() -> None:
    assert findings(PAIR, (), (1,)) == []


def test_without_the_block_only_the_size_of_the_cluster_is_judged() -> None:
    text = PAIR.replace(".reqntid 128\n", "")
    assert {f.rule for f in said(text.replace(TWO, ".reqnctapercluster 3"))} >= {
        "tcgen05/pair-cluster"
    }
    assert not [f for f in said(text) if f.rule.endswith(("/peer", "-exit", "-arrive", "-wait"))]


EIGHT = """
.version 8.6
.target sm_90a
.address_size 64
.shared .align 8 .b64 bar;
.visible .entry k(.param .u64 out) .reqntid 64 .reqnctapercluster 8, 1, 1
{
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %cluster_ctarank;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [bar], 1;
    @%p1 fence.mbarrier_init.release.cluster;
$sync
    setp.eq.and.u32 %p2, %r2, 0, %p1;
    mov.u32 %r3, bar;
    mapa.shared::cluster.u32 %r4, %r3, 5;
    @%p2 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
$sync
    ret;
}
""".replace("$sync\n", SYNC)


@pytest.mark.parametrize("ctas", [8, 12, 16])
def test_each_cta_of_many_is_followed(ctas: int) -> None:
    """CTA 0 arrives at the mbarrier of CTA 5, which may have left where nothing waits for that."""
    text = EIGHT.replace("ter 8,", f"ter {ctas},")
    assert verify_functions(read_ptx(text, "k.ptx").module) == []
    head, _, tail = text.rpartition(SYNC)
    (found,) = verify_functions(read_ptx(head + tail, "k.ptx").module)
    assert (found.rule, found.severity) == ("mbarrier.arrive/peer-exit", Severity.ERROR)
    assert "CTA 5" in found.got


@pytest.mark.parametrize("arrival", ["release.cluster.", "relaxed.cluster."])
@pytest.mark.parametrize("wait", ["acquire.cluster.", "relaxed.cluster."])
def test_a_cta_that_waits_for_an_arrival_is_there(arrival: str, wait: str) -> None:
    """A phase is complete when all have arrived, whatever memory their arrivals order."""
    head, _, tail = EIGHT.replace("release.cluster.shared", f"{arrival}shared").rpartition(SYNC)
    waits = f"""
    setp.ne.u32 %p3, %r2, 5;
    @%p3 bra DONE;
WAIT:
    mbarrier.try_wait.parity.{wait}shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
DONE:
"""
    assert verify_functions(read_ptx(head + waits + tail, "k.ptx").module) == []


def test_a_pairs_copies_arrive_at_ctas_of_one_parity() -> None:
    """PTX ISA, cp.async.bulk.tensor: of each destination's pair, the one with the parity of the
    CTA that the mbarrier's address names; without .cta_group::2 the destination itself."""
    own, even = in_window(64, 3), in_window(64, 2)

    def ranks(mbarrier: int, mask: int | None, pair: bool) -> list[int]:
        return [rank_of(at) for at in signals_of(mbarrier, mask, pair=pair)]

    assert ranks(even, 0b1010, pair=True) == [0, 2]
    assert ranks(own, 0b0101, pair=True) == [1, 3]
    assert ranks(own, 0b1010, pair=False) == [1, 3]
    assert signals_of(even, None, pair=True) == [even]
