"""llvm.nvvm.fadd of LLVM 23: the last operand is llvm::RoundingMode.  IREE 3.13 writes it.

What answers is the sum in twice as many bits, which is exact, rounded by numpy.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from intrinsics.findings import NvgenError

MODES = {0: "rz", 1: "rn", 2: "rp", 3: "rm"}
TYPES = {
    "f32": "float", "ftz.f32": "float", "sat.f32": "float", "ftz.sat.f32": "float",
    "f64": "double", "f16": "half", "v2f16": "<2 x half>", "bf16": "bfloat",
}  # fmt: skip


def kernel(suffix: str, mode: int) -> str:
    type_ = TYPES[suffix]
    return f"""
declare {type_} @llvm.nvvm.fadd.{suffix}({type_}, {type_}, i32 immarg)
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %q = getelementptr {type_}, ptr addrspace(1) %in, i32 1
  %a = load {type_}, ptr addrspace(1) %in
  %b = load {type_}, ptr addrspace(1) %q
  %r = call {type_} @llvm.nvvm.fadd.{suffix}({type_} %a, {type_} %b, i32 {mode})
  store {type_} %r, ptr addrspace(1) %out
  ret void
}}
"""


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0**-25), (-1.0, -(2.0**-25)), (3.0, 2.0**-23)])
@pytest.mark.parametrize("mode", MODES)
def test_a_sum_is_rounded_as_said(mode: int, a: float, b: float) -> None:
    nearest = np.float32(a + b)  # exact in a double, then rounded
    below = nearest if float(nearest) <= a + b else np.nextafter(nearest, np.float32(-9))
    above = nearest if float(nearest) >= a + b else np.nextafter(nearest, np.float32(9))
    expected = {"rn": nearest, "rm": below, "rp": above, "rz": below if a > 0 else above}
    out = np.zeros(1, np.float32)
    given = np.array([a, b], np.float32)
    nvgen.compile(kernel("f32", mode), target="sm_90a").run(given, out, block=1, device="sim")
    assert out[0] == expected[MODES[mode]]


@pytest.mark.parametrize("suffix", TYPES)
def test_every_type_has_the_nearest(suffix: str) -> None:
    compiled = nvgen.compile(kernel(suffix, 1), target="sm_90a")
    assert "add.rn." in compiled.ptx
    assert compiled.cubin()


@pytest.mark.parametrize(("suffix", "mode"), [("f16", 0), ("f32", 4)])
def test_what_ptx_has_not_is_told(suffix: str, mode: int) -> None:
    with pytest.raises(NvgenError) as raised:
        nvgen.compile(kernel(suffix, mode), target="sm_90a")
    assert raised.value.findings[0].rule == "select/unknown-intrinsic"
