"""Operations on integers mean on the device what they mean on the host: pairs of edge values.

Random programs of them are in `tests/property`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from tests.oracle.host_and_device import TARGET, assert_equal, blank, both
from tests.oracle.integer_edges import (
    PREDICATES,
    WIDTHS,
    edges,
)
from tests.oracle.jit import HostKernel

pytestmark = pytest.mark.gpu


DIVISIONS = ("udiv", "sdiv", "urem", "srem")
BINARY = {
    **{n: f"{n} iW %a, %divisor" for n in DIVISIONS},
    **{n: f"{n} iW %a, %b" for n in ("add", "sub", "mul", "and", "or", "xor")},
    **{n: f"{n} iW %a, %amount" for n in ("shl", "lshr", "ashr")},
}
OPERATIONS = {
    **BINARY,
    **{f"icmp {p}": f"icmp {p} iW %a, %b" for p in PREDICATES},
    "select": "select i1 %flag, iW %a, iW %b",
    "freeze": "freeze iW %a",
}
GENERIC = {
    **{
        n: f"call iW @llvm.{n}.iW(iW %a, iW %b)"
        for n in ("umin", "umax", "smin", "smax", "uadd.sat", "usub.sat")
    },
    **{n: f"call iW @llvm.{n}.iW.iW(iW %a, iW %b)" for n in ("ucmp", "scmp")},
    **{n: f"call iW @llvm.{n}.iW(iW %a, i1 false)" for n in ("abs", "ctlz", "cttz")},
    **{n: f"call iW @llvm.{n}.iW(iW %a)" for n in ("ctpop", "bitreverse", "bswap")},
    **{n: f"call iW @llvm.{n}.iW(iW %a, iW %b, iW %wanted)" for n in ("fshl", "fshr")},
    **{f"{n} by 5": f"call iW @llvm.{n}.iW(iW %a, iW %b, iW 5)" for n in ("fshl", "fshr")},
    **{f"{n} by 0": f"call iW @llvm.{n}.iW(iW %a, iW %b, iW WW)" for n in ("fshl", "fshr")},
    "umax of a constant": "call iW @llvm.umax.iW(iW %a, iW -3)",
    "smin of a constant": "call iW @llvm.smin.iW(iW %a, iW -3)",
}
"""LLVM's intrinsics on integers; a funnel shift takes any amount, modulo the width."""

OPERATIONS |= GENERIC


def _narrowest(name: str) -> int:
    """The narrowest integer that has an operation."""
    if name == "bswap":
        return 16
    return 8 if name in GENERIC or name in DIVISIONS else 1


CASES = [(name, width) for name in OPERATIONS for width in WIDTHS if width >= _narrowest(name)]
CASTS = [
    (f"{'trunc' if to < width else cast} iW %a to i{to}", width, to)
    for width in WIDTHS
    for to in WIDTHS
    for cast in (("zext", "sext") if to > width else ("trunc",) if to < width else ())
]


def pairs(width: int) -> NDArray[np.uint64]:
    """Every pair of edge values of a width, and 64 random pairs: rows of (a, b)."""
    mask = (1 << width) - 1
    known = [(a & mask, b & mask) for a in edges(width) for b in edges(width)]
    random = np.random.default_rng(width).integers(0, 1 << width, (64, 2), np.uint64, False)
    return np.concatenate([np.array(known, np.uint64), random])


