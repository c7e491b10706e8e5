"""Additions of a number to an integer, PHIs that take them, and comparisons: what passes about
stepped values ask for.

Layer: isel.passes.  Input: records in SSA form.  PTX ISA, add; setp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from intrinsics.memo import Memo
from intrinsics.mir import Form, Imm, MachineInstr, Op, Reg, incoming
from intrinsics.modifiers import ScalarType

ADD = "add.int"
"""The row of the additions that step values."""
_TYPES = (ScalarType.S32, ScalarType.U32, ScalarType.S64, ScalarType.U64)


def _steps(form: Form) -> bool:
    attributes = form.attributes
    return form.row.id == ADD and attributes["sat"] is None and attributes["type"] in _TYPES


_IS_STEP = Memo(_steps)


def steps_among(records: Iterable[MachineInstr]) -> list[MachineInstr]:
    """The additions without a guard, modulo their width."""
    return [mi for mi in records if _IS_STEP[mi.form] and mi.guard is None]


class Stepped(NamedTuple):
    """What a PHI of two values begins as, the addition that steps it, what that adds, and the
    blocks that the first and the next value come from.
    """

    begin: Op
    step: MachineInstr
    by: Op
    blocks: tuple[str, str]


def stepped(phi: MachineInstr, steps: Mapping[Op, MachineInstr]) -> Stepped | None:
    """How a PHI is stepped by one of the additions `steps`, by their results; None if it is not."""
    result, ways = phi.ops[0], incoming(phi)
    if len(ways) != 2:
        return None
    for (begin, before), (again, inside) in (ways, reversed(ways)):
        step = steps.get(again)
        if step is not None and result in step.ops[1:]:
            by = step.ops[2] if step.ops[1] == result else step.ops[1]
            return Stepped(begin, step, by, (before, inside))
    return None


def result_of(mi: MachineInstr) -> Reg:
    """The register that a PHI or an addition writes."""
    result = mi.ops[0]
    assert type(result) is int
    return result


def signed(form: Form, number: int) -> Imm:
    """A number as an addition of this form takes it: modulo its width, with a sign."""
    type_ = form.attributes["type"]
    assert isinstance(type_, ScalarType)
    half = 1 << type_.bits - 1
    return Imm((number + half) % (2 * half) - half)


def compared(records: Iterable[MachineInstr]) -> set[Reg]:
    """The registers that comparisons read."""
    return {reg for mi in records if mi.form.row.head == "setp" for reg in mi.uses()}
