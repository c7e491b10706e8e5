"""Every combination of the fields of dense mma instructions that have to do with one another.

The axes come from the syntax in the PTX manual ("Warp Level Matrix Multiply-Accumulate
Instructions", mma) and, for what the manual does not have, from ptxas's own messages.  nvgen's
tables are not read, and nothing here says which statement is legal: ptxas does, for each target and
PTX version.

Products are full: types of A and B with shapes and one type for D and C; types of D and C with
types of factors and shapes; layouts with families; numbers of registers, kinds of registers and
mixtures of them with families and operands; saturation, operations on bits and the other modifiers
with families.

What ptxas 13.5 does and the manual does not say:

* Modifiers may stand in any order but for the layouts and types.
* Registers of A and B: of f16 .b32 and .f16x2, of bf16 .b32, of all else but f64 any of 32 bits.
  One that is right lets others beside it pass.
* C may have numbers where it has floating-point numbers, and D sinks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

Product = Callable[[], Iterator[str]]

# --- axes ----------------------------------------------------------------------------------------

SUMS: tuple[str, ...] = ("f16", "f32", "f64", "s32")
FACTORS: tuple[str, ...] = (
    "f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "e2m1", "s8", "u8", "s4", "u4", "b1",
)  # fmt: skip
SHAPES: tuple[str, ...] = (
    *(f"m8n8k{k}" for k in (4, 8, 16, 32, 64, 128)),
    *(f"m16n8k{k}" for k in (4, 8, 16, 32, 64, 128, 256)),
    "m16n16k16",
)
LAYOUTS: tuple[str, ...] = ("", ".row", ".col")
KINDS: tuple[str, ...] = ("%r", "%f", "%u", "%s", "%hx", "%h", "%rd", "%hf", "%fd", "%p")
OTHERS: tuple[str, ...] = (
    "%r1", "%f1", "%u1", "%s1", "%hx1", "%rd1", "%fd1", "1", "1.0", "0f00000000", "_", "%p1",
)  # fmt: skip
OPERATIONS: tuple[str, ...] = (
    "", ".xor.popc", ".and.popc", ".or.popc", ".xor", ".popc", ".popc.xor", ".xor.popc.popc",
    ".xor.and.popc",
)  # fmt: skip
OPERANDS = "dabc"

BITS: dict[str, int] = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "e2m1": 8,
    "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32,
}  # fmt: skip


class Form(NamedTuple):
    """A shape with the types of D, A, B and C."""

    shape: str
    types: tuple[str, str, str, str]

    @property
    def tail(self) -> str:
        return ".xor.popc" if self.types[1] == "b1" else ""


def _forms(shapes: str, *types: str) -> list[Form]:
    texts = [tuple(t.split(".")) for t in types]
    return [Form(s, (t[0], t[1], t[2], t[3])) for s in shapes.split() for t in texts]


FORMS: list[Form] = [
    *_forms("m8n8k4", "f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32"),
    *_forms("m16n8k8 m16n8k16", "f16.f16.f16.f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32"),
    *_forms("m16n8k4 m16n8k8", "f32.tf32.tf32.f32"),
    *_forms("m8n8k4 m16n8k4 m16n8k8 m16n8k16", "f64.f64.f64.f64"),
    *_forms("m16n8k16 m16n8k32", "f32.e4m3.e5m2.f32", "f16.e5m2.e4m3.f16"),
    *_forms("m8n8k16 m16n8k16 m16n8k32", "s32.s8.s8.s32", "s32.u8.s8.s32"),
    *_forms("m8n8k32 m16n8k32 m16n8k64", "s32.u4.u4.s32", "s32.s4.u4.s32"),
    *_forms("m8n8k128 m16n8k128 m16n8k256", "s32.b1.b1.s32"),
]
"""What the manual has, with some of the types of a family."""

FAMILIES: list[Form] = [
    *_forms("m8n8k4", "f32.f16.f16.f16"),
    *_forms("m16n8k16", "f16.f16.f16.f16", "f32.f16.f16.f32", "f32.bf16.bf16.f32"),
    *_forms("m16n8k8", "f32.tf32.tf32.f32", "f64.f64.f64.f64"),
    *_forms("m16n8k32", "f32.e4m3.e5m2.f32", "f16.e4m3.e4m3.f16", "s32.s8.u8.s32"),
    *_forms("m16n8k64", "s32.s4.s4.s32"),
    *_forms("m16n8k256", "s32.b1.b1.s32"),
]
"""One of each family."""


def counts(form: Form) -> dict[str, int]:
    """Registers of D, A, B and C in one of 32 threads: of 32 bits, of 64 where numbers have 64."""
    m, n, k = (int(x) for x in form.shape[1:].replace("n", "k").split("k"))
    sizes = {"d": m * n, "a": m * k, "b": n * k, "c": m * n}
    quarters = 4 if form.shape == "m8n8k4" and form.types[1] == "f16" else 1
    found = {}
    for name, type_ in zip(OPERANDS, form.types, strict=True):
        bits = BITS[type_]
        elements = sizes[name] * quarters // 32
        found[name] = max(elements if bits == 64 else elements * bits // 32, 1)
    return found


def registers(count: int, kind: str = "%r") -> str:
    """A vector of ``count`` registers in braces."""
    return "{" + ", ".join(f"{kind}{n}" for n in range(max(count, 1))) + "}"


def multiply(
    form: Form, *, layouts: str = ".row.col", before: str = "", tail: str | None = None,
    sync: str = ".sync.aligned", **changed: str,
) -> str:  # fmt: skip
    """A multiply as the manual has it, but for what is changed; ``before`` stands before types."""
    sizes = counts(form)
    operands = []
    for name, type_ in zip(OPERANDS, form.types, strict=True):
        kind = "%fd" if type_ == "f64" else "%r"
        operands.append(changed.get(name) or registers(sizes[name], kind))
    tail = form.tail if tail is None else tail
    types = ".".join(form.types)
    return f"mma{sync}.{form.shape}{layouts}{before}.{types}{tail} {', '.join(operands)};"


def plain(shape: str, types: str) -> str:
    """The multiply of a shape and types, as the manual has it."""
    return multiply(*_forms(shape, types))


# --- products ------------------------------------------------------------------------------------


def types_of_factors() -> Iterator[str]:
    """Types of A and B x one type of D and C x shape."""
    for s, a, b, shape in itertools.product(SUMS, FACTORS, FACTORS, SHAPES):
        tail = ".xor.popc" if a == b == "b1" else ""
        yield multiply(Form(shape, (s, a, b, s)), tail=tail)


def types_of_sums() -> Iterator[str]:
    """Types of D and C x type of A and B x shape."""
    for d, c, a, shape in itertools.product(SUMS, SUMS, FACTORS, SHAPES):
        yield multiply(Form(shape, (d, a, a, c)))


def layouts() -> Iterator[str]:
    """Layouts of A and B x what the manual has."""
    for form, a, b in itertools.product(FORMS, LAYOUTS, LAYOUTS):
        yield multiply(form, layouts=a + b)


def sizes() -> Iterator[str]:
    """Family x operand x number of registers, too few, right and too many."""
    for form, name in itertools.product(FAMILIES, OPERANDS):
        right = counts(form)[name]
        kind = "%fd" if form.types[1] == "f64" else "%r"
        for count in (1, right // 2, right - 1, right, right + 1, right * 2):
            yield multiply(form, **{name: registers(count, kind)})
        yield multiply(form, **{name: f"{kind}0"})


def kinds_of_registers() -> Iterator[str]:
    """Family x operand x kind of register."""
    for form, name, kind in itertools.product(FAMILIES, OPERANDS, KINDS):
        yield multiply(form, **{name: registers(counts(form)[name], kind)})


def mixtures() -> Iterator[str]:
    """Family x operand x a second kind of register, a number or a sink; and nothing but it."""
    for form, name, other in itertools.product(FAMILIES, OPERANDS, OTHERS):
        count = counts(form)[name]
        kind = "%fd" if form.types[1] == "f64" else "%r"
        first = [f"{kind}{n}" for n in range(count)]
        yield multiply(form, **{name: "{" + ", ".join([*first[:-1], other]) + "}"})
        yield multiply(form, **{name: "{" + ", ".join([other, *first[1:]]) + "}"})
        yield multiply(form, **{name: "{" + ", ".join([other] * count) + "}"})


def repeated() -> Iterator[str]:
    """Family x operand: the first register twice; and one register in D and in another operand."""
    for form, name in itertools.product(FAMILIES, OPERANDS):
        kind = "%fd" if form.types[1] == "f64" else "%r"
        yield multiply(form, **{name: "{" + ", ".join([f"{kind}0"] * counts(form)[name]) + "}"})


def modifiers() -> Iterator[str]:
    """Form x .sync x .aligned x saturation; saturation elsewhere; under a guard."""
    for form, sync, aligned, saturation in itertools.product(
        FORMS, ("", ".sync"), ("", ".aligned"), ("", ".satfinite", ".sat", ".satfinite.satfinite")
    ):
        yield multiply(form, sync=sync + aligned, before=saturation)
    for form in FAMILIES:
        yield multiply(form, sync=".aligned.sync")
        yield multiply(form, sync=".sync.aligned.satfinite")
        yield multiply(form, sync=".sync.aligned.sync")
        yield multiply(form, tail=f"{form.tail}.satfinite")
        yield multiply(form, layouts="", tail=f"{form.tail}.row.col")
        yield "@%p2 " + multiply(form)
        yield "@!%p2 " + multiply(form)


def operations() -> Iterator[str]:
    """Form of integers or bits x operation, behind the types and before them."""
    for form, operation in itertools.product(FORMS, OPERATIONS):
        if form.types[0] == "s32":
            yield multiply(form, tail=operation)
            yield multiply(form, tail="", before=operation)


PRODUCTS: tuple[Product, ...] = (
    types_of_factors, types_of_sums, layouts, sizes, kinds_of_registers, mixtures, repeated,
    modifiers, operations,
)  # fmt: skip


def statements() -> list[str]:
    """All of them, none twice."""
    return list(dict.fromkeys(text for product in PRODUCTS for text in product()))


def forms() -> list[str]:
    """What the manual has, and nothing else."""
    extra = [multiply(f, tail=".and.popc") for f in FORMS if f.types[1] == "b1"]
    return [*map(multiply, FORMS), *extra]
