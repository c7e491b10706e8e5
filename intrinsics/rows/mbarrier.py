"""mbarrier: initialise, arrive, expect bytes, wait.

PTX ISA, Parallel Synchronization and Communication Instructions: mbarrier.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.limits import MOST_TX
from intrinsics.modifiers import (
    SHARED_OF_CTA,
    SHARED_SPACES,
    MbarrierLayout,
    Modifier,
    Multicast,
    NoComplete,
    PhaseType,
    ScalarType,
    Scope,
    Sem,
    Space,
)
from intrinsics.row import (
    Attributes,
    Effect,
    Effects,
    Llvm,
    Numbers,
    Row,
    Rule,
    address,
    predicate_result,
    result,
    value,
    when,
)
from intrinsics.rows.requirements import CTA_SPACE, SM80, SM90
from intrinsics.targets import Feature, at_least, since

_PHASES = since("9.3", at_least(90))
_SCOPES = (Scope.CTA, Scope.CLUSTER)

_MBAR = address("mbar", "space", pointer=True, within=Space.SHARED)
_STATE = result("state", ScalarType.U64, sink=True)
_CTA_MASK = value("cta_mask", ScalarType.U32, Numbers(0, 0xFFFF_FFFF), symbols=False)
_MULTICAST = {"multicast": (Multicast.CLUSTER_32B,)}
_TIED = {"multicast": "cta_mask"}
_EFFECTS = Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.BARRIER)

COUNT = Numbers(1, MOST_TX)
"""Expected arrivals of a phase: 1 to 2^20 - 1."""

# fmt: off
_CLUSTER_SPACE = when(space=Space.SHARED_CLUSTER).needs("cluster-target", SM90)
_CLUSTER_SCOPE = when(scope=Scope.CLUSTER).needs("cluster-target", SM90)
_RELAXED = when(sem=Sem.RELAXED).needs("relaxed-target", since("8.6", at_least(90)))
_RELEASE = when(sem=Sem.RELEASE).needs("sem-version", since("8.0"))
_ACQUIRE = when(sem=Sem.ACQUIRE).needs("sem-version", since("8.0"))
def _both(*sems: Sem) -> tuple[Rule, ...]:
    return (
        when(sem=sems).must("sem-scope", "an ordering needs a scope", scope=_SCOPES),
        when(scope=_SCOPES).must("sem-scope", "a scope needs an ordering", sem=sems),
    )
_REMOTE = (
    _CLUSTER_SPACE,
    when(space=Space.SHARED_CLUSTER).must(
        "remote-state", "an arrive on another CTA's mbarrier returns no state: write _",
        state=False),
)
_TO_MANY = (
    when(multicast=Multicast.CLUSTER_32B).needs(
        "multicast-target", since("9.4", Feature.HAS_WIDE_MULTICAST)),
    when(multicast=Multicast.CLUSTER_32B).must(
        "multicast-space", "a multicast goes to .shared::cluster",
        space=(None, Space.SHARED_CLUSTER)),
)
_SUNK = when(state=False).needs("sink-version", since("7.1"))
# fmt: on

ARRIVE_RULES: tuple[Rule, ...] = (
    CTA_SPACE,
    *_REMOTE,
    _CLUSTER_SCOPE,
    _RELAXED,
    _RELEASE,
    *_both(Sem.RELEASE, Sem.RELAXED),
    _SUNK,
    when(no_complete=NoComplete.NO_COMPLETE).must(
        "no-complete", ".noComplete takes the count of arrivals", count=True
    ),
    when(no_complete=NoComplete.NO_COMPLETE).must(
        "no-complete",
        ".noComplete arrives in its own CTA with release semantics at most",
        scope=(None, Scope.CTA),
        sem=(None, Sem.RELEASE),
        space=(None, *SHARED_OF_CTA),
    ),
    when(count=True, no_complete=None).needs("count-target", since("7.8", at_least(90))),
    *_TO_MANY,
    when(no_complete=NoComplete.NO_COMPLETE).must(
        "no-complete", ".noComplete arrives on one mbarrier", multicast=None
    ),
)
TX_RULES: tuple[Rule, ...] = (
    *_REMOTE,
    _RELAXED,
    *_both(Sem.RELEASE, Sem.RELAXED),
    *_TO_MANY,
)

_ARRIVE_QUALIFIERS = {
    "no_complete": NoComplete,
    "sem": (Sem.RELEASE, Sem.RELAXED),
    "scope": _SCOPES,
    "space": SHARED_SPACES,
    **_MULTICAST,
}
_TX_QUALIFIERS = {
    "sem": (Sem.RELEASE, Sem.RELAXED),
    "scope": _SCOPES,
    "space": SHARED_SPACES,
    **_MULTICAST,
}
_CTA: Attributes = {"space": Space.SHARED}
_CLUSTER: Attributes = {"space": Space.SHARED_CLUSTER, "state": False}


def _ordering(strong: Sem) -> dict[str, dict[str, Attributes]]:
    """LLVM's `.relaxed` and `.scope.X`; the strong ordering at CTA scope is PTX's default."""
    return {
        "order": {
            ".scope.cta": {"sem": None, "scope": None},
            ".scope.cluster": {"sem": strong, "scope": Scope.CLUSTER},
            ".relaxed.scope.cta": {"sem": Sem.RELAXED, "scope": Scope.CTA},
            ".relaxed.scope.cluster": {"sem": Sem.RELAXED, "scope": Scope.CLUSTER},
        }
    }


_RELEASES = _ordering(Sem.RELEASE)
_ACQUIRES = _ordering(Sem.ACQUIRE)
_TX_SCOPES = {"scope": {"cta": Scope.CTA, "cluster": Scope.CLUSTER}}
_NO_COMPLETE: Attributes = {"no_complete": NoComplete.NO_COMPLETE}


def _arrive_spellings(verb: str) -> tuple[Llvm, ...]:
    """LLVM's old names (generic, `.shared`) and its new ones (`.scope.X.space.Y`)."""
    old, new = f"mbarrier.{verb}", f"mbarrier.{verb}{{order}}.space"
    shared_no_complete: Attributes = {**_NO_COMPLETE, **_CTA}
    return (
        Llvm(old, "p:mbar", "i64:state"),
        Llvm(f"{old}.shared", "p3:mbar", "i64:state", given=_CTA),
        Llvm(f"{old}.noComplete", "p:mbar, i32:count", "i64:state", given=_NO_COMPLETE),
        Llvm(
            f"{old}.noComplete.shared", "p3:mbar, i32:count", "i64:state", given=shared_no_complete
        ),
        Llvm(f"{new}.cta", "p3:mbar, i32:count", "i64:state", given=_CTA, holes=_RELEASES),
        Llvm(f"{new}.cluster", "p7:mbar, i32:count", given=_CLUSTER, holes=_RELEASES),
    )


