"""Each of LLVM's nvvm intrinsics is selected, or stands in the reference with the reason.

The names are LLVM's own; LLVM's verifier judges the calls, and ptxas what nvgen makes of them.
"""

from __future__ import annotations

import functools
import re

import pytest

import nvgen
from intrinsics import catalog
from intrinsics.findings import NvgenError
from intrinsics.special import special_registers
from isel.select.intrinsics.unselected import UNSELECTED, unselected
from tests.oracle import llvm, llvm_forms, nvvm_calls
from tests.oracle.llvm_signatures import all_names
from tests.oracle.ptxas_modules import report

TARGET = "sm_100a"
APART = {
    "internal.addrspace.wrap": "tests/isel/lower/addresses/test_structs_by_value.py",
    "reflect": "tests/isel/lower/branches/test_reflection.py",
    "texsurf.handle": "below",
    "texsurf.handle.internal": "below",
    "move.ptr": "below",
}
"""Intrinsics that other tests call."""


@functools.cache
def without_rows() -> tuple[str, ...]:
    """The intrinsics that neither a row nor a special register spells."""
    known = {*catalog.spellings(), *(r.llvm for r in special_registers().values() if r.llvm)}
    for _ in range(3):  # types that LLVM appends to overloaded names
        known |= {re.sub(r"\.(p\d+|v?\d*[if]\d+)$", "", name) for name in known}
    return tuple(name for name in all_names() if name not in known)


def test_each_intrinsic_is_selected_or_has_a_reason():
    names = [name for name in without_rows() if not unselected(name) and name not in APART]
    assert len(names) > 900
    compiled = nvgen.compile(nvvm_calls.module(names), target=TARGET, ptx="8.8", level="record")
    assert len(compiled.module.functions) == len(names)
    said = report(compiled.ptx, TARGET, "-O0")
    assert not re.search("error|fatal", said), said[:2000]


DEVIATIONS = {
    r"atomic\..*": "PTX ISA, atom: relaxed is the default, and a sum has no sign",
    r"ldu\.global\..*": "ld.global: PTX ISA advises against ldu, which only loads what is constant",
    r"f32x4\.to\..*": "the vector's elements are taken out of one register of 128 bits",
    r"read\.ptx\.sreg\.warpsize": "32, which is WARP_SZ",
}
"""Where LLVM's text is another one, and means the same."""


def effects(ptx: str, kernel: str) -> list[str]:
    """The normal form of one kernel of many, with numbers and global addresses of one spelling."""
    start = ptx.index(f".visible .entry {kernel}(")
    head, _, body = ptx[start : ptx.index("\n}", start)].partition("\n{")
    body = re.sub(r"\{\s*(?=\.reg)", "", re.sub(r"(;\s*)\}", r"\1", body))
    header = ptx[: ptx.index(".visible")]
    found = llvm_forms.effects(f"{header}{head}\n{{{body}\n}}\n", kernel)
    found = [re.sub(r"cvta\.global\.to\.u64\((p\d+:b64)\)", r"\1", line) for line in found]
    return [re.sub(r"\b0[fd]([0-9A-F]+)", lambda m: str(int(m[1], 16)), line) for line in found]


def test_what_no_row_spells_has_llvms_text():
    """Other than in the deviations, which all are needed."""
    names = [name for name in without_rows() if not unselected(name) and name not in APART]
    text = llvm.HEADER + nvvm_calls.module(names)
    ours = nvgen.compile(text, target=TARGET, ptx="8.8", level="record").ptx
    (theirs,) = llvm.compile_all([text], TARGET, "8.8", opt=3)
    assert theirs.ptx, theirs.refusal
    others = {
        name
        for number, name in enumerate(names)
        if effects(ours, f"k{number}") != effects(theirs.ptx, f"k{number}")
    }
    assert others == {n for n in names if any(re.fullmatch(d, n) for d in DEVIATIONS)}


