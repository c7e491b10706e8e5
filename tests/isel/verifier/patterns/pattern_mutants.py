"""The right kernels, each broken in the ways that its story allows, one mistake at a time.

What is wrong with each is said in words, with the section of the PTX ISA that says so.  Where the
manual leaves a doubt (an acquiring wait without the fence that its patterns show behind a relaxed
one, a register that was used before wait::ld, a collector used for a matrix elsewhere) the mutant
is for review.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.isel.verifier.patterns import (
    canonical_allocations,
    canonical_compositions,
    canonical_idioms,
    canonical_patterns,
    canonical_threads,
)
from tests.isel.verifier.patterns.pattern_edits import (
    Doubt,
    Edit,
    Mutant,
    both,
    drop,
    insert,
    move,
    put,
    swap,
)
from tests.isel.verifier.patterns.pattern_ptx import Kernel

# A mutant is read in a few lines, or not at all.
# fmt: off

REVIEW = Doubt.REVIEW

# ---- where the manual says so ----------------------------------------------------------------

ISSUE = "9.7.16.5, Issue Granularity"
PAIR = "9.7.16.5.2, Peer CTA"
PIPELINED = "9.7.16.6.2, Pipelined tcgen05 Instructions"
COMMIT = "9.7.16.6.2.1.1, mbarrier based completion mechanism"
WAIT = "9.7.16.6.2.1.2, tcgen05.wait instruction based completion mechanism"
FENCE = "9.7.16.6.3, Specialized Inter-thread Synchronization"
SAME = "9.7.16.6.4.2, Non-pipelined instructions, same thread"
PIPELINED_OTHER = "9.7.16.6.4.3, Pipelined instructions, different thread"
OTHER = "9.7.16.6.4.4, Non-pipelined instructions, different thread"
REGISTER = "9.7.16.6.4.5, Register dependencies, same thread"
PROXY = "9.7.16.6.5, Shared Memory Accesses"
ALLOC = "9.7.16.7.1, tcgen05.alloc"
MMA = "9.7.16.10, Matrix Multiply and accumulate Operations"
COLLECTOR = "9.7.16.10.9.1, collector_usage"
MBARRIER = "mbarrier, Phase of the mbarrier object"

COMMIT_PAIR = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [done];"

Named = tuple[str, Kernel]

WRITTEN = (
    canonical_patterns, canonical_threads, canonical_compositions, canonical_allocations,
    canonical_idioms,
)
"""Where the right kernels are."""


def _kernels(*names: str) -> Iterator[Named]:
    for name in names:
        of = next(vars(module)[name] for module in WRITTEN if name in vars(module))
        yield name.lower(), of


def _has(kernel: Kernel, tag: str) -> bool:
    return any(x.partition("#")[2].strip() == tag for x in kernel.lines)


# ---- the accumulator is read -----------------------------------------------------------------

READERS = {
    "MMA_MMA": "mma2",
    "CP_MMA": "mma",
    "MMA_SHIFT": "mma2",
    "TWO_ACCUMULATORS": "mma2",
    "COLLECTOR": "lastuse",
    "BLOCK_SCALED": "mma",
    "WEIGHTS": "lastuse",
    "ELECTED": "mma2",
    "PAIR_MMA_MMA": "mma2",
    "MMA_LD_RELAXED": "mma",
    "MMA_LD": "mma",
    "CP_LD": "cp",
    "SHIFT_LD": "shift",
    "MMA_LD_THREADS": "mma",
    "CP_LD_THREADS": "cp2",
    "TILE": "mma2",
    "PAIR_TILE": "mma",
}
"""Kernels whose last part waits for `done` and reads, and the last operation that it reads."""


def _readers() -> Iterator[Mutant]:
    for name, kernel in _kernels(*READERS):
        last = READERS[name.upper()]
        ends = (last, "init_done", "wait", "ld")
        relaxed = any("wait.relaxed done" in x for x in kernel.lines)
        doubt = Doubt.ERROR if relaxed else REVIEW

        def mutant(
            what: str,
            edit: Edit,
            rule: str,
            at: tuple[str, ...],
            section: str = SAME,
            doubt: Doubt = Doubt.ERROR,
            of: Named = (name, kernel),
        ) -> Mutant:
            return Mutant(f"{of[0]}: {what}", of[1], edit, rule, section, at, doubt)

        yield mutant(
            "no commit",
            drop("commit"),
            "an mbarrier tracks nothing that was not committed to it",
            ends,
            COMMIT,
        )
        yield mutant(
            "no wait",
            drop("wait"),
            "what is asynchronous is waited for before its result is read",
            ("ld", last),
        )
        yield mutant(
            "wait for the phase before",
            swap("wait", " done 0", " done 1"),
            "parity 1 is that of the phase before the first: the wait ends at once",
            ("wait", "ld", last),
            MBARRIER,
        )
        yield mutant(
            "no fence behind the wait",
            drop("after"),
            "an asynchronous operation is ordered behind a wait by fence::after_thread_sync",
            ("ld", "wait"),
            SAME,
            doubt,
        )
        yield mutant(
            "two arrivals expected",
            swap("init_done", "1", "2"),
            "a commit arrives once, so the phase never ends",
            ("init_done", "wait", "commit"),
            MBARRIER,
        )


def _commits() -> Iterator[Mutant]:
    """Commits that come too soon, or track another thread's work."""
    for name, kernel in _kernels(*READERS):
        first = next(t for t in ("cp", "cp_a", "fill", "shift", "mma") if _has(kernel, t))
        if name == "mma_shift":
            first = "mma"
        yield Mutant(f"{name}: commit before everything", kernel, move("commit", before=first),
            "a commit tracks what the thread has issued before it", COMMIT,
            (READERS[name.upper()], first, "ld", "commit"))
    for name, kernel in _kernels("MMA_MMA", "TWO_ACCUMULATORS", "PAIR_MMA_MMA", "TILE"):
        yield Mutant(f"{name}: commit between the two", kernel, move("commit", before="mma2"),
            "a commit tracks what the thread has issued before it", COMMIT,
            ("mma2", "ld", "ld2")[: 3 if _has(kernel, "ld2") else 2])
    for name, kernel in _kernels("MMA_MMA", "CP_LD", "TILE", "SHIFT_LD"):
        yield Mutant(f"{name}: commit by another thread", kernel,
            both(drop("commit"), insert("if t64", "commit done #other", "end", before="wait")),
            "a commit tracks what its own thread has issued", COMMIT,
            (READERS[name.upper()], "other", "ld"))
    for name, kernel in _kernels("MMA_MMA", "CP_LD", "SHIFT_LD", "MMA_LD_THREADS"):
        yield Mutant(f"{name}: commit for two CTAs", kernel,
            swap("commit", "commit done", COMMIT_PAIR),
            "all tcgen05 instructions of a kernel have one cta_group", COMMIT,
            ("commit", READERS[name.upper()], "alloc"))


