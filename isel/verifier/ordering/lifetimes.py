"""Rules about lifetimes: of tensor memory, of mbarriers, and of the CTAs of a cluster.

Layer: isel.verifier.ordering.  Tensor memory is allocated, its address published, used, and freed;
mbarriers are initialised before they are used; a CTA of a cluster has started before another
accesses it, and exits after the last such access.  PTX ISA, tcgen05.alloc, tcgen05.dealloc,
tcgen05.relinquish_alloc_permit; mbarrier.init; tcgen05, Issue Granularity; barrier.cluster.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.limits import COLUMNS
from isel.verifier.rule import VerifierRule

_ALLOC, _DEALLOC = "tcgen05.alloc", "tcgen05.dealloc"
_CLUSTER_SYNC = "barrier.cluster.arrive, barrier.cluster.wait"
_BARRIER = "barrier.cluster"

ROOM = "columns of tensor memory that are free"
"""What an allocation waits for."""

# ---- tensor memory ---------------------------------------------------------------------------

COMMIT = "tcgen05.commit"
"""The row, and the manual's section, of what makes an mbarrier track multiplies."""

MAYBE_UNALLOCATED = VerifierRule(
    "tcgen05/unallocated",
    "tensor memory is used, and was not allocated on every way here",
    "Tensor Memory Allocation",
    expected="tcgen05.alloc before the first use",
)
AGAIN = VerifierRule(
    "tcgen05.alloc/again",
    "tensor memory is allocated again before it was freed",
    _ALLOC,
    expected="tcgen05.dealloc first, or another slot",
    hint="the earlier address is lost, and the columns with it",
)
ADDRESS = VerifierRule(
    "tcgen05.dealloc/address",
    "what is freed is not an address that an allocation gave",
    _DEALLOC,
    misses=False,
)
COUNT = VerifierRule(
    "tcgen05.dealloc/count",
    "other columns are freed than were allocated",
    _DEALLOC,
    misses=False,
)
UNIFORM_COUNT = VerifierRule(
    "{op}/uniform-columns",
    "the threads of a warp give different numbers of columns",
    _ALLOC,
    expected="the same number in all threads of the warp",
    misses=False,
)
FREED_TWICE = VerifierRule(
    "tcgen05.dealloc/twice",
    "tensor memory is freed twice",
    _DEALLOC,
    expected="one tcgen05.dealloc for each tcgen05.alloc",
)
FREED_UNALLOCATED = VerifierRule(
    "tcgen05.dealloc/unallocated",
    "tensor memory is freed before it is allocated",
    _DEALLOC,
    expected="one tcgen05.dealloc for each tcgen05.alloc",
)
FREED = VerifierRule(
    "tcgen05/freed",
    "tensor memory is used after it was freed",
    _DEALLOC,
    expected="tcgen05.dealloc after the last use",
    misses=False,
)
NEVER_FREED = VerifierRule(
    "tcgen05.alloc/never-freed",
    "tensor memory is not freed on every way to the end",
    _ALLOC,
    expected="tcgen05.dealloc before the kernel exits",
)
AFTER_RELINQUISH = VerifierRule(
    "tcgen05.alloc/after-relinquish",
    "tensor memory is allocated after the permit to do so was given up",
    "tcgen05.relinquish_alloc_permit",
    expected="all allocations before it",
    misses=False,
)
SLOT_PUBLISHED = VerifierRule(
    "tcgen05.alloc/published",
    "the address of tensor memory is read before it is there",
    _ALLOC,
    expected="a barrier between tcgen05.alloc and the load",
    hint="tcgen05.alloc; tcgen05.fence::before_thread_sync; bar.sync; "
    "tcgen05.fence::after_thread_sync; ld.shared",
)
CAPACITY = VerifierRule(
    "tcgen05.alloc/capacity",
    "a CTA holds more columns than its tensor memory has: the allocation never returns",
    _ALLOC,
    expected=f"at most {COLUMNS} columns at a time",
    hint="tcgen05.alloc waits until the columns are free: free others first, or allocate fewer",
    misses=False,
)
GROWING = VerifierRule(
    "tcgen05.alloc/growing",
    "an allocation is larger than an earlier one",
    _ALLOC,
    Severity.REVIEW,
    expected="sizes that do not increase, in the order of execution",
    hint="allocate the largest first: a smaller one may stand where the larger would have to",
    misses=False,
)

# ---- mbarriers -------------------------------------------------------------------------------

