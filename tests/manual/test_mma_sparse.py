"""9.7.16.10.9.2, tcgen05.mma.sp."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain
from tests.manual.rows import Issued, Row, issues, statements

_SCALES = ", [%r2], [%r3]"
_MASK = {4: ", {%r10, %r11, %r12, %r13}", 8: f", {{{', '.join(f'%r{n}' for n in range(10, 18))}}}"}


def _mma(kind: str = "f16", more: str = "", group: int = 1, a: str = "%rd1", mask: str = "",
         tail: str = "") -> str:  # fmt: skip
    """A sparse multiply whose descriptors are in registers."""
    modifiers = f".sp.cta_group::{group}.kind::{kind}{more}"
    scales = mask or (_SCALES if "block_scale" in more else "")
    return mma("%r5", modifiers=modifiers, a=a, b="%rd2", meta=", [%r4]", scales=scales, more=tail)


_TMEM = "[%r9]"
_A = ".collector::a::{}"
_OPERANDS = "tcgen05.mma.sp/operands"


def _at(lane: int, m: int, group: int) -> str:
    """A multiply whose D begins at a lane."""
    whole = mma(
        plain(m=m, sparse=1), modifiers=f".sp.cta_group::{group}.kind::f16", a="%rd1", b="%rd2",
        d="[%r9]", meta=", [%r4]",
    )  # fmt: skip
    return f"mov.b32 %r9, {lane << 16}; {whole}"


def _issue(*collectors: str, a: str = "%rd1") -> str:
    """Multiplies of one A with these collector operations."""
    return "".join(
        mma(plain(n=32, sparse=1), modifiers=f".sp.cta_group::1.kind::f16{_A.format(one)}", a=a,
            b="%rd2", d="[%r3]", meta=", [%r3+32]").replace("%p1", "0") + "\n"
        for one in collectors
    )  # fmt: skip


ROWS = (
    Row("layout C: D of a pair with M = 128 begins at lane 0 or 16", _at(16, 128, 2),
        _at(32, 128, 2), "tcgen05.mma.sp/matrix-lane"),
    Row("layout A: that of M = 256 at lane 0 alone", _at(0, 256, 2), _at(16, 256, 2),
        "tcgen05.mma.sp/matrix-lane"),
    Row("layout F: that of M = 64 at lane 0 or 16", _at(16, 64, 1), _at(64, 64, 1),
        "tcgen05.mma.sp/matrix-lane"),
    Row("the metadata are an address in tensor memory", _mma(), _mma().replace("[%r4]", "%rd4"),
        _OPERANDS, refused=True),
    Row("scale-input-d is at most 15", _mma("tf32", tail=", 15"), _mma("tf32", tail=", 16"),
        "tcgen05.mma.sp/immediate-range", refused=True),
    Row("scale-input-d is for f16 and tf32", _mma(tail=", 1"), _mma("f8f6f4", tail=", 1"),
        "tcgen05.mma.sp/scale-d-kind", refused=True),
    Row("scale-input-d is not for i8", _mma("i8"), _mma("i8", tail=", 1"),
        "tcgen05.mma.sp/scale-d-i8"),
    Row("the mask of one CTA has 4 words", _mma(mask=_MASK[4]), _mma(mask=_MASK[8]),
        "tcgen05.mma.sp/vector-size", refused=True),
    Row("the mask of a pair has 8", _mma(mask=_MASK[8], group=2), _mma(mask=_MASK[4], group=2),
        "tcgen05.mma.sp/vector-size", refused=True),
    Row(".ashift is for A in tensor memory", _mma(more=".ashift", a=_TMEM), _mma(more=".ashift"),
        "tcgen05.mma.sp/ashift-residency", refused=True),
    Row(".ashift does not fill", _mma(more=".ashift" + _A.format("lastuse"), a=_TMEM),
        _mma(more=".ashift" + _A.format("fill"), a=_TMEM), "tcgen05.mma.sp/ashift-collector",
        refused=True),
    Row(".ashift does not use", _mma(more=".ashift" + _A.format("discard"), a=_TMEM),
        _mma(more=".ashift" + _A.format("use"), a=_TMEM), "tcgen05.mma.sp/ashift-collector",
        refused=True),
    Row(".ashift is for M of 128 and 256",
        mma(plain(sparse=1), modifiers=".sp.cta_group::1.kind::f16.ashift", a=_TMEM,
            meta=", [%r4]"),
        mma(plain(m=64, sparse=1), modifiers=".sp.cta_group::1.kind::f16.ashift", a=_TMEM,
            meta=", [%r4]"), "tcgen05.mma.sp/idesc-ashift"),
    Row("mxf4nvf4 says how many factors", _mma("mxf4nvf4", ".block_scale.block16"),
        _mma("mxf4nvf4", ".block_scale"), "tcgen05.mma.sp/mxf4nvf4-scale-vec", refused=True),
    Row("block scaling has no mask", _mma("mxf8f6f4", ".block_scale"),
        _mma("mxf8f6f4", ".block_scale", mask=_SCALES + _MASK[4]),
        "tcgen05.mma.sp/lane-mask-block-scale", refused=True),
    Row("i8 is not for families", _mma("i8"), _mma("i8"), "tcgen05.mma.sp/i8-target",
        refused=True, target="sm_103f", elsewhere="sm_110a"),
    Row("mxf4 is not for families", _mma("mxf4", ".block_scale"), _mma("mxf4", ".block_scale"),
        "tcgen05.mma.sp/sparse-fp4-target", refused=True, target="sm_100f", elsewhere="sm_103a"),
    Row("mxf4nvf4 is not for families", _mma("mxf4nvf4", ".block_scale.block32"),
        _mma("mxf4nvf4", ".block_scale.block32"), "tcgen05.mma.sp/sparse-fp4-target",
        refused=True, target="sm_110f", elsewhere="sm_110a"),
    Row("scale-input-d needs the family of sm_100", _mma(tail=", 2"), _mma(tail=", 2"),
        "tcgen05.mma.sp/scale-d-target", refused=True, target="sm_110a", elsewhere="sm_103f"),
)  # fmt: skip

ISSUED = (
    Issued("use needs a fill before it", _issue("fill", "use"), _issue("discard", "use"),
           "tcgen05.mma.sp/collector-fill"),
    Issued("lastuse needs one, too", _issue("fill", "lastuse"), _issue("lastuse"),
           "tcgen05.mma.sp/collector-fill"),
    Issued("nothing behind lastuse", _issue("fill", "use", "lastuse"),
           _issue("fill", "lastuse", "use"), "tcgen05.mma.sp/collector-fill"),
    Issued("nothing behind discard", _issue("fill", "use"), _issue("fill", "discard", "use"),
           "tcgen05.mma.sp/collector-fill"),
    Issued("of the same A", _issue("fill", "use"), _issue("fill") + _issue("use", a="%rd2"),
           "tcgen05.mma.sp/collector-place"),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_what_a_thread_issues = issues(ISSUED)
