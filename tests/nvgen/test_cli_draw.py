"""`nvgen draw`: what the cells say against formulas written from the manual (tests/sim/layouts)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from intrinsics.data_paths import DataPath
from intrinsics.metadata import metadata_cells
from intrinsics.modifiers import MmaKind
from tests.nvgen.conftest import Nvgen
from tests.sim import layouts

SVG = "{http://www.w3.org/2000/svg}"
ATOMS = {"none": 0, "32": 32, "64": 64, "128": 128}
TYPES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "s8": 1}


def titles(svg: str) -> list[str]:
    """What the cells of a picture say; every one has a rectangle."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert len(svg.encode()) < 1_000_000
    groups = root.findall(f"{SVG}g/{SVG}g")
    assert all(group.find(f"{SVG}rect") is not None for group in groups)
    return [group.findtext(f"{SVG}title") or "" for group in groups]


def drawn(nvgen: Nvgen, *arguments: str) -> list[str]:
    """The cells of a picture, each once."""
    found = nvgen("draw", *arguments, "--format", "svg")
    assert (found.status, found.err) == (0, ""), found.err
    names = titles(found.out)
    assert names
    assert max(Counter(names).values()) == 1
    return names


# ---- shared memory ---------------------------------------------------------------------------


def banks(address: int, size: int) -> str:
    first, last = address // 4 % 32, (address + size - 1) // 4 % 32
    return f"bank {first}" if first == last else f"banks {first} to {last}"


def where(address: int, size: int) -> str:
    last = address + size - 1
    what = f"byte {address:#x}" if size == 1 else f"bytes {address:#x} to {last:#x}"
    return f"{what}, {banks(address, size)}"


@pytest.mark.parametrize("mode", ATOMS)
@pytest.mark.parametrize("type_", TYPES)
def test_a_k_major_matrix(nvgen: Nvgen, mode: str, type_: str) -> None:
    size, span = TYPES[type_], ATOMS[mode]
    width, rows, address = (span or 64) // size, 24, 0x2000
    lbo, sbo = 0x800, 0x1000 if span else 0x180
    found = drawn(
        nvgen, "smem", "--type", type_, "--swizzle", mode, "--rows", str(rows), "--k", str(width),
        "--lbo", str(lbo), "--sbo", hex(sbo), "--address", hex(address), "--cells", "elements",
    )  # fmt: skip
    expected = set()
    for row in range(rows):
        for k in range(width):
            at = address + layouts.k_major(row, k * size, span=span, lbo=lbo, sbo=sbo)
            expected.add(f"({row}, {k}): {where(layouts.swizzled(at, span), size)}")
    assert set(found) == expected


@pytest.mark.parametrize("mode", ATOMS)
@pytest.mark.parametrize("type_", TYPES)
def test_an_mn_major_matrix(nvgen: Nvgen, mode: str, type_: str) -> None:
    size, span = TYPES[type_], ATOMS[mode]
    rows, width = 2 * (span or 16) // size, 16
    lbo, sbo = 0x1800, 0x3000
    found = drawn(
        nvgen, "smem", "--type", type_, "--swizzle", mode, "--rows", str(rows), "--k", str(width),
        "--lbo", str(lbo), "--sbo", hex(sbo), "--cells", "elements", "--major", "MN",
    )  # fmt: skip
    expected = set()
    for row in range(rows):
        for k in range(width):
            at = layouts.mn_major(row, k, size, span=span, lbo=lbo, sbo=sbo)
            expected.add(f"({row}, {k}): {where(layouts.swizzled(at, span), size)}")
    assert set(found) == expected


def test_pieces_hold_their_elements(nvgen: Nvgen) -> None:
    """Swizzle<3, 4, 3>: in row r of 128 bytes the 16-byte pieces are exchanged by XOR with r."""
    found = drawn(nvgen, "smem", "--rows", "16")
    assert set(found) == {
        f"({row}, {8 * piece}) to ({row}, {8 * piece + 7}): "
        + where(row * 128 + (piece ^ row % 8) * 16, 16)
        for row in range(16)
        for piece in range(8)
    }


