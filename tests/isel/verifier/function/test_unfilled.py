"""Multiplies that read shared memory nobody fills, and loads of columns that nobody writes.

Each mistake is an edit of a clean kernel, in its descriptors or in what it fills.  What a run of
the edited sample says, which reads each byte, is asked as well.  PTX ISA, tcgen05: Shared memory
descriptor, Instruction descriptor, Strides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import nvgen
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity, SimulationError
from isel.verifier.functions import verify_functions
from nvgen.launching.tensor_map import tensor_map
from tests.each import each
from tests.isel.verifier.function import warpgroup_kernels
from tests.samples.modules import gemm_tile

KERNEL = """\
.version 8.8
.target sm_100a
.address_size 64
.shared .align 1024 .b8 a_tile[16384];
.shared .align 1024 .b8 b_tile[16384];
.shared .align 8 .b64 full;
.shared .align 8 .b64 done;
.shared .align 4 .b32 slot;
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry k(
    .param .align 64 .b8 map[128], .param .u64 data, .param .u64 desc) .reqntid 128
{
    .reg .pred %p<9>;
    .reg .b32 %r<20>, %d;
    .reg .b64 %rd<12>, %a, %b;
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    setp.lt.u32 %p2, %r1, 32;
    ld.param.u64 %rd1, [data];
    @%p1 mbarrier.init.shared.b64 [full], 1;
    @%p1 mbarrier.init.shared.b64 [done], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    @!%p2 bra ALLOCATED;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
ALLOCATED:
    mov.u32 %r2, a_tile;
    mov.u32 %r3, b_tile;
    shl.b32 %r4, %r1, 7;
    add.u32 %r5, %r2, %r4;
    add.u32 %r6, %r3, %r4;
$fill
    fence.proxy.async.shared::cta;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %d, [slot];
    shr.u32 %r7, %r2, 4;
    cvt.u64.u32 %rd2, %r7;
    or.b64 %a, %rd2, 4611756662049538048;
    shr.u32 %r8, %r3, 4;
    cvt.u64.u32 %rd3, %r8;
    or.b64 %b, %rd3, 4611756662049538048;
    @!%p1 bra WAIT;
    tcgen05.mma.cta_group::1.kind::f16 [%d], %a, %b, 136314896, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [done], 0;
    @!%p3 bra WAIT;
    tcgen05.fence::after_thread_sync;
    shl.b32 %r9, %r1, 16;
    and.b32 %r9, %r9, 6291456;
    add.u32 %r9, %d, %r9;
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r10, %r11}, [%r9+64];
    tcgen05.wait::ld.sync.aligned;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    @!%p2 bra END;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 128;
END:
    ret;
}
"""
"""M = N = 128 and K = 16 of f16, K-major in rows of 128 bytes."""


def stores(register: str) -> str:
    """Each thread writes 128 bytes of a tile."""
    return "".join(
        f"    st.shared.v4.b32 [{register}+{at}], {{%r1, %r1, %r1, %r1}};\n"
        for at in range(0, 128, 16)
    )


_COPY = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
_TENSOR = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
_EXPECT = "    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], 32768;\n"
_CAME = """\
FULL:
    mbarrier.try_wait.parity.shared.b64 %p4, [full], 0;
    @!%p4 bra FULL;
