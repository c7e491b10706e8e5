"""`nvgen draw fragment` and `nvgen explain fragment`: one spelling, and what both say."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence

import pytest

from intrinsics import catalog
from intrinsics.layouts.register_fragment import named_fragment
from intrinsics.legality import judge
from tests.each import each
from tests.nvgen.commands.drawings import drawn
from tests.nvgen.conftest import Nvgen

TENSOR = [
    ("16x64b.x2", ("--shape", "16x64b", "--num", "x2")),
    (".32x32b", ("--shape", ".32x32b")),
    ("16x128b.x4.pack::16b", ("--shape", "16x128b", "--num", "x4", "--pack")),
]


@pytest.mark.parametrize("command", ["draw", "explain"])
@pytest.mark.parametrize(("name", "options"), TENSOR)
def test_a_name_and_options_are_the_same(
    nvgen: Nvgen, command: str, name: str, options: tuple[str, ...]
) -> None:
    def said(*arguments: str) -> str:
        found = nvgen(command, "fragment", *arguments)
        assert found.status == 0
        return found.out.partition("\n")[2]

    assert said(name) == said(*options)


@each("command", ["draw", "explain"])
@each(
    "arguments, rule, got",
    [
        (("ldmatrix.m8n8.x3",), "fragment", "ldmatrix.m8n8.x3"),
        (("ldmatrix.m16n16.x4",), "fragment", "ldmatrix.m16n16.x4"),
        (("ldmatrix.m8n16.x2.trans",), "fragment", "ldmatrix.m8n16.x2.trans"),
        (("stmatrix.m8n16",), "fragment", "stmatrix.m8n16"),
        (("mma.m16n8k16.a.tf32",), "fragment", "mma.m16n8k16.a.tf32"),
        (("mma.m16n8k16.d.bf16",), "fragment", "mma.m16n8k16.d.bf16"),
        (("mma.m16n8k4.d.f16",), "fragment", "mma.m16n8k4.d.f16"),
        (("mma.m16n8k17.d.f32",), "fragment", "mma.m16n8k17.d.f32"),
        (("mma.m16n8k128.a.e2m1",), "fragment", "mma.m16n8k128.a.e2m1"),
        (("mma.sp.m16n8k4.a.tf32",), "fragment", "mma.sp.m16n8k4.a.tf32"),
        (("mma.sp.m16n8k32.metadata.f16.2",), "fragment", "mma.sp.m16n8k32.metadata.f16.2"),
        (("mma.m16n8k32.sfa.2x",), "fragment", "mma.m16n8k32.sfa.2x"),
        (("mma.m16n8k64.sfa.2x.1.0",), "fragment", "mma.m16n8k64.sfa.2x.1.0"),
        (("wgmma.d.n12.f32",), "fragment", "wgmma.d.n12.f32"),
        (("wgmma.a.f64",), "fragment", "wgmma.a.f64"),
        (("ldmatrix.m8n8", "--num", "x2"), "option", "ldmatrix.m8n8 --num"),
        (("ldmatrix.m8n8", "--pack"), "option", "ldmatrix.m8n8 --pack"),
        (("16x64b.x2", "--num", "x2"), "option", "16x64b.x2 --num"),
        (("16x64b", "--num", "2"), "num", "2"),
    ],
)
def test_what_is_no_name(
    nvgen: Nvgen, command: str, arguments: tuple[str, ...], rule: str, got: str
) -> None:
    found = nvgen(command, "fragment", *arguments)
    assert (found.status, found.out) == (2, "")
    assert f"error[{command}/{rule}]" in found.err
    assert f"got: {got}" in found.err


NAMES = [
    ("ldmatrix.m8n8.x4", 4, 32, 8),
    ("ldmatrix.m8n8.x2.trans", 2, 16, 8),
    ("ldmatrix.m8n16.x2", 2, 16, 16),
    ("ldmatrix.m16n16.x2", 4, 32, 16),
    ("stmatrix.m16n8.x4", 4, 32, 16),
    ("mma.m16n8k16.a.f16", 4, 16, 16),
    ("mma.m16n8k16.b.bf16", 2, 16, 8),
    ("mma.m16n8k8.a.tf32", 4, 16, 8),
    ("mma.m16n8k32.a.e4m3", 4, 16, 32),
    ("mma.m16n8k64.b.s4", 2, 64, 8),
    ("mma.m8n8k128.a.b1", 1, 8, 128),
    ("mma.m16n8k256.b.b1", 2, 256, 8),
    ("mma.m16n8k16.d.f32", 4, 16, 8),
    ("mma.m16n8k16.c.f16", 2, 16, 8),
    ("mma.m8n8k16.d.s32", 2, 8, 8),
    ("mma.m16n8k4.a.f64", 2, 16, 4),
    ("mma.m16n8k32.a.e2m1", 4, 16, 32),
    ("mma.m16n8k64.b.e2m1", 2, 64, 8),
    ("mma.sp.m16n8k32.a.f16", 4, 16, 16),
    ("mma.sp.m16n8k16.b.tf32", 4, 16, 8),
    ("mma.sp.m16n8k128.a.s4", 4, 16, 64),
    ("mma.sp.m16n8k64.d.f16", 2, 16, 8),
    ("wgmma.d.n24.f32", 12, 64, 24),
    ("wgmma.d.n24.f16", 6, 64, 24),
    ("wgmma.a.tf32", 4, 64, 8),
    ("wgmma.a.bf16", 4, 64, 16),
    ("wgmma.a.e4m3", 4, 64, 32),
]
"""Registers, rows (or lines) and columns: PTX ISA, ldmatrix; stmatrix; Register Fragments."""

_TITLE = re.compile(
    r"(?:row|line) (\d+), column (\d+)(?: to (\d+))?: thread (\d+), register (\d+), "
    r"bits (\d+)(?: to (\d+))?"
)


@each("name, registers, rows, columns", NAMES)
def test_the_formulas_say_what_is_drawn(
    nvgen: Nvgen, name: str, registers: int, rows: int, columns: int
) -> None:
    fields = json.loads(nvgen("explain", "fragment", name, "--format", "json").out)["fields"]
    said = {field["field"]: field["meaning"] for field in fields}
    threads = 128 if name.startswith("wgmma") else 32
    assert said["registers"] == f"r = 0 to {registers - 1} in each thread t = 0 to {threads - 1}"
    assert said["rows"].split(";")[0] == f"{rows}"
    assert said["columns"] == f"{columns}"
    seen = set()
    bits = (64 if "f64" in name else 32) * registers * threads // (rows * columns)
    for title in drawn(nvgen, "fragment", name):
        match = _TITLE.fullmatch(title)
        assert match is not None, title
        row, first, last, t, r, low, high = (int(g) if g else None for g in match.groups())
        for column in range(first, (last or first) + 1):
            e = low // bits + column - first
            names = {"t": t, "r": r, "e": e}
            assert eval(said["row"], {}, names) == row
            assert eval(said["column"], {}, names) == column
            seen.add((row, column))
        end = low if high is None else high
        assert end == low + (last - first + 1 if last is not None else 1) * bits - 1
    assert len(seen) == rows * columns


def test_lines_are_those_of_addresses(nvgen: Nvgen) -> None:
    for command in ("draw", "explain"):
        found = nvgen(command, "fragment", "stmatrix.m8n8.x4")
        assert "line i lies at the address that thread i gives" in found.out


def test_a_wide_accumulator_is_abbreviated(nvgen: Nvgen) -> None:
    found = nvgen("draw", "fragment", "wgmma.d.n256").out
    assert "abbreviated: 64 of 256 columns are drawn" in found


PARTS = [
    ("mma.sp.m16n8k16.metadata.f16.3", range(3, 32, 4), 4, 16, 4),
    ("mma.sp.m16n8k32.metadata.bf16.1", [t for t in range(32) if t % 4 > 1], 4, 16, 8),
    ("mma.sp.m16n8k64.metadata.e2m1", range(32), 4, 16, 16),
    ("mma.m16n8k64.sfa.4x", [t for t in range(32) if t % 4 < 2], 8, 16, 4),
    ("mma.m16n8k32.sfb.1x.3.2", range(2, 32, 4), 8, 1, 8),
    ("mma.sp.m16n8k128.sfb.2x.2.1", range(1, 32, 4), 8, 2, 8),
]
"""Threads that have some, bits of an element, rows and columns: Sparse matrix storage; Block
Scaling for mma.sync."""


@pytest.mark.parametrize(("name", "threads", "bits", "rows", "columns"), PARTS)
def test_parts_that_some_threads_have(
    nvgen: Nvgen, name: str, threads: Sequence[int], bits: int, rows: int, columns: int
) -> None:
    """Metadata and scale factors: the formulas, and the threads and bits that are drawn."""
    fields = json.loads(nvgen("explain", "fragment", name, "--format", "json").out)["fields"]
    said = {field["field"]: field["meaning"] for field in fields}
    assert said["registers"].endswith(", ".join(map(str, threads)))
    assert said["rows"].split(";")[0] == f"{rows}"
    assert said["columns"] == f"{columns}"
    start = re.search(r"from bit (\d+) on", said["elements"])
    assert start is not None
    seen = set()
    for title in drawn(nvgen, "fragment", name):
        match = PLACE.fullmatch(title)
        assert match is not None, title
        row, first, last, t, low = (int(g) if g else None for g in match.groups())
        for column in range(first, (last or first) + 1):
            e = (low - int(start[1])) // bits + column - first
            assert eval(said["row"], {}, {"t": t, "e": e}) == row
            assert eval(said["column"], {}, {"t": t, "e": e}) == column
            assert t in threads
            seen.add((row, column))
    assert len(seen) == rows * columns


PLACE = re.compile(
    r"(?:row|block) (\d+), column (\d+)(?: to (\d+))?: thread (\d+), register 0, "
    r"bits (\d+)(?: to \d+)?"
)


@pytest.mark.parametrize("head", ["mma", "mma.sp"])
def test_multiplies_have_the_fragments_of_their_rows(head: str) -> None:
    """Every shape with every type of A and D that a legal mma has, and no other."""
    legal = set()
    for row in catalog.rows():
        if row.head.partition("::")[0] != head:
            continue
        for form in catalog.forms(row):
            if not judge(row, form.attributes).broken:
                a, d = (form.attributes[qualifier].value for qualifier in ("atype", "dtype"))
                legal |= {
                    (form.attributes["shape"].value, "a", a),
                    (form.attributes["shape"].value, "d", d),
                }
    quarters = {("m8n8k4", "a", "f16"), ("m8n8k4", "d", "f16"), ("m8n8k4", "d", "f32")}
    shapes = {shape for shape, _, _ in legal}
    types = {type_ for _, _, type_ in legal}
    for shape, matrix, type_ in itertools.product(shapes, "ad", types):
        wanted = (shape, matrix, type_) in legal - quarters
        found = named_fragment(f"{head}.{shape}.{matrix}.{type_}")
        assert (found is not None) is wanted, (shape, matrix, type_)
