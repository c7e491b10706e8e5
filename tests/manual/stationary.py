"""What 9.7.16.10.9.3 and .4 say alike of tcgen05.mma.ws and tcgen05.mma.ws.sp."""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain
from tests.manual.rows import Issued, Row

_UNKNOWN = "ptx/unknown-modifier"


def _mma(op: str, kind: str = "f16", more: str = "", tail: str = "", group: int = 1) -> str:
    """A weight-stationary multiply whose descriptors are in registers."""
    modifiers = f"{op.removeprefix('tcgen05.mma')}.cta_group::{group}.kind::{kind}{more}"
    meta = ", [%r4]" if op.endswith(".sp") else ""
    return mma("%r5", modifiers=modifiers, a="%rd1", b="%rd2", meta=meta, more=tail)


def _issue(op: str, *collectors: str, b: str = "%rd2") -> str:
    """Multiplies with one B and these collector operations."""
    sparse, head = op.endswith(".sp"), op.removeprefix("tcgen05.mma")
    return "".join(
        mma(plain(n=64, sparse=int(sparse)),
            modifiers=f"{head}.cta_group::1.kind::f16.collector::{one}", a="%rd1", b=b,
            d=f"[%r3+{64 * at}]", meta=", [%r3+500]" if sparse else "").replace("%p1", "0") + "\n"
        for at, one in enumerate(collectors)
    )  # fmt: skip


def rows(op: str) -> tuple[Row, ...]:
    """Sentences about a statement of `op`."""
    return (
        Row("one CTA only", _mma(op), _mma(op, group=2), f"{op}/ws-cta-group", refused=True),
        Row("no block-scaled kinds", _mma(op, "f8f6f4"), _mma(op, "mxf8f6f4"), f"{op}/ws-kind",
            refused=True),
        Row("no kinds of 4 bits", _mma(op, "tf32"), _mma(op, "mxf4"), f"{op}/ws-kind",
            refused=True),
        Row("nor mxf4nvf4", _mma(op, "i8"), _mma(op, "mxf4nvf4"), f"{op}/ws-kind", refused=True),
        Row("the buffers are b0 to b3", _mma(op, more=".collector::b3::use"),
            _mma(op, more=".collector::b4::use"), _UNKNOWN, refused=True),
        Row("and not A's", _mma(op, more=".collector::b0::fill"),
            _mma(op, more=".collector::a::fill"), _UNKNOWN, refused=True),
        Row("there is no .ashift", _mma(op, more=".collector::b1::lastuse"),
            _mma(op, more=".ashift"), _UNKNOWN, refused=True),
        Row("the zero-column mask has 64 bits", _mma(op, tail=", %rd5"), _mma(op, tail=", %r6"),
            f"{op}/operands", refused=True),
        Row("there is no mask of lanes", _mma(op), _mma(op, tail=", {%r10, %r11, %r12, %r13}"),
            f"{op}/operands", refused=True),
        Row("i8 is not for families", _mma(op, "i8"), _mma(op, "i8"), f"{op}/i8-target",
            refused=True, target="sm_100f", elsewhere="sm_110a"),
        Row("families have it from 8.8", _mma(op), _mma(op), f"{op}/target", refused=True,
            target="sm_100f", ptx="8.7", elsewhere="sm_100f 8.8"),
    )  # fmt: skip


def issued(op: str) -> tuple[Issued, ...]:
    """Sentences about what a thread issues of `op`."""
    return (
        Issued("use needs a fill of its buffer", _issue(op, "b1::fill", "b1::use"),
               _issue(op, "b0::fill", "b1::use"), f"{op}/collector-fill"),
        Issued("which lastuse ends", _issue(op, "b2::fill", "b2::use", "b2::lastuse"),
               _issue(op, "b2::fill", "b2::lastuse", "b2::use"), f"{op}/collector-fill"),
        Issued("of the same B", _issue(op, "b0::fill", "b0::use"),
               _issue(op, "b0::fill") + _issue(op, "b0::use", b="%rd1"), f"{op}/collector-place"),
    )  # fmt: skip
