"""Races that only what global memory holds decides: which threads meet, and how often.

A run makes up arguments and memory: every integer is the same.  PTX ISA, Memory Consistency Model,
Conflict and Data-races: two operations race if their locations overlap; an index that is loaded may
be another one for each thread.
"""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from intrinsics.findings import Severity
from isel.verifier.ordering.judgement.contents import Contents
from tests.each import each
from tests.isel.verifier.kernels import kernel, said

HEAD = """\
    .reg .b32 %i;
    .shared .align 4 .b8 words[512];
    .shared .align 4 .b8 indices[512];
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, words;
    add.u32 %r3, %r2, %r1;
    mul.wide.u32 %rd1, %t, 4;
    add.u64 %rd2, %x, %rd1;
"""
BEFORE = "    st.shared.b32 [%r3], 0;\n    bar.sync 0;\n"
ADD = """\
    shl.b32 %r4, %i, 2;
    add.u32 %r5, %r2, %r4;
    ld.shared.b32 %r6, [%r5];
    add.u32 %r6, %r6, 1;
    st.shared.b32 [%r5], %r6;
"""
"""Adds 1 to the word of number %i."""
THROUGH = """\
    mov.u32 %r7, indices;
    add.u32 %r7, %r7, %r1;
    ld.global.b32 %r8, [%rd2];
    st.shared.b32 [%r7], %r8;
    bar.sync 0;
    ld.shared.b32 %i, [%r7];
"""
SOME = """\
    ld.global.b32 %r8, [%rd2];
    setp.eq.u32 %p1, %r8, 0;
    mov.u32 %i, 3;
    @%p1 bra END;
"""

FIRST_SOME = """\
    ld.global.b32 %r8, [%x];
    setp.ge.u32 %p1, %t, %r8;
    mov.u32 %i, 3;
    @%p1 bra END;
"""
FIRST_OF_ARGUMENT = """\
    ld.param.u32 %r8, [n];
    setp.ge.u32 %p1, %t, %r8;
    mov.u32 %i, 3;
    @%p1 bra END;
"""

INDICES: dict[str, tuple[str, Severity]] = {
    "each thread's own index from memory": ("    ld.global.b32 %i, [%rd2];\n", Severity.REVIEW),
    "one that is kept in shared memory": (THROUGH, Severity.REVIEW),
    "threads that memory chooses": (SOME, Severity.REVIEW),
    "bits of the thread's number": ("    and.b32 %i, %t, %n;\n", Severity.REVIEW),
    "its lowest bits": ("    and.b32 %i, %t, 3;\n", Severity.ERROR),
    "as many threads as memory says": (FIRST_SOME, Severity.REVIEW),
    "as many threads as an argument says": (FIRST_OF_ARGUMENT, Severity.ERROR),
    "one index from memory for all threads": ("    ld.global.b32 %i, [%x];\n", Severity.ERROR),
    "one that is an argument": ("    ld.param.u32 %i, [n];\n", Severity.ERROR),
    "a constant": ("    mov.u32 %i, 3;\n", Severity.ERROR),
}


def races(body: str) -> list[Severity]:
    """How severe the races of a kernel are; it has no other findings."""
    found = said(kernel(f"{HEAD}{body}END:", ".param .u64 x, .param .u32 n"))
    assert {f.rule for f in found} <= {"shared/race"}
    return [f.severity for f in found]


@each("name", INDICES)
def test_threads_meet_where_their_indices_are_the_same(name: str) -> None:
    index, severity = INDICES[name]
    assert races(BEFORE + index + ADD) == [severity]


def test_indices_from_two_places_may_be_two() -> None:
    """Warp 0 stores at x[0], all load at x[1]: they meet if both are the same."""
    two = "    ld.global.b32 %i, [%x];\n    ld.global.b32 %r8, [%x+4];\n"
    addresses = (
        "    shl.b32 %r4, %i, 2;\n    add.u32 %r5, %r2, %r4;\n"
        "    shl.b32 %r8, %r8, 2;\n    add.u32 %r9, %r2, %r8;\n"
    )
    store = "    setp.gt.u32 %p1, %t, 31;\n    @!%p1 st.shared.b32 [%r5], 1;\n"
    load = "    ld.shared.b32 %r6, [%r{}];\n"
    assert races(BEFORE + two + addresses + store + load.format(9)) == [Severity.REVIEW]
    assert races(BEFORE + two + addresses + store + load.format(5)) == [Severity.ERROR]


