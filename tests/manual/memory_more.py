"""The table of the memory model goes on: CTAs of a pair, shared memory, allocation.

What is expected is the manual's: 9.7.16.5 (table 46: pairs), 9.7.16.6.4 (fences, completion),
9.7.16.6.5 (shared memory is accessed through the async proxy), 9.7.16.7.1 (allocation).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from tests.isel.verifier.patterns.stories import begin, finish, story
from tests.manual.memory_table import CP, FILLED, LD, MMA, SHIFT, ST, Case, Operation, Verdict

RIGHT, UNFENCED, WRONG = Verdict.RIGHT, Verdict.UNFENCED, Verdict.WRONG

Row = tuple[str, str, str, Verdict]
"""What a way is called, the lines of one side, those of the other, and what comes of it."""

_ISSUED = (MMA, CP, SHIFT)
_MOVED = (LD, ST)

# ---- the other CTA of the pair ----------------------------------------------------------------

_PAIR_END = """
    wait_ld
    wait_st
    if lead
    commit.both back
    end
    wait.cluster back 0
    after
    before
    cluster
"""


def _pair_kernel(name: str, even: str, odd: str, verdict: Verdict) -> Case:
    """`even` is what the even CTA's warp does, `odd` what the other's does."""
    body = f"if !odd\n{even}\nend\nif odd\n{odd}\nend"
    head = begin("ready:1", "done:1", "full:1", "back:1", cluster=True)
    filled = FILLED.replace("if t0", "if lead").replace("commit", "commit.both")
    kernel = story(head, filled, body, _PAIR_END, finish(cluster=True), threads=32, group=2)
    return Case(f"pair: {name}", kernel, verdict, "9.7.16.6.4.4")


def _issued_by_even(first: Operation, second: Operation) -> Iterator[Row]:
    """The even CTA's thread issues, the odd CTA's warp moves."""
    x, y = first.line, second.line
    both, heard = f"{x}\ncommit.both done\nwait done 0", "wait.relaxed done 0"
    yield "committed to both", both, f"{heard}\nafter\n{y}", RIGHT
    yield "no fence", both, f"{heard}\n{y}", UNFENCED
    yield "committed to one", f"{x}\ncommit done", f"{heard}\nafter\n{y}", WRONG
    yield "not waited for", both, f"after\n{y}", WRONG


def _moved_by_odd(first: Operation, second: Operation) -> Iterator[Row]:
    """The odd CTA's warp moves, and tells the even CTA's thread, which issues."""
    done, x, y = first.told, first.line, second.line
    tell, hear = "warp\nif t0\narrive.remote full\nend", "wait.cluster full 0"
    told = f"{x}\n{done}\nbefore\n{tell}"
    yield "told", told, f"{hear}\nafter\n{y}", RIGHT
    late = f"{x}\nbefore\n{done}\n{tell}"
    yield "waited for behind the fence", late, f"{hear}\nafter\n{y}", RIGHT
    yield "no fence before", f"{x}\n{done}\n{tell}", f"{hear}\nafter\n{y}", UNFENCED
    yield "no fence after", told, f"{hear}\n{y}", UNFENCED
    yield "not waited for", f"{x}\nbefore\n{tell}", f"{hear}\nafter\n{y}", WRONG
    yield "not told", f"{x}\n{done}\nbefore", f"after\n{y}", WRONG


def other_cta() -> Iterator[Case]:
    """One operation by the even CTA's thread on both memories, one by the odd CTA's warp."""
    for first, second in itertools.product(_ISSUED, _MOVED):
        for way, x, y, verdict in _issued_by_even(first, second):
            name = f"{first.name} -> {second.name}: {way}"
            yield _pair_kernel(name, f"if lead\n{x}\nend", y, verdict)
    for first, second in itertools.product(_MOVED, _ISSUED):
        for way, x, y, verdict in _moved_by_odd(first, second):
            name = f"{first.name} -> {second.name}: {way}"
            yield _pair_kernel(name, f"if lead\n{y}\nend", x, verdict)


# ---- shared memory ----------------------------------------------------------------------------

_STORE = "st.shared.b32 [a], %thread;"
_COPY = "expect {0} 16384\ntma a {0}"
_BEGUN = "fill a 64\nproxy_fence\nbefore\nbar\nafter"
"""All of the tile is there before a thread stores its first word."""
_READERS = {"mma": "mma 0 a B new", "cp": "cp 0 a"}


def _one_thread(first: str, second: str) -> str:
    return f"if t0\n{first}\n{second}\nend"


def _two_threads(first: str, second: str) -> str:
    return f"if t0\n{first}\nend\nif t32\n{second}\nend"


def _stored(reader: str) -> Iterator[Row]:
    """A thread stores what the async proxy reads."""
    fenced = f"{_STORE}\nproxy_fence"
    yield "one: fenced", fenced, reader, RIGHT
    yield "one: no proxy fence", _STORE, reader, WRONG
    yield "two: fenced by the writer", f"{fenced}\narrive full", f"wait full 0\n{reader}", RIGHT
    heard = f"wait full 0\nproxy_fence\n{reader}"
    yield "two: fenced by the reader", f"{_STORE}\narrive full", heard, RIGHT
    yield "two: no proxy fence", f"{_STORE}\narrive full", f"wait full 0\n{reader}", WRONG
    yield "two: not told", fenced, reader, WRONG
    late = f"{_STORE}\narrive full\nproxy_fence"
    yield "two: the fence behind the arrival", late, f"wait full 0\n{reader}", WRONG


def _copied(reader: str) -> Iterator[Row]:
    """TMA writes the tile; a wait for its mbarrier orders reads by either proxy behind that."""
    copy = _COPY.format("full")
    yield "one: waited for", copy, f"wait full 0\n{reader}", RIGHT
    yield "one: not waited for", copy, reader, WRONG
    yield "two: waited for", copy, f"wait full 0\n{reader}", RIGHT
    yield "two: not waited for", copy, reader, WRONG


def _overwritten(reader: str, writer: str) -> Iterator[Row]:
    """It is written over, once the reader's commit has arrived."""
    yield "one: committed", f"{reader}\ncommit done", f"wait done 0\n{writer}", RIGHT
    yield "one: not waited for", f"{reader}\ncommit done", writer, WRONG
    yield "two: committed", f"{reader}\ncommit done", f"wait done 0\n{writer}", RIGHT
    yield "two: an arrival", f"{reader}\narrive done", f"wait done 0\n{writer}", WRONG
    yield "two: not waited for", f"{reader}\ncommit done", writer, WRONG


