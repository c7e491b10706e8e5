"""MIR of every stage is a program: what is read back goes on to the PTX that it was to become."""

from __future__ import annotations

import re

import pytest

import nvgen
from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from intrinsics.findings import InputError, VerificationError
from intrinsics.targets import PTX_VERSIONS
from isel.pipeline import PASSES
from isel.resume import resume
from isel.verifier.record import verify_records
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from tests.each import each
from tests.samples.modules import WALKTHROUGH

CHOICE = """
define ptx_kernel void @k(ptr addrspace(1) %o, i32 %n) {
e:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %a, label %b
a:
  br label %j
b:
  br label %j
j:
  %v = phi i32 [1, %a], [2, %b]
  store i32 %v, ptr addrspace(1) %o
  ret void
}
"""
LOOP = """
define ptx_kernel void @k(ptr addrspace(1) %o, i32 %n) {
e:
  br label %l
l:
  %i = phi i32 [0, %e], [%j, %l]
  %x = phi i32 [1, %e], [%y, %l]
  %y = phi i32 [0, %e], [%x, %l]
  %j = add i32 %i, 1
  %m = icmp ult i32 %j, %n
  br i1 %m, label %l, label %d
d:
  store i32 %x, ptr addrspace(1) %o
  ret void
}
"""
MULTIPLY = """
declare <4 x float> @llvm.nvvm.wgmma.mma_async.m64n8k16.f32.f16.f16(
  <4 x float>, i64, i64, i1, i32, i32, i32, i32)
define ptx_kernel void @k(ptr addrspace(1) %o, i64 %a, i64 %b, i32 %n) "nvvm.reqntid"="128" {
e:
  br label %l
l:
  %i = phi i32 [0, %e], [%j, %l]
  %s = phi <4 x float> [zeroinitializer, %e], [%t, %l]
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  %t = call <4 x float> @llvm.nvvm.wgmma.mma_async.m64n8k16.f32.f16.f16(<4 x float> %s,
    i64 %a, i64 %b, i1 true, i32 1, i32 1, i32 0, i32 0)
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  %j = add i32 %i, 1
  %m = icmp ult i32 %j, %n
  br i1 %m, label %l, label %d
d:
  %r = extractelement <4 x float> %t, i32 0
  store float %r, ptr addrspace(1) %o
  ret void
}
"""
PROGRAMS = {
    "a choice": (CHOICE, "sm_100a"),
    "a loop that exchanges two values": (LOOP, "sm_100a"),
    "multiplies of a warpgroup": (MULTIPLY, "sm_90a"),
    "the walkthrough": (WALKTHROUGH.read_text(), "sm_100a"),
}


def compiled(name: str) -> Compiled:
    text, target = PROGRAMS[name]
    return check_text(text, Options(target=target, keep_stages=True))


def without_head(ptx: str) -> str:
    return ptx.partition(".version")[2]


@pytest.mark.turns(3)
@pytest.mark.parametrize("stage", PASSES)
@each("name", PROGRAMS)
def test_every_stage_goes_on_to_the_same_ptx(name: str, stage: str):
    direct = compiled(name)
    module = read_mir(direct.stages[stage])
    assert module.stage == (stage if stage != PASSES[-1] else "")
    assert resume(module) is (stage != PASSES[-1])
    assert without_head(print_ptx(module, direct.ptx_version).text) == without_head(direct.ptx)


@pytest.mark.turns(3)
@pytest.mark.parametrize("stage", PASSES)
@each("name", PROGRAMS)
def test_every_stage_is_read_as_it_was_printed(name: str, stage: str):
    """But for the numbers of registers without a name, which are those of their appearance."""
    text = compiled(name).stages[stage]
    again = print_mir(read_mir(text)).text
    assert print_mir(read_mir(again)).text == again
    assert re.sub(r"%\d+\b", "%_", again).split() == re.sub(r"%\d+\b", "%_", text).split()


@pytest.mark.parametrize("stage", PASSES)
def test_compile_takes_mir_of_any_stage(stage: str):
    direct = compiled("a choice")
    found = nvgen.compile(direct.stages[stage])
    assert without_head(found.ptx) == without_head(direct.ptx)
    assert found.target == direct.target


