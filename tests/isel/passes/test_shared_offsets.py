"""Addresses of different arrays that a loop steps alike share one offset."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen

ROUNDS = 5


def kernel(arrays: int, *, behind: bool = False) -> str:
    """A sum over several arrays, each read through a pointer that is stepped by its element.

    `behind`: how far each pointer came is added behind the loop.
    """
    names = range(arrays)
    parameters = ", ".join(f"ptr addrspace(1) %x{n}" for n in names)
    phis = "".join(
        f"  %p{n} = phi ptr addrspace(1) [ %x{n}, %0 ], [ %q{n}, %loop ]\n" for n in names
    )
    body = "".join(
        f"  %v{n} = load i32, ptr addrspace(1) %p{n}\n"
        f"  %m{n} = mul i32 %{f't{n - 1}' if n else 'sum'}, 3\n"
        f"  %t{n} = add i32 %m{n}, %v{n}\n"
        f"  %q{n} = getelementptr i8, ptr addrspace(1) %p{n}, i64 4\n"
        for n in names
    )
    last = f"%t{arrays - 1}"
    more = ""
    for n in names if behind else ():
        more += f"""  %w{n} = ptrtoint ptr addrspace(1) %q{n} to i64
  %b{n} = ptrtoint ptr addrspace(1) %x{n} to i64
  %d{n} = sub i64 %w{n}, %b{n}
  %f{n} = trunc i64 %d{n} to i32
  %s{n} = add i32 {last}, %f{n}
"""
        last = f"%s{n}"
    return f"""
define ptx_kernel void @k({parameters}, ptr addrspace(1) %out, i32 %n) {{
  br label %loop
loop:
{phis}  %i = phi i32 [ 0, %0 ], [ %j, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t{arrays - 1}, %loop ]
{body}  %j = add i32 %i, 1
  %again = icmp ult i32 %j, %n
  br i1 %again, label %loop, label %done
done:
{more}  store i32 {last}, ptr addrspace(1) %out
  ret void
}}
"""


def expected(arrays: list[np.ndarray], *, behind: bool) -> int:
    total = 0
    for i in range(ROUNDS):
        for array in arrays:
            total = total * 3 + int(array[i])
    return (total + behind * len(arrays) * 4 * ROUNDS) % (1 << 32)


def run(compiled: nvgen.Compiled, count: int) -> tuple[list[np.ndarray], int]:
    rng = np.random.default_rng(count)
    arrays = [rng.integers(0, 1 << 32, ROUNDS, np.uint32) for _ in range(count)]
    out = np.zeros(1, np.uint32)
    compiled.run(*arrays, out, np.uint32(ROUNDS), block=1, device="sim")
    return arrays, int(out[0])


def steps(ptx: str) -> int:
    """How many registers of 64 bits a round adds a number to."""
    loop = re.split(r"\$L_loop:|bra \$L_loop", ptx)[1]
    return len(re.findall(r"add\.s64 (%rd\d+), \1, 4;", loop))


@pytest.mark.parametrize(("arrays", "stepped"), [(2, 2), (3, 3), (4, 1), (6, 1)])
def test_of_four_addresses_one_offset_is_stepped(arrays: int, stepped: int) -> None:
    compiled = nvgen.compile(kernel(arrays), target="sm_90a", opt=0)
    assert steps(compiled.ptx) == stepped
    given, found = run(compiled, arrays)
    assert found == expected(given, behind=False)


@pytest.mark.parametrize("arrays", [4, 5])
def test_addresses_that_are_read_behind_the_loop_are_stepped(arrays: int) -> None:
    """Their next values would be made twice."""
    compiled = nvgen.compile(kernel(arrays, behind=True), target="sm_90a", opt=0)
    assert steps(compiled.ptx) == arrays
    given, found = run(compiled, arrays)
    assert found == expected(given, behind=True)
