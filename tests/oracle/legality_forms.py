"""PTX statements, legal and illegal, enumerated from the PTX manual and not from nvgen's tables.

``FAMILIES`` maps a family of instructions to a function that returns its statements.  They use the
registers and variables that the preamble of :mod:`tests.oracle.ptxas` declares.  Nothing here says
which statement is legal: ptxas does, for each target and PTX version.  What matters is that the
lists hold the legal forms, their closest illegal neighbours, and the combinations on which a table
of instructions is easily wrong:

* the product of the values of an instruction's modifiers: every documented value, the modifier
  left out, and a value that belongs to a neighbouring instruction or that does not exist.  Where
  the product would explode, the axes that interact keep their product and the others are covered
  in pairs (every value of one axis meets every value of each other axis); the docstring says so;
* ``spoil``: one operand at a time replaced by each kind of operand that there is, operands left
  out, doubled, swapped and added, and guard predicates;
* ``shuffle``: modifiers left out, doubled, reordered, and modifiers of other instructions added.

``python -m tests.oracle.legality_forms`` prints an inventory of the families.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.oracle import ptxas

# --- operands ------------------------------------------------------------------------------------

REGISTERS: tuple[str, ...] = (
    "%c1", "%h1", "%r1", "%rd1", "%q1", "%uh1", "%u1", "%ud1", "%sh1", "%s1", "%sd1",
    "%hf1", "%hx1", "%f1", "%fd1", "%p1",
)  # fmt: skip
"""One register of every declared type."""

LITERALS: tuple[str, ...] = (
    "0", "-1", "0x20U", "4294967296", "1.5", "0f3F800000", "0d3FF0000000000000",
)  # fmt: skip

ADDRESSES: tuple[str, ...] = (
    "[%r1]", "[%rd1]", "[%rd1+16]", "[%r1+-16]", "[%sd1]", "[%h1]", "[%f1]", "[smem]", "[mbar+8]",
    "[gmem]", "[kparam]", "[16]",
)  # fmt: skip
"""Addresses in registers of every width and in variables; ``[16]`` is a bare number."""

OTHERS: tuple[str, ...] = (
    "smem", "smem+4", "kparam", "L0", "nosuch", "%tid.x", "WARP_SZ", "!%p1", "-%r1",
    "1+2", "{%r1}", "{%r1, %r2}", "{%rd1, %rd2}",
)  # fmt: skip

EVERY: tuple[str, ...] = REGISTERS + LITERALS + ADDRESSES + OTHERS
"""Every kind of operand: what ``spoil`` puts in the place of a right one."""

SOME: tuple[str, ...] = (
    "%h1", "%r1", "%rd1", "%f1", "%p1", "7", "1.5", "smem", "[%r1]", "[%rd1+16]", "{%r1, %r2}",
)  # fmt: skip
"""A short selection of them, for the second and later forms of a family."""

GUARDS: tuple[str, ...] = ("@%p1", "@!%p1", "@%r1")

ALIENS: tuple[str, ...] = (
    ".nosuch", ".sync", ".relaxed", ".gpu", ".global", ".b32", ".sat", ".cta_group::1",
    ".uni",
)  # fmt: skip
"""Modifiers that are right somewhere else."""

RECENT: tuple[str, ...] = (
    ".exclusive", "::cluster::16b", "::cluster::32b", ".sync_restrict::shared::read::mma::a",
    ".kind::ti16", ".spcompress", ".collector::b::", ".decompress::lut::b", ".layout::",
    ".phase_type::", ".mbarrier::report::", ".override::",
)  # fmt: skip
"""Parts of statements that came with PTX 9.3 and 9.4 and that older tables will not know."""


def registers(count: int, prefix: str = "%r", first: int = 0) -> str:
    """A vector of ``count`` registers in braces."""
    return "{" + ", ".join(f"{prefix}{first + n}" for n in range(count)) + "}"


# --- combining -----------------------------------------------------------------------------------


def statement(op: str, *operands: str) -> str:
    """One statement; an empty operand is left out."""
    given = ", ".join(operand for operand in operands if operand)
    return f"{op} {given};" if given else f"{op};"


def joined(*axes: Sequence[str]) -> list[str]:
    """The full product of the axes, each combination as one string."""
    return ["".join(choice) for choice in itertools.product(*axes)]


def pairwise(*axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Rows in which every value of an axis meets every value of each other axis at least once."""
    open_pairs = {
        (i, a, j, b): None
        for i, j in itertools.combinations(range(len(axes)), 2)
        for a in range(len(axes[i]))
        for b in range(len(axes[j]))
    }
    rows = []  # type: ignore[var-annotated]
    while open_pairs:
        i, a, j, b = next(iter(open_pairs))
        chosen = {i: a, j: b}
        for axis in range(len(axes)):
            if axis in chosen:
                continue
            gains = [
                sum(_pair(axis, value, other, chosen[other]) in open_pairs for other in chosen)
                for value in range(len(axes[axis]))
            ]
            # with equal gains, turn through the values instead of always taking the first
            best = max(gains)
            ties = [value for value, gain in enumerate(gains) if gain == best]
            chosen[axis] = ties[len(rows) % len(ties)]
        for first, second in itertools.combinations(sorted(chosen), 2):
            open_pairs.pop((first, chosen[first], second, chosen[second]), None)
        rows.append(tuple(axes[axis][chosen[axis]] for axis in range(len(axes))))
    return rows


def _pair(i: int, a: int, j: int, b: int) -> tuple[int, int, int, int]:
    return (i, a, j, b) if i < j else (j, b, i, a)


def spoil(op: str, operands: Sequence[str], pool: Sequence[str] = EVERY) -> list[str]:
    """A form and what is around it: each operand replaced, moved, doubled, left out; guards."""
    out = [statement(op, *operands)]
    for place in range(len(operands)):
        before, after = operands[:place], operands[place + 1 :]
        out += [statement(op, *before, other, *after) for other in pool]
        out.append(statement(op, *before, *after))
        out.append(statement(op, *before, operands[place], *operands[place:]))
        if after:
            out.append(statement(op, *before, after[0], operands[place], *after[1:]))
    for extra in ("%r7", "%p7", "7"):
        out.append(statement(op, *operands, extra))
    out.append(statement(op))
    guards = GUARDS if pool is EVERY else GUARDS[:2]
    out += [f"{guard} {statement(op, *operands)}" for guard in guards]
    return out


def garble(op: str, operands: Sequence[str]) -> list[str]:
    """A few statements that do not even parse; each costs one run of ptxas, once."""
    text = ", ".join(operands)
    return [f"{op} {text},;", f"{op} ({text});", f"{op}. {text};"]


def shuffle(head: str, modifiers: Sequence[str], *operands: str) -> list[str]:
    """Modifiers left out, doubled, in other orders, and modifiers of other instructions."""
    mods = list(modifiers)
    rows: list[Sequence[str]] = []
    for place, mod in enumerate(mods):
        rows.append([*mods[:place], *mods[place + 1 :]])
        rows.append([*mods, mod])
        rows.append([*mods[:place], mod, *mods[place:]])
    if len(mods) <= 4:
        rows += itertools.permutations(mods)
    else:
        rows += [mods[n:] + mods[:n] for n in range(len(mods))]
        rows.append(mods[::-1])
        for place in range(len(mods) - 1):
            rows.append(
                [*mods[:place], mods[place + 1], mods[place], *mods[place + 2 :]],
            )
    rows += [[*mods, alien] for alien in ALIENS]
    rows.append([".nosuch", *mods])
    return [statement(head + "".join(row), *operands) for row in rows]


def unique(statements: Iterable[str]) -> list[str]:
    """The statements without repetitions, in order."""
    return list(dict.fromkeys(statements))


# --- 1. tcgen05.alloc, dealloc, relinquish_alloc_permit ------------------------------------------

COLUMNS: tuple[str, ...] = (
    "-32", "0", "1", "16", "32", "33", "48", "64", "96", "128", "160", "256", "384", "512", "544",
    "576", "608", "1024", "0x40U", "32.0", "%r1", "%s1", "%f1", "%rd1", "WARP_SZ",
)  # fmt: skip


def tcgen05_alloc() -> list[str]:
    """tcgen05.alloc, .dealloc, .relinquish_alloc_permit ("Tensor Memory Allocation").

    Full product of exclusive x cta_group x state space x type, of cta_group x sync x aligned, and
    of the column counts (literals and registers) with both instructions and exclusive or not.
    """
    out = []
    groups = ("", ".cta_group::1", ".cta_group::2", ".cta_group::3")
    right = ".sync.aligned"
    for exclusive, group, space, kind in itertools.product(
        ("", ".exclusive"),
        groups,
        ("", ".shared::cta", ".shared", ".shared::cluster", ".global"),
        ("", ".b32", ".u32", ".b64"),
    ):
        out.append(f"tcgen05.alloc{exclusive}{group}{right}{space}{kind} [%r1], 32;")
        if space == "" or (space == ".shared::cta" and kind == ".b32"):
            out.append(f"tcgen05.dealloc{exclusive}{group}{right}{space}{kind} %r1, 32;")
            out.append(f"tcgen05.relinquish_alloc_permit{exclusive}{group}{right}{space}{kind};")
    for group, sync, aligned in itertools.product(groups, ("", ".sync"), ("", ".aligned")):
        out.append(f"tcgen05.alloc{group}{sync}{aligned}.b32 [%r1], %r2;")
        out.append(f"tcgen05.alloc{group}{sync}{aligned}.shared::cta.b32 [smem], 64;")
        out.append(f"tcgen05.dealloc{group}{sync}{aligned}.b32 %r1, %r2;")
        out.append(f"tcgen05.relinquish_alloc_permit{group}{sync}{aligned};")
    for exclusive, group, columns in itertools.product(
        ("", ".exclusive"), (".cta_group::1", ".cta_group::2"), COLUMNS
    ):
        space = ".shared::cta" if group == ".cta_group::1" else ""
        out.append(f"tcgen05.alloc{exclusive}{group}{right}{space}.b32 [%rd1], {columns};")
        out.append(f"tcgen05.dealloc{exclusive}{group}{right}.b32 %r1, {columns};")
    alloc = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
    dealloc = "tcgen05.dealloc.cta_group::2.sync.aligned.b32"
    permit = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"
    out += spoil(alloc, ("[%r1]", "%r2"))
    out += spoil(dealloc, ("%r1", "%r2"))
    out += spoil(permit, ())
    out += [*garble(alloc, ("[%r1]", "%r2")), f"{alloc} [%r1, 32;", f"{dealloc} _, 32;"]
    mods = [".cta_group::1", ".sync", ".aligned", ".shared::cta", ".b32"]
    out += shuffle("tcgen05.alloc", mods, "[%r1]", "32")
    out += shuffle("tcgen05.alloc", [".exclusive", *mods], "[%r1]", "32")
    out += shuffle("tcgen05.dealloc", [".cta_group::1", ".sync", ".aligned", ".b32"], "%r1", "32")
    out += shuffle("tcgen05.relinquish_alloc_permit", [".cta_group::1", ".sync", ".aligned"])
    return unique(out)


# --- 2. tcgen05.ld, tcgen05.st -------------------------------------------------------------------

SHAPES: dict[str, int] = {
    ".16x64b": 1, ".16x128b": 2, ".16x256b": 4, ".32x32b": 1, ".16x32bx2": 1,
}  # fmt: skip
"""Registers for each repetition of a shape."""

REPEATS: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128)


