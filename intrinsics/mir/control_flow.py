"""The control-flow graph of a function: successors and predecessors of its basic blocks.

Layer: intrinsics.mir.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.mir.functions import MachineFunction
from intrinsics.mir.operands import Label


def successors(function: MachineFunction) -> list[list[int]]:
    """For each block, the indices of its successors."""
    blocks = function.blocks
    position = {block.name: i for i, block in enumerate(blocks)}
    result: list[list[int]] = []
    for i, block in enumerate(blocks, 1):
        targets: list[int] = []
        falls = i < len(blocks)
        for mi in block.instrs:
            if mi.form.is_terminator:
                falls = falls and mi.guard is not None
                op = mi.ops[0] if len(mi.ops) == 1 else None
                for name in (op.name,) if type(op) is Label else mi.labels():
                    target = position.get(name)
                    if target is not None:
                        targets.append(target)
        if falls:
            targets.append(i)
        result.append(targets if len(targets) < 2 else list(dict.fromkeys(targets)))
    return result


def predecessors(function: MachineFunction) -> list[list[int]]:
    """For each block, the indices of its predecessors."""
    return inverted(successors(function))


def inverted(after: Sequence[Sequence[int]]) -> list[list[int]]:
    """The predecessors of blocks that have these successors."""
    result: list[list[int]] = [[] for _ in after]
    for i, targets in enumerate(after):
        for target in targets:
            result[target].append(i)
    return result
