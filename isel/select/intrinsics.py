"""Calls of LLVM's nvvm intrinsics to records, by the spellings of the rows.

Layer: isel.select.  Input: a call and the state of the function.  The name finds the spelling,
whose pattern says what each argument is: an operand, an immediate that encodes a qualifier, or a
flag that says whether an operand counts.  LLVM's immediates are converted, never taken for nvgen's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.legality import expected, judge, section_of, text_of
from intrinsics.mir import FloatImm, Imm, Mem, Op, Reg, Scalar, Special, form_of
from intrinsics.modifiers import ScalarType
from intrinsics.multiplies.mma_name import multiply_of
from intrinsics.patterns import PAIRS, PREFIX, Argument, arguments, element_type, results
from intrinsics.row import (
    Access,
    Attribute,
    Guard,
    Kind,
    Operand,
    Residency,
    Row,
    Rule,
    VectorNumbers,
)
from intrinsics.special import SpecialRegister, special_registers
from intrinsics.targets import Capability, Ptx, Target, spell
from isel.llvm import values as llvm
from isel.llvm.ir import Call
from isel.llvm.types import IntType, PointerType, Type, VectorType
from isel.select.diagnostics import Unselectable
from isel.select.float_intrinsics import select_float_intrinsic
from isel.select.float_nvvm import select_float_nvvm
from isel.select.generic import select_generic
from isel.select.nvvm_integers import select_nvvm_integer
from isel.select.repack import join, split
from isel.select.specials import select_special
from isel.select.stack import select_stack
from isel.select.state import FunctionState, form
from isel.select.unselected import unselected

IGNORED = (
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.assume",
    "llvm.donothing",
    "llvm.prefetch.",
    "llvm.experimental.noalias.scope.decl",
    "llvm.fake.use",
)
"""Intrinsics that leave nothing to do."""


_WITHOUT_ROWS: tuple[Callable[[FunctionState, Call, str], bool], ...] = (
    select_generic,
    select_stack,
    select_special,
    select_nvvm_integer,
    select_float_intrinsic,
    select_float_nvvm,
)
"""What selects intrinsics that no row spells, asked in turn: each says whether it was its own."""


@functools.cache
def _special_by_llvm_name() -> dict[str, SpecialRegister]:
    return {r.llvm: r for r in special_registers().values() if r.llvm}


def select_call(
    state: FunctionState, call: Call, name: str, target: Target, ptx: Ptx | None
) -> None:
    """Select a call of the intrinsic `name`.

    Raises: Unselectable.
    """
    if name.startswith(PREFIX) and _select_by_name(state, call, name, target, ptx):
        return
    if name.startswith(IGNORED):
        return
    if not any(select(state, call, name) for select in _WITHOUT_ROWS):
        raise _unknown(name)


def _select_by_name(
    state: FunctionState, call: Call, name: str, target: Target, ptx: Ptx | None
) -> bool:
    """Select a call that reads a special register, or that a row spells.

    Raises: Unselectable.
    """
    short = name.removeprefix(PREFIX)
    register = _special_by_llvm_name().get(short)
    if register is not None:
        _check_capability(
            register.needs, f"%{register.name}", target, ptx, section="Special Registers"
        )
        _read_special(state, call, register)
        return True
    spelling = catalog.spellings().get(short)
    if spelling is None:
        return False
    check_available(spelling.row, target, ptx)
    select_row(state, call, name, spelling)
    return True


def _unknown(name: str) -> Unselectable:
    if why := unselected(name.removeprefix(PREFIX)):
        return Unselectable(
            "unknown-intrinsic",
            f"@{name} is not selectable: {why.reason}",
            op=name,
            got=f"@{name}",
            expected=why.instead,
        )
    return forbidden(name) or Unselectable(
        "unknown-intrinsic",
        f"nvgen selects no intrinsic @{name}",
        op=name,
        got=f"@{name}",
        names=_known_names,
    )


def forbidden(name: str) -> Unselectable | None:
    """The rule that a multiply breaks by what its name says, in LLVM's scheme of names."""
    found = multiply_of(name.removeprefix(PREFIX))
    if found is None:
        return None
    row, attributes = found
    for rule in judge(row, attributes).broken:
        about = {name for name, _ in (*rule.guard.terms, *_demanded(rule))}
        if rule.text and about <= attributes.keys():
            reason = Unselectable(
                rule.id,
                text_of(rule),
                op=name,
                got=f"@{name}",
                expected=expected(rule),
                hint=rule.hint,
                section=f"PTX ISA, {section_of(row, rule)}",
            )
            reason.finding = replace(reason.finding, rule=f"{row.head}/{rule.id}")
            return reason
    return None


