"""Tidy the blocks: no branch to the next block, no block that only branches on.

Layer: isel.passes.  Input and output: a function after SSA form was left.
"""

from __future__ import annotations

import functools
from collections import Counter

from intrinsics.memo import Memo
from intrinsics.mir import (
    Block,
    Form,
    Label,
    MachineFunction,
    MachineInstr,
    Not,
    Reg,
    form_of,
    guard_register,
    inverted,
    negated,
    registers_of,
    successors,
)
from intrinsics.modifiers import Compare, ScalarType
from intrinsics.row import Kind
from isel.control_flow import reach


def place_blocks(function: MachineFunction) -> None:
    """Thread jumps, drop unreachable blocks, join chains, let blocks fall through, turn tests.

    No block stands before all those that lead to it: ptxas 13.5 crashes at some functions in which
    what follows a loop stands before it.
    """
    _thread_jumps(function)
    after = _join_chains(function)
    _behind_predecessors(function, after)
    _fall_through(function)
    _plain_guards(function)


def _only_branch(block: Block) -> str | None:
    """Where a block goes that does nothing but branch."""
    if len(block.instrs) != 1:
        return None
    mi = block.instrs[0]
    target = mi.ops[0] if mi.guard is None and mi.form.row.id == "bra" else None
    return target.name if type(target) is Label else None


def _thread_jumps(function: MachineFunction) -> None:
    """Branch straight to where a block that only branches would go."""
    onward = {b.name: target for b in function.blocks[1:] if (target := _only_branch(b))}
    if not onward:
        return
    for start in onward:
        path: dict[str, None] = {}
        name = start
        while name in onward and name not in path:
            path[name] = None
            name = onward[name]
        onward.update(dict.fromkeys(path, name))
    _hand_on_hints(function, onward)
    for block in function.blocks:
        for mi in block.terminators():
            if not onward.keys().isdisjoint(mi.labels()):
                mi.map_labels(onward)


def _hand_on_hints(function: MachineFunction, onward: dict[str, str]) -> None:
    """Where a loop began with a mere branch, it begins where that goes."""
    hinted = {onward[b.name] for b in function.blocks if b.nounroll and b.name in onward}
    for block in function.blocks if hinted else ():
        block.nounroll = block.nounroll or block.name in hinted


def _join_chains(function: MachineFunction) -> list[list[int]]:
    """Append a block to its only predecessor, when that goes nowhere else; drop the unreachable.

    Returns the successors of the blocks that are left.
    """
    after = successors(function)
    reached = reach(after, [0])
    before = inverted([after[i] if i in reached else () for i in range(len(after))])
    home = list(range(len(function.blocks)))
    forks: dict[int, bool] = {}  # of those that were asked
    gone = set(range(len(after))) - reached
    for i, block in enumerate(function.blocks):
        if i == 0 or len(before[i]) != 1 or i in gone:
            continue
        p = _root(home, before[i][0])
        last = function.blocks[p].instrs[-1:] if p != i else []
        if not last or not _goes_only_to(last[0], block.name):
            continue
        if p not in forks:
            forks[p] = _forks(function.blocks[p])
        if forks[p]:
            continue
        function.blocks[p].instrs[-1:] = block.instrs
        home[i], forks[p] = p, forks[i] if i in forks else _forks(block)
        after[p] = after[i]
        gone.add(i)
    if not gone:
        return after
    left = [i for i in range(len(after)) if i not in gone]
    place = {i: n for n, i in enumerate(left)}
    function.blocks = [function.blocks[i] for i in left]
    return [[place[target] for target in after[i]] for i in left]


def _forks(block: Block) -> bool:
    """Whether a record before the last one may go elsewhere."""
    return block.end < len(block.instrs) - 1


def _root(home: list[int], i: int) -> int:
    while home[i] != i:
        home[i] = home[home[i]]
        i = home[i]
    return i


def _goes_only_to(last: MachineInstr, name: str) -> bool:
    return last.guard is None and _goes_to(last, name)


def _goes_to(mi: MachineInstr, name: str) -> bool:
    """Whether a record is a branch to a block."""
    if mi.form.row.id != "bra":
        return False
    target = mi.ops[0]
    return type(target) is Label and target.name == name


