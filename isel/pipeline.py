"""From LLVM IR to machine records that can be printed: the passes, in order.

Layer: isel.  Input: the text of a module as LLVM prints it.  Output: `intrinsics.mir.Module`; an
observer sees the module after every pass (`--print-after`).
"""

from __future__ import annotations

from collections.abc import Callable

from intrinsics.mir import MachineFunction, Module, renumber
from intrinsics.targets import Ptx, Target
from isel.llvm import ir
from isel.passes.dead_code import remove_dead_code
from isel.passes.destruct_ssa import destruct_ssa
from isel.passes.layout import lay_out
from isel.select.module import NO_SOURCE, Source, select_module

Observer = Callable[[str, Module], None]

FUNCTION_PASSES: dict[str, Callable[[MachineFunction], None]] = {
    "dead-code": remove_dead_code,
    "destruct-ssa": destruct_ssa,
    "layout": lay_out,
    "renumber": renumber,
}

EXPAND = "expand-walkthrough"

PASSES = ("select", "dead-code", "destruct-ssa", EXPAND, "layout", "renumber")
"""Names of the passes, in order."""


def lower(
    module: ir.Module,
    target: Target,
    ptx: Ptx | None = None,
    source: Source = NO_SOURCE,
    observe: Observer | None = None,
) -> Module:
    """Select `module` and run the passes.

    Raises: SelectionError.
    """
    result = select_module(module, target, ptx, source)
    if observe is not None:
        observe("select", result)
    for name in PASSES[1:]:
        if name == EXPAND:
            _expand(result)
        else:
            for function in result.functions:
                FUNCTION_PASSES[name](function)
        if observe is not None:
            observe(name, result)
    result.notes = list(dict.fromkeys(result.notes))  # one for each place, unrolled or not
    return result


def _expand(module: Module) -> None:
    """The pass of that name, imported where it has something to do: few modules have pseudo rows.

    Raises: SelectionError.
    """
    if any(mi.row.pseudo for function in module.functions for mi in function.instructions()):
        from isel.passes.expand_walkthrough import expand_walkthrough

        expand_walkthrough(module)
