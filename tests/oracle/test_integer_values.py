"""Integers of any width, and vectors of them, mean on the GPU what they mean on the host.

Each kernel computes many results from each thread's pair of numbers and stores them all; the host's
processor runs the same LLVM IR, and every byte of memory must be equal.  Stores of odd widths show
that the bits above a number are written as zeros.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from tests.oracle.gpu import launch
from tests.oracle.host_and_device import TARGET, assert_equal, blank, both
from tests.oracle.integer_edges import PREDICATES

pytestmark = pytest.mark.gpu

SLOT = 64
"""Bytes for each result."""

ODD = (2, 3, 5, 7, 12, 17, 24, 31, 33, 48, 63)
WIDE = (65, 96, 100, 128, 192)
COMMON = (8, 16, 32, 64)


def edges(width: int) -> list[int]:
    """Numbers near the bounds of a width, near those of words, and a pattern."""
    mask = (1 << width) - 1
    near = [0, 1, 2, 3, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) - 1, 5 * mask // 7]
    near += [(1 << at) + d for at in (8, 16, 32, 64) for d in (-1, 0) if at < width]
    return sorted({n & mask for n in near})


def operands(width: int, seed: int = 0) -> NDArray[np.uint8]:
    """Pairs of numbers, 32 bytes each, the upper bits random: edges first, then random ones."""
    rng = np.random.default_rng(seed + width)
    known = edges(width)
    pairs = [(a, b) for a in known for b in known]
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[:44]]
    rows = b""
    for n in range(64):
        for side in (0, 1):
            number = int.from_bytes(rng.bytes(32), "little")
            if n < len(chosen):
                number = (number >> width << width) | chosen[n][side]
            rows += number.to_bytes(32, "little")
    return np.frombuffer(rows, np.uint8).copy()


def kernel(width: int, results: list[tuple[str, str]], more: str = "") -> str:
    """Store each result, given as (type, value) of %a and %b, both of `width` bits.

    A value is an instruction, or several lines whose last one defines the result.
    """
    lines = []
    for n, (type_, value) in enumerate(results):
        *before, last = value.replace("#", f"{n}.").split("\n")
        lines += [*before, f"%r{n} = {last}"]
        lines.append(f"%q{n} = getelementptr i8, ptr addrspace(1) %o, i32 {n * SLOT}")
        lines.append(f"store {type_} %r{n}, ptr addrspace(1) %q{n}, align 16")
    body = "\n  ".join(lines)
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr [64 x i8], ptr addrspace(1) %in, i32 %tid
  %pb = getelementptr i8, ptr addrspace(1) %pa, i32 32
  %wa = load i256, ptr addrspace(1) %pa, align 16
  %wb = load i256, ptr addrspace(1) %pb, align 16
  %a = trunc i256 %wa to i{width}
  %b = trunc i256 %wb to i{width}
  {more}
  %o = getelementptr [{len(results) * SLOT} x i8], ptr addrspace(1) %out, i32 %tid
  {body}
  ret void
}}
"""


def check(width: int, results: list[tuple[str, str]], more: str = "", opt: int = 0) -> None:
    """The same bytes on both sides."""
    text = kernel(width, results, more)
    memory = [operands(width), blank(64 * len(results) * SLOT)]
    assert_equal(text, both(text, memory, block=(64, 1, 1), opt=opt))


