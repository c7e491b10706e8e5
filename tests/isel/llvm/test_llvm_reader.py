"""What the reader makes of LLVM's text: one small example per construct.

Every example is parsed, verified and printed by LLVM first, and read by both of the reader's paths.
"""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

import copy
import gc
import pickle

import pytest

from intrinsics.findings import InternalError
from isel.llvm import reader
from isel.llvm.attributes import Attributes
from isel.llvm.grammar import instructions, kept, symbols
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.ir import (
    Alloca,
    AtomicRMW,
    BinaryOp,
    Block,
    Branch,
    Bundle,
    Call,
    Cast,
    Compare,
    CompareExchange,
    CondBranch,
    ExtractElement,
    ExtractValue,
    Fence,
    Freeze,
    GetElementPtr,
    IndirectBr,
    InsertElement,
    InsertValue,
    Invoke,
    Load,
    Param,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
    UnaryOp,
    Unreachable,
    Unsupported,
    VAArg,
)
from isel.llvm.reader import read_module
from isel.llvm.types import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    METADATA,
    PTR,
    TOKEN,
    VOID,
    ArrayType,
    FunctionType,
    IntType,
    OpaqueType,
    PointerType,
    StructType,
    VectorType,
)
from isel.llvm.values import (
    BlockAddress,
    ConstArray,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstString,
    ConstStruct,
    ConstVector,
    GlobalRef,
    InlineAsm,
    InlineNode,
    Local,
    MetadataString,
    MetadataValue,
    NodeRef,
    NoneToken,
    Null,
    Poison,
    PtrAuth,
    Splat,
    Undef,
    WrappedValue,
    Zero,
    elements_of,
)
from isel.llvm.vocabulary import (
    FAST,
    AsmFlag,
    Flag,
    FloatPredicate,
    IntPredicate,
    Linkage,
    Opcode,
    Ordering,
    RMWOperation,
    StorageClass,
    TailKind,
    UnnamedAddr,
    Visibility,
)
from tests.isel.llvm.llvm_corpus import print_of
from tests.isel.llvm.llvm_reading import constant, function, instruction, read

A = Local("i", I32)
B = Local("j", I32)
X = Local("x", FLOAT)
P = Local("p", PTR)
ONE = ConstFloat(FLOAT, 0x3F800000)


class TestEveryInstruction:
    """The fields that all instructions have."""

    def test_result_is_the_name_without_its_sigil(self) -> None:
        assert instruction("%sum = add i32 %i, 1", BinaryOp).result == "sum"

    def test_unnamed_result_is_llvms_number(self) -> None:
        first, second, _ = function(
            "define void @f(i32 %i, i32) {\n add i32 %i, 1\n add i32 %i, 2\n ret void }"
        ).instructions()
        assert (first.result, second.result) == ("2", "3")  # 0 is the argument, 1 the block

    def test_no_result(self) -> None:
        assert instruction("store i32 %i, ptr %p", Store).result is None

    def test_type_is_the_results(self) -> None:
        assert instruction("%r = icmp eq i32 %i, %j", Compare).type is I1
        assert instruction("store i32 %i, ptr %p", Store).type is VOID

    def test_line_and_ordinal(self) -> None:
        printed = print_of(
            "define i32 @f(i1 %c) {\na:\n br i1 %c, label %b, label %d\n"
            "b:\n %x = add i32 1, 2\n ret i32 %x\nd:\n ret i32 0\n}"
        )
        instructions = list(read_module(printed).functions["f"].instructions())
        assert [i.ordinal for i in instructions] == [0, 1, 2, 3]
        lines = printed.split("\n")
        assert [lines[i.line - 1].split()[0] for i in instructions] == ["br", "%x", "ret", "ret"]

    def test_line_of_an_instruction_over_several_lines_is_its_first(self) -> None:
        printed = print_of(
            "define void @f(i32 %i) {\n switch i32 %i, label %a [ i32 1, label %a i32 2, label %a ]\na:\n ret void\n}"
        )
        switch, ret = read_module(printed).functions["f"].instructions()
        lines = printed.split("\n")
        assert lines[switch.line - 1].startswith("  switch")
        assert lines[ret.line - 1] == "  ret void"

    def test_debug_location_and_other_metadata_are_apart(self) -> None:
        text = """
        define i32 @f(i32 %i) !dbg !3 {
          %x = add i32 %i, 1, !nvgen.atom !6, !dbg !7, !"odd kind" !8
          ret i32 %x, !dbg !7
        }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!2}
        !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
        !1 = !DIFile(filename: "a", directory: "/")
        !2 = !{i32 2, !"Debug Info Version", i32 3}
        !3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !4, unit: !0)
        !4 = !DISubroutineType(types: !5)
        !5 = !{}
        !6 = !{!"atom"}
        !7 = !DILocation(line: 2, column: 3, scope: !3)
        !8 = !{!"odd"}
        """.replace('!"odd kind"', "!odd\\20kind")
        module = read(text)
        add, ret = module.functions["f"].instructions()
        assert add.dbg is not None
        assert add.dbg == ret.dbg
        assert module.metadata[add.dbg].startswith("!DILocation(line: 2")
        assert [kind for kind, _ in add.metadata] == ["nvgen.atom", "odd kind"]
        atom = add.attachment("nvgen.atom")
        assert isinstance(atom, int)
        assert module.metadata[atom] == '!{!"atom"}'
        assert add.attachment("absent") is None
        assert ret.metadata == ()

    def test_debug_records_are_no_instructions(self) -> None:
        text = """
        define void @f(i32 %i) !dbg !3 {
            #dbg_value(i32 %i, !6, !DIExpression(), !7)
          ret void, !dbg !7
            ; a comment
        }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!2}
        !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
        !1 = !DIFile(filename: "a", directory: "/")
        !2 = !{i32 2, !"Debug Info Version", i32 3}
        !3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !4, unit: !0)
        !4 = !DISubroutineType(types: !5)
        !5 = !{}
        !6 = !DILocalVariable(name: "v", scope: !3, file: !1)
        !7 = !DILocation(line: 2, column: 3, scope: !3)
        """
        assert "#dbg_value" in print_of(text)
        assert [type(i) for i in read(text).functions["f"].instructions()] == [Return]


