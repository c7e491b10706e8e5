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
from isel.llvm.metadata import module_flag
from isel.llvm.types import IntType
from isel.lower.branches.folding import Known, folded
from isel.lower.rewriter import number

REFLECT = ("llvm.nvvm.reflect", "__nvvm_reflect", "__nvvm_reflect_ocl")
"""Questions that are answered while compiling.  LLVM, NVPTX Usage: libdevice."""


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


def answer_of(call: ir.Call, module: ir.Module, target: Target) -> int | None:
    """The answer to a question by name: 0 for a name that means nothing, None where none is."""
    match _text(module, call.arguments[0] if call.arguments else None):
        case "__CUDA_FTZ":
            return module_flag(module, "nvvm-reflect-ftz") or 0
        case "__CUDA_ARCH":
            return target.number * 10
        case None:
            return None
    return 0


def _text(module: ir.Module, value: llvm.Value | None) -> str | None:
    while isinstance(value, llvm.ConstExpr):
        value = value.operands[0]
    variable = module.globals.get(value.name) if isinstance(value, llvm.GlobalRef) else None
    data = variable.initializer if variable is not None else None
    if not isinstance(data, llvm.ConstString):
        return None
    return data.data.rstrip(b"\0").decode("ascii", "replace")
