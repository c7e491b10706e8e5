"""Right kernels in the idioms of libraries and compilers: roles, waits and hand-overs, other words.

What orders the operations is as in `canonical_patterns`; how it is written is what differs.
"""

from __future__ import annotations

from tests.isel.verifier.patterns.stories import READ, begin, finish, story

ISSUE = """
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
"""
"""Thread 0 multiplies and commits to `done`."""

# ---- roles -----------------------------------------------------------------------------------

WARP_INDEX = story(
    begin("done:1"),
    """
    shfl.sync.idx.b32 %role, %warp, 0, 31, -1; setp.eq.u32 %p1, %role, 2;
    if p1
    elect
    if e
    mma 0 A B new #mma
    commit done #commit
    end
    end
    """,
    READ,
    finish(),
)
"""The number of the warp is made uniform by a shuffle."""

PREDICATED = story(
    begin("done:1"),
    """
    @%t0 mma 0 A B new #mma
    @%t0 mma 0 A+2 B+2 acc #mma2
    @%t0 commit done #commit
    """,
    READ,
    finish(),
)
"""No branch, but predicates."""

OTHER_OWNER = story(
    """
    if t96
    init done 1 #init_done
    init_fence
    end
    if w3
    alloc slot 64 #alloc
    end
    before
    bar #p_bar
    after
    address slot #address
    """,
    ISSUE,
    READ,
    """
    before
    bar #e_bar
    if w3
    relinquish #relinquish
    dealloc 0 64 #dealloc
    end
    return
    """,
)
"""The last warp owns the tensor memory, and gives the permit up at the end."""

