"""Switches go where LLVM's reference says, however many cases they have."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

import nvgen
from isel.lower.switches import FEW

ARMS = 5

CASES: dict[str, tuple[int, Sequence[int]]] = {
    "few": (32, (7, 1, 3)),
    "a run from zero": (8, range(15)),
    "a run from elsewhere": (32, range(3, 24)),
    "a run up to the greatest": (8, range(247, 256)),
    "all numbers of a width": (3, range(8)),
    "numbers with gaps": (16, (0, 5, 6, 7, 900, 32767, 32768, 65535)),
    "an odd width": (33, (1 << 32, 0, 1, 2, (1 << 33) - 1, 77)),
    "the greatest numbers": (64, tuple((1 << 64) - 1 - n * n for n in range(11))),
    "more bits than a register": (128, (1 << 100, 0, 1, 2, 3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_number_goes_to_its_case(name: str) -> None:
    bits, cases = CASES[name]
    numbers = [*cases, *(n + 1 for n in cases), *(n - 1 for n in cases)]
    probes = sorted({n % (1 << bits) for n in numbers})
    inputs = np.array([[p & (1 << 64) - 1, p >> 64] for p in probes], np.uint64)
    out = np.zeros(len(probes), np.int32)
    nvgen.compile(_text(bits, cases), target="sm_90a").run(inputs, out, block=len(probes))
    arm = {number: 100 + place % ARMS for place, number in enumerate(cases)}
    assert list(out) == [arm.get(probe, -7) for probe in probes]


def test_a_way_has_few_comparisons() -> None:
    """As many as halving needs, and those at its end."""
    ptx = nvgen.compile(_text(32, [n * n for n in range(64)]), target="sm_90a").ptx
    runs = re.split(r"^\$L\w*:|setp\.lt", ptx, flags=re.MULTILINE)
    assert 1 < max(run.count("setp.eq") for run in runs) <= FEW
    assert ptx.count("setp.eq") == 64


def _text(bits: int, cases: Sequence[int]) -> str:
    """Stores 100 and the number of the arm, or -7, that a thread's number goes to."""
    places = "".join(f"    i{bits} {n}, label %c{k % ARMS}\n" for k, n in enumerate(cases))
    arms = [range(k, len(cases), ARMS) for k in range(ARMS) if k < len(cases)]
    blocks = "".join(
        f"c{k}:\n  %y{k} = phi i32 " + ", ".join(f"[ {100 + k}, %entry ]" for _ in own)
        + "\n  br label %end\n"
        for k, own in enumerate(arms)
    )  # fmt: skip
    values = "".join(f", [ %y{k}, %c{k} ]" for k in range(len(arms)))
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [16 x i8], ptr addrspace(1) %in, i32 %t
  %w = load i128, ptr addrspace(1) %p, align 8
  %m = and i128 %w, {(1 << bits) - 1}
  {"%x = add i128 %m, 0" if bits == 128 else f"%x = trunc i128 %m to i{bits}"}
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  switch i{bits} %x, label %end [
{places}  ]
{blocks}end:
  %v = phi i32 [ -7, %entry ]{values}
  store i32 %v, ptr addrspace(1) %q
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
