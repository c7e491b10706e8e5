"""Where scale factors and sparsity metadata lie in tensor memory: parts of cells.

Layer: nvgen.drawing.  Scale factors are bytes and stand in each partition of 32 lanes; a chunk's
metadata has four bits.  PTX ISA, Scale Factor A ID; Scale Factor B ID; Sparsity selector.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from intrinsics.layouts.data_paths import DataPath
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.layouts.scale_factors import FactorCells
from intrinsics.layouts.sparse import CHUNK_BITS, chunk
from intrinsics.limits import LANES
from intrinsics.modifiers import MmaKind
from nvgen.drawing.picture import Cell, Panel, Picture, listed

_BYTES, _LANES = 4, 32
_NIBBLES = 32 // CHUNK_BITS


def factor_picture(
    title: str, notes: Sequence[str], name: str, rows: int, found: FactorCells
) -> Picture:
    """The factors of `rows` rows; factor f of a row scales the f-th part of K."""
    lanes, columns, places = np.broadcast_arrays(found.lane, found.column, found.byte)
    drawn = sorted(set(lanes.ravel().tolist()))
    cells = []
    for row, factor in np.ndindex(lanes.shape):
        lane, column, byte = (int(a[row, factor]) for a in (lanes, columns, places))
        where = f"lanes {listed([start + lane for start in found.copies])}"
        what = f"{name}[{row}, {factor}]"
        cells.append(
            Cell(drawn.index(lane), column * _BYTES + byte, f"{row},{factor}",
                 f"{where}, column {column}, byte {byte}: {what}", row // _LANES)
        )  # fmt: skip
    names = [f"{c}.{b}" for c in range(int(columns.max()) + 1) for b in range(_BYTES)]
    further = listed(found.copies[1:])
    told = [
        *notes,
        f"row, factor; the same stands {further} lanes further on; columns count from the address",
    ]
    panel = Panel("", "column.byte", "lane", names, [str(i) for i in drawn], sorted(cells, key=_at))
    return Picture(title, told, [panel])


def metadata_picture(path: DataPath, kind: MmaKind, k: int, selector: int, lane: int) -> Picture:
    """The metadata of one sparse instruction, all copies of it; `lane` is the address's.

    Raises: ValueError for a selector that the kind has not; NotImplementedError for a layout that
    is not known.
    """
    copies = metadata_cells(path, path.m, kind, k, selector)
    size = chunk(kind)
    cells: list[list[Cell]] = [[] for _ in range(path.ctas)]
    columns = 0
    for copy in copies:
        parts = np.broadcast_arrays(copy.rank, copy.lane, copy.column, copy.bit)
        for row, number in np.ndindex(parts[0].shape):
            rank, at, column, bit = (int(part[row, number]) for part in parts)
            columns = max(columns, column + 1)
            cta = f"{('even', 'odd')[rank]} CTA, " if path.ctas > 1 else ""
            first = number * size
            cells[rank].append(
                Cell(
                    at + lane, column * _NIBBLES + bit // CHUNK_BITS, f"{row},{number}",
                    f"{cta}lane {at + lane}, column {column}, bits {bit} to {bit + 3}: row {row}, "
                    f"chunk {number} (elements {first} to {first + size - 1})",
                    row // 16,
                )
            )  # fmt: skip
    names = [f"{c}.{b * CHUNK_BITS}" for c in range(columns) for b in range(_NIBBLES)]
    notes = [f"row, chunk of {size} elements; columns count from the address"]
    if len(copies) > 1:
        notes.append(f"it stands there {len(copies)} times, once for each part of N")
    panels = [
        Panel(
            f"{('even', 'odd')[rank]} CTA of the pair" if path.ctas > 1 else "",
            "column.bit", "lane", names, [str(i) for i in range(LANES)], sorted(found, key=_at),
        )
        for rank, found in enumerate(cells)
    ]  # fmt: skip
    title = f"metadata of {kind.value}, K = {k}, selector {selector}: layout {path.value}"
    return Picture(f"{title}, {path.title}", notes, panels)


def _at(cell: Cell) -> tuple[int, int]:
    return cell.row, cell.column
