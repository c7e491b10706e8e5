"""Calls that a row spells, to the row's record.

Layer: isel.select.  Input: a call, its spelling and the state of the function.  The pattern says
what each argument is: an operand, an immediate that encodes a qualifier, or a flag that says
whether an operand counts.  LLVM's immediates are converted, never taken for nvgen's.
"""

from __future__ import annotations

import functools
from collections.abc import Container

from intrinsics.catalog import Spelling
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import FloatImm, Form, Imm, Mem, Op, Reg, Scalar, form_of
from intrinsics.modifiers import ScalarType
from intrinsics.patterns import PAIRS, Argument, arguments, element_type, results
from intrinsics.row import Access, Attribute, Kind, Llvm, Operand, Residency, Row, VectorNumbers
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.ir import Call
from isel.select.intrinsics.signatures import check_result, check_vectors, group, lengths
from isel.select.repack import join, split
from isel.select.state import FunctionState, form

_VALUE, _UPDATE = Kind.VALUE, Access.UPDATE
_FLOATS = (ScalarType.F32, ScalarType.F64)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all calls of an intrinsic have in common; arguments are named by their positions."""

    formal: tuple[Argument, ...]
    sizes: tuple[int, ...]
    attributes: dict[str, Attribute]
    operands: tuple[tuple[int, Operand], ...]
    immediates: tuple[int, ...]
    flags: tuple[int, ...]
    updates: bool
    results: tuple[Argument, ...]
    has_vectors: bool  # among the results
    has_pairs: bool
    is_settled: bool  # whether all calls have one form


@functools.lru_cache(1 << 12)
def _plan(spelling: Spelling) -> _Plan:
    row, pattern = spelling.row, spelling.pattern
    attributes: dict[str, Attribute] = dict.fromkeys(row.qualifier)
    attributes.update(spelling.attributes)
    formal, given = arguments(pattern.args), results(pattern.result)
    operands = tuple((n, row.operand[a.name]) for n, a in enumerate(formal) if a.sign == ":")
    has_vectors = pattern.result.startswith(("{v*", "v*", "n*"))
    says_more = has_vectors or pattern.own or any(argument.sign in "#?" for argument in formal)
    return _Plan(
        formal,
        lengths(spelling),
        attributes,
        operands,
        tuple(n for n, a in enumerate(formal) if a.sign == "#"),
        tuple(n for n, a in enumerate(formal) if a.sign == "?"),
        any(operand.access is Access.UPDATE for _, operand in operands),
        given,
        has_vectors,
        any(element_type(a.type) in PAIRS for a in given),
        not says_more,
    )


def select_row(state: FunctionState, call: Call, name: str, spelling: Spelling) -> None:
    """Select a call by the pattern of its spelling.

    Raises: Unselectable.
    """
    row, pattern, plan = spelling.row, spelling.pattern, _plan(spelling)
    actual = group(call, name, plan.formal, plan.sizes)
    operands = {operand.name: actual[n] for n, operand in plan.operands}
    if plan.is_settled:
        attributes, chosen = _settled(spelling)
    else:
        attributes = plan.attributes.copy()
        _read_call(state, call, name, spelling, actual, operands, attributes)
        chosen = _form(row, pattern, plan, operands, attributes)
    if plan.results:
        state.define(call.result, call.type)
    words = row.packed_fields.pack(attributes) if row.packed_fields else {}
    ops: dict[str, Op] = {slot: Imm(word) for slot, word in words.items()} if words else {}
    for _, operand in plan.operands:
        if operand.name in operands and operand.access is not _UPDATE:
            ops[operand.name] = _operand(state, operand, operands[operand.name], attributes)
    for slot, stated in pattern.numbers.items():
        ops[slot] = Imm(stated)
    produced = _results(state, call, row, plan.results, attributes)
    if plan.updates:
        _copy_updated(state, row, operands, produced)
    ops.update(produced)
    pairs = _words_of_pairs(state, plan.results, ops) if plan.has_pairs else ()
    state.emit(chosen, *[ops[slot] for slot in chosen.slots])
    for word, parts in pairs:
        split(state, parts, word, 16)


@functools.lru_cache(1 << 12)
def _settled(spelling: Spelling) -> tuple[dict[str, Attribute], Form]:
    """The attributes and the form of all calls, where the name alone tells them."""
    plan = _plan(spelling)
    attributes = plan.attributes.copy()
    names = {operand.name for _, operand in plan.operands}
    chosen = _form(spelling.row, spelling.pattern, plan, names, attributes)
    return attributes, chosen


def _form(
    row: Row, pattern: Llvm, plan: _Plan, given: Container[str], attributes: dict[str, Attribute]
) -> Form:
    """The form of a call that gives some operands; completes its attributes.

    A result that the spelling does not give is discarded.
    """
    for optional in row.optional:
        attributes[optional] = optional in given or optional in pattern.numbers
    produced = [argument.name for argument in plan.results]
    for operand in row.operands:
        if operand.sink and operand.name in row.optional:
            attributes[operand.name] = operand.name in produced
    for qualifier, operand_name in row.tied.items():
        if attributes.get(qualifier) is None and attributes.get(operand_name):
            attributes[qualifier] = row.qualifier[qualifier].values[0]
    return form_of(row, **attributes)


def _read_call(
    state: FunctionState,
    call: Call,
    name: str,
    spelling: Spelling,
    actual: list[tuple[llvm.Value, ...]],
    operands: dict[str, tuple[llvm.Value, ...]],
    attributes: dict[str, Attribute],
) -> None:
    """What a call says by immediates, flags and vectors: attributes, and which operands count.

    Raises: Unselectable.
    """
    plan = _plan(spelling)
    if plan.immediates:
        _read_immediates(state, name, spelling, plan, actual, attributes)
    if plan.has_vectors:
        check_result(call, name, spelling, attributes)
    if spelling.pattern.own:
        check_vectors(name, spelling.row, plan.formal, actual, attributes)
    for n in plan.flags:
        flag = plan.formal[n].name
        if not state.number(actual[n][0], flag):
            del operands[flag]


def _words_of_pairs(
    state: FunctionState, given: tuple[Argument, ...], ops: dict[str, Op]
) -> list[tuple[Reg, list[Reg]]]:
    """A register of 32 bits for each pair of halves that is a result, in `ops` and with its parts.

    LLVM's `<2 x half>` has a register for each element, and the instruction one for both.
    """
    found: list[tuple[Reg, list[Reg]]] = []
    for argument in given:
        regs = ops[argument.name]
        if element_type(argument.type) not in PAIRS or not isinstance(regs, tuple):
            continue
        parts = [reg for reg in regs if isinstance(reg, int)]
        words = [state.new(ScalarType.B32) for _ in parts[::2]]
        found += [(word, parts[2 * n : 2 * n + 2]) for n, word in enumerate(words)]
        ops[argument.name] = tuple(words)
    return found


def _read_immediates(
    state: FunctionState,
    name: str,
    spelling: Spelling,
    plan: _Plan,
    actual: list[tuple[llvm.Value, ...]],
    attributes: dict[str, Attribute],
) -> None:
    codes: dict[str, int] = {}
    for n in plan.immediates:
        argument = plan.formal[n]
        number = state.number(actual[n][0], f"@{name}: {argument.name}")
        sign, factor = argument.scale
        scaled = number * factor if sign == "/" else number
        codes[argument.name] = codes.get(argument.name, 0) + scaled
    for qualifier, code in codes.items():
        table = spelling.pattern.codes[qualifier]
        if code not in table:
            shown = ", ".join(map(str, sorted(table)))
            raise Unselectable(
                "immediate",
                f"@{name}: {qualifier} {code} means nothing",
                op=name,
                got=str(code),
                expected=shown,
                subject=qualifier,
            )
        attributes[qualifier] = table[code]


def _operand(
    state: FunctionState,
    operand: Operand,
    values: tuple[llvm.Value, ...],
    attributes: dict[str, Attribute],
) -> Op:
    """The operand that an argument (or several, for coordinates) becomes."""
    value, kind = values[0], operand.kind
    if kind is _VALUE:  # as most are
        return _number(state, value, operand.type_under(attributes))
    match kind:
        case Kind.ADDRESS:
            return (
                Mem(state.scalar_reg(value))
                if operand.bare or operand.held
                else state.address(value)
            )
        case Kind.TENSOR_ADDRESS:
            return _tensor_address(state, value)
        case Kind.MATRIX:
            if attributes[operand.name] is Residency.TENSOR:
                return _tensor_address(state, value)
            return state.scalar(value)
        case Kind.NUMBER:
            return Imm(state.number(value, operand.name))
        case Kind.PREDICATE:
            op = state.scalar(value)
            keep = isinstance(op, Imm) and operand.takes_number(attributes)
            return op if keep else state.scalar_reg(value)
        case Kind.VECTOR:
            if operand.count is not None and not operand.count.of(attributes):
                return state.scalar_reg(value)
            if operand.vector_numbers is VectorNumbers.ALL:
                type_ = operand.type_under(attributes)
                return tuple(_number(state, v, type_) for v in values)
            return tuple(reg for v in values for reg in _registers(state, v))
        case Kind.REGISTER:
            return state.scalar_reg(value)
    return _number(state, value, operand.type_under(attributes))


def _number(state: FunctionState, value: llvm.Value, type_: ScalarType) -> Scalar:
    """A register, or a number as the operand's type writes it."""
    if type_ is ScalarType.B128:
        return state.long_reg(value)
    found = state.scalar(value)
    if type(found) is Imm and type_ in _FLOATS:
        return FloatImm(found.value & (1 << type_.bits) - 1, type_)
    return found


