"""Numbers as printers newer than LLVM 22 write them mean what they say."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import nvgen
from nvgen.llvm.newer import _FORMATS, in_older_words, rounded


def stored(literal: str, type_: str, size: int) -> bytes:
    """The bytes that a kernel stores for a literal."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  store {type_} {literal}, ptr addrspace(1) %out
  ret void
}}
"""
    out = np.zeros(size, np.uint8)
    nvgen.compile(text, target="sm_90a").run(out, block=1)
    return out.tobytes()


CASES = {
    ("f0x3C23D70A", "float"): np.uint32(0x3C23D70A),
    ("f0x7FA00001", "float"): np.uint32(0x7FA00001),
    ("f0x3C00", "half"): np.uint16(0x3C00),
    ("f0x3F80", "bfloat"): np.uint16(0x3F80),
    ("f0x3FF0000000000001", "double"): np.uint64(0x3FF0000000000001),
    ("+inf", "float"): np.float32(np.inf),
    ("-inf", "half"): np.float16(-np.inf),
    ("+inf", "bfloat"): np.uint16(0x7F80),
    ("-inf", "double"): np.float64(-np.inf),
    ("0.1", "float"): np.float32(0.1),
    ("-3.3e38", "float"): np.float32(-3.3e38),
    ("1.0e-45", "float"): np.uint32(1),
    ("0.1", "half"): np.float16(0.1),
    ("0.1", "bfloat"): np.array(0.1, ml_dtypes.bfloat16),
}


@pytest.mark.parametrize(("literal", "type_"), CASES)
def test_a_literal_is_the_number_that_it_names(literal: str, type_: str):
    number = CASES[literal, type_]
    assert stored(literal, type_, number.nbytes) == number.tobytes()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "kind"), [("float", np.float32), ("half", np.float16)])
def test_rounding_is_numpys(name: str, kind: type[np.floating]):
    draw = np.random.default_rng(7)
    numbers = [*np.exp(draw.uniform(-120, 100, 300)), 0.0, 1e-50, 65519.999, 65520.0]
    bits = np.dtype(kind).itemsize * 8
    with np.errstate(over="ignore", under="ignore"):
        wanted = [int(np.array(n, kind).view(f"u{bits // 8}")) for n in numbers]
    assert [rounded(Fraction(float(n)), _FORMATS[name]) for n in numbers] == wanted


@pytest.mark.parametrize(
    "line",
    [
        '@s = constant [4 x i8] c"+inf"',
        "  %x = fadd float %a, 1.000000e+00 ; f0x3C23D70A",
        "  %y = add i32 %inf, -1",
        '  call void asm "mov.f32 $0, 0f3F800000;", "=f"()',
    ],
)
def test_what_is_no_such_number_stays(line: str):
    assert in_older_words(line) == line
