"""Floating-point code means on the device under test what IEEE 754 and PTX say."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import nvgen
from tests.oracle import exact_floats as exact
from tests.oracle.exact_floats import KINDS, Number, read, write
from tests.oracle.float_runs import (
    FLUSHING,
    LETTER,
    SUFFIX,
    TARGET,
    Words,
    _only_simulated,
    as_class,
    compare,
    edges,
    kernel,
    some,
    triples,
)
from tests.oracle.jit import HostKernel

pytestmark = pytest.mark.gpu
INTEGER = {"half": "i16", "bfloat": "i16", "float": "i32", "double": "i64"}


def on_host(text: str, rows: Words) -> list[int]:
    """The same by LLVM for the host."""
    out = np.zeros(len(rows), np.uint64)
    host = re.sub(r"mul i32 %block, 256", "mul i32 %block, 1", text)
    HostKernel(host).run(rows.copy(), out, block=(len(rows), 1, 1))
    return [int(word) for word in out]


PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)
ON_HOST = {
    **{n: f"%r = {n} T %a, %b" for n in ("fadd", "fsub", "fmul", "fdiv", "frem")},
    "fneg": "%r = fneg T %a",
    **{f"fcmp {p}": f"%r = fcmp {p} T %a, %b" for p in PREDICATES},
    "select": "%t = fcmp ult T %a, %b\n%r = select i1 %t, T %b, T %c",
    **{
        n: f"%r = call T @llvm.{n}.S(T %a)"
        for n in ("sqrt", "fabs", "floor", "ceil", "trunc", "rint", "nearbyint", "round",
                  "roundeven")
    },
    **{
        n: f"%r = call T @llvm.{n}.S(T %a, T %b)"
        for n in ("copysign", "minimum", "maximum")
    },
    "fma": "%r = call T @llvm.fma.S(T %a, T %b, T %c)",
    "a constant to the left": "%r = fsub T 1.5, %a",
    "a constant divisor": "%r = fdiv T %a, 4.0",
    "a constant dividend": "%r = fdiv T 1.0, %a",
    "a remainder of one": "%r = frem T %a, 1.0",
    "a remainder of a negative power of two": "%r = frem T %a, -8.0",
    "a remainder of a small power of two": "%r = frem T %a, 0.125",
    "a remainder of a constant": "%r = frem T %a, 2.5",
    "a constant's remainder": "%r = frem T 1048576.0, %a",
    "two constants": "%x = fadd T 1.5, 2.5\n%r = fmul T %x, %a",
    "a comparison with a constant": "%r = fcmp ogt T %a, 0.0",
}  # fmt: skip


@pytest.mark.turns(4)
@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize("name", ON_HOST, ids=lambda name: name.replace(" ", "_"))
def test_what_the_host_computes(name: str, type_: str):
    result = "i1" if name.startswith(("fcmp", "a comparison")) else type_
    lines = ON_HOST[name].replace("T", type_).replace(".S(", f".{SUFFIX[type_]}(")
    text = kernel(type_, lines, result)
    rows = triples(KINDS[type_], every=5)
    kind = None if result == "i1" else KINDS[type_]
    compare(text, rows, [as_class(word, kind) for word in on_host(text, rows)], kind)


@pytest.mark.turns(4)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("type_", ["float", "double"])
def test_a_remainder_is_fmods_whatever_the_exponents(type_: str, opt: int):
    """Quotients of up to 2,098 bits; the random patterns hold every exponent equally often."""
    kind, number = KINDS[type_], np.dtype("f4" if type_ == "float" else "f8")
    dice = np.random.default_rng(3)
    rows = dice.integers(0, 1 << kind.width, (512, 3), np.uint64)
    rows[:8, 0], rows[:8, 1] = kind.infinity - 1, range(1, 9)
    a, b = (rows[:, n].astype(f"u{number.itemsize}").view(number) for n in range(2))
    with np.errstate(invalid="ignore"):
        exactly = np.fmod(a, b).view(f"u{number.itemsize}")
    wanted = [as_class(int(word), kind) for word in exactly]
    text = kernel(type_, f"%r = frem {type_} %a, %b", type_)
    compare(text, rows, wanted, kind, opt=opt)


@pytest.mark.parametrize("type_", ["float", "double"])
def test_a_remainder_is_fmods_next_to_a_multiple_of_the_divisor(type_: str):
    """Where an approximate quotient has the wrong integer part: below, at and above a multiple."""
    kind, number = KINDS[type_], np.dtype("f4" if type_ == "float" else "f8")
    bits = f"u{number.itemsize}"
    dice = np.random.default_rng(5)
    divisors = dice.integers(1, kind.infinity, 512, np.uint64).astype(bits).view(number)
    factors = dice.integers(1, 1 << 20, 512)
    with np.errstate(over="ignore"):
        multiples = (divisors * factors).astype(number).view(bits)
    near = [multiples - 1, multiples, multiples + 1]
    rows = np.array([(a, b, 0) for n in near for a, b in zip(n, divisors.view(bits), strict=True)])
    a, b = (np.ascontiguousarray(rows[:, n]).astype(bits).view(number) for n in range(2))
    with np.errstate(invalid="ignore"):
        exactly = np.fmod(a, b).view(bits)
    wanted = [as_class(int(word), kind) for word in exactly]
    text = kernel(type_, f"%r = frem {type_} %a, %b", type_)
    compare(text, rows.astype(np.uint64), wanted, kind)


def test_a_remainder_of_doubles_is_pythons():
    """1e300 and 3e-300 are 2,000 binary orders apart: no quotient of any type holds their ratio."""
    pairs = [(1e300, 3e-300), (-1e300, 3e-300), (7.5, -2.0), (-6.0, 3.0), (5e-324, 2e-323)]
    rows = np.array([(*np.array(pair).view(np.uint64), 0) for pair in pairs], np.uint64)
    wanted = [int(np.float64(math.fmod(*pair)).view(np.uint64)) for pair in pairs]
    compare(kernel("double", "%r = frem double %a, %b", "double"), rows, wanted, KINDS["double"])


def test_a_remainder_of_a_flushed_divisor_is_that_of_zero():
    text = kernel("float", "%r = frem float %a, %b", "float", "#0 ") + FLUSHING
    rows = np.array([(0x3F800000, 1, 0), (0x7F7FFFFF, 0x007FFFFF, 0)], np.uint64)
    compare(text, rows, [-1, -1], KINDS["float"])


@pytest.mark.parametrize("flags", ["afn", "fast"])
def test_a_remainder_may_be_approximate_where_the_program_says_so(flags: str):
    ptx = nvgen.compile(kernel("float", f"%r = frem {flags} float %a, %b", "float"), target=TARGET)
    assert "div.approx.f32" in ptx.ptx
    assert "bra" not in ptx.ptx


CASTS = [
    *(f"%r = fpto{s}i {t} %a to {i}" for s in "su" for t in LETTER for i in ("i8", "i16", "i32",
                                                                        "i64")),
    "%r = fptrunc double %a to float",
    "%r = fpext float %a to double",
]  # fmt: skip


@pytest.mark.parametrize("line", CASTS)
def test_a_cast_of_every_number_that_has_one(line: str):
    """Numbers that the integer type does not hold are left out: LLVM makes poison of them."""
    match = re.fullmatch(r"%r = (\w+) (\w+) %a to (\w+)", line)
    assert match is not None
    kind, result = KINDS[match[2]], match[3]
    bits = [*edges(kind), *some(kind, 64)]
    rows = np.array([(b, 0, 0) for b in bits if _has(read(b, kind), result, match[1])], np.uint64)
    text = kernel(match[2], line, result)
    to = KINDS.get(result)
    compare(text, rows, [as_class(word, to) for word in on_host(text, rows)], to)


def _has(number: Number, result: str, cast: str) -> bool:
    if result in KINDS:
        return True
    if number.nan or number.infinite:
        return False
    width = int(result[1:])
    low, high = (-(1 << width - 1), 1 << width - 1) if cast == "fptosi" else (0, 1 << width)
    cut = exact.whole(number.value if number.size and not number.negative else abs(number.value),
                      "rz", negative=number.negative)  # fmt: skip
    return low <= (-cut if number.negative else cut) < high


FROM_INTEGERS = [
    (cast, source, to)
    for cast in ("sitofp", "uitofp")
    for source in ("i1", "i8", "i16", "i32", "i64")
    for to in KINDS
]


@pytest.mark.parametrize("target", ["sm_90a", "sm_80", "sm_75"])
@pytest.mark.parametrize(("cast", "source", "to"), FROM_INTEGERS)
def test_an_integer_as_a_number(cast: str, source: str, to: str, target: str):
    """Rounded once, also where two instructions do it."""
    if target != TARGET and to != "bfloat":
        pytest.skip("the same instructions as on sm_90a")
    width = int(source[1:])
    if target != TARGET:
        _only_simulated()
    words = [0, 1, 2, 127, 128, 255, (1 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, (1 << 63) - 1]
    words += [1 << width - 1, (1 << width) - 1, 0x8080, 0x8180, 0x80800001, 0x0180_0000_0000_0001]
    words += [(1 << n) + (1 << max(n - 8, 0)) + 1 for n in range(width)]
    words += [w & (1 << width) - 1 for w in some(KINDS["double"], 64)]
    words = [w & (1 << width) - 1 for w in words]
    values = [w - (1 << width) if cast == "sitofp" and w >> width - 1 else w for w in words]
    kind = KINDS[to]
    numbers = [Number(v < 0, exact.Fraction(abs(v))) for v in values]  # type: ignore[attr-defined]
    lines = f"%r = {cast} {source} %a to {to}"
    if width == 1:
        lines = f"%x = trunc i8 %a to i1\n%r = {cast} i1 %x to {to}"
    text = kernel(source if width > 1 else "i8", lines, to)
    rows = np.array([(w, 0, 0) for w in words], np.uint64)
    compare(text, rows, [write(n, kind) for n in numbers], kind, target=target)
