"""Every combination of the fields of mma instructions with a kind that have to do with one another.

The axes come from the syntax in the PTX manual (mma with .kind and .block_scale; mma.sp) and from
ptxas's own messages; nvgen's tables are not read, and ptxas alone says what is legal.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.oracle.mma_sync_product import KINDS, Product, registers

TYPES: tuple[str, ...] = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "s8", "bf16")
SHAPES: tuple[str, ...] = ("m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128", "m8n8k32")
HEADS: tuple[str, ...] = ("mma", "mma.sp", "mma.sp::ordered_metadata")
SUMS: tuple[str, ...] = ("f32", "f16")
SCALED: tuple[str, ...] = ("mxf8f6f4", "mxf4", "mxf4nvf4")
VECTORS: tuple[str, ...] = (
    "", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X", ".block32", ".block16",
)  # fmt: skip
SCALES: tuple[str, ...] = ("ue8m0", "ue4m3", "e4m3", "")
NUMBERS: tuple[str, ...] = ("-1", "0", "1", "2", "3", "4", "65536", "1.0", "%h1")
PLACES: tuple[str, ...] = (
    "0", "0, 0", "{0}", "{0, 0, 0}", "{%r1, %r2}", "{%h1, %h2}", "{%uh1, %uh2}", "{%hf1, %hf2}",
    "{%h1, %uh1}", "{%p1, %p2}", "{%rd1, %rd2}", "{%h1, %h1}", "{_, 0}", "%r1", "%h1",
)  # fmt: skip
FACTORS: tuple[str, ...] = (
    "%r9", "%u9", "%s9", "%f9", "%hx9", "%h9", "%rd9", "%p9", "0", "{%r9}", "smem",
)  # fmt: skip

PLAIN: list[tuple[str, str]] = [
    (head, kind)
    for head in (HEADS[0], HEADS[2])
    for kind in ("f8f6f4", *SCALED)
]  # fmt: skip
"""What the manual has: a dense A or one with ordered metadata, with each kind."""


def multiply(
    head: str, kind: str, *, shape: str = "", type_a: str = "", type_b: str = "", sums: str = "f32",
    size: str | None = None, scale: str | None = None, block_scale: str | None = None,
    meta: str = "%r20, 0", sfa: str = "%r21", place_a: str = "{0, 0}", sfb: str = "%r22",
    place_b: str = "{0, 1}", layouts: str = ".row.col", before: str = "", **changed: str,
) -> str:  # fmt: skip
    """A multiply as the manual has it, but for what is changed."""
    scaled, narrow = kind in SCALED, kind in SCALED[1:]
    sparse = head != "mma"
    shape = shape or f"m16n8k{(64 if narrow else 32) * (2 if sparse else 1)}"
    type_ = "e2m1" if narrow else "e4m3"
    usual = {"mxf4nvf4": ".scale_vec::4X"}.get(kind, "") if size is None else size
    factor = ("ue4m3" if kind == "mxf4nvf4" else "ue8m0") if scale is None else scale
    block = (".block_scale" if scaled else "") if block_scale is None else block_scale
    count = 4 if sums == "f32" else 2
    found = {"d": count, "a": 4, "b": 4 if sparse else 2, "c": count}
    operands = [changed.get(name) or registers(found[name]) for name in "dabc"]
    operands += [meta] * sparse
    operands += [sfa, place_a, sfb, place_b] * scaled
    types = f"{sums}.{type_a or type_}.{type_b or type_}.{sums}"
    types += f".{factor}" if scaled and factor else ""
    mods = f"{layouts}{before}.kind::{kind}{block}{usual if scaled else size or ''}"
    return f"{head}.sync.aligned.{shape}{mods}.{types} {', '.join(op for op in operands if op)};"


def types() -> Iterator[str]:
    """Head x kind x shape x types of A and B x type of D and C."""
    for head, kind, shape, a, b, sums in itertools.product(
        HEADS, ("f8f6f4", *SCALED), SHAPES, TYPES, TYPES, SUMS
    ):
        yield multiply(head, kind, shape=shape, type_a=a, type_b=b, sums=sums)


def scales() -> Iterator[str]:
    """Head x kind x number of scale factors x their type x .block_scale."""
    for head, kind, size, scale, block in itertools.product(
        HEADS, SCALED, VECTORS, SCALES, ("", ".block_scale")
    ):
        yield multiply(head, kind, size=size, scale=scale, block_scale=block)


def places() -> Iterator[str]:
    """Head and kind x number of scale factors x byte x thread, of A's and of B's; other forms."""
    for head, kind in PLAIN:
        if kind not in SCALED:
            continue
        for size, byte, thread in itertools.product(("", ".scale_vec::2X"), NUMBERS, NUMBERS):
            usual = size if size and kind != "mxf8f6f4" else None
            scale = "ue8m0" if usual else None
            place = f"{{{byte}, {thread}}}"
            yield multiply(head, kind, size=usual, scale=scale, place_a=place)
            yield multiply(head, kind, size=usual, scale=scale, place_b=place)
        for place in PLACES:
            yield multiply(head, kind, place_a=place)
            yield multiply(head, kind, place_b=place)


def factors() -> Iterator[str]:
    """Head and kind x what stands for scale factors, metadata and the selector."""
    for head, kind in PLAIN:
        for factor in FACTORS:
            if kind in SCALED:
                yield multiply(head, kind, sfa=factor)
                yield multiply(head, kind, sfb=factor)
            yield multiply(head, kind, meta=f"{factor}, 0")
        for selector in NUMBERS:
            yield multiply(head, kind, meta=f"%r20, {selector}")


def matrices() -> Iterator[str]:
    """Head and kind x operand x kind of register, and x number of registers."""
    for (head, kind), name in itertools.product(PLAIN, "dabc"):
        right = 2 if (head, name) == ("mma", "b") else 4
        for register in KINDS:
            yield multiply(head, kind, **{name: registers(right, register)})
        for count in (1, 2, 3, 5, 8):
            yield multiply(head, kind, **{name: registers(count)})


def modifiers() -> Iterator[str]:
    """Head and kind x layouts, saturation, sizes without scale factors; a guard."""
    for head, kind in PLAIN:
        for layouts in (".row.row", ".col.col", ".row", ""):
            yield multiply(head, kind, layouts=layouts)
        yield multiply(head, kind, before=".satfinite")
        yield multiply(head, kind, block_scale=".block_scale.block_scale")
        yield multiply(head, "f8f6f4", size=".scale_vec::1X")
        yield "@%p2 " + multiply(head, kind)


PRODUCTS: tuple[Product, ...] = (types, scales, places, factors, matrices, modifiers)


def statements() -> list[str]:
    """All of them, none twice."""
    return list(dict.fromkeys(text for product in PRODUCTS for text in product()))


def forms() -> list[str]:
    """What the manual has, and nothing else."""
    found = [multiply(head, kind) for head, kind in PLAIN]
    for head in (HEADS[0], HEADS[2]):
        found += [multiply(head, "f8f6f4", sums="f16"), multiply(head, "f8f6f4", type_a="e2m1")]
        found.append(multiply(head, "f8f6f4", sums="f16", type_b="e3m2"))
        found.append(multiply(head, "mxf8f6f4", size=".scale_vec::1X", type_b="e2m3"))
        for kind in SCALED[1:]:
            found.append(multiply(head, kind, size=".scale_vec::2X", scale="ue8m0"))
        found.append(multiply(head, "mxf4nvf4", scale="ue8m0"))
    return list(dict.fromkeys(found))
