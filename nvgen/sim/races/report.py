"""The findings about races: both accesses, their source locations, and what would order them.

Layer: nvgen.sim.
"""

from __future__ import annotations

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.faults import Fault, fault
from nvgen.sim.races.epochs import Site
from nvgen.sim.races.tensor_fences import AFTER, BEFORE

_WAITS = {
    "tma": "a wait that succeeds on the mbarrier that the copy completes on",
    "st.async": "a wait that succeeds on the mbarrier that counts what is stored",
    "mma": "tcgen05.commit behind it, and a wait that succeeds on the mbarrier of the commit",
    "wgmma": "wgmma.commit_group and wgmma.wait_group of the warpgroup that issued it, then a "
    "barrier or an mbarrier between the threads",
    "ld": "tcgen05.wait::ld, then a barrier or an mbarrier between the threads",
    "st": "tcgen05.wait::st, then a barrier or an mbarrier between the threads",
    "copy": "cp.async.wait_group or cp.async.wait_all of the thread that issued it, or a wait on "
    "the mbarrier of its cp.async.mbarrier.arrive",
    "map": "a wait for the copy that uses the tensor map, or cp.async.bulk.commit_group and "
    "cp.async.bulk.wait_group of the thread that issued it",
    "bulk": "cp.async.bulk.commit_group and cp.async.bulk.wait_group of the thread that issued it",
    "bulk.read": "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read of the thread that "
    "issued it",
}
"""What orders an operation of a kind before later accesses."""

_FENCES = {
    AFTER: "without tcgen05.fence::after_thread_sync it may do so before the wait succeeds",
    BEFORE: "without tcgen05.fence::before_thread_sync behind that nothing says that it is over",
}
"""What may happen without a fence."""

_SIZE = "the two are strong, and do not overlap completely"
_SCOPE = "what should order the two has a scope that does not include both threads"

_REASONS = {"scope": _SCOPE, "size": _SIZE}

_PLACES = {
    AFTER: "tcgen05.fence::after_thread_sync between the wait, or the barrier, and this operation",
    BEFORE: "tcgen05.fence::before_thread_sync between the other access, with what waits for it, "
    "and the arrival, or the barrier",
}
"""Where a missing fence belongs."""


@dataclass(frozen=True, slots=True)
class Between:
    """The CTAs of two accesses by threads, the first signal after the first access (`behind`), and
    the last acquiring instruction before the second (`before`).
    """

    first: int = -1
    second: int = -1
    behind: Place | None = None
    before: Place | None = None


NOTHING_BETWEEN = Between()


def race(
    first: Site,
    verb: str,
    missing: str,
    agent: str,
    *,
    writes: bool,
    what: str,
    between: Between = NOTHING_BETWEEN,
) -> Fault:
    """The finding, at the source location of the later access.

    `first` is the site of the earlier one and `verb` what it did.  `missing` is the kind of the
    operation that was not waited for, the fence that is missing, or "warp", "thread" or "CTA" for
    threads that did not synchronise, "scope" for those that did so at a scope that does not include
    both, "size" for strong accesses of which one has a part of the other's bytes.
    """
    why = _FENCES.get(missing) or _REASONS.get(missing, "nothing orders the two")
    return fault(
        "race",
        f"{agent} {'writes' if writes else 'reads'} what {first.what} {verb}, and {why}",
        got=_accesses(first, what, between),
        expected=_order(missing),
        hint=_hint(missing),
        section="tcgen05.fence" if missing in _FENCES else "Memory Consistency Model",
    )


def _accesses(first: Site, what: str, between: Between) -> str:
    """The bytes, both CTAs where they differ, the other access, and the signals in between."""
    apart = between.first != between.second
    by, of = (f", by CTA {between.second}", f" of CTA {between.first}") if apart else ("", "")
    told = f"{what}{by}; the other access: {first.what}{of} at {first.place}"
    if between.behind is not None:
        told += f"; its next signal to others: at {between.behind}"
    if between.before is not None:
        told += f"; this warp has last heard of others at {between.before}"
    return told


def unstarted(agent: str, what: str) -> Fault:
    """The finding at an access to the shared memory of a CTA that is not known to run."""
    return fault(
        "unstarted-cta",
        f"{agent} reaches shared memory of a CTA that may not have begun to run",
        got=what,
        expected="an order behind something that a thread of that CTA has done",
        hint="let the cluster meet at barrier.cluster.arrive and .wait before one CTA reaches the "
        "shared memory of another",
        section="Cluster of Cooperative Thread Arrays",
    )


def _order(missing: str) -> str:
    if missing in _PLACES:
        return _PLACES[missing]
    if missing == "warp":
        return "bar.warp.sync between the two"
    if missing == "thread":
        return "a barrier between the two, or an arrival behind one and a wait before the other"
    if missing == "scope":
        return (
            "the scope .cluster for CTAs of one cluster, .gpu for others: of the release, the "
            "acquire, each fence, and each atomic operation, write and read of the flag, or each "
            "arrival and wait at the mbarrier"
        )
    if missing == "size":
        return "accesses of one size to one address, or an order between these"
    if missing == "CTA":
        return "barrier.cluster, or a release and an acquire of a flag, between the two CTAs"
    return _WAITS.get(missing, "a wait for the operation's completion")


def _hint(missing: str) -> str:
    if missing == "warp":
        return "threads of a warp are not ordered by running together"
    if missing == "scope":
        return (
            "a .cta scope, the default of mbarrier.arrive and its waits, orders threads of one CTA "
            "only, whatever memory they access"
        )
    if missing == "size":
        return "a number that is stored in parts may be read with some of them old"
    if missing == "thread":
        return "an arrival tells of its own thread: bar.warp.sync goes before one for a whole warp"
    if missing in ("CTA", *_PLACES):
        return ""
    return "whoever comes next must have waited for the operation, or have met who waited"
