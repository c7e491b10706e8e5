"""Statements of tcgen05.mma, legal and illegal, enumerated from the PTX manual."""

from __future__ import annotations

import itertools

from tests.oracle.statements import (
    EVERY,
    SOME,
    garble,
    joined,
    registers,
    shuffle,
    spoil,
    statement,
    unique,
)

# --- 4. and 5. tcgen05.mma -----------------------------------------------------------------------

MMA_KINDS: tuple[str, ...] = (
    "f16", "tf32", "f8f6f4", "i8", "ti16", "mxf8f6f4", "mxf4", "mxf4nvf4", "f64",
)  # fmt: skip
PLAIN_KINDS: tuple[str, ...] = ("f16", "tf32", "f8f6f4", "i8", "ti16")
SCALINGS: tuple[str, ...] = (
    "", ".block_scale", ".block_scale.scale_vec::1X", ".block_scale.scale_vec::2X",
    ".block_scale.scale_vec::4X", ".block_scale.block16", ".block_scale.block32",
    ".scale_vec::1X", ".block32",
)  # fmt: skip
COLLECTORS: tuple[str, ...] = (
    "", ".collector::a::fill", ".collector::a::use", ".collector::a::lastuse",
    ".collector::a::discard", ".collector::a::keep", ".collector::b::fill", ".collector::b::use",
    ".collector::b::lastuse", ".collector::b::discard", ".collector::b0::fill",
    ".collector::a::use.collector::b::fill", ".collector::a::fill.collector::b::lastuse",
)  # fmt: skip
WS_COLLECTORS: tuple[str, ...] = (
    "",
    *joined((".collector::b0", ".collector::b1", ".collector::b2", ".collector::b3"),
            ("::fill", "::use", "::lastuse", "::discard")),
    ".collector::b4::fill", ".collector::b0::keep", ".collector::a::fill", ".collector::b::fill",
)  # fmt: skip


def _mma(op: str, a: str, meta: str, *rest: str, scales: bool = False, enable: str = "%p1") -> str:
    """A tcgen05.mma with the operands in the manual's order."""
    scale = ("[%r4]", "[%r5]") if scales else ()
    mask, tail = (rest[0], rest[1:]) if rest else ("", ())
    return statement(op, "[%r0]", a, "%rd2", meta, "%r3", *scale, mask, enable, *tail)


