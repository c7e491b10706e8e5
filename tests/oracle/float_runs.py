"""Numbers in memory, and functions of floating-point numbers on the device under test."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from tests.oracle import exact_floats as exact
from tests.oracle.exact_floats import Kind, Number, read, write
from tests.oracle.gpu import launch, on_gpu

TARGET = "sm_90a"
Words = NDArray[np.uint64]
SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
LETTER = {"float": "f", "double": "d"}


def edges(kind: Kind) -> list[int]:
    """Zeros, subnormals, the ends of the range, halves, integers, infinities, NaNs; both signs."""
    one = ((1 << kind.exponents - 1) - 1) << kind.precision - 1
    unit = 1 << kind.precision - 1
    sizes = [
        *(0, 1, 3, unit - 1, unit, unit + 1, 2 * unit, one - unit, one - 1, one, one + 1),
        *(one + unit // 2, one + unit, one + unit + unit // 4, one + 3 * unit + 5),
        *(one + (kind.precision - 1) * unit - unit // 2, one + kind.precision * unit + 1),
        *(one - 5 * unit - 7, kind.infinity - unit, kind.infinity - 1, kind.infinity),
        *(kind.infinity + unit // 2, kind.infinity + unit // 2 + 5),
    ]
    return [size | sign for size in sizes for sign in (0, 1 << kind.width - 1)]


def some(kind: Kind, count: int, seed: int = 1) -> list[int]:
    """Random patterns, half of them with exponents near 1."""
    dice = np.random.default_rng(seed)
    found = [int(w) & (1 << kind.width) - 1 for w in dice.integers(0, 1 << 63, count)]
    one = ((1 << kind.exponents - 1) - 1) << kind.precision - 1
    near = [(w & (1 << kind.precision + 1) - 1) + one - (2 << kind.precision - 1) for w in found]
    return [*found[::2], *near[1::2]]


@functools.cache
def triples(kind: Kind, *, every: int = 1) -> Words:
    """Rows of (a, b, c): every pair of edges, and c such that it may cancel the product."""
    known = edges(kind)
    pairs = [(a, b) for a, b in itertools.product(known, known)][::every]
    pairs += list(zip(some(kind, 96), some(kind, 96, 2), strict=True))
    rows = []
    for n, (a, b) in enumerate(pairs):
        product = write(exact.multiply(read(a, kind), read(b, kind)), kind)
        cancelling = (max(product, 0) ^ 1 << kind.width - 1) + n % 3 - 1
        c = cancelling & (1 << kind.width) - 1 if n % 2 else known[n % len(known)]
        rows.append((a, b, c))
    return np.array(rows, np.uint64)


def kernel(type_: str, lines: str, result: str, attributes: str = "") -> str:
    """A kernel that computes %r of type `result` from each thread's %a, %b and %c of `type_`."""
    body = "\n  ".join(line.strip() for line in lines.strip().splitlines())
    loads = "\n".join(
        f"  %p{n} = getelementptr i64, ptr addrspace(1) %row, i32 {n}\n"
        f"  %{name} = load {type_}, ptr addrspace(1) %p{n}"
        for n, name in enumerate("abc")
    )
    declared = {
        f"declare {m[1]} @{m[2]}({', '.join(_type(p) for p in _split(m[3]))})"
        for m in re.finditer(r"call [a-z ]*?(<[^>]*>|\S+) @([\w.]+)\((.*)\)", body)
    }
    stored = "i8" if result == "i1" else result
    last = f"%s = zext i1 %r to i8" if result == "i1" else f"%s = freeze {result} %r"  # noqa: F541
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {attributes}{{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 256
  %index = add i32 %first, %tid
  %row = getelementptr [3 x i64], ptr addrspace(1) %in, i32 %index
{loads}
  {body}
  {last}
  %q = getelementptr i64, ptr addrspace(1) %out, i32 %index
  store {stored} %s, ptr addrspace(1) %q
  ret void
}}
""" + "\n".join(sorted(declared))


def _split(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^<]*>)", text) if part.strip()]


def _type(parameter: str) -> str:
    return parameter.rpartition(" ")[0]


def on_device(text: str, rows: Words, target: str = TARGET, opt: int = 0) -> list[int]:
    """What each row's thread stores, as 64-bit words."""
    threads = -(-len(rows) // 256) * 256
    given = np.zeros((threads, 3), np.uint64)
    given[: len(rows)] = rows
    out = np.zeros(threads, np.uint64)
    compiled = nvgen.compile(text, target=target, opt=opt)
    launch(compiled, given, out, grid=(threads // 256, 1, 1), block=(256, 1, 1))
    return [int(word) for word in out[: len(rows)]]


def as_class(word: int, kind: Kind | None) -> int:
    """A pattern, all NaNs as -1."""
    if kind is None:
        return word
    word &= (1 << kind.width) - 1
    return -1 if read(word, kind).nan else word


def compare(
    text: str, rows: Words, wanted: list[int], kind: Kind | None, target: str = TARGET, opt: int = 0
) -> None:  # fmt: skip
    """The device gives what is wanted (-1 is any NaN) for every row."""
    found = [as_class(word, kind) for word in on_device(text, rows, target, opt)]
    wrong = [n for n, (f, w) in enumerate(zip(found, wanted, strict=True)) if f != w]
    shown = [
        f"{[hex(int(v)) for v in rows[n]]}: {found[n]:#x}, wanted {wanted[n]:#x}" for n in wrong[:5]
    ]
    assert not wrong, f"{len(wrong)} of {len(rows)} rows differ\n" + "\n".join(shown) + text


def _only_simulated() -> None:
    if on_gpu():
        pytest.skip("code for another GPU")


ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "fadd": exact.add,
    "fsub": lambda a, b: exact.add(a, exact.negative(b)),
    "fmul": exact.multiply,
    "fdiv": exact.divide,
    "frem": exact.remainder,
}


def _fma(row: Words, kind: Kind, mode: str = "rn") -> Number:
    a, b, c = (read(int(word), kind) for word in row)
    return exact.add(exact.multiply(a, b), c, mode)


def _near_ties(a: Kind, b: Kind) -> list[int]:
    """Numbers half-way between two of the narrower format, and their neighbours."""
    if a.width <= b.width:
        return []
    found = []
    for pattern in (0x3C01, 0x3C02, 1, 2, 0x0401, b.infinity - 1):
        low, high = read(pattern, b), read(pattern + 1, b)
        if high.infinite:
            continue
        assert low.size is not None
        assert high.size is not None
        middle = write(Number(False, (low.size + high.size) / 2), a)
        found += [middle - 1, middle, middle + 1]
    return found


FLUSHING = 'attributes #0 = { "denormal-fp-math-f32"="preserve-sign" }'
