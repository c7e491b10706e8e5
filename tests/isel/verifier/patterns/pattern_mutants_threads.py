"""Mutants of the kernels in which threads, warps or CTAs hand tensor and shared memory on."""

from __future__ import annotations

from collections.abc import Iterator

from tests.isel.verifier.patterns.pattern_edits import (
    Doubt,
    Mutant,
    both,
    drop,
    insert,
    move,
    put,
    swap,
)
from tests.isel.verifier.patterns.pattern_mutants import (
    ALLOC,
    COMMIT,
    FENCE,
    MBARRIER,
    MMA,
    OTHER,
    PAIR,
    PIPELINED_OTHER,
    PROXY,
    REVIEW,
    SAME,
    WAIT,
    _kernels,
    _row,
)

# A mutant is read in a few lines, or not at all.
# fmt: off

ERROR = Doubt.ERROR

HANDED_OVER = {
    "CP_MMA_RELAXED": ERROR,
    "CP_MMA_RELEASED": REVIEW,
    "SHIFT_MMA_RELAXED": ERROR,
    "PAIR_CP_MMA_RELAXED": ERROR,
    "CP_MMA_FLAG": ERROR,
    "TWO_ISSUERS": ERROR,
}
"""Kernels in which one thread continues what another began, and what lacking fences amount to."""


def _handed_over() -> Iterator[Mutant]:
    for name, kernel in _kernels(*HANDED_OVER):
        doubt = HANDED_OVER[name.upper()]
        before = REVIEW if name == "two_issuers" else doubt  # a commit fences too, for its mbarrier
        yield Mutant(f"{name}: no fence before the hand-over", kernel, drop("give_before"),
            "fence::before_thread_sync orders the operation before a relaxed arrival",
            PIPELINED_OTHER, ("first", "give", "mma"), before)
        yield Mutant(f"{name}: fence behind the arrival", kernel,
            move("give_before", behind="give"),
            "fence::before_thread_sync orders the operation before a relaxed arrival",
            PIPELINED_OTHER, ("first", "give", "mma", "give_before"), before)
        yield Mutant(f"{name}: no fence behind the hand-over", kernel, drop("take_after"),
            "fence::after_thread_sync orders the operation behind a relaxed wait", PIPELINED_OTHER,
            ("mma", "take", "first"), doubt)
        yield Mutant(f"{name}: fence before the wait", kernel, move("take_after", before="take"),
            "fence::after_thread_sync orders the operation behind a relaxed wait", PIPELINED_OTHER,
            ("mma", "take", "first", "take_after"), doubt)
        yield Mutant(f"{name}: the other does not wait", kernel, drop("take"),
            "operations of two threads are ordered by synchronising the threads", PIPELINED_OTHER,
            ("mma", "first"))
        yield Mutant(f"{name}: arrival before the operation", kernel,
            both(move("give", before="first"), move("give_before", before="give")),
            "what comes behind the arrival is not ordered by it", PIPELINED_OTHER,
            ("mma", "first", "give"))
        if "flag" not in name:
            yield Mutant(f"{name}: nobody arrives", kernel, drop("give"), "the phase never ends",
                MBARRIER, ("take", "init_full"))
            yield Mutant(f"{name}: the phase before", kernel, swap("take", " full 0", " full 1"),
                "parity 1 is that of the phase before the first", MBARRIER,
                ("take", "mma", "first"))
            yield Mutant(f"{name}: two arrivals expected", kernel, swap("init_full", "1", "2"),
                "one thread arrives, so the phase never ends", MBARRIER,
                ("take", "init_full", "give"))


