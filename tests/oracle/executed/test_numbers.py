"""Single codes: what each is worth, NaN, infinity, subnormal and largest numbers, and zeros.

The values are those of IEEE 754, OCP's formats (8-bit, MX) and PTX ISA's tf32.  Where no document
says what comes out (a NaN's bits, rounding to f16, the sign of sums of zeros alone, a NaN in B that
meets a zero of a sparse A) there is no test.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.intrinsics.published.packing import WIDTH
from tests.oracle.executed.check import failures
from tests.oracle.executed.crafted import ONE, crafted, expecting, form_named, full
from tests.oracle.executed.draws import Codes, Random, values_of
from tests.oracle.executed.operands import Operands
from tests.oracle.executed.programs import Program
from tests.oracle.executed.shapes import Shape
from tests.oracle.executed.zero_masks import ZeroMask

KIND = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "u8": "i8"}
FLOATS = ("f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
INFINITE = {"f16": 0x7C00, "bf16": 0x7F80, "tf32": 0x7F800000, "e5m2": 0x7C}
NANS = {
    "f16": (0x7E00, 0x7C01, 0x7FFF, 0xFC01, 0xFE00),
    "bf16": (0x7FC0, 0x7F81, 0x7FFF, 0xFF81, 0xFFC0),
    "tf32": (0x7FC00000, 0x7F802000, 0x7FFFFFFF, 0xFF802000, 0xFFC00000),
    "e4m3": (0x7F, 0xFF),
    "e5m2": (0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF),
}
SIGN = {"tf32": 1 << 31, "f16": 1 << 15, "bf16": 1 << 15, "e4m3": 0x80, "e5m2": 0x80}


def kind_of(type_: str) -> str:
    return KIND.get(type_, "f8f6f4")


def passes(*programs: Program) -> None:
    wrong = failures(list(programs))
    assert not wrong, "\n".join(wrong)


def identity(n: int, k: int, one: int) -> Codes:
    """Rows of B of which each takes one column of A, again and again."""
    found = np.zeros((n, k), np.uint32)
    found[np.arange(n), np.arange(n) % k] = one
    return found


def codes_of(type_: str, rng: Random, shape: tuple[int, int]) -> Codes:
    """Every code of up to 8 bits; of wider types every exponent with many mantissas; no NaNs."""
    if WIDTH[type_.upper()] <= 8:
        codes = np.resize(np.arange(1 << WIDTH[type_.upper()], dtype=np.uint32), shape)
    else:
        codes = rng.integers(0, 1 << WIDTH[type_.upper()], shape, dtype=np.uint32)
    finite = np.isfinite(values_of(codes, type_))
    return np.where(finite, codes, np.uint32(ONE[type_]))


@pytest.mark.turns(24)
@pytest.mark.parametrize("where", ["shared", "tensor"])
@pytest.mark.parametrize("type_", [*FLOATS, "s8", "u8"])
def test_each_code_of_a(type_: str, where: str) -> None:
    """A times a matrix with a 1 in each row: D is A's numbers, exactly."""
    form, n = form_named(f"{kind_of(type_)}-{where}"), 64

    def fill(rng: Random, s: Shape) -> Operands:
        a = codes_of(type_, rng, (s.m, s.k))
        return Operands(a, identity(n, s.k, ONE[s.b]), None, None, None)

    other = "u8" if kind_of(type_) == "i8" else type_
    d = "s32" if kind_of(type_) == "i8" else "f32"
    more = [crafted(form, fill, a=type_, b=other, d=d, m=128, n=n, seed=i) for i in range(3)]
    passes(*more)


@pytest.mark.turns(12)
@pytest.mark.parametrize("type_", [*FLOATS, "s8", "u8"])
def test_each_code_of_b(type_: str) -> None:
    form, m = form_named(f"{kind_of(type_)}-shared"), 64

    def fill(rng: Random, s: Shape) -> Operands:
        b = codes_of(type_, rng, (s.n, s.k))
        return Operands(identity(m, s.k, ONE[s.a]), b, None, None, None)

    other = "u8" if kind_of(type_) == "i8" else type_
    d = "s32" if kind_of(type_) == "i8" else "f32"
    passes(crafted(form, fill, a=other, b=type_, d=d, m=m, n=256))