def arithmetic(w: int) -> list[tuple[str, str]]:
    """Every operation on %a and %b that is defined for all numbers."""
    t = f"i{w}"
    found = [(t, f"{op} {t} %a, %b") for op in ("add", "sub", "mul", "and", "or", "xor")]
    found += [(t, f"{op} {t} %a, %by") for op in ("shl", "lshr", "ashr")]
    found += [
        (t, f"{op} {t} %a, {n}")
        for op in ("shl", "lshr", "ashr")
        for n in sorted({0, 1, w // 2, w - 1})
    ]
    found += [(t, f"{op} {t} %a, -3") for op in ("add", "mul", "and", "xor")]
    found += [(t, f"sub {t} 1, %b")]
    if w <= 64:
        found += [(t, f"{op} {t} %a, %divisor") for op in ("udiv", "sdiv", "urem", "srem")]
    found += [("i8", f"%c# = icmp {p} {t} %a, %b\nzext i1 %c# to i8") for p in PREDICATES]
    found += [("i8", f"%c# = icmp {p} {t} %a, 1\nzext i1 %c# to i8") for p in ("eq", "slt", "ugt")]
    found += [(t, f"%c# = icmp ult {t} %a, %b\nselect i1 %c#, {t} %b, {t} 1")]
    found += [(t, f"freeze {t} %a")]
    return found


def small(w: int) -> str:
    """%by, less than the width, and %divisor, neither 0 nor -1."""
    if w == 2:
        return "%by = and i2 %b, 1\n  %divisor = add i2 0, 1"
    log = w.bit_length() - 1
    mask = (1 << log) - 1
    return f"""%by = and i{w} %b, {mask}
  %odd = or i{w} %b, 1
  %divisor = and i{w} %odd, -3"""


@pytest.mark.turns(4)
@pytest.mark.parametrize("width", ODD + WIDE)
def test_arithmetic(width: int):
    check(width, arithmetic(width), small(width))


@pytest.mark.parametrize("width", [24, 48, 128])
def test_arithmetic_optimised(width: int):
    check(width, arithmetic(width), small(width), opt=2)


@pytest.mark.parametrize("width", [1, *ODD, *WIDE])
def test_casts_to_and_from_every_width(width: int):
    t = f"i{width}"
    found = []
    for to in (1, *COMMON, *ODD, *WIDE):
        if to < width:
            found.append((f"i{to}", f"trunc {t} %a to i{to}"))
        elif to > width:
            found += [(f"i{to}", f"{cast} {t} %a to i{to}") for cast in ("zext", "sext")]
    check(width, found)


@pytest.mark.parametrize("width", [*ODD, 8, 16, 32, 64, 100, 128])
@pytest.mark.parametrize("alignment", [1, 2, 8])
def test_loads_at_every_alignment(width: int, alignment: int):
    """What is loaded lies in memory with zeros above it, as a store of it leaves it."""
    t, size = f"i{width}", (width + 7) // 8
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [64 x i8], ptr addrspace(1) %in, i32 %tid
  %p2 = getelementptr i8, ptr addrspace(1) %p, i32 {8 + alignment}
  %a = load {t}, ptr addrspace(1) %p2, align {alignment}
  %b = add {t} %a, 3
  %q = getelementptr [64 x i8], ptr addrspace(1) %out, i32 %tid
  %q2 = getelementptr i8, ptr addrspace(1) %q, i32 {8 + alignment}
  store {t} %b, ptr addrspace(1) %q2, align {alignment}
  ret void
}}
"""
    rng = np.random.default_rng(width)
    mask = (1 << width) - 1
    data = np.zeros((32, 64), np.uint8)
    for row in data:
        value = int.from_bytes(rng.bytes(size)) & mask
        at = 8 + alignment
        row[at : at + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
    assert_equal(text, both(text, [data.ravel(), blank(64 * 32)]))


# ---- intrinsics ------------------------------------------------------------------------------


def intrinsics(w: int, t: str, *, extended: bool) -> list[tuple[str, str]]:
    """Calls of LLVM's own intrinsics on %a and %b of type `t`."""
    name = t.replace("<", "v").replace(" x ", "").replace(">", "")
    two = ["umin", "umax", "smin", "smax", "uadd.sat", "usub.sat"]
    two += ["sadd.sat", "ssub.sat"] if extended else []
    found = [(t, f"call {t} @llvm.{n}.{name}({t} %a, {t} %b)") for n in two]
    if extended:
        found += [
            (t, f"call {t} @llvm.{n}.{name}({t} %a, {t} %by)") for n in ("ushl.sat", "sshl.sat")
        ]
    found += [(t, f"call {t} @llvm.{n}.{name}({t} %a, i1 false)") for n in ("abs", "ctlz", "cttz")]
    found += [(t, f"call {t} @llvm.{n}.{name}({t} %a)") for n in ("ctpop", "bitreverse")]
    if w % 16 == 0:
        found += [(t, f"call {t} @llvm.bswap.{name}({t} %a)")]
    if extended or w == 128:
        found += [
            (t, f"call {t} @llvm.{n}.{name}({t} %a, {t} %b, {t} %b)") for n in ("fshl", "fshr")
        ]
    if "<" not in t:
        found += [(t, f"call {t} @llvm.{n}.{name}({t} %a, {t} %b, {t} {by})")
                  for n in ("fshl", "fshr") for by in (0, 1, w - 1)]  # fmt: skip
        found += [
            (t, f"call {t} @llvm.{n}.{name}.{name}({t} %a, {t} %b)") for n in ("ucmp", "scmp")
        ]
    return found


