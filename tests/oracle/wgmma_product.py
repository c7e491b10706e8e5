"""Every combination of the fields of the wgmma instructions that have to do with one another.

The axes come from the syntax in the PTX manual ("Asynchronous Warpgroup Level Matrix
Instructions") and, for what the manual does not have, from ptxas's own messages.  nvgen's tables
are not read, and nothing here says which statement is legal: ptxas does, for each PTX version.

Products are full: types of D, A and B with K, sparsity, the place of A, and with what follows
scale-d instead of K;
shapes with families of types; with families, sizes of D, signs, transpositions, selectors, scale-d
and kinds of registers; Boolean operations; saturation; groups.

What ptxas 13.5 does and the manual does not say:

* ``.aligned`` may be left out.
* ``.sp`` may stand among the modifiers, and the modifiers in any order but for the types.
* Registers of A are .b32 or .f16x2; of integers and bits any of 32 bits.  One that is right lets
  any other beside it pass, and numbers.  Metadata is any register of 32 bits, in braces or not.
* Sparse bytes have only selector 0.
* A register may stand twice in D.
* A sink in the place of D ends ptxas with signal 11: it is in no product.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

Product = Callable[[], Iterator[str]]

# --- axes ----------------------------------------------------------------------------------------

SUMS: tuple[str, ...] = ("f16", "f32", "s32", "bf16")
FACTORS: tuple[str, ...] = ("f16", "bf16", "tf32", "f32", "e4m3", "e5m2", "s8", "u8", "b1")
WIDTHS: tuple[int, ...] = (0, 4, *range(8, 273, 8))
DEPTHS: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
SPARSITY: tuple[bool, ...] = (False, True)
PLACES: tuple[str, ...] = ("%rd1", "{%r140, %r141, %r142, %r143}")
"""The matrix A: a descriptor, or registers."""

TAILS: tuple[tuple[str, ...], ...] = ((), ("1", "1"), ("1", "1", "0"), ("1", "1", "0", "0"))
"""What follows scale-d: signs of A and B, then one or two transpositions."""

FOLLOWS: dict[str, int] = {
    "f16": 2, "bf16": 2, "tf32": 1, "f32": 1, "e4m3": 1, "e5m2": 1, "s8": 0, "u8": 0, "b1": 0,
}  # fmt: skip
"""What follows scale-d by the type of A: nothing, signs, all."""

DEPTH_OF: dict[str, int] = {
    "f16": 16, "bf16": 16, "tf32": 8, "f32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32,
    "b1": 256,
}  # fmt: skip
"""K of a dense A by its type."""

FAMILIES: dict[str, tuple[str, int, int]] = {
    "f32.f16.f16": ("f32", 16, 2), "f16.f16.f16": ("f16", 16, 2), "f32.bf16.bf16": ("f32", 16, 2),
    "f32.tf32.tf32": ("f32", 8, 1), "f32.e4m3.e5m2": ("f32", 32, 1),
    "f16.e5m2.e4m3": ("f16", 32, 1), "s32.s8.s8": ("s32", 32, 0), "s32.u8.s8": ("s32", 32, 0),
    "s32.b1.b1.and.popc": ("s32", 256, 0),
}  # fmt: skip
"""Types with the type of D, K of a dense A, and what follows scale-d: nothing, signs, all."""

NUMBERS: tuple[str, ...] = (
    "-2", "-1", "0", "1", "2", "3", "4294967295", "4294967296", "1.0", "%r1", "%p1", "WARP_SZ",
)  # fmt: skip
KINDS: tuple[str, ...] = ("%r", "%f", "%u", "%s", "%hx", "%h", "%rd", "%hf", "%fd", "%p")
SCALES: tuple[str, ...] = (
    "%p1", "!%p1", "0", "1", "2", "-1", "%r1", "1.0", "%rd1", "WARP_SZ", "4294967296",
)  # fmt: skip
DESCRIPTORS: tuple[str, ...] = (
    "%rd2", "%ud2", "%sd2", "%fd2", "%r2", "%q1", "7", "-1", "1.5", "smem", "smem+4", "%tid.x",
    "[%rd2]", "[smem]", "{%rd2}", "{%r1, %r2}", "%p1",
)  # fmt: skip
METADATA: tuple[str, ...] = (
    "%r7", "%u7", "%s7", "%f7", "%hx7", "%h7", "%rd7", "%p7", "7", "smem", "%tid.x", "[%r7]",
    "{%r7}", "{%r7, %r8}",
)  # fmt: skip
OPERATIONS: tuple[str, ...] = (
    "", ".and.popc", ".xor.popc", ".or.popc", ".and", ".popc", ".popc.and", ".and.popc.popc",
)  # fmt: skip
GROUPS: tuple[str, ...] = (
    "", "0", "1", "7", "63", "-1", "1.0", "%r1", "4294967295", "WARP_SZ", "0, 0", "smem",
)  # fmt: skip


def registers(count: int, kind: str = "%r") -> str:
    """A vector of ``count`` registers in braces."""
    return "{" + ", ".join(f"{kind}{n}" for n in range(max(count, 1))) + "}"


def size_of(dtype: str, n: int) -> int:
    """Registers of D in one of 128 threads: 64 rows, N columns, of 32 or 16 bits."""
    return 64 * n * (16 if dtype in ("f16", "bf16") else 32) // 128 // 32


def multiply(
    shape: str, types: str, d: str, a: str = "%rd1", b: str = "%rd2", *, sparse: bool,
    tail: tuple[str, ...], meta: str = "%r7", selector: str = "0", scale: str = "%p1",
    before: str = ".sync.aligned", head: str = "",
) -> str:  # fmt: skip
    """One multiply with the operands in the manual's order."""
    head = head or ("wgmma.mma_async.sp" if sparse else "wgmma.mma_async")
    held = (meta, selector) if sparse else ()
    operands = [part for part in (d, a, b, *held, scale, *tail) if part]
    return f"{head}{before}{shape}.{types} {', '.join(operands)};"


