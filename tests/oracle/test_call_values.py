"""Calls give on the simulator, and on a GPU, what they give on the host's processor.

``NVGEN_TEST_DEVICE=cuda`` runs them on a GPU.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.call_programs import PROGRAMS
from tests.oracle.host_and_device import assert_equal, both

pytestmark = pytest.mark.gpu

THREADS = 48
"""One whole warp and a half."""


@pytest.mark.turns(8)
@pytest.mark.parametrize("opt", [0, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_gives_what_it_gives_on_the_host(name: str, opt: int):
    rng = np.random.default_rng(7)
    x = rng.integers(0, 1 << 64, THREADS, dtype=np.uint64)
    x[:4] = 0, 1, 0x8000_0000_0000_0080, 0xFFFF_FFFF_FFFF_FFFF
    out = np.zeros(THREADS, np.uint64)
    text = PROGRAMS[name]
    assert_equal(text, both(text, [x, out], block=(THREADS, 1, 1), opt=opt))
