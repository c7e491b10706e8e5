"""Branches through a table of labels, of statements that are kept as text: brx.idx.

Layer: nvgen.sim.semantics.  A table does nothing where it stands; a branch takes the threads with
the same index together, as a call by pointer does.  Every other statement that was kept is not
simulated.  PTX ISA, brx.idx; .branchtargets.
"""

from __future__ import annotations

import re

import numpy as np

from intrinsics.mir import MachineInstr, Reg, Text
from intrinsics.modifiers import ScalarType
from nvgen.sim.faults import Fault, fault, not_simulated
from nvgen.sim.semantics.control.branches import idle
from nvgen.sim.threads.compile import Compiler, Getter, Maker, flags
from nvgen.sim.threads.machine import WARP, Fragment, Outcome, Step, first_lane, mask_of

_NAME = r"[\w$%]+"
_TABLE = re.compile(rf"({_NAME}): \.branchtargets (.+)")
_BRANCH = re.compile(
    rf"(?:@(?P<negated>!?)%\[(?P<guard>\d+)\] )?brx\.idx(?:\.uni)? "
    rf"(?:%\[(?P<register>\d+)\]|(?P<number>\d+)) ?, ?(?P<table>{_NAME})"
)


def kept(c: Compiler, mi: MachineInstr) -> Step:
    """A statement that was kept: a table of labels, or a branch through one.

    Raises: NotSimulatedError for any other.
    """
    text = _text(mi)
    if _TABLE.fullmatch(text):
        return lambda fragment: None
    branch = _BRANCH.fullmatch(text)
    if branch is None:
        raise not_simulated(text)
    return _branch(_index(c, mi, branch), _guard(c, mi, branch), _targets(c, branch["table"], text))


def _text(mi: MachineInstr) -> str:
    kept = mi["text"]
    assert isinstance(kept, Text)
    return kept.text


def _register(mi: MachineInstr, number: str) -> Reg:
    registers = mi["registers"]
    assert isinstance(registers, tuple)
    found = registers[int(number)]
    assert type(found) is int
    return found


def _index(c: Compiler, mi: MachineInstr, branch: re.Match[str]) -> Getter:
    if branch["register"] is not None:
        return c.get(_register(mi, branch["register"]), ScalarType.U32)
    known = np.full(WARP, int(branch["number"]), np.uint64)
    return lambda warp: known


def _guard(c: Compiler, mi: MachineInstr, branch: re.Match[str]) -> Getter | None:
    if branch["guard"] is None:
        return None
    holds = c.get(_register(mi, branch["guard"]), ScalarType.PRED)
    return (lambda warp: ~flags(holds(warp))) if branch["negated"] else holds


def _targets(c: Compiler, table: str, text: str) -> list[int]:
    """The blocks that a table of the function names."""
    for mi in c.function.instructions():
        found = _TABLE.fullmatch(_text(mi)) if mi.row.id == "opaque" else None
        if found is not None and found[1] == table:
            names = [name.strip() for name in found[2].split(",")]
            if all(name in c.positions for name in names):
                return [c.positions[name] for name in names]
    raise not_simulated(text)


def _branch(index: Getter, guard: Getter | None, targets: list[int]) -> Step:
    def run(fragment: Fragment) -> Outcome:
        warp, taken = fragment.warp, fragment.mask
        if guard is not None:
            taken &= mask_of(flags(guard(warp)))
        if not taken:
            return None
        values = index(warp)
        first = int(values[first_lane(taken)])
        if first >= len(targets):
            raise _outside(first, len(targets))
        target, same = targets[first], taken & mask_of(values == first)
        if target <= fragment.block and (wait := idle(fragment)) is not None:
            return wait
        for others, at in ((taken & ~same, fragment.at), (fragment.mask & ~taken, fragment.at + 1)):
            if others:
                fragment.fork(others, at)
        fragment.mask = same
        return fragment.goto(target)

    return run


def _outside(index: int, count: int) -> Fault:
    return fault(
        "branch-index",
        "a branch through a table with an index that the table does not have",
        got=str(index),
        expected=f"0 to {count - 1}",
        hint="compare the index with the table's length before, as compilers do",
        section="brx.idx",
    )


SEMANTICS: dict[str, Maker] = {"opaque": kept}