# ---- tensor memory is allocated --------------------------------------------------------------

OWNERS = ("MMA_MMA", "ST_LD", "CP_LD", "TILE", "TWO_BUFFERS", "RING", "PAIR_MMA_MMA")
"""Kernels of which warp 0 allocates and frees 64 columns."""


def _owners() -> Iterator[Mutant]:
    for name, kernel in _kernels(*OWNERS):
        read = next(t for t in ("ld", "ld2") if _has(kernel, t))
        yield Mutant(f"{name}: never freed", kernel, drop("dealloc"),
            "all tensor memory is freed before the kernel exits", ALLOC,
            ("alloc",) + (("ret",) if _has(kernel, "ret") else ()))
        yield Mutant(f"{name}: half of it freed", kernel, swap("dealloc", "64", "32"),
            "what was allocated is freed", ALLOC, ("dealloc", "alloc"))
        yield Mutant(f"{name}: relinquished first", kernel, move("relinquish", before="alloc"),
            "no allocation after tcgen05.relinquish_alloc_permit", ALLOC, ("alloc", "relinquish"))
        yield Mutant(f"{name}: address read too soon", kernel, drop("p_bar"),
            "the address stands in shared memory when the allocating warp says so", ALLOC,
            ("address", "alloc"))
        if kernel.group == 1:
            yield Mutant(f"{name}: freed while others read", kernel, drop("e_bar"),
                "tensor memory that is freed is not accessed", ALLOC, ("dealloc", read))
        yield Mutant(f"{name}: read behind the end", kernel,
            put(read, "ld 48 32"),
            "columns 64 and up were not allocated", ALLOC, (read, "alloc"))
    for name, kernel in _kernels("MMA_MMA", "TILE", "PAIR_MMA_MMA", "LOOP_OF_MMAS"):
        yield Mutant(f"{name}: an accumulator behind the end", kernel,
            swap("mma", "mma 0", "mma 48"), "columns 64 and up were not allocated", ALLOC,
            ("mma", "alloc"))
    for name, kernel in _kernels("CP_MMA", "CP_LD"):
        yield Mutant(f"{name}: a copy behind the end", kernel, swap("cp", "32", "60"),
            "columns 64 and up were not allocated", ALLOC, ("cp", "alloc"))


