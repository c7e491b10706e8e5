"""One tile as B of two multiplies: K-major, and transposed as an MN-major one of the same memory.

O = (Q·Cᵀ)·C is what attention does whose keys are its values.  numpy is the oracle; small integers
make every sum exact.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import Major
from nvgen import KernelBuilder, bf16, f32
from nvgen.testing import Launch, assert_exact, kernel_test

KEYS, D = 64, 128


@pytest.mark.turns(8)
@kernel_test(schedules="all", targets="sm_90a")
@pytest.mark.parametrize("swizzle", [128, 64, 32])
@pytest.mark.parametrize("halves", [1, 2])
def test_keys_that_are_values(launch: Launch, swizzle: int, halves: int) -> None:
    b = KernelBuilder("k", block=128, target=launch.target, dynamic_shared=True)
    for name in ("q", "c"):
        b.tile_map(name, bf16, (KEYS, D), swizzle=swizzle)
    b.pointer("out", f32, output=True)
    args = b.begin()
    q, c = (b.shared_tile(f"{name}_tile", bf16, (KEYS, D), swizzle=swizzle) for name in "qc")
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, q, c)
        b.load_tile(q, args["q"], (0, 0), full)
        b.load_tile(c, args["c"], (0, 0), full)
    b.wait(full, 0)
    s = b.warpgroup_tile(KEYS, KEYS)
    b.gemm(s, q, c)
    p, columns = s.as_a_operand(bf16), D // halves
    for half in range(halves):
        o = b.warpgroup_tile(KEYS, columns)
        b.gemm(o, p, c.transposed.part(half * columns, columns))
        o.store(args["out"].at(half * columns), D)
    rng = np.random.default_rng(swizzle)
    q, c = (rng.integers(-1, 2, (KEYS, D)).astype(bf16.numpy) for _ in range(2))  # type: ignore[assignment]
    out = np.zeros((KEYS, D), np.float32)
    launch(b.finish(), q, c, out)
    wide = [x.astype(np.float32) for x in (q, c)]  # type: ignore[attr-defined]
    assert_exact(out, (wide[0] @ wide[1].T) @ wide[1])


def test_twice_transposed_is_the_tile() -> None:
    b = KernelBuilder("k", block=128, target="sm_90a", dynamic_shared=True)
    b.begin()
    tile = b.shared_tile("t", bf16, (64, 128), major=Major.MN)
    turned = tile.transposed
    assert (turned.rows, turned.k, turned.major) == (128, 64, Major.K)
    assert turned.nbytes == tile.nbytes
    again = turned.transposed
    assert (again.rows, again.k, again.major) == (tile.rows, tile.k, tile.major)
    assert again.lines == tile.lines
