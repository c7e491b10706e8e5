"""Let what fills accumulators and registers of A stand before wgmma.fence.

Layer: isel.passes.  Input and output: a function without PHI records.  In LLVM IR an accumulator is
a value; the moves that bring it into the registers that a multiply updates stand where the multiply
does, behind the fence that has to order them.  Pure records between a fence and its multiplies go
before the fence as far as nothing that stays keeps them: neither a multiply's registers nor a value
that they read or replace.  PTX ISA, wgmma.fence.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.mir import Block, MachineFunction, MachineInstr, Reg, registers_of
from intrinsics.row import Completion

_FENCE = "wgmma.fence"


def order_wgmma(function: MachineFunction) -> None:
    """Move what multiplies need before their fences."""
    for block in function.blocks:
        if any(mi.row.id == _FENCE for mi in block.instrs):
            _order(block)


def _order(block: Block) -> None:
    at = 0
    while at < len(block.instrs):
        if block.instrs[at].row.id == _FENCE:
            end = _end(block.instrs, at + 1)
            first, rest = _parted(block.instrs[at + 1 : end])
            block.instrs[at:end] = [*first, block.instrs[at], *rest]
            at = end - 1
        at += 1


def _is_multiply(mi: MachineInstr) -> bool:
    return mi.row.effects.completion is Completion.WGMMA_GROUP


def _end(records: Sequence[MachineInstr], at: int) -> int:
    """Behind the multiplies of a fence and the pure records among them."""
    while at < len(records) and (_is_multiply(records[at]) or records[at].form.is_pure):
        at += 1
    return at


def _parted(records: list[MachineInstr]) -> tuple[list[MachineInstr], list[MachineInstr]]:
    """What goes before the fence, and what stays; nothing goes when no multiply needs it."""
    first: list[MachineInstr] = []
    rest: list[MachineInstr] = []
    written: set[Reg] = set()
    read: set[Reg] = set()
    for mi in records:
        defs, uses = set(mi.defs()), set(mi.uses())
        if _is_multiply(mi) or uses & written or defs & (written | read):
            rest.append(mi)
            written |= defs
            read |= uses
        else:
            first.append(mi)
    filled = {reg for mi in records if _is_multiply(mi) for reg in _registers(mi)}
    if any(not filled.isdisjoint(mi.defs()) for mi in first):
        return first, rest
    return [], records


def _registers(multiply: MachineInstr) -> list[Reg]:
    """The accumulator's registers, and those of an A that is in registers."""
    a = multiply["a"]
    return [*registers_of(multiply["d"]), *(registers_of(a) if isinstance(a, tuple) else ())]