def _row(
    kernel: str,
    what: str,
    edit: Edit,
    rule: str,
    section: str,
    *at: str,
    doubt: Doubt = Doubt.ERROR,
) -> Mutant:
    ((name, of),) = _kernels(kernel)
    return Mutant(f"{name}: {what}", of, edit, rule, section, at, doubt)


def _allocations() -> Iterator[Mutant]:
    yield _row("TWO_ALLOCATIONS", "more than before",
        both(swap("alloc2", "32", "128"), swap("dealloc2", "32", "128")),
        "the number of columns does not increase", ALLOC, "alloc2")
    yield _row("TWO_ALLOCATIONS", "more than there are",
        both(swap("alloc", "64", "512"), swap("dealloc", "64", "512")),
        "there are 512 columns: the second allocation waits forever", ALLOC, "alloc2", "alloc")
    yield _row("TWO_ALLOCATIONS", "relinquished between", move("relinquish", before="alloc2"),
        "no allocation after relinquish", ALLOC, "alloc2", "relinquish")
    yield _row("TWO_ALLOCATIONS", "the second never freed", drop("dealloc2"),
        "all tensor memory is freed", ALLOC, "alloc2")
    yield _row("TWO_ALLOCATIONS", "the second freed as the first", put("dealloc2", "dealloc 0 64"),
        "each allocation is freed once", ALLOC, "alloc2", "dealloc2", "dealloc")
    yield _row("TWO_ALLOCATIONS", "counts exchanged",
        both(swap("dealloc", "64", "32"), swap("dealloc2", "32", "64")),
        "what was allocated is freed", ALLOC, "dealloc", "dealloc2")
    yield _row("TWO_ALLOCATIONS", "the second read too soon", drop("wait2"),
        "the second MMA has its own commit", SAME, "ld2", "mma2")
    yield _row("FREED_EARLY", "freed before it is complete",
        both(drop("dealloc2"), insert("dealloc %second 32 #dealloc2", behind="dealloc")),
        "no MMA is under way in what is freed", ALLOC, "dealloc2", "mma2", "ld2")
    yield _row("FREED_EARLY", "read after freeing", put("ld2", "ld 0"),
        "tensor memory that is freed is not accessed", ALLOC, "ld2", "dealloc")
    yield _row("FREED_EARLY", "multiplied after freeing",
        insert("if t0", "mma 0 A B new #late", "commit done", "end", behind="after2"),
        "tensor memory that is freed is not accessed", ALLOC, "late", "dealloc")
    yield _row("FREED_EARLY", "no barrier before freeing", drop("first_bar"),
        "tensor memory that is freed is not accessed", ALLOC, "dealloc", "ld")
    yield _row("FREED_EARLY", "freed twice", put("dealloc2", "dealloc 0 64"),
        "each allocation is freed once", ALLOC, "dealloc2", "alloc2")
    yield _row("FREED_BY_ANOTHER_WARP", "not waited for", drop("take"),
        "tensor memory that is freed is not accessed", ALLOC, "dealloc", "ld")
    yield _row("FREED_BY_ANOTHER_WARP", "half of the threads", swap("init_back", "128", "64"),
        "every thread that reads is waited for", MBARRIER, "init_back", "dealloc", "take", "ld")
    yield _row("FREED_BY_ANOTHER_WARP", "a thread too many", swap("init_back", "128", "129"),
        "128 threads arrive, so the phase never ends", MBARRIER, "init_back", "take", "give")
    yield _row("FREED_BY_ANOTHER_WARP", "the phase before", swap("take", "0", "1"),
        "parity 1 is that of the phase before the first", MBARRIER, "take", "dealloc", "ld")
    yield _row("FREED_BY_ANOTHER_WARP", "nobody arrives", drop("give"),
        "128 arrivals are waited for", MBARRIER, "init_back", "take")
    yield _row("ALLOCATED_AGAIN", "relinquished too soon", move("relinquish", before="alloc2"),
        "no allocation after relinquish", ALLOC, "alloc2", "relinquish")
    yield _row("ALLOCATED_AGAIN", "freed while others read", drop("m_bar"),
        "tensor memory that is freed is not accessed", ALLOC, "dealloc", "ld", "alloc2",
        "address")
    yield _row("ALLOCATED_AGAIN", "the old address", both(put("ld2", "ld 0"), put("st2", "st 0")),
        "tensor memory that is freed is not accessed", ALLOC, "st2", "ld2", "dealloc")
    yield _row("ALLOCATED_AGAIN", "more than before",
        both(swap("alloc2", "64", "128"), swap("dealloc2", "64", "128")),
        "the number of columns does not increase", ALLOC, "alloc2")
    yield _row("ALLOCATED_AGAIN", "address read too soon", drop("p_bar2"),
        "the address stands in shared memory when the allocating warp says so", ALLOC, "address2",
        "alloc2")
    yield _row("ALLOCATED_AGAIN", "not freed between", drop("dealloc"),
        "all tensor memory is freed", ALLOC, "alloc", "alloc2")