def _demanded(rule: Rule) -> tuple[tuple[str, frozenset[Attribute]], ...]:
    return rule.demand.terms if isinstance(rule.demand, Guard) else ()


def _known_names() -> list[str]:
    return [PREFIX + short for short in (*catalog.spellings(), *_special_by_llvm_name())]


def check_available(row: Row, target: Target, ptx: Ptx | None) -> None:
    """Whether `target` (at `ptx`, if it is given) has the instruction at all.

    Raises: Unselectable.
    """
    _check_capability(
        row.needs,
        row.head,
        target,
        ptx,
        text=row.needs_text,
        section=f"{row.section}, Target ISA Notes",
    )


def _check_capability(
    capability: Capability,
    subject: str,
    target: Target,
    ptx: Ptx | None,
    *,
    text: str = "",
    section: str,
) -> None:
    """Whether `target` (at `ptx`, if it is given) has what `subject` names.

    Raises: Unselectable.
    """
    if capability.holds(target, ptx) if ptx is not None else target in capability.targets:
        return
    if target in capability.targets:
        text = f"{subject} requires PTX ISA {capability.first_ptx(target)} or later"
    raise Unselectable(
        "target",
        text or f"{subject} is not supported on {target}",
        op=subject,
        got=f"target {target}" + (f", PTX {ptx}" if ptx else ""),
        expected=f"{spell(capability.targets)}, PTX {capability.since} or later",
        hint=f"the targets that have it: {spell(capability.targets)}",
        section=f"PTX ISA, {section}",
    )


def _read_special(state: FunctionState, call: Call, register: SpecialRegister) -> None:
    types = {1: ScalarType.PRED, 32: ScalarType.U32, 64: ScalarType.U64}
    type_ = types.get(call.type.bits) if isinstance(call.type, IntType) else None
    if type_ not in register.types:
        raise Unselectable(
            "special-register", f"%{register.name} is not of type {call.type}", got=str(call.type)
        )
    (result,) = state.define(call.result, call.type)
    state.emit(form("mov", type=type_), result, Special(register.name))


# ---- rows ------------------------------------------------------------------------------------


def select_row(state: FunctionState, call: Call, name: str, spelling: Spelling) -> None:
    """Select a call by the pattern of its spelling.

    Raises: Unselectable.
    """
    row, pattern = spelling.row, spelling.pattern
    attributes: dict[str, Attribute] = dict.fromkeys(row.qualifier)
    attributes.update(spelling.attributes)
    formal = arguments(pattern.args)
    actual = group(call, name, formal, lengths(spelling))
    _read_immediates(state, name, spelling, formal, actual, attributes)
    _check_result(call, name, spelling, attributes)
    if pattern.own:
        _check_vectors(name, row, formal, actual, attributes)
    operands = {a.name: v for a, v in zip(formal, actual, strict=True) if a.sign == ":"}
    for flag, values in zip(formal, actual, strict=True):
        if flag.sign == "?" and not state.number(values[0], flag.name):
            del operands[flag.name]
    attributes.update((n, n in operands or n in pattern.numbers) for n in row.optional)
    _define_results(state, call, row, pattern.result, attributes)
    for qualifier, operand in row.tied.items():
        if attributes.get(qualifier) is None and attributes.get(operand):
            attributes[qualifier] = row.qualifier[qualifier].values[0]
    chosen = form_of(row, **attributes)
    words = row.packed_fields.pack(attributes) if row.packed_fields else {}
    ops: dict[str, Op] = {slot: Imm(word) for slot, word in words.items()}
    for operand_name, values in operands.items():
        if row.operand[operand_name].access is Access.UPDATE:
            continue
        ops[operand_name] = _operand(state, row.operand[operand_name], values, attributes)
    ops.update((slot, Imm(stated)) for slot, stated in pattern.numbers.items())
    produced = _results(state, call, row, pattern.result, attributes)
    _copy_updated(state, row, operands, produced)
    ops.update(produced)
    pairs = _words_of_pairs(state, pattern.result, ops)
    state.emit(chosen, *(ops[slot] for slot in chosen.slots))
    for word, parts in pairs:
        split(state, parts, word, 16)


