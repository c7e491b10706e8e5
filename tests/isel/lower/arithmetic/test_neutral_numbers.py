"""Numbers that change nothing, or decide alone, cost no instruction; compilers at -O0 write them.

The values are LLVM's, and nothing is computed where LLVM computes nothing: ptxas makes a routine
of a division by 1.
"""

from __future__ import annotations

import itertools
import re

import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.side_by_side import PTX, TARGET, compare

NUMBERS = {
    **dict.fromkeys(("add", "sub", "or", "xor", "shl", "lshr", "ashr"), (0,)),
    "mul": (0, 1),
    "and": (0, -1),
    "sdiv": (1, -1),
    "udiv": (1,),
    "srem": (1, -1),
    "urem": (1,),
}
CASES = [(op, n) for op, numbers in NUMBERS.items() for n in numbers] + [("or", -1)]
WIDTHS = ("i8", "i16", "i32", "i64")

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %out) {{
{lines}
  ret void
}}
"""


def kernel(type_: str, cases: list[tuple[str, int]]) -> str:
    """Each operation on a word of memory, whose result is written in its place."""
    lines = ["  store i64 -6917529027641081723, ptr addrspace(1) %out"]
    for at, (op, number) in enumerate(cases):
        lines.append(
            f"  %x{at} = load volatile {type_}, ptr addrspace(1) %out\n"
            f"  %y{at} = {op} {type_} %x{at}, {number}\n"
            f"  %p{at} = getelementptr i64, ptr addrspace(1) %out, i64 {at + 1}\n"
            f"  store {type_} %y{at}, ptr addrspace(1) %p{at}"
        )
    return KERNEL.format(lines="\n".join(lines))


@pytest.mark.parametrize("type_", WIDTHS)
def test_the_values_are_llvms(type_: str) -> None:
    compare({type_: kernel(type_, CASES)})


def test_nothing_is_computed_where_llvm_computes_nothing() -> None:
    texts = {
        f"{op} {type_} {number}": kernel(type_, [(op, number)])
        for type_, (op, number) in itertools.product(WIDTHS, CASES)
    }
    by_llvm = llvm.compile_all([*texts.values()], TARGET, PTX, opt=3)
    more = {
        name
        for (name, text), theirs in zip(texts.items(), by_llvm, strict=True)
        if not computed(theirs.ptx) and computed(nvgen.compile(text, target=TARGET).ptx)
    }
    assert more == set()


def computed(ptx: str) -> list[str]:
    """The instructions that compute; numbers that are written stand in a register in either."""
    return re.findall(r"^\t(?:add|sub|mul|div|rem|and|or|xor|shl|shr|neg)\..*", ptx, re.MULTILINE)
