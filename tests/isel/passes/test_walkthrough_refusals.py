"""What of the walkthrough's spelling is reported, and what is refused, at its line."""

from __future__ import annotations

import re

import pytest

from intrinsics.findings import Finding, Severity, errors
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.options import Options
from tests.each import each
from tests.isel.passes.walkthrough import WHOLE, compiled, expanded, only, refused
from tests.nvgen.walkthrough.walkthrough_programs import (
    ALLOC,
    BARRIER,
    DEALLOC,
    LD,
    RELINQUISH,
    WAIT,
    module,
    multiply,
    straight,
)
from tests.samples.modules import WALKTHROUGH

# ---- notes -----------------------------------------------------------------------------------


def notes(text: str) -> dict[str, Finding]:
    found = [f for f in compiled(text).findings if f.severity is not Severity.ERROR]
    return {f.rule: f for f in found}


def test_columns_are_reported():
    """16 columns of 2 KiB are 64 of 512 bytes; 128 columns of f32 need 128."""
    note = notes(WHOLE)["walkthrough/columns"]
    assert note.severity is Severity.NOTE
    assert (note.got, note.expected) == ("16 columns", "128 columns are allocated")
    assert "64" in note.message
    assert "TCGEN05_DEALLOC_CTA_GROUP1 %h:b32, imm:128" in " ".join(expanded(WHOLE))


@pytest.mark.parametrize(
    ("asked", "columns"), [(1, 128), (32, 128), (33, 256), (64, 256), (128, 512)]
)
def test_columns_are_four_times_as_many_and_a_power_of_2(asked: int, columns: int):
    text = WHOLE.replace("i32 16)", f"i32 {asked})")
    assert f"imm:{columns}" in next(x for x in expanded(text) if "TCGEN05_ALLOC" in x)
    assert f"imm:{columns}" in next(x for x in expanded(text) if "TCGEN05_DEALLOC" in x)


def test_an_allocation_that_nobody_uses_has_32_columns():
    text = straight(f"{DEALLOC} %h, i32 1)").replace("i32 16)\n", "i32 1)\n")
    assert "imm:32" in next(x for x in expanded(text) if "TCGEN05_ALLOC" in x)


def test_strides_that_overlap_are_reported():
    """Eight rows of 128 bytes are 1024 bytes: 512 would put the second eight into the first."""
    note = notes(WHOLE)["walkthrough/strides"]
    assert note.severity is Severity.NOTE
    assert note.message == "Not a canonical UMMA_MN Layout: Expected stride failure."
    assert note.got == "sbo 512, lbo 16"
    assert note.expected == "sbo 1024, lbo 16 are used"
    assert note.section == "PTX ISA, Canonical Layouts"
    assert note.place.line == next(
        n for n, line in enumerate(WHOLE.split("\n"), 1) if "i32 512" in line
    )


def test_majors_that_are_not_given_are_reported():
    text = WHOLE.replace(', !"MN", !"K"}', "}")
    assert "walkthrough/majors" in notes(text)
    assert "walkthrough/majors" not in notes(WHOLE)


def test_a_multiply_that_only_adds_is_reported():
    warning = notes(WHOLE)["walkthrough/first-step"]
    assert warning.severity is Severity.WARNING
    for enable in ("false", "%some"):
        text = WHOLE.replace("i1 true)", f"i1 {enable})").replace(
            "entry:", "entry:\n%some = icmp eq ptr addrspace(1) %a, null"
        )
        assert "walkthrough/first-step" not in notes(text)


def test_a_loop_that_llvm_unrolls_is_told_of_once():
    """Four descriptors from one line of the user's."""
    text = WALKTHROUGH.read_text()
    unrolled = check_text(text, Options(target="sm_100a", opt=3))
    assert unrolled.ptx.count("tcgen05.mma.") == 4
    assert [f.rule for f in unrolled.findings if f.severity is Severity.NOTE] == [
        f.rule for f in compiled(text).findings if f.severity is Severity.NOTE
    ]


