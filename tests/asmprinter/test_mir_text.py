"""MIR text by example: what it looks like, and what is kept of PTX."""

from __future__ import annotations

import textwrap

import pytest

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from intrinsics.findings import InputError
from intrinsics.mir import (
    SINK,
    DirectivePosition,
    FloatImm,
    Imm,
    KeptDirective,
    Label,
    Launch,
    Location,
    Mem,
    Module,
    Not,
    Param,
    Special,
    Sym,
    Text,
    Variable,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.targets import TARGETS
from tests.asmprinter.mir_texts import EXAMPLE, printed
from tests.each import each


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


def test_directives_of_ptx_stand_in_mir():
    text = 'target sm_90a debug\nkept bottom ".alias f, g;"\n'
    module = read_mir(text)
    assert module.options == ("debug",)
    assert module.kept == [KeptDirective(".alias f, g;", DirectivePosition.BOTTOM)]
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