def overflows(t: str) -> list[tuple[str, str]]:
    """Both members of what the intrinsics with overflow give, for two numbers and constants."""
    found = []
    names = ["uadd", "usub", "sadd", "ssub"] + (["umul", "smul"] if int(t[1:]) <= 64 else [])
    for n in names:
        for other in ("%b", "-2", "1"):
            call = f"%s# = call {{ {t}, i1 }} @llvm.{n}.with.overflow.{t}({t} %a, {t} {other})"
            found.append((t, f"{call}\nextractvalue {{ {t}, i1 }} %s#, 0"))
            flag = f"%f# = extractvalue {{ {t}, i1 }} %s#, 1\nzext i1 %f# to i8"
            found.append(("i8", f"{call}\n{flag}"))
    return found


@pytest.mark.turns(4)
@pytest.mark.parametrize("width", [3, 5, 8, 12, 16, 17, 24, 32, 33, 48, 63, 64])
def test_intrinsics_and_overflow(width: int):
    t = f"i{width}"
    calls = intrinsics(width, t, extended=True) + overflows(t)
    check(width, calls, small(width))


@pytest.mark.parametrize("width", [65, 96, 128, 192])
def test_intrinsics_of_wide_integers(width: int):
    t = f"i{width}"
    check(width, intrinsics(width, t, extended=False) + overflows(t))


# ---- vectors ---------------------------------------------------------------------------------


def vectors(count: int, w: int) -> str:
    """%a and %b as vectors; %by and %divisor as above, in each element."""
    t, total = f"<{count} x i{w}>", count * w
    log = w.bit_length() - 1
    lines = []
    for name in "ab":
        cut = f"trunc i256 %w{name} to i{total}" if total < 256 else f"freeze i256 %w{name}"
        lines += [f"%low{name} = {cut}"]
        lines += [f"%v{name} = bitcast i{total} %low{name} to {t}"]
    lines += [f"%vby = and {t} %vb, splat (i{w} {(1 << log) - 1})"]
    lines += [f"%vodd = or {t} %vb, splat (i{w} 1)", f"%vdivisor = and {t} %vodd, splat (i{w} -3)"]
    return "\n  ".join(lines)


SHAPES = [(2, 8), (4, 8), (3, 8), (16, 8), (2, 16), (3, 16), (8, 16), (2, 32), (4, 32), (3, 64),
          (3, 24), (4, 5), (2, 128), (8, 3)]  # fmt: skip


@pytest.mark.turns(4)
@pytest.mark.parametrize(("count", "width"), SHAPES)
def test_vectors(count: int, width: int):
    t, total = f"<{count} x i{width}>", count * width
    log = width.bit_length() - 1
    mask = (1 << log) - 1
    found = [(t, f"{op} {t} %va, %vb") for op in ("add", "sub", "mul", "and", "or", "xor")]
    found += [(t, f"{op} {t} %va, %vby") for op in ("shl", "lshr", "ashr")]
    found += [(t, f"add {t} %va, splat (i{width} {mask})")]
    if width <= 64:
        found += [(t, f"{op} {t} %va, %vdivisor") for op in ("udiv", "srem")]
    bits = f"<{count} x i1>"
    for p in ("eq", "ult", "sge"):
        found.append((bits, f"icmp {p} {t} %va, %vb"))
        found.append((t, f"%c# = icmp {p} {t} %va, %vb\nselect {bits} %c#, {t} %va, {t} %vb"))
        found.append((t, f"%c# = icmp {p} {t} %va, %vb\nsext {bits} %c# to {t}"))
        found.append((f"i{count}", f"%c# = icmp {p} {t} %va, %vb\nbitcast {bits} %c# to i{count}"))
    found.append((f"<{count} x i{width + 7}>", f"sext {t} %va to <{count} x i{width + 7}>"))
    found.append((f"<{count} x i{2 * width}>", f"zext {t} %va to <{count} x i{2 * width}>"))
    if width > 3:
        found.append((f"<{count} x i{width - 3}>", f"trunc {t} %va to <{count} x i{width - 3}>"))
    found.append((f"i{total}", f"bitcast {t} %va to i{total}"))
    order = ", ".join(f"i32 {n}" for n in (*range(count, 2 * count), *range(count)[::-1]))
    found.append((f"<{2 * count} x i{width}>",
                  f"shufflevector {t} %va, {t} %vb, <{2 * count} x i32> <{order}>"))  # fmt: skip
    found.append((t, f"insertelement {t} %va, i{width} 3, i32 1"))
    found.append((f"i{width}", f"extractelement {t} %va, i64 1"))
    index = f"%j# = urem i32 %tid, {count}\n"
    found.append((f"i{width}", f"{index}extractelement {t} %va, i32 %j#"))
    found.append((t, f"{index}%e# = extractelement {t} %vb, i32 0\n"
                     f"insertelement {t} %va, i{width} %e#, i32 %j#"))  # fmt: skip
    found.append((t, f"freeze {t} %va"))
    check(1, found, vectors(count, width))


