"""Addresses that a loop steps side by side become one that is stepped, and numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen

DISTANCES = (0, 4, 8, -4, 12)
STEP = 24


def kernel(starts: str, steps: str, *, more: str = "") -> str:
    """Five addresses, each with a phi of its own; what they point at is summed."""
    phis = "".join(
        f"  %p{n} = phi ptr addrspace(1) [ %s{n}, %0 ], [ %q{n}, %loop ]\n"
        for n in range(len(DISTANCES))
    )
    sums = "".join(
        f"  %v{n} = load i32, ptr addrspace(1) %p{n}\n"
        f"  %m{n} = mul i32 %{f't{n - 1}' if n else 'sum'}, 3\n"
        f"  %t{n} = add i32 %m{n}, %v{n}\n"
        for n in range(len(DISTANCES))
    )
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out, i64 %by, i32 %n) {{
{starts}  br label %loop
loop:
{phis}  %i = phi i32 [ 0, %0 ], [ %j, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t{len(DISTANCES) - 1}, %loop ]
{sums}{steps}  %j = add i32 %i, 1
  %again = icmp ult i32 %j, %n
  br i1 %again, label %loop, label %done
done:
{more}  store i32 %t{len(DISTANCES) - 1}, ptr addrspace(1) %out
  ret void
}}
"""


def starts(distances: tuple[int, ...] = DISTANCES) -> str:
    return "".join(
        f"  %s{n} = getelementptr i8, ptr addrspace(1) %x, i64 {16 + distance}\n"
        for n, distance in enumerate(distances)
    )


def steps(*by: object) -> str:
    return "".join(
        f"  %q{n} = getelementptr i8, ptr addrspace(1) %p{n}, i64 {step}\n"
        for n, step in enumerate(by)
    )


def expected(x: np.ndarray, rounds: int, by: tuple[int, ...]) -> int:
    """The sum, modulo 2**32, as the text of the kernel says it."""
    total = 0
    for i in range(rounds):
        for distance, step in zip(DISTANCES, by, strict=True):
            total = total * 3 + int(x[(16 + distance + i * step) // 4])
    return total % (1 << 32)


def run(compiled: nvgen.Compiled, by: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(5).integers(0, 1 << 32, 256, np.uint32)
    out = np.zeros(2, np.uint32)
    compiled.run(x, out, np.int64(by), np.uint32(rounds), block=1, device="sim")
    return x, out


@pytest.mark.parametrize("step", [str(STEP), "%by"])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_one_address_is_stepped(step: str, rounds: int) -> None:
    """By a number or by a value: the address, the counter and the sum are left."""
    compiled = nvgen.compile(kernel(starts(), steps(*[step] * 5)), target="sm_90a", opt=0)
    x, out = run(compiled, STEP, rounds)
    assert out[0] == expected(x, rounds, (STEP,) * 5)
    loop = re.split(r"\$L_loop:|bra \$L_loop", compiled.ptx)[1]
    assert len(re.findall(r"add\.s64 (%rd\d+), \1, ", loop)) == 1


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_other_steps_go_alone(rounds: int) -> None:
    by = (24, 24, 28, 32, 24)
    compiled = nvgen.compile(kernel(starts(), steps(*by)), target="sm_90a", opt=0)
    x, out = run(compiled, STEP, rounds)
    assert out[0] == expected(x, rounds, by)


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_what_the_loop_leaves_is_right(rounds: int) -> None:
    """The last steps are read behind the loop, of an address that is no longer stepped."""
    more = "  %end = ptrtoint ptr addrspace(1) %q3 to i64\n"
    more += "  %begin = ptrtoint ptr addrspace(1) %x to i64\n  %far = sub i64 %end, %begin\n"
    more += "  %low = trunc i64 %far to i32\n"
    more += "  %o = getelementptr i32, ptr addrspace(1) %out, i32 1\n"
    more += "  store i32 %low, ptr addrspace(1) %o\n"
    text = kernel(starts(), steps(*[STEP] * 5), more=more)
    x, out = run(nvgen.compile(text, target="sm_90a", opt=0), STEP, rounds)
    assert out[0] == expected(x, rounds, (STEP,) * 5)
    assert out[1] == 16 + DISTANCES[3] + rounds * STEP


COUNTERS = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out, i64 %by, i32 %n) {
  br label %loop
loop:
  %a = phi i32 [ 7, %0 ], [ %c, %loop ]
  %b = phi i32 [ -5, %0 ], [ %d, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t, %loop ]
  %p = mul i32 %a, %b
  %t = add i32 %sum, %p
  %c = add i32 %a, 2147483647
  %d = add i32 %b, 2147483647
  %far = sub i32 %c, 7
  %rounds = mul i32 %far, 2147483647
  %again = icmp ne i32 %rounds, %n
  br i1 %again, label %loop, label %done
done:
  store i32 %t, ptr addrspace(1) %out
  ret void
}
"""


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_counters_that_begin_with_numbers_wrap(rounds: int) -> None:
    """2147483647 is its own inverse modulo 2**32."""
    _, out = run(nvgen.compile(COUNTERS, target="sm_90a", opt=0), STEP, rounds)
    far = [i * 2147483647 for i in range(rounds)]
    assert out[0] == sum((7 + f) * (-5 + f) for f in far) % (1 << 32)


TWO_COUNTERS = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out, i64 %by, i32 %n) {
  br label %loop
loop:
  %i = phi i32 [ FIRST, %0 ], [ %next, %loop ]
  %tested = phi i32 [ 0, %0 ], [ %turn, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t, %loop ]
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %i
  %v = load i32, ptr addrspace(1) %p
  %m = mul i32 %sum, 3
  %t = add i32 %m, %v
  %next = add i32 %i, 1
  %turn = add i32 %tested, 1
  %again = icmp ne i32 %turn, %n
  br i1 %again, label %loop, label %done
done:
  store i32 %t, ptr addrspace(1) %out
  ret void
}
"""


@pytest.mark.parametrize("first", [0, 5])
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_the_counter_that_is_compared_is_stepped(first: int, rounds: int) -> None:
    """By its own addition, which ptxas looks for: it unrolls no loop that compares another sum."""
    text = TWO_COUNTERS.replace("FIRST", str(first))
    compiled = nvgen.compile(text, target="sm_90a", opt=0)
    x, out = run(compiled, STEP, rounds)
    total = 0
    for value in x[first : first + rounds]:
        total = total * 3 + int(value)
    assert out[0] == total % (1 << 32)
    loop = re.split(r"\$L_loop:|bra \$L_loop", compiled.ptx)[1]
    stepped = re.findall(r"add\.s32 (%r\d+), \1, 1;", loop)
    compared = re.findall(r"setp\.\w+\.b32 %p\d+, (%r\d+), %r\d+;", loop)
    assert stepped == compared
