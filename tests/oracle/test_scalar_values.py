"""Scalar code means on the simulated GPU what it means on the host's processor.

The same LLVM IR runs twice: compiled by LLVM for the host, one call a thread, and compiled by nvgen
for sm_90a and run by the simulator.  Every byte of global memory must be equal afterwards, the
bytes that no thread writes included.  What nvgen does not select yet is listed, and a listed case
that compiles is a failure: take it off the list then, and its values are checked.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import nvgen
from tests.oracle.gpu import launch
from tests.oracle.jit import Dim3, HostKernel
from tests.oracle.scalar_programs import (
    INPUTS,
    PREDICATES,
    WIDTHS,
    Program,
    edges,
    straight_lines,
    structured,
)
from tests.turns import examples

pytestmark = pytest.mark.gpu

TARGET = "sm_90a"
SENTINEL = 0xA5
Bytes = NDArray[np.uint8]


def both(
    text: str,
    memory: Sequence[NDArray[np.generic] | int],
    *,
    grid: Dim3 = (1, 1, 1),
    block: Dim3 = (32, 1, 1),
    opt: int = 0,
) -> tuple[list[Bytes], list[Bytes]]:
    """All arrays as bytes after a run on the host, and after one on the device under test.

    `opt` is nvgen's level; what the host runs is never optimised.
    """
    on_host = [a.copy() if isinstance(a, np.ndarray) else a for a in memory]
    on_gpu = [a.copy() if isinstance(a, np.ndarray) else a for a in memory]
    HostKernel(text).run(*on_host, grid=grid, block=block)
    compiled = nvgen.compile(text, target=TARGET, opt=opt)
    launch(compiled, *on_gpu, grid=grid, block=block)
    return _bytes(on_host), _bytes(on_gpu)


def _bytes(memory: Sequence[NDArray[np.generic] | int]) -> list[Bytes]:
    return [np.frombuffer(a.tobytes(), np.uint8) for a in memory if isinstance(a, np.ndarray)]


def assert_equal(text: str, found: tuple[list[Bytes], list[Bytes]]) -> None:
    """Every array has the same bytes on both sides."""
    for number, (host, device) in enumerate(zip(*found, strict=True)):
        wrong = np.flatnonzero(host != device)
        assert wrong.size == 0, (
            f"array {number} differs in {wrong.size} bytes, first at byte {wrong[0]}: "
            f"host {host[wrong[0]]:#x}, device {device[wrong[0]]:#x}\n{text}"
        )


def blank(size: int) -> Bytes:
    """Memory that shows what was not written."""
    return np.full(size, SENTINEL, np.uint8)


# ---- one operation at a time, on every pair of edge values -----------------------------------

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
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
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
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    operands = np.array([e & ((1 << 64) - 1) for e in edges(width)], np.uint64)
    n = len(operands)
    assert_equal(text, both(text, [operands, blank(8 * n * slots)], block=(n, 1, 1)))


# ---- random programs -------------------------------------------------------------------------


def rows(seed: int) -> NDArray[np.uint64]:
    """Input of 32 threads: 20 rows of edge values, 12 of random words."""
    rng = np.random.default_rng(seed)
    known = [e & ((1 << 64) - 1) for w in (8, 16, 32, 64) for e in edges(w)]
    words = rng.integers(0, 1 << 64, (32, INPUTS), np.uint64)
    words[:20] = rng.choice(np.array(known, np.uint64), (20, INPUTS))
    return words


@examples(240)
@given(straight_lines())
def test_a_straight_line(program: Program):
    memory = [rows(len(program.text)), blank(32 * 8 * program.slots)]
    assert_equal(program.text, both(program.text, memory))


@examples(300)
@given(structured())
def test_branches_and_loops(program: Program):
    memory = [rows(len(program.text)), blank(32 * 8 * program.slots)]
    assert_equal(program.text, both(program.text, memory))


@pytest.mark.parametrize("opt", [1, 2, 3])
@examples(120)
@given(straight_lines())
def test_an_optimised_straight_line(opt: int, program: Program):
    """LLVM's passes leave nothing that nvgen does not select, or selects wrongly."""
    memory = [rows(len(program.text)), blank(32 * 8 * program.slots)]
    assert_equal(program.text, both(program.text, memory, opt=opt))


