"""Reading PTX by example: what is understood, what is kept, what is wrong."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import PtxReading, read_ptx
from asmprinter.ptx.source import strip_comments
from intrinsics.findings import Severity
from intrinsics.mir import (
    SINK,
    FloatImm,
    Imm,
    Label,
    Launch,
    MachineInstr,
    Mem,
    Not,
    Param,
    Special,
    Sym,
    Text,
    successors,
)
from intrinsics.modifiers import MmaKind, ScalarType, Space
from intrinsics.targets import TARGETS
from isel.verifier.record import verify_records
from tests.each import each
from tests.oracle import ptxas

HEADER = ".version 8.6\n.target sm_100a\n.address_size 64\n"
REGISTERS = (
    ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"
)


def kernel(body: str, *, before: str = "", header: str = HEADER) -> str:
    return f"{header}{before}.visible .entry k(.param .u64 p)\n{{\n{REGISTERS}{body}\nret;\n}}\n"


def read(text: str) -> PtxReading:
    """A reading of PTX that ptxas takes, of which nothing is wrong."""
    assembles(text)
    reading = read_ptx(text, "k.ptx")
    assert [f for f in reading.findings if f.severity is Severity.ERROR] == []
    module = reading.module
    assert module.ptx is not None
    assert verify_records(module, module.target, module.ptx) == []
    return reading


def assembles(text: str) -> None:
    """ptxas takes the text; without ptxas nothing is asked."""
    try:
        path = ptxas.find_ptxas()
    except ptxas.PtxasMissingError:
        return
    found = re.search(r"\.target (\w+)", text)
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        command = [path, f"-arch={ptxas.arch_of(found[1])}", "--compile-only", "m.ptx"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, text + done.stdout + done.stderr


def back_and_forth(text: str) -> str:
    """The PTX that is printed for what was read; ptxas takes it, and it reads the same."""
    module = read(text).module
    assert module.ptx is not None
    printed = print_ptx(module, module.ptx).text
    again = read(printed).module
    for old, new in zip(module.functions, again.functions, strict=True):
        shown = [(mi.form, mi.packed_fields()) for mi in old.instructions()]
        assert [(mi.form, mi.packed_fields()) for mi in new.instructions()] == shown
    return printed


def body(statements: str, *, before: str = "") -> list[MachineInstr]:
    """The records of one kernel, without the last ret."""
    (function,) = read(kernel(statements, before=before)).module.functions
    return list(function.instructions())[:-1]


def one(statement: str) -> MachineInstr:
    (record,) = body(statement)
    return record


# ---- statements ------------------------------------------------------------------------------


def test_an_instruction_becomes_a_record():
    mi = one("tcgen05.mma.cta_group::1.kind::i8.collector::a::use [%r1], %rd1, %rd2, %r2, !%p1;")
    assert mi.opcode == "TCGEN05_MMA_CTA_GROUP1_DENSE"
    assert mi.attributes()["kind"] is MmaKind.I8
    assert isinstance(mi["d"], Mem)
    assert isinstance(mi["enable_d"], Not)


def test_matrix_operands_in_tensor_memory_stand_in_brackets():
    shared, tensor = body(
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r3], %rd2, %r2, %p1;"
    )
    assert shared.opcode == tensor.opcode
    assert shared.form is not tensor.form
    assert isinstance(tensor["a"], Mem)


def test_guards():
    plain, negated = body("@%p1 add.s32 %r1, %r1, 1;\n@!%p2 add.s32 %r1, %r1, 1;")
    assert type(plain.guard) is int
    assert isinstance(negated.guard, Not)


def test_every_kind_of_operand():
    special, symbol, number, address = body(
        "mov.u32 %r1, %laneid;\nmov.u64 %rd1, x+4;\nmov.f32 %f1, 0f40000000;\n"
        "st.global.b32 [x+8], %r1;",
        before=".global .b32 x[4];\n",
    )
    assert special.ops[1] == Special("laneid")
    assert symbol.ops[1] == Sym("x", 4)
    assert number.ops[1] == FloatImm(0x40000000, ScalarType.F32)
    assert address["a"] == Mem(Sym("x"), 8)


def test_vectors_pairs_and_sinks():
    load, split, elect = body(
        "ld.global.v2.b32 {%r1, _}, [%rd1];\nsetp.eq.s32 %p1|%p2, %r1, 3;\n"
        "elect.sync _|%p3, 0xffffffff;"
    )
    assert load.ops[0] == (load.defs()[0], SINK)
    assert len(split.defs()) == 2
    assert len(elect.defs()) == 1
    assert elect["membermask"] == Imm(0xFFFFFFFF)


@pytest.mark.parametrize(
    ("expression", "value"),
    [("1+2", 3), ("1 << 4", 16), ("(2+3)*4", 20), ("WARP_SZ", 32), ("7 & ~1", 6), ("-(3-5)", 2)],
)
def test_constant_expressions(expression: str, value: int):
    assert one(f"mov.b32 %r1, {expression};").ops[1] == Imm(value)


def test_what_ptx_has_and_nvgen_does_not_is_kept_as_it_stands():
    reading = read(kernel("istypep.texref %p1, %rd1    ;"))
    (finding,) = reading.findings
    assert finding.rule == "ptx/not-modelled"
    assert (finding.severity, finding.incomplete) == (Severity.REVIEW, True)
    assert finding.place.line == 7
    (mi, _) = reading.module.functions[0].instructions()
    assert mi.ops[0] == Text("istypep.texref %[0], %[1]")


def test_registers_of_kept_statements_stay_declared():
    printed = back_and_forth(kernel("abs.s32 %r7, %r8;\nfns.b32 %r6, %r7, 0, 1;"))
    assert "abs.s32 %r7, %r8;" in printed


TABLE = """
{
    ts: .branchtargets A, B, A;
    @!%p1 brx.idx.uni %r1, ts;
}
A:
    add.s32 %r2, %r2, 1;