BARRIERS = (
    _row("CP_MMA_BARRIER", "no barrier", drop("turn"),
        "operations of two threads are ordered by synchronising the threads", PIPELINED_OTHER,
        "mma", "first"),
    _row("CP_MMA_BARRIER", "no fence before the barrier", drop("give_before"),
        "fence::before_thread_sync orders the operation before the barrier", PIPELINED_OTHER,
        "first", "mma", "turn", doubt=REVIEW),
    _row("CP_MMA_BARRIER", "no fence behind the barrier", drop("take_after"),
        "fence::after_thread_sync orders the operation behind the barrier", PIPELINED_OTHER,
        "first", "mma", "turn", doubt=REVIEW),
    _row("NAMED_BARRIER", "another barrier", swap("take", "1 64", "2 64"),
        "each waits at a barrier of its own, and forever", PIPELINED_OTHER, "take", "give", "mma"),
    _row("NAMED_BARRIER", "not waited for", drop("take"),
        "operations of two threads are ordered by synchronising the threads", PIPELINED_OTHER,
        "mma", "first"),
    _row("TWO_ISSUERS", "the first not committed", drop("commit_first"),
        "two commits are expected, so the phase never ends", COMMIT, "wait", "init_done", "first"),
    _row("TWO_ISSUERS", "one commit is enough", swap("init_done", "2", "1"),
        "the phase ends when one of the two commits has arrived", COMMIT, "init_done", "ld",
        "commit", "mma", "wait", "first", "commit_first"),
    _row("CP_MMA_FLAG", "another flag", swap("take", "flag 1", "flag2 1"),
        "who waits for another flag waits for nobody", PIPELINED_OTHER, "take", "mma", "first"),
    _row("CP_MMA_FLAG", "the value that it had", swap("take", "flag 1", "flag 0"),
        "the flag is 0 from the beginning", PIPELINED_OTHER, "take", "mma", "first"),
)

GIVEN_BACK = {
    "LD_MMA_RELAXED": ERROR,
    "LD_MMA_RELEASED": REVIEW,
    "LD_MMA_LEADERS": REVIEW,
    "LD_MMA_COUNTER": ERROR,
    "LD_MMA_BARRIER": REVIEW,
}
"""Kernels in which an MMA overwrites what all warps have read."""


