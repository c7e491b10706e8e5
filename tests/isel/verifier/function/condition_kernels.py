"""Kernels in PTX that allocate, or branch on what they computed: all of them right."""

from __future__ import annotations

from tests.isel.verifier.function.kernel_text import EPILOGUE, PROLOGUE, kernel

# ---- allocation ------------------------------------------------------------------------------

TWICE = kernel(
    """
    mov.u32 %r1, %tid.x;
    $alloc [slot], 64;
    $alloc [slot2], 32;
    $relinquish;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    ld.shared.b32 %r4, [slot2];
    $store [%r3], {%r1, %r1};
    $store [%r4], {%r1, %r1};
    $stored;
    $load {%r5, %r6}, [%r3];
    $load {%r7, %r8}, [%r4];
    $loaded;
    $dealloc %r3, 64;
    $dealloc %r4, 32;
    ret;
""",
    ".reqntid 32",
)
"""Two allocations, the second no larger than the first."""

ALLOC_IN_LOOP = kernel(
    """
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [steps];
    mov.u32 %r4, 0;
LOOP:
    setp.ge.u32 %p1, %r4, %r2;
    @%p1 bra END;
    $alloc [slot], 32;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    $store [%r3], {%r1, %r4};
    $stored;
    $load {%r5, %r6}, [%r3];
    $loaded;
    $dealloc %r3, 32;
    add.s32 %r4, %r4, 1;
    bra LOOP;
END:
    $relinquish;
    ret;
""",
    ".reqntid 32",
)
"""Tensor memory for each step of a loop."""

PAIR = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    mov.u32 %r30, %cluster_ctarank;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    setp.ne.u32 %p1, %r2, 0;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra INITIALISED;
    $init [done], 1;
    $initialised;
INITIALISED:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    setp.ne.u32 %p3, %r30, 0;
    or.pred %p4, %p2, %p3;
    @%p4 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    mov.u16 %rs1, 3;
    $commit [done], %rs1;
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    shl.b32 %r4, %r2, 21;
    add.s32 %r5, %r3, %r4;
    $load {%r22, %r23}, [%r5];
    $loaded;
    $before;
    bar.sync 0;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra END;
    $dealloc %r3, 64;
END:
    ret;
""".replace(
        "$commit [done], %rs1",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one"
        ".shared::cluster.multicast::cluster.b64 [done], %rs1",
    ),
    ".reqntid 128\n.reqnctapercluster 2",
).replace("cta_group::1", "cta_group::2")
"""Two CTAs: the even one issues, both wait, both allocate and free."""

# ---- conditions ------------------------------------------------------------------------------

ZEROED = kernel(
    PROLOGUE
    + """
    mov.u32 %r6, 0;
    $store [%r5], {%r6, %r6};
    $stored;
    $before;
    bar.sync 0;
    $after;
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 1;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r24, %r25}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""The accumulator starts as zeros that all warps store."""

CONDITIONAL = kernel(
    PROLOGUE
    + """
    ld.param.u32 %r6, [steps];
    setp.ne.u32 %p3, %r6, 0;
    not.pred %p4, %p2;
    and.pred %p7, %p4, %p3;
    @%p7 $mma [%r3], %rd1, %rd2, $idesc, 0;
    @%p7 $commit [done];
    setp.eq.u32 %p8, %r6, 0;
    @%p8 bra FREE;
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
FREE:
"""
    + EPILOGUE
)
"""Nothing is multiplied without steps: one condition, in two registers."""

LEADERS = kernel(
    PROLOGUE
    + """
    mov.u32 %r6, %ctaid.x;
    setp.eq.u32 %p3, %r6, 0;
    elect.sync %r7|%p4, -1;
    setp.eq.u32 %p7, %r2, 0;
    and.pred %p8, %p4, %p7;
    selp.b32 %r8, 1, 0, %p3;
    selp.b32 %r9, 1, 2, %p3;
    setp.ne.u32 %p9, %r8, 0;
    @%p8 bra ISSUE;
    bra.uni WAIT;
ISSUE:
    @%p9 bra FIRST;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    bra COMMIT;
FIRST:
    $mma [%r3], %rd2, %rd1, $idesc, 0;
COMMIT:
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @%p5 bra GO;
AGAIN:
    $try %p5, [done], 0, %r9;
    @!%p5 bra AGAIN;
GO:
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""One of two MMAs; the first attempt of a wait stands by itself."""

COMPUTED_AGAIN = kernel(
    PROLOGUE
    + """
    ld.param.u32 %r6, [steps];
    setp.gt.s32 %p3, %r6, 0;
    @!%p3 bra NO_MMA;
    @%p2 bra NO_MMA;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
NO_MMA:
    ld.param.u32 %r7, [steps];
    setp.lt.s32 %p4, %r7, 1;
    @%p4 bra NO_WAIT;
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
NO_WAIT:
    $after;
    not.pred %p6, %p4;
    not.pred %p7, %p6;
    @%p7 bra NO_LOAD;
    $load {%r22, %r23}, [%r5];
    $loaded;
NO_LOAD:
"""
    + EPILOGUE
)
"""Without optimisation: one condition, loaded and compared anew at each branch."""

ALLOCATED_IF = kernel(
    """
    ld.param.u32 %r6, [steps];
    setp.ne.s32 %p3, %r6, 0;
    @!%p3 bra ALLOCATED;
    $alloc [slot], 32;
ALLOCATED:
    setp.eq.s32 %p4, %r6, 0;
    @%p4 bra END;
    ld.shared.b32 %r3, [slot];
    $store [%r3], {%r6, %r6};
    $stored;
    setp.ne.s32 %p5, %r6, 0;
    @!%p5 bra END;
    $dealloc %r3, 32;
END:
    ret;
""",
    ".reqntid 32",
)
"""Tensor memory only where there is something to do."""

TWO_PHASES = kernel(
    PROLOGUE
    + """
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
    $before;
    bar.sync 0;
    $after;
    @%p2 bra WAIT2;
    $mma [%r3], %rd2, %rd1, $idesc, 1;
    $commit [done];
WAIT2:
    $try %p6, [done], 1;
    @!%p6 bra WAIT2;
    $after;
    $load {%r24, %r25}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""A loop of two turns, unrolled: parity 0, then 1."""

TOKENS = kernel(
    PROLOGUE
    + """
    mbarrier.arrive.shared::cta.b64 %rd30, [back];
WAIT_STATE:
    mbarrier.try_wait.shared::cta.b64 %p3, [back], %rd30;
    @!%p3 bra WAIT_STATE;
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 %p5, [done], 0;
    @%p5 bra GO;
    bra.uni WAIT;
GO:
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""A wait for the state that an arrival gave."""

FLAG = kernel(
    PROLOGUE.replace("$init [full], 1;", "st.shared.b32 [slot2], 0;")
    + """
    @%p2 bra SECOND;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
    $before;
    st.relaxed.cta.shared.b32 [slot2], 1;
    bra JOIN;
SECOND:
    setp.ne.u32 %p3, %r1, 32;
    @%p3 bra JOIN;
TURN:
    ld.relaxed.cta.shared.b32 %r8, [slot2];
    setp.eq.u32 %p4, %r8, 1;
    @!%p4 bra TURN;
    $after;
    $mma [%r3], %rd1, %rd2, $idesc, 1;
    $commit [back];
JOIN:
    $try %p5, [done], 0;
    @!%p5 bra JOIN;
WAIT:
    $try %p6, [back], 0;
    @!%p6 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
).replace("[back], 128", "[back], 1")
"""The manual's example of fences: a flag in shared memory instead of an mbarrier."""