def _registers(state: FunctionState, value: llvm.Value) -> tuple[Reg, ...]:
    """The registers of a part of a vector; a pair of halves becomes one."""
    if str(value.type) not in PAIRS.values():
        return state.regs(value)
    known = state.value(value)
    if all(isinstance(part, Imm) for part in known):
        low, high = (part.value & 0xFFFF for part in known if isinstance(part, Imm))
        return (state.reg(Imm(high << 16 | low), ScalarType.B32),)
    parts = state.regs(value)
    word = state.words.get(parts)
    if word is None:
        word = state.new(ScalarType.B32)
        join(state, word, list(parts), 16)
    return (word,)


def _copy_updated(
    state: FunctionState,
    row: Row,
    operands: dict[str, tuple[llvm.Value, ...]],
    produced: dict[str, Op],
) -> None:
    """Copy what the instruction updates into the registers of its result.

    Leaving SSA form makes one register of both ends wherever the old value is not needed.
    """
    for name, values in operands.items():
        if row.operand[name].access is not Access.UPDATE:
            continue
        results_ = produced[name]
        assert isinstance(results_, tuple)
        sources = [part for value in values for part in state.value(value)]
        for result, source in zip(results_, sources, strict=True):
            assert isinstance(result, int)
            state.emit(form("mov", type=state.out.regs.classes[result]), result, source)


def _tensor_address(state: FunctionState, value: llvm.Value) -> Mem:
    mem = state.address(value)
    return mem if isinstance(mem.base, int) else Mem(state.scalar_reg(value))


def _results(
    state: FunctionState,
    call: Call,
    row: Row,
    found: tuple[Argument, ...],
    attributes: dict[str, Attribute],
) -> dict[str, Op]:
    if not found:
        return {}
    regs = state.values[call.result] if call.result is not None else ()
    if not regs:
        regs = tuple(state.new(cls) for cls in state.layout.classes(call.type))
    if len(found) == 1:
        vector = found[0].type.startswith(("v", "n*"))
        return {found[0].name: tuple(regs) if vector else regs[0]}
    produced: dict[str, Op] = {}
    for argument in found:
        count = row.operand[argument.name].count if argument.type.startswith("v*") else None
        taken = count.of(attributes) if count else 1
        produced[argument.name] = tuple(regs[:taken]) if count else regs[0]
        regs = regs[taken:]
    return produced
