"""Sizes, offsets and alignments are those of the module's data layout, or the layout is refused.

LLVM is the judge: its own data layout, and its passes and printer for variables.
"""

from __future__ import annotations

import re

import pytest
from llvmlite import binding

import nvgen
from intrinsics.findings import NvgenError
from isel.llvm.data_layout import NVPTX
from isel.llvm.reader import read_module
from isel.llvm.type_layout import TypeLayout
from isel.llvm.types import StructType, Type
from tests.each import each

LAYOUTS = {
    "LLVM 22": NVPTX,
    "LLVM 19": "e-i64:64-i128:128-v16:16-v32:32-n16:32:64",
    "LLVM 16, of numba": (
        "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-"
        "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
    ),
    "NVVM": (
        "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-"
        "f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
    ),
    "short pointers": "e-p3:32:32-p4:32:32-p5:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64",
    "more short pointers": (
        "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-p101:32:32-i64:64-i128:128-i256:256-"
        "v16:16-v32:32-n16:32:64"
    ),
}
TYPES = (
    *("i1", "i7", "i8", "i24", "i32", "i48", "i64", "i96", "i128", "i200", "i256", "i300"),
    *("half", "bfloat", "float", "double", "ptr", "ptr addrspace(3)", "ptr addrspace(5)"),
    *("[9 x i8]", "[3 x i128]", "[2 x i200]", "<2 x i32>", "<3 x i32>", "<3 x i8>", "<5 x half>"),
    *("<3 x i1>", "<3 x ptr addrspace(3)>", "<8 x i64>", "{ i8, i128, i8 }", "{ i8, i64, i16 }"),
    *("<{ i8, i64 }>", "{ i8, <{ i8, i128 }>, ptr }", "{ i16, { i8, i256 } }", "{}", "{ i8 }"),
    *("{ i8, ptr addrspace(3), i8 }", "[2 x { i32, <3 x half> }]"),
)


def module_of(layout: str, types: tuple[str, ...]) -> str:
    lines = [f"@g{n} = external global {type_}" for n, type_ in enumerate(types)]
    return f'target datalayout = "{layout}"\n' + "\n".join(lines)


@pytest.mark.parametrize("name", LAYOUTS)
def test_types_have_llvms_sizes(name: str):
    text = module_of(LAYOUTS[name], TYPES)
    judge = binding.create_target_data(LAYOUTS[name])
    module, ours = binding.parse_assembly(text), TypeLayout(LAYOUTS[name])
    for variable, known in zip(module.global_variables, _variables(text), strict=True):
        type_ = variable.global_value_type
        assert ours.size(known) == judge.get_abi_size(type_), known
        assert ours.align(known) == judge.get_abi_alignment(type_), known
        if isinstance(known, StructType):
            offsets = [judge.get_element_offset(type_, n) for n in range(len(known.elements))]
            assert ours.offsets(known) == offsets, known


def _variables(text: str) -> list[Type]:
    return [v.value_type for v in read_module(str(binding.parse_assembly(text))).globals.values()]


def test_a_module_that_says_nothing_has_llvms_layout_for_the_machine():
    binding.initialize_all_targets()
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine()
    assert str(machine.target_data) == NVPTX


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("opt", [0, 3])
def test_an_offset_is_the_same_at_every_level(name: str, opt: int):
    """Of a field behind an i128, found by a constant and by a computed index."""
    text = f"""target datalayout = "{LAYOUTS[name]}"
    %S = type {{ i32, i128, i64 }}
    define ptx_kernel void @k(ptr addrspace(1) %out, i32 %i) {{
      %a = getelementptr [4 x %S], ptr addrspace(1) %out, i32 0, i32 1, i32 2
      %b = getelementptr [4 x %S], ptr addrspace(1) %out, i32 0, i32 %i, i32 2
      store i64 1, ptr addrspace(1) %a
      store i64 2, ptr addrspace(1) %b
      ret void
    }}"""
    ptx = nvgen.compile(text, target="sm_90a", opt=opt).ptx
    fields, whole = ((24, 32), (32, 48))["i128:128" in LAYOUTS[name]]
    assert f"+{fields + whole}], 1;" in ptx
    assert f", {whole};" in ptx
    assert f"+{fields}], 2;" in ptx


WITHOUT = """define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load volatile i64, ptr addrspace(1) %p
  store i64 %x, ptr addrspace(1) %p
  ret void
}"""


@pytest.mark.parametrize("opt", [0, 3])
def test_a_load_without_an_alignment_is_aligned_as_the_machine_aligns(opt: int):
    """LLVM's own default would be 4 bytes for an i64, and two loads."""
    assert "ld.volatile.global.b64" in nvgen.compile(WITHOUT, target="sm_90a", opt=opt).ptx


FOREIGN = {
    "e-p:32:32-i64:64": ("p:32:32", "p:64:64"),
    "e-p0:8:8": ("p0:8:8", "p:64:64"),
    "e-p1:32:32-i64:64": ("p1:32:32", "p1:64:64"),
    "e-p1:128:128": ("p1:128:128", "p1:64:64"),
    "e-p3:16:16-i64:64": ("p3:16:16", "p3:64:64"),
    "e-p6:64:64-i64:64": ("p6:64:64", "p6:32:32"),
    "e-p:64:32-i64:64": ("p:64:32", "p:64:64"),
    "e-p:64:64:64:32-i64:64": ("p:64:64:64:32", "p:64:64"),
    "e-i64:32": ("i64:32", "i64:64"),
    "e-i32:8-i64:64": ("i32:8", "i32:32"),
    "e-p:64:64": ("e-p:64:64", "i64:64"),
    "e-i64:64-f64:32": ("f64:32", "f64:64"),
    "e-i64:64-v64:32": ("v64:32", "v64:64"),
    "e-i64:64-a:32": ("a:32", "a:0:64"),
    "E-i64:64": ("E", "e"),
    "e-i64:64-A5": ("A5", "no A5"),
    "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128": (
        *("m:e", "no m:e"),
    ),
}


