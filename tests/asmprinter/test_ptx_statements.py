"""Reading statements of PTX: operands, registers, scopes and labels."""

from __future__ import annotations

import re

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from intrinsics.mir import (
    SINK,
    FloatImm,
    Imm,
    Label,
    MachineInstr,
    Mem,
    Not,
    Special,
    Sym,
    Text,
    successors,
)
from intrinsics.modifiers import MmaKind, ScalarType
from tests.asmprinter.ptx_kernels import HEADER, back_and_forth, body, kernel, read


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