@pytest.mark.parametrize(
    "name",
    ["f32x4.to.e4m3x4.rs.satfinite", "ff2bf16x2.rs", "ff2f16x2.rs.relu.satfinite",
     "ff.to.e2m1x2.rn.satfinite", "e2m1x2.to.f16x2.rn"],
)  # fmt: skip
def test_what_is_written_out_exists_where_llvm_selects_it(name: str):
    """`.rs` and types of four bits are features of some targets."""
    text = llvm.HEADER + nvvm_calls.module([name])
    places = [("sm_90a", "8.8"), ("sm_100", "8.8"), ("sm_100a", "8.6"), ("sm_100a", "8.7"),
              ("sm_103a", "8.8"), ("sm_120a", "8.8")]  # fmt: skip
    for target, ptx in places:
        (theirs,) = llvm.compile_all([text], target, ptx, opt=3)
        if theirs.ptx:
            assert nvgen.compile(text, target=target, ptx=ptx).ptx, (target, ptx)
            continue
        with pytest.raises(NvgenError) as error:
            nvgen.compile(text, target=target, ptx=ptx)
        assert error.value.findings[0].rule == "select/target", (target, ptx)


def test_what_has_a_reason_is_none_that_is_selected():
    """A reason that no intrinsic needs is stale."""
    names = without_rows()
    for one in UNSELECTED:
        assert any(re.fullmatch(one.names, name) for name in names), one.names


@pytest.mark.parametrize(
    "name", ["shfl.bfly.i32", "vote.all", "fmax.ftz.bf16", "fma.rn.sat.bf16", "sust.p.1d.i8.trap"]
)
def test_what_is_not_selected_says_why(name: str):
    known = {"shfl.bfly.i32": ("i32", ["i32"] * 3), "vote.all": ("i1", ["i1"])}
    result, types = known.get(name) or nvvm_calls.signature(name) or ("", [])
    given = ", ".join(f"{type_} %a{n}" for n, type_ in enumerate(types))
    assign = "" if result == "void" else "%x = "
    text = (
        f"define void @f({given}) {{\n  {assign}call {result} @llvm.nvvm.{name}({given})\n"
        f"  ret void\n}}\ndeclare {result} @llvm.nvvm.{name}({', '.join(types)})\n"
    )
    with pytest.raises(NvgenError) as error:
        nvgen.compile(text, target=TARGET)
    (finding,) = error.value.findings
    assert (finding.rule, finding.place.line) == ("select/unknown-intrinsic", 2)
    assert any(word in finding.message for word in ("PTX", "ptxas"))


TEXTURE = """
@tex = internal addrspace(1) global i64 0, align 8
@surf = internal addrspace(1) global i64 0, align 8
define ptx_kernel void @k(ptr %out, i32 %i) {
  %t = call i64 @llvm.nvvm.texsurf.handle.internal.p1(ptr addrspace(1) @tex)
  %s = call i64 @llvm.nvvm.texsurf.handle.internal.p1(ptr addrspace(1) @surf)
  %v = call { float, float, float, float } @llvm.nvvm.tex.unified.1d.v4f32.s32(i64 %t, i32 %i)
  %x = extractvalue { float, float, float, float } %v, 2
  %y = bitcast float %x to i32
  call void @llvm.nvvm.sust.b.1d.i32.trap(i64 %s, i32 %i, i32 %y)
  %p = call ptr @llvm.nvvm.move.ptr.p0(ptr %out)
  store float %x, ptr %p
  ret void
}
declare { float, float, float, float } @llvm.nvvm.tex.unified.1d.v4f32.s32(i64, i32)
!nvvm.annotations = !{!0, !1}
!0 = !{ptr addrspace(1) @tex, !"texture", i32 1}
!1 = !{ptr addrspace(1) @surf, !"surface", i32 1}
"""


@pytest.mark.parametrize("opt", [None, 0, 3])
def test_textures_and_surfaces_of_a_module_are_references(opt: int | None):
    compiled = nvgen.compile(TEXTURE, target="sm_90a", opt=opt)
    assert ".global .texref tex;" in compiled.ptx
    assert ".global .surfref surf;" in compiled.ptx
    four = r"\{%r\d+, %r\d+, %r\d+, %r\d+\}"
    assert re.search(rf"tex\.1d\.v4\.f32\.s32 {four}, \[%rd\d+, \{{%r\d+\}}\];", compiled.ptx)
    assert re.search(r"sust\.b\.1d\.b32\.trap \[%rd\d+, \{%r\d+\}\], \{%r\d+\};", compiled.ptx)
    assert "error" not in report(compiled.ptx, "sm_90a")
    assert {f.rule for f in compiled.findings} == {"ptx/not-modelled"}