def plain(family: str, *, sparse: bool, held: bool = False, n: int = 8, **changed: str) -> str:
    """A multiply of a family as the manual has it, but for what is changed."""
    dtype, k, follows = FAMILIES[family]
    shape = f".m64n{n}k{k * 2 if sparse else k}"
    tail = TAILS[(0, 1, 2 if held else 3)[follows]]
    tail = tuple(changed.pop(f"tail{n}", part) for n, part in enumerate(tail))
    d = changed.pop("d", registers(size_of(dtype, n)))
    a = changed.pop("a", PLACES[held])
    return multiply(shape, family, d, a, sparse=sparse, tail=tail, **changed)


# --- products ------------------------------------------------------------------------------------


def types() -> Iterator[str]:
    """Types of D, A and B x K x sparsity x place of A, with what follows scale-d for A's type."""
    for d, a, b, k, sparse, held in itertools.product(
        SUMS, FACTORS, FACTORS, DEPTHS, SPARSITY, (False, True)
    ):
        tail = TAILS[(0, 1, 2 if held else 3)[FOLLOWS[a]]]
        yield _of_types(d, a, b, k, sparse, PLACES[held], tail)


def tails() -> Iterator[str]:
    """Types of D, A and B x sparsity x place of A x what follows scale-d, with K for A's type."""
    for d, a, b, sparse, place, tail in itertools.product(
        SUMS, FACTORS, FACTORS, SPARSITY, PLACES, TAILS
    ):
        k = DEPTH_OF[a] * 2 if sparse else DEPTH_OF[a]
        yield _of_types(d, a, b, k, sparse, place, tail)


def _of_types(
    d: str, a: str, b: str, k: int, sparse: bool, place: str, tail: tuple[str, ...]
) -> str:
    operation = ".and.popc" if a == b == "b1" else ""
    vector = registers(size_of(d, 8))
    words = f"{d}.{a}.{b}{operation}"
    return multiply(f".m64n8k{k}", words, vector, place, sparse=sparse, tail=tail)


def shapes() -> Iterator[str]:
    """N x K x family x sparsity; and other M."""
    for (family, (dtype, _, follows)), n, k, sparse in itertools.product(
        FAMILIES.items(), WIDTHS, DEPTHS, SPARSITY
    ):
        d, tail = registers(size_of(dtype, n)), TAILS[(0, 1, 3)[follows]]
        yield multiply(f".m64n{n}k{k}", family, d, sparse=sparse, tail=tail)
    for family, m in itertools.product(FAMILIES, (16, 32, 128)):
        yield plain(family, sparse=False).replace(".m64", f".m{m}")