class TestArithmetic:
    def test_binary(self) -> None:
        add = instruction("%r = add nuw nsw i32 %i, -5", BinaryOp)
        assert add.opcode is Opcode.ADD
        assert (add.lhs, add.rhs) == (A, ConstInt(I32, 2**32 - 5))
        assert add.flags == {Flag.NUW, Flag.NSW}
        assert add.operands() == (add.lhs, add.rhs)

    @pytest.mark.parametrize(
        ("text", "flag"),
        [
            ("udiv exact i32 %i, 2", Flag.EXACT),
            ("or disjoint i32 %i, 2", Flag.DISJOINT),
            ("fmul contract float %x, %y", Flag.CONTRACT),
            ("fmul reassoc float %x, %y", Flag.REASSOC),
            ("fmul nnan float %x, %y", Flag.NNAN),
            ("fmul ninf float %x, %y", Flag.NINF),
            ("fmul nsz float %x, %y", Flag.NSZ),
            ("fmul arcp float %x, %y", Flag.ARCP),
            ("fmul afn float %x, %y", Flag.AFN),
        ],
    )
    def test_flags(self, text: str, flag: Flag) -> None:
        assert instruction(f"%r = {text}", BinaryOp).flags == {flag}

    def test_fast_is_the_seven_flags_it_stands_for(self) -> None:
        assert instruction("%r = fadd fast float %x, %y", BinaryOp).flags == FAST
        assert len(FAST) == 7

    def test_constants_on_the_left_and_vectors(self) -> None:
        shift = instruction("%r = shl <4 x i32> splat (i32 1), %w", BinaryOp)
        four = VectorType(I32, 4)
        assert shift.lhs == Splat(four, ConstInt(I32, 1))
        assert shift.rhs == Local("w", four)

    def test_unary(self) -> None:
        neg = instruction("%r = fneg nsz float %x", UnaryOp)
        assert (neg.opcode, neg.operand, neg.flags) == (Opcode.FNEG, X, frozenset({Flag.NSZ}))

    def test_cast(self) -> None:
        cast = instruction("%r = zext nneg i32 %i to i64", Cast)
        assert (cast.opcode, cast.type, cast.operand) == (Opcode.ZEXT, I64, A)
        assert cast.flags == {Flag.NNEG}

    def test_truncation_flags(self) -> None:
        cast = instruction("%r = trunc nuw nsw i64 %l to i8", Cast)
        assert (cast.type, cast.flags) == (I8, frozenset({Flag.NUW, Flag.NSW}))

    def test_pointer_casts(self) -> None:
        cast = instruction("%r = addrspacecast ptr addrspace(3) %s to ptr", Cast)
        assert cast.operand.type is PointerType(3)
        assert cast.type is PTR
        assert instruction("%r = ptrtoaddr ptr %p to i64", Cast).opcode is Opcode.PTRTOADDR

    def test_integer_comparison(self) -> None:
        compare = instruction("%r = icmp samesign ult i32 %i, 5", Compare)
        assert compare.predicate is IntPredicate.ULT
        assert compare.flags == {Flag.SAMESIGN}
        assert (compare.lhs, compare.rhs) == (A, ConstInt(I32, 5))

    def test_float_comparison_has_predicates_of_its_own(self) -> None:
        compare = instruction("%r = fcmp nnan ult float %x, 1.0", Compare)
        assert compare.predicate is FloatPredicate.ULT
        assert (compare.opcode, compare.rhs, compare.flags) == (
            Opcode.FCMP,
            ONE,
            frozenset({Flag.NNAN}),
        )

    def test_comparison_of_vectors_gives_a_vector(self) -> None:
        compare = instruction("%r = icmp eq <4 x i32> %w, zeroinitializer", Compare)
        assert compare.type is VectorType(I1, 4)
        assert compare.rhs == Zero(VectorType(I32, 4))

    def test_select(self) -> None:
        select = instruction("%r = select nsz i1 %c, float %x, float 1.0", Select)
        assert select.operands() == (Local("c", I1), X, ONE)
        assert (select.type, select.flags) == (FLOAT, frozenset({Flag.NSZ}))

    def test_freeze(self) -> None:
        freeze = instruction("%r = freeze { i32, float } %agg", Freeze)
        assert freeze.operand == Local("agg", StructType((I32, FLOAT)))
        assert freeze.type is freeze.operand.type


