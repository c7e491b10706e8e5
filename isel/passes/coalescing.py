"""Coalescing: registers that a move connects become one wherever both are not needed at a time.

Layer: isel.passes.  Input: a function that has left SSA form, and the moves.  Output: the same
function with fewer registers and moves.  Registers that a multiply of a warpgroup reads are needed
up to the wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from intrinsics.mir import (
    HOLDERS,
    Block,
    Form,
    Imm,
    MachineFunction,
    MachineInstr,
    Mem,
    Op,
    Reg,
    guard_register,
    registers_of,
)
from isel.passes.fill_wgmma import read_by
from isel.passes.wgmma_reads import read_until

MOV = "mov"
"""The row of a move."""

_Touch = tuple[MachineInstr, bool, tuple[Reg, ...], tuple[Reg, ...], Set[Reg]]
"""A record, whether it is a move, the ends of moves that it writes and those that it reads, and
those that moves next to this one give the same value.
"""


class _Part(NamedTuple):
    """What a block has to do with the ends of moves.

    `written` are those that it writes whatever happens, `awaited` those that it reads before.
    """

    touches: list[_Touch]
    written: set[Reg]
    awaited: set[Reg]


_Ends = Mapping[Reg, Reg]
"""The ends of moves, each with one that stands for all that moves connect it with: its kin."""


def coalesce(
    function: MachineFunction,
    moves: list[tuple[Reg, Reg]],
    before: Sequence[Sequence[int]],
    multiplies: frozenset[Form],
) -> None:
    """Make one register of the two ends of a move wherever they are never live together."""
    ends = _kin(moves)
    waits = read_until(function, before) if multiplies else {}
    parts = [_part(block, ends, multiplies, waits) for block in function.blocks]
    union = _Classes(ends, _interference(parts, before, ends))
    classes, names = function.regs.classes, function.regs.names
    for result, source in moves:
        if classes[result] is classes[source]:
            union.join(result, source)
    table = {reg: union.find(reg) for reg in sorted(ends) if union.parent[reg] != reg}
    for reg, chosen in table.items():
        names[chosen] = names[chosen] or names[reg]
    for block, part in zip(function.blocks, parts, strict=True):
        if part.touches:
            _rename(block, part.touches, table)


def _rename(block: Block, touches: Iterable[_Touch], table: dict[Reg, Reg]) -> None:
    """Put one register in the place of those that became one with it, and drop needless moves:
    of a register to itself, a second one of the same, and one back to where a value came from.
    """
    gone: set[int] = set()
    last: tuple[Op, ...] = ()
    copies: _Copies | None = None
    find = table.get
    for mi, is_move, written, used, same in touches:
        touched = written + used
        if is_move and mi.guard is None and mi.ops == touched:
            result, source = touched
            result, source = find(result, result), find(source, source)
            if result == source or (copies and copies.sources.get(source) == result):
                gone.add(id(mi))
                continue
        for reg in touched:
            if reg in table:
                mi.map_registers(table)
                break
        if copies and written:
            copies.forget(find(reg, reg) for reg in written)
        if is_move and mi.guard is None and len(touched) == len(mi.ops):
            copies = copies or _Copies()
            copies.add(*(find(reg, reg) for reg in touched))
        if not is_move or mi.guard is not None:
            last = ()
        elif mi.ops == last and same:
            gone.add(id(mi))
        else:
            last = mi.ops
    if gone:
        block.instrs = [mi for mi in block.instrs if id(mi) not in gone]


class _Copies:
    """What moves have copied so far in a block, as long as neither register is written again."""

    def __init__(self) -> None:
        self.sources: dict[Reg, Reg] = {}  # of each copy, what it is a copy of
        self.copies: defaultdict[Reg, list[Reg]] = defaultdict(list)

    def add(self, result: Reg, source: Reg) -> None:
        """A move from `source` to `result`."""
        self.sources[result] = source
        self.copies[source].append(result)

    def forget(self, written: Iterable[Reg]) -> None:
        """Registers that have other values now."""
        for reg in written:
            self.sources.pop(reg, None)
            for copy in self.copies.pop(reg, ()):
                if self.sources.get(copy) == reg:
                    del self.sources[copy]


def _part(
    block: Block, ends: _Ends, multiplies: frozenset[Form], waits: Mapping[int, set[Reg]]
) -> _Part:
    touches: list[_Touch] = []
    written: set[Reg] = set()
    awaited: set[Reg] = set()
    # Of moves one after the other, none of which overwrites what another read or wrote:
    given: dict[Op, set[Reg]] = {}  # who got each value
    taken: set[Reg] = set()  # who got one
    for mi in block.instrs:
        form, guard = mi.form, mi.guard
        writes, reads = _accessed(mi, ends)
        if waits and id(mi) in waits:
            reads += (*(ends.keys() & waits[id(mi)]),)
        elif not writes and not reads:
            continue
        if multiplies and form in multiplies:
            reads = (*(ends.keys() & read_by(mi)),)
        is_move = form.row.id == MOV
        same: Set[Reg] = _NONE
        if is_move and guard is None:
            result, source = mi.ops
            is_free = result not in taken and result not in given
            if is_free and type(result) is int and type(source) in _VALUES:
                taken.add(result)
                same = own = given.setdefault(source, set())
                own.add(result)
        if given and not same:
            given, taken = {}, set()
        touches.append((mi, is_move, writes, reads, same))
        for reg in reads:
            if reg not in written:
                awaited.add(reg)
        if guard is None:
            written.update(writes)
    return _Part(touches, written, awaited)


_NONE: Set[Reg] = frozenset()
_VALUES = frozenset((int, Imm))


def _accessed(mi: MachineInstr, ends: _Ends) -> tuple[tuple[Reg, ...], tuple[Reg, ...]]:
    """Those of `ends` that a record writes, and those that it reads."""
    form, ops, guard = mi.form, mi.ops, mi.guard
    writes: tuple[Reg, ...] = ()
    reads: tuple[Reg, ...] = ()
    for i in form.defs:
        op = ops[i]
        if type(op) is int:
            if op in ends:
                writes += (op,)
        elif type(op) in HOLDERS:
            writes += _ends_in(op, ends)
    for i in form.uses:
        op = ops[i]
        if type(op) is int:
            if op in ends:
                reads += (op,)
        elif type(op) in HOLDERS:
            reads += _ends_in(op, ends)
    if form.updates:
        for i in form.updates:
            writes += _ends_in(ops[i], ends)
    if guard is not None:
        reg = guard_register(guard)
        if reg in ends:
            reads += (reg,)
    return writes, reads


def _ends_in(op: Op, ends: _Ends) -> tuple[Reg, ...]:
    """Those of `ends` that stand in an operand."""
    if type(op) is Mem:
        return (op.base,) if type(op.base) is int and op.base in ends else ()
    return tuple(filter(ends.__contains__, registers_of(op)))


class _Classes:
    """Sets of registers that have become one, with what each may not meet.

    Of two registers that may not meet at least one has the other among its conflicts.
    """

    def __init__(self, registers: Iterable[Reg], conflicts: dict[Reg, set[Reg]]) -> None:
        self.parent = {reg: reg for reg in registers}
        self.members: dict[Reg, set[Reg]] = {}  # of more than one
        self.conflicts = conflicts

    def find(self, reg: Reg) -> Reg:
        parent = self.parent
        while (up := parent[reg]) != reg:
            parent[reg] = reg = parent[up]
        return reg

    def join(self, a: Reg, b: Reg) -> None:
        parent = self.parent
        a, b = parent[a], parent[b]
        if parent[a] != a:
            a = self.find(a)
        if parent[b] != b:
            b = self.find(b)
        if a == b:
            return
        mine, theirs = self.members.get(a) or {a}, self.members.get(b) or {b}
        apart = theirs.isdisjoint(self.conflicts.get(a, ()))
        if not apart or not mine.isdisjoint(self.conflicts.get(b, ())):
            return
        self.parent[b] = a
        self.members[a] = _united(mine, theirs)
        conflicts = self.conflicts.pop(b, None)
        if conflicts is not None:
            self.conflicts[a] = _united(self.conflicts.get(a) or set(), conflicts)


def _united(a: set[Reg], b: set[Reg]) -> set[Reg]:
    """The union, in the larger one of both: a long chain of moves joins one by one."""
    small, large = (b, a) if len(b) < len(a) else (a, b)
    large |= small
    return large


def _kin(moves: Iterable[tuple[Reg, Reg]]) -> dict[Reg, Reg]:
    """For each end of a move the representative of the registers that moves connect it with."""
    families: dict[Reg, list[Reg]] = {}
    for result, source in moves:
        large, small = families.get(result), families.get(source)
        if large is None or small is None:  # as most are
            family = large or small or []
            if large is None:
                family.append(result)
            if small is None and source != result:
                family.append(source)
            families[result] = families[source] = family
            continue
        if small is large:
            continue
        if len(small) > len(large):
            large, small = small, large
        large += small
        families.update(dict.fromkeys(small, large))
    return {reg: family[0] for reg, family in families.items()}


def _interference(
    parts: Sequence[_Part], before: Sequence[Sequence[int]], kin: _Ends
) -> dict[Reg, set[Reg]]:
    """For each end of a move that is written, those of its kin that are live there.

    Others cannot become one register with it, and most that are live together are no kin: each
    accumulator of a loop has its own.
    """
    conflicts: dict[Reg, set[Reg]] = {}
    for part, at_end in zip(parts, _live_sets(parts, before), strict=True):
        if not part.touches:
            continue
        live: defaultdict[Reg, set[Reg]] = defaultdict(set)
        for reg in at_end:
            live[kin[reg]].add(reg)
        for mi, is_move, written, used, same in reversed(part.touches):
            beside = _kin_among(written, kin) if len(written) > 1 else {}
            for reg in written:
                near = live[kin[reg]]
                if mi.guard is None:
                    near.discard(reg)
                others = near and near.difference((reg,), used if is_move else (), same)
                if reg in beside:
                    others = others | (beside[reg] - {reg})
                if others:
                    known = conflicts.get(reg)
                    conflicts[reg] = others if known is None else _united(known, others)
            for reg in used:
                live[kin[reg]].add(reg)
    return conflicts


def _kin_among(written: tuple[Reg, ...], kin: _Ends) -> dict[Reg, set[Reg]]:
    """For the registers that a record writes beside others of their kin, all of these."""
    families: defaultdict[Reg, set[Reg]] = defaultdict(set)
    for reg in written:
        families[kin[reg]].add(reg)
    if len(families) == len(written):  # as most are
        return {}
    return {reg: family for reg in written if len(family := families[kin[reg]]) > 1}


def _live_sets(parts: Sequence[_Part], before: Sequence[Sequence[int]]) -> list[set[Reg]]:
    """For each block, which ends of moves are live at its end.

    Each register goes back from where it is read to where it is written: most live in few blocks.
    """
    live: list[set[Reg]] = [set() for _ in parts]
    for i, part in enumerate(parts):
        for reg in part.awaited:
            work = [i]
            while work:
                for p in before[work.pop()]:
                    if reg not in live[p]:
                        live[p].add(reg)
                        if reg not in parts[p].written:
                            work.append(p)
    return live
