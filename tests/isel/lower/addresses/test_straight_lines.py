"""Products of a line are made from its first: the host's values, and as many products as LLVM."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.jit import HostKernel

THREADS = 32

FRAME = """
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr {type}, ptr addrspace(1) %a, i32 %t
  %q = getelementptr {type}, ptr addrspace(1) %p, i32 1
  %r = getelementptr {type}, ptr addrspace(1) %p, i32 2
  %b = load {type}, ptr addrspace(1) %p
  %s = load {type}, ptr addrspace(1) %q
  %c = load {type}, ptr addrspace(1) %r
  %o = getelementptr [4 x {type}], ptr addrspace(1) %out, i32 %t
{body}
  ret void
}}
"""


def stored(type_: str, *names: str) -> str:
    """Lines that store values beside each other."""
    return "\n".join(
        f"  %at{n} = getelementptr {type_}, ptr addrspace(1) %o, i32 {n}\n"
        f"  store volatile {type_} %{name}, ptr addrspace(1) %at{n}"
        for n, name in enumerate(names)
    )


def rows(type_: str, shift: str, numbers: tuple[int, ...], *, sums: bool) -> str:
    """Several rows (b + k) * s, or (b + k) * s + c, of a matrix."""
    body = []
    for n, k in enumerate(numbers):
        row = f"%b{n}" if k else "%b"
        if "sub" in shift:
            row = f"%b{n}"
            body.append(f"  %b{n} = {shift} {type_} {k}, %b")
        elif k:
            body.append(f"  %b{n} = {shift} {type_} %{'e' if 'or' in shift else 'b'}, {k}")
        elif "or" in shift:
            row = "%e"
        factors = f"{row}, %s" if n % 2 else f"%s, {row}"
        body.append(f"  %m{n} = mul {type_} {factors}")
        if sums:
            body.append(f"  %x{n} = add {type_} {f'%m{n}, %c' if n % 3 else f'%c, %m{n}'}")
    if "or" in shift:
        body.insert(0, f"  %e = and {type_} %b, -16")
    names = [f"{'x' if sums else 'm'}{n}" for n in range(len(numbers))]
    return FRAME.format(type=type_, body="\n".join([*body, stored(type_, *names)]))


def planes(numbers: tuple[int, ...]) -> str:
    """Rows ((b + k) + c) * s + b, whose parts are added up in several orders."""
    body = []
    for n, k in enumerate(numbers):
        first, second = ("%b", "%c") if n % 2 else ("%c", "%b")
        body.append(f"  %b{n} = add nsw i32 {first}, {k}")
        body.append(f"  %r{n} = add i32 {f'%b{n}, {second}' if n % 3 else f'{second}, %b{n}'}")
        body.append(f"  %m{n} = mul i32 %r{n}, %s")
        body.append(f"  %x{n} = add i32 %m{n}, %b")
    names = [f"x{n}" for n in range(len(numbers))]
    return FRAME.format(type="i32", body="\n".join([*body, stored("i32", *names)]))


SUMS = {
    "rows of a plane": planes((3, 1, -2, 4)),
    "sums": rows("i32", "add", (0, 1, 8, -3), sums=True),
    "sums of 64 bits": rows("i64", "add nsw", (0, 1, 8, -1), sums=True),
    "disjoint bits": rows("i32", "or disjoint", (0, 2, 4, 6), sums=True),
    "differences": rows("i32", "sub", (1, 2, 3, -7), sums=True),
    "no row without a number": rows("i32", "add", (5, 7, 6, 4), sums=True),
}
PRODUCTS = {
    "products": rows("i32", "add nuw nsw", (0, 1, 2, -2147483648), sums=False),
    "products of 64 bits": rows("i64", "add", (3, 2, 1, 9223372036854775807), sums=False),
}
PRODUCTS["products of differences"] = rows("i64", "sub nsw", (0, 5, 2, -1), sums=False)
APART = {
    "sum and difference": "  %b1 = add i32 %b, 1\n  %b2 = sub i32 1, %b\n"
    "  %m0 = mul i32 %b1, %s\n  %m1 = mul i32 %b2, %s",
    "other factor": "  %b1 = add i32 %b, 1\n  %m0 = mul i32 %b, %s\n  %m1 = mul i32 %b1, %c",
    "other base": "  %b1 = add i32 %c, 1\n  %m0 = mul i32 %b, %s\n  %m1 = mul i32 %b1, %s",
    "the same": "  %b1 = add i32 %b, 0\n  %m0 = mul i32 %b1, %s\n  %m1 = mul i32 %b, %s",
    "bits that are no sum": "  %b1 = or i32 %b, 1\n  %m0 = mul i32 %b, %s\n  %m1 = mul i32 %b1, %s",
    "squares": "  %b1 = add i32 %b, 1\n  %m0 = mul i32 %b, %b\n  %m1 = mul i32 %b1, %b1",
    "factor and base": "  %b1 = add i32 %b, 1\n  %s1 = add i32 %s, 1\n  %m0 = mul i32 %b, %s\n"
    "  %m1 = mul i32 %b1, %s1",
}


def matrix(type_: str, numbers: tuple[int, ...]) -> str:
    """A column of a matrix, whose rows are `stride` apart: thread t stores to rows %b + k."""
    body = [f"  %s = {'sext' if type_ == 'i64' else 'bitcast'} i32 %stride to {type_}"]
    for n, k in enumerate(numbers):
        body += [
            f"  %b{n} = add {type_} %b, {k}",
            f"  %m{n} = mul {type_} %b{n}, %s",
            f"  %row{n} = getelementptr i32, ptr addrspace(1) %out, {type_} %m{n}",
            f"  %at{n} = getelementptr i32, ptr addrspace(1) %row{n}, i32 %t",
            f"  store i32 {k}, ptr addrspace(1) %at{n}",
        ]
    return MATRIX.format(type=type_, body="\n".join(body))


MATRIX = """
define ptx_kernel void @k(ptr addrspace(1) %all, i32 %stride, {type} %b) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %out = getelementptr i32, ptr addrspace(1) %all, i32 256
{body}
  ret void
}}
"""

ALL = SUMS | PRODUCTS
ALL |= {
    name: FRAME.format(type="i32", body=f"{body}\n{stored('i32', 'm0', 'm1')}")
    for name, body in APART.items()
}


@pytest.mark.parametrize("name", ALL)
def test_the_values_are_those_of_the_host(name: str) -> None:
    """Also where sums and products wrap."""
    kind = np.dtype(np.uint64 if " i64 " in ALL[name] else np.uint32)
    top = 1 << 8 * kind.itemsize
    given = np.random.default_rng(3).integers(0, top, THREADS + 2, kind, endpoint=False)
    given[:9] = [0, 1, 2, top - 1, top - 2, top // 2, top // 2 - 1, 3, 16]
    ours, host = np.zeros((2, THREADS, 4), kind)
    nvgen.compile(ALL[name], target="sm_90a").run(given, ours, block=THREADS, device="sim")
    HostKernel(ALL[name]).run(given, host, block=(THREADS, 1, 1))
    assert (ours == host).all()


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SUMS | PRODUCTS)
def test_one_product_of_two_variables_is_left_where_llvm_has_one_or_more(name: str) -> None:
    text = (SUMS | PRODUCTS)[name]
    (theirs,) = llvm.compile_all([llvm.HEADER + text], "sm_90a", "8.6")
    ours = products(nvgen.compile(text, target="sm_90a").ptx)
    assert ours == 1 <= products(theirs.ptx)


@pytest.mark.parametrize("type_", ["i32", "i64"])
@pytest.mark.parametrize("stride", [40, -32])
def test_rows_are_where_the_host_has_them(type_: str, stride: int) -> None:
    check_rows(matrix(type_, (0, 1, 3, -2)), stride, 1)


def test_an_index_of_32_bits_wraps_before_it_is_extended() -> None:
    """The stride is 2³¹ - 32: row 1, which nobody stores to, is far away, and row 2 at -64."""
    check_rows(MATRIX.format(type="i32", body=FAR), (1 << 31) - 32, 1)


FAR = """
  %m0 = mul i32 %b, %stride
  %at0 = getelementptr i32, ptr addrspace(1) %out, i32 %m0
  %b1 = add i32 %b, 1
  %m1 = mul i32 %b1, %stride
  %at1 = getelementptr i32, ptr addrspace(1) %out, i32 %m1
  %never = icmp eq i32 %t, 99
  br i1 %never, label %far, label %near
