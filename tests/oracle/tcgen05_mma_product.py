"""Every combination of the fields of tcgen05.mma, .mma.sp, .mma.ws and .mma.ws.sp.

The part of `tests.oracle.tcgen05_product` about matrix products ("TensorCore 5th Generation of MMA
Instructions"); the rules for what is combined with what are there.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

Product = Callable[[], Iterator[str]]

# --- axes ----------------------------------------------------------------------------------------

GROUPS: tuple[str, ...] = (".cta_group::1", ".cta_group::2")
ALL_GROUPS: tuple[str, ...] = ("", *GROUPS, ".cta_group::3")
OPS: tuple[str, ...] = ("fill", "use", "lastuse", "discard")
A_COLLECTORS = tuple(f".collector::a::{op}" for op in OPS)
B_COLLECTORS = tuple(f".collector::b::{op}" for op in OPS)
WS_COLLECTORS = tuple(f".collector::b{n}::{op}" for n in range(4) for op in OPS)
COLLECTORS: tuple[str, ...] = ("", *A_COLLECTORS, *B_COLLECTORS, *WS_COLLECTORS)
BOTH_COLLECTORS: tuple[str, ...] = tuple(
    a + b for a, b in itertools.product(A_COLLECTORS, B_COLLECTORS)
)
HEADS: tuple[str, ...] = ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp")
KINDS: tuple[str, ...] = (
    "f16", "tf32", "f8f6f4", "i8", "ti16", "mxf8f6f4", "mxf4", "mxf4nvf4", "f64",
)  # fmt: skip
SCALED_KINDS: tuple[str, ...] = ("mxf8f6f4", "mxf4", "mxf4nvf4")
VECTOR_SIZES: tuple[str, ...] = (
    "", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X", ".block16", ".block32",
)  # fmt: skip
PLACES: tuple[str, ...] = ("%rd1", "[%r2]")
"""The matrix A: a descriptor of shared memory, or an address of tensor memory."""

LANES: tuple[str, ...] = tuple(
    "{" + ", ".join(f"%r{10 + n}" for n in range(count)) + "}" if count else ""
    for count in (0, 4, 8)
)
"""The vectors of masks for the lanes of D: none, one CTA's and a pair's."""

TAILS: tuple[str, ...] = ("", "0", "15", "16", "%rd7", "0xffffffffffffffff")
"""What follows enable-input-d: a scale for D, or a descriptor of a zero-column mask."""

LUT = ".decompress::lut::b"


def statement(op: str, *operands: str) -> str:
    """One statement; an empty operand is left out."""
    given = ", ".join(operand for operand in operands if operand)
    return f"{op} {given};" if given else f"{op};"


# --- products ------------------------------------------------------------------------------------


def scaling_of(kind: str) -> str:
    """The block scaling that a kind cannot be without."""
    return {"mxf8f6f4": ".block_scale", "mxf4": ".block_scale"}.get(
        kind, ".block_scale.block16" if kind == "mxf4nvf4" else ""
    )


def mma(
    op: str, a: str, *, meta: bool, scales: bool = False, lanes: str = "", tail: str = "",
    enable: str = "%p1",
) -> str:  # fmt: skip
    """A product with the operands in the manual's order."""
    factors = ("[%r4]", "[%r5]") if scales else ()
    metadata = "[%r6]" if meta else ""
    return statement(op, "[%r0]", a, "%rd2", metadata, "%r3", *factors, lanes, enable, tail)


def is_sparse(head: str) -> bool:
    """Whether a product reads metadata."""
    return head.endswith(".sp")


def is_stationary(head: str) -> bool:
    """Whether a product is weight stationary."""
    return ".ws" in head


