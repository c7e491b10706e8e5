"""What records calculate of known numbers: nothing where several numbers share a register.

PTX ISA, Integer Arithmetic Instructions: `add{.sat}`, `min{.relu}`, and their packed types.
"""

from __future__ import annotations

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import errors
from isel.verifier.ordering.integers.calculations import calculation_of

TEXT = """
.version 9.2
.target sm_120f
.address_size 64
.visible .entry k()
{{
	.reg .b32 %r<4>;
	mov.u32 %r1, 65535;
	mov.u32 %r2, 1;
	{op} %r3, %r1, %r2;
	ret;
}}
"""


@pytest.mark.parametrize(
    ("op", "found"),
    [
        ("add.u32", 0x10000),
        ("min.s32", 1),
        ("add.u16x2", None),
        ("min.s16x2", None),
        ("max.s8x4", None),
        ("add.sat.s32", None),
        ("max.relu.s32", None),
    ],
)
def test_a_sum_of_halves_is_no_sum_of_words(op: str, found: int | None) -> None:
    reading = read_ptx(TEXT.format(op=op), "k.ptx")
    assert not errors(reading.findings)
    _, _, record, _ = reading.module.functions[0].instructions()
    calculation = calculation_of(record, {})
    assert calculation is not None
    assert calculation.run(0xFFFF, 1) == (found,)