# ---- what is refused -------------------------------------------------------------------------


def test_no_atom():
    finding = only(WHOLE.replace(", !nvgen.atom !0", ""), "select/walkthrough-atom")
    assert "sm100_umma_m64n128k16_f32_bf16_bf16" in finding.expected


BAD_ATOMS = {
    '!{!"sm90_wgmma_m64n128k16_f32_bf16_bf16"}': "names no MMA atom of sm_100",
    '!{!"sm100_umma_m64n128k32_f32_bf16_bf16_sp"}': "sparse",
    '!{!"sm100_umma_m128n128k32_f32_e4m3_e4m3_bs"}': "block-scaled",
    '!{!"sm100_umma_m128n128k16_f32_bf16_bf16_2cta"}': "CTA pair",
    '!{!"sm100_umma_m96n128k16_f32_bf16_bf16"}': "M does not exist",
    '!{!"sm100_umma_m64n132k16_f32_bf16_bf16"}': "N does not exist",
    '!{!"sm100_umma_m64n128k32_f32_bf16_bf16"}': "no K of 32",
    '!{!"sm100_umma_m64n128k16_f32_bf17_bf16"}': "no element type",
    '!{!"sm100_umma_m64n128k16_f32_bf16_e4m3"}': "no kind multiplies",
    '!{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"M", !"K"}': "majors",
    '!{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"K"}': "majors",
    "!{i32 1}": "does not say its shape",
    "!{}": "does not say its shape",
}


@each("atom", BAD_ATOMS)
def test_atoms_that_are_none(atom: str):
    text = re.sub(r"^!0 = .*$", lambda _: f"!0 = {atom}", WHOLE, flags=re.MULTILINE)
    finding = only(text, "select/walkthrough-atom")
    assert BAD_ATOMS[atom] in finding.message


def test_an_atom_that_contradicts_the_control_word():
    """257 says kind::tf32."""
    finding = only(WHOLE.replace("i32 193", "i32 257"), "select/walkthrough-atom")
    assert "kind::tf32" in finding.message
    assert "kind::f16" in finding.message
    assert finding.expected.startswith("193 ")


@pytest.mark.parametrize("word", [5, 7])
def test_collector_words_that_mean_two_things(word: int):
    finding = only(WHOLE.replace("i32 193, i32 1", f"i32 193, i32 {word}"),
                   "select/walkthrough-collector")  # fmt: skip
    assert "bit 2 is both ashift and the high bit" in finding.message


@pytest.mark.parametrize("word", [2, 4, 6, 8, 9, 17, -1])
def test_collector_words_that_mean_nothing(word: int):
    text = WHOLE.replace("i32 193, i32 1", f"i32 193, i32 {word}")
    assert "ambiguous" not in only(text, "select/walkthrough-collector").message


@pytest.mark.parametrize(("word", "modifier"), [(0, ""), (1, "::fill"), (3, "::use")])
def test_collector_words_that_mean_what_they_mean_in_a_record(word: int, modifier: str):
    ptx = compiled(WHOLE.replace("i32 193, i32 1", f"i32 193, i32 {word}")).ptx
    (line,) = [x for x in ptx.split("\n") if "tcgen05.mma." in x]
    assert (".collector::a" + modifier in line) == bool(modifier)
    assert bool(modifier) or ".collector" not in line


@pytest.mark.parametrize(
    ("word", "rule"),
    [
        (194, "word-contradicts-opcode"),  # a CTA pair
        (193 | 1 << 4, "word-contradicts-opcode"),  # a scale for D that is not there
        (193 | 1 << 5, "word-contradicts-opcode"),  # block scaling without scales
        (193 | 1 << 9, "reserved-bits"),
        (193 | 1 << 2, "scale-vec-block-scale"),
    ],
)
def test_control_words_are_judged_as_in_any_record(word: int, rule: str):
    wrong = errors(compiled(WHOLE.replace("i32 193", f"i32 {word}")).findings)
    assert f"tcgen05.mma/{rule}" in {f.rule for f in wrong}


