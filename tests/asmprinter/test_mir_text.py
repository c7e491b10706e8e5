"""MIR text by example: what it looks like, and what its reader says of mistakes."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from intrinsics.findings import Finding, InputError, Place
from intrinsics.mir import (
    SINK,
    FloatImm,
    Imm,
    Kept,
    Label,
    Launch,
    Location,
    Mem,
    Module,
    Not,
    Op,
    Param,
    Special,
    Sym,
    Text,
    Variable,
    Where,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.targets import PTX_VERSIONS, TARGETS
from isel.verifier.record import verify_records
from tests.asmprinter.strategies import Drawn, modules
from tests.each import each
from tests.turns import examples

EXAMPLE = """\
; comments begin with a semicolon
target sm_100a
ptx 8.6
source "gemm.ll"
extern shared @smem : size 0 align 1024
global @scale : size 4 align 4 = 0x0000803f

kernel @gemm(
  param @gemm_a : b8 size 128 align 64 constant,
  param @gemm_d : u64 size 8 align 8 ptr global 16
) reqntid 128 1 1 cluster 2 maxnreg 64 {
bb.entry:
  %tid:b32 = MOV_U32 sreg:tid.x !1
  %first:pred, _ = SETP_EQ_S32 %tid, imm:0
  @%first:pred BRA bb.once
bb.loop:                                       ; preds: bb.entry, bb.once
  %0:b64 = LD_PARAM_B64 [@gemm_d]
  %x:f32 = MOV_F32 fimm:0f3F800000
  ST_GLOBAL_B32 [%0:b64-16], %tid
  {%w:f32, %y:f32} = MOV_UNPACK2_B64 %0
  RET
bb.once:
  OPAQUE text:"nanosleep.u32 100"
  TCGEN05_MMA_CTA_GROUP1_DENSE
      d:         %tid
      a:         %0
      b:         %0
      idesc:     imm:136314896
      ctrl:      imm:193
      collector: imm:1
      enable_d:  !%first
  @!%first BRA bb.loop
}

