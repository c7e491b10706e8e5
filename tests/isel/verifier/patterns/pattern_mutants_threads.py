"""Mutants of the kernels in which threads, warps or CTAs hand tensor memory on."""

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
    COMMIT,
    MBARRIER,
    OTHER,
    PIPELINED_OTHER,
    REVIEW,
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
        ("store not waited for", drop("wait_st"),
            "wait::st comes before the other threads are told", OTHER, ("st", "give", "mma"),
            ERROR),
        ("store waited for too late", move("wait_st", behind="give"),
            "wait::st comes before the other threads are told", OTHER,
            ("st", "give", "mma", "wait_st"), ERROR),
        ("loads waited for instead", put("wait_st", "wait_ld"), "wait::ld is not for stores", WAIT,
            ("st", "give", "mma"), ERROR),
        ("no fence before the arrival", drop("give_before"),
            "fence::before_thread_sync orders the store before the arrival", OTHER,
            ("st", "give", "mma"), ERROR),
        ("no fence behind the wait", drop("take_after"),
            "fence::after_thread_sync orders the MMA behind the wait", OTHER, ("st", "take", "mma"),
            ERROR),
        ("not waited for", drop("take"),
            "operations of two threads are ordered by synchronising the threads", OTHER,
            ("mma", "st"), ERROR),
        ("half the arrivals", swap("init_back", "128", "64"),
            "every warp that stores is waited for", MBARRIER, ("init_back", "mma", "take", "st"),
            ERROR),
        ("twice the arrivals", swap("init_back", "128", "256"), "the phase never ends", MBARRIER,
            ("init_back", "take", "give"), ERROR),
    )
)

BEHIND_A_BARRIER = tuple(
    _row(kernel, what, edit, rule, OTHER, *at, user, doubt=doubt)
    for kernel, user in (("ST_MMA_BARRIER", "mma"), ("SHIFT_MMA", "shift"), ("MMA_SHIFT", "mma"))
    for what, edit, rule, at, doubt in (
        ("store not waited for", drop("wait_st"),
            "wait::st comes before the other threads are told", ("st", "st_bar"), ERROR),
        ("store waited for behind the barrier", move("wait_st", behind="st_bar"),
            "wait::st comes before the other threads are told", ("st", "st_bar", "wait_st"), ERROR),
        ("no barrier", drop("st_bar"), "other warps' stores are known of behind a barrier", ("st",),
            ERROR),
        ("no fence behind the barrier", drop("st_after"),
            "fence::after_thread_sync orders the operation behind the barrier", ("st", "st_bar"),
            REVIEW),
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

MUTANTS = (
    *_handed_over(),
    *BARRIERS,
    *_given_back(),
    *STORED,
    *BEHIND_A_BARRIER,
    *READ_BY_OTHERS,
)
