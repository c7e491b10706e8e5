"""What the reader makes of constants, types and names: one small example for each."""

# ruff: noqa: E501 (an instruction stands on one line, as LLVM prints it)

from __future__ import annotations

import copy
import pickle

import pytest

from isel.llvm.ir import (
    BinaryOp,
)
from isel.llvm.types import (
    FLOAT,
    HALF,
    I8,
    I16,
    I32,
    I64,
    PTR,
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
    Local,
    Null,
    Poison,
    PtrAuth,
    Undef,
    Zero,
    elements_of,
)
from isel.llvm.vocabulary import (
    Flag,
    Opcode,
)
from tests.isel.llvm.llvm_reading import constant, function, instruction, read


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
