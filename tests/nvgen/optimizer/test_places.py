"""What is told of an optimised kernel is told at the line that the user wrote."""

from __future__ import annotations

import re

import pytest

import nvgen
from intrinsics.findings import NvgenError, VerificationError
from intrinsics.targets import parse_target
from isel.llvm.reader import read_module
from isel.places.align import align_places
from isel.places.debug import NO_DEBUG
from isel.select.locations import Source
from nvgen.llvm.reading import parse
from nvgen.optimizer.optimize import optimize
from tests.each import each
from tests.nvgen.commands.test_bad_input import PROGRAMS
from tests.nvgen.optimizer.passes import LEVELS
from tests.samples.modules import gemm_llvm, gemm_tile

STANDING = {
    name: bad
    for name, bad in PROGRAMS.items()
    if bad.line and name not in ("wide integer", "libdevice")  # which nobody uses: they are gone
}


@pytest.mark.parametrize("level", LEVELS)
@each("name", STANDING)
def test_an_error_stands_where_it_stands_without_optimisation(name: str, level: int) -> None:
    bad = STANDING[name]
    with pytest.raises(NvgenError) as caught:
        nvgen.compile(bad.text, target=bad.options.split()[1], opt=level)
    (finding,) = caught.value.findings
    assert finding.rule == bad.rule
    assert (finding.place.line, finding.place.column) == (bad.line, bad.column)


def lines_of(text: str, opt: int) -> dict[str, list[int]]:
    """The lines of the user's text that the records of each row come from."""
    module = nvgen.compile(text, target="sm_100a", opt=opt).module
    found: dict[str, list[int]] = {}
    for function in module.functions:
        for mi in function.instructions():
            found.setdefault(mi.row.id, []).append(module.locations[mi.loc].line)
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_every_call_of_the_sample_keeps_its_line(level: int) -> None:
    text = gemm_llvm()
    plain, done = lines_of(text, 0), lines_of(text, level)
    user = text.split("\n")
    for row in plain:
        if row.startswith(("tcgen05.", "mbarrier.", "cp.async", "elect", "fence", "barrier")):
            assert done[row] == plain[row]
            assert all("call" in user[line - 1] for line in done[row])


@pytest.mark.parametrize("level", LEVELS)
def test_the_users_own_debug_info_is_kept_beside_it(level: int) -> None:
    """The builder's lines of Python stand beside the lines of the LLVM IR."""
    module = gemm_tile().build().compile(target="sm_100a", opt=level).module
    places = [
        module.locations[mi.loc]
        for mi in module.functions[0].instructions()
        if mi.row.id.startswith(("tcgen05", "mbarrier", "cp.async", "elect"))
    ]
    assert len(places) > 15
    assert all(place.python_file.endswith("01_gemm_tile.py") for place in places)
    assert all(place.line and place.python_line for place in places)
    plain = gemm_tile().build().compile(target="sm_100a").module
    before = {(p.line, p.python_line) for p in plain.locations}
    assert {(p.line, p.python_line) for p in places} <= before


MERGED = """\
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {
  %c = icmp eq i32 %n, 0
  br i1 %c, label %yes, label %no
yes:
  call void @llvm.nvvm.tcgen05.wait.ld()
  store i32 3, ptr addrspace(1) %out
  ret void
no:
  call void @llvm.nvvm.tcgen05.wait.st()
  store i32 4, ptr addrspace(1) %out
  ret void
}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_what_llvm_made_of_two_lines_stands_where_the_function_does(level: int) -> None:
    """A line of its own it has not; neither of the two would be the truth."""
    assert lines_of(MERGED, 0)["st"] == [6, 10]
    found = lines_of(MERGED, level)
    assert found["st"] == [1]
    assert found["tcgen05.wait"] == [5, 9]


@pytest.mark.parametrize("level", LEVELS)
def test_a_line_of_an_inlined_function_is_its_own(level: int) -> None:
    text = (
        "define ptx_kernel void @k() {\n  call void @f()\n  ret void\n}\n"
        "define internal void @f() alwaysinline {\n"
        "  call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) null, i32 48)\n"
        "  ret void\n}\n"
    )
    with pytest.raises(VerificationError) as caught:
        nvgen.compile(text, target="sm_100a", opt=level)
    (finding,) = caught.value.findings
    assert (finding.place.line, finding.place.function) == (6, "k")


@pytest.mark.parametrize("level", LEVELS)
def test_a_long_line_keeps_its_column(level: int) -> None:
    """LLVM's own locations end at column 65535."""
    padding = " " * 70_000
    text = (
        "define ptx_kernel void @k() {\n"
        f"{padding}call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) null, i32 48)\n"
        "  ret void\n}\n"
    )
    with pytest.raises(VerificationError) as caught:
        nvgen.compile(text, target="sm_100a", opt=level)
    assert [(f.place.line, f.place.column) for f in caught.value.findings] == [(2, 70_001)]


