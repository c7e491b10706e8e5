"""Selection: which records an instruction becomes, and what is said when it becomes none.

A failure is an exception with a finding for every instruction that could not be selected, each at
the line and column of the user's own text.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from llvmlite import binding

from asmprinter.ptx.printer import print_ptx
from intrinsics.findings import Finding, SelectionError, Severity
from intrinsics.mir import Launch, MachineInstr, Mem, Module, Sym
from intrinsics.modifiers import ScalarType, Space
from intrinsics.targets import PTX_VERSIONS, TARGETS, parse_ptx
from isel.llvm.reader import read_module
from isel.pipeline import lower
from isel.places.align import align_places
from isel.select.locations import Source
from tests.each import each
from tests.isel.llvm.llvm_corpus import print_of


def lowered(text: str, *, target: str = "sm_100a", ptx: str = "", file: str = "k.ll") -> Module:
    """`text` after all passes, with the places of its own lines."""
    module = read_module(print_of(text))
    source = Source(file, align_places(module, text), text)
    return lower(module, TARGETS[target], parse_ptx(ptx) if ptx else None, source)


def rejected(text: str, *, target: str = "sm_100a", ptx: str = "") -> list[Finding]:
    """The findings with which selection refuses `text`."""
    with pytest.raises(SelectionError) as caught:
        lowered(text, target=target, ptx=ptx)
    assert all(f.severity is Severity.ERROR for f in caught.value.findings)
    return list(caught.value.findings)


def lines_of(text: str, *, target: str = "sm_100a") -> list[str]:
    """The statements of the only kernel as PTX, without its parameters' loads and its ret."""
    module = lowered(text, target=target)
    body = print_ptx(module, PTX_VERSIONS[-1]).text.partition("\n{\n")[2].splitlines()
    found = [line.strip() for line in body if line.startswith("\t") and ".reg ." not in line]
    return [line for line in found if "ld.param" not in line and line != "ret;"]


def mnemonics(text: str, *, target: str = "sm_100a") -> list[str]:
    return [line.split()[0].rstrip(";") for line in lines_of(text, target=target)]


ARGUMENTS = (
    "i16 %h, i32 %i, i32 %j, i64 %l, i64 %m, ptr %g, ptr addrspace(1) %p, "
    "ptr addrspace(3) %s, ptr addrspace(6) %t"
)


LAYOUT = 'target datalayout = "e-p6:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64"'
"""LLVM's own for this target: i64 is aligned to 8 bytes, without it to 4."""


def kernel(body: str, *, globals: str = "") -> str:
    """A kernel with an argument of most types; `c` comes from a comparison."""
    return (
        f"{LAYOUT}\n{globals}\ndefine ptx_kernel void @k({ARGUMENTS}) {{\nentry:\n"
        f"  %c = icmp eq i32 %i, %j\n{body}\n  ret void\n}}\n"
    )


def statements(body: str, *, globals: str = "") -> list[str]:
    """The PTX of `body`, without the comparison that makes `c` where nothing uses it."""
    return lines_of(kernel(body, globals=globals))


# ---- what cannot be selected: where ----------------------------------------------------------

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


# ---- what cannot be selected: why ------------------------------------------------------------


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


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


# ---- immediates ------------------------------------------------------------------------------


def unverified(text: str) -> Module:
    """Selection of a text that LLVM's verifier has not seen."""
    with binding.parse_assembly(text, context=binding.create_context()) as module:
        printed = str(module)
    return lower(read_module(printed), TARGETS["sm_100a"])


MMA = "call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %t, i64 %l, i64 %l, i32 %i, i1 {})"


@pytest.mark.parametrize(
    ("flags", "qualifier", "value"),
    [
        ("true, i32 5, i32 1, i32 0", "kind", "5"),
        ("true, i32 0, i32 3, i32 0", "cta_group", "3"),
        ("true, i32 0, i32 0, i32 0", "cta_group", "0"),
        ("true, i32 0, i32 1, i32 4", "collector_a", "4"),
    ],
)
def test_an_immediate_that_means_nothing(flags: str, qualifier: str, value: str):
    """LLVM's verifier rejects most of these; selection does not rely on it."""
    with pytest.raises(SelectionError) as caught:
        unverified(kernel("  " + MMA.format(flags)))
    finding = only(list(caught.value.findings))
    assert finding.rule == "select/immediate"
    assert qualifier in finding.message
    assert finding.got == value
    assert "1" in finding.expected


