"""Layout of blocks, by hand: no needless branch, no block that nothing reaches."""

from __future__ import annotations

from intrinsics.mir import (
    Imm,
    Label,
    MachineFunction,
    predecessors,
    successors,
)
from intrinsics.modifiers import Compare
from isel.passes.block_placement import place_blocks
from tests.isel.passes.machine import PRED, Builder, run, swap_loop


def laid_out(function: MachineFunction) -> list[str]:
    place_blocks(function)
    return [block.name for block in function.blocks]


def test_a_block_that_only_branches_is_skipped():
    b = Builder()
    entry, hop, end = b.block("entry"), b.block("hop"), b.block("end")
    c, x = b.reg("c", PRED), b.reg("x")
    b.set(entry, x, Imm(3))
    b.compare(entry, c, Compare.EQ, x, Imm(3))
    b.branch(entry, "hop", c)
    b.ret(entry)
    b.branch(hop, "end")
    b.store(end, x)
    b.ret(end)
    assert laid_out(b.function) == ["entry", "end"]
    assert run(b.function) == [3]


def test_a_condition_is_turned_round_to_fall_through():
    """`@p bra next; bra far` becomes `@!p bra far`, and that `@p` of the contrary."""
    b = Builder()
    entry, near, far = b.block("entry"), b.block("near"), b.block("far")
    c, x = b.reg("c", PRED), b.reg("x")
    b.set(entry, x, Imm(1))
    b.compare(entry, c, Compare.EQ, x, Imm(1))
    b.branch(entry, "near", c)
    b.branch(entry, "far")
    b.store(near, x)
    b.ret(near)
    b.ret(far)
    place_blocks(b.function)
    (branch,) = [mi for mi in b.function.instructions() if mi.row.id == "bra"]
    (test,) = [mi for mi in b.function.instructions() if mi.row.id == "setp.int"]
    assert (branch.guard, test.form.attributes["cmp"]) == (c, Compare.NE)
    assert branch.ops == (Label("far"),)
    assert run(b.function) == [1]


def test_unreachable_blocks_go():
    b = Builder()
    entry, nowhere = b.block("entry"), b.block("nowhere")
    b.ret(entry)
    b.branch(nowhere, "nowhere")
    assert laid_out(b.function) == ["entry"]


def test_a_block_that_branches_to_itself_stays():
    """An endless loop is a meaning too."""
    b = Builder()
    entry, loop = b.block("entry"), b.block("loop")
    b.branch(entry, "loop")
    b.branch(loop, "loop")
    place_blocks(b.function)
    assert all(successors(b.function))


def test_predecessors_mirror_successors():
    function = swap_loop(2)
    after, before = successors(function), predecessors(function)
    edges = {(a, s) for a, targets in enumerate(after) for s in targets}
    assert edges == {(p, n) for n, sources in enumerate(before) for p in sources}
    assert edges == {(0, 1), (1, 1), (1, 2)}
