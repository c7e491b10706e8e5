"""Where D, or A, lies in tensor memory: lanes down, columns of 32 bits across.

Layer: nvgen.drawing.  A drawn cell is a block of lanes and columns that holds a block of the
matrix: as fine as the size of a picture allows, or as coarse as the layout allows.  PTX ISA, Data
Path Layout Organization.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts.data_paths import Cells
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import LANES
from nvgen.drawing.picture import MOST_CELLS, Cell, Panel, Picture, plural, span_text

Grid = NDArray[np.int64]
_NOTHING = -1
_MOST_COLUMNS = 32
"""Drawn columns that are wide enough for a label."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The matrix that is drawn: its name, and the elements of a 32-bit cell.

    `lane` is that of the address; `pair` says that two CTAs have a part each.
    """

    name: str
    per_cell: int
    lane: int
    pair: bool


@dataclass(frozen=True, slots=True)
class _Block:
    """How many lanes and columns one drawn cell takes."""

    lanes: int
    columns: int


def tensor_picture(
    title: str,
    notes: Sequence[str],
    subject: Subject,
    copies: Sequence[Cells],
    *,
    coarse: bool,
) -> Picture:
    """The picture of a matrix in tensor memory; each of `copies` has a cell for every element."""
    grids = [_grid(copies, rank, subject.lane) for rank in ((0, 1) if subject.pair else (0,))]
    block = _coarse_block(grids) if coarse else _fine_block(grids)
    width = max(rows.shape[1] for rows, _ in grids) // block.columns
    most = MOST_CELLS // (LANES // block.lanes) // len(grids)
    told = [*notes]
    if block.columns > 1 or block.lanes > 1:
        what = f"{plural(block.lanes, 'lane')} by {plural(block.columns, 'column')}"
        told.append(f"a drawn cell is {what}" + ("" if coarse else ", its first element named"))
    if width > most:
        told.append(f"abbreviated: {most * block.columns} of {width * block.columns} columns")
    panels = [
        _panel(subject, rank, grid, block, min(width, most)) for rank, grid in enumerate(grids)
    ]
    return Picture(title, told, panels)


def _grid(copies: Sequence[Cells], rank: int, lane: int) -> tuple[Grid, Grid]:
    """The row and the column of the matrix at each lane and column of one CTA."""
    parts = [np.broadcast_arrays(one.rank, one.lane, one.column) for one in copies]
    columns = max(int(column.max()) for _, _, column in parts) + 1
    rows, places = (np.full((LANES, columns), _NOTHING, np.int64) for _ in range(2))
    for ranks, lanes, cells in parts:
        here = np.nonzero(ranks == rank)
        rows[lanes[here] + lane, cells[here]], places[lanes[here] + lane, cells[here]] = here
    return rows, places


def _even(grid: tuple[Grid, Grid], block: _Block) -> bool:
    """Whether every block is empty, or holds a block of the matrix."""
    rows, places = grid
    shape = (LANES // block.lanes, block.lanes, -1, block.columns)
    if rows.shape[1] % block.columns:
        return False
    cut, across = rows.reshape(shape), places.reshape(shape)
    empty = (cut == _NOTHING).all(axis=(1, 3))
    down = np.arange(block.lanes)[:, None, None]
    right = np.arange(block.columns)
    same = (cut == cut[:, :1, :, :1] + down) & (across == across[:, :1, :, :1] + right)
    return bool((empty | same.all(axis=(1, 3)) & (cut[:, 0, :, 0] != _NOTHING)).all())


def _coarse_block(grids: list[tuple[Grid, Grid]]) -> _Block:
    """The largest block of at most the lanes of a warp."""
    columns = grids[0][0].shape[1]
    for width in (w for w in range(columns, 0, -1) if columns % w == 0):
        for lanes in (32, 16, 8, 4, 2, 1):
            block = _Block(lanes, width)
            if all(_even(grid, block) for grid in grids):
                return block
    return _Block(1, 1)


def _fine_block(grids: list[tuple[Grid, Grid]]) -> _Block:
    """The narrowest block of one lane with which the picture is small enough."""
    columns = grids[0][0].shape[1]
    most = min(_MOST_COLUMNS, MOST_CELLS // LANES // len(grids))
    widths = [w for w in range(1, columns + 1) if columns % w == 0 and columns // w <= most]
    fitting = [_Block(1, w) for w in widths if all(_even(g, _Block(1, w)) for g in grids)]
    return fitting[0] if fitting else _Block(1, 1)


def _panel(
    subject: Subject, rank: int, grid: tuple[Grid, Grid], block: _Block, width: int
) -> Panel:
    cells = list(_cells(subject, rank, grid, block, width))
    starts = range(0, width * block.columns, block.columns)
    return Panel(
        f"{_cta(rank)} of the pair" if subject.pair else "",
        "column of 32 bits",
        "lane",
        [_range(start, block.columns) if block.lanes > 1 else str(start) for start in starts],
        [_range(lane, block.lanes) for lane in range(0, LANES, block.lanes)],
        cells,
    )


def _cells(
    subject: Subject, rank: int, grid: tuple[Grid, Grid], block: _Block, width: int
) -> Iterator[Cell]:
    rows, places = (one[:: block.lanes, :: block.columns][:, :width] for one in grid)
    part = grid[0].shape[1]
    for down, across in np.argwhere(rows != _NOTHING).tolist():
        row, place = int(rows[down, across]), int(places[down, across]) * subject.per_cell
        last = (row + block.lanes - 1, place + block.columns * subject.per_cell - 1)
        lane, column = down * block.lanes, across * block.columns
        where = f"{_many('lane', lane, block.lanes)}, {_many('column', column, block.columns)}"
        cta = f"{_cta(rank)}, " if subject.pair else ""
        held = f"{subject.name}[{row}, {place}]"
        if last != (row, place):
            held += f" to {subject.name}[{last[0]}, {last[1]}]"
        label = f"{row},{place}"
        if block.lanes > 1:
            length = block.columns * subject.per_cell
            label = f"{subject.name}[{_range(row, block.lanes)}, {_range(place, length)}]"
        colour = row // 32 % 4 + place // subject.per_cell // part % 2 * 4
        yield Cell(down, across, label, f"{cta}{where}: {held}", colour)


def _cta(rank: int) -> str:
    return ("even CTA", "odd CTA")[rank]


def _many(noun: str, first: int, count: int) -> str:
    return f"{noun}{'s' if count > 1 else ''} {span_text(first, first + count - 1)}"


def _range(first: int, count: int) -> str:
    return f"{first}" if count == 1 else f"{first}-{first + count - 1}"
