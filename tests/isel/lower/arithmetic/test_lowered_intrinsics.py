"""Intrinsics and conversions that PTX has no instruction for: the values, beside the host's.

Integers: the host's processor runs the same LLVM IR, and every byte is equal.  Floating point:
fractions compute what IEEE 754 says (`tests.oracle.exact_floats`).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import nvgen
from tests.oracle.exact_floats import KINDS, Kind, Number, read, whole, write
from tests.oracle.float_runs import edges, some
from tests.oracle.test_integer_values import check


def fixed_point(w: int, scale: int) -> list[tuple[str, str]]:
    t = f"i{w}"
    found = [
        (t, f"call {t} @llvm.{s}mul.fix{sat}.{t}({t} %a, {t} %b, i32 {scale})")
        for s in "su"
        for sat in ("", ".sat")
    ]
    if w + scale >= 64:
        return found  # the host's processor divides by a function that the process does not have
    # division by a number that is not 0; what overflows is poison but where it saturates
    found += [
        (t, f"%d# = or {t} %b, 1\ncall {t} @llvm.{s}div.fix.sat.{t}({t} %a, {t} %d#, i32 {scale})")
        for s in "su"
    ]
    small = f"%n# = ashr {t} %a, {min(scale + 1, w - 1)}\n%d# = or {t} %b, 1\n"
    found += [
        (t, f"{small}call {t} @llvm.sdiv.fix.{t}({t} %n#, {t} %d#, i32 {scale})"),
        (t, f"{small.replace('ashr', 'lshr')}call {t} @llvm.udiv.fix.{t}"
            f"({t} %n#, {t} %d#, i32 {scale})"),
    ]  # fmt: skip
    return found


@pytest.mark.parametrize("width", [4, 8, 16, 24, 32, 33, 64])
def test_fixed_point(width: int):
    check(width, [case for scale in (0, 1, width // 2) for case in fixed_point(width, scale)])


def signed(n: int, w: int) -> int:
    return n - (1 << w) if n >> w - 1 & 1 else n


def wide_results(a: int, b: int, w: int) -> list[int]:
    """What `WIDE` gives, by Python's integers."""
    mask, sa, sb = (1 << w) - 1, signed(a, w), signed(b, w)
    low, high = -(1 << w - 1), (1 << w - 1) - 1
    by, bound = b & 63, high if sa >= 0 else low
    kept = signed(a << by & mask, w) >> by == sa
    both, turn = a << w | b, b % w
    quotient = (sa << 2) // (sb or 1)
    return [n & mask for n in (
        max(low, min(high, sa + sb)), max(low, min(high, sa - sb)),
        min(mask, (a << by)), sa << by if kept else bound,
        a * b, a * b > mask, sa * sb, not low <= sa * sb <= high,
        both << turn >> w, both >> turn,
        max(low, min(high, quotient)), a * b >> 3,
    )]  # fmt: skip


def wide_lines(w: int) -> list[tuple[str, str]]:
    """The same as LLVM IR, of numbers of `w` bits."""
    t = f"i{w}"
    pair = f"{{ {t}, i1 }}"
    lines = [f"call {t} @llvm.{op}.{t}({t} %a#, {t} %b#)" for op in ("sadd.sat", "ssub.sat")]
    lines += [f"%n# = and {t} %b#, 63\ncall {t} @llvm.{op}.{t}({t} %a#, {t} %n#)"
              for op in ("ushl.sat", "sshl.sat")]  # fmt: skip
    for op in ("umul", "smul"):
        call = f"%p# = call {pair} @llvm.{op}.with.overflow.{t}({t} %a#, {t} %b#)\n"
        lines.append(f"{call}extractvalue {pair} %p#, 0")
        lines.append(f"{call}%o# = extractvalue {pair} %p#, 1\nzext i1 %o# to {t}")
    lines += [f"call {t} @llvm.{op}.{t}({t} %a#, {t} %b#, {t} %b#)" for op in ("fshl", "fshr")]
    lines.append(f"%z# = icmp eq {t} %b#, 0\n%d# = select i1 %z#, {t} 1, {t} %b#\n"
                 f"call {t} @llvm.sdiv.fix.sat.{t}({t} %a#, {t} %d#, i32 2)")  # fmt: skip
    lines.append(f"call {t} @llvm.umul.fix.{t}({t} %a#, {t} %b#, i32 3)")
    start = f"%a# = trunc i256 %x to {t}\n%b# = trunc i256 %n to {t}\n"
    return [("i256", f"{start}{line.replace(last, f'%v# = {last}')}\nzext {t} %v# to i256")
            for line in lines for last in [line.split("\n")[-1]]]  # fmt: skip