# ---- one operation after another, in one thread ----------------------------------------------


def _same_thread() -> Iterator[Mutant]:
    not_a_pair = "the two are no pipeline: the first is waited for"
    yield _row("MMA_MMA", "another shape", put("mma2", "mma 0 A B acc 134479888"), not_a_pair,
        PIPELINED, "mma2", "mma")
    yield _row("MMA_MMA", "half an accumulator further", put("mma2", "mma 16 A B acc"),
        "MMAs are pipelined on the same accumulator only", PIPELINED, "mma2", "mma")
    yield _row("TWO_ACCUMULATORS", "overlapping accumulators", put("mma2", "mma 16 B A new"),
        "MMAs are pipelined on the same accumulator only", PIPELINED, "mma2", "mma")
    yield _row("CP_MMA", "copied behind the MMA", move("cp", behind="mma"),
        "an MMA and a copy are no pipeline", PIPELINED, "cp", "mma")
    yield _row("CP_MMA", "the accumulator over A", put("mma", "mma 16 [32] B new"),
        "D is written while A is read from the same columns", MMA, "mma", doubt=REVIEW)
    yield _row("BLOCK_SCALED", "scale factors behind the MMA", move("cp_b", behind="mma"),
        "no pipeline of an MMA and a copy is listed", PIPELINED, "cp_b", "mma", doubt=REVIEW)
    yield _row("BLOCK_SCALED", "scale factors over each other", swap("cp_b", "36", "34"),
        "two copies are not ordered", PIPELINED, "cp_b", "cp_a", "mma")
    yield _row("BLOCK_SCALED", "scale factors in the accumulator",
        both(swap("cp_b", "36", "16"), swap("mma", "%d36", "%d16")),
        "the MMA's scale factors are where it reads them, and not in its result", MMA, "cp_b",
        "mma", doubt=REVIEW)
    yield _row("SHIFT_CP", "another shape of copy", put("cp", "cp 32 A"),
        "a shift is pipelined with cp.4x256b only", PIPELINED, "cp", "shift")
    yield _row("SHIFT_CP", "copied before the shift", move("cp", before="shift"),
        "a copy and a shift are no pipeline", PIPELINED, "shift", "cp")
    yield _row("CP_SHIFT", "not waited for", drop("turn"), "a copy and a shift are no pipeline",
        PIPELINED, "shift", "cp")
    yield _row("CP_SHIFT", "neither committed nor waited for", drop("commit_cp", "turn"),
        "a copy and a shift are no pipeline", PIPELINED, "shift", "cp")
    yield _row("CP_SHIFT", "committed before the copy", move("commit_cp", before="cp"),
        "a commit tracks what the thread has issued before it", COMMIT, "shift", "cp",
        "commit_cp")
    yield _row("CP_SHIFT", "no fence", drop("turn_after"),
        "a relaxed wait orders nothing asynchronous behind it", SAME, "shift", "turn")
    yield _row("CP_SHIFT", "the phase before", swap("turn", " full 0", " full 1"),
        "parity 1 is that of the phase before the first", MBARRIER, "shift", "turn", "cp")
    for kernel, second in (("OTHER_SHAPE", "mma2"), ("RESULT_AS_A", "mma2"), ("MMA_CP", "cp")):
        yield _row(kernel, "not waited for", drop("turn"), not_a_pair, PIPELINED, second, "mma")
        yield _row(kernel, "neither committed nor waited for", drop("commit_first", "turn"),
            not_a_pair, PIPELINED, second, "mma")
        yield _row(kernel, "no fence", drop("turn_after"),
            "a relaxed wait orders nothing asynchronous behind it", SAME, second, "turn")
        yield _row(kernel, "no commit", drop("commit_first"),
            "an mbarrier tracks nothing that was not committed to it", COMMIT, "mma", "turn",
            "init_full", second)
        yield _row(kernel, "the phase before", swap("turn", " full 0", " full 1"),
            "parity 1 is that of the phase before the first", MBARRIER, second, "turn", "mma")
    for kernel in ("ST_LD", "LD_ST"):
        yield _row(kernel, "store not waited for", drop("wait_st"),
            "a load behind a store of the same columns: wait::st between", SAME, "ld", "st")
        yield _row(kernel, "waits for loads instead", put("wait_st", "wait_ld"),
            "wait::ld is not for stores", WAIT, "ld", "st")
    yield _row("LD_ST", "the first store not waited for", drop("wait_st0"),
        "a load behind a store of the same columns: wait::st between", SAME, "ld0", "st0")
    yield _row("LD_MMA", "load not waited for", drop("wait_ld0"),
        "the MMA races ahead of the load: wait::ld between", WAIT, "mma", "ld0")
    yield _row("LD_MMA", "load waited for behind the MMA", move("wait_ld0", behind="commit"),
        "the MMA races ahead of the load: wait::ld between", WAIT, "mma", "ld0", "wait_ld0")
    yield _row("LD_MMA", "store not waited for", drop("wait_st"),
        "a load behind a store of the same columns: wait::st between", WAIT, "ld0", "st")
    yield _row("ST_MMA", "store not waited for", drop("wait_st"),
        "the MMA races ahead of the store: wait::st between", WAIT, "mma", "st")
    yield _row("ST_MMA", "waits for loads instead", put("wait_st", "wait_ld"),
        "wait::ld is not for stores", WAIT, "mma", "st")
    yield _row("TWO_ROUNDS", "load not waited for", drop("wait_ld", "out"),
        "the MMA races ahead of the load: wait::ld between", WAIT, "mma2", "ld")
    yield _row("TWO_ROUNDS", "load used but not waited for", drop("wait_ld"),
        "a register dependency does not order what follows in memory", REGISTER, "mma2", "ld",
        doubt=REVIEW)
    yield _row("TWO_ROUNDS", "the first phase again", swap("wait2", " done 1", " done 0"),
        "the second wait is for the second phase", MBARRIER, "wait2", "ld2", "mma2")
    yield _row("TWO_ROUNDS", "the second not waited for", drop("wait2"),
        "the second MMA is waited for too", SAME, "ld2", "mma2")
    yield _row("TWO_ROUNDS", "the second not committed", drop("commit2"),
        "an mbarrier tracks nothing that was not committed to it", COMMIT, "mma2", "wait2", "ld2",
        "init_done")
    yield _row("LD_DECIDES", "the result over the operand", put("mma", "mma 32 A B %p1"),
        "what is loaded is overwritten: wait::ld before", REGISTER, "mma", "ld0", doubt=REVIEW)
    yield _row("LD_DECIDES", "store not waited for", drop("wait_st"),
        "a load behind a store of the same columns: wait::st between", SAME, "ld0", "st")
    yield _row("LD_USED_AT_ONCE", "never waited for", drop("wait_ld"),
        "a register dependency does not order the freeing behind the load", REGISTER, "ld",
        "dealloc", "e_bar", doubt=REVIEW)
    yield _row("LD_USED_AT_ONCE", "neither used nor waited for", drop("wait_ld", "out"),
        "the load is under way when its columns are freed", WAIT, "ld", "dealloc", "e_bar")
    yield _row("CP_LD_THREADS", "copies over each other", swap("cp2", "8", "4"),
        "two copies are not ordered", PIPELINED, "cp2", "cp")


