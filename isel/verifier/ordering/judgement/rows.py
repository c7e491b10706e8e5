"""The rules about order, as data.

Layer: isel.verifier.ordering.  PTX ISA, tcgen05: Memory Consistency Model, Canonical
synchronization patterns; Memory Consistency Model, Proxies.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from isel.verifier.rule import VerifierRule

_PATTERNS = "tcgen05, Canonical synchronization patterns"
_WAIT = (
    "tcgen05.commit behind it, mbarrier.try_wait.parity until it succeeds, then "
    "tcgen05.fence::after_thread_sync"
)

NO_COMMIT = VerifierRule(
    "{op}/no-commit",
    "{op} is not committed on every way to the end",
    _PATTERNS,
    expected="tcgen05.commit in the same thread, and a wait on its mbarrier",
)
BEFORE_COMPLETION = VerifierRule(
    "{op}/before-completion",
    "columns are accessed before what uses them is known to be complete",
    _PATTERNS,
    expected="a wait for the commit behind it",
    hint=_WAIT,
)
NOT_PIPELINED = VerifierRule(
    "{op}/not-pipelined",
    "an operation on the same columns may still run, and is not pipelined with this one",
    "tcgen05, Pipelined tcgen05 Instructions",
    expected="a commit behind the first, a wait for it, and tcgen05.fence::after_thread_sync",
    hint="pipelined are mma behind mma with the same accumulator and shape, mma behind cp or "
    "shift, shift behind mma, and cp.4x256b behind shift",
)
UNORDERED = VerifierRule(
    "{op}/unordered",
    "two threads access the same columns, and nothing orders them",
    _PATTERNS,
    expected="tcgen05.fence::before_thread_sync and an arrival after the first, a wait and "
    "tcgen05.fence::after_thread_sync before the second",
)
LOAD_RUNNING = VerifierRule(
    "tcgen05.ld/no-wait",
    "columns are released while a load may still read them",
    _PATTERNS,
    expected="tcgen05.wait::ld between the load and the release of its columns",
    hint="the loaded registers may be used at once, but that orders nothing else: "
    "tcgen05.wait::ld comes before an arrival, and before an access that overwrites the columns",
)
STORE_RUNNING = VerifierRule(
    "tcgen05.st/no-wait",
    "columns are released while a store may still write them",
    _PATTERNS,
    expected="tcgen05.wait::st between the store and the release of its columns",
    hint="tcgen05.wait::st comes before an arrival, and before an access to the columns",
)
BEFORE_SYNC = VerifierRule(
    "tcgen05/fence-before",
    "columns are released to another thread without a fence before the arrival",
    _PATTERNS,
    Severity.REVIEW,
    expected="tcgen05.fence::before_thread_sync between the access and the arrival",
    hint="tcgen05.wait::ld or ::st; tcgen05.fence::before_thread_sync; the arrival",
)
AFTER_SYNC = VerifierRule(
    "tcgen05/fence-after",
    "columns of another thread are used without a fence after the wait",
    _PATTERNS,
    Severity.REVIEW,
    expected="tcgen05.fence::after_thread_sync between the wait and the access",
    hint="the wait; tcgen05.fence::after_thread_sync; the access",
)
BEFORE_FENCE = VerifierRule(
    "{op}/before-fence",
    "the wait for the MMA is not followed by tcgen05.fence::after_thread_sync",
    _PATTERNS,
    Severity.REVIEW,
    expected="tcgen05.fence::after_thread_sync between the wait and the access",
    hint=_WAIT,
)
PROXY_FENCE = VerifierRule(
    "shared/proxy-fence",
    "shared memory is written by threads and read through the async proxy without a fence",
    "tcgen05, Shared Memory Accesses",
    expected="fence.proxy.async.shared::cta between the stores and what orders them with the read",
    hint="fence.proxy.async.shared::cta; the barrier; the read",
)
BARRIER = VerifierRule(
    "shared/barrier",
    "a multiply reads shared memory before the stores of the other warps are known to be done",
    "tcgen05, Shared Memory Accesses",
    expected="fence.proxy.async.shared::cta behind the stores, and a barrier before the multiply",
    hint="fence.proxy.async.shared::cta; bar.sync; the multiply",
)
BEFORE_COPY = VerifierRule(
    "{op}/before-copy",
    "shared memory is read that a copy may not have filled yet",
    "cp.async.bulk.tensor",
    expected="a wait on the copy's mbarrier",
    hint="mbarrier.try_wait.parity until it succeeds, before the read",
)
MODIFIED = VerifierRule(
    "{op}/operand-modified",
    "shared memory is overwritten while an operation may still use it",
    "tcgen05, Matrix Multiply and Accumulate Operations",
    expected="a commit behind the operation, and a wait on its mbarrier before the write",
    hint="the mbarrier that says that a stage is empty is told by tcgen05.commit; whatever the "
    "collector buffer holds, the matrix is not modified before that",
)
WARPGROUP_WAITS = (
    "wgmma.commit_group behind the multiply, and a wgmma.wait_group of it before the write",
    "wait before the arrival that gives the stage back; with one group left in flight, give back "
    "the stage of the turn before",
)
"""The `expected` and `hint` for wgmma, in place of those about tcgen05.commit."""
COPY_WAITS = (
    "a wait on the mbarrier of the first copy, and an order between that and the second one",
    "who has read what the first copy brought gives the buffer back by an arrival, which is waited "
    "for before the second one; of two copies that are both needed, each has bytes of its own",
)
"""The `expected` and `hint` where a copy overwrites what another one brings."""
GROUP_WAITS = (
    "cp.async.wait_group or cp.async.wait_all in the thread that copies, then a barrier",
    "cp.async.wait_group N leaves the N latest groups under way; a group without copies counts "
    "too, and a copy that is not committed belongs to none",
)
"""The `expected` and `hint` for copies of threads that nobody has waited for."""
SOURCE_MODIFIED = VerifierRule(
    "{op}/source-modified",
    "shared memory is overwritten while a bulk copy may still read it",
    "cp.async.bulk.wait_group",
    expected="cp.async.bulk.commit_group and cp.async.bulk.wait_group.read in the thread that "
    "copies, and a barrier before the write",
    hint="cp.async.bulk.wait_group.read 0 in the thread that copies; bar.sync; the store",
)
OTHER_THREADS = VerifierRule(
    "{op}/other-threads",
    "an arrival releases accesses of other threads of its warp, and nothing orders them before it",
    "bar.warp.sync",
    severity=Severity.REVIEW,
    expected="bar.warp.sync between the accesses and the arrival, or an arrival of each thread",
    hint="elect.sync and what is .aligned make the threads of a warp execute together, and order "
    "no accesses",
)
IN_USE = VerifierRule(
    "tcgen05.dealloc/in-use",
    "tensor memory is freed while another warp may still use it",
    "tcgen05.dealloc",
    expected="a barrier or an mbarrier that all warps arrive at when they are through",
    hint="tcgen05.wait::ld; tcgen05.fence::before_thread_sync; bar.sync; tcgen05.dealloc",
)
NOT_WRITTEN = VerifierRule(
    "{op}/not-written",
    "a sum is read whose first multiply adds to columns that nothing in the kernel has written",
    "tcgen05.mma",
    Severity.REVIEW,
    expected="enable-input-d false in the first multiply of a sum, or a tcgen05.st before it",
    hint="tensor memory holds whatever the last kernel left: begin the sum with enable-input-d "
    "false",
)
UNWRITTEN = VerifierRule(
    "{op}/unwritten-columns",
    "columns of tensor memory are read that nothing in the kernel writes",
    "tcgen05.ld",
    Severity.WARNING,
    expected="columns of an accumulator, or those that tcgen05.st or tcgen05.cp has written",
    hint="an accumulator has as many columns as N, which the instruction descriptor says, from the "
    "column of D on",
)
NOT_FILLED = VerifierRule(
    "{op}/not-filled",
    "a multiply reads shared memory that nothing has written",
    "tcgen05, Shared memory descriptor",
    Severity.WARNING,
    expected="a descriptor and a shape whose rows all lie in what copies and stores fill",
    hint="M and N say how many rows are read, the descriptor's offsets where each group of them "
    "begins; the next K of 32 bytes begins 32 bytes on, inside of the same swizzled rows",
)
UNWRITTEN_BYTES = VerifierRule(
    "{op}/unwritten-bytes",
    "shared memory is loaded that nothing in the kernel writes",
    "ld",
    Severity.WARNING,
    expected="an address of what a store or a copy has written",
    hint="shared memory holds whatever the last kernel left: bound the index, or store what the "
    "loop does not fill",
)
BEYOND_VARIABLE = VerifierRule(
    "{op}/beyond-variable",
    "a multiply reads shared memory beyond the variable that its descriptor begins in",
    "tcgen05, Shared memory descriptor",
    Severity.WARNING,
    expected="a descriptor and a shape whose rows all lie in one variable",
    hint="what lies behind a variable is not defined; M and N say how many rows are read, the "
    "descriptor's offsets where each group of them begins",
)
SHARED_RACE = VerifierRule(
    "shared/race",
    "the same bytes of shared memory are accessed twice, and nothing orders the two",
    "Memory Consistency Model",
    expected="a barrier or an mbarrier between the two",
    hint="bar.sync between the two accesses",
)
OUT_OF_SCOPE = VerifierRule(
    "mbarrier/scope",
    "shared memory is handed to another CTA at a scope that does not have the threads of both",
    "Memory Consistency Model, Scope",
    expected=".cluster in the arrival and in the wait",
    hint="mbarrier.arrive.release.cluster and mbarrier.try_wait.parity.acquire.cluster: where no "
    "scope is named, it is .cta",
)
BOXES_COUNT = (
    "expect the size of every box, whatever of it lies outside of the tensor; a multicast brings "
    "all of its box to each CTA of its mask"
)
"""The `hint` where a phase expects other bytes than come."""
DEADLOCK = VerifierRule(
    "sync/deadlock",
    "threads wait for ever",
    "mbarrier, Phase of the mbarrier object",
    expected="an arrival that completes what is waited for",
    follows=True,
)
MISSED = VerifierRule(
    "mbarrier/phase-missed",
    "an mbarrier may go on by two phases before all who wait by parity have seen the first",
    "mbarrier, Phase of the mbarrier object",
    expected="each warp that waits arrives itself, or is behind a barrier with one that does",
    hint="a warp that comes late sees the parity that it waits for end only two phases later, or "
    "never: let each warp of a consumer arrive, and count them in mbarrier.init",
    follows=True,
)
ORDER_RULES = (
    *(NO_COMMIT, BEFORE_COMPLETION, NOT_PIPELINED, UNORDERED, LOAD_RUNNING, STORE_RUNNING),
    *(
        BEFORE_SYNC,
        AFTER_SYNC,
        BEFORE_FENCE,
        PROXY_FENCE,
        BARRIER,
        BEFORE_COPY,
        MODIFIED,
        SOURCE_MODIFIED,
    ),
    *(
        IN_USE,
        NOT_WRITTEN,
        UNWRITTEN,
        NOT_FILLED,
        UNWRITTEN_BYTES,
        BEYOND_VARIABLE,
        SHARED_RACE,
        OUT_OF_SCOPE,
        DEADLOCK,
        MISSED,
        OTHER_THREADS,
    ),
)
