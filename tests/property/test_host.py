"""The host computes half and bfloat as IEEE 754 says: one rounding for each operation.

It has neither, so LLVM and `tests.property.host` make them out of float and double.  Here exact
fractions judge the result.
"""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.property.host import HostProgram

FORMATS = {
    "half": ("f16", np.dtype(np.float16), 11, -24),
    "bfloat": ("bf16", np.dtype(ml_dtypes.bfloat16), 8, -133),
}
"""Of each format the name in intrinsics, numpy's type, its digits, the exponent of the last one."""

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [4 x TYPE], ptr addrspace(1) %in, i32 %tid
  %pb = getelementptr TYPE, ptr addrspace(1) %p, i32 1
  %pc = getelementptr TYPE, ptr addrspace(1) %p, i32 2
  %a = load TYPE, ptr addrspace(1) %p
  %b = load TYPE, ptr addrspace(1) %pb
  %c = load TYPE, ptr addrspace(1) %pc
  %r = OPERATION
  %q = getelementptr TYPE, ptr addrspace(1) %out, i32 %tid
  store TYPE %r, ptr addrspace(1) %q
  ret void
}
"""


def rounded(exact: Fraction, digits: int, last: int) -> Fraction:
    """To the nearest number of a format, ties to even; beyond the largest is not looked at."""
    if exact == 0:
        return exact
    exponent = math.floor(math.log2(abs(exact)))
    exponent += (abs(exact) >= Fraction(2) ** (exponent + 1)) - (
        abs(exact) < Fraction(2) ** exponent
    )
    unit = Fraction(2) ** max(exponent - digits + 1, last)
    return round(exact / unit) * unit


def triples(dtype: np.dtype[np.generic], digits: int) -> NDArray[np.generic]:
    """Finite numbers of middling size, and sums that lie beside the middle between two numbers."""
    rng = np.random.default_rng(digits)
    signs = rng.choice([-1.0, 1.0], (400, 4))
    numbers = signs * rng.integers(1, 1 << digits, (400, 4)) * 2.0 ** rng.integers(-12, 4, (400, 4))
    numbers[:100, 2] *= 2.0**-20
    numbers[:50, :2] = 1 + rng.integers(0, 1 << (digits - 1), (50, 2)) * 2.0 ** (1 - digits)
    numbers[50:60, :3] = 1 + 2.0 ** (1 - digits), 1 + 2.0 ** -(digits // 2), 2.0**-24
    return numbers.astype(dtype)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operation", ["fadd", "fsub", "fmul", "fdiv", "fma"])
def test_an_operation_rounds_once(name: str, operation: str):
    suffix, dtype, digits, last = FORMATS[name]
    text = f"{operation} {name} %a, %b"
    declare = ""
    if operation == "fma":
        text = f"call {name} @llvm.fma.{suffix}({name} %a, {name} %b, {name} %c)"
        declare = f"declare {name} @llvm.fma.{suffix}({name}, {name}, {name})\n"
    given = triples(dtype, digits)
    found = np.zeros(len(given), dtype)
    kernel = KERNEL.replace("OPERATION", text).replace("TYPE", name) + declare
    HostProgram(kernel).run(given, found, len(given))
    largest = Fraction(float(ml_dtypes.finfo(dtype).max))
    for row, result in zip(given, found, strict=True):
        a, b, c = (Fraction(float(x)) for x in row[:3])
        exact = {
            "fadd": a + b, "fsub": a - b, "fmul": a * b, "fdiv": a / b, "fma": a * b + c,
        }[operation]  # fmt: skip
        if abs(exact) < largest:
            assert Fraction(float(result)) == rounded(exact, digits, last), (operation, row)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("source", ["float", "double"])
def test_a_number_is_narrowed_with_one_rounding(name: str, source: str):
    _, dtype, digits, last = FORMATS[name]
    rng = np.random.default_rng(5)
    wide = np.dtype(np.float32 if source == "float" else np.float64)
    numbers = (rng.normal(size=(600, 4)) * 2.0 ** rng.integers(-30, 12, (600, 4))).astype(wide)
    # beside the middle between two numbers, by less than float can say
    middle = 1 + (2 * rng.integers(0, 1 << (digits - 1), 200) + 1) * 2.0**-digits
    numbers[:200, 0] = (middle + rng.choice([-1, 0, 1], 200) * 2.0**-40).astype(wide)
    found = np.zeros(len(numbers), dtype)
    kernel = KERNEL.replace("OPERATION", f"fptrunc {source} %a to {name}").replace("TYPE", name)
    kernel = kernel.replace(f"[4 x {name}]", f"[4 x {source}]")
    kernel = kernel.replace(f"%a = load {name}", f"%a = load {source}")
    HostProgram(kernel).run(numbers, found, len(numbers))
    for number, result in zip(numbers[:, 0], found, strict=True):
        assert Fraction(float(result)) == rounded(Fraction(float(number)), digits, last), number