def _collectors() -> Iterator[Mutant]:
    filled = "use and lastuse need a fill that is still valid"
    yield _row("COLLECTOR", "used without a fill",
        swap("fill", ".collector::a::fill", ".collector::a::discard"), filled, COLLECTOR, "use",
        "fill")
    yield _row("COLLECTOR", "nothing is filled", drop("fill"), filled, COLLECTOR, "use")
    yield _row("COLLECTOR", "used after the last use", swap("use", "::use", "::lastuse"), filled,
        COLLECTOR, "lastuse", "use")
    yield _row("COLLECTOR", "discarded before the use",
        insert("mma 96 A B new .collector::a::discard #gone", behind="fill"), filled, COLLECTOR,
        "use", "gone")
    yield _row("COLLECTOR", "another A is used", swap("use", "32 A", "32 A+2"),
        "the A of a use is the one that was filled", COLLECTOR, "use", "fill", doubt=REVIEW)
    yield _row("COLLECTOR", "another A is used last", swap("lastuse", "64 A", "64 A+2"),
        "the A of a last use is the one that was filled", COLLECTOR, "lastuse", "fill",
        doubt=REVIEW)
    yield _row("WEIGHTS", "another buffer is filled", swap("fill", "::b0", "::b1"), filled,
        COLLECTOR, "lastuse", "fill")
    yield _row("WEIGHTS", "another buffer is used", swap("lastuse", "::b0", "::b3"), filled,
        COLLECTOR, "lastuse", "fill")
    yield _row("WEIGHTS", "nothing is filled", swap("fill", "::fill", "::discard"), filled,
        COLLECTOR, "lastuse", "fill")
    yield _row("WEIGHTS", "another B is used", swap("lastuse", "%desc_B", "%desc_B_2"),
        "the B of a last use is the one that was filled", COLLECTOR, "lastuse", "fill",
        doubt=REVIEW)


MUTANTS = tuple(
    mutant
    for part in (_readers, _commits, _owners, _allocations, _same_thread, _collectors)
    for mutant in part()
)