def _words_of_pairs(
    state: FunctionState, text: str, ops: dict[str, Op]
) -> list[tuple[Reg, list[Reg]]]:
    """A register of 32 bits for each pair of halves that is a result, in `ops` and with its parts.

    LLVM's `<2 x half>` has a register for each element, and the instruction one for both.
    """
    found: list[tuple[Reg, list[Reg]]] = []
    for argument in results(text):
        regs = ops[argument.name]
        if element_type(argument.type) not in PAIRS or not isinstance(regs, tuple):
            continue
        parts = [reg for reg in regs if isinstance(reg, int)]
        words = [state.new(ScalarType.B32) for _ in parts[::2]]
        found += [(word, parts[2 * n : 2 * n + 2]) for n, word in enumerate(words)]
        ops[argument.name] = tuple(words)
    return found


def lengths(spelling: Spelling) -> tuple[int, ...]:
    """How many arguments of a call each formal argument is; 0 for as many as are left."""
    found = []
    for argument in arguments(spelling.pattern.args):
        if argument.type.startswith("n*"):
            count = spelling.row.operand[argument.name].count
            assert count is not None
            found.append(count.of(spelling.attributes))
        else:
            found.append(0 if argument.type.endswith("*") else 1)
    return tuple(found)


def group(
    call: Call, name: str, formal: tuple[Argument, ...], sizes: tuple[int, ...]
) -> list[tuple[llvm.Value, ...]]:
    """The call's arguments, one group for each formal argument; `sizes` is from `lengths`.

    Raises: Unselectable when their number or types are not what the pattern says.
    """
    spare = len(call.arguments) - sum(sizes)
    grouped = []
    at = 0
    for argument, size in zip(formal, sizes, strict=True):
        count = size or spare
        group = call.arguments[at : at + count]
        at += count
        if count < 1 or len(group) != count:
            break
        for value in group:
            if not _matches(element_type(argument.type.rstrip("*")), value.type):
                raise Unselectable(
                    "signature",
                    f"@{name}: {argument.name} has type {value.type}",
                    op=name,
                    got=str(value.type),
                    expected=_type_text(argument.type),
                    subject=argument.name,
                )
        grouped.append(group)
    if at != len(call.arguments) or len(grouped) != len(formal):
        raise Unselectable(
            "signature",
            f"@{name} takes {sum(size or 1 for size in sizes)} arguments",
            op=name,
            got=f"{len(call.arguments)} arguments",
            expected=", ".join(
                f"{size} times {_type_text(a.type)}" if size > 1 else _type_text(a.type)
                for a, size in zip(formal, sizes, strict=True)
            ),
        )
    return grouped


@functools.cache
def _matches(text: str, type_: Type) -> bool:
    """Whether an argument of a type may stand where a pattern has `text`."""
    if text in PAIRS:
        return str(type_) == PAIRS[text]
    if text.startswith("v"):
        element = type_.element if isinstance(type_, VectorType) else type_
        return str(element) == text.rpartition("*")[2] or str(element) == f"i{text.split('i')[-1]}"
    if text.startswith("p"):
        return isinstance(type_, PointerType) and type_.address_space == int(text[1:] or 0)
    return str(type_) == text


def argument_position(name: str, subject: str) -> int | None:
    """Which argument of the intrinsic `name` says `subject`, where that can be told."""
    spelling = catalog.spelling(name.removeprefix(PREFIX))
    if spelling is None:
        return None
    position = 0
    for argument, size in zip(arguments(spelling.pattern.args), lengths(spelling), strict=True):
        if argument.name == subject:
            return position
        if not size:
            return None
        position += size
    return None


