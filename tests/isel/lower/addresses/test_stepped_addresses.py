"""Addresses that a loop computes from its counter are stepped; numpy says what is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import nvgen

START = 3


@dataclass(frozen=True)
class Case:
    """A loop's index as LLVM IR, made of %i and %j, and as Python; %z, if any, is the same."""

    type: str
    counter: str
    index: str
    host: Callable[[int, int], int]
    steps: str = "s64"


CASES = {
    "counter of 64 bits": Case("i64", "add i64 %i, 1", "%x = add i64 %i, 0", lambda i, j: i),
    "by its sign": Case("i32", "add nsw i32 %i, 1", "%x = sext i32 %i to i64", lambda i, j: i),
    "with zeros": Case("i32", "add nuw i32 %i, 1", "%x = zext i32 %i to i64", lambda i, j: i),
    "with zeros, of a sign": Case(
        "i32", "add nsw i32 %i, 1", "%x = zext nneg i32 %i to i64", lambda i, j: i
    ),
    "by its sign, and with zeros, of a sign": Case(
        "i32",
        "add nuw i32 %i, 1",
        "%x = zext nneg i32 %i to i64\n  %z = sext i32 %i to i64",
        lambda i, j: i,
    ),
    "a row": Case(
        "i32",
        "add nsw i32 %i, 1",
        "%r = mul nsw i32 %i, 64\n  %s = add nsw i32 %r, %j\n  %x = sext i32 %s to i64",
        lambda i, j: 64 * i + j,
    ),
    "a row of 64 bits": Case("i64", "add i64 %i, 2", "%x = shl i64 %i, 6", lambda i, j: 64 * i),
    "backwards": Case("i64", "add i64 %i, 1", "%x = sub i64 640, %i", lambda i, j: 640 - i),
    "without promises": Case(
        "i32",
        "add i32 %i, 1",
        "%r = shl i32 %i, 6\n  %s = add i32 %r, %j\n  %x = sext i32 %s to i64",
        lambda i, j: 64 * i + j,
        "s32",
    ),
}
"""`steps`: the type of what is stepped beside the counter."""


def kernel(case: Case) -> str:
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %out,
                          i32 %j, i32 %turns) {{
  %far = getelementptr i32, ptr addrspace(1) %a, i64 1024
  br label %loop
loop:
  %i = phi {case.type} [ {START}, %0 ], [ %next, %loop ]
  %n = phi i32 [ 0, %0 ], [ %m, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t, %loop ]
  {case.index}
  %p = getelementptr inbounds i32, ptr addrspace(1) %a, i64 %x
  %v = load i32, ptr addrspace(1) %p
  %q = getelementptr inbounds i32, ptr addrspace(1) %b, i64 {"%z" if "%z" in case.index else "%x"}
  %w = load i32, ptr addrspace(1) %q
  %u = mul i32 %v, %w
  %s3 = mul i32 %sum, 3
  %t = add i32 %s3, %u
  %next = {case.counter}
  %m = add i32 %n, 1
  %again = icmp ne i32 %m, %turns
  br i1 %again, label %loop, label %done
done:
  store i32 %t, ptr addrspace(1) %out
  ret void
}}
"""


def expected(case: Case, a: np.ndarray, b: np.ndarray, j: int, turns: int) -> int:
    by = int(case.counter.rpartition(" ")[2])
    total = 0
    for turn in range(turns):
        at = case.host(START + turn * by, j)
        total = total * 3 + int(a[at]) * int(b[at])
    return total % (1 << 32)


def loop_of(ptx: str) -> str:
    """The loop, without its branch."""
    return re.split(r"\$L_loop:|bra \$L_loop", ptx)[1]


def checked_loop(case: Case, text: str, turns: int) -> str:
    """The loop of a module whose kernel has been run, with the result that the host has."""
    compiled = nvgen.compile(text, target="sm_90a", opt=0)
    a, b = np.random.default_rng(turns).integers(0, 1 << 32, (2, 1024), np.uint32)
    out = np.zeros(1, np.uint32)
    compiled.run(a, b, out, np.int32(5), np.int32(turns), block=1, device="sim")
    assert out[0] == expected(case, a, b, 5, turns)
    return loop_of(compiled.ptx)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("turns", [1, 2, 7])
def test_loops_load_what_they_say(name: str, turns: int) -> None:
    case = CASES[name]
    checked_loop(case, kernel(case), turns)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_scaled_in_a_turn(name: str) -> None:
    """Two addresses are stepped, or one index where it may wrap, which is then scaled."""
    case = CASES[name]
    loop = loop_of(nvgen.compile(kernel(case), target="sm_90a", opt=0).ptx)
    assert not re.search(r"\bshl\.|\bcvt\.|mul\.lo\.s64", loop)
    stepped = re.findall(rf"add\.{case.steps} (%\w+), \1, ", loop)
    assert len(stepped) >= (2 if case.steps == "s64" else 1)
    assert bool(re.search(r"mul\.wide", loop)) == (case.steps == "s32")


def rolled(text: str) -> str:
    """The same, with a loop that is not to be unrolled."""
    marked = text.replace("%loop, label %done", "%loop, label %done, !llvm.loop !0")
    return marked + '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n'


@pytest.mark.parametrize("name", CASES)
def test_where_nothing_is_unrolled_indices_of_32_bits_are_scaled(name: str) -> None:
    """A product that is added is one instruction of ptxas', a step of 64 bits two."""
    case = CASES[name]
    loop = checked_loop(case, rolled(kernel(case)), 6)
    assert "nounroll" in loop
    assert bool(re.search(r"mul\.wide", loop)) == (case.type == "i32")