"""
_MEET = "    bar.sync 0;\n"
STORED = stores("%r5") + stores("%r6")
COPIED = (
    f"{_MEET}{_EXPECT}    @%p1 {_COPY} [a_tile], [%rd1], 16384, [full];\n"
    f"    @%p1 {_COPY} [b_tile], [%rd1+16384], 16384, [full];\n{_CAME}"
)
BOXES = (
    f"    mov.b64 %rd4, map;\n    cvta.param.u64 %rd4, %rd4;\n{_MEET}{_EXPECT}"
    f"    @%p1 {_TENSOR} [a_tile], [%rd4, {{0, 0}}], [full];\n"
    f"    @%p1 {_TENSOR} [b_tile], [%rd4, {{0, 0}}], [full];\n{_CAME}"
)
FILLS = {"stores": STORED, "copies": COPIED, "boxes": BOXES}

Edits = Sequence[tuple[str, str]]

_IDESC, _SBO = "136314896", "4611756662049538048"
_N256 = (_IDESC, str(int(_IDESC) + (128 // 8 << 17)))
_N64 = (_IDESC, str(int(_IDESC) - (64 // 8 << 17)))
_FAR = (_SBO, str(int(_SBO) + (1024 >> 4 << 32)))
_LATER_K = ("    @!%p1 bra WAIT;\n", "    add.s64 %b, %b, 8;\n    @!%p1 bra WAIT;\n")

BEYOND, EMPTY, COLUMNS = (
    "tcgen05.mma/beyond-variable", "tcgen05.mma/not-filled", "tcgen05.ld/unwritten-columns",
)  # fmt: skip
WS_BEYOND, WS_EMPTY = "tcgen05.mma.ws/beyond-variable", "tcgen05.mma.ws/not-filled"

MISTAKES: dict[str, tuple[str, Edits, set[str]]] = {
    "groups of rows too far apart": (STORED, [_FAR], {BEYOND}),
    "a K beyond the swizzled rows": (STORED, [_LATER_K], {BEYOND}),
    "no store of B": (stores("%r5"), [], {EMPTY}),
    "the last rows of A are not stored": (
        STORED, [("add.u32 %r5, %r2, %r4", "shr.u32 %r12, %r4, 1;\n    add.u32 %r5, %r2, %r12")],
        {EMPTY}),
    "a copy of half of B": (
        COPIED, [("16384], 16384", "16384], 8192"), ("32768", "24576")], {EMPTY}),
    "B's box goes elsewhere": (BOXES, [("[b_tile], [%rd4", "[dynamic], [%rd4")], {EMPTY}),
    "columns behind those of N": (COPIED, [_N64], {COLUMNS}),
}  # fmt: skip

_MULTIPLY = "    tcgen05.mma.cta_group::1.kind::f16 [%d], %a, %b, "
_N_OF_ARGUMENT = (
    f"{_MULTIPLY}{_IDESC},",
    "    ld.param.u32 %r14, [desc];\n    and.b32 %r14, %r14, 8;\n    shl.b32 %r14, %r14, 17;\n"
    f"    add.u32 %r14, %r14, {_N64[1]};\n{_MULTIPLY}%r14,",
)  # 64, or 128 where the argument has bit 3
UNKNOWN: dict[str, tuple[str, Edits]] = {
    "columns behind those of an N that an argument gives": (COPIED, [_N_OF_ARGUMENT]),
    "a store at an address that data gives": (
        stores("%r5") + "    ld.global.b32 %r13, [%rd1];\n    cvt.u64.u32 %rd5, %r13;\n"
        "    ld.global.f32 %r13, [%rd1];\n    st.shared.b32 [%r13], %r1;\n", []),
    "a store that data decides on": (
        stores("%r5") + "    ld.global.f32 %r13, [%rd1];\n    setp.eq.u32 %p5, %r13, 9;\n"
        "    @!%p5 bra FILLED;\n" + stores("%r6") + "FILLED:\n", []),
    "a descriptor that is an argument": (
        "", [("or.b64 %a, %rd2, 4611756662049538048", "ld.param.u64 %a, [desc]"),
             ("or.b64 %b, %rd3, 4611756662049538048", "ld.param.u64 %b, [desc]")]),
}  # fmt: skip
"""Kernels of which nobody knows whether somebody fills the tiles."""


def said(fill: str, edits: Edits = ()) -> set[str]:
    """The rules that a kernel breaks, but for races of its stores, and what is not judged."""
    text = KERNEL.replace("$fill\n", fill)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    found = {f.rule for f in verify_functions(read_ptx(text, "k.ptx").module)}
    return found - {"shared/race", "verify/boxes"}


@each("name", FILLS)
def test_a_tile_that_is_filled_is_clean(name: str) -> None:
    assert said(FILLS[name]) == set()


@each("name", MISTAKES)
def test_what_nobody_fills_is_reported(name: str) -> None:
    fill, edits, rules = MISTAKES[name]
    assert said(fill, edits) == rules


@each("name", UNKNOWN)
def test_what_may_be_filled_is_none(name: str) -> None:
    fill, edits = UNKNOWN[name]
    assert not said(fill, edits) & {BEYOND, EMPTY, COLUMNS}


STEPS = """\
    ld.param.u32 %r14, [steps];
    mov.u32 %r15, 0;
