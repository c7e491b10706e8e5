"""What is known of registers that a loop steps: their lowest bits, and what a mask leaves."""

from __future__ import annotations

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.known_bits import KnownBits
from isel.verifier.descriptors.constants import Constants
from tests.isel.verifier.kernels import kernel

ALL = (1 << 64) - 1
ABOVE_32 = ALL & ~0xFFFF_FFFF


def known_behind(loop: str) -> KnownBits:
    """What is known of %r1 behind a loop that begins with 0 there."""
    body = (
        f".shared .b32 out;\nmov.u32 %r1, 0;\nAGAIN:\n{loop}\n"
        "setp.ne.u32 %p1, %r1, %n;\n@%p1 bra AGAIN;\nst.shared.b32 [out], %r1;"
    )
    (function,) = read_ptx(kernel(body, ".param .u32 n")).module.functions
    constants = Constants(function, lambda name: 1)
    block, at = next(
        (n, at)
        for n, block in enumerate(function.blocks)
        for at, mi in enumerate(block.instrs)
        if mi.row.id == "st"
    )
    return constants.operand(function.blocks[block].instrs[at]["b"], block, at)


@pytest.mark.parametrize(
    ("loop", "zeros"),
    [
        ("add.u32 %r1, %r1, 1;", ABOVE_32),
        ("add.u32 %r1, %r1, 16;", ABOVE_32 | 0xF),
        ("add.u32 %r1, %r1, 19;\nand.b32 %r1, %r1, 0xfff0;", ALL & ~0xFFF0),
        (
            "shr.u32 %r2, %r1, 4;\nadd.u32 %r2, %r2, 1;\nand.b32 %r2, %r2, 63;\n"
            "shl.b32 %r1, %r2, 4;",
            ALL & ~0x3F0,
        ),
        ("mad.lo.u32 %r1, %r1, 5, 8;", ABOVE_32 | 0x7),
    ],
)
def test_zeros_that_a_loop_keeps_are_known(loop: str, zeros: int) -> None:
    """Bits of which nothing is known after a few turns do not take the others with them."""
    assert known_behind(loop) == KnownBits(zeros, 0)
