"""`nvgen explain`: layouts, swizzling modes, fragments, scale factors, metadata, packing."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.each import each
from tests.intrinsics.published.cute import Ints, Nest, grid
from tests.nvgen.commands.drawings import DATA_PATHS
from tests.nvgen.commands.test_cli_explain import explained
from tests.nvgen.conftest import Nvgen
from tests.sim import layouts

# PTX ISA, Canonical Layouts.
CANONICAL = {
    "none": ("Swizzle<0, 4, 3>", "((8,m),(T,2k)):((1T,SBO),(1,LBO))",
             "((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))"),
    "32": ("Swizzle<1, 4, 3>", "((8,m),(T,2k)):((2T,SBO),(1,T))",
           "((T,2,m),(8,k)):((1,T,LBO),(2T,SBO))"),
    "64": ("Swizzle<2, 4, 3>", "((8,m),(T,2k)):((4T,SBO),(1,T))",
           "((T,4,m),(8,k)):((1,T,LBO),(4T,SBO))"),
    "128": ("Swizzle<3, 4, 3>", "((8,m),(T,2k)):((8T,SBO),(1,T))",
            "((T,8,m),(8,k)):((1,T,LBO),(8T,SBO))"),
}  # fmt: skip


@pytest.mark.parametrize("mode", CANONICAL)
def test_a_swizzling_mode(nvgen: Nvgen, mode: str) -> None:
    said = explained(nvgen, "swizzle", mode)
    assert tuple(said[name][0] for name in ("function", "K-major", "MN-major")) == CANONICAL[mode]
    pairs = [re.findall(r"\d+", text) for text in said.get("address bit", [])]
    for address in range(0, 2048, 16):
        flipped = sum((address >> int(high) & 1) << int(low) for low, high in pairs)
        assert address ^ flipped == layouts.swizzled(address, int(mode.replace("none", "0")))


def test_the_mode_with_32_byte_atoms(nvgen: Nvgen) -> None:
    """PTX ISA, Table 53: an atom of 8 x 4 pieces; in CUTLASS, mma_traits_sm100.hpp, it is
    Swizzle<2, 5, 2>: the pairs of pieces 32 bytes apart are exchanged by XOR with the line."""
    said = explained(nvgen, "swizzle", "128-atom32")
    assert said["function"] == ["Swizzle<2, 5, 2>"]
    assert said["address bit"] == ["bit 5 XOR bit 7", "bit 6 XOR bit 8"]


@each("shape", layouts.REGISTERS)
@each("num", [1, 2, 32])
def test_a_fragment(nvgen: Nvgen, shape: str, num: int) -> None:
    """The formulas of lane and column, computed, are those of the manual's figures."""
    said = explained(nvgen, "fragment", f"{shape}.x{num}")
    registers = layouts.register_count(shape, num)
    assert said["registers"] == [f"r = 0 to {registers - 1} in each thread t = 0 to 31"]
    columns = layouts.column_count(shape, num)
    assert said["columns"] == [f"{columns} twice" if shape == "16x32bx2" else f"{columns}"]
    for t in range(32):
        for r in range(registers):
            names = {"t": t, "r": r, "split": 40}
            found = tuple(eval(said[name][0], {}, names) for name in ("lane", "column"))
            assert found == layouts.cell(shape, t, r, 40)


@pytest.mark.parametrize("shape", layouts.REGISTERS)
def test_a_packed_fragment(nvgen: Nvgen, shape: str) -> None:
    """Packed, the columns of 32 bits are read as if they were columns of 16 bits."""
    said = explained(nvgen, "fragment", f".{shape}.x2.pack::16b")
    low, high = said["column"]
    for t in range(32):
        for r in range(layouts.register_count(shape, 2)):
            _, column = layouts.cell(shape, t, r)
            split = t // 16 * 40 if shape == "16x32bx2" else 0
            names = {"t": t, "r": r, "split": 40}
            assert eval(low, {}, names) == 2 * column + split
            assert eval(high, {}, names) == 2 * column + split + 1