@pytest.mark.parametrize("name", CASES)
def test_a_single_address_is_stepped_in_every_loop(name: str) -> None:
    """ptxas copies nothing for it."""
    one = re.sub(r"  %q = .*\n  %w = .*\n", "  %w = add i32 %n, 1\n", kernel(CASES[name]))
    as_it_is, not_unrolled = (
        loop_of(nvgen.compile(text, target="sm_90a", opt=0).ptx) for text in (one, rolled(one))
    )
    assert not_unrolled.replace('.pragma "nounroll";\n', "") == as_it_is


def test_rows_that_are_told_apart_by_numbers_are_one_address() -> None:
    """Whatever taking the numbers out took of the promises: a row promises for the next one."""
    body = """
  %r = shl nsw i32 %i, 6
  %s = add nsw i32 %r, %j
  %x = sext i32 %s to i64
  %p0 = getelementptr inbounds i32, ptr addrspace(1) %b, i64 %x
  %v0 = load i32, ptr addrspace(1) %p0
  %r1 = shl i32 %i, 6
  %o1 = or disjoint i32 %r1, 64
  %s1 = add nsw i32 %o1, %j
  %z = sext i32 %s1 to i64"""
    case = Case("i32", "add nuw nsw i32 %i, 2", body, lambda i, j: 64 * i + 64 + j)
    text = kernel(case).replace("i64 %x\n  %v = ", "i64 %z\n  %v = ")
    loop = checked_loop(case, text, 4)
    assert len(re.findall(r"add\.s64 (%rd\d+), \1, 512;", loop)) == 2
    assert "mul.wide" not in loop


IN_SHARED = """
@tile = internal addrspace(3) global [64 x i32] undef, align 4
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %out, i32 %turns) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  %given = load i32, ptr addrspace(1) %from
  %to = getelementptr [64 x i32], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i32 0, i32 %tid
  store i32 %given, ptr %to
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %low = and i32 %tid, 31
  br label %loop
loop:
  %i = phi i32 [ -3, %0 ], [ %next, %loop ]
  %n = phi i32 [ 0, %0 ], [ %m, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t, %loop ]
  %far = add i32 %low, 3
  %at = add i32 %far, %i
  %x = sext i32 %at to i64
  %p = getelementptr [64 x i32], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 0, i64 %x
  %v = load i32, ptr %p
  %s3 = mul i32 %sum, 3
  %t = add i32 %s3, %v
  %next = add i32 %i, 1
  %m = add i32 %n, 1
  %again = icmp ne i32 %m, %turns
  br i1 %again, label %loop, label %done
done:
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %t, ptr addrspace(1) %o
  ret void
}
"""


