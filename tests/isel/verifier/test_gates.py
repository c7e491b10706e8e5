"""Gates: what one target has and another has not is refused on every way in, for the same reason.

A gate is a capability that a row demands (the target has no such instruction: `SelectionError`), or
that one of its rules demands (it has the instruction, but not with such a modifier or operand:
`VerificationError`).  Each gate is shown from LLVM IR, where LLVM has an intrinsic for it, and from
records in PTX and in MIR: what selection lets through the verifier never refuses, and the other way
round.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import pytest

import nvgen
from asmprinter.mir.printer import print_mir
from asmprinter.ptx.printer import print_ptx
from intrinsics.catalog import spellings_of
from intrinsics.findings import Finding, NvgenError, SelectionError, VerificationError, errors
from intrinsics.legality import Judgement, judge
from intrinsics.mir import Module
from intrinsics.row import Attribute
from intrinsics.special import SpecialRegister, special_registers
from intrinsics.targets import EVERYWHERE, PTX_VERSIONS, TARGETS, Ptx, Target, spell
from nvgen.compilation.options import Options
from nvgen.loading import load
from tests.each import each
from tests.isel.verifier.gate_records import Gate, gates, judgement, module_of, shown, shut
from tests.isel.verifier.test_spellings_of_llvm import Call, text_of

NAMED_ONLY = ("st:param-version:space=param::entry|param::func",)
"""What only a name may stand for: the parameters of a call, which belong to calls' own tests."""

GATES = {str(gate): gate for gate in gates() if str(gate) not in NAMED_ONLY}


def test_there_are_gates() -> None:
    assert len(GATES) > 200
    assert sum(gate.rule is None for gate in GATES.values()) > 40


# ---- records ---------------------------------------------------------------------------------


def told(module: Module, target: Target, ptx: Ptx, language: str) -> list[Finding]:
    """The errors that `nvgen check` finds in a module."""
    text = print_ptx(module, ptx).text if language == "ptx" else print_mir(module).text
    return errors(load(f"k.{language}", text, Options(target=target.name, ptx=str(ptx))).findings)


@each("name", GATES, turns=3)
def test_a_record_is_refused_where_its_gate_is_shut(name: str) -> None:
    """In PTX and in MIR alike, and nothing else is said where nothing else is wrong."""
    gate = GATES[name]
    attributes = shown(gate)
    assert attributes is not None, "no form shows this gate"
    known = judgement(gate)
    places = list(shut(known.demands, gate))
    assert places, "no target lacks it"
    for target, ptx in places:
        module = module_of(gate.row, attributes, target, ptx)
        expected = _missing(gate, known, target, ptx)
        for language in ("ptx", "mir"):
            found = told(module, target, ptx, language)
            # PTX before 8.3 has no `.reg .b128` either
            found = [f for f in found if f.rule != "ptx/directive-version"]
            assert {(f.rule, f.expected) for f in found} == expected
            assert all(f.place.line and f"{target}" in f.got for f in found)


def _missing(gate: Gate, known: Judgement, target: Target, ptx: Ptx) -> set[tuple[str, str]]:
    missing = {
        (f"{gate.row.head}/{d.rule.id if d.rule else 'target'}",
         f"{spell(d.capability.targets)}, PTX {d.capability.since} or later")
        for d in known.missing(target, ptx)
    }  # fmt: skip
    assert (gate.id, gate.expected) in missing
    return missing


@each("name", GATES, turns=3)
def test_a_record_is_taken_where_all_its_gates_are_open(name: str) -> None:
    gate = GATES[name]
    attributes = shown(gate)
    assert attributes is not None
    known = judgement(gate)
    newest = PTX_VERSIONS[-1]
    open_ = [t for t in TARGETS.values() if not known.missing(t, newest)]
    assert open_, "no target has it"
    target = open_[0]
    first = known.first_ptx(target)
    assert first is not None
    for ptx in (first, newest):
        module = module_of(gate.row, attributes, target, ptx)
        for language in ("ptx", "mir"):
            assert told(module, target, ptx, language) == []


