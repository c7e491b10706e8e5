"""`nvgen draw`: registers against the manual's figures, and what holds of every picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.each import each
from tests.nvgen.commands.drawings import drawn, titles
from tests.nvgen.conftest import Nvgen
from tests.sim import layouts


@each("shape", layouts.REGISTERS)
@each("num", [1, 4, 32])
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


def test_halves_that_overlap_are_reported(nvgen: Nvgen) -> None:
    arguments = ("draw", "fragment", "--shape", "16x32bx2", "--num", "x4")
    assert "32 cells are in two threads" in nvgen(*arguments, "--half-split", "2").out
    assert "in two threads" not in nvgen(*arguments).out
    found = drawn(nvgen, *arguments[1:], "--half-split", "2")
    assert "lane 5, column 3: thread 5, register 3; thread 21, register 1" in found
    assert len(found) == 16 * 6


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


@pytest.mark.turns(3)
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
