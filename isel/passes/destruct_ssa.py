"""Leave SSA form: PHI records become moves, and most moves go away again.

Layer: isel.passes.  Input: a function whose blocks begin with PHI records.  Output: the same
function without them.  A PHI's moves stand at the end of each block that it comes from, before its
branch; some edges that leave an inner loop get a block of their own first.  Moves at one place
happen at the same time, so they are put in an order that reads before it overwrites.  Then
registers are coalesced (`coalescing`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from intrinsics import catalog
from intrinsics.mir import (
    Form,
    MachineFunction,
    MachineInstr,
    Op,
    Reg,
    Scalar,
    incoming,
    inverted,
    phis_of,
    registers_of,
    successors,
)
from isel.passes.coalescing import MOV, coalesce
from isel.passes.fill_wgmma import multiplies_among
from isel.passes.loop_ends import Phis, separate_ends
from isel.passes.plain_joins import joined_plainly

_PHI = "phi"


def destruct_ssa(function: MachineFunction) -> None:
    """Replace PHI records by moves, then coalesce."""
    forms = function.forms()
    ties = _ties(function, {form for form in forms if form.row.id == MOV})
    phis: dict[int, list[MachineInstr]] = {}
    for i, block in enumerate(function.blocks):
        if block.instrs and block.instrs[0].form.row.id == _PHI:
            phis[i] = phis_of(block)
    if not ties and not phis:
        return
    after = successors(function)
    if separate_ends(function, phis, after):
        after = successors(function)
    before = inverted(after)
    forks = {i for i, following in enumerate(after) if len(following) > 1}
    multiplies = multiplies_among(forms)
    if not ties and not multiplies and all(forks.isdisjoint(before[i]) for i in phis):
        merged = [phi for of_block in phis.values() for phi in of_block]
        if joined_plainly(function, merged):
            _place_moves(function, phis)
            return
    moves, last = _isolate(function, phis, before, forks)
    moves += _place_moves(function, phis) + last
    coalesce(function, moves + ties, before, multiplies)


def move(function: MachineFunction, result: Reg, source: Scalar, loc: int) -> MachineInstr:
    """A move into `result`."""
    chosen = catalog.form(MOV, type=function.regs.classes[result])
    return MachineInstr(chosen, (result, source), None, loc)


def _ties(function: MachineFunction, copies: Set[Form]) -> list[tuple[Reg, Reg]]:
    """The two registers of each move (of the forms `copies`) into what an instruction updates in
    place.

    What inline assembly updates in place is a register that a move and something else write.
    """
    found: list[tuple[Reg, Reg]] = []
    for block in function.blocks if copies else ():
        for mi in block.instrs:
            if mi.form in copies and type(mi.ops[1]) is int:
                break
        else:
            continue
        updated: set[Reg] = set()
        for mi in reversed(block.instrs):
            if mi.form in copies and mi.guard is None:
                result, source = mi.ops
                if type(result) is int and type(source) is int and result in updated:
                    found.append((result, source))
            else:
                updated.update(mi.defs())
    return found


# ---- forks -----------------------------------------------------------------------------------


def _isolate(
    function: MachineFunction, phis: Phis, before: Sequence[Sequence[int]], forks: Set[int]
) -> tuple[list[tuple[Reg, Reg]], list[tuple[Reg, Reg]]]:
    """Let some PHIs write a register that only their block's beginning reads.

    One is a PHI that comes from a fork: its moves happen on the other paths of the fork too, where
    the PHI's last result may be needed still.  The other is a value that a loop changes on some
    ways only.  What needs the old value beside the new one reads the copy; where nothing changes,
    and where the turn ends, the new one is in its register already.

    Coalescing takes the register away again where it is not needed.  Returns the two registers of
    each move; of the second kind they are to become one last.
    """
    regs = function.regs
    changed = _changed_on_some_ways(phis, before)
    found: list[tuple[Reg, Reg]] = []
    last: list[tuple[Reg, Reg]] = []
    for i, merged in phis.items():
        from_fork = not forks.isdisjoint(before[i])
        copies = []
        for phi in merged:
            result = phi.ops[0]
            assert isinstance(result, int)
            if not from_fork and result not in changed:
                continue
            own = regs.new(regs.classes[result])
            phi.ops = (own, *phi.ops[1:])
            copies.append(move(function, result, own, phi.loc))
            (last if result in changed else found).append((result, own))
        function.blocks[i].instrs[len(merged) : len(merged)] = copies
    return found, last


def _changed_on_some_ways(phis: Phis, before: Sequence[Sequence[int]]) -> set[Op]:
    """Results of PHIs where loops begin, one of whose values is a PHI that has them on a way."""
    loops = [i for i in phis if max(before[i], default=-1) >= i]
    found: set[Op] = set()
    if not loops or len(phis) == 1:
        return found
    homes = {phi.ops[0]: (i, phi.ops[1]) for i, merged in phis.items() for phi in merged}
    for i in loops:
        for phi in phis[i]:
            result, values, _ = phi.ops
            for value in registers_of(values):
                home, on_ways = homes.get(value, (i, values))
                if home != i and result in registers_of(on_ways):
                    found.add(result)
    return found


# ---- moves -----------------------------------------------------------------------------------


def _place_moves(function: MachineFunction, phis: Phis) -> list[tuple[Reg, Reg]]:
    """Turn PHI records into moves; returns the two registers of each that has two."""
    by_name = {block.name: block for block in function.blocks}
    parallel: dict[str, list[_Move]] = {}
    for i, merged in phis.items():
        for phi in merged:
            result = phi.ops[0]
            assert isinstance(result, int)
            for value, home in incoming(phi):
                parallel.setdefault(home, []).append((result, value, phi.loc))
        del function.blocks[i].instrs[: len(merged)]
    found: list[tuple[Reg, Reg]] = []
    for name, moves in parallel.items():
        made: list[MachineInstr] = []
        for result, source, loc in _sequence(function, moves):
            made.append(move(function, result, source, loc))
            if type(source) is int:
                found.append((result, source))
        block = by_name[name]
        end = block.end
        block.instrs[end:end] = made
    return found


_Move = tuple[Reg, Scalar, int]
"""What a move writes, what it reads, and its location."""


def _sequence(function: MachineFunction, moves: list[_Move]) -> list[_Move]:
    """Moves that happen at the same time, one after the other."""
    if len(moves) == 1 and moves[0][0] != moves[0][1]:
        return moves
    pending: dict[Reg, tuple[Scalar, int]] = {}
    sources: list[Scalar] = []
    for result, source, loc in moves:
        if result != source:
            pending[result] = source, loc
        if type(source) is int:
            sources.append(source)
    if pending.keys().isdisjoint(sources):
        return [(result, *given) for result, given in pending.items()]
    ordered: list[_Move] = []
    while pending:
        read = {source for source, _ in pending.values() if type(source) is int}
        free = [result for result in pending if result not in read]
        if not free:
            # Only cycles are left: save one register, and read it from the copy.
            result, (_, loc) = next(iter(pending.items()))
            saved = function.regs.new(function.regs.classes[result])
            ordered.append((saved, result, loc))
            pending = {
                r: (saved if source == result else source, at)
                for r, (source, at) in pending.items()
            }
            continue
        ordered += [(result, *pending.pop(result)) for result in free]
    return ordered