# ---- LLVM IR ---------------------------------------------------------------------------------


def attributes_of(call: Call) -> dict[str, Attribute]:
    """What the call of an intrinsic says of its row: names, immediates, operands."""
    spelling = call.spelling
    row, pattern = spelling.row, spelling.pattern
    attributes: dict[str, Attribute] = dict.fromkeys(row.qualifier)
    attributes.update(spelling.attributes)
    attributes.update((qualifier, pattern.codes[qualifier][code]) for qualifier, code in call.codes)
    parts = [p.strip() for p in pattern.args.split(",")]
    named = {p.replace("?", ":").partition(":")[2] for p in parts}
    named |= {p.strip().partition(":")[2] for p in pattern.result.strip("{}").split(",")}
    attributes.update((name, name in named) for name in row.optional)
    for qualifier, operand in row.tied.items():
        if attributes.get(qualifier) is None and attributes.get(operand):
            attributes[qualifier] = row.qualifier[qualifier].values[0]
    return attributes


@functools.cache
def call_of(gate: Gate) -> Call | None:
    """A call of LLVM's that has this gate, and is legal where it is open; with few others."""
    best: tuple[int, Call] | None = None
    for spelling in spellings_of(gate.row):
        if "{v" in spelling.pattern.result:
            continue  # a vector of as many registers as its form says, among other results
        qualifiers = [n for n in spelling.pattern.codes if f"#{n}" in spelling.pattern.args]
        tables = [spelling.pattern.codes[qualifier] for qualifier in qualifiers]
        for codes in itertools.product(*tables):
            call = Call(spelling, tuple(zip(qualifiers, codes, strict=True)))
            known = judge(gate.row, attributes_of(call))
            if known.broken or gate.capability not in [
                d.capability for d in known.demands if d.rule is gate.rule
            ]:
                continue
            if best is None or len(known.demands) < best[0]:
                best = len(known.demands), call
    return best[1] if best else None


@functools.cache
def called() -> list[str]:
    """The gates that a call of LLVM's has."""
    return [name for name, gate in GATES.items() if call_of(gate) is not None]


def test_most_gates_have_an_intrinsic() -> None:
    rows = {gate.row.id for gate in GATES.values() if gate.rule is None}
    rows_called = {GATES[name].row.id for name in called() if GATES[name].rule is None}
    assert rows - rows_called <= WITHOUT_INTRINSICS
    assert len(called()) > 85


WITHOUT_INTRINSICS = {
    "add.mixed", "sub.mixed", "fma.mixed", "cvt.bf16_from_int", "cvt.bf16_to_int", "cvt.pair",
    "cvt.from_scale", "cvt.to_scale", "lop3.bool", "mbarrier.check_layout",
    "tcgen05.ld.red", "tcgen05.ld.spcompress", "tcgen05.ld.red.spcompress",
    "st.async.release", "red.async.release", "alloca", "stacksave", "stackrestore",
    "st.bulk.size32", "add.narrow", "sub.narrow", "mul.narrow", "fma.narrow",
    "clusterlaunchcontrol.query_cancel.is_canceled",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.dimension",
}  # fmt: skip
"""Instructions that no llvm.nvvm intrinsic is for, or none with results that can be told here."""


def text_with(call: Call) -> str:
    """A module with the call, whose result is stored so that it counts.

    What it asks of an address is not known: a kernel's pointer is of global memory.
    """
    text = text_of([call])
    if "isspacep" in text:
        text = text.replace("  %result = ", "  %q = load ptr, ptr %p\n  %result = ", 1)
        text = text.replace("(ptr addrspace(0) %p)", "(ptr addrspace(0) %q)")
    if call.result == "void" or call.result.startswith("{"):
        return text
    return text.replace("\n  ret void", f"\n  store {call.result} %result, ptr %p\n  ret void")


def refusal(text: str, target: Target, ptx: Ptx | None) -> NvgenError:
    with pytest.raises(NvgenError) as caught:
        nvgen.compile(text, target=target.name, ptx=str(ptx) if ptx else None)
    return caught.value


