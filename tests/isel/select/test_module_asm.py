"""Module-level assembly: read into variables and functions, or kept as it stands."""

from __future__ import annotations

import pytest

import nvgen
from intrinsics.findings import SelectionError, Severity
from tests.oracle.side_by_side import TARGET, compare, refusals, values

VARIABLE = ".visible .global .align 8 .b64 counter[2] = {3, 4};"
FUNCTION = """\
.visible .func (.param .b64 r) twice (.param .b64 a)
{
.reg .b64 x;
ld.param.b64 x, [a];
shl.b64 x, x, 1;
st.param.b64 [r], x;
ret;
}"""


def assembly(*texts: str) -> str:
    lines = [line for text in texts for line in text.split("\n")]
    return "".join(f'module asm "{line}"\n' for line in lines)


def kernel(*lines: str) -> str:
    body = "\n  ".join((*lines, "ret void"))
    return f"define ptx_kernel void @k(ptr addrspace(1) %out) {{\n  {body}\n}}\n"


INLINE = kernel(
    '%x = call i64 asm "ld.global.b64 $0, [counter+8];", "=l"()',
    "store i64 %x, ptr addrspace(1) %out",
)


@pytest.mark.parametrize("opt", [0, 2])
def test_what_inline_assembly_names_is_what_llvm_makes(opt: int):
    compare({"a variable": assembly(VARIABLE) + INLINE}, opt=opt)


def test_llvm_ir_names_what_assembly_defines():
    """LLVM declares it again behind the definition, which ptxas refuses."""
    text = (
        "declare i64 @twice(i64)\n@counter = external addrspace(1) global [2 x i64]\n"
        + assembly(VARIABLE, FUNCTION)
        + kernel(
            "%x = load i64, ptr addrspace(1) getelementptr (i64, ptr addrspace(1) @counter, i64 1)",
            "%y = call i64 @twice(i64 %x)",
            "store i64 %y, ptr addrspace(1) %out",
        )
    )
    compiled = nvgen.compile(text, target=TARGET)
    assert compiled.judged == []
    assert ".extern" not in compiled.ptx
    assert values(compiled.ptx)[0] == 8
    assert nvgen.compile(compiled.mir).ptx == compiled.ptx
    assert refusals({"": compiled.ptx}) == {}


CALLER = """\
.visible .func (.param .b64 r) outer (.param .b64 a)
{
.reg .b64 x, y;
.param .b64 p0, r0;
ld.param.b64 x, [a];
st.param.b64 [p0], x;
call (r0), helper, (p0);
ld.param.b64 x, [r0];
ld.global.b64 y, [state];
add.s64 x, x, y;
st.param.b64 [r], x;
ret;
}"""


def test_assembly_names_what_llvm_ir_defines():
    """Nobody else names these functions: they are kept, and declared before they are called."""
    text = (
        "declare i64 @outer(i64)\n@state = internal addrspace(1) global i64 100\n"
        + assembly(CALLER)
        + "".join(
            f"define internal i64 @{name}(i64 %a) {{\n  %r = add i64 %a, {n}\n  ret i64 %r\n}}\n"
            for name, n in (("helper", 4), ("other", 7), ("unnamed", 1))
        )
        + kernel(
            "%x = call i64 @outer(i64 2)",
            '%y = call i64 asm "{ .param .b64 p0, r0; st.param.b64 [p0], $1;'
            ' call (r0), other, (p0); ld.param.b64 $0, [r0]; }", "=l,l"(i64 %x)',
            "store i64 %y, ptr addrspace(1) %out",
        )
    )
    compiled = nvgen.compile(text, target=TARGET)
    assert "unnamed" not in compiled.ptx
    assert values(compiled.ptx)[0] == 2 + 4 + 100 + 7
    assert refusals({"": compiled.ptx}) == {}


def test_a_place_in_it_is_its_line():
    text = "; first\n" + assembly(FUNCTION.replace("shl.b64", "shl.f64")) + kernel()
    compiled = nvgen.compile(text, target=TARGET)
    (finding,) = compiled.judged
    assert (finding.rule, finding.place.line) == ("select/module-asm", 6)


def test_what_is_not_known_stays_as_it_is_with_a_review():
    text = assembly(".global .texref picture;", VARIABLE) + INLINE
    compiled = nvgen.compile(text, target=TARGET)
    inline, finding = compiled.judged  # what inline assembly names is not known either
    assert (finding.rule, finding.severity) == ("select/module-asm", Severity.REVIEW)
    assert finding.incomplete
    assert inline.severity is Severity.REVIEW
    assert compiled.ptx.index(".texref picture") < compiled.ptx.index(".entry k")
    assert refusals({"": compiled.ptx}) == {}


@pytest.mark.parametrize(
    "text", ["x;", ".x 0", ".section .x {", ".x /* 1;", ".x 'a;} {", "; .x }{"]
)
def test_unknown_text_that_swallows_what_follows_is_refused(text: str):
    with pytest.raises(SelectionError) as error:
        nvgen.compile(assembly(text) + kernel(), target=TARGET)
    (finding,) = error.value.findings
    assert finding.message == "module-level assembly is no whole directives"


def test_a_module_of_assembly_alone():
    compiled = nvgen.compile(assembly(VARIABLE, FUNCTION), target=TARGET)
    assert ".visible .func (.param .b64 r) twice(" in compiled.ptx
    assert refusals({"": compiled.ptx}) == {}


@pytest.mark.parametrize("of", ["define void @twice() {\n  ret void\n}", "@counter = global i64 1"])
def test_two_definitions_are_reported(of: str):
    with pytest.raises(SelectionError) as error:
        nvgen.compile(assembly(VARIABLE, FUNCTION) + of + "\n" + kernel(), target=TARGET)
    (finding,) = error.value.findings
    assert finding.rule == "select/module-asm"
    assert finding.got in of