def test_the_optimised_text_says_nothing_of_places() -> None:
    """The numbers that stood for the places are gone, with all that belonged to them."""
    text = re.sub(r", !dbg !\d+|^!.*\n| !dbg !\d+", "", gemm_llvm(), flags=re.MULTILINE)
    printed = parse(text)
    module = read_module(printed)
    source = Source("f.ll", align_places(module, text), text)
    done, _, found = optimize(printed, module, source, 2, parse_target("sm_100a"))
    assert "!" not in done
    assert found.debug is not None
    assert set(found.debug["gemm_tile"]) == {NO_DEBUG}


LOOP = """define ptx_kernel void @k(ptr addrspace(1) %x, i32 %n) !dbg !5 {
entry:
  br label %loop, !dbg !8
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ], !dbg !8
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %i, !dbg !9
  store volatile i32 %i, ptr addrspace(1) %p, !dbg !9
  %j = add i32 %i, 1, !dbg !8
  %more = icmp slt i32 %j, %n, !dbg !8
  br i1 %more, label %loop, label %done, !dbg !8, !llvm.loop !10
done:
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "loop.cu", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !4)
!4 = !{}
!5 = distinct !DISubprogram(name: "k", file: !1, line: 3, type: !3, unit: !0,
spFlags: DISPFlagDefinition)
!8 = !DILocation(line: 4, column: 2, scope: !5)
!9 = !DILocation(line: 5, column: 4, scope: !5)
!10 = distinct !{!10, !8, !9, !11, !12}
!11 = !{!"llvm.loop.mustprogress"}
!12 = !{!"llvm.loop.unroll.disable"}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_a_loop_may_say_where_it_begins_and_ends(level: int) -> None:
    """As clang's debug info does: the two locations lie in the user's function, not in ours."""
    compiled = nvgen.compile(LOOP, target="sm_90a", opt=level)
    stores = [mi for mi in compiled.module.functions[0].instructions() if mi.row.id == "st"]
    places = [compiled.module.locations[mi.loc] for mi in stores]
    assert {(place.python_file, place.python_line) for place in places} == {("/loop.cu", 5)}
    assert "llvm.loop.unroll.disable" in compiled.llvm


UNROLLED = """define ptx_kernel void @k(ptr addrspace(1) %p) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  CALL
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store volatile i32 %i, ptr addrspace(1) %q
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 4
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.tcgen05.wait.lb()
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 16)", "bar.sync/immediate-range"),
        ("call void @llvm.nvvm.tcgen05.wait.lb()", "select/unknown-intrinsic"),
    ],
)
def test_copies_of_a_line_are_reported_once(call: str, rule: str, level: int) -> None:
    with pytest.raises(NvgenError) as caught:
        nvgen.compile(UNROLLED.replace("CALL", call), target="sm_100a", opt=level)
    assert [(f.rule, f.place.line) for f in caught.value.findings] == [(rule, 6)]


def test_the_loop_of_that_line_has_copies() -> None:
    """Four of a call that nothing is wrong with."""
    call = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)"
    ptx = nvgen.compile(UNROLLED.replace("CALL", call), target="sm_100a", opt=3).ptx
    assert ptx.count("bar.sync") == 4