COUNTED = """\
    .shared .align 4 .b8 counts[1024];
    mov.u32 %r2, counts;
    shr.u32 %r10, %t, 5;
    {first}
    shl.b32 %r4, %r11, 2;
    add.u32 %r5, %r2, %r4;
    st.shared.b32 [%r5], 0;
    st.shared.b32 [%r5+{step}], 0;
    {meet}
    setp.ge.u32 %p1, %t, %n;
    @%p1 bra END;
    ld.global.b32 %i, [%rd2];
    mad.lo.u32 %r12, %r10, 64, %i;
    shl.b32 %r12, %r12, 2;
    add.u32 %r12, %r2, %r12;
    st.shared.b32 [%r12], 1;
"""
"""Each warp has 64 words, clears all or others' first, and stores at indices from memory."""
OF_ALL = {"first": "mov.u32 %r11, %t;", "step": 512}
OF_THE_WARP = {"first": "mad.lo.u32 %r11, %r10, 32, %t;", "step": 128}


def test_indices_from_memory_are_small_beside_arguments() -> None:
    """With n threads and indices as large as n nobody stores in another one's words."""
    assert races(COUNTED.format(**OF_ALL, meet="")) == [Severity.REVIEW]
    assert races(COUNTED.format(**OF_ALL, meet="bar.sync 0;")) == []
    assert races(COUNTED.format(**OF_THE_WARP, meet="bar.warp.sync -1;")) == []


# ---- where an argument places a variable ---------------------------------------------------------

DIVIDED = """\
    ld.param.u32 %i, [n];
    shl.b32 %r4, %i, 2;
    add.u32 %r5, %r2, %r4;
    add.u32 %r6, %r5, %r1;
    setp.gt.u32 %p1, %t, 63;
    @%p1 st.shared.b32 [%r3+{there}], 1;
    @!%p1 ld.shared.b32 %r7, [%r6+{here}];
"""
"""Words of one variable: threads 64 on store at their own, the others load from number n on."""


@each("here, severity", {"from n on": (0, [Severity.REVIEW]), "behind all": (512, [])}.values())
def test_an_argument_may_divide_a_variable(here: int, severity: list[Severity]) -> None:
    """With n = 5 thread 59 loads what thread 64 stores; with n = 512 nobody does."""
    cleared = f"    st.shared.b32 [%r3+512], 0;\n{BEFORE}"
    assert races(cleared + DIVIDED.format(here=here, there=0)) == severity


def test_the_same_words_whatever_the_argument() -> None:
    same = DIVIDED.replace("shl.b32 %r4, %i, 2", "and.b32 %r4, %i, 0")
    assert races(same.format(here=256, there=0)) == [Severity.ERROR]


LEFT_OVER = DIVIDED.replace(
    "    setp.gt.u32 %p1",
    "    and.b32 %r8, %i, 3;\n    setp.eq.u32 %p2, %r8, 0;\n    @%p2 bra END;\n    setp.gt.u32 %p1",
).replace("ld.shared.b32 %r7, [%r6+{here}]", "st.shared.b32 [%r6+{here}], 2")
"""Two stores where n is no multiple of four, as behind a loop of four steps at a time."""


@each("here, severity", {"from n on": (0, [Severity.REVIEW]), "behind all": (512, [])}.values())
def test_an_argument_may_divide_what_is_left_over(here: int, severity: list[Severity]) -> None:
    """Neither 4 nor 512 leaves anything over; 5 does, and of larger ones 1,029."""
    assert races(LEFT_OVER.format(here=here, there=0)) == severity


def test_what_is_left_over_lies_at_the_same_words_whatever_the_argument() -> None:
    same = LEFT_OVER.replace("shl.b32 %r4, %i, 2", "and.b32 %r4, %i, 0")
    assert races(same.format(here=256, there=0)) == [Severity.ERROR]


LONG = DIVIDED.replace(
    "    setp.gt.u32 %p1",
    "    setp.eq.u32 %p2, %i, 0;\n    @%p2 bra END;\n    mov.u32 %r8, 0;\n"
    "TURN:\n    add.u32 %r8, %r8, 1;\n    bar.sync 0;\n    bar.sync 0;\n    bar.sync 0;\n"
    "    setp.lt.u32 %p2, %r8, %i;\n    @%p2 bra TURN;\n"
    "    setp.gt.u32 %p1",
).replace("ld.shared.b32 %r7, [%r6+{here}]", "st.shared.b32 [%r6+{here}], 2")
"""A loop of n turns before two stores: with n = 512 or 1,029 no run comes to its end."""


