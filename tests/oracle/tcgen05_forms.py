"""Statements of tcgen05 but for multiplies, legal and illegal, enumerated from the PTX manual."""

from __future__ import annotations

import itertools

from tests.oracle.statements import (
    EVERY,
    REGISTERS,
    SOME,
    garble,
    registers,
    shuffle,
    spoil,
    statement,
    unique,
)

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


ARRIVE = ".mbarrier::arrive::one"
RESTRICTED = ".sync_restrict::shared::read::mma::a"


def tcgen05_sync() -> list[str]:
    """tcgen05.wait, .fence and .commit ("Specialized / Async Synchronization Operations").

    wait and fence: full product.  commit: full product of cta_group x restriction x space x
    multicast x mask; the completion mechanism and the type one at a time; literal masks for every
    width of the mask.
    """
    return unique([*_waits_and_fences(), *_commits()])


def _waits_and_fences() -> list[str]:
    """tcgen05.wait and .fence."""
    out: list[str] = []
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
    return out


def _commits() -> list[str]:
    """tcgen05.commit, in every space, multicast and restriction."""
    out: list[str] = []
    for group, restrict, space, multicast, mask in itertools.product(
        (".cta_group::1", ".cta_group::2"),
        ("", RESTRICTED),
        ("", ".shared::cluster", ".shared::cta", ".shared", ".global"),
        ("", ".multicast::cluster", ".multicast::cluster::16b", ".multicast::cluster::32b"),
        ("", "%h1", "%r2", "3"),
    ):
        if space in (".shared", ".global") and (mask == "3" or restrict):
            continue
        op = f"tcgen05.commit{group}{ARRIVE}{restrict}{space}{multicast}.b64"
        out.append(statement(op, "[%r1]", mask))
    for group, mechanism, kind in itertools.product(
        ("", ".cta_group::1", ".cta_group::3"),
        ("", ARRIVE, ".mbarrier::complete_tx::bytes", ".mbarrier::arrive::two", ".bulk_group"),
        ("", ".b64", ".b32", ".u64"),
    ):
        out.append(f"tcgen05.commit{group}{mechanism}{kind} [%rd1];")
        out.append(f"tcgen05.commit{group}{mechanism}.shared::cluster{kind} [mbar];")
    for width, mask in itertools.product(
        ("", "::16b", "::32b"),
        ("-1", "0", "1", "0xffff", "65536", "0xffffffff", "4294967296", "3U", "1.0", "%uh1", "%sh1",
         "%u1", "%s1", "%f1", "%hf1", "%hx1", "%p1", "%c1", "WARP_SZ", "smem", "[%r2]"),
    ):  # fmt: skip
        op = f"tcgen05.commit.cta_group::2{ARRIVE}.shared::cluster.multicast::cluster{width}.b64"
        out.append(statement(op, "[%r1]", mask))
    out.append(f"tcgen05.commit.cta_group::1{ARRIVE}.sync_restrict::shared::cta.b64 [%rd1];")
    out += spoil(f"tcgen05.commit.cta_group::1{ARRIVE}.b64", ("[%rd1]",))
    multi = f"tcgen05.commit.cta_group::1{ARRIVE}.shared::cluster.multicast::cluster.b64"
    out += spoil(multi, ("[%r1]", "%h1"))
    out += garble(multi, ("[%r1]", "%h1"))
    mods = [".cta_group::1", ARRIVE, ".shared::cluster", ".multicast::cluster", ".b64"]
    out += shuffle("tcgen05.commit", mods, "[%r1]", "%h1")
    out += shuffle(
        "tcgen05.commit", [".cta_group::1", ARRIVE, RESTRICTED, ".shared::cluster", ".b64"], "[%r1]"
    )
    return out
