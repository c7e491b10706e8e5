"""Names, strings, numbers and places of MIR text, in every spelling that there is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from intrinsics.mir import (
    FloatImm,
    Imm,
    Label,
    Launch,
    Location,
    Mem,
    Module,
    Op,
    Param,
    Special,
    Sym,
    Text,
)
from intrinsics.modifiers import ScalarType
from intrinsics.targets import PTX_VERSIONS
from isel.verifier.record import verify_records
from tests.asmprinter.mir_texts import EXAMPLE, printed
from tests.asmprinter.strategies import Drawn, modules
from tests.each import each
from tests.turns import examples

# ---- names -----------------------------------------------------------------------------------

TWO_REGISTERS = """\
target sm_80
kernel @k(
  param @x : u32 size 4 align 4
) {
bb.entry:
  %a:b32 = MOV_B32 imm:1
  %b:b32 = MOV_B32 %a
  RET
}
"""

ODD_NAMES = (
    "a b", "x-y", "é", 'q"q', "1st", "a.0", ".lr.ph", "a..b", "%", "%1", "%a b", "x:b32", "7", "",
    "a;b", "back\\slash", "two\nlines", "\r", "tab\t", "\u2028", "\ud800", "x#2", "@x", "bb.x",
    "imm:1", "...", "named", "_",
)  # fmt: skip
"""LLVM's names are made of any characters; PTX's are plain, but begin with `%`."""


def registers_read_back(names: list[str], *, keep: bool = False) -> list[str]:
    """What the two registers are called after printing and reading; two they are in any case."""
    module = read_mir(TWO_REGISTERS)
    function = module.functions[0]
    function.regs.names[:] = names
    function.keep_names = keep
    back = read_mir(print_mir(module).text)
    assert back == module
    assert [mi.ops for mi in back.functions[0].instructions()] == [(0, Imm(1)), (1, 0), ()]
    return back.functions[0].regs.names


@each("name", ODD_NAMES, ids=ascii)
def test_registers_may_have_any_name_that_llvm_allows(name: str):
    assert registers_read_back([name, "b"]) == [name, "b"]


@each("name", [n for n in ODD_NAMES if n], ids=ascii)
def test_two_registers_stay_two_though_they_have_one_name(name: str):
    assert registers_read_back([name, name]) == [name, name]


@each("name", ["%r1", "acc0", "%_x", "_x", "%%", *ODD_NAMES], ids=ascii)
def test_names_of_registers_that_ptx_gave(name: str):
    """They go back into PTX as they are, so the `%` matters, and a number is a name."""
    assert registers_read_back([name, "%p"], keep=True) == [name, "%p"]
    assert registers_read_back([name, name], keep=True) == [name, name]


def test_plain_names_are_not_quoted():
    text = print_mir(read_mir(TWO_REGISTERS)).text
    assert '"' not in text
    assert "  %b:b32 = MOV_B32 %a:b32" in text.splitlines()


@each("name", ODD_NAMES, ids=ascii)
def test_blocks_may_have_any_name(name: str):
    """PTX that was read has blocks without a label, which are called `%1`, `%2`, …"""
    module = read_mir(TWO_REGISTERS.replace("RET", "BRA bb.next\nbb.next:\n  RET"))
    function = module.functions[0]
    branch, block = function.blocks[0].instrs[-1], function.blocks[1]
    block.name = name
    branch.ops = (Label(name),)
    assert read_mir(print_mir(module).text) == module


def test_labels_that_begin_with_a_percent_sign_are_not_quoted():
    text = TWO_REGISTERS.replace("RET", "BRA bb.%1\nbb.%1:\n  RET")
    assert read_mir(text).functions[0].blocks[1].name == "%1"
    assert "bb.%1:" in printed(text)


@each("name", ODD_NAMES, ids=ascii)
def test_symbols_may_have_any_name(name: str):
    module = read_mir(EXAMPLE)
    function = module.functions[0]
    module.variables = [replace(module.variables[0], name=name)]
    function.name = name
    function.params = [replace(function.params[0], name=name)]
    function.blocks[0].instrs[0].ops = (0, Sym(name))
    assert read_mir(print_mir(module).text) == module


def test_an_offset_behind_a_register_whose_class_is_known():
    """The class may be left out; the minus sign is no part of the name."""
    text = TWO_REGISTERS.replace("  RET", "  ST_B32 [%p:b64-16], %a\n  ST_B32 [%p-16], %b\n  RET")
    first, second = [mi for mi in read_mir(text).functions[0].instructions() if mi.row.id == "st"]
    assert first["a"] == second["a"] == Mem(2, -16)


def test_a_minus_sign_within_quotes_is_part_of_the_name():
    text = TWO_REGISTERS.replace("  RET", '  ST_B32 [%"p-16":b64], %a\n  RET')
    function = read_mir(text).functions[0]
    assert function.regs.names == ["a", "b", "p-16"]
    assert function.blocks[0].instrs[2]["a"] == Mem(2)


def test_quotes_alone_make_no_other_register():
    text = TWO_REGISTERS.replace("MOV_B32 %a", 'MOV_B32 %"a"')
    assert read_mir(text) == read_mir(TWO_REGISTERS)


def test_a_range_of_registers():
    """`%v.2` to `%v.5`, in that order; one class is enough for all of them."""
    for end in ("%v.5", "%v.5:b32"):
        line = "{%v.2:b32 ... " + end + "} = LD_GLOBAL_V4_B32 [%p:b64]"
        function = read_mir(TWO_REGISTERS.replace("RET", line + "\n  RET")).functions[0]
        assert function.regs.names == ["a", "b", "v.2", "v.3", "v.4", "v.5", "p"]
        assert function.blocks[0].instrs[2].ops == ((2, 3, 4, 5), Mem(6))


# ---- strings and numbers ---------------------------------------------------------------------

TEXTS = ('a "b"', "C:\\dir\\new", "two\nlines", "\r\n", "é → \U0001f600", "\0", "\u2028", ";", "\\")


@each("text", TEXTS, ids=ascii)
def test_strings_hold_any_text(text: str):
    """The module's source, the files of locations, and statements that were kept as text."""
    module = read_mir(EXAMPLE)
    module.source = text
    module.locations[1] = Location(text, 1, 2, text, 3)
    opaque = module.functions[0].blocks[2].instrs[0]
    opaque.ops = (Text(text),)
    shown = print_mir(module).text
    assert read_mir(shown) == module
    assert len(shown.splitlines()) == shown.count("\n")


