"""Right kernels for the rules about synchronisation, beside those of `function_kernels`.

Each is right by the PTX ISA's canonical synchronisation patterns (9.7.16.6.4) and looks like
something that a rule might take for a mistake.
"""

from __future__ import annotations

from tests.isel.verifier.function.kernel_text import EPILOGUE, PROLOGUE, kernel

PREFETCH = kernel(
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
    add.s32 %r6, %r5, 2;
    $load {%r24, %r25}, [%r6];
    st.shared.v2.b32 [a_tile], {%r22, %r23};
    bar.sync 1, 128;
    $loaded;
    $before;
    $arrive [back];
    @%p2 bra LAST;
BACK:
    $try %p6, [back], 0;
    @!%p6 bra BACK;
    $after;
    $mma [%r3], %rd2, %rd1, $idesc, 0;
    $commit [done];
LAST:
    $try %p7, [done], 1;
    @!%p7 bra LAST;
"""
    + EPILOGUE
)
"""A load that runs while the threads meet for something else, and is waited for before the arrival
that gives the accumulator back."""

OTHER_COLUMNS = kernel(
    PROLOGUE
    + """
    $store [%r5], {%r1, %r2};
    $stored;
    add.s32 %r6, %r5, 48;
    $store [%r6], {%r1, %r2};
    $load {%r22, %r23}, [%r5];
    $stored;
    $load {%r24, %r25}, [%r6];
    $loaded;
"""
    + EPILOGUE
)
"""A load beside columns that a store may still write."""

OWN_QUARTERS = kernel(
    PROLOGUE
    + """
    $load {%r22, %r23}, [%r5];
    bar.sync 1, 128;
    $loaded;
    $store [%r5], {%r23, %r22};
    $stored;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""Each warp loads and stores its own lanes: what other warps have not loaded yet is no matter."""

OWN_HALVES = kernel(
    PROLOGUE
    + """
    and.b32 %r6, %r2, 3;
    shl.b32 %r6, %r6, 21;
    shr.u32 %r7, %r2, 2;
    shl.b32 %r7, %r7, 5;
    add.s32 %r5, %r3, %r6;
    add.s32 %r5, %r5, %r7;
    $store [%r5], {%r1, %r2};
    $stored;
"""
    + EPILOGUE,
    ".reqntid 256",
)
"""Of two warps that have the same lanes, each stores to its own half of the columns."""

USED_AT_ONCE = kernel(
    PROLOGUE
    + """
    $store [%r5], {%r1, %r2};
    $stored;
    $load {%r22, %r23}, [%r5];
    add.s32 %r24, %r22, %r23;
    st.shared.b32 [a_tile], %r24;
    $loaded;
"""
    + EPILOGUE
)
"""Pattern 5: the registers of a load are used before wait::ld."""

SINGLE_WARP = kernel(
    """
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    ld.param.u64 %rd1, [desc_a];
    ld.param.u64 %rd2, [desc_b];
    ld.param.u32 %r9, [steps];
    @%p1 $init [done], 1;
    $alloc [slot], 64;
    $relinquish;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
TILE:
    $store [%r3], {%r4, %r4};
    $stored;
    @%p1 $mma [%r3], %rd1, %rd2, $idesc, 1;
    @%p1 $commit [done];
WAIT:
    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p5, [done], %r5;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r3];
    $loaded;
    xor.b32 %r5, %r5, 1;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p6, %r4, %r9;
    @%p6 bra TILE;
    $dealloc %r3, 64;
    ret;
""",
    ".reqntid 32",
)
"""Tile after tile in one warp: the first store comes before any MMA, the next behind a wait."""

COUNTER = kernel(
    PROLOGUE.replace("$init [full], 1;", "st.shared.b32 [slot2], 0;")
    + """
    mov.u32 %r6, 0;
    $store [%r5], {%r6, %r6};
    $stored;
    $before;
    bar.warp.sync -1;
    and.b32 %r7, %r1, 31;
    setp.eq.u32 %p3, %r7, 0;
    @%p3 red.release.cta.shared.add.u32 [slot2], 1;
    @%p2 bra WAIT;
TURN:
    ld.relaxed.cta.shared.u32 %r8, [slot2];
    setp.ne.u32 %p4, %r8, 4;
    @%p4 bra TURN;
    $after;
    $mma [%r3], %rd1, %rd2, $idesc, 1;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""Four warps count themselves in shared memory; thread 0 multiplies when all have stored."""

COPIED = kernel(
    PROLOGUE
    + """
    setp.eq.and.u32 %p3, %r1, 0, 1;
    @!%p3 bra WAIT;
    add.s32 %r6, %r3, 32;
    tcgen05.cp.cta_group::1.128x256b [%r6], %rd1;
    $commit [done];
WAIT:
    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    add.s32 %r7, %r5, 32;
    $load {%r22, %r23}, [%r7];
    $loaded;
"""
    + EPILOGUE
)
"""What is copied into tensor memory is committed, waited for and read."""

SECOND_SHAPE = kernel(
    PROLOGUE
    + """
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [full];
TURN:
    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p4, [full], 0;
    @!%p4 bra TURN;
    $after;
    $mma [%r3], %rd1, %rd2, 134479888, 1;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""N = 32, then N = 16 on the same accumulator, which is no pipeline and so is waited for."""

COPIED_AGAIN = kernel(
    PROLOGUE
    + """
    @%p2 bra WAIT;
    add.s32 %r6, %r3, 32;
    tcgen05.cp.cta_group::1.128x256b [%r6], %rd1;
    $mma [%r3], [%r6], %rd2, $idesc, 0;
    $commit [full];
TURN:
    $try %p4, [full], 0;
    @!%p4 bra TURN;
    $after;
    tcgen05.cp.cta_group::1.128x256b [%r6], %rd2;
    $mma [%r3], [%r6], %rd2, $idesc, 1;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""The next A is copied over the last one when the MMA that reads it is complete."""

IN_TURN = kernel(
    PROLOGUE
    + """
    add.s32 %r6, %r3, 32;
    @%p2 bra SECOND;
    tcgen05.cp.cta_group::1.128x256b [%r6], %rd1;
    $before;
    mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [full];
SECOND:
    setp.ne.u32 %p3, %r1, 32;
    @%p3 bra WAIT;
TURN:
    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p4, [full], 0;
    @!%p4 bra TURN;
    $after;
    $mma [%r3], [%r6], %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""Pattern 3 to the letter: one thread copies, another one multiplies."""

TWO_COMMITS = kernel(
    PROLOGUE.replace("$init [done], 1", "$init [done], 2")
    + """
    @%p2 bra SECOND;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
SECOND:
    setp.ne.u32 %p3, %r1, 32;
    @%p3 bra WAIT;
    add.s32 %r6, %r3, 32;
    $mma [%r6], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    add.s32 %r7, %r5, 32;
    $load {%r24, %r25}, [%r7];
    $loaded;
"""
    + EPILOGUE
)
"""Two threads with an accumulator each; the phase ends when both have committed."""

CLEAN = {
    name.lower(): text
    for name, text in list(globals().items())
    if name.isupper() and isinstance(text, str) and name not in ("EPILOGUE", "PROLOGUE")
}
