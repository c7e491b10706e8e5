"""tcgen05.cp and tcgen05.shift with .cta_group::2: one thread, both CTAs of its pair.

PTX ISA, tcgen05.cp; tcgen05.shift; CTA Pair.  Each CTA's tensor memory gets what lies in its own
shared memory.  Every cell of both CTAs is compared.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import SimulationError
from tests.sim.ptx import SCHEDULES
from tests.sim.tcgen05.tensor_scenes import COMMIT, numbers, play, play_pair, scene
from tests.sim.tcgen05.test_copy import TRAITS, expected, operation, placed, source
from tests.sim.tcgen05.test_copy_order import shift, shifted

pytestmark = pytest.mark.turns(12)

STARTS = np.stack([numbers(1), numbers(2)])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("issuer", [0, 1])
@pytest.mark.parametrize("name", TRAITS)
def test_a_copy_of_a_pair(name: str, issuer: int, schedule: str):
    rows = [source(name, seed) for seed in (3, 4)]
    images = np.stack([placed(r, span=0, lbo=128, sbo=256) for r in rows])
    text = scene(operation(name, column=12))
    found = play_pair(text, images, STARTS, issuer=issuer, schedule=schedule)
    for rank in range(2):
        wanted = expected(name, rows[rank], column=12, seed=rank + 1)
        assert (found[rank] == wanted).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("issuer", [0, 1])
def test_a_shift_of_a_pair(issuer: int, schedule: str):
    text = scene(shift(64, 16) + COMMIT)
    images = np.zeros((2, 512), np.uint8)
    found = play_pair(text, images, STARTS, issuer=issuer, schedule=schedule)
    assert (found == [shifted(start, 64, 16) for start in STARTS]).all()


@pytest.mark.parametrize("statement", [operation("128x128b"), shift() + COMMIT])
def test_a_kernel_has_one_cta_group(statement: str):
    image = placed(source("128x128b"), span=0, lbo=128, sbo=256)
    text = scene(statement.replace("cta_group::1", "cta_group::2", 1))
    with pytest.raises(SimulationError) as caught:
        play(text, image, numbers())
    (finding,) = caught.value.findings
    assert finding.rule == "sim/cta-group-mixed"
