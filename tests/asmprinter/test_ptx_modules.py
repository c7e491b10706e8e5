"""Reading PTX modules: what is kept of them, mistakes and comments."""

from __future__ import annotations

import re

import pytest

from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from asmprinter.ptx.source import strip_comments
from intrinsics.findings import Severity
from intrinsics.mir import (
    Launch,
    Param,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.targets import TARGETS
from isel.verifier.record import verify_records
from tests.asmprinter.ptx_kernels import HEADER, assembles, back_and_forth, kernel, read
from tests.each import each

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
