"""What the reader makes of instructions that compute or access memory: one small example for each.

Every example is parsed, verified and printed by LLVM first, and read by both of the reader's paths.
"""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

import pytest

from isel.llvm.ir import (
    Alloca,
    AtomicRMW,
    BinaryOp,
    Cast,
    Compare,
    CompareExchange,
    ExtractElement,
    ExtractValue,
    Fence,
    Freeze,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Load,
    Return,
    Select,
    ShuffleVector,
    Store,
    UnaryOp,
    VAArg,
)
from isel.llvm.reader import read_module
from isel.llvm.types import (
    DOUBLE,
    FLOAT,
    I1,
    I8,
    I32,
    I64,
    PTR,
    VOID,
    ArrayType,
    PointerType,
    StructType,
    VectorType,
)
from isel.llvm.values import (
    ConstInt,
    Local,
    Poison,
    Splat,
    Zero,
)
from isel.llvm.vocabulary import (
    FAST,
    Flag,
    FloatPredicate,
    IntPredicate,
    Opcode,
    Ordering,
    RMWOperation,
)
from tests.isel.llvm.llvm_corpus import print_of
from tests.isel.llvm.llvm_reading import function, instruction, read
from tests.isel.llvm.read_values import ONE, A, P, X


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
