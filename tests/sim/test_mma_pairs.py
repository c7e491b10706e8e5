"""tcgen05.mma of a CTA pair: whose rows lie where, and every cell of both CTAs.

Layouts A, B and C as CUTLASS (mma_traits_sm100.hpp) has them: with M = 256 each CTA has 128 rows, a
lane each; with M = 128 each has 64, in lanes 0 to 63 with the first half of N and again in lanes 64
to 127 with the second (B), or, where A is sparse, in sixteen lanes of each 32 (C).  Each CTA's
shared memory holds its own rows of A, and half of B's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.modifiers import CollectorA, MmaKind, ScaleVec
from nvgen.sim.faults import Fault
from tests.sim.kernels import Mma
from tests.sim.matrices import (
    INSTRUCTION_K,
    Placement,
    instruction_descriptor,
    scaled_descriptor,
)
from tests.sim.mma_case import K_MAJOR, image
from tests.sim.mma_layouts import (
    Codes,
    expanded,
    place_factors,
    shared_lines,
    tensor_words,
    values,
)
from tests.sim.mma_pair import PairProgram
from tests.sim.test_mma_kinds import random_codes
from tests.sim.test_mma_sparse import CHUNK, FOUR, TWO

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
        a = expanded(a, given.indices, pair.kind)
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


PAIRS = [
    Pair(F16, 256, 256, "f16", "bf16"),
    Pair(F16, 128, 48, "f16", "f16"),
    Pair(F16, 128, 16, "bf16", "bf16", tensor=True),
    Pair(F16, 256, 32, "f16", "f16", tensor=True),
    Pair(TF32, 128, 256, "tf32", "tf32"),
    Pair(TF32, 256, 16, "tf32", "tf32", tensor=True),
    Pair(F8, 128, 32, "e2m1", "e5m2", tensor=True),
    Pair(I8, 256, 64, "s8", "u8", "s32"),
    Pair(I8, 128, 64, "u8", "u8", "s32"),
    Pair(F16, 256, 32, "f16", "f16", sparse=True),
    Pair(F16, 128, 32, "f16", "f16", sparse=True),
    Pair(F16, 128, 32, "f16", "f16", sparse=True, lane=16, tensor=True),
    Pair(TF32, 128, 32, "tf32", "tf32", sparse=True, lane=16),
    Pair(I8, 128, 64, "s8", "s8", "s32", sparse=True),
    Pair(F8, 256, 32, "e4m3", "e3m2", sparse=True, tensor=True),
    Pair(MXF8, 256, 256, "e4m3", "e4m3"),
    Pair(MXF8, 256, 48, "e5m2", "e2m1", tensor=True),
    Pair(MXF4, 256, 64, "e2m1", "e2m1", vec=ScaleVec.X2),
    Pair(NVF4, 256, 192, "e2m1", "e2m1", vec=ScaleVec.X4, scale="ue4m3"),
    Pair(MXF8, 256, 32, "e2m3", "e4m3", sparse=True),
    Pair(NVF4, 256, 32, "e2m1", "e2m1", vec=ScaleVec.BLOCK16, sparse=True),
]


def pair_name(pair: Pair) -> str:
    """What to call a test."""
    where = "tensor" if pair.tensor else "shared"
    sparse = " sparse" if pair.sparse else ""
    return f"{pair.kind.value} {pair.m}x{pair.n} {pair.a} {pair.b} {where}{sparse} {pair.lane}"


@pytest.mark.parametrize("pair", PAIRS, ids=pair_name)
def test_a_pair_multiplies(pair: Pair):
    check(pair, data(pair), PairProgram(COLUMNS, SIZE, (pair.mma(),)))


LONG = [
    Pair(kind, 256, n, "e2m1", "e2m1", vec=vec, scale=scale, k96=True, sfa_id=i, sfb_id=j)
    for kind, vec, scale, ids in [
        (MXF4, ScaleVec.BLOCK32, "ue8m0", (0, 1, 2, 3)),
        (NVF4, ScaleVec.BLOCK16, "ue4m3", (0, 2)),
    ]
    for n, i, j in [(64, ids[0], ids[-1]), (256, ids[1], ids[0]), (144, ids[-1], ids[1])]
]


@pytest.mark.parametrize("pair", LONG, ids=lambda p: f"{p.vec.value} {p.n} {p.sfa_id} {p.sfb_id}")
def test_k_of_96(pair: Pair):
    """Rows of 48 bytes, three or six factors each, which may begin at any byte, or every second."""
    check(pair, data(pair), PairProgram(COLUMNS, SIZE, (pair.mma(),), target="sm_103a"))


def test_k_of_96_in_two_buffers():
    """With 128-byte swizzling and an absolute leading dimension, a row that begins 96 bytes into a
    line of 128 goes on at the beginning of another buffer.
    """
    pair = Pair(NVF4, 256, 64, "e2m1", "e2m1", vec=ScaleVec.BLOCK32, k96=True)
    given = data(pair)
    place, room = Placement(False, 128, 16, 2048), 1024

    def images_of(codes: Codes) -> NDArray[np.uint8]:
        found = []
        for part in np.split(codes, 2):
            lines = shared_lines(part, "e2m1", NVF4)
            memory = np.full(len(lines) * 256, 0x7B, np.uint8)
            for row, byte in np.ndindex(lines.shape):
                start, within = (0, 96 + byte) if byte < 32 else (room, byte - 32)
                memory[start + place.offset(row, within, 1)] = lines[row, byte]
            found.append(memory)
        return np.stack(found)

    before = prepared(pair, given)
    word = place.descriptor & ~(0x3FFF << 16) | 1 << 52
    mma = replace(pair.mma(), a_desc=word, b_desc=word, a_offset=96, b_offset=96, far=room)
    program = PairProgram(COLUMNS, 32768, (mma,), target="sm_103a", b_size=8192)
    after = program.run(before, images_of(given.a), images_of(given.b))
    found = after[pair.d_index()].view(np.float32)
    assert np.array_equal(found.astype(np.float64), product(pair, given))


@pytest.mark.parametrize("issuer", [0, 1])
@pytest.mark.parametrize("schedule", ["late", "random:1", "random:2"])
def test_either_cta_may_issue_under_every_schedule(issuer: int, schedule: str):
    pair = Pair(F16, 256, 32, "f16", "f16")
    check(pair, data(pair), PairProgram(COLUMNS, SIZE, (pair.mma(),), issuer), schedule)


@pytest.mark.parametrize("m", [128, 256])
def test_a_mask_has_four_words_for_each_cta(m: int):
    """The first four are taken to be the even CTA's."""
    mask = (0x1, 0, 0x80000000, 0xFFFF, 0, 0xFFFFFFFF, 0x0F0F0F0F, 0x40000000)
    pair = Pair(F16, m, 32, "f16", "f16")
    given = data(pair)
    before = prepared(pair, given)
    program = PairProgram(COLUMNS, SIZE, (replace(pair.mma(), mask=mask),))
    after = program.run(before, *images(pair, given))
    expected = before.copy()
    at = pair.d_index()
    expected[at] = product(pair, given).astype(np.float32).view(np.uint32)
    for rank in (0, 1):
        for lane in range(128):
            if mask[4 * rank + lane // 32] >> lane % 32 & 1:
                expected[rank, lane] = before[rank, lane]
    assert np.array_equal(after, expected)


def test_two_copies_of_a_may_differ_in_layout_b():
    """Lanes 0 to 63 are multiplied with the first half of B, lanes 64 to 127 with the second."""
    pair = Pair(F16, 128, 32, "f16", "f16", tensor=True)
    given, other = data(pair), data(pair, seed=5)
    before = prepared(pair, given)
    second = prepared(pair, Data(other.a, given.b, given.old))
    before[:, 64:, A_COLUMN : A_COLUMN + 8] = second[:, 64:, A_COLUMN : A_COLUMN + 8]
    program = PairProgram(COLUMNS, SIZE, (pair.mma(),))
    found = program.run(before, *images(pair, given))[pair.d_index()].view(np.float32)
    left = product(pair, given)[:, :16]
    right = product(pair, Data(other.a, given.b, given.old))[:, 16:]
    assert np.array_equal(found, np.concatenate([left, right], axis=1).astype(np.float32))


def test_factors_of_b_that_differ_between_the_ctas_are_a_fault():
    pair = Pair(MXF8, 256, 32, "e4m3", "e4m3")
    given = data(pair)
    before = prepared(pair, given)
    before[1, :, SFB_COLUMN] ^= 0x01
    with pytest.raises(Fault) as caught:
        PairProgram(COLUMNS, SIZE, (pair.mma(),)).run(before, *images(pair, given))
    assert caught.value.findings[0].rule == "sim/scale-pair"


def test_a_collector_holds_the_rows_of_both_ctas():
    pair = Pair(F16, 256, 32, "f16", "f16")
    given = data(pair)
    fill = replace(pair.mma(), collector=CollectorA.FILL, enable_d=0)
    use = replace(fill, collector=CollectorA.LASTUSE, d=D_COLUMN + 64)
    found = PairProgram(COLUMNS, SIZE, (fill, use)).run(prepared(pair, given), *images(pair, given))
    assert np.array_equal(
        found[:, :, D_COLUMN : D_COLUMN + 32], found[:, :, D_COLUMN + 64 : D_COLUMN + 96]
    )
    a, b = images(pair, given)
    a[1, :64] ^= 1  # the same image moved on by 512 bytes is another matrix
    with pytest.raises(Fault) as caught:
        PairProgram(COLUMNS, SIZE, (fill, replace(use, a_offset=512))).run(
            prepared(pair, given), a, b
        )
    assert caught.value.findings[0].rule == "sim/collector-stale"
