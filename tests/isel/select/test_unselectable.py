"""What cannot be selected: where it is reported, and why."""

from __future__ import annotations

import re

import pytest

from intrinsics.findings import Severity
from tests.isel.select.selected import kernel, lowered, mnemonics, only, rejected

TWO_MISTAKES = """\
declare float @llvm.sin.f32(float)

define ptx_kernel void @k(i32 %x, ptr addrspace(1) %p) {
entry:
  %a = add i32 %x, 1
  %c = call float @llvm.sin.f32(float 1.0)
    %b = call i32 @llvm.nvvm.no.such.thing(i32 %a)
  store i32 %b, ptr addrspace(1) %p
  ret void
}

declare i32 @llvm.nvvm.no.such.thing(i32)
"""


def test_every_mistake_is_told_at_once_and_in_order():
    first, second = rejected(TWO_MISTAKES)
    assert (first.rule, second.rule) == ("select/libdevice", "select/unknown-intrinsic")


def test_a_place_is_a_line_and_a_column_of_the_users_text():
    first, second = rejected(TWO_MISTAKES)
    assert str(first.place) == "k.ll:6:3, in @k"
    assert str(second.place) == "k.ll:7:5, in @k"
    for finding, word in ((first, "%c = call"), (second, "%b = call")):
        line = TWO_MISTAKES.splitlines()[finding.place.line - 1]
        assert line[finding.place.column - 1 :].startswith(word)


def test_the_line_of_the_python_that_made_it_is_told_too():
    text = """
    define ptx_kernel void @k() !dbg !3 {
      %c = call float @llvm.sin.f32(float 1.0), !dbg !4
      ret void
    }
    declare float @llvm.sin.f32(float)
    !llvm.dbg.cu = !{!0}
    !llvm.module.flags = !{!5}
    !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
    !1 = !DIFile(filename: "gemm.py", directory: "/src")
    !2 = !DISubroutineType(types: !{})
    !3 = distinct !DISubprogram(name: "k", file: !1, line: 10, type: !2, unit: !0)
    !4 = !DILocation(line: 118, column: 7, scope: !3)
    !5 = !{i32 2, !"Debug Info Version", i32 3}
    """
    (finding,) = rejected(text)
    assert finding.place.python_line == 118
    assert finding.place.python_file.endswith("gemm.py")
    assert finding.place.line == 3
    assert re.search(r"k\.ll:3:7, in @k, from .*gemm\.py:118", str(finding.place))


def test_records_carry_the_place_of_their_instruction():
    text = "define ptx_kernel void @k(ptr addrspace(1) %p) {\n  store i32 7, ptr addrspace(1) %p\n"
    module = lowered(text + "  ret void\n}\n")
    (store,) = [mi for mi in module.functions[0].instructions() if mi.row.id == "st"]
    location = module.locations[store.loc]
    assert (location.file, location.line, location.column) == ("k.ll", 2, 3)


def test_an_unknown_intrinsic_is_named_with_its_neighbours():
    text = """
    declare void @llvm.nvvm.tcgen05.wait.lb()
    define ptx_kernel void @k() {
      call void @llvm.nvvm.tcgen05.wait.lb()
      ret void
    }"""
    finding = only(rejected(text))
    assert finding.rule == "select/unknown-intrinsic"
    assert "@llvm.nvvm.tcgen05.wait.lb" in finding.message
    assert "llvm.nvvm.tcgen05.wait.ld" in finding.hint


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("llvm.nvvm.tcgen05.mma.shraed", "llvm.nvvm.tcgen05.mma.shared"),
        ("llvm.nvvm.tcgen05.ld.32x32b.x3", "llvm.nvvm.tcgen05.ld.32x32b.x32"),
        ("llvm.nvvm.mbarrier.init.shard", "llvm.nvvm.mbarrier.init.shared"),
        ("llvm.nvvm.read.ptx.sreg.tid.q", "llvm.nvvm.read.ptx.sreg.tid.x"),
        ("llvm.nvvm.barrier.cta.sync.aligned.al", "llvm.nvvm.barrier.cta.sync.aligned.all"),
    ],
)
def test_the_nearest_names_are_offered(wrong: str, right: str):
    text = f"""
    declare void @{wrong}()
    define ptx_kernel void @k() {{
      call void @{wrong}()
      ret void
    }}"""
    assert right in only(rejected(text)).hint


