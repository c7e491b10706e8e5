"""Tensor memory that a CTA holds: at most 512 columns, in falling sizes, freed when all are done.

PTX ISA, tcgen05.alloc: it "blocks if the requested amount is not available"; "the number of columns
allocated should not increase between any two allocations in the execution order within the CTA".
"""

from __future__ import annotations

import re

import pytest

from intrinsics.findings import Severity
from tests.isel.verifier.function.function_kernels import CLEAN
from tests.isel.verifier.function.kernel_text import kernel
from tests.isel.verifier.function.tensor_kernels import line_of, said

ONE_WARP = """
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r9, [steps];
{body}
    $relinquish;
    ret;
"""


def one_warp(body: str) -> str:
    """A kernel of one warp that allocates and frees."""
    return kernel(ONE_WARP.format(body=body.strip("\n")), ".reqntid 32")


def allocate(slot: str, columns: int, register: str) -> str:
    """Allocate, read the address and use it."""
    return f"""
    $alloc [{slot}], {columns};
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 {register}, [{slot}];
    $store [{register}], {{%r1, %r1}};
    $stored;
"""


def free(register: str, columns: int) -> str:
    """Free."""
    return f"    $dealloc {register}, {columns};\n"


LOOP = "    mov.u32 %r40, 0;\nLOOP:\n"
NEXT = "    add.u32 %r40, %r40, 1;\n    setp.lt.u32 %p9, %r40, %r9;\n    @%p9 bra LOOP;\n"
A, B = "%r3", "%r4"

