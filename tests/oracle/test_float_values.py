"""Floating-point code means on the device under test what IEEE 754 and PTX say.

Floats and doubles run on the host's processor too, compiled by LLVM from the same text; halves,
bfloats, rounding modes and conversions are held against `tests.oracle.exact_floats`, which computes
with fractions.  Every pair of edge values is tried.  NaNs are one class: which one comes out is not
asked, but where PTX says that it is canonical.  The approximations are held to the manual's bounds.

With pytest's `--device cuda` all of it runs on a GPU of sm_90a.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from intrinsics.findings import SelectionError
from tests.oracle import exact_floats as exact
from tests.oracle.exact_floats import KINDS, Kind, Number, read, write
from tests.oracle.gpu import launch, on_gpu
from tests.oracle.jit import HostKernel

TARGET = "sm_90a"
pytestmark = pytest.mark.gpu
Words = NDArray[np.uint64]
INTEGER = {"half": "i16", "bfloat": "i16", "float": "i32", "double": "i64"}
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
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
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


def on_host(text: str, rows: Words) -> list[int]:
    """The same by LLVM for the host."""
    out = np.zeros(len(rows), np.uint64)
    host = re.sub(r"mul i32 %block, 256", "mul i32 %block, 1", text)
    HostKernel(host).run(rows.copy(), out, block=(len(rows), 1, 1))
    return [int(word) for word in out]


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


# ---- floats and doubles as on the host ---------------------------------------------------------

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


@pytest.mark.turns(2)
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
    rows = dice.integers(0, 1 << kind.width, (1024, 3), np.uint64)
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


def _only_simulated() -> None:
    if on_gpu():
        pytest.skip("code for another GPU")


# ---- halves and bfloats ------------------------------------------------------------------------

ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "fadd": exact.add,
    "fsub": lambda a, b: exact.add(a, exact.negative(b)),
    "fmul": exact.multiply,
    "fdiv": exact.divide,
    "frem": exact.remainder,
}


@pytest.mark.parametrize("target", ["sm_90a", "sm_80", "sm_75"])
@pytest.mark.parametrize("type_", ["half", "bfloat"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_halves_are_rounded_once(name: str, type_: str, target: str):
    if target != TARGET:
        _only_simulated()
    kind = KINDS[type_]
    rows = triples(kind, every=5)
    numbers = [(read(int(a), kind), read(int(b), kind)) for a, b, _ in rows]
    wanted = [write(ARITHMETIC[name](a, b), kind) for a, b in numbers]
    if target == "sm_75" and type_ == "bfloat":
        # twice: as a float first, of which a subnormal may be a tie
        rough = [write(ARITHMETIC[name](a, b), KINDS["float"]) for a, b in numbers]
        wanted = [w if w < 0 else write(read(w, KINDS["float"]), kind) for w in rough]
    compare(kernel(type_, f"%r = {name} {type_} %a, %b", type_), rows, wanted, kind, target=target)


@pytest.mark.parametrize("type_", ["half", "bfloat", "float", "double"])
def test_fma_is_rounded_once(type_: str):
    kind = KINDS[type_]
    rows = triples(kind, every=7)
    line = f"%r = call {type_} @llvm.fma.{SUFFIX[type_]}({type_} %a, {type_} %b, {type_} %c)"
    compare(kernel(type_, line, type_), rows, [write(_fma(row, kind), kind) for row in rows], kind)


def _fma(row: Words, kind: Kind, mode: str = "rn") -> Number:
    a, b, c = (read(int(word), kind) for word in row)
    return exact.add(exact.multiply(a, b), c, mode)


@pytest.mark.turns(2)
@pytest.mark.parametrize("type_", ["half", "bfloat"])
@pytest.mark.parametrize("name", [*ARITHMETIC, "fma", "fneg"])
def test_pairs_are_computed_like_their_elements(name: str, type_: str):
    """%a and %b hold four elements each; the result's four are stored."""
    kind = KINDS[type_]
    dice = [*edges(kind), *some(kind, 82)]
    lanes = np.array(dice, np.uint64)
    rng = np.random.default_rng(7)
    picks = lanes[rng.integers(0, len(lanes), (256, 3, 4))]
    rows = sum(picks[:, :, n] << np.uint64(16 * n) for n in range(4))
    vector = f"<4 x {type_}>"
    given = {"fneg": f"%r = fneg {vector} %a",
             "fma": f"%r = call {vector} @llvm.fma.v4{SUFFIX[type_]}({vector} %a, {vector} %b, "
                    f"{vector} %c)"}  # fmt: skip
    text = kernel(vector, given.get(name, f"%r = {name} {vector} %a, %b"), vector)
    found = on_device(text, rows)
    for n, word in enumerate(found):
        for lane in range(4):
            a, b, c = (read(int(p), kind) for p in picks[n, :, lane])
            number = {"fma": lambda a=a, b=b, c=c: exact.add(exact.multiply(a, b), c),  # type: ignore[misc]
                      "fneg": lambda a=a: exact.negative(a)}.get(
                          name, lambda a=a, b=b: ARITHMETIC[name](a, b))()  # fmt: skip
            got = as_class(word >> 16 * lane & 0xFFFF, kind)
            assert got == write(number, kind), (name, [hex(int(p)) for p in picks[n, :, lane]])


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("target", ["sm_90a", "sm_80", "sm_75"])
def test_every_cast_between_types_rounds_once(source: str, to: str, target: str):
    a, b = KINDS[source], KINDS[to]
    if a.width == b.width or (target != TARGET and "bfloat" not in (source, to)):
        pytest.skip("no cast, or the same as on sm_90a")
    if target != TARGET:
        _only_simulated()
    cast = "fpext" if b.width > a.width else "fptrunc"
    patterns = [*edges(a), *some(a, 64), *_near_ties(a, b)]
    rows = np.array([(p, 0, 0) for p in patterns], np.uint64)
    wanted = [write(read(p, a), b) for p in patterns]
    text = kernel(source, f"%r = {cast} {source} %a to {to}", to)
    compare(text, rows, wanted, b, target=target)


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


