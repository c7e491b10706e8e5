"""9.7.16.4, Matrix Descriptors: tables 40 to 45."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain, scaled, smem
from tests.manual.rows import Row, statements

_SCALES = ", [%r2], [%r3]"


def _a(**fields: int) -> str:
    """A multiply whose A has this descriptor."""
    return mma(plain(), a=smem(**fields))


def _kind(kind: str, **fields: int) -> str:
    return mma(plain(**fields), modifiers=f".cta_group::1.kind::{kind}")


def _scaled(kind: str, **fields: int) -> str:
    modifiers = f".cta_group::1.kind::{kind}.block_scale"
    return mma(scaled(**fields), modifiers=modifiers, scales=_SCALES)


def _sparse(kind: str = "f16", **fields: int) -> str:
    word = plain(**fields)
    return mma(word, modifiers=f".sp.cta_group::1.kind::{kind}", meta=", [%r4]")


def _masked(mask: int, m: int = 64) -> str:
    word = plain(m=m, shift=3)
    return mma(word, modifiers=".ws.cta_group::1.kind::f16", more=f", {mask}")


_SHIFTS = 1 << 39  # a mask has to be generated
_RESERVED = "tcgen05.mma/idesc-reserved"
_INPUT, _OUTPUT = "tcgen05.mma/idesc-input-type", "tcgen05.mma/idesc-output-type"

ROWS = (
    # ---- table 40: shared memory ---------------------------------------------------------------
    Row("table 40: bits 46 to 48 are 0b001", _a(), _a(constant=0),
        "tcgen05.mma/smem-desc-constant"),
    Row("table 40: bits 53 to 60 are zero", _a(), _a(more=1 << 55),
        "tcgen05.mma/smem-desc-reserved"),
    Row("table 40: swizzling 3 does not exist", _a(), _a(swizzle=3),
        "tcgen05.mma/smem-desc-swizzle"),
    Row("table 40: swizzling 5 does not exist", _a(swizzle=4, sbo=512), _a(swizzle=5),
        "tcgen05.mma/smem-desc-swizzle"),
    Row("table 40: swizzling 7 does not exist", _a(swizzle=6, sbo=256), _a(swizzle=7),
        "tcgen05.mma/smem-desc-swizzle"),
    Row("table 40: bits 14 and 15 are no field", _a(), _a(more=1 << 14),
        "tcgen05.mma/smem-desc-unused"),
    Row("table 41: the base offset is that of the pattern", _a(),
        _a(swizzle=0, base=1, lbo=2048, sbo=128),
        "tcgen05.mma/smem-desc-base-offset"),
    # ---- table 42: plain kinds -----------------------------------------------------------------
    Row("table 42: bit 6 is zero", _kind("f16"), _kind("f16", more=1 << 6), _RESERVED),
    Row("table 42: bit 23 is zero", _kind("f16"), _kind("f16", more=1 << 23), _RESERVED),
    Row("table 42: bit 29 is zero", _kind("f16"), _kind("f16", more=1 << 29), _RESERVED),
    Row("table 42: bit 2 says that A is sparse", _sparse(sparse=1), _sparse(sparse=0),
        "tcgen05.mma.sp/idesc-sparsity"),
    Row("table 42: and that it is dense", _kind("f16"), _kind("f16", sparse=1),
        "tcgen05.mma/idesc-sparsity"),
    Row("table 42: only integers saturate", _kind("i8", d=2, saturate=1), _kind("f16", saturate=1),
        "tcgen05.mma/idesc-saturate"),
    Row("table 42: tf32 has inputs of code 2", _kind("tf32", a=2, b=2), _kind("tf32", a=1, b=1),
        _INPUT),
    Row("table 42: f16 has inputs of codes 0 and 1", _kind("f16", a=1, b=1), _kind("f16", a=2, b=2),
        _INPUT),
    Row("table 42: f8f6f4 has no input of code 2", _kind("f8f6f4", a=3, b=4),
        _kind("f8f6f4", a=2, b=2), _INPUT),
    Row("table 42: f8f6f4 has no input of code 6", _kind("f8f6f4", a=5, b=5),
        _kind("f8f6f4", a=6), _INPUT),
    Row("table 42: i8 has inputs of codes 0 and 1", _kind("i8", d=2, a=1), _kind("i8", d=2, a=2),
        _INPUT),
    Row("table 42: D of tf32 has code 1", _kind("tf32", a=2, b=2), _kind("tf32", a=2, b=2, d=2),
        _OUTPUT),
    Row("table 42: D of f16 has no code 3", _kind("f16", d=0), _kind("f16", d=3), _OUTPUT),
    Row("table 42: i8 is not negated", _kind("i8", d=2), _kind("i8", d=2, negate=1),
        "tcgen05.mma/idesc-negate"),
    Row("table 42: the maximum shift is for .ws", _kind("f16"), _kind("f16", shift=1),
        "tcgen05.mma/idesc-max-shift"),
    # ---- tables 43 and 44: block-scaled kinds ---------------------------------------------------
    Row("table 43: bits 0 and 1 are zero", _scaled("mxf8f6f4"), _scaled("mxf8f6f4", more=1),
        _RESERVED),
    Row("table 43: bit 3 is zero", _scaled("mxf8f6f4"), _scaled("mxf8f6f4", more=8), _RESERVED),
    Row("table 43: bit 24 is zero", _scaled("mxf8f6f4"), _scaled("mxf8f6f4", more=1 << 24),
        _RESERVED),
    Row("table 43: bit 31 is zero", _scaled("mxf8f6f4"), _scaled("mxf8f6f4", k96=1), _RESERVED),
    Row("table 43: factors are UE8M0", _scaled("mxf8f6f4"), _scaled("mxf8f6f4", ue8m0=0),
        "tcgen05.mma/idesc-scale-type"),
    Row("table 43: no input of code 2", _scaled("mxf8f6f4", a=0), _scaled("mxf8f6f4", a=2), _INPUT),
    Row("table 44: inputs have code 1", _scaled("mxf4"), _scaled("mxf4", a=0), _INPUT),
    Row("table 44: bit 12 is zero", _scaled("mxf4"), _scaled("mxf4", more=1 << 12), _RESERVED),
    Row("table 44: nothing is transposed", _scaled("mxf4"), _scaled("mxf4", transpose_a=1),
        "tcgen05.mma/idesc-transpose"),
    Row("table 44: factors of mxf4 are UE8M0", _scaled("mxf4"), _scaled("mxf4", ue8m0=0),
        "tcgen05.mma/idesc-scale-type"),
    Row("table 44: the id of A's factors is 0 or 2", _scaled("mxf4", sfa=2), _scaled("mxf4", sfa=1),
        "tcgen05.mma/idesc-scale-id"),
    Row("table 44: the id of B's factors is 0 or 2", _scaled("mxf4", sfb=2), _scaled("mxf4", sfb=3),
        "tcgen05.mma/idesc-scale-id"),
    # ---- table 45: zero-column mask -------------------------------------------------------------
    Row("table 45: columns shift by 32 at most", _masked(_SHIFTS | 32 << 56),
        _masked(_SHIFTS | 33 << 56),
        "tcgen05.mma.ws/zero-mask-shift"),
    Row("table 45: by 16 for M = 32", _masked(_SHIFTS | 16 << 56, 32),
        _masked(_SHIFTS | 17 << 56, 32),
        "tcgen05.mma.ws/zero-mask-shift"),
    Row("table 45: bits 36 to 38 are reserved", _masked(_SHIFTS), _masked(_SHIFTS | 1 << 36),
        "tcgen05.mma.ws/zero-mask-reserved"),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
