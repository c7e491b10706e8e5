"""`nvgen draw smem`: addresses and banks against formulas from the manual (tests/sim/layouts)."""

from __future__ import annotations

import re

import pytest

from tests.each import each
from tests.nvgen.commands.drawings import drawn
from tests.nvgen.conftest import Nvgen
from tests.sim import layouts

ATOMS = {"none": 0, "32": 32, "64": 64, "128": 128}
TYPES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "s8": 1}


def banks(address: int, size: int) -> str:
    first, last = address // 4 % 32, (address + size - 1) // 4 % 32
    return f"bank {first}" if first == last else f"banks {first} to {last}"


def where(address: int, size: int) -> str:
    last = address + size - 1
    what = f"byte {address:#x}" if size == 1 else f"bytes {address:#x} to {last:#x}"
    return f"{what}, {banks(address, size)}"


@each("mode", ATOMS)
@each("type_", TYPES)
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


@each("mode", ATOMS)
@each("type_", TYPES)
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


def test_offsets_that_are_too_small_are_reported(nvgen: Nvgen) -> None:
    told = nvgen("draw", "smem", "--rows", "16", "--sbo", "512").out
    assert "32 pieces lie where another one does" in told
    assert "lie where" not in nvgen("draw", "smem", "--rows", "16", "--sbo", "2048").out


@each("mode", ATOMS)
@each("major", ["K", "MN"])
def test_the_offsets_of_nobody_keep_the_pieces_apart(nvgen: Nvgen, mode: str, major: str) -> None:
    out = nvgen("draw", "smem", "--rows", "128", "--major", major, "--swizzle", mode).out
    assert "lie where" not in out


def test_lines_where_nothing_lies_are_left_out(nvgen: Nvgen) -> None:
    out = nvgen("draw", "smem", "--rows", "16", "--sbo", "0x2000", "--swizzle", "32").out
    rows = [line.split()[0] for line in out.splitlines()[6:]]
    assert rows == ["0x0", "0x80", "⋮", "0x2000", "0x2080"]


def test_colours_are_of_core_matrices_or_of_rows(nvgen: Nvgen) -> None:
    """A core matrix is 8 rows of 16 bytes; 8 colours come again and again."""

    def colours(*options: str) -> list[tuple[int, ...]]:
        svg = nvgen("draw", "smem", "--rows", "16", *options, "--format", "svg").out
        found = re.findall(r"<title>\((\d+), (\d+)\) to .*? class=\"c(\d)\"", svg)
        assert len(found) == 16 * 8
        return [tuple(map(int, one)) for one in found]

    assert all(colour == k // 8 % 8 for _, k, colour in colours("--cells", "pieces"))
    assert all(colour == row % 8 for row, _, colour in colours("--colour", "row"))


def test_what_no_mma_reads_is_reported(nvgen: Nvgen) -> None:
    """PTX ISA, Table 52: 32-bit elements that are MN-major have 32-byte atoms, and they alone."""
    for type_, mode, told in (("tf32", "128", True), ("tf32", "128-atom32", False),
                              ("f16", "128-atom32", True), ("f16", "64", False)):  # fmt: skip
        arguments = ("--type", type_, "--swizzle", mode, "--major", "MN")
        assert ("no MMA takes this" in nvgen("draw", "smem", *arguments).out) == told


def test_narrow_cells_have_the_label_of_their_piece(nvgen: Nvgen) -> None:
    """64 cells beside each other are too narrow for "0,63", eight pieces are not for "0,56"."""
    svg = nvgen("draw", "smem", "--rows", "8", "--cells", "elements", "--format", "svg").out
    labels = set(re.findall(r">(\d+,\d+)</text>", svg))
    assert labels == {f"{row},{k}" for row in range(8) for k in range(0, 64, 8)}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("--type", "f16"), {"0": "0", "1": "2", "8": "16", "63": "126"}),
        (("--type", "e2m1", "--kind", "mxf4"), {"1": "0.5", "32": "16"}),
        (("--type", "e3m2"), {"0": "0", "1": "", "16": "16"}),
    ],
    ids=str,
)
def test_elements_stand_under_their_byte(
    nvgen: Nvgen, arguments: tuple[str, ...], names: dict[str, str]
) -> None:
    """Two bytes an element, half a byte, or six bits: then only the 16 bytes have a whole place."""
    report = nvgen("draw", "smem", *arguments, "--cells", "elements", "--format", "json").json()
    (panel,) = report["panels"]
    assert {i: panel["columns"][int(i)] for i in names} == names
    assert ("padding" in panel["across"]) == ("e3m2" in arguments)