class TestMemory:
    def test_alloca(self) -> None:
        alloca = instruction("%r = alloca [4 x float], align 16", Alloca)
        assert alloca.type is PTR
        assert alloca.allocated_type is ArrayType(FLOAT, 4)
        assert (alloca.count, alloca.alignment) == (ConstInt(I32, 1), 16)
        assert not alloca.inalloca
        assert not alloca.swifterror

    def test_alloca_with_count_and_address_space(self) -> None:
        alloca = instruction("%r = alloca i8, i64 %l, align 2, addrspace(5)", Alloca)
        assert alloca.type is PointerType(5)
        assert (alloca.count, alloca.alignment) == (Local("l", I64), 2)

    def test_alloca_words(self) -> None:
        assert instruction("%r = alloca inalloca i32", Alloca).inalloca
        assert instruction("%r = alloca swifterror ptr", Alloca).swifterror

    def test_load(self) -> None:
        load = instruction("%r = load volatile float, ptr addrspace(3) %s, align 2", Load)
        assert (load.type, load.pointer) == (FLOAT, Local("s", PointerType(3)))
        assert (load.alignment, load.volatile, load.ordering, load.scope) == (2, True, None, "")

    def test_alignment_is_what_llvm_filled_in(self) -> None:
        assert instruction("%r = load double, ptr %p", Load).alignment == 8

    def test_atomic_load(self) -> None:
        load = instruction(
            '%r = load atomic volatile i32, ptr %p syncscope("block") acquire, align 4', Load
        )
        assert (load.ordering, load.scope, load.volatile) == (Ordering.ACQUIRE, "block", True)

    def test_store(self) -> None:
        store = instruction("store float 1.0, ptr addrspace(3) %s, align 16", Store)
        assert store.operands() == (ONE, Local("s", PointerType(3)))
        assert (store.alignment, store.volatile, store.ordering) == (16, False, None)

    def test_atomic_store(self) -> None:
        store = instruction("store atomic i32 %i, ptr %p release, align 4", Store)
        assert (store.ordering, store.scope) == (Ordering.RELEASE, "")

    def test_getelementptr(self) -> None:
        gep = instruction(
            "%r = getelementptr inbounds nuw [4 x float], ptr addrspace(3) %s, i64 %l, i32 2",
            GetElementPtr,
        )
        assert gep.element_type is ArrayType(FLOAT, 4)
        assert gep.base == Local("s", PointerType(3))
        assert gep.indices == (Local("l", I64), ConstInt(I32, 2))
        assert gep.flags == {Flag.INBOUNDS, Flag.NUW}
        assert gep.type is PointerType(3)

    def test_getelementptr_of_a_vector_gives_a_vector(self) -> None:
        gep = instruction("%r = getelementptr float, ptr %p, <4 x i32> %w", GetElementPtr)
        assert gep.type is VectorType(PTR, 4)

    def test_atomicrmw(self) -> None:
        rmw = instruction(
            '%r = atomicrmw volatile fadd ptr %p, float %x syncscope("agent") acq_rel, align 8',
            AtomicRMW,
        )
        assert rmw.operation is RMWOperation.FADD
        assert (rmw.pointer, rmw.value, rmw.type) == (P, X, FLOAT)
        assert (rmw.ordering, rmw.scope) == (Ordering.ACQ_REL, "agent")
        assert (rmw.alignment, rmw.volatile) == (8, True)

    def test_cmpxchg(self) -> None:
        exchange = instruction(
            "%r = cmpxchg weak ptr %p, i32 %i, i32 7 seq_cst monotonic", CompareExchange
        )
        assert exchange.operands() == (P, A, ConstInt(I32, 7))
        assert (exchange.success, exchange.failure) == (Ordering.SEQ_CST, Ordering.MONOTONIC)
        assert (exchange.weak, exchange.volatile, exchange.alignment) == (True, False, 4)
        assert exchange.type is StructType((I32, I1))

    def test_fence(self) -> None:
        fence = instruction('fence syncscope("singlethread") acquire', Fence)
        assert (fence.ordering, fence.scope) == (Ordering.ACQUIRE, "singlethread")

    def test_va_arg(self) -> None:
        argument = instruction("%r = va_arg ptr %p, double", VAArg)
        assert (argument.pointer, argument.type) == (P, DOUBLE)


class TestVectorsAndAggregates:
    V = Local("v", VectorType(FLOAT, 4))

    def test_extractelement(self) -> None:
        extract = instruction("%r = extractelement <4 x float> %v, i32 %i", ExtractElement)
        assert (extract.vector, extract.index, extract.type) == (self.V, A, FLOAT)

    def test_insertelement(self) -> None:
        insert = instruction("%r = insertelement <4 x float> %v, float %x, i64 3", InsertElement)
        assert insert.operands() == (self.V, X, ConstInt(I64, 3))
        assert insert.type is VectorType(FLOAT, 4)

    def test_shufflevector_mask_is_numbers_and_minus_one_for_poison(self) -> None:
        shuffle = instruction(
            "%r = shufflevector <4 x float> %v, <4 x float> %v, <2 x i32> <i32 7, i32 poison>",
            ShuffleVector,
        )
        assert shuffle.mask == (7, -1)
        assert shuffle.type is VectorType(FLOAT, 2)
        assert shuffle.operands() == (self.V, self.V)

    @pytest.mark.parametrize(("mask", "expected"), [("zeroinitializer", 0), ("poison", -1)])
    def test_shufflevector_masks_with_a_word(self, mask: str, expected: int) -> None:
        shuffle = instruction(
            f"%r = shufflevector <4 x float> %v, <4 x float> %v, <8 x i32> {mask}", ShuffleVector
        )
        assert shuffle.mask == (expected,) * 8
        assert shuffle.type is VectorType(FLOAT, 8)

    def test_extractvalue(self) -> None:
        extract = instruction("%r = extractvalue { i32, float } %agg, 1", ExtractValue)
        assert extract.aggregate == Local("agg", StructType((I32, FLOAT)))
        assert (extract.indices, extract.type) == ((1,), FLOAT)

    def test_insertvalue(self) -> None:
        insert = instruction(
            "%r = insertvalue { i32, [2 x i64] } poison, i64 %l, 1, 0", InsertValue
        )
        type = StructType((I32, ArrayType(I64, 2)))
        assert insert.operands() == (Poison(type), Local("l", I64))
        assert (insert.indices, insert.type) == ((1, 0), type)


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


