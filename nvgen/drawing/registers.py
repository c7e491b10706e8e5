"""Which thread's register holds which element of a matrix, in instructions of warps and warpgroups.

Layer: nvgen.drawing.  PTX ISA, ldmatrix; stmatrix; Register Fragments and Shared Memory Matrix
Layouts.
"""

from __future__ import annotations

import numpy as np

from intrinsics.layouts.register_elements import RegisterFragment
from nvgen.drawing.picture import MOST_CELLS, Cell, Panel, Picture, plural, span_text

_WARP = 32


def registers_picture(fragment: RegisterFragment) -> Picture:
    """The matrix, with what holds each of its elements; neighbours in a register are one cell."""
    rows, columns = fragment.shape
    shown = min(columns, MOST_CELLS // rows)
    threads, registers, elements = fragment.row.shape
    notes = [
        f"{plural(registers, 'register')} in each of {threads} threads; T5 r1 is register 1 of "
        "thread 5" + (", T5 r1.0 its lowest element" if elements > 1 else "")
    ]
    if 0 < len(fragment.threads) < _WARP:
        notes.append("the other threads have none")
    if fragment.note:
        notes.append(fragment.note)
    if shown < columns:
        notes.append(f"abbreviated: {shown} of {columns} columns are drawn")
    panel = Panel(
        "",
        fragment.across,
        fragment.down,
        [str(column) for column in range(shown)],
        [str(row) for row in range(rows)],
        [cell for cell in _cells(fragment) if cell.column + cell.span <= shown],
    )
    return Picture(fragment.title, notes, [panel])


def _cells(fragment: RegisterFragment) -> list[Cell]:
    """A cell for each run of neighbours, in the order of the matrix."""
    found = []
    threads, registers, _ = fragment.row.shape
    for thread, register in np.ndindex(threads, registers):
        rows, columns = fragment.row[thread, register], fragment.column[thread, register]
        breaks = np.flatnonzero((np.diff(rows) != 0) | (np.diff(columns) != 1)) + 1
        for run in np.split(np.arange(rows.size), breaks):
            first, last = int(run[0]), int(run[-1])
            found.append(_cell(fragment, thread, register, first, last))
    return sorted(found, key=lambda cell: (cell.row, cell.column))


def _cell(fragment: RegisterFragment, thread: int, register: int, first: int, last: int) -> Cell:
    row, column = (int(a[thread, register, first]) for a in (fragment.row, fragment.column))
    whole = last - first + 1 == fragment.row.shape[2]
    number = fragment.holders[thread]
    label = f"T{number} r{register}" + ("" if whole else f".{first}")
    end, low = column + last - first, fragment.low
    bits = span_text(low + first * fragment.bits, low + (last + 1) * fragment.bits - 1)
    title = (
        f"{fragment.down} {row}, column {span_text(column, end)}: thread {number}, "
        f"register {register}, bits {bits}"
    )
    return Cell(row, column, label, title, number % 8, span=last - first + 1)
