"""The reader against LLVM itself: the corpus, libdevice, and closed lists of words."""

from __future__ import annotations

import importlib.util
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from isel.llvm.ir import (
    AtomicRMW,
    BinaryOp,
    Cast,
    Compare,
    Fence,
    Instruction,
    Load,
    Module,
)
from isel.llvm.metadata import TupleNode, read_node
from isel.llvm.reader import read_module
from isel.llvm.types import (
    METADATA,
    FloatType,
)
from isel.llvm.values import (
    ConstFloat,
    ConstInt,
    GlobalRef,
    Local,
    Null,
    Undef,
    Value,
)
from isel.llvm.vocabulary import (
    BINARY_OPCODES,
    CALLING_CONVENTIONS,
    CAST_OPCODES,
    FloatPredicate,
    IntPredicate,
    Linkage,
    Opcode,
    Ordering,
    RMWOperation,
)
from isel.places.tokens import scan_tokens
from tests.isel.llvm.llvm_corpus import CASES, parsed, print_of, printed
from tests.isel.llvm.llvm_reading import instruction
from tests.isel.llvm.spelled_types import spelled

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