@each("here, severity", {"from n on": (0, [Severity.REVIEW]), "behind all": (512, [])}.values())
def test_an_argument_may_divide_what_is_behind_a_long_loop(
    here: int, severity: list[Severity]
) -> None:
    """With n = 5 they meet; with 5 more than there are threads nobody does."""
    assert races(LONG.format(here=here, there=0)) == severity


def test_what_is_behind_a_long_loop_lies_at_the_same_words_whatever_the_argument() -> None:
    same = LONG.replace("shl.b32 %r4, %i, 2", "and.b32 %r4, %i, 0")
    assert races(same.format(here=256, there=0)) == [Severity.ERROR]


BEYOND = DIVIDED.replace(
    "    setp.gt.u32 %p1", "    setp.lt.u32 %p2, %t, %i;\n    @%p2 bra END;\n    setp.gt.u32 %p1"
).replace("ld.shared.b32 %r7, [%r6+{here}]", "st.shared.b32 [%r6+{here}], 2")
"""Two stores of threads from number n on, of which there are none where n is large enough."""


@each("here, severity", {"from n on": (0, [Severity.REVIEW]), "behind all": (512, [])}.values())
def test_what_threads_beyond_an_argument_do_may_never_be_done(
    here: int, severity: list[Severity]
) -> None:
    """With n < 64 they meet; a caller whose n is the number of threads has none beyond."""
    assert races(BEYOND.format(here=here, there=0)) == severity


def test_threads_beyond_an_argument_meet_at_the_same_words_whatever_it_is() -> None:
    same = BEYOND.replace("shl.b32 %r4, %i, 2", "and.b32 %r4, %i, 0")
    assert races(same.format(here=256, there=0)) == [Severity.ERROR]


# ---- launched for nothing ------------------------------------------------------------------------

LOOP = """\
    st.shared.b32 [%r3], %t;
    {count}
    mov.u32 %r8, 0;
    setp.eq.u32 %p1, %i, 0;
    @%p1 bra DONE;
LOOP:
    {meet}
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p2, %r8, %i;
    @%p2 bra LOOP;
DONE:
    xor.b32 %r9, %r1, 256;
    add.u32 %r9, %r2, %r9;
    ld.shared.b32 %r6, [%r9];
"""
"""The only barrier between a store and the load of another warp stands in a loop."""

COUNTS = {
    "from memory": ("ld.global.b32 %i, [%x];", Severity.REVIEW),
    "an argument": ("ld.param.u32 %i, [n];", Severity.ERROR),
    "an argument, beside memory": (
        "ld.param.u32 %i, [n];\n    ld.global.b32 %r10, [%x];\n    setp.eq.u32 %p3, %r10, 9;\n"
        "    @%p3 bra END;", Severity.ERROR),
}  # fmt: skip


@each("name", COUNTS)
def test_a_race_of_no_iterations_is_doubtful_where_memory_counts_them(name: str) -> None:
    count, severity = COUNTS[name]
    assert races(LOOP.format(count=count, meet="bar.sync 0;")) == [severity]
    assert races(LOOP.format(count=count, meet="")) == [Severity.ERROR]


def test_a_way_that_only_nothing_takes_is_judged() -> None:
    """With n = 0 all threads come to a store and a load that no other launch executes."""
    only = (
        "    ld.param.u32 %i, [n];\n    setp.ne.u32 %p1, %i, 0;\n    @%p1 bra END;\n"
        "    st.shared.b32 [%r3], %t;\n    xor.b32 %r9, %r1, 256;\n    add.u32 %r9, %r2, %r9;\n"
        "    {meet}ld.shared.b32 %r6, [%r9];\n"
    )
    assert races(only.format(meet="")) == [Severity.ERROR]
    assert races(only.format(meet="bar.sync 0;\n    ")) == []


def test_sums_of_many_loads_are_followed_in_program_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record of a sum is followed about once, not once for each number that is loaded."""
    follow = Mock(side_effect=Contents._follow)
    monkeypatch.setattr(Contents, "_follow", lambda self, index: follow(self, index))
    count = 30
    sums = "".join(
        f"    ld.global.b32 %l{n}, [%x+{4 * n}];\n    add.u32 %s{n + 1}, %s{n}, %l{n};\n"
        for n in range(count)
    )
    index = f"    .reg .b32 %l<{count}>, %s<{count + 1}>;\n    mov.u32 %s0, 0;\n{sums}"
    assert races(f"{BEFORE}{index}    and.b32 %i, %s{count}, 3;\n{ADD}") == [Severity.ERROR]
    assert 2 * count < follow.call_count < 5 * count