class TestConstants:
    @pytest.mark.parametrize(
        ("type", "text", "value", "signed"),
        [
            ("i32", "5", 5, 5),
            ("i32", "-1", 2**32 - 1, -1),
            ("i8", "-128", 128, -128),
            ("i1", "true", 1, -1),
            ("i1", "false", 0, 0),
            ("i128", "-2", 2**128 - 2, -2),
            ("i65", "18446744073709551616", 2**64, -(2**64)),
        ],
    )
    def test_integers_are_bit_patterns(self, type: str, text: str, value: int, signed: int) -> None:
        found = constant(type, text)
        assert found == ConstInt(IntType(int(type[1:])), value)
        assert isinstance(found, ConstInt)
        assert found.signed == signed

    def test_words(self) -> None:
        assert constant("ptr", "null") == Null(PTR)
        assert constant("i32", "undef") == Undef(I32)
        assert constant("i32", "poison") == Poison(I32)
        assert constant("[2 x i32]", "zeroinitializer") == Zero(ArrayType(I32, 2))

    def test_array_of_integers(self) -> None:
        numbers = tuple(ConstInt(IntType(16), n) for n in (1, 0xFFFF, 0x8000))
        array = ArrayType(IntType(16), 3)
        assert constant("[3 x i16]", "[i16 1, i16 -1, i16 -32768]") == ConstArray(array, numbers)
        nested = constant("[1 x [3 x i16]]", "[[3 x i16] [i16 1, i16 -1, i16 -32768]]")
        assert nested == ConstArray(ArrayType(array, 1), (ConstArray(array, numbers),))
        mixed = constant("[2 x i16]", "[i16 1, i16 undef]")
        assert elements_of(mixed) == (numbers[0], Undef(IntType(16)))

    def test_string(self) -> None:
        found = constant("[5 x i8]", 'c"a\\22\\5C\\00\\FF"')
        assert found == ConstString(ArrayType(I8, 5), b'a"\\\0\xff')

    def test_array_of_a_struct(self) -> None:
        pair = StructType((I8, I16), packed=True)
        found = constant("[1 x <{ i8, i16 }>]", "[<{ i8, i16 }> <{ i8 1, i16 2 }>]")
        struct = ConstStruct(pair, (ConstInt(I8, 1), ConstInt(I16, 2)))
        assert found == ConstArray(ArrayType(pair, 1), (struct,))

    def test_vector(self) -> None:
        found = constant("<3 x i32>", "<i32 1, i32 undef, i32 poison>")
        elements = (ConstInt(I32, 1), Undef(I32), Poison(I32))
        assert found == ConstVector(VectorType(I32, 3), elements)

    def test_elements_whatever_the_spelling(self) -> None:
        one = ConstInt(I8, 1)
        assert elements_of(constant("<2 x i8>", "<i8 1, i8 2>")) == (one, ConstInt(I8, 2))
        assert elements_of(constant("<2 x i8>", "splat (i8 1)")) == (one, one)
        assert elements_of(constant("[2 x i8]", 'c"\\01\\01"')) == (one, one)
        assert elements_of(constant("[2 x i8]", "[i8 1, i8 1]")) == (one, one)
        zeros = constant("{ i8, float, ptr, [1 x i8] }", "zeroinitializer")
        assert elements_of(zeros) == (
            ConstInt(I8, 0),
            ConstFloat(FLOAT, 0),
            Null(PTR),
            Zero(ArrayType(I8, 1)),
        )
        assert elements_of(constant("[2 x i8]", "undef")) == (Undef(I8), Undef(I8))
        assert elements_of(constant("<2 x i8>", "poison")) == (Poison(I8), Poison(I8))
        assert elements_of(one) is None
        assert elements_of(Zero(VectorType(I8, 2, scalable=True))) is None

    def test_getelementptr_expression(self) -> None:
        found = constant(
            "ptr",
            "getelementptr inbounds inrange(-8, 16) ({ [4 x ptr] }, ptr @g, i32 0, i32 0, i32 1)",
            globals="@g = external global { [4 x ptr] }",
        )
        zero = ConstInt(I32, 0)
        assert found == ConstExpr(
            Opcode.GETELEMENTPTR,
            PTR,
            (GlobalRef("g", PTR), zero, zero, ConstInt(I32, 1)),
            frozenset({Flag.INBOUNDS}),
            StructType((ArrayType(PTR, 4),)),
            (-8, 16),
        )

    def test_cast_and_binary_expressions(self) -> None:
        found = constant(
            "i64",
            "add nuw (i64 ptrtoint (ptr addrspace(3) @g to i64), i64 -1)",
            globals="@g = external addrspace(3) global i8",
        )
        address = ConstExpr(Opcode.PTRTOINT, I64, (GlobalRef("g", PointerType(3)),))
        minus_one = ConstInt(I64, 2**64 - 1)
        assert found == ConstExpr(Opcode.ADD, I64, (address, minus_one), frozenset({Flag.NUW}))

    def test_vector_expressions(self) -> None:
        _, add, _ = function(
            """
            @g = external global i8
            define void @f(<vscale x 2 x i32> %v) {
              %a = add i32 extractelement (<2 x i32> <i32 1, i32 2>, i32 ptrtoint (ptr @g to i32)), 0
              %b = add <vscale x 2 x i32> %v, shufflevector (<vscale x 2 x i32> insertelement (<vscale x 2 x i32> poison, i32 ptrtoint (ptr @g to i32), i64 0), <vscale x 2 x i32> poison, <vscale x 2 x i32> zeroinitializer)
              ret void
            }
            """
        ).instructions()
        assert isinstance(add, BinaryOp)
        shuffle = add.rhs
        assert isinstance(shuffle, ConstExpr)
        assert shuffle.type is VectorType(I32, 2, scalable=True)
        assert (shuffle.opcode, shuffle.mask) == (Opcode.SHUFFLEVECTOR, (0, 0))
        insert = shuffle.operands[0]
        assert isinstance(insert, ConstExpr)
        assert insert.opcode is Opcode.INSERTELEMENT

    def test_addresses_of_special_kinds(self) -> None:
        text = """
        @block = global ptr blockaddress(@f, %"the block")
        @equivalent = global ptr dso_local_equivalent @f
        @nocfi = global ptr no_cfi @f
        @auth = global ptr ptrauth (ptr @block, i32 2, i64 7)
        define void @f() {
          br label %"the block"
        "the block":
          ret void
        }
        """
        variables = read(text).globals
        assert variables["block"].initializer == BlockAddress("f", "the block", PTR)
        assert variables["equivalent"].initializer == GlobalRef("f", PTR)
        assert variables["nocfi"].initializer == GlobalRef("f", PTR)
        operands = (GlobalRef("block", PTR), ConstInt(I32, 2), ConstInt(I64, 7))
        assert variables["auth"].initializer == PtrAuth(PTR, operands)


