"""Calls of LLVM's intrinsics to records: what selects each by its name.

Layer: isel.select.  Input: a call and the state of the function.  The name finds a special
register, the spelling of a row (`intrinsic_rows`), or what selects intrinsics that no row spells;
of another one the error says what there is in its place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from intrinsics import catalog
from intrinsics.legality import expected, judge, section_of, text_of
from intrinsics.mir import Special
from intrinsics.modifiers import ScalarType
from intrinsics.patterns import PREFIX
from intrinsics.row import Attribute, Guard, Row, Rule
from intrinsics.special import SpecialRegister, significant_bits, special_registers
from intrinsics.targets import Capability, Ptx, Target, spell
from isel.diagnostics import Unselectable
from isel.llvm.ir import Call
from isel.llvm.types import IntType
from isel.select.floats.intrinsics import select_float_intrinsic
from isel.select.floats.nvvm import select_float_nvvm
from isel.select.integers.intrinsics import select_generic
from isel.select.integers.nvvm import select_nvvm_integer
from isel.select.intrinsics.mma_name import multiply_of
from isel.select.intrinsics.rows import select_row
from isel.select.intrinsics.specials import select_special
from isel.select.intrinsics.unselected import unselected
from isel.select.memory.stack import select_stack
from isel.select.state import FunctionState, form

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

_Selector = Callable[[FunctionState, Call, str], bool]
_OF_LLVM: tuple[_Selector, ...] = (
    select_generic,
    select_stack,
    select_special,
    select_float_intrinsic,
)
_OF_NVVM: tuple[_Selector, ...] = (select_special, select_nvvm_integer, select_float_nvvm)
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
    is_nvvm = name.startswith(PREFIX)
    if is_nvvm and _select_by_name(state, call, name, target, ptx):
        return
    if not is_nvvm and name.startswith(IGNORED):
        return
    for select in _OF_NVVM if is_nvvm else _OF_LLVM:
        if select(state, call, name):
            return
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
        check_capability(
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
    check_capability(
        row.needs,
        row.head,
        target,
        ptx,
        text=row.needs_text,
        section=f"{row.section}, Target ISA Notes",
    )


def check_capability(
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


_READ_AS = {1: ScalarType.PRED, 32: ScalarType.U32, 64: ScalarType.U64}
"""The types that special registers are read as, by their bits."""


def _read_special(state: FunctionState, call: Call, register: SpecialRegister) -> None:
    type_ = _READ_AS.get(call.type.bits) if isinstance(call.type, IntType) else None
    if type_ not in register.types:
        raise Unselectable(
            "special-register", f"%{register.name} is not of type {call.type}", got=str(call.type)
        )
    (result,) = state.define(call.result, call.type)
    state.emit(form("mov", type=type_), result, Special(register.name))
    if (bits := significant_bits(register.name)) < type_.bits:
        state.zero_above[result] = bits