def one_operation(template: str, width: int, result: int) -> str:
    """A kernel that applies one operation to each thread's pair (a, b), b's low bit the flag.

    Divisors are neither 0 nor -1, for which a division may be undefined.
    Operands of a width that is not i32 or i64 come from wider words by trunc, as real code has it.
    """
    text = template.replace("iW", f"i{width}").replace("WW", str(width))
    narrow = "" if width == 64 else f"trunc i64 %PAIR to i{width}"
    a, b = (narrow.replace("PAIR", p) if narrow else f"add i64 %{p}, 0" for p in ("wa", "wb"))
    widen = f"zext i1 %r to i{8}" if result == 1 else f"freeze i{result} %r"
    stored = 8 if result == 1 else result
    amount = f"%small = and i64 %wb, {width - 1}\n  %amount = " + (
        f"trunc i64 %small to i{width}" if width < 64 else "add i64 %small, 0"
    )
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr [2 x i64], ptr addrspace(1) %in, i32 %tid
  %pb = getelementptr i64, ptr addrspace(1) %pa, i32 1
  %wa = load i64, ptr addrspace(1) %pa
  %wb = load i64, ptr addrspace(1) %pb
  %a = {a}
  %b = {b}
  {amount}
  %odd = or i64 %wb, 1
  %nonzero = and i64 %odd, -3
  %divisor = {narrow.replace("PAIR", "nonzero") if narrow else "add i64 %nonzero, 0"}
  {f"%wanted = trunc i64 %wb to i{width}" if width < 64 else "%wanted = add i64 %wb, 0"}
  %flag = trunc i64 %wb to i1
  %r = {text}
  %s = {widen}
  %q = getelementptr i64, ptr addrspace(1) %out, i32 %tid
  store i{stored} %s, ptr addrspace(1) %q
  ret void
}}
"""


@pytest.mark.parametrize(("name", "width"), CASES, ids=lambda v: str(v).replace(" ", "_"))
def test_an_operation_on_every_pair_of_edge_values(name: str, width: int):
    result = 1 if name.startswith("icmp") else width
    text = one_operation(OPERATIONS[name], width, result)
    operands = pairs(width)
    threads = (len(operands), 1, 1)
    assert_equal(text, both(text, [operands, blank(8 * len(operands))], block=threads))


@pytest.mark.parametrize(("template", "width", "to"), CASTS)
def test_a_cast_of_every_edge_value(template: str, width: int, to: int):
    text = one_operation(template, width, to)
    operands = pairs(width)
    threads = (len(operands), 1, 1)
    assert_equal(text, both(text, [operands, blank(8 * len(operands))], block=threads))


WITH_CONSTANTS = [(name, width) for name in BINARY for width in WIDTHS[1:]]


@pytest.mark.parametrize(("name", "width"), WITH_CONSTANTS)
def test_an_operation_with_a_constant_on_either_side(name: str, width: int):
    """A constant may become an immediate: min, max, -1 and powers of two must survive that."""
    shift = name in ("shl", "lshr", "ashr")
    right = sorted({0, 1, width // 2, width - 1}) if shift else edges(width)
    if name in DIVISIONS:
        right = [c for c in right if c not in (0, -1)]
    lines = [f"%r{i} = {name} i{width} %a, {c}" for i, c in enumerate(right)]
    if name == "sub":
        lines += [f"%r{len(right) + i} = sub i{width} {c}, %a" for i, c in enumerate(right)]
    slots = len(lines)
    for i in range(slots):
        lines.append(
            f"%q{i} = getelementptr [{slots} x i64], ptr addrspace(1) %out, i32 %tid, i32 {i}"
        )
        lines.append(f"store i{width} %r{i}, ptr addrspace(1) %q{i}")
    body = "\n  ".join(lines)
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i64, ptr addrspace(1) %in, i32 %tid
  %a = load i{width}, ptr addrspace(1) %p
  {body}
  ret void
}}
"""
    operands = np.array([e & ((1 << 64) - 1) for e in edges(width)], np.uint64)
    n = len(operands)
    assert_equal(text, both(text, [operands, blank(8 * n * slots)], block=(n, 1, 1)))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("icmp slt", "icmp ult"), ("sext i8", "zext i8"), ("ashr", "lshr"), ("[ 0, %", "[ 1, %")],
)
def test_the_comparison_sees_a_small_difference(was: str, becomes: str):
    """The host runs one program and the simulator another: the outcome must differ."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i8, ptr addrspace(1) %in, i32 %tid
  %b = load i8, ptr addrspace(1) %p
  %a = sext i8 %b to i32
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %s = phi i32 [ 5, %entry ], [ %t, %loop ]
  %h = ashr i32 %a, %i
  %t = add i32 %s, %h
  %j = add i32 %i, 1
  %c = icmp slt i32 %t, 40
  %d = icmp ult i32 %j, 6
  %e = and i1 %c, %d
  br i1 %e, label %loop, label %done
done:
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %t, ptr addrspace(1) %q
  ret void
}
"""
    assert was in text
    data = np.arange(-16, 16, dtype=np.int8) * 7
    host, gpu = blank(128), blank(128)
    HostKernel(text).run(data, host)
    nvgen.compile(text.replace(was, becomes), target=TARGET).run(data, gpu, block=32)
    assert not np.array_equal(host, gpu)
    nvgen.compile(text, target=TARGET).run(data, gpu, block=32)
    assert np.array_equal(host, gpu)
