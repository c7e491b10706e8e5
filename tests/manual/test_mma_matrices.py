"""9.7.16.10.1 to .10.6: transpose and negate, majors and swizzling, layouts of the data path."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain, scaled, smem
from tests.manual.rows import Issued, Row, issues, statements

_ATOMS = smem(swizzle=1)
_SCALES = ", [%r2], [%r3]"
_WIDE = smem(lbo=16384)
_TF32 = plain(a=2, b=2, transpose_a=1)
_HALF = 16 << 16


def _kind(kind: str, desc: int | None = None, **fields: int) -> str:
    """A multiply whose A has a descriptor."""
    return mma(plain(**fields), modifiers=f".cta_group::1.kind::{kind}", a=desc)


def _issue(m: int, d: str, a: str = "%rd1", ws: str = "", n: int = 32) -> str:
    return mma(plain(m=m, n=n), modifiers=f"{ws}.cta_group::1.kind::f16", a=a, b="%rd2",
               d=f"[{d}]").replace("%p1", "0")  # fmt: skip


def _sparse(m: int, meta: str, d: str = "%r3") -> str:
    word = plain(m=m, n=32, sparse=1)
    return mma(word, modifiers=".sp.cta_group::1.kind::f16", a="%rd1", b="%rd2", d=f"[{d}]",
               meta=f", [{meta}]").replace("%p1", "0")  # fmt: skip


ROWS = (
    # ---- 9.7.16.10.1: table 49 -----------------------------------------------------------------
    Row("mxf4 is not transposed",
        mma(scaled(), modifiers=".cta_group::1.kind::mxf4.block_scale", scales=_SCALES),
        mma(scaled(transpose_a=1), modifiers=".cta_group::1.kind::mxf4.block_scale",
            scales=_SCALES), "tcgen05.mma/idesc-transpose"),
    Row("i8 is not negated", _kind("i8", d=2), _kind("i8", d=2, negate=1),
        "tcgen05.mma/idesc-negate"),
    Row("tf32 is transposed with atoms of 32 bytes only",
        mma(_TF32, modifiers=".cta_group::1.kind::tf32", a=_ATOMS),
        mma(_TF32, modifiers=".cta_group::1.kind::tf32"),
        "tcgen05.mma/smem-desc-transposed-swizzle"),
    Row("all others are not transposed with them", _kind("f16", _WIDE, transpose_a=1),
        _kind("f16", _ATOMS, transpose_a=1), "tcgen05.mma/smem-desc-transposed-swizzle"),
    # ---- table 50 ------------------------------------------------------------------------------
    Row("an 8-bit B that is transposed: N in steps of 16", _kind("f8f6f4", n=32, transpose_b=1),
        _kind("f8f6f4", n=24, transpose_b=1), "tcgen05.mma/idesc-n-transpose"),
    Row("and of at least 16", _kind("f8f6f4", n=16, transpose_b=1),
        _kind("f8f6f4", n=8, transpose_b=1), "tcgen05.mma/idesc-n-transpose"),
    Row("of a pair in steps of 32",
        mma(plain(m=256, n=64, transpose_b=1), modifiers=".cta_group::2.kind::f8f6f4"),
        mma(plain(m=256, n=48, transpose_b=1), modifiers=".cta_group::2.kind::f8f6f4"),
        "tcgen05.mma/idesc-n-transpose"),
    # ---- 9.7.16.10.2 and .3: tables 51 and 52 --------------------------------------------------
    Row("A in tensor memory lies in rows",
        mma(plain(), a="[%r9]"), mma(plain(transpose_a=1), a="[%r9]"),
        "tcgen05.mma/idesc-transpose-tensor"),
    Row("types of 4 bits are not listed as transposed", _kind("f8f6f4", transpose_a=1),
        mma(plain(a=5, transpose_a=1), modifiers=".cta_group::1.kind::f8f6f4"),
        "tcgen05.mma/idesc-transpose-narrow"),
    Row("table 52: B of tf32 that is transposed has atoms of 32 bytes",
        mma(plain(a=2, b=2, transpose_b=1), modifiers=".cta_group::1.kind::tf32", b=_ATOMS),
        mma(plain(a=2, b=2, transpose_b=1), modifiers=".cta_group::1.kind::tf32"),
        "tcgen05.mma/smem-desc-transposed-swizzle"),
)  # fmt: skip

ISSUED = (
    # ---- 9.7.16.10.5: lanes of the layouts -----------------------------------------------------
    Issued("layout D begins at lane 0", _issue(128, "%r3"), _issue(128, f"%r3+{_HALF}"),
           "tcgen05.mma/lane-alignment"),
    Issued("layout F begins at lane 0 or 16", _issue(64, f"%r3+{_HALF}"),
           _issue(64, f"%r3+{32 << 16}"), "tcgen05.mma/lane-alignment"),
    Issued("layout E begins at lane 0", _issue(64, "%r3", ws=".ws", n=64),
           _issue(64, f"%r3+{_HALF}", ws=".ws", n=64), "tcgen05.mma.ws/lane-alignment"),
    Issued("layout G begins at lane 0", _issue(32, "%r3", ws=".ws", n=64),
           _issue(32, f"%r3+{_HALF}", ws=".ws", n=64), "tcgen05.mma.ws/lane-alignment"),
    Issued("layout F: A lies in the lanes of D",
           _issue(64, f"%r3+{_HALF}", f"[%r3+{_HALF + 64}]"),
           _issue(64, f"%r3+{_HALF}", "[%r3+64]"), "tcgen05.mma/same-lanes"),
    Issued("layout F: the metadata lie in the lanes of D",
           _sparse(64, f"%r3+{_HALF + 64}", f"%r3+{_HALF}"), _sparse(64, f"%r3+{_HALF + 64}"),
           "tcgen05.mma.sp/same-lanes"),
    Issued("D has a place of its own", _issue(128, "%r3", "[%r3+32]"),
           _issue(128, "%r3", "[%r3+24]"), "tcgen05.mma/overlap"),
    Issued("D lies in what was allocated", _issue(128, "%r3", n=128),
           _issue(128, "%r3+448", n=128), "tcgen05.mma/beyond-allocation"),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_what_a_thread_issues = issues(ISSUED)