@pytest.mark.parametrize("opt", [1, 2, 3])
@examples(120)
@given(structured())
def test_optimised_branches_and_loops(opt: int, program: Program):
    memory = [rows(len(program.text)), blank(32 * 8 * program.slots)]
    assert_equal(program.text, both(program.text, memory, opt=opt))


# ---- control flow that is easy to get wrong --------------------------------------------------

FLOW = {
    # A loop that exchanges two values every round: copies made one after the other lose one.
    "swap": """
entry:
  br label %loop
loop:
  %x = phi i32 [ %a, %entry ], [ %y, %loop ]
  %y = phi i32 [ %b, %entry ], [ %x, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %r = shl i32 %x, 1
  %s = xor i32 %r, %y
  br label %end
""",
    # The phi is used behind the loop after its next value exists: the two must not share.
    "lost copy": """
entry:
  br label %loop
loop:
  %x = phi i32 [ %a, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %next = add i32 %x, %b
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %s = sub i32 %x, %n
  br label %end
""",
    # Three values in a ring, and one that is copied out of it.
    "rotation": """
entry:
  br label %loop
loop:
  %x = phi i32 [ %a, %entry ], [ %y, %loop ]
  %y = phi i32 [ %b, %entry ], [ %z, %loop ]
  %z = phi i32 [ %n, %entry ], [ %x, %loop ]
  %w = phi i32 [ 7, %entry ], [ %x, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %more = icmp ule i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %t = mul i32 %y, 3
  %u = xor i32 %t, %z
  %s = add i32 %u, %w
  br label %end
""",
    # A loop with two entries.
    "irreducible": """
entry:
  %low = trunc i32 %a to i1
  br i1 %low, label %left, label %right
left:
  %p = phi i32 [ %a, %entry ], [ %q2, %right ]
  %i = phi i32 [ 0, %entry ], [ %k, %right ]
  %p2 = mul i32 %p, 5
  %j = add i32 %i, 1
  %out1 = icmp ugt i32 %j, 9
  br i1 %out1, label %done, label %right
right:
  %q = phi i32 [ %b, %entry ], [ %p2, %left ]
  %k0 = phi i32 [ 3, %entry ], [ %j, %left ]
  %q2 = add i32 %q, %n
  %k = add i32 %k0, 1
  %out2 = icmp ugt i32 %k, 7
  br i1 %out2, label %done, label %left
done:
  %s = phi i32 [ %p2, %left ], [ %q2, %right ]
  br label %end
""",
    # A critical edge: its source has two successors, its target two predecessors.
    "critical edge": """
entry:
  %c = icmp slt i32 %a, %b
  br i1 %c, label %join, label %other
other:
  %d = icmp eq i32 %n, 2
  br i1 %d, label %join, label %third
third:
  br label %join
join:
  %s = phi i32 [ %a, %entry ], [ %b, %other ], [ -1, %third ]
  br label %end
""",
    # Both arms go to one block.
    "same target": """
entry:
  %c = icmp slt i32 %a, %b
  br i1 %c, label %join, label %join
join:
  %s = phi i32 [ %a, %entry ], [ %a, %entry ]
  br label %end
""",
    "switch": """
entry:
  switch i32 %n, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 3, label %one
    i32 -1, label %zero
  ]
zero:
  %z = add i32 %a, 100
  br label %join
one:
  %o = phi i32 [ 11, %entry ], [ 11, %entry ]
  %m = mul i32 %o, %b
  br label %join
other:
  br label %join
join:
  %s = phi i32 [ %z, %zero ], [ %m, %one ], [ %n, %other ]
  br label %end
""",
    "switch without cases": """
entry:
  switch i32 %n, label %only [ ]
only:
  %s = add i32 %a, %b
  br label %end
""",
    # A loop inside a loop; how often each thread goes around depends on its data.
    "nest": """
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i2, %after ]
  %t = phi i32 [ %a, %entry ], [ %v, %after ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j2, %inner ]
  %u = phi i32 [ %t, %outer ], [ %v, %inner ]
  %v = add i32 %u, %b
  %j2 = add i32 %j, 1
  %more = icmp ule i32 %j2, %i
  br i1 %more, label %inner, label %after
after:
  %i2 = add i32 %i, 1
  %again = icmp ult i32 %i2, %n
  br i1 %again, label %outer, label %done
done:
  %s = xor i32 %v, %t
  br label %end
""",
    # A condition that is a phi of conditions.
    "i1 phi": """
entry:
  %c = icmp ugt i32 %a, %b
  br i1 %c, label %yes, label %no
yes:
  %d = icmp eq i32 %n, 1
  br label %join
no:
  br label %join
join:
  %flag = phi i1 [ %d, %yes ], [ true, %no ]
  br i1 %flag, label %big, label %small
big:
  br label %done
small:
  br label %done
done:
  %s = phi i32 [ 1, %big ], [ %a, %small ]
  br label %end
""",
}


