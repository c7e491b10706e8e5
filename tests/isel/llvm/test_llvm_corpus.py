"""The reader against LLVM itself: the corpus walked through llvmlite's binding, closed word lists,
bits that LLVM computes, and programs made at random."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
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
    AtomicRMW,
    BinaryOp,
    Cast,
    Compare,
    Fence,
    Function,
    InsertElement,
    Instruction,
    Load,
    Module,
    Select,
)
from isel.llvm.metadata import TupleNode, read_node
from isel.llvm.reader import read_module
from isel.llvm.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    METADATA,
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
    GlobalRef,
    Local,
    Null,
    Splat,
    Undef,
    Value,
    Zero,
)
from isel.llvm.vocabulary import (
    BINARY_OPCODES,
    CALLING_CONVENTIONS,
    CAST_OPCODES,
    Flag,
    FloatPredicate,
    IntPredicate,
    Linkage,
    Opcode,
    Ordering,
    RMWOperation,
)
from isel.places.tokens import scan_tokens
from tests.isel.llvm.llvm_corpus import CASES, parsed, print_of, printed
from tests.isel.llvm.llvm_reading import constant, instruction, read
from tests.turns import examples

# Every instruction of LLVM 22, from its language reference.
_OPCODES = """
    ret br switch indirectbr invoke callbr resume catchswitch catchret cleanupret unreachable
    fneg
    add fadd sub fsub mul fmul udiv sdiv fdiv urem srem frem shl lshr ashr and or xor
    extractelement insertelement shufflevector extractvalue insertvalue
    alloca load store fence cmpxchg atomicrmw getelementptr
    trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast
    addrspacecast
    icmp fcmp phi select freeze call va_arg landingpad catchpad cleanuppad
"""
OPCODES = frozenset(_OPCODES.split())


def module_of(name: str) -> Module:
    return read_module(printed(name))


def walk(name: str) -> Iterator[tuple[llvm.ValueRef, Instruction]]:
    """The instructions of a case: as LLVM's binding gives them, and as we read them."""
    module = module_of(name)
    functions = [f for f in parsed(name).functions if not f.is_declaration]
    ours = list(module.definitions())
    assert len(functions) == len(ours)
    for theirs, function in zip(functions, ours, strict=True):
        assert theirs.name == llvm_name(function.name)
        blocks = list(theirs.blocks)
        assert [b.name for b in blocks] == [llvm_name(b.name) for b in function.blocks]
        for block, found in zip(blocks, function.blocks, strict=True):
            yield from zip(block.instructions, found.instructions, strict=True)


def llvm_name(name: str) -> str:
    """What LLVM calls it: a number is no name, and quotes around one are not part of it."""
    if name.isdecimal():
        return ""
    return name[1:-1] if re.fullmatch(r'("+)\d+\1', name) else name


def llvm_type(value: llvm.ValueRef) -> str:
    """A type's spelling; LLVM prints a struct's definition behind its name."""
    return str(value.type).partition(" = type ")[0]


def kind_of(value: llvm.ValueRef) -> llvm.ValueKind | None:
    """The kind of a value; None for the newer ones, which the binding has no number for."""
    try:
        return value.value_kind
    except ValueError:
        return None


def linkage_of(linkage: llvm.Linkage) -> str:
    """LLVM's spelling of what the binding calls by a longer name."""
    return linkage.name.replace("external_weak", "extern_weak").removesuffix("_any")


def spelled(type: Type) -> str:
    """A type as LLVM spells it, which puts quotes around some of the names."""
    return re.sub(r'%("7"|odd type, { i32 })', lambda m: f'%"{m[1].strip(chr(34))}"', str(type))