def sizes_of_d() -> Iterator[str]:
    """Family x sparsity x N (8, 32, 256) x registers of D, too few, right and too many."""
    for family, sparse, n in itertools.product(FAMILIES, SPARSITY, (8, 32, 256)):
        right = size_of(FAMILIES[family][0], n)
        for count in (1, right // 2, right - 1, right, right + 1, right * 2):
            yield plain(family, sparse=sparse, n=n, d=registers(count))


def kinds_of_registers() -> Iterator[str]:
    """Family x sparsity x kinds of registers in D, and in A; A of three and five registers."""
    for family, sparse, kind in itertools.product(FAMILIES, SPARSITY, KINDS):
        count = size_of(FAMILIES[family][0], 8)
        yield plain(family, sparse=sparse, d=registers(count, kind))
        yield plain(family, sparse=sparse, held=True, a=registers(4, kind))
    for family, sparse, count in itertools.product(FAMILIES, SPARSITY, (1, 3, 5, 8)):
        yield plain(family, sparse=sparse, held=True, a=registers(count))


def mixtures() -> Iterator[str]:
    """Family x sparsity x a second kind of register, a number or a sink beside one of bits."""
    for family, sparse, other in itertools.product(
        FAMILIES, SPARSITY, ("%f1", "%u1", "%s1", "%hx1", "%rd1", "1", "1.0", "_", "%r0")
    ):
        more = size_of(FAMILIES[family][0], 8) - 2
        d = ", ".join(["%r0", other, *(f"%r{n + 2}" for n in range(more))])
        yield plain(family, sparse=sparse, d=f"{{{d}}}")
        yield plain(family, sparse=sparse, held=True, a=f"{{%r0, {other}, %r2, %r3}}")


def numbers() -> Iterator[str]:
    """Family x sparsity x place of A x each number behind scale-d."""
    for family, sparse, held in itertools.product(FAMILIES, SPARSITY, (False, True)):
        count = (0, 2, 3 if held else 4)[FAMILIES[family][2]]
        for place, number in itertools.product(range(count), NUMBERS):
            yield plain(family, sparse=sparse, held=held, **{f"tail{place}": number})


def selectors() -> Iterator[str]:
    """Family x place of A x selector, and x metadata."""
    for family, held in itertools.product(FAMILIES, (False, True)):
        for number in NUMBERS:
            yield plain(family, sparse=True, held=held, selector=number)
        for meta in METADATA:
            yield plain(family, sparse=True, held=held, meta=meta)


def scales() -> Iterator[str]:
    """Family x sparsity x place of A x scale-d."""
    for family, sparse, held, scale in itertools.product(FAMILIES, SPARSITY, (False, True), SCALES):
        yield plain(family, sparse=sparse, held=held, scale=scale)


def descriptors() -> Iterator[str]:
    """Family x sparsity x descriptor of A, and of B."""
    for family, sparse, descriptor in itertools.product(FAMILIES, SPARSITY, DESCRIPTORS):
        yield plain(family, sparse=sparse, a=descriptor)
        yield plain(family, sparse=sparse, b=descriptor)


def operations() -> Iterator[str]:
    """Boolean operations x types x sparsity x place of A, behind the types and before them."""
    for words, sparse, place, operation in itertools.product(
        ("b1.b1", "b1.s8", "s8.s8"), SPARSITY, PLACES, OPERATIONS
    ):
        k = 256 if words[0] == "b" else 64 if sparse else 32
        shape, d = f".m64n8k{k}", registers(4)
        yield multiply(shape, f"s32.{words}{operation}", d, place, sparse=sparse, tail=())
        yield multiply(f"{shape}{operation}", f"s32.{words}", d, place, sparse=sparse, tail=())


def modifiers() -> Iterator[str]:
    """Family x sparsity x .sync x .aligned x saturation; .sp behind; the modifiers turned."""
    for family, sparse, sync, aligned, saturation in itertools.product(
        FAMILIES, SPARSITY, ("", ".sync"), ("", ".aligned"), ("", ".satfinite", ".sat")
    ):
        yield plain(family, sparse=sparse, before=f"{sync}{aligned}{saturation}")
    for family, order in itertools.product(
        FAMILIES, (".aligned.sync", ".sync.aligned.sp", ".sp.sync.aligned", ".sync.aligned.sync")
    ):
        yield plain(family, sparse=".sp" in order, before=order, head="wgmma.mma_async")
    for saturation in ("", ".satfinite", ".satfinite.satfinite"):
        for family, sparse in itertools.product(FAMILIES, SPARSITY):
            text = plain(family, sparse=sparse)
            yield text.replace(" ", f"{saturation} ", 1)
            yield "@%p2 " + text


def groups() -> Iterator[str]:
    """fence, commit_group and wait_group: .sync x .aligned x number; under a guard."""
    for name, sync, aligned, number in itertools.product(
        ("fence", "commit_group", "wait_group", "arrive"), ("", ".sync"), ("", ".aligned"), GROUPS
    ):
        yield f"wgmma.{name}{sync}{aligned} {number}".strip() + ";"
    for name in ("fence", "commit_group"):
        yield f"@!%p1 wgmma.{name}.sync.aligned;"
    yield "@%p1 wgmma.wait_group.sync.aligned 0;"


PRODUCTS: tuple[Product, ...] = (
    types, tails, shapes, sizes_of_d, kinds_of_registers, mixtures, numbers, selectors, scales,
    descriptors, operations, modifiers, groups,
)  # fmt: skip


def statements() -> list[str]:
    """All of them, none twice."""
    return list(dict.fromkeys(text for product in PRODUCTS for text in product()))
