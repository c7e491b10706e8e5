"""Products by gemm_async, compiled and compared with numpy."""

from __future__ import annotations

import re

from nvgen import Kernel
from tests.nvgen.gemm_programs import lines, mmas

PLAIN = 1 << 4 | 16 << 17 | 8 << 24
"""D f32, A and B f16 and K-major, N 128, M 128: 0x8200010."""


def words(kernel: Kernel) -> list[int]:
    return [step["idesc"] % (1 << 32) for step in mmas(kernel)]


def d_columns(kernel: Kernel) -> list[int]:
    """The columns at which D begins in each instruction."""
    found = [re.search(r"\[%r\d+(?:\+(\d+))?\]", line) for line in lines(kernel)]
    return [int(place[1] or 0) for place in found]


def advances(kernel: Kernel) -> list[int]:
    """By how many bytes descriptors move."""
    mir = kernel.compile(target="sm_100a").mir
    return [16 * int(n) for n in re.findall(r"= ADD_S64 \S+, imm:(\d+)", mir)]
