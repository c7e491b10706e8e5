"""9.7.16.9, Tensor Memory Data Movement Instructions: tcgen05.cp and tcgen05.shift."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import smem
from tests.manual.rows import Held, Issued, Row, issues, kernels, statements

_CP = "tcgen05.cp.cta_group::1.{} [%r9], {};"
_SHIFT = "tcgen05.shift.cta_group::1{} [%r9];"
_DOWN = "    tcgen05.shift.cta_group::1.down [%r3+{}];\n"
_UNKNOWN, _MISSING = "ptx/unknown-modifier", "ptx/missing-modifier"


def _cp(shape: str, desc: int | str = "%rd1") -> str:
    return _CP.format(shape, desc)


ROWS = (
    # ---- 9.7.16.9.2: tcgen05.cp ----------------------------------------------------------------
    Row(".64x128b is multicast to pairs of warps", _cp("64x128b.warpx2::02_13"), _cp("64x128b"),
        "tcgen05.cp/multicast-64x128b", refused=True),
    Row("and not to all four", _cp("64x128b.warpx2::01_23"), _cp("64x128b.warpx4"),
        "tcgen05.cp/multicast-64x128b", refused=True),
    Row(".32x128b is multicast to all four warps", _cp("32x128b.warpx4"), _cp("32x128b"),
        "tcgen05.cp/multicast-32x128b", refused=True),
    Row("and not to pairs", _cp("32x128b.warpx4.b8x16.b4x16_p64"), _cp("32x128b.warpx2::02_13"),
        "tcgen05.cp/multicast-32x128b", refused=True),
    Row("other shapes are not multicast", _cp("128x256b"), _cp("128x256b.warpx4"),
        "tcgen05.cp/multicast-whole", refused=True),
    Row("a source format needs its destination's", _cp("128x128b.b8x16.b6x16_p32"),
        _cp("128x128b.b6x16_p32"), "tcgen05.cp/formats", refused=True),
    Row("and the other way round", _cp("4x256b.b8x16.b4x16_p64"), _cp("4x256b.b8x16"),
        "tcgen05.cp/formats", refused=True),
    Row("nothing is decompressed to 4 bits", _cp("128x256b.b8x16.b4x16_p64"),
        _cp("128x256b.b4x16.b4x16_p64"), _UNKNOWN, refused=True),
    Row("the shape has to stand", _cp("128x128b"), "tcgen05.cp.cta_group::1 [%r9], %rd1;",
        _MISSING, refused=True),
    Row(".cta_group has to stand", _cp("4x256b"), "tcgen05.cp.4x256b [%r9], %rd1;", _MISSING,
        refused=True),
    Row("the source is a descriptor of 64 bits", _cp("4x256b", "%rd2"), _cp("4x256b", "%r2"),
        "tcgen05.cp/operands", refused=True),
    Row("of tcgen05's, whose bits 46 to 48 are 0b001", _cp("128x256b", smem()),
        _cp("128x256b", smem(constant=0)), "tcgen05.cp/smem-desc-constant"),
    Row("whose bits 53 to 60 are zero", _cp("128x256b", smem(swizzle=0, lbo=2048, sbo=128)),
        _cp("128x256b", smem(more=1 << 60)), "tcgen05.cp/smem-desc-reserved"),
    Row("and whose swizzling exists", _cp("128x256b", smem(swizzle=2)),
        _cp("128x256b", smem(swizzle=7)), "tcgen05.cp/smem-desc-swizzle"),
    Row("families have it from 8.8", _cp("128x256b"), _cp("128x256b"), "tcgen05.cp/target",
        refused=True, target="sm_100f", ptx="8.7", elsewhere="sm_100f 8.8"),
    # ---- 9.7.16.9.3: tcgen05.shift --------------------------------------------------------------
    Row("shift goes down", _SHIFT.format(".down"), _SHIFT.format(".up"), _UNKNOWN, refused=True),
    Row("and says so", "@%p1 " + _SHIFT.format(".down"), _SHIFT.format(""), _MISSING,
        refused=True),
    Row("families have no shift", _SHIFT.format(".down"), _SHIFT.format(".down"),
        "tcgen05.shift/target", refused=True, target="sm_100f", elsewhere="sm_103a"),
)  # fmt: skip

ISSUED = (
    Issued("the lane of a shift is a multiple of 32", _DOWN.format(32 << 16),
           _DOWN.format(16 << 16), "tcgen05.shift/lane"),
)  # fmt: skip

HELD = (
    Held("a copy is complete by commit and mbarrier only", "tcgen05.ld/before-completion",
         ("a copy is not waited for",)),
    Held("which its thread commits behind it", "tcgen05.cp/no-commit",
         ("a copy is not committed", "the commit before the copy")),
    Held("a copy is no pair with the multiply before it", "tcgen05.cp/not-pipelined",
         ("copied while it is read",)),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_a_kernel = kernels(HELD)
test_a_sentence_about_what_a_thread_issues = issues(ISSUED)
