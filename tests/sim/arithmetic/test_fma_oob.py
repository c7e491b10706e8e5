"""fma.oob: what counts as out of bounds, asked with every factor of 16 bits.

The manual says that TMA fills with a special NaN, and that .oob clamps to 0 where a factor is one;
which NaN it is an H100 tells: 0x7ff7, of either sign.  PTX ISA, fma; Tensors.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.sim.ptx import run

KERNEL = """
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r1, %r1, 1024, %tx;
    mul.wide.u32 %rd1, %r1, {size};
    add.u64 %rd2, %rd1, %a0;
    {load} [%rd2];
    add.u64 %rd2, %rd1, %a1;
    {fma}
    {store}
"""
NUMBERS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
OUTSIDE = [0x7FF7, 0xFFF7]


def result(type_: str, place: str, form: str) -> np.ndarray:
    """What the form gives for all 65,536 numbers as one operand, the others 1."""
    packed = type_.endswith("x2")
    size, register = (4, "%r2") if packed else (2, "%rs1")
    one, other, found = ("%r3", "%r3", "%r4") if packed else ("%rs2", "%rs2", "%rs4")
    bits = int(np.ones(1, NUMBERS[type_.removesuffix("x2")]).view(np.uint16)[0])
    ones = f"mov.b{8 * size} {one}, {bits | bits << 16 if packed else bits};"
    operands = {"a": (register, one, other), "b": (one, register, other)}[place]
    numbers, out = np.arange(65536).astype(np.uint16), np.zeros(65536, np.uint16)
    body = KERNEL.format(
        size=size,
        load=f"{ones} ld.global.b{8 * size} {register},",
        fma=f"fma.rn{form}.{type_} {found}, {', '.join(operands)};",
        store=f"st.global.b{8 * size} [%rd2], {found};",
    )
    grid = 65536 // 1024 // (2 if packed else 1)
    run(body, numbers, out, threads=1024, grid=(grid, 1, 1), target="sm_90a", version="8.1")
    return out


@pytest.mark.turns(8)
@pytest.mark.gpu
@pytest.mark.parametrize("type_", ["f16", "bf16", "f16x2", "bf16x2"])
@pytest.mark.parametrize("place", ["a", "b"])
def test_a_factor_outside_gives_zero(type_: str, place: str) -> None:
    plain, clamped = (result(type_, place, form) for form in ("", ".oob"))
    differs = np.flatnonzero(plain != clamped)
    assert differs.tolist() == OUTSIDE
    assert (clamped[OUTSIDE] == 0).all()
