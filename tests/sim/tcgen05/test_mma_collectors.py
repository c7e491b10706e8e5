"""Collector buffers: a multiply that uses one gets what a reload would give, or it is a fault."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.modifiers import CollectorA, CollectorWs, MmaKind
from nvgen.sim.faults import Fault
from tests.sim.kernels import TensorProgram
from tests.sim.tcgen05.mma_case import COLUMNS, IMAGE, Case, every_cell, image
from tests.sim.tcgen05.mma_inputs import dense
from tests.sim.tcgen05.mma_layouts import codes_of, values

F16 = MmaKind.F16
A = CollectorA
W = CollectorWs
PLAIN = Case(F16, 128, 64, "f16", "f16")
STATIONARY = replace(PLAIN, ws=True)
SCHEDULES = ["early", "late", "random:3", "random:4"]


def program(case: Case, *usages: A | W | None, **changes: int) -> TensorProgram:
    """One multiply for each usage, each with a D of its own; the last one may be changed."""
    mmas = [replace(case.mma(), collector=u, d=64 * i) for i, u in enumerate(usages)]
    mmas[-1] = replace(mmas[-1], **changes)
    return TensorProgram(COLUMNS, IMAGE, IMAGE, tuple(mmas))


def images(case: Case) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.float32]]:
    """Shared memory with A and B, and their product."""
    given = dense(case)
    assert case.a_place is not None
    product = values(given.a, case.a) @ values(given.b, case.b).T
    a = image(given.a, case.a, case.kind, case.a_place)
    return a, image(given.b, case.b, case.kind, case.b_place), product.astype(np.float32)


@pytest.mark.turns(6)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("case", "usages"),
    [
        (PLAIN, (A.FILL, A.USE, A.USE, A.LASTUSE)),
        (PLAIN, (A.FILL, A.FILL, A.USE, A.DISCARD)),
        (STATIONARY, (W.B0_FILL, W.B1_FILL, W.B0_USE, W.B1_LASTUSE)),
        (STATIONARY, (W.B3_FILL, W.B2_FILL, W.B2_DISCARD, W.B3_LASTUSE)),
    ],
)
def test_a_buffer_that_was_filled_may_be_used(case: Case, usages: tuple[A | W, ...], schedule: str):
    a, b, product = images(case)
    found = program(case, *usages).run(every_cell(), a, b, schedule=schedule)
    for i in range(len(usages)):
        assert np.array_equal(found[:, 64 * i : 64 * i + 64].view(np.float32), product)


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("case", "usages"),
    [
        (PLAIN, (A.USE,)),
        (PLAIN, (A.FILL, A.LASTUSE, A.USE)),
        (PLAIN, (A.FILL, A.DISCARD, A.LASTUSE)),
        (STATIONARY, (W.B0_FILL, W.B1_USE)),
        (STATIONARY, (W.B2_FILL, W.B2_LASTUSE, W.B2_USE)),
    ],
)
def test_a_buffer_that_holds_nothing_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, case: Case, usages: tuple[A | W, ...]
):
    """The verifier says so before, which is left out here."""
    found = _unchecked(monkeypatch, case, *usages)
    assert found == "sim/collector-empty"


@pytest.mark.turns(6)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_matrix_than_was_filled_is_a_fault(schedule: str):
    """Rows of A one further on: the chip may take them from the buffer, or from memory."""
    a, b, _ = images(PLAIN)
    for usage in (A.USE, A.LASTUSE):
        with pytest.raises(Fault) as caught:
            program(PLAIN, A.FILL, usage, a_offset=512).run(every_cell(), a, b, schedule=schedule)
        assert caught.value.findings[0].rule == "sim/collector-stale"
    program(PLAIN, A.FILL, A.DISCARD, a_offset=512).run(every_cell(), a, b, schedule=schedule)


def test_equal_matrices_at_different_places_are_one_matrix():
    """A lies twice in memory, which makes no difference: the verifier has a review."""
    case = replace(PLAIN, m=64)
    given = dense(case)
    given.a = np.tile(codes_of(np.arange(16.0)[None], "f16"), (64, 1))
    assert case.a_place is not None
    a = image(np.concatenate([given.a, given.a]), "f16", F16, case.a_place)
    b = image(given.b, "f16", F16, case.b_place)
    found = program(case, A.FILL, A.LASTUSE, a_offset=64 * 64).run(every_cell(), a, b)
    rows = [i // 16 * 32 + i % 16 for i in range(64)]
    assert np.array_equal(found[rows, :64], found[rows, 64:128])


@pytest.mark.wrong_kernel
def test_a_matrix_of_another_type_is_a_fault():
    a, b, _ = images(PLAIN)
    other = replace(PLAIN, a="bf16").idesc
    with pytest.raises(Fault) as caught:
        program(PLAIN, A.FILL, A.USE, idesc=other).run(every_cell(), a, b)
    assert caught.value.findings[0].rule == "sim/collector-other"


def test_b_may_be_reused_from_a_later_column():
    """A shift, and zero columns, leave the matrix what it is."""
    case = replace(STATIONARY, max_shift=2, n=64)
    given = dense(replace(case, n=64 + 16))
    assert case.a_place is not None
    a = image(given.a, "f16", F16, case.a_place)
    b = image(given.b, "f16", F16, case.b_place)
    masks = [1 << 39 | 63 << 48 | shift << 56 for shift in (0, 16, 8)]
    mmas = tuple(
        replace(case.mma(), collector=usage, zero_mask=mask, d=64 * i)
        for i, (usage, mask) in enumerate(
            zip((W.B1_FILL, W.B1_USE, W.B1_LASTUSE), masks, strict=True)
        )
    )
    found = TensorProgram(COLUMNS, IMAGE, IMAGE, mmas).run(every_cell(), a, b)
    product = values(given.a, "f16") @ values(given.b, "f16").T
    for i, shift in enumerate((0, 16, 8)):
        # Sixty-four used columns, then one of zeros: the run is as long as N.
        part = product[:, shift : shift + 64].astype(np.float32)
        assert np.array_equal(found[:, 64 * i : 64 * i + 64].view(np.float32), part)


def _unchecked(monkeypatch: pytest.MonkeyPatch, case: Case, *usages: A | W) -> str:
    """The rule of the fault, with the verifier's own check of collectors taken away."""
    from isel.verifier.function.tensor_memory import collectors

    monkeypatch.setattr(collectors, "check", lambda report: None)
    a, b, _ = images(case)
    with pytest.raises(Fault) as caught:
        program(case, *usages).run(every_cell(), a, b)
    return caught.value.findings[0].rule
