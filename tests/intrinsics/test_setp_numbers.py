"""setp{.combine}: beside which types a number may stand for the predicate c; ptxas says which."""

from __future__ import annotations

import pytest

from intrinsics.modifiers import ScalarType
from intrinsics.row import Row
from intrinsics.rows import floats, scalar
from tests.each import each
from tests.oracle import ptxas

REGISTER = {"16": "%h", "32": "%r", "64": "%rd"}
"""What registers are called in the oracle's preamble, by bits; floats of 32 and 64 are others."""


def statement(type_: ScalarType) -> str:
    """Whether a comparison of two registers, or a number, holds."""
    prefix = {"f32": "%f", "f64": "%fd"}.get(type_.value) or REGISTER[str(type_.bits)]
    result = "%p1|%p2" if type_.value.endswith("x2") else "%p1"
    return f"setp.eq.or.{type_.value} {result}, {prefix}1, {prefix}2, 0;"


@each("row", [scalar.SETP, floats.SETP], ids=lambda row: row.name)
def test_the_types_beside_which_c_is_a_number(row: Row) -> None:
    (c,) = [operand for operand in row.operands if operand.name == "c"]
    types = [t for t in row.qualifier["type"].attributes if isinstance(t, ScalarType)]
    try:
        verdicts = ptxas.judge([statement(t) for t in types], "sm_100a", "9.5")
    except ptxas.PtxasMissingError as missing:
        pytest.skip(str(missing))
    accepted = {t for t, errors in zip(types, verdicts, strict=True) if not errors}
    assert accepted == {t for t in types if c.takes_number({"type": t})}