# ---- registers of wgmma ----------------------------------------------------------------------

ROWS = 64


def cute(shape: Nest, stride: Nest) -> tuple[Ints, Ints]:
    """Row and column of each value of each of 128 threads, of a layout that gives m + 64 k."""
    threads, values = (4, 8, 4), shape
    offsets = grid((threads, values), stride)
    return offsets % ROWS, offsets // ROWS


@pytest.mark.parametrize(("name", "per"), [("f32", 1), ("f16", 2), ("s32", 1)])
def test_accumulators_of_a_warpgroup(nvgen: Nvgen, name: str, per: int) -> None:
    """CUTLASS, mma_traits_sm90_gmma.hpp: CLayout_64x24."""
    said = explained(nvgen, "wgmma-fragment", f"d.n24.{name}")
    assert said["registers"] == [f"r = 0 to {12 // per - 1} in each thread t = 0 to 127"]
    row, column = cute((2, 2, 3), ((128, 1, 16), (64, 8, 512)))
    for t, i in np.ndindex(128, 12):
        names = {"t": t, "r": i // per, "e": i % per}
        assert eval(said["row"][0], {}, names) == row[t, i]
        assert eval(said["column"][0], {}, names) == column[t, i]


@pytest.mark.parametrize(
    ("name", "shape", "steps"),
    [
        ("tf32", (1, 2, 2), ((64, 1, 16), (0, 8, 256))),
        ("bf16", (2, 2, 2), ((128, 1, 16), (64, 8, 512))),
        ("u8", (4, 2, 2), ((256, 1, 16), (64, 8, 1024))),
    ],
)
def test_a_in_registers_of_a_warpgroup(
    nvgen: Nvgen, name: str, shape: Nest, steps: tuple[Nest, ...]
) -> None:
    """CUTLASS: ALayout_64x8, 64x16 and 64x32."""
    said = explained(nvgen, "wgmma-fragment", f"a.{name}")
    row, column = cute(shape, steps)
    per = row.shape[1] // 4
    for t, i in np.ndindex(row.shape):
        names = {"t": t, "r": i // per, "e": i % per}
        assert eval(said["row"][0], {}, names) == row[t, i]
        assert eval(said["column"][0], {}, names) == column[t, i]


@pytest.mark.parametrize(
    ("name", "threads", "values", "size", "own"),
    [
        ("f16", ((2, 2, 8, 4), (1024, 0, 1, 16)), ((16, 2), (64, 8)), 4, "0 and 1"),
        ("f16.1", ((2, 2, 8, 4), (1024, 0, 1, 16)), ((16, 2), (64, 8)), 4, "2 and 3"),
        ("tf32", ((2, 2, 8, 4), (512, 0, 1, 16)), ((8, 2), (64, 8)), 2, "0 and 1"),
        ("e4m3", ((2, 2, 8, 4), (8, 2048, 1, 16)), (32, 64), 4, "all four"),
    ],
)
def test_metadata_of_a_warpgroup(
    nvgen: Nvgen, name: str, threads: tuple[Nest, Nest], values: tuple[Nest, Nest], size: int,
    own: str,
) -> None:  # fmt: skip
    """CUTLASS, mma_traits_sm90_gmma_sparse.hpp: ELayout_64x32, 64x16 and 64x64."""
    said = explained(nvgen, "wgmma-fragment", f"metadata.{name}")
    assert said["threads of four"] == [own]
    offsets = grid((threads[0], values[0]), (threads[1], values[1]))
    for t, i in np.ndindex(128, 8):
        at = int(offsets[t, i * size])
        assert eval(said["row"][0], {}, {"t": t, "i": i}) == at % ROWS
        assert eval(said["chunk"][0], {}, {"t": t, "i": i}) == at // ROWS // size


@pytest.mark.parametrize(
    "text", ["d.n12", "d.n40.s32", "d.n8.bf16", "a.f32", "metadata.b1", "metadata.e5m2.1", "b.f16"]
)
def test_what_a_warpgroup_does_not_have(nvgen: Nvgen, text: str) -> None:
    found = nvgen("explain", "wgmma-fragment", text)
    assert found.status == 2
    assert text in found.err


@pytest.mark.parametrize("letter", DATA_PATHS)
def test_a_layout(nvgen: Nvgen, letter: str) -> None:
    """Each run of lanes holds the rows and the part of N that the manual's figures have there."""
    _, m, place = DATA_PATHS[letter]
    said = explained(nvgen, "layout", letter)
    assert said["address in lane"] == ["0 or 16" if letter in "CF" else "0"]
    n, found = 64, set()
    for where, (held,) in said.items():
        match = re.fullmatch(r"(?:(even|odd) CTA, )?lanes (\d+) to (\d+)", where)
        if match is None:
            continue
        text = re.fullmatch(r"rows (\d+) to (\d+) of D, (all|the (\w+) (half|quarter)) of N", held)
        assert text, held
        parts = {"half": 2, "quarter": 4}.get(text[5], 1)
        part = {"second": 1, "third": 2, "last": 3}.get(text[4], 0)
        assert int(match[3]) - int(match[2]) == int(text[2]) - int(text[1]) < 32
        found |= {
            (int(match[1] == "odd"), lane, row, j)
            for row, lane in enumerate(range(int(match[2]), int(match[3]) + 1), int(text[1]))
            for j in range(part * n // parts, (part + 1) * n // parts)
        }
    assert found == {(*place(i, j, n)[:2], i, j) for i in range(m) for j in range(n)}


@each(
    "value, options, factors, elements",
    [
        (0, (), 1, 32),
        (3, ("--kind", "mxf8f6f4", "--scale-vec", "block32"), 1, 32),
        (2, ("--kind", "mxf4"), 2, 32),
        (2, ("--kind", "mxf4nvf4", "--scale-vec", "2X"), 2, 32),
        (0, ("--kind", "mxf4nvf4"), 4, 16),
        (0, ("--kind", "mxf4nvf4", "--scale-vec", "scale_vec::4X", "--k", "128"), 4, 32),
        (1, ("--kind", "mxf4", "--k", "96"), 3, 32),
        (2, ("--kind", "mxf4nvf4", "--k", "96"), 6, 16),
    ],
    ids=str,
)
def test_a_scale_factor_id(
    nvgen: Nvgen, value: int, options: tuple[str, ...], factors: int, elements: int
) -> None:
    """PTX ISA, Tables 54 and 55, Scale Factor A ID: the id is the byte of the first factor."""
    found = nvgen("explain", "scale-id", str(value), *options, "--format", "json")
    assert (found.status, found.err) == (0, "")
    rows = {row["field"]: row for row in found.json()["fields"]}
    assert rows["factors a row"]["meaning"].startswith(f"{factors} of ")
    assert rows["elements a factor"]["meaning"].startswith(f"{elements} elements along K")
    for factor in range(factors):
        block, byte = divmod(value + factor, 4)
        row = rows[f"factor {factor}"]
        assert row["bits"] == f"{8 * byte}-{8 * byte + 7}"
        further = f" + {4 * block}, or r // 32 + {8 * block} with more than 128 rows"
        assert row["meaning"] == "column r // 32" + (further if block else "")
    assert f"factor {factors}" not in rows


# PTX ISA, Sparse Matrices: the indices that have a meaning; the lower two bits come first.
PAIRS = {0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3),
         0b0110: (2, 1), 0b1110: (2, 3)}  # fmt: skip
STORED = {
    "tf32": {0b0100: (0,), 0b1110: (1,)},
    "f16": PAIRS,
    "i8": PAIRS,
    "mxf4": {i: (2 * a, 2 * a + 1, 2 * b, 2 * b + 1) for i, (a, b) in PAIRS.items()},
}


@each("kind", STORED)
@each("index", range(16))
def test_metadata(nvgen: Nvgen, kind: str, index: int) -> None:
    said = explained(nvgen, "metadata", f"0x{index:x}{index:x}", "--kind", kind)
    size = {"tf32": 2, "mxf4": 8}.get(kind, 4)
    stored = STORED[kind].get(index)  # type: ignore[attr-defined]
    meaning = f"{index:#06b}, no meaning"
    if stored:
        meaning = f"{index:#06b}, of {size} elements {', '.join(map(str, stored))} stored"
    assert said["index 0"] == said["index 1"] == [meaning]
    assert ("wrong" in said) == (stored is None)
    assert "index 2" not in said


def test_metadata_has_as_many_indices_as_were_written(nvgen: Nvgen) -> None:
    for text, count in (
        ("0x04", 2),
        ("0b0100", 1),
        ("0b01000100", 2),
        ("68", 2),
        ("0x44444444", 8),
    ):
        said = explained(nvgen, "metadata", text)
        assert sum(name.startswith("index") for name in said) == count


@pytest.mark.parametrize(
    ("asked", "padding", "piece", "cell"),
    [
        # Packing formats: bits of the elements 0, 1 and the last of 16 bytes, and of a cell.
        (("f16",), 0, ("0-15", "16-31", "112-127"), ("0-15", "16-31")),
        (("tf32",), 0, ("0-31", "32-63", "96-127"), ("0-31",)),
        (("e4m3",), 0, ("0-7", "8-15", "120-127"), ("0-7", "8-15", "16-23", "24-31")),
        # 16 elements of 6 and 4 bits side by side, then padding; in a cell each has a byte
        (("e3m2",), 4, ("0-5", "6-11", "90-95"), ("0-5", "8-13", "16-21", "24-29")),
        (("e2m1", "--kind", "mxf8f6f4"), 8, ("0-3", "4-7", "60-63"),
         ("2-5", "10-13", "18-21", "26-29")),
        (("e2m1", "--kind", "mxf4"), 0, ("0-3", "4-7", "124-127"),
         tuple(f"{i}-{i + 3}" for i in range(0, 32, 4))),
    ],
    ids=str,
)  # fmt: skip
def test_packing(
    nvgen: Nvgen, asked: tuple[str, ...], padding: int, piece: tuple[str, ...],
    cell: tuple[str, ...],
) -> None:  # fmt: skip
    rows = nvgen("explain", "packing", *asked, "--format", "json").json()["fields"]
    bits = {row["field"]: row["bits"] for row in rows}
    said = next(row["meaning"] for row in rows if "16 bytes" in row["field"])
    assert ("padding" in said) == bool(padding)
    assert f" {padding} bytes of padding" in said or not padding
    assert tuple(b for name, b in bits.items() if name.startswith("of these")) == piece
    assert tuple(b for name, b in bits.items() if name.startswith("of it")) == cell


@pytest.mark.parametrize(
    "asked",
    [
        *(("swizzle", "64"), ("fragment", "16x128b.x4"), ("layout", "B"), ("packing", "e2m1")),
        ("wgmma-fragment", "d.n64.f16"),
    ],
    ids="-".join,
)
def test_a_name_is_told_to_people_and_machines(nvgen: Nvgen, asked: tuple[str, str]) -> None:
    head, *lines = nvgen("explain", *asked).out.splitlines()
    report = nvgen("explain", *asked, "--format", "json").json()
    assert head.endswith(f" {asked[1]}")
    assert (report["what"], report["value"]) == asked
    assert [" ".join(line.split()) for line in lines] == [
        " ".join(f"{row['bits']} {row['field']} {row['meaning']}".split())
        for row in report["fields"]
    ]