@pytest.mark.turns(3)
@pytest.mark.parametrize("width", [64, 65, 96, 128])
def test_integers_beyond_a_word(width: int):
    dice = np.random.default_rng(width)
    ends = [0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1, 5]
    rows = [(a, b) for a in ends for b in ends]
    for _ in range(60):
        a, b = (int.from_bytes(dice.bytes(32), "little") >> int(dice.integers(128, 256))
                for _ in "ab")  # fmt: skip
        rows += [(a & ends[2], b & ends[2]), (-a & ends[2], b & ends[2] | 1)]
    found = run("i256", wide_lines(width), rows)
    for (a, b), row in zip(rows, found, strict=True):
        assert row == wide_results(a, b, width), (hex(a), hex(b))


def bits() -> list[tuple[str, str]]:
    """Every intrinsic on one bit, the results as bytes."""
    two = "umin umax smin smax uadd.sat usub.sat sadd.sat ssub.sat"
    found = [f"call i1 @llvm.{op}.i1(i1 %a, i1 %b)" for op in two.split()]
    found += [f"call i1 @llvm.{op}.i1(i1 %a, i1 false)" for op in ("ushl.sat", "sshl.sat")]
    found += [f"call i1 @llvm.{op}.i1(i1 %a, i1 %b, i1 %a)" for op in ("fshl", "fshr")]
    found += [f"call i1 @llvm.{op}.i1(i1 %a, i1 false)" for op in ("ctlz", "cttz", "abs")]
    found += [f"call i1 @llvm.{op}.i1(i1 %a)" for op in ("ctpop", "bitreverse")]
    lines = [("i8", f"%c# = {call}\nzext i1 %c# to i8") for call in found]
    for op in ("uadd", "usub", "umul", "sadd", "ssub", "smul"):
        call = f"%p# = call {{ i1, i1 }} @llvm.{op}.with.overflow.i1(i1 %a, i1 %b)"
        for at in (0, 1):
            part = f"%q# = extractvalue {{ i1, i1 }} %p#, {at}"
            lines.append(("i8", f"{call}\n{part}\nzext i1 %q# to i8"))
    lines += [(t, f"call {t} @llvm.{op}.{t}.i1(i1 %a, i1 %b)")
              for op in ("ucmp", "scmp") for t in ("i8", "i32")]  # fmt: skip
    return lines


def test_intrinsics_on_one_bit():
    check(1, bits())


@pytest.mark.parametrize("width", [7, 32, 64])
def test_a_product_without_carries(width: int):
    check(width, [(f"i{width}", f"call i{width} @llvm.clmul.i{width}(i{width} %a, i{width} %b)")])


# ---- floating point --------------------------------------------------------------------------

NAMES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
SLOT = 64