!1 = "gemm.ll":42:3 from "gemm.py":118
"""


@pytest.fixture(scope="module")
def example() -> Module:
    return read_mir(EXAMPLE)


def test_the_module(example: Module):
    assert (example.target, str(example.ptx)) == (TARGETS["sm_100a"], "8.6")
    assert example.source == "gemm.ll"
    assert example.variables == [
        Variable("smem", Space.SHARED, 0, 1024, None, external=True),
        Variable("scale", Space.GLOBAL, 4, 4, bytes([0, 0, 0x80, 0x3F])),
    ]
    assert example.locations == [Location(), Location("gemm.ll", 42, 3, "gemm.py", 118)]


def test_the_function(example: Module):
    (function,) = example.functions
    assert (function.name, function.is_kernel, function.keep_names) == ("gemm", True, False)
    assert function.params == [
        Param("gemm_a", ScalarType.B8, 128, 64, constant=True),
        Param("gemm_d", ScalarType.U64, 8, 8, Space.GLOBAL, True, 16),
    ]
    assert function.launch == Launch((128, 1, 1), (), (2,), 64, 0)
    assert [block.name for block in function.blocks] == ["entry", "loop", "once"]


def test_the_records(example: Module):
    (function,) = example.functions
    names = function.regs.names
    tid, first = names.index("tid"), names.index("first")
    entry, loop, once = (block.instrs for block in function.blocks)
    assert entry[0].ops == (tid, Special("tid.x"))
    assert entry[0].loc == 1
    assert entry[1].ops == (first, tid, Imm(0))
    assert (entry[2].guard, entry[2].ops) == (first, (Label("once"),))
    pointer = loop[0].ops[0]
    assert function.regs.names[pointer] == ""  # a number is no name
    assert loop[0].ops == (pointer, Mem(Sym("gemm_d")))
    assert loop[1].ops[1] == FloatImm(0x3F800000, ScalarType.F32)
    assert loop[2].ops == (Mem(pointer, -16), tid)
    assert loop[3].ops == ((names.index("w"), names.index("y")), pointer)
    assert once[0].ops == (Text("nanosleep.u32 100"),)
    assert once[1]["d"] == Mem(tid)
    assert once[1].packed_fields() == {"ctrl": 193, "collector": 1}
    assert once[1]["enable_d"] == Not(first)
    assert once[2].guard == Not(first)


def test_classes_are_said_once(example: Module):
    (function,) = example.functions
    classes = dict(zip(function.regs.names, function.regs.classes, strict=True))
    assert classes["tid"] is ScalarType.B32
    assert classes["first"] is ScalarType.PRED
    assert classes["x"] is ScalarType.F32


def test_printing_and_reading_again(example: Module):
    assert read_mir(print_mir(example).text) == example


def test_a_long_record_stands_one_operand_a_line_with_its_meaning(example: Module):
    """Numbers that hide something are explained beside them."""
    lines = print_mir(example).text.splitlines()
    at = next(i for i, line in enumerate(lines) if "TCGEN05_MMA_CTA_GROUP1_DENSE" in line)
    shown = {line.split(":")[0].strip(): line for line in lines[at + 1 : at + 8]}
    assert "10522" in lines[at]
    assert list(shown) == ["d", "a", "b", "idesc", "ctrl", "collector", "enable_d"]
    assert shown["ctrl"].partition(";")[2].strip() == "kind::f16 cta_group::1"
    assert shown["collector"].partition(";")[2].strip() == "collector::a::fill"
    assert "M128 N128 K16 f32 <- f16 x f16" in shown["idesc"]
    assert len({line.index("imm:") for line in shown.values() if "imm:" in line}) == 1


def test_four_operands_stand_on_one_line():
    text = """
    target sm_80
    kernel @k(
      param @x : u32 size 4 align 4
    ) {
    bb.entry:
      %0:b32 = MAD_LO_S32 %1:b32, %2:b32, imm:-3
    }
    """
    (line,) = [line for line in printed(text).splitlines() if "MAD_LO" in line]
    assert line == "  %0:b32 = MAD_LO_S32 %1:b32, %2:b32, imm:-3"


def test_an_operand_that_may_be_left_out_is_named():
    text = """
    target sm_80
    kernel @k(
      param @x : u32 size 4 align 4
    ) {
    bb.entry:
      BAR_SYNC imm:1, count=imm:64
      BAR_SYNC imm:0
    }
    """
    module = read_mir(textwrap.dedent(text))
    counted, bare = module.functions[0].blocks[0].instrs
    assert (counted["barrier"], counted["count"]) == (Imm(1), Imm(64))
    assert bare.get("count") is None
    assert "BAR_SYNC imm:1, count=imm:64" in printed(text)


def test_a_discarded_result():
    text = """
    target sm_90
    kernel @k(
      param @x : u32 size 4 align 4
    ) {
    bb.entry:
      _ = MBARRIER_ARRIVE [%0:b64]
      _, %p:pred = ELECT_SYNC imm:-1
    }
    """
    arrive, elect = read_mir(textwrap.dedent(text)).functions[0].blocks[0].instrs
    assert arrive.get("state") is None
    assert elect.form.slots == ("elected", "membermask")
    assert "_, %p:pred = ELECT_SYNC imm:-1" in printed(text)
    assert SINK not in elect.ops


def test_blocks_say_where_control_comes_from(example: Module):
    lines = print_mir(example).text.splitlines()
    (loop,) = [line for line in lines if line.startswith("bb.loop:")]
    assert loop.partition(";")[2].strip() == "preds: bb.entry, bb.once"


def test_a_location_is_shown_beside_its_record(example: Module):
    lines = print_mir(example).text.splitlines()
    (line,) = [line for line in lines if "sreg:tid.x" in line]
    assert "!1" in line
    assert line.endswith("gemm.ll:42")


def printed(text: str) -> str:
    return print_mir(read_mir(textwrap.dedent(text))).text


@each("gap", [" ", "\n"])
@each("launch", ["", "reqntid 32 1 1"])
@each("kind", ["kernel", "func"])
def test_a_function_without_parameters(kind: str, launch: str, gap: str):
    text = f"target sm_80\n{kind} @k(){gap}{launch} {{\nbb.entry:\n  RET\n}}\n"
    module = read_mir(text)
    assert module.functions[0].params == []
    assert module.functions[0].launch.reqntid == ((32, 1, 1) if launch else ())
    assert read_mir(print_mir(module).text) == module


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\x0a", bytes(range(256)), b"\x12\xab", b"\x1e\x50", b"\xff\xff"]
)
def test_initial_values(data: bytes):
    """Whatever digits their bytes have."""
    variable = Variable("x", Space.GLOBAL, len(data), 1, data)
    module = Module(TARGETS["sm_80"], variables=[variable])
    assert read_mir(print_mir(module).text).variables == [variable]


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


def test_records_may_be_located_where_they_stand_in_the_text(example: Module):
    """For findings about MIR: the line of the `.mir` file, and what that line was made from."""
    text = print_mir(example).text
    module = read_mir(text, "gemm.mir", own_lines=True)
    lines = text.splitlines()
    records = list(module.functions[0].instructions())
    for mi in records:
        place = module.locations[mi.loc]
        assert place.file == "gemm.mir"
        assert mi.opcode in lines[place.line - 1][place.column - 1 :].split()
        assert lines[place.line - 1][: place.column - 1].isspace()
    first = module.locations[records[0].loc]
    assert (first.python_file, first.python_line) == ("gemm.ll", 42)


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


# ---- mistakes --------------------------------------------------------------------------------

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


# ---- what was kept of PTX --------------------------------------------------------------------


def test_directives_of_ptx_stand_in_mir():
    text = 'target sm_90a debug\nkept bottom ".alias f, g;"\n'
    module = read_mir(text)
    assert module.options == ("debug",)
    assert module.kept == [Kept(".alias f, g;", Where.BOTTOM)]
    assert read_mir(print_mir(module).text) == module


def test_a_directive_that_is_kept_nowhere():
    with pytest.raises(InputError) as caught:
        read_mir('target sm_90a\nkept aside ".alias f, g;"\n', "k.mir")
    (finding,) = caught.value.findings
    assert finding.place.line == 2
    assert finding.expected == "top, middle, bottom"


@pytest.mark.parametrize(
    ("initial", "says"),
    [
        ("0x0102030405060708090a", "more bytes than the variable has"),
        ("0x0000000000000000 at 1 @x 0", "an address stands among the bytes"),
        ("0x0000000000000000 at 8 @x 0", "an address stands among the bytes"),
        ("0x0000000000000000 at 0 @x 0 at 0 @x 4", "an address stands among the bytes"),
    ],
)
def test_what_a_variable_begins_with_fits_it(initial: str, says: str):
    text = f"target sm_90\nglobal @x : size 8 align 8 = {initial}\n"
    with pytest.raises(InputError) as caught:
        read_mir(text)
    (finding,) = caught.value.findings
    assert (finding.place.line, finding.message) == (2, says)


def test_what_a_parameter_is_called_is_a_string():
    """The text is the grammar's, by hand; names of the source may have any characters."""
    text = 'kernel @k(param @p: u32 size 4 align 4 called "a \\"b\\"") {\nbb.entry:\n  RET\n}\n'
    module = read_mir("target sm_90a\n" + text)
    assert [p.called for p in module.functions[0].params] == ['a "b"']
    printed = print_mir(module).text
    assert print_mir(read_mir(printed)).text == printed