TWO_COMMITTERS = story(
    begin("done:2"),
    """
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    if t64
    mma 32 B A new #mma2
    commit done #commit2
    end
    wait done 0 #wait
    after #after
    ld 0 #ld
    ld 32 #ld2
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""Two threads with an accumulator each, and one mbarrier for both."""

# ---- waits -----------------------------------------------------------------------------------

BACK_OFF = story(
    begin("done:1"),
    ISSUE,
    """
    AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [done], 0, 10000000; @%p1 bra GO; \
nanosleep.u32 20; bra AGAIN; GO: #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""A wait with a limit of its own, and a pause between two."""

ONE_LANE_WAITS = story(
    begin("done:1"),
    """
    if t96
    mma 0 A B new #mma
    commit done #commit
    end
    elect
    if e
    wait.relaxed done 0 #wait
    end
    warp #warp
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""One lane of each warp waits; the barrier of the warp tells the others."""

ONE_WARP_WAITS = story(
    begin("done:1"),
    ISSUE,
    """
    if w1
    wait done 0 #wait
    end
    before
    bar #told
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""One warp waits; the barrier of the CTA tells the others."""

STATE = story(
    begin("back:128", "done:1"),
    """
    st 0 32 #st
    wait_st #wait_st
    ld 0 32 #ld0
    wait_ld #wait_ld0
    before #give_before
    mbarrier.arrive.shared::cta.b64 %wide_state, [back]; #give
    if t0
    TURN: mbarrier.try_wait.shared::cta.b64 %p1, [back], %wide_state; @!%p1 bra TURN; #take
    after #take_after
    mma 0 A B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""A wait for the phase that the thread's own arrival belongs to."""

TWO_COMMITS = story(
    begin("full:1", "done:1"),
    """
    if t0
    mma 0 A B new #mma
    commit full #commit_full
    commit done #commit
    end
    if w1
    wait full 0 #full
    end
    """,
    READ,
    finish(),
)
"""Two mbarriers track the same MMA."""

# ---- flags -----------------------------------------------------------------------------------


def flagged(giving: str, taking: str) -> str:
    """Thread 0 waits for the MMA and sets a flag; all poll it and read."""
    return f"""
    if t0
    mma 0 A B new #mma
    commit full #commit
    wait full 0 #first_wait
    after #first_after
    before #give_before
    {giving} #give
    end
    {taking} #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """


RELEASED_FLAG = story(
    "clear flag",
    begin("full:1"),
    flagged(
        "st.release.cta.shared.u32 [flag], 1;",
        "POLL: ld.acquire.cta.shared.u32 %seen, [flag]; setp.eq.u32 %p1, %seen, 0; @%p1 bra POLL;",
    ),
    finish(),
)
"""A flag that is released and acquired."""

FENCED_FLAG = story(
    "clear flag",
    begin("full:1"),
    flagged(
        "fence.acq_rel.cta; st.relaxed.cta.shared.u32 [flag], 1;",
        "POLL: ld.relaxed.cta.shared.u32 %seen, [flag]; setp.ne.u32 %p1, %seen, 1; @%p1 bra POLL;"
        " fence.acq_rel.cta;",
    ),
    finish(),
)
"""A relaxed flag between two fences."""

EXCHANGED_FLAG = story(
    "clear flag",
    begin("full:1"),
    flagged(
        "atom.release.cta.shared.exch.b32 %old, [flag], 1;",
        "POLL: ld.acquire.cta.shared.u32 %seen, [flag]; setp.eq.u32 %p1, %seen, 0; @%p1 bra POLL;",
    ),
    finish(),
)
"""A flag that an atomic operation sets."""

# ---- reading in pieces -----------------------------------------------------------------------

LOADS_IN_FLIGHT = story(
    begin("done:1"),
    ISSUE,
    """
    wait done 0 #wait
    after #after
    ld 0 8 #ld
    ld 8 8 #ld2
    ld 16 8 #ld3
    ld 24 8 #ld4
    wait_ld #wait_ld
    out #out
    """,
    finish(),
)
"""Four loads, one wait."""

LOADS_IN_A_LOOP = story(
    begin("done:1"),
    ISSUE,
    """
    wait done 0 #wait
    after #after
    mov.u32 %i, 0;
    PIECE: add.s32 %piece, %l0, %i;
    ld %piece 8 #ld
    wait_ld #wait_ld
    out #out
    add.s32 %i, %i, 8; setp.lt.u32 %p1, %i, 32; @%p1 bra PIECE;
    """,
    finish(),
)
"""Eight columns at a time."""

OTHER_SHAPES = story(
    begin("done:1"),
    ISSUE,
    """
    wait done 0 #wait
    after #after
    tcgen05.ld.sync.aligned.16x256b.x1.b32 {%a0, %a1, %a2, %a3}, [%l0]; #ld
    add.s32 %lower, %l0, 1048576;
    tcgen05.ld.sync.aligned.16x256b.x1.b32 {%b0, %b1, %b2, %b3}, [%lower]; #ld2
    tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%c0, %c1}, [%l8], 4; #ld3
    wait_ld #wait_ld
    """,
    finish(),
)
"""Sixteen lanes at a time, and two halves of columns."""

STORED_BY_TMA = story(
    begin("done:1"),
    ISSUE,
    READ,
    """
    fill a #staged
    proxy_fence #proxy
    bar 1 128 #staged_bar
    if t0
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map_a, {0, 0}], [a]; #store
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; #stored
    end
    """,
    finish(),
)
"""The result goes through shared memory and TMA to global memory."""

# ---- several tiles ---------------------------------------------------------------------------

TILE_AFTER_TILE = story(
    begin("done:1", "back:128"),
    """
    loop i
    and.b32 %turn, %i, 1;
    xor.b32 %last, %turn, 1;
    if t0
    wait back %last #take
    after #take_after
    mma 0 A B new #mma
    commit done #commit
    end
    wait done %turn #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    before #give_before
    arrive back #give
    out
    end
    """,
    finish(),
)
"""One accumulator, tile after tile, one mbarrier each way."""

TILE_AFTER_TILE_BARRIER = story(
    begin("done:1"),
    """
    mov.u32 %turn, 0;
    loop i
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    wait done %turn #wait
    xor.b32 %turn, %turn, 1;
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    before #give_before
    bar #give
    after #take_after
    end
    """,
    finish(),
)
"""The same with a barrier of the CTA at the end of each turn."""

NOTHING_TO_DO = story(
    begin("done:1"),
    """
    ld.param.u32 %steps, [steps]; setp.eq.u32 %p1, %steps, 0; @%p1 bra NOTHING;
    """,
    ISSUE,
    READ,
    """
    NOTHING:
    """,
    finish(),
)
"""Without steps nothing is multiplied; what was allocated is freed all the same."""