def test_pieces_of_an_mn_major_matrix_run_along_its_rows(nvgen: Nvgen) -> None:
    found = drawn(nvgen, "smem", "--rows", "64", "--k", "8", "--major", "MN")
    assert f"(8, 1) to (15, 1): {where(0x80, 16)}" in found


@pytest.mark.parametrize(
    ("arguments", "filled", "elements"),
    [(("e2m1",), 8, 16), (("e3m2",), 12, 16), (("e2m1", "--kind", "mxf4"), 16, 32)],
)
def test_narrow_elements(
    nvgen: Nvgen, arguments: tuple[str, ...], filled: int, elements: int
) -> None:
    """PTX ISA, Packing formats: 16 elements padded to 16 bytes; the 4-bit kinds pad nothing."""
    found = drawn(nvgen, "smem", "--rows", "8", "--swizzle", "32", "--type", *arguments)
    assert f"(0, 0) to (0, {elements - 1}): {where(0, filled)}" in found
    assert f"(0, {elements}) to (0, {2 * elements - 1}): {where(16, filled)}" in found
    text = nvgen("draw", "smem", "--rows", "8", "--type", *arguments).out
    assert ("padding" in text) == (filled < 16)


def test_a_descriptor_says_all(nvgen: Nvgen) -> None:
    """PTX ISA, Table 40: 0x2000 >> 4, 64-byte swizzling 4, stride 1024 >> 4."""
    word = 0x2000 >> 4 | 1 << 16 | 1024 >> 4 << 32 | 1 << 46 | 4 << 61
    given = drawn(nvgen, "smem", "--descriptor", hex(word))
    assert given == drawn(nvgen, "smem", "--swizzle", "64", "--sbo", "1024", "--address", "0x2000")


def test_offsets_that_are_too_small_are_told(nvgen: Nvgen) -> None:
    told = nvgen("draw", "smem", "--rows", "16", "--sbo", "512").out
    assert "32 pieces lie where another one does" in told
    assert "lie where" not in nvgen("draw", "smem", "--rows", "16", "--sbo", "2048").out


@pytest.mark.parametrize("mode", ATOMS)
@pytest.mark.parametrize("major", ["K", "MN"])
def test_the_offsets_of_nobody_keep_the_pieces_apart(nvgen: Nvgen, mode: str, major: str) -> None:
    out = nvgen("draw", "smem", "--rows", "128", "--major", major, "--swizzle", mode).out
    assert "lie where" not in out


def test_lines_where_nothing_lies_are_left_out(nvgen: Nvgen) -> None:
    out = nvgen("draw", "smem", "--rows", "16", "--sbo", "0x2000", "--swizzle", "32").out
    rows = [line.split()[0] for line in out.splitlines()[6:]]
    assert rows == ["0x0", "0x80", "⋮", "0x2000", "0x2080"]


# ---- registers -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", layouts.REGISTERS)
@pytest.mark.parametrize("num", [1, 4, 32])
def test_a_fragment(nvgen: Nvgen, shape: str, num: int) -> None:
    split = ("--half-split", "40") if shape == "16x32bx2" else ()
    found = drawn(nvgen, "fragment", "--shape", shape, "--num", f"x{num}", *split)
    assert set(found) == {
        "lane {}, column {}: thread {}, register {}".format(
            *layouts.cell(shape, thread, register, 40), thread, register
        )
        for thread in range(32)
        for register in range(layouts.register_count(shape, num))
    }


def test_a_packed_fragment(nvgen: Nvgen) -> None:
    """Packing and Unpacking: two columns' 16 bits in a register, as CuTe's 32dp32b2x_16b has it."""
    found = drawn(nvgen, "fragment", "--shape", "32x32b", "--num", "x2", "--pack")
    assert set(found) == {
        f"lane {lane}, column {column}: thread {lane}, register {column // 2}, "
        + ("low half", "high half")[column % 2]
        for lane in range(32)
        for column in range(4)
    }


