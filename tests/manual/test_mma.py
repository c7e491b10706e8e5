"""9.7.16.10.9.1, tcgen05.mma."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain
from tests.manual.rows import Held, Issued, Row, issues, kernels, statements

_SCALES = ", [%r2], [%r3]"
_MASK = {4: ", {%r10, %r11, %r12, %r13}", 8: f", {{{', '.join(f'%r{n}' for n in range(10, 18))}}}"}


def _mma(kind: str = "f16", more: str = "", group: int = 1, a: str = "%rd1", mask: str = "",
         tail: str = "") -> str:  # fmt: skip
    """A multiply whose descriptors are in registers."""
    modifiers = f".cta_group::{group}.kind::{kind}{more}"
    scales = mask or (_SCALES if "block_scale" in more else "")
    return mma("%r5", modifiers=modifiers, a=a, b="%rd2", scales=scales, more=tail)


_TMEM = "[%r9]"
_A = ".collector::a::{}"
_OPERANDS = "tcgen05.mma/operands"
_UNKNOWN, _MISSING = "ptx/unknown-modifier", "ptx/missing-modifier"


def _issue(*collectors: str, b: str = "%rd2", n: int = 32) -> str:
    """Multiplies of one A with these collector operations."""
    return "".join(
        mma(plain(n=n), modifiers=f".cta_group::1.kind::f16{_A.format(one)}", a="%rd1", b=b,
            d=f"[%r3+{32 * at}]").replace("%p1", "0") + "\n"
        for at, one in enumerate(collectors)
    )  # fmt: skip


ROWS = (
    # ---- syntax --------------------------------------------------------------------------------
    Row(".kind has to stand", _mma(), _mma().replace(".kind::f16", ""), _MISSING, refused=True),
    Row(".cta_group has to stand", _mma(), _mma().replace(".cta_group::1", ""), _MISSING,
        refused=True),
    Row("there is no kind::f8f8f4", _mma("f8f6f4"), _mma("f8f8f4"), _UNKNOWN, refused=True),
    Row("D is an address in tensor memory", _mma(), _mma().replace("[%r1]", "%rd3"), _OPERANDS,
        refused=True),
    Row("A is a descriptor or an address", _mma(a=_TMEM), _mma(a="%r9"), _OPERANDS, refused=True),
    Row("B is a descriptor", _mma(), _mma().replace("%rd2", "[%r8]"), _OPERANDS, refused=True),
    Row("enable-input-d is a predicate", _mma(), _mma().replace("%p1", "%r6"), _OPERANDS,
        refused=True),
    # ---- scale-input-d -------------------------------------------------------------------------
    Row("scale-input-d is at most 15", _mma(tail=", 15"), _mma(tail=", 16"),
        "tcgen05.mma/immediate-range", refused=True),
    Row("scale-input-d is an immediate", _mma(tail=", 1"), _mma(tail=", %r6"), _OPERANDS,
        refused=True),
    Row("scale-input-d is for f16 and tf32", _mma("tf32", tail=", 1"), _mma("f8f6f4", tail=", 1"),
        "tcgen05.mma/scale-d-kind", refused=True),
    Row("scale-input-d is not for i8", _mma("i8"), _mma("i8", tail=", 1"),
        "tcgen05.mma/scale-d-i8"),
    Row("scale-input-d is not for block scaling", _mma("mxf4", ".block_scale"),
        _mma("mxf4", ".block_scale", tail=", 1"), "tcgen05.mma/scale-d-kind",
        refused=True),
    Row("scale-input-d needs the family of sm_100", _mma(tail=", 2"), _mma(tail=", 2"),
        "tcgen05.mma/scale-d-target", refused=True, target="sm_110a", elsewhere="sm_100f"),
    # ---- disable-output-lane -------------------------------------------------------------------
    Row("the mask of one CTA has 4 words", _mma(mask=_MASK[4]), _mma(mask=_MASK[8]),
        "tcgen05.mma/vector-size", refused=True),
    Row("the mask of a pair has 8", _mma(mask=_MASK[8], group=2), _mma(mask=_MASK[4], group=2),
        "tcgen05.mma/vector-size", refused=True),
    Row("block scaling has no mask", _mma("mxf8f6f4", ".block_scale"),
        _mma("mxf8f6f4", ".block_scale", mask=_SCALES + _MASK[4]),
        "tcgen05.mma/lane-mask-block-scale", refused=True),
    # ---- ashift and collectors -----------------------------------------------------------------
    Row(".ashift is for A in tensor memory", _mma(more=".ashift", a=_TMEM), _mma(more=".ashift"),
        "tcgen05.mma/ashift-residency", refused=True),
    Row(".ashift is not for block scaling", _mma("i8", ".ashift", a=_TMEM),
        _mma("mxf8f6f4", ".block_scale.ashift", a=_TMEM), "tcgen05.mma/ashift-block-scale",
        refused=True),
    Row(".ashift does not fill", _mma(more=".ashift" + _A.format("discard"), a=_TMEM),
        _mma(more=".ashift" + _A.format("fill"), a=_TMEM), "tcgen05.mma/ashift-collector",
        refused=True),
    Row(".ashift does not use", _mma(more=".ashift" + _A.format("lastuse"), a=_TMEM),
        _mma(more=".ashift" + _A.format("use"), a=_TMEM), "tcgen05.mma/ashift-collector",
        refused=True),
    Row(".ashift is for M of 128 and 256",
        mma(plain(), modifiers=".cta_group::1.kind::f16.ashift", a=_TMEM),
        mma(plain(m=64), modifiers=".cta_group::1.kind::f16.ashift", a=_TMEM),
        "tcgen05.mma/idesc-ashift"),
    Row("the buffer of A is one", _mma(more=_A.format("fill")), _mma(more=".collector::a1::fill"),
        _UNKNOWN, refused=True),
    Row("its operations are four", _mma(more=_A.format("discard")), _mma(more=_A.format("keep")),
        _UNKNOWN, refused=True),
    # ---- notes ---------------------------------------------------------------------------------
    Row("mxf4nvf4 is from 8.7 on", _mma("mxf4nvf4", ".block_scale.scale_vec::2X"),
        _mma("mxf4nvf4", ".block_scale.scale_vec::2X"), "tcgen05.mma/mxf4nvf4-version",
        refused=True, ptx="8.6", elsewhere="sm_100a 8.7"),
    Row("i8 is not for families", _mma("i8"), _mma("i8"), "tcgen05.mma/i8-target", refused=True,
        target="sm_100f", elsewhere="sm_101a 8.6"),
    Row("i8 is not for sm_103a", _mma("i8", mask=_MASK[4]), _mma("i8", mask=_MASK[4]),
        "tcgen05.mma/i8-target", refused=True, target="sm_103a", elsewhere="sm_110a"),
    Row("sm_120a has none of it", _mma(), _mma(), "tcgen05.mma/target", refused=True,
        target="sm_120a", elsewhere="sm_103f"),
)  # fmt: skip

ISSUED = (
    Issued("use needs a fill before it", _issue("fill", "use"), _issue("discard", "use"),
           "tcgen05.mma/collector-fill"),
    Issued("lastuse needs one, too", _issue("fill", "lastuse"), _issue("lastuse"),
           "tcgen05.mma/collector-fill"),
    Issued("which is still valid: nothing behind lastuse", _issue("fill", "use", "lastuse"),
           _issue("fill", "lastuse", "use"), "tcgen05.mma/collector-fill"),
    Issued("nothing behind discard", _issue("fill", "use"), _issue("fill", "discard", "use"),
           "tcgen05.mma/collector-fill"),
    Issued("of the same A", _issue("fill", "use"),
           _issue("fill") + _issue("use").replace("%rd1", "%rd2"), "tcgen05.mma/collector-place"),
)  # fmt: skip

HELD = (
    Held("one thread issues the whole multiply", "tcgen05.mma/threads",
         ("an MMA by the whole warp", "an MMA by two threads")),
    Held("what it reads is not modified before it is complete", "st/operand-modified",
         ("A is stored over at once", "B is stored over when one thread has been told too early")),
    Held("nor copied over", "cp.async.bulk.tensor/operand-modified",
         ("A is copied again at once", "an arrival where the commit belongs")),
    Held("what it reads has been copied", "tcgen05.mma/before-copy",
         ("copy not waited for", "copy waited for behind the MMA", "no wait in the ring")),
    Held("and is seen by the async proxy", "shared/proxy-fence",
         ("no proxy fence", "proxy fence before the stores", "proxy fence on one way")),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_a_kernel = kernels(HELD)
test_a_sentence_about_what_a_thread_issues = issues(ISSUED)
