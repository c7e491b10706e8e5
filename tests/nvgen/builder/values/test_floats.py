"""The builder's conversions of f32: the halves of a register, as ml_dtypes and numpy round."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import KernelBuilder
from nvgen.testing import Launch, assert_exact, kernel_test


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_two_numbers_in_a_register(launch: Launch, name: str) -> None:
    b = KernelBuilder("pack", block=64)
    b.pointer("x")
    b.pointer("d", output=True)
    args = b.begin()
    place = args["x"] + b.tid_x * 8
    two = b.load_words(place, 2)
    pack = b.pack_bf16x2 if name == "bf16" else b.pack_f16x2
    b.store(pack(two[0], two[1]), args["d"] + b.tid_x * 4, align=4)
    x = np.random.default_rng(0).normal(size=128).astype(np.float32)
    x[:6] = 0, -0.0, 1 + 2.0**-8, 1 + 2.0**-9 + 2.0**-10, np.inf, -1 - 2.0**-11
    d = np.zeros(64, np.uint32)
    launch(b.finish(), x, d)
    rounded = x.astype(ml_dtypes.bfloat16 if name == "bf16" else np.float16)
    assert_exact(d, rounded.view(np.uint32))


def test_only_words_are_packed() -> None:
    b = KernelBuilder("pack", block=32)
    b.begin()
    with pytest.raises(InputError):
        b.pack_f16x2(b.const(0, 64), b.const(0, 32))