def _shared(what: str, rows: Iterable[Row], copies: int) -> Iterator[Case]:
    """Cases; all that was issued is complete at the end, and all bytes have come."""
    came = "wait full 0\n" if copies else ""
    head = begin("done:1", "full:1", "back:2")
    end = f"if t0\ncommit back\nend\nif t32\ncommit back\nend\n{came}wait back 0\nafter"
    for way, first, second, verdict in rows:
        threads = _one_thread if way.startswith("one") else _two_threads
        begun = "" if "TMA" in what else _BEGUN
        kernel = story(head, begun, threads(first, second), end, finish(), threads=64)
        yield Case(f"shared: {what}, {way}", kernel, verdict, "9.7.16.6.5")


def shared_memory() -> Iterator[Case]:
    """Threads, TMA, multiplies and copies on the same bytes."""
    for name, reader in _READERS.items():
        yield from _shared(f"store -> {name}", _stored(reader), 0)
        yield from _shared(f"TMA -> {name}", _copied(reader), 1)
        yield from _shared(f"{name} -> store", _overwritten(reader, _STORE), 0)
        yield from _shared(f"{name} -> TMA", _overwritten(reader, _COPY.format("full")), 1)


# ---- allocation -------------------------------------------------------------------------------


def _until_freed(operation: Operation) -> Iterator[tuple[str, str, str, Verdict]]:
    """Warp 1 uses the columns, warp 0 frees them."""
    line = operation.line
    if operation.by_warp:
        use, done = line, operation.told
    else:
        use, done = f"if t32\n{line}\ncommit done\nend", "wait done 0\nafter"
    yield "complete", f"{use}\n{done}", "before\nbar\nafter", RIGHT
    yield "not complete", use, "before\nbar\nafter", WRONG
    yield "not told", f"{use}\n{done}", "", WRONG


def allocation() -> Iterator[Case]:
    """From alloc to a first use by another warp, and from a last use to dealloc."""
    head = begin("ready:1", "done:1")
    for operation in (LD, ST, *_ISSUED):
        for way, use, link, verdict in _until_freed(operation):
            body = ("if w1", use, "end", link, "if w0", "dealloc 0 64", "end", "return")
            filled = FILLED if operation is not ST else ""
            kernel = story(head, filled, *body, threads=64)
            yield Case(f"{operation.name} -> dealloc: {way}", kernel, verdict, "9.7.16.7.1")
        early = head.replace("before #p_before\n    bar #p_bar\n    after #p_after\n", "")
        use = use if operation.by_warp else f"if t32\n{operation.line}\ncommit done\nend"
        told = operation.told if operation.by_warp else "wait done 0\nafter"
        kernel = story(early, "if w1", use, told, "end", finish(), threads=64)
        yield Case(f"alloc -> {operation.name}: no barrier", kernel, WRONG, "9.7.16.7.1")