def test_a_text_that_does_not_say_its_stage_is_as_far_as_its_records():
    """With PHI records none of the passes has run."""
    direct = compiled("a loop that exchanges two values")
    said = direct.stages["select"]
    unsaid = said.replace('stage "select"\n', "")
    assert unsaid != said
    assert without_head(nvgen.compile(unsaid).ptx) == without_head(direct.ptx)


def test_pseudo_records_alone_are_expanded():
    direct = compiled("the walkthrough")
    unsaid = direct.stages["order-wgmma"].replace('stage "order-wgmma"\n', "")
    assert without_head(nvgen.compile(unsaid).ptx) == without_head(direct.ptx)


# ---- what is refused -------------------------------------------------------------------------

BRANCH = "BRA bb.j !4"
REFUSED = {
    "no such stage": ('"select"', '"selection"', "mir/stage", "no pass 'selection'"),
    "a block twice": ("{bb.a, bb.b}", "{bb.a, bb.a}", "mir/phi", "each block"),
    "a block is missing": ("{imm:1, imm:2}, {bb.a, bb.b}", "{imm:1}, {bb.a}", "mir/phi", "each"),
    "a block that is not before it": ("{bb.a, bb.b}", "{bb.a, bb.e}", "mir/phi", "each block"),
    "a value is missing": ("{imm:1, imm:2}", "{imm:1}", "mir/phi", "a value for each block"),
    "no lists": ("{imm:1, imm:2}, {bb.a, bb.b}", "imm:1, bb.a", "mir/phi", "a list of values"),
    "a guard": ("%v:b32 = PHI", "@%c:pred %v:b32 = PHI", "mir/phi", "has a guard"),
    "another width": ("{imm:1, imm:2}", "{%o:b64, imm:2}", "mir/phi", "different widths"),
    "no value": ("{imm:1, imm:2}", "{bb.a, imm:2}", "mir/phi", "is no value"),
    "behind others": (
        "  %v:b32 = PHI", "  %w:b32 = MOV_B32 imm:0\n  %v:b32 = PHI", "mir/phi", "behind others"),
    "written twice": ("%n:b32 = LD", "%v:b32 = LD", "mir/ssa", "written twice"),
    "a PHI too late": ('"select"', '"layout"', "phi/pseudo", "no instruction"),
}  # fmt: skip


@each("name", REFUSED)
def test_records_that_cannot_go_on_are_refused(name: str):
    """Never a traceback, and never PTX with a PHI in it."""
    old, new, rule, words = REFUSED[name]
    text = compiled("a choice").stages["select"]
    assert old in text
    with pytest.raises((InputError, VerificationError)) as caught:
        nvgen.compile(text.replace(old, new))
    assert rule in {f.rule for f in caught.value.findings}
    assert words in str(caught.value)


def test_a_phi_is_no_instruction_of_ptx():
    """Neither the verifier nor the printer lets it pass."""
    module = read_mir(compiled("a choice").stages["select"])
    newest = PTX_VERSIONS[-1]
    assert {f.rule for f in verify_records(module, module.target, newest)} == {"phi/pseudo"}
    with pytest.raises(VerificationError, match="destruct-ssa"):
        print_ptx(module, newest)


# ---- nvgen.compile ---------------------------------------------------------------------------


def test_compile_takes_ptx_text():
    """Its own target and version, if no other is asked for."""
    ptx = compiled("a choice").ptx
    found = nvgen.compile(ptx)
    assert (found.target.name, str(found.ptx_version)) == ("sm_100a", "8.6")
    assert nvgen.compile(ptx, target="sm_90a", ptx="8.3").ptx.count(".target sm_90a") == 1


def test_what_is_wrong_in_ptx_text_is_raised():
    ptx = compiled("a choice").ptx.replace("mov.b32", "mov.b33")
    with pytest.raises(VerificationError):
        nvgen.compile(ptx)


def test_records_are_not_optimised():
    with pytest.raises(InputError, match="only LLVM IR can be optimised"):
        nvgen.compile(compiled("a choice").ptx, opt=2)


def test_llvm_ir_still_needs_a_target():
    with pytest.raises(InputError, match="does not say its target"):
        nvgen.compile(CHOICE)
