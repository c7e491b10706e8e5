"""`nvgen explain`: words and descriptors whose bits were worked out by hand from the manual."""

from __future__ import annotations

import re
from argparse import Namespace
from importlib.resources import files

import pytest

from nvgen.commands.explanations.question import Question
from nvgen.commands.explanations.rules import rule as rule_text
from tests.each import each
from tests.nvgen.conftest import Nvgen

# PTX ISA, Table 40: address, leading and stride offsets in units of 16 bytes, 0b001 at bit 46.
SMEM_DESC = 0x1000 >> 4 | 16 >> 4 << 16 | 1024 >> 4 << 32 | 1 << 46 | 2 << 61
# PTX ISA, Table 45; example 4: {sc0 0}, {fs0 1}, non-zero, skip span 3, use span 7.
ZERO_MASK = 1 << 32 | 1 << 39 | 3 << 40 | 7 << 48 | 16 << 56

MEANINGS = {
    ("ctrl", "193"): {"cta_group": "1 cta_group::1, one CTA", "mma_kind": "3 kind::f16"},
    ("ctrl", "0b011000010"): {"cta_group": "2 cta_group::2, a CTA pair"},
    # kind 2, block_scale, explicit 1X, CTA pair: 2 << 6 | 1 << 5 | 3 << 2 | 2
    ("ctrl", "0xae"): {
        "cta_group": "2 cta_group::2, a CTA pair",
        "scale_vec_size": "3 scale_vec::1X",
        "scale_input_acc": "0",
        "block_scale": "1",
        "mma_kind": "2 kind::mxf8f6f4",
        "reserved": "0",
    },
    ("ctrl", "0x10"): {"cta_group": "0 invalid", "scale_input_acc": "1"},
    ("ctrl", "0x2c1"): {"reserved": "1 (must be 0)"},
    ("collector", "0"): {"valid": "0", "op": "0 not spelled"},
    ("collector", "1"): {"valid": "1", "op": "0 collector::a::fill", "ashift": "0"},
    ("collector", "3"): {"op": "1 collector::a::use"},
    ("collector", "0xd"): {"op": "2 collector::a::lastuse", "ashift": "1"},
    ("collector", "0x37"): {"op": "3 collector::b2::discard", "buffer": "3 b2"},
    ("collector", "0x383"): {"b_op": "3 collector::b::discard"},
    # PTX ISA, Table 42: D f32, A and B bf16; N = 128 as 16 << 17, M = 64 as 4 << 24.
    ("idesc", "0x4200490"): {
        "D type": "f32",
        "A type": "bf16",
        "B type": "bf16",
        "transpose A": "K-major",
        "transpose B": "K-major",
        "N": "128",
        "M": "64",
        "sparsity": "dense",
    },
    ("idesc", "0x4208490"): {"transpose A": "MN-major", "transpose B": "K-major"},
    # f32 <- f16 x f16, N = 256, M = 128
    ("idesc", hex(1 << 4 | 32 << 17 | 8 << 24)): {"A type": "f16", "N": "256", "M": "128"},
    # a control word taken for a descriptor: reserved bit 6 is set
    ("idesc", "0xc1"): {"N": "0", "M": "0", "wrong": "reserved bits are set: 0x40"},
    # M = 48 is no M of any kind::f16; 32 is one of .ws, 256 one of a CTA pair
    ("idesc", hex(1 << 4 | 32 << 17 | 3 << 24)): {
        "M": "48",
        "wrong": "M does not exist for this kind: M=48",
    },
    ("idesc", hex(1 << 4 | 32 << 17 | 2 << 24)): {"M": "32"},
    ("idesc", hex(1 << 4 | 32 << 17 | 16 << 24)): {"M": "256"},
    ("smem-desc", hex(SMEM_DESC)): {
        "start address": "0x1000",
        "leading dimension": "16 bytes",
        "stride dimension": "1024 bytes",
        "base offset": "0",
        "leading dimension mode": "relative offset",
        "swizzling": "2 128-byte swizzling",
    },
    ("smem-desc", hex(SMEM_DESC ^ 1 << 46)): {
        "wrong": "bits 46..48 must be 0b001, not 0b000",
    },
    # PTX ISA, wgmma's Matrix Descriptor Format: swizzling in bits 62 and 63, 1 is 128 bytes.
    ("wgmma-desc", hex(0x2000 >> 4 | 1 << 16 | 512 >> 4 << 32 | 3 << 49 | 1 << 62)): {
        "start address": "0x2000",
        "leading dimension": "16 bytes",
        "stride dimension": "512 bytes",
        "base offset": "3",
        "swizzling": "1 128-byte swizzling",
    },
    ("wgmma-desc", hex(2 << 62)): {"swizzling": "2 64-byte swizzling"},
    # a descriptor of tcgen05: its constant bit 46 means nothing here
    ("wgmma-desc", hex(SMEM_DESC)): {
        "wrong": "bits 14-15, 30-31, 46-48 and 52-61 must be 0, not 0x400000000000",
    },
    ("zero-mask", str(ZERO_MASK)): {
        "start counts": "0, 0, 0, 0",
        "first spans": "1, 0, 0, 0",
        "non-zero mask": "1",
        "skip span": "3: 4 zeroed columns",
        "use span": "7: 8 used columns",
        "column shift": "16",
    },
    ("zero-mask", hex(1 << 36)): {"wrong": "reserved bits are set: 0x1000000000"},
    ("taddr", "0x200010"): {"lane": "32", "column": "16"},
    ("taddr", "0x7f01ff"): {"lane": "127", "column": "511"},
    ("taddr", "0x800200"): {
        "lane": "128 (there are 128 lanes)",
        "column": "512 (there are 512 columns)",
    },
}