# ---- rounding modes and what nvvm's intrinsics name ----------------------------------------------

MODES = ("rn", "rz", "rm", "rp")
MODAL = ("add", "mul", "div", "fma", "rcp", "sqrt")


@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("head", MODAL)
def test_every_rounding_mode(head: str, mode: str, type_: str):
    kind = KINDS[type_]
    rows = triples(kind, every=7)
    count = {"fma": 3, "rcp": 1, "sqrt": 1}.get(head, 2)
    passed = ", ".join(f"{type_} %{n}" for n in "abc"[:count])
    line = f"%r = call {type_} @llvm.nvvm.{head}.{mode}.{LETTER[type_]}({passed})"
    wanted = [_modal(head, mode, row, kind) for row in rows]
    compare(kernel(type_, line, type_), rows, wanted, kind)


def _modal(head: str, mode: str, row: Words, kind: Kind) -> int:
    a, b, _ = (read(int(word), kind) for word in row)
    match head:
        case "add":
            return write(exact.add(a, b, mode), kind, mode)
        case "mul":
            return write(exact.multiply(a, b), kind, mode)
        case "div":
            return write(exact.divide(a, b), kind, mode)
        case "rcp":
            return write(exact.divide(Number(False, exact.Fraction(1)), a), kind, mode)  # type: ignore[attr-defined]
        case "sqrt":
            return exact.root(a, kind, mode)
    return write(_fma(row, kind, mode), kind, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_double_rounded_to_a_float(mode: str):
    kind = KINDS["double"]
    patterns = [*edges(kind), *some(kind, 64), *_near_ties(kind, KINDS["float"])]
    rows = np.array([(p, 0, 0) for p in patterns], np.uint64)
    text = kernel("double", f"%r = call float @llvm.nvvm.d2f.{mode}(double %a)", "float")
    wanted = [write(read(p, kind), KINDS["float"], mode) for p in patterns]
    compare(text, rows, wanted, KINDS["float"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f2i", "f2ui", "f2ll", "f2ull", "d2i", "d2ui", "d2ll", "d2ull"])
def test_numbers_to_integers_are_clamped(name: str, mode: str):
    """A NaN gives 0, from doubles and to 64 bits the highest bit.

    PTX ISA, cvt: "NaN input results in the following value".
    """
    source = "float" if name[0] == "f" else "double"
    width = 64 if "ll" in name else 32
    signed = "u" not in name
    kind = KINDS[source]
    patterns = [*edges(kind), *some(kind, 64)]
    numbers = [read(p, kind) for p in patterns]
    wide = source == "double" or width == 64
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    wanted = [_clamped(n, mode, low, high, 1 << width - 1 if wide else 0) for n in numbers]
    line = f"%r = call i{width} @llvm.nvvm.{name}.{mode}({source} %a)"
    rows = np.array([(p, 0, 0) for p in patterns], np.uint64)
    text = kernel(source, line, f"i{width}")
    compare(text, rows, [w & (1 << width) - 1 for w in wanted], None)


def _clamped(number: Number, mode: str, low: int, high: int, unknown: int) -> int:
    if number.nan:
        return unknown
    if number.size is None:
        return low if number.negative else high
    value = exact.whole(number.size, mode, negative=number.negative)
    return min(max(-value if number.negative else value, low), high)


@pytest.mark.parametrize("to", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("sign", ["s", "u"])
def test_saturating_casts(sign: str, source: str, to: str):
    kind, width = KINDS[source], int(to[1:])
    patterns = [*edges(kind), *some(kind, 32)]
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if sign == "s" else (0, (1 << width) - 1)
    wanted = [_clamped(read(p, kind), "rz", low, high, 0) & (1 << width) - 1 for p in patterns]
    name = f"llvm.fpto{sign}i.sat.{to}.{SUFFIX[source]}"
    rows = np.array([(p, 0, 0) for p in patterns], np.uint64)
    text = kernel(source, f"%r = call {to} @{name}({source} %a)", to)
    compare(text, rows, wanted, None)


# ---- least and greatest --------------------------------------------------------------------------


@pytest.mark.parametrize("type_", KINDS)
@pytest.mark.parametrize("name", ["minnum", "maxnum", "minimum", "maximum"])
@pytest.mark.parametrize("target", ["sm_90a", "sm_75"])
def test_least_and_greatest(name: str, type_: str, target: str):
    """-0 is less than +0; the `num` ones give the other operand of a NaN."""
    if target != TARGET:
        _only_simulated()
    kind = KINDS[type_]
    rows = triples(kind, every=7)
    wanted = [_extreme(name, int(a), int(b), kind) for a, b, _ in rows]
    line = f"%r = call {type_} @llvm.{name}.{SUFFIX[type_]}({type_} %a, {type_} %b)"
    compare(kernel(type_, line, type_), rows, wanted, kind, target=target)


def _extreme(name: str, a: int, b: int, kind: Kind) -> int:
    x, y = read(a, kind), read(b, kind)
    if x.nan or y.nan:
        if name.endswith("imum") or (x.nan and y.nan):
            return -1
        return b if x.nan else a
    sign = 1 << kind.width - 1

    def place(bits: int) -> int:
        return -(bits & sign - 1) - 1 if bits & sign else bits

    pick = min if name.startswith("min") else max
    return pick(a, b, key=place)


# ---- flushing, fusing, approximating -----------------------------------------------------------

FLUSHING = 'attributes #0 = { "denormal-fp-math-f32"="preserve-sign" }'


@pytest.mark.parametrize("name", ["fadd", "fmul", "fdiv", "fneg"])
def test_subnormals_are_flushed_where_the_function_says_so(name: str):
    """Operands and results; zeros keep their signs."""
    kind = KINDS["float"]
    rows = triples(kind, every=7)
    line = "%r = fneg float %a" if name == "fneg" else f"%r = {name} float %a, %b"
    text = kernel("float", line, "float", "#0 ") + "\n" + FLUSHING
    wanted = []
    for a, b, _ in rows:
        x, y = (read(_flushed(int(word), kind), kind) for word in (a, b))
        number = exact.negative(x) if name == "fneg" else ARITHMETIC[name](x, y)
        wanted.append(exact.write_flushed(number, kind))
    compare(text, rows, wanted, kind)


def _flushed(bits: int, kind: Kind) -> int:
    sign = bits & 1 << kind.width - 1
    return sign if bits & kind.infinity == 0 else bits


CONTRACTED = ("fadd contract float %m, %c", "fsub contract float %m, %c",
              "fsub contract float %c, %m")  # fmt: skip


@pytest.mark.parametrize("operation", CONTRACTED)
def test_contract_fuses_and_nothing_else_does(operation: str):
    kind = KINDS["float"]
    rows = triples(kind, every=5)
    for flag in ("contract ", ""):
        lines = f"%m = fmul {flag}float %a, %b\n" + "%r = " + operation.replace("contract ", flag)
        wanted = []
        for row in rows:
            a, b, c = (read(int(word), kind) for word in row)
            product = exact.multiply(a, b)
            if not flag:
                bits = write(product, kind)
                product = exact.NAN if bits < 0 else read(bits, kind)
            if "%c, %m" in operation:
                product = exact.negative(product)
            elif "fsub" in operation:
                c = exact.negative(c)
            wanted.append(write(exact.add(product, c), kind))
        compare(kernel("float", lines, "float"), rows, wanted, kind)


APPROXIMATIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float, float]] = {
    # what it is near to, the greatest relative and the greatest absolute error
    "rcp.approx.ftz.f": (np.reciprocal, 2.0**-23, 0),
    "sqrt.approx.f": (np.sqrt, 2.0**-22, 0),
    "rsqrt.approx.f": (lambda x: 1 / np.sqrt(x), 2.0**-22, 0),
    "ex2.approx.f": (np.exp2, 2.0**-22, 0),
    "lg2.approx.f": (np.log2, 2.0**-22, 2.0**-22),
    "sin.approx.f": (np.sin, 0, 2.0**-20.5),
    "cos.approx.f": (np.cos, 0, 2.0**-20.5),
}
"""PTX ISA, Floating Point Instructions: the accuracy of each."""


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_an_approximation_is_near(name: str):
    function, relative, absolute = APPROXIMATIONS[name]
    low = -3.0 if name[:3] in ("sin", "cos", "ex2") else 0.01
    inputs = np.linspace(low, 3.0, 256, dtype=np.float32)
    rows = np.zeros((256, 3), np.uint64)
    rows[:, 0] = inputs.view(np.uint32)
    line = f"%r = call float @llvm.nvvm.{name}(float %a)"
    if name.startswith("ex2"):
        line = "%r = call float @llvm.nvvm.ex2.approx.f32(float %a)"
    words = np.array(on_device(kernel("float", line, "float"), rows), np.uint64)
    found = words.astype(np.uint32).view(np.float32).astype(np.float64)
    wanted = function(inputs.astype(np.float64))
    assert (np.abs(found - wanted) <= np.abs(wanted) * relative * 1.01 + absolute).all()


# ---- narrow formats ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["e4m3x2", "e5m2x2"])
def test_every_byte_and_back(name: str):
    """All finite bytes survive the way to f16x2 and back."""
    words = np.arange(1 << 16, step=257, dtype=np.uint64)
    finite = [w for w in range(256) if w & 0x7F < (0x7F if name == "e4m3x2" else 0x7C)]
    pairs = [a | b << 8 for a, b in zip(finite, reversed(finite), strict=True)]
    rows = np.array([(p, 0, 0) for p in pairs], np.uint64)
    lines = (
        f"%x = call <2 x half> @llvm.nvvm.{name}.to.f16x2.rn(i16 %a)\n"
        f"%r = call i16 @llvm.nvvm.f16x2.to.{name}.rn(<2 x half> %x)"
    )
    assert len(words)
    compare(kernel("i16", lines, "i16"), rows, pairs, None)


@pytest.mark.parametrize(("name", "kind"), [("ff2f16x2", "half"), ("ff2bf16x2", "bfloat")])
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_the_first_of_two_floats_goes_into_the_upper_half(name: str, kind: str, mode: str):
    source, to = KINDS["float"], KINDS[kind]
    rows = triples(source, every=7)
    line = f"%r = call <2 x {kind}> @llvm.nvvm.{name}.{mode}(float %a, float %b)"
    found = on_device(kernel("float", line, f"<2 x {kind}>"), rows)
    for word, (a, b, _) in zip(found, rows, strict=True):
        for got, given in ((word & 0xFFFF, b), (word >> 16 & 0xFFFF, a)):
            assert as_class(got, to) == write(read(int(given), source), to, mode)


@pytest.mark.parametrize(("mode", "how"), [("rn", "rn"), ("rz", "rz"), ("rna", "rna")])
def test_tf32_has_ten_bits_of_fraction(mode: str, how: str):
    source = KINDS["float"]
    narrow = Kind(19, 11, -126)
    patterns = [p for p in (*edges(source), *some(source, 64)) if not read(p, source).nan]
    rows = np.array([(p, 0, 0) for p in patterns], np.uint64)
    text = kernel("float", f"%r = call i32 @llvm.nvvm.f2tf32.{mode}(float %a)", "i32")
    compare(text, rows, [write(read(p, source), narrow, how) << 13 for p in patterns], None)


# ---- what is not selected ------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "function"), [("sin.f32", "__nv_sinf"), ("exp.f64", "__nv_exp"),
                                                ("log2.f32", "__nv_log2f")])  # fmt: skip
def test_what_needs_libdevice_names_its_function(name: str, function: str):
    type_ = "float" if name.endswith("32") else "double"
    text = kernel(type_, f"%r = call {type_} @llvm.{name}({type_} %a)", type_)
    with pytest.raises(SelectionError, match=function):
        nvgen.compile(text, target=TARGET)