def _arrive_tx_spellings(verb: str) -> tuple[Llvm, ...]:
    new = f"mbarrier.{verb}{{order}}.space"
    return (
        Llvm(f"{new}.cta", "p3:mbar, i32:tx_count", "i64:state", given=_CTA, holes=_RELEASES),
        Llvm(f"{new}.cluster", "p7:mbar, i32:tx_count", given=_CLUSTER, holes=_RELEASES),
    )


def _tx_spellings(verb: str) -> tuple[Llvm, ...]:
    new = f"mbarrier.{verb}.scope.{{scope}}.space"
    here: Attributes = {"sem": Sem.RELAXED, "space": Space.SHARED}
    remote: Attributes = {"sem": Sem.RELAXED, "space": Space.SHARED_CLUSTER}
    return (
        Llvm(f"{new}.cta", "p3:mbar, i32:tx_count", given=here, holes=_TX_SCOPES),
        Llvm(f"{new}.cluster", "p7:mbar, i32:tx_count", given=remote, holes=_TX_SCOPES),
    )


# fmt: off
INIT = Row(
    "mbarrier.init", "{.layout}{.space}.b64", "[mbar], count",
    qualifiers={"layout": MbarrierLayout, "space": SHARED_OF_CTA},
    operands=(_MBAR, value("count", ScalarType.U32, COUNT)),
    section="mbarrier.init", needs=SM80, effects=_EFFECTS,
    rules=(CTA_SPACE, when(layout=tuple(MbarrierLayout)).needs("layout-target", _PHASES)),
    unsimulated=("layout",),
    llvm=(
        Llvm("mbarrier.init", "p:mbar, i32:count"),
        Llvm("mbarrier.init.shared", "p3:mbar, i32:count", given={"space": Space.SHARED}),
    ),
)

CHECK_LAYOUT = Row(
    "mbarrier.check_layout", ".layout{.space}.b64", "p, [mbar]",
    qualifiers={"layout": MbarrierLayout, "space": SHARED_OF_CTA},
    operands=(predicate_result("p"), _MBAR),
    section="mbarrier.check_layout", needs=_PHASES, rules=(CTA_SPACE,), effects=_EFFECTS,
    simulated=False,
)

INVAL = Row(
    "mbarrier.inval", "{.space}.b64", "[mbar]",
    qualifiers={"space": SHARED_OF_CTA},
    operands=(_MBAR,),
    section="mbarrier.inval", needs=SM80, rules=(CTA_SPACE,), effects=_EFFECTS,
    llvm=(
        Llvm("mbarrier.inval", "p:mbar"),
        Llvm("mbarrier.inval.shared", "p3:mbar", given={"space": Space.SHARED}),
    ),
)

