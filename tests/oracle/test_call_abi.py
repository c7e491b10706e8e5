"""What functions take and give in PTX is what LLVM 22's own back end makes of it.

A function compiled by one may call a function compiled by the other: parameters and results have
the same types, sizes and alignments.  Local functions are left out: LLVM aligns their bytes more
than they need, which nobody else sees.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.call_programs import PROGRAMS

TARGET, PTX = "sm_90a", "8.6"

TYPES = (
    "i1", "i8", "i16", "i32", "i64", "i3", "i24", "i48", "i128", "half", "bfloat", "float",
    "double", "ptr", "ptr addrspace(3)",
    "<2 x half>", "<4 x float>", "<3 x i8>", "<2 x i64>", "<3 x double>", "[3 x i8]", "[2 x float]",
    "{ i8, i64 }", "{ float }", "<{ i8, i32 }>", "{ i8, [3 x i16], { double, i1 } }",
)  # fmt: skip

_ODD = ("i3", "i24", "i48")
"""Widths that LLVM's own tables of calls by pointer cannot hold."""

_HEAD = re.compile(r"\.func\s*(\([^)]*\))?\s*(\w+)\s*\(([^)]*)\)\s*(\.noreturn)?")
_PROTOTYPE = re.compile(r"\.callprototype\s*(\([^)]*\))?\s*_\s*(\([^)]*\))?\s*(\.noreturn)?")
_DECLARED = re.compile(r"^\s*(\.param [^;()]*);", re.MULTILINE)


def shape(params: str | None) -> list[str]:
    """Parameters without their names: `.param .b32`, `.param .align 4 .b8 [8]`."""
    found = []
    for one in (params or "").strip("()").split(","):
        if one.strip():
            words = re.sub(r"\s+([\w$]+)(\[\d+\])?$", lambda m: f" {m[2] or ''}", one.strip())
            found.append(" ".join(words.split()))
    return found


def functions(ptx: str) -> dict[str, tuple[list[str], list[str], bool]]:
    """What each function takes and gives, and whether it comes back."""
    text = re.sub(r"//[^\n]*", "", ptx)
    return {
        m[2]: (shape(m[1]), shape(m[3]), m[4] is not None)
        for m in _HEAD.finditer(text)
    }  # fmt: skip


def prototypes(ptx: str) -> list[tuple[list[str], list[str], bool]]:
    """The tables of calls by pointer, in order."""
    return [(shape(m[1]), shape(m[2]), m[3] is not None) for m in _PROTOTYPE.finditer(ptx)]


def both(text: str) -> tuple[str, str]:
    """The PTX of LLVM and of nvgen."""
    (theirs,) = llvm.compile_all([llvm.HEADER + text], TARGET, PTX)
    assert not theirs.refusal, theirs.refusal
    ours = nvgen.compile(llvm.HEADER + text, target=TARGET, ptx=PTX)
    return theirs.ptx, ours.ptx


def test_every_type_is_passed_as_llvm_passes_it():
    """As a parameter, as a result, to a function of another module, and by pointer."""
    parts = []
    for n, t in enumerate(TYPES):
        parts.append(f"""
declare {t} @there{n}({t})
define {t} @f{n}({t} %a, ptr %f) {{
  %b = call {t} @there{n}({t} %a)
  %c = call {t} {"@there" + str(n) if t in _ODD else "%f"}({t} %b)
  ret {t} %c
}}""")
    theirs, ours = both("\n".join(parts))
    assert functions(ours) == functions(theirs)
    assert prototypes(ours) == prototypes(theirs)
    assert len(functions(ours)) == 2 * len(TYPES)
    of_calls = [_DECLARED.findall(text) for text in (ours, theirs)]
    assert sorted(shape(",".join(of_calls[0]))) == sorted(shape(",".join(of_calls[1])))


def test_attributes_of_parameters():
    theirs, ours = both("""
%S = type { i32, double, i8 }
define void @f(ptr sret(%S) %c, ptr byval(%S) align 8 %a, ptr byval(i16) %b, i8 signext %d) {
  ret void
}
define void @gone() noreturn { call void @llvm.trap() unreachable }
define void @g(ptr %p, ptr %q) {
  call void @f(ptr sret(%S) %q, ptr byval(%S) align 8 %p, ptr byval(i16) %p, i8 signext -3)
  call void %p() noreturn
  unreachable
}""")
    assert functions(ours) == functions(theirs)
    assert prototypes(ours) == prototypes(theirs)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_ptxas_takes_it(name: str):
    compiled = nvgen.compile(PROGRAMS[name], target=TARGET)
    assert compiled.cubin()


def test_linking_directives_and_forward_declarations():
    text = """
declare void @elsewhere()
define internal void @local() { ret void }
define linkonce_odr void @weak() { ret void }
define void @first() {
  call void @second()
  call void @local()
  call void @elsewhere()
  ret void
}
define void @second() {
  call void @weak()
  ret void
}
define internal void @nobody() { ret void }
"""
    _, ours = both(text)
    declared = re.findall(r"^(.*\.func .*?)(?: \(\))?;?$", ours, re.MULTILINE)
    assert declared == [
        ".extern .func elsewhere",
        ".visible .func second",
        ".func local()",
        ".weak .func weak()",
        ".visible .func first()",
        ".visible .func second()",
    ]


_WHOLE = re.compile(r"(?:ld|st)\.param\.v(\d)\.b(\d+)[^\[]*\[(\w+)(?:\+(\d+))?\]")
_ALIGNED = re.compile(r"\.param \.align (\d+) \.b8 (\w+)\[")


@pytest.mark.parametrize(
    "type_", ["{ i32, i32 }", "[4 x float]", "{ i16, i16, i32, i64 }", "<{ i8, i32, i32, i8 }>"]
)
def test_a_vector_in_a_parameter_is_aligned_to_its_whole_size(type_: str) -> None:
    """As PTX ISA wants it of ld and st with .v2 and .v4; ptxas takes others without a word."""
    ptx = nvgen.compile(
        f"define {type_} @f({type_} %a, {type_} %b) {{\n"
        f"  %r = call {type_} @g({type_} %b)\n  ret {type_} %r\n}}\n"
        f"declare {type_} @g({type_})",
        target=TARGET,
    ).ptx
    align = {name: int(number) for number, name in _ALIGNED.findall(ptx)}
    assert align
    for count, bits, name, offset in _WHOLE.findall(ptx):
        size = int(count) * int(bits) // 8
        assert align[name] % size == int(offset or 0) % size == 0, name
