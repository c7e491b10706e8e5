"""Mistakes in MIR text: what its reader says, and where."""

from __future__ import annotations

import pytest

from asmprinter.mir.reader import read_mir
from intrinsics.findings import Finding, InputError, Place
from tests.each import each

GOOD = """\
target sm_80
kernel @k(
  param @x : u32 size 4 align 4
) {
bb.entry:
  %a:b32 = MOV_B32 imm:1
  RET
}
"""


def findings(text: str) -> tuple[Finding, ...]:
    """What the reader says of `text`; every finding has a rule, a place and a remedy."""
    with pytest.raises(InputError) as caught:
        read_mir(text, "k.mir")
    found = caught.value.findings
    assert {f.rule for f in found} == {"mir/syntax"}
    assert {f.place.file for f in found} == {"k.mir"}
    assert all(f.expected for f in found)
    return found


def complaints(text: str) -> list[tuple[int, str]]:
    """Line and message of each finding."""
    return [(f.place.line, f.message) for f in findings(text)]


def test_the_example_of_these_tests_is_right():
    assert read_mir(GOOD).functions[0].name == "k"


@each(
    "old, new, line, says",
    [
        ("sm_80", "sm_81", 1, "sm_81"),
        ("MOV_B32", "MOV_B23", 6, "MOV_B23"),
        ("MOV_B32", "MVO_B32", 6, "MVO_B32"),
        ("%a:b32 =", "%a =", 6, "class"),
        ("%a:b32 =", "%a:b31 =", 6, "b31"),
        ("imm:1", "one", 6, "one"),
        ("imm:1", "imm:1, imm:2", 6, "operands"),
        ("= MOV_B32 imm:1", "= MOV_B32", 6, "needs a"),
        ("imm:1", "imm:1 imm:2", 6, "imm:2"),
        ("%a:b32 =", "%a:b32, %b:b32 =", 6, "result"),
        ("imm:1", "count=imm:1", 6, "MOV_B32"),
        ("bb.entry:", "bb.entry", 5, "':'"),
        ("bb.entry:\n", "", 5, "block"),
        ("size 4", "size four", 3, "int"),
        (": u32", ": u31", 3, "u31"),
        ("size 4", "size 8", 3, "u32"),
        ("u32 size 4", "b8 size 40000", 3, "40000"),
        (") {", ") regntid 32 {", 4, "regntid"),
        ("target sm_80\n", "target sm_80\nptx 8.9\n", 2, "8.9"),
        ("target sm_80\n", "target sm_80\nheap @x : size 1 align 1\n", 2, "heap"),
        ("RET", "RET }", 7, "}"),
        ("RET", "RET #", 7, "#"),
        ("kernel @k(", "kernel k(", 2, "'k'"),
        ("param @x", "@x", 3, "param"),
        ("align 4", "align 4 prt global 4", 3, "prt"),
        ("align 4", "align 4 ptr globe 4", 3, "globe"),
        (") {", ") reqntid {", 4, "int"),
        (") {", ") maxnreg 64 32 {", 4, "32"),
        (") {", ") cluster 2 cluster 2 {", 4, "twice"),
        (") {", ")", 4, "'{'"),
        ("target sm_80\n", "target sm_80\ntarget sm_90\n", 2, "twice"),
        ("target sm_80\n", "target sm_80\nglobal @x : size 1 align 1 = 0x123\n", 2, "byte"),
        ("target sm_80\n", 'target sm_80\nsource "a\n', 2, '"a'),
        ("target sm_80\n", 'target sm_80\nsource "\\q"\n', 2, "q"),
        ("RET", "RET\nbb.entry:", 8, "twice"),
        ("RET", "BRA bb.exit", 7, "bb.exit"),
        ("RET", "RET !1", 7, "!1"),
        ("imm:1", "imm:one", 6, "imm:one"),
        ("imm:1", "fimm:0f3F8", 6, "fimm:0f3F8"),
        ("imm:1", "[imm:1]", 6, "register"),
        ("imm:1", "a=imm:1, a=imm:1", 6, "already"),
        ("%a:b32 =", "{%a:b32 ... %b:b32} =", 6, "range"),
        ("%a:b32 =", "{%a2:b32 ... %a1:b32} =", 6, "range"),
        ("%a:b32 =", "{%a1:b32 ... %a2:b64} =", 6, "b64"),
    ],
)
def test_one_mistake_is_told_once_and_at_its_line(old: str, new: str, line: int, says: str):
    assert GOOD.count(old) == 1
    ((found, message),) = complaints(GOOD.replace(old, new))
    assert found == line
    assert says in message


def test_a_finding_says_what_was_there_and_what_would_be_right():
    (finding,) = findings(GOOD.replace("size 4", "size four"))
    assert finding.place == Place("k.mir", 3, 23)
    assert (finding.got, finding.expected) == ("four", "an integer")
    (finding,) = findings(GOOD.replace("RET", "RET %a"))
    assert finding.place == Place("k.mir", 7, 7, "k")
    assert finding.got == "%a"
    (finding,) = findings(GOOD.replace("RET", "BRA bb.exit"))
    assert (finding.got, finding.expected) == ("bb.exit", "a block of this function")


def test_an_operand_on_a_line_of_its_own_is_blamed_there():
    """And the record above it is not, though it now has an operand less."""
    text = GOOD.replace("MOV_B32 imm:1", "MOV_B32\n      a: imm:one")
    ((line, message),) = complaints(text)
    assert line == 7
    assert "imm:one" in message


def test_operands_of_an_unknown_opcode_are_not_blamed():
    text = GOOD.replace("MOV_B32 imm:1", "MVO_B32\n      a: imm:1\n      b: imm:2")
    assert [line for line, _ in complaints(text)] == [6]


def test_mistakes_in_every_part_of_a_header():
    text = GOOD.replace(
        "  param @x : u32 size 4 align 4\n",
        "  param @x : u31 size 4 align 4,\n  param @y : u32 size four align 4,\n"
        "  param @z : u32 size 4 align 4\n",
    ).replace(") {", ") regntid 32 {")
    assert [line for line, _ in complaints(text)] == [3, 4, 6]


@pytest.mark.parametrize("numbers", ["1 3", "2 3", "0 1"])
def test_locations_are_numbered_from_one_without_gaps(numbers: str):
    lines = [f'!{n} = "f":1:1\n' for n in numbers.split()]
    ((line, _),) = complaints(GOOD + "".join(lines))
    assert line in (9, 10)


def test_a_function_that_does_not_end_does_not_swallow_the_next():
    text = GOOD.replace("}\n", "") + GOOD.replace("target sm_80\n", "").replace("@k", "@l")
    ((line, message),) = complaints(text)
    assert line == 2
    assert "@k" in message


def test_every_mistake_is_reported():
    text = GOOD.replace("imm:1", "imm:one").replace("  RET", "  RTE\n  RET !x")
    assert [line for line, _ in complaints(text)] == [6, 7, 8]


def test_a_register_has_one_class():
    text = GOOD.replace("  RET", "  %b:b32 = MOV_B32 %a:b64\n  RET")
    ((line, message),) = complaints(text)
    assert line == 7
    assert "b32" in message
    assert "b64" in message


def test_an_opcode_that_is_nearly_right_names_its_family():
    ((_, message),) = complaints(GOOD.replace("MOV_B32 imm:1", "MOV_UNPACK2_B23 imm:1"))
    assert "MOV_UNPACK2" in message


def test_a_module_says_its_target():
    assert "target" in complaints(GOOD.replace("target sm_80\n", ""))[0][1]


def test_a_function_ends():
    assert complaints(GOOD.replace("}\n", ""))
