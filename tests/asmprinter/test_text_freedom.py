"""What may be written in many ways reads the same: modifier order, spaces, comments, numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.names import register_names
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.opcodes import read_opcode
from asmprinter.ptx.reading.reader import read_ptx
from asmprinter.ptx.statements import instruction
from intrinsics.catalog import find_head
from intrinsics.mir import Location, MachineInstr, Module
from intrinsics.modifiers import CachePriority, CopyFormat, ScalarType, Space
from intrinsics.modifiers.mma_sync import MmaLayout
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from tests.asmprinter.operand_strategies import NEWEST
from tests.asmprinter.ptx_texts import TENSOR_CORE, TEXTS
from tests.asmprinter.strategies import UNKNOWN_TO_NVGEN, Drawn, Record, modules, records
from tests.each import each
from tests.turns import examples

ORDERED = {
    "b2",
    *(t.value for t in (*ScalarType, *MatrixType, *MmaLayout, *Space, *CopyFormat)),
}
"""Types, layouts, formats and state spaces, whose order tells operands apart: `cvt.u32.u16`; `.b2`
of what is kept of numbers has no registers of its own."""

OPERATIONS = {o.value for o in BitOperation}
"""What single bits are multiplied and summed with, in this order: `.and.popc`."""

PRIORITIES = {p.value for p in CachePriority}
"""Of a policy the first of two is that of a part of the accesses, the other one of the rest."""


def without_places(module: Module) -> Module:
    """The module as it would be had every record the same line and column."""
    module.locations = [Location() for _ in module.locations]
    return module


# ---- modifiers -------------------------------------------------------------------------------


def shuffled(draw: st.DrawFn, mnemonic: str) -> str:
    """The modifiers behind the head in another order; types and spaces keep theirs."""
    head, modifiers = find_head(mnemonic)
    assert head is not None
    pairs = [both for both in (OPERATIONS, PRIORITIES) if len(both & {*modifiers}) == 2]
    kept = ORDERED.union(*pairs)
    free = draw(st.permutations([m for m in modifiers if m not in kept]))
    places = sorted(draw(st.permutations(range(len(modifiers))))[: len(free)])
    ordered = iter([m for m in modifiers if m in kept])
    rest = iter(free)
    mixed = [next(rest) if i in places else next(ordered) for i in range(len(modifiers))]
    return ".".join([head.text, *mixed])


@examples(300)
@given(records(), st.data())
def test_modifiers_may_stand_in_any_order(drawn: Record, data: st.DataObject):
    mnemonic = drawn.row.spell(drawn.attributes)
    mixed = data.draw(st.composite(shuffled)(mnemonic))
    (usual, *_), (found, *_) = read_opcode(mnemonic).candidates, read_opcode(mixed).candidates
    assert usual.problems == found.problems == ()
    assert (found.row, found.attributes) == (usual.row, usual.attributes)


def test_the_order_of_types_matters():
    """cvt's first type is the result's: this order is not free."""
    (narrow, *_), (widen, *_) = (
        read_opcode("cvt.u16.u32").candidates,
        read_opcode("cvt.u32.u16").candidates,
    )
    assert narrow.attributes["dtype"] is widen.attributes["atype"] is ScalarType.U16
    assert narrow.attributes["atype"] is widen.attributes["dtype"] is ScalarType.U32


# ---- spaces and comments ---------------------------------------------------------------------

_GAPS = st.sampled_from(("", " ", "\t", "\n", "\r\n", " // ; }\n", "/* ; { */", "/**/", "\n//\n\n"))


@examples(80)
@given(modules(), st.data())
def test_spaces_and_comments_between_tokens_do_not_matter(drawn: Drawn, data: st.DataObject):
    text = print_ptx(drawn.module, NEWEST).text
    header, _, body = text.partition(".address_size 64\n")
    kept = "|".join(map(re.escape, UNKNOWN_TO_NVGEN))  # as they stand, with their spaces
    pieces = re.split(rf"({kept}|\s+|[][{{}}(),;|:]+)", body)
    spread = []
    for piece in pieces:
        if piece.isspace():
            spread += [piece, data.draw(_GAPS)]
        elif re.fullmatch(r"[][{}(),;|]+", piece):
            spread += [data.draw(_GAPS), piece, data.draw(_GAPS)]
        else:
            spread.append(piece)
    loose = header + ".address_size 64\n" + "".join(spread)
    expected, found = read_ptx(text, "f.ptx"), read_ptx(loose, "f.ptx")
    assert without_places(found.module) == without_places(expected.module)
    assert [f.rule for f in found.findings] == [f.rule for f in expected.findings]


@pytest.mark.parametrize("name", TEXTS)
def test_comments_everywhere_in_real_ptx(name: str):
    text = TEXTS[name]
    loose = re.sub(r"(?<=[;,{}])[ \t]*(?![^\n]*//)", " /* here; } */ ", text)
    assert loose.count("/*") > 40
    assert without_places(read_ptx(loose, "f").module) == without_places(read_ptx(text, "f").module)


def test_the_whole_header_may_stand_on_one_line():
    """ptxas reads directives by token, not by line."""
    reading = read_ptx(".version 8.6 .target sm_100a .address_size 64 .entry k() { ret; }")
    assert reading.findings == []
    assert str(reading.module.target) == "sm_100a"
    assert str(reading.module.ptx) == "8.6"


@pytest.mark.parametrize(
    "statement",
    [
        "add.u32 %r1, %r2, %r3;",
        "add.u32 %r1,%r2,%r3;",
        "add .u32 %r1, %r2, %r3;",
        "add.u32\n\t%r1,\n\t%r2,\n\t%r3;",
        "add.u32 %r1, %r2, %r3 ;",
        "/* before */ add.u32 /* within */ %r1, %r2, %r3 // after\n;",
    ],
)
def test_one_statement_however_it_is_laid_out(statement: str):
    (record,) = body_of(statement)
    assert record.opcode == "ADD_U32"
    assert record.ops == (0, 1, 2)


@pytest.mark.parametrize("guard", ["@%p1 ", "@ %p1 ", "@%p1\n", "@/**/%p1 "])
def test_a_guard_however_it_is_laid_out(guard: str):
    (record,) = body_of(f"{guard}ret;")
    assert record.guard == 0


def body_of(statements: str) -> list[MachineInstr]:
    """The records of one kernel with these statements, which must all be understood."""
    reading = read_ptx(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.entry k()\n{\n"
        ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<9>;\n.reg .f32 %f<9>;\n"
        ".reg .f64 %fd<9>;\n" + statements + "\n}\n"
    )
    assert reading.findings == []
    return list(reading.module.functions[0].instructions())


# ---- numbers ---------------------------------------------------------------------------------


@each(
    "text, value",
    [
        ("0", 0),
        ("193", 193),
        ("193U", 193),
        ("0xC1", 193),
        ("0XC1U", 193),
        ("0301", 193),
        ("0b11000001", 193),
        ("-1", -1),
        ("-0x10", -16),
    ],
)
def test_integer_literals_in_every_base(text: str, value: int):
    """PTX ISA, Integer Constants: decimal, hexadecimal, octal and binary, U for unsigned."""
    (record,) = body_of(f"mov.b32 %r1, {text};")
    assert record.ops[1].value == value


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("0f3F800000", 0x3F800000),
        ("0F3f800000", 0x3F800000),
        ("-0f3F800000", 0xBF800000),
    ],
)
def test_f32_literals_by_their_bits(text: str, bits: int):
    (record,) = body_of(f"mov.f32 %f1, {text};")
    assert (record.ops[1].bits, record.ops[1].type) == (bits, ScalarType.F32)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("0d3FF0000000000000", 0x3FF0000000000000),
        ("1.0", 0x3FF0000000000000),
        ("1e0", 0x3FF0000000000000),
        ("-2.5", 0xC004000000000000),
    ],
)
def test_f64_literals_by_their_bits_or_as_decimals(text: str, bits: int):
    (record,) = body_of(f"mov.f64 %fd1, {text};")
    assert (record.ops[1].bits, record.ops[1].type) == (bits, ScalarType.F64)


@pytest.mark.parametrize(
    ("address", "offset"), [("%rd1", 0), ("%rd1+16", 16), ("%rd1+-16", -16), ("%rd1 + 0x10", 16)]
)
def test_addresses_with_offsets(address: str, offset: int):
    (record,) = body_of(f"ld.global.b32 %r1, [{address}];")
    assert record["a"].offset == offset


def test_negative_offsets_are_printed_as_ptxas_reads_them():
    """ptxas knows `[%rd1+-16]` and calls `[%rd1-16]` a syntax error."""
    reading = read_ptx(TENSOR_CORE.replace("+-16]", "+-0x10]"))
    function = reading.module.functions[0]
    (store,) = [mi for mi in function.instructions() if mi.row.id == "st"]
    assert store["a"].offset == -16
    assert "[%rd4+-16]" in instruction(store, register_names(function))


# ---- MIR -------------------------------------------------------------------------------------


@examples(50)
@given(modules(mir=True), st.data())
def test_comments_and_blank_lines_in_mir_do_not_matter(drawn: Drawn, data: st.DataObject):
    lines = []
    for line in print_mir(drawn.module).text.splitlines():
        bare = line.split(" ; ")[0] if '"' not in line else line
        lines.append(data.draw(st.sampled_from((line, bare + " ; ; } 1", "  " + bare + "   "))))
        lines += data.draw(st.sampled_from(([], [""], ["; nothing"], ["   "])))
    assert read_mir("\n".join(lines)) == drawn.module


@examples(50)
@given(modules(mir=True), st.data())
def test_the_header_of_a_function_may_be_broken_anywhere(drawn: Drawn, data: st.DataObject):
    def loose(match: re.Match[str]) -> str:
        header = re.sub(r"([(),:])", r" \1 ", match[0].rstrip("{"))
        gaps = st.sampled_from((" ", "  ", "\n", " ; ) {\n", "\n\n"))
        return "".join(word + data.draw(gaps) for word in header.split()) + "{"

    text = print_mir(drawn.module).text
    changed = re.sub(r"^(kernel|func) [^{]*\{$", loose, text, flags=re.MULTILINE)
    assert read_mir(changed) == drawn.module


@examples(50)
@given(modules(mir=True))
def test_the_class_of_a_register_may_be_said_once(drawn: Drawn):
    seen: set[str] = set()

    def said_once(match: re.Match[str]) -> str:
        shown = match[1] if match[1] in seen else match[0]
        seen.add(match[1])
        return shown

    lines = []
    for line in print_mir(drawn.module).text.splitlines():
        if line.startswith(("kernel ", "func ")):
            seen.clear()
        lines.append(re.sub(r"(%[\w.$]+):\w+", said_once, line))
    assert read_mir("\n".join(lines)) == drawn.module
