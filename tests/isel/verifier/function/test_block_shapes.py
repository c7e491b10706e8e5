"""Blocks of two and three dimensions: warps are formed of threads with consecutive linear numbers.

PTX ISA, Special Registers, %tid; .maxntid bounds the number of threads, in whatever shape.
"""

from __future__ import annotations

import numpy as np

import nvgen
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from isel.verifier.functions import verify_functions
from tests.each import each
from tests.isel.verifier.kernels import kernel

OF_ROWS = """\
    .reg .b32 %d;
    .shared .align 4 .b32 slot;
    mov.u32 %r2, %tid.y;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra ALLOCATED;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
ALLOCATED:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %d, [slot];
    shl.b32 %r3, %r2, 21;
    add.u32 %r4, %d, %r3;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r2};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    @%p1 bra FREED;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64;
FREED:"""
"""A kernel for rows of 32 threads: the warp is %tid.y."""

OF_ANY = """\
    .shared .align 4 .b8 words[512];
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, %tid.z;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %ntid.y;
    mad.lo.u32 %r6, %r3, %r5, %r2;
    mad.lo.u32 %r6, %r6, %r4, %t;
    shl.b32 %r7, %r6, 2;
    mov.u32 %r8, words;
    add.u32 %r9, %r8, %r7;
    st.shared.b32 [%r9], %r6;
    $meet
    xor.b32 %r10, %r7, $other;
    add.u32 %r11, %r8, %r10;
    ld.shared.b32 %r12, [%r11];
    mul.wide.u32 %rd2, %r6, 4;
    add.u64 %rd3, %out, %rd2;
    st.global.b32 [%rd3], %r12;"""
"""A kernel for 128 threads in any shape, each of which reads what another one has stored."""


def said(text: str, block: tuple[int, ...] = ()) -> list[Finding]:
    """What is found, without what is said of the launch."""
    found = verify_functions(read_ptx(text, "k.ptx").module, block)
    return [f for f in found if not f.rule.startswith("verify/")]


def of_any(block: str, meet: str = "bar.sync 0;", other: int = 256) -> str:
    """The kernel whose threads read the word `other` bytes away."""
    body = OF_ANY.replace("$meet", meet).replace("$other", str(other))
    return kernel(body, ".param .u64 out", block)


def of_rows(block: str) -> str:
    return kernel(OF_ROWS, ".param .u64 out", block, target="sm_100a")


# ---- a known shape -------------------------------------------------------------------------------

ROWS: dict[str, tuple[tuple[int, ...], set[str]]] = {
    "rows of a warp": ((32, 4), set()),
    "a row of two warps": (
        (64, 2), {"tcgen05.alloc/warps", "tcgen05.dealloc/warps", "tcgen05.st/lane-quarter"}),
    "two rows in a warp": (
        (16, 8), {"tcgen05.alloc/aligned", "tcgen05.dealloc/aligned",
                  "tcgen05.st/uniform-address"}),
    "the same row twice": (
        (32, 2, 2), {"tcgen05.alloc/warps", "tcgen05.dealloc/warps", "tcgen05.st/lane-quarter"}),
}  # fmt: skip
BESIDE = {"tcgen05.alloc/again", "tcgen05.alloc/never-freed", "tcgen05.dealloc/twice"}
"""What else follows from an allocation by two warps."""


@each("name", ROWS)
def test_a_known_shape_decides(name: str) -> None:
    block, rules = ROWS[name]
    given = said(of_rows(""), block)
    required = said(of_rows(f".reqntid {', '.join(map(str, block))}"))
    for found in (given, required):
        assert {f.rule for f in found} - BESIDE == rules
        assert all(f.severity in (Severity.ERROR, Severity.WARNING) for f in found)


@each("block", [(128,), (16, 8), (4, 32), (8, 4, 4), (2, 2, 32)])
def test_warps_are_of_consecutive_threads(block: tuple[int, ...]) -> None:
    """Other warps are met at a barrier; the threads of one meet at bar.warp.sync."""
    assert said(of_any(""), block) == []
    assert said(of_any("", "bar.warp.sync -1;", 64), block) == []
    (race,) = said(of_any("", "bar.warp.sync -1;", 128), block)
    assert (race.rule, race.severity) == ("shared/race", Severity.ERROR)
    out = np.zeros(128, np.int32)
    compiled = nvgen.compile(of_any(""))
    compiled.run(out, grid=1, block=block, device="sim")
    assert (out == (np.arange(128) ^ 64)).all()


# ---- an unknown shape ----------------------------------------------------------------------------


@each("bound", ["", ".maxntid 128", ".maxntid 32, 4"])
def test_a_shape_that_is_not_known_is_no_error(bound: str) -> None:
    found = said(of_rows(bound))
    assert all(f.severity is Severity.REVIEW for f in found)
    assert not bound or found == []


def test_what_every_shape_has_is_found() -> None:
    (race,) = said(of_any(".maxntid 128", meet=""))
    assert (race.rule, race.severity) == ("shared/race", Severity.REVIEW)


MASK_OF_ROW = """\
    mov.u32 %r1, %tid.y;
    shl.b32 %r2, %r1, 3;
    shl.b32 %r3, 255, %r2;
    bar.warp.sync %r3;"""
"""Rows of eight threads, each of which meets by itself."""


def test_a_warp_may_be_of_several_rows() -> None:
    assert said(kernel(MASK_OF_ROW, directives=".reqntid 8, 4")) == []
    assert said(kernel(MASK_OF_ROW, directives=".maxntid 32")) == []
    (found,) = said(kernel(MASK_OF_ROW, directives=".reqntid 32"))
    assert (found.rule, found.severity) == ("bar.warp.sync/no-member", Severity.ERROR)


def test_one_dimension_for_a_kernel_of_more_is_told() -> None:
    for block, told in (((128, 1, 1), 1), ((32, 4, 1), 0)):
        module = read_ptx(of_rows(""), "k.ptx").module
        notes = [f for f in verify_functions(module, block) if f.rule == "verify/block"]
        assert len(notes) == told
    assert verify_functions(read_ptx(of_any(".reqntid 128"), "k.ptx").module) == []