@pytest.mark.turns(3)
@pytest.mark.parametrize("type_", NANS)
def test_nans(type_: str) -> None:
    """A NaN in A makes its row of D NaN, one in B its column, and nothing else."""
    form, nans = form_named(f"{kind_of(type_)}-shared"), NANS[type_]

    def fill(rng: Random, s: Shape) -> Operands:
        a, b = full(s.m, s.k, ONE[s.a]), full(s.n, s.k, ONE[s.b])
        for i, code in enumerate(nans):
            a[3 * i, rng.integers(s.k)] = code
            b[2 * i + 1, rng.integers(s.k)] = code
        return Operands(a, b, None, None, None)

    program = crafted(form, fill, a=type_, b=type_, n=32)
    s = program.shape
    values = np.full((s.m, s.n), float(s.k))
    values[3 * np.arange(len(nans))] = np.nan
    values[:, 2 * np.arange(len(nans)) + 1] = np.nan
    passes(expecting(program, values))


@pytest.mark.parametrize("type_", INFINITE)
def test_infinities(type_: str) -> None:
    """Infinity times a number, minus infinity, infinity times 0, their sum."""
    form, infinity = form_named(f"{kind_of(type_)}-shared"), INFINITE[type_]
    minus, one = infinity | SIGN[type_], ONE[type_]

    def fill(_: Random, s: Shape) -> Operands:
        a, b = full(s.m, s.k, one), full(s.n, s.k, one)
        a[0, 1] = infinity
        a[1, 2] = minus
        a[2, [1, 3]] = infinity, minus
        b[4, 1] = 0
        b[5, :] = one | SIGN[type_]
        return Operands(a, b, None, None, None)

    program = crafted(form, fill, a=type_, b=type_, n=32)
    s = program.shape
    values = np.full((s.m, s.n), float(s.k))
    values[:, 4] = s.k - 1
    values[:, 5] = -s.k
    values[0], values[1], values[2] = np.inf, -np.inf, np.nan
    values[0, 4] = np.nan
    values[0, 5], values[1, 5] = -np.inf, np.inf
    passes(expecting(program, values))


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", ["f16", "tf32", "f8f6f4", "mxf8f6f4", "mxf4"])
def test_a_d_that_is_not_finite(kind: str) -> None:
    type_ = {"f16": "f16", "tf32": "tf32", "mxf4": "e2m1"}.get(kind, "e4m3")

    def fill(_: Random, s: Shape) -> Operands:
        a, b = full(s.m, s.k, ONE[s.a]), full(s.n, s.k, ONE[s.b])
        scale = full(s.m, s.per_row, 127), full(s.n, s.per_row, 127)
        return Operands(a, b, None, *(scale if s.per_row else (None, None)))

    old = np.array([np.inf, -np.inf, np.nan, 5.0] * 4)
    program = crafted(form_named(f"{kind}-shared"), fill, a=type_, b=type_, old=old, n=16)
    values = np.broadcast_to(old, (program.shape.m, 16)) + program.shape.k
    passes(expecting(program, values))


def test_sums_beyond_binary32_are_infinite() -> None:
    """bf16 has numbers whose product is far beyond: 2**200."""

    def fill(_: Random, s: Shape) -> Operands:
        a, b = full(s.m, s.k, ONE[s.a]), full(s.n, s.k, (127 + 100) << 7)
        a[:] = (127 + 100) << 7
        b[1::2] |= 0x8000
        return Operands(a, b, None, None, None)

    program = crafted(form_named("f16-shared"), fill, a="bf16", b="bf16", n=16)
    passes(expecting(program, np.tile([np.inf, -np.inf], (program.shape.m, 8))))


@pytest.mark.parametrize("type_", ["f16", "bf16", "e4m3", "e5m2"])
def test_largest_numbers(type_: str) -> None:
    """K times the square of the largest, where binary32 has it."""
    largest = {"f16": 0x7BFF, "bf16": 0x7F7F, "e4m3": 0x7E, "e5m2": 0x7B}[type_]
    small = {"bf16": 0x0080}.get(type_, largest)  # 2**-126

    def fill(_: Random, s: Shape) -> Operands:
        return Operands(full(s.m, s.k, largest), full(s.n, s.k, small), None, None, None)

    program = crafted(form_named(f"{kind_of(type_)}-shared"), fill, a=type_, b=type_)
    # one of K products, so that no order of additions rounds
    assert np.all(program.expected.values.astype(np.float32) == program.expected.values)
    passes(program)


