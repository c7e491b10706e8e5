"""What the reader makes of calls, branches and exceptions: one small example for each."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

import pytest

from isel.llvm.ir import (
    Branch,
    Bundle,
    Call,
    CondBranch,
    IndirectBr,
    Invoke,
    Phi,
    Return,
    Switch,
    Unreachable,
    Unsupported,
)
from isel.llvm.types import (
    FLOAT,
    I1,
    I32,
    METADATA,
    PTR,
    TOKEN,
    VOID,
    ArrayType,
    FunctionType,
    PointerType,
    StructType,
)
from isel.llvm.values import (
    ConstArray,
    ConstInt,
    GlobalRef,
    InlineAsm,
    InlineNode,
    Local,
    MetadataString,
    MetadataValue,
    NodeRef,
    NoneToken,
    Null,
    WrappedValue,
)
from isel.llvm.vocabulary import (
    AsmFlag,
    Flag,
    Opcode,
    TailKind,
)
from tests.isel.llvm.llvm_corpus import print_of
from tests.isel.llvm.llvm_reading import function, instruction
from tests.isel.llvm.read_values import ONE, A, P, X

B = Local("j", I32)


class TestCalls:
    def test_call(self) -> None:
        call = instruction(
            "%r = call i32 @f(i32 %i, float 1.0)", Call, globals="declare i32 @f(i32, float)"
        )
        assert call.callee == GlobalRef("f", PTR)
        assert call.callee_name == "f"
        assert call.arguments == (A, ONE)
        assert (call.type, call.tail, call.calling_convention) == (I32, TailKind.NONE, "ccc")
        assert call.operands() == (A, ONE, GlobalRef("f", PTR))
        assert not call.attributes
        assert not call.return_attributes
        assert not call.argument_attributes

    @pytest.mark.parametrize("kind", [TailKind.TAIL, TailKind.NOTAIL])
    def test_tail_kinds(self, kind: TailKind) -> None:
        call = instruction(f"{kind.value} call void @f()", Call, globals="declare void @f()")
        assert call.tail is kind

    def test_musttail(self) -> None:
        call, _ = function(
            "define void @f(ptr %p, ...) {\n musttail call void (ptr, ...) @f(ptr %p, ...)\n ret void\n}"
        ).instructions()
        assert isinstance(call, Call)
        assert call.tail is TailKind.MUSTTAIL
        assert call.arguments == (P,)

    def test_flags_convention_and_result_attributes(self) -> None:
        call = instruction(
            "%r = call nnan fastcc noundef nofpclass(nan) float @f()",
            Call,
            globals="declare fastcc float @f()",
        )
        assert call.flags == {Flag.NNAN}
        assert call.calling_convention == "fastcc"
        assert call.return_attributes.enums == {"noundef": True, "nofpclass": "nan"}

    def test_argument_attributes_are_under_the_arguments_number(self) -> None:
        call = instruction(
            "call void @f(i32 %i, ptr nonnull align 16 byval([4 x i32]) %p, i32 range(i32 0, 5) %j)",
            Call,
            globals="declare void @f(i32, ptr, i32)",
        )
        assert call.arguments == (A, P, B)
        assert set(call.argument_attributes) == {1, 2}
        pointer = call.argument_attributes[1]
        assert pointer.integer("align") == 16
        assert pointer.type_of("byval") is ArrayType(I32, 4)
        assert "nonnull" in pointer
        assert call.argument_attributes[2].text("range") == "i32 0, 5"

    def test_function_attributes_come_from_groups(self) -> None:
        call = instruction(
            'call void @f() #0\nret void }\nattributes #0 = { convergent "k"="v" }\ndefine void @rest() {',
            Call,
            globals="declare void @f()",
        )
        assert call.attributes.enums == {"convergent": True}
        assert call.attributes.string("k") == "v"

    def test_variable_arguments(self) -> None:
        call = instruction(
            "%r = call i32 (ptr, ...) @printf(ptr %p, i32 %i)",
            Call,
            globals="declare i32 @printf(ptr, ...)",
        )
        assert call.type is I32
        assert call.vararg_type is FunctionType(I32, (PTR,), vararg=True)

    def test_indirect_call(self) -> None:
        call = instruction("%r = call i32 %p(i32 %i)", Call)
        assert (call.callee, call.callee_name) == (P, None)

    def test_callee_in_another_address_space(self) -> None:
        call = instruction("call addrspace(3) void %s()", Call)
        assert call.callee == Local("s", PointerType(3))

    def test_quoted_callee(self) -> None:
        call = instruction(
            'call void @"a (b), \\22c\\22"(i32 1)',
            Call,
            globals='declare void @"a (b), \\22c\\22"(i32)',
        )
        assert call.callee_name == 'a (b), "c"'

    def test_bundles(self) -> None:
        call = instruction(
            'call void @f() [ "deopt"(i32 %i, ptr null), "x"() ]', Call, globals="declare void @f()"
        )
        assert call.bundles == (Bundle("deopt", (A, Null(PTR))), Bundle("x", ()))
        assert call.operands() == (A, Null(PTR), GlobalRef("f", PTR))

    def test_inline_assembly(self) -> None:
        call = instruction(
            '%r = call { i32, i32 } asm sideeffect "a $0, $2;\\0A\\09// \\22q\\22 /* c */", "=r,=r,r"(i32 %i)',
            Call,
        )
        assert call.callee == InlineAsm(
            'a $0, $2;\n\t// "q" /* c */', "=r,=r,r", frozenset({AsmFlag.SIDEEFFECT}), PTR
        )
        assert call.arguments == (A,)
        assert call.type is StructType((I32, I32))

    def test_inline_assembly_flags(self) -> None:
        call = instruction('call void asm sideeffect alignstack inteldialect unwind "", ""()', Call)
        assert isinstance(call.callee, InlineAsm)
        assert call.callee.flags == set(AsmFlag)

    def test_metadata_arguments(self) -> None:
        call = instruction(
            'call void @llvm.md(metadata i32 %i, metadata !"a, \\22b\\22", metadata !0, metadata !DIExpression(DW_OP_deref, DW_OP_plus_uconst, 4))',
            Call,
            globals="declare void @llvm.md(metadata, metadata, metadata, metadata)\n!0 = !{}",
        )
        assert call.arguments == (
            MetadataValue(WrappedValue(A)),
            MetadataValue(MetadataString('a, "b"')),
            MetadataValue(NodeRef(0)),
            MetadataValue(InlineNode("!DIExpression(DW_OP_deref, DW_OP_plus_uconst, 4)")),
        )
        assert call.arguments[0].type is METADATA

    def test_comments_that_llvm_prints_between_arguments_are_skipped(self) -> None:
        globals = (
            "declare void @llvm.nvvm.tensormap.replace.elemtype.p1(ptr addrspace(1), i32 immarg)"
        )
        text = f"{globals}\ndefine void @f(ptr addrspace(1) %p) {{\n call void @llvm.nvvm.tensormap.replace.elemtype.p1(ptr addrspace(1) %p, i32 5)\n ret void\n}}"
        assert "/* elemtype=" in print_of(text)
        call, _ = function(text).instructions()
        assert isinstance(call, Call)
        assert call.arguments[1] == ConstInt(I32, 5)

    def test_callbr(self) -> None:
        branch = instruction(
            '%r = callbr i32 asm "x", "=r,r,!i"(i32 %i) to label %a [label %b]\na:\nret void\nb:',
            Unsupported,
        )
        argument, callee = branch.operands()
        assert isinstance(callee, InlineAsm)
        assert (branch.opcode, argument, branch.type) == (Opcode.CALLBR, A, I32)
        assert branch.targets() == ("a", "b")


class TestControlFlow:
    def test_branch(self) -> None:
        branch = instruction("br label %next\nnext:", Branch)
        assert (branch.opcode, branch.target, branch.targets()) == (Opcode.BR, "next", ("next",))

    def test_conditional_branch(self) -> None:
        branch = instruction("br i1 %c, label %a, label %b\na:\nret void\nb:", CondBranch)
        assert branch.condition == Local("c", I1)
        assert branch.targets() == (branch.if_true, branch.if_false) == ("a", "b")

    def test_switch(self) -> None:
        switch = instruction(
            "switch i32 %i, label %a [ i32 0, label %b i32 -1, label %a ]\na:\nret void\nb:", Switch
        )
        assert (switch.condition, switch.default) == (A, "a")
        assert switch.cases == ((ConstInt(I32, 0), "b"), (ConstInt(I32, 2**32 - 1), "a"))
        assert switch.targets() == ("a", "b", "a")

    def test_switch_without_cases(self) -> None:
        assert instruction("switch i32 %i, label %a []\na:", Switch).cases == ()

    def test_indirectbr(self) -> None:
        branch = instruction(
            "indirectbr ptr %p, [label %a, label %b]\na:\nret void\nb:", IndirectBr
        )
        assert (branch.address, branch.targets()) == (P, ("a", "b"))

    def test_return(self) -> None:
        assert instruction("ret void\nb:", Return).value is None
        ret = next(function("define i32 @f() { ret i32 7 }").instructions())
        assert isinstance(ret, Return)
        assert ret.value == ConstInt(I32, 7)
        assert ret.type is VOID

    def test_unreachable(self) -> None:
        assert instruction("unreachable\nb:", Unreachable).targets() == ()

    def test_phi(self) -> None:
        text = """
        define float @f(i1 %c, float %x) {
        entry:
          br i1 %c, label %a, label %"b, c"
        a:
          br label %"b, c"
        "b, c":
          %p = phi contract float [ %x, %entry ], [ 1.0, %a ]
          ret float %p
        }
        """
        phi = list(function(text).instructions())[2]
        assert isinstance(phi, Phi)
        assert phi.incoming == ((X, "entry"), (ONE, "a"))
        assert phi.operands() == (X, ONE)
        assert (phi.type, phi.flags) == (FLOAT, {Flag.CONTRACT})  # type: ignore[comparison-overlap]

    def test_blocks_have_their_labels_or_llvms_numbers(self) -> None:
        found = function(
            'define void @f(i32) {\n br label %x\nx:\n br label %2\n2:\n br label %"y z"\n"y z":\n ret void\n}'
        )
        assert [block.name for block in found.blocks] == ["1", "x", "2", "y z"]
        assert [len(block.instructions) for block in found.blocks] == [1, 1, 1, 1]
        assert [t for b in found.blocks for t in b.instructions[-1].targets()] == ["x", "2", "y z"]


class TestExceptions:
    HEAD = "declare void @throw(i32)\ndeclare i32 @personality(...)\ndefine void @f() personality ptr @personality {\n"

    def test_invoke_landingpad_resume(self) -> None:
        invoke, _, pad, resume = function(
            self.HEAD
            + """
              invoke void @throw(i32 1) to label %ok unwind label %bad
            ok:
              ret void
            bad:
              %l = landingpad { ptr, i32 } cleanup catch ptr null filter [1 x ptr] [ptr @throw]
              resume { ptr, i32 } %l
            }"""
        ).instructions()
        assert isinstance(invoke, Invoke)
        assert (invoke.callee_name, invoke.arguments) == ("throw", (ConstInt(I32, 1),))
        assert invoke.targets() == (invoke.normal, invoke.unwind) == ("ok", "bad")
        assert isinstance(pad, Unsupported)
        assert pad.opcode is Opcode.LANDINGPAD
        assert pad.operands() == (
            Null(PTR),
            ConstArray(ArrayType(PTR, 1), (GlobalRef("throw", PTR),)),
        )
        assert isinstance(resume, Unsupported)
        assert resume.operands() == (Local("l", StructType((PTR, I32))),)

    def test_catch(self) -> None:
        _, switch, pad, ret, _ = function(
            self.HEAD
            + """
              invoke void @throw(i32 1) to label %ok unwind label %dispatch
            dispatch:
              %s = catchswitch within none [label %catch] unwind to caller
            catch:
              %p = catchpad within %s [ptr null, i32 64]
              catchret from %p to label %ok
            ok:
              ret void
            }"""
        ).instructions()
        assert all(isinstance(i, Unsupported) for i in (switch, pad, ret))
        assert (switch.operands(), switch.targets()) == ((NoneToken(),), ("catch",))
        assert pad.type == TOKEN
        assert pad.operands() == (Null(PTR), ConstInt(I32, 64), Local("s", TOKEN))
        assert (ret.operands(), ret.targets()) == ((Local("p", TOKEN),), ("ok",))

    def test_cleanup(self) -> None:
        _, _, pad, ret, switch, *_ = function(
            self.HEAD
            + """
              invoke void @throw(i32 1) to label %ok unwind label %clean
            ok:
              ret void
            clean:
              %p = cleanuppad within none [i32 7]
              cleanupret from %p unwind label %dispatch
            dispatch:
              %s = catchswitch within none [label %catch] unwind label %last
            catch:
              %c = catchpad within %s []
              unreachable
            last:
              %q = cleanuppad within none []
              cleanupret from %q unwind to caller
            }"""
        ).instructions()
        assert all(isinstance(i, Unsupported) for i in (switch, pad, ret))
        assert pad.operands() == (ConstInt(I32, 7), NoneToken())
        assert (ret.operands(), ret.targets()) == ((Local("p", TOKEN),), ("dispatch",))
        assert switch.targets() == ("last", "catch")
