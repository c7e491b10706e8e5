"""Kernels whose only barrier is forgotten: two warps and a word or more of shared memory.

PTX ISA, Memory Consistency Model: two accesses that conflict and that nothing orders are a race,
unless both are atomic.  Each body stands with its barriers, and without each of them.
"""

from __future__ import annotations

import itertools

from tests.each import each
from tests.isel.verifier.kernels import errors, kernel

HEAD = """\
    .shared .align 16 .b8 words[256];
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, words;
    add.u32 %r4, %r3, %r2;
    xor.b32 %r5, %r2, 128;
    add.u32 %r6, %r3, %r5;
"""

BARRIER = "bar.sync 0;"
ONE_WRITES = "@%p1 st.shared.b32 [words], 0;"
EACH_WRITES = "st.shared.b32 [%r4], %r1;"
NEIGHBOURS_READ = "ld.shared.b32 %r7, [%r6];"
ALL_READ = "ld.shared.b32 %r7, [words];"
ALL_COUNT = "atom.shared.add.u32 %r7, [words], 1;"
ALL_ADD = "red.shared.add.u32 [words], 1;"

KERNELS = {
    "what the other warp wrote": (EACH_WRITES, BARRIER, NEIGHBOURS_READ),
    "a counter that one thread clears": (ONE_WRITES, BARRIER, ALL_COUNT),
    "a counter that all read": (ALL_ADD, BARRIER, ALL_READ),
    "a histogram": (ONE_WRITES, BARRIER, ALL_COUNT, BARRIER, ALL_READ),
}
ORDERED = {
    "two atomic operations": (ALL_COUNT, ALL_ADD),
    "each thread its own word": (EACH_WRITES, "ld.shared.b32 %r7, [%r4];"),
    "reads alone": (ALL_READ, NEIGHBOURS_READ),
}


def _rules(statements: tuple[str, ...]) -> set[str]:
    """The rules that a kernel of these statements breaks."""
    body = "\n".join(statements)
    return errors(kernel(HEAD + body, "", ".reqntid 64", target="sm_80"))


@each("name", KERNELS)
def test_each_barrier_is_missed(name: str):
    statements = KERNELS[name]
    assert _rules(statements) == set()
    for number, statement in enumerate(statements):
        if statement == BARRIER:
            left = (*statements[:number], *statements[number + 1 :])
            assert _rules(left) == {"shared/race"}


@each("name", ORDERED)
def test_what_needs_no_barrier(name: str):
    for order in itertools.permutations(ORDERED[name]):
        assert _rules(order) == set()


def test_masks_are_judged_where_there_is_no_barrier():
    assert _rules(("shfl.sync.bfly.b32 %r7, %r1, 1, 31, 0xffff;",)) == {"shfl/no-member"}


OWN_ROWS = """\
    and.b32 %r7, %r1, 32;
    shl.b32 %r7, %r7, 2;
    shl.b32 %r8, %r1, 4;
    and.b32 %r8, %r8, 255;
    xor.b32 %r7, %r7, %r8;
    add.u32 %r7, %r3, %r7;
"""
"""The first eight lanes' rows of 16 bytes are the warp's words, the next eight's the other's."""


@each("number, found", [("x1", set()), ("x2", {"shared/race"})])
def test_of_a_matrix_as_many_addresses_count_as_it_has_rows(number: str, found: set[str]):
    registers = {"x1": "{%r7}", "x2": "{%r7, %r8}"}[number]
    load = f"ldmatrix.sync.aligned.m8n8.{number}.shared.b16 {registers}, [%r7];"
    assert _rules((EACH_WRITES, "bar.warp.sync -1;", OWN_ROWS, load)) == found