class TestTypes:
    def test_equal_types_are_one_object(self) -> None:
        assert IntType(32) is I32
        assert VectorType(FLOAT, 4) is VectorType(FLOAT, 4, scalable=False)
        assert StructType((I8, PTR)) is StructType((I8, PTR))
        assert PointerType() is PTR
        assert PointerType(3) is not PTR

    def test_different_types_differ(self) -> None:
        struct = StructType((I8, I32))
        others = [
            StructType((I8, I32), packed=True),
            StructType((I8, I32), name="s"),
            ArrayType(I8, 2),
            VectorType(I8, 2),
            VectorType(I8, 2, scalable=True),
            FunctionType(I8, (I32,)),
            FunctionType(I8, (I32,), vararg=True),
        ]
        assert len({struct, *others}) == 8

    def test_copies_are_the_same_object(self) -> None:
        for type in (I32, FLOAT, VOID, StructType((VectorType(PTR, 2),), name="x")):
            assert copy.deepcopy(type) is type
            assert pickle.loads(pickle.dumps(type)) is type

    def test_types_can_not_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            setattr(I32, "bits", 64)  # noqa: B010 (a plain assignment is a type error)
        with pytest.raises(AttributeError):
            delattr(I32, "bits")
        assert I32.bits == 32

    def test_scalar(self) -> None:
        assert VectorType(HALF, 2).scalar is HALF
        assert ArrayType(HALF, 2).scalar is ArrayType(HALF, 2)

    def test_spelling(self) -> None:
        assert (
            str(VectorType(PointerType(3), 4, scalable=True)) == "<vscale x 4 x ptr addrspace(3)>"
        )
        assert str(StructType((I8, StructType(())), packed=True)) == "<{ i8, {} }>"
        assert str(StructType((I8,), name="s")) == "%s"
        assert str(StructType((I8,), name='a "type"')) == r'%"a \22type\22"'
        assert str(OpaqueType("2 words")) == '%"2 words"'
        assert str(OpaqueType("0")) == "%0"
        assert StructType((I8,), name="s").body == "{ i8 }"
        assert str(FunctionType(VOID, (PTR,), vararg=True)) == "void (ptr, ...)"


class TestNames:
    def test_quotes_and_escapes_are_gone(self) -> None:
        add = instruction('%"a = \\22b\\22, \\C3\\A9 \\5C" = add i32 %i, 1', BinaryOp)
        assert add.result == 'a = "b", é \\'

    def test_bytes_that_are_not_utf8_are_surrogates(self) -> None:
        add = instruction('%"\\FFx" = add i32 %i, 1', BinaryOp)
        assert add.result is not None
        assert add.result.encode("utf-8", "surrogateescape") == b"\xffx"

    def test_a_name_that_looks_like_a_number_keeps_its_quotes(self) -> None:
        found = function(
            'define void @f(i32 %"0", i32 %0) {\n %"2" = add i32 %0, %"0"\n %2 = add i32 %"2", 1\n'
            ' %"\\222\\22" = add i32 %2, 2\n ret void\n}'
        )
        assert [p.name for p in found.params] == ['"0"', "0"]
        named, numbered, quoted, _ = found.instructions()
        assert (named.result, numbered.result, quoted.result) == ('"2"', "2", '""2""')
        assert named.operands() == (Local("0", I32), Local('"0"', I32))
        assert quoted.operands()[0] == Local("2", I32)

    def test_globals_functions_and_types(self) -> None:
        module = read(
            '%"t, u" = type { i32 }\n@"g h" = global %"t, u" zeroinitializer\n@0 = global i8 0\n'
            '@"0" = global i8 1\ndefine void @"f()"() { ret void }\ndefine void @1() { ret void }'
        )
        assert list(module.types) == ["t, u"]
        assert list(module.globals) == ["g h", "0", '"0"']
        assert list(module.functions) == ["f()", "1"]


