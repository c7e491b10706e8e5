"""Which switches LLVM makes tables of, asked LLVM itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.isel.lower.branches.test_switches import TABLES, one_block_each, table_lengths
from tests.oracle import llvm


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_llvm(name: str) -> None:
    """`tests/isel/lower/branches/test_switches.py` expects the same of nvgen."""
    bits, cases, expected = TABLES[name]
    (made,) = llvm.compile_all([llvm.HEADER + one_block_each(bits, cases)], "sm_90a", "8.6")
    assert table_lengths(made.ptx) == expected


@pytest.mark.parametrize("cases", [range(100, 108), (0, 1, 2, 3, 40)])
def test_nothing_is_compared_where_the_default_is_unreachable(cases: Sequence[int]) -> None:
    text = one_block_each(32, cases, "unreachable")
    (made,) = llvm.compile_all([llvm.HEADER + text], "sm_90a", "8.6")
    assert (made.ptx.count("brx.idx"), made.ptx.count("setp")) == (1, 0)
