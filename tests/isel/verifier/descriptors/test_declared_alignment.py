"""Variables of shared memory that declare less alignment than what accesses them needs.

What is needed is the manual's: 128 bytes for a tensor copy, 16 for bulk copies, matrices of wgmma
and rows of ldmatrix, the size of a cp.async.  ptxas may place a variable at any multiple of what it
declares.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.catalog import rows
from intrinsics.findings import Severity
from isel.verifier.descriptors.check import verify_descriptors
from tests.each import each

HEAD = """\
.version 8.8
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 x, .param .u32 n)
{{
    .reg .b32 %r<20>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<9>;
    .reg .pred %p<3>;
    .shared .align {align} .b8 tile[4096];
    .shared .align 8 .b64 full;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, {variable};
"""
ENCODE = (
    "and.b32 %r4, %r3, 0x3FFFF; shr.u32 %r5, %r4, 4; cvt.u64.u32 %rd2, %r5; or.b64 %rd3, %rd2, "
    f"{8 << 16 | 16 << 32};"
)
USES = {
    128: "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], "
    "[%rd1, {%r1, %r1}], [full];",
    16: "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 1024;",
    8: "cp.async.ca.shared.global [%r3], [%rd1], 8;",
}
ROWS_OF_16 = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r3];"
PRODUCT = f"{ENCODE} wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f1, %f2, %f3, %f4}}, "
PRODUCT += "%rd3, %rd3, 1, 1, 1, 0, 0;"
PLAIN = "mov.u32 %r3, %r2;"
ROUNDED = "add.u32 %r3, %r2, 127; and.b32 %r3, %r3, -128;"


def found(use: str, align: int, address: str = PLAIN, variable: str = "tile") -> list[str]:
    """The rules that a use of a variable of this alignment breaks, by itself."""
    head = HEAD.format(align=align, variable=variable)
    reading = read_ptx(f"{head}{address}\n{use}\n    ret;\n}}\n", "k.ptx")
    assert reading.findings == []
    findings = [
        f for f in verify_descriptors(reading.module) if f.rule.endswith("/declared-alignment")
    ]
    assert all(f.severity is Severity.WARNING for f in findings)
    return sorted({f.rule.partition("/")[0] for f in findings})


@each("needed", USES)
def test_less_than_a_copy_needs(needed: int):
    op = USES[needed].partition(".2d" if needed == 128 else ".global" if needed == 16 else ".ca")[0]
    assert found(USES[needed], needed // 2) == [op]
    assert found(USES[needed], needed) == []


def test_rows_and_matrices_of_16_bytes():
    assert found(ROWS_OF_16, 2) == ["ldmatrix"]
    assert found(ROWS_OF_16, 16) == []
    assert found(PRODUCT, 4) == ["wgmma.mma_async"]
    assert found(PRODUCT, 16) == []


def test_the_address_of_each_thread():
    """A row of 32 bytes for each thread, and one of 4, which no alignment makes fit."""
    rows = "shl.b32 %r10, %r1, 5; add.u32 %r3, %r2, %r10;"
    assert found(ROWS_OF_16, 4, rows) == ["ldmatrix"]
    assert found(ROWS_OF_16, 16, rows) == []
    assert found(ROWS_OF_16, 4, rows.replace("5;", "2;")) == []


def test_an_address_that_is_rounded_up():
    assert found(USES[128], 4, ROUNDED) == []


def test_dynamic_shared_memory_begins_where_the_driver_says():
    assert found(USES[128], 4, variable="dynamic") == []


def test_the_rows_are_there():
    """The heads of the manual's pages that ask for an alignment in shared memory."""
    assert {row.head for row in rows() if row.aligned} == {
        "cp.async", "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.tensor",
        "cp.reduce.async.bulk.tensor", "ldmatrix", "stmatrix",
    }  # fmt: skip