def _mma_forms(sparse: bool) -> list[str]:
    """The products that tcgen05.mma and tcgen05.mma.sp share."""
    out = []
    head = "tcgen05.mma.sp" if sparse else "tcgen05.mma"
    meta = "[%r6]" if sparse else ""
    wrong_meta = "" if sparse else "[%r6]"
    groups = (".cta_group::1", ".cta_group::2")
    places = ("%rd1", "[%r2]")
    for group, kind, scaling, a, scales in itertools.product(
        groups, MMA_KINDS, SCALINGS, places, (False, True)
    ):
        mixed = group == ".cta_group::1" and a == "%rd1" and not sparse
        if mixed or scales == ("block_scale" in scaling):
            op = f"{head}{group}.kind::{kind}{scaling}"
            out.append(_mma(op, a, meta, scales=scales))
    for kind, a, shift, collector in itertools.product(
        (*PLAIN_KINDS, "mxf8f6f4"), places, ("", ".ashift"), COLLECTORS
    ):
        if shift and a == "%rd1" and kind != "f16":
            continue
        group = groups[len(collector) % 2]
        scaled = kind.startswith("mx")
        op = f"{head}{group}.kind::{kind}{'.block_scale' * scaled}{shift}{collector}"
        out.append(_mma(op, a, meta, scales=scaled))
    for kind, collector in itertools.product(("mxf4", "mxf4nvf4"), COLLECTORS):
        op = f"{head}.cta_group::1.kind::{kind}.block_scale.block32{collector}"
        out.append(_mma(op, "%rd1", meta, scales=True))
    for group, kind, lanes, scale_d in itertools.product(
        groups, (*PLAIN_KINDS, "mxf8f6f4"), (0, 3, 4, 8), ("", "0", "15", "16", "-1", "%r9")
    ):
        scaled = kind.startswith("mx")
        op = f"{head}{group}.kind::{kind}{'.block_scale' * scaled}"
        a = places[(lanes // 4 + len(scale_d)) % 2]
        mask = registers(lanes, first=10) if lanes else ""
        out.append(_mma(op, a, meta, mask, scale_d, scales=scaled))
    for kind, a, shift, lanes in itertools.product(
        ("f16", "i8", "ti16"), places, ("", ".ashift"), (0, 4)
    ):
        op = f"{head}.cta_group::1.kind::{kind}{shift}.collector::a::lastuse"
        mask = registers(lanes, first=10) if lanes else ""
        out += [_mma(op, a, meta, mask, scale_d) for scale_d in ("", "3")]
    for kind, a in itertools.product(("f16", "i8"), places):
        op = f"{head}.cta_group::1.kind::{kind}"
        out.append(_mma(op, a, wrong_meta))
        for enable in ("!%p1", "1", "0", "-1", "2", "1.0", "%r1", "_"):
            out.append(_mma(op, a, meta, enable=enable))
    out += _decompressions(head)
    for group in ("", ".cta_group::0", ".cta_group::3", ".cta_group::4"):
        out.append(_mma(f"{head}{group}.kind::f16", "%rd1", meta))
    for kind in ("", ".kind::bf16", ".kind::e4m3", ".kind::f4"):
        out.append(_mma(f"{head}.cta_group::1{kind}", "%rd1", meta))
    plain = ["[%r0]", "%rd1", "%rd2", *([meta] if meta else []), "%r3"]
    tail = ["[%r4]", "[%r5]", "%p1"]
    out += spoil(f"{head}.cta_group::1.kind::f16", [*plain, "%p1"])
    masked = [plain[0], "[%r2]", *plain[2:], registers(4, first=10), "%p1", "2"]
    out += spoil(f"{head}.cta_group::1.kind::tf32", masked, SOME)
    out += spoil(f"{head}.cta_group::2.kind::mxf8f6f4.block_scale", [*plain, *tail], SOME)
    out += garble(f"{head}.cta_group::1.kind::f16", [*plain, "%p1"])
    mods = [".cta_group::1", ".kind::f16", ".ashift", ".collector::a::lastuse"]
    out += shuffle(head, mods, "[%r0]", "[%r2]", *plain[2:], "%p1")
    scaled_mods = [".cta_group::1", ".kind::mxf8f6f4", ".block_scale", ".block32"]
    out += shuffle(head, scaled_mods, *plain, *tail)
    return out


def _decompressions(head: str) -> list[str]:
    """B through a look-up table in tensor memory: the table stands where sparse metadata does."""
    out = []
    for kind, lut, scaling, a, collector in itertools.product(
        MMA_KINDS,
        (".decompress::lut::b", ".decompress::lut::a"),
        ("", ".block_scale", ".block_scale.block32", ".block_scale.scale_vec::1X"),
        ("%rd1", "[%r2]"),
        ("", ".ashift", ".collector::a::use", ".collector::b::fill"),
    ):
        if kind.startswith("mx") == bool(scaling):
            op = f"{head}.cta_group::1.kind::{kind}{scaling}{lut}{collector}"
            out += [_mma(op, a, meta, scales=bool(scaling)) for meta in ("[%r6]", "")]
    for group, kind, lanes, scale_d in itertools.product(
        (".cta_group::1", ".cta_group::2"), ("f16", "f8f6f4", "mxf8f6f4"), (0, 4, 8), ("", "2")
    ):
        scaling = ".block_scale" if kind.startswith("mx") else ""
        op = f"{head}{group}.kind::{kind}{scaling}.decompress::lut::b"
        mask = registers(lanes, first=10) if lanes else ""
        out.append(_mma(op, "%rd1", "[%r6]", mask, scale_d, scales=bool(scaling)))
    op = f"{head}.cta_group::1.kind::f8f6f4.decompress::lut::b"
    out += spoil(op, ("[%r0]", "%rd1", "%rd2", "[%r6]", "%r3", "%p1"), SOME)
    mods = [".cta_group::1", ".kind::f8f6f4", ".decompress::lut::b"]
    return out + shuffle(head, mods, "[%r0]", "%rd1", "%rd2", "[%r6]", "%r3", "%p1")


def tcgen05_mma() -> list[str]:
    """tcgen05.mma, dense ("TensorCore 5th Generation Instructions: tcgen05.mma").

    Products: cta_group x kind x scaling x place of A (scale operands that do not fit: for one
    cta_group and A in shared memory); kind x place of A x ashift x collector (the cta_group turns
    with the collector); cta_group x kind x lane mask x scale-input-d (the place of A turns);
    decompression of B (``_decompressions``); enable-input-d literals; operands and modifiers
    perturbed.
    """
    return unique(_mma_forms(sparse=False))


def tcgen05_mma_sparse_and_ws() -> list[str]:
    """tcgen05.mma.sp, tcgen05.mma.ws, tcgen05.mma.ws.sp (the instructions of those names).

    .sp: the products of the dense family, with the metadata operand.  .ws: kind x collector x
    place of A, and cta_group x kind x zero-column mask x place of A, each dense and sparse.
    """
    out = _mma_forms(sparse=True)
    for head, meta in (("tcgen05.mma.ws", ""), ("tcgen05.mma.ws.sp", "[%r6]")):
        for kind, collector, a in itertools.product(MMA_KINDS, WS_COLLECTORS, ("%rd1", "[%r2]")):
            if (a == "%rd1" and not meta) or kind in PLAIN_KINDS:
                op = f"{head}.cta_group::1.kind::{kind}{collector}"
                out.append(_mma(op, a, meta))
        for group, kind, mask, a in itertools.product(
            ("", ".cta_group::1", ".cta_group::2"),
            (*PLAIN_KINDS, "mxf4"),
            ("", "%rd7", "0", "0xffffffffffffffff", "1.5", "%r7"),
            ("%rd1", "[%r2]"),
        ):
            if (group == ".cta_group::1" and not (meta and mask == "0")) or (
                a == "%rd1" and mask in ("", "%rd7")
            ):
                out.append(_mma(f"{head}{group}.kind::{kind}", a, meta, "", mask))
        op = f"{head}.cta_group::1.kind::f16"
        out += [_mma(op, "%rd1", meta, "", "%rd7", enable=e) for e in ("!%p1", "1", "0", "%r1")]
        out += [
            _mma(op, "%rd1", meta, registers(4, first=10)),
            _mma(op, "%rd1", meta, "", "%rd7", "3"),
            _mma(op, "%rd1", meta, "", "3", "%rd7"),
            _mma(op, "%rd1", "" if meta else "[%r6]"),
            _mma(op + ".ashift", "[%r2]", meta),
            _mma(op + ".block_scale", "%rd1", meta, scales=True),
            _mma(op.replace("f16", "mxf8f6f4") + ".block_scale", "%rd1", meta, scales=True),
            _mma(op.replace("f16", "f8f6f4") + ".decompress::lut::b", "%rd1", "[%r6]"),
        ]
        operands = ["[%r0]", "%rd1", "%rd2", *([meta] if meta else []), "%r3", "%p1", "%rd7"]
        out += spoil(op, operands, SOME if meta else EVERY)
        out += garble(op, operands)
        mods = [".cta_group::1", ".kind::f16", ".collector::b1::fill"]
        out += shuffle(head, mods, *operands)
    operands = ["[%r0]", "%rd1", "%rd2", "[%r6]", "%r3", "%p1"]
    for head in (
        "tcgen05.mma.sp.ws", "tcgen05.mma.cta_group::1.sp", "tcgen05.mma.cta_group::1.ws",
        "tcgen05.mma.sp.cta_group::1.ws", "tcgen05.mma.ws.cta_group::1.sp",
        "tcgen05.mma.sp.sp.cta_group::1", "tcgen05.mma.ws.ws.cta_group::1", "tcgen05.mma.nosuch",
    ):  # fmt: skip
        out.append(statement(f"{head}.kind::f16", *operands))
        out.append(statement(f"{head}.cta_group::1.kind::f16", *operands))
    return unique(out)
