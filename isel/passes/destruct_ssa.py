"""Leave SSA form: PHI records become moves, and most moves go away again.

Layer: isel.passes.  Input: a function whose blocks begin with PHI records.  Output: the same
function without them.  A PHI's moves stand at the end of each block that it comes from; an edge
between a block with several successors and one with several predecessors gets a block of its own
first.  Moves at one place happen at the same time, so they are put in an order that reads before
it overwrites.  Registers that a move connects and that are never needed at the same time become
one (coalescing).
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics import catalog
from intrinsics.mir import (
    Block,
    Label,
    MachineFunction,
    MachineInstr,
    Reg,
    Scalar,
    form_of,
    predecessors,
    successors,
)

_PHI = "phi"


def destruct_ssa(function: MachineFunction) -> None:
    """Replace PHI records by moves, then coalesce."""
    if not any(mi.row.id == _PHI for mi in function.instructions()):
        return
    _split_critical_edges(function)
    moves = _place_moves(function)
    _coalesce(function, moves)


def move(function: MachineFunction, result: Reg, source: Scalar, loc: int) -> MachineInstr:
    """A move into `result`."""
    cls = function.regs.classes[result]
    return MachineInstr(form_of(catalog.row("mov"), type=cls), (result, source), None, loc)


def _phis(block: Block) -> list[MachineInstr]:
    found = []
    for mi in block.instrs:
        if mi.row.id != _PHI:
            break
        found.append(mi)
    return found


# ---- edges -----------------------------------------------------------------------------------


def _split_critical_edges(function: MachineFunction) -> None:
    names = {block.name for block in function.blocks}
    after, before = successors(function), predecessors(function)
    additions: list[Block] = []
    for i, block in enumerate(function.blocks):
        if not _phis(block):
            continue
        for p in before[i]:
            source = function.blocks[p]
            if len(after[p]) < 2:
                continue
            name = _fresh(f"{source.name}_to_{block.name}", names)
            between = Block(name)
            bra = form_of(catalog.row("bra"))
            between.instrs.append(MachineInstr(bra, (Label(block.name),)))
            _retarget(source, block.name, name)
            _rename_incoming(block, source.name, name)
            additions.append(between)
    function.blocks += additions


def _fresh(wanted: str, names: set[str]) -> str:
    name, n = wanted, 1
    while name in names:
        n += 1
        name = f"{wanted}_{n}"
    names.add(name)
    return name


def _retarget(block: Block, old: str, new: str) -> None:
    for mi in block.instrs:
        if mi.form.is_terminator and Label(old) in mi.ops:
            mi.ops = tuple(Label(new) if op == Label(old) else op for op in mi.ops)


def _rename_incoming(block: Block, old: str, new: str) -> None:
    for phi in _phis(block):
        result, values, blocks = phi.ops
        assert isinstance(blocks, tuple)
        renamed = tuple(Label(new) if b == Label(old) else b for b in blocks)
        phi.ops = (result, values, renamed)


# ---- moves -----------------------------------------------------------------------------------


def _place_moves(function: MachineFunction) -> list[MachineInstr]:
    """Turn PHI records into moves; returns those between two registers."""
    by_name = {block.name: block for block in function.blocks}
    parallel: dict[str, list[tuple[Reg, Scalar, int]]] = {}
    for block in function.blocks:
        phis = _phis(block)
        for phi in phis:
            result, values, blocks = phi.ops
            assert isinstance(result, int)
            assert isinstance(values, tuple)
            assert isinstance(blocks, tuple)
            for value, label in zip(values, blocks, strict=True):
                assert isinstance(label, Label)
                parallel.setdefault(label.name, []).append((result, value, phi.loc))
        del block.instrs[: len(phis)]
    found: list[MachineInstr] = []
    for name, moves in parallel.items():
        ordered = _sequence(function, moves)
        instrs = by_name[name].instrs
        end = next((i for i, mi in enumerate(instrs) if mi.form.is_terminator), len(instrs))
        instrs[end:end] = ordered
        found += [mi for mi in ordered if type(mi.ops[1]) is int]
    return found


def _sequence(
    function: MachineFunction, moves: Iterable[tuple[Reg, Scalar, int]]
) -> list[MachineInstr]:
    """Moves that happen at the same time, one after the other."""
    pending = {result: (source, loc) for result, source, loc in moves if result != source}
    ordered: list[MachineInstr] = []
    while pending:
        read = {source for source, _ in pending.values() if type(source) is int}
        free = [result for result in pending if result not in read]
        if not free:
            # Only cycles are left: save one register, and read it from the copy.
            result, (_, loc) = next(iter(pending.items()))
            saved = function.regs.new(function.regs.classes[result])
            ordered.append(move(function, saved, result, loc))
            pending = {
                r: (saved if source == result else source, at)
                for r, (source, at) in pending.items()
            }
            continue
        for result in free:
            source, loc = pending.pop(result)
            ordered.append(move(function, result, source, loc))
    return ordered


# ---- coalescing ------------------------------------------------------------------------------


def _coalesce(function: MachineFunction, moves: list[MachineInstr]) -> None:
    """Make one register of the two ends of a move wherever they are never live together."""
    ends = {reg for mi in moves for reg in (*mi.defs(), *mi.uses())}
    index = {reg: i for i, reg in enumerate(sorted(ends))}
    conflicts = _interference(function, index)
    union = _Classes(len(index), conflicts)
    classes = function.regs.classes
    order = sorted(index, key=index.__getitem__)
    for mi in moves:
        (result,), (source,) = mi.defs(), mi.uses()
        if classes[result] is classes[source]:
            union.join(index[result], index[source])
    table = {reg: order[union.find(i)] for reg, i in index.items()}
    names = function.regs.names
    for reg, chosen in table.items():
        names[chosen] = names[chosen] or names[reg]
    for block in function.blocks:
        for mi in block.instrs:
            mi.map_registers(table)
        block.instrs = [mi for mi in block.instrs if not _is_identity(mi)]


def _is_identity(mi: MachineInstr) -> bool:
    return mi.row.id == "mov" and mi.ops[0] == mi.ops[1] and type(mi.ops[1]) is int


class _Classes:
    """Sets of registers that have become one, with what each may not meet (bit sets).

    Who may not meet a member of a set has the member's own bit, so it needs no news when sets join.
    """

    def __init__(self, count: int, conflicts: list[int]) -> None:
        self.parent = list(range(count))
        self.members = [1 << i for i in range(count)]
        self.conflicts = conflicts

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def join(self, a: int, b: int) -> None:
        a, b = self.find(a), self.find(b)
        if a == b or self.conflicts[a] & self.members[b]:
            return
        self.parent[b] = a
        self.members[a] |= self.members[b]
        self.conflicts[a] |= self.conflicts[b]


def _interference(function: MachineFunction, index: dict[Reg, int]) -> list[int]:
    """For each register of `index`, the others that are live where it is written."""
    live_out = live_sets(function, index)
    conflicts = [0] * len(index)
    for block, live in zip(function.blocks, live_out, strict=True):
        for mi in reversed(block.instrs):
            written = [index[r] for r in mi.defs() if r in index]
            used = [index[r] for r in mi.uses() if r in index]
            copied = used[0] if mi.row.id == "mov" and len(used) == 1 and written else -1
            for i in written:
                others = live & ~(1 << i)
                if copied >= 0:
                    others &= ~(1 << copied)
                conflicts[i] |= others
                for j in _bits(others):
                    conflicts[j] |= 1 << i
            if mi.guard is None:
                for i in written:
                    live &= ~(1 << i)
            for i in used:
                live |= 1 << i
    return conflicts


def _bits(mask: int) -> Iterable[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def live_sets(function: MachineFunction, index: dict[Reg, int]) -> list[int]:
    """For each block, which registers of `index` are live at its end, as bit sets."""
    use, define = [], []
    for block in function.blocks:
        used = written = 0
        for mi in block.instrs:
            for reg in mi.uses():
                if reg in index:
                    used |= (1 << index[reg]) & ~written
            if mi.guard is None:
                for reg in mi.defs():
                    if reg in index:
                        written |= 1 << index[reg]
        use.append(used)
        define.append(written)
    after = successors(function)
    before = predecessors(function)
    live_in, live_out = list(use), [0] * len(use)
    work = list(range(len(use)))
    while work:
        i = work.pop()
        out = 0
        for s in after[i]:
            out |= live_in[s]
        live_out[i] = out
        new_in = use[i] | (out & ~define[i])
        if new_in != live_in[i]:
            live_in[i] = new_in
            work.extend(before[i])
    return live_out