@each("asked, meanings", MEANINGS.items(), ids=lambda case: "-".join(case[0]))
def test_what_a_value_says(nvgen: Nvgen, asked: tuple[str, str], meanings: dict[str, str]) -> None:
    found = nvgen("explain", *asked, "--format", "json")
    assert (found.status, found.err) == (0, "")
    report = found.json()
    assert set(report) == {"what", "value", "fields"}
    assert (report["what"], report["value"]) == (asked[0], int(asked[1], 0))
    fields = {
        row["field"]: row["meaning"] for row in reversed(report["fields"])
    }  # the first counts
    assert {name: fields.get(name) for name in meanings} == meanings
    assert ("wrong" in fields) == ("wrong" in meanings)


@each("asked", MEANINGS, ids="-".join)
def test_people_are_told_the_same_as_machines(nvgen: Nvgen, asked: tuple[str, str]) -> None:
    found = nvgen("explain", *asked)
    assert (found.status, found.err) == (0, "")
    head, *lines = found.out.splitlines()
    assert int(head.rsplit(" ", 1)[1], 0) == int(asked[1], 0)
    rows = nvgen("explain", *asked, "--format", "json").json()["fields"]
    assert [" ".join(line.split()) for line in lines] == [
        " ".join(f"{row['bits']} {row['field']} {row['meaning']}".split()) for row in rows
    ]


@pytest.mark.parametrize(
    ("kind", "table"), [("tf32", 42), ("i8", 42), ("mxf8f6f4", 43), ("mxf4", 44), ("mxf4nvf4", 44)]
)
def test_the_table_of_a_kind(nvgen: Nvgen, kind: str, table: int) -> None:
    """PTX ISA, Instruction descriptor: one table for each of three groups of kinds."""
    word = {"tf32": 2 << 7 | 2 << 10 | 1 << 4, "i8": 2 << 4}.get(kind, 1 << 7 | 1 << 10 | 1 << 23)
    said = explained(nvgen, "idesc", hex(word), "--kind", kind)
    assert said["layout of"] == [f"kind::{kind}, PTX ISA, Table {table}"]
    assert ("scale type" in said) == (table > 42)
    assert ("K" in said) == (table == 44)