STEP:
    setp.ge.u32 %p5, %r15, %r14;
    @%p5 bra COMMIT;
    tcgen05.mma.ws.cta_group::1.kind::f16 [%d], %a, %b, 136314896, 0;
    add.u32 %r15, %r15, 1;
    add.s64 %a, %a, 512;
    add.s64 %b, %b, 512;
    bra STEP;
COMMIT:
"""
"""A multiply for each step of an argument, the next one 8192 bytes behind: one or two fit in."""


@each("name", FILLS, turns=3)
def test_a_loop_that_goes_as_far_as_an_argument_says(name: str) -> None:
    """The argument of a run is made up: 4 steps do not fit, and nobody need launch them."""
    multiply = "    tcgen05.mma.cta_group::1.kind::f16 [%d], %a, %b, 136314896, 0;\n"
    loop = [(".param .u64 desc", ".param .u64 desc, .param .u32 steps"), (multiply, STEPS)]
    half = [(_IDESC, str(int(_IDESC) - (64 // 8 << 17) - (64 // 16 << 24)))]  # M = N = 64
    assert not said(FILLS[name], [*loop, *half]) & {WS_BEYOND, WS_EMPTY}
    far = (_SBO, str(int(_SBO) + (4096 - 1024 >> 4 << 32)))
    assert said(FILLS[name], [*loop, *half, far]) & {WS_BEYOND, WS_EMPTY}  # in the first step
    endless = ("ld.param.u32 %r14, [steps]", "mov.u32 %r14, 4")
    assert said(FILLS[name], [*loop, *half, endless]) & {WS_BEYOND, WS_EMPTY}  # of any launch


def test_wgmma_reads_as_far() -> None:
    """Groups of rows at twice their distance, in a ring that is larger than what is stored."""
    text = warpgroup_kernels.STORED
    assert verify_functions(read_ptx(text, "k.ptx").module) == []
    far = text.replace("4611686293305294848", str(4611686293305294848 + (1024 >> 4 << 32)), 1)
    (found,) = verify_functions(read_ptx(far, "k.ptx").module)
    assert found.rule == "wgmma.mma_async/not-filled"
    assert found.severity is Severity.WARNING  # to multiply what is undefined is not forbidden
    assert "matrix A of 64 rows at byte 0 of a_ring" in found.got


def test_one_mistake_is_reported_once() -> None:
    """All four multiplies of the sample read too many rows of B; the first is blamed."""
    ptx = gemm_tile().build().compile(target="sm_100a").ptx
    found = verify_functions(read_ptx(ptx.replace(*_N256), "k.ptx").module)
    (beyond,) = [f for f in found if f.rule == BEYOND]
    assert beyond.got == "matrix B from byte 0 of b_tile to byte 32767, of 16384 bytes"


@pytest.mark.parametrize("edit", [_N256, _FAR, _N64], ids=["N 256", "stride", "N 64"])
def test_a_run_stops_where_the_rules_do(edit: tuple[str, str]) -> None:
    ptx = gemm_tile().build().compile(target="sm_100a").ptx
    a, b, _ = gemm_tile().operands()
    edited = ptx.replace(*edit)
    assert {f.rule for f in verify_functions(read_ptx(edited, "k.ptx").module)}
    maps = (tensor_map(x, (128, 64), 128) for x in (a, b))
    with pytest.raises(SimulationError):
        nvgen.compile(edited).run(*maps, np.zeros((128, 128), np.float32))