@pytest.mark.parametrize("opt", range(4))
@pytest.mark.parametrize("name", FLOW)
def test_control_flow(name: str, opt: int):
    body = FLOW[name].strip()
    label, rest = body.split("\n", 1)
    blocks = rest.strip("\n").split("\n")
    last = [line[:-1] for line in blocks if line.endswith(":")]
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
{label}
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr [3 x i32], ptr addrspace(1) %in, i32 %tid
  %pb = getelementptr i32, ptr addrspace(1) %pa, i64 1
  %pn = getelementptr i32, ptr addrspace(1) %pa, i64 2
  %a = load i32, ptr addrspace(1) %pa
  %b = load i32, ptr addrspace(1) %pb
  %n = load i32, ptr addrspace(1) %pn
{rest}
end:
  %result = phi i32 [ %s, %{last[-1] if last else "entry"} ]
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %result, ptr addrspace(1) %po
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    rng = np.random.default_rng(3)
    data = rng.integers(-50, 50, (48, 3)).astype(np.int32)
    data[:, 2] = rng.integers(-1 if name.startswith("switch") else 0, 6, 48)
    assert_equal(text, both(text, [data, blank(4 * 48)], block=(48, 1, 1), opt=opt))


def test_threads_return_at_different_places():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  %odd = trunc i32 %tid to i1
  br i1 %odd, label %early, label %late
early:
  store i32 1, ptr addrspace(1) %p
  ret void
late:
  %big = icmp ugt i32 %tid, 40
  br i1 %big, label %gone, label %on
gone:
  ret void
on:
  store i32 2, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    found = both(text, [blank(4 * 70)], block=(70, 1, 1))
    assert_equal(text, found)
    words = found[1][0].view(np.uint32)
    assert words[1] == 1
    assert words[2] == 2
    assert words[42] == 0xA5A5A5A5


# ---- memory ----------------------------------------------------------------------------------

INTEGERS = [("i8", 1), ("i16", 2), ("i32", 4), ("i64", 8)]
VECTORS = [
    (f"<{n} x {name}>", n * size) for name, size in INTEGERS for n in (2, 3, 4, 8) if n * size <= 32
]
ALIGNMENTS = (1, 2, 4, 8, 16)
ACCESSES = [
    (type_, size, align)
    for type_, size in INTEGERS + VECTORS
    for align in ALIGNMENTS
    if align <= 2 * size
]