@pytest.mark.parametrize(("count", "width"), [(2, 8), (4, 8), (2, 16), (3, 32), (2, 64), (3, 24)])
def test_intrinsics_of_vectors(count: int, width: int):
    t = f"<{count} x i{width}>"
    calls = []
    for type_, value in intrinsics(width, t, extended=True):
        for old in ("%by", "%a", "%b"):
            value = value.replace(f"{t} {old}", f"{t} %v{old[1:]}")
        calls.append((type_, value))
    kinds = ("add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax")
    e = f"i{width}"
    calls += [(e, f"call {e} @llvm.vector.reduce.{k}.v{count}{e}({t} %va)") for k in kinds]
    bits = f"<{count} x i1>"
    calls += [("i8", f"%c# = icmp slt {t} %va, %vb\n"
               f"%x# = call i1 @llvm.vector.reduce.{k}.v{count}i1({bits} %c#)\n"
               "zext i1 %x# to i8") for k in kinds if k != "mul"]  # fmt: skip
    pair = f"{{ {t}, {bits} }}"
    for n in ("uadd", "ssub", "smul"):
        call = f"%s# = call {pair} @llvm.{n}.with.overflow.v{count}{e}({t} %va, {t} %vb)"
        calls.append((t, f"{call}\nextractvalue {pair} %s#, 0"))
        calls.append((bits, f"{call}\nextractvalue {pair} %s#, 1"))
    check(1, calls, vectors(count, width))


# ---- division by a constant, products of halves ------------------------------------------------


@pytest.mark.parametrize("width", [5, 8, 16, 24, 32, 48, 64])
def test_division_by_constants(width: int):
    t, bound = f"i{width}", 1 << (width - 1)
    divisors = {2, 3, 5, 6, 7, 10, 12, 100, 641, 48271, 6700417, bound - 1, bound // 3, bound // 2}
    divisors = {d for d in divisors if 1 < d < bound}
    found = [
        (t, f"{op} {t} %a, {d}")
        for op in ("udiv", "urem", "sdiv", "srem")
        for d in sorted({*divisors, *(-d for d in divisors), -bound})
    ]
    check(width, found)


@pytest.mark.parametrize("width", [16, 32])
def test_products_of_extended_numbers(width: int):
    t, w = f"i{2 * width}", f"i{width}"
    found = []
    for left in ("sext", "zext"):
        head = f"%x# = {left} {w} %a to {t}\n"
        rights = [f"%y# = {right} {w} %b to {t}\nmul {t} %x#, %y#" for right in ("sext", "zext")]
        numbers = (3, -3, (1 << (width - 1)) - 1, 1 << (width - 1), (1 << width) - 1)
        rights += [f"mul {t} %x#, {number}" for number in numbers]
        found += [(t, head + right) for right in rights]
    check(width, found)


# ---- nvvm intrinsics, by what the manual says of them -------------------------------------------

NVVM = {
    "mulhi.i(i32 %a, i32 %b)": lambda a, b: s(a) * s(b) >> 32,
    "mulhi.ui(i32 %a, i32 %b)": lambda a, b: a * b >> 32,
    "mul24.i(i32 %a, i32 %b)": lambda a, b: s(a, 24) * s(b, 24),
    "mul24.ui(i32 %a, i32 %b)": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "sad.i(i32 %a, i32 %b, i32 7)": lambda a, b: 7 + abs(s(a) - s(b)),
    "sad.ui(i32 %a, i32 %b, i32 %a)": lambda a, b: a + abs(a - b),
    "prmt(i32 %a, i32 %b, i32 -12345)": lambda a, b: bytes_of(
        [byte(b << 32 | a, n) if n < 8 else s(byte(b << 32 | a, n - 8), 8) >> 7
         for n in nibbles(-12345)]
    ),
    "prmt.f4e(i32 %a, i32 %b, i32 1)": lambda a, b: (b << 32 | a) >> 8,
    "prmt.b4e(i32 %a, i32 %b, i32 1)": lambda a, b: bytes_of(
        [a >> 8, a, b >> 24, b >> 16]
    ),
    "prmt.rc8(i32 %a, i32 2)": lambda a, b: (a >> 16 & 255) * 0x01010101,
    "prmt.ecl(i32 %a, i32 2)": lambda a, b: bytes_of([a >> 16 & 255] * 3 + [a >> 24]),
    "prmt.ecr(i32 %a, i32 1)": lambda a, b: bytes_of([a & 255] + [a >> 8 & 255] * 3),
    "prmt.rc16(i32 %a, i32 1)": lambda a, b: (a >> 16) * 0x10001,
    "idp4a.s.u(i32 %a, i32 %b, i32 %a)": lambda a, b: a + sum(
        s(a >> 8 * n, 8) * (b >> 8 * n & 255) for n in range(4)
    ),
    "idp2a.u.s(i32 %a, i32 %b, i1 true, i32 9)": lambda a, b: 9 + sum(
        (a >> 16 * n & 65535) * s(b >> (16 + 8 * n), 8) for n in range(2)
    ),
    "bmsk.wrap(i32 %a, i32 %b)": lambda a, b: ((1 << (b & 31)) - 1) << (a & 31),
    "bmsk.clamp(i32 %a, i32 %b)": lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32),
    "zext.wrap(i32 %a, i32 %b)": lambda a, b: a & ((1 << (b & 31)) - 1),
    "sext.clamp(i32 %a, i32 %b)": lambda a, b: s(a, min(b, 32)) if b else 0,
    "flo.u.i32(i32 %a, i1 false)": lambda a, b: a.bit_length() - 1,
    "flo.s.i32(i32 %a, i1 true)": lambda a, b: (
        32 - n if (n := (a ^ (M if a >> 31 else 0)).bit_length()) else -1
    ),
}  # fmt: skip
M = 0xFFFF_FFFF


