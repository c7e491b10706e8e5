"""Additions of a number to an integer, and comparisons: what passes about stepped values ask for.

Layer: isel.passes.  Input: records in SSA form.  PTX ISA, add; setp.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.memo import Memo
from intrinsics.mir import Form, Imm, MachineInstr, Reg
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


def signed(form: Form, number: int) -> Imm:
    """A number as an addition of this form takes it: modulo its width, with a sign."""
    type_ = form.attributes["type"]
    assert isinstance(type_, ScalarType)
    half = 1 << type_.bits - 1
    return Imm((number + half) % (2 * half) - half)


def compared(records: Iterable[MachineInstr]) -> set[Reg]:
    """The registers that comparisons read."""
    return {reg for mi in records if mi.form.row.head == "setp" for reg in mi.uses()}
