"""Right kernels in which one thread continues what another began: PTX ISA, 9.7.16.6.4.3 and .4."""

from __future__ import annotations

from tests.isel.verifier.patterns.pattern_ptx import Kernel
from tests.isel.verifier.patterns.stories import READ, READ_RELAXED, STORE_A, begin, finish, story

# ---- 9.7.16.6.4.3: pipelined instructions, different thread ---------------------------------


def handed_over(first: str, giving: str, taking: str, *inits: str, group: int = 1) -> Kernel:
    """Thread 0 issues `first`; thread 32 its MMA on columns 32 to 39, when it is its turn."""
    pair = group == 2
    return story(
        begin(*inits, "done:1", cluster=pair),
        "" if "shift" not in first else STORE_A,
        f"""
        if {"lead" if pair else "t0"}
        {first} #first
        before #give_before
        {giving} #give
        end
        if {"w1" if pair else "t32"}
        {"if !odd" if pair else ""}
        {"elect" if pair else ""}
        {"if e" if pair else ""}
        {taking} #take
        after #take_after
        mma 0 [32] B new #mma
        {"commit.both done" if pair else "commit done"} #commit
        {"end" if pair else ""}
        {"end" if pair else ""}
        end
        """,
        READ_RELAXED,
        finish(cluster=pair),
        group=group,
    )


CP_MMA_RELAXED = handed_over("cp 32 A", "arrive.relaxed full", "wait.relaxed full 0", "full:1")
"""The manual's example to the letter."""

CP_MMA_RELEASED = handed_over("cp 32 A", "arrive full", "wait full 0", "full:1")
"""The same, with an arrival that releases and a wait that acquires."""

SHIFT_MMA_RELAXED = handed_over("shift 32", "arrive.relaxed full", "wait.relaxed full 0", "full:1")
"""A shift by one thread, the MMA by another."""

PAIR_CP_MMA_RELAXED = handed_over(
    "cp 32 A", "arrive.relaxed full", "wait.relaxed full 0", "full:1", group=2
)
"""The same in the even CTA of a pair."""

CP_MMA_BARRIER = story(
    begin("done:1"),
    """
    if t0
    cp 32 A #first
    end
    before #give_before
    bar #turn
    after #take_after
    if t32
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""A barrier of the CTA orders the threads."""

CP_MMA_FLAG = story(
    "clear flag",
    begin("done:1"),
    """
    if t0
    cp 32 A #first
    before #give_before
    set flag 1 #give
    end
    if t32
    poll flag 1 #take
    after #take_after
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""The example of tcgen05.fence: a flag, stored and loaded relaxed."""

TWO_ISSUERS = story(
    begin("full:1", "done:2"),
    """
    if t0
    mma 0 A B new #first
    commit done #commit_first
    before #give_before
    arrive.relaxed full #give
    end
    if t32
    wait.relaxed full 0 #take
    after #take_after
    mma 0 A B acc #mma
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""Two threads accumulate in turn; `done` is complete when both commits have arrived."""

NAMED_BARRIER = story(
    begin("done:1"),
    """
    if w0
    if t0
    cp 32 A #first
    before #give_before
    end
    warp
    bar.arrive 1 64 #give
    end
    if w1
    bar 1 64 #take
    after #take_after
    if t32
    mma 0 [32] B new #mma
    commit done #commit
    end
    end
    """,
    READ,
    finish(),
)
"""One warp arrives at a named barrier, the other waits there."""

# ---- 9.7.16.6.4.4: non-pipelined instructions, different thread -----------------------------


def given_back(giving: str, taking: str, *inits: str, clear: str = "") -> Kernel:
    """Every warp reads the accumulator and says so; then thread 0 overwrites it."""
    return story(
        clear,
        begin(*inits, "done:1"),
        f"""
        st 0 32 #st
        wait_st #wait_st
        ld 0 32 #ld0
        wait_ld #wait_ld0
        before #give_before
        {giving}
        if t0
        {taking}
        after #take_after
        mma 0 A B new #mma
        commit done #commit
        end
        """,
        READ_RELAXED,
        finish(),
    )


LD_MMA_RELAXED = given_back("arrive.relaxed back #give", "wait.relaxed back 0 #take", "back:128")
"""Example 1: wait::ld before the arrival, relaxed."""

LD_MMA_RELEASED = given_back("arrive back #give", "wait back 0 #take", "back:128")
"""The same, released and acquired."""

LD_MMA_LEADERS = given_back(
    """warp
    elect
    @%e arrive back #give""",
    "wait back 0 #take",
    "back:4",
)
"""One arrival for each warp, behind a barrier of the warp."""

LD_MMA_COUNTER = given_back(
    """warp
    elect
    @%e count flag #give""",
    "poll flag 4 #take",
    clear="clear flag",
)
"""A counter in shared memory, added to by a thread of each warp."""

LD_MMA_BARRIER = given_back("bar #give", "")
"""A barrier of the CTA."""

MMA_LD_THREADS = story(
    begin("done:1"),
    """
    if t32
    mma 0 A B new #mma
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""Example 2: committed by one thread, waited for by all."""

MMA_LD_COMPOSED = story(
    begin("full:1", "done:1"),
    """
    if t0
    mma 0 A B new #mma
    commit full #commit
    wait.relaxed full 0 #first_wait
    after #first_after
    before #give_before
    arrive.relaxed done #give
    end
    """,
    READ_RELAXED,
    finish(),
)
"""The composed example: the issuer waits, and tells the others through a second mbarrier."""

MMA_LD_FLAG = story(
    "clear flag",
    begin("full:1"),
    """
    if t0
    mma 0 A B new #mma
    commit full #commit
    wait.relaxed full 0 #first_wait
    after #first_after
    before #give_before
    set flag 1 #give
    end
    poll flag 1 #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""The same through a flag."""

MMA_LD_BARRIER = story(
    begin("full:1"),
    """
    if t0
    mma 0 A B new #mma
    commit full #commit
    wait.relaxed full 0 #first_wait
    after #first_after
    end
    before #give_before
    bar #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""The same through a barrier of the CTA."""

CP_LD_THREADS = story(
    begin("done:1"),
    """
    if t96
    cp 0 A #cp
    cp 8 A+1024 #cp2
    commit done #commit
    end
    wait.relaxed done 0 #wait
    after #after
    ld 0 16 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""Two copies, one commit, read by everybody."""

ST_MMA_RELAXED = story(
    begin("back:128", "done:1"),
    """
    st 32 8 #st
    wait_st #wait_st
    before #give_before
    arrive.relaxed back #give
    if t0
    wait.relaxed back 0 #take
    after #take_after
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""All warps store A, one thread multiplies it."""

ST_MMA_BARRIER = story(
    begin("done:1"),
    STORE_A,
    """
    if t0
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""The same behind a barrier of the CTA."""

PAIR_MMA_LD_CLUSTER = story(
    begin("full:1", cluster=True),
    """
    if lead
    mma 0 A B new #mma
    commit full #commit
    wait.cluster full 0 #first_wait
    after #first_after
    end
    before #give_before
    cluster #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(cluster=True),
    group=2,
)
"""The issuer waits; a barrier of the cluster tells both CTAs."""
