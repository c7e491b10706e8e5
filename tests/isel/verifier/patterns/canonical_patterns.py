"""Right kernels for each way in which the PTX ISA lets tcgen05 operations follow one another.

Written from the manual alone: 9.7.16.6.2 (which pairs of instructions are pipelined), 9.7.16.6.4
(the five canonical synchronisation patterns), 9.7.16.6.5 (proxies), 9.7.16.5 (who issues), 9.7.16.7
(allocation).  `pattern_ptx` says how a story becomes PTX.  Tags (`#ld`) are names for lines, which
`pattern_mutants` breaks one at a time.
"""

from __future__ import annotations

from tests.isel.verifier.patterns.pattern_ptx import Kernel


def begin(*inits: str, columns: int = 64, cluster: bool = False) -> str:
    """mbarriers (`done:1`) and tensor memory, made by warp 0 and known to all threads."""
    made = "\n".join(
        f"init {name} {count} #init_{name}" for name, count in (x.split(":") for x in inits)
    )
    return f"""
    if t0
    {made}
    init_fence
    end
    {"cluster #p_cluster" if cluster else ""}
    if w0
    alloc slot {columns} #alloc
    relinquish #relinquish
    end
    before #p_before
    bar #p_bar
    after #p_after
    address slot #address
    """


def finish(columns: int = 64, cluster: bool = False) -> str:
    """Warp 0 frees when every thread is through."""
    return f"""
    before #e_before
    bar #e_bar
    {"cluster #e_cluster" if cluster else ""}
    if w0
    dealloc 0 {columns} #dealloc
    end
    return #ret
    """


def story(*parts: str, threads: int = 128, group: int = 1) -> Kernel:
    """A kernel of these pieces."""
    lines = [line.strip() for part in parts for line in part.splitlines() if line.strip()]
    return Kernel(tuple(lines), threads, group)


READ = """
    wait done 0 #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out #out
"""
"""All warps read the accumulator when `done` says that it is complete."""

READ_RELAXED = READ.replace("wait done", "wait.relaxed done")
"""The same, as the manual spells it: the wait orders nothing, the fence does."""

STORE_A = """
    st 32 8 #st
    wait_st #wait_st
    before #st_before
    bar #st_bar
    after #st_after
"""
"""All warps put A into columns 32 to 39, and all of them know."""

# ---- 9.7.16.6.4.1: pipelined instructions, same thread --------------------------------------

