"""Right kernels that allocate and free tensor memory, and pairs of CTAs."""

from __future__ import annotations

from tests.isel.verifier.patterns.stories import READ, begin, finish, story

# ---- allocation ------------------------------------------------------------------------------

_TWO = """
    if t0
    init done 1 #init_done
    init full 1 #init_full
    init_fence
    end
    if w0
    alloc slot 64 #alloc
    alloc slot2 32 #alloc2
    relinquish #relinquish
    end
    before
    bar #p_bar
    after
    address slot #address
    ld.shared.b32 %second, [slot2]; #address2
    """

TWO_ALLOCATIONS = story(
    _TWO,
    """
    if t0
    mma 0 A B new #mma
    commit done #commit
    mma %second A B new #mma2
    commit full #commit2
    end
    """,
    READ,
    """
    wait full 0 #wait2
    after #after2
    add.s32 %second_l, %second, %lanes;
    ld %second_l #ld2
    wait_ld #wait_ld2
    out
    before
    bar #e_bar
    if w0
    dealloc 0 64 #dealloc
    dealloc %second 32 #dealloc2
    end
    return
    """,
)
"""Two allocations, the second no larger than the first."""

FREED_EARLY = story(
    _TWO,
    """
    if t0
    mma 0 A B new #mma
    commit done #commit
    mma %second A B new #mma2
    commit full #commit2
    end
    """,
    READ,
    """
    before
    bar #first_bar
    if w0
    dealloc 0 64 #dealloc
    end
    wait full 0 #wait2
    after #after2
    add.s32 %second_l, %second, %lanes;
    ld %second_l #ld2
    wait_ld #wait_ld2
    out
    before
    bar #e_bar
    if w0
    dealloc %second 32 #dealloc2
    end
    return
    """,
)
"""The first is freed while the second is still computed."""

FREED_BY_ANOTHER_WARP = story(
    begin("done:1", "back:128"),
    """
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    """,
    READ,
    """
    before #e_before
    arrive back #give
    if w3
    wait back 0 #take
    dealloc 0 64 #dealloc
    end
    return
    """,
)
"""Warp 3 frees what warp 0 allocated, when all threads have said that they are through."""

ALLOCATED_AGAIN = story(
    """
    if w0
    alloc slot 64 #alloc
    end
    before
    bar #p_bar
    after
    address slot #address
    st 0 #st
    wait_st #wait_st
    ld 0 #ld
    wait_ld #wait_ld
    out
    before #m_before
    bar #m_bar
    after #m_after
    if w0
    dealloc 0 64 #dealloc
    alloc slot 64 #alloc2
    relinquish #relinquish
    end
    before
    bar #p_bar2
    after
    ld.shared.b32 %second, [slot]; add.s32 %second_l, %second, %lanes; #address2
    st %second_l #st2
    wait_st #wait_st2
    ld %second_l #ld2
    wait_ld #wait_ld2
    out
    before
    bar #e_bar
    if w0
    dealloc %second 64 #dealloc2
    end
    return
    """,
)
"""Freed and allocated again, as many columns as before; the permit is given up after the last."""

# ---- pairs of CTAs ---------------------------------------------------------------------------

PAIR_TILE = story(
    begin("full:1", "back:2", "done:1", cluster=True),
    """
    if t0
    expect full 20480 #expect
    tma a full #tma_a
    tma b full #tma_b
    wait full 0 #full
    arrive.remote back #told
    end
    if lead
    wait.cluster back 0 #turn
    after #turn_after
    mma 0 a b new #mma
    commit.both done #commit
    end
    """,
    READ,
    finish(cluster=True),
    group=2,
)
"""Each CTA loads its halves and tells the even one, which issues."""

PAIR_TWO_ROUNDS = story(
    begin("back:2", "done:1", cluster=True),
    """
    if lead
    mma 0 A B new #mma
    commit.both done #commit
    end
    wait done 0 #first_wait
    after #first_after
    ld 0 #first_ld
    wait_ld #first_wait_ld
    out #first_out
    before #give_before
    bar #give_bar
    if t0
    arrive.remote back #give
    end
    if lead
    wait.cluster back 0 #take
    after #take_after
    mma 0 A B new #mma2
    commit.both done #commit2
    end
    wait done 1 #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(cluster=True),
    group=2,
)
"""The odd CTA tells the even one that its columns may be overwritten."""

PAIR_NO_READERS = story(
    begin("done:1", cluster=True),
    """
    if lead
    mma 0 A B new #mma
    commit done #commit
    wait done 0 #wait
    end
    """,
    finish(cluster=True),
    group=2,
)
"""The odd CTA has nothing to do, and stays until the even one is through."""

PAIR_FREED_LAST = story(
    begin("done:1", cluster=True),
    """
    if lead
    mma 0 A B new #mma
    commit.both done #commit
    end
    """,
    READ,
    finish(cluster=True).replace("return #ret", "cluster #x_cluster\nreturn"),
    group=2,
)
"""A barrier of the cluster before and after freeing."""
