"""Questions about what a module is compiled for, answered before selection; dead arms are dropped.

Layer: isel.lower.  Input: a module as it was read, and a target.  Output: the same module, or one
in which the answers are numbers, what they decide is decided, and no block is left that nothing
leads to.  LLVM, NVPTX Usage: libdevice, llvm.nvvm.reflect: dead arms may hold what the target has
not, or call what no module has.
"""

from __future__ import annotations

import dataclasses

from intrinsics.targets import Target
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import IntType
from isel.lower.branches.folding import Known, folded
from isel.lower.rewriter import number
from isel.select.intrinsics.specials import REFLECT, answer_of


def with_answers(module: ir.Module, target: Target) -> ir.Module:
    """The module with every question answered."""
    if module.functions.keys().isdisjoint(REFLECT):
        return module
    functions = {
        name: _answered(function, module, target) for name, function in module.functions.items()
    }
    return dataclasses.replace(module, functions=functions)


def _answered(function: ir.Function, module: ir.Module, target: Target) -> ir.Function:
    known: Known = {}
    answers: dict[tuple[llvm.Value, ...], int | None] = {}
    for i in function.instructions():
        if isinstance(i, ir.Call) and i.callee_name in REFLECT and i.result is not None:
            if i.arguments not in answers:  # libdevice asks the same again and again
                answers[i.arguments] = answer_of(i, module, target)
            answer = answers[i.arguments]
            if answer is not None and isinstance(i.type, IntType):
                known[i.result] = number(i.type, answer)
    return folded(function, known)