def tcgen05_ld_st() -> list[str]:
    """tcgen05.ld and tcgen05.st ("Tensor Memory Load and Store Instructions").

    Full product of shape x repetition x packing with the right number of registers (the packing
    of the other instruction and a wrong or missing split offset with two repetitions each); wrong
    vector sizes for each shape x repetition; foreign shapes and repetitions; missing modifiers;
    kinds of split offsets and of vectors; operand perturbations of scalar, vector, split forms.
    """
    out = []
    for op, packs in (
        ("ld", ("", ".pack::16b", ".unpack::16b")),
        ("st", ("", ".unpack::16b", ".pack::16b")),
    ):
        for (shape, base), repeat in itertools.product(SHAPES.items(), REPEATS):
            right = min(base * repeat, 128)
            split = shape == ".16x32bx2"
            for pack, offset in itertools.product(packs, ("", "16")):
                if (pack == packs[2] or bool(offset) != split) and repeat not in (1, 32):
                    continue
                out.append(_tmem(op, f"{shape}.x{repeat}{pack}", registers(right), offset))
            offset = "16" if split else ""
            wrong = {right * 2, right // 2, right + 1, repeat} - {right, 0}
            sizes = sorted(size for size in wrong if size <= 130)
            out += [_tmem(op, f"{shape}.x{repeat}", registers(n), offset) for n in sizes]
            if base * repeat == 256:
                out.append(_tmem(op, f"{shape}.x{repeat}", registers(256), offset))
            if right == 1:
                out.append(_tmem(op, f"{shape}.x1", "%r5", offset))
        alien = ("", ".64x32b", ".32x128b", ".128x256b", ".16x32b", ".31x256b", ".m64n8x32b")
        out += [_tmem(op, f"{shape}.x1", "%r5", "") for shape in alien]
        alien = ("", ".x3", ".x0", ".x256", ".2x")  # type: ignore[assignment]
        out += [_tmem(op, f".32x32b{repeat}", "{%r1}", "") for repeat in alien]
        for sync, aligned, kind in itertools.product(
            ("", ".sync"), ("", ".aligned"), ("", ".b32", ".u32", ".f32", ".b64", ".b16")
        ):
            operands = ("{%r1, %r2}", "[%r3]") if op == "ld" else ("[%r3]", "{%r1, %r2}")
            out.append(statement(f"tcgen05.{op}{sync}{aligned}.32x32b.x2{kind}", *operands))
        for offset in ("0", "-1", "1", "31", "512", "100000", "4294967296", "1.0", "%r9", "16U",
                       "smem", "%p1"):  # fmt: skip
            out.append(_tmem(op, ".16x32bx2.x1", "{%r1}", offset))
            out.append(_tmem(op, ".16x32bx2.x4", registers(4), offset))
        vectors = (
            "{%f0, %f1}", "{%u1, %s1}", "{%hx1, %hx2}", "{%h1, %h2}", "{%rd1, %rd2}", "{%r1, %f1}",
            "{%r1, %r1}", "{%r1, 1}", "{%r1, _}", "{%p1, %p2}", "{%r1, %h1}",
        )  # fmt: skip
        out += [_tmem(op, ".32x32b.x2", vector, "") for vector in vectors]
        mods = [".sync", ".aligned", ".32x32b", ".x2", ".b32"]
        place = ("{%r1, %r2}", "[%r3]") if op == "ld" else ("[%r3]", "{%r1, %r2}")
        out += shuffle(f"tcgen05.{op}", mods, *place)
        pack = ".pack::16b" if op == "ld" else ".unpack::16b"
        out += shuffle(f"tcgen05.{op}", [*mods[:4], pack, ".b32"], *place)
        head = f"tcgen05.{op}.sync.aligned"
        out += spoil(f"{head}.32x32b.x2.b32", place)
        out += spoil(f"{head}.32x32b.x1.b32", [p.replace(", %r2", "") for p in place], SOME)
        split_place = ("{%r1}", "[%r3]", "16") if op == "ld" else ("[%r3]", "16", "{%r1}")
        out += spoil(f"{head}.16x32bx2.x1.b32", split_place, SOME)
        out += garble(f"{head}.32x32b.x2.b32", place)
    return unique(out)


def _tmem(op: str, modifiers: str, vector: str, offset: str) -> str:
    """A tcgen05.ld or .st; the split offset comes last in a load and second in a store."""
    if op == "ld":
        return statement(f"tcgen05.ld.sync.aligned{modifiers}.b32", vector, "[%r130]", offset)
    return statement(f"tcgen05.st.sync.aligned{modifiers}.b32", "[%r130]", offset, vector)


def tcgen05_ld_red() -> list[str]:
    """tcgen05.ld.red, .ld.spcompress and .ld.red.spcompress (the sections of tcgen05.ld).

    ld.red: full product of shape x repetition x operation x modifiers of floats x type, with right
    operands; wrong vectors and split offsets.  The compressing loads: repetition x operation x
    modifiers of floats, the shapes, types and kinds of sparsity one at a time, wrong vectors.
    """
    out = []
    shapes, floats = (*SHAPES, ".64x32b"), ("", ".abs", ".NaN", ".abs.NaN", ".NaN.abs")
    for shape, repeat, op, more, kind in itertools.product(
        shapes, (1, 2, 4, 64, 128), (".min", ".max"), floats, (".f32", ".u32", ".s32", ".b32")
    ):
        regular = shape in (".32x32b", ".16x32bx2")
        if not regular and (more or repeat != 4):
            continue
        vector = registers(SHAPES.get(shape, 1) * repeat, "%f" if kind == ".f32" and repeat < 8
                           else "%r")  # fmt: skip
        split = "16" if shape == ".16x32bx2" else ""
        name = f"tcgen05.ld.red.sync.aligned{shape}.x{repeat}{op}{more}{kind}"
        out.append(statement(name, vector, "%r200", "[%r130]", split))
    head = "tcgen05.ld.red.sync.aligned"
    for op in ("", ".add", ".and", ".MIN", ".min.max"):
        out += [f"{head}.32x32b.x2{op}{kind} {{%r1, %r2}}, %r3, [%r4];" for kind in (".f32", "")]
    for kind, register in itertools.product((".f32", ".u32", ".s32"), REGISTERS):
        out.append(f"{head}.32x32b.x2.min{kind} {{{register}, %r2}}, %r3, [%r4];")
        out.append(f"{head}.32x32b.x2.min{kind} {{%r1, %r2}}, {register}, [%r4];")
    for offset in ("", "0", "-1", "100000", "1.0", "%r9"):
        out.append(f"{head}.16x32bx2.x2.max.u32 {{%r1, %r2}}, %r3, [%r4], {offset or 'L0'};")
        out.append(statement(f"{head}.32x32b.x2.max.u32", "{%r1, %r2}", "%r3", "[%r4]", offset))
        out.append(statement(f"{head}.16x32bx2.x2.max.u32", "{%r1, %r2}", "%r3", "[%r4]", offset))
    place = ("{%r1, %r2}", "%r3", "[%r4]")
    out += spoil(f"{head}.32x32b.x2.min.f32", place)
    out += spoil(f"{head}.32x32b.x2.max.u32", place, SOME)
    out += garble(f"{head}.32x32b.x2.min.f32", place)
    mods = [".sync", ".aligned", ".32x32b", ".x2", ".min", ".abs", ".NaN", ".f32"]
    out += shuffle("tcgen05.ld.red", mods, *place)
    out += shuffle("tcgen05.ld.red", [*mods[:5], ".u32"], *place)
    out += [
        "tcgen05.ld.sync.aligned.red.32x32b.x2.min.f32 {%r1, %r2}, %r3, [%r4];",
        "tcgen05.ld.sync.aligned.32x32b.x2.min.f32 {%r1, %r2}, %r3, [%r4];",
        f"{head}.32x32b.x2.pack::16b.min.u32 {{%r1, %r2}}, %r3, [%r4];",
    ]
    return unique([*out, *_compressing_loads("", ()), *_compressing_loads(".red", ("%r210",))])


def _compressing_loads(red: str, result: tuple[str, ...]) -> list[str]:
    out = []
    head = f"tcgen05.ld{red}.spcompress.sync.aligned"
    end = (*result, "[%r130]")

    def load(modifiers: str, words: int, kept: int) -> str:
        return statement(f"{head}{modifiers}", registers(words, first=200), registers(kept), *end)

    for repeat, op, more in itertools.product(
        REPEATS, (".min", ".max", ""), ("", ".abs", ".NaN", ".abs.NaN")
    ):
        sizes = (-(-repeat // 32), max(repeat // 2, 1))
        out.append(load(f".32x32b.x{repeat}{op}.sp::2:4{more}.f32.b2", *sizes))
    out += [
        load(f".32x32b.x{repeat}.max.sp::2:4.f32.b2", words, kept)
        for words, kept, repeat in itertools.product((1, 2, 4), (8, 16, 32, 64), (32, 64, 128))
    ]
    out += [load(f"{shape}.x4.max.sp::2:4.f32.b2", 1, 2) for shape in (*SHAPES, ".64x32b", "")]
    kinds = ("", ".sp", ".sp::1:2", ".sp::4:8", ".sp::2:8")
    out += [load(f".32x32b.x4.max{kind}.f32.b2", 1, 2) for kind in kinds]
    types = (".f32", ".b2", "", ".b2.f32", ".u32.b2", ".f32.b4", ".f32.b32", ".b32.b2")
    out += [load(f".32x32b.x4.max.sp::2:4{type_}", 1, 2) for type_ in types]
    place = ("{%r1}", "{%r2, %r3}", *result, "[%r4]")
    right = f"{head}.32x32b.x4.max.sp::2:4.f32.b2"
    out += spoil(right, place, SOME if red else EVERY)
    for register in REGISTERS:
        out.append(statement(right, f"{{{register}}}", *place[1:]))
        out.append(statement(right, place[0], f"{{{register}, %r2}}", *place[2:]))
    out += garble(right, place)
    mods = [".sync", ".aligned", ".32x32b", ".x4", ".max", ".sp::2:4", ".abs", ".f32", ".b2"]
    return [*out, *shuffle(f"tcgen05.ld{red}.spcompress", mods, *place)]


# --- 2b. tcgen05.cp, tcgen05.shift ---------------------------------------------------------------

COPY_SHAPES: tuple[str, ...] = (
    ".128x256b", ".4x256b", ".128x128b", ".64x128b", ".32x128b", ".32x32b", ".m64x128b", "",
)  # fmt: skip
COPY_MULTICASTS: tuple[str, ...] = (
    "", ".warpx2::02_13", ".warpx2::01_23", ".warpx4", ".warpx2_02_13", ".multicast::cluster",
)  # fmt: skip
COPY_FORMATS: tuple[str, ...] = (
    "", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64", ".b8x16", ".b6x16_p32", ".b4x16_p64",
    ".b6x16_p32.b8x16", ".b8x16.b8x16", ".b6x16_p32.b4x16_p64", ".b8x16.b6x16_p32.b4x16_p64",
    ".b4x16.b6x16_p32", ".b8x16.b32x2",
)  # fmt: skip


def tcgen05_copy() -> list[str]:
    """tcgen05.cp and tcgen05.shift ("Tensor Memory Data Movement Instructions").

    cp: full product of cta_group x shape x multicast x formats; operands and modifiers perturbed.
    shift: full product of cta_group x direction.
    """
    out = [
        f"tcgen05.cp{''.join(mods)} [%r1], %rd1;"
        for mods in itertools.product(
            ("", ".cta_group::1", ".cta_group::2", ".cta_group::3"),
            COPY_SHAPES, COPY_MULTICASTS, COPY_FORMATS,
        )
    ]  # fmt: skip
    right = "tcgen05.cp.cta_group::1.128x256b"
    out += spoil(right, ("[%r1]", "%rd1"))
    out += spoil("tcgen05.cp.cta_group::2.64x128b.warpx2::02_13", ("[%r1]", "%rd1"), SOME)
    out += garble(right, ("[%r1]", "%rd1"))
    for mods in (
        [".cta_group::1", ".128x256b"],
        [".cta_group::2", ".64x128b", ".warpx2::01_23"],
        [".cta_group::1", ".32x128b", ".warpx4", ".b8x16", ".b4x16_p64"],
    ):
        out += shuffle("tcgen05.cp", mods, "[%r1]", "%rd1")
    for group, way, operands in itertools.product(
        ("", ".cta_group::1", ".cta_group::2", ".cta_group::3"),
        ("", ".down", ".up"),
        (["[%r1]"], ["[%r1+65536]"], [], ["%r1"]),
    ):
        out.append(statement(f"tcgen05.shift{group}{way}", *operands))
        out.append(statement(f"tcgen05.shift{way}{group}", *operands))
    out += spoil("tcgen05.shift.cta_group::1.down", ("[%r1]",))
    out += garble("tcgen05.shift.cta_group::1.down", ("[%r1]",))
    out += shuffle("tcgen05.shift", [".cta_group::1", ".down"], "[%r1]")
    return unique(out)


# --- 3. tcgen05.wait, fence, commit --------------------------------------------------------------


def tcgen05_sync() -> list[str]:
    """tcgen05.wait, .fence and .commit ("Specialized / Async Synchronization Operations").

    wait and fence: full product.  commit: full product of cta_group x restriction x space x
    multicast x mask; the completion mechanism and the type one at a time; literal masks for every
    width of the mask.
    """
    out = []
    for kind, group, sync, aligned in itertools.product(
        ("", "::ld", "::st", "::mma", "::cp"),
        ("", ".cta_group::1", ".cta_group::2"),
        ("", ".sync"),
        ("", ".aligned"),
    ):
        out.append(f"tcgen05.wait{kind}{group}{sync}{aligned};")
    out += ["tcgen05.wait.ld.sync.aligned;", "tcgen05.wait.sync.aligned.b32;"]
    out += spoil("tcgen05.wait::ld.sync.aligned", ())
    out += shuffle("tcgen05.wait::st", [".sync", ".aligned"])
    for kind, rest in itertools.product(
        ("", "::before_thread_sync", "::after_thread_sync", "::thread_sync"),
        ("", ".sync", ".aligned", ".sync.aligned", ".cta_group::1", ".cluster", ".release"),
    ):
        out.append(f"tcgen05.fence{kind}{rest};")
    out += spoil("tcgen05.fence::after_thread_sync", ())
    arrive = ".mbarrier::arrive::one"
    restricted = ".sync_restrict::shared::read::mma::a"
    for group, restrict, space, multicast, mask in itertools.product(
        (".cta_group::1", ".cta_group::2"),
        ("", restricted),
        ("", ".shared::cluster", ".shared::cta", ".shared", ".global"),
        ("", ".multicast::cluster", ".multicast::cluster::16b", ".multicast::cluster::32b"),
        ("", "%h1", "%r2", "3"),
    ):
        if space in (".shared", ".global") and (mask == "3" or restrict):
            continue
        op = f"tcgen05.commit{group}{arrive}{restrict}{space}{multicast}.b64"
        out.append(statement(op, "[%r1]", mask))
    for group, mechanism, kind in itertools.product(
        ("", ".cta_group::1", ".cta_group::3"),
        ("", arrive, ".mbarrier::complete_tx::bytes", ".mbarrier::arrive::two", ".bulk_group"),
        ("", ".b64", ".b32", ".u64"),
    ):
        out.append(f"tcgen05.commit{group}{mechanism}{kind} [%rd1];")
        out.append(f"tcgen05.commit{group}{mechanism}.shared::cluster{kind} [mbar];")
    for width, mask in itertools.product(
        ("", "::16b", "::32b"),
        ("-1", "0", "1", "0xffff", "65536", "0xffffffff", "4294967296", "3U", "1.0", "%uh1", "%sh1",
         "%u1", "%s1", "%f1", "%hf1", "%hx1", "%p1", "%c1", "WARP_SZ", "smem", "[%r2]"),
    ):  # fmt: skip
        op = f"tcgen05.commit.cta_group::2{arrive}.shared::cluster.multicast::cluster{width}.b64"
        out.append(statement(op, "[%r1]", mask))
    out.append(f"tcgen05.commit.cta_group::1{arrive}.sync_restrict::shared::cta.b64 [%rd1];")
    out += spoil(f"tcgen05.commit.cta_group::1{arrive}.b64", ("[%rd1]",))
    multi = f"tcgen05.commit.cta_group::1{arrive}.shared::cluster.multicast::cluster.b64"
    out += spoil(multi, ("[%r1]", "%h1"))
    out += garble(multi, ("[%r1]", "%h1"))
    mods = [".cta_group::1", arrive, ".shared::cluster", ".multicast::cluster", ".b64"]
    out += shuffle("tcgen05.commit", mods, "[%r1]", "%h1")
    out += shuffle(
        "tcgen05.commit", [".cta_group::1", arrive, restricted, ".shared::cluster", ".b64"], "[%r1]"
    )
    return unique(out)


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


# --- 6. mbarrier ---------------------------------------------------------------------------------

SPACES: tuple[str, ...] = ("", ".shared", ".shared::cta", ".shared::cluster", ".global")


def mbarrier() -> list[str]:
    """mbarrier.* ("Parallel Synchronization and Communication Instructions: mbarrier").

    arrive, arrive.expect_tx, arrive_drop.expect_tx: documented semantics x scopes x shared spaces
    x destinations in full, undocumented ones in pairs.  arrive_drop and the noComplete forms:
    pairs of these axes.  expect_tx, complete_tx: semantics x scope x space.  The four waits:
    semantics x scope x space like arrive, then kinds of state x hint x destination.  init: space x
    count.  Layouts, phase types, reports, multicast (PTX 9.3, 9.4): products of their own.
    """
    out = []
    sems = ("", ".release", ".relaxed", ".acquire")
    scopes = ("", ".cta", ".cluster", ".gpu")
    results = ("%rd1", "_", "")
    for head, counts in (
        ("mbarrier.arrive", ("", "%r2")),
        ("mbarrier.arrive.expect_tx", ("%r2",)),
        ("mbarrier.arrive_drop.expect_tx", ("%r2",)),
    ):
        for sem, scope, space, result, count in itertools.product(
            sems[:3], scopes[:3], SPACES[:4], results[:2], counts
        ):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", result, _at(space), count))
        for sem, scope, space, result in pairwise(sems, scopes, SPACES, results):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", result, _at(space), counts[0]))
    for head in (
        "mbarrier.arrive.noComplete", "mbarrier.arrive_drop", "mbarrier.arrive_drop.noComplete",
    ):  # fmt: skip
        for sem, scope, space, result, count in pairwise(
            sems, scopes, SPACES, results, ("", "%r2", "3", "%rd2")
        ):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", result, _at(space), count))
        for scope, space, result in itertools.product(
            ("", ".release.cta", ".release.cluster", ".relaxed.cta"), SPACES[:4], results
        ):
            out.append(statement(f"{head}{scope}{space}.b64", result, _at(space), "%r2"))
    for head in ("mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop",
                 "mbarrier.arrive_drop.expect_tx", "mbarrier.arrive.noComplete"):  # fmt: skip
        counts = ("0", "-1", "1048575", "1048576", "4294967296", "1.0", "%s1", "%rd3", "%f1")  # type: ignore[assignment]
        out += [statement(f"{head}.shared::cta.b64", "%rd1", "[%r1]", count) for count in counts]
        for place in ("[mbar+8]", "[%rd2]", "[smem]", "[gmem]"):
            out.append(statement(f"{head}.b64", "%rd1", place, "1"))
            out.append(statement(f"{head}.shared::cta.b64", "%rd1", place, "1"))
    for head in ("mbarrier.expect_tx", "mbarrier.complete_tx"):
        for sem, scope, space in itertools.product(sems, scopes, SPACES):
            out.append(statement(f"{head}{sem}{scope}{space}.b64", _at(space), "%r2"))
        op = f"{head}.relaxed.cta.shared::cta.b64"
        counts = ("", "0", "-1", "1048576", "4294967296", "%u1", "%rd2", "%f1")  # type: ignore[assignment]
        out += [statement(op, "[%r1]", count) for count in counts]
    wait_sems = ("", ".acquire", ".relaxed", ".release")
    for head in ("mbarrier.test_wait", "mbarrier.try_wait"):
        for parity, state, wrong in (("", "%rd1", "%r3"), (".parity", "%r3", "%rd1")):
            for sem, scope, space in (
                *itertools.product(wait_sems[:3], scopes[:3], SPACES[:4]),
                *pairwise(wait_sems, scopes, SPACES),
            ):
                op = f"{head}{parity}{sem}{scope}{space}.b64"
                out.append(statement(op, "%p1", _at(space), state))
                if head == "mbarrier.try_wait" and sem != ".release":
                    out.append(statement(op, "%p1", _at(space), state, "%r4"))
            for given, hint, result in itertools.product(
                (state, wrong, "0", "2", "%f1"),
                ("", "%r4", "0x989680", "-1", "%rd4", "1.0"),
                ("%p1", "%r1"),
            ):
                if result == "%p1" or (hint == "" and given == state):
                    out.append(
                        statement(f"{head}{parity}.shared::cta.b64", result, "[%r1]", given, hint)
                    )
            for phase, sem, space, result in itertools.product(
                (".phase_type::primary", ".phase_type::conditional", ".phase_type::third", ""),
                ("", ".acquire.cluster", ".relaxed.cta"),
                ("", ".shared::cta"),
                ("%p1", "%p1|%p2"),
            ):
                op = f"{head}{parity}{phase}{sem}{space}.b64"
                out.append(statement(op, result, _at(space), state))
                if not sem and result == "%p1|%p2":
                    out += [
                        statement(op, result, value, _at(space), state)
                        for value in ("%r5", "%h5", "%rd5", "%c1", "1+2")
                    ]
                    out += [
                        statement(op, which, "%c1", _at(space), number)
                        for which in ("%p1", result)
                        for number in ("0", "1", "2", "-1", "512")
                    ]
    for space, count in itertools.product(
        SPACES,
        ("1", "%r2", "0", "-1", "1048575", "1048576", "1.0", "%rd2", ""),
    ):
        out.append(statement(f"mbarrier.init{space}.b64", _at(space), count))
    for layout, space, count in itertools.product(
        (".layout::v0", ".layout::v1", ".layout::v2"),
        ("", ".shared::cta"),
        ("1", "%r2", "511", "512", "1048575", "0"),
    ):
        out.append(statement(f"mbarrier.init{layout}{space}.b64", _at(space), count))
    for layout, space, result in itertools.product(
        (".layout::v0", ".layout::v1", ".layout::v2", ""), SPACES[:4], ("%p1", "%r1")
    ):
        out.append(statement(f"mbarrier.check_layout{layout}{space}.b64", result, _at(space)))
    for space, sem in itertools.product(SPACES, ("", ".relaxed", ".release.cta", ".cta")):
        out.append(statement(f"mbarrier.inval{sem}{space}.b64", _at(space)))
    for head, sem, width, mask in itertools.product(
        ("mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop",
         "mbarrier.arrive_drop.expect_tx", "mbarrier.expect_tx", "mbarrier.complete_tx"),
        ("", ".release.cluster", ".relaxed.cluster"),
        ("", "::16b", "::32b"),
        ("%r4", "%h4", "15", ""),
    ):  # fmt: skip
        if sem and width == "::16b":
            continue
        result = "_" if "arrive" in head else ""
        op = f"{head}{sem}.shared::cluster.multicast::cluster{width}.b64"
        out.append(statement(op, result, "[%r1]", "%r2", mask))
        if mask == "%r4":
            out.append(statement(op, result, "[%r1]", mask))
            near = f"{head}{sem}.shared::cta.multicast::cluster{width}.b64"
            out.append(statement(near, result, "[%r1]", "%r2", mask))
    out += ["mbarrier.init.b64 [%r1], 1;", "mbarrier.arrive.b64 %rd1, [%r1];",
            "mbarrier.try_wait.b64 %p1, [%r1], %rd1;"]  # fmt: skip
    out += spoil("mbarrier.init.shared::cta.b64", ("[%r1]", "%r2"))
    out += spoil("mbarrier.inval.shared.b64", ("[%r1]",), SOME)
    out += spoil("mbarrier.arrive.shared.b64", ("%rd1", "[%r1]"))
    out += spoil("mbarrier.arrive.expect_tx.shared::cta.b64", ("%rd1", "[%r1]", "%r2"), SOME)
    out += spoil("mbarrier.arrive.noComplete.b64", ("%rd1", "[%rd2]", "%r2"), SOME)
    out += spoil("mbarrier.arrive.release.cluster.shared::cluster.b64", ("_", "[%r1]"), SOME)
    out += spoil("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", ("[%r1]", "%r2"), SOME)
    out += spoil("mbarrier.test_wait.shared::cta.b64", ("%p1", "[%r1]", "%rd1"))
    out += spoil("mbarrier.try_wait.parity.b64", ("%p1", "[%rd1]", "%r1", "%r2"), SOME)
    out += spoil("mbarrier.pending_count.b64", ("%r1", "%rd1"))
    out += [f"mbarrier.pending_count{kind} %r1, %rd1;" for kind in ("", ".b32", ".u64", ".shared")]
    for head, mods, operands in (
        ("mbarrier.arrive", [".release", ".cta", ".shared::cta", ".b64"], ("%rd1", "[%r1]")),
        ("mbarrier.arrive.expect_tx", [".relaxed", ".cluster", ".shared::cluster", ".b64"],
         ("_", "[%r1]", "%r2")),
        ("mbarrier.try_wait.parity", [".acquire", ".cluster", ".shared::cta", ".b64"],
         ("%p1", "[%r1]", "%r2")),
        ("mbarrier.init", [".shared::cta", ".b64"], ("[%r1]", "%r2")),
        ("mbarrier", [".try_wait", ".parity", ".b64"], ("%p1", "[%r1]", "%r2")),
        ("mbarrier", [".arrive", ".expect_tx", ".b64"], ("_", "[%r1]", "%r2")),
    ):  # fmt: skip
        out += shuffle(head, mods, *operands)
    out += garble("mbarrier.init.shared::cta.b64", ("[%r1]", "%r2"))
    return unique(out)


def _at(space: str) -> str:
    """The address of an mbarrier: 32 bits are enough in shared memory only."""
    return "[%r1]" if space.startswith(".shared") else "[%rd9]"


# --- 7. cp.async.bulk.tensor, tile loads ---------------------------------------------------------

COMPLETE = ".mbarrier::complete_tx::bytes"


def tensor_load() -> list[str]:
    """cp.async.bulk.tensor, global to shared, tile mode ("Asynchronous Copy: Tensor Copy").

    Product of dimension x destination x mode x multicast x cta_group x cache hint with matching
    operands; product of multicast x hint with all combinations of the operands they need;
    dimension x number of coordinates; the completion mechanism and the order of modifiers one at a
    time; the overrides and report mechanisms of PTX 9.4 on a few forms.
    """
    out = []
    hint = ".L2::cache_hint"
    targets = (".shared::cluster", ".shared::cta")
    casts = ("", ".multicast::cluster", ".multicast::cluster::16b", ".multicast::cluster::32b")
    groups = ("", ".cta_group::1", ".cta_group::2")
    for dim, target, mode, cast, group, cached in itertools.product(
        range(1, 6), targets, ("", ".tile"), casts, groups, ("", hint)
    ):
        mask = "" if not cast else "%r6" if cast.endswith("32b") else "%h6"
        op = f"cp.async.bulk.tensor.{dim}d{target}.global{mode}{COMPLETE}{cast}{group}{cached}"
        place = "[%rd1, " + registers(dim, "%s") + "]"
        out.append(statement(op, "[%r1]", place, "[%r2]", mask, "%rd6" if cached else ""))
    for target, cast, cached, mask, policy in itertools.product(
        targets, casts, ("", hint), ("", "%h6", "%r6", "3"), ("", "%rd6", "5", "%r6")
    ):
        op = f"cp.async.bulk.tensor.2d{target}.global{COMPLETE}{cast}{cached}"
        out.append(statement(op, "[%r1]", "[%rd1, {%r3, %r4}]", "[%r2]", mask, policy))
    for dim, count in itertools.product(range(7), range(1, 7)):
        op = f"cp.async.bulk.tensor.{dim}d.shared::cta.global.tile{COMPLETE}"
        out.append(statement(op, "[%r1]", "[%rd1, " + registers(count) + "]", "[%r2]"))
    for dim, coordinates in itertools.product(
        (1, 2, 5),
        ("{%u1, %s1}", "{%f1, %f2}", "{%h1, %h2}", "{%rd1, %rd2}", "{0, 16}", "{%r1, 3}",
         "{-1, %r1}", "{1.0, 2}", "{%r1}", "{0}", "{%p1}", "%r1", "{_, %r1}", "{0, 1, 2, 3, 4}",
         "{%r1, %s1, %u1, 0, 4294967296}", "{%hx1, %hx1}"),
    ):  # fmt: skip
        op = f"cp.async.bulk.tensor.{dim}d.shared::cluster.global{COMPLETE}"
        out.append(statement(op, "[%r1]", f"[%rd1, {coordinates}]", "[%r2]"))
    for target, source, mode, completion in itertools.product(
        (*targets, ".shared", ".global", ""),
        (".global", "", ".shared::cta"),
        ("", ".tile", ".nosuch"),
        (COMPLETE, "", ".bulk_group", ".mbarrier::arrive::one"),
    ):
        op = f"cp.async.bulk.tensor.2d{target}{source}{mode}{completion}"
        if target != ".global":
            out.append(statement(op, "[%r1]", "[%rd1, {%r3, %r4}]", "[%r2]"))
    reports = (
        "", ".mbarrier::report::disabled", ".mbarrier::report::validity::per_16bytes::80000000",
        ".mbarrier::report::validity::per_16bytes::8",
        ".mbarrier::report::validity::per_element::ff", ".mbarrier::report::nosuch",
    )  # fmt: skip
    for target, report, override in itertools.product(
        targets, reports, ("", ".override::global_address", ".override::nosuch")
    ):
        op = f"cp.async.bulk.tensor.1d{target}.global.tile{COMPLETE}{report}{override}"
        out.append(statement(op, "[%r1]", "[%rd1, {%r3}]", "[%r2]"))
        out.append(statement(op, "[%r1]", "[%rd1, %rd2, {%r3}]", "[%r2]"))
    simple = f"cp.async.bulk.tensor.1d.shared::cta.global.tile{COMPLETE}"
    out += spoil(simple, ("[%r1]", "[%rd1, {%r3}]", "[%r2]"))
    for tensor in (
        "[%r1, {%r3}]", "[ktmap, {%r3}]", "[gmem, {%r3}]", "[cmem, {%r3}]", "[smem, {%r3}]",
        "[kparam, {%r3}]", "[%rd1+64, {%r3}]", "[gmem+64, {%r3}]", "[%ud1, {%r3}]", "[{%r3}, %rd1]",
        "[%sd1, {%r3}]", "[%f1, {%r3}]", "[%fd1, {%r3}]", "[lmem, {%r3}]", "[64, {%r3}]",
        "[%rd1], {%r3}", "[%rd1, %r3]",
    ):  # fmt: skip
        out.append(statement(simple, "[smem]", tensor, "[mbar]"))
    full = f"cp.async.bulk.tensor.2d.shared::cluster.global.tile{COMPLETE}.multicast::cluster{hint}"
    operands = ("[%r1]", "[%rd1, {%r3, %r4}]", "[%r2]", "%h1", "%rd2")
    out += spoil(full, operands, SOME)
    out += spoil(f"cp.async.bulk.tensor.2d.shared::cluster.global{COMPLETE}", operands[:3], SOME)
    mods = [".2d", ".shared::cluster", ".global", ".tile", COMPLETE, ".multicast::cluster",
            ".cta_group::2", hint]  # fmt: skip
    out += shuffle("cp.async.bulk.tensor", mods, *operands)
    out += shuffle(
        "cp.async.bulk.tensor", [".2d", ".shared::cta", ".global", COMPLETE], *operands[:3]
    )
    out += shuffle("cp", [".async", ".bulk", ".tensor", ".2d.shared::cta.global" + COMPLETE],
                   *operands[:3])  # fmt: skip
    out += garble(simple, operands[:3])
    return unique(out)


def tensor_store() -> list[str]:
    """cp.async.bulk.tensor, shared to global, tile mode; the bulk groups it completes in.

    Product of dimension x source x mode x completion mechanism x cache hint; dimension x number of
    coordinates; kinds of coordinates, of tensor maps, of sources; the group instructions with every
    kind of number.
    """
    out = []
    hint = ".L2::cache_hint"
    for dim, source, mode, completion, cached in itertools.product(
        range(1, 6), (".shared::cta", ".shared", ".shared::cluster"), ("", ".tile", ".nosuch"),
        (".bulk_group", "", COMPLETE), ("", hint),
    ):  # fmt: skip
        op = f"cp.async.bulk.tensor.{dim}d.global{source}{mode}{completion}{cached}"
        place = "[%rd1, " + registers(dim, "%s") + "]"
        out.append(statement(op, place, "[%r1]", "%rd6" if cached else ""))
    for cached, policy in itertools.product(("", hint), ("", "%rd6", "5", "%r6", "%ud2", "1.5")):
        op = f"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group{cached}"
        out.append(statement(op, "[%rd1, {%r3, %r4}]", "[%r2]", policy))
    for dim, count in itertools.product(range(7), range(1, 7)):
        op = f"cp.async.bulk.tensor.{dim}d.global.shared::cta.tile.bulk_group"
        out.append(statement(op, "[%rd1, " + registers(count) + "]", "[%r2]"))
    simple = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
    kinds = ("{%u1, %s1}", "{%f1, %f2}", "{%h1, %h2}", "{0, 16}", "{%r1, 3}", "{%r1}", "{1.0, 2}",
             "{%p1, %p2}", "%r1", "{_, %r1}", "{%hx1, %hx1}")  # fmt: skip
    out += [statement(simple, f"[%rd1, {coordinates}]", "[smem]") for coordinates in kinds]
    tensors = ("[%r1, {%r3, %r4}]", "[ktmap, {%r3, %r4}]", "[gmem, {%r3, %r4}]",
               "[smem, {%r3, %r4}]", "[%rd1+64, {%r3, %r4}]", "[{%r3, %r4}, %rd1]",
               "[%ud1, {%r3, %r4}]", "[%rd1, %r3]")  # fmt: skip
    out += [statement(simple, tensor, "[smem]") for tensor in tensors]
    out += spoil(simple, ("[%rd1, {%r3, %r4}]", "[%r2]"))
    out += spoil(simple + hint, ("[%rd1, {%r3, %r4}]", "[%r2]", "%rd2"), SOME)
    mods = [".2d", ".global", ".shared::cta", ".tile", ".bulk_group", hint]
    out += shuffle("cp.async.bulk.tensor", mods, "[%rd1, {%r3, %r4}]", "[%r2]", "%rd2")
    out += shuffle("cp.async.bulk.tensor", [".1d.global", ".shared::cta", ".bulk_group"],
                   "[%rd1, {%r3}]", "[%r2]")  # fmt: skip
    for head in ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group",
                 "cp.async.bulk.wait_group.read"):  # fmt: skip
        numbers = ("0", "1", "7", "-1", "2147483648", "4294967295", "4294967296", "1.5", "3U",
                   "WARP_SZ", "1+2", "%r1", "smem", "%p1", "[%r1]", "{0}")  # fmt: skip
        out += [statement(head, n) for n in ("", *numbers, "0, 0")]
        out += [f"{guard} {statement(head, '0')}" for guard in GUARDS]
        out += [f"{guard} {head};" for guard in GUARDS]
        out += [statement(head + alien, "0") for alien in (*ALIENS, ".read", "::read")]
        out += [f"{head}{alien};" for alien in (*ALIENS, ".read")]
    out += ["cp.async.bulk.wait_all;", "cp.async.bulk.read.wait_group 0;",
            "cp.async.bulk.commit_group.wait_group 0;"]  # fmt: skip
    return unique(out)


# --- 8. fences -----------------------------------------------------------------------------------


def fences() -> list[str]:
    """fence, fence.proxy.async, fence.mbarrier_init, membar ("membar / fence").

    Full product of semantics x scope for the plain fence; of proxy x space; of the mbarrier_init
    restriction x semantics x scope; perturbations of each.
    """
    out = []
    sems = ("", ".sc", ".acq_rel", ".acquire", ".release", ".relaxed", ".weak", ".volatile")
    scopes = ("", ".cta", ".cluster", ".gpu", ".sys", ".gl", ".warp")
    for sem, scope in itertools.product(sems, scopes):
        out.append(f"fence{sem}{scope};")
        if sem in ("", ".release", ".acquire") and scope in ("", ".cta", ".cluster", ".gpu"):
            out.append(f"fence{scope}{sem};")
            out.append(f"fence.mbarrier_init{sem}{scope};")
    levels = ("", ".cta", ".gl", ".sys", ".gpu", ".cluster", ".cta.gl", ".sc", ".sc.cta")
    out += [f"membar{level};" for level in levels]
    for word, proxy, space in itertools.product(
        ("fence", "membar"),
        (".proxy.async", ".proxy", ".proxy.alias", ".proxy.generic", ".proxy.nosuch"),
        ("", ".global", ".shared::cta", ".shared::cluster", ".shared", ".local", ".const", ".param",
         ".global.shared::cta", ".generic"),
    ):  # fmt: skip
        out.append(f"{word}{proxy}{space};")
    for head in ("fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta"):
        out += [f"{head}{rest};" for rest in (*sems[1:6], *scopes[1:5], ".release.cluster")]
    for restrict in (".sync_restrict::shared::cta", ".sync_restrict::shared::cluster", ""):
        for sem, scope in itertools.product(("", ".acquire", ".release"), ("", ".cta", ".cluster")):
            out.append(f"fence{sem}{restrict}{scope};")
            out.append(f"fence.proxy.async::generic{sem}{restrict}{scope};")
    for op in (
        "fence.acq_rel.gpu", "fence.sc.cluster", "fence.proxy.async", "membar.gl",
        "fence.proxy.async.shared::cta", "fence.mbarrier_init.release.cluster",
    ):  # fmt: skip
        out += spoil(op, ())
        out += spoil(op, ("[%rd1]",), ("%r1", "[smem]", "0"))
    out += shuffle("fence", [".acq_rel", ".gpu"])
    out += shuffle("fence", [".proxy", ".async", ".global"])
    out += shuffle("fence.proxy.async", [".shared::cta"])
    out += shuffle("fence.mbarrier_init", [".release", ".cluster"])
    out += shuffle("fence", [".mbarrier_init", ".release", ".cluster"])
    out += shuffle("membar", [".gl"])
    return unique(out)


# --- 9. elect and barriers -----------------------------------------------------------------------


def barriers() -> list[str]:
    """elect.sync, bar, barrier, barrier.cluster ("bar / barrier", "barrier.cluster", "elect.sync").

    Full product of head x .cta x operation x .aligned x numbers of the barrier x thread counts;
    reductions x types x operations x predicate operands; barrier.cluster x semantics x .aligned.
    """
    out = []
    for result, mask in itertools.product(
        ("%r1|%p1", "_|%p1", "%s1|%p1", "%f1|%p1", "%rd1|%p1", "%h1|%p1", "%r1|%r2", "%r1|_",
         "%p1|%r1", "%r1", "%p1"),
        ("%r2", "0xffffffff", "-1", "4294967296", "1.0", "%f2", "%rd2", ""),
    ):  # fmt: skip
        out.append(statement("elect.sync", result, mask))
    out += [f"elect{mods} %r1|%p1, %r2;" for mods in ("", ".sync.aligned", ".sync.b32", ".b32",
                                                     ".sync.sync", ".aligned", ".one")]  # fmt: skip
    out += [f"{guard} elect.sync _|%p1, -1;" for guard in GUARDS]
    numbers = ("0", "15", "16", "%r1", "%rd1")
    threads = ("", "64", "0", "33", "%r2", "%rd2")
    heads = [
        f"{word}{cta}{op}{aligned}"
        for word, cta, op, aligned in itertools.product(
            ("bar", "barrier"), ("", ".cta"), (".sync", ".arrive"), ("", ".aligned")
        )
    ]
    for head in heads:
        out += [statement(head, a, b) for a, b in itertools.product(numbers, threads)]
    reductions = (".popc.u32", ".and.pred", ".or.pred", ".popc", ".popc.s32", ".and.b32",
                  ".xor.pred", "")  # fmt: skip
    for word, cta, aligned, reduction, result, count in itertools.product(
        ("bar", "barrier"), ("", ".cta"), ("", ".aligned"), reductions, ("%r1", "%p1"), ("", "64")
    ):
        out.append(statement(f"{word}{cta}.red{aligned}{reduction}", result, "1", count, "%p2"))
    for reduction, result in ((".popc.u32", "%r1"), (".and.pred", "%p1"), (".or.pred", "%p1")):
        op = f"barrier.cta.red.aligned{reduction}"
        for count, value in itertools.product(
            ("", "64", "%r2", "0", "33", "%rd2"), ("!%p2", "%p2", "1", "0", "%r2", "!%r2")
        ):
            out.append(statement(op, result, "%r3", count, value))
    out += spoil("bar.red.popc.u32", ("%r1", "0", "32", "%p1"))
    out += spoil("bar.sync", ("0",))
    out += spoil("bar.sync", ("%r1", "%r2"), SOME)
    out += spoil("bar.arrive", ("1", "64"), SOME)
    out += spoil("barrier.cta.sync.aligned", ("1", "64"), SOME)
    out += spoil("bar.warp.sync", ("0xffffffff",))
    out += [
        f"{op} %r1;"
        for op in ("bar.warp.sync.aligned", "bar.warp", "bar.warp.arrive", "barrier.warp.sync",
                   "bar.cta.warp.sync", "bar.warp.sync.b32", "bar.sync.warp")
    ]  # fmt: skip
    for op, sem, scope, aligned in itertools.product(
        (".arrive", ".wait", ".sync", ""),
        ("", ".release", ".relaxed", ".acquire", ".acq_rel", ".sc"),
        ("", ".cluster"),
        ("", ".aligned"),
    ):
        out.append(f"barrier.cluster{op}{sem}{scope}{aligned};")
        if not scope:
            out.append(f"barrier.cluster{op}{aligned}{sem};")
    out += spoil("barrier.cluster.arrive.release.aligned", ())
    out += spoil("barrier.cluster.wait", ("%r1",), SOME)
    out += shuffle("barrier.cluster.arrive", [".release", ".aligned"])
    out += shuffle("barrier", [".cluster", ".wait", ".acquire"])
    out += shuffle("barrier", [".cta", ".sync", ".aligned"], "1", "64")
    out += shuffle("bar", [".red", ".popc", ".u32"], "%r1", "0", "%p1")
    out += shuffle("barrier.red", [".and", ".pred"], "%p1", "0", "%p2")
    out += shuffle("elect", [".sync"], "%r1|%p1", "-1")
    out += garble("bar.sync", ("0",))
    out += ["bar.red.and.pred _, 0, %p1;", "elect.sync %p1|%r1|%p1, 1;"]
    return unique(out)


# --- 10. mov and the special registers -----------------------------------------------------------

TYPES: tuple[str, ...] = (
    ".b8", ".b16", ".b32", ".b64", ".b128", ".u8", ".u16", ".u32", ".u64", ".s8", ".s16", ".s32",
    ".s64", ".f16", ".f16x2", ".bf16", ".bf16x2", ".f32", ".f64", ".pred", ".f32x2", ".u16x2",
    ".s16x2", ".u8x4", ".s8x4", ".tf32",
)  # fmt: skip

OF_TYPE: dict[str, str] = {
    ".b8": "%c", ".b16": "%h", ".b32": "%r", ".b64": "%rd", ".b128": "%q",
    ".u8": "%c", ".u16": "%uh", ".u32": "%u", ".u64": "%ud",
    ".s8": "%c", ".s16": "%sh", ".s32": "%s", ".s64": "%sd",
    ".f16": "%hf", ".f16x2": "%hx", ".bf16": "%h", ".bf16x2": "%r", ".f32": "%f", ".f64": "%fd",
    ".pred": "%p", ".f32x2": "%rd", ".u16x2": "%r", ".s16x2": "%r", ".u8x4": "%r", ".s8x4": "%r",
    ".tf32": "%r",
}  # fmt: skip
"""The registers that hold a value of a type most naturally."""

SPECIALS: tuple[str, ...] = (
    *joined(("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid",
             "%cluster_nctaid"), (".x", ".y", ".z", ".w", "")),
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%cluster_ctarank",
    "%cluster_nctarank", "%is_explicit_cluster", "%lanemask_eq", "%lanemask_le", "%lanemask_lt",
    "%lanemask_ge", "%lanemask_gt", "%lanemask_ne", "%clock", "%clock_hi", "%clock64", "%pm0",
    "%pm7", "%pm8", "%pm0_64", "%envreg0", "%envreg31", "%envreg32", "%globaltimer",
    "%globaltimer_lo", "%globaltimer_hi", "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end", "%reserved_smem_offset_cap", "%reserved_smem_offset_0",
    "%reserved_smem_offset_1", "%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size",
    "%current_graph_exec", "%nosuch", "%laneid.x", "%clock.x", "%cluster_ctarank.x", "%smid.y",
    "WARP_SZ",
)  # fmt: skip


def mov() -> list[str]:
    """mov ("Data Movement and Conversion: mov") and the special registers (chapter 10).

    Type x type of the destination register x same register as source; type x literals; type x
    addresses of symbols; packing and unpacking with right and wrong counts and widths; special
    register x type with a register of that type, and a few wrong ones.
    """
    out = []
    main = (".b16", ".b32", ".b64", ".u32", ".s32", ".f32", ".f64", ".pred")
    for kind in TYPES:
        out.append(statement(f"mov{kind}", OF_TYPE[kind] + "1", OF_TYPE[kind] + "2"))
        for register in REGISTERS:
            out.append(statement(f"mov{kind}", register, register[:-1] + "2"))
            if kind in main:
                out.append(statement(f"mov{kind}", OF_TYPE[kind] + "1", register))
        literals = (*LITERALS, "-0x80000000", "0xFFFFFFFFFFFFFFFF", "0b101", "017", "-1.5", "!0")
        if kind not in main:
            literals = ("5", "1.5", "0f3F800000")
        symbols = ("smem", "smem+4", "gmem", "mbar+8", "cmem", "lmem", "kparam", "ktmap", "k", "L0",
                   "nosuch", "[smem]", "gfloat")  # fmt: skip
        if kind not in main and "64" not in kind:
            symbols = ("smem",)  # type: ignore[assignment]
        sources = (*literals, *symbols)
        out += [statement(f"mov{kind}", OF_TYPE[kind] + "1", source) for source in sources]
    vectors = (
        "{%c1, %c2}", "{%c1, %c2, %c3, %c4}", "{%h1, %h2}", "{%h1, %h2, %h3, %h4}", "{%r1, %r2}",
        "{%r1, %r2, %r3, %r4}", "{%rd1, %rd2}", "{%f1, %f2}", "{%fd1, %fd2}", "{%hf1, %hf2}",
        "{%h1, %h2, %h3}", "{%r1}", "{%p1, %p2}", "{%u1, %s1}", "{%r1, %f1}", "{%h1, %r1}",
        "{%hx1, %hx2}", "{_, %r2}", "{%h1, _}", "{1, 2}", "{%h1, 2}", "{%uh1, %sh2}",
    )  # fmt: skip
    for kind, register in (
        (".b16", "%h5"), (".b32", "%r5"), (".b64", "%rd5"), (".b128", "%q1"), (".u32", "%u5"),
        (".f16x2", "%hx5"), (".b32", "%f5"), (".b64", "%fd5"), (".b64", "%r5"),
    ):  # fmt: skip
        out += [statement(f"mov{kind}", register, vector) for vector in vectors]
        out += [statement(f"mov{kind}", vector, register) for vector in vectors]
    out += ["mov.b64 {%r1, %r2}, {%r3, %r4};", "mov.v2.b32 {%r1, %r2}, {%r3, %r4};",
            "mov.v2.u32 {%u1, %u2}, %rd1;", "mov.v4.u32 {%u1, %u2, %u3, %u4}, %tid;",
            "mov.b128 {%rd1, %rd2}, {%rd3, %rd4};", "mov.b64 {%r1, %r2}, 5;"]  # fmt: skip
    for special in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "cluster_nctaid", "laneid"):
        out += [f"mov.{kind} %q1, %{special};" for kind in ("b128", "b64")]
        out += [f"mov.u32 %r1, %{special};", f"st.b128 [%rd1], %{special};"]
    for special in SPECIALS:
        for kind in (".u16", ".u32", ".b32", ".s32", ".u64", ".b64", ".f32", ".pred", ".v4.u32"):
            if kind in (".f32", ".v4.u32") and not special.endswith(("id", ".x", "64")):
                continue
            if kind == ".pred" and special not in ("%is_explicit_cluster", "%tid.x", "%laneid"):
                continue
            register = "{%u1, %u2, %u3, %u4}" if "v4" in kind else OF_TYPE[kind] + "1"
            out.append(statement(f"mov{kind}", register, special))
        for kind, register in ((".u32", "%r1"), (".u32", "%rd1"), (".u64", "%rd1")):
            out.append(statement(f"mov{kind}", register, special))
    out += [f"mov.u32 {special}, %r1;" for special in ("%tid.x", "%laneid", "%clock64", "WARP_SZ")]
    out += ["cvt.u32.u32 %r1, %tid.x;", "cvt.u64.u32 %rd1, %tid.x;", "cvt.u16.u32 %h1, %tid.x;",
            "add.u32 %r1, %tid.x, 1;", "st.u32 [%rd1], %tid.x;", "setp.eq.u32 %p1, %laneid, 0;",
            "mov.u32 %r1, %tid.r;", "mov.u32 %r1, %ctaid.x+1;"]  # fmt: skip
    out += spoil("mov.u32", ("%r1", "%r2"))
    out += spoil("mov.pred", ("%p1", "%p2"), SOME)
    out += spoil("mov.f64", ("%fd1", "1.0"), SOME)
    out += shuffle("mov", [".b32"], "%r1", "%r2")
    out += shuffle("mov", [".u64"], "%rd1", "smem")
    out += [*garble("mov.b32", ("%r1", "%r2")), "mov.b32 _, %r1;", "mov.b32 %r1, {%h1, %h2;"]
    return unique(out)


# --- 11. integer arithmetic and logic ------------------------------------------------------------

NUMERIC: tuple[str, ...] = tuple(t for t in TYPES if t != ".tf32")


def integer() -> list[str]:
    """add sub mul mad div rem and or xor not shl shr bfe neg abs min max popc clz brev shf.

    Chapters 9.7.1 and 9.7.8.

    Operation (with .lo, .hi, .wide, .sat, .relu and wrong ones) x every type x register, literal
    and float literal; wide and shift with the right and wrong widths; operand perturbations.
    """
    out = []
    three = ("add", "sub", "min", "max", "and", "or", "xor", "mul")
    for op, kind in itertools.product(three, NUMERIC):
        reg = OF_TYPE[kind]
        tails = (f"{reg}3", "5", "1.5")
        out += [statement(f"{op}{kind}", f"{reg}1", f"{reg}2", tail) for tail in tails]
        out.append(statement(f"{op}.sat{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
    for op, kind in itertools.product(("div", "rem"), NUMERIC):
        reg = OF_TYPE[kind]
        for mods in ("", ".sat", ".approx", ".full", ".rn"):
            out.append(statement(f"{op}{mods}{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
        out += [statement(f"{op}{kind}", f"{reg}1", f"{reg}2", tail) for tail in ("5", "0", "1.5")]
        out.append(statement(f"{op}{kind}", f"{reg}1", "7", f"{reg}3"))
    for op, kind in itertools.product(("min", "max"), NUMERIC):
        reg = OF_TYPE[kind]
        out.append(statement(f"{op}.relu{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
    for op, kind in itertools.product(("not", "neg", "abs"), NUMERIC):
        reg = OF_TYPE[kind]
        out += [statement(f"{op}{kind}", f"{reg}1", tail) for tail in (f"{reg}2", "5", "1.5")]
        out.append(statement(f"{op}.sat{kind}", f"{reg}1", f"{reg}2"))
    doubled = {".u16": "%u", ".s16": "%s", ".u32": "%ud", ".s32": "%sd", ".b16": "%r",
               ".b32": "%rd", ".u64": "%q", ".s64": "%q", ".b64": "%q", ".u8": "%uh",
               ".s8": "%sh"}  # fmt: skip
    for kind, how in itertools.product(NUMERIC, (".lo", ".hi", ".wide", ".nosuch")):
        reg = OF_TYPE[kind]
        wide = doubled.get(kind, reg) if how == ".wide" else reg
        for result in {wide: None, reg: None}:
            out.append(statement(f"mul{how}{kind}", f"{result}1", f"{reg}2", f"{reg}3"))
            out.append(
                statement(f"mad{how}{kind}", f"{result}1", f"{reg}2", f"{reg}3", f"{result}4")
            )
        if how == ".nosuch":
            continue
        out.append(statement(f"mad{how}{kind}", f"{wide}1", f"{reg}2", "5", "7"))
        if kind in doubled:
            out.append(statement(f"mul{how}{kind}", f"{wide}1", f"{reg}2", "5"))
            out.append(
                statement(f"mad{how}.sat{kind}", f"{wide}1", f"{reg}2", f"{reg}3", f"{wide}4")
            )
            out.append(statement(f"mul{kind}{how}", f"{wide}1", f"{reg}2", f"{reg}3"))
    for op, kind in itertools.product(("shl", "shr"), NUMERIC):
        reg = OF_TYPE[kind]
        amounts = ("%r3", "%s3", "%h3", "%rd3", "%f3", "5", "-1", "64")
        for amount in amounts if kind in doubled else ("%r3",):
            out.append(statement(f"{op}{kind}", f"{reg}1", f"{reg}2", amount))
        out.append(statement(f"{op}{kind}", f"{reg}1", "1", "%r3"))
    for op, kind in itertools.product(("add", "sub"), (".u16x2", ".s16x2", ".u8x4", ".s8x4")):
        for register, place in itertools.product(REGISTERS, range(3)):
            operands = ["%r1", "%r2", "%r3"]
            operands[place] = register
            out.append(statement(op + kind, *operands))
    for kind in NUMERIC:
        reg = OF_TYPE[kind]
        for field in (("%r3", "%r4"), ("%s3", "%u4"), ("4", "14"), ("-1", "300"), ("%h3", "8")):
            out.append(statement(f"bfe{kind}", f"{reg}1", f"{reg}2", *field))
        out.append(statement(f"bfe{kind}", f"{reg}1", "77", "%r3", "%r4"))
        out.append(statement(f"bfe{kind}", f"{reg}1", f"{reg}2", "%rd3", "1.5"))
    for op, kind in itertools.product(("popc", "clz", "brev"), NUMERIC):
        reg = OF_TYPE[kind]
        for result in {"%u1": None, "%r1": None, f"{reg}1": None}:
            out += [statement(f"{op}{kind}", result, tail) for tail in (f"{reg}2", "5", "1.5")]
        out.append(statement(f"{op}.sat{kind}", "%u1", f"{reg}2"))
    for way, mode, kind in itertools.product(
        (".l", ".r", ""), (".clamp", ".wrap", ".nosuch", ""), (".b32", ".u32", ".b64", ".b16", "")
    ):
        reg = OF_TYPE.get(kind, "%r")
        for amount in ("%r4", "%u4", "40", "-1", "%h4"):
            out.append(statement(f"shf{way}{mode}{kind}", f"{reg}1", f"{reg}2", f"{reg}3", amount))
        out.append(statement(f"shf{way}{mode}{kind}", f"{reg}1", "7", "9", "%r4"))
    for op in ("add", "mul.lo", "and"):
        for kind, register in itertools.product((".u32", ".s32", ".b32", ".u64"), REGISTERS):
            stem = register[:-1]
            out.append(statement(f"{op}{kind}", f"{stem}1", f"{stem}2", f"{stem}3"))
    out += spoil("add.u32", ("%r1", "%r2", "%r3"))
    out += spoil("and.b32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("and.pred", ("%p1", "%p2", "%p3"), SOME)
    out += spoil("mul.wide.u32", ("%rd1", "%r2", "%r3"))
    out += spoil("mad.lo.s32", ("%r1", "%r2", "%r3", "%r4"), SOME)
    out += spoil("shl.b32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("div.u32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("rem.s64", ("%rd1", "%rd2", "%rd3"), SOME)
    out += spoil("not.b32", ("%r1", "%r2"), SOME)
    out += spoil("bfe.u32", ("%r1", "%r2", "%r3", "%r4"), SOME)
    out += spoil("neg.s32", ("%r1", "%r2"), SOME)
    out += spoil("min.s32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("abs.s32", ("%r1", "%r2"), SOME)
    out += spoil("popc.b64", ("%r1", "%rd2"), SOME)
    out += spoil("brev.b32", ("%r1", "%r2"), SOME)
    out += spoil("shf.l.wrap.b32", ("%r1", "%r2", "%r3", "%r4"), SOME)
    out += shuffle("add", [".sat", ".s32"], "%r1", "%r2", "%r3")
    out += shuffle("mul", [".wide", ".u16"], "%r1", "%h2", "%h3")
    out += shuffle("mad", [".hi", ".sat", ".s32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("min", [".relu", ".s32"], "%r1", "%r2", "%r3")
    out += shuffle("shr", [".u32"], "%r1", "%r2", "%r3")
    out += shuffle("clz", [".b32"], "%r1", "%r2")
    out += shuffle("shf", [".r", ".clamp", ".b32"], "%r1", "%r2", "%r3", "%r4")
    out += garble("add.u32", ("%r1", "%r2", "%r3"))
    out += ["add.u32 %r1, %r2|%p1, %r3;", "add.u32 _, %r2, %r3;"]
    return unique(out)


def carries_and_fields() -> list[str]:
    """add.cc addc sub.cc subc mad.cc madc mul24 mad24 sad dp4a dp2a prmt bfi bfind fns cnot szext
    bmsk lop3.

    Chapters 9.7.1, 9.7.2, 9.7.8 and "prmt".

    Operation (with every modifier, left out and wrong) x every type x register and literal; operand
    perturbations of one form of each operation.
    """
    out = []
    for op, mods, kind in itertools.product(("add", "addc", "sub", "subc"), ("", ".cc"), NUMERIC):
        if op in ("add", "sub") and not mods:
            continue
        reg = OF_TYPE[kind]
        tails = (f"{reg}3", "5")
        out += [statement(f"{op}{mods}{kind}", f"{reg}1", f"{reg}2", tail) for tail in tails]
    halves = (".lo", ".hi", ".wide", "")
    for op, half, mods, kind in itertools.product(("mad", "madc"), halves, ("", ".cc"), NUMERIC):
        if op == "mad" and not mods:
            continue
        reg = OF_TYPE[kind]
        operands = (f"{reg}1", f"{reg}2", f"{reg}3")
        out += [statement(f"{op}{half}{mods}{kind}", *operands, tail) for tail in (f"{reg}4", "5")]
    for half, sat, kind in itertools.product(halves, ("", ".sat"), NUMERIC):
        reg = OF_TYPE[kind]
        out.append(statement(f"mul24{half}{sat}{kind}", f"{reg}1", f"{reg}2", f"{reg}3"))
        out.append(statement(f"mad24{half}{sat}{kind}", f"{reg}1", f"{reg}2", f"{reg}3", "5"))
    for op, count in (("sad", 3), ("bfi", 4), ("cnot", 1)):
        for kind in NUMERIC:
            reg = OF_TYPE[kind]
            sources = [f"{reg}{n + 2}" for n in range(count)]
            out.append(statement(f"{op}{kind}", f"{reg}1", *sources))
            out.append(statement(f"{op}{kind}", f"{reg}1", *sources[:-1], "5"))
    for kind in NUMERIC:
        reg = OF_TYPE[kind]
        for field in (("%r3", "%r4"), ("%s3", "%u4"), ("4", "14"), ("-1", "300"), ("%h3", "8")):
            out.append(statement(f"bfi{kind}", f"{reg}1", f"{reg}2", f"{reg}3", *field))
        out.append(statement(f"bfi{kind}", f"{reg}1", "7", "77", "%r3", "%r4"))
        for mods in ("", ".shiftamt", ".nosuch"):
            for result in {"%u1": None, "%r1": None, "%s1": None, f"{reg}1": None}:
                out.append(statement(f"bfind{mods}{kind}", result, f"{reg}2"))
                out.append(statement(f"bfind{mods}{kind}", result, "77"))
    signs = (".u32", ".s32", ".b32", ".u64", "")
    for a, b, c in itertools.product(signs, signs, ("%r4", "%u4", "%s4", "%f4", "7")):
        out.append(statement(f"dp4a{a}{b}", "%r1", "%r2", "%r3", c))
        out += [statement(f"dp2a{h}{a}{b}", "%r1", "%r2", "%r3", c) for h in (".lo", ".hi", "")]
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16", ".nosuch"):
        for kind in (".b32", ".u32", ".b64", ""):
            for last in ("%r4", "%u4", "0x3210", "-1", "65536", "%h4"):
                out.append(statement(f"prmt{kind}{mode}", "%r1", "%r2", "%r3", last))
    for op, mode, kind in itertools.product(
        ("szext", "bmsk"), (".clamp", ".wrap", ".nosuch", ""), (".u32", ".s32", ".b32", ".u64", "")
    ):
        reg = OF_TYPE.get(kind, "%r")
        for last in ("%r3", "%u3", "%s3", "%h3", "5", "300", "-1"):
            out.append(statement(f"{op}{mode}{kind}", f"{reg}1", f"{reg}2", last))
    for kind in (".b32", ".u32", ".b64", ""):
        for base, offset in itertools.product(("%r3", "%s3", "%u3", "3"), ("%r4", "%s4", "-1")):
            out.append(statement(f"fns{kind}", "%r1", "%r2", base, offset))
    for kind, lut in itertools.product((".b32", ".u32", ".b64"), ("0", "128", "255", "256", "-1")):
        out.append(statement(f"lop3{kind}", "%r1", "%r2", "%r3", "%r4", lut))
        out += [
            statement(f"lop3{op}{kind}", f"{d}|%p1", "%r2", "%r3", "%r4", lut, q)
            for op in (".or", ".and", ".xor", "")
            for d in ("%r1", "_")
            for q in ("%p2", "!%p2", "1", "%r5")
        ]
    for op, reg, count in (
        ("add.cc.u32", "%r", 3), ("addc.u64", "%rd", 3), ("subc.cc.s32", "%r", 3),
        ("mad.lo.cc.u32", "%r", 4), ("madc.hi.cc.s64", "%rd", 4), ("mul24.lo.u32", "%r", 3),
        ("mad24.hi.s32", "%r", 4), ("sad.u32", "%r", 4), ("dp4a.u32.s32", "%r", 4),
        ("dp2a.lo.u32.s32", "%r", 4), ("prmt.b32", "%r", 4), ("prmt.b32.f4e", "%r", 4),
        ("bfi.b32", "%r", 5), ("bfind.u32", "%r", 2), ("fns.b32", "%r", 4), ("cnot.b32", "%r", 2),
        ("szext.clamp.s32", "%r", 3), ("bmsk.wrap.b32", "%r", 3),
    ):  # fmt: skip
        out += spoil(op, [f"{reg}{n + 1}" for n in range(count)], SOME)
    out += spoil("lop3.b32", ("%r1", "%r2", "%r3", "%r4", "128"), SOME)
    out += spoil("lop3.and.b32", ("%r1|%p1", "%r2", "%r3", "%r4", "128", "%p2"), SOME)
    out += shuffle("add", [".cc", ".s32"], "%r1", "%r2", "%r3")
    out += shuffle("madc", [".hi", ".cc", ".s32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("mad24", [".hi", ".sat", ".s32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("mul24", [".hi", ".u32"], "%r1", "%r2", "%r3")
    out += shuffle("dp2a", [".lo", ".s32", ".u32"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("prmt", [".b32", ".ecl"], "%r1", "%r2", "%r3", "%r4")
    out += shuffle("bfind", [".shiftamt", ".s32"], "%r1", "%r2")
    return unique(out)


# --- 12. setp, selp, cvt, cvta -------------------------------------------------------------------

COMPARISONS: tuple[str, ...] = (
    ".eq", ".ne", ".lt", ".le", ".gt", ".ge", ".lo", ".ls", ".hi", ".hs", ".equ", ".neu", ".ltu",
    ".leu", ".gtu", ".geu", ".num", ".nan", ".nosuch",
)  # fmt: skip
SCALARS: tuple[str, ...] = (
    ".u8", ".u16", ".u32", ".u64", ".s8", ".s16", ".s32", ".s64", ".f16", ".bf16", ".f32", ".f64",
    ".b32", ".tf32",
)  # fmt: skip
CVT_MODS: tuple[str, ...] = (
    ".rn", ".rz", ".rm", ".rp", ".rna", ".rni", ".rzi", ".rmi", ".rpi", ".sat", ".ftz", ".relu",
    ".satfinite", ".rn.sat", ".rn.ftz", ".rn.relu", ".rni.sat", ".rzi.ftz.sat", ".ftz.sat",
    ".rn.satfinite", ".rna.satfinite", ".rs", ".nosuch",
)  # fmt: skip


def compare_convert() -> list[str]:
    """setp, selp ("Comparison and Selection"), cvt and cvta ("Data Movement and Conversion").

    setp: comparison x type; the second destination, the combiner, .ftz and literals in pairs with
    these.  cvt: every ordered pair of scalar types plain and with .rn, .rni and .sat; the other
    rounding and saturation modifiers in pairs with the types; registers wider and narrower than
    the type.  cvta: direction x space x size x operand in full.
    """
    out = []
    for compare, kind in itertools.product(COMPARISONS, NUMERIC):
        reg = OF_TYPE[kind]
        out.append(statement(f"setp{compare}{kind}", "%p1", f"{reg}1", f"{reg}2"))
    combiners = ("", ".and", ".or", ".xor", ".nand")
    for compare, kind, combiner, ftz, result, last, value in pairwise(
        COMPARISONS[:18],
        (".b16", ".u32", ".s64", ".f32", ".f64", ".f16", ".b64", ".s32"),
        combiners,
        ("", ".ftz"),
        ("%p1", "%p1|%p2", "_|%p2", "%p1|_"),
        ("", "%p3", "!%p3"),
        ("reg", "5", "1.5"),
    ):
        reg = OF_TYPE[kind]
        operand = f"{reg}2" if value == "reg" else value
        op = f"setp{compare}{combiner}{ftz}{kind}"
        out.append(statement(op, result, f"{reg}1", operand, last))
    for kind, combiner, result, last in itertools.product(
        (".u32", ".f32", ".b64"), combiners, ("%p1", "%p1|%p2", "%p1|_", "%r1"), ("", "%p3", "!%p3")
    ):
        reg = OF_TYPE[kind]
        out.append(statement(f"setp.ne{combiner}{kind}", result, f"{reg}1", f"{reg}2", last))
    for kind in TYPES:
        reg = OF_TYPE[kind]
        for a, b, c in ((f"{reg}2", f"{reg}3", "%p1"), ("1", "0", "%p1"), (f"{reg}2", "1.5", "%p1"),
                        (f"{reg}2", f"{reg}3", "!%p1"), (f"{reg}2", f"{reg}3", "%r1")):  # fmt: skip
            out.append(statement(f"selp{kind}", f"{reg}1", a, b, c))
        out.append(statement(f"setp.ne{kind}", "%p1", f"{reg}1", "0"))
        out.append(statement(f"setp.lt{kind}", "%p1", f"{reg}1", "1.5"))
        out.append(statement(f"setp.eq{kind}", "%p1", "1", "2"))
    for kind, register in itertools.product((".u32", ".b32", ".f32", ".b16"), REGISTERS):
        out.append(statement(f"setp.ne{kind}", "%p1", register, register))
        out.append(statement(f"selp{kind}", register, register, register, "%p1"))
    for to, source in itertools.product(SCALARS, SCALARS):
        rounds = (".rn", ".rni") if "f" in to + source else ()
        out += [_cvt(mod, to, source) for mod in ("", ".sat", *rounds)]
    for mod, to, source in pairwise(CVT_MODS, SCALARS, SCALARS):
        out.append(_cvt(mod, to, source))
    for mod, (to, source) in itertools.product(
        CVT_MODS,
        ((".f32", ".f64"), (".f64", ".f32"), (".f16", ".f32"), (".f32", ".f16"), (".s32", ".f32"),
         (".f32", ".s32"), (".bf16", ".f32"), (".tf32", ".f32"), (".u8", ".s32"),
         (".f32", ".f32")),
    ):  # fmt: skip
        out.append(_cvt(mod, to, source))
    for to, source in ((".u8", ".u32"), (".s16", ".s32"), (".u32", ".u8"), (".u64", ".s16"),
                       (".s32", ".s32"), (".u16", ".u16")):  # fmt: skip
        for register in REGISTERS:
            out.append(statement(f"cvt{to}{source}", register, OF_TYPE[source] + "2"))
            if to != source:
                out.append(statement(f"cvt{to}{source}", OF_TYPE[to] + "1", register))
    for mod, to, source in itertools.product(
        ("", ".rn", ".rz", ".rn.relu", ".rn.satfinite", ".rn.satfinite.relu"),
        (".f16x2", ".bf16x2", ".e4m3x2", ".e2m1x2", ".ue8m0x2"),
        (".f32", ".f16x2", ".e4m3x2"),
    ):
        result = {".f16x2": "%r1", ".bf16x2": "%r1", ".e2m1x2": "%c1"}.get(to, "%h1")
        values = ("%f1", "%f2") if source == ".f32" else ("%r2" if source == ".f16x2" else "%h2",)
        out.append(statement(f"cvt{mod}{to}{source}", result, *values))
    for direction, space, size, value in itertools.product(
        ("", ".to"),
        ("", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param",
         ".param::entry", ".reg"),
        (".u64", ".u32", ".b64"),
        ("%rd2", "%r2", "smem", "gmem+4", "5"),
    ):  # fmt: skip
        result = "%r1" if size == ".u32" else "%rd1"
        out.append(statement(f"cvta{direction}{space}{size}", result, value))
    for symbol in ("cmem", "lmem", "kparam", "ktmap", "mbar", "L0", "k", "nosuch", "[gmem]"):
        out += [f"cvta{space}.u64 %rd1, {symbol};" for space in (".global", ".shared", ".const",
                                                                ".local", ".param")]  # fmt: skip
    out += spoil("setp.lt.s32", ("%p1", "%r1", "%r2"))
    out += spoil("setp.eq.and.f32", ("%p1|%p2", "%f1", "%f2", "%p3"), SOME)
    out += spoil("selp.b32", ("%r1", "%r2", "%r3", "%p1"))
    out += spoil("cvt.u64.u32", ("%rd1", "%r1"))
    out += spoil("cvt.rn.f16.f32", ("%h1", "%f1"), SOME)
    out += spoil("cvt.rn.f16x2.f32", ("%r1", "%f1", "%f2"), SOME)
    out += spoil("cvta.to.global.u64", ("%rd1", "%rd2"), SOME)
    out += spoil("cvta.shared.u64", ("%rd1", "smem"), SOME)
    out += shuffle("setp", [".ne", ".and", ".ftz", ".f32"], "%p1|%p2", "%f1", "%f2", "%p3")
    out += shuffle("selp", [".b32"], "%r1", "%r2", "%r3", "%p1")
    out += shuffle("cvt", [".rn", ".ftz", ".sat", ".f16.f32"], "%h1", "%f1")
    out += shuffle("cvt", [".rzi", ".ftz", ".s32", ".f32"], "%r1", "%f1")
    out += shuffle("cvta", [".to", ".shared", ".u64"], "%rd1", "%rd2")
    out += garble("setp.ne.u32", ("%p1", "%r1", "%r2"))
    out += ["setp.ne.u32 _, %r1, %r2;", "cvt.u32.u64 _, %rd1;"]
    return unique(out)


def _cvt(mod: str, to: str, source: str) -> str:
    """A cvt between registers that are wide enough for both types."""
    return statement(f"cvt{mod}{to}{source}", OF_TYPE[to] + "1", OF_TYPE[source] + "2")


# --- 13. ld, st, control flow --------------------------------------------------------------------

MEMORY_SPACES: tuple[str, ...] = (
    "", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param",
    ".param::entry", ".param::func",
)  # fmt: skip
ORDERS: tuple[str, ...] = (
    "", ".weak", ".volatile", ".relaxed", ".acquire", ".release", ".mmio", ".mmio.relaxed",
)  # fmt: skip
SCOPES: tuple[str, ...] = ("", ".cta", ".cluster", ".gpu", ".sys")
LD_CACHES: tuple[str, ...] = (
    "", ".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".wb", ".L1::evict_last", ".L1::no_allocate",
    ".L2::128B", ".L2::cache_hint", ".L1::evict_first.L2::256B", ".L2::evict_last",
)  # fmt: skip
ST_CACHES: tuple[str, ...] = (
    "", ".wb", ".cg", ".cs", ".wt", ".ca", ".L1::evict_first", ".L1::no_allocate",
    ".L2::cache_hint", ".L2::evict_first", ".L2::128B",
)  # fmt: skip
VECTORS: tuple[str, ...] = ("", ".v2", ".v4", ".v8", ".v3")


def _access(op: str, modifiers: str, vector: str, kind: str, place: str, policy: str = "") -> str:
    """An ld or st with as many registers of the type as the vector says."""
    count = {"": 0, ".v2": 2, ".v3": 3, ".v4": 4, ".v8": 8}[vector]
    stem = OF_TYPE[kind]
    wanted = min(count, 4) if stem == "%q" else count
    value = registers(wanted, stem) if count else f"{stem}1"
    operands = (value, place) if op == "ld" else (place, value)
    return statement(f"{op}{modifiers}{vector}{kind}", *operands, policy)


L1_PRIORITIES: tuple[str, ...] = (
    "", ".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last",
    ".L1::no_allocate",
)  # fmt: skip
L2_PRIORITIES: tuple[str, ...] = ("", ".L2::evict_normal", ".L2::evict_first", ".L2::evict_last")


def _cached_accesses() -> list[str]:
    """ld and st with .mmio, .nc, eviction priorities, cache policies and prefetch sizes.

    .mmio x order x scope x space x vector in full; .nc x cache operator, x order, x space, x vector
    and type; eviction priorities, policies, prefetch sizes, order, space, vector and type in pairs.
    """
    out = []
    for op in ("ld", "st"):
        for order, scope, space in itertools.product(
            ("", ".relaxed", ".acquire", ".release", ".weak", ".volatile"),
            ("", ".cta", ".sys"),
            ("", ".global", ".shared", ".local"),
        ):
            out.append(_access(op, f".mmio{order}{scope}{space}", "", ".b32", "[%rd9]"))
        for rest in ("", ".cg", ".L1::evict_last", ".L2::128B"):
            for vector, kind in (("", ".u8"), (".v2", ".u32"), (".v4", ".f32"), ("", ".b128")):
                modifiers = f".mmio.relaxed.sys.global{rest}"
                out.append(_access(op, modifiers, vector, kind, "[%rd9]"))
        for order, space, l1, l2, hint, size, (vector, kind) in pairwise(  # type: ignore[str-unpack]
            ("", ".weak", ".relaxed.gpu", ".acquire.sys", ".release.cta"),
            ("", ".global", ".shared", ".const"),
            L1_PRIORITIES, L2_PRIORITIES, ("", ".L2::cache_hint"),
            ("", ".L2::64B", ".L2::128B", ".L2::256B"),
            (("", ".b32"), (".v2", ".f32"), (".v8", ".b32"), (".v8", ".f32"), (".v4", ".b64")),
        ):  # fmt: skip
            policy = "%rd8" if hint else ""
            modifiers = f"{order}{space}{l1}{l2}{hint}{size}"
            out.append(_access(op, modifiers, vector, kind, "[%rd9]", policy))
    for cop, rest in itertools.product(
        ("", ".ca", ".cg", ".cs", ".lu", ".cv"), ("", ".L1::evict_first", ".L2::128B")
    ):
        out.append(_access("ld", f".global{cop}.nc{rest}", "", ".b32", "[%rd9]"))
    for order, space in itertools.product(
        ("", ".weak", ".volatile", ".relaxed.gpu", ".acquire.cta"),
        ("", ".global", ".shared", ".const", ".param", ".local"),
    ):
        out.append(_access("ld", f"{order}{space}.nc", "", ".b32", "[%rd9]"))
    for vector, kind, rest in itertools.product(
        ("", ".v2", ".v4", ".v8"),
        (".u8", ".b16", ".f32", ".b64", ".b128"),
        ("", ".L2::evict_last", ".L2::cache_hint"),
    ):
        policy = "%rd8" if "hint" in rest else ""
        out.append(_access("ld", f".global.nc{rest}", vector, kind, "[%rd9]", policy))
    return out


def load_store_branch() -> list[str]:
    """ld and st ("Data Movement: ld, st"), bra, ret, exit, trap ("Control Flow Instructions").

    Type x vector x space in full; order x scope x space in full with one type; cache operators x
    space and x order in full; order, scope, space, cache operator, vector and type in pairs; the
    register widths for each type; the forms of addresses for each space.
    """
    out = []
    for op, caches in (("ld", LD_CACHES), ("st", ST_CACHES)):
        for kind, vector in itertools.product(TYPES, VECTORS):
            out.append(_access(op, ".global", vector, kind, "[%rd9]"))
            if vector in ("", ".v4"):
                out.append(_access(op, ".shared", vector, kind, "[%r9]"))
        for order, scope, space in itertools.product(ORDERS[:6], SCOPES, MEMORY_SPACES[:7]):
            if space == ".const" and scope not in ("", ".gpu"):
                continue
            out.append(_access(op, f"{order}{scope}{space}", "", ".b32", "[%rd9]"))
        for cache, space in itertools.product(caches, MEMORY_SPACES[:8]):
            policy = "%rd8" if "cache_hint" in cache else ""
            out.append(_access(op, f"{space}{cache}", "", ".u32", "[%rd9]", policy))
        for order in ORDERS[6:]:
            out += [_access(op, f"{order}{s}.global", "", ".b32", "[%rd9]") for s in SCOPES]
        for cache, order in itertools.product(
            caches, (".weak", ".volatile", ".relaxed.gpu", ".acquire.sys", ".release.cta")
        ):
            policy = "%rd8" if "cache_hint" in cache else ""
            out.append(_access(op, f"{order}.global{cache}", "", ".u32", "[%rd9]", policy))
        for order, scope, space, cache, vector, kind in pairwise(
            ORDERS[:6], SCOPES, MEMORY_SPACES[:7], caches, VECTORS,
            (".b8", ".u16", ".b32", ".f32", ".s64", ".f64", ".b128"),
        ):  # fmt: skip
            policy = "%rd8" if "cache_hint" in cache else ""
            out.append(_access(op, f"{order}{scope}{space}{cache}", vector, kind, "[%rd9]", policy))
        for vector, kind, extra in itertools.product(
            (".v4", ".v8", ".v2"), (".b32", ".f32", ".b64", ".u64", ".f64", ".s32"),
            ("", ".L2::evict_last", ".L1::evict_last", ".nc", ".relaxed.gpu", ".volatile",
             ".L2::64B"),
        ):  # fmt: skip
            first, rest = (extra, "") if extra in (".relaxed.gpu", ".volatile") else ("", extra)
            out.append(_access(op, f"{first}.global{rest}", vector, kind, "[%rd9]"))
        for kind, register in itertools.product(
            (".u8", ".b8", ".u16", ".f16", ".b32", ".f32", ".b64", ".b128"),
            REGISTERS,
        ):  # fmt: skip
            operands = (register, "[%rd9]") if op == "ld" else ("[%rd9]", register)
            out.append(statement(f"{op}.global{kind}", *operands))
        for space, place in itertools.product(
            (*MEMORY_SPACES, ".nosuch"), (*ADDRESSES, "[ktmap]", "[gfloat]", "[gmem+-4]")
        ):
            operands = ("%r1", place) if op == "ld" else (place, "%r1")
            out.append(statement(f"{op}{space}.u32", *operands))
        vectors = (
            "{%r1, %r2}", "{%r1}", "{%r1, %r2, %r3}", "{%f1, %r1}", "{%r1, %rd1}", "{_, %r1}",
            "{%r1, _}", "{%r1, 2}", "%rd1", "{%r1, %r1}", "{_, _}",
        )  # fmt: skip
        for vector in vectors:
            operands = (vector, "[%rd9]") if op == "ld" else ("[%rd9]", vector)
            out.append(statement(f"{op}.global.v2.b32", *operands))
        base = ("%r1", "[%rd1]") if op == "ld" else ("[%rd1]", "%r1")
        out += spoil(f"{op}.global.u32", base)
        pair = ("{%f1, %f2}", "[%rd1]") if op == "ld" else ("[%rd1]", "{%f1, %f2}")
        out += spoil(f"{op}.global.v2.f32", pair, SOME)
        hinted = f"{op}.global.L2::cache_hint.b32"
        out += spoil(hinted, (*base, "%rd2"), SOME)
        order = ".acquire" if op == "ld" else ".release"
        out += shuffle(op, [order, ".gpu", ".global", ".b32"], *base)
        out += shuffle(op, [".volatile", ".shared", ".u32"], *base)
        out += shuffle(op, [".global", ".cg", ".v2", ".f32"], *pair)
        out += [*garble(f"{op}.global.u32", base), statement(f"{op}.u32", *base).replace("]", "")]
    out += _cached_accesses()
    for kind, value in itertools.product(
        (".u32", ".f32", ".b64", ".f64", ".u8", ".v2.b32"),
        ("5", "1.5", "-1", "smem", "gmem", "{1, 2}", "0f3F800000"),
    ):
        out.append(f"st.global{kind} [%rd9], {value};")
    out += ["ld.param.u64 %rd1, [kparam];", "ld.param.u64 %rd1, kparam;",
            "st.param.u64 [kparam], %rd1;", "ld.param.b32 %r1, [ktmap+64];",
            "ld.global.nc.v4.f32 {%f0, %f1, %f2, %f3}, [gmem];", "ldu.global.u32 %r1, [%rd1];",
            "ld.global.u32 _, [%rd1];"]  # fmt: skip
    for op, operands in (("bra", ("L0",)), ("bra.uni", ("L0",)), ("ret", ()), ("ret.uni", ()),  # type: ignore[assignment]
                         ("exit", ()), ("trap", ()), ("brkpt", ())):  # fmt: skip
        out += spoil(op, operands)
    out += [f"{op};" for op in ("exit.uni", "trap.uni", "ret.sync", "bra", "ret.b32", "trap.sync")]
    out += ["@!%p1 bra.uni L0;", "bra.nosuch L0;", "bra.uni.uni L0;", "bra L0, L0;", "bra {L0};",
            "bra 0;", "brx.idx %r1, L0;", "ret %r1;", "call nosuch;", "nop;", "pause;"]  # fmt: skip
    return unique(out)


# --- 14. warp-level and miscellaneous ------------------------------------------------------------


def warp() -> list[str]:
    """shfl.sync, vote.sync, match.sync, redux.sync, activemask, nanosleep, pmevent, setmaxnreg.

    And griddepcontrol, getctarank, mapa.  Full product of modes x types, with and without the
    second result; operands spoiled one at a time.
    """
    out = []
    for mode, kind in itertools.product(
        (".up", ".down", ".bfly", ".idx", ".any", ""), (".b32", ".u32", ".s32", ".f32", ".b64", "")
    ):
        out.append(statement(f"shfl.sync{mode}{kind}", "%r1", "%r2", "%r3", "31", "-1"))
        out.append(statement(f"shfl{mode}{kind}", "%r1", "%r2", "%r3", "31"))
    out += spoil("shfl.sync.idx.b32", ("%r1", "%r2", "%r3", "%r4", "%r5"))
    out += spoil("shfl.sync.bfly.b32", ("%r1|%p1", "%f2", "1", "31", "0xffffffff"), SOME)
    out += [statement("shfl.sync.up.b32", d, "%r2", "%r3", "0", "-1")
            for d in ("_|%p1", "%r1|_", "_", "%s1|%p1", "%rd1|%p1", "%p1|%r1",
                      "%r1|%r2")]  # fmt: skip
    out += shuffle("shfl", [".sync", ".down", ".b32"], "%r1", "%r2", "%r3", "31", "-1")
    for mode, kind, d in itertools.product(
        (".all", ".any", ".uni", ".ballot", ".none", ""), (".pred", ".b32", ".u32", ""),
        ("%p1", "%r1")
    ):  # fmt: skip
        out.append(statement(f"vote.sync{mode}{kind}", d, "%p2", "-1"))
        out.append(statement(f"vote{mode}{kind}", d, "%p2"))
    out += spoil("vote.sync.all.pred", ("%p1", "%p2", "%r1"))
    out += spoil("vote.sync.ballot.b32", ("%r1", "!%p2", "0xffffffff"))
    out += shuffle("vote", [".sync", ".any", ".pred"], "%p1", "%p2", "-1")
    out += shuffle("vote", [".sync", ".ballot", ".b32"], "%r1", "%p2", "-1")
    for mode, kind, d, a in itertools.product(
        (".any", ".all", ".none"), (".b32", ".b64", ".u32", ".s64", ".b16", ""),
        ("%r1", "%r1|%p1", "_|%p1", "%r1|_", "_"), ("%r2", "%rd2", "%f2", "7")
    ):  # fmt: skip
        out.append(statement(f"match{mode}.sync{kind}", d, a, "%r3"))
    out += spoil("match.any.sync.b32", ("%r1", "%r2", "%r3"))
    out += spoil("match.all.sync.b64", ("%r1|%p1", "%rd2", "-1"), SOME)
    out += shuffle("match", [".all", ".sync", ".b32"], "%r1|%p1", "%r2", "-1")
    for op, mods, kind in itertools.product(
        (".add", ".min", ".max", ".and", ".or", ".xor", ".inc", ""),
        ("", ".abs", ".NaN", ".abs.NaN", ".NaN.abs"),
        (".u32", ".s32", ".b32", ".f32", ".u64", ".f16", ""),
    ):
        d, a = ("%f1", "%f2") if kind == ".f32" else ("%r1", "%r2")
        out.append(statement(f"redux.sync{op}{mods}{kind}", d, a, "-1"))
    out += spoil("redux.sync.add.s32", ("%r1", "%r2", "%r3"))
    out += spoil("redux.sync.min.f32", ("%f1", "%f2", "%r3"), SOME)
    out += spoil("redux.sync.xor.b32", ("%r1", "%f2", "-1"), SOME)
    out += shuffle("redux", [".sync", ".max", ".NaN", ".f32"], "%f1", "%f2", "-1")
    out += spoil("activemask.b32", ("%r1",))
    out += [f"{op} %r1;" for op in ("activemask", "activemask.u32", "activemask.sync.b32")]
    out += spoil("nanosleep.u32", ("%r1",))
    out += [f"nanosleep.u32 {n};" for n in ("0", "1000000", "1000001", "4294967295", "%u1")]
    out += [f"{op} 5;" for op in ("nanosleep", "nanosleep.u64", "nanosleep.b32")]
    out += spoil("pmevent", ("7",))
    out += spoil("pmevent.mask", ("7",))
    out += [f"pmevent{m} {n};" for m in ("", ".mask")
            for n in ("0", "15", "16", "255", "65535", "65536")]  # fmt: skip
    out += ["griddepcontrol.wait;", "griddepcontrol.launch_dependents;", "griddepcontrol;",
            "griddepcontrol.wait.sync;", "griddepcontrol.launch;", "griddepcontrol.wait %r1;",
            "@%p1 griddepcontrol.wait;", "griddepcontrol.wait.launch_dependents;"]  # fmt: skip
    for change, mods, n in itertools.product(
        (".inc", ".dec", ".set", ""),
        (".sync.aligned.u32", ".sync.aligned", ".aligned.u32", ".u32"),
        ("0", "16", "24", "32", "33", "100", "104", "256", "264", "%r1"),
    ):  # fmt: skip
        out.append(statement(f"setmaxnreg{change}{mods}", n))
    out += shuffle("setmaxnreg", [".dec", ".sync", ".aligned", ".u32"], "64")
    for space, kind, a in itertools.product(
        ("", ".shared::cluster", ".shared", ".shared::cta", ".global"),
        (".u32", ".u64", ".b32", ".s32", ".b64", ""),
        ("%r2", "%rd2", "smem", "smem+4", "gmem", "16"),
    ):
        out.append(statement(f"getctarank{space}{kind}", "%r1", a))
        out.append(statement(f"mapa{space}{kind}", "%rd1" if "64" in kind else "%r1", a, "%r3"))
    out += spoil("getctarank.u64", ("%r1", "%rd2"))
    out += spoil("mapa.shared::cluster.u32", ("%r1", "%r2", "%r3"))
    out += spoil("mapa.u64", ("%rd1", "%rd2", "1"), SOME)
    return unique(out)


ATOM_OPS: tuple[str, ...] = (
    ".and", ".or", ".xor", ".exch", ".add", ".inc", ".dec", ".min", ".max", ".cas", ".sub",
)  # fmt: skip
ATOM_TYPES: dict[str, str] = {
    ".b8": "%c", ".b16": "%h", ".b32": "%r", ".b64": "%rd", ".b128": "%q", ".u16": "%uh",
    ".u32": "%r", ".u64": "%rd", ".s32": "%s", ".s64": "%sd", ".f16": "%h", ".f16x2": "%r",
    ".bf16": "%h", ".bf16x2": "%r", ".f32": "%f", ".f64": "%fd",
}  # fmt: skip


def _atomic(head: str, modifiers: str, vector: str, kind: str, op: str, place: str = "") -> str:
    """An atom or red with registers of the type, a second value for .cas, a policy for a hint."""
    count = {"": 0, ".v2": 2, ".v4": 4, ".v8": 8}[vector]
    stem = ATOM_TYPES[kind]
    wanted = min(count, 4) if stem == "%q" else count
    values = [registers(wanted, stem) if count else f"{stem}{n}" for n in (1, 2, 3)]
    place = place or "[%rd9]"
    given = [values[0], place, values[1]] if head == "atom" else [place, values[1]]
    if op == ".cas":
        given.append(values[2])
    policy = "%rd8" if "cache_hint" in modifiers else ""
    return statement(f"{head}{modifiers}{vector}{kind}", *given, policy)


def atomics() -> list[str]:
    """atom and red ("Parallel Synchronization and Communication Instructions": atom, red).

    Operation x .noftz x vector x type in full; order x scope x space in full with one operation;
    everything with everything in pairs; hints by space; perturbations of the commonest forms.
    """
    out = []
    vectors = ("", ".v2", ".v4", ".v8")
    spaces = ("", ".global", ".shared", ".shared::cta", ".shared::cluster", ".const", ".local")
    hints = ("", ".L2::cache_hint")
    for head in ("atom", "red"):
        for op, flush, vector, kind in itertools.product(
            ATOM_OPS, ("", ".noftz"), vectors, ATOM_TYPES
        ):
            if vector and op not in (".add", ".min", ".max", ".exch"):
                continue
            out.append(_atomic(head, f".global{op}{flush}", vector, kind, op))
        for order, scope, space in itertools.product(
            ("", ".relaxed", ".acquire", ".release", ".acq_rel", ".sc", ".weak", ".volatile"),
            SCOPES,
            spaces,
        ):
            out.append(_atomic(head, f"{order}{scope}{space}.add", "", ".u32", ".add"))
        for op, space, hint, kind in itertools.product(
            (".add", ".exch", ".min", ".cas"), spaces[:4], hints, (".u32", ".b64", ".b128", ".u64")
        ):
            out.append(_atomic(head, f"{space}{op}{hint}", "", kind, op))
        for order, scope, space, op, flush, hint, vector, kind in pairwise(
            ("", ".relaxed", ".release", ".acq_rel"), SCOPES, spaces[:5], ATOM_OPS[3:10],
            ("", ".noftz"), hints, vectors, (".b32", ".u32", ".f16", ".bf16x2", ".f32", ".f64"),
        ):  # fmt: skip
            modifiers = f"{order}{scope}{space}{op}{flush}{hint}"
            out.append(_atomic(head, modifiers, vector, kind, op))
    out += spoil("atom.global.add.u32", ("%r1", "[%rd1]", "%r2"))
    out += spoil("atom.shared.add.f32", ("%f1", "[%r1]", "%f2"), SOME)
    out += spoil("atom.global.add.noftz.f16x2", ("%r1", "[%rd1]", "%r2"), SOME)
    out += spoil("atom.global.add.noftz.f16", ("%h1", "[%rd1]", "%h2"), SOME)
    out += spoil("atom.global.add.v2.f32", ("{%f1, %f2}", "[%rd1]", "{%f3, %f4}"), SOME)
    out += spoil("atom.global.cas.b32", ("%r1", "[%rd1]", "%r2", "%r3"), SOME)
    out += spoil("atom.global.cas.b16", ("%h1", "[%rd1]", "%h2", "%h3"), SOME)
    out += spoil("atom.global.exch.b128", ("%q1", "[%rd1]", "%q2"), SOME)
    out += spoil("atom.global.add.L2::cache_hint.u32", ("%r1", "[%rd1]", "%r2", "%rd2"), SOME)
    out += spoil("red.global.add.u32", ("[%rd1]", "%r2"))
    out += spoil("red.global.add.v2.f32", ("[%rd1]", "{%f3, %f4}"), SOME)
    out += spoil("red.global.add.L2::cache_hint.f32", ("[%rd1]", "%f2", "%rd2"), SOME)
    out += shuffle("atom", [".acquire", ".gpu", ".global", ".add", ".u32"], "%r1", "[%rd1]", "%r2")
    out += shuffle("red", [".relaxed", ".cta", ".shared", ".or", ".b32"], "[%r1]", "%r2")
    out += ["atom.global.add.u32 _, [%rd1], %r2;", "atom.global.cas.b32 _, [%rd1], 0, 1;",
            "atom.global.add.v2.f32 {_, %f1}, [%rd1], {%f1, %f2};",
            "atom.global.add.v2.f32 {%f1, %f1}, [%rd1], {%f1, %f2};",
            "atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {1.0, %f2};",
            "atom.global.add.v2.f32 _, [%rd1], {1.0, 2.0};",
            "atom.global.add.f32 %f1, [%rd1], 1;", "atom.global.exch.b128 _, [%rd1], 5;",
            "atom.add.u32 %r1, [gmem+4], 1;", "atom.shared.add.u32 %r1, [smem+4], 1;",
            "atom.global.add.u32 %r1, [smem], 1;", "atom.shared.add.u32 %r1, [gmem], 1;",
            "red.shared.add.u32 [%rd1], -1;", "red.global.min.s32 [gmem], -1;"]  # fmt: skip
    return unique(out)


def caches() -> list[str]:
    """prefetch, prefetchu, isspacep ("Data Movement and Conversion Instructions").

    Every space x level in full, and every space x address of tensor maps; every space of isspacep;
    perturbations of each.
    """
    out = []
    spaces = ("", ".global", ".local", ".shared", ".const", ".param")
    levels = (
        "", ".L1", ".L2", ".L3", ".L2::evict_last", ".L2::evict_normal", ".L2::evict_first",
        ".L1::evict_last",
    )  # fmt: skip
    for head, space, level in itertools.product(("prefetch", "prefetchu"), spaces, levels):
        out.append(f"{head}{space}{level} [%rd1];")
    shared = (".shared::cta", ".shared::cluster")
    windows = (*spaces, *shared, ".param::entry", ".param::func")
    out += [f"isspacep{space} %p1, %rd1;" for space in windows]
    maps = (
        "[%rd1]",
        "[%r1]",
        "[ktmap]",
        "[ktmap+64]",
        "[gmem]",
        "[cmem]",
        "[smem]",
        "[%h1]",
        "[%f1]",
    )
    for head, space, place in itertools.product(("prefetch", "prefetchu"), spaces, maps):
        out.append(f"{head}{space}.tensormap {place};")
    out += spoil("prefetch.tensormap", ("[%rd1]",), SOME)
    out += shuffle("prefetch", [".const", ".tensormap"], "[cmem]")
    out += spoil("prefetch.global.L2", ("[%rd1]",))
    out += spoil("prefetch.L1", ("[%rd1]",))
    out += spoil("prefetchu.L1", ("[%rd1]",))
    out += spoil("isspacep.global", ("%p1", "%rd1"))
    out += spoil("isspacep.shared", ("%p1", "%rd1"), SOME)
    out += shuffle("prefetch", [".global", ".L2"], "[%rd1]")
    out += shuffle("isspacep", [".local"], "%p1", "%rd1")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "tcgen05.alloc": tcgen05_alloc,
    "tcgen05.ld/st": tcgen05_ld_st,
    "tcgen05.ld.red": tcgen05_ld_red,
    "tcgen05.cp/shift": tcgen05_copy,
    "tcgen05.sync": tcgen05_sync,
    "tcgen05.mma": tcgen05_mma,
    "tcgen05.mma.sp/ws": tcgen05_mma_sparse_and_ws,
    "mbarrier": mbarrier,
    "tensor load": tensor_load,
    "tensor store": tensor_store,
    "fence": fences,
    "barrier": barriers,
    "mov": mov,
    "integer": integer,
    "carries and fields": carries_and_fields,
    "compare/convert": compare_convert,
    "ld/st/branch": load_store_branch,
    "warp": warp,
    "atomic": atomics,
    "caches": caches,
}


def grid() -> Iterator[tuple[str, str]]:
    """Every target with every PTX version."""
    return itertools.product(ptxas.TARGETS, ptxas.PTX)


def main() -> None:
    """Judge every family on the whole grid and print what came out."""
    started = time.perf_counter()
    total = accepted_total = 0
    print(f"{'family':20} {'statements':>10} {'accepted':>9} {'seconds':>8}")
    for name, family in FAMILIES.items():
        begun = time.perf_counter()
        statements = family()
        accepted = [False] * len(statements)
        judge = partial(ptxas.judge, statements)
        targets, versions = zip(*grid(), strict=True)
        judge(targets[0], versions[0])  # learn the unparsable statements before the threads do
        with ThreadPoolExecutor(2) as pool:
            for verdicts in pool.map(judge, targets, versions):
                for index, errors in enumerate(verdicts):
                    accepted[index] |= not errors
        seconds = time.perf_counter() - begun
        total += len(statements)
        accepted_total += sum(accepted)
        print(f"{name:20} {len(statements):10} {sum(accepted):9} {seconds:8.1f}", flush=True)
    seconds = time.perf_counter() - started
    print(f"{'all':20} {total:10} {accepted_total:9} {seconds:8.1f}")


if __name__ == "__main__":
    main()
