"""Random right kernels: steps of the canonical patterns, one after another, in loops or not.

Each step begins and ends with all operations complete and all threads knowing it, so any sequence
of steps is right as each step is.  Phases of mbarriers are counted as the steps are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import strategies as st

from tests.isel.verifier.patterns.pattern_ptx import Kernel
from tests.isel.verifier.patterns.stories import begin, finish, story

COLUMNS = (0, 32, 64, 96)
ISSUERS = (0, 32, 64, 96)


class Draft:
    """Lines so far, and how often each mbarrier has gone round."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.rounds: Counter[str] = Counter()
        self.flags = 0

    def add(self, text: str) -> None:
        self.lines += [x.strip() for x in text.splitlines() if x.strip()]

    def parity(self, barrier: str) -> int:
        """The parity of this round of the mbarrier, which it begins."""
        self.rounds[barrier] += 1
        return (self.rounds[barrier] + 1) % 2

    def finish_round(self) -> None:
        """All threads know that all threads are here."""
        self.add("before\nbar\nafter")


Step = Callable[[Draft], None]


def _read(draft: Draft, column: int, wait: str) -> None:
    draft.add(f"{wait} done {draft.parity('done')}\nafter\nld {column} 8\nwait_ld\nout")


def multiply(column: int, thread: int, more: int, wait: str) -> Step:
    """MMAs on one accumulator, committed, waited for and read by all."""

    def step(draft: Draft) -> None:
        again = "\n".join(f"mma {column} A+{2 * i} B+{2 * i} acc" for i in range(1, more + 1))
        draft.add(f"if t{thread}\nmma {column} A B new\n{again}\ncommit done\nend")
        _read(draft, column, wait)

    return step


def store_multiply(columns: tuple[int, int], thread: int, how: str) -> Step:
    """All warps store A; a thread multiplies it behind a barrier or an mbarrier."""
    source, column = columns

    def step(draft: Draft) -> None:
        draft.add(f"st {source} 8\nwait_st\nbefore")
        if how == "bar":
            draft.add(f"bar\nafter\nif t{thread}")
        else:
            draft.add(f"arrive back\nif t{thread}\nwait back {draft.parity('back')}\nafter")
        draft.add(f"mma {column} [{source}] B new\ncommit done\nend")
        _read(draft, column, "wait")

    return step


def copy_multiply(columns: tuple[int, int], first: int, second: int, how: str) -> Step:
    """A thread copies A, another multiplies it."""
    source, column = columns

    def step(draft: Draft) -> None:
        draft.add(f"if t{first}\ncp {source} A\nbefore")
        if how == "bar":
            draft.add(f"end\nbar\nafter\nif t{second}")
        elif first == second:
            draft.add("after")
        else:
            kind = ".relaxed" if how == "relaxed" else ""
            parity = draft.parity("full")
            draft.add(f"arrive{kind} full\nend\nif t{second}\nwait{kind} full {parity}\nafter")
        draft.add(f"mma {column} [{source}] B new\ncommit done\nend")
        _read(draft, column, "wait.relaxed")

    return step


def copy_read(column: int, thread: int) -> Step:
    """A copy that is committed, waited for and read."""

    def step(draft: Draft) -> None:
        draft.add(f"if t{thread}\ncp {column} A\ncommit done\nend")
        _read(draft, column, "wait.relaxed")

    return step


def tell(column: int, thread: int, how: str) -> Step:
    """The issuer waits and tells the others through a barrier or a second mbarrier."""

    def step(draft: Draft) -> None:
        parity = draft.parity("full")
        draft.add(f"if t{thread}\nmma {column} A B new\ncommit full\nwait.relaxed full {parity}")
        draft.add("after")
        if how == "bar":
            draft.add(f"end\nbefore\nbar\nafter\nld {column} 8\nwait_ld\nout")
        else:
            draft.add("before\narrive.relaxed done\nend")
            _read(draft, column, "wait.relaxed")

    return step


def give_back(column: int, thread: int, how: str) -> Step:
    """All read an accumulator and give it back; it is overwritten and read again."""

    def step(draft: Draft) -> None:
        draft.add(f"st {column} 8\nwait_st\nld {column} 8\nwait_ld\nbefore")
        if how == "bar":
            draft.add(f"bar\nafter\nif t{thread}")
        elif how == "leaders":
            parity = draft.parity("taken")
            draft.add(f"warp\nelect\n@%e arrive taken\nif t{thread}\nwait taken {parity}\nafter")
        else:
            parity = draft.parity("back")
            draft.add(f"arrive.relaxed back\nif t{thread}\nwait.relaxed back {parity}\nafter")
        draft.add(f"mma {column} A B new\ncommit done\nend")
        _read(draft, column, "wait")

    return step