RIGHT = {
    "all of it": allocate("slot", 512, A) + free(A, 512),
    "two halves": allocate("slot", 256, A) + allocate("slot2", 256, B) + free(A, 256)
    + free(B, 256),
    "one after the other": allocate("slot", 512, A) + free(A, 512) + allocate("slot2", 256, B)
    + free(B, 256),
    "the same again and again": LOOP + allocate("slot", 512, A) + free(A, 512) + NEXT,
}  # fmt: skip
WRONG = {
    "more than there is": (
        allocate("slot", 512, A) + allocate("slot2", 32, B) + free(A, 512) + free(B, 32),
        "capacity", "$alloc [slot2]"),
    "more than there is on one way": (
        allocate("slot", 256, A)
        + "    setp.eq.u32 %p8, %r9, 0;\n    @%p8 bra SMALL;\n"
        + allocate("slot", 256, "%r5").replace("[slot]", "[full]") + "SMALL:\n"
        + allocate("slot2", 128, B) + free(A, 256) + free(B, 128),
        "capacity", "$alloc [slot2]"),
    "larger": (
        allocate("slot", 32, A) + allocate("slot2", 64, B) + free(A, 32) + free(B, 64),
        "growing", "$alloc [slot2]"),
    "larger though the first was freed": (
        allocate("slot", 32, A) + free(A, 32) + allocate("slot2", 64, B) + free(B, 64),
        "growing", "$alloc [slot2]"),
    "larger in the next pass": (
        LOOP + allocate("slot", 64, A) + free(A, 64) + allocate("slot2", 32, B) + free(B, 32)
        + NEXT, "growing", "$alloc [slot]"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_fits(name: str):
    assert said(one_warp(RIGHT[name])) == []


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit(name: str):
    body, rule, at = WRONG[name]
    text = one_warp(body)
    (found,) = [f for f in said(text) if f.rule == f"tcgen05.alloc/{rule}"]
    alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
    assert found.place.line == line_of(text, at.replace("$alloc", alloc))
    assert found.severity is (Severity.ERROR if rule == "capacity" else Severity.REVIEW)


TWO_WARPS = """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra SECOND;
    $alloc [slot], {first};
    bra BOTH;
SECOND:
{wait}    $alloc [slot2], {second};
BOTH:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    ld.shared.b32 %r4, [slot2];
    shl.b32 %r5, %r2, 21;
    add.s32 %r6, %r3, %r5;
    add.s32 %r7, %r4, %r5;
    $store [%r6], {{%r1, %r1}};
    $store [%r7], {{%r1, %r1}};
    $stored;
    $before;
    bar.sync 0;
    @%p1 bra OTHER;
    $dealloc %r3, {first};
    ret;
OTHER:
    $dealloc %r4, {second};
    ret;
"""


def two_warps(first: int, second: int, wait: str = "") -> str:
    """A kernel of two warps that each allocate, meet, and free."""
    return kernel(TWO_WARPS.format(first=first, second=second, wait=wait), ".reqntid 64")


def test_two_warps_share_it():
    assert said(two_warps(256, 256)) == []
    assert said(two_warps(64, 128)) == []  # nobody knows which comes first


def test_two_warps_hold_too_much_when_they_meet():
    found = said(two_warps(512, 32))  # whichever comes second waits
    assert {(f.rule, f.severity) for f in found} == {("tcgen05.alloc/capacity", Severity.ERROR)}
    assert any("32, beside 512 that are held" in f.got for f in found)


def test_a_larger_one_behind_a_barrier():
    text = two_warps(32, 64, "    bar.sync 1, 64;\n").replace(
        "bra BOTH;", "bar.sync 1, 64; bra BOTH;"
    )
    assert [f.rule for f in said(text)] == ["tcgen05.alloc/growing"]


# ---- freed by another warp -------------------------------------------------------------------

HANDED_ON = """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra ALLOCATED;
    $alloc [slot], 64;
    $relinquish;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    shl.b32 %r5, %r2, 21;
    add.s32 %r6, %r3, %r5;
    @!%p1 bra FIRST;
    $store [%r6], {%r1, %r1};
    $stored;
    $load {%r7, %r8}, [%r6];
    $loaded;
    $before;
    bar.sync 1, 128;
    ret;
FIRST:
    bar.sync 1, 128;
    $dealloc %r3, 64;
    ret;
"""


def test_one_warp_frees_when_the_others_have_come():
    assert said(kernel(HANDED_ON)) == []


FREED_EARLY = {
    "at once": (
        HANDED_ON.replace("FIRST:\n    bar.sync 1, 128;\n    $dealloc %r3, 64;",
                          "FIRST:\n    $dealloc %r3, 64;\n    bar.sync 1, 128;")),
    "by another barrier": (
        HANDED_ON.replace("FIRST:\n    bar.sync 1, 128;", "FIRST:\n    bar.sync 2, 32;")),
    "before the others load": HANDED_ON.replace(
        "    $store [%r6]", "    bar.sync 1, 128;\n    $store [%r6]").replace(
        "    $before;\n    bar.sync 1, 128;\n    ret;", "    ret;"),
}  # fmt: skip


@pytest.mark.parametrize("name", FREED_EARLY)
def test_one_warp_frees_while_others_load(name: str):
    text = kernel(FREED_EARLY[name])
    (found,) = [f for f in said(text) if f.rule == "tcgen05.dealloc/in-use"]
    assert found.place.line == line_of(text, "tcgen05.dealloc")
    assert "warp 0 " in found.got  # the one that frees
    assert re.search(r"warp [123] ", found.got)
    behind = r"(; the first arrival behind it is [^;]+)?(; the last wait before this is [^;]+)?"
    assert re.search(f", and nothing orders the two{behind}$", found.got)


def test_a_use_behind_the_barrier_that_the_freeing_warp_came_to():
    body = HANDED_ON.replace(
        "FIRST:\n    bar.sync 1, 128;\n    $dealloc %r3, 64;",
        "FIRST:\n    bar.sync 1, 128;\n    $dealloc %r3, 64;\n    bar.sync 2, 128;",
    ).replace(
        "    $before;\n    bar.sync 1, 128;\n    ret;",
        "    $before;\n    bar.sync 1, 128;\n    bar.sync 2, 128;\n"
        "    $load {%r9, %r10}, [%r6];\n    ret;",
    )
    text = kernel(body)
    late = line_of(text, "{%r9, %r10}")
    assert ("tcgen05/freed", late) in [(f.rule, f.place.line) for f in said(text)]


def test_a_new_allocation_in_the_same_slot_is_another_one():
    text = CLEAN["alloc_in_loop"]
    assert said(text) == []


# ---- published in a cluster ------------------------------------------------------------------

PAIR = """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 5;
    setp.ne.u32 %p1, %r2, 0;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra ALLOCATED;
    tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 64;
    tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
ALLOCATED:
    $before;
    bar.sync 0;
    $after;
    ld.shared.b32 %r3, [slot];
    shl.b32 %r5, %r2, 21;
    add.s32 %r6, %r3, %r5;
    $store [%r6], {%r1, %r1};
    $stored;
    $before;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p1 bra END;
    tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 64;
END:
    ret;
"""


def test_the_cluster_barriers_of_a_kernel_are_not_one():
    shape = ".reqntid 128\n.reqnctapercluster 2"
    assert [f for f in said(kernel(PAIR, shape)) if f.rule == "tcgen05.alloc/published"] == []
    text = kernel(PAIR.replace("    bar.sync 0;\n", ""), shape)
    (found,) = [f for f in said(text) if f.rule == "tcgen05.alloc/published"]
    assert found.place.line == line_of(text, "ld.shared.b32 %r3")