@each("name", called, turns=6)
def test_a_call_is_refused_where_its_gate_is_shut(name: str) -> None:
    """Selection refuses what the target has not at all, the verifier what it has not like this."""
    gate = GATES[name]
    call = call_of(gate)
    assert call is not None
    known = judge(gate.row, attributes_of(call))
    text = text_with(call)
    line = next(n for n, x in enumerate(text.splitlines(), 1) if " call " in x or " = call" in x)
    for target, ptx in shut(known.demands, gate):
        row_missing = not gate.row.needs.holds(target, ptx)
        for version in _versions(gate, target, ptx):
            error = refusal(text, target, version)
            assert type(error) is (SelectionError if row_missing else VerificationError)
            found = errors(error.findings)
            assert all(f.place.line == line for f in found)
            rules = {(f.rule, f.expected) for f in found}
            if row_missing:
                needs = gate.row.needs
                where = f"{spell(needs.targets)}, PTX {needs.since} or later"
                assert rules == {("select/target", where)}
            else:
                assert rules == _missing(gate, known, target, ptx)


def _versions(gate: Gate, target: Target, ptx: Ptx) -> Iterator[Ptx | None]:
    """The version, and none where the target lacks it in all of them."""
    yield ptx
    if target not in gate.capability.targets:
        yield None


@each("name", called, turns=6)
def test_a_call_is_compiled_where_all_its_gates_are_open(name: str) -> None:
    """And the PTX that comes of it passes the same verifier."""
    gate = GATES[name]
    call = call_of(gate)
    assert call is not None
    known = judge(gate.row, attributes_of(call))
    open_ = [t for t in TARGETS.values() if known.first_ptx(t) is not None]
    for target in open_[:1] + open_[-1:]:
        compiled = nvgen.compile(text_with(call), target=target.name)
        first = known.first_ptx(target)
        assert first is not None
        assert compiled.ptx_version >= first
        assert told(compiled.module, target, compiled.ptx_version, "ptx") == []


# ---- special registers -----------------------------------------------------------------------

SPECIALS = [r for r in special_registers().values() if r.needs is not EVERYWHERE]


def _missing_places(register: SpecialRegister) -> Iterator[tuple[Target, Ptx]]:
    needs = register.needs
    for target in TARGETS.values():
        for ptx in (PTX_VERSIONS[-1], target.first_ptx):
            if ptx in PTX_VERSIONS and not needs.holds(target, ptx):
                yield target, ptx
                break


@each("register", SPECIALS, ids=lambda r: r.name)
def test_a_special_register_is_refused_where_there_is_none(register: SpecialRegister) -> None:
    type_ = register.types[0].ptx.lstrip(".")
    cls = {"b32": ".b32", "b64": ".b64", "pred": ".pred", "b128": ".b128"}[type_]
    for target, ptx in list(_missing_places(register))[:2]:
        text = (
            f".version {ptx}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n"
            f"    .reg {cls} %x;\n    mov.{type_} %x, %{register.name};\n    ret;\n}}\n"
        )
        found = errors(load("k.ptx", text).findings)
        where = f"{spell(register.needs.targets)}, PTX {register.needs.since} or later"
        record = [(f.rule, f.expected) for f in found if not f.rule.startswith("mov/b128")]
        assert record == [("mov/special-register-target", where)]
        if not register.llvm or type_ == "b128":
            continue
        bits = {"b32": "i32", "b64": "i64", "pred": "i1"}[type_]
        ir = (
            f"declare {bits} @llvm.nvvm.{register.llvm}()\ndefine ptx_kernel void @k() {{\n"
            f"  %x = call {bits} @llvm.nvvm.{register.llvm}()\n  ret void\n}}\n"
        )
        error = refusal(ir, target, ptx)
        assert type(error) is SelectionError
        assert [(f.rule, f.expected, f.place.line) for f in error.findings] == [
            ("select/target", where, 3)
        ]
