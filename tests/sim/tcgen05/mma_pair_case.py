"""A multiply of a CTA pair: its matrices in the memories of both, and what must be there after it.

Layouts A, B and C as CUTLASS (mma_traits_sm100.hpp) has them: with M = 256 each CTA has 128 rows, a
lane each; with M = 128 each has 64, in lanes 0 to 63 with the first half of N and again in lanes 64
to 127 with the second (B), or, where A is sparse, in sixteen lanes of each 32 (C).  Each CTA's
shared memory holds its own rows of A, and half of B's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrinsics.modifiers import MmaKind, ScaleVec
from tests.sim.kernels import Mma
from tests.sim.matrices import (
    INSTRUCTION_K,
    instruction_descriptor,
    scaled_descriptor,
)
from tests.sim.tcgen05.mma_case import K_MAJOR, image
from tests.sim.tcgen05.mma_inputs import CHUNK, FOUR, TWO, random_codes
from tests.sim.tcgen05.mma_layouts import (
    Codes,
    expanded,
    place_factors,
    tensor_words,
    values,
)
from tests.sim.tcgen05.mma_pair import PairProgram

F16, TF32, F8, I8 = MmaKind.F16, MmaKind.TF32, MmaKind.F8F6F4, MmaKind.I8
MXF8, MXF4, NVF4 = MmaKind.MXF8F6F4, MmaKind.MXF4, MmaKind.MXF4NVF4
COLUMNS, SIZE = 512, 16384
D_COLUMN, A_COLUMN, META_COLUMN, SFA_COLUMN, SFB_COLUMN = 8, 288, 320, 336, 352


@dataclass(frozen=True)
class Pair:
    """A multiply of a pair."""

    kind: MmaKind
    m: int
    n: int
    a: str
    b: str
    d: str = "f32"
    lane: int = 0
    tensor: bool = False
    sparse: bool = False
    vec: ScaleVec | None = None
    scale: str = "ue8m0"
    k96: bool = False
    sfa_id: int = 0
    sfb_id: int = 0

    @property
    def k(self) -> int:
        """K, zeros included."""
        return 96 if self.k96 else INSTRUCTION_K[self.kind] * (2 if self.sparse else 1)

    @property
    def scaled(self) -> bool:
        """Whether it has factors."""
        return self.kind in (MXF8, MXF4, NVF4)

    @property
    def factors(self) -> int:
        """Factors of a row."""
        if self.kind is MXF8:
            return 1
        if self.k96:
            return 6 if self.vec is ScaleVec.BLOCK16 else 3
        return 4 if self.vec in (ScaleVec.X4, ScaleVec.BLOCK16) else 2

    @property
    def idesc(self) -> int:
        """The instruction descriptor."""
        if self.scaled:
            return scaled_descriptor(
                self.kind, self.m, self.n, self.a, self.b, self.scale, sparse=self.sparse,
                sfa_id=self.sfa_id, sfb_id=self.sfb_id, k96=self.k96,
            )  # fmt: skip
        return instruction_descriptor(
            self.kind, self.m, self.n, self.a, self.b, self.d, sparse=self.sparse
        )

    def mma(self) -> Mma:
        """The instruction."""
        return Mma(
            self.kind,
            self.idesc,
            K_MAJOR.descriptor,
            K_MAJOR.descriptor,
            d=self.lane << 16 | D_COLUMN,
            enable_d=1,
            a_cell=self.lane << 16 | A_COLUMN if self.tensor else None,
            sfa=SFA_COLUMN if self.scaled else None,
            sfb=SFB_COLUMN if self.scaled else None,
            scale_vec=self.vec,
            sp_meta=self.lane << 16 | META_COLUMN if self.sparse else None,
        )

    def lanes(self, row: int) -> list[int]:
        """The lanes of a row of its CTA: one for each part of N."""
        if self.m == 256:
            return [row]
        if self.sparse:
            return [self.lane + row // 16 * 32 + row % 16]
        return [row, row + 64]

    def d_index(self) -> tuple[NDArray[np.intp], ...]:
        """CTAs, lanes and columns of D, as arrays of its shape."""
        found = np.empty((3, self.m, self.n), np.intp)
        for i, j in np.ndindex(self.m, self.n):
            rank, row = divmod(i, self.m // 2)
            lanes = self.lanes(row)
            part, column = divmod(j, self.n // len(lanes))
            found[:, i, j] = rank, lanes[part], D_COLUMN + column
        return tuple(found)


@dataclass
class Data:
    """What the matrices are."""

    a: Codes
    b: Codes
    old: NDArray[np.uint32]
    indices: NDArray[np.uint8] | None = None
    sfa: NDArray[np.uint8] | None = None
    sfb: NDArray[np.uint8] | None = None


def data(pair: Pair, seed: int = 0) -> Data:
    """Small random numbers."""
    random = np.random.default_rng(seed)
    old = random.integers(-64, 65, (pair.m, pair.n))
    as_d = {"s32": np.int32, "f32": np.float32}[pair.d]
    found = Data(
        random_codes(pair.a, (pair.m, pair.k // (2 if pair.sparse else 1)), seed),
        random_codes(pair.b, (pair.n, pair.k), seed + 1),
        old.astype(as_d).view(np.uint32),
    )
    if pair.sparse:
        known = np.array(TWO if pair.kind is TF32 else FOUR, np.uint8)
        found.indices = random.choice(known, (pair.m, pair.k // CHUNK.get(pair.kind, 4)))
    if pair.scaled:
        near = np.array([126, 127, 128] if pair.scale == "ue8m0" else [0x30, 0x38], np.uint8)
        found.sfa = random.choice(near, (pair.m, pair.factors))
        found.sfb = random.choice(near, (pair.n, pair.factors))
    return found


def product(pair: Pair, given: Data) -> NDArray[np.float64]:
    """A · B with D added."""
    a, b = values(given.a, pair.a), values(given.b, pair.b)
    if given.indices is not None:
        a = expanded(a, given.indices, pair.kind)  # type: ignore[assignment]
    if given.sfa is not None and given.sfb is not None:
        step = pair.k // pair.factors
        a = a * np.repeat(values(given.sfa, pair.scale), step, axis=1)
        b = b * np.repeat(values(given.sfb, pair.scale), step, axis=1)
    as_d = {"s32": np.int32, "f32": np.float32}[pair.d]
    return a @ b.T + given.old.view(as_d).astype(np.float64)


def every_cell() -> NDArray[np.uint32]:
    """Cells that hold their own CTA, lane and column."""
    rank, lane, column = np.indices((2, 128, COLUMNS))
    return (0xA0000000 | rank << 24 | lane << 16 | column).astype(np.uint32)


def prepared(pair: Pair, given: Data) -> NDArray[np.uint32]:
    """All cells before the multiply."""
    cells = every_cell()
    half = pair.m // 2
    if pair.tensor:
        words = tensor_words(given.a, pair.a, pair.kind)
        for i in range(pair.m):
            for lane in pair.lanes(i % half):
                cells[i // half, lane, A_COLUMN : A_COLUMN + words.shape[1]] = words[i]
    if given.indices is not None:
        for (i, chunk), index in np.ndenumerate(given.indices):
            (lane,) = pair.lanes(i % half)
            column, shift = META_COLUMN + chunk // 8, 4 * (chunk % 8)
            if pair.kind in (F16, TF32):
                row = i % 16
                lane += row % 8 - row + chunk // 4 * 8
                column, shift = META_COLUMN, row // 8 * 16 + chunk % 4 * 4
            word = int(cells[i // half, lane, column])
            cells[i // half, lane, column] = word & ~(15 << shift) | int(index) << shift
    if given.sfa is not None and given.sfb is not None:
        for rank in (0, 1):
            own = given.sfa[rank * half : (rank + 1) * half]
            place_factors(cells[rank], SFA_COLUMN, own, pair.sfa_id)
            place_factors(cells[rank], SFB_COLUMN, given.sfb, pair.sfb_id)
    cells[pair.d_index()] = given.old
    return cells


def images(pair: Pair, given: Data) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Shared memory of both CTAs: halves of A and of B."""

    def halves(codes: Codes, name: str) -> NDArray[np.uint8]:
        parts = [image(part, name, pair.kind, K_MAJOR) for part in np.split(codes, 2)]
        return np.stack(parts)

    return halves(given.a, pair.a), halves(given.b, pair.b)


def check(pair: Pair, given: Data, program: PairProgram, schedule: str = "early") -> None:
    """D of both CTAs, and that no other cell has changed."""
    before = prepared(pair, given)
    after = program.run(before, *images(pair, given), schedule=schedule)
    at = pair.d_index()
    found = after[at].view(np.int32 if pair.d == "s32" else np.float32)
    assert np.array_equal(found.astype(np.float64), product(pair, given))
    after[at] = before[at]
    assert np.array_equal(after, before)
