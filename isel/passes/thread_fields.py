"""A few bits of the thread's number in one instruction, `bfe`, as in LLVM's code.

Layer: isel.passes.  Input and output: a function in SSA form, without common subexpressions.  Of a
shift and a mask ptxas 13.5 sees that the threads of a warp have the same bits, and computes what is
made of them in uniform registers, from which loads and stores need copies.  wgmma, tcgen05,
mbarriers and bulk copies take uniform registers: functions with them stay as they are.
PTX ISA, bfe.
"""

from __future__ import annotations

from intrinsics import catalog
from intrinsics.memo import Memo
from intrinsics.mir import Form, Imm, MachineFunction, MachineInstr, Op, Reg, Special
from intrinsics.modifiers import ScalarType
from isel.passes.dead_code import remove_dead_code

_THREAD = ("tid.x", "tid.y", "tid.z")

_UNIFORM = ("wgmma.", "tcgen05.", "mbarrier.")
"""What the rows of instructions begin with that take uniform registers; bulk copies do, too."""

_IS_SHIFT = Memo[Form, bool](
    lambda form: form.row.id == "shr" and form.attributes["type"] is ScalarType.U32
)
IS_MASK = Memo[Form, bool](
    lambda form: form.row.id == "and" and form.attributes["type"] is ScalarType.B32
)
"""Whether a record of a form may take bits of the thread's number."""

_IS_UNIFORM = Memo[Form, bool](
    lambda form: form.row.id.startswith(_UNIFORM) or ".bulk" in form.row.id
)


def cut_thread_fields(function: MachineFunction) -> None:
    """Let a shift of a thread's number and a mask of its result be one `bfe`."""
    numbers: set[Reg] = set()
    shifts: dict[Op, MachineInstr] = {}
    masks: list[MachineInstr] = []
    for mi in function.instructions():
        if IS_MASK[mi.form]:
            masks.append(mi)
        elif _IS_SHIFT[mi.form] and mi.ops[1] in numbers:
            shifts[mi.ops[0]] = mi
        elif len(mi.ops) == 2 and isinstance(mi.ops[1], Special) and mi.ops[1].name in _THREAD:
            numbers.update(mi.defs())
    if not shifts or any(_IS_UNIFORM[form] for form in function.forms()):
        return
    for mi in masks:
        shift, bits = shifts.get(mi.ops[1]), mi.ops[2]
        if shift is None or mi.guard or shift.guard or not isinstance(bits, Imm):
            continue
        if bits.value > 0 and bits.value & (bits.value + 1) == 0:
            mi.form = catalog.form("bfe", type=ScalarType.U32)
            mi.ops = (mi.ops[0], *shift.ops[1:], Imm(bits.value.bit_length()))
    remove_dead_code(function)
