"""The reader against LLVM on random programs, and the bits of every kind of float."""

from __future__ import annotations

import contextlib
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from intrinsics.findings import InternalError
from isel.llvm.grammar.lexer import Cursor
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.types import read_type
from isel.llvm.ir import (
    BinaryOp,
    Compare,
    Function,
    InsertElement,
    Instruction,
    Module,
    Select,
)
from isel.llvm.reader import read_module
from isel.llvm.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    PTR,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from isel.llvm.values import (
    ConstFloat,
    ConstInt,
    ConstVector,
    Local,
    Splat,
    Value,
    Zero,
)
from isel.llvm.vocabulary import (
    Flag,
    IntPredicate,
    Opcode,
)
from tests.isel.llvm.llvm_corpus import CASES, printed
from tests.isel.llvm.llvm_reading import constant, read
from tests.isel.llvm.spelled_types import WIDTHS
from tests.turns import examples


class TestFloatBits:
    """The bits of a number are those that LLVM and numpy compute."""

    def check(self, type: str, text: str, bits: int) -> None:
        found = constant(type, text)
        assert isinstance(found, ConstFloat)
        assert found.bits == bits
        if type == "ppc_fp128":  # the one type whose cast LLVM does not fold
            return
        width = WIDTHS[type]
        folded = constant(f"i{width}", f"bitcast ({type} {text} to i{width})")
        assert folded == ConstInt(IntType(width), bits)

    @pytest.mark.parametrize(
        ("type", "text", "bits"),
        [
            ("half", "0xH3555", 0x3555),
            ("half", "0xHFC00", 0xFC00),
            ("half", "0xH7C01", 0x7C01),
            ("half", "1.5", 0x3E00),
            ("bfloat", "0xR7F81", 0x7F81),
            ("bfloat", "-2.0", 0xC000),
            ("float", "1.0", 0x3F800000),
            ("float", "-0.0", 0x80000000),
            ("float", "0x36A0000000000000", 1),
            ("float", "0x47EFFFFFE0000000", 0x7F7FFFFF),
            ("float", "0x7FF0000000000000", 0x7F800000),
            ("float", "0xFFF8000000000000", 0xFFC00000),
            ("float", "0x7FF0000020000000", 0x7F800001),
            ("double", "0.1", 0x3FB999999999999A),
            ("double", "0x7FF0000000000001", 0x7FF0000000000001),
            ("double", "5.0e-324", 1),
            ("x86_fp80", "0xK3FFF8000000000000001", 0x3FFF8000000000000001),
            ("fp128", "0xL00000000000000013FFF000000000002", 0x3FFF0000000000020000000000000001),
            (
                "ppc_fp128",
                "0xM3FF00000000000003C90000000000000",
                0x3C900000000000003FF0000000000000,
            ),
        ],
    )
    def test_spellings(self, type: str, text: str, bits: int) -> None:
        self.check(type, text, bits)

    @examples(450)
    @given(st.integers(0, 2**32 - 1))
    @example(0x7F800001)
    @example(0x00000001)
    @example(0x3DCCCCCD)
    def test_every_float(self, bits: int) -> None:
        text = f"<2 x float> bitcast (<2 x i32> <i32 {bits}, i32 1> to <2 x float>)"
        vector = read(f"@x = global {text}").globals["x"].initializer
        assert isinstance(vector, ConstVector | Splat)
        first = vector.elements[0] if isinstance(vector, ConstVector) else vector.element
        assert first == ConstFloat(FLOAT, bits)

    @examples(450)
    @given(st.integers(0, 2**64 - 1))
    def test_every_double(self, bits: int) -> None:
        found = constant("double", f"bitcast (i64 {bits} to double)")
        assert found == ConstFloat(DOUBLE, bits)

    @examples(240)
    @given(st.floats(width=16, allow_nan=False, allow_infinity=False))
    def test_decimals_of_half(self, number: float) -> None:
        bits = int(np.float16(number).view(np.uint16))
        assert constant("half", f"{number:.60e}") == ConstFloat(HALF, bits)

    @examples(240)
    @given(st.integers(0, 0x7F7F).map(lambda bits: np.uint16(bits).view(ml_dtypes.bfloat16)))
    def test_decimals_of_bfloat(self, number: np.generic) -> None:
        bits = int(number.view(np.uint16))
        assert constant("bfloat", f"{float(number):.150e}") == ConstFloat(BFLOAT, bits)

    @examples(240)
    @given(st.floats(width=32, allow_nan=False, allow_infinity=False))
    def test_decimals_of_float(self, number: float) -> None:
        bits = int(np.float32(number).view(np.uint32))
        assert constant("float", f"{number:.160e}") == ConstFloat(FLOAT, bits)


# Programs made at random.