ARRIVE = Row(
    "mbarrier.arrive", "{.no_complete}{.sem}{.scope}{.space}{.multicast}.b64",
    "state, [mbar] {, count} {, cta_mask}",
    qualifiers=_ARRIVE_QUALIFIERS,
    operands=(_STATE, _MBAR, value("count", ScalarType.U32, Numbers(1)), _CTA_MASK),
    section="mbarrier.arrive", needs=SM80, rules=ARRIVE_RULES, effects=_EFFECTS,
    tied=_TIED,
    llvm=_arrive_spellings("arrive"),
)

ARRIVE_DROP = Row(
    "mbarrier.arrive_drop", "{.no_complete}{.sem}{.scope}{.space}{.multicast}.b64",
    "state, [mbar] {, count} {, cta_mask}",
    qualifiers=_ARRIVE_QUALIFIERS,
    operands=(_STATE, _MBAR, value("count", ScalarType.U32, Numbers(1)), _CTA_MASK),
    section="mbarrier.arrive_drop", needs=SM80, rules=ARRIVE_RULES, effects=_EFFECTS,
    tied=_TIED,
    llvm=_arrive_spellings("arrive.drop"),
)

ARRIVE_EXPECT_TX = Row(
    "mbarrier.arrive.expect_tx", "{.sem}{.scope}{.space}{.multicast}.b64",
    "state, [mbar], tx_count {, cta_mask}",
    qualifiers=_TX_QUALIFIERS,
    operands=(_STATE, _MBAR, value("tx_count", ScalarType.U32), _CTA_MASK),
    section="mbarrier.arrive", needs=SM90, rules=TX_RULES, effects=_EFFECTS,
    tied=_TIED,
    llvm=_arrive_tx_spellings("arrive.expect.tx"),
)

ARRIVE_DROP_EXPECT_TX = Row(
    "mbarrier.arrive_drop.expect_tx", "{.sem}{.scope}{.space}{.multicast}.b64",
    "state, [mbar], tx_count {, cta_mask}",
    qualifiers=_TX_QUALIFIERS,
    operands=(_STATE, _MBAR, value("tx_count", ScalarType.U32), _CTA_MASK),
    section="mbarrier.arrive_drop", needs=SM90, rules=TX_RULES, effects=_EFFECTS,
    tied=_TIED,
    llvm=_arrive_tx_spellings("arrive.drop.expect.tx"),
)

EXPECT_TX = Row(
    "mbarrier.expect_tx", "{.sem}{.scope}{.space}{.multicast}.b64",
    "[mbar], tx_count {, cta_mask}",
    qualifiers={"sem": (Sem.RELAXED,), "scope": _SCOPES, "space": SHARED_SPACES, **_MULTICAST},
    operands=(_MBAR, value("tx_count", ScalarType.U32), _CTA_MASK),
    section="mbarrier.expect_tx", needs=SM90,
    rules=(*_both(Sem.RELAXED), *_TO_MANY), effects=_EFFECTS,
    tied=_TIED,
    llvm=_tx_spellings("expect.tx"),
)

COMPLETE_TX = Row(
    "mbarrier.complete_tx", "{.sem}{.scope}{.space}{.multicast}.b64",
    "[mbar], tx_count {, cta_mask}",
    qualifiers={"sem": (Sem.RELAXED,), "scope": _SCOPES, "space": SHARED_SPACES, **_MULTICAST},
    operands=(_MBAR, value("tx_count", ScalarType.U32), _CTA_MASK),
    section="mbarrier.complete_tx", needs=SM90,
    rules=(*_both(Sem.RELAXED), *_TO_MANY), effects=_EFFECTS,
    tied=_TIED,
    llvm=_tx_spellings("complete.tx"),
)
# fmt: on

_WAIT_RULES = (
    CTA_SPACE,
    _CLUSTER_SCOPE,
    _RELAXED,
    _ACQUIRE,
    *_both(Sem.ACQUIRE, Sem.RELAXED),
    when(phase_type=tuple(PhaseType)).needs("phase-type-target", _PHASES),
    when(conditional=True).must(
        "phase-type",
        "only a wait for the primary phase tells more than whether it is done",
        phase_type=PhaseType.PRIMARY,
    ),
    when(report=True).must(
        "phase-type",
        "only a wait for the primary phase tells more than whether it is done",
        phase_type=PhaseType.PRIMARY,
    ),
)
_TOKEN_QUALIFIERS: dict[str, Iterable[Modifier]] = {
    "phase_type": (PhaseType.PRIMARY,),
    "sem": (Sem.ACQUIRE, Sem.RELAXED),
    "scope": _SCOPES,
    "space": SHARED_OF_CTA,
}
_PARITY_QUALIFIERS: dict[str, Iterable[Modifier]] = {**_TOKEN_QUALIFIERS, "phase_type": PhaseType}
_DONE = (
    predicate_result("done"),
    predicate_result("conditional", sink=True),
    result("report", ScalarType.B8),
)
_TOKEN = value("state", ScalarType.U64)
_PHASE = value("phase", ScalarType.U32, Numbers(0, 1))
_HINT = value("hint", ScalarType.U32)


