"""How much tensor memory shapes take, against the layouts of every cell.

The layouts (`intrinsics`: fragments, data paths, metadata, scale factors) are those of CuTe and
Triton; what the rules of function level say of a shape is a number of columns and a mask of lanes.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.layouts.data_paths import DataPath, accumulator_cells, data_path, operand_cells
from intrinsics.layouts.fragments import fragment_cells
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.layouts.scale_factors import columns_of
from intrinsics.modifiers import CopyShape, LdStShape, MmaKind
from isel.verifier.function.tensor_memory.matrices import MmaExtents
from isel.verifier.function.tensor_memory.widths import (
    COPIED,
    REPEATED,
    accumulator,
    lane_alignment,
    lanes_of,
    metadata_columns,
    scale_columns,
)
from tests.each import each

N = 64
SCALED = (MmaKind.MXF8F6F4, MmaKind.MXF4, MmaKind.MXF4NVF4)


def shape(
    m: int, ctas: int, *, n: int = N, ws: bool = False, sparse: bool = False,
    kind: MmaKind = MmaKind.F16, k96: bool = False,
) -> MmaExtents:  # fmt: skip
    """The shape of an MMA."""
    return MmaExtents(kind, m, n, ctas, sparse, ws, k96)


LAYOUTS = {
    "A": shape(256, 2),
    "A sparse": shape(256, 2, sparse=True),
    "B": shape(128, 2),
    "C": shape(128, 2, sparse=True),
    "D": shape(128, 1),
    "D weight-stationary": shape(128, 1, ws=True),
    "E": shape(64, 1, ws=True),
    "E sparse": shape(64, 1, ws=True, sparse=True),
    "F": shape(64, 1),
    "F sparse": shape(64, 1, sparse=True),
    "G": shape(32, 1, ws=True),
}


def path_of(mma: MmaExtents) -> DataPath:
    """The layout of an MMA."""
    return data_path(mma.m, group=mma.ctas, ws=mma.stationary, sparse=mma.sparse)


@each("name", LAYOUTS)
def test_an_accumulator(name: str):
    mma = LAYOUTS[name]
    path = path_of(mma)
    assert path.value == name[0]
    cells = accumulator_cells(path, mma.m, N)
    assert N // accumulator(mma)[0] == int(cells.column.max()) + 1
    used = {int(lane) for lane in np.unique(cells.lane)}
    assert lanes_of(mma) == sum(1 << lane for lane in used)
    assert lane_alignment(mma) == path.lane_starts


@each("name", LAYOUTS)
def test_the_lanes_of_a_are_those_of_the_accumulator(name: str):
    mma = LAYOUTS[name]
    copies = operand_cells(path_of(mma), mma.m, 8)
    assert {int(lane) for cells in copies for lane in np.unique(cells.lane)} == {
        lane for lane in range(128) if lanes_of(mma) >> lane & 1
    }


@pytest.mark.parametrize("kind", DENSE_K)
def test_metadata(kind: MmaKind):
    mma = shape(128, 1, sparse=True, kind=kind)
    cells = metadata_cells(path_of(mma), 128, kind, 2 * DENSE_K[kind])
    assert metadata_columns(mma) == int(cells[0].column.max()) + 1


@pytest.mark.parametrize("repeated", LdStShape)
def test_one_repetition(repeated: LdStShape):
    """It has a register for each 32 bits of its lanes: 32 threads share them."""
    registers = {LdStShape.S16X128B: 2, LdStShape.S16X256B: 4}.get(repeated, 1)
    _, column = fragment_cells(repeated, registers)
    assert REPEATED[repeated] == int(column.max()) + 1


@pytest.mark.parametrize("copied", CopyShape)
def test_a_copy_has_the_columns_of_its_name(copied: CopyShape):
    assert COPIED[copied][0] == int(copied.value.removesuffix("b").split("x")[1]) // 32


@each("n", [16, 64, 128, 256])
@each("m, ctas", [(128, 1), (128, 2), (256, 2)])
@each("kind", SCALED)
def test_scale_factors(kind: MmaKind, m: int, ctas: int, n: int):
    mma = shape(m, ctas, n=n, kind=kind)
    parts = path_of(mma).parts
    assert scale_columns(mma) == (columns_of(m // ctas, 1), columns_of(n, 1, parts=parts))


def test_kinds_without_scale_factors():
    assert scale_columns(shape(128, 1)) is None
