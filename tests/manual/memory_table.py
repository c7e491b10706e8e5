"""Every pair of operations on the same tensor memory, with each piece of its order missing.

What is expected of a pair is said here in a few lines, from the manual's words alone: 9.7.16.6.2
(which pairs execute in order), 9.7.16.6.2.1 (what tells that one is complete), 9.7.16.6.3 and
9.7.16.6.4 (fences between threads).  Nothing here knows how nvgen judges a kernel.

Both operations touch column 0 of lanes 0 to 31.  The first is warp 0's or its thread 0's, the
second that of the same threads, of warp 4, whose lanes are the same, or of the other CTA.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tests.isel.verifier.patterns.pattern_ptx import Kernel
from tests.isel.verifier.patterns.stories import begin, finish, story


class Verdict(Enum):
    """What the manual says of a kernel."""

    RIGHT = "the two are ordered"
    UNFENCED = "all is complete and told, and a tcgen05.fence is missing"
    RELIED_ON = "the two are none of the five pairs, and kernels rely on their order"
    WRONG = "nothing orders the two"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation on column 0: its line, what tells that it is complete, whether it writes."""

    name: str
    line: str
    told: str
    writes: bool

    @property
    def by_warp(self) -> bool:
        """Loads and stores are a warp's, all others one thread's (9.7.16.5, table 46)."""
        return self.told != "commit"


LD = Operation("ld", "ld 0", "wait_ld", writes=False)
ST = Operation("st", "st 0", "wait_st", writes=True)
CP = Operation("cp", "cp 0 A", "commit", writes=True)
CP4 = Operation("cp.4x256b", "cp 0 A 4x256b", "commit", writes=True)
SHIFT = Operation("shift", "shift 0", "commit", writes=True)
MMA = Operation("mma", "mma 0 A B new", "commit", writes=True)
OVER = Operation("mma beside it", "mma 16 A B new", "commit", writes=True)
READER = Operation("mma that reads A there", "mma 64 [0] B new", "commit", writes=False)

OPERATIONS = (LD, ST, CP, CP4, SHIFT, MMA, OVER, READER)

_MULTIPLIES = (MMA, OVER, READER)


def executes_in_order(first: Operation, second: Operation) -> bool:
    """The five pairs of 9.7.16.6.2: the second executes behind the first, whoever waits."""
    if first in _MULTIPLIES and second in _MULTIPLIES:
        return first == second
    return (
        (first in (CP, CP4) and second in _MULTIPLIES)
        or (first == SHIFT and (second in _MULTIPLIES or second == CP4))
        or (first in _MULTIPLIES and second == SHIFT)
    )


def meet(first: Operation, second: Operation) -> bool:
    """Whether the two touch a cell that one of them writes."""
    if {first, second} == {OVER} or not (first.writes or second.writes):
        return False
    beside = OVER in (first, second)  # columns 16 to 47, and no other but a multiply's reach them
    return not beside or {first, second} <= {OVER, MMA}


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of the table, what the manual says of it and where."""

    name: str
    kernel: Kernel
    verdict: Verdict
    section: str


# ---- the ways from one to the other -----------------------------------------------------------

_TELLING = {
    "a relaxed mbarrier": ("arrive.relaxed full", "wait.relaxed full 0"),
    "an mbarrier": ("arrive full", "wait full 0"),
    "a flag": ("set flag 1", "poll flag 1"),
}
"""How one thread tells another, which are execution-ordering operations (9.7.16.6.3)."""

_FIRST_WAY = "a relaxed mbarrier"


@dataclass(frozen=True, slots=True)
class Way:
    """What stands behind the first operation and before the second, and what that comes to."""

    name: str
    behind: tuple[str, ...]
    before: tuple[str, ...]
    verdict: Verdict
    section: str


def _same_thread(first: Operation, second: Operation) -> Iterator[Way]:
    """9.7.16.6.4.1 and 9.7.16.6.4.2."""
    if executes_in_order(first, second):
        yield Way("pipelined", (), (), Verdict.RIGHT, "9.7.16.6.4.1")
        return
    where = "9.7.16.6.4.2"
    yield Way("nothing", (), (), Verdict.WRONG, where)
    yield Way("fences alone", ("before", "after"), (), Verdict.WRONG, where)
    if first.by_warp:
        other = {"wait_ld": "wait_st", "wait_st": "wait_ld"}[first.told]
        yield Way("waited for", (first.told,), (), Verdict.RIGHT, where)
        yield Way("the other wait", (other,), (), Verdict.WRONG, "9.7.16.6.2.1.2")
        return
    told = ("wait.relaxed done 0", "after")
    yield Way("committed", ("commit done",), told, Verdict.RIGHT, where)
    yield Way("committed, no fence", ("commit done",), told[:1], Verdict.UNFENCED, where)
    yield Way("an arrival", ("arrive done",), told, Verdict.WRONG, "9.7.16.6.2.1.1")


def _other_thread(first: Operation, second: Operation, link: str) -> Iterator[Way]:
    """9.7.16.6.4.3 and 9.7.16.6.4.4; what does not depend on how threads meet is said once."""
    tell, hear = _TELLING[link]
    once = link == _FIRST_WAY
    if executes_in_order(first, second) or first.by_warp:
        done = (first.told,) if first.by_warp else ()
        where = "9.7.16.6.4.4" if first.by_warp else "9.7.16.6.4.3"
        yield Way("told", (*done, "before", tell), (hear, "after"), Verdict.RIGHT, where)
        yield Way("no fence before", (*done, tell), (hear, "after"), Verdict.UNFENCED, where)
        yield Way("no fence after", (*done, "before", tell), (hear,), Verdict.UNFENCED, where)
        if once:
            yield Way("not told", (*done, "before"), ("after",), Verdict.WRONG, where)
    if first.by_warp and link == "an mbarrier":  # a relaxed arrival says what the fence knew
        behind = ("before", first.told, tell)
        yield Way("waited for behind the fence", behind, (hear, "after"), Verdict.RIGHT, where)
    if first.by_warp and once:
        late = ("before", tell, first.told)
        yield Way("not waited for", late[:2], (hear, "after"), Verdict.WRONG, "9.7.16.6.4.4")
        yield Way("waited for too late", late, (hear, "after"), Verdict.WRONG, "9.7.16.6.4.4")
    if not first.by_warp:
        yield from _committed(first, second, link)


def _committed(first: Operation, second: Operation, link: str) -> Iterator[Way]:
    """The first is one thread's, which commits it."""
    tell, hear = _TELLING[link]
    where = "9.7.16.6.4.4"
    mine = ("commit done", "wait.relaxed done 0", "after")
    on = (*mine, "before", tell)
    yield Way("composed", on, (hear, "after"), Verdict.RIGHT, where)
    yield Way("composed, no fence after", on, (hear,), Verdict.UNFENCED, where)
    if link != _FIRST_WAY:
        return
    theirs = ("wait.relaxed done 0", "after")
    yield Way("committed", ("commit done",), theirs, Verdict.RIGHT, where)
    yield Way("committed, no fence", ("commit done",), theirs[:1], Verdict.UNFENCED, where)
    if executes_in_order(first, second):
        return
    yield Way("not complete", ("before", tell), (hear, "after"), Verdict.WRONG, where)
    foreign = (hear, "after", "commit done", "wait.relaxed done 0", "after")
    yield Way("another's commit", ("before", tell), foreign, Verdict.WRONG, "9.7.16.12.1")


