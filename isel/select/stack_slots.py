"""Variables on the stack that are never alive at once have the same memory.

Layer: isel.select.  Input: the reachable blocks of a function.  Output: for each alloca whose life
`llvm.lifetime.start` and `.end` bound, the slot that it has with others.  A small array that ptxas
keeps in registers costs a chain of selects for each element that it has: two inlined copies of one
function, each with such an array, would have chains of twice the length.  LLVM LangRef,
llvm.lifetime.start; PTX ISA, State Spaces: Local State Space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout

_MARK = "llvm.lifetime."
_START = "llvm.lifetime.start"


@dataclass(slots=True)
class Slot:
    """Memory of several variables: bytes and alignment that suffice for each, and which share it.

    `variable` is its name in PTX, once there is one.
    """

    size: int
    align: int
    members: int = 0  # a bit for each variable
    variable: str = ""


def shared_slots(blocks: Sequence[ir.Block], layout: TypeLayout) -> dict[str, Slot]:
    """The slots that several variables share, by the variables' names.

    None where a mark names no alloca: it might begin the life of any.
    """
    entry = [i for i in blocks[0].instructions if isinstance(i, ir.Alloca)]
    if len(entry) < 2:
        return {}
    marks = [mark for block in blocks for mark in _marks(block)]
    allocas = _bounded(entry, {mark.name for mark in marks if mark.starts})
    if any(mark.name not in allocas for mark in marks):
        return {}
    bits = {name: 1 << n for n, name in enumerate(allocas)}
    others = _alive_at_once(blocks, bits)
    slots: list[Slot] = []
    found: dict[str, Slot] = {}
    rooms = {name: room(alloca, layout) for name, alloca in allocas.items()}
    for name, (size, align) in sorted(rooms.items(), key=lambda item: -item[1][0]):
        slot = next((s for s in slots if not s.members & others[name]), None)
        if slot is None:
            slots.append(slot := Slot(size, align))
        slot.members |= bits[name]
        slot.align = max(slot.align, align)
        found[name] = slot
    return {name: slot for name, slot in found.items() if slot.members.bit_count() > 1}


@dataclass(frozen=True, slots=True)
class _Mark:
    """A call that begins or ends the life of a variable, "" where it names none."""

    starts: bool
    name: str


def _marks(block: ir.Block) -> Iterator[_Mark]:
    """The marks of a block, in order."""
    for i in block.instructions:
        if isinstance(i, ir.Call) and (callee := i.callee_name or "").startswith(_MARK):
            pointer = i.arguments[-1]
            name = pointer.name if isinstance(pointer, llvm.Local) else ""
            yield _Mark(callee.startswith(_START), name)


def _bounded(entry: Sequence[ir.Alloca], started: set[str]) -> dict[str, ir.Alloca]:
    """The variables of constant size in the entry block whose life begins with a mark."""
    return {
        i.result: i for i in entry if i.result in started and isinstance(i.count, llvm.ConstInt)
    }


def room(alloca: ir.Alloca, layout: TypeLayout) -> tuple[int, int]:
    """The bytes and the alignment of a variable of constant size."""
    assert isinstance(alloca.count, llvm.ConstInt)
    size = layout.size(alloca.allocated_type) * alloca.count.value
    return size, alloca.alignment or layout.align(alloca.allocated_type)


def _alive_at_once(blocks: Sequence[ir.Block], bits: dict[str, int]) -> dict[str, int]:
    """For each variable the others that may be alive at some point where it is."""
    marks = {block.name: list(_marks(block)) for block in blocks}
    alive = _alive_on_entry(blocks, marks, bits)
    others = dict.fromkeys(bits, 0)
    for block in blocks:
        now = alive[block.name]
        _meet(others, bits, now)
        for mark in marks[block.name]:
            now = _after(now, mark, bits)
            if mark.starts:
                _meet(others, bits, now)
    return {name: set_ & ~bits[name] for name, set_ in others.items()}


def _meet(others: dict[str, int], bits: dict[str, int], now: int) -> None:
    """All that are alive now are alive at once."""
    for name, bit in bits.items():
        if now & bit:
            others[name] |= now


def _after(alive: int, mark: _Mark, bits: dict[str, int]) -> int:
    """What is alive behind a mark."""
    return alive | bits[mark.name] if mark.starts else alive & ~bits[mark.name]


def _alive_on_entry(
    blocks: Sequence[ir.Block], marks: dict[str, list[_Mark]], bits: dict[str, int]
) -> dict[str, int]:
    """What may be alive where each block begins: what is behind one that leads to it."""
    by_name = {block.name: block for block in blocks}
    alive = dict.fromkeys(by_name, 0)
    work = list(by_name)
    while work:
        name = work.pop()
        now = alive[name]
        for mark in marks[name]:
            now = _after(now, mark, bits)
        for target in by_name[name].instructions[-1].targets():
            if now & ~alive[target]:
                alive[target] |= now
                work.append(target)
    return alive
