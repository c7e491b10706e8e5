"""Scale factors in all lanes, and metadata that means something.

PTX ISA, Block Scaling: scale factors "need to be duplicated to all 32 lane partitions of tensor
memory"; Sparse Matrices: "the only meaningful values of the index are" seven, for tf32 two.
"""

from __future__ import annotations

import pytest

from intrinsics.findings import Finding, Severity
from tests.each import each
from tests.isel.verifier.function.kernel_text import EPILOGUE, PROLOGUE, kernel
from tests.isel.verifier.function.tensor_kernels import line_of, said

SCALED = 143130624
"""M = 128, N = 32, e4m3, UE8M0 scales (Table 43)."""

SPARSE = 134742036
"""M = 128, N = 32, f16 into f32, sparse (Table 42)."""


def run(stores: str, mma: str) -> str:
    """Four warps execute `stores`; one thread issues `mma` behind a barrier."""
    body = (
        PROLOGUE
        + stores
        + "    $stored;\n    $before;\n    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;\n"
        + mma
        + "    $commit [done];\nWAIT:\n    $try %p5, [done], 0;\n    @!%p5 bra WAIT;\n    $after;\n"
        + "    $load {%r22, %r23}, [%r5];\n    $loaded;\n"
        + EPILOGUE
    )
    return kernel(body)


SCALED_MMA = (
    "    tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r3], %rd1, %rd2, "
    f"{SCALED}, [%r3+32], [%r3+40], 0;\n"
)
FOUR = "tcgen05.st.sync.aligned.32x32b.x4.b32"
BY_ALL = (
    f"    {FOUR} [%r5+32], {{%r1, %r1, %r1, %r1}};\n    {FOUR} [%r5+40], {{%r1, %r1, %r1, %r1}};\n"
)
BY_ONE = "    @%p1 bra STORED;\n" + BY_ALL + "STORED:\n"
COPIES = (
    "    tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3+32], %rd1;\n"
    "    tcgen05.cp.cta_group::1.32x128b.warpx4 [%r3+40], %rd1;\n"
)


def of(rule: str, text: str) -> list[Finding]:
    """The findings of one rule."""
    return [f for f in said(text) if f.rule.endswith(f"/{rule}")]


def test_scales_that_four_warps_store():
    assert of("scale-lanes", run(BY_ALL, SCALED_MMA)) == []


def test_scales_that_are_copied_to_all_lanes():
    assert of("scale-lanes", run("", COPIES + SCALED_MMA)) == []


def test_scales_that_nobody_known_stores():
    assert of("scale-lanes", run("", SCALED_MMA)) == []
    elsewhere = BY_ONE.replace("[%r5+32]", "[%r5]")
    assert of("scale-lanes", run(elsewhere, SCALED_MMA.replace("[%r3+40]", "[%r3+32]"))) == []


def test_scales_that_one_warp_stores():
    text = run(BY_ONE, SCALED_MMA)
    (found,) = of("scale-lanes", text)
    assert found.severity is Severity.REVIEW
    assert found.place.line == line_of(text, "tcgen05.mma")
    assert "lanes 32 to 63, 64 to 95, 96 to 127" in found.got


def test_scales_that_three_warps_store():
    text = run(
        "    setp.eq.u32 %p7, %r2, 2;\n    @%p7 bra STORED;\n" + BY_ALL + "STORED:\n", SCALED_MMA
    )
    (found,) = of("scale-lanes", text)
    assert found.got.endswith("lanes 64 to 95")


def test_scales_that_one_warp_stores_and_perhaps_another():
    unknown = "    add.u32 %r60, %r5, %r2;\n    ld.param.u32 %r61, [steps];\n"
    unknown += f"    add.u32 %r60, %r60, %r61;\n    {FOUR} [%r60], {{%r1, %r1, %r1, %r1}};\n"
    assert of("scale-lanes", run(BY_ONE + unknown, SCALED_MMA)) == []


# ---- metadata --------------------------------------------------------------------------------


def sparse(kind: str) -> str:
    """A sparse MMA with its metadata in column 32."""
    word = SPARSE + (2 << 7) + (2 << 10) if kind == "tf32" else SPARSE
    return f"    tcgen05.mma.sp.cta_group::1.kind::{kind} [%r3], %rd1, %rd2, [%r3+32], {word}, 0;\n"


def metadata(low: int, high: int = 0x44444444) -> str:
    """All four warps store two columns of metadata."""
    words = f"    mov.u32 %r50, {low};\n    mov.u32 %r51, {high};\n"
    return words + "    $store [%r5+32], {%r50, %r51};\n"


@each("index", [0x4, 0x8, 0xC, 0x9, 0xD, 0x6, 0xE])
@each("kind", ["f16", "f8f6f4"])
def test_indices_of_two_among_four(kind: str, index: int):
    assert of("metadata", run(metadata(index * 0x11111111), sparse(kind))) == []


@each("index", [0x0, 0x1, 0x2, 0x3, 0x5, 0x7, 0xA, 0xB, 0xF])
@each("kind", ["f16", "f8f6f4"])
def test_indices_that_mean_nothing(kind: str, index: int):
    text = run(metadata(index * 0x11111111), sparse(kind))
    (found,) = of("metadata", text)
    assert found.severity is Severity.ERROR
    assert found.place.line == line_of(text, "tcgen05.mma.sp")
    assert found.got.startswith(f"0b{index:04b} in ")
    assert "0b0100" in found.expected


@each("index", range(16))
def test_indices_of_one_among_two(index: int):
    found = of("metadata", run(metadata(index * 0x11111111), sparse("tf32")))
    assert bool(found) == (index not in (0b1110, 0b0100))


def test_one_wrong_index():
    """Where a selector picks parts of the columns, the wrong one may not be read."""
    (found,) = of("metadata", run(metadata(0x44404444), sparse("f8f6f4")))
    assert found.severity is Severity.ERROR
    (found,) = of("metadata", run(metadata(0x44404444), sparse("f16")))
    assert found.severity is Severity.REVIEW


def test_the_second_column_of_eight_bit_kinds():
    assert of("metadata", run(metadata(0x44444444, 0), sparse("f16"))) == []
    assert len(of("metadata", run(metadata(0x44444444, 0), sparse("f8f6f4")))) == 1


UNKNOWN = {
    "not a constant": metadata(0).replace("mov.u32 %r50, 0;", "mov.u32 %r50, %r1;"),
    "written again": metadata(0) + "    $store [%r5+32], {%r1, %r1};\n",
    "beside it": metadata(0).replace("%r5+32", "%r5+34"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_metadata_that_is_not_known(name: str):
    assert of("metadata", run(UNKNOWN[name], sparse("f16"))) == []


def test_metadata_that_is_copied_over_zeros():
    copied = "    tcgen05.cp.cta_group::1.128x128b [%r3+32], %rd1;\n"
    assert of("metadata", run(metadata(0), copied + sparse("f16"))) == []