def test_addresses_in_shared_memory_are_stepped_whatever_wraps() -> None:
    """An index that wraps would lead out of shared memory, where nothing is loaded."""
    compiled = nvgen.compile(IN_SHARED, target="sm_90a", opt=0)
    a = np.random.default_rng(2).integers(0, 1 << 32, 64, np.uint32)
    out = np.zeros(64, np.uint32)
    compiled.run(a, out, np.int32(8), block=64, device="sim")
    sums = np.zeros(64, np.uint32)
    for turn in range(8):
        sums = sums * 3 + np.tile(a[turn : turn + 32], 2)
    assert (out == sums).all()
    loop = loop_of(compiled.ptx)
    assert re.findall(r"add\.s64 (%rd\d+), \1, 4;", loop)
    assert "mul.wide" not in loop


WRAPS = """
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %out, i32 %first, i32 %turns) {
  br label %loop
loop:
  %i = phi i32 [ %first, %0 ], [ %next, %loop ]
  %n = phi i32 [ 0, %0 ], [ %m, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %t, %loop ]
  %x = zext i32 %i to i64
  %inside = icmp ult i64 %x, 1024
  %p = getelementptr i32, ptr addrspace(1) %a, i64 %x
  %near = select i1 %inside, ptr addrspace(1) %p, ptr addrspace(1) %a
  %v = load i32, ptr addrspace(1) %near
  %s3 = mul i32 %sum, 3
  %t = add i32 %s3, %v
  %next = add i32 %i, 1
  %m = add i32 %n, 1
  %again = icmp ne i32 %m, %turns
  br i1 %again, label %loop, label %done
done:
  store i32 %t, ptr addrspace(1) %out
  ret void
}
"""


def test_an_index_that_wraps_begins_again() -> None:
    """From 2**32 - 2 on: two turns behind the array, then its first elements."""
    a = np.random.default_rng(1).integers(0, 1 << 32, 1024, np.uint32)
    out = np.zeros(1, np.uint32)
    compiled = nvgen.compile(WRAPS, target="sm_90a", opt=0)
    compiled.run(a, out, np.uint32((1 << 32) - 2), np.int32(6), block=1, device="sim")
    total = 0
    for at in (0, 0, 0, 1, 2, 3):
        total = total * 3 + int(a[at])
    assert out[0] == total % (1 << 32)


APART = """
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %out, i32 %row, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 127
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %more, %loop ]
  %one = or disjoint i32 %i, %lane
  %two = or disjoint i32 %one, 128
  %three = or disjoint i32 %one, 256
  %x = add i32 %one, %row
  %y = add i32 %two, %row
  %z = add i32 %three, %row
  %p = sext i32 %x to i64
  %q = sext i32 %y to i64
  %r = sext i32 %z to i64
  %pp = getelementptr i32, ptr addrspace(1) %a, i64 %p
  %pq = getelementptr i32, ptr addrspace(1) %a, i64 %q
  %pr = getelementptr i32, ptr addrspace(1) %a, i64 %r
  %u = load i32, ptr addrspace(1) %pp
  %v = load i32, ptr addrspace(1) %pq
  %w = load i32, ptr addrspace(1) %pr
  %uv = sub i32 %u, %v
  %uvw = xor i32 %uv, %w
  %more = add i32 %sum, %uvw
  %next = add i32 %i, 512
  %again = icmp slt i32 %next, %n
  br i1 %again, label %loop, label %done
done:
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %lane
  store i32 %more, ptr addrspace(1) %at
  ret void
}
"""


def test_sums_that_differ_by_a_number_are_stepped_as_one() -> None:
    """Front ends write blocks of a row as `or disjoint`; the counter and one index are stepped."""
    compiled = nvgen.compile(APART, target="sm_90a")
    loop = compiled.ptx.split("$L_loop:")[1].split("bra")[0]
    assert len(re.findall(r"add\.s32 \S+ \S+ 512;", loop)) == 2
    a = np.random.default_rng(0).integers(-1000, 1000, 4096).astype(np.int32)
    out = np.zeros(128, np.int32)
    row, n = 700, 2048
    compiled.run(a, out, row, n, block=128, device="sim")
    lanes = np.arange(128)
    at = [a[row + i + lanes + 128 * block] for i in range(0, n, 512) for block in range(3)]
    turns = [(u - v) ^ w for u, v, w in zip(at[::3], at[1::3], at[2::3], strict=True)]
    assert (out == np.sum(turns, axis=0)).all()
