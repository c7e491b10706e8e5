"""What the function level says where functions are called: nothing false, and nothing too sure.

The kernels are those of the other tests, with a function beside them and a call of it.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Module
from intrinsics.targets import PTX_VERSIONS
from isel.verifier.function.flow.callees import Callees
from isel.verifier.functions import verify_functions
from isel.verifier.levels import verify
from tests.isel.verifier.function.test_function_rules import module_of
from tests.isel.verifier.function.tile_kernels import TILE

QUIET = """
.func (.param .b32 result) twice(.param .b32 a)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [a];
    add.s32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
"""
OUTER = """
.func (.param .b32 result) outer(.param .b32 a)
{
    .reg .b32 %r<4>;
    .param .b32 given;
    .param .b32 got;
    ld.param.b32 %r1, [a];
    st.param.b32 [given], %r1;
    call.uni (got), twice, (given);
    ld.param.b32 %r2, [got];
    st.param.b32 [result], %r2;
    ret;
}
"""
FREES = """
.func free(.param .b32 place)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [place];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;
    ret;
}
"""
WRITES = """
.func put(.param .b64 place)
{
    .reg .b64 %rd<4>;
    ld.param.b64 %rd1, [place];
    st.b32 [%rd1], 1;
    ret;
}
"""
DEALLOC = "    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 128;"


def with_function(kernel: str, function: str) -> str:
    """A function before the kernel."""
    head, entry, tail = kernel.partition(".visible .entry")
    if not entry:
        head, entry, tail = kernel.partition(".entry")
    return head + function + entry + tail


def call(name: str, value: str, *, result: bool = True) -> str:
    """A call of a function with one word, on one line."""
    got = "(got), " if result else ""
    return (
        "{ .param .b32 given; .param .b32 got; "
        f"st.param.b32 [given], {value}; call.uni {got}{name}, (given); }}"
    )


def said(text: str) -> list[Finding]:
    return verify_functions(module_of(text))


def after_the_load(line: str) -> str:
    """The plainest kernel with a line behind the load of the accumulator."""
    at = "    ld.param.u64 %rd11, [out];"
    assert at in TILE
    return TILE.replace(at, f"    {line}\n{at}")


def test_a_call_of_a_quiet_function_changes_nothing():
    for function, name in ((QUIET, "twice"), (QUIET + OUTER, "outer")):
        text = with_function(after_the_load(call(name, "%r22")), function)
        assert said(text) == []


def test_a_mistake_beside_a_quiet_call_is_an_error():
    text = with_function(after_the_load(call("twice", "%r22")), QUIET)
    (finding,) = said(text.replace(DEALLOC, ""))
    assert (finding.rule, finding.severity) == ("tcgen05.alloc/never-freed", Severity.ERROR)


def test_a_kernel_is_judged_with_what_it_calls():
    text = with_function(TILE.replace(DEALLOC, "    " + call("free", "%r3", result=False)), FREES)
    assert said(text) == []
    (finding,) = said(text.replace("%r1, 128", "%r1, 64"))
    assert (finding.rule, finding.severity) == ("tcgen05.dealloc/count", Severity.ERROR)
    assert finding.place.function == "k"


def test_a_function_that_others_may_call_is_judged_by_itself_too():
    text = with_function(
        TILE.replace(DEALLOC, "    " + call("free", "%r3", result=False)), ".visible" + FREES[1:]
    )
    found = said(text)
    assert {f.place.function for f in found} == {"free"}
    assert "verify/device-function" in {f.rule for f in found}


def test_functions_in_functions_and_their_results_are_followed():
    """The address goes through two functions, one of which frees; each is called twice."""
    same = OUTER.replace("outer", "free_it").replace("twice", "free_and_give")
    gives = FREES.replace("func free(", "func (.param .b32 result) free_and_give(").replace(
        "    ret;", "    st.param.b32 [result], %r1;\n    ret;"
    )
    text = with_function(TILE.replace(DEALLOC, "    " + call("free_it", "%r3")), gives + same)
    assert said(text) == []
    again = call("free_it", "%r3")
    wrong = with_function(TILE.replace(DEALLOC, f"    {again}\n    {again}"), gives + same)
    assert any(f.severity is Severity.ERROR for f in said(wrong))


def test_what_calls_itself_is_said_not_to_be_followed():
    """Nobody looks into it, so that what is missing may be there."""
    inner = call("free", "%r1", result=False)
    looping = FREES.replace("    tcgen05", f"    {inner}\n    tcgen05")
    text = with_function(TILE.replace(DEALLOC, "    " + call("free", "%r3", result=False)), looping)
    found = said(text)
    assert not [f for f in found if f.severity is Severity.ERROR]
    assert [f.place.function for f in found if f.rule == "verify/calls" and f.incomplete]


def test_a_kernel_that_synchronises_in_a_function_only_is_judged():
    text = f"""
.version 9.0
.target sm_100a
.address_size 64
{FREES}
.visible .entry k(.param .b32 a)
.reqntid 128
{{
    .reg .b32 %r<4>;
    .param .b32 given;
    ld.param.b32 %r1, [a];
    st.param.b32 [given], %r1;
    call.uni free, (given);
    ret;
}}
"""
    found = said(text)
    told = {f.rule for f in found if f.severity is Severity.ERROR and f.place.function == "k"}
    assert told == {"tcgen05.dealloc/warps", "tcgen05.dealloc/unallocated"}


def test_calls_by_pointer_and_of_other_modules_are_unknown():
    for line in (
        "{ p0: .callprototype _ (); mov.u64 %rd30, free; call %rd30, (), p0; }",
        "call.uni elsewhere;",
    ):
        text = with_function(after_the_load(line), ".extern .func elsewhere;\n" + FREES)
        found = said(text.replace(DEALLOC, ""))
        assert any(f.rule == "verify/calls" for f in found)
        assert not [f for f in found if f.severity is Severity.ERROR and f.place.function == "k"]


def test_what_a_function_writes_is_said_not_to_be_seen():
    line = "{ .param .b64 given; st.param.b64 [given], %rd11; call.uni put, (given); }"
    at = "    ld.param.u64 %rd11, [out];"
    text = with_function(TILE.replace(at, f"{at} {line}"), WRITES)
    (note,) = said(text)
    assert (note.rule, note.severity, note.incomplete) == ("verify/calls", Severity.NOTE, True)
    assert "@put" in note.got


def test_recursion_is_looked_through():
    text = QUIET.replace("add.s32 %r2, %r1, %r1;", call("twice", "%r1") + " mov.b32 %r2, %r1;")
    module: Module = read_ptx(f".version 8.6\n.target sm_90a\n.address_size 64\n{text}").module
    callees = Callees.of(module)
    assert callees.quiet == {"twice"}
    assert not callees.concerned
    assert verify(module, module.target, PTX_VERSIONS[-1], "function") == []
