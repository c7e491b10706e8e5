"""Fences, barriers and the election of one thread.

PTX ISA, Parallel Synchronization and Communication Instructions.
"""

from __future__ import annotations

from intrinsics.modifiers import Aligned, ReduceOp, ScalarType, Scope, Sem, Space
from intrinsics.row import (
    Attributes,
    Effect,
    Effects,
    IssueScope,
    Llvm,
    Numbers,
    Row,
    predicate,
    predicate_result,
    result,
    value,
    when,
)
from intrinsics.rows.requirements import SM90
from intrinsics.targets import at_least, since

_FENCES = Effects(Effect.BARRIER)
_WARP = Effects(Effect.CONVERGENT | Effect.ALIGNED | Effect.BARRIER, IssueScope.CTA)
_CTA = Effects(Effect.CONVERGENT | Effect.BARRIER, IssueScope.CTA)

BARRIER_ID = Numbers(0, 15, wraps=True)
"""A CTA has sixteen barriers."""

THREADS = Numbers(0, multiple=32)
"""Threads at a barrier: a multiple of the warp size."""

_ID = value("barrier", ScalarType.U32, BARRIER_ID)
_COUNT = value("count", ScalarType.U32, THREADS)

ONE_WAY_FENCE = since("8.6", at_least(90))
"""Who has fences that only acquire or release."""

# fmt: off
FENCE = Row(
    "fence", "{.sem}.scope",
    qualifiers={"sem": (Sem.SC, Sem.ACQ_REL, Sem.ACQUIRE, Sem.RELEASE), "scope": Scope},
    section="membar / fence", effects=_FENCES,
    rules=(
        when(sem=(Sem.ACQUIRE, Sem.RELEASE)).needs("one-way-target", ONE_WAY_FENCE),
        when(scope=Scope.CLUSTER).needs("cluster-target", since("7.8", at_least(90))),
    ),
    llvm=(Llvm("fence.sc.cluster", given={"sem": Sem.SC, "scope": Scope.CLUSTER}),),
    late={"mbarrier_init": "fence.mbarrier_init"}, elsewhere=("proxy", "async"),
)

_PROXY_NAMES: dict[str, Attributes] = {
    "": {"space": None},
    ".global": {"space": Space.GLOBAL},
    ".shared_cta": {"space": Space.SHARED_CTA},
    ".shared_cluster": {"space": Space.SHARED_CLUSTER},
}

FENCE_PROXY_ASYNC = Row(
    "fence.proxy.async", "{.space}",
    qualifiers={"space": (Space.GLOBAL, Space.SHARED_CTA, Space.SHARED_CLUSTER)},
    section="membar / fence", needs=SM90, effects=_FENCES,
    llvm=(Llvm("fence.proxy.async{where}", holes={"where": _PROXY_NAMES}),),
)

FENCE_MBARRIER_INIT = Row(
    "fence.mbarrier_init", ".release.cluster",
    section="membar / fence", needs=SM90, effects=_FENCES,
    llvm=(Llvm("fence.mbarrier_init.release.cluster"),),
)

ELECT = Row(
    "elect.sync", "", "lane|elected, membermask",
    operands=(
        result("lane", ScalarType.U32, sink=True), predicate_result("elected"),
        value("membermask", ScalarType.U32),
    ),
    section="elect.sync", needs=SM90,
    effects=Effects(Effect.CONVERGENT, IssueScope.WARP),
    llvm=(Llvm("elect.sync", "i32:membermask", "{i32:lane, i1:elected}"),),
)

BAR_SYNC = Row(
    "bar.sync", "", "barrier {, count}",
    aliases=("bar.cta.sync",),
    operands=(_ID, _COUNT), section="barrier", effects=_WARP,
    llvm=(
        Llvm("barrier.cta.sync.aligned.all", "i32:barrier"),
        Llvm("barrier.cta.sync.aligned.count", "i32:barrier, i32:count"),
    ),
)

BARRIER_SYNC = Row(
    "barrier.sync", "", "barrier {, count}", aliases=("barrier.cta.sync",),
    late={"aligned": "bar.sync"},
    operands=(_ID, _COUNT), section="barrier", effects=_CTA,
    llvm=(
        Llvm("barrier.cta.sync.all", "i32:barrier"),
        Llvm("barrier.cta.sync.count", "i32:barrier, i32:count"),
    ),
)

_ARRIVING = value("count", ScalarType.U32, Numbers(multiple=32, nonzero=True))

