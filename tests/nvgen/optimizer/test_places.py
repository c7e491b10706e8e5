"""What is told of an optimised kernel is told at the line that the user wrote."""

from __future__ import annotations

import re

import pytest

import nvgen
from intrinsics.findings import NvgenError, VerificationError
from intrinsics.targets import parse_target
from isel.llvm.reader import read_module
from isel.places import align_places
from isel.select.module import Source
from nvgen.llvm import parse
from nvgen.optimizer.optimize import optimize
from tests.nvgen.optimizer.passes import LEVELS
from tests.nvgen.samples import gemm_llvm, gemm_tile
from tests.nvgen.test_bad_input import PROGRAMS

STANDING = {
    name: bad
    for name, bad in PROGRAMS.items()
    if bad.line and name != "wide integer"  # which nobody uses: it is gone
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", STANDING)
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
    assert set(found.debug["gemm_tile"]) == {("", 0, ())}
