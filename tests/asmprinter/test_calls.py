"""Functions and calls as text: PTX and MIR say the same, and are read back.

PTX ISA, Kernel and Function Directives; Control Flow Instructions: call; .callprototype.
"""

from __future__ import annotations

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import PtxReading, read_ptx
from intrinsics.mir import Linkage, Param, Prototype, Sym, renumber
from intrinsics.modifiers import ScalarType
from intrinsics.targets import Ptx

T = ScalarType

TEXT = """.version 8.6
.target sm_90a
.address_size 64
.extern .func (.param .b32 func_retval0) there (.param .b64 there_param_0) ;
.visible .func (.param .align 8 .b8 func_retval0[16]) later
(
    .param .b32 later_param_0
)
;
.weak .func helper(
    .param .align 8 .b8 helper_param_0[24]
)
.noreturn
{
    .reg .b64 %rd<2>;
    ld.param.b64 %rd1, [helper_param_0+16];
    trap;
}
.visible .entry k(
    .param .u64 k_param_0
)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [k_param_0];
    { // callseq 0, 0
    .param .b64 param0;
    .param .b32 retval0;
    st.param.b64 [param0], %rd1;
    call.uni (retval0), there, (param0);
    ld.param.b32 %r1, [retval0];
    } // callseq 0
    { // callseq 1, 0
    .param .align 8 .b8 param0[24];
    st.param.b64 [param0+16], %rd1;
    call.uni helper, (param0);
    } // callseq 1
    { // callseq 2, 0
    .param .b32 param0;
    .param .align 8 .b8 retval0[16];
    prototype_2 : .callprototype (.param .align 8 .b8 _[16]) _ (.param .b32 _) .noreturn;
    st.param.b32 [param0], %r1;
    mov.b64 %rd2, later;
    call (retval0), %rd2, (param0), prototype_2;
    ld.param.b64 %rd3, [retval0+8];
    } // callseq 2
    ret;
}
.visible .func (.param .align 8 .b8 func_retval0[16]) later(
    .param .b32 later_param_0
)
{
    .reg .b64 %rd<2>;
    st.param.b64 [func_retval0+8], 7;
    ret;
}
"""


def reading() -> PtxReading:
    found = read_ptx(TEXT, "calls.ptx")
    assert found.findings == []
    return found


def test_functions_are_read_with_all_that_they_say():
    module = reading().module
    helper, k, later = module.functions
    assert (helper.linkage, helper.noreturn, helper.is_kernel) == (Linkage.WEAK, True, False)
    assert helper.params == [Param("helper_param_0", T.B8, 24, 8)]
    assert (k.linkage, k.is_kernel, k.results) == (Linkage.VISIBLE, True, [])
    assert later.results == [Param("func_retval0", T.B8, 16, 8)]
    (there,) = module.externals
    assert there == Prototype(
        "there", (Param("there_param_0", T.B64, 8, 8),), (Param("func_retval0", T.B32, 4, 4),)
    )


def test_calls_name_their_own_variables():
    k = reading().module.function("k")
    assert k is not None
    first, second, third = [mi for mi in k.instructions() if mi.row.id == "call"]
    assert first["callee"] == Sym("there")
    assert (first["params"], first["results"]) == ((Sym("param0"),), (Sym("retval0"),))
    assert second["callee"] == Sym("helper")
    assert second["params"] == (Sym("param0_2"),)
    assert second.get("results") is None
    assert type(third["callee"]) is int
    assert third["prototype"] == Sym("prototype_2")
    (table,) = k.prototypes
    assert table == Prototype(
        "prototype_2", (Param("_", T.B32, 4, 4),), (Param("_", T.B8, 16, 8),), noreturn=True
    )
    sizes = {v.name: (v.type, v.size) for v in k.variables}
    assert sizes["param0"] == (T.B64, 8)
    assert sizes["param0_2"] == (T.B8, 24)


def test_ptx_comes_back():
    module = reading().module
    again = read_ptx(print_ptx(module, Ptx(8, 6)).text, "calls.ptx")
    assert again.findings == []
    assert again.module.externals == module.externals
    for old, new in zip(module.functions, again.module.functions, strict=True):
        assert new.signature == old.signature
        assert (new.linkage, new.variables, new.prototypes) == (
            old.linkage,
            old.variables,
            old.prototypes,
        )
        assert [(mi.form, mi.ops) for mi in new.instructions()] == [
            (mi.form, mi.ops) for mi in old.instructions()
        ]


def test_a_function_is_declared_before_it_is_named():
    text = print_ptx(reading().module, Ptx(8, 6)).text
    declared = text.index(".visible .func (.param .align 8 .b8 func_retval0[16]) later (")
    assert declared < text.index("mov.b64 %rd2, later") < text.rindex("later(")
    assert text.count("helper(") == 1


def test_mir_comes_back():
    module = reading().module
    for function in module.functions:
        renumber(function)
    text = print_mir(module).text
    assert read_mir(text) == module
    lines = [" ".join(line.split(";")[0].split()) for line in text.splitlines()]
    result, param = "result @func_retval0 : b32 size 4 align 4", "param @there_param_0 : b64 size 8"
    assert f"declare @there({result}, {param} align 8)" in lines
    assert any(x.startswith("CALL_UNI @there, results={@retval0}, params={@param0}") for x in lines)
    assert any("prototype=@prototype_2" in x for x in lines)
    assert ") weak noreturn named {" in lines


def test_what_a_call_gets_wrong_is_said():
    for bad, rule in (
        ("call.uni nosuch, (param0);", "ptx/undeclared"),
        ("call.uni (retval0) there, (param0);", "ptx/operands"),
        ("call.uni (retval0), there, (%rd1);", "ptx/not-modelled"),
        ("call.uni %rd1, (param0);", "ptx/not-modelled"),
    ):
        text = TEXT.replace("call.uni (retval0), there, (param0);", bad)
        assert [f.rule for f in read_ptx(text, "calls.ptx").findings] == [rule], bad
