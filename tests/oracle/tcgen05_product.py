"""Every combination of the fields of every tcgen05 instruction, legal and illegal.

The axes come from the syntax in the PTX manual ("TensorCore 5th Generation Family Instructions")
and, for what the manual does not have, from ptxas's own messages.  nvgen's tables are not read, and
nothing here says which statement is legal: ptxas does, for each target and PTX version.  Some
24,000 statements, on 14 targets and 9 PTX versions; ``test_tcgen05_product`` has the number of each
product, counted by hand.

Products are full, but for two things.  Where the whole product of matrix instructions would have 49
million statements, the axes that the manual's rules connect have their product: what is scaled
(kind, block_scale, scale vector, scale operands, metadata, place of A), buffers (kind, place of A,
ashift, collectors; and with every scale vector), tails (cta_group, kind, place of A, lane mask,
scale of D or zero-column mask; and with collectors), decompression of B (with each of these).  And
an axis that "turns" takes its values in order as the others go on, so that it meets every value of
the others but not every combination.

Instructions and values beyond the manual: alloc and dealloc ``.exclusive``; commit with ``::16b``,
``::32b`` and ``.sync_restrict``; kind ti16, collector buffers of B and ``.decompress::lut::b`` in
mma; ld and ld.red ``.spcompress``.

What ptxas 13.5 does and the manual does not say:

* ``.exclusive``, ``.multicast::cluster::16b`` begin with PTX 9.4, on every target with tcgen05;
  ``::32b``, ``.sync_restrict::shared::read::mma::a``, ti16, ``.collector::b`` and
  ``.decompress::lut::b`` with PTX 9.4 on sm_107a and sm_107f; ``.spcompress`` on sm_107a alone.
* With ``.exclusive`` any number of columns but 0 passes, even -32, 31 or 1024.
* Numbers of columns and scales of D are cut to 32 bits before they are looked at: 4294967328 is 32
  columns, 4294967296 is none.  Masks of commit are not cut.
* A scale of D passes with i8, which drops it, and with ti16, where code generation then fails.
* ``.decompress::lut::b``: dense products without .ws and .ashift, f8f6f4 and mxf8f6f4 (without
  scale vector, 1X or block32), with the table's address in tensor memory after b-desc.
* ``.sync_restrict::shared::cta`` and ``::cluster``, of fence.proxy.async, pass on commit from PTX
  8.6 on; ``.b2``, ``.b8x16``, ``.b6x16_p32``, ``.b4x16_p64`` pass on every tcgen05 instruction.
* cp takes formats and multicast in either order; ld.red any order of operation, abs, NaN and type.
* In a vector an element may not follow one of another type: integers (also as numbers), floats and
  pairs of half floats are three types, and a register of bits goes with each.
* All registers that a load writes must differ, the reduced value and the metadata among them; only
  code generation sees it (C7308).
* ``tcgen05.mma.sp`` with ``.block_scale`` and five operands ends ptxas with signal 11, with every
  kind and on every target: ``mma_crashes``, which is not in the products.

``python -m tests.oracle.tcgen05_product`` compares nvgen with ptxas on all of it, with ``--random``
on statements that chance makes of the legal ones.  On two busy cores, a target and a version take
ptxas 0.5 to 1 s and nvgen 0.7 to 1.2 s of processor time, and reading 3 s once.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence

from tests.oracle.tcgen05_mma_product import (
    ALL_GROUPS,
    GROUPS,
    HEADS,
    Product,
    mma_products,
    statement,
)

# --- operands and axes ---------------------------------------------------------------------------

EXCLUSIVE: tuple[str, ...] = ("", ".exclusive")
SPACES: tuple[str, ...] = ("", ".shared::cta", ".shared", ".shared::cluster", ".global")
COLUMNS: tuple[str, ...] = (
    "-32", "0", "1", "16", "31", "32", "33", "48", "64", "96", "128", "192", "256", "384", "512",
    "544", "1024", "4294967296", "4294967328", "0x40U", "%r2", "%s2", "%rd2", "%h2",
)  # fmt: skip
SHAPES: dict[str, int] = {
    ".16x64b": 1, ".16x128b": 2, ".16x256b": 4, ".32x32b": 1, ".16x32bx2": 1,
}  # fmt: skip
"""The shapes of a load or store, with the registers of one repetition."""

NUMS: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128)


def registers(count: int) -> str:
    """A vector of ``count`` registers in braces."""
    return "{" + ", ".join(f"%r{n}" for n in range(count)) + "}"


# --- allocation ----------------------------------------------------------------------------------


def alloc() -> Iterator[str]:
    """exclusive x cta_group x state space x type x address."""
    for exclusive, group, space, kind, address in itertools.product(
        EXCLUSIVE, ALL_GROUPS, SPACES, ("", ".b32"), ("[%r1]", "[%rd1]", "[smem+4]", "%r1")
    ):
        yield f"tcgen05.alloc{exclusive}{group}.sync.aligned{space}{kind} {address}, 64;"


def alloc_columns() -> Iterator[str]:
    """exclusive x cta_group x number of columns, with a state space for one cta_group."""
    for exclusive, group, columns in itertools.product(EXCLUSIVE, ALL_GROUPS, COLUMNS):
        space = ".shared::cta" if group == ".cta_group::1" else ""
        yield f"tcgen05.alloc{exclusive}{group}.sync.aligned{space}.b32 [%r0], {columns};"


def dealloc() -> Iterator[str]:
    """exclusive x cta_group x address x number of columns."""
    for exclusive, group, address, columns in itertools.product(
        EXCLUSIVE, ALL_GROUPS, ("%r1", "[%r1]"), COLUMNS
    ):
        yield f"tcgen05.dealloc{exclusive}{group}.sync.aligned.b32 {address}, {columns};"


def relinquish() -> Iterator[str]:
    """exclusive x cta_group x sync x aligned x type."""
    for exclusive, group, sync, aligned, kind in itertools.product(
        EXCLUSIVE, ALL_GROUPS, ("", ".sync"), ("", ".aligned"), ("", ".b32")
    ):
        yield f"tcgen05.relinquish_alloc_permit{exclusive}{group}{sync}{aligned}{kind};"


# --- loads and stores ----------------------------------------------------------------------------


def _sizes(shape: str, num: int) -> tuple[str, str, str]:
    """Vectors of the right size, of half of it and of twice; half of one is a bare register.

    Where the right size is above the 128 registers that there may be, 128 take its place.
    """
    right = min(SHAPES[shape] * num, 128)
    return (registers(right // 2) if right > 1 else "%r0", registers(right), registers(2 * right))


def load() -> Iterator[str]:
    """shape x num x packing x split offset x size of the vector."""
    for (shape, num), pack, offset, size in itertools.product(
        itertools.product(SHAPES, NUMS),
        ("", ".pack::16b", ".unpack::16b"),
        ("", "16"),
        range(3),
    ):
        vector = _sizes(shape, num)[size]
        op = f"tcgen05.ld.sync.aligned{shape}.x{num}{pack}.b32"
        yield statement(op, vector, "[%r263]", offset)


def store() -> Iterator[str]:
    """shape x num x packing x split offset x size of the vector."""
    for (shape, num), pack, offset, size in itertools.product(
        itertools.product(SHAPES, NUMS),
        ("", ".unpack::16b", ".pack::16b"),
        ("", "16"),
        range(3),
    ):
        vector = _sizes(shape, num)[size]
        op = f"tcgen05.st.sync.aligned{shape}.x{num}{pack}.b32"
        yield statement(op, "[%r263]", offset, vector)


def load_store_modifiers() -> Iterator[str]:
    """ld and st: sync x aligned x shape (one of them none) x num (none, x3) x type."""
    for op, sync, aligned, shape, num, kind in itertools.product(
        ("ld", "st"),
        ("", ".sync"),
        ("", ".aligned"),
        ("", ".32x32b", ".16x64b"),
        ("", ".x2", ".x3"),
        ("", ".b32", ".u32", ".f32", ".b64"),
    ):
        vector = registers(3 if num == ".x3" else 2)
        operands = (vector, "[%r9]") if op == "ld" else ("[%r9]", vector)
        yield statement(f"tcgen05.{op}{sync}{aligned}{shape}{num}{kind}", *operands)


ELEMENTS: tuple[str, ...] = (
    "%r{}", "%u{}", "%s{}", "%f{}", "%hx{}", "%h{}", "%rd{}", "1", "0f3F800000", "_",
)  # fmt: skip


def vector_elements() -> Iterator[str]:
    """ld, st, ld.red, lane masks x kind of an element x kind of the next one."""
    for one, two in itertools.product(ELEMENTS, ELEMENTS):
        pair = f"{one.format(1)}, {two.format(2)}"
        yield f"tcgen05.ld.sync.aligned.32x32b.x2.b32 {{{pair}}}, [%r9];"
        yield f"tcgen05.st.sync.aligned.32x32b.x4.b32 [%r9], {{%r5, {pair}, %r6}};"
        yield f"tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {{{pair}}}, %r8, [%r9];"
        yield (
            f"tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, %r3, {{%r5, {pair}, %r6}}, %p1;"
        )


def load_reduced() -> Iterator[str]:
    """shape x num x min, max x abs x NaN x type, the split offset as the shape has it."""
    for shape, num, op, absolute, nan, kind in itertools.product(
        SHAPES, NUMS, (".min", ".max"), ("", ".abs"), ("", ".NaN"), (".f32", ".u32", ".s32")
    ):
        offset = "16" if shape == ".16x32bx2" else ""
        head = f"tcgen05.ld.red.sync.aligned{shape}.x{num}{op}{absolute}{nan}{kind}"
        yield statement(head, _sizes(shape, num)[1], "%r262", "[%r263]", offset)


def load_reduced_operands() -> Iterator[str]:
    """shape x num x size of the vector x split offset x reduced value; x packing."""
    for shape, num, size, offset, value in itertools.product(
        SHAPES, NUMS, range(3), ("", "16"), ("%r262", "")
    ):
        head = f"tcgen05.ld.red.sync.aligned{shape}.x{num}.min.f32"
        yield statement(head, _sizes(shape, num)[size], value, "[%r263]", offset)
    for shape, num in itertools.product(SHAPES, NUMS):
        offset = "16" if shape == ".16x32bx2" else ""
        head = f"tcgen05.ld.red.sync.aligned{shape}.x{num}.min.pack::16b.u32"
        yield statement(head, _sizes(shape, num)[1], "%r262", "[%r263]", offset)


def load_reduced_modifiers() -> Iterator[str]:
    """sync x aligned x operation (none, a wrong one) x abs x NaN x type."""
    for sync, aligned, op, absolute, nan, kind in itertools.product(
        ("", ".sync"), ("", ".aligned"), ("", ".min", ".add"), ("", ".abs"), ("", ".NaN"),
        ("", ".f32", ".b32", ".u64", ".f16"),
    ):  # fmt: skip
        mods = op + absolute + nan + kind
        yield f"tcgen05.ld.red{sync}{aligned}.32x32b.x2{mods} {{%r1, %r2}}, %r3, [%r4];"


def load_reduced_orders() -> Iterator[str]:
    """min, max x every order of operation, abs, NaN and type."""
    for op in (".min", ".max"):
        for mods in itertools.permutations((op, ".abs", ".NaN", ".f32")):
            yield (
                f"tcgen05.ld.red.sync.aligned.16x32bx2.x2{''.join(mods)} {{%r1, %r2}}, %r3, "
                "[%r4], 8;"
            )


def load_compressed() -> Iterator[str]:
    """red x num x min, max, none x abs x NaN x sparsity."""
    for red, num, op, absolute, nan, sparsity in itertools.product(
        ("", ".red"), NUMS, ("", ".min", ".max"), ("", ".abs"), ("", ".NaN"),
        (".sp::2:4", ".sp::1:2", ""),
    ):  # fmt: skip
        mods = f".32x32b.x{num}{op}{sparsity}{absolute}{nan}.f32.b2"
        yield _compressed(red, mods, max(num // 32, 1), max(num // 2, 1))


def load_compressed_sizes() -> Iterator[str]:
    """red x shape x num x words of metadata x half or all of the elements kept."""
    for red, shape, num, words, times in itertools.product(
        ("", ".red"), SHAPES, NUMS, (1, 2, 4), (1, 2)
    ):
        kept = max(num // 2, 1) * times
        yield _compressed(red, f"{shape}.x{num}.max.sp::2:4.f32.b2", words, kept)


def _compressed(red: str, modifiers: str, words: int, kept: int) -> str:
    """A compressing load: the metadata, what is kept, what it is reduced to, the address."""
    metadata = "{" + ", ".join(f"%r{200 + n}" for n in range(words)) + "}"
    value = "%r262" if red else ""
    op = f"tcgen05.ld{red}.spcompress.sync.aligned{modifiers}"
    return statement(op, metadata, registers(kept), value, "[%r263]")


# --- synchronisation -----------------------------------------------------------------------------


def wait() -> Iterator[str]:
    """What is waited for x cta_group x sync x aligned x type."""
    for what, group, sync, aligned, kind in itertools.product(
        ("", "::ld", "::st", "::mma"), ALL_GROUPS, ("", ".sync"), ("", ".aligned"), ("", ".b32")
    ):
        yield f"tcgen05.wait{what}{group}{sync}{aligned}{kind};"


def fence() -> Iterator[str]:
    """Which side x modifiers that a fence does not have x an operand."""
    for side, group, rest, operand in itertools.product(
        ("", "::before_thread_sync", "::after_thread_sync", "::thread_sync"),
        ("", ".cta_group::1"),
        ("", ".sync", ".sync.aligned", ".cluster"),
        ("", "%r1"),
    ):
        yield statement(f"tcgen05.fence{side}{group}{rest}", operand)


RESTRICTIONS: tuple[str, ...] = (
    "", ".sync_restrict::shared::read::mma::a", ".sync_restrict::shared::cta",
)  # fmt: skip
ARRIVE = ".mbarrier::arrive::one"
MULTICASTS: tuple[str, ...] = (
    "", ".multicast::cluster", ".multicast::cluster::16b", ".multicast::cluster::32b",
)  # fmt: skip


def commit() -> Iterator[str]:
    """cta_group x restriction x state space x multicast x mask; x mechanism x type."""
    for group, restrict, space, multicast, mask in itertools.product(
        ALL_GROUPS, RESTRICTIONS, SPACES, MULTICASTS, ("", "%h1", "%r2", "3")
    ):
        mods = f"{group}{ARRIVE}{restrict}{space}{multicast}"
        yield statement(f"tcgen05.commit{mods}.b64", "[%r1]", mask)
    for group, restrict, arrive, kind, address in itertools.product(
        GROUPS, RESTRICTIONS, ("", ARRIVE, ".mbarrier::complete_tx::bytes"), ("", ".b64", ".b32"),
        ("[%rd1]", "[mbar]", "%r1"),
    ):  # fmt: skip
        yield f"tcgen05.commit{group}{arrive}{restrict}{kind} {address};"


def commit_masks() -> Iterator[str]:
    """cta_group x restriction x width of the mask x a literal or register mask."""
    for group, restrict, width, mask in itertools.product(
        GROUPS,
        RESTRICTIONS[:2],
        ("", "::16b", "::32b"),
        ("-1", "0", "0xffff", "65536", "0xffffffff", "4294967296", "1.0", "%uh1", "%s1", "%f1"),
    ):
        mods = f"{group}{ARRIVE}{restrict}.shared::cluster.multicast::cluster{width}"
        yield statement(f"tcgen05.commit{mods}.b64", "[%rd1]", mask)


# --- copies and shifts ---------------------------------------------------------------------------


COPY_SHAPES: tuple[str, ...] = (
    "", ".128x256b", ".4x256b", ".128x128b", ".64x128b", ".32x128b", ".16x64b",
)  # fmt: skip
COPY_MULTICASTS: tuple[str, ...] = ("", ".warpx2::02_13", ".warpx2::01_23", ".warpx4")
COPY_FORMATS: tuple[str, ...] = (
    "", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64", ".b6x16_p32.b8x16", ".b8x16", ".b6x16_p32",
    ".b4x16_p64",
)  # fmt: skip


def copy() -> Iterator[str]:
    """cta_group x shape x multicast x formats, and the last two the other way around."""
    for group, shape, multicast, formats in itertools.product(
        ALL_GROUPS, COPY_SHAPES, COPY_MULTICASTS, COPY_FORMATS
    ):
        yield f"tcgen05.cp{group}{shape}{multicast}{formats} [%r1], %rd1;"
    for shape, formats, multicast in itertools.product(
        COPY_SHAPES, COPY_FORMATS[1:], COPY_MULTICASTS[1:]
    ):
        yield f"tcgen05.cp.cta_group::1{shape}{formats}{multicast} [%r1], %rd1;"


def copy_operands() -> Iterator[str]:
    """cta_group x shape, with the multicast that it needs, x address x descriptor."""
    needed = {".64x128b": ".warpx2::01_23", ".32x128b": ".warpx4"}
    for group, shape, address, descriptor in itertools.product(
        GROUPS, COPY_SHAPES[1:6], ("[%r1+8]", "%r1", "[%f1]"), ("%rd1", "%sd1", "%r2", "0x4000")
    ):
        yield f"tcgen05.cp{group}{shape}{needed.get(shape, '')} {address}, {descriptor};"


def shift() -> Iterator[str]:
    """cta_group x direction x their order x address."""
    for group, direction, address in itertools.product(
        ALL_GROUPS, ("", ".down", ".up"), ("[%r1]", "[%r1+32]", "%r1", "[%r1], %rd1", "")
    ):
        yield statement(f"tcgen05.shift{group}{direction}", address)
        if group and direction:
            yield statement(f"tcgen05.shift{direction}{group}", address)


PRODUCTS: dict[str, tuple[Product, ...]] = {
    "alloc": (alloc, alloc_columns, dealloc, relinquish),
    "ld/st": (load, store, load_store_modifiers, vector_elements),
    "ld.red": (
        load_reduced,
        load_reduced_operands,
        load_reduced_modifiers,
        load_reduced_orders,
        load_compressed,
        load_compressed_sizes,
    ),
    "sync": (wait, fence, commit, commit_masks),
    "cp/shift": (copy, copy_operands, shift),
    **{head: mma_products(head) for head in HEADS},
}


def sizes(family: str) -> list[int]:
    """How many statements each product of a family has."""
    return [sum(1 for _ in product()) for product in PRODUCTS[family]]


def statements(family: str) -> list[str]:
    """The statements of a family, none twice."""
    return list(dict.fromkeys(text for product in PRODUCTS[family] for text in product()))


def main() -> None:
    """Compare nvgen with ptxas on the products, or on statements that chance makes from them."""
    # the enumeration itself knows nothing of nvgen
    from tests.oracle import agreement, ptxas, recorded_lists, tcgen05_differences
    from tests.oracle.evidence import Answers
    from tests.oracle.tcgen05_mutations import batches

    parser = argparse.ArgumentParser(prog="python -m tests.oracle.tcgen05_product")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N mutated statements")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="what chance begins with")
    parser.add_argument("--targets", nargs="*", default=ptxas.TARGETS)
    parser.add_argument("--ptx", nargs="*", default=ptxas.PTX, help="PTX versions")
    options = parser.parse_args()
    families: dict[str, Sequence[str]] = {family: statements(family) for family in PRODUCTS}
    allowed = tcgen05_differences.DELIBERATE
    if options.random:
        families = {"mutants": recorded_lists.mutants(options.random, options.seed)}
        allowed += tcgen05_differences.IN_MUTANTS
    for family, listed in families.items():
        tally = agreement.Tally()
        for batch in batches(listed, 6000):
            reading, answers = agreement.Reading.of(batch), Answers(batch)
            for target in options.targets:
                pairs = recorded_lists.pairs_of(*((target, ptx) for ptx in options.ptx))
                tally += agreement.compare(reading, answers, pairs, allowed)
        print(f"== {family}: {len(listed)} statements, {tally}", flush=True)
        print(agreement.summary(tally.differences, most=len(listed)), flush=True)


if __name__ == "__main__":
    main()
