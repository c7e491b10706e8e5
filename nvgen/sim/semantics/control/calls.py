"""Calls, parameters and returns.

Layer: nvgen.sim.semantics.  A function's registers, parameters and local variables are a frame, one
for each depth of calls and function; threads of the warp that execute it at the same time use their
own lanes of it.  An indirect call diverges by target.  PTX ISA, call; ret; Abstracting the ABI.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr, Mem, Op, Sym
from intrinsics.modifiers import ScalarType, Space
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.semantics.control.runtime import RUNTIME
from nvgen.sim.semantics.memory.accesses import extended
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.lane_values import flags, unsigned
from nvgen.sim.threads.machine import (
    JUMPED,
    WARP,
    Code,
    Frame,
    Outcome,
    Step,
    Strand,
    first_lane,
    mask_of,
)

DEEPEST = 1024
"""The deepest nesting of calls; that of a GPU depends on the stack size that the driver sets."""

FUNCTIONS = 0x10_0000
"""The first address of functions: no memory of a launch is there."""

_STEP = 16


def addresses(names: list[str]) -> dict[str, int]:
    """The addresses of functions."""
    return {name: FUNCTIONS + _STEP * number for number, name in enumerate(names)}


# ---- calls -----------------------------------------------------------------------------------


def call(c: Compiler, mi: MachineInstr) -> Step:
    """A direct or indirect call."""
    passed, results = _names(mi.get("params")), _names(mi.get("results"))
    callee = mi["callee"]
    if isinstance(callee, Sym):
        return _by_name(callee.name, passed, results)
    return _by_pointer(c.get(callee, ScalarType.B64), passed, results)


def _names(op: Op | None) -> tuple[str, ...]:
    parts = op if isinstance(op, tuple) else ()
    return tuple(part.name for part in parts if isinstance(part, Sym))


def _by_name(name: str, passed: tuple[str, ...], results: tuple[str, ...]) -> Step:
    def run(strand: Strand) -> Outcome:
        code = strand.warp.cta.machine.functions.get(name)
        if code is None and name in RUNTIME:
            return RUNTIME[name](strand, passed, results)
        if code is None:
            raise not_simulated(f"a call of {name}, which another module defines")
        return _go(strand, code, passed, results)

    return run


def _by_pointer(target: Getter, passed: tuple[str, ...], results: tuple[str, ...]) -> Step:
    def run(strand: Strand) -> Outcome:
        values = target(strand.warp)
        address = int(values[first_lane(strand.mask)])
        same = mask_of(flags(values == address)) & strand.mask
        if same != strand.mask:
            strand.fork(strand.mask & ~same, strand.at)
            strand.mask = same
        return _go(strand, _at(strand, address), passed, results)

    return run


def _at(strand: Strand, address: int) -> Code:
    machine = strand.warp.cta.machine
    places = ((machine.symbols.get(name), code) for name, code in machine.functions.items())
    found = next((code for place, code in places if place == address), None)
    if found is None:
        raise fault(
            "call-target",
            "a call of what is no function",
            got=f"{address:#x}",
            expected="the address of a function of this module",
            section="call",
        )
    return found


def _go(strand: Strand, code: Code, passed: tuple[str, ...], results: tuple[str, ...]) -> Outcome:
    """Continue at the start of a function, with its parameters."""
    frame, warp = strand.frame, strand.warp
    if frame.depth >= DEEPEST:
        raise fault(
            "call-depth",
            f"calls are nested more than {DEEPEST} deep",
            got=f"one more call of {code.name}",
            expected="a recursion that ends",
            section="call",
        )
    _check(frame, code, passed, results)
    below = warp.frame_of(code, frame.depth + 1)
    lanes = strand.lanes
    if code.local.size:
        warp.local.clear(lanes, below.local, code.local.size)
    below.stack[lanes] = warp.local.top[lanes]
    for name, formal in zip(passed, code.params, strict=True):
        below.passed[formal][lanes] = frame.passed[name][lanes]
        if formal in code.local.offsets:
            place = below.local + code.local.offsets[formal]
            warp.local.fill(lanes, place, below.passed[formal])
    strand.back = warp.return_of(strand, results)
    strand.frame = below
    strand.outer_loops.append(strand.loops)
    strand.loops = {}
    return strand.goto(0)


def _check(frame: Frame, code: Code, passed: tuple[str, ...], results: tuple[str, ...]) -> None:
    given = [frame.code.sizes.get(name, 0) for name in (*passed, *results)]
    wanted = [code.sizes[name] for name in (*code.params, *code.results)]
    if len(passed) != len(code.params) or given != wanted:
        raise fault(
            "call-signature",
            f"{code.name} is called with other parameters than it has",
            got=f"parameters and results of {given} bytes",
            expected=f"{wanted} bytes",
            section="call",
        )


def return_to_caller(c: Compiler, mi: MachineInstr) -> Step:
    """The return to the caller, for the threads whose guard holds."""
    predicate = c.predicate(mi) if mi.guard is not None else None

    def run(strand: Strand) -> Outcome:
        leaving = strand.mask
        if predicate is not None:
            leaving &= mask_of(flags(predicate(strand.warp)))
        if not leaving:
            return None
        if leaving != strand.mask:
            strand.fork(strand.mask & ~leaving, strand.at + 1)
            strand.mask = leaving
        frame, back = strand.frame, strand.back
        assert back is not None, "a device function that nobody called"
        strand.warp.settle(tuple(frame.loads))
        for formal, name in zip(frame.code.results, back.results, strict=True):
            back.frame.passed[name][strand.lanes] = frame.passed[formal][strand.lanes]
        strand.warp.local.top[strand.lanes] = frame.stack[strand.lanes]
        strand.frame, strand.back = back.frame, back.outer
        strand.block, strand.at = back.block, back.at
        strand.loops = strand.outer_loops.pop()
        return JUMPED

    return run


# ---- parameters ------------------------------------------------------------------------------


def or_passed(otherwise: Maker, make: Callable[[Compiler, MachineInstr, Mem], Step]) -> Maker:
    """`make` for accesses to parameters of functions, `otherwise` for all others."""

    def chosen(c: Compiler, mi: MachineInstr) -> Step:
        place = mi["a"]
        if isinstance(place, Mem) and isinstance(place.base, Sym) and place.base.name in c.passed:
            return make(c, mi, place)
        return otherwise(c, mi)

    return chosen


def load(c: Compiler, mi: MachineInstr, place: Mem) -> Step:
    """A load from a parameter or a result."""
    type_ = mi.scalar_type()
    result = mi["d"]
    targets = result if isinstance(result, tuple) else (result,)
    element = unsigned(type_.bits)
    span = _span(c, mi, place, type_.bits // 8 * len(targets))
    writers = [
        (c.set(r), c.function.regs.classes[r].bits) if type(r) is int else None for r in targets
    ]
    name = _name(place)
    on_stack = c.local.offsets.get(name)

    def run(strand: Strand) -> Outcome:
        rows = strand.frame.passed[name]
        if on_stack is not None:
            at = strand.frame.local + on_stack
            rows = strand.warp.local.rows(at, rows.shape[1])
        data = np.ascontiguousarray(rows[:, span]).view(element)
        for i, writer in enumerate(writers):
            if writer is not None:
                write, width = writer
                write(strand, extended(data[:, i], type_, width))
        return None

    return run


def store(c: Compiler, mi: MachineInstr, place: Mem) -> Step:
    """A store into a parameter or a result."""
    type_ = mi.scalar_type()
    value = mi["b"]
    sources = value if isinstance(value, tuple) else (value,)
    getters, element = [c.get(source, type_) for source in sources], unsigned(type_.bits)
    span = _span(c, mi, place, type_.bits // 8 * len(getters))
    name = _name(place)

    def run(strand: Strand) -> Outcome:
        columns = np.empty((WARP, len(getters)), element)
        for i, get in enumerate(getters):
            columns[:, i] = get(strand.warp)
        data: NDArray[np.uint8] = columns.view(np.uint8)
        lanes = strand.lanes
        strand.frame.passed[name][lanes, span] = data[lanes]
        return None

    return run


def _name(place: Mem) -> str:
    assert isinstance(place.base, Sym)
    return place.base.name


def _span(c: Compiler, mi: MachineInstr, place: Mem, size: int) -> slice:
    """The bytes of an access, which are constant."""
    name, first = _name(place), place.offset
    if mi.form.attributes["space"] not in (Space.PARAM, Space.PARAM_FUNC):
        raise not_simulated(f"{mi.opcode} of the parameter {name}")
    if first < 0 or first + size > c.passed[name]:
        raise fault(
            "out-of-bounds",
            f"{mi.row.head} outside of the parameter {name}",
            got=f"{size} bytes at offset {first}",
            expected=f"{c.passed[name]} bytes",
        )
    return slice(first, first + size)


SEMANTICS: dict[str, Maker] = {"call": call}