INTEGERS = [IntType(bits) for bits in (1, 8, 16, 32, 64, 128)]
FLOATS = [HALF, BFLOAT, FLOAT, DOUBLE]
INTEGER_OPCODES = {
    Opcode.ADD: [Flag.NUW, Flag.NSW],
    Opcode.SUB: [Flag.NUW, Flag.NSW],
    Opcode.MUL: [Flag.NUW, Flag.NSW],
    Opcode.SHL: [Flag.NUW, Flag.NSW],
    Opcode.UDIV: [Flag.EXACT],
    Opcode.LSHR: [Flag.EXACT],
    Opcode.OR: [Flag.DISJOINT],
    Opcode.XOR: [],
}
FLOAT_OPCODES = [Opcode.FADD, Opcode.FSUB, Opcode.FMUL, Opcode.FDIV, Opcode.FREM]
FLOAT_FLAGS = [Flag.REASSOC, Flag.NNAN, Flag.NINF, Flag.NSZ, Flag.ARCP, Flag.CONTRACT, Flag.AFN]
NAMES = st.from_regex(r"[a-z][a-z0-9_.]{0,5}|[ -~é]{1,6}|[0-9]{1,2}", fullmatch=True)


class Program:
    """A straight line of instructions: LLVM IR as text, and the records it must become."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.expected: list[Instruction] = []
        self.values: list[tuple[str, Local]] = []  # spelling, and what it must be read as
        self.taken: set[str] = set()
        self.next_number = 0

    def parameter(self, type: Type) -> str:
        spelling, name = self.name()
        self.values.append((spelling, Local(name, type)))
        return f"{type} {spelling}"

    def name(self) -> tuple[str, str]:
        name = self.draw(NAMES)
        if name in self.taken or self.draw(st.booleans()):
            self.next_number += 1
            number = str(self.next_number - 1)
            return f"%{number}", number
        self.taken.add(name)
        escaped = "".join(f"\\{byte:02X}" for byte in name.encode())
        read_as = f'"{name}"' if re.fullmatch(r'("*)[0-9]+\1', name) else name
        return f'%"{escaped}"', read_as

    def operand(self, type: Type) -> tuple[str, Value]:
        same = [pair for pair in self.values if pair[1].type is type]
        if same and self.draw(st.booleans()):
            return self.draw(st.sampled_from(same))
        return self.constant(type)

    def constant(self, type: Type) -> tuple[str, Value]:
        match type:
            case IntType(bits=bits):
                value = self.draw(st.integers(0, 2**bits - 1))
                return str(value - 2**bits if value >> bits - 1 else value), ConstInt(type, value)
            case FloatType():
                value = self.draw(st.integers(-8, 8))
                return f"{value / 4}", ConstFloat(type, small_float_bits(value / 4, type))
            case VectorType(element=element, count=count):
                pairs = [self.constant(element) for _ in range(count)]
                spelled = f"<{', '.join(f'{element} {text}' for text, _ in pairs)}>"
                return spelled, folded(type, [value for _, value in pairs])
        raise AssertionError(type)

    def flags(self, available: list[Flag]) -> tuple[str, frozenset[Flag]]:
        chosen = [flag for flag in available if self.draw(st.booleans())]
        return "".join(f"{flag.value} " for flag in chosen), frozenset(chosen)

    def add(self, text: str, type: Type, record: Instruction) -> None:
        spelling, name = self.name()
        record.result, record.type, record.ordinal = name, type, len(self.expected)
        self.lines.append(f"  {spelling} = {text}")
        self.expected.append(record)
        self.values.append((spelling, Local(name, type)))


def small_float_bits(number: float, type: FloatType) -> int:
    dtype = {
        HALF: np.float16,
        BFLOAT: ml_dtypes.bfloat16,
        FLOAT: np.float32,
        DOUBLE: np.float64,
    }[type]
    return int.from_bytes(np.array(number, dtype).tobytes(), "little")


def folded(type: Type, values: list[Value]) -> Value:
    """How LLVM holds a vector constant: it has words for all zeros and for all alike."""
    first = values[0]
    if any(value != first for value in values):
        return ConstVector(type, tuple(values))
    zero = isinstance(first, ConstInt) and first.value == 0
    zero = zero or (isinstance(first, ConstFloat) and first.bits == 0)
    return Zero(type) if zero else Splat(type, first)


def common(opcode: Opcode) -> tuple[Opcode, None, int, int, None, tuple[()], Type]:
    """The first fields of a record; `Program.add` fills them in."""
    return opcode, None, 0, 0, None, (), I1


def add_integer(program: Program) -> None:
    opcode = program.draw(st.sampled_from(sorted(INTEGER_OPCODES, key=lambda o: o.value)))
    scalar = program.draw(st.sampled_from(INTEGERS))
    type = program.draw(st.sampled_from([scalar, VectorType(scalar, 3)]))
    spelled, flags = program.flags(INTEGER_OPCODES[opcode])
    (left, lhs), (right, rhs) = program.operand(type), program.operand(type)
    text = f"{opcode.value} {spelled}{type} {left}, {right}"
    program.add(text, type, BinaryOp(*common(opcode), lhs, rhs, flags))


def add_float(program: Program) -> None:
    opcode = program.draw(st.sampled_from(FLOAT_OPCODES))
    scalar = program.draw(st.sampled_from(FLOATS))
    type = program.draw(st.sampled_from([scalar, VectorType(scalar, 2)]))
    spelled, flags = program.flags(FLOAT_FLAGS)
    (left, lhs), (right, rhs) = program.operand(type), program.operand(type)
    text = f"{opcode.value} {spelled}{type} {left}, {right}"
    program.add(text, type, BinaryOp(*common(opcode), lhs, rhs, flags))


def add_compare(program: Program) -> None:
    type = program.draw(st.sampled_from(INTEGERS))
    predicate = program.draw(st.sampled_from(list(IntPredicate)))
    spelled, flags = program.flags([Flag.SAMESIGN])
    (left, lhs), (right, rhs) = program.operand(type), program.operand(type)
    text = f"icmp {spelled}{predicate.value} {type} {left}, {right}"
    program.add(text, I1, Compare(*common(Opcode.ICMP), predicate, lhs, rhs, flags))


def add_select(program: Program) -> None:
    type = program.draw(st.sampled_from(INTEGERS))
    condition, c = program.operand(I1)
    (left, lhs), (right, rhs) = program.operand(type), program.operand(type)
    text = f"select i1 {condition}, {type} {left}, {type} {right}"
    program.add(text, type, Select(*common(Opcode.SELECT), c, lhs, rhs, frozenset()))


def add_insert(program: Program) -> None:
    scalar = program.draw(st.sampled_from([*INTEGERS, *FLOATS]))
    vector = VectorType(scalar, program.draw(st.integers(1, 5)))
    (v, whole), (e, element) = program.operand(vector), program.operand(scalar)
    i, index = program.operand(IntType(32))
    text = f"insertelement {vector} {v}, {scalar} {e}, i32 {i}"
    record = InsertElement(*common(Opcode.INSERTELEMENT), whole, element, index)
    program.add(text, vector, record)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[Instruction]]:
    program = Program(draw)
    scalars: list[Type] = draw(st.lists(st.sampled_from([*INTEGERS, *FLOATS]), max_size=4))
    parameters = ", ".join(program.parameter(type) for type in scalars)
    program.next_number += 1  # the first block's
    makers = [add_integer, add_float, add_compare, add_select, add_insert]
    for _ in range(draw(st.integers(1, 8))):
        draw(st.sampled_from(makers))(program)
    body = "\n".join(program.lines)
    return f"define void @f({parameters}) {{\n{body}\n  ret void\n}}", program.expected


class TestRandomPrograms:
    @examples(600)
    @given(programs())
    def test_records_hold_what_was_written(self, made: tuple[str, list[Instruction]]) -> None:
        text, expected = made
        found: Function = read(text).functions["f"]
        instructions = list(found.instructions())[:-1]
        for record, wanted in zip(instructions, expected, strict=True):
            wanted.line = record.line
            assert record == wanted

    @examples(600)
    @given(st.sampled_from(sorted(CASES)), st.data())
    def test_damaged_text_is_read_or_refused_but_nothing_else(
        self, name: str, data: st.DataObject
    ) -> None:
        text = printed(name)
        start = data.draw(st.integers(0, len(text) - 1))
        end = start + data.draw(st.integers(0, 12))
        put = data.draw(st.text(alphabet='%@!"{}[]()<>,=; \nix0#', max_size=4))
        damaged = text[:start] + put + text[end:]
        # Any other exception fails the test.
        with contextlib.suppress(InternalError):
            assert isinstance(read_module(damaged), Module)


SCALARS = st.sampled_from([*INTEGERS, *FLOATS, PTR, PointerType(3)])
TYPES = st.recursive(
    SCALARS | st.builds(VectorType, SCALARS, st.integers(1, 9), st.booleans()),
    lambda inner: (
        st.builds(ArrayType, inner, st.integers(0, 9))
        | st.builds(StructType, st.lists(inner, max_size=3).map(tuple), st.booleans())
        | st.builds(FunctionType, inner, st.lists(inner, max_size=3).map(tuple), st.booleans())
    ),
    max_leaves=6,
)


@given(TYPES)
def test_a_types_spelling_is_read_as_that_type(type: Type) -> None:
    cursor = Cursor(str(type))
    assert read_type(cursor, SymbolTable()) is type
    assert cursor.at_end()
