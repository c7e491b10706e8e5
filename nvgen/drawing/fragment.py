"""Which thread's register holds which cell of tensor memory, in tcgen05.ld and .st.

Layer: nvgen.drawing.  Rows are lanes, columns are columns of tensor memory, both counted from the
instruction's address.  PTX ISA, Data Movement Shape (Table 47); Matrix Fragments; Packing and
Unpacking.
"""

from __future__ import annotations

import numpy as np

from intrinsics.fragments import fragment_cells
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


def fragment_picture(
    shape: LdStShape, num: LdStNum, *, pack: bool = False, half_split: int = 0
) -> Picture:
    """The fragment of `shape.num`; with `pack` each register holds halves of two columns.

    `half_split` is the distance in columns of the two halves of .16x32bx2.  Packed, what is column
    c of the fragment is the low halves of the columns 2c and 2c + 1.
    """
    registers = REGISTERS[shape] * num.times
    lane, column = np.broadcast_arrays(*fragment_cells(shape, registers, 0 if pack else half_split))
    found: list[tuple[int, int, int, int, int]] = []
    for thread, register in np.ndindex(lane.shape):
        where, place = int(lane[thread, register]), int(column[thread, register])
        if not pack:
            found.append((where, place, thread, register, 0))
            continue
        second = half_split if shape is LdStShape.S16X32BX2 and thread >= 16 else 0
        found += [(where, 2 * place + h + second, thread, register, h) for h in (0, 1)]
    return _picture(shape, num, registers, found, pack=pack)


def _picture(
    shape: LdStShape,
    num: LdStNum,
    registers: int,
    found: list[tuple[int, int, int, int, int]],
    *,
    pack: bool,
) -> Picture:
    lanes = 32 if shape is LdStShape.S32X32B else 16
    columns = sorted({column for _, column, *_ in found})
    shown = columns[: MOST_CELLS // lanes]
    index = {column: i for i, column in enumerate(shown)}
    held: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for lane, column, *holder in sorted(found):
        if column in index:
            held.setdefault((lane, column), []).append((holder[0], holder[1], holder[2]))
    cells = [
        Cell(
            lane,
            index[column],
            " ".join(_label(*holder, pack=pack) for holder in holders),
            f"lane {lane}, column {column}: "
            + "; ".join(_words(*holder, pack=pack) for holder in holders),
            holders[0][0] % 8,
        )
        for (lane, column), holders in held.items()
    ]
    notes = [
        f"{plural(registers, 'register')} in each of 32 threads; T5 r1 is register 1 of thread 5; "
        "lanes and columns count from the instruction's address"
    ]
    if pack:
        notes.append("packed: the low half of each cell; an even column is a register's low half")
    twice = len(found) - len({(lane, column) for lane, column, *_ in found})
    if twice:
        notes.append(f"{plural(twice, 'cell')} are in two threads: the halves overlap")
    if len(shown) < len(columns):
        notes.append(f"abbreviated: {len(shown)} of {len(columns)} columns are drawn")
    name = f"{shape.value}.{num.value}" + (".pack::16b" if pack else "")
    panel = Panel(
        "", "column of 32 bits", "lane", [str(c) for c in shown], [str(i) for i in range(lanes)],
        cells,
    )  # fmt: skip
    return Picture(f"registers of tcgen05.ld and .st, .{name}", notes, [panel])


def _label(thread: int, register: int, half: int, *, pack: bool) -> str:
    return f"T{thread} r{register}" + (("l", "h")[half] if pack else "")


def _words(thread: int, register: int, half: int, *, pack: bool) -> str:
    part = (", low half", ", high half")[half] if pack else ""
    return f"thread {thread}, register {register}{part}"