def _wait_spellings(verb: str, token: str, *, limited: bool) -> tuple[Llvm, ...]:
    """`mbarrier.<verb>[.tl][.relaxed].scope.X.space.cta`; `.tl` takes a time limit."""
    name, args = f"mbarrier.{verb}", f"p3:mbar, {token}"
    tail = "{order}.space.cta"
    plain = Llvm(name + tail, args, "i1:done", given=_CTA, holes=_ACQUIRES)
    if not limited:
        return (plain,)
    hinted = f"{args}, i32:hint"
    return (plain, Llvm(f"{name}.tl{tail}", hinted, "i1:done", given=_CTA, holes=_ACQUIRES))


# fmt: off
TEST_WAIT = Row(
    "mbarrier.test_wait", "{.phase_type}{.sem}{.scope}{.space}.b64",
    "done{|conditional} {, report}, [mbar], state",
    qualifiers=_TOKEN_QUALIFIERS, operands=(*_DONE, _MBAR, _TOKEN),
    section="mbarrier.test_wait", needs=SM80, rules=_WAIT_RULES, effects=_EFFECTS,
    unsimulated=("phase_type",),
    llvm=(
        Llvm("mbarrier.test.wait", "p:mbar, i64:state", "i1:done"),
        Llvm("mbarrier.test.wait.shared", "p3:mbar, i64:state", "i1:done", given=_CTA),
        *_wait_spellings("test.wait", "i64:state", limited=False),
    ),
)

TEST_WAIT_PARITY = Row(
    "mbarrier.test_wait.parity", "{.phase_type}{.sem}{.scope}{.space}.b64",
    "done{|conditional} {, report}, [mbar], phase",
    qualifiers=_PARITY_QUALIFIERS, operands=(*_DONE, _MBAR, _PHASE),
    section="mbarrier.test_wait", needs=since("7.1", at_least(80)), rules=_WAIT_RULES,
    unsimulated=("phase_type",),
    effects=_EFFECTS, llvm=_wait_spellings("test.wait.parity", "i32:phase", limited=False),
)

TRY_WAIT = Row(
    "mbarrier.try_wait", "{.phase_type}{.sem}{.scope}{.space}.b64",
    "done{|conditional} {, report}, [mbar], state {, hint}",
    qualifiers=_TOKEN_QUALIFIERS, operands=(*_DONE, _MBAR, _TOKEN, _HINT),
    section="mbarrier.try_wait", needs=since("7.8", at_least(90)), rules=_WAIT_RULES,
    unsimulated=("phase_type",),
    effects=_EFFECTS, llvm=_wait_spellings("try.wait", "i64:state", limited=True),
)

TRY_WAIT_PARITY = Row(
    "mbarrier.try_wait.parity", "{.phase_type}{.sem}{.scope}{.space}.b64",
    "done{|conditional} {, report}, [mbar], phase {, hint}",
    qualifiers=_PARITY_QUALIFIERS, operands=(*_DONE, _MBAR, _PHASE, _HINT),
    section="mbarrier.try_wait", needs=since("7.8", at_least(90)), rules=_WAIT_RULES,
    unsimulated=("phase_type",),
    effects=_EFFECTS, llvm=_wait_spellings("try.wait.parity", "i32:phase", limited=True),
)

PENDING_COUNT = Row(
    "mbarrier.pending_count", ".b64", "count, state",
    operands=(result("count", ScalarType.U32), value("state", ScalarType.U64)),
    section="mbarrier.pending_count", needs=SM80,
    llvm=(Llvm("mbarrier.pending.count", "i64:state", "i32:count"),),
)
# fmt: on

ROWS = (
    INIT,
    CHECK_LAYOUT,
    INVAL,
    ARRIVE,
    ARRIVE_DROP,
    ARRIVE_EXPECT_TX,
    ARRIVE_DROP_EXPECT_TX,
    EXPECT_TX,
    COMPLETE_TX,
    TEST_WAIT,
    TEST_WAIT_PARITY,
    TRY_WAIT,
    TRY_WAIT_PARITY,
    PENDING_COUNT,
)