# ---- kernels ----------------------------------------------------------------------------------

FILLED = """
    if t0
    cp 0 A
    commit ready
    end
    wait ready 0
    after
    before
    bar
    after
"""
"""Columns 0 to 7 hold something that all threads know of before the first of the two."""


def _kernel(*body: str, inits: str, threads: int) -> Kernel:
    """A kernel of two operations, between what allocates and what frees."""
    begun = begin("ready:1", *inits.split(), columns=128)
    cleared = begun.replace("init_fence", "init_fence\nclear flag")
    return story(cleared, FILLED, *body, finish(128), threads=threads)


def _guarded(operation: Operation, lines: tuple[str, ...], warp: int) -> str:
    """The lines, by the one thread of a warp that issues."""
    return "\n".join(lines if operation.by_warp else (f"if t{32 * warp}", *lines, "end"))


_END = "wait_ld\nwait_st\nif t{thread}\ncommit {name}\nend\nwait {name} 0"
"""A warp waits for all that it has under way, for what is not this table's question."""


def _alone(first: Operation, second: Operation, way: Way) -> Kernel:
    """Both are warp 0's; where the second is a warp's, the whole warp waits."""
    if first.by_warp == second.by_warp:
        lines = (first.line, *way.behind, *way.before, second.line)
        middle = _guarded(first, lines, 0)
    else:
        begun = _guarded(first, (first.line, *way.behind), 0)
        waits, rest = (way.before, ()) if second.by_warp else ((), way.before)
        middle = "\n".join((begun, *waits, _guarded(second, (*rest, second.line), 0)))
    body = ("if w0", middle, _END.format(thread=0, name="back"), "end")
    return _kernel(*body, inits="done:1 back:1", threads=32)


def _handed_on(first: Operation, second: Operation, way: Way) -> Kernel:
    """The first is warp 0's, the second warp 4's.

    One thread tells of a warp's operation: bar.warp.sync orders what the others did before that.
    """
    issued = _guarded(first, (first.line, *way.behind), 0)
    if first.by_warp:
        issued = issued.replace("arrive", "warp\n@%t0 arrive").replace("set", "warp\n@%t0 set")
    hears = (
        "\n".join((*way.before, second.line))
        if second.by_warp
        else _guarded(second, (*way.before, second.line), 4)
    )
    if second.by_warp:
        hears = hears.replace("commit", "@%t128 commit")
    body = (
        "if w0", issued, _END.format(thread=0, name="back"), "end",
        "if w4", hears, _END.format(thread=128, name="empty"), "end",
    )  # fmt: skip
    return _kernel(*body, inits="done:1 full:1 back:1 empty:1", threads=160)


def _pairs() -> Iterator[tuple[Operation, Operation]]:
    pairs = itertools.product(OPERATIONS, OPERATIONS)
    return ((first, second) for first, second in pairs if meet(first, second))


def same_thread() -> Iterator[Case]:
    """Both operations by the same thread, or by a warp and its first thread.

    A multiply over the A of an earlier one is none of the five pairs of 9.7.16.6.2, and attention
    kernels in use leave it to their order.
    """
    for first, second in _pairs():
        for way in _same_thread(first, second):
            name = f"{first.name} -> {second.name}: {way.name}"
            relied_on = (first, second) == (READER, MMA) and way.verdict is Verdict.WRONG
            verdict = Verdict.RELIED_ON if relied_on else way.verdict
            yield Case(name, _alone(first, second, way), verdict, way.section)


def other_thread() -> Iterator[Case]:
    """The second operation by another warp."""
    for (first, second), link in itertools.product(_pairs(), _TELLING):
        for way in _other_thread(first, second, link):
            name = f"{first.name} -> {second.name}, {link}: {way.name}"
            yield Case(name, _handed_on(first, second, way), way.verdict, way.section)