def test_a_descriptor_is_read_as_one_of_its_kind(nvgen: Nvgen) -> None:
    """PTX ISA, Table 42: type code 1 of A is bf16 for kind::f16 and u8 or s8 for kind::i8."""

    def a_type(kind: str) -> str:
        found = nvgen("explain", "idesc", hex(2 << 4 | 1 << 7), "--kind", kind, "--format", "json")
        return next(r["meaning"] for r in found.json()["fields"] if r["field"] == "A type")

    assert a_type("i8") == a_type("kind::i8") == "s8"


def explained(nvgen: Nvgen, *arguments: str) -> dict[str, list[str]]:
    """What is said of each field, once a field and once for each time that it is named."""
    found = nvgen("explain", *arguments, "--format", "json")
    assert (found.status, found.err) == (0, ""), found.err
    fields: dict[str, list[str]] = {}
    for row in found.json()["fields"]:
        fields.setdefault(row["field"], []).append(row["meaning"])
    return fields


# PTX ISA, Zero-Column Mask Descriptor, examples 1 to 4: start counts and first spans with 0 first,
# non-zero, shift; M, and each sub-mask's bits as printed, the lowest last.
EXAMPLES = [
    ((0, 0, 0, 0), (0, 0, 0, 0), 0, 0, 128, ["0"]),
    ((0, 0, 0, 0), (0, 0, 0, 0), 1, 0, 128, ["11100001110000"]),
    ((0, 0, 0, 0), (1, 0, 0, 0), 1, 0, 64, ["11100001110000111", "000011100001110000"]),
    ((0, 1, 2, 1), (1, 1, 0, 0), 1, 2, 32,
     ["00001110000111", "0000111000011", "111000011100", "1110000111000"]),
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"m{e[4]}-{e[2]}")
def test_the_columns_that_a_mask_makes_zero(
    nvgen: Nvgen, example: tuple[tuple[int, ...], tuple[int, ...], int, int, int, list[str]]
) -> None:
    counts, firsts, nonzero, shift, m, parts = example
    word = sum(count << 8 * i for i, count in enumerate(counts))
    word |= sum(bit << 32 + i for i, bit in enumerate(firsts))
    word |= nonzero << 39 | 2 << 40 | 3 << 48 | shift << 56
    n = 128
    said = explained(nvgen, "zero-mask", hex(word), "--m", str(m), "--n", str(n))
    mask, width = int(said["mask"][0], 16), n // len(parts)
    for i, bits in enumerate(parts):
        assert mask >> i * width & (1 << len(bits)) - 1 == int(bits, 2)
    zero = {
        column
        for run in said["zero columns"][0].replace("none", "").split(", ")
        if run
        for column in range(int(run.split("-")[0]), int(run.split("-")[-1]) + 1)
    }
    assert zero == {column for column in range(n) if mask >> column & 1}
    assert said.get("columns of B") == (["2 to 129, by the shift"] if shift else None)


