"""Additions, subtractions, least and greatest of integers that share a register, against Python's.

PTX ISA, Integer Arithmetic Instructions: add, sub, min, max; each element is a number of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import errors
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate

PTX = """
.version 9.2
.target {target}
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{{
	.reg .b32 %r<5>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd4, %r1, 4;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	add.s64 %rd7, %rd3, %rd4;
	ld.global.b32 %r2, [%rd5];
	ld.global.b32 %r3, [%rd6];
	{op} %r4, %r2, %r3;
	st.global.b32 [%rd7], %r4;
	ret;
}}
"""
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": min,
    "max": max,
}


def of_elements(op: str, a: int, b: int) -> int:
    """What an instruction makes of two registers."""
    name, *more, type_ = op.split(".")
    bits, signed = int(type_[1:].split("x")[0]), type_[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    total = 0
    for at in range(0, 32, bits):
        x, y = ((word >> at & (1 << bits) - 1) for word in (a, b))
        if signed:
            x, y = ((n + low) % (1 << bits) + low for n in (x, y))
        found = OPERATIONS[name](x, y)
        found = min(max(found, low), high) if "sat" in more else found
        found = max(found, 0) if "relu" in more else found
        total |= (found & (1 << bits) - 1) << at
    return total


@pytest.mark.parametrize(
    ("op", "target"),
    [
        ("add.u16x2", "sm_90"),
        ("add.s16x2", "sm_90"),
        ("min.u16x2", "sm_90"),
        ("max.s16x2", "sm_90"),
        ("min.s16x2", "sm_90"),
        ("max.u16x2", "sm_90"),
        ("min.relu.s32", "sm_90"),
        ("max.relu.s16x2", "sm_90"),
        ("min.relu.s8x4", "sm_120f"),
        ("add.sat.s32", "sm_90"),
        ("add.sat.u16x2", "sm_120f"),
        ("add.sat.s8x4", "sm_120f"),
        ("sub.u8x4", "sm_120f"),
        ("max.s8x4", "sm_120f"),
        ("add.sat.u32", "sm_120f"),
    ],
)
def test_each_element_is_a_number_of_its_own(op: str, target: str):
    text = PTX.format(target=target, op=op)
    module = read_ptx(text, "packed.ptx")
    assert not errors(module.findings)
    rng = random.Random(op)
    a, b = ([rng.getrandbits(32) for _ in range(32)] for _ in range(2))
    c = np.zeros(32, np.uint32)
    arrays = [np.array(a, np.uint32), np.array(b, np.uint32), c]
    once = (1, 1, 1)
    schedule = parse_schedule("early")
    simulate(module.module, "k", arrays, grid=once, block=(32, 1, 1), schedule=schedule)
    assert c.tolist() == [of_elements(op, x, y) for x, y in zip(a, b, strict=True)]