class TestAgainstTheBinding:
    """What llvmlite says of a module, without text, is what we read from the text."""

    @pytest.mark.parametrize("name", CASES)
    def test_opcodes_names_and_types(self, name: str) -> None:
        for theirs, ours in walk(name):
            assert theirs.opcode == ours.opcode.value
            assert theirs.name == llvm_name(ours.result or "")
            assert llvm_type(theirs) == spelled(ours.type)

    @pytest.mark.parametrize("name", CASES)
    def test_operands(self, name: str) -> None:
        for theirs, ours in walk(name):
            operands = list(theirs.operands)
            values = ours.operands()
            assert len(operands) == len(values) + len(ours.targets())
            theirs_values = [o for o in operands if kind_of(o) is not llvm.ValueKind.basic_block]
            for operand, value in zip(theirs_values, values, strict=True):
                self.check(operand, value)

    def check(self, theirs: llvm.ValueRef, ours: Value) -> None:
        if ours.type is not METADATA:
            assert llvm_type(theirs) == spelled(ours.type)
        match ours:
            case Local() | GlobalRef():
                assert theirs.name == llvm_name(ours.name)
            case ConstInt():
                assert kind_of(theirs) is llvm.ValueKind.constant_int
                if ours.type.bits <= 64:
                    assert theirs.get_constant_value() == ours.value
            case ConstFloat(type=FloatType(keyword="double")):
                bits = struct.pack("<d", theirs.get_constant_value())
                assert int.from_bytes(bits, "little") == ours.bits
            case Null():
                assert kind_of(theirs) is llvm.ValueKind.constant_pointer_null
            case Undef():
                assert kind_of(theirs) is llvm.ValueKind.undef_value

    @pytest.mark.parametrize("name", CASES)
    def test_functions(self, name: str) -> None:
        theirs, ours = list(parsed(name).functions), list(module_of(name).functions.values())
        assert [f.name for f in theirs] == [llvm_name(f.name) for f in ours]
        for function, found in zip(theirs, ours, strict=True):
            assert function.is_declaration == found.is_declaration
            assert linkage_of(function.linkage) == found.linkage.value
            assert function.visibility.name == found.visibility.value
            arguments = list(function.arguments)
            assert [llvm_type(a) for a in arguments] == [str(p.type) for p in found.params]
            assert [a.name for a in arguments] == [llvm_name(p.name) for p in found.params]

    @pytest.mark.parametrize("name", CASES)
    def test_global_variables(self, name: str) -> None:
        theirs = [g for g in parsed(name).global_variables if g.is_global]
        ours = list(module_of(name).globals.values())
        assert [g.name for g in theirs] == [llvm_name(g.name) for g in ours]
        for variable, found in zip(theirs, ours, strict=True):
            assert variable.is_declaration == found.is_declaration
            assert linkage_of(variable.linkage) == found.linkage.value
            assert variable.visibility.name == found.visibility.value
            assert variable.is_constant

    @pytest.mark.parametrize("name", CASES)
    def test_struct_types(self, name: str) -> None:
        theirs = {t.name for t in parsed(name).struct_types if t.name}
        ours = {llvm_name(n) for n in module_of(name).types}
        assert theirs <= ours


class TestBothPaths:
    @pytest.mark.parametrize("name", CASES)
    def test_agree(self, name: str) -> None:
        assert read_module(printed(name)) == read_module(printed(name), fast=False)

    @pytest.mark.parametrize("name", CASES)
    def test_agree_when_optimised(self, name: str) -> None:
        """LLVM's passes make spellings that nobody writes."""
        text = print_of(optimised(name))
        assert read_module(text) == read_module(text, fast=False)

    @pytest.mark.parametrize("name", CASES)
    def test_every_metadata_node_can_be_read(self, name: str) -> None:
        module = module_of(name)
        for id, text in module.metadata.items():
            node = read_node(module, id)
            assert node is not None
            is_tuple = text.startswith(("!{", "distinct !{"))
            assert isinstance(node, TupleNode) == is_tuple

    @pytest.mark.parametrize("name", CASES)
    def test_every_type_prints_as_it_was_read(self, name: str) -> None:
        for ours in module_of(name).types.values():
            assert f" = type {ours.body}\n" in printed(name).replace('"odd type, { i32 }"', "odd")

    @pytest.mark.parametrize("name", CASES)
    def test_lines_point_at_the_instruction(self, name: str) -> None:
        lines = printed(name).split("\n")
        for function in module_of(name).definitions():
            for ordinal, found in enumerate(function.instructions()):
                assert found.ordinal == ordinal
                assert found.opcode.value in lines[found.line - 1]


def optimised(name: str) -> str:
    """A case after LLVM's -O2."""
    module = llvm.parse_assembly(printed(name), context=llvm.create_context())
    llvm.initialize_native_target()
    machine = llvm.Target.from_default_triple().create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
    builder.getModulePassManager().run(module, builder)
    return str(module)