class TestFunctions:
    @pytest.mark.parametrize(
        "header",
        [
            "define void @f() {",
            "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, <2 x float> %0) #0 {",
            "define internal fastcc noundef i32 @f.x(ptr align 8 captures(none) %p) unnamed_addr {",
            "define weak_odr dso_local double @g(double %x.1, i1 zeroext %b) local_unnamed_addr #0 {",
            "define void @range(i32 range(i32 0, 5) %x) {",  # cut inside brackets
            "define void @struct(ptr byval(%t) align 4 %x) {",  # a type of the module
            "define i32 @list(ptr %x, ...) {",
        ],
    )
    def test_a_header_is_read_as_the_complete_reader_reads_it(self, header: str) -> None:
        scope = SymbolTable(groups={0: Attributes({"convergent": True}, {"nvvm.maxntid": "128"})})
        scope.type_texts["t"] = "{ i32 }"
        found = symbols.read_function_header(header, scope, 7)
        assert found == symbols._read_header(header, scope, 7)
        assert (found.line, found.is_declaration) == (7, False)

    def test_kernel(self) -> None:
        found = function(
            'define ptx_kernel void @k(ptr addrspace(1) noalias align 16 captures(none) %in, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map, i32) #0 { ret void }\n'
            'attributes #0 = { convergent memory(argmem: read) alignstack=16 "nvvm.reqntid"="128,1,1" "alone" }'
        )
        assert found.calling_convention == "ptx_kernel"
        assert found.return_type is VOID
        first, second, third = found.params
        assert isinstance(first, Param)
        assert (first.name, first.type) == ("in", PointerType(1))
        assert first.attributes.enums == {"noalias": True, "align": 16, "captures": "none"}
        assert second.attributes.type_of("byval") is ArrayType(I8, 128)
        assert second.attributes.integer("align") == 64
        assert second.attributes.string("nvvm.grid_constant") == ""
        assert (third.name, third.type, bool(third.attributes)) == ("0", I32, False)
        assert found.attributes.enums == {
            "convergent": True,
            "memory": "argmem: read",
            "alignstack": 16,
        }
        assert found.attributes.strings == {"nvvm.reqntid": "128,1,1", "alone": ""}
        assert found.attributes.string("absent") is None

    def test_declaration(self) -> None:
        found = read("declare extern_weak signext i8 @f(i8 zeroext, ...) local_unnamed_addr")
        declared = found.functions["f"]
        assert declared.is_declaration
        assert declared.blocks == []
        assert (declared.linkage, declared.vararg) == (Linkage.EXTERN_WEAK, True)
        assert declared.unnamed_addr is UnnamedAddr.LOCAL
        assert declared.return_attributes.enums == {"signext": True}
        assert [(p.name, p.type) for p in declared.params] == [("", I8)]
        assert "zeroext" in declared.params[0].attributes

    def test_everything_after_the_parameters(self) -> None:
        text = """
        $c = comdat any
        declare i32 @personality(...)
        define hidden void @f() unnamed_addr addrspace(1) section "s" partition "p" comdat($c) align 32 gc "g" prefix i32 1 prologue { i8, ptr } { i8 2, ptr null } personality ptr @personality !kind !0 !other !0 {
          ret void
        }
        !0 = !{}
        """
        found = function(text)
        assert found.visibility is Visibility.HIDDEN
        assert found.unnamed_addr is UnnamedAddr.GLOBAL
        assert (found.address_space, found.section, found.partition) == (1, "s", "p")
        assert (found.comdat, found.alignment, found.gc) == ("c", 32, "g")
        assert found.prefix == ConstInt(I32, 1)
        struct = StructType((I8, PTR))
        assert found.prologue == ConstStruct(struct, (ConstInt(I8, 2), Null(PTR)))
        assert found.personality == GlobalRef("personality", PTR)
        assert found.metadata == (("kind", 0), ("other", 0))
        assert found.attachment("other") == 0
        assert found.attachment("absent") is None

    def test_attribute_values_keep_their_text(self) -> None:
        found = read(
            'declare ptr @f(i64, i64) #0\nattributes #0 = { allockind("alloc,zeroed") allocsize(0,1) uwtable(sync) vscale_range(1,16) "t"="a \\22b\\22 }" }'
        ).functions["f"]
        assert found.attributes.text("allockind") == '"alloc,zeroed"'
        assert found.attributes.text("allocsize") == "0,1"
        assert found.attributes.text("uwtable") == "sync"
        assert found.attributes.string("t") == 'a "b" }'

    def test_a_line_end_in_an_attributes_key_which_llvm_does_not_escape(self) -> None:
        module = read(
            'define void @f() "a\\0Ab"="c" gc "x\\0A}\\0Ay" { ret void }\ndeclare void @g()'
        )
        assert module.functions["f"].attributes.strings == {"a\nb": "c"}
        assert module.functions["f"].gc == "x\n}\ny"
        assert set(module.functions) == {"f", "g"}

    def test_first_block_without_label_is_numbered_after_the_arguments(self) -> None:
        found = function("define void @f(i32, i32 %x, ptr) { ret void }")
        assert found.blocks == [Block("2", list(found.instructions()))]


class TestModule:
    def test_header(self) -> None:
        module = read(
            'source_filename = "a \\22b\\22"\ntarget datalayout = "e-i64:64"\n'
            'target triple = "nvptx64-nvidia-cuda"\nmodule asm "first"\nmodule asm "\\22second\\22"'
        )
        assert module.source_filename == 'a "b"'
        assert module.data_layout == "e-i64:64"
        assert module.triple == "nvptx64-nvidia-cuda"
        assert module.module_asm == ["first", '"second"']

    def test_types(self) -> None:
        module = read(
            "%later = type { %first, i1 }\n%first = type <{ i8 }>\n%hidden = type opaque\n"
            "@x = global %later zeroinitializer\n@y = external global %hidden"
        )
        first = StructType((I8,), packed=True, name="first")
        later = StructType((first, I1), name="later")
        assert module.types == {
            "later": later,
            "first": first,
            "hidden": OpaqueType("hidden"),
        }
        assert module.globals["x"].value_type is later

    def test_global_variable(self) -> None:
        text = """
        $c = comdat largest
        @v = weak_odr dso_local thread_local(initialexec) unnamed_addr addrspace(1) constant i32 5, section "s", partition "p", code_model "large", no_sanitize_address, sanitize_memtag, comdat($c), align 32, !kind !0 #0
        !0 = !{}
        attributes #0 = { "k"="v" }
        """
        module = read(text)
        variable = module.globals["v"]
        assert variable.linkage is Linkage.WEAK_ODR
        assert variable.dso_local
        assert variable.visibility is Visibility.DEFAULT
        assert variable.thread_local == "initialexec"
        assert variable.unnamed_addr is UnnamedAddr.GLOBAL
        assert variable.address_space == 1
        assert variable.is_constant
        assert (variable.value_type, variable.initializer) == (I32, ConstInt(I32, 5))
        assert (variable.section, variable.partition) == ("s", "p")
        assert variable.code_model == "large"
        assert variable.sanitizer == ("no_sanitize_address", "sanitize_memtag")
        assert (variable.comdat, variable.alignment) == ("c", 32)
        assert variable.metadata == (("kind", 0),)
        assert variable.attributes.strings == {"k": "v"}
        assert not variable.is_declaration
        assert module.comdats == {"c": "largest"}

    def test_external_variable(self) -> None:
        variable = read(
            "@smem = external dllimport addrspace(3) externally_initialized global [0 x i8], align 1024"
        ).globals["smem"]
        assert variable.is_declaration
        assert variable.initializer is None
        assert variable.linkage is Linkage.EXTERNAL
        assert variable.storage_class is StorageClass.IMPORT
        assert variable.externally_initialized
        assert variable.alignment == 1024

    def test_dso_local_is_left_out_where_the_visibility_implies_it(self) -> None:
        variable = read("@v = dso_local protected global i8 0").globals["v"]
        assert variable.visibility is Visibility.PROTECTED
        assert not variable.dso_local

    def test_thread_local_without_a_model(self) -> None:
        assert read("@t = thread_local global i8 0").globals["t"].thread_local == "generaldynamic"
        assert read("@t = global i8 0").globals["t"].thread_local == ""

    def test_aliases_and_ifuncs(self) -> None:
        module = read(
            '@v = global [4 x i8] zeroinitializer\n@a = internal alias i8, getelementptr (i8, ptr @v, i64 1)\n@b = hidden alias i8, ptr @v, partition "p"\n'
            "@i = ifunc void (i32), ptr @r\ndefine ptr @r() { ret ptr null }"
        )
        a, b, i = (module.aliases[name] for name in "abi")
        assert isinstance(a.target, ConstExpr)
        assert (a.linkage, a.value_type, a.is_ifunc) == (Linkage.INTERNAL, I8, False)
        assert (b.target, b.partition) == (GlobalRef("v", PTR), "p")
        assert b.visibility is Visibility.HIDDEN
        assert (i.is_ifunc, i.value_type) == (True, FunctionType(VOID, (I32,)))
        assert i.target == GlobalRef("r", PTR)

    def test_metadata_is_kept_as_text(self) -> None:
        module = read(
            '!names = !{!0, !DIExpression(DW_OP_deref), !1}\n!0 = !{!"s", i32 1}\n!1 = distinct !{}'
        )
        assert module.named_metadata == {"names": (0, "!DIExpression(DW_OP_deref)", 1)}
        assert module.metadata == {0: '!{!"s", i32 1}', 1: "distinct !{}"}

    def test_attribute_groups_by_number(self) -> None:
        module = read("declare void @f() nounwind\ndeclare void @g() cold")
        groups = [group.enums for group in module.attribute_groups.values()]
        assert groups == [{"nounwind": True}, {"cold": True}]

    def test_use_list_orders_are_skipped(self) -> None:
        text = (
            "@g = global i32 0\ndefine i32 @f(i32 %x) {\n  %a = add i32 %x, %x\n  ret i32 %a\n\n"
            "; uselistorder directives\n  uselistorder i32 %x, { 1, 0 }\n}\n\nuselistorder ptr @g, { 1, 0 }\n"
            "uselistorder_bb @f, %a, { 1, 0 }\n"
        )
        assert len(list(read_module(text).functions["f"].instructions())) == 2


