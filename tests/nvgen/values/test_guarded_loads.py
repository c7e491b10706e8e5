"""`b.load(…, where=, otherwise=)`: the elements of an array, and a number beyond its end.

The array ends where the condition does: a load beyond it would end the run.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import Kernel, KernelBuilder, bf16, e4m3, f32, i32
from nvgen.values.number_types import NumberType
from tests.each import each

TYPES: dict[str, tuple[NumberType, np.dtype]] = {
    "f32": (f32, np.dtype(np.float32)),
    "bf16": (bf16, np.dtype(bf16.numpy)),
    "e4m3": (e4m3, np.dtype(e4m3.numpy)),
    "i32": (i32, np.dtype(np.int32)),
}


def build(dtype: NumberType, count: int) -> Kernel:
    b = KernelBuilder("guarded", block=32, target="sm_90a")
    b.pointer("x", dtype)
    b.pointer("y", dtype, output=True)
    b.u32("n")
    args = b.begin()
    i = b.tid_x * count
    values = b.load(args["x"].at(i), dtype, count, where=i < args["n"], otherwise=7)
    b.store(values, args["y"].at(i))
    return b.finish()


@each("count", (1, 4))
@each("name", TYPES)
def test_loads_within_and_beyond(name: str, count: int) -> None:
    dtype, numpy = TYPES[name]
    x = np.arange(11 * count).astype(numpy)
    y = np.zeros(32 * count, numpy)
    build(dtype, count).compile().run(x, y, 11 * count, device="sim")
    assert (y[: 11 * count] == x).all()
    assert (y[11 * count :] == 7).all()


def test_what_is_refused() -> None:
    b = KernelBuilder("refused", block=32, target="sm_90a")
    b.pointer("x", f32)
    x = b.begin()["x"]
    with pytest.raises(InputError, match="no condition of the kernel"):
        b.load(x, f32, 2, where=True)
    with pytest.raises(InputError, match="beyond f32's"):
        b.load(x, f32, 2, where=b.tid_x < 3, otherwise=1e99)
    with pytest.raises(InputError, match="expected: a Python number"):
        b.load(x, f32, 2, where=b.tid_x < 3, otherwise=x[0])