far:
  store i32 1, ptr addrspace(1) %at0
  br label %near
near:
  store i32 2, ptr addrspace(1) %at1
"""


def check_rows(text: str, stride: int, b: int) -> None:
    ours, host = np.zeros((2, 512), np.int32)
    nvgen.compile(text, target="sm_90a").run(ours, stride, b, block=THREADS, device="sim")
    HostKernel(text).run(host, stride, b, block=(THREADS, 1, 1))
    assert (ours == host).all()
    assert ours.any()


def test_the_index_of_one_row_is_scaled() -> None:
    """Of the others a multiple of the stride in bytes is added, as LLVM does it."""
    text = matrix("i64", (0, 1, 3, -2))
    (theirs,) = llvm.compile_all([llvm.HEADER + text], "sm_90a", "8.6")
    ours = nvgen.compile(text, target="sm_90a").ptx
    assert ours.count("shl.b64") == 1 <= theirs.ptx.count("shl.b64")
    assert {*re.findall(r"mul\.wide\.s32\s.*, (-?\d+);", ours)} == {"4", "12", "-8"}


def products(ptx: str) -> int:
    """Products of two registers."""
    return len(re.findall(r"\bm(?:ul|ad)\.lo\.s\d+\s+%r\w+, %r\w+, %r\w+[,;]", ptx))
