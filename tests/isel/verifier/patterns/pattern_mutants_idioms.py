"""Mutants of the kernels in the idioms of libraries and compilers."""

from __future__ import annotations

from tests.isel.verifier.patterns.pattern_edits import Doubt, both, drop, insert, move, put, swap
from tests.isel.verifier.patterns.pattern_mutants import (
    ALLOC,
    COMMIT,
    MBARRIER,
    OTHER,
    PROXY,
    REVIEW,
    SAME,
    WAIT,
    _row,
)

# A mutant is read in a few lines, or not at all.
# fmt: off

_READ = "what is asynchronous is waited for before its result is read"
_TRACKED = "an mbarrier tracks nothing that was not committed to it"
_BEFORE = "a commit tracks what the thread has issued before it"
_FIRST = "parity 1 is that of the phase before the first"
_TOLD = "operations of two threads are ordered by synchronising the threads"

ISSUED = tuple(
    _row(kernel, what, edit, rule, section, *at)
    for kernel, last in (
        ("WARP_INDEX", "mma"), ("PREDICATED", "mma2"), ("OTHER_OWNER", "mma"),
        ("ONE_LANE_WAITS", "mma"), ("ONE_WARP_WAITS", "mma"), ("LOADS_IN_FLIGHT", "mma"),
        ("LOADS_IN_A_LOOP", "mma"), ("OTHER_SHAPES", "mma"), ("NOTHING_TO_DO", "mma"),
    )
    for what, edit, rule, section, at in (
        ("no commit", drop("commit"), _TRACKED, COMMIT, (last, "init_done", "wait", "ld")),
        ("commit first", move("commit", before="mma"), _BEFORE, COMMIT, (last, "ld", "commit")),
        ("no wait", drop("wait"), _READ, SAME, ("ld", last)),
        ("the phase before", swap("wait", "done 0", "done 1"), _FIRST, MBARRIER,
            ("wait", "ld", last)),
    )
)