def test_halves_that_overlap_are_told(nvgen: Nvgen) -> None:
    arguments = ("draw", "fragment", "--shape", "16x32bx2", "--num", "x4")
    assert "32 cells are in two threads" in nvgen(*arguments, "--half-split", "2").out
    assert "in two threads" not in nvgen(*arguments).out
    found = drawn(nvgen, *arguments[1:], "--half-split", "2")
    assert "lane 5, column 3: thread 5, register 3; thread 21, register 1" in found
    assert len(found) == 16 * 6


# ---- tensor memory ---------------------------------------------------------------------------


def halves(row: int) -> int:
    """Half of the lanes: sixteen rows at the beginning of each warp's lanes."""
    return row // 16 * 32 + row % 16


Place = Callable[[int, int, int], tuple[int, int, int]]
# PTX ISA, Data Path Layout Organization, with the columns of B, E and G in 2, 2 and 4 parts as in
# CUTLASS, mma_traits_sm100.hpp: CTA, lane and column of D[i, j].
DATA_PATHS: dict[str, tuple[tuple[str, ...], int, Place]] = {
    "A": (("--group", "2"), 256, lambda i, j, n: (i // 128, i % 128, j)),
    "B": (("--group", "2"), 128,
          lambda i, j, n: (i // 64, i % 64 + j // (n // 2) * 64, j % (n // 2))),
    "C": (("--group", "2", "--sparse"), 128, lambda i, j, n: (i // 64, halves(i % 64), j)),
    "D": ((), 128, lambda i, j, n: (0, i, j)),
    "E": (("--ws",), 64, lambda i, j, n: (0, i + j // (n // 2) * 64, j % (n // 2))),
    "F": ((), 64, lambda i, j, n: (0, halves(i), j)),
    "G": (("--ws",), 32, lambda i, j, n: (0, i + j // (n // 4) * 32, j % (n // 4))),
}  # fmt: skip
BLOCK = re.compile(
    r"(?:(even|odd) CTA, )?lanes? (\d+)(?: to \d+)?, columns? (\d+)(?: to (\d+))?: "
    r"(\w)\[(\d+), (\d+)\](?: to \w\[(\d+), (\d+)\])?"
)


def blocks(names: Iterable[str]) -> Iterator[tuple[int, int, int, str, int, int]]:
    """CTA, lane, column, matrix, row and place of every cell of 32 bits that titles speak of."""
    for name in names:
        found = BLOCK.fullmatch(name)
        assert found, name
        cta, lane, first, last, matrix, row, place, last_row, last_place = found.groups()
        assert last_row in (None, row)
        count = int(last or first) - int(first) + 1
        length = int(last_place or place) - int(place) + 1
        each, rest = divmod(length, count)
        assert rest == 0
        for i in range(count):
            yield (int(cta == "odd"), int(lane), int(first) + i, matrix, int(row),
                   int(place) + i * each)  # fmt: skip


@pytest.mark.parametrize("n", [64, 128])
@pytest.mark.parametrize("letter", DATA_PATHS)
def test_a_data_path(nvgen: Nvgen, letter: str, n: int) -> None:
    options, m, place = DATA_PATHS[letter]
    arguments = ("tmem", "--m", str(m), "--n", str(n), *options)
    found = set(blocks(drawn(nvgen, *arguments)))
    assert found == {(*place(i, j, n), "D", i, j) for i in range(m) for j in range(n)}
    assert f": layout {letter}, " in nvgen("draw", *arguments).out


@pytest.mark.parametrize("letter", ["C", "F"])
def test_half_of_the_lanes_may_be_the_others(nvgen: Nvgen, letter: str) -> None:
    options, m, _ = DATA_PATHS[letter]
    arguments = ("tmem", "--m", str(m), *options)
    low = set(blocks(drawn(nvgen, *arguments)))
    high = set(blocks(drawn(nvgen, *arguments, "--lane", "16")))
    assert high == {(cta, lane + 16, *rest) for cta, lane, *rest in low}


@pytest.mark.parametrize(
    ("kind", "type_", "k", "per_cell"),
    [("tf32", "tf32", 16, 1), ("f16", "bf16", 32, 2), ("f8f6f4", "e2m1", 64, 4),
     ("i8", "s8", 64, 4)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("letter", DATA_PATHS)
def test_a_in_tensor_memory(
    nvgen: Nvgen, letter: str, kind: str, type_: str, k: int, per_cell: int
) -> None:
    """Rows lie where those of D do, once for each part of N; a sparse A has half of its K there."""
    options, m, place = DATA_PATHS[letter]
    n = 128
    found = drawn(
        nvgen, "tmem", "--what", "a", "--m", str(m), "--n", str(n), *options, "--kind", kind,
        "--type", type_, "--k", str(k),
    )  # fmt: skip
    assert set(blocks(found)) == {
        (*place(i, part, n)[:2], c // per_cell, "A", i, c)
        for i in range(m)
        for part in range(0, n, 32)
        for c in range(0, k // 2 if letter == "C" else k, per_cell)
    }


def test_a_terminal_sees_the_largest_blocks(nvgen: Nvgen) -> None:
    """Layout B: rows of one CTA in lanes 0 to 63, their second half of N in the others."""
    out = nvgen("draw", "tmem", "--m", "128", "--group", "2", "--n", "256").out
    even, odd = out.split("odd CTA")
    assert [line.split() for line in even.splitlines() if "D[" in line] == [
        ["0-31", "D[0-31,", "0-127]"],
        ["32-63", "D[32-63,", "0-127]"],
        ["64-95", "D[0-31,", "128-255]"],
        ["96-127", "D[32-63,", "128-255]"],
    ]
    assert "D[64-95, 0-127]" in odd


@pytest.mark.parametrize(
    ("arguments", "factors", "first"),
    [
        (("--kind", "mxf8f6f4"), 1, 0),
        (("--kind", "mxf8f6f4", "--scale-vec", "1X", "--id", "3"), 1, 3),
        (("--kind", "mxf4", "--id", "2"), 2, 2),
        (("--kind", "mxf4nvf4", "--scale-vec", "4X"), 4, 0),
        (("--kind", "mxf4nvf4", "--scale-vec", "block16"), 4, 0),
        (("--kind", "mxf4", "--k", "96", "--id", "3"), 3, 3),
        (("--kind", "mxf4nvf4", "--k", "96"), 6, 0),
    ],
    ids=str,
)
@pytest.mark.parametrize(("name", "rows"), [("sfa", 128), ("sfb", 64), ("sfb", 256)])
def test_scale_factors(
    nvgen: Nvgen, arguments: tuple[str, ...], factors: int, first: int, name: str, rows: int
) -> None:
    """PTX ISA, Table 54 and the ids; row r is in lane r mod 32 and column r div 32, as in cuDNN's
    blocks of 128 x 4 factors; the factors beyond four lie in the next block of all rows."""
    size = ("--n", str(rows)) if name == "sfb" else ()
    found = drawn(nvgen, "tmem", "--what", name, *size, *arguments)
    expected = set()
    for row in range(rows):
        for factor in range(factors):
            block, byte = divmod(first + factor, 4)
            lane, column = row % 32, row // 32 + block * (8 if rows > 128 else 4)
            lanes = f"lanes {lane}, {lane + 32}, {lane + 64} and {lane + 96}"
            expected.add(f"{lanes}, column {column}, byte {byte}: {name.upper()}[{row}, {factor}]")
    assert set(found) == expected


@pytest.mark.parametrize(("m", "name", "n"), [(256, "sfa", 64), (256, "sfb", 192),
                                              (128, "sfa", 64), (128, "sfb", 192)])  # fmt: skip
def test_scale_factors_of_a_pair(nvgen: Nvgen, m: int, name: str, n: int) -> None:
    """CUTLASS, mma_traits_sm100_frag.hpp, tmem_sf_frg: a CTA has the factors of its own rows of A
    and of all N of B; with M = 128 those of B's second half are in the other two partitions."""
    size = ("--n", str(n)) if name == "sfb" else ()
    arguments = ("tmem", "--what", name, "--group", "2", "--m", str(m), *size)
    rows = m // 2 if name == "sfa" else n
    expected = set()
    for row in range(rows):
        split = name == "sfb" and m == 128
        part, at = divmod(row, n // 2) if split else (0, row)
        lanes = [part * 64 + at % 32 + 32 * i for i in range(2 if split else 4)]
        named = " and ".join((", ".join(map(str, lanes[:-1])), str(lanes[-1])))
        expected.add(f"lanes {named}, column {at // 32}, byte 0: {name.upper()}[{row}, 0]")
    assert set(drawn(nvgen, *arguments)) == expected


@pytest.mark.parametrize(
    ("kind", "size", "chunks"),
    [("f8f6f4", 4, 16), ("i8", 4, 16), ("mxf8f6f4", 4, 16), ("mxf4", 8, 16)],
)
def test_metadata_of_narrow_kinds(nvgen: Nvgen, kind: str, size: int, chunks: int) -> None:
    """PTX ISA, Sparsity selector: all of two columns, a row in its own lane."""
    found = drawn(nvgen, "tmem", "--what", "metadata", "--kind", kind)
    assert set(found) == {
        f"lane {row}, column {c // 8}, bits {c % 8 * 4} to {c % 8 * 4 + 3}: row {row}, chunk {c} "
        f"(elements {c * size} to {c * size + size - 1})"
        for row in range(128)
        for c in range(chunks)
    }


@pytest.mark.parametrize("selector", [0, 1])
@pytest.mark.parametrize("kind", [MmaKind.F16, MmaKind.TF32])
@pytest.mark.parametrize("letter", ["A", "C", "D", "F", "G"])
def test_metadata_with_a_selector(nvgen: Nvgen, letter: str, kind: MmaKind, selector: int) -> None:
    """What the library of layouts says, whose own tests judge it, is what is drawn."""
    options, m, _ = DATA_PATHS[letter]
    found = drawn(
        nvgen, "tmem", "--what", "metadata", "--m", str(m), *options, "--id", str(selector),
        "--kind", kind.value,
    )  # fmt: skip
    k, size = (32, 4) if kind is MmaKind.F16 else (16, 2)
    expected = set()
    for copy in metadata_cells(DataPath(letter), m, kind, k, selector):
        for row, c in np.ndindex(m, k // size):
            rank, lane, column, bit = (
                int(np.broadcast_to(a, (m, k // size))[row, c])
                for a in (copy.rank, copy.lane, copy.column, copy.bit)
            )
            cta = f"{('even', 'odd')[rank]} CTA, " if letter in "AC" else ""
            expected.add(
                f"{cta}lane {lane}, column {column}, bits {bit} to {bit + 3}: row {row}, chunk {c} "
                f"(elements {c * size} to {c * size + size - 1})"
            )
    assert set(found) == expected


# ---- all pictures ----------------------------------------------------------------------------

PICTURES = [
    ("fragment", "--shape", "16x32bx2", "--num", "x128", "--pack", "--half-split", "3"),
    ("smem", "--rows", "1024", "--cells", "elements"),
    ("smem", "--rows", "1024", "--k", "1024", "--major", "MN"),
    ("fragment", "--shape", "32x32b", "--num", "x128", "--pack"),
    ("fragment", "--shape", "16x256b", "--num", "x32"),
    ("tmem", "--what", "a", "--k", "1024"),
    ("tmem", "--what", "metadata", "--kind", "mxf4", "--m", "256", "--group", "2"),
]


@pytest.mark.parametrize("arguments", PICTURES, ids=" ".join)
def test_large_layouts_are_abbreviated_and_say_so(nvgen: Nvgen, arguments: tuple[str, ...]) -> None:
    found = nvgen("draw", *arguments, "--format", "svg").out
    assert len(titles(found)) <= 4096
    if "metadata" in arguments:  # 2 CTAs of 128 rows of 16 chunks: as many as there may be
        assert len(titles(found)) == 4096
    elif arguments[0] == "tmem":  # coarser cells do
        assert "a drawn cell is 1 lane by 16 columns" in found
    else:  # 16 lanes of 256 columns are just small enough
        assert ("abbreviated: " in found) == ("16x256b" not in arguments)


@pytest.mark.parametrize("arguments", PICTURES, ids=" ".join)
def test_the_same_picture_is_the_same_bytes(
    nvgen: Nvgen, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    first, second = tmp_path / "1.svg", tmp_path / "2.svg"
    for file in (first, second):
        assert nvgen("draw", *arguments, "-o", file) == (0, "", "")
    assert first.read_bytes() == second.read_bytes()
    assert first.read_text(encoding="utf-8") == nvgen("draw", *arguments, "--format", "svg").out


def test_machines_are_told_the_same(nvgen: Nvgen, tmp_path: Path) -> None:
    arguments = ("draw", "fragment", "--shape", "16x128b")
    report = nvgen(*arguments, "--format", "json").json()
    (panel,) = report["panels"]
    names = [cell["title"] for cell in panel["cells"]]
    assert names == drawn(nvgen, *arguments[1:])
    for cell in panel["cells"]:
        lane, column = panel["rows"][cell["row"]], panel["columns"][cell["column"]]
        assert cell["title"].startswith(f"lane {lane}, column {column}: ")
    file = tmp_path / "x.json"
    nvgen(*arguments, "-o", file)
    assert file.read_text(encoding="utf-8") == nvgen(*arguments, "--format", "json").out


def test_text_shows_each_cell_in_its_place(nvgen: Nvgen) -> None:
    """Figure 184: four threads share a row; rows 8 to 15 are the odd threads'."""
    lines = nvgen("draw", "fragment", "--shape", "16x64b").out.splitlines()
    rows = [re.split(r"  +", line.strip()) for line in lines if re.match(r"\d", line)]
    assert rows[0] == ["0", "T0 r0", "T2 r0"]
    assert rows[9] == ["9", "T5 r0", "T7 r0"]
    assert len(rows) == 16


def test_text_fits_a_terminal(nvgen: Nvgen) -> None:
    for arguments in PICTURES:
        lines = nvgen("draw", *arguments, "--format", "text").out.splitlines()
        assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("arguments", "rule", "got"),
    [
        (("smem", "--swizzle", "256"), "swizzle", "256"),
        (("smem", "--major", "M"), "major", "M"),
        (("smem", "--type", "f15"), "type", "f15"),
        (("smem", "--type", "f32"), "type", "f32"),
        (("smem", "--kind", "f17"), "kind", "f17"),
        (("smem", "--kind", "tf32"), "kind", "kind::tf32"),
        (("smem", "--type", "e2m1", "--kind", "mxf4", "--major", "MN"), "major", "MN-major"),
        (("smem", "--rows", "0"), "rows", "0"),
        (("smem", "--rows", "x"), "rows", "x"),
        (("smem", "--rows", "99999999999999999999"), "rows", "99999999999999999999"),
        (("smem", "--rows", "12", "--major", "MN"), "rows", "12"),
        (("smem", "--k", "12"), "k", "12"),
        (("smem", "--k", "128"), "k", "k = 128"),
        (("smem", "--lbo", "8"), "lbo", "8"),
        (("smem", "--sbo", "-16"), "sbo", "-16"),
        (("smem", "--address", "0x40000"), "address", "0x40000"),
        (("smem", "--descriptor", hex(3 << 61)), "descriptor", hex(3 << 61)),
        (("smem", "--descriptor", "0", "--sbo", "16"), "descriptor", "--sbo 16"),
        (("smem", "--cells", "bits"), "cells", "bits"),
        (("smem", "--colour", "red"), "colour", "red"),
        (("tmem", "--what", "b"), "what", "b"),
        (("tmem", "--m", "96"), "m", "96"),
        (("tmem", "--m", "256"), "m", "256"),
        (("tmem", "--m", "64", "--group", "2"), "m", "64"),
        (("tmem", "--m", "32"), "m", "32"),
        (("tmem", "--n", "12"), "n", "12"),
        (("tmem", "--n", "512"), "n", "512"),
        (("tmem", "--group", "3"), "group", "3"),
        (("tmem", "--group", "2", "--ws"), "m", "128"),
        (("tmem", "--lane", "16"), "lane", "16"),
        (("tmem", "--m", "64", "--lane", "8"), "lane", "8"),
        (("tmem", "--kind", "f17"), "kind", "f17"),
        (("tmem", "--what", "a", "--kind", "ti16"), "kind", "kind::ti16"),
        (("tmem", "--what", "a", "--type", "e4m3"), "type", "e4m3"),
        (("tmem", "--what", "a", "--k", "8"), "k", "8"),
        (("tmem", "--what", "sfa", "--kind", "f16"), "kind", "kind::f16"),
        (("tmem", "--what", "sfa", "--scale-vec", "4X"), "scale-vec", "scale_vec::4X, K = 32"),
        (("tmem", "--what", "sfa", "--scale-vec", "8X"), "scale-vec", "8X"),
        (("tmem", "--what", "sfa", "--k", "64", "--kind", "mxf4", "--id", "1"), "id", "1"),
        (("tmem", "--what", "sfa", "--m", "64"), "m", "64"),
        (("tmem", "--what", "sfb", "--group", "2", "--m", "64"), "m", "64"),
        (("tmem", "--what", "sfb", "--n", "4"), "n", "4"),
        (("tmem", "--what", "sfb", "--ws"), "option", "--ws"),
        (("tmem", "--what", "sfa", "--n", "64"), "option", "--n"),
        (("tmem", "--k", "64"), "option", "--k"),
        (("tmem", "--what", "a", "--scale-vec", "1X"), "option", "--scale-vec"),
        (("tmem", "--what", "metadata", "--type", "f16"), "option", "--type"),
        (("tmem", "--what", "sfb", "--k", "128"), "k", "128"),
        (("tmem", "--what", "metadata", "--id", "4"), "id", "4"),
        (("tmem", "--what", "metadata", "--id", "2"), "id", "2"),
        (("tmem", "--what", "metadata", "--kind", "i8", "--id", "1"), "id", "1"),
        (("tmem", "--what", "metadata", "--k", "16"), "k", "16"),
        (("fragment", "--shape", "32x32"), "shape", "32x32"),
        (("fragment", "--shape", "32x32b", "--num", "x3"), "num", "x3"),
        (("fragment", "--shape", "16x256b", "--num", "x64"), "num", "x64"),
        (("fragment", "--shape", "16x64b", "--half-split", "8"), "half-split", "16x64b"),
        (("fragment", "--shape", "16x32bx2", "--half-split", "512"), "half-split", "512"),
    ],
)
def test_what_cannot_be_drawn(
    nvgen: Nvgen, tmp_path: Path, arguments: tuple[str, ...], rule: str, got: str
) -> None:
    file = tmp_path / "x.svg"
    found = nvgen("draw", *arguments, "-o", file)
    assert (found.status, found.out) == (2, "")
    assert f"error[draw/{rule}]" in found.err
    assert f"got: {got}" in found.err
    assert "expected: " in found.err
    assert not file.exists()


def test_a_file_that_cannot_be_written(nvgen: Nvgen, tmp_path: Path) -> None:
    found = nvgen("draw", "smem", "-o", tmp_path / "none" / "x.svg")
    assert (found.status, found.out) == (2, "")
    assert "error[output/unwritable]" in found.err


def test_usage(nvgen: Nvgen) -> None:
    for arguments in ((), ("fragment",), ("memory",), ("smem", "--format", "png")):
        found = nvgen("draw", *arguments)
        assert (found.status, found.out) == (2, "")
        assert "usage: nvgen" in found.err
