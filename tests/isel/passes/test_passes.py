"""The passes keep the meaning of random functions, alone and together."""

from __future__ import annotations

from hypothesis import given

from intrinsics.mir import (
    Label,
    Module,
    renumber,
    successors,
)
from intrinsics.targets import TARGETS
from isel.passes.destruct_ssa import destruct_ssa
from isel.pipeline import MODULE_PASSES
from tests.isel.passes.machine import is_ssa
from tests.isel.passes.ssa_functions import Drawn, means, ssa_functions
from tests.turns import examples


@examples(300)
@given(ssa_functions())
def test_leaving_ssa_form_keeps_the_meaning(drawn: Drawn):
    expected = means(drawn.function)
    destruct_ssa(drawn.function)
    assert not is_ssa(drawn.function)
    assert means(drawn.function) == expected


@examples(200)
@given(ssa_functions())
def test_all_passes_together_keep_the_meaning(drawn: Drawn):
    expected = means(drawn.function)
    module = Module(TARGETS["sm_100a"], functions=[drawn.function])
    for name, apply in MODULE_PASSES.items():
        apply(module)
        assert means(drawn.function) == expected, name


@examples(200)
@given(ssa_functions())
def test_layout_leaves_no_needless_branch(drawn: Drawn):
    module = Module(TARGETS["sm_100a"], functions=[drawn.function])
    for apply in MODULE_PASSES.values():
        apply(module)
    function = drawn.function
    names = [block.name for block in function.blocks]
    assert len(set(names)) == len(names)
    for block, following in zip(function.blocks, [*names[1:], ""], strict=True):
        last = block.instrs[-1:]
        assert not (last and last[0].ops == (Label(following),) and last[0].guard is None)
    for at, block in enumerate(function.blocks):
        targets = [mi.ops[0] for mi in block.instrs[-2:] if mi.row.id == "bra"]
        ways = [names.index(to.name) for to in targets if isinstance(to, Label)]
        goes_on = len(ways) == 2 and ways[1] <= at and not ways[1] <= ways[0] <= at
        assert not goes_on, "a loop ends with two branches"
    reached = {0} | {s for after in successors(function) for s in after}
    assert reached == set(range(len(function.blocks)))


@examples(100)
@given(ssa_functions())
def test_renumbering_keeps_the_meaning_and_counts_from_zero(drawn: Drawn):
    expected = means(drawn.function)
    renumber(drawn.function)
    assert means(drawn.function) == expected
    used = {r for mi in drawn.function.instructions() for r in (*mi.defs(), *mi.uses())}
    assert used == set(range(len(drawn.function.regs)))
