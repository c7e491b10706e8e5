"""tcgen05.mma, what is read: matrices, metadata and scale factors as element codes and numbers.

Layer: nvgen.sim.semantics.  Every byte of shared memory goes through `Memory.access`, in pieces of
16 bytes, every cell of tensor memory through `TensorMemory.read`; the agent is the instruction with
the matrix's name.  Of a CTA pair each CTA holds its own share: half of the rows of A, and half of
the rows of B (columns of the product), the even CTA the first half.  Addresses depend on
descriptors and shapes alone, and are computed once for each.  PTX ISA, Packing formats; Canonical
Layouts; Data Path Layout Organization; Block Scaling; Sparse Matrices.
"""

from __future__ import annotations

import functools
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.descriptors.tensor_address import TensorAddress
from intrinsics.element import ElementType, Major
from intrinsics.layouts.data_paths import Cells as PathCells
from intrinsics.layouts.data_paths import DataPath, accumulator_cells, operand_cells
from intrinsics.layouts.packing import (
    PIECE,
    decode,
    elements_per_piece,
    unpack_cells,
    unpack_pieces,
)
from intrinsics.layouts.scale_factors import FactorCells, scale_cells
from intrinsics.layouts.shared_memory import piece_addresses
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import FP4_KINDS, MmaKind
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.regions import Access, Proxy, gather
from nvgen.sim.memory.tensor_memory import TensorMemory
from nvgen.sim.threads.machine import Cta

Codes = NDArray[np.unsignedinteger]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Words = NDArray[np.uint32]

Matrix = TypeVar("Matrix", bound=NDArray[np.unsignedinteger])

_KNOWN = 256
"""Shapes whose addresses are kept."""


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """The storage of a matrix: element type, as its kind packs it, and contiguous dimension."""

    type_: ElementType
    kind: MmaKind
    major: Major = Major.K

    @property
    def per_piece(self) -> int:
        """Elements in 16 bytes of shared memory."""
        return elements_per_piece(self.type_, self.kind)

    @property
    def per_cell(self) -> int:
        """Elements in a cell of tensor memory: narrow ones take a byte, of 4-bit kinds a nibble."""
        bits = self.type_.bits if self.kind in FP4_KINDS else max(self.type_.bits, 8)
        return 32 // bits


# ---- shared memory ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=_KNOWN)
def _addresses(
    descriptor: SharedMemoryDescriptor, rows: int, k: int, layout: MatrixLayout
) -> Integers:
    try:
        return piece_addresses(descriptor, rows, k, layout.per_piece, layout.major)
    except NotImplementedError as error:
        raise not_simulated(str(error)) from None


def shared_pieces(
    descriptor: SharedMemoryDescriptor, rows: int, k: int, layout: MatrixLayout
) -> Integers:
    """The addresses of the 16-byte pieces of a matrix in shared memory.

    Raises: NotSimulatedError for a layout that is not known.
    """
    return _addresses(descriptor, rows, k, layout)


