"""Scopes: what is released counts where each scope on the way includes the other thread.

CTA 0 stores a word and sets a flag; another CTA waits for the flag and reads the word: its
neighbour in the cluster, or one of another cluster.  The expected verdict is the manual's
definition, written down in `ENOUGH`: .cta has the threads of a CTA, .cluster those of a cluster,
.gpu and .sys all.
PTX ISA, Memory Consistency Model: Scope; Morally strong operations; Release and Acquire Patterns.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from intrinsics.findings import Finding
from tests.each import each
from tests.sim.ptx import SCHEDULES, findings

ENOUGH = {"cluster": ("cluster", "gpu", "sys"), "grid": ("gpu", "sys")}
"""Which scopes include threads of another CTA, of the same cluster or not."""

VARIABLES = ".global .align 4 .b32 flag;\n.global .align 4 .b32 word;\n.global .align 4 .b32 sink;"

MESSAGE = """
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra end;
    setp.eq.u32 %p2, %r1, {reader};
    @%p2 bra look;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra end;
    st.global.u32 [word], 5;
    {release}
    bra end;
look:
    {acquire}
    setp.eq.u32 %p3, %r4, 0;
    @%p3 bra look;
    {behind}
    ld.global.u32 %r5, [word];
    st.global.u32 [sink], %r5;
end:"""
"""CTA 0 tells the reader through a flag."""

RELEASES = {
    "st.release": "st.release.{s}.global.u32 [flag], 1;",
    "a fence, then a wide write": "fence.acq_rel.{s}; st.relaxed.sys.global.u32 [flag], 1;",
    "a wide fence, then a write": "fence.acq_rel.sys; st.relaxed.{s}.global.u32 [flag], 1;",
    "atom.release": "atom.release.{s}.global.exch.b32 %r6, [flag], 1;",
    "red behind a fence": "fence.sc.{s}; red.relaxed.gpu.global.add.u32 [flag], 1;",
}
ACQUIRES = {
    "ld.acquire": ("ld.acquire.{s}.global.u32 %r4, [flag];", ""),
    "a wide read, then a fence": (
        "ld.relaxed.sys.global.u32 %r4, [flag];", "fence.acq_rel.{s};"),
    "a read, then a wide fence": (
        "ld.relaxed.{s}.global.u32 %r4, [flag];", "fence.acq_rel.sys;"),
    "atom.acquire": ("atom.acquire.{s}.global.or.b32 %r4, [flag], 0;", ""),
    "a volatile read, then a fence": ("ld.volatile.global.u32 %r4, [flag];", "fence.acq_rel.{s};"),
}  # fmt: skip
WIDE = ("ld.acquire.sys.global.u32 %r4, [flag];", "")
SCOPES = ("cta", "cluster", "gpu", "sys")
AWAY = {"cluster": 1, "grid": 2}
"""The CTA that reads, where a cluster has two."""


def _told(away: str, release: str, acquire: tuple[str, str], schedule: str) -> list[Finding]:
    """What is found where a word is handed on so."""
    body = MESSAGE.format(reader=AWAY[away], release=release, acquire=acquire[0], behind=acquire[1])
    return findings(
        body, np.zeros(1, np.uint32), variables=VARIABLES, schedule=schedule,
        grid=(4, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip


@each(
    "away, release, scope, schedule",
    list(itertools.product(AWAY, RELEASES, SCOPES, SCHEDULES)),
    turns=4,
)
def test_release(away: str, release: str, scope: str, schedule: str) -> None:
    """A release counts for a reader in another CTA where its scope includes that."""
    found = _told(away, RELEASES[release].format(s=scope), WIDE, schedule)
    assert [f.rule for f in found] == ([] if scope in ENOUGH[away] else ["sim/race"])


@each(
    "away, acquire, scope, schedule",
    list(itertools.product(AWAY, ACQUIRES, SCOPES, SCHEDULES)),
    turns=4,
)
def test_acquire(away: str, acquire: str, scope: str, schedule: str) -> None:
    """An acquire takes over what a thread released that its scope includes."""
    there, behind = (part.format(s=scope) for part in ACQUIRES[acquire])
    found = _told(away, "st.release.sys.global.u32 [flag], 1;", (there, behind), schedule)
    assert [f.rule for f in found] == ([] if scope in ENOUGH[away] else ["sim/race"])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_places(schedule: str) -> None:
    """The finding says that a scope is too narrow, and blames the read of the word."""
    release = RELEASES["a fence, then a wide write"].format(s="cta")
    (found,) = _told("grid", release, WIDE, schedule)
    assert found.message.startswith("ld of warp 0 reads what st of warp 0 wrote")
    assert "4 bytes of word" in found.got
    assert "a scope that does not include both threads" in found.message
    assert "the release, the acquire" in found.expected


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_signals(schedule: str) -> None:
    """The finding names both CTAs, the write of the flag and the read of it between the two."""
    release = RELEASES["a fence, then a wide write"].format(s="cta")
    (found,) = _told("grid", release, WIDE, schedule)
    assert ", by CTA 2; the other access: st of warp 0 of CTA 0 at " in found.got
    other, signal, heard = map(int, re.findall(r" at [^:]*:(\d+)", found.got))
    assert other < signal
    assert heard < found.place.line


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_inside_a_cta(schedule: str) -> None:
    """Threads of one CTA need no more than .cta, in global memory too."""
    body = """
    setp.eq.u32 %p1, %tx, 0;
    setp.eq.u32 %p2, %tx, 32;
    @!%p1 bra other;
    st.global.u32 [word], 5;
    st.release.cta.global.u32 [flag], 1;