class TestErrors:
    """Text that LLVM would not print is a bug of ours, and says where."""

    @pytest.mark.parametrize(
        "line",
        [
            "  %x = frobnicate i32 %a, 1",
            "  %x = add i32 %a",
            "  %x = add i32 %a, 1 junk",
            "  %x = add i32 %a, {",
            "  %x = add nonsense i32 %a, 1",
            "  %x = load i32, ptr",
            "  br label",
            "  ret",
            "  store float 0.1, ptr %p, align 4",
            '  call void @f() [ "unclosed',
            "  %x = call i32 @f() #99",
            "  %x = alloca %unknown, align 4",
            "  %x = getelementptr i8, ptr %p, i64 (",
            "  switch i32 %a, label %b [",
            "  ",
            "not a label",
        ],
    )
    def test_bad_instruction(self, line: str) -> None:
        text = f"define void @f(i32 %a, ptr %p) {{\n{line}\n  ret void\n}}\n"
        for fast in (True, False):
            with pytest.raises(InternalError, match=r"cannot read line \d+ of LLVM's text"):
                read_module(text, fast=fast)

    @pytest.mark.parametrize(
        "line",
        ["@x = nonsense", "nonsense", "!7", "%x = type", "$c", "target triple", "declare void @f("],
    )
    def test_bad_statement(self, line: str) -> None:
        with pytest.raises(InternalError, match="cannot read line"):
            read_module(f"\n{line}\n")

    def test_the_line_is_named_and_quoted(self) -> None:
        text = "define void @f() {\n  ret void\n}\n\n@x = global i32 what\n"
        with pytest.raises(InternalError) as caught:
            read_module(text)
        assert "line 5" in str(caught.value)
        assert "@x = global i32 what" in str(caught.value)

    def test_a_function_without_end(self) -> None:
        with pytest.raises(InternalError):
            read_module("define void @f() {\n  ret void\n")

    def test_garbage_collection_is_left_as_it_was(self) -> None:
        assert gc.isenabled()
        with pytest.raises(InternalError):
            read_module("nonsense")
        assert gc.isenabled()
        gc.disable()
        try:
            read_module("")
            assert not gc.isenabled()
        finally:
            gc.enable()

    def test_empty_text_is_an_empty_module(self) -> None:
        module = read_module("")
        assert module.functions == {}
        assert module.globals == {}


