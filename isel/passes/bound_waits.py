"""Waits for mbarriers get a limit: a wait that is not over in time is reported and ends the launch.

Layer: isel.passes.  Input: a module after all other passes, or one read from PTX or MIR.  Output:
another module, in which every loop that waits with mbarrier.test_wait or mbarrier.try_wait keeps to
a limit (`isel.passes.wait_code`).  PTX ISA, mbarrier.try_wait; Special Registers: %globaltimer;
Miscellaneous Instructions: trap.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.findings import Finding, Severity, input_error, shown
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    Export,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Op,
    RegisterTable,
    Sym,
    Variable,
)
from intrinsics.modifiers import Space
from isel import wait_bounds as entry
from isel.passes.wait_code import WaitCode
from isel.passes.wait_loops import Look, looks
from isel.verifier.locations import place_of
from isel.wait_bounds import MOST_SECONDS, WaitBounds, WaitSite

BOUND_WAITS = "bound-waits"
"""The name of the stage, as stages show it."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A module whose waits are bounded; `findings` name those that no loop waits with."""

    module: Module
    bounds: WaitBounds
    findings: list[Finding]


def bound_waits(module: Module, seconds: object) -> Bounded:
    """`module` with bounded waits, each of at most `seconds`; the given one stays as it is.

    Raises: InputError for no such time, and when the waits are bounded already.
    """
    limit = _limit(seconds)
    _check_not_bounded(module)
    found = {f.name: looks(f) for f in module.functions}
    sites = tuple(
        _site(module, f, look)
        for f in module.functions
        for look in found[f.name]
        if _is_bounded(look)
    )
    bounds = WaitBounds(round(limit * 1e9), sites)
    copy = replace(module, variables=[*module.variables], locations=[*module.locations])
    copy.functions = []
    number = 0
    for function in module.functions:
        bounded = [look for look in found[function.name] if _is_bounded(look)]
        made = _copied(function)
        if bounded:
            WaitCode(copy, made, bounds, number, bounded).run()
        copy.functions.append(made)
        number += len(bounded)
    if sites:
        report = Variable(entry.REPORT, Space.GLOBAL, 8, 8, export=Export.VISIBLE)
        count = Variable(entry.COUNT, Space.GLOBAL, 4, 4, export=Export.VISIBLE)
        copy.variables += [report, count]
    findings = [
        _unbounded(module, f, look)
        for f in module.functions
        for look in found[f.name]
        if not _is_bounded(look)
    ]
    return Bounded(copy, bounds, findings)


def _limit(seconds: object) -> float:
    """How long a wait may be."""
    if isinstance(seconds, (int, float)) and 0 < seconds <= MOST_SECONDS:
        return seconds
    raise input_error(
        "bound-waits/seconds",
        "no such limit of a wait",
        got=f"{shown(seconds)} s",
        expected=f"more than 0 and at most {MOST_SECONDS:g} s",
    )


def _check_not_bounded(module: Module) -> None:
    """Check that a module has not what bounded waits report to."""
    for variable in module.variables:
        if variable.name in (entry.REPORT, entry.COUNT):
            raise input_error(
                "bound-waits/again",
                "the waits of this program are bounded already",
                got=variable.name,
                expected="a program without it",
            )


def _is_bounded(look: Look) -> bool:
    return look.loop is not None and type(look.mi["done"]) is int


def _site(module: Module, function: MachineFunction, look: Look) -> WaitSite:
    place = place_of(module.locations[look.mi.loc], function.name)
    variables = _shared_variables(module, function)
    return WaitSite(place, look.mi.opcode, look.mi.get("phase") is not None, variables)


def _shared_variables(module: Module, function: MachineFunction) -> tuple[tuple[str, int], ...]:
    """The shared variables that a function names: others may have no room in its kernel."""
    named = {part.name for mi in function.instructions() for op in mi.ops for part in _symbols(op)}
    known = (*module.variables, *function.variables)
    return tuple((v.name, v.size) for v in known if v.space is Space.SHARED and v.name in named)


def _symbols(op: Op) -> list[Sym]:
    parts = op if isinstance(op, tuple) else (op,)
    bases = [part.base if isinstance(part, Mem) else part for part in parts]
    return [base for base in bases if isinstance(base, Sym)]


def _unbounded(module: Module, function: MachineFunction, look: Look) -> Finding:
    return Finding(
        "bound-waits/no-loop",
        Severity.NOTE,
        "this look at an mbarrier is not bounded",
        place_of(module.locations[look.mi.loc], function.name),
        op=look.mi.opcode,
        got="no loop of its function ends by what it gives",
        expected="a loop that waits",
        section="PTX ISA, mbarrier.try_wait",
    )


def _copied(function: MachineFunction) -> MachineFunction:
    """The function with blocks, records and registers of its own."""
    return replace(
        function,
        regs=RegisterTable([*function.regs.classes], [*function.regs.names]),
        blocks=[
            replace(b, instrs=[MachineInstr(mi.form, mi.ops, mi.guard, mi.loc) for mi in b.instrs])
            for b in function.blocks
        ],
    )
