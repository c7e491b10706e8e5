"""One multiply of any kind: its matrices in memory, run, and what must be in every cell after it.

`Case` puts codes where the formulas of `mma_layouts` and `tests.sim.matrices` say, runs the
multiply on the simulator, and gives D and all other cells.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import CollectorA, CollectorWs, MmaKind, ScaleVec
from tests.sim.kernels import Mma, TensorProgram
from tests.sim.matrices import (
    INSTRUCTION_K,
    Placement,
    instruction_descriptor,
    scaled_descriptor,
)
from tests.sim.tcgen05.mma_layouts import (
    Codes,
    a_lanes,
    d_cell,
    place_factors,
    place_metadata,
    shared_lines,
    tensor_words,
)

COLUMNS = 512
A_COLUMN, META_COLUMN, SFA_COLUMN, SFB_COLUMN = 288, 320, 336, 352
"""Where the other matrices lie in tensor memory; D begins at column 8."""
D_COLUMN = 8
IMAGE = 16384

K_MAJOR = Placement(False, 0, 128, 512)
"""Rows of up to 64 bytes without swizzling, of any type."""


@dataclass(frozen=True)
class Case:
    """What a multiply is; `d` is ignored by block-scaled kinds, `sparse` is about A."""

    kind: MmaKind
    m: int
    n: int
    a: str
    b: str
    d: str = "f32"
    a_place: Placement | None = K_MAJOR
    b_place: Placement = K_MAJOR
    lane: int = 0
    ws: bool = False
    sparse: bool = False
    selector: int = 0
    negate_a: bool = False
    negate_b: bool = False
    saturate: bool = False
    vec: ScaleVec | None = None
    scale: str = "ue8m0"
    sfa_id: int = 0
    sfb_id: int = 0
    max_shift: int = 0
    shift: int | None = None
    mask: tuple[int, int, int, int] | None = None
    zero_mask: int | None = None
    collector: CollectorA | CollectorWs | None = None
    ashift: bool = False

    @property
    def k(self) -> int:
        """K, with the zeros of a sparse A."""
        return INSTRUCTION_K[self.kind] * (2 if self.sparse else 1)

    @property
    def k_stored(self) -> int:
        """The elements of a row of A that are stored."""
        return INSTRUCTION_K[self.kind]

    @property
    def scaled(self) -> bool:
        """Whether it has scale factors."""
        return self.kind in (MmaKind.MXF8F6F4, MmaKind.MXF4, MmaKind.MXF4NVF4)

    @property
    def idesc(self) -> int:
        """The instruction descriptor."""
        a_mn = self.a_place is not None and self.a_place.mn_major
        if self.scaled:
            return scaled_descriptor(
                self.kind, self.m, self.n, self.a, self.b, self.scale,
                a_mn=a_mn, b_mn=self.b_place.mn_major, sparse=self.sparse,
                negate_a=self.negate_a, negate_b=self.negate_b,
                sfa_id=self.sfa_id, sfb_id=self.sfb_id,
            )  # fmt: skip
        return instruction_descriptor(
            self.kind, self.m, self.n, self.a, self.b, self.d,
            a_mn=a_mn, b_mn=self.b_place.mn_major, saturate=self.saturate,
            negate_a=self.negate_a, negate_b=self.negate_b,
            sparse=self.sparse, selector=self.selector, max_shift=self.max_shift,
        )  # fmt: skip

    def mma(self, *, enable_d: bool = False) -> Mma:
        """The instruction."""
        return Mma(
            self.kind,
            self.idesc,
            self.a_place.descriptor if self.a_place else 0,
            self.b_place.descriptor,
            d=self.lane << 16 | D_COLUMN,
            enable_d=int(enable_d),
            a_cell=None if self.a_place else self.lane << 16 | A_COLUMN,
            scale_d=self.shift,
            mask=self.mask,
            sfa=SFA_COLUMN if self.scaled else None,
            sfb=SFB_COLUMN if self.scaled else None,
            scale_vec=self.vec,
            sp_meta=self.lane << 16 | META_COLUMN if self.sparse else None,
            collector=self.collector,
            ashift=self.ashift,
            ws=self.ws,
            zero_mask=self.zero_mask,
        )

    def d_index(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Lanes and columns of D, as arrays of its shape."""
        lanes, columns = _d_cells(self.m, self.n, self.ws)
        return lanes + self.lane, columns + D_COLUMN


@functools.cache
def _d_cells(m: int, n: int, ws: bool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Lanes and columns of D's elements, counted from where D begins."""
    cells = [d_cell(i, j, m, n, ws=ws) for i in range(m) for j in range(n)]
    lanes, columns = np.array(cells, np.intp).reshape(m, n, 2).transpose(2, 0, 1)
    return lanes, columns


@dataclass
class Inputs:
    """Codes of the matrices: A as stored, rows of B are columns of the product."""

    a: Codes
    b: Codes
    indices: NDArray[np.uint8] | None = None
    sfa: NDArray[np.uint8] | None = None
    sfb: NDArray[np.uint8] | None = None
    old: NDArray[np.uint32] | None = None
    cells: NDArray[np.uint32] = field(default_factory=lambda: every_cell())


def every_cell() -> NDArray[np.uint32]:
    """Cells that hold their own (lane, column), and a mark."""
    lane, column = np.indices((128, COLUMNS))
    return (0xA0000000 | lane << 16 | column).astype(np.uint32)


def image(codes: Codes, name: str, kind: MmaKind, place: Placement) -> NDArray[np.uint8]:
    """Shared memory with a matrix of codes in it."""
    if place.mn_major:
        return place.image(shared_lines(np.ascontiguousarray(codes.T), name, kind).T, IMAGE)
    return place.image(shared_lines(codes, name, kind), IMAGE)


def prepared(case: Case, given: Inputs) -> NDArray[np.uint32]:
    """All cells before the multiply."""
    cells = given.cells.copy()
    if case.a_place is None:
        words = tensor_words(given.a, case.a, case.kind)
        for row in range(case.m):
            for lane in a_lanes(row, case.m, ws=case.ws):
                cells[case.lane + lane, A_COLUMN : A_COLUMN + words.shape[1]] = words[row]
    if given.indices is not None:
        place_metadata(
            cells, (case.lane, META_COLUMN), given.indices, case.kind,
            m=case.m, ws=case.ws, selector=case.selector,
        )  # fmt: skip
    if given.sfa is not None and given.sfb is not None:
        place_factors(cells, SFA_COLUMN, given.sfa, case.sfa_id)
        place_factors(cells, SFB_COLUMN, given.sfb, case.sfb_id)
    if given.old is not None:
        cells[case.d_index()] = given.old
    return cells


def run(case: Case, given: Inputs, *, schedule: str = "early") -> NDArray[np.uint32]:
    """D after the multiply; every other cell must be as it was."""
    before = prepared(case, given)
    program = TensorProgram(
        COLUMNS,
        IMAGE if case.a_place else 0,
        IMAGE,
        (case.mma(enable_d=given.old is not None),),
    )
    a = image(given.a, case.a, case.kind, case.a_place) if case.a_place else None
    after = program.run(
        before, a, image(given.b, case.b, case.kind, case.b_place), schedule=schedule
    )
    found = after[case.d_index()]
    after[case.d_index()] = before[case.d_index()]
    assert np.array_equal(after, before), "cells that are not D's have changed"
    return found
