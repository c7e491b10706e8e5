"""Right kernels that compose the synchronisation patterns: tiles, rings, roles."""

from __future__ import annotations

from tests.isel.verifier.patterns.stories import READ, begin, finish, story

# ---- shared memory ---------------------------------------------------------------------------

TILE = story(
    begin("full:1", "done:1"),
    """
    if t0
    expect full 20480 #expect
    tma a full #tma_a
    tma b full #tma_b
    wait full 0 #full
    mma 0 a b new #mma
    mma 0 a+2 b+2 acc #mma2
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""TMA, two MMAs, registers, memory."""

FILLED_BY_THREADS = story(
    begin("done:1"),
    """
    fill a #fill_a
    fill b #fill_b
    proxy_fence #proxy
    before
    bar #fill_bar
    after
    if t0
    mma 0 a b new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""Threads store A and B; each fences its stores against the async proxy, then the barrier."""

REFILLED_BY_THREADS = story(
    begin("done:1"),
    """
    fill a #fill_a
    fill b #fill_b
    proxy_fence #proxy
    before
    bar #fill_bar
    after
    if t0
    mma 0 a b new #mma
    commit done #commit
    end
    wait done 0 #empty
    proxy_fence #proxy_back
    fill a #refill
    proxy_fence #proxy2
    before
    bar #refill_bar
    after
    if t0
    mma 0 a b acc #mma2
    commit done #commit2
    end
    wait done 1 #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""A is overwritten when the MMA that reads it is complete; a fence between proxies each way."""

REFILLED_BY_TMA = story(
    begin("full:1", "empty:1", "done:1"),
    """
    if t0
    expect full 20480 #expect
    tma a full #tma_a
    tma b full #tma_b
    wait full 0 #full
    mma 0 a b new #mma
    commit empty #commit_empty
    wait empty 0 #empty
    expect full 20480 #expect2
    tma a full #tma_a2
    tma b full #tma_b2
    wait full 1 #full2
    mma 0 a b acc #mma2
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""One stage, used twice."""

CP_FROM_TMA = story(
    begin("full:1", "done:1"),
    """
    if t0
    expect full 20480 #expect
    tma a full #tma_a
    tma b full #tma_b
    wait full 0 #full
    cp 32 a #cp
    mma 0 [32] b new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""TMA brings A to shared memory, a copy takes it on to tensor memory."""

CP_FROM_THREADS = story(
    begin("done:1"),
    """
    fill a #fill_a
    proxy_fence #proxy
    before
    bar #fill_bar
    after
    if t0
    cp 32 a #cp
    commit done #commit
    end
    wait done 0 #wait
    after #after
    ld 32 8 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""tcgen05.cp reads through the async proxy, so stores are fenced for it too."""

RING = story(
    begin("full:1", "full+8:1", "empty:1", "empty+8:1", "done:1"),
    """
    if w0
    elect
    if e
    loop i
    stage f i
    of f empty
    wait %f_empty %f_n #empty
    of f full
    buffer f a
    buffer f b
    expect %f_full 20480 #expect
    tma %f_a %f_full #tma_a
    tma %f_b %f_full #tma_b
    end
    stage f i
    of f empty
    wait %f_empty %f_n #drained
    add.s32 %i, %i, 1;
    stage f i
    of f empty
    wait %f_empty %f_n #drained2
    end
    end
    if w1
    elect
    if e
    loop j
    stage m j
    of m full
    wait %m_full %m_h #full
    buffer m a
    buffer m b
    setp.ne.u32 %p1, %j, 0;
    mma 0 m_a m_b %p1 #mma
    of m empty
    commit %m_empty #commit_empty
    end
    commit done #commit
    end
    end
    """,
    READ,
    finish(),
)
"""A warp copies, a warp multiplies, all store: two stages, each with a barrier both ways.

The producer stays until the last stages are released: their mbarriers are shared memory of its CTA.
"""

SCALED_RING = story(
    begin("full:1", "full+8:1", "empty:1", "empty+8:1", "done:1"),
    """
    if w0
    elect
    if e
    loop i
    stage f i
    of f empty
    wait %f_empty %f_n #empty
    of f full
    buffer f a
    buffer f b
    expect %f_full 20480 #expect
    tma %f_a %f_full #tma_a
    tma %f_b %f_full #tma_b
    end
    end
    end
    if w1
    elect
    if e
    loop j
    stage m j
    of m full
    wait %m_full %m_h #full
    buffer m a
    buffer m b
    setp.ne.u32 %p1, %j, 0;
    cp 32 m_b 32x128b.warpx4 #cp_a
    cp 36 m_b 32x128b.warpx4 #cp_b
    tcgen05.mma.cta_group::G.kind::mxf8f6f4.block_scale [%d0], %desc_m_a, %desc_m_b, 143130624, \
[%d32], [%d36], %p1; #mma
    of m empty
    commit %m_empty #commit_empty
    wait %m_empty %m_h #scales
    after #scales_after
    end
    commit done #commit
    end
    end
    """,
    READ,
    finish(),
)
"""Scale factors at every step: the next copy waits until the last MMA has read them."""

# ---- tensor memory ---------------------------------------------------------------------------

SCORES = story(
    begin("full:1", "back:128", "done:1", columns=128),
    """
    if w4
    elect
    if e
    loop i
    and.b32 %turn, %i, 1;
    setp.ne.u32 %p1, %i, 0;
    mma 0 A B new #qk
    commit full #commit_qk
    wait back %turn #taken
    after #taken_after
    mma 64 [32] B %p1 #pv
    end
    commit done #commit
    end
    else
    loop j
    and.b32 %side, %j, 1;
    wait full %side #scores
    after #scores_after
    ld 0 8 #ld_scores
    wait_ld #wait_ld_scores
    st 32 loaded #st
    wait_st #wait_st
    before #give_before
    arrive back #give
    end
    wait done 0 #wait
    after #after
    ld 64 #ld
    wait_ld #wait_ld
    out
    end
    """,
    finish(128),
    threads=160,
)
"""Two products in a loop: threads turn the result of the first into the A of the second."""

TWO_BUFFERS = story(
    begin("ready:1", "ready+8:1", "taken:128", "taken+8:128"),
    """
    if w4
    elect
    if e
    loop i
    stage m i
    of m taken
    wait %m_taken %m_n #taken
    after #taken_after
    accumulator m
    mma %m_d A B new #mma
    mma %m_d A+2 B+2 acc #mma2
    of m ready
    commit %m_ready #commit
    end
    end
    else
    loop j
    stage r j
    of r ready
    wait %r_ready %r_h #ready
    after #after
    accumulator r
    ld %r_l #ld
    wait_ld #wait_ld
    before #give_before
    of r taken
    arrive %r_taken #give
    out
    end
    end
    """,
    finish(),
    threads=160,
)
"""Two accumulators: one is read while the other is computed; readers give columns back."""

TWO_BUFFERS_UNROLLED = story(
    begin("ready:1", "ready2:1", "back:128"),
    """
    if t0
    mma 0 A B new #mma
    commit ready #commit
    mma 32 A B new #mma2
    commit ready2 #commit2
    end
    wait ready 0 #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    before #give_before
    arrive back #give
    if t0
    wait back 0 #take
    after #take_after
    mma 0 A B new #mma3
    commit ready #commit3
    end
    wait ready2 0 #wait2
    after #after2
    ld 32 #ld2
    wait_ld #wait_ld2
    out
    wait ready 1 #wait3
    after #after3
    ld 0 #ld3
    wait_ld #wait_ld3
    out
    """,
    finish(),
)
"""The same in a straight line: three tiles in two accumulators."""

MMA_LD_ST_MMA = story(
    begin("full:1", "done:1"),
    """
    if t0
    mma 0 A B new #mma
    commit full #commit_first
    end
    wait.relaxed full 0 #first_wait
    after #first_after
    ld 0 8 #ld_first
    wait_ld #wait_ld_first
    st 32 loaded #st
    wait_st #wait_st
    before #give_before
    bar #give
    after #take_after
    if t0
    mma 0 [32] B new #mma2
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""MMA, ld, st, MMA: the second MMA overwrites what all have read and reads what all have stored."""