def test_an_instruction_without_records_is_named():
    text = """
    declare i32 @__gxx_personality_v0(...)
    define void @f({ ptr, i32 } %e) personality ptr @__gxx_personality_v0 {
      resume { ptr, i32 } %e
    }"""
    finding = only(rejected(text))
    assert finding.rule == "select/unsupported-instruction"
    assert "resume" in finding.message
    assert finding.op == "resume"


def test_a_type_without_registers_is_named():
    finding = only(rejected(kernel("  %wide = zext i32 %i to i20000")))
    assert finding.rule == "select/type"
    assert "i20000" in finding.message
    assert "integers" in finding.expected


def test_a_function_that_is_nowhere_is_named_with_its_neighbours():
    text = """
    declare void @gemm_tlie()
    define ptx_kernel void @gemm_tile() {
      call void @gemm_tlie()
      ret void
    }"""
    (note,) = lowered(text).notes
    assert note.rule == "select/extern-function"
    assert "@gemm_tlie" in note.message
    assert "gemm_tile" in note.hint


def test_a_module_that_defines_nothing_is_an_empty_one_and_a_warning():
    """clang makes such modules of files without device code; LLVM and ptxas take them."""
    found = lowered("declare void @f()\n")
    (warning,) = found.notes
    assert (warning.rule, warning.severity) == ("select/no-kernel", Severity.WARNING)
    assert found.functions == found.variables == []  # type: ignore[comparison-overlap]


def test_plain_loads_cannot_reach_tensor_memory():
    """LLVM emits a generic load here without a word."""
    finding = only(rejected(kernel("  %x = load i32, ptr addrspace(6) %t\n")))
    assert finding.rule == "select/tensor-memory"
    assert "llvm.nvvm.tcgen05.ld" in finding.hint


def test_there_is_no_generic_address_of_tensor_memory():
    finding = only(rejected(kernel("  %x = addrspacecast ptr addrspace(6) %t to ptr\n")))
    assert finding.rule == "select/addrspacecast"


def test_tensor_memory_holds_no_variables():
    text = kernel("", globals="@acc = external addrspace(6) global [128 x i32]")
    finding = only(rejected(text))
    assert finding.rule == "select/address-space"
    line = text.splitlines()[finding.place.line - 1]
    assert line[finding.place.column - 1 :].startswith("@acc =")
    assert "tcgen05.alloc" in finding.hint


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('target triple = "x86_64-unknown-linux-gnu"', "select/triple"),
        ('target triple = "nvptx-nvidia-cuda"', "select/triple"),
        ("@huge = addrspace(1) global [18446744073709551615 x i64] undef", "select/variable-size"),
        ("@big = global { i8, [1000000000 x i8] } { i8 1, [1000000000 x i8] zeroinitializer }",
         "select/initializer"),
    ],
)  # fmt: skip
def test_what_a_module_may_not_hold(line: str, rule: str):
    assert only(rejected(kernel("", globals=line))).rule == rule


@pytest.mark.parametrize("triple", ["nvptx64-nvidia-cuda", "nvptx64-nvidia-nvcl", "nvptx64"])
def test_triples_of_the_machine(triple: str):
    assert mnemonics(kernel("", globals=f'target triple = "{triple}"')) == []


def test_zeros_are_not_written_out():
    """PTX ISA, Initializers: memory of a module is zero from the start."""
    module = lowered(kernel("", globals="@z = global [1000000000 x i8] zeroinitializer"))
    assert [(v.size, v.data) for v in module.variables] == [(10**9, None)]


def test_shared_memory_has_no_initialiser():
    """PTX ISA, Initializers: only .global and .const variables take one."""
    text = kernel("", globals="@s = addrspace(3) global i32 5")
    assert only(rejected(text)).rule == "select/initializer"
