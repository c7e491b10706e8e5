"""Which thread's register holds which cell of tensor memory, in tcgen05.ld and .st.

Layer: nvgen.drawing.  Rows are lanes, columns are columns of tensor memory, both counted from the
instruction's address.  PTX ISA, Data Movement Shape (Table 47); Matrix Fragments; Packing and
Unpacking.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from intrinsics.layouts.fragments import fragment_cells
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import LdStNum, LdStShape
from nvgen.drawing.picture import MOST_CELLS, Cell, Panel, Picture, plural

REGISTERS = {
    LdStShape.S32X32B: 1,
    LdStShape.S16X64B: 1,
    LdStShape.S16X128B: 2,
    LdStShape.S16X256B: 4,
    LdStShape.S16X32BX2: 1,
}
"""Registers of a thread in one repetition of a shape; PTX ISA, Table 47."""

MOST_REGISTERS = 128


@dataclass(frozen=True, slots=True, order=True)
class _Held:
    """A register, or with packing a half of one, and the cell that it stands for."""

    lane: int
    column: int
    thread: int
    register: int
    half: int | None

    @property
    def label(self) -> str:
        """The label of the cell."""
        return f"T{self.thread} r{self.register}" + ("" if self.half is None else "lh"[self.half])

    @property
    def words(self) -> str:
        """The thread and register that hold the cell, as text."""
        part = "" if self.half is None else f", {('low', 'high')[self.half]} half"
        return f"thread {self.thread}, register {self.register}{part}"


def fragment_picture(
    shape: LdStShape, num: LdStNum, *, pack: bool = False, half_split: int = 0
) -> Picture:
    """The fragment of `shape.num`; with `pack` each register holds halves of two columns.

    `half_split` is the distance in columns of the two halves of .16x32bx2.
    """
    registers = REGISTERS[shape] * num.times
    found = sorted(_held(shape, registers, half_split, pack=pack))
    cells: dict[tuple[int, int], list[_Held]] = {}
    for one in found:
        cells.setdefault((one.lane, one.column), []).append(one)
    lanes = 32 if shape is LdStShape.S32X32B else 16
    columns = sorted({one.column for one in found})
    shown = columns[: MOST_CELLS // lanes]
    notes = [
        f"{plural(registers, 'register')} in each of 32 threads; T5 r1 is register 1 of thread 5; "
        "lanes and columns count from the instruction's address"
    ]
    if pack:
        notes.append("packed: l and h are halves of a register, from the low halves of two columns")
    if len(cells) < len(found):
        twice = plural(len(found) - len(cells), "cell")
        notes.append(f"{twice} are in two threads: the halves overlap")
    if len(shown) < len(columns):
        notes.append(f"abbreviated: {len(shown)} of {len(columns)} columns are drawn")
    name = f"{shape.value}.{num.value}" + (".pack::16b" if pack else "")
    panel = Panel(
        "",
        "column of 32 bits",
        "lane",
        [str(column) for column in shown],
        [str(lane) for lane in range(lanes)],
        [
            _cell(held, shown.index(column))
            for (_, column), held in cells.items()
            if column in shown
        ],
    )
    return Picture(f"registers of tcgen05.ld and .st, .{name}", notes, [panel])


def _held(shape: LdStShape, registers: int, half_split: int, *, pack: bool) -> Iterator[_Held]:
    """All registers of all threads.

    Packed, what is column c of the fragment is the low halves of the columns 2c and 2c + 1; the
    second half of .16x32bx2 begins where its operand says.
    """
    lanes, columns = np.broadcast_arrays(*fragment_cells(shape, registers))
    for thread, register in np.ndindex(lanes.shape):
        lane, column = int(lanes[thread, register]), int(columns[thread, register])
        second = half_split if shape is LdStShape.S16X32BX2 and thread >= 16 else 0
        if not pack:
            yield _Held(lane, column + second, thread, register, None)
            continue
        for half in (0, 1):
            yield _Held(lane, 2 * column + half + second, thread, register, half)


def _cell(held: list[_Held], place: int) -> Cell:
    first = held[0]
    title = f"lane {first.lane}, column {first.column}: " + "; ".join(one.words for one in held)
    return Cell(first.lane, place, " ".join(one.label for one in held), title, first.thread % 8)
