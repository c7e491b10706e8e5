"""`nvgen draw tmem`: cells against the manual's data paths, blocks of scale factors, metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from intrinsics.layouts.data_paths import DataPath
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.modifiers import MmaKind
from tests.each import each
from tests.nvgen.commands.drawings import DATA_PATHS, drawn
from tests.nvgen.conftest import Nvgen

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


@each("n", [64, 128])
@each("letter", DATA_PATHS)
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


@each(
    "kind, type_, k, per_cell",
    [("tf32", "tf32", 16, 1), ("f16", "bf16", 32, 2), ("f8f6f4", "e2m1", 64, 4),
     ("i8", "s8", 64, 4)],
    ids=str,
)  # fmt: skip
@each("letter", DATA_PATHS)
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


@each(
    "arguments, factors, first",
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
@each("name, rows", [("sfa", 128), ("sfb", 64), ("sfb", 256)])
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


@each("selector", [0, 1])
@each("kind", [MmaKind.F16, MmaKind.TF32])
@each("letter", ["A", "C", "D", "F", "G"])
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


def test_what_is_narrower_than_its_byte_is_reported(nvgen: Nvgen) -> None:
    for kind, type_, told in (("f8f6f4", "e3m2", True), ("f8f6f4", "e4m3", False),
                              ("mxf4", "e2m1", False)):  # fmt: skip
        out = nvgen("draw", "tmem", "--what", "a", "--kind", kind, "--type", type_).out
        assert (f"nvgen explain packing {type_}" in out) == told


def test_metadata_begins_at_the_lane_of_its_address(nvgen: Nvgen) -> None:
    arguments = ("tmem", "--what", "metadata", "--m", "64", "--kind", "f8f6f4")
    low, high = (
        [tuple(map(int, re.findall(r"\d+", name))) for name in drawn(nvgen, *arguments, *lane)]
        for lane in ((), ("--lane", "16"))
    )
    assert sorted(high) == sorted((lane + 16, *rest) for lane, *rest in low)
    assert {lane for lane, *_ in low} == {32 * i + j for i in range(4) for j in range(16)}


def test_the_rows_of_a_pair_are_said_to_be_a_pairs(nvgen: Nvgen) -> None:
    assert "--group 2 has it" in nvgen("draw", "tmem", "--m", "256").err
    assert "--group 2 has it" not in nvgen("draw", "tmem", "--m", "256", "--ws").err
