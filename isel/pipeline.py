"""From LLVM IR to machine records that can be printed: the passes, in order.

Layer: isel.  Input: the text of a module as LLVM prints it.  Output: `intrinsics.mir.Module`; an
observer sees the module after every pass (`--print-after`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from intrinsics.collector import paused_collector
from intrinsics.memo import Memo
from intrinsics.mir import Form, MachineFunction, Module, renumber
from intrinsics.targets import Ptx, Target
from isel.llvm import ir
from isel.passes.block_placement import place_blocks
from isel.passes.common_subexpressions import share_values
from isel.passes.dead_code import remove_dead_code
from isel.passes.destruct_ssa import destruct_ssa
from isel.passes.early_steps import step_first
from isel.passes.extending_loads import extend_in_loads
from isel.passes.fill_wgmma import multiplies_among
from isel.passes.joint_steps import join_steps
from isel.passes.order_wgmma import order_wgmma
from isel.passes.shared_offsets import share_offsets
from isel.passes.sink_comparisons import sink_comparisons
from isel.passes.sink_values import sink_values
from isel.passes.stack_addresses import sink_stack_addresses
from isel.passes.thread_fields import IS_MASK, cut_thread_fields
from isel.select.locations import NO_SOURCE, Source
from isel.select.module import select_module

Observer = Callable[[str, Module], None]

Pass = Callable[[Module], None]


def _each(run: Callable[[MachineFunction], None]) -> Pass:
    """A pass that does the same to every function."""

    def over(module: Module) -> None:
        for function in module.functions:
            run(function)

    return over


def _expand_walkthrough(module: Module) -> None:
    """The pass of that name, imported where it has something to do: few modules have pseudo rows.

    Raises: SelectionError.
    """
    if any(form.row.pseudo for function in module.functions for form in function.forms()):
        from isel.passes.walkthrough.expand import expand_walkthrough
        from isel.passes.walkthrough.inline import inline_walkthrough

        inline_walkthrough(module)
        expand_walkthrough(module)


MODULE_PASSES: dict[str, Pass] = {
    "dead-code": _each(remove_dead_code),
    "common-subexpressions": _each(share_values),
    "extending-loads": _each(extend_in_loads),
    "thread-fields": _each(cut_thread_fields),
    "joint-steps": _each(join_steps),
    "shared-offsets": _each(share_offsets),
    "early-steps": _each(step_first),
    "stack-addresses": _each(sink_stack_addresses),
    "comparisons": _each(sink_comparisons),
    "sinking": _each(sink_values),
    "destruct-ssa": _each(destruct_ssa),
    "order-wgmma": _each(order_wgmma),
    "expand-walkthrough": _expand_walkthrough,
    "layout": _each(place_blocks),
    "renumber": _each(renumber),
}
"""What follows selection, in order."""

_ABOUT: dict[str, Memo[Form, bool]] = {
    "extending-loads": Memo(lambda form: form.row.id == "cvt.int"),
    "thread-fields": IS_MASK,
    "joint-steps": Memo(lambda form: form.row.id == "phi"),
    "shared-offsets": Memo(lambda form: form.row.id == "phi"),
    "early-steps": Memo(lambda form: form.row.id == "phi"),
    "comparisons": Memo(lambda form: form.row.head == "setp"),
    "order-wgmma": Memo(lambda form: bool(multiplies_among((form,)))),
    "expand-walkthrough": Memo(lambda form: form.row.pseudo and form.row.id != "phi"),
}
"""What some passes are about: without such records they have nothing to do.

No pass before them makes any.
"""

SELECT = "select"
"""What makes the records, before all passes."""

PASSES = (SELECT, *MODULE_PASSES)
"""Names of the passes, in order."""


@paused_collector()
def lower(
    module: ir.Module,
    target: Target,
    ptx: Ptx | None = None,
    source: Source = NO_SOURCE,
    observe: Observer | None = None,
    own: Sequence[Pass] = (),
) -> Module:
    """Select `module` and run the passes, those of the caller's `own` first.

    Raises: SelectionError; whatever an own pass raises.
    """
    result = select_module(module, target, ptx, source)
    result.stage = SELECT
    run_passes(result, observe, own)
    return result


def run_passes(module: Module, observe: Observer | None = None, own: Sequence[Pass] = ()) -> None:
    """Run the caller's own passes, and those that follow the one that the module went through last.

    Raises: SelectionError; whatever an own pass raises.
    """
    if observe is not None:
        observe(module.stage, module)
    for run in own:
        run(module)
        if observe is not None:
            observe(getattr(run, "__name__", type(run).__name__), module)
    forms = {form for function in module.functions for form in function.forms()}
    for name in PASSES[PASSES.index(module.stage) + 1 :]:
        about = _ABOUT.get(name)
        if about is None or any(map(about.__getitem__, forms)):
            MODULE_PASSES[name](module)
        module.stage = name if name != PASSES[-1] else ""
        if observe is not None:
            observe(name, module)
    module.notes = list(dict.fromkeys(module.notes))  # one for each place, unrolled or not