def shared_matrix(
    cta: Cta,
    descriptor: SharedMemoryDescriptor,
    wanted: Flags,
    k: int,
    layout: MatrixLayout,
    agent: str,
) -> Codes:
    """A matrix of len(`wanted`) rows by `k` from shared memory; rows with `wanted` false are zeros.

    Raises: Fault for addresses that are out of bounds, not written, or not fenced;
    NotSimulatedError for a layout that is not known.
    """
    per = layout.per_piece
    rows = len(wanted)
    if layout.major is Major.K:
        codes = _pieces(cta, _addresses(descriptor, rows, k, layout)[wanted], layout, agent)
        return _spread(codes.reshape(len(codes), k), wanted)
    whole = np.zeros(-(-rows // per) * per, np.bool_)
    whole[:rows] = wanted
    touched = np.logical_or.reduce(whole.reshape(-1, per), axis=1)
    addresses = _addresses(descriptor, len(whole), k, layout)[touched]
    lines = _spread(_pieces(cta, addresses, layout, agent), touched)  # (pieces, k, per)
    return lines.transpose(0, 2, 1).reshape(len(whole), k)[:rows]


def _pieces(cta: Cta, addresses: Integers, layout: MatrixLayout, agent: str) -> Codes:
    region, size = cta.shared, layout.per_piece * layout.type_.bits // 8  # without padding
    offsets = cta.machine.memory.access(
        region, addresses + region.base, size, Access.READ, Proxy.ASYNC, agent, align=PIECE
    )
    return unpack_pieces(gather(region, offsets, PIECE), layout.type_, layout.kind)


def _spread(codes: Codes, wanted: Flags) -> Codes:
    if wanted.all():
        return codes
    found = np.zeros((len(wanted), *codes.shape[1:]), codes.dtype)
    found[wanted] = codes
    return found


# ---- tensor memory ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """The cells that one CTA holds of some rows, counted from an address."""

    rank: int
    rows: Integers
    lanes: Integers
    columns: Integers


def shares(cells: PathCells, group: int) -> tuple[Share, ...]:
    """Cells of a matrix, by the CTA that holds them: each row is in one CTA."""
    lanes, columns = np.atleast_2d(cells.lane), np.atleast_2d(cells.column)
    height = np.broadcast_shapes(cells.rank.shape, lanes.shape, columns.shape)[0]
    if group == 1:
        return (Share(0, np.arange(height), lanes, columns),)
    ranks = np.broadcast_to(np.atleast_2d(cells.rank)[:, 0], (height,))
    found = []
    for rank in range(group):
        rows = np.flatnonzero(ranks == rank)
        found.append(Share(rank, rows, _of_rows(lanes, rows), _of_rows(columns, rows)))
    return tuple(found)


def _of_rows(array: Integers, rows: Integers) -> Integers:
    return array if len(array) == 1 else array[rows]


@functools.lru_cache(maxsize=_KNOWN)
def accumulator_shares(path: DataPath, m: int, n: int, group: int) -> tuple[Share, ...]:
    """The parts of tensor memory that hold D."""
    return shares(accumulator_cells(path, m, n), group)


@functools.lru_cache(maxsize=_KNOWN)
def _operand_shares(
    path: DataPath, m: int, columns: int, group: int
) -> tuple[tuple[Share, ...], ...]:
    return tuple(shares(copy, group) for copy in operand_cells(path, m, columns))


def tensor_matrix(
    ctas: tuple[Cta, ...],
    where: TensorAddress,
    path: DataPath,
    m: int,
    k: int,
    layout: MatrixLayout,
    agent: str,
) -> list[Codes]:
    """A from tensor memory, m × k: as often as the layout has copies, once where they are equal.

    Raises: Fault.
    """
    columns = k // layout.per_cell
    copies = [
        read_shares(ctas, shares, (m, columns), where, agent)
        for shares in _operand_shares(path, m, columns, len(ctas))
    ]
    return [unpack_cells(words, layout.type_, layout.kind) for words in different(copies)]


def read_shares(
    ctas: tuple[Cta, ...],
    parts: tuple[Share, ...],
    shape: tuple[int, int],
    where: TensorAddress,
    agent: str,
) -> Words:
    """The cells of a matrix of `shape`, from the CTAs that hold them."""
    words = np.empty(shape, np.uint32)
    for share in parts:
        words[share.rows] = ctas[share.rank].tensor.read(
            share.lanes + where.lane, share.columns + where.column, agent
        )
    return words


def different(copies: list[Matrix]) -> list[Matrix]:
    """The copies, or only the first where all are equal."""
    if all(np.array_equal(copies[0], copy) for copy in copies[1:]):
        return copies[:1]
    return copies


# ---- scale factors ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=_KNOWN)
def _scale_cells(rows: int, factors: int, number: int, parts: int) -> FactorCells:
    return scale_cells(rows, factors, number, parts)


def scale_factors(
    tensor: TensorMemory,
    where: TensorAddress,
    shape: tuple[int, int],
    number: int,
    type_: ElementType,
    agent: str,
    *,
    parts: int = 1,
) -> NDArray[np.float64]:
    """Scale factors of a matrix, `shape` rows by factors of a row; `number` is their id.

    They are read in each of the partitions of 32 lanes that hold them, and must be the same there;
    `parts` is how many parts of the rows have partitions of their own.

    Raises: Fault; NotSimulatedError for UE4M3 with its highest bit set, which has no meaning.
    """
    cells = _scale_cells(*shape, number, parts)
    starts = np.array(cells.copies)
    lanes = np.broadcast_to(cells.lane, shape) + starts[:, None, None]
    columns = np.broadcast_to(cells.column + where.column, shape)
    words = tensor.read(lanes + where.lane, columns[None], agent)
    codes = (words >> (8 * cells.byte).astype(np.uint32) & 0xFF).astype(np.uint8)
    differ = (codes != codes[0]).any(axis=2)
    if differ.any():
        copy, row = (int(i) for i in np.argwhere(differ)[0])
        lane = int(lanes[copy, row, 0])
        raise fault(
            "scale-partitions",
            f"{agent}: the factors are not the same in all partitions of 32 lanes",
            got=f"row {row} differs in lane {lane}",
            expected="the same factors in all of them",
            hint="tcgen05.cp with .32x128b.warpx4 writes them to all",
            section="Block Scaling",
        )
    if type_ is ElementType.UE4M3 and (codes[0] & 0x80).any():
        raise not_simulated(f"{agent}: a UE4M3 factor whose highest bit is set")
    return numbers(codes[0], type_)


def numbers(codes: Codes, type_: ElementType) -> NDArray[np.float64]:
    """The numbers that element codes stand for."""
    with np.errstate(invalid="ignore"):
        return np.asarray(decode(codes, type_), np.float64)
