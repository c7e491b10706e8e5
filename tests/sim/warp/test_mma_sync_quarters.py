"""mma.m8n8k4 of f16: four multiplies of a warp, in every layout and type, against numpy.

Where elements lie is CUTLASS's.  PTX ISA, Matrix Fragments for mma.m8n8k4 with .f16.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from intrinsics.layouts.fragments_mma_quarters import quarter_a, quarter_b, quarter_c
from intrinsics.modifiers.mma_sync import MmaLayout
from tests.intrinsics.published.mma_quarters import FACTORS, SUMS, quarter_places
from tests.oracle import gpu
from tests.oracle.test_mma_sync_names import NAMES
from tests.sim.warp.mma_sync_case import Bits, module

NAME = re.compile(r"mma\.m8n8k4\.(row|col)\.(row|col)\.(f16|f32)\.(f16|f32)")
CASES = [name for name in NAMES if NAME.fullmatch(name)]
DTYPES = {"f16": np.float16, "f32": np.float32}


def test_fragments_are_as_published() -> None:
    pairs = [(quarter_c(bits), layout) for bits, layout in SUMS.items()]
    pairs += [
        ((quarter_a if matrix == "a" else quarter_b)(MmaLayout(text)), layout)
        for (matrix, text), layout in FACTORS.items()
    ]
    for ours, layout in pairs:
        for one, theirs in zip(ours, quarter_places(layout), strict=True):
            assert np.array_equal(one, theirs)


def registers(values: NDArray[np.floating], at: tuple[Bits, ...]) -> Bits:
    """The registers of 32 threads that hold matrices."""
    return np.ascontiguousarray(values[at]).view(np.uint32)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_four_multiplies(name: str) -> None:
    match = NAME.fullmatch(name)
    assert match is not None
    alayout, blayout, dtype, ctype = match.groups()
    rng = np.random.default_rng(sum(map(ord, name)))
    a, b = (rng.integers(-4, 5, (4, 8, 4)).astype(np.float16) for _ in "ab")
    c = rng.integers(-50, 51, (4, 8, 8)).astype(DTYPES[ctype])
    sizes = {kind: np.dtype(one).itemsize * 8 for kind, one in DTYPES.items()}
    given = [
        registers(a, quarter_places(FACTORS["a", alayout])),
        registers(b, quarter_places(FACTORS["b", blayout])),
        registers(c, quarter_places(SUMS[sizes[ctype]])),
    ]
    out = np.zeros((32, 8), DTYPES[dtype])
    words = out.view(np.uint32)
    compiled = nvgen.compile(module(name), target="sm_90a")
    gpu.launch(compiled, *given, words, block=(32, 1, 1))
    expected = a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1) + c
    assert np.array_equal(out, expected[quarter_places(SUMS[sizes[dtype]])])