other:
    @!%p2 bra end;
look:
    ld.acquire.cta.global.u32 %r4, [flag];
    setp.eq.u32 %p3, %r4, 0;
    @%p3 bra look;
    ld.global.u32 %r5, [word];
end:"""
    one = np.zeros(1, np.uint32)
    assert findings(body, one, variables=VARIABLES, threads=64, schedule=schedule) == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("away, scope", [(away, scope) for away in AWAY for scope in ("cta", "cluster", "gpu", "sys")])
def test_atomics(away: str, scope: str, schedule: str) -> None:
    """Atomic operations of two CTAs on one word race where a scope leaves one of them out."""
    body = f"""
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra end;
    setp.eq.u32 %p2, %r1, {AWAY[away]};
    @%p2 red.relaxed.{scope}.global.add.u32 [word], 1;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 red.relaxed.gpu.global.add.u32 [word], 1;
end:"""
    found = findings(
        body, np.zeros(1, np.uint32), variables=VARIABLES, schedule=schedule,
        grid=(4, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip
    assert [f.rule for f in found] == ([] if scope in ENOUGH[away] else ["sim/race"])


NARROW_LATER = """
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra end;
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra look;
    st.global.u32 [word], 5;
    fence.acq_rel.gpu;
    {after}
    fence.acq_rel.cta;
    st.relaxed.gpu.global.u32 [flag], 1;
    bra end;
look:
    ld.relaxed.gpu.global.u32 %r4, [flag];
    setp.eq.u32 %p3, %r4, 0;
    @%p3 bra look;
    fence.acq_rel.cta;
    fence.acq_rel.gpu;
    ld.global.u32 %r5, [word];
    ld.global.u32 %r6, [sink];
end:"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_two_fences(schedule: str) -> None:
    """A narrow fence takes nothing from a wide one before it, and adds nothing for other CTAs."""
    one = np.zeros(1, np.uint32)
    for after, wrong in (("", []), ("st.global.u32 [sink], 7;", ["sim/race"])):
        found = findings(
            NARROW_LATER.format(after=after), one, variables=VARIABLES, schedule=schedule,
            grid=(2, 1, 1),
        )  # fmt: skip
        assert [f.rule for f in found] == wrong


# ---- accesses of two sizes -----------------------------------------------------------------------

TWO_WORDS = """
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra end;
    setp.eq.u32 %p2, %r1, 1;
    mov.u64 %rd1, 0x100000007;
    @%p2 bra look;
    {stores}
    bra end;
look:
    {loads}
    setp.eq.u64 %p3, %rd2, 0;
    @%p3 bra look;
    st.global.u64 [sink], %rd2;
end:"""
LONG = ".global .align 8 .b64 pair;\n.global .align 8 .b64 sink;"
HALVES = "st.relaxed.gpu.global.u32 [pair+4], 1; st.relaxed.gpu.global.u32 [pair], 7;"
WHOLE = "st.relaxed.gpu.global.u64 [pair], %rd1;"
READS = "ld.relaxed.gpu.global.u64 %rd2, [pair];"
READS_TWO = "ld.relaxed.gpu.global.v2.u32 {%r2, %r3}, [pair]; mov.b64 %rd2, {%r2, %r3};"


@pytest.mark.parametrize("schedule", SCHEDULES)
@each(
    "stores, loads, is_right",
    [(WHOLE, READS, True), (HALVES, READS_TWO, True), (HALVES, READS, False)],
)
def test_strong_accesses_overlap_completely(
    stores: str, loads: str, is_right: bool, schedule: str
) -> None:
    """Else they race: a number that is stored by halves is read by halves, a vector by its numbers.

    PTX ISA, Memory Consistency Model: Morally strong operations; Vector Data-types.
    """
    body = TWO_WORDS.format(stores=stores, loads=loads)
    found = findings(
        body, np.zeros(1, np.uint32), variables=LONG, schedule=schedule, grid=(2, 1, 1)
    )
    assert [f.rule for f in found] == ([] if is_right else ["sim/race"])
    for one in found:
        assert "do not overlap completely" in one.message