def mma_scaling(head: str) -> Iterator[str]:
    """kind x A x block_scale x scale vector x scale operands x metadata; the cta_group turns.

    .ws with A in shared memory only.  Without what ``mma_crashes`` has.
    """
    places = PLACES[:1] if is_stationary(head) else PLACES
    forms = itertools.product(
        KINDS, places, ("", ".block_scale"), VECTOR_SIZES, (False, True), (False, True)
    )
    for number, (kind, a, scaled, vector, scales, meta) in enumerate(forms):
        if head == "tcgen05.mma.sp" and scaled and not scales and not meta:
            continue
        group = GROUPS[0] if is_stationary(head) else GROUPS[number // 4 % 2]
        yield mma(f"{head}{group}.kind::{kind}{scaled}{vector}", a, meta=meta, scales=scales)


def mma_crashes() -> Iterator[str]:
    """cta_group x kind x A, sparse with .block_scale and five operands: each crashes ptxas."""
    for group, kind, a in itertools.product(GROUPS, KINDS, PLACES):
        yield mma(f"tcgen05.mma.sp{group}.kind::{kind}.block_scale", a, meta=False)


def mma_buffers(head: str) -> Iterator[str]:
    """kind x A x ashift x collector buffers, scaled as the kind must be; the cta_group turns.

    Buffers for A and B together only for products that are not .ws.
    """
    collectors = COLLECTORS if is_stationary(head) else COLLECTORS + BOTH_COLLECTORS
    forms = itertools.product(KINDS, PLACES, ("", ".ashift"), collectors)
    for number, (kind, a, shift_a, collector) in enumerate(forms):
        group = GROUPS[0] if is_stationary(head) else GROUPS[number % 2]
        scaling = scaling_of(kind)
        op = f"{head}{group}.kind::{kind}{scaling}{shift_a}{collector}"
        yield mma(op, a, meta=is_sparse(head), scales=bool(scaling))


def mma_scaled_buffers(head: str) -> Iterator[str]:
    """Scaled kind x scale vector x ashift x collector buffers; the cta_group turns."""
    forms = itertools.product(SCALED_KINDS, VECTOR_SIZES, ("", ".ashift"), COLLECTORS)
    for number, (kind, vector, shift_a, collector) in enumerate(forms):
        op = f"{head}{GROUPS[number % 2]}.kind::{kind}.block_scale{vector}{shift_a}{collector}"
        yield mma(op, "[%r2]", meta=is_sparse(head), scales=True)


def mma_tails(head: str) -> Iterator[str]:
    """cta_group x kind x A x lane mask x scale of D or zero-column mask, scaled as due.

    With .ashift for one cta_group and A in tensor memory.
    """
    for group, kind, a, lanes, tail in itertools.product(GROUPS, KINDS, PLACES, LANES, TAILS):
        yield _tailed(f"{head}{group}", kind, "", a, lanes, tail)
    for kind, lanes, tail in itertools.product(KINDS, LANES, TAILS):
        yield _tailed(f"{head}.cta_group::1", kind, ".ashift", "[%r2]", lanes, tail)


def _tailed(op: str, kind: str, modifiers: str, a: str, lanes: str, tail: str) -> str:
    scaling = scaling_of(kind)
    return mma(
        f"{op}.kind::{kind}{scaling}{modifiers}", a, meta=is_sparse(op.split(".cta")[0]),
        scales=bool(scaling), lanes=lanes, tail=tail,
    )  # fmt: skip


def mma_buffers_and_tails(head: str) -> Iterator[str]:
    """Collector buffer x lane mask x tail x kind (f16, i8), each kind with its cta_group."""
    for (group, kind), collector, lanes, tail in itertools.product(
        zip(GROUPS, ("f16", "i8"), strict=True), COLLECTORS, LANES, ("", "15", "%rd7")
    ):
        op = f"{head}{group}.kind::{kind}{collector}"
        yield mma(op, "[%r2]", meta=is_sparse(head), lanes=lanes, tail=tail)


def mma_decompressed(head: str) -> Iterator[str]:
    """Decompression of B: kind x scale vector x A x metadata."""
    for kind, vector, a, meta in itertools.product(KINDS, VECTOR_SIZES, PLACES, (False, True)):
        scaled = kind in SCALED_KINDS
        op = f"{head}.cta_group::1.kind::{kind}{'.block_scale' * scaled}{vector}{LUT}"
        yield mma(op, a, meta=meta, scales=scaled)


def mma_decompressed_more(head: str) -> Iterator[str]:
    """Decompression of B: kind x lane mask x tail, and kind x ashift x collector buffers."""
    for kind, lanes, tail in itertools.product(KINDS, LANES, TAILS):
        scaling = scaling_of(kind)
        yield mma(
            f"{head}.cta_group::2.kind::{kind}{scaling}{LUT}", "%rd1", meta=True,
            scales=bool(scaling), lanes=lanes, tail=tail,
        )  # fmt: skip
    buffers = ("", *A_COLLECTORS, *B_COLLECTORS, WS_COLLECTORS[0])
    for kind, shift_a, collector in itertools.product(KINDS, ("", ".ashift"), buffers):
        scaling = scaling_of(kind)
        op = f"{head}.cta_group::2.kind::{kind}{scaling}{shift_a}{LUT}{collector}"
        yield mma(op, "[%r2]", meta=True, scales=bool(scaling))


def mma_enabled(head: str) -> Iterator[str]:
    """cta_group (none, 1, 2, 3) x kind x enable-input-d; the place of A turns."""
    forms = itertools.product(ALL_GROUPS, KINDS, ("%p1", "!%p1", "0", "1", "%r1"))
    for number, (group, kind, enable) in enumerate(forms):
        scaling = scaling_of(kind)
        op = f"{head}{group}.kind::{kind}{scaling}"
        a = PLACES[number % 2]
        yield mma(op, a, meta=is_sparse(head), scales=bool(scaling), enable=enable)


def mma_products(head: str) -> tuple[Product, ...]:
    """The products for one of the four instructions."""
    both = (mma_scaling, mma_buffers, mma_tails, mma_buffers_and_tails, mma_decompressed,
            mma_enabled)  # fmt: skip
    more = () if is_stationary(head) else (mma_scaled_buffers, mma_decompressed_more)
    return tuple(functools.partial(product, head) for product in (*both, *more))