@pytest.mark.parametrize(("type_", "size", "align"), ACCESSES)
def test_a_load_and_a_store_of_any_alignment(type_: str, size: int, align: int):
    """Addresses are aligned to `align` and no better, so a wider access would fault."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = mul i32 %tid, 96
  %start = add i32 %row, {align}
  %p = getelementptr i8, ptr addrspace(1) %in, i32 %start
  %q = getelementptr i8, ptr addrspace(1) %out, i32 %start
  %v = load {type_}, ptr addrspace(1) %p, align {align}
  store {type_} %v, ptr addrspace(1) %q, align {align}
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    data = np.random.default_rng(size).integers(0, 256, 96 * 8).astype(np.uint8)
    found = both(text, [data, blank(96 * 8)], block=(8, 1, 1))
    assert_equal(text, found)
    out = found[1][1].reshape(8, 96)
    assert np.array_equal(
        out[:, align : align + size], data.reshape(8, 96)[:, align : align + size]
    )
    assert (np.delete(out, np.s_[align : align + size], axis=1) == SENTINEL).all()


@pytest.mark.parametrize(("type_", "size"), VECTORS)
def test_elements_of_vectors(type_: str, size: int):
    """Take a vector apart, put it together in reverse, shuffle it, and store it all."""
    count = int(type_[1:].split()[0])
    element = type_.split()[-1][:-1]
    lines = []
    previous = "poison"
    for i in range(count):
        lines.append(f"%e{i} = extractelement {type_} %v, i32 {i}")
        lines.append(
            f"%w{i} = insertelement {type_} {previous}, {element} %e{i}, i32 {count - 1 - i}"
        )
        previous = f"%w{i}"
    mask = ", ".join(f"i32 {(2 * i + 1) % (2 * count)}" for i in range(count))
    lines.append(f"%s = shufflevector {type_} %v, {type_} {previous}, <{count} x i32> <{mask}>")
    body = "\n  ".join(lines)
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = mul i32 %tid, 128
  %p = getelementptr i8, ptr addrspace(1) %in, i32 %row
  %q = getelementptr i8, ptr addrspace(1) %out, i32 %row
  %q2 = getelementptr i8, ptr addrspace(1) %q, i32 64
  %v = load {type_}, ptr addrspace(1) %p, align 32
  {body}
  store {type_} {previous}, ptr addrspace(1) %q, align 32
  store {type_} %s, ptr addrspace(1) %q2, align 32
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    data = np.random.default_rng(size).integers(0, 256, 128 * 4).astype(np.uint8)
    assert_equal(text, both(text, [data, blank(128 * 4)], block=(4, 1, 1)))


def test_vectors_of_constants():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %p = getelementptr i8, ptr addrspace(1) %out, i64 16
  %q = getelementptr i8, ptr addrspace(1) %out, i64 32
  %r = getelementptr i8, ptr addrspace(1) %out, i64 48
  store <4 x i32> <i32 1, i32 -1, i32 -2147483648, i32 0>, ptr addrspace(1) %out
  store <2 x i64> <i64 -1, i64 4294967296>, ptr addrspace(1) %p
  store <8 x i16> zeroinitializer, ptr addrspace(1) %q
  store <4 x i8> <i8 -128, i8 127, i8 -1, i8 1>, ptr addrspace(1) %r
  ret void
}
"""
    assert_equal(text, both(text, [blank(64)], block=(1, 1, 1)))


