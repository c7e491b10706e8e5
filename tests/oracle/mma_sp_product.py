"""Every combination of the fields of sparse mma instructions that have to do with one another.

The axes come from the syntax in the PTX manual (mma.sp) and from ptxas's own messages; nvgen's
tables are not read, and ptxas alone says what is legal.  What sparse multiplies share with dense
ones is in `tests.oracle.mma_sync_product`.

What ptxas 13.5 does and the manual does not say: a matrix may be in any registers of 32 bits but
for f16, and in predicates; metadata may be any register of 32 bits; `.sp` may stand among the
modifiers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.oracle.mma_sync_product import (
    FACTORS,
    KINDS,
    OPERANDS,
    SHAPES,
    SUMS,
    Form,
    Product,
    counts,
    registers,
)

SPARSE_SHAPES = (*(f"m16n8k{k}" for k in (8, 16, 32, 64, 128)), "m8n8k32")
HEADS: tuple[str, ...] = ("mma.sp", "mma.sp::ordered_metadata")
NUMBERS: tuple[str, ...] = ("-1", "0", "1", "2", "3", "4", "4294967296", "1.0", "%r1", "WARP_SZ")
METADATA: tuple[str, ...] = (
    "%r7", "%u7", "%s7", "%f7", "%hx7", "%h7", "%rd7", "%p7", "7", "smem", "{%r7}", "{%r7, %r8}",
)  # fmt: skip

FORMS: list[Form] = [
    Form(shape, types)
    for shapes, several in (
        ("m16n8k16 m16n8k32", (
            ("f16", "f16", "f16", "f16"), ("f32", "f16", "f16", "f32"),
            ("f32", "bf16", "bf16", "f32"),
        )),
        ("m16n8k8 m16n8k16", (("f32", "tf32", "tf32", "f32"),)),
        ("m16n8k32 m16n8k64", (("s32", "s8", "s8", "s32"), ("s32", "u8", "s8", "s32"))),
        ("m16n8k64 m16n8k128", (("s32", "u4", "u4", "s32"), ("s32", "s4", "u4", "s32"))),
        ("m16n8k64", (("f32", "e4m3", "e5m2", "f32"), ("f16", "e5m2", "e4m3", "f16"))),
    )
    for shape in shapes.split()
    for types in several
]  # fmt: skip
"""What the manual has, with some of the types of a family."""


def sizes_of(form: Form) -> dict[str, int]:
    """Registers of D, A, B and C: of A half of its columns are there."""
    found = counts(form)
    return found | {"a": max(found["a"] // 2, 1)}


def multiply(
    form: Form, *, head: str = "mma.sp", layouts: str = ".row.col", before: str = "",
    sync: str = ".sync.aligned", meta: str = "%r9", selector: str = "0", **changed: str,
) -> str:  # fmt: skip
    """A multiply as the manual has it, but for what is changed."""
    sizes = sizes_of(form)
    operands = []
    for name, type_ in zip(OPERANDS, form.types, strict=True):
        kind = "%fd" if type_ == "f64" else "%r"
        operands.append(changed.get(name) or registers(sizes[name], kind))
    operands += [part for part in (meta, selector) if part]
    types = ".".join(form.types)
    return f"{head}{sync}.{form.shape}{layouts}{before}.{types} {', '.join(operands)};"


def types_of_factors() -> Iterator[str]:
    """Types of A and B x one type of D and C x shape, with few that are wrong x metadata."""
    for s, a, b, shape, head in itertools.product(SUMS, FACTORS, FACTORS, SPARSE_SHAPES, HEADS):
        yield multiply(Form(shape, (s, a, b, s)), head=head)


def types_of_sums() -> Iterator[str]:
    """Types of D and C x type of A and B x shape x order of metadata."""
    for d, c, a, shape, head in itertools.product(SUMS, SUMS, FACTORS, SHAPES, HEADS):
        yield multiply(Form(shape, (d, a, a, c)), head=head)


def selectors() -> Iterator[str]:
    """Form x order of metadata x selector."""
    for form, head, number in itertools.product(FORMS, HEADS, NUMBERS):
        yield multiply(form, head=head, selector=number)


def metadata() -> Iterator[str]:
    """Some of the forms x order of metadata x metadata; and with one operand less."""
    for form, head in itertools.product(FORMS[::4], HEADS):
        for meta in METADATA:
            yield multiply(form, head=head, meta=meta)
        yield multiply(form, head=head, selector="")
        yield multiply(form, head=head, meta="", selector="")


def sizes() -> Iterator[str]:
    """Form x order of metadata x operand x number of registers."""
    for form, head, name in itertools.product(FORMS, HEADS, OPERANDS):
        right = sizes_of(form)[name]
        for count in (1, right // 2, right, right + 1, right * 2):
            yield multiply(form, head=head, **{name: registers(count)})


def kinds_of_registers() -> Iterator[str]:
    """Form x order of metadata x operand x kind of register."""
    for form, head, name, kind in itertools.product(FORMS, HEADS, OPERANDS, KINDS):
        yield multiply(form, head=head, **{name: registers(sizes_of(form)[name], kind)})


def modifiers() -> Iterator[str]:
    """Form x order of metadata x .sync x .aligned x saturation x layouts; the head elsewhere."""
    for form, head in itertools.product(FORMS, HEADS):
        for sync, aligned, saturation in itertools.product(
            ("", ".sync"), ("", ".aligned"), ("", ".satfinite", ".sat")
        ):
            yield multiply(form, head=head, sync=sync + aligned, before=saturation)
        for layouts in (".row.row", ".col.row", ".row", ""):
            yield multiply(form, head=head, layouts=layouts)
        yield multiply(form, head="mma", sync=f".sync.aligned{head[3:]}")
        yield multiply(form, head="mma", before=head[3:])
        yield "@%p2 " + multiply(form, head=head)


PRODUCTS: tuple[Product, ...] = (
    types_of_factors, types_of_sums, selectors, metadata, sizes, kinds_of_registers, modifiers,
)  # fmt: skip


def statements() -> list[str]:
    """All of them, none twice."""
    return list(dict.fromkeys(text for product in PRODUCTS for text in product()))


def forms() -> list[str]:
    """What the manual has, and nothing else."""
    return [multiply(form, head=head) for form in FORMS for head in HEADS]
