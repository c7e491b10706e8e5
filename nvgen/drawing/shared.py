"""Where a matrix lies in shared memory: lines of 128 bytes, the 32 banks across.

Layer: nvgen.drawing.  Input: a descriptor and the matrix.  A cell is a piece of 16 bytes, which all
canonical layouts keep together, or one element.  PTX ISA, Canonical Layouts; Shared Memory Layout
and Swizzling.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.element import ElementType, Major
from intrinsics.layouts.packing import PIECE
from intrinsics.layouts.shared_memory import piece_addresses
from intrinsics.lazy_dataclass import dataclass
from nvgen.drawing.picture import MOST_CELLS, Cell, Panel, Picture, plural, span_text

_LINE, _BANK = 128, 4


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in shared memory; `per_piece` elements of it lie in each 16 bytes.

    Elements of 4 and 6 bits do not fill the 16 bytes but for the 4-bit kinds; the rest is padding.
    """

    rows: int
    k: int
    type_: ElementType
    per_piece: int
    major: Major

    @property
    def filled(self) -> int:
        """Bytes of a piece that hold elements."""
        return self.per_piece * self.type_.bits // 8

    def element(self, row: int, k: int, ahead: int) -> tuple[int, int]:
        """The element `ahead` places behind (row, k) in a piece."""
        return (row, k + ahead) if self.major is Major.K else (row + ahead, k)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Sixteen bytes: where, and the row and k of the first element."""

    address: int
    row: int
    k: int
    core: int


def smem_picture(
    matrix: Matrix, descriptor: SharedMemoryDescriptor, *, elements: bool, by_row: bool
) -> Picture:
    """The picture of a matrix, coloured by core matrix (8 lines of 16 bytes) or by row.

    Raises: NotImplementedError where the layout is not known; ValueError for an absolute leading
    dimension of a layout that has none.
    """
    pieces = sorted(_pieces(matrix, descriptor), key=lambda piece: piece.address)
    divided = matrix.per_piece if elements else 1
    kept = pieces[: MOST_CELLS // divided]
    lines = sorted({piece.address // _LINE for piece in kept})
    rows = {line: number for number, line in enumerate(_with_gaps(lines))}
    cells = [
        cell
        for piece in kept
        for cell in _cells(matrix, piece, rows, elements=elements, by_row=by_row)
    ]
    notes = [*_notes(matrix, descriptor, pieces, elements=elements)]
    if len(kept) < len(pieces):
        notes.append(f"abbreviated: {len(kept):,} of {len(pieces):,} pieces of 16 bytes are drawn")
    names = ["⋮" if line < 0 else f"{line * _LINE:#x}" for line in rows]
    across, columns = _across(matrix, elements=elements)
    panel = Panel("", across, "address", columns, names, cells)
    size = f"{matrix.rows} × {matrix.k} {matrix.type_.value}, {matrix.major.value}-major"
    return Picture(f"{size}, {descriptor.swizzle.words}", notes, [panel])


def _across(matrix: Matrix, *, elements: bool) -> tuple[str, list[str]]:
    """What the columns are, and their names; of padded pieces only the beginning has a place."""
    if not elements:
        return "banks of 4 bytes", [f"b{i}-{i + 3}" for i in range(0, 32, 4)]
    per = matrix.per_piece
    places = range(_LINE // PIECE * per)
    if matrix.filled == PIECE:
        return "byte of the line of 128", [f"{i * PIECE / per:g}" for i in places]
    names = [str(i // per * PIECE) if i % per == 0 else "" for i in places]
    return "byte of the line of 128 where 16 bytes begin; their padding is not drawn", names


def _pieces(matrix: Matrix, descriptor: SharedMemoryDescriptor) -> Iterator[_Piece]:
    """The pieces, in the order of the matrix; core matrices are numbered along K first."""
    per, along_k = matrix.per_piece, matrix.major is Major.K
    group = 4 if descriptor.swizzle is Swizzle.B128_ATOM32 else 8
    addresses = piece_addresses(descriptor, matrix.rows, matrix.k, per, matrix.major)
    columns = addresses.shape[1]
    for (i, j), address in np.ndenumerate(addresses):
        if along_k:
            yield _Piece(int(address), i, j * per, i // group * columns + j)
        else:
            yield _Piece(int(address), i * per, j, i * -(-columns // group) + j // group)


def _with_gaps(lines: list[int]) -> Iterator[int]:
    """The lines, and a number below zero where some between them are empty."""
    before = None
    for line in lines:
        if before is not None and line != before + 1:
            yield -line
        yield line
        before = line


def _cells(
    matrix: Matrix, piece: _Piece, rows: dict[int, int], *, elements: bool, by_row: bool
) -> Iterator[Cell]:
    line, within = divmod(piece.address, _LINE)
    colour = piece.row if by_row else piece.core
    if not elements:
        last = matrix.element(piece.row, piece.k, matrix.per_piece - 1)
        place = _place(piece.address * 8, matrix.filled * 8)
        title = f"({piece.row}, {piece.k}) to ({last[0]}, {last[1]}): {place}"
        yield Cell(rows[line], within // PIECE, f"{piece.row},{piece.k}", title, colour)
        return
    bits = matrix.type_.bits
    for ahead in range(matrix.per_piece):
        row, k = matrix.element(piece.row, piece.k, ahead)
        title = f"({row}, {k}): {_place(piece.address * 8 + ahead * bits, bits)}"
        column = within // PIECE * matrix.per_piece + ahead
        room = 0 if ahead else matrix.per_piece
        yield Cell(rows[line], column, f"{row},{k}", title, colour, room=room)


def _place(bit: int, bits: int) -> str:
    """Bytes and banks of `bits` bits from `bit` on; the bits too where they are not whole bytes."""
    first, last = bit // 8, (bit + bits - 1) // 8
    where = f"byte {first:#x}" if first == last else f"bytes {first:#x} to {last:#x}"
    if bit % 8 or bits % 8:
        where = f"bits {bit % 8} to {bit % 8 + bits - 1} from {where}"
    banks = (first // _BANK % 32, last // _BANK % 32)
    return f"{where}, bank{'s' if banks[0] != banks[1] else ''} {span_text(*banks)}"


def _notes(
    matrix: Matrix, descriptor: SharedMemoryDescriptor, pieces: list[_Piece], *, elements: bool
) -> Iterator[str]:
    yield (
        f"descriptor {descriptor.encode():#018x}: start {descriptor.address:#x}, "
        f"{_offsets(matrix, descriptor)}"
    )
    cell = (
        "one element" if elements else f"{matrix.per_piece} elements in 16 bytes, the first named"
    )
    yield f"a cell is {cell}; indices are the row of M or N, and K"
    atoms = descriptor.swizzle is Swizzle.B128_ATOM32
    if matrix.major is Major.MN and atoms != (matrix.type_.bits == 32):
        yield "no MMA takes this: MN-major 32-bit elements, and they alone, have 32-byte atoms"
    if matrix.filled < PIECE:
        yield f"{matrix.filled} of each 16 bytes hold elements, the others are padding"
    twice = len(pieces) - len({piece.address for piece in pieces})
    if twice:
        yield f"{plural(twice, 'piece')} lie where another one does: the offsets are too small"


def _offsets(matrix: Matrix, descriptor: SharedMemoryDescriptor) -> str:
    sbo = f"stride offset {descriptor.sbo:#x}"
    if descriptor.absolute_lbo:
        return f"{sbo}, what is beyond 128 bytes of a row at {descriptor.lbo:#x}"
    if matrix.major is Major.K and descriptor.swizzle is not Swizzle.NONE:
        return f"{sbo}, leading offset not used"
    return f"leading offset {descriptor.lbo:#x}, {sbo}"
