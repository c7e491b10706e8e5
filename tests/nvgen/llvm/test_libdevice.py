"""Functions of libdevice are linked by themselves, and are numpy's to their last places."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import nvgen
from intrinsics.findings import InputError
from nvgen.llvm.libdevice import find_libdevice

THREADS = 64
LIBRARY = pytest.mark.skipif(find_libdevice() is None, reason="no libdevice here")


def kernel(name: str) -> str:
    return f"""
declare double @__nv_{name}(double)
define ptx_kernel void @k(ptr addrspace(1) %x) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr double, ptr addrspace(1) %x, i32 %t
  %a = load double, ptr addrspace(1) %p
  %b = call double @__nv_{name}(double %a)
  store double %b, ptr addrspace(1) %p
  ret void
}}
"""


@pytest.mark.turns(4)
@LIBRARY
@pytest.mark.gpu
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf", "cbrt"])
@pytest.mark.parametrize("opt", [0, 3])
def test_a_function_is_what_the_host_says(name: str, opt: int):
    x = np.linspace(0.01, 9.0, THREADS)
    wanted = [getattr(math, name)(value) for value in x] if name != "cbrt" else np.cbrt(x)
    compiled = nvgen.compile(kernel(name), target="sm_90a", opt=opt)
    compiled.run(x, block=THREADS)
    np.testing.assert_allclose(x, wanted, rtol=1e-15, atol=0)
    assert not [f for f in compiled.findings if f.rule == "select/extern-function"]


@LIBRARY
def test_only_what_is_called_comes_along():
    compiled = nvgen.compile(kernel("sqrt"), target="sm_90a")
    assert len(compiled.module.functions) <= 2


def test_a_library_that_is_not_there_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("nvgen.llvm.reading.find_libdevice", lambda: tmp_path / "none.bc")
    with pytest.raises(InputError) as error:
        nvgen.compile(kernel("exp"), target="sm_90a")
    assert [f.rule for f in error.value.findings] == ["llvm/libdevice"]
