"""Right kernels in which one thread issues what follows, for each way that the PTX ISA has.

Written from the manual alone: 9.7.16.6.2 (which pairs of instructions are pipelined), 9.7.16.6.4
(the five canonical synchronisation patterns), 9.7.16.6.5 (proxies), 9.7.16.5 (who issues), 9.7.16.7
(allocation).  `pattern_ptx` says how a story becomes PTX.  Tags (`#ld`) are names for lines, which
`pattern_mutants` breaks one at a time.
"""

from __future__ import annotations

from tests.isel.verifier.patterns.stories import READ, READ_RELAXED, STORE_A, begin, finish, story

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