class TestFastPath:
    """What GPU code is made of is never cut by its tokens: that is where the speed comes from."""

    def test_takes_the_common_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        text = """
        @smem = external addrspace(3) global [0 x i8], align 1024
        declare float @llvm.fma.f32(float, float, float)
        declare void @llvm.nvvm.barrier0()
        define ptx_kernel void @k(ptr addrspace(1) noalias %out, i32 %n, float %x, <4 x float> %v) {
        entry:
          br label %loop
        loop:
          %i = phi i32 [ 0, %entry ], [ %next, %loop ]
          %s = phi <2 x float> [ splat (float 1.0), %entry ], [ <float 1.0, float 2.0>, %loop ]
          %next = add nuw nsw i32 %i, 1
          %wide = zext nneg i32 %i to i64
          %p = getelementptr inbounds nuw float, ptr addrspace(1) %out, i64 %wide
          %q = getelementptr i8, ptr addrspace(3) @smem, i32 %i
          %a = load <4 x float>, ptr addrspace(3) %q, align 16
          %l = load volatile float, ptr addrspace(1) %p, align 4
          %e = extractelement <4 x float> %a, i64 2
          %w = insertelement <4 x float> %a, float 0x3FB99999A0000000, i32 1
          %u = shufflevector <4 x float> %w, <4 x float> %v, <2 x i32> <i32 0, i32 7>
          %m = call contract noundef float @llvm.fma.f32(float noundef %e, float -0.5, float nofpclass(nan) %l)
          %f = fmul fast float %m, %x
          %g = fneg float %f
          %h = select i1 true, float %g, float %f
          %z = freeze float %h
          store float %z, ptr addrspace(1) %p, align 4
          store <2 x float> %u, ptr addrspace(3) %q, align 8
          tail call void @llvm.nvvm.barrier0()
          %t = tail call { i32, i32 } asm sideeffect "x $0, $1, $2; // /* */", "=r,=r,r"(i32 %i) #0
          %t0 = extractvalue { i32, i32 } %t, 0
          %t1 = insertvalue { i32, float } poison, float %z, 1
          %"s$1" = alloca { i32, float }, align 4
          store { i32, float } zeroinitializer, ptr %"s$1", align 4
          %t2 = load { i32, float }, ptr %"s$1", align 4
          %t3 = getelementptr inbounds { i32, float }, ptr %"s$1", i32 0, i32 1
          %d = alloca [4 x i32], align 4
          %old = atomicrmw fadd ptr addrspace(1) %p, float %z monotonic, align 4
          %c = icmp slt i32 %next, %n
          br i1 %c, label %loop, label %chosen
        chosen:
          switch i32 %n, label %exit [
            i32 -1, label %chosen
            i32 7, label %another
          ], !prof !0
        another:
          switch i1 %c, label %exit [
          ]
        exit:
          ret void
        }
        attributes #0 = { convergent nounwind }
        !0 = !{!"branch_weights", i32 1, i32 2, i32 3}
        """
        printed = print_of(text)
        expected = read_module(printed, fast=False)

        def refuse(_: object, text: str, *__: object) -> None:
            pytest.fail(f"the fast path did not take: {text}")

        monkeypatch.setattr(instructions.InstructionReader, "read", refuse)
        assert read_module(printed) == expected

    def test_names_may_hold_what_lines_are_cut_at(self) -> None:
        text = """
        %"a, b to c" = type { i32, { i64, i32 } }
        declare %"a, b to c" @"f(x), g"(ptr, %"a, b to c")
        define void @k(ptr %"p, ptr %q", i64 %"i to j", <2 x i32> %"v [ 1, %l ], [ 2", i32 %n) {
        "x, y":
          %"s, !dbg !1" = load %"a, b to c", ptr %"p, ptr %q", align 8
          %"t, 1" = extractvalue %"a, b to c" %"s, !dbg !1", 1, 0
          %"u" = trunc i64 %"t, 1" to i32
          %"w" = inttoptr i64 %"i to j" to ptr addrspace(1)
          %c = call %"a, b to c" @"f(x), g"(ptr %"p, ptr %q", %"a, b to c" %"s, !dbg !1")
          br label %"z ], [ z"
        "z ], [ z":
          %"o = 1" = phi <2 x i32> [ %"v [ 1, %l ], [ 2", %"x, y" ], [ %"o = 1", %"z ], [ z" ]
          switch i32 %n, label %"x, label %y" [
            i32 1, label %"z ], [ z"
          ]
        "x, label %y":
          ret void
        }
        """
        function = read(text).functions["k"]
        loaded, taken, narrow, pointer, call, branch, phi, switch, _ = function.instructions()
        assert [block.name for block in function.blocks] == ["x, y", "z ], [ z", "x, label %y"]
        assert loaded.result == "s, !dbg !1"
        assert loaded.operands() == (Local("p, ptr %q", PointerType(0)),)
        assert (taken.result, taken.type) == ("t, 1", IntType(64))
        assert (narrow.type, pointer.type) == (IntType(32), PointerType(1))
        assert isinstance(call, Call)
        assert call.callee_name == "f(x), g"
        assert len(call.arguments) == 2
        assert branch.targets() == ("z ], [ z",)
        assert isinstance(phi, Phi)
        assert [block for _, block in phi.incoming] == ["x, y", "z ], [ z"]
        assert isinstance(switch, Switch)
        assert switch.targets() == ("x, label %y", "z ], [ z")

    def test_refuses_what_it_can_not_read(self) -> None:
        scope = reader.SymbolTable()  # type: ignore[attr-defined]
        lines = instructions.InstructionReader(scope)
        for line in (
            "  %x = add i32 %a, 1, 2",
            "  %x = add { i32, i32 } { i32 1, i32 2 }, %y",
            '  %"x y" = call void asm "", ""()',
            "  %x = call i32 @f(i32 %a) ; (%b, %c)",
            "  fence seq_cst",
            "  %x = phi i32 [ 0, %a ], [ %b ]",
            "  switch i32 %n, label %a [",
            "  unreachable, !dbg !1",
        ):
            assert lines.read_common(line, 1, 0) is None, line

    def test_types_of_one_module_are_not_those_of_the_next(self) -> None:
        text = """
        %T = type {{ {element} }}
        define ptr @f(ptr %p, i64 %i) {{
          %q = getelementptr %T, ptr %p, i64 %i
          ret ptr %q
        }}
        """
        for element in ("i32", "i64"):
            printed = print_of(text.format(element=element))
            assert read_module(printed) == read_module(printed, fast=False)

    def test_small_modules_share_what_pieces_mean(self) -> None:
        scope = SymbolTable()
        shared = kept.kept_of(scope, 1000)
        assert kept.kept_of(scope, 1000) is shared
        assert kept.kept_of(scope, 1 << 20) is not shared  # a large one
        named = SymbolTable(types={"T": OpaqueType("T")})
        assert kept.kept_of(named, 1000) is not shared

    def test_what_is_shared_is_forgotten_in_the_end(self) -> None:
        scope = SymbolTable()
        shared = kept.kept_of(scope, 1000)
        found = [kept.kept_of(scope, 50_000) for _ in range(50)]
        assert found[-1] is not shared

    def test_a_line_read_twice_is_the_same_record(self) -> None:
        lines = instructions.InstructionReader(SymbolTable())
        line = "  %x = fma float %a, 1.000000e+00".replace("fma", "fadd")
        first, second = lines.read_common(line, 1, 0), lines.read_common(line, 1, 0)
        assert first == second
        assert isinstance(first, BinaryOp)
        assert first.type is FLOAT
        assert HALF is not first.type