def test_escapes():
    line = r'source "\"\\\n\r\t\u{e9}\u{1F600}é"'
    module = read_mir(f"target sm_80\n{line}\n")
    assert module.source == '"\\\n\r\t\u00e9\U0001f600\u00e9'
    assert r'source "\"\\\n\r\té😀é"' in print_mir(module).text  # what prints stands as it is


@each(
    "shown, operand",
    [
        ("@x", Sym("x")), ("@x+16", Sym("x", 16)), ("@x-16", Sym("x", -16)),
        ("@x - 16", Sym("x", -16)), ("fimm:0f3F800000", FloatImm(0x3F800000, ScalarType.F32)),
        ("fimm:0dBff0000000000000", FloatImm(0xBFF0000000000000, ScalarType.F64)),
        ("imm:-1", Imm(-1)), ("imm:18446744073709551615", Imm(2**64 - 1)),
        ("sreg:clock64", Special("clock64")),
    ],
)  # fmt: skip
def test_what_a_move_may_read(shown: str, operand: Op):
    module = read_mir(TWO_REGISTERS.replace("RET", f"%c:b64 = MOV_B64 {shown}\n  RET"))
    assert module.functions[0].blocks[0].instrs[2].ops[1] == operand
    assert read_mir(print_mir(module).text) == module