B:
"""


def test_a_branch_through_a_table_has_its_labels():
    reading = read_ptx(kernel(TABLE))
    assert reading.findings == []
    (branch, _, _) = reading.module.functions[0].instructions()
    assert branch.labels() == ["A", "B", "A"]
    assert successors(reading.module.functions[0]) == [[1, 2], [2], []]
    printed = back_and_forth(kernel(TABLE))
    assert re.search(r"(\S+): \.branchtargets A, B, A;\n\s*@!%p1 brx.idx.uni %r1, \1;", printed)


def test_a_table_may_list_labels_by_their_number():
    """PTX ISA, Control Flow Directives: .branchtargets, as Parameterized Variable Names."""
    reading = read_ptx(kernel("ts: .branchtargets N<2>, M;\nbrx.idx %r1, ts;\nN0:\nN1:\nM:"))
    assert reading.findings == []
    (branch, _) = reading.module.functions[0].instructions()
    assert branch.labels() == ["N0", "N1", "M"]


WRONG_TABLES = {
    "ptx/undeclared": "ts: .branchtargets A, B;\nbrx.idx %r1, ts;\nA:",
    "ptx/duplicate-label": "A: .branchtargets A;\nbrx.idx %r1, A;\nA:",
    "ptx/declaration": "ts: .branchtargets ;\nA:",
}


@pytest.mark.parametrize("rule", WRONG_TABLES)
def test_a_table_lists_labels_of_the_function(rule: str):
    """ptxas refuses each: an unknown symbol, a label that is there twice, a syntax error."""
    assert rule in [f.rule for f in read_ptx(kernel(WRONG_TABLES[rule])).findings]


def test_a_table_stands_before_its_branch():
    """ptxas: "Label expected for forward reference of 'ts'"."""
    reading = read_ptx(kernel("brx.idx %r1, ts;\nts: .branchtargets A;\nA:"))
    assert [f.rule for f in reading.findings] == ["ptx/undeclared"]


# ---- registers and scopes --------------------------------------------------------------------


def test_registers_are_named_singly_and_in_ranges():
    (function,) = read(
        f"{HEADER}.entry k()\n{{\n.reg .b32 a, b, %r<3>;\n.reg .f32 %f<2>;\n"
        "add.s32 a, b, %r2;\nmov.f32 %f1, 0f00000000;\nret;\n}\n"
    ).module.functions
    assert function.keep_names
    classes = dict(zip(function.regs.names, function.regs.classes, strict=True))
    assert classes == {
        "a": ScalarType.B32, "b": ScalarType.B32, "%r2": ScalarType.B32, "%f1": ScalarType.F32,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["%r9", "%r09", "%r", "%q1"])
def test_registers_outside_their_range_are_not_declared(name: str):
    (finding,) = read_ptx(kernel(f"mov.b32 {name}, 0;")).findings
    assert finding.rule == "ptx/undeclared"
    assert name in finding.message


def test_a_register_hides_the_special_registers_behind_its_name():
    """ptxas takes the `.x` of `%tid.x` for a part of the register then."""
    (finding,) = read_ptx(kernel(".reg .b32 %tid;\nmov.u32 %r1, %tid.x;")).findings
    assert finding.rule == "ptx/operands"
    assert "%tid" in finding.message


def test_names_of_one_beginning_in_several_types():
    """x1 and x2 are no range when they are not of one type."""
    text = f"{HEADER}.entry k()\n{{\n.reg .b32 x1;\n.reg .b64 x2;\n"
    printed = back_and_forth(text + "mov.b32 x1, 0;\nmov.b64 x2, 0;\nret;\n}\n")
    assert "mov.b64 x2, 0;" in printed


SCOPES = """\
{{ .reg .pred done;
LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%r1], %r2;
@done bra DONE;
bra LAB_WAIT;
DONE: }}
{{ .reg .pred done;
LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 done, [%r1], %r3;
@done bra DONE;
bra LAB_WAIT;
DONE: }}
"""


def test_labels_are_local_to_their_braces():
    """Compilers paste the same wait loop again and again, each in braces of its own."""
    (function,) = read(kernel(SCOPES.format())).module.functions
    names = [block.name for block in function.blocks]
    assert len(set(names)) == len(names)
    waits = [i for i, b in enumerate(function.blocks) if b.instrs and "TRY" in b.instrs[0].opcode]
    assert len(waits) == 2
    backward = [
        names.index(mi.ops[0].name)
        for block in function.blocks
        for mi in block.instrs
        if mi.row.id == "bra" and mi.guard is None and isinstance(mi.ops[0], Label)
    ]
    assert backward == waits


def test_scopes_are_printed_so_that_they_read_the_same():
    back_and_forth(kernel(SCOPES.format()))


def test_an_inner_name_hides_an_outer_one():
    printed = back_and_forth(
        kernel("{ .reg .b64 %r1; mov.b64 %r1, 5; st.global.b64 [%rd1], %r1; } mov.b32 %r1, 6;")
    )
    assert len(re.findall(r"mov\.b64 (\S+), 5;", printed)) == 1


# ---- labels ----------------------------------------------------------------------------------


def test_control_flow():
    (function,) = read(
        kernel("@%p1 bra B;\nadd.s32 %r1, %r1, 1;\nA:\nbra.uni B;\nB:\nadd.s32 %r1, %r1, 2;")
    ).module.functions
    after = successors(function)
    at = {block.name: i for i, block in enumerate(function.blocks)}
    assert after[0] == [at["B"], 1]
    assert after[at["A"]] == [at["B"]]


@pytest.mark.parametrize(
    "labels",
    [
        "entry:\nnext:\nbra entry;",
        "bb_1:\nnext:\nbra bb_1;",
        "@%p1 bra bb_1;\nadd.s32 %r1, %r1, 1;\nbra bb_2;\nbb_1:\nbb_2:",
        "first:\nsecond:\n@%p1 bra first;\nbra second;",
        "$L_x: bra $L_x;",
        "x: bra $L_x;\n$L_x: bra x;",
    ],
)
def test_whatever_labels_are_called(labels: str):
    """Also like the names that nvgen gives to blocks without one."""
    back_and_forth(kernel(labels))


def test_a_label_that_is_nowhere():
    (finding,) = read_ptx(kernel("bra nowhere;")).findings
    assert finding.rule == "ptx/undeclared"
    assert "nowhere" in finding.message
    assert finding.place.line == 7


def test_a_label_twice():
    (finding,) = read_ptx(kernel("A:\nadd.s32 %r1, %r1, 1;\nA:")).findings
    assert finding.rule == "ptx/duplicate-label"
    assert finding.place.line == 9


def test_a_function_twice():
    text = kernel("ret;")
    again = text[text.index(".visible") :] if ".visible" in text else text[text.index(".entry") :]
    (finding,) = read_ptx(text + again).findings
    assert finding.rule == "ptx/duplicate-function"
    assert finding.place.line == text.count("\n") + 1


# ---- the module ------------------------------------------------------------------------------


def test_the_header():
    module = read(kernel("")).module
    assert (module.target, str(module.ptx)) == (TARGETS["sm_100a"], "8.6")


def test_another_target_may_be_wanted():
    reading = read_ptx(kernel(""), target=TARGETS["sm_103a"])
    assert reading.module.target is TARGETS["sm_103a"]


@pytest.mark.parametrize(
    ("header", "rule"),
    [
        ("", "ptx/no-target"),
        (".target sm_100a\n", "ptx/no-version"),
        (".version 8.9\n.target sm_100a\n", "ptx/version-unknown"),
        (".version 8.6\n.target sm_101b\n", "target/unknown"),
        (".version 8.6\n.target sm_100a\n.address_size 32\n", "ptx/address-size"),
    ],
)
def test_what_is_wrong_with_a_header(header: str, rule: str):
    assert rule in {f.rule for f in read_ptx(kernel("", header=header)).findings}


def test_launch_bounds_and_parameters():
    (function,) = read(
        f"{HEADER}.visible .entry k(\n\t.param .u64 .ptr .global .align 16 a,\n"
        "\t.param .align 64 .b8 b[128],\n\t.param .f32 c\n)\n"
        ".reqntid 128, 2, 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n.maxnreg 64\n"
        "{ ret; }\n"
    ).module.functions
    assert function.params == [
        Param("a", ScalarType.U64, 8, 8, Space.GLOBAL, True, 16),
        Param("b", ScalarType.B8, 128, 64),
        Param("c", ScalarType.F32, 4, 4),
    ]
    assert function.launch == Launch((128, 2, 1), (), (2, 1, 1), 64, 0)


@each(
    "declaration, size, align, data",
    [
        (".global .align 8 .b8 x[4] = {1, 2, 0xff, 0};", 4, 8, bytes([1, 2, 255, 0])),
        (".global .b32 x = 258;", 4, 4, bytes([2, 1, 0, 0])),
        (".global .s16 x[2] = {-1, 3};", 4, 2, bytes([255, 255, 3, 0])),
        (".global .b8 x[3] = {010, 07};", 3, 1, bytes([8, 7, 0])),
        (".global .b8 x[2][2] = {{1, 2}, {3, 4}};", 4, 1, bytes([1, 2, 3, 4])),
        (".global .f32 x[2] = {0f3F800000, 1.5};", 8, 4, bytes.fromhex("0000803f0000c03f")),
        (".global .f64 x = 0d3FF0000000000000;", 8, 8, bytes.fromhex("000000000000f03f")),
        (".global .u32 x[2] = {1 + 2, 8U};", 8, 4, bytes([3, 0, 0, 0, 8, 0, 0, 0])),
        (".shared .align 16 .b64 x[2];", 16, 16, None),
        (".extern .shared .align 16 .b8 x[];", 0, 16, None),
    ],
)
def test_variables(declaration: str, size: int, align: int, data: bytes | None):
    (variable,) = read(kernel("", before=declaration + "\n")).module.variables
    assert (variable.name, variable.size, variable.align) == ("x", size, align)
    assert variable.data == data
    assert variable.external is declaration.startswith(".extern")


def test_an_address_as_an_initial_value_is_not_lost():
    """It is understood, or said not to be; never turned into zeros without a word."""
    text = kernel("", before=".global .b32 x;\n.global .u64 y[1] = {x};\n")
    assembles(text)
    reading = read_ptx(text)
    if not reading.findings:
        assert reading.module.ptx is not None
        assert re.search(r"= \{?x", print_ptx(reading.module, reading.module.ptx).text)


def test_variables_of_a_function_stay_in_it():
    """Local memory has no variables outside; shared ones of two functions may share a name."""
    shared = ".shared .align 8 .b8 buf[16];\nst.shared.b32 [buf], %r1;\n"
    first = kernel(shared + ".local .align 8 .b8 depot[16];\nst.local.b32 [depot], %r1;")
    second = kernel(shared, header="").replace(" k(", " k2(")
    back_and_forth(first + second)


def test_functions_of_other_modules_may_be_named():
    text = kernel(
        "mov.u64 %rd1, foo;\n{ .param .b64 a0; .param .b32 r0; st.param.b64 [a0], %rd1;\n"
        "call (r0), foo, (a0);\nld.param.b32 %r1, [r0]; }",
        before=".extern .func (.param .b32 r) foo (.param .b64 a);\n",
    )
    read(text)


def test_debug_information_is_kept_beside_the_records():
    text = (
        HEADER + '.file 1 "/src/k.cu"\n.entry k()\n{\n.loc 1 3 0\n.pragma "nounroll";\nret;\n}\n'
        ".section .debug_str\n{\n.b8 1, 2\n}\n"
    )
    reading = read_ptx(text)
    assert reading.findings == []
    module = reading.module
    (ret,) = module.functions[0].instructions()
    assert ret.opcode == "RET"
    location = module.locations[ret.loc]
    assert location.directives == '.loc 1 3 0\n.pragma "nounroll";'
    assert (location.python_file, location.python_line) == ("/src/k.cu", 3)
    assert [kept.text for kept in module.kept] == [
        '.file 1 "/src/k.cu"', ".section .debug_str\n{\n.b8 1, 2\n}",
    ]  # fmt: skip


def test_vector_registers():
    """`.reg .v4 .f32 v` is one name for four registers: understood, or said not to be."""
    text = kernel(".reg .v4 .f32 v;\nld.global.v4.f32 v, [%rd1];")
    assembles(text)
    reading = read_ptx(text)
    module = reading.module
    assert module.ptx is not None
    errors = [*reading.findings, *verify_records(module, module.target, module.ptx)]
    assert [f for f in errors if not f.incomplete] == []


# ---- mistakes --------------------------------------------------------------------------------


@each(
    "statement, rule, column",
    [
        ("frobnicate.u32 %r1;", "ptx/unknown-instruction", 1),
        ("  add.u33 %r1, %r2, %r3;", "ptx/types", 3),
        ("add.u32 %r1, %r2;", "ptx/operands", 1),
        ("add.u32 %r1, %r2, ;", "ptx/operands", 1),
        ("add.u32 %r1, %r2, %x9;", "ptx/undeclared", 1),
        ("add.u32 %r1, %r2, {%r3;", "ptx/operands", 1),
        ("@%r1 ret;", "ptx/guard", 1),
        ("@%p99 ret;", "ptx/guard", 1),
        ("tcgen05.ld.sync.aligned.32x32b.b32 {%r1}, [%r2];", "ptx/missing-modifier", 1),
        ("tcgen05.ld.sync.aligned.32x32b.x3.b32 {%r1}, [%r2];", "ptx/unknown-modifier", 1),
        ("tcgen05.ld.sync.aligned.32x32b.x1.x1.b32 {%r1}, [%r2];", "ptx/duplicate-modifier", 1),
        (".reg .b33 %x;", "ptx/declaration", 1),
        ("???;", "ptx/syntax", 1),
    ],
)
def test_a_mistake_is_told_where_it_stands(statement: str, rule: str, column: int):
    reading = read_ptx(kernel(f"add.s32 %r1, %r1, 1;\n{statement}\nadd.s32 %r1, %r1, 2;"), "k.ptx")
    assert rule in {f.rule for f in reading.findings}
    for finding in reading.findings:
        assert (finding.place.line, finding.place.column) == (8, column)
        assert finding.place.file == "k.ptx"
        assert finding.place.function == "k"
        assert finding.severity is Severity.ERROR
    (function,) = reading.module.functions
    assert [mi.opcode for mi in function.instructions()] == ["ADD_S32", "ADD_S32", "RET"]


def test_a_missing_modifier_says_what_would_do():
    reading = read_ptx(kernel("tcgen05.alloc.sync.aligned.b32 [%rd1], 32;"))
    (finding,) = reading.findings
    assert finding.op == "tcgen05.alloc"
    assert finding.expected == ".cta_group::1 or .cta_group::2"
    assert finding.section == "PTX ISA, tcgen05.alloc"


@each(
    "text",
    ["", "{ }", "}", "{", "ret;", "x:", ";", ".entry k() {", ".reg .b32 x;", "@", ".version"],
)
def test_fragments_are_reported_and_nothing_is_raised(text: str):
    assert read_ptx(HEADER + text).module.target is TARGETS["sm_100a"]
    if text not in ("", ";"):
        assert read_ptx(HEADER + text).findings


def test_an_unclosed_function_is_reported_and_kept():
    reading = read_ptx(kernel("").rstrip().removesuffix("}"))
    (finding,) = reading.findings
    assert "}" in finding.message
    assert [f.name for f in reading.module.functions] == ["k"]


# ---- comments --------------------------------------------------------------------------------


def test_comments_are_blanked_so_that_every_place_stays():
    text = 'a // b ; "c\n/* d\ne */ f "// no /* comment" g'
    stripped = strip_comments(text)
    assert len(stripped) == len(text)
    assert [i for i, c in enumerate(text) if c == "\n"] == [
        i for i, c in enumerate(stripped) if c == "\n"
    ]
    assert stripped.split() == ["a", "f", '"//', "no", "/*", 'comment"', "g"]


def test_a_semicolon_in_a_string_ends_nothing():
    text = HEADER + '.entry k()\n{\n.pragma "a;b{";\nret;\n}\n'
    assert read_ptx(text).findings == []