IDIOMS = (
    _row("WARP_INDEX", "one column behind the end", put("ld", "ld 63"),
        "columns 64 and up were not allocated", ALLOC, "ld", "alloc"),
    _row("OTHER_OWNER", "never freed", drop("dealloc"), "all tensor memory is freed", ALLOC,
        "alloc"),
    _row("OTHER_OWNER", "relinquished at once", move("relinquish", before="alloc"),
        "no allocation after relinquish", ALLOC, "alloc", "relinquish"),
    _row("OTHER_OWNER", "freed while others read", drop("e_bar"),
        "tensor memory that is freed is not accessed", ALLOC, "dealloc", "ld"),
    _row("TWO_COMMITTERS", "one of two commits", drop("commit2"), _TRACKED, COMMIT, "mma2",
        "init_done", "wait", "ld2"),
    _row("TWO_COMMITTERS", "one commit is enough", swap("init_done", "2", "1"),
        "the phase ends when one of the two commits has arrived", COMMIT, "init_done", "ld", "ld2",
        "commit", "commit2", "wait"),
    _row("TWO_COMMITTERS", "accumulators that overlap", swap("mma2", "mma 32", "mma 16"),
        "two threads' MMAs on the same columns are not ordered", OTHER, "mma2", "mma"),
    _row("BACK_OFF", "asks only once", swap("wait", "bra AGAIN;", ""), _READ, SAME, "ld", "wait"),
    _row("BACK_OFF", "the phase before", swap("wait", "[done], 0", "[done], 1"), _FIRST, MBARRIER,
        "ld", "wait", "mma"),
    _row("ONE_LANE_WAITS", "the others are not told", drop("warp"), _TOLD, OTHER, "ld", "wait",
        "mma"),
    _row("ONE_LANE_WAITS", "no fence", drop("after"),
        "a relaxed wait orders nothing asynchronous behind it", SAME, "ld", "wait", "warp"),
    _row("ONE_WARP_WAITS", "the others are not told", drop("told"), _TOLD, OTHER, "ld", "mma"),
    _row("ONE_WARP_WAITS", "another barrier for each half", put("told",
        "add.u32 %number, %warp, 1; bar.sync %number, 32;"), _TOLD, OTHER, "ld", "told", "mma"),
    _row("STATE", "load not waited for", drop("wait_ld0"),
        "wait::ld comes before the other threads are told", OTHER, "ld0", "give", "mma"),
    _row("STATE", "not waited for", drop("take"), _TOLD, OTHER, "mma", "ld0"),
    _row("STATE", "half the arrivals", swap("init_back", "128", "64"),
        "every warp that reads is waited for", MBARRIER, "init_back", "mma", "take", "give"),
    _row("STATE", "an arrival too many", swap("init_back", "128", "129"), "the phase never ends",
        MBARRIER, "init_back", "take", "give"),
    _row("TWO_COMMITS", "the first before the MMA", move("commit", before="mma"), _BEFORE, COMMIT,
        "commit", "mma", "ld"),
    _row("TWO_COMMITS", "the wrong one waited for", swap("wait", "done 0", "done 1"), _FIRST,
        MBARRIER, "ld", "wait", "mma"),
    *(
        _row(kernel, what, edit, rule, OTHER, *at, doubt=doubt)
        for kernel in ("RELEASED_FLAG", "FENCED_FLAG", "EXCHANGED_FLAG")
        for what, edit, rule, at, doubt in (
            ("the issuer does not wait", drop("first_wait"),
                "completion is waited for before the others are told", ("ld", "mma", "give"),
                Doubt.ERROR),
            ("told before the wait",
                both(move("give", before="first_wait"), move("give_before", before="give")),
                "completion is waited for before the others are told", ("ld", "mma", "give"),
                Doubt.ERROR),
            ("the others do not wait", drop("wait"), _TOLD, ("ld", "mma"), Doubt.ERROR),
            ("the others do not fence", drop("after"),
                "fence::after_thread_sync orders the load behind the flag", ("ld", "wait"), REVIEW),
        )
    ),
    _row("LOADS_IN_FLIGHT", "never waited for", drop("wait_ld", "out"),
        "the loads are under way when their columns are freed", WAIT, "ld", "ld2", "ld3", "ld4",
        "dealloc", "e_bar"),
    _row("LOADS_IN_FLIGHT", "the last behind the wait", move("ld4", behind="wait_ld"),
        "the load is under way when its columns are freed", WAIT, "ld4", "dealloc", "e_bar",
        doubt=REVIEW),
    _row("LOADS_IN_FLIGHT", "the last behind the end", swap("ld4", "ld 24 8", "ld 60 8"),
        "columns 64 and up were not allocated", ALLOC, "ld4", "alloc"),
    _row("LOADS_IN_A_LOOP", "never waited for", drop("wait_ld", "out"),
        "the loads are under way when their columns are freed", WAIT, "ld", "dealloc", "e_bar"),
    _row("OTHER_SHAPES", "never waited for", drop("wait_ld"),
        "the loads are under way when their columns are freed", WAIT, "ld", "ld2", "ld3",
        "dealloc", "e_bar"),
    _row("OTHER_SHAPES", "the second half behind the end", swap("ld3", ", 4;", ", 63;"),
        "columns 64 and up were not allocated", ALLOC, "ld3", "alloc"),
    _row("STORED_BY_TMA", "no proxy fence", drop("proxy"),
        "stores of threads are fenced against the async proxy", PROXY, "staged", "store"),
    _row("STORED_BY_TMA", "no barrier", drop("staged_bar"),
        "the thread that copies does not know of other threads' stores", PROXY, "staged", "store"),
    _row("TILE_AFTER_TILE", "overwritten too soon", drop("take"), _TOLD, OTHER, "mma", "ld"),
    _row("TILE_AFTER_TILE", "waits for the first reader first", swap("take", "%last", "%turn"),
        "nobody gives back what was never computed", MBARRIER, "take", "wait", "init_back"),
    _row("TILE_AFTER_TILE", "not waited for", drop("wait"), _READ, OTHER, "ld", "mma"),
    _row("TILE_AFTER_TILE", "always the first phase", swap("wait", "%turn", "0"),
        "the second wait is for the second phase", MBARRIER, "wait", "ld", "mma"),
    _row("TILE_AFTER_TILE", "load not waited for", drop("wait_ld"),
        "wait::ld comes before the other threads are told", OTHER, "ld", "give", "mma"),
    _row("TILE_AFTER_TILE", "half the arrivals", swap("init_back", "128", "64"),
        "every warp that reads is waited for", MBARRIER, "init_back", "take", "mma", "ld"),
    _row("TILE_AFTER_TILE", "never given back", drop("give"), "the phase never ends", MBARRIER,
        "take", "init_back"),
    _row("TILE_AFTER_TILE_BARRIER", "overwritten too soon", drop("give"), _TOLD, OTHER, "mma",
        "ld"),
    _row("TILE_AFTER_TILE_BARRIER", "always the first phase", swap("wait", "%turn", "0"),
        "the second wait is for the second phase", MBARRIER, "wait", "ld", "mma"),
    _row("TILE_AFTER_TILE_BARRIER", "load used but not waited for", drop("wait_ld"),
        "a register dependency does not order what follows in memory", OTHER, "ld", "give", "mma",
        doubt=REVIEW),
    _row("NOTHING_TO_DO", "not freed without steps",
        insert("setp.eq.u32 %p1, %steps, 0; @%p1 ret; #gone", before="e_before"),
        "all tensor memory is freed", ALLOC, "alloc", "gone", "dealloc"),
)

MUTANTS = (*ISSUED, *IDIOMS)