@pytest.mark.parametrize(
    ("shown", "operand"),
    [
        ("[@x]", Mem(Sym("x"))), ("[@x+16]", Mem(Sym("x"), 16)), ("[@x-16]", Mem(Sym("x"), -16)),
        ("[%p:b64]", Mem(2)), ("[%p:b64+16]", Mem(2, 16)), ("[%p:b64 - 16]", Mem(2, -16)),
    ],
)  # fmt: skip
def test_addresses(shown: str, operand: Op):
    module = read_mir(TWO_REGISTERS.replace("RET", f"ST_B32 {shown}, %a\n  RET"))
    assert module.functions[0].blocks[0].instrs[2]["a"] == operand
    assert read_mir(print_mir(module).text) == module


# ---- headers and places ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        "kernel @k(param @x : u32 size 4 align 4) reqntid 32 2 named {",
        "kernel @k(\n  param @x : u32 size 4 align 4\n) reqntid 32 2 named {",
        "kernel\n@k\n(\nparam @x\n: u32 size 4 ; comment\nalign 4,\n)\n\nnamed\nreqntid 32\n2\n{",
    ],
)
def test_a_header_may_be_broken_anywhere(header: str):
    (function,) = read_mir(f"target sm_80\n{header}\nbb.entry:\n  RET\n}}\n").functions
    assert function.params == [Param("x", ScalarType.U32, 4, 4)]
    assert function.launch == Launch(reqntid=(32, 2))
    assert function.keep_names


def test_a_pointer_into_no_space_in_particular():
    text = TWO_REGISTERS.replace("u32 size 4 align 4", "u64 size 8 align 8 ptr generic 4")
    assert read_mir(text).functions[0].params == [
        Param("x", ScalarType.U64, 8, 8, None, is_pointer=True, pointee_align=4)
    ]
    assert read_mir(printed(text)) == read_mir(text)


def test_a_rule_that_a_record_breaks_is_told_at_its_line():
    """`imm:705` sets bit 9 of the control word, one of those that must be zero."""
    text = EXAMPLE.replace("imm:193", "imm:705")
    module = read_mir(text, "g.mir", own_lines=True)
    found = [
        (f.place.file, text.splitlines()[f.place.line - 1].strip())
        for f in verify_records(module, module.target, PTX_VERSIONS[-1])
        if f.rule == "tcgen05.mma/reserved-bits"
    ]
    assert found == [("g.mir", "TCGEN05_MMA_CTA_GROUP1_DENSE")]


# ---- any names at all ------------------------------------------------------------------------

ANY_NAMES = st.one_of(st.sampled_from(ODD_NAMES), st.text(max_size=4))


def rename(module: Module, data: st.DataObject) -> None:
    """Give everything in `module` that has a name another one."""

    def other(op: Op) -> Op:
        match op:
            case tuple():
                return tuple(other(part) for part in op)  # type: ignore[misc]
            case Label(name):
                return Label(blocks[name])
            case Sym():
                return Sym(symbol, op.offset)
            case Text():
                return Text(symbol)
            case Mem(Sym()):
                return Mem(Sym(symbol), op.offset)
        return op

    symbol = data.draw(ANY_NAMES)
    module.source = data.draw(ANY_NAMES)
    for function in module.functions:
        function.name = data.draw(ANY_NAMES)
        for reg in range(min(len(function.regs), 8)):
            function.regs.names[reg] = data.draw(ANY_NAMES)
        count = len(function.blocks)
        fresh = data.draw(st.lists(ANY_NAMES, min_size=count, max_size=count, unique=True))
        blocks = dict(zip((block.name for block in function.blocks), fresh, strict=True))
        for block in function.blocks:
            block.name = blocks[block.name]
            for mi in block.instrs:
                mi.ops = tuple(map(other, mi.ops))


@examples(100)
@given(modules(mir=True), st.data())
def test_whatever_things_are_called(drawn: Drawn, data: st.DataObject):
    rename(drawn.module, data)
    text = print_mir(drawn.module).text
    assert read_mir(text) == drawn.module
    assert print_mir(read_mir(text)).text == text
