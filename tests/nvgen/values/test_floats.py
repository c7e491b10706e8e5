"""The builder's conversions of f32: the halves of a register, as ml_dtypes and numpy round."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import ElementType, KernelBuilder, bf16, f16, f32, u32
from nvgen.testing import Launch, assert_exact, kernel_test


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_two_numbers_in_a_register(launch: Launch, name: str) -> None:
    b = KernelBuilder("pack", block=64)
    b.pointer("x")
    b.pointer("d", output=True)
    args = b.begin()
    place = args["x"] + b.tid_x * 8
    two = b.load(place, u32, 2)
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


@kernel_test(schedules="early", targets=["sm_80", "sm_90a", "sm_100a"], opt=[0, 3])
@pytest.mark.parametrize("dtype", [f16, bf16, f32], ids=lambda t: t.value)
def test_a_nan_is_kept_or_not(launch: Launch, dtype: ElementType) -> None:
    """Of two numbers of which one is a NaN: the other one, or with `nan` the NaN."""
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", dtype)
    b.pointer("y", dtype)
    b.pointer("out", dtype, output=True)
    x, y, out = b.begin().values()
    one, other = x[b.tid_x], y[b.tid_x]
    found = [getattr(one, name)(other, nan=nan) for name in ("min", "max") for nan in (False, True)]
    for i, number in enumerate(found):
        out[i * 32 + b.tid_x] = number
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(32).astype(dtype.numpy) for _ in "xy"]
    given[0][::3], given[1][::5] = np.nan, np.nan
    got = np.zeros((4, 32), dtype.numpy)
    launch(b.finish().compile(opt=launch.opt), *given, got)
    wide = [one.astype(np.float32) for one in given]
    kept = np.stack([f(*wide) for f in (np.fmin, np.minimum, np.fmax, np.maximum)])
    assert np.array_equal(got.astype(np.float32), kept, equal_nan=True)