MMA_MMA = story(
    begin("done:1"),
    """
    if t0
    mma 0 A B new #mma
    mma 0 A B acc #mma2
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""Same shape, same accumulator: in order, and one commit for both."""

CP_MMA = story(
    begin("done:1"),
    """
    if t0
    cp 32 A #cp
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""A is copied into tensor memory; the MMA comes after the copy without a word."""

SHIFT_MMA = story(
    begin("done:1"),
    STORE_A,
    """
    if t0
    shift 32 #shift
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""A moves down by one row, then is multiplied."""

SHIFT_CP = story(
    begin("done:1"),
    STORE_A,
    """
    if t0
    shift 32 #shift
    cp 32 A 4x256b #cp
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""Four rows are copied over what was moved: pairs 4 and 2."""

MMA_SHIFT = story(
    begin("done:1"),
    STORE_A,
    """
    if t0
    mma 0 [32] B new #mma
    shift 32 #shift
    mma 0 [32] B acc #mma2
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""A convolution's step: multiply, move down, multiply: pairs 5 and 3."""

TWO_ACCUMULATORS = story(
    begin("done:1"),
    """
    if t0
    mma 0 A B new #mma
    mma 32 B A new #mma2
    commit done #commit
    end
    wait.relaxed done 0 #wait
    after #after
    ld 0 #ld
    ld 32 #ld2
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""Different accumulators are not ordered, and need not be; the commit tracks both."""

COLLECTOR = story(
    begin("done:1", columns=128),
    """
    if t0
    mma 0 A B new .collector::a::fill #fill
    mma 32 A B+256 new .collector::a::use #use
    mma 64 A B+512 new .collector::a::lastuse #lastuse
    commit done #commit
    end
    wait done 0 #wait
    after #after
    ld 0 #ld
    ld 64 #ld2
    wait_ld #wait_ld
    out
    """,
    finish(128),
)
"""One A against three Bs: it stays in the collector buffer."""

BLOCK_SCALED = story(
    begin("done:1"),
    """
    if t0
    cp 32 S 32x128b.warpx4 #cp_a
    cp 36 T 32x128b.warpx4 #cp_b
    tcgen05.mma.cta_group::G.kind::mxf8f6f4.block_scale [%d0], %desc_A, %desc_B, 143130624, \
[%d32], [%d36], 0; #mma
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""Scale factors go from shared into tensor memory right before the MMA that uses them."""

_WS = "tcgen05.mma.ws.cta_group::G.kind::f16.collector::b0"

WEIGHTS = story(
    begin("done:1"),
    f"""
    if t0
    {_WS}::fill [%d0], %desc_A, %desc_B, 135266320, 0; #fill
    {_WS}::lastuse [%d0], %desc_A_1024, %desc_B, 135266320, 1; #lastuse
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""Weight stationary, N = 64: B stays in collector buffer 0."""

LOOP_OF_MMAS = story(
    begin("done:1"),
    """
    if t0
    loop i
    setp.ne.u32 %p1, %i, 0;
    mma 0 A B %p1 #mma
    end
    commit done #commit
    end
    """,
    READ_RELAXED,
    finish(),
)
"""Steps of K on one accumulator, one commit behind the loop."""

ELECTED = story(
    begin("done:1"),
    """
    if w1
    elect
    if e
    mma 0 A B new #mma
    mma 0 A+2 B+2 acc #mma2
    commit done #commit
    end
    end
    """,
    READ_RELAXED,
    finish(),
)
"""The elected thread of a warp issues it all."""

PAIR_MMA_MMA = story(
    begin("done:1", cluster=True),
    """
    if lead
    mma 0 A B new #mma
    mma 0 A+2 B+2 acc #mma2
    commit.both done #commit
    end
    """,
    READ,
    finish(cluster=True),
    group=2,
)
"""Two CTAs, one issuer, and a commit that arrives in both."""

PAIR_CP_MMA = story(
    begin("done:1", cluster=True),
    """
    if lead
    cp 32 A #cp
    mma 0 [32] B new #mma
    commit.both done #commit
    end
    """,
    READ_RELAXED,
    finish(cluster=True),
    group=2,
)
"""The copy goes to both CTAs, and so does the MMA that follows it."""

# ---- 9.7.16.6.4.2: non-pipelined instructions, same thread ----------------------------------

ST_LD = story(
    begin(),
    """
    st 0 #st
    wait_st #wait_st
    ld 0 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""Example 1: each warp reads back what it stored."""

MMA_LD_RELAXED = story(
    begin("done:1"),
    """
    elect
    if e
    mma 0 A B new #mma
    commit done #commit
    end
    warp
    """,
    READ_RELAXED,
    finish(),
    threads=32,
)
"""Example 2, in one warp."""

MMA_LD = story(
    begin("done:1"),
    """
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
    threads=32,
)
"""Example 2 with a wait that acquires, as in the examples of tcgen05.commit."""

TWO_ROUNDS = story(
    begin("done:1"),
    """
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    """,
    READ_RELAXED,
    """
    if t0
    mma 0 A B acc #mma2
    commit done #commit2
    end
    wait.relaxed done 1 #wait2
    after #after2
    ld 0 #ld2
    wait_ld #wait_ld2
    out
    """,
    finish(),
    threads=32,
)
"""Examples 1 and 2 of tcgen05.wait and pattern 2: MMA, ld, MMA, ld; the mbarrier's phases 0, 1."""

CP_LD = story(
    begin("done:1"),
    """
    if t0
    cp 32 A #cp
    commit done #commit
    end
    wait.relaxed done 0 #wait
    after #after
    ld 32 8 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""What was copied into tensor memory is read by all warps."""

CP_SHIFT = story(
    begin("full:1", "done:1"),
    """
    if t0
    cp 32 A #cp
    commit full #commit_cp
    wait.relaxed full 0 #turn
    after #turn_after
    shift 32 #shift
    mma 0 [32] B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""A copy and a shift are no pipeline, so the copy is waited for."""

SHIFT_LD = story(
    begin("done:1"),
    STORE_A,
    """
    if t0
    shift 32 #shift
    commit done #commit
    end
    wait.relaxed done 0 #wait
    after #after
    ld 32 8 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""What was shifted is read."""

LD_MMA = story(
    begin("done:1"),
    """
    st 0 #st
    wait_st #wait_st
    ld 0 #ld0
    wait_ld #wait_ld0
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
    threads=32,
)
"""Examples 1 and 2 of tcgen05.wait: st, ld and MMA on the same columns."""

ST_MMA = story(
    begin("done:1"),
    """
    st 0 32 #st
    wait_st #wait_st
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    """,
    READ,
    finish(),
    threads=32,
)
"""Example 2 of tcgen05.wait: the MMA overwrites what was stored."""

OTHER_SHAPE = story(
    begin("full:1", "done:1"),
    """
    if t0
    mma 0 A B new #mma
    commit full #commit_first
    wait.relaxed full 0 #turn
    after #turn_after
    mma 0 A B acc 134479888 #mma2
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""N = 32, then N = 16 on the same accumulator: another shape is no pipeline."""

RESULT_AS_A = story(
    begin("full:1", "done:1"),
    """
    if t0
    tcgen05.mma.cta_group::G.kind::tf32 [%d0], %desc_A, %desc_B, 134744336, 0; #mma
    commit full #commit_first
    wait.relaxed full 0 #turn
    after #turn_after
    tcgen05.mma.cta_group::G.kind::tf32 [%d32], [%d0], %desc_B, 134744336, 0; #mma2
    commit done #commit
    end
    wait done 0 #wait
    after #after
    ld 32 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""The first product is the A of the second."""

MMA_CP = story(
    begin("full:1", "done:1"),
    """
    if t0
    cp 32 A #cp0
    mma 0 [32] B new #mma
    commit full #commit_first
    wait.relaxed full 0 #turn
    after #turn_after
    cp 32 A+1024 #cp
    mma 0 [32] B acc #mma2
    commit done #commit
    end
    """,
    READ,
    finish(),
)
"""The next A goes where the last one was, once the MMA has read it."""

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

# ---- 9.7.16.6.4.5: register dependencies, same thread ---------------------------------------

LD_DECIDES = story(
    begin("done:1"),
    """
    st 32 #st
    wait_st #wait_st
    ld 32 1 enable #ld0
    setp.ne.u32 %p1, %enable_0, 0;
    if t0
    mma 0 A B %p1 #mma
    commit done #commit
    end
    wait_ld #wait_ld0
    """,
    READ,
    finish(),
    threads=32,
)
"""What is loaded is an operand of the MMA: the register alone orders them."""

LD_USED_AT_ONCE = story(
    begin("done:1"),
    """
    if t0
    mma 0 A B new #mma
    commit done #commit
    end
    wait done 0 #wait
    after #after
    ld 0 #ld
    out #out
    wait_ld #wait_ld
    """,
    finish(),
)
"""Loaded registers may be used before wait::ld; the wait is for what follows in tensor memory."""

LD_ST = story(
    begin(),
    """
    st 0 8 #st0
    wait_st #wait_st0
    ld 0 8 #ld0
    st 32 loaded #st
    wait_st #wait_st
    ld 32 8 #ld
    wait_ld #wait_ld
    out
    """,
    finish(),
)
"""What was loaded is stored elsewhere at once."""