def libdevice() -> str:
    """CUDA's mathematical library as LLVM prints it: 36,000 instructions not made for us."""
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    for folder in folders:
        for path in Path(folder).rglob("libdevice*.bc"):
            return str(llvm.parse_bitcode(path.read_bytes(), context=llvm.create_context()))
    pytest.skip("libdevice is not installed")


class TestLibdevice:
    @pytest.mark.turns(3)
    def test_both_paths_and_the_places(self) -> None:
        printed = libdevice()
        module = read_module(printed)
        assert module == read_module(printed, fast=False)
        scanned = scan_tokens(printed)
        for function in module.definitions():
            lines = [found.place[0] for found in scanned[function.name]]
            assert lines == [i.line for i in function.instructions()]


class TestClosedWorlds:
    """Lists that must hold every word LLVM knows."""

    def test_opcodes(self) -> None:
        assert {opcode.value for opcode in Opcode} == OPCODES

    def test_the_corpus_has_every_opcode(self) -> None:
        found = {theirs.opcode for name in CASES for theirs, _ in walk(name)}
        assert found == OPCODES

    def test_kinds_of_opcodes(self) -> None:
        assert len(BINARY_OPCODES) == 18
        assert len(CAST_OPCODES) == 14
        in_corpus = {(type(ours), ours.opcode) for name in CASES for _, ours in walk(name)}
        assert {opcode for kind, opcode in in_corpus if kind is BinaryOp} == BINARY_OPCODES
        assert {opcode for kind, opcode in in_corpus if kind is Cast} == CAST_OPCODES

    def test_integer_predicates(self) -> None:
        for predicate in IntPredicate:
            compare = instruction(f"%r = icmp {predicate.value} i32 %i, %j", Compare)
            assert compare.predicate is predicate
        assert len(IntPredicate) == 10

    def test_float_predicates(self) -> None:
        for predicate in FloatPredicate:
            compare = instruction(f"%r = fcmp {predicate.value} float %x, %y", Compare)
            assert compare.predicate is predicate
        assert len(FloatPredicate) == 16

    def test_atomic_operations(self) -> None:
        for operation in RMWOperation:
            operand = "float %x" if operation.value.startswith("f") else "i32 %i"
            text = f"%r = atomicrmw {operation.value} ptr %p, {operand} monotonic"
            assert instruction(text, AtomicRMW).operation is operation
        assert len(RMWOperation) == 21

    def test_orderings(self) -> None:
        for ordering in (Ordering.UNORDERED, Ordering.MONOTONIC):
            text = f"%r = load atomic i32, ptr %p {ordering.value}, align 4"
            assert instruction(text, Load).ordering is ordering
        for ordering in set(Ordering) - {Ordering.UNORDERED, Ordering.MONOTONIC}:
            assert instruction(f"fence {ordering.value}", Fence).ordering is ordering

    def test_linkages_are_the_bindings(self) -> None:
        # The binding also numbers what LLVM removed long ago.
        gone = {"dllimport", "dllexport", "ghost", "linker_private", "linker_private_weak"}
        gone |= {"linkonce_odr_autohide"}
        known = {linkage_of(linkage) for linkage in llvm.Linkage if linkage.name not in gone}
        assert known == {linkage.value for linkage in Linkage}

    def test_calling_conventions(self) -> None:
        """All 1024 that LLVM can print."""
        text = "\n".join(f"declare cc {n} void @f{n}()" for n in range(1024))
        # Not verified: some conventions insist on arguments.
        module = read_module(str(llvm.parse_assembly(text, context=llvm.create_context())))
        words = {f.calling_convention for f in module.functions.values()}
        assert len(words) == 1024
        by_name = {w.partition("(")[0] for w in words if not re.fullmatch(r"cc\d+", w)}
        assert by_name == CALLING_CONVENTIONS
        assert module.functions["f71"].calling_convention == "ptx_kernel"
        assert module.functions["f114"].calling_convention == "riscv_vls_cc(128)"
        assert module.functions["f1023"].calling_convention == "cc1023"


WIDTHS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80}
WIDTHS |= {"fp128": 128, "ppc_fp128": 128}


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