@each(
    "arguments, rule, got",
    [
        (("ctrl", "x"), "explain/value", "x"),
        (("ctrl", ""), "explain/value", ""),
        (("ctrl", "1.5"), "explain/value", "1.5"),
        (("ctrl", "-1"), "explain/value", "-1"),
        (("ctrl", "0xG"), "explain/value", "0xG"),
        (("taddr", "0x100000000"), "explain/value", "0x100000000"),
        (("smem-desc", str(1 << 64)), "explain/value", str(1 << 64)),
        (("ctrl", "9" * 5000), "explain/value", "999"),
        (("idesc", "0x4200490", "--kind", "f15"), "explain/kind", "f15"),
        # Table 40: swizzling modes 3, 5 and 7 mean nothing
        (("swizzle", "256"), "explain/swizzle", "256"),
        (("layout", "H"), "explain/layout", "H"),
        (("packing", "f32"), "explain/packing", "f32"),
        (("packing", "e4m3", "--kind", "f16"), "explain/kind", "kind::f16"),
        (("packing", "e4m3", "--kind", "f15"), "explain/kind", "f15"),
        (("scale-id", "4"), "explain/value", "4"),
        (("scale-id", "1", "--kind", "mxf4"), "explain/scale-id", "1"),
        (("scale-id", "1", "--kind", "f16"), "explain/kind", "kind::f16"),
        (("scale-id", "0", "--scale-vec", "3X"), "explain/scale-vec", "3X"),
        (("scale-id", "0", "--scale-vec", "4X"), "explain/scale-vec", "scale_vec::4X, K = 32"),
        (("scale-id", "0", "--k", "128"), "explain/k", "128"),
        (("metadata", "0x4", "--kind", "ti16"), "explain/kind", "kind::ti16"),
        (("metadata", "0x100000000"), "explain/value", "0x100000000"),
        (("fragment", "16x64b.x3"), "explain/fragment", "16x64b.x3"),
        (("fragment", "16x256b.x64"), "explain/fragment", "16x256b.x64"),
        (("zero-mask", "0", "--m", "64"), "explain/option", "no --n"),
        (("zero-mask", "0", "--n", "64"), "explain/option", "no --m"),
        (("zero-mask", "0", "--m", "64", "--n", "96"), "explain/option", "96"),
        (("zero-mask", "0", "--m", "x", "--n", "64"), "explain/option", "x"),
        (("taddr", "0", "--kind", "f16"), "explain/option", "--kind"),
        (("smem-desc", hex(3 << 61)), "explain/smem-desc", "0x6000000000000000"),
        # Table 42: type code 7 of A means nothing for kind::f16
        (("idesc", hex(7 << 7)), "explain/idesc", "0x380"),
    ],
)
def test_what_is_no_such_value(
    nvgen: Nvgen, arguments: tuple[str, ...], rule: str, got: str
) -> None:
    for format_ in ("text", "json"):
        found = nvgen("explain", *arguments, "--format", format_)
        assert (found.status, found.out) == (2, "")
        assert f"error[{rule}]" in found.err
        assert f"got: {got}" in found.err or not got
        assert "expected: " in found.err


# ---- rules ---------------------------------------------------------------------------------------

RULES = {
    "mbarrier/peer-unheard": {"severity": "error", "ptxas": "accepts"},  # of functions
    "tcgen05.mma.ws/not-filled": {"severity": "warning"},  # of functions, for any multiply
    "tcgen05.mma/idesc-m": {"message": "M does not exist for this kind"},  # of descriptors
    "launch/block": {"message": "the kernel is made for another block"},
    "tcgen05.mma/i8-target": {"severity": "error", "ptxas": "refuses"},  # of the row
    "ptx/syntax": {"level": "readers, operands and words: judged always"},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("asked", [("rule",), ()])
def test_what_a_rule_says(nvgen: Nvgen, rule: str, asked: tuple[str, ...]) -> None:
    result = nvgen("explain", *asked, rule, "--format", "json")
    fields = {field["field"]: field["meaning"] for field in result.json()["fields"]}
    assert result.status == 0
    assert RULES[rule].items() <= fields.items()


def test_every_rule_of_the_reference_is_explained(nvgen: Nvgen) -> None:
    page = (files("intrinsics") / "reference" / "rules.md").read_text()
    ids = re.findall(r"^\| \[?([\w.:{}-]+/[\w-]+)", page, re.MULTILINE)
    assert len(ids) > 300
    for rule in dict.fromkeys(found.replace("{op}", "tcgen05.mma") for found in ids):
        assert rule_text(Question("rule", rule, 0, Namespace())), rule


def test_a_rule_that_is_not_there(nvgen: Nvgen) -> None:
    result = nvgen("explain", "mbarrier/peer-unherd")
    assert result.status == 2
    assert "did you mean mbarrier/peer-unheard" in result.err
    assert "expected: the id of a rule" in result.err


def test_a_finding_of_a_run_is_no_rule(nvgen: Nvgen) -> None:
    result = nvgen("explain", "sim/race")
    assert result.status == 2
    assert "did you mean" not in result.err
    assert "docs/simulator-and-races.md" in result.err


def test_usage(nvgen: Nvgen) -> None:
    for arguments in ((), ("idesc",), ("mask", "1"), ("ctrl", "1", "2")):
        found = nvgen("explain", *arguments)
        assert (found.status, found.out) == (2, "")
        assert "usage: nvgen" in found.err