def s(value: int, bits: int = 32) -> int:
    """The lower bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits and value >> (bits - 1) else value


def byte(value: int, number: int) -> int:
    """One byte, numbered from the lowest."""
    return value >> 8 * number & 255


def nibbles(value: int) -> list[int]:
    """The lower four nibbles, the lowest first."""
    return [value >> 4 * n & 15 for n in range(4)]


def bytes_of(values: list[int]) -> int:
    """Bytes put together, the lowest first."""
    return sum((v & 255) << 8 * n for n, v in enumerate(values))


def test_nvvm_intrinsics():
    """One kernel with all of them; what each should give is written beside it."""
    lines, declares = [], set()
    for n, call in enumerate(NVVM):
        name, _, given = call.partition("(")
        types = ", ".join(a.split()[0] for a in given.rstrip(")").split(", "))
        declares.add(f"declare i32 @llvm.nvvm.{name}({types})")
        lines += [
            f"%r{n} = call i32 @llvm.nvvm.{call}",
            f"%q{n} = getelementptr i32, ptr addrspace(1) %o, i32 {n}",
            f"store i32 %r{n}, ptr addrspace(1) %q{n}",
        ]
    body, declared = "\n  ".join(lines), "\n".join(sorted(declares))
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr [2 x i32], ptr addrspace(1) %in, i32 %tid
  %pb = getelementptr i32, ptr addrspace(1) %pa, i32 1
  %a = load i32, ptr addrspace(1) %pa
  %b = load i32, ptr addrspace(1) %pb
  %o = getelementptr [{len(NVVM)} x i32], ptr addrspace(1) %out, i32 %tid
  {body}
  ret void
}}
{declared}
"""
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 1 << 32, (64, 2), np.uint32)
    pairs[:16, 1] = [0, 1, 2, 5, 8, 15, 16, 24, 31, 32, 33, 40, 63, 64, 255, M]
    pairs[16:28, 0] = [0, 1, 2, 5, 8, 31, 32, 33, M, M - 1, M >> 1, (M >> 1) + 1]
    out = np.zeros((64, len(NVVM)), np.uint32)
    launch(nvgen.compile(text, target=TARGET), pairs, out, grid=(1, 1, 1), block=(64, 1, 1))
    for n, (call, expected) in enumerate(NVVM.items()):
        wanted = [expected(int(a), int(b)) & M for a, b in pairs]
        wrong = [row for row in range(64) if out[row, n] != wanted[row]]
        assert not wrong, (call, pairs[wrong[0]], out[wrong[0], n], wanted[wrong[0]])