PUBLISHED = VerifierRule(
    "mbarrier/published",
    "an mbarrier is used before its initialisation is known",
    "mbarrier.init",
    expected="a barrier between mbarrier.init and the first use by another thread",
    hint="mbarrier.init; fence.mbarrier_init.release.cluster; bar.sync, or barrier.cluster.arrive "
    "and .wait where another CTA uses it",
)
TWICE = VerifierRule(
    "barrier/twice",
    "a warp may arrive twice in one phase of a barrier: it counts for two",
    "barrier",
    Severity.REVIEW,
    expected="a wait for the others' arrival before the warp arrives again",
    hint="bar.sync of another barrier, at which the others arrive when they have waited for this",
)
INITIALISED_AGAIN = VerifierRule(
    "mbarrier.init/again",
    "an mbarrier is initialised where a valid one is",
    "mbarrier.init",
    expected="mbarrier.inval of the old one before it",
    hint="initialise an mbarrier once, and go on with its next phase",
)
INVALIDATED = VerifierRule(
    "mbarrier.inval/in-use",
    "an mbarrier is invalidated while another warp may still use it",
    "mbarrier.inval",
    expected="a barrier between the last use by any thread and mbarrier.inval",
)
COMPLETES = VerifierRule(
    "mbarrier.arrive/completes",
    "an arrival with .noComplete completes the phase",
    "mbarrier.arrive",
    expected="a phase that misses more arrivals",
    hint="leave .noComplete out where the arrival may be the last one",
    misses=False,
)
WITHOUT_ARRIVALS = VerifierRule(
    "mbarrier/peer-unheard",
    "a CTA waits at an mbarrier of its own, and nobody arrives there: neither it nor its peers",
    COMMIT,
    expected="an arrival in each CTA that waits",
    hint="an mbarrier is told in its own CTA only: a commit tells the peer with "
    ".multicast::cluster, a thread at an address from mapa",
)
DEADLOCK = VerifierRule(
    "mbarrier/deadlock",
    "a wait on an mbarrier never ends",
    "mbarrier, Phase of the mbarrier object",
    expected="an arrival that comes before the wait, or in another thread that can come to it",
    hint="a phase completes with all the arrivals that mbarrier.init counts, and as many bytes as "
    "were expected; who waits for a stage to be empty begins with parity 1: the phase before the "
    "first counts as complete",
    follows=True,
)

# ---- CTAs of a cluster -----------------------------------------------------------------------

PEER_RUNS = VerifierRule(
    "tcgen05.alloc/peer",
    "tensor memory of two CTAs is allocated before the peer CTA is known to run",
    "tcgen05.alloc",
    expected=f"{_CLUSTER_SYNC} before it",
    hint="both CTAs allocate together: the one that has started waits for the other here",
)
PEER_FREED = VerifierRule(
    "tcgen05.dealloc/peer",
    "tensor memory of two CTAs is freed before the peer CTA is known to have finished with it",
    "tcgen05.dealloc",
    expected=f"{_CLUSTER_SYNC} between tcgen05.alloc and it",
    hint="put the cluster barrier behind the last use in both CTAs: a warp of each CTA frees, and "
    "the manual does not say whether the first waits for the other",
)
PEER_EXIT = VerifierRule(
    "tcgen05/peer-exit",
    "the peer CTA may have exited while its shared and tensor memory are still used",
    "tcgen05, Issue Granularity",
    expected=f"{_CLUSTER_SYNC} before every exit",
    hint="the MMA of a pair reads both CTAs' memory, which is gone once all threads of one exited",
)
REMOTE_EXIT = VerifierRule(
    "{op}/peer-exit",
    "the CTA whose shared memory this reaches may have exited",
    _BARRIER,
    expected=f"{_CLUSTER_SYNC} before every exit, or a wait for what reaches it",
    hint="shared memory of another CTA is there only as long as that CTA runs",
)
COMMIT_EXIT = VerifierRule(
    "tcgen05.commit/peer-exit",
    "a commit may arrive in a CTA that has exited",
    COMMIT,
    Severity.REVIEW,
    expected="a wait for the phase that it ends, then the end of the kernel",
    hint="who fills a ring waits at its end until every stage is empty again: a commit is "
    "asynchronous, and the wait for another mbarrier does not tell that it has arrived at this one",
)

PENDING = VerifierRule(
    "{op}/exit-pending",
    "a copy may still read shared memory of a CTA that has exited",
    severity=Severity.REVIEW,
    expected="a wait for the copy before the threads exit",
    hint="cp.async.bulk.wait_group.read 0 by the thread that has issued it; behind a copy to "
    "another CTA the cluster's barrier",
)
MISALIGNED = VerifierRule(
    "{op}/shared-alignment",
    "an address in shared memory is no multiple of what is accessed there",
    "Addresses as Operands",
    expected="an address that is aligned to the size of the access",
    misses=False,
)
OUTSIDE = VerifierRule(
    "{op}/beyond-shared",
    "an access lies beyond all shared memory that the kernel declares",
    "State Spaces, Shared State Space",
    expected="an address inside of a variable",
    misses=False,
)
ELSEWHERE = VerifierRule(
    "{op}/cluster-rank",
    "an access goes to the shared memory of a CTA that the cluster does not have",
    "mapa",
    misses=False,
)
COUNTS = VerifierRule(
    "barrier/count",
    "threads give one barrier different counts",
    "barrier",
    expected="the same number of threads at each place where a barrier is waited for",
    misses=False,
)
RULES = (
    MAYBE_UNALLOCATED, AGAIN, ADDRESS, COUNT, UNIFORM_COUNT, FREED_TWICE, FREED_UNALLOCATED, FREED,
    NEVER_FREED, AFTER_RELINQUISH, SLOT_PUBLISHED, CAPACITY, GROWING, PUBLISHED, TWICE,
    INITIALISED_AGAIN, INVALIDATED, COMPLETES, WITHOUT_ARRIVALS, DEADLOCK,
    PEER_RUNS, PEER_FREED, PEER_EXIT, REMOTE_EXIT, COMMIT_EXIT, PENDING, MISALIGNED,
    OUTSIDE, ELSEWHERE, COUNTS,
)  # fmt: skip