def twice(steps: list[Step]) -> Step:
    """A loop of the steps, each twice: parities are those of the first turn in every turn."""

    def step(draft: Draft) -> None:
        before = dict(draft.rounds)
        draft.add(f"loop n{len(draft.lines)}")
        for _ in range(2):
            for one in steps:
                one(draft)
                draft.finish_round()
        draft.add("end")
        turned = {b: draft.rounds[b] - before.get(b, 0) for b in draft.rounds}
        assert all(n % 2 == 0 for n in turned.values())

    return step


_column = st.sampled_from(COLUMNS)
_thread = st.sampled_from(ISSUERS)
_apart = st.sampled_from([(a, b) for a in COLUMNS for b in COLUMNS if a != b])

_spelled = st.sampled_from(["wait", "wait.relaxed"])

SIMPLE: st.SearchStrategy[Step] = st.one_of(
    st.builds(multiply, _column, _thread, st.integers(0, 2), _spelled),
    st.builds(store_multiply, _apart, _thread, st.sampled_from(["bar", "back"])),
    st.builds(
        copy_multiply, _apart, _thread, _thread, st.sampled_from(["bar", "relaxed", "released"])
    ),
    st.builds(copy_read, _column, _thread),
    st.builds(tell, _column, _thread, st.sampled_from(["bar", "mbarrier"])),
    st.builds(give_back, _column, _thread, st.sampled_from(["bar", "leaders", "back"])),
)
"""Steps without loops."""

STEPS = st.lists(
    SIMPLE | st.builds(twice, st.lists(SIMPLE, min_size=1, max_size=2)), min_size=1, max_size=4
)
"""Sequences of steps."""

EXAMPLES: dict[str, list[Step]] = {
    "copied and read, then multiplied": [copy_read(64, 96), multiply(64, 64, 2, "wait")],
    "copied and read by one thread, then by two": [
        copy_read(32, 32),
        copy_multiply((32, 0), 96, 64, "bar"),
    ],
    "copied by one, multiplied by another, in a loop": [
        twice([copy_multiply((64, 96), 64, 96, "bar")])
    ],
    "copied and multiplied in turn, in a loop": [
        twice([copy_multiply((64, 96), 96, 64, "released"), give_back(96, 0, "back")])
    ],
    "handed over, then multiplied by the first": [
        copy_multiply((0, 32), 0, 96, "bar"),
        tell(0, 64, "mbarrier"),
    ],
    "multiplied, then handed over": [
        multiply(0, 32, 1, "wait.relaxed"),
        copy_multiply((0, 64), 32, 0, "bar"),
    ],
    "copied and read, copied and handed over": [
        copy_read(64, 64),
        copy_multiply((64, 0), 0, 64, "relaxed"),
    ],
    "given back by leaders, then multiplied": [
        give_back(0, 32, "leaders"),
        multiply(0, 96, 0, "wait"),
    ],
    "told, then copied and multiplied": [
        tell(32, 0, "mbarrier"),
        copy_multiply((64, 32), 64, 96, "released"),
    ],
    "given back by threads, then by leaders": [
        give_back(64, 96, "back"),
        give_back(64, 0, "leaders"),
    ],
    "told by a barrier, then by an mbarrier": [tell(32, 96, "bar"), tell(32, 32, "mbarrier")],
    "multiplied from where the last result was": [
        copy_multiply((0, 96), 96, 32, "released"),
        copy_multiply((96, 32), 32, 96, "relaxed"),
    ],
    "told, then multiplied, in a loop": [
        twice([tell(96, 96, "mbarrier"), multiply(96, 0, 2, "wait")])
    ],
    "handed over, then copied and read": [
        copy_multiply((0, 96), 32, 96, "released"),
        copy_read(0, 0),
    ],
    "stored, told, given back, in a loop": [
        twice([store_multiply((0, 32), 64, "back"), tell(96, 32, "mbarrier")]),
        give_back(32, 0, "bar"),
    ],
}
"""Sequences of which wrong things have been said, and one of which none was."""


def kernel(steps: list[Step]) -> Kernel:
    """The kernel that takes these steps."""
    draft = Draft()
    for step in steps:
        step(draft)
        draft.finish_round()
    barriers = ("full:1", "done:1", "back:128", "taken:4")
    return story(begin(*barriers, columns=128), "\n".join(draft.lines), finish(128))