def _type_text(text: str) -> str:
    text = element_type(text)
    if text in PAIRS:
        return PAIRS[text]
    if text.startswith("p"):
        return f"ptr addrspace({text[1:]})" if text[1:] else "ptr"
    return text.replace("v*", "vector of ")


def _read_immediates(
    state: FunctionState,
    name: str,
    spelling: Spelling,
    formal: tuple[Argument, ...],
    actual: list[tuple[llvm.Value, ...]],
    attributes: dict[str, Attribute],
) -> None:
    codes: dict[str, int] = {}
    for argument, values in zip(formal, actual, strict=True):
        if argument.sign != "#":
            continue
        number = state.number(values[0], f"@{name}: {argument.name}")
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
    value, type_ = values[0], operand.type_under(attributes)
    match operand.kind:
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
                return tuple(_number(state, v, type_) for v in values)
            return tuple(reg for v in values for reg in _registers(state, v))
        case Kind.REGISTER:
            return state.scalar_reg(value)
    return _number(state, value, type_)


def _number(state: FunctionState, value: llvm.Value, type_: ScalarType) -> Scalar:
    """A register, or a number as the operand's type writes it."""
    found = state.scalar(value)
    if isinstance(found, Imm) and type_ in (ScalarType.F32, ScalarType.F64):
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


def _define_results(
    state: FunctionState, call: Call, row: Row, text: str, attributes: dict[str, Attribute]
) -> None:
    """Registers for the results; a result that the spelling does not give is discarded."""
    given = {argument.name for argument in results(text)}
    for operand in row.operands:
        if operand.sink and operand.name in row.optional:
            attributes[operand.name] = operand.name in given
    if given:
        state.define(call.result, call.type)


def _check_result(
    call: Call, name: str, spelling: Spelling, attributes: dict[str, Attribute]
) -> None:
    """LLVM checks the results of its own intrinsics, and nvgen those that LLVM does not have.

    Raises: Unselectable.
    """
    text = spelling.pattern.result
    if not text.startswith(("{v*", "v*", "n*")):
        return
    parts = (_result_text(spelling.row.operand[a.name], a.type, attributes) for a in results(text))
    wanted = ", ".join(parts)
    if text.startswith("{"):
        wanted = f"{{ {wanted} }}"
    if str(call.type) != wanted:
        raise Unselectable(
            "signature", f"@{name} gives {wanted}", op=name, got=str(call.type), expected=wanted
        )


def _check_vectors(
    name: str,
    row: Row,
    formal: tuple[Argument, ...],
    actual: list[tuple[llvm.Value, ...]],
    attributes: dict[str, Attribute],
) -> None:
    """Whether vectors are as long as the instruction's, which LLVM checks in its own intrinsics.

    Raises: Unselectable.
    """
    for argument, values in zip(formal, actual, strict=True):
        if not argument.type.startswith("v*"):
            continue
        wanted = _result_text(row.operand[argument.name], argument.type, attributes)
        found = str(values[0].type)
        if found != wanted:
            raise Unselectable(
                "signature",
                f"@{name}: {argument.name} has type {found}",
                op=name,
                got=found,
                expected=wanted,
                subject=argument.name,
            )


def _result_text(operand: Operand, text: str, attributes: dict[str, Attribute]) -> str:
    """A result's type as LLVM prints it; a vector of one element is that element."""
    if not text.startswith(("v*", "n*")) or operand.count is None:
        return text
    count = operand.count.of(attributes)
    if text.startswith("n*"):
        one = _type_text(text)
        return f"{{ {', '.join([one] * count)} }}" if count > 1 else one
    element = "float" if text == "v*f32" else text[2:]
    return f"<{count} x {element}>" if count > 1 else element


def _results(
    state: FunctionState, call: Call, row: Row, text: str, attributes: dict[str, Attribute]
) -> dict[str, Op]:
    found = results(text)
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