def test_an_immediate_that_is_no_constant():
    with pytest.raises(SelectionError) as caught:
        unverified(kernel("  " + MMA.format("true, i32 %i, i32 1, i32 0")))
    finding = only(list(caught.value.findings))
    assert finding.rule == "select/immediate"
    assert "kind" in finding.message


# LLVM 22's immediates: kinds, and what the collector does.  PTX's spellings beside them.
KINDS = ("f16", "tf32", "f8f6f4", "i8")
COLLECTOR = ("discard", "lastuse", "fill", "use")


@each("kind", range(4))
@each("collector", range(4))
@each("group", [1, 2])
def test_the_immediates_of_an_mma(kind: int, collector: int, group: int):
    flags = f"true, i32 {kind}, i32 {group}, i32 {collector}"
    (found,) = mnemonics(kernel("  " + MMA.format(flags)))
    assert found == (
        f"tcgen05.mma.cta_group::{group}.kind::{KINDS[kind]}.collector::a::{COLLECTOR[collector]}"
    )


@each("buffer", range(4))
@each("op", range(4))
def test_the_immediates_of_a_weight_stationary_mma(buffer: int, op: int):
    """LLVM gives the buffer of B and what it does as two numbers."""
    call = MMA.replace("mma.shared", "mma.ws.shared").format(f"true, i32 0, i32 {buffer}, i32 {op}")
    (found,) = mnemonics(kernel("  " + call))
    assert found == (f"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b{buffer}::{COLLECTOR[op]}")


@pytest.mark.parametrize(("pack", "tail"), [("false", ""), ("true", ".pack::16b")])
def test_the_packing_of_a_tensor_memory_load(pack: str, tail: str):
    text = kernel(
        "  %v = call <2 x i32> @llvm.nvvm.tcgen05.ld.16x64b.x2("
        f"ptr addrspace(6) %t, i1 {pack})\n  store <2 x i32> %v, ptr addrspace(1) %p"
    )
    assert f"tcgen05.ld.sync.aligned.16x64b.x2{tail}.b32" in mnemonics(text)


# ---- targets ---------------------------------------------------------------------------------


def named_in(text: str) -> set[str]:
    """The targets that a text names; `sm_100a/f` is two."""
    found: set[str] = set()
    for number, suffixes in re.findall(r"sm_(\d+)((?:[af](?:/[af])*)?)", text):
        found.update(f"sm_{number}{suffix}" for suffix in suffixes.split("/"))
    return found


LD = "  %r = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %t, i1 false)"


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100", "sm_103", "sm_120a", "sm_121f"])
def test_a_target_without_the_instruction(target: str):
    finding = only(rejected(kernel(LD), target=target))
    assert finding.rule == "select/target"
    assert finding.message == (
        "tcgen05.ld supported only on arch-conditional or family-conditional variants from SM100 "
        "onwards."
    )
    assert named_in(finding.got) == {target}
    works = {f"sm_{number}{suffix}" for number in (100, 101, 103, 107, 110) for suffix in "af"}
    assert named_in(finding.expected) == works
    assert named_in(finding.hint) == works
    assert finding.section.startswith("PTX ISA")


def test_a_version_of_ptx_without_the_instruction():
    """fence.proxy.async came with PTX 8.0; sm_90 with 7.8."""
    text = kernel("  call void @llvm.nvvm.fence.proxy.async()")
    assert mnemonics(text, target="sm_90") == ["fence.proxy.async"]
    finding = only(rejected(text, target="sm_90", ptx="7.8"))
    assert finding.rule == "select/target"
    assert "8.0" in finding.message
    assert "7.8" in finding.got


@pytest.mark.parametrize("target", ["sm_100a", "sm_100f", "sm_103f", "sm_107a", "sm_110a"])
def test_a_target_with_the_instruction(target: str):
    assert "tcgen05.ld.sync.aligned.32x32b.x1.b32" in mnemonics(kernel(LD), target=target)


# ---- the signature ---------------------------------------------------------------------------