@pytest.mark.parametrize("opt", [0, 3])
@each("layout", FOREIGN)
def test_a_foreign_layout_is_refused(layout: str, opt: int):
    with pytest.raises(NvgenError) as error:
        nvgen.compile(f'\ntarget datalayout = "{layout}"\n{WITHOUT}', target="sm_90a", opt=opt)
    (finding,) = error.value.findings
    assert (finding.rule, finding.place.line) == ("select/datalayout", 2)
    assert (finding.got, finding.expected) == FOREIGN[layout]
    assert NVPTX in finding.hint


@pytest.mark.parametrize("opt", [0, 3])
def test_a_foreign_triple_is_refused_before_llvms_passes(opt: int):
    with pytest.raises(NvgenError) as error:
        nvgen.compile(f'target triple = "x86_64-pc-linux"\n{WITHOUT}', target="sm_90a", opt=opt)
    assert [f.rule for f in error.value.findings] == ["select/triple"]
    assert error.value.findings[0].place.line == 1


@pytest.mark.parametrize("opt", [0, 3])
def test_llvmlites_default_triple_says_nothing(opt: int):
    text = f'target triple = "unknown-unknown-unknown"\n{WITHOUT}'
    ptx = nvgen.compile(text, target="sm_90a", opt=opt).ptx
    assert ptx == nvgen.compile(WITHOUT, target="sm_90a", opt=opt).ptx


# ---- variables -------------------------------------------------------------------------------

VARIABLES = (
    *("i8", "i24", "i32", "i64", "half", "double", "ptr", "ptr addrspace(3)", "[9 x i8]"),
    *("[16 x i8]", "[17 x i8]", "[4 x i32]", "[9 x i32]", "[3 x i64]", "<2 x i32>", "<3 x i8>"),
    *("<3 x i32>", "<8 x i64>", "{ i8, i32 }", "<{ i8, i64 }>", "<{ i8, [40 x i8] }>", "{ i8 }"),
    *("{ i8, ptr }", "[2 x <3 x i16>]", "[3 x { i8 }]"),
)
DECLARED = (
    "addrspace(1) global T zeroinitializer",
    "internal addrspace(1) global T zeroinitializer",
    "weak addrspace(1) global T zeroinitializer",
    "external addrspace(1) global T",
    "addrspace(3) global T undef",
    "internal addrspace(3) global T undef",
    "external addrspace(3) global T",
    "addrspace(4) constant T zeroinitializer",
    "addrspace(1) global T zeroinitializer, align 2",
    "addrspace(1) global T zeroinitializer, align 32",
)
MASK = 255
_ALIGN = re.compile(r"\.align (\d+) \.\w+ g(\d+)\b")


def variables(declared: str) -> str:
    """A module with a variable of each type, each used."""
    space = re.search(r"addrspace\(\d\)", declared)
    assert space is not None
    lines = [f"@g{n} = {declared.replace('T', t, 1)}" for n, t in enumerate(VARIABLES)]
    uses = [
        f"  %x{n} = ptrtoint ptr {space[0]} @g{n} to i64\n"
        f"  %y{n} = and i64 %x{n}, {MASK}\n"
        f"  store volatile i64 %y{n}, ptr addrspace(1) %out"
        for n in range(len(VARIABLES))
    ]
    head = f'target datalayout = "{NVPTX}"\ntarget triple = "nvptx64-nvidia-cuda"\n'
    body = (
        "define ptx_kernel void @k(ptr addrspace(1) %out) {\n"
        + "\n".join(uses)
        + "\n  ret void\n}\n"
    )
    return head + "\n".join(lines) + "\n" + body


def alignments(ptx: str) -> dict[int, int]:
    return {int(m[2]): int(m[1]) for m in _ALIGN.finditer(ptx)}


@pytest.mark.parametrize("declared", DECLARED)
def test_variables_are_aligned_as_llvm_prints_and_as_its_passes_assume(declared: str):
    """LLVM's printer leaves out what its passes count on: 16 for what is large and defined here."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90")
    text = variables(declared)
    assumed = assumptions(text)
    wanted = alignments(machine.emit_assembly(binding.parse_assembly(text)))
    assert len(assumed) > len(VARIABLES) // 2
    wanted |= {n: max(align, wanted[n]) for n, align in assumed.items()}
    assert alignments(nvgen.compile(text, target="sm_90a").ptx) == wanted
    assert len(wanted) == len(VARIABLES)


def assumptions(text: str) -> dict[int, int]:
    """What LLVM's passes take for granted: the lowest bit that they leave of an address."""
    done = nvgen.compile(text, target="sm_90a", opt=1).llvm
    found = re.findall(r"and i64 ptrtoint \(ptr addrspace\(\d\) @g(\d+) to i64\), (\d+)", done)
    return {int(n): int(mask) & -int(mask) for n, mask in found}


def test_a_load_that_llvm_widened_is_aligned():
    text = f"""target datalayout = "{NVPTX}"
    @g = addrspace(1) global [8 x i32] zeroinitializer
    define ptx_kernel void @k(ptr addrspace(1) %p) {{
      %v = load <4 x i32>, ptr addrspace(1) @g, align 4
      store <4 x i32> %v, ptr addrspace(1) %p, align 16
      ret void
    }}"""
    ptx = nvgen.compile(text, target="sm_90a", opt=3).ptx
    assert "ld.global.v4.b32" in ptx
    assert ".visible .global .align 16 .b8 g[32];" in ptx
