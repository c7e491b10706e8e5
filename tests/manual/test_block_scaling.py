"""9.7.16.10.7, Block Scaling: tables 54 and 55, ids of scale factors.

That factors lie in all four quarters of the lanes is held by
`tests/isel/verifier/function/test_function_scales.py`.
"""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, scaled
from tests.manual.rows import Row, statements

_SCALES = ", [%r2], [%r3]"


def _kind(kind: str, size: str = "", scales: str = _SCALES, **fields: int) -> str:
    modifiers = f".cta_group::1.kind::{kind}.block_scale{size}"
    return mma(scaled(**fields), modifiers=modifiers, scales=scales)


def _sized(kind: str, size: str) -> str:
    return _kind(kind, size)


_NV = "tcgen05.mma/mxf4nvf4-scale-vec"
_TYPE, _ID = "tcgen05.mma/idesc-scale-type", "tcgen05.mma/idesc-scale-id"

ROWS = (
    # ---- table 54 ------------------------------------------------------------------------------
    Row("mxf8f6f4 has one factor a row", _sized("mxf8f6f4", ".scale_vec::1X"),
        _sized("mxf8f6f4", ".scale_vec::2X"), "tcgen05.mma/mxf8f6f4-scale-vec", refused=True),
    Row("mxf8f6f4 has not four", _sized("mxf8f6f4", ".block32"),
        _sized("mxf8f6f4", ".scale_vec::4X"), "tcgen05.mma/mxf8f6f4-scale-vec", refused=True),
    Row("mxf8f6f4 has no blocks of 16", _sized("mxf8f6f4", ""), _sized("mxf8f6f4", ".block16"),
        "tcgen05.mma/mxf8f6f4-scale-vec", refused=True),
    Row("mxf4 has two factors a row", _sized("mxf4", ".scale_vec::2X"),
        _sized("mxf4", ".scale_vec::1X"), "tcgen05.mma/mxf4-scale-vec", refused=True),
    Row("mxf4 has not four", _sized("mxf4", ".block32"), _sized("mxf4", ".scale_vec::4X"),
        "tcgen05.mma/mxf4-scale-vec", refused=True),
    Row("mxf4 has no blocks of 16", _sized("mxf4", ""), _sized("mxf4", ".block16"),
        "tcgen05.mma/mxf4-scale-vec", refused=True),
    Row("mxf4nvf4 has two or four", _sized("mxf4nvf4", ".scale_vec::4X"),
        _sized("mxf4nvf4", ".scale_vec::1X"), _NV, refused=True),
    Row("mxf4nvf4 says how many", _sized("mxf4nvf4", ".block16"), _sized("mxf4nvf4", ""), _NV,
        refused=True),
    # ---- table 55 ------------------------------------------------------------------------------
    Row("mxf8f6f4: factors of UE8M0", _kind("mxf8f6f4", ".block32", ue8m0=1),
        _kind("mxf8f6f4", ".block32", ue8m0=0), _TYPE),
    Row("mxf4: factors of UE8M0", _kind("mxf4", ".block32"), _kind("mxf4", ".block32", ue8m0=0),
        _TYPE),
    Row("mxf4nvf4, two: factors of UE8M0", _kind("mxf4nvf4", ".scale_vec::2X"),
        _kind("mxf4nvf4", ".scale_vec::2X", ue8m0=0), _TYPE),
    Row("mxf4nvf4, blocks of 32: factors of UE8M0", _kind("mxf4nvf4", ".block32"),
        _kind("mxf4nvf4", ".block32", ue8m0=0), _TYPE),
    # ---- which kinds scale ---------------------------------------------------------------------
    Row("kinds that scale say .block_scale", _sized("mxf8f6f4", ""),
        mma(scaled(), modifiers=".cta_group::1.kind::mxf8f6f4"),
        "tcgen05.mma/block-scale-required", refused=True),
    Row("others do not", _sized("mxf4", ""), _kind("f16"), "tcgen05.mma/block-scale-kind",
        refused=True),
    Row("f8f6f4 does not", _kind("mxf8f6f4", sfa=1), _kind("f8f6f4"),
        "tcgen05.mma/block-scale-kind", refused=True),
    Row("a number of factors needs .block_scale", _kind("mxf8f6f4", sfa=2),
        mma(scaled(), modifiers=".cta_group::1.kind::f16.scale_vec::1X"),
        "tcgen05.mma/scale-vec-block-scale", refused=True),
    # ---- 9.7.16.10.7.2 and .3: ids -------------------------------------------------------------
    Row("one factor of A: at any of four bytes", _kind("mxf8f6f4", sfa=3), _kind("mxf4", sfa=3),
        _ID),
    Row("two factors of A: at byte 0 or 2", _kind("mxf4", sfa=2), _kind("mxf4", sfa=1), _ID),
    Row("two factors of B: at byte 0 or 2", _kind("mxf4", sfb=2), _kind("mxf4", sfb=1), _ID),
    Row("four factors of A: at byte 0", _kind("mxf4nvf4", ".block16"),
        _kind("mxf4nvf4", ".block16", sfa=2), _ID),
    Row("four factors of B: at byte 0", _kind("mxf4nvf4", ".scale_vec::4X"),
        _kind("mxf4nvf4", ".scale_vec::4X", sfb=2), _ID),
    # ---- target ISA notes of .scale_vectorsize -------------------------------------------------
    Row(".scale_vec::NX is for a targets", _sized("mxf4", ".scale_vec::2X"),
        _sized("mxf4", ".scale_vec::2X"), "tcgen05.mma/scale-vec-target", refused=True,
        target="sm_100f", elsewhere="sm_103a"),
    Row(".blockN is from 8.8 on", _sized("mxf4", ".block32"), _sized("mxf4", ".block32"),
        "tcgen05.mma/block-version", refused=True, ptx="8.7", elsewhere="sm_100a 8.8"),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
