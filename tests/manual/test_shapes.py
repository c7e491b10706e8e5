"""9.7.16.2, Matrix and Data Movement Shape: table 39, and which shape moves what."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain, scaled
from tests.manual.rows import Row, statements

_TWO = ".cta_group::2.kind::{}"
_WS = ".ws.cta_group::1.kind::{}"
_SCALES = ", [%r2], [%r3]"


def _plain(modifiers: str, **fields: int) -> str:
    sparse = ".sp" in modifiers
    meta = ", [%r4]" if sparse else ""
    return mma(plain(sparse=int(sparse), **fields), modifiers=modifiers, meta=meta)


def _scaled(modifiers: str, **fields: int) -> str:
    sparse = ".sp" in modifiers
    meta, idesc = ", [%r4]" if sparse else "", scaled(sparse=int(sparse), **fields)
    return mma(idesc, modifiers=f"{modifiers}.block_scale", meta=meta, scales=_SCALES)


_F16, _F16_TWO, _F16_WS = ".cta_group::1.kind::f16", _TWO.format("f16"), _WS.format("f16")
_I8, _I8_TWO = ".cta_group::1.kind::i8", _TWO.format("i8")
_MX, _MX_TWO = ".cta_group::1.kind::mxf8f6f4", _TWO.format("mxf8f6f4")
_SP_MX_TWO = f".sp{_MX_TWO}"
_MXF4 = ".cta_group::1.kind::mxf4"

_M, _N = "tcgen05.mma/idesc-m", "tcgen05.mma/idesc-n"

_UNKNOWN = "ptx/unknown-modifier"

ROWS = (
    # ---- table 39 ----------------------------------------------------------------------------
    Row("one CTA: M is 64 or 128", _plain(_F16, m=64), _plain(_F16, m=256), _M),
    Row("one CTA: M is not 32 outside of .ws", _plain(_F16_WS, m=32), _plain(_F16, m=32), _M),
    Row("one CTA: N goes in steps of 8 up to 256",
        _plain(_F16, n=8), _plain(_F16, n=264), _N),
    Row("one CTA: N is at least 8", _plain(_F16, n=256), _plain(_F16, n=0), _N),
    Row("a pair: M is 128 or 256", _plain(_F16_TWO, m=256), _plain(_F16_TWO, m=64), _M),
    Row("a pair: N goes in steps of 16", _plain(_F16_TWO, n=48), _plain(_F16_TWO, n=40), _N),
    Row(".ws: M is 32, 64 or 128",
        _plain(_F16_WS, m=64), _plain(_F16_WS, m=256), "tcgen05.mma.ws/idesc-m"),
    Row(".ws: N is 64, 128 or 256",
        _plain(_F16_WS, n=256), _plain(_F16_WS, n=96), "tcgen05.mma.ws/idesc-n"),
    Row(".ws, sparse: N is 64 or 128",
        _plain(".ws.sp.cta_group::1.kind::f16"), _plain(".ws.sp.cta_group::1.kind::f16", n=256),
        "tcgen05.mma.ws.sp/idesc-n"),
    Row(".ws has no pairs",
        _plain(_F16_WS), _plain(".ws.cta_group::2.kind::f16"), "tcgen05.mma.ws/ws-cta-group",
        refused=True),
    Row("f16: D of f16 is for f16 inputs",
        _plain(_F16, d=0), _plain(_F16, d=0, a=1, b=1), "tcgen05.mma/idesc-types"),
    Row("tf32: D is f32",
        _plain(".cta_group::1.kind::tf32", a=2, b=2),
        _plain(".cta_group::1.kind::tf32", a=2, b=2, d=0), "tcgen05.mma/idesc-output-type"),
    Row("i8: N goes in steps of 16 behind 32",
        _plain(_I8, d=2, n=24), _plain(_I8, d=2, n=40), _N),
    Row("i8, a pair: N goes in steps of 32",
        _plain(_I8_TWO, d=2, m=256, n=64), _plain(_I8_TWO, d=2, m=256, n=48), _N),
    Row("i8: D is s32",
        _plain(_I8, d=2), _plain(_I8, d=1), "tcgen05.mma/idesc-output-type"),
    Row("block-scaled: M is 128 for one CTA", _scaled(_MX), _scaled(_MX, m=256), _M),
    Row("block-scaled, sparse, a pair: M is 256",
        _scaled(_SP_MX_TWO, m=256), _scaled(_SP_MX_TWO, m=128), "tcgen05.mma.sp/idesc-m"),
    Row("block-scaled, a pair: N goes in steps of 16",
        _scaled(_MX_TWO, m=256, n=32), _scaled(_MX_TWO, m=256, n=24), _N),
    Row(".ws has no block scaling",
        _plain(_F16_WS), _plain(_WS.format("mxf8f6f4")), "tcgen05.mma.ws/ws-kind",
        refused=True),
    Row("K = 96 is for a dense pair with M = 256",
        _scaled(_TWO.format("mxf4"), m=256, k96=1), _scaled(_MXF4, k96=1),
        "tcgen05.mma/idesc-k96", target="sm_103a"),
    Row("9.7.16.2.1.1: K = 96 is for sm_103a",
        _scaled(_TWO.format("mxf4"), m=256, k96=1), _scaled(_TWO.format("mxf4"), m=256, k96=1),
        "tcgen05.mma/idesc-k96-target", elsewhere="sm_103a"),
    # ---- 9.7.16.2.3: what moves in which shape -------------------------------------------------
    Row("9.7.16.2.3: ld has no shape of cp",
        "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r1}, [%r9];",
        "tcgen05.ld.sync.aligned.32x128b.x1.b32 {%r1}, [%r9];", _UNKNOWN, refused=True),
    Row("9.7.16.2.3: st has no shape of cp",
        "tcgen05.st.sync.aligned.16x128b.x1.b32 [%r9], {%r1, %r2};",
        "tcgen05.st.sync.aligned.4x256b.x1.b32 [%r9], {%r1, %r2};", _UNKNOWN, refused=True),
    Row("9.7.16.2.3: cp has no shape of ld",
        "tcgen05.cp.cta_group::1.4x256b [%r9], %rd1;",
        "tcgen05.cp.cta_group::1.16x256b [%r9], %rd1;", _UNKNOWN, refused=True),
    Row("9.7.16.2.3: shift has no shape",
        "tcgen05.shift.cta_group::1.down [%r9];",
        "tcgen05.shift.cta_group::1.down.31x256b [%r9];", _UNKNOWN, refused=True),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