def _behind_predecessors(function: MachineFunction, after: list[list[int]]) -> None:
    """Put a block that stands before all that lead to it right behind the first of them.

    Blocks that nothing leads to are gone already; `after` are the successors of the others.
    """
    blocks = function.blocks
    if not all(block.instrs and _ends(block.instrs[-1]) for block in blocks):
        return
    before = inverted(after)
    if all(leading[0] < i for i, leading in enumerate(before) if i):  # as most are
        return
    order: list[int] = []
    placed: set[int] = set()
    late: set[int] = set()
    for i in range(len(blocks)):
        if i and placed.isdisjoint(before[i]):
            late.add(i)
            continue
        work = [i]
        while work:
            one = work.pop()
            if one not in placed:
                order.append(one)
                placed.add(one)
                work += sorted(late.intersection(after[one]) - placed, reverse=True)
    function.blocks = [blocks[i] for i in order]


def _ends(last: MachineInstr) -> bool:
    """Whether a block does not fall through to the next one."""
    return last.form.is_terminator and last.guard is None


def _fall_through(function: MachineFunction) -> None:
    """Drop branches to the next block, turning a conditional one round where that helps.

    Of two branches one of which goes back, that one has the condition: it is what ptxas takes for
    the end of a loop that it may unroll, and the other one is executed once.
    """
    place = {block.name: i for i, block in enumerate(function.blocks)}
    for i, block in enumerate(function.blocks):
        last = block.instrs[-1] if block.instrs else None
        if last is None or last.form.row.id != "bra" or last.guard is not None:
            continue
        target = _place_of(last, place)
        if target == i + 1:
            block.instrs.pop()
            continue
        before = block.instrs[-2] if len(block.instrs) > 1 else None
        if before is None or before.form.row.id != "bra" or before.guard is None:
            continue
        other = _place_of(before, place)
        if other == i + 1 or (target <= i and not target <= other <= i):
            before.ops, last.ops = last.ops, before.ops
            before.guard = negated(before.guard)
            if other == i + 1:
                block.instrs.pop()


def _place_of(branch: MachineInstr, place: dict[str, int]) -> int:
    """The number of the block that a branch goes to."""
    target = branch.ops[0]
    assert isinstance(target, Label)
    return place[target.name]


def _plain_guards(function: MachineFunction) -> None:
    """Invert a comparison that only a branch reads, which is guarded by its negation.

    ptxas 13.5 unrolls the loop that ends with `@%p bra`, and leaves the one with `@!%p bra`.
    """
    wanted = {
        mi.guard.reg: mi
        for block in function.blocks
        for mi in block.instrs[-2:]
        if type(mi.guard) is Not and mi.form.row.id == "bra"
    }
    if not wanted:
        return
    tests: dict[Reg, MachineInstr] = {}
    mentions: Counter[Reg] = Counter()
    for mi in function.instructions():
        if mi.guard is not None:
            mentions[guard_register(mi.guard)] += 1
        if _TAKES_PREDICATES[mi.form]:
            mentions.update(reg for op in mi.ops for reg in registers_of(op))
            if mi.form.row.head == "setp" and mi.guard is None and type(mi.ops[0]) is int:
                tests[mi.ops[0]] = mi
    for reg, test in tests.items():
        turned = _turned(test.form) if reg in wanted and mentions[reg] == 2 else None
        if turned is not None:
            test.form, wanted[reg].guard = turned, reg


_WITHOUT_TYPE = (Kind.TEXT, Kind.PHI)


def _takes_predicates(form: Form) -> bool:
    """Whether a predicate may be among the operands of a form: of most it is not."""
    return any(
        operand is not None
        and (
            operand.kind in _WITHOUT_TYPE or operand.type_under(form.attributes) is ScalarType.PRED
        )
        for operand in form.operands
    )


_TAKES_PREDICATES = Memo(_takes_predicates)


@functools.cache
def _turned(form: Form) -> Form | None:
    """The comparison that holds where this one does not; None for one with more operands."""
    compare = form.attributes["cmp"]
    if (
        form.attributes["q"]
        or form.attributes["combine"] is not None
        or not isinstance(compare, Compare)
    ):
        return None
    contrary = compare.contrary(floats=form.row.id == "setp.float")
    return form_of(form.row, **{**form.attributes, "cmp": contrary})