BAR_ARRIVE = Row(
    "bar.arrive", "", "barrier, count",
    aliases=("bar.cta.arrive",),
    operands=(_ID, _ARRIVING), section="barrier", effects=_WARP,
    llvm=(Llvm("barrier.cta.arrive.aligned.count", "i32:barrier, i32:count"),),
)

BARRIER_ARRIVE = Row(
    "barrier.arrive", "", "barrier, count", aliases=("barrier.cta.arrive",),
    late={"aligned": "bar.arrive"},
    operands=(_ID, _ARRIVING), section="barrier", effects=_CTA,
    llvm=(Llvm("barrier.cta.arrive.count", "i32:barrier, i32:count"),),
)

_RED_QUALIFIERS = {"op": ReduceOp, "type": (ScalarType.U32, ScalarType.PRED)}
_RED_RULES = (
    when(op=ReduceOp.POPC).must("reduce-type", type=ScalarType.U32),
    when(op=(ReduceOp.AND, ReduceOp.OR)).must("reduce-type", type=ScalarType.PRED),
)
_RED_OPERANDS = (result("d", "type"), _ID, _COUNT, predicate("c", number_too=True))


def _red_spellings(aligned: str) -> tuple[Llvm, ...]:
    found = []
    for op in ReduceOp:
        wide = op is ReduceOp.POPC
        given: Attributes = {"op": op, "type": ScalarType.U32 if wide else ScalarType.PRED}
        head, d = f"barrier.cta.red.{op.value}{aligned}", "i32:d" if wide else "i1:d"
        found.append(Llvm(f"{head}.all", "i32:barrier, i1:c", d, given=given))
        found.append(Llvm(f"{head}.count", "i32:barrier, i32:count, i1:c", d, given=given))
    return tuple(found)


BAR_RED = Row(
    "bar.red", ".op.type", "d, barrier {, count}, c",
    aliases=("bar.cta.red",),
    qualifiers=_RED_QUALIFIERS, operands=_RED_OPERANDS, rules=_RED_RULES, section="barrier",
    effects=_WARP,
    llvm=_red_spellings(".aligned"),
)

BARRIER_RED = Row(
    "barrier.red", ".op.type", "d, barrier {, count}, c", aliases=("barrier.cta.red",),
    late={"aligned": "bar.red"},
    qualifiers=_RED_QUALIFIERS, operands=_RED_OPERANDS, rules=_RED_RULES, section="barrier",
    effects=_CTA,
    llvm=_red_spellings(""),
)

BAR_WARP_SYNC = Row(
    "bar.warp.sync", "", "membermask",
    operands=(value("membermask", ScalarType.U32),), section="bar.warp.sync",
    effects=Effects(Effect.CONVERGENT | Effect.BARRIER, IssueScope.WARP),
    llvm=(Llvm("bar.warp.sync", "i32:membermask"),),
)

_CLUSTER_RULES = (when(sem=tuple(Sem)).needs("sem-version", since("8.0")),)
_ALIGNED: dict[str, Attributes] = {"": {"aligned": None}, ".aligned": {"aligned": Aligned.ALIGNED}}

BARRIER_CLUSTER_ARRIVE = Row(
    "barrier.cluster.arrive", "{.sem}{.aligned}",
    qualifiers={"sem": (Sem.RELEASE, Sem.RELAXED), "aligned": Aligned},
    section="barrier.cluster", needs=since("7.8", at_least(90)), rules=_CLUSTER_RULES,
    effects=_CTA,
    llvm=(
        Llvm("barrier.cluster.arrive{aligned}", holes={"aligned": _ALIGNED}),
        Llvm("barrier.cluster.arrive.relaxed{aligned}", given={"sem": Sem.RELAXED},
             holes={"aligned": _ALIGNED}),
    ),
)

BARRIER_CLUSTER_WAIT = Row(
    "barrier.cluster.wait", "{.sem}{.aligned}",
    qualifiers={"sem": (Sem.ACQUIRE,), "aligned": Aligned},
    section="barrier.cluster", needs=since("7.8", at_least(90)), rules=_CLUSTER_RULES,
    effects=_CTA,
    llvm=(Llvm("barrier.cluster.wait{aligned}", holes={"aligned": _ALIGNED}),),
)
# fmt: on

ROWS = (
    FENCE,
    FENCE_PROXY_ASYNC,
    FENCE_MBARRIER_INIT,
    ELECT,
    BAR_SYNC,
    BARRIER_SYNC,
    BAR_ARRIVE,
    BARRIER_ARRIVE,
    BAR_RED,
    BARRIER_RED,
    BAR_WARP_SYNC,
    BARRIER_CLUSTER_ARRIVE,
    BARRIER_CLUSTER_WAIT,
)