def test_bits_keep_their_place_when_vectors_change_their_type():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %v = load <4 x i32>, ptr addrspace(1) %in
  %a = bitcast <4 x i32> %v to <2 x i64>
  %e = extractelement <2 x i64> %a, i32 1
  %b = bitcast i64 %e to <4 x i16>
  %f = extractelement <4 x i16> %b, i32 3
  %q = getelementptr i8, ptr addrspace(1) %out, i64 16
  %r = getelementptr i8, ptr addrspace(1) %out, i64 24
  store <2 x i64> %a, ptr addrspace(1) %out
  store <4 x i16> %b, ptr addrspace(1) %q
  store i16 %f, ptr addrspace(1) %r
  ret void
}
"""
    data = np.arange(16, dtype=np.uint8) * 17
    assert_equal(text, both(text, [data, blank(32)], block=(1, 1, 1)))


ADDRESSES = {
    "i8 index, negative": "getelementptr i32, ptr addrspace(1) %mid, i8 %i8",
    "i16 index, negative": "getelementptr i16, ptr addrspace(1) %mid, i16 %i16",
    "i32 index, negative": "getelementptr i64, ptr addrspace(1) %mid, i32 %i32",
    "i64 index, negative": "getelementptr i8, ptr addrspace(1) %mid, i64 %i64",
    "constant index": "getelementptr i64, ptr addrspace(1) %mid, i64 -3",
    "array of arrays": (
        "getelementptr [3 x [5 x i8]], ptr addrspace(1) %mid, i32 1, i32 2, i64 %i64"
    ),
    "struct, padded": "getelementptr {i8, i64, i16}, ptr addrspace(1) %mid, i32 %i32, i32 1",
    "struct, its end": "getelementptr {i8, i64, i16}, ptr addrspace(1) %mid, i32 %i32, i32 2",
    "packed struct": "getelementptr <{i8, i64, i16}>, ptr addrspace(1) %mid, i32 %i32, i32 2",
    "nested struct": (
        "getelementptr {i32, [2 x {i8, i32}], i8}, ptr addrspace(1) %mid,"
        " i64 1, i32 1, i64 1, i32 1"
    ),
    "struct with a vector": "getelementptr {i8, <4 x i32>}, ptr addrspace(1) %mid, i64 1, i32 1",
    "struct with i1": "getelementptr {i1, i1, i16}, ptr addrspace(1) %mid, i32 %i32, i32 2",
    "inbounds": "getelementptr inbounds i32, ptr addrspace(1) %mid, i32 %i32",
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address(name: str):
    """One thread marks the byte that a getelementptr names, for indices -2 to 3."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %i64) {{
  %i8 = trunc i64 %i64 to i8
  %i16 = trunc i64 %i64 to i16
  %i32 = trunc i64 %i64 to i32
  %mid = getelementptr i8, ptr addrspace(1) %out, i64 256
  %p = {ADDRESSES[name]}
  %v = load i8, ptr addrspace(1) %in
  store i8 %v, ptr addrspace(1) %p
  ret void
}}
"""
    mark = np.array([0x3C], np.uint8)
    for index in range(-2, 4):
        found = both(text, [mark, blank(512), index], block=(1, 1, 1))
        assert_equal(text, found)
        assert (found[1][1] == 0x3C).sum() == 1


def test_pointers_are_compared_selected_and_turned_into_integers():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %tid
  %q = getelementptr i32, ptr addrspace(1) %in, i32 7
  %low = icmp ult ptr addrspace(1) %p, %q
  %min = select i1 %low, ptr addrspace(1) %p, ptr addrspace(1) %q
  %a = ptrtoint ptr addrspace(1) %min to i64
  %b = ptrtoint ptr addrspace(1) %in to i64
  %d = sub i64 %a, %b
  %sum = add i64 %b, %d
  %back = inttoptr i64 %sum to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %back
  %w = trunc i64 %d to i32
  %r = add i32 %v, %w
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %r, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    data = np.arange(16, dtype=np.int32) * 1000
    assert_equal(text, both(text, [data, blank(64)], block=(16, 1, 1)))


@pytest.mark.parametrize("access", ["load", "store"])
def test_the_threads_of_a_warp_reach_different_arrays(access: str):
    """One instruction, whose address is in one array for even threads, in another for odd ones."""
    line = {
        "load": "%v = load i32, ptr addrspace(1) %at\n  store i32 %v, ptr addrspace(1) %o",
        "store": "store i32 %tid, ptr addrspace(1) %at",
    }[access]
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = trunc i32 %tid to i1
  %base = select i1 %odd, ptr addrspace(1) %a, ptr addrspace(1) %b
  %at = getelementptr i32, ptr addrspace(1) %base, i32 %tid
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  {line}
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    a, b = np.arange(32, dtype=np.uint32) + 100, np.arange(32, dtype=np.uint32) + 200
    assert_equal(text, both(text, [a, b, blank(128)]))


def test_an_array_that_is_passed_twice_is_one_memory():
    """What is stored through one pointer is loaded through the other, and comes back."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %same) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  %q = getelementptr i32, ptr addrspace(1) %same, i32 %tid
  store i32 %tid, ptr addrspace(1) %p
  %v = load i32, ptr addrspace(1) %q
  %w = add i32 %v, 1000
  store i32 %w, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    host, gpu = np.full(32, 7, np.uint32), np.full(32, 7, np.uint32)
    HostKernel(text).run(host, host)
    nvgen.compile(text, target=TARGET).run(gpu, gpu, block=32)
    assert np.array_equal(host, gpu)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_integer_parameters(width: int):
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %out, i8 %pad, i{width} %n) {{
  store i{width} %n, ptr addrspace(1) %out
  %p = getelementptr i64, ptr addrspace(1) %out, i64 1
  %w = zext i8 %pad to i64
  store i64 %w, ptr addrspace(1) %p
  ret void
}}
"""
    for number in edges(width):
        assert_equal(text, both(text, [blank(16), 0x5A, number], block=(1, 1, 1)))


# ---- special registers -----------------------------------------------------------------------

REGISTERS = [f"{r}.{axis}" for r in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
REGISTERS.append("laneid")
SHAPES = [((1, 1, 1), (32, 1, 1)), ((2, 3, 2), (5, 2, 3)), ((3, 1, 1), (40, 2, 1))]


@pytest.mark.parametrize(("grid", "block"), SHAPES, ids=str)
def test_special_registers(grid: Dim3, block: Dim3):
    """Each thread of each CTA knows where it is; CTAs and threads are numbered x first."""
    reads = [
        f"%r{i} = call i32 @llvm.nvvm.read.ptx.sreg.{name}()" for i, name in enumerate(REGISTERS)
    ]
    at = {name: f"%r{i}" for i, name in enumerate(REGISTERS)}
    linear = []
    for kind, size, name in (("tid", "ntid", "t"), ("ctaid", "nctaid", "c")):
        linear += [
            f"%{name}1 = mul i32 {at[kind + '.z']}, {at[size + '.y']}",
            f"%{name}2 = add i32 %{name}1, {at[kind + '.y']}",
            f"%{name}3 = mul i32 %{name}2, {at[size + '.x']}",
            f"%{name} = add i32 %{name}3, {at[kind + '.x']}",
        ]
    threads = int(np.prod(block))
    body = "\n  ".join(
        [
            *reads,
            *linear,
            f"%first = mul i32 %c, {threads}",
            "%number = add i32 %first, %t",
            *(
                f"%p{i} = getelementptr [{len(REGISTERS)} x i32], ptr addrspace(1) %out,"
                f" i32 %number, i32 {i}\n  store i32 %r{i}, ptr addrspace(1) %p{i}"
                for i in range(len(REGISTERS))
            ),
        ]
    )
    declares = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{n}()" for n in REGISTERS)
    text = (
        f"define ptx_kernel void @k(ptr addrspace(1) %out) {{\n  {body}\n  ret void\n}}\n{declares}"
    )
    size = int(np.prod(grid)) * threads * len(REGISTERS) * 4  # type: ignore[assignment]
    found = both(text, [blank(size)], grid=grid, block=block)
    assert_equal(text, found)
    table = found[1][0].view(np.uint32).reshape(-1, len(REGISTERS))
    assert len({tuple(row) for row in table}) == int(np.prod(grid)) * threads


FORGETFUL = """
import gc
import nvgen
from intrinsics.findings import NvgenError
gc.disable()
for _ in range(4):
    try:
        nvgen.compile("define void @f(i128 %x) { %a = udiv i128 %x, 3 ret void }", target="sm_90a")
    except NvgenError as error:
        error.itself = error
gc.collect()
print("alive")
"""


def test_rejected_modules_can_be_forgotten_in_any_order():
    """An exception keeps the frames that it went through; the collector then frees LLVM's objects
    in an order of its own, and must not end the process by that."""
    done = subprocess.run(
        [sys.executable, "-c", FORGETFUL], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


# ---- the oracle itself -----------------------------------------------------------------------


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
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
    assert was in text
    data = np.arange(-16, 16, dtype=np.int8) * 7
    host, gpu = blank(128), blank(128)
    HostKernel(text).run(data, host)
    nvgen.compile(text.replace(was, becomes), target=TARGET).run(data, gpu, block=32)
    assert not np.array_equal(host, gpu)
    nvgen.compile(text, target=TARGET).run(data, gpu, block=32)
    assert np.array_equal(host, gpu)
