"""Numbers that accumulators begin with: none where a multiply replaces them, else before the fence.

Layer: isel.passes.  Input and output: a function without PHI records.  In LLVM IR zeros are an
operand of the multiply, so the moves that bring them into its registers stand where the multiply
does: behind its fence, with what was written between the two.  A multiply whose scale-d is false
does not read what is there, so it needs none; other numbers are moved there before the nearest
fence that every path to them passes.  PTX ISA, wgmma.fence; wgmma.mma_async (scale-d).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from intrinsics.lazy_dataclass import dataclass
from intrinsics.memo import Memo
from intrinsics.mir import (
    Block,
    FloatImm,
    Form,
    Imm,
    MachineFunction,
    MachineInstr,
    Reg,
    inverted,
    registers_of,
    successors,
)
from intrinsics.row import Completion
from isel.control_flow import dominators, reach

FENCE = "wgmma.fence"


def is_multiply(mi: MachineInstr) -> bool:
    """Whether the record is a wgmma multiply."""
    return multiplies_in(mi.form)


def multiplies_in(form: Form) -> bool:
    """Whether records of a form are multiplies of a warpgroup."""
    return form.row.effects.completion is Completion.WGMMA_GROUP


_MULTIPLIES = Memo(multiplies_in)


def multiplies_among(forms: Iterable[Form]) -> frozenset[Form]:
    """The forms whose records are multiplies of a warpgroup: of most functions none."""
    return frozenset(filter(_MULTIPLIES.__getitem__, forms))


def fill_before_fences(function: MachineFunction, filled: set[Reg]) -> None:
    """Take out numbers that nothing reads, and move others of `filled` registers before fences."""
    for needless in (_repeated_numbers, _dead_numbers):
        for block, gone in zip(function.blocks, list(needless(function, filled)), strict=True):
            if gone:
                block.instrs = [mi for at, mi in enumerate(block.instrs) if at not in gone]
    for i in range(len(function.blocks)):
        _hoist_from(function, i, filled)


def _number_into(mi: MachineInstr, filled: set[Reg]) -> Reg | None:
    """The register of `filled` that a record moves a number into."""
    if mi.row.id != "mov" or mi.guard is not None:
        return None
    result, source = mi.ops
    is_number = isinstance(source, (Imm, FloatImm))
    return result if is_number and isinstance(result, int) and result in filled else None


def read_by(mi: MachineInstr) -> set[Reg]:
    """Registers that a record reads; a multiply with scale-d of 0 reads no accumulator."""
    found = set(mi.uses())
    if is_multiply(mi):
        replaces = mi["scale_d"] == Imm(0)
        accumulator = set(registers_of(mi["d"]))
        found = found - accumulator if replaces else found | accumulator
    return found


_Touching = list[tuple[int, MachineInstr]]
"""Records of a block, by their indices."""


def _touching(blocks: Sequence[Block], filled: set[Reg]) -> list[_Touching]:
    """For each block the records that write or read registers of `filled`: few, and all that
    says what is in them."""
    return [
        [(at, mi) for at, mi in enumerate(block.instrs) if mi.mentions(filled)] for block in blocks
    ]


# ---- numbers that are there already ----------------------------------------------------------

_Numbers = dict[Reg, Imm | FloatImm]


def _repeated_numbers(function: MachineFunction, filled: set[Reg]) -> Iterator[set[int]]:
    """For each block the indices of the moves of numbers that are in their registers already."""
    before = inverted(successors(function))
    touching = _touching(function.blocks, filled)
    ends: list[_Numbers | None] = [None for _ in before]  # None until a path to the block is known
    changed = True
    while changed:
        changed = False
        for i, records in enumerate(touching):
            known = _at_entry(i, before, ends)
            if known is not None:
                for _, mi in records:
                    _note(mi, known, filled)
                changed |= known != ends[i]
                ends[i] = known
    for i, records in enumerate(touching):
        known = _at_entry(i, before, ends) or {}
        repeated: set[int] = set()
        for at, mi in records:
            reg = _number_into(mi, filled)
            if reg is not None and known.get(reg) == mi.ops[1]:
                repeated.add(at)
            _note(mi, known, filled)
        yield repeated


def _at_entry(
    i: int, before: Sequence[Sequence[int]], ends: Sequence[_Numbers | None]
) -> _Numbers | None:
    """The numbers that registers hold where a block begins, on every path there that is known."""
    if i == 0:
        return {}
    incoming = [numbers for block in before[i] if (numbers := ends[block]) is not None]
    if not incoming:
        return None
    first, *others = incoming
    return {reg: n for reg, n in first.items() if all(other.get(reg) == n for other in others)}


def _note(mi: MachineInstr, known: _Numbers, filled: set[Reg]) -> None:
    """What registers hold behind a record."""
    for overwritten in mi.defs():
        known.pop(overwritten, None)
    reg = _number_into(mi, filled)
    number = mi.ops[1] if reg is not None else None
    if reg is not None and isinstance(number, (Imm, FloatImm)):
        known[reg] = number


# ---- numbers that nothing reads --------------------------------------------------------------


def _dead_numbers(function: MachineFunction, filled: set[Reg]) -> Iterator[set[int]]:
    """For each block the indices of the moves of numbers that no record reads."""
    after = successors(function)
    touching = _touching(function.blocks, filled)
    entry = _live_at_entry(touching, after, filled)
    for records, following in zip(touching, after, strict=True):
        live = set().union(*(entry[target] for target in following))
        dead: set[int] = set()
        for at, mi in reversed(records):
            reg = _number_into(mi, filled)
            if reg is not None and reg not in live:
                dead.add(at)
            else:
                live = _before(mi, live, filled)
        yield dead


def _before(mi: MachineInstr, live: set[Reg], filled: set[Reg]) -> set[Reg]:
    """What is needed before a record where `live`, of those in `filled`, is behind it."""
    written = filled.intersection(mi.defs()) if mi.guard is None else ()
    read = filled.intersection(read_by(mi) if is_multiply(mi) else mi.uses())
    kept = live.difference(written) if written else live
    return kept | read if read else kept


def _live_at_entry(
    touching: Sequence[_Touching], after: Sequence[Sequence[int]], filled: set[Reg]
) -> list[set[Reg]]:
    """The registers of `filled` whose contents count where each block begins."""
    found: list[set[Reg]] = [set() for _ in touching]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(touching))):
            live = set().union(*(found[target] for target in after[i]))
            for _, mi in reversed(touching[i]):
                live = _before(mi, live, filled)
            if live != found[i]:
                found[i], changed = live, True
    return found


# ---- before the fence ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Flow:
    """The edges between blocks, and the registers of accumulators that each touches.

    `mentioned` are the registers in each record of each block.
    """

    blocks: Sequence[Block]
    filled: set[Reg]
    after: list[list[int]]
    before: list[list[int]]
    over: list[int]
    entry: list[set[Reg]]
    touched: list[set[Reg]]
    mentioned: list[list[list[Reg]]]


def _flow(function: MachineFunction, filled: set[Reg]) -> _Flow:
    after = successors(function)
    mentioned = [[mi.defs() + mi.uses() for mi in block.instrs] for block in function.blocks]
    touched = [filled.intersection(chain.from_iterable(records)) for records in mentioned]
    entry = _live_at_entry(_touching(function.blocks, filled), after, filled)
    before, over = inverted(after), dominators(after)
    return _Flow(function.blocks, filled, after, before, over, entry, touched, mentioned)


def _hoist_from(function: MachineFunction, at: int, filled: set[Reg]) -> None:
    """Move the numbers in one block that multiplies read with no fence in between."""
    block = function.blocks[at]
    numbers = {
        i: reg for i, mi in enumerate(block.instrs) if (reg := _number_into(mi, filled)) is not None
    }
    if not numbers:
        return
    flow, moved = _flow(function, filled), list[tuple[tuple[int, MachineInstr], MachineInstr]]()
    for i, reg in numbers.items():
        found = _fence_before(flow, at, i, reg) if _is_asked(flow, at, i + 1, reg) else None
        if found is not None:
            moved.append((found, flow.blocks[at].instrs[i]))
    for (target, fence), number in moved:
        block.instrs = [mi for mi in block.instrs if mi is not number]
        home = function.blocks[target].instrs
        home.insert(next(j for j, mi in enumerate(home) if mi is fence), number)


def _is_asked(flow: _Flow, at: int, start: int, reg: Reg) -> bool:
    """Whether a multiply reads a register behind a record, with no fence on the path."""
    seen: set[int] = set()
    pending = [(at, start)]
    while pending:
        block, first = pending.pop()
        records, mentioned = flow.blocks[block].instrs, flow.mentioned[block]
        for mi, regs in zip(records[first:], mentioned[first:], strict=True):
            if mi.row.id == FENCE:
                break
            if reg in regs:
                if is_multiply(mi):
                    return True
                break
        else:
            pending += [(target, 0) for target in flow.after[block] if target not in seen]
            seen.update(flow.after[block])
    return False


def _fence_before(flow: _Flow, at: int, i: int, reg: Reg) -> tuple[int, MachineInstr] | None:
    """The nearest fence on every path to a record, and its block; None where a number that is moved
    there would not be the same at the record, or would overwrite what is needed.
    """
    target: int | None = at
    records = flow.blocks[at].instrs[:i]
    while target is not None:
        for mi in reversed(records):
            if mi.row.id == FENCE:
                return (target, mi) if reg not in _live_before(flow, target, mi) else None
            if reg in mi.defs() or reg in mi.uses():
                return None
        target = _dominator(flow, target)
        if target is None or not _is_untouched(flow, target, at, reg):
            return None
        records = flow.blocks[target].instrs
    return None


def _live_before(flow: _Flow, at: int, record: MachineInstr) -> set[Reg]:
    """The registers whose contents count before a record."""
    live = set().union(*(flow.entry[target] for target in flow.after[at]))
    for mi in reversed(flow.blocks[at].instrs):
        live = _before(mi, live, flow.filled)
        if mi is record:
            break
    return live


def _dominator(flow: _Flow, at: int) -> int | None:
    """The nearest other block that every path to a block passes."""
    others = [i for i in range(len(flow.blocks)) if i != at and flow.over[at] >> i & 1]
    return max(others, key=lambda i: flow.over[i].bit_count(), default=None)


def _is_untouched(flow: _Flow, begin: int, end: int, reg: Reg) -> bool:
    """Whether all paths to `end` pass `begin` again, and no block between has the register."""
    if end in reach(flow.after, flow.after[end], {begin}):
        return False
    between = reach(flow.after, flow.after[begin], {begin, end})
    between &= reach(flow.before, flow.before[end], {begin, end})
    return not any(reg in flow.touched[i] for i in between)