def test_words_must_be_numbers():
    text = WHOLE.replace("entry:", "entry:\n%w = load i32, ptr addrspace(1) %a")
    assert only(text.replace("i32 193", "i32 %w"), "select/immediate")


WRONG_CALLS = {
    "llvm.nvvm.tcgen05.alloc.shared": ("i32", ""),
    "llvm.nvvm.tcgen05.wait.cta_group__1": ("void", "i32 1"),
    "llvm.nvvm.tcgen05.ld.m64n8x32b": ("<128 x float>", "i32 0, i32 0"),
    "llvm.nvvm.tcgen05.dealloc": ("void", "i32 0"),
    "llvm.nvvm.tcgen05.relinquish_alloc_permit": ("void", "i32 0"),
    "llvm.nvvm.tcgen05.mma_smem_desc.encode": ("i64", "ptr addrspace(3) null, i32 16"),
    "llvm.nvvm.tcgen05.mma.cta_group__1": ("void", "i32 0, i64 0, i64 0, i32 193, i32 1"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_numbers_of_arguments(name: str):
    """LLVM does not know the names, so nvgen has to count."""
    result, arguments = WRONG_CALLS[name]
    types = ", ".join(part.rpartition(" ")[0] for part in arguments.split(", ") if part)
    text = f"""define ptx_kernel void @k() {{
  call {result} @{name}({arguments})
  ret void
}}
declare {result} @{name}({types})
"""
    found = [f for f in refused(text) if f.rule == "select/signature"]
    assert [f.op for f in found] == [name]
    assert found[0].got == f"{len(types.split(', ')) if types else 0} arguments"


def test_wrong_types_of_results():
    text = WHOLE.replace("<128 x float> @llvm", "<64 x float> @llvm")
    text = text.replace("<128 x float> %v", "<64 x float> %v")
    finding = only(text, "walkthrough/load")
    assert finding.got == "64 rows, 64 values of 32 bits a thread"
    assert finding.expected == "<128 x float> of tcgen05.ld.m64n8x32b"


@pytest.mark.parametrize("result", ["<12 x float>", "<264 x float>", "<128 x half>", "float"])
def test_results_that_no_load_has(result: str):
    text = WHOLE.replace("<128 x float>", result).replace("%x = extractelement", "; ")
    text = text.replace("store float %x", "; ")
    assert only(text, "select/signature").got == result


UNKNOWN = (
    "llvm.nvvm.tcgen05.mma.cta_group__3",
    "llvm.nvvm.tcgen05.mma.ws.block_scale.cta_group__1",
    "llvm.nvvm.tcgen05.wait.cta_group__3",
    "llvm.nvvm.tcgen05.cp.smem.tmem.twice",
    "llvm.nvvm.tcgen05.st.m64n8x32b",
    "llvm.nvvm.tcgen05.ld.m256n8x32b",
)


@each("name", UNKNOWN)
def test_names_that_nvgen_does_not_know_are_named(name: str):
    text = module(f"entry:\ncall void @{name}()\nret void") + f"declare void @{name}()\n"
    finding = only(text, "select/walkthrough-unsupported")
    assert name in finding.message
    assert "tcgen05.mma.cta_group__1" in finding.expected
    assert "llvm.nvvm.tcgen05.st" in finding.hint


def test_targets_without_tensor_memory():
    found = refused(WHOLE, "sm_90a")
    assert {f.rule for f in found} == {"select/target"}
    assert any("tcgen05.mma supported only on" in f.message for f in found)


def test_one_spelling_a_function():
    text = straight("call void @llvm.nvvm.tcgen05.wait.ld()")
    text += "declare void @llvm.nvvm.tcgen05.wait.ld()\n"
    assert only(text, "select/walkthrough-mixed").op == "llvm.nvvm.tcgen05.wait.ld"


def test_a_multiply_that_is_not_waited_for():
    assert only(straight(multiply()), "walkthrough/wait")


def test_a_load_ahead_of_the_wait():
    text = straight(multiply(), f"%v = {LD} %h)", WAIT)
    finding = only(text, "walkthrough/wait")
    assert finding.op == "TCGEN05_LD_M64N8X32B"


def test_a_load_that_a_loop_brings_ahead_of_the_wait():
    """Each turn begins with a load of what the last one issued."""
    text = module(f"""entry:
%h = {ALLOC} 16)
br label %turn
turn:
%i = phi i32 [ 0, %entry ], [ %n, %turn ]
%v = {LD} %h)
{multiply().replace("%da", "0").replace("%db", "0")}
%n = add i32 %i, 1
%x = icmp ult i32 %n, 3
br i1 %x, label %turn, label %end
end:
{WAIT}
ret void""")
    assert only(text, "walkthrough/wait").op == "TCGEN05_LD_M64N8X32B"


HANDLES = {
    "a number": "store i32 0, ptr addrspace(1) %d",
    "an address in it": "%g = add i32 %h, 8",
    "something from memory": "%g = load i32, ptr addrspace(1) %a",
    "a number or it": "%c = icmp eq ptr addrspace(1) %a, null\n%g = select i1 %c, i32 %h, i32 0",
}


@pytest.mark.parametrize("what", HANDLES)
def test_handles_that_are_none(what: str):
    handle = "0" if what == "a number" else "%g"
    text = straight(HANDLES[what], multiply(handle), WAIT)
    assert only(text, "walkthrough/handle")


def test_a_handle_that_is_one_of_two():
    """Which one is known at run time; both have room for the accumulator."""
    text = straight(
        f"%g = {ALLOC} 1)",
        "%c = icmp eq ptr addrspace(1) %a, null",
        "%e = select i1 %c, i32 %h, i32 %g",
        multiply("%e"),
        WAIT,
    )
    found = [line for line in expanded(text) if "TCGEN05_ALLOC_CTA_GROUP1" in line]
    assert [line.rpartition("imm:")[2] for line in found] == ["128", "128"]


def test_other_columns_are_given_back_than_were_allocated():
    finding = only(straight(f"{DEALLOC} %h, i32 8)"), "walkthrough/dealloc-columns")
    assert (finding.got, finding.expected) == ("8", "16")


def test_allocations_that_do_not_fit():
    text = straight(*(f"%h{i} = {ALLOC} 64)" for i in range(2)))
    finding = only(text, "walkthrough/room")
    assert finding.got == "576 columns"  # 64 and twice 256
    assert finding.message == "allocated tmem out of resource: 576 columns of 512"


def test_no_shared_memory_is_left_for_the_address():
    """48 KiB are all that a kernel may declare: 8192 bytes for A, and the rest for B."""
    full = WHOLE.replace("32768 x i8", f"{40 * 1024} x i8")
    finding = only(full, "walkthrough/scratch")
    assert finding.message == "failed to find scratch smem to allocate tmem"
    assert finding.got == "49152 bytes of shared memory in use"
    compiled(WHOLE.replace("32768 x i8", f"{40 * 1024 - 16} x i8"))


def test_no_warp_can_allocate():
    found = {f.rule: f for f in refused(WHOLE.replace('"="128"', '"="16"'))}
    assert found["walkthrough/init"].message.startswith("failed to init tmem")
    assert found["walkthrough/init"].got == "16 threads"


def test_a_tile_that_is_no_whole_number_of_atoms():
    """64 rows of 8 bits are half of a span of 128 bytes, and a whole one of 64 bytes."""
    atom = '!{!"sm100_umma_m64n128k32_f32_e4m3_e4m3", !"MN", !"K"}'
    text = WHOLE.replace("i32 193", "i32 321")  # kind::f8f6f4
    text = re.sub(r"^!0 = .*$", lambda _: f"!0 = {atom}", text, flags=re.MULTILINE)
    finding = only(text, "walkthrough/layout")
    assert finding.message == "Not a canonical UMMA_MN Layout: Expected MN-size multiple of 128."
    assert finding.subject == "a"
    compiled(text.replace("i32 512, i32 16, i32 0, i32 1", "i32 512, i32 16, i32 0, i32 2"))


@pytest.mark.parametrize("columns", [0, -1, 129])
def test_columns_that_there_are_not(columns: int):
    text = straight().replace("i32 16)\n", f"i32 {columns})\n")
    assert only(text, "walkthrough/immediate-range")


@pytest.mark.parametrize(
    "numbers", ["i32 8, i32 16, i32 0, i32 1", "i32 512, i32 16, i32 8, i32 1",
                "i32 512, i32 16, i32 0, i32 4", "i32 512, i32 262144, i32 0, i32 1"]
)  # fmt: skip
def test_numbers_that_a_descriptor_cannot_have(numbers: str):
    text = WHOLE.replace("i32 512, i32 16, i32 0, i32 1", numbers)
    assert only(text, "walkthrough/immediate-range")


def test_too_few_threads_to_read_the_rows():
    assert only(WHOLE.replace('"="128"', '"="96"'), "walkthrough/threads").got == "96 threads"


def test_an_allocation_in_a_loop():
    text = module(f"""entry:
br label %turn
turn:
%i = phi i32 [ 0, %entry ], [ %n, %turn ]
%h = {ALLOC} 16)
%n = add i32 %i, 1
%x = icmp ult i32 %n, 3
br i1 %x, label %turn, label %end
end:
ret void""")
    assert only(text, "walkthrough/alloc-loop")


def in_branch(condition: str, call: str) -> str:
    """A call that only those threads reach for which the condition holds."""
    return module(f"""entry:
%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%h = {ALLOC} 16)
{condition}
br i1 %c, label %some, label %all
some:
{call}
br label %all
all:
{BARRIER}
{WAIT}
ret void""")


SWIZZLED = str(1 << 46 | 2 << 61)
"""A descriptor of shared memory at address 0 with 128-byte swizzling.  PTX ISA, Table 40."""

COLLECTIVE = {
    "TCGEN05_ALLOC_SHARED": f"%g = {ALLOC} 16)",
    "TCGEN05_MMA_CTA_GROUP1_DENSE": multiply().replace("%da", SWIZZLED).replace("%db", SWIZZLED),
    "TCGEN05_WAIT_CTA_GROUP1": WAIT,
    "TCGEN05_LD_M64N8X32B": f"%v = {LD} %h)",
    "TCGEN05_DEALLOC": f"{DEALLOC} %h, i32 16)",
    "TCGEN05_RELINQUISH_ALLOC_PERMIT": RELINQUISH,
}


@pytest.mark.parametrize("opcode", COLLECTIVE)
def test_operations_of_the_cta_that_only_some_threads_reach(opcode: str):
    text = in_branch("%c = icmp eq i32 %tid, 0", COLLECTIVE[opcode])
    finding = only(text, "walkthrough/divergent")
    assert finding.op == opcode
    branch = next(n for n, line in enumerate(text.split("\n"), 1) if "br i1" in line)
    assert f"in line {branch}" in finding.got


@pytest.mark.parametrize("opcode", COLLECTIVE)
def test_operations_of_the_cta_that_all_threads_reach_or_none(opcode: str):
    """The condition is a parameter's, the same for all."""
    condition = "%c = icmp eq ptr addrspace(1) %a, null"
    assert not errors(compiled(in_branch(condition, COLLECTIVE[opcode])).findings)