@pytest.mark.turns(4)
@pytest.mark.parametrize("type_", FLOATS)
def test_numbers_that_cancel_leave_plus_zero(type_: str) -> None:
    """x - x is +0, whatever the signs of other zeros."""
    form = form_named(f"{kind_of(type_)}-shared")
    minus = SIGN.get(type_, 1 << (WIDTH[type_.upper()] - 1))

    def fill(_: Random, s: Shape) -> Operands:
        a, b = full(s.m, s.k, minus), full(s.n, s.k, ONE[s.b])
        a[:, 2], a[:, 5] = ONE[s.a], ONE[s.a] | minus
        return Operands(a, b, None, None, None)

    program = crafted(form, fill, a=type_, b=type_)
    assert not program.expected.zeros.any()
    assert not program.expected.values.any()
    passes(program)


def test_columns_taken_for_zeros_may_hold_anything() -> None:
    """PTX ISA: zeros are used regardless of the values present in shared memory."""
    zeros = ZeroMask(1 << 39 | 3 << 40 | 3 << 48, np.arange(64) % 8 >= 4, 0, 0)

    def fill(_: Random, s: Shape) -> Operands:
        b = full(s.n, s.k, ONE[s.b])
        b[zeros.bits] = NANS["f16"][0]
        return Operands(full(s.m, s.k, ONE[s.a]), b, None, None, None)

    form = form_named("f16-shared-ws-zeros")
    program = crafted(form, fill, a="f16", b="f16", m=128, n=64, zero=zeros, old=7.0)
    values = np.where(zeros.bits, 7.0, 7.0 + program.shape.k)
    passes(expecting(program, np.broadcast_to(values, (128, 64))))


# ---- scale factors ------------------------------------------------------------------------------


def scaled_ones(s: Shape, sfa: Codes, sfb: Codes) -> Operands:
    return Operands(full(s.m, s.k, ONE[s.a]), full(s.n, s.k, ONE[s.b]), None, sfa, sfb)


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", ["mxf8f6f4-shared", "mxf4-shared", "mxf4nvf4-shared-scale_vec.2X"])
def test_every_ue8m0(name: str) -> None:
    """2**-127 to 2**127, each with one that brings the product near 1; 0xFF is NaN."""
    type_ = "e5m2" if name.startswith("mxf8") else "e2m1"

    def program(base: int, seed: int) -> Program:
        def fill(_: Random, s: Shape) -> Operands:
            code = (base + np.arange(s.m, dtype=np.uint32))[:, None]
            other = (246 - base - 2 * np.arange(s.n)).astype(np.uint32)[:, None]
            return scaled_ones(s, np.repeat(code, s.per_row, 1), np.repeat(other, s.per_row, 1))

        return crafted(form_named(name), fill, a=type_, b=type_, n=56, factor="ue8m0", seed=seed)

    made = [program(0, 1), program(127, 2)]
    for one in made:
        sizes = np.abs(one.expected.values)
        assert ((sizes >= 2.0**-126) & (sizes < 2.0**127)).all()
    passes(*made)


@pytest.mark.parametrize(("name", "factor"), [
    ("mxf8f6f4-shared", "ue8m0"), ("mxf4-tensor", "ue8m0"),
    ("mxf4nvf4-shared-scale_vec.4X", "ue4m3"), ("mxf4nvf4-tensor-block16", "ue8m0"),
])  # fmt: skip
def test_nan_factors(name: str, factor: str) -> None:
    """OCP: 0xFF of UE8M0 is NaN, 0x7F of E4M3; a row of A or a column of B becomes NaN."""
    type_ = "e4m3" if name.startswith("mxf8") else "e2m1"
    one, nan = (127, 0xFF) if factor == "ue8m0" else (0x38, 0x7F)

    def fill(rng: Random, s: Shape) -> Operands:
        sfa, sfb = full(s.m, s.per_row, one), full(s.n, s.per_row, one)
        sfa[70, rng.integers(s.per_row)] = nan
        sfb[9, rng.integers(s.per_row)] = nan
        return scaled_ones(s, sfa, sfb)

    program = crafted(form_named(name), fill, a=type_, b=type_, n=32, factor=factor)
    values = np.full((128, 32), float(program.shape.k))
    values[70], values[:, 9] = np.nan, np.nan
    passes(expecting(program, values))


def test_every_ue4m3() -> None:
    """All 127 numbers, subnormal ones among them, for A and for B."""

    def fill(_: Random, s: Shape) -> Operands:
        codes = np.minimum(np.arange(128, dtype=np.uint32), 0x7E)[:, None]
        sfb = full(s.n, s.per_row, 0x38)
        sfb[:, :] = np.resize(codes[::-1, 0], s.n)[:, None]
        return scaled_ones(s, np.repeat(codes, s.per_row, 1), sfb)

    form = form_named("mxf4nvf4-shared-block16")
    passes(crafted(form, fill, a="e2m1", b="e2m1", n=128, factor="ue4m3"))