def test_a_call_with_the_wrong_number_of_arguments():
    text = """
    declare void @llvm.nvvm.tcgen05.wait.ld(i32)
    define ptx_kernel void @k() {
      call void @llvm.nvvm.tcgen05.wait.ld(i32 0)
      ret void
    }"""
    with pytest.raises(SelectionError) as caught:
        unverified(text)
    finding = only(list(caught.value.findings))
    assert finding.rule == "select/signature"
    assert "1 arguments" in finding.got


CYCLE = """
import gc
import nvgen
from intrinsics.findings import SelectionError

TEXT = '''
declare void @helper()
define ptx_kernel void @k() {
  call void @helper()
  ret void
}
'''


def fail() -> None:
    try:
        nvgen.compile(TEXT, target="sm_100a")
    except SelectionError as error:
        kept = [error]  # the error, its traceback, this frame, the list, the error


for _ in range(50):
    fail()
    gc.collect()
print("alive")
"""


@pytest.mark.turns(3)
def test_an_error_that_is_kept_does_not_end_the_process():
    """Whatever order Python frees an error's frames in, LLVM's modules go before their contexts."""
    done = subprocess.run([sys.executable, "-c", CYCLE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


# ---- ordinary instructions -------------------------------------------------------------------


@each(
    "instruction, ptx",
    [
        ("add i32 %i, %j", "add.s32"),
        ("add i64 %l, %m", "add.s64"),
        ("sub i32 %i, %j", "sub.s32"),
        ("mul i64 %l, %m", "mul.lo.s64"),
        ("and i32 %i, %j", "and.b32"),
        ("or i64 %l, %m", "or.b64"),
        ("xor i32 %i, %j", "xor.b32"),
        ("shl i32 %i, 3", "shl.b32"),
        ("lshr i32 %i, %j", "shr.u32"),
        ("ashr i64 %l, 5", "shr.s64"),
    ],
)
def test_integer_arithmetic(instruction: str, ptx: str):
    type_ = instruction.split()[1]
    body = f"  %x = {instruction}\n  store {type_} %x, ptr addrspace(1) %p"
    found = [line.split()[0] for line in statements(body)]
    assert found == [ptx, f"st.global.b{type_[1:]}"]


@each(
    "predicate, ptx",
    [
        ("eq", "setp.eq.b32"), ("ne", "setp.ne.b32"),
        ("ult", "setp.lt.u32"), ("ule", "setp.le.u32"),
        ("ugt", "setp.gt.u32"), ("uge", "setp.ge.u32"),
        ("slt", "setp.lt.s32"), ("sle", "setp.le.s32"),
        ("sgt", "setp.gt.s32"), ("sge", "setp.ge.s32"),
    ],
)  # fmt: skip
def test_comparisons_know_their_signs(predicate: str, ptx: str):
    body = f"""  %x = icmp {predicate} i32 %i, %j
      %y = select i1 %x, i32 %i, i32 %j
      store i32 %y, ptr addrspace(1) %p"""
    found = statements(body)
    assert [line.split()[0] for line in found] == [ptx, "selp.b32", "st.global.b32"]
    left, right = re.findall(r"%r\d+", found[0])
    assert re.findall(r"%r\d+", found[1])[1:] == [left, right]


def test_constants_on_the_left_go_into_a_register():
    body = "  %x = sub i32 10, %i\n  store i32 %x, ptr addrspace(1) %p"
    found = [line.split()[0] for line in statements(body)]
    assert found == ["mov.b32", "sub.s32", "st.global.b32"]


@pytest.mark.parametrize(
    ("cast", "ptx"),
    [
        ("zext i32 %i to i64", "cvt.u64.u32"),
        ("sext i32 %i to i64", "cvt.s64.s32"),
        ("trunc i64 %l to i32", "cvt.u32.u64"),
        ("zext i16 %h to i32", "cvt.u32.u16"),
    ],
)
def test_integer_casts(cast: str, ptx: str):
    type_ = cast.rpartition(" ")[2]
    body = f"  %x = {cast}\n  store {type_} %x, ptr addrspace(1) %p"
    assert next(line.split()[0] for line in statements(body)) == ptx


def test_vectors_cost_no_record():
    """Elements are registers: taking a vector apart and putting it together moves nothing."""
    body = """  %v = load <2 x i32>, ptr addrspace(1) %p, align 8
      %a = extractelement <2 x i32> %v, i32 0
      %b = extractelement <2 x i32> %v, i32 1
      %w0 = insertelement <2 x i32> poison, i32 %b, i32 0
      %w = insertelement <2 x i32> %w0, i32 %a, i32 1
      %w2 = shufflevector <2 x i32> %w, <2 x i32> poison, <2 x i32> <i32 1, i32 0>
      store <2 x i32> %w2, ptr addrspace(1) %p, align 8"""
    load, store = statements(body)
    assert load.startswith("ld.global.v2.b32 ")
    assert store.startswith("st.global.v2.b32 ")
    assert re.findall(r"\{.*\}", load) == re.findall(r"\{.*\}", store)


@pytest.mark.parametrize(
    ("type_", "align", "expected"),
    [
        ("<4 x i32>", 16, ["ld.global.v4.b32"]),
        ("<4 x i32>", 8, ["ld.global.v2.b32"] * 2),
        ("<4 x i32>", 4, ["ld.global.b32"] * 4),
        ("<3 x i32>", 16, ["ld.global.v2.b32", "ld.global.b32"]),
        ("<2 x i64>", 16, ["ld.global.v2.b64"]),
        ("i16", 2, ["ld.global.b16"]),
    ],
)
def test_loads_move_no_more_at_once_than_their_alignment_allows(
    type_: str, align: int, expected: list[str]
):
    body = f"""  %v = load {type_}, ptr addrspace(1) %p, align {align}
      store volatile {type_} %v, ptr addrspace(1) %p, align {align}"""
    found = [line.split()[0] for line in statements(body)]
    assert [name for name in found if name.startswith("ld")] == expected


@pytest.mark.parametrize(
    ("space", "ptx"), [("", ".global"), (" addrspace(1)", ".global"), (" addrspace(3)", ".shared")]
)
def test_address_spaces(space: str, ptx: str):
    name = {"": "%g", " addrspace(1)": "%p", " addrspace(3)": "%s"}[space]
    (store,) = statements(f"  store i32 1, ptr{space} {name}")
    assert store.startswith(f"st{ptx}.b32 [")


# ---- addresses -------------------------------------------------------------------------------


def stores(body: str, *, globals: str = "") -> list[MachineInstr]:
    module = lowered(kernel(body, globals=globals))
    return [mi for mi in module.functions[0].instructions() if mi.row.id == "st"]


def test_a_constant_index_goes_into_the_address():
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 3
      store i32 1, ptr addrspace(1) %p
      store i32 2, ptr addrspace(1) %q"""
    first, second = stores(body)
    assert (first["a"].offset, second["a"].offset) == (0, 12)
    assert first["a"].base == second["a"].base


def test_constant_indices_add_up():
    body = """  %q = getelementptr [8 x i32], ptr addrspace(1) %p, i64 1, i64 2
      %r = getelementptr i16, ptr addrspace(1) %q, i64 5
      store i32 1, ptr addrspace(1) %r"""
    (store,) = stores(body)
    assert store["a"].offset == 32 + 8 + 10


def test_a_field_of_a_struct_goes_into_the_address():
    """i64 is aligned to 8: the second field begins there, and the struct takes 24 bytes."""
    body = """  %q = getelementptr { i8, i64, i16 }, ptr addrspace(1) %p, i64 2, i32 1
      store i64 1, ptr addrspace(1) %q"""
    (store,) = stores(body)
    assert store["a"].offset == 2 * 24 + 8


def test_the_constant_part_behind_a_variable_one():
    body = """  %q = getelementptr { i32, [4 x i32] }, ptr addrspace(1) %p, i32 %i, i32 1, i64 3
      store i32 1, ptr addrspace(1) %q"""
    (store,) = stores(body)
    assert store["a"].offset == 4 + 12
    found = [line.split()[0] for line in statements(body)]
    assert found == ["mul.wide.s32", "add.s64", "st.global.b32"]


@pytest.mark.parametrize(("cast", "product"), [("sext", "s32"), ("zext", "u32")])
def test_an_index_that_was_widened_is_widened_and_scaled_at_once(cast: str, product: str):
    body = f"""  %w = {cast} i32 %i to i64
      %q = getelementptr i64, ptr addrspace(1) %p, i64 %w
      store i32 1, ptr addrspace(1) %q"""
    found = [line.split()[0] for line in statements(body)]
    assert found == [f"mul.wide.{product}", "add.s64", "st.global.b32"]


def test_an_index_is_scaled_once_for_two_arrays():
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
      %r = getelementptr i8, ptr addrspace(1) %p, i64 64
      %u = getelementptr i32, ptr addrspace(1) %r, i32 %i
      store i32 1, ptr addrspace(1) %q
      store i32 2, ptr addrspace(1) %u"""
    found = [line.split()[0] for line in statements(body)]
    assert found.count("mul.wide.s32") == 1


def test_bits_of_an_index_that_were_cut_off_count_for_the_other_index():
    """A truncation to 24 bits leaves the register as it is: only the width tells the two apart."""
    body = """  %w = trunc i32 %i to i24
      %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
      %r = getelementptr i32, ptr addrspace(1) %p, i24 %w
      store i32 1, ptr addrspace(1) %q
      store i32 2, ptr addrspace(1) %r"""
    first, second = stores(body)
    assert first["a"].base != second["a"].base


def test_an_address_of_the_entry_block_is_the_beginning_of_others():
    """Rows of 64 bytes: the column is added to the array first, as the entry block has done it."""
    text = "@table = addrspace(3) global [4 x [16 x i32]] undef"
    cell = "getelementptr [4 x [16 x i32]], ptr addrspace(3) @table"
    body = f"""  %first = {cell}, i32 0, i32 0, i32 %i
      store i32 1, ptr addrspace(3) %first
      %n = load i32, ptr addrspace(1) %p
      %some = icmp sgt i32 %n, 0
      br i1 %some, label %then, label %end
    then:
      %other = {cell}, i32 0, i32 %n, i32 %i
      store i32 2, ptr addrspace(3) %other
      br label %end
    end:"""
    found = [line.split()[0] for line in statements(body, globals=text)]
    assert found.count("mov.b64") == 1  # of the array's address
    assert found.count("mul.wide.s32") == 2
    assert found.count("add.s64") == 2


def test_an_index_into_a_variable():
    text = "@table = addrspace(1) global [16 x i32] zeroinitializer"
    body = """  store i32 1, ptr addrspace(1) getelementptr ([16 x i32], ptr addrspace(1) @table, i64 0, i64 5)
      store i32 2, ptr addrspace(1) @table"""  # noqa: E501
    first, second = stores(body, globals=text)
    assert first["a"] == Mem(Sym("table"), 20)
    assert second["a"] == Mem(Sym("table"))


def test_no_arithmetic_is_left_behind():
    """The add of a folded index is dead, and dead code goes."""
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 3
      store i32 %i, ptr addrspace(1) %q"""
    assert [line.split()[0] for line in statements(body)] == ["st.global.b32"]


def test_an_address_that_escapes_is_computed():
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 3
      %x = ptrtoint ptr addrspace(1) %q to i64
      store i64 %x, ptr addrspace(1) %p"""
    assert [line.split()[0] for line in statements(body)] == ["add.s64", "st.global.b64"]


def test_lanes_and_columns_of_tensor_memory_fold_too():
    """32 lanes on: 32 << 16 in the address of a tcgen05.ld."""
    body = """  %q = getelementptr i8, ptr addrspace(6) %t, i32 2097152
      %r = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %q, i1 false)
      store i32 %r, ptr addrspace(1) %p"""
    load = statements(body)[0]
    assert re.fullmatch(r"tcgen05\.ld\S+ \{%r\d+\}, \[%r\d+\+2097152\];", load)


def test_a_step_back():
    """ptxas reads `+-4` and calls `-4` a syntax error."""
    body = """  %q = getelementptr i32, ptr addrspace(1) %p, i64 -1
      store i32 %i, ptr addrspace(1) %q"""
    (store,) = statements(body)
    assert re.fullmatch(r"st\.global\.b32 \[%rd\d+\+-4\], %r\d+;", store)


def test_the_address_of_a_tensor_map_takes_no_offset():
    """ptxas: a syntax error at the comma of `[map+128, {…}]`."""
    text = kernel(
        """  %next = getelementptr [128 x i8], ptr %g, i64 1
      call void @llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.1d(ptr addrspace(3) %s,
        ptr addrspace(3) %s, ptr %next, i32 0, i64 0, i1 false)"""
    )
    copy = next(line for line in lines_of(text) if line.startswith("cp.async"))
    assert re.search(r"\[%rd\d+, \{0\}\]", copy)


# ---- constants in PHIs -----------------------------------------------------------------------


def test_a_phi_of_converted_addresses():
    """The conversion of an address stands where control comes from, before the branch."""
    text = """
    @a = internal addrspace(3) global i32 poison
    @b = internal addrspace(1) global i32 poison
    define ptx_kernel void @k(i32 %x) {
    entry:
      %c = icmp eq i32 %x, 0
      br i1 %c, label %left, label %right
    left:
      br label %join
    right:
      br label %join
    join:
      %p = phi ptr [ addrspacecast (ptr addrspace(3) @a to ptr), %left ],
                   [ addrspacecast (ptr addrspace(1) @b to ptr), %right ]
      store i32 0, ptr %p
      br label %end
    end:
      ret void
    }"""
    module = lowered(text)
    (function,) = module.functions
    written: set[int] = set()
    converted = 0
    for mi in function.instructions():
        if mi.row.id == "st":
            assert mi["a"].base in written, "the address is stored through before it is made"
        if mi.row.id == "cvta":
            converted += 1
        written.update(mi.defs())
        if mi.row.id == "ret":
            break
    assert converted == 2


# ---- names, kernels, parameters --------------------------------------------------------------


def test_names_that_ptx_does_not_allow_stay_apart():
    text = """
    @a.b = addrspace(1) global i32 1
    @"a_$_b" = addrspace(1) global i32 2
    define ptx_kernel void @k() { ret void }
    """
    first, second = lowered(text).variables
    assert first.name != second.name
    for variable in (first, second):
        assert re.fullmatch(r"[A-Za-z_$][\w$]*", variable.name, re.ASCII)


def test_kernel_attributes_become_launch_bounds():
    text = """
    define ptx_kernel void @k() #0 { ret void }
    attributes #0 = { "nvvm.reqntid"="128,2" "nvvm.cluster_dim"="2,1,1" "nvvm.maxnreg"="64"
      "nvvm.minctasm"="3" }
    """
    (function,) = lowered(text).functions
    assert function.launch == Launch((128, 2), (), (2, 1, 1), 64, 3)


def test_kernels_may_be_marked_by_metadata():
    text = """
    define void @k() { ret void }
    !nvvm.annotations = !{!0}
    !0 = !{ptr @k, !"kernel", i32 1}
    """
    (function,) = lowered(text).functions
    assert function.is_kernel


def test_parameters():
    text = """
    define ptx_kernel void @k(i8 %a, i64 %b, double %c, ptr addrspace(1) align 16 %d,
        ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %e) { ret void }
    """
    (function,) = lowered(text).functions
    a, b, c, d, e = function.params
    assert [p.size for p in function.params] == [1, 8, 8, 8, 128]
    assert [p.name for p in function.params] == [f"k_param_{n}" for n in range(5)]
    assert (a.type, b.type, c.type) == (ScalarType.U8, ScalarType.U64, ScalarType.F64)
    assert (d.is_pointer, d.pointee, d.pointee_align) == (True, Space.GLOBAL, 16)
    assert (e.type, e.align, e.constant) == (ScalarType.B8, 64, True)
    assert not e.is_pointer


def test_a_pointer_into_the_clusters_shared_memory():
    """PTX ISA, .ptr: the space is .const, .global, .local or .shared; LLVM leaves this one out."""
    text = "define ptx_kernel void @k(ptr addrspace(7) %p) { ret void }"
    printed = print_ptx(lowered(text), PTX_VERSIONS[-1]).text
    (param,) = [line for line in printed.splitlines() if "k_param_0" in line]
    assert "::cluster" not in param


def test_variables():
    text = """
    @smem = external addrspace(3) global [0 x i8], align 1024
    @tile = internal addrspace(3) global [16 x half] poison, align 128
    @table = addrspace(1) global [3 x i16] [i16 1, i16 -1, i16 256]
    @scale = addrspace(4) constant float 1.0
    define ptx_kernel void @k() { ret void }
    """
    smem, tile, table, scale = lowered(text).variables
    assert (smem.space, smem.size, smem.align, smem.external) == (Space.SHARED, 0, 1024, True)
    assert (tile.space, tile.size, tile.data, tile.external) == (Space.SHARED, 32, None, False)
    assert table.data == bytes([1, 0, 255, 255, 0, 1])  # little-endian
    assert (scale.space, scale.data) == (Space.CONST, bytes([0, 0, 0x80, 0x3F]))
