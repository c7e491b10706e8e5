"""Structs and arrays that hold vectors of odd elements, in memory: as LLVM lays them out.

LLVM's own PTX of the same module, run on the simulator, is the oracle of the bytes.
"""

from __future__ import annotations

import pytest

from tests.oracle.side_by_side import compare


def vector(count: int, bits: int, first: int) -> str:
    """A vector of numbers that use all their bits."""
    numbers = (pow(0x9E3779B97F4A7C15, first + n, 1 << bits) for n in range(count))
    return f"<{count} x i{bits}> <{', '.join(f'i{bits} {number}' for number in numbers)}>"


VALUES = {
    "bits in a struct": (
        "{ <3 x i5>, i32, <9 x i1> }",
        f"{{ {vector(3, 5, 1)}, i32 77, <9 x i1> <{', '.join(['i1 1', 'i1 0', 'i1 1'] * 3)}> }}",
    ),
    "an array of vectors": (
        "[2 x <5 x i17>]", f"[{vector(5, 17, 1)}, {vector(5, 17, 6)}]"
    ),
    "nested": (
        "{ i1, [2 x <3 x i7>], { <2 x i93>, i8 } }",
        f"{{ i1 1, [2 x <3 x i7>] [{vector(3, 7, 1)}, {vector(3, 7, 4)}], "
        f"{{ <2 x i93>, i8 }} {{ {vector(2, 93, 3)}, i8 9 }} }}",
    ),
    "packed": (
        "<{ i8, <3 x i24>, <3 x i11> }>",
        f"<{{ i8 5, {vector(3, 24, 1)}, {vector(3, 11, 2)} }}>",
    ),
}  # fmt: skip


def module(type_: str, value: str) -> str:
    """A kernel that moves a value of a type to memory, from there, and out."""
    return f"""
@tmp = internal addrspace(1) global [12 x i64] zeroinitializer, align 16
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  store volatile {type_} {value}, ptr addrspace(1) @tmp, align 16
  %y = load volatile {type_}, ptr addrspace(1) @tmp, align 16
  store volatile {type_} %y, ptr addrspace(1) %out, align 1
  ret void
}}
"""


@pytest.mark.parametrize("opt", [0, 3])
def test_they_are_moved_as_llvm_moves_them(opt: int):
    compare({name: module(*value) for name, value in VALUES.items()}, opt=opt)