def _given_back() -> Iterator[Mutant]:
    for name, kernel in _kernels(*GIVEN_BACK):
        doubt = GIVEN_BACK[name.upper()]
        yield Mutant(f"{name}: load not waited for", kernel, drop("wait_ld0"),
            "wait::ld comes before the other threads are told", OTHER, ("ld0", "give", "mma"))
        yield Mutant(f"{name}: load waited for too late", kernel, move("wait_ld0", behind="give"),
            "wait::ld comes before the other threads are told", OTHER,
            ("ld0", "give", "mma", "wait_ld0"))
        yield Mutant(f"{name}: stores waited for instead", kernel, put("wait_ld0", "wait_st"),
            "wait::st is not for loads", WAIT, ("ld0", "give", "mma"))
        yield Mutant(f"{name}: loaded once more behind the wait", kernel,
            insert("ld 0 32 #again", behind="wait_ld0"),
            "wait::ld comes before the other threads are told", OTHER, ("again", "give", "mma"))
        yield Mutant(f"{name}: no fence before the hand-over", kernel, drop("give_before"),
            "fence::before_thread_sync orders the load before the arrival", OTHER,
            ("ld0", "give", "mma"), doubt)
        yield Mutant(f"{name}: no fence behind the hand-over", kernel, drop("take_after"),
            "fence::after_thread_sync orders the MMA behind the wait", OTHER,
            ("ld0", "take", "mma") if "barrier" not in name else ("ld0", "give", "mma"), doubt)
        missing = "give" if "barrier" in name else "take"
        yield Mutant(f"{name}: not waited for", kernel, drop(missing),
            "operations of two threads are ordered by synchronising the threads", OTHER,
            ("mma", "ld0"))
    for name, kernel in _kernels("LD_MMA_RELAXED", "LD_MMA_RELEASED", "LD_MMA_LEADERS"):
        count = "4" if "leaders" in name else "128"
        yield Mutant(f"{name}: half the arrivals", kernel,
            swap("init_back", count, str(int(count) // 2)), "every warp that reads is waited for",
            MBARRIER, ("init_back", "mma", "take", "ld0"))
        yield Mutant(f"{name}: an arrival too many", kernel,
            swap("init_back", count, str(int(count) + 1)), "the phase never ends", MBARRIER,
            ("init_back", "take", "give"))
        yield Mutant(f"{name}: the phase before", kernel, swap("take", " back 0", " back 1"),
            "parity 1 is that of the phase before the first", MBARRIER, ("take", "mma", "ld0"))
    yield _row("LD_MMA_LEADERS", "all threads arrive", put("give", "arrive back"),
        "128 arrivals where 4 are expected end phases early", MBARRIER, "init_back", "give",
        "take", "mma")
    yield _row("LD_MMA_COUNTER", "half the warps", swap("take", "flag 4", "flag 2"),
        "every warp that reads is waited for", OTHER, "take", "mma", "ld0", doubt=REVIEW)


STORED = tuple(
    _row(kernel, what, edit, rule, section, *at, doubt=doubt)
    for kernel in ("ST_MMA_RELAXED",)
    for what, edit, rule, section, at, doubt in (
        (
            "store not waited for",
            drop("wait_st"),
            "wait::st comes before the other threads are told",
            OTHER,
            ("st", "give", "mma"),
            ERROR,
        ),
        (
            "store waited for too late",
            move("wait_st", behind="give"),
            "wait::st comes before the other threads are told",
            OTHER,
            ("st", "give", "mma", "wait_st"),
            ERROR,
        ),
        (
            "loads waited for instead",
            put("wait_st", "wait_ld"),
            "wait::ld is not for stores",
            WAIT,
            ("st", "give", "mma"),
            ERROR,
        ),
        (
            "no fence before the arrival",
            drop("give_before"),
            "fence::before_thread_sync orders the store before the arrival",
            OTHER,
            ("st", "give", "mma"),
            ERROR,
        ),
        (
            "no fence behind the wait",
            drop("take_after"),
            "fence::after_thread_sync orders the MMA behind the wait",
            OTHER,
            ("st", "take", "mma"),
            ERROR,
        ),
        (
            "not waited for",
            drop("take"),
            "operations of two threads are ordered by synchronising the threads",
            OTHER,
            ("mma", "st"),
            ERROR,
        ),
        (
            "half the arrivals",
            swap("init_back", "128", "64"),
            "every warp that stores is waited for",
            MBARRIER,
            ("init_back", "mma", "take", "st"),
            ERROR,
        ),
        (
            "twice the arrivals",
            swap("init_back", "128", "256"),
            "the phase never ends",
            MBARRIER,
            ("init_back", "take", "give"),
            ERROR,
        ),
    )
)

BEHIND_A_BARRIER = tuple(
    _row(kernel, what, edit, rule, OTHER, *at, user, doubt=doubt)
    for kernel, user in (("ST_MMA_BARRIER", "mma"), ("SHIFT_MMA", "shift"), ("MMA_SHIFT", "mma"))
    for what, edit, rule, at, doubt in (
        (
            "store not waited for",
            drop("wait_st"),
            "wait::st comes before the other threads are told",
            ("st", "st_bar"),
            ERROR,
        ),
        (
            "store waited for behind the barrier",
            move("wait_st", behind="st_bar"),
            "wait::st comes before the other threads are told",
            ("st", "st_bar", "wait_st"),
            ERROR,
        ),
        (
            "no barrier",
            drop("st_bar"),
            "other warps' stores are known of behind a barrier",
            ("st",),
            ERROR,
        ),
        (
            "no fence behind the barrier",
            drop("st_after"),
            "fence::after_thread_sync orders the operation behind the barrier",
            ("st", "st_bar"),
            REVIEW,
        ),
    )
)


READ_BY_OTHERS = (
    _row("MMA_LD_COMPOSED", "the issuer does not wait", drop("first_wait"),
        "completion is waited for before the others are told", OTHER, "ld", "mma", "give"),
    _row("MMA_LD_COMPOSED", "the issuer waits for the phase before",
        swap("first_wait", " full 0", " full 1"), "parity 1 is that of the phase before the first",
        MBARRIER, "first_wait", "ld", "mma", "give"),
    _row("MMA_LD_COMPOSED", "told before it is waited for",
        both(move("give", before="first_wait"), move("give_before", before="give")),
        "completion is waited for before the others are told", OTHER, "ld", "mma", "give"),
    _row("MMA_LD_COMPOSED", "no commit", drop("commit"),
        "an mbarrier tracks nothing that was not committed to it", COMMIT, "mma", "first_wait",
        "init_full", "ld"),
    _row("MMA_LD_COMPOSED", "nobody is told", drop("give"), "the phase never ends", MBARRIER,
        "wait", "init_done"),
    _row("MMA_LD_COMPOSED", "the others do not wait", drop("wait"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "ld", "mma"),
    _row("MMA_LD_COMPOSED", "the others do not fence", drop("after"),
        "fence::after_thread_sync orders the load behind a relaxed wait", OTHER, "ld", "wait"),
    _row("MMA_LD_FLAG", "the issuer does not wait", drop("first_wait"),
        "completion is waited for before the others are told", OTHER, "ld", "mma", "give"),
    _row("MMA_LD_FLAG", "told before it is waited for",
        both(move("give", before="first_wait"), move("give_before", before="give")),
        "completion is waited for before the others are told", OTHER, "ld", "mma", "give"),
    _row("MMA_LD_FLAG", "the others do not wait", drop("wait"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "ld", "mma"),
    _row("MMA_LD_FLAG", "the others do not fence", drop("after"),
        "fence::after_thread_sync orders the load behind a relaxed load", OTHER, "ld", "wait"),
    _row("MMA_LD_FLAG", "the value that it had", swap("wait", "flag 1", "flag 0"),
        "the flag is 0 from the beginning", OTHER, "ld", "mma", "wait"),
    _row("MMA_LD_BARRIER", "the issuer does not wait", drop("first_wait"),
        "completion is waited for before the others are told", OTHER, "ld", "mma", "wait"),
    _row("MMA_LD_BARRIER", "no barrier", drop("wait"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "ld", "mma"),
    _row("MMA_LD_BARRIER", "the issuer waits behind the barrier",
        both(drop("first_wait", "first_after"),
            insert("if t0", "wait full 0", "end", behind="wait")),
        "completion is waited for before the others are told", OTHER, "ld", "mma", "wait"),
    _row("PAIR_MMA_LD_CLUSTER", "the issuer does not wait", drop("first_wait"),
        "completion is waited for before the others are told", OTHER, "ld", "mma", "wait"),
    _row("PAIR_MMA_LD_CLUSTER", "a barrier of the CTA alone", put("wait", "bar"),
        "the odd CTA is not told", OTHER, "ld", "mma", "wait"),
    _row("PAIR_MMA_LD_CLUSTER", "no barrier", drop("wait"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "ld", "mma"),
)

SHARED = (
    _row("TILE", "copies not waited for", drop("full"),
        "what TMA writes is waited for on its mbarrier", PROXY, "mma", "tma_a", "tma_b"),
    _row("TILE", "the phase before", swap("full", " full 0", " full 1"),
        "parity 1 is that of the phase before the first", MBARRIER, "full", "mma", "tma_a"),
    _row("TILE", "another mbarrier", swap("full", " full 0", " done 0"),
        "who waits for the commit before the commit waits forever", MBARRIER, "full", "mma"),
    _row("TILE", "nothing expected", drop("expect"), "nobody arrives, so the phase never ends",
        MBARRIER, "full", "init_full", "tma_a"),
    _row("TILE", "two arrivals expected of the copies", swap("init_full", "1", "2"),
        "one thread arrives, so the phase never ends", MBARRIER, "full", "init_full", "expect"),
    _row("TILE", "A overwritten under the MMA",
        insert("expect full 16384", "tma a full #late", behind="commit"),
        "A and B are not modified while the MMA has not completed", MMA, "late", "mma", "mma2"),
    _row("FILLED_BY_THREADS", "no proxy fence", drop("proxy"),
        "stores of threads are fenced against the async proxy", PROXY, "fill_a", "fill_b", "mma"),
    _row("FILLED_BY_THREADS", "proxy fence before the stores", move("proxy", before="fill_a"),
        "stores of threads are fenced against the async proxy", PROXY, "fill_a", "fill_b", "mma"),
    _row("FILLED_BY_THREADS", "proxy fence between the stores", move("proxy", before="fill_b"),
        "stores of threads are fenced against the async proxy", PROXY, "fill_b", "mma"),
    _row("FILLED_BY_THREADS", "no barrier", drop("fill_bar"),
        "the issuer does not know of other threads' stores", PROXY, "fill_a", "fill_b", "mma"),
    _row("FILLED_BY_THREADS", "A overwritten under the MMA", insert("fill a #late", before="wait"),
        "A and B are not modified while the MMA has not completed", MMA, "late", "mma"),
    _row("REFILLED_BY_THREADS", "not waited for", drop("empty"),
        "A and B are not modified while the MMA has not completed", MMA, "refill", "mma"),
    _row("REFILLED_BY_THREADS", "the phase before", swap("empty", " done 0", " done 1"),
        "parity 1 is that of the phase before the first", MBARRIER, "empty", "refill", "mma"),
    _row("REFILLED_BY_THREADS", "no commit", drop("commit"),
        "an mbarrier tracks nothing that was not committed to it", COMMIT, "mma", "empty",
        "refill", "init_done"),
    _row("REFILLED_BY_THREADS", "no second proxy fence", drop("proxy2"),
        "stores of threads are fenced against the async proxy", PROXY, "refill", "mma2"),
    _row("REFILLED_BY_THREADS", "no second barrier", drop("refill_bar"),
        "the issuer does not know of other threads' stores", PROXY, "refill", "mma2"),
    _row("REFILLED_BY_THREADS", "the first phase again", swap("wait", " done 1", " done 0"),
        "the second wait is for the second phase", MBARRIER, "wait", "ld", "mma2"),
    _row("REFILLED_BY_TMA", "not waited for", drop("empty"),
        "A and B are not modified while the MMA has not completed", MMA, "tma_a2", "tma_b2",
        "mma"),
    _row("REFILLED_BY_TMA", "commit before the MMA", move("commit_empty", before="mma"),
        "a commit tracks what the thread has issued before it", COMMIT, "tma_a2", "tma_b2", "mma",
        "commit_empty"),
    _row("REFILLED_BY_TMA", "the second copies not waited for", drop("full2"),
        "what TMA writes is waited for on its mbarrier", PROXY, "mma2", "tma_a2", "tma_b2"),
    _row("REFILLED_BY_TMA", "the first phase again", swap("full2", " full 1", " full 0"),
        "the second wait is for the second phase", MBARRIER, "full2", "mma2", "tma_a2"),
    _row("CP_FROM_TMA", "copies not waited for", drop("full"),
        "what TMA writes is waited for on its mbarrier", PROXY, "cp", "tma_a", "tma_b", "mma"),
    _row("CP_FROM_THREADS", "no proxy fence", drop("proxy"),
        "tcgen05.cp reads through the async proxy", PROXY, "fill_a", "cp"),
    _row("CP_FROM_THREADS", "proxy fence before the stores", move("proxy", before="fill_a"),
        "tcgen05.cp reads through the async proxy", PROXY, "fill_a", "cp"),
    _row("CP_FROM_THREADS", "no barrier", drop("fill_bar"),
        "the issuer does not know of other threads' stores", PROXY, "fill_a", "cp"),
)


def _rings() -> Iterator[Mutant]:
    for name, kernel in _kernels("RING", "SCALED_RING"):
        yield Mutant(f"{name}: overwritten too soon", kernel, drop("empty"),
            "A and B are not modified while the MMA has not completed", MMA,
            ("tma_a", "tma_b", "mma"))
        yield Mutant(f"{name}: waits for the first release first", kernel,
            swap("empty", "%f_n", "%f_h"), "nobody releases a stage that was never filled",
            MBARRIER, ("empty", "full", "init_empty", "init_full"))
        yield Mutant(f"{name}: copies not waited for", kernel, drop("full"),
            "what TMA writes is waited for on its mbarrier", PROXY, ("mma", "tma_a", "tma_b"))
        yield Mutant(f"{name}: the phase before", kernel, swap("full", "%m_h", "%m_n"),
            "parity 1 is that of the phase before the first", MBARRIER, ("full", "mma", "tma_a"))
        yield Mutant(f"{name}: never released", kernel, drop("commit_empty"),
            "the producer waits forever in its second round", COMMIT,
            ("empty", "init_empty", "init_empty+8", "mma"))
        yield Mutant(f"{name}: released before the MMA", kernel,
            both(drop("commit_empty"),
                insert("of m empty", "commit %m_empty #commit_empty", before="mma")),
            "a commit tracks what the thread has issued before it", COMMIT,
            ("mma", "tma_a", "tma_b", "commit_empty"))
        yield Mutant(f"{name}: nothing expected", kernel, drop("expect"),
            "nobody arrives, so the phase never ends", MBARRIER,
            ("full", "init_full", "init_full+8", "tma_a"))
        yield Mutant(f"{name}: the last commit is missing", kernel, drop("commit"),
            "an mbarrier tracks nothing that was not committed to it", COMMIT,
            ("wait", "init_done", "mma", "ld"))
        yield Mutant(f"{name}: the epilogue does not wait", kernel, drop("wait"),
            "what is asynchronous is waited for before its result is read", OTHER, ("ld", "mma"))
        yield Mutant(f"{name}: the second stage needs two arrivals", kernel,
            swap("init_full+8", " 1", " 2"), "one thread arrives, so the phase never ends",
            MBARRIER, ("init_full+8", "full", "expect"))
    yield _row("SCALED_RING", "scale factors overwritten", drop("scales"),
        "no pipeline of an MMA and a copy is listed", PIPELINED_OTHER, "cp_a", "cp_b", "mma",
        doubt=REVIEW)


SOFTMAX = (
    _row("SCORES", "probabilities not waited for", drop("taken"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "pv", "st"),
    _row("SCORES", "the phase before",
        both(insert("xor.b32 %other, %turn, 1;", before="taken"), swap("taken", "%turn", "%other")),
        "parity 1 is that of the phase before the first", MBARRIER, "taken", "pv", "st"),
    _row("SCORES", "store not waited for", drop("wait_st"),
        "wait::st comes before the other threads are told", OTHER, "st", "give", "pv"),
    _row("SCORES", "store waited for too late", move("wait_st", behind="give"),
        "wait::st comes before the other threads are told", OTHER, "st", "give", "pv", "wait_st"),
    _row("SCORES", "load used but not waited for", drop("wait_ld_scores"),
        "a register dependency does not order what follows in memory", OTHER, "ld_scores", "give",
        "qk", doubt=REVIEW),
    _row("SCORES", "scores not waited for", drop("scores"),
        "what is asynchronous is waited for before its result is read", OTHER, "ld_scores", "qk"),
    _row("SCORES", "scores not committed", drop("commit_qk"),
        "an mbarrier tracks nothing that was not committed to it", COMMIT, "scores", "qk",
        "init_full", "ld_scores"),
    _row("SCORES", "committed before the MMA", move("commit_qk", before="qk"),
        "a commit tracks what the thread has issued before it", COMMIT, "qk", "ld_scores",
        "commit_qk"),
    _row("SCORES", "nobody gives back", drop("give"), "the phase never ends", MBARRIER, "taken",
        "init_back"),
    _row("SCORES", "half the threads", swap("init_back", "128", "64"),
        "every warp that stores is waited for", MBARRIER, "init_back", "taken", "pv", "st"),
    _row("SCORES", "the issuer counted too", swap("init_back", "128", "160"),
        "128 threads arrive, so the phase never ends", MBARRIER, "init_back", "taken", "give"),
    _row("SCORES", "the output not waited for", drop("wait"),
        "what is asynchronous is waited for before its result is read", OTHER, "ld", "pv"),
    _row("SCORES", "the output not committed", drop("commit"),
        "an mbarrier tracks nothing that was not committed to it", COMMIT, "wait", "init_done",
        "pv", "ld"),
    _row("SCORES", "probabilities in the output", swap("pv", "64", "16"),
        "D is written where the next scores are", OTHER, "pv", "qk", "ld", "ld_scores",
        doubt=REVIEW),
    _row("MMA_LD_ST_MMA", "the first not waited for", drop("first_wait"),
        "what is asynchronous is waited for before its result is read", SAME, "ld_first", "mma"),
    _row("MMA_LD_ST_MMA", "store not waited for", drop("wait_st"),
        "wait::st comes before the other threads are told", OTHER, "st", "give", "mma2"),
    _row("MMA_LD_ST_MMA", "no barrier", drop("give"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "mma2", "st",
        "ld_first"),
    _row("MMA_LD_ST_MMA", "load used but not waited for", drop("wait_ld_first"),
        "a register dependency does not order what follows in memory", OTHER, "ld_first", "give",
        "mma2", doubt=REVIEW),
)

BUFFERS = (
    _row("TWO_BUFFERS", "overwritten too soon", drop("taken"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "mma", "ld"),
    _row("TWO_BUFFERS", "waits for the first reader first", swap("taken", "%m_n", "%m_h"),
        "nobody gives back what was never computed", MBARRIER, "taken", "ready", "init_taken"),
    _row("TWO_BUFFERS", "not waited for", drop("ready"),
        "what is asynchronous is waited for before its result is read", OTHER, "ld", "mma2"),
    _row("TWO_BUFFERS", "the phase before", swap("ready", "%r_h", "%r_n"),
        "parity 1 is that of the phase before the first", MBARRIER, "ready", "ld", "mma2"),
    _row("TWO_BUFFERS", "load not waited for", drop("wait_ld"),
        "wait::ld comes before the other threads are told", OTHER, "ld", "give", "mma"),
    _row("TWO_BUFFERS", "load waited for too late", move("wait_ld", behind="give"),
        "wait::ld comes before the other threads are told", OTHER, "ld", "give", "mma", "wait_ld"),
    _row("TWO_BUFFERS", "commit between the two",
        both(drop("commit"), insert("of m ready", "commit %m_ready #commit", before="mma2")),
        "a commit tracks what the thread has issued before it", COMMIT, "mma2", "ld", "commit"),
    _row("TWO_BUFFERS", "never given back", drop("give"), "the phase never ends", MBARRIER,
        "taken", "init_taken", "init_taken+8"),
    _row("TWO_BUFFERS", "a quarter of the threads",
        both(swap("init_taken", " 128", " 32"), swap("init_taken+8", " 128", " 32")),
        "every warp that reads is waited for", MBARRIER, "init_taken", "init_taken+8", "taken",
        "mma", "ld"),
    _row("TWO_BUFFERS", "the second counted for all", swap("init_taken+8", " 128", " 160"),
        "128 threads arrive, so the phase never ends", MBARRIER, "init_taken+8", "taken", "give"),
    _row("TWO_BUFFERS", "the other accumulator is read",
        insert("xor.b32 %r_s, %r_s, 1;", behind="after"),
        "who waits for one accumulator knows nothing of the other", OTHER, "ld", "mma2", "mma"),
    _row("TWO_BUFFERS_UNROLLED", "overwritten too soon", drop("take"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "mma3", "ld"),
    _row("TWO_BUFFERS_UNROLLED", "the phase before", swap("take", " back 0", " back 1"),
        "parity 1 is that of the phase before the first", MBARRIER, "take", "mma3", "ld"),
    _row("TWO_BUFFERS_UNROLLED", "the second not waited for", drop("wait2"),
        "what is asynchronous is waited for before its result is read", OTHER, "ld2", "mma2"),
    _row("TWO_BUFFERS_UNROLLED", "the second not committed", drop("commit2"),
        "an mbarrier tracks nothing that was not committed to it", COMMIT, "wait2", "mma2",
        "init_ready2", "ld2"),
    _row("TWO_BUFFERS_UNROLLED", "the first phase again", swap("wait3", " ready 1", " ready 0"),
        "the second wait is for the second phase", MBARRIER, "wait3", "ld3", "mma3"),
    _row("TWO_BUFFERS_UNROLLED", "the third not waited for", drop("wait3"),
        "what is asynchronous is waited for before its result is read", OTHER, "ld3", "mma3"),
    _row("TWO_BUFFERS_UNROLLED", "load not waited for", drop("wait_ld"),
        "wait::ld comes before the other threads are told", OTHER, "ld", "give", "mma3"),
    _row("TWO_BUFFERS_UNROLLED", "the third where the second is",
        swap("mma3", "mma 0", "mma 32"), "the second accumulator was not given back", OTHER,
        "mma3", "ld2", "mma2"),
)

PAIRS = (
    _row("PAIR_MMA_MMA", "the peer is not known to be there", drop("p_cluster"),
        "who allocates for a pair makes sure that the peer runs", PAIR, "alloc", "commit",
        "init_done", "mma"),
    _row("PAIR_MMA_MMA", "commit for one CTA", put("commit", "commit done"),
        "the odd CTA's mbarrier never hears of it", COMMIT, "wait", "init_done", "commit", "mma2"),
    _row("PAIR_MMA_MMA", "both CTAs issue",
        insert("if t0", "mma 0 A B new #stray", "end", before="wait"),
        "a thread of one CTA of the pair issues", PAIR, "stray", "mma", "mma2", "ld"),
    _row("PAIR_MMA_MMA", "the odd CTA leaves at once",
        insert("@%odd ret; #gone", behind="address"), "the peer of an issuing CTA has not exited",
        PAIR, "gone", "mma", "mma2", "commit", "dealloc", "alloc", "e_cluster"),
    _row("PAIR_MMA_MMA", "the odd CTA does not free",
        both(insert("if !odd", before="dealloc"), insert("end", behind="dealloc")),
        "one warp of each CTA frees for a pair", ALLOC, "dealloc", "alloc"),
    _row("PAIR_MMA_MMA", "the odd CTA does not allocate",
        both(insert("if !odd", before="alloc"), insert("end", behind="alloc")),
        "one warp of each CTA allocates for a pair", ALLOC, "alloc", "dealloc", "address"),
    _row("PAIR_MMA_MMA", "freed for one CTA",
        put("dealloc", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d0, 64;"),
        "all tcgen05 instructions of a kernel have one cta_group", ALLOC, "dealloc", "alloc"),
    _row("PAIR_CP_MMA", "a copy for one CTA",
        put("cp", "tcgen05.cp.cta_group::1.128x256b [%d32], %desc_A;"),
        "all tcgen05 instructions of a kernel have one cta_group", PIPELINED_OTHER, "cp", "mma",
        "alloc"),
    _row("PAIR_CP_MMA", "copied behind the MMA", move("cp", behind="mma"),
        "an MMA and a copy are no pipeline", PIPELINED_OTHER, "cp", "mma"),
    _row("PAIR_NO_READERS", "the odd CTA does not stay", drop("e_cluster"),
        "the odd CTA frees and leaves under the MMA", PAIR, "dealloc", "mma", "ret", "commit"),
    _row("PAIR_NO_READERS", "not waited for", drop("wait"), "no MMA is under way in what is freed",
        ALLOC, "dealloc", "mma"),
    _row("PAIR_TILE", "the peer is not waited for", drop("turn"),
        "the odd CTA's half is in its shared memory when it has said so", PAIR, "mma", "told",
        "tma_a", "tma_b"),
    _row("PAIR_TILE", "one of the two is enough", swap("init_back", "2", "1"),
        "both CTAs are waited for", MBARRIER, "init_back", "turn", "mma", "told"),
    _row("PAIR_TILE", "told before the copies are there", drop("full"),
        "what TMA writes is waited for on its mbarrier", PROXY, "mma", "told", "tma_a", "tma_b"),
    _row("PAIR_TILE", "nobody tells", drop("told"), "the phase never ends", MBARRIER, "turn",
        "init_back"),
    _row("PAIR_TILE", "each tells itself", put("told", "arrive back"),
        "one thread of the even CTA arrives where two are expected", MBARRIER, "turn", "told",
        "init_back"),
    _row("PAIR_TILE", "a wait in the scope of the CTA", swap("turn", "wait.cluster", "wait"),
        "what another CTA has done is acquired in the scope of the cluster", FENCE, "turn", "mma",
        doubt=REVIEW),
    _row("PAIR_FREED_LAST", "not waited for", drop("wait"),
        "what is asynchronous is waited for before its result is read", OTHER, "ld", "mma"),
    _row("PAIR_FREED_LAST", "the odd CTA leaves before it frees",
        insert("@%odd ret; #gone", behind="e_cluster"),
        "one warp of each CTA frees for a pair", ALLOC, "gone", "dealloc", "alloc"),
    _row("PAIR_TWO_ROUNDS", "overwritten too soon", drop("take"),
        "operations of two threads are ordered by synchronising the threads", OTHER, "mma2",
        "first_ld"),
    _row("PAIR_TWO_ROUNDS", "the odd CTA is not waited for", swap("init_back", "2", "1"),
        "both CTAs are waited for", MBARRIER, "init_back", "take", "mma2", "give", "first_ld"),
    _row("PAIR_TWO_ROUNDS", "load not waited for", drop("first_wait_ld", "first_out"),
        "wait::ld comes before the other threads are told", OTHER, "first_ld", "give_bar", "give",
        "mma2"),
    _row("PAIR_TWO_ROUNDS", "no barrier before it is told", drop("give_bar"),
        "one thread speaks for a CTA behind a barrier", OTHER, "give", "mma2", "first_ld"),
    _row("PAIR_TWO_ROUNDS", "the second commit for one CTA", put("commit2", "commit done"),
        "the odd CTA's mbarrier never hears of it", COMMIT, "wait", "init_done", "commit2",
        "mma2"),
    _row("PAIR_TWO_ROUNDS", "the first phase again", swap("wait", " done 1", " done 0"),
        "the second wait is for the second phase", MBARRIER, "wait", "ld", "mma2"),
)

MUTANTS = (
    *_handed_over(),
    *BARRIERS,
    *_given_back(),
    *STORED,
    *BEHIND_A_BARRIER,
    *READ_BY_OTHERS,
    *SHARED,
    *_rings(),
    *SOFTMAX,
    *BUFFERS,
    *PAIRS,
)