def run(kind: str, results: list[tuple[str, str]], rows: list[tuple[int, int]]) -> list[list[int]]:
    """What each result of a thread's number %x and integer %n (i256) is, as bits.

    A value is an instruction, or several lines whose last one defines the result.
    """
    lines = []
    for at, (type_, value) in enumerate(results):
        *before, last = value.replace("#", f"{at}.").split("\n")
        lines += [*before, f"%r{at} = {last}"]
        lines.append(f"%q{at} = getelementptr i8, ptr addrspace(1) %o, i32 {at * SLOT}")
        lines.append(f"store {type_} %r{at}, ptr addrspace(1) %q{at}, align 16")
    body = "\n  ".join(lines)
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr [64 x i8], ptr addrspace(1) %in, i32 %tid
  %pn = getelementptr i8, ptr addrspace(1) %px, i32 32
  %x = load {kind}, ptr addrspace(1) %px
  %n = load i256, ptr addrspace(1) %pn, align 32
  %o = getelementptr [{len(results) * SLOT} x i8], ptr addrspace(1) %out, i32 %tid
  {body}
  ret void
}}
"""
    memory = b"".join(n.to_bytes(32, "little") for row in rows for n in row)
    out = np.zeros((len(rows), len(results), SLOT), np.uint8)
    given = np.frombuffer(memory, np.uint8).copy()
    nvgen.compile(text, target="sm_90a").run(given, out.reshape(-1), block=len(rows))
    return [[int.from_bytes(cell.tobytes(), "little") for cell in row] for row in out]


def numbers(kind: Kind) -> list[int]:
    """The ends of every class, and some more."""
    return edges(kind) + some(kind, 80)


def same(found: int, wanted: int, kind: Kind) -> bool:
    """Equal bits, or both NaN."""
    return found == wanted or (wanted == -1 and read(found, kind).nan)


CLASSES = (0x1, 0x2, 0x3, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x204, 0x90, 0x60,
           0x1F8, 0x3FF, 0x0, 0x252)  # fmt: skip


def class_of(bits: int, kind: Kind) -> int:
    number, size = read(bits, kind), bits & (1 << kind.width - 1) - 1
    if number.nan:
        return 2 if size >= kind.infinity + (1 << kind.precision - 2) else 1
    if number.size is None:
        return 0x4 if number.negative else 0x200
    if number.size == 0:
        return 0x20 if number.negative else 0x40
    if number.size < Fraction(2) ** kind.least:
        return 0x10 if number.negative else 0x80
    return 0x8 if number.negative else 0x100


@pytest.mark.parametrize("type_", KINDS)
def test_classes(type_: str):
    kind, name = KINDS[type_], NAMES[type_]
    results = [
        ("i8", f"%c# = call i1 @llvm.is.fpclass.{name}({type_} %x, i32 {mask})\nzext i1 %c# to i8")
        for mask in CLASSES
    ]
    given = numbers(kind)
    found = run(type_, results, [(n, 0) for n in given])
    wanted = [[int(bool(class_of(n, kind) & mask)) for mask in CLASSES] for n in given]
    assert found == wanted


def scaled(number: Number, by: int) -> Number:
    if number.size is None:
        return number
    return Number(number.negative, number.size * Fraction(2) ** max(min(by, 9999), -9999))


@pytest.mark.parametrize("type_", KINDS)
def test_powers_of_two_and_exponents(type_: str):
    kind, name = KINDS[type_], NAMES[type_]
    widths = (8, 16, 32, 64, 100)
    results = [
        (type_, f"%i# = trunc i256 %n to i{w}\n"
                f"call {type_} @llvm.ldexp.{name}.i{w}({type_} %x, i{w} %i#)")
        for w in widths
    ]  # fmt: skip
    pair = f"{{ {type_}, i32 }}"
    for at in (0, 1):
        call = f"%p# = call {pair} @llvm.frexp.{name}.i32({type_} %x)"
        results.append((("i32" if at else type_), f"{call}\nextractvalue {pair} %p#, {at}"))
    dice = np.random.default_rng(3)
    far = [0, 1, -1, 24, -24, 127, -126, -150, 200, -277, 1023, -1074, 2098, -2098, 1 << 40]
    given = [n for n in numbers(kind) for _ in range(4)]
    steps = [far[int(dice.integers(len(far)))] if at % 2 else int(dice.integers(-60, 60))
             for at in range(len(given))]  # fmt: skip
    found = []
    for at in range(0, len(given), 512):
        rows = zip(given[at : at + 512], steps[at : at + 512], strict=True)
        found += run(type_, results, [(n, by & (1 << 256) - 1) for n, by in rows])
    for n, by, row in zip(given, steps, found, strict=True):
        number = read(n, kind)
        for w, bits in zip(widths, row, strict=False):
            cut = (by + (1 << w - 1)) % (1 << w) - (1 << w - 1)
            assert same(bits, write(scaled(number, cut), kind), kind), (hex(n), cut, hex(bits))
        part, power = read(row[-2], kind), row[-1] - (1 << 32 if row[-1] >> 31 else 0)
        if number.size:
            assert part.size is not None
            assert Fraction(1, 2) <= part.size < 1
            assert scaled(part, power) == number
        else:
            assert same(row[-2], write(number, kind), kind)
            assert power == 0


def cut(number: Number, w: int, *, signed: bool) -> int:
    """A number as an integer of `w` bits: toward zero, within the bounds, 0 for NaN."""
    low, high = (-(1 << w - 1), (1 << w - 1) - 1) if signed else (0, (1 << w) - 1)
    if number.nan:
        return 0
    size = high + 2 if number.size is None else whole(number.size, "rz", negative=False)
    return max(low, min(high, -size if number.negative else size)) & (1 << w) - 1


@pytest.mark.parametrize("type_", KINDS)
def test_floating_point_to_integers_of_every_width(type_: str):
    kind, name = KINDS[type_], NAMES[type_]
    forms = [(w, s) for w in (1, 3, 8, 13, 24, 33, 48, 64, 65, 100, 128, 250) for s in "su"]
    results = []
    for w, s in forms:
        t = f"i{w}"
        results.append(("i256", f"%i# = call {t} @llvm.fpto{s}i.sat.{t}.{name}({type_} %x)\n"
                                f"zext {t} %i# to i256"))  # fmt: skip
    wide = [(w, s) for w in (65, 128, 200) for s in "su"]
    for w, s in wide:
        results.append(("i256", f"%i# = fpto{s}i {type_} %x to i{w}\nzext i{w} %i# to i256"))
    given = numbers(kind)
    large = ((1 << kind.exponents - 1) - 1) << kind.precision - 1
    given += [
        min(large + (e << kind.precision - 1) + 3, kind.infinity - 1) for e in range(0, 130, 7)
    ]
    found = run(type_, results, [(n, 0) for n in given])
    for n, row in zip(given, found, strict=True):
        number = read(n, kind)
        assert row[: len(forms)] == [cut(number, w, signed=s == "s") for w, s in forms], hex(n)
        for (w, s), bits in zip(wide, row[len(forms) :], strict=True):
            wanted = cut(number, w, signed=s == "s")
            # what the integer does not hold is poison
            exact = signed(cut(number, 2000, signed=True), 2000)
            held = signed(wanted, w) if s == "s" else wanted
            if number.size is not None and exact == held:
                assert bits == wanted, (hex(n), w, s)


@pytest.mark.turns(3)
@pytest.mark.parametrize("type_", KINDS)
def test_wide_integers_to_floating_point(type_: str):
    kind = KINDS[type_]
    forms = [(w, s) for w in (65, 96, 128, 255) for s in "su"]
    results = [(type_, f"%i# = trunc i256 %n to i{w}\n{s}itofp i{w} %i# to {type_}")
               for w, s in forms]  # fmt: skip
    dice = np.random.default_rng(5)
    given = [0, 1, (1 << 256) - 1, 1 << 64, (1 << 64) - 1, (1 << 64) + 1, 1 << 127, (1 << 128) - 1]
    for at in range(120):
        n = int.from_bytes(dice.bytes(32), "little") >> int(dice.integers(0, 256))
        given.append(n)
        top = max(n.bit_length() - kind.precision, 1)  # a tie, and a little more than one
        tie = (n >> top << top) | 1 << top - 1
        given += [tie, tie + 1, tie - 1][: 1 + at % 3]
    found = run(type_, results, [(0, n) for n in given])
    for n, row in zip(given, found, strict=True):
        for (w, s), bits in zip(forms, row, strict=True):
            value = n & (1 << w) - 1
            value -= 1 << w if s == "s" and value >> w - 1 else 0
            wanted = write(Number(value < 0, Fraction(abs(value))), kind)
            assert bits == wanted, (hex(n), w, s, hex(bits), hex(wanted))


@pytest.mark.parametrize("type_", ["float", "double"])
def test_integer_powers_and_parts(type_: str):
    """powi is repeated multiplication; modf is exact; lround rounds halves away from zero."""
    kind, name = KINDS[type_], NAMES[type_]
    results = [(type_, f"%i# = trunc i256 %n to i32\n"
                       f"call {type_} @llvm.powi.{name}.i32({type_} %x, i32 %i#)")]  # fmt: skip
    results += [(type_, f"call {type_} @llvm.powi.{name}.i32({type_} %x, i32 {n})")
                for n in (0, 1, 2, 5, -3)]  # fmt: skip
    pair = f"{{ {type_}, {type_} }}"
    results += [(type_, f"%p# = call {pair} @llvm.modf.{name}({type_} %x)\n"
                        f"extractvalue {pair} %p#, {at}") for at in (0, 1)]  # fmt: skip
    results.append(("i64", f"call i64 @llvm.lround.i64.{name}({type_} %x)"))
    small = [Fraction(n, 4) for n in range(-20, 21)]
    rows = [(write(Number(x < 0, abs(x)), kind), n & (1 << 256) - 1)
            for x in small for n in (0, 1, 3, 7, -2) if x]  # fmt: skip
    for (bits, n), row in zip(rows, run(type_, results, rows), strict=True):
        x = read(bits, kind).value
        by = n - (1 << 256) if n >> 255 else n
        powers = [x**by, x**0, x, x**2, x**5]
        for at, power in enumerate(powers):
            near = read(row[at], kind).value
            assert abs(near - power) <= abs(power) * Fraction(4, 1 << kind.precision), (x, by, at)
        assert (read(row[6], kind).value, read(row[7], kind).value) == (x - int(x), int(x))  # type: ignore[comparison-overlap]
        half = whole(abs(x), "rna", negative=False) * (-1 if x < 0 else 1)
        assert row[8] == half & (1 << 64) - 1


def test_vectors_go_element_by_element():
    """Elements of a vector are what a scalar is."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = load <3 x float>, ptr addrspace(1) %in
  %f = call { <3 x float>, <3 x i32> } @llvm.frexp.v3f32.v3i32(<3 x float> %x)
  %m = extractvalue { <3 x float>, <3 x i32> } %f, 0
  %e = extractvalue { <3 x float>, <3 x i32> } %f, 1
  %b = call <3 x float> @llvm.ldexp.v3f32.v3i32(<3 x float> %m, <3 x i32> %e)
  %i = call <3 x i7> @llvm.fptosi.sat.v3i7.v3f32(<3 x float> %x)
  %w = sext <3 x i7> %i to <3 x i32>
  store <3 x float> %b, ptr addrspace(1) %out
  %q = getelementptr i8, ptr addrspace(1) %out, i32 16
  store <3 x i32> %w, ptr addrspace(1) %q
  ret void
}
"""
    given = np.array([1.5, -300.25, 2e-40, 0], np.float32)
    out = np.zeros(8, np.float32)
    nvgen.compile(text, target="sm_90a").run(given, out, block=1)
    assert (out[:3] == given[:3]).all()
    assert out[4:7].view(np.int32).tolist() == [1, -64, 0]


@pytest.mark.parametrize("width", [1, 65, 128])
def test_a_switch_on_one_bit_and_beyond_a_word(width: int):
    cases = [0, 1] if width == 1 else [0, 3, (1 << width - 1) + 3, (1 << width) - 1]
    labels = " ".join(f"i{width} {signed(n, width)}, label %c{at}" for at, n in enumerate(cases))
    blocks = "\n".join(f"c{at}:\n  br label %end" for at in range(len(cases)))
    incoming = ", ".join(f"[ {at}, %c{at} ]" for at in range(len(cases)))
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [32 x i8], ptr addrspace(1) %in, i32 %t
  %w = load i256, ptr addrspace(1) %p, align 32
  %x = trunc i256 %w to i{width}
  switch i{width} %x, label %other [ {labels} ]
{blocks}
other:
  br label %end
end:
  %r = phi i32 {incoming}, [ 99, %other ]
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %r, ptr addrspace(1) %q
  ret void
}}
"""
    given = [*cases, 2, 1 << width - 1, 5]
    data = np.frombuffer(b"".join(n.to_bytes(32, "little") for n in given), np.uint8).copy()
    out = np.zeros(len(given), np.int32)
    nvgen.compile(text, target="sm_90a").run(data, out, block=len(given))
    masked = [n & (1 << width) - 1 for n in given]
    assert out.tolist() == [cases.index(n) if n in cases else 99 for n in masked]
