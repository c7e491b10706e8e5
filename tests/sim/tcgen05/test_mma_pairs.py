"""tcgen05.mma of a CTA pair: whose rows lie where, and every cell of both CTAs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.modifiers import CollectorA, ScaleVec
from nvgen.sim.faults import Fault
from tests.sim.matrices import (
    Placement,
)
from tests.sim.tcgen05.mma_layouts import (
    Codes,
    shared_lines,
)
from tests.sim.tcgen05.mma_pair import PairProgram
from tests.sim.tcgen05.mma_pair_case import (
    A_COLUMN,
    COLUMNS,
    D_COLUMN,
    F8,
    F16,
    I8,
    MXF4,
    MXF8,
    NVF4,
    SFB_COLUMN,
    SIZE,
    TF32,
    Data,
    Pair,
    check,
    data,
    images,
    prepared,
    product,
)

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


@pytest.mark.turns(16)
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


@pytest.mark.turns(6)
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
@pytest.mark.parametrize("schedule", ["late", "random:1"])
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


@pytest.mark.wrong_kernel
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
