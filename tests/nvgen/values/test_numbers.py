"""Numbers of every type in the builder, against numpy and ml_dtypes; nonsense is refused.

One kernel computes many results of a type, so that a type costs one compilation.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import nvgen
from nvgen import InputError, KernelBuilder, bf16, f16, f32, f64, i32, i64, u8, u32, u64
from nvgen.testing import Launch, assert_exact, kernel_test

N = 64
NUMPY = {
    f16: np.dtype(np.float16),
    bf16: np.dtype(ml_dtypes.bfloat16),
    f32: np.dtype(np.float32),
    f64: np.dtype(np.float64),
    i32: np.dtype(np.int32),
    i64: np.dtype(np.int64),
    u8: np.dtype(np.uint8),
    u32: np.dtype(np.uint32),
    u64: np.dtype(np.uint64),
}
Operation = tuple[Callable[..., object], Callable[..., object]]


def run(launch: Launch, type_, operations: list[Operation], x, y, out=None) -> None:
    """Each operation of the numbers of a thread; the result of number i is row i."""
    b = KernelBuilder("k", block=N, target=launch.target)
    for name in ("x", "y"):
        b.pointer(name, type_)
    b.pointer("out", out or type_, output=True)
    args = b.begin()
    at = b.tid_x
    for number, (made, _) in enumerate(operations):
        args["out"][at + number * N] = made(b, args["x"][at], args["y"][at])  # type: ignore[assignment]
    found = np.zeros((len(operations), N), NUMPY[out or type_])
    launch(b.finish(), x, y, found)
    for row, (_, model) in zip(found, operations, strict=True):
        with np.errstate(all="ignore"):
            expected = np.asarray(model(x, y)).astype(found.dtype)
        assert_exact(row, expected)


INTEGERS: list[Operation] = [
    (lambda b, x, y: x + y, lambda x, y: x + y),
    (lambda b, x, y: 3 - x * y, lambda x, y: 3 - x * y),
    (lambda b, x, y: x & y | 1, lambda x, y: x & y | 1),
    (lambda b, x, y: ~(x ^ y), lambda x, y: ~(x ^ y)),
    (lambda b, x, y: x >> 3, lambda x, y: x >> 3),
    (lambda b, x, y: b.min(x, y) - x.max(5), lambda x, y: np.minimum(x, y) - np.maximum(x, 5)),
    (lambda b, x, y: b.select(x < y, x, 7), lambda x, y: np.where(x < y, x, 7)),
    (
        lambda b, x, y: b.select(~(x == y) & (x > 9), y, x),
        lambda x, y: np.where((x != y) & (x > 9), y, x),
    ),
    (lambda b, x, y: x // 7 * 93, lambda x, y: quotient(x, 7) * 93),
    (lambda b, x, y: x % 7, lambda x, y: x - quotient(x, 7) * 7),
    (lambda b, x, y: 1000 // (y | 1), lambda x, y: quotient(np.full_like(y, 1000), y | 1)),
]  # fmt: skip


def quotient(x: np.ndarray, y: object) -> np.ndarray:
    """Towards zero."""
    return np.trunc(x.astype(np.float64) / y).astype(x.dtype)


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("type_", [i32, u32, i64, u64], ids=lambda t: t.value)
def test_integers(launch: Launch, type_) -> None:
    rng = np.random.default_rng(3)
    low = -2000 if type_ in (i32, i64) else 0
    x, y = (rng.integers(low, 2000, N).astype(NUMPY[type_]) for _ in range(2))
    run(launch, type_, INTEGERS, x, y)


FLOATS: list[Operation] = [
    (lambda b, x, y: x + y, lambda x, y: x + y),
    (lambda b, x, y: 2 - x * 0.5, lambda x, y: 2 - x * x.dtype.type(0.5)),
    (lambda b, x, y: x / y, lambda x, y: x / y),
    (lambda b, x, y: -x, lambda x, y: -x),
    (lambda b, x, y: x.abs().sqrt(), lambda x, y: np.sqrt(np.abs(x))),
    (lambda b, x, y: b.max(x, 1), lambda x, y: np.fmax(x, x.dtype.type(1))),
    (lambda b, x, y: x.min(y), lambda x, y: np.fmin(x, y)),
    (lambda b, x, y: b.select(x <= y, x, 0.0), lambda x, y: np.where(x <= y, x, x.dtype.type(0))),
    (
        lambda b, x, y: x.fma(y, 0.25),
        lambda x, y: x.astype(np.float64) * y.astype(np.float64) + 0.25,
    ),
    (lambda b, x, y: b.select(x != y, y.rcp(), y), lambda x, y: np.where(x != y, 1 / y, y)),
]


def fractions(type_, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Few bits each, so that an f64 holds the sum of a product exactly."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-60, 61, N) for _ in range(2))
    y[y == 0] = 1
    return (x / 8).astype(NUMPY[type_]), (y / 16).astype(NUMPY[type_])


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("type_", [f16, bf16, f32, f64], ids=lambda t: t.value)
def test_floats(launch: Launch, type_) -> None:
    run(launch, type_, FLOATS, *fractions(type_))


APPROXIMATIONS = {
    "ex2": (lambda x: x.ex2(), np.exp2),
    "ex2 ftz": (lambda x: x.ex2(ftz=True), np.exp2),
    "lg2": (lambda x: x.abs().lg2(), lambda x: np.log2(np.abs(x))),
    "rsqrt": (lambda x: x.abs().rsqrt(), lambda x: 1 / np.sqrt(np.abs(x))),
    "tanh": (lambda x: x.tanh(), np.tanh),
    "rcp": (lambda x: x.rcp(approx=True), lambda x: 1 / x),
    "sqrt": (lambda x: x.abs().sqrt(approx=True), lambda x: np.sqrt(np.abs(x))),
}


@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("type_", [f16, bf16, f32], ids=lambda t: t.value)
def test_approximations(launch: Launch, type_) -> None:
    """Within 2 units of the type's last place; pairs give what numbers give.

    PTX ISA: tanh.approx is within 2^-10, lg2.approx within 2^-22 of the number or its logarithm.
    """
    b = KernelBuilder("k", block=N, target=launch.target)
    b.pointer("x", type_)
    b.pointer("out", type_, output=True)
    b.pointer("pairs", type_, output=True)
    args = b.begin()
    x = args["x"][b.tid_x]
    for row, (made, _) in enumerate(APPROXIMATIONS.values()):
        args["out"][b.tid_x + row * N] = made(x)
        both = made(b.pair(-x, x))
        args["pairs"][b.tid_x + row * N] = both[1]
    given = fractions(type_)[1]
    out, pairs = (np.zeros((len(APPROXIMATIONS), N), given.dtype) for _ in range(2))
    launch(b.finish(), given, out, pairs)
    unit = 2 * float(ml_dtypes.finfo(given.dtype).eps)
    for row, (name, (_, model)) in zip(out, APPROXIMATIONS.items(), strict=True):
        expected = model(given.astype(np.float64))
        near = 1.0 if name == "lg2" else 1e-2  # where the error stands for itself
        allowed = max(unit, 2.0**-10 if name == "tanh" else 0) * np.maximum(np.abs(expected), near)
        assert (np.abs(row.astype(np.float64) - expected) <= allowed).all(), name
    assert_exact(pairs, out)


@kernel_test(schedules=["early"], targets=["sm_90a", "sm_100a"])
def test_pairs(launch: Launch) -> None:
    """Side by side, of three types; two f32 become two bf16 at once."""
    b = KernelBuilder("k", block=N, target=launch.target)
    b.pointer("x", f32)
    b.pointer("out", f32, output=True)
    args = b.begin()
    low, high = args["x"][b.tid_x], args["x"][b.tid_x + N]
    results = []
    for type_ in (nvgen.f16x2, nvgen.bf16x2, nvgen.f32x2):
        both = b.pair(low, high).to(type_)
        made = (both.fma(2, -1.5) + both * both - 1).max(-3).to(nvgen.f32x2)
        results += [made[0], made[1]]
    for row, result in enumerate(results):
        args["out"][b.tid_x + row * N] = result
    x = np.concatenate(fractions(f32))
    out = np.zeros((6, N), np.float32)
    launch(b.finish(), x, out)
    for row, dtype in zip(range(3), (np.float16, ml_dtypes.bfloat16, np.float32), strict=True):
        for half in range(2):
            n = x[half * N :][:N].astype(dtype)
            twice = (n.astype(np.float64) * 2 - 1.5).astype(dtype)
            expected = np.fmax(twice + n * n - dtype(1), dtype(-3))
            assert_exact(out[2 * row + half], expected.astype(np.float32))


@kernel_test(schedules=["early"], targets="sm_90a")
def test_conversions(launch: Launch) -> None:
    """From each type to each: to the nearest, to integers towards zero, by the sign."""
    types = [f16, bf16, f32, f64, i32, u32, i64, u64]
    b = KernelBuilder("k", block=N, target=launch.target)
    for type_ in types:
        b.pointer(f"x_{type_.value}", type_)
    for type_ in types:
        b.pointer(f"out_{type_.value}", type_, output=True)
    args = b.begin()
    for row, source in enumerate(types):
        x = args[f"x_{source.value}"][b.tid_x]
        for type_ in types:
            args[f"out_{type_.value}"][b.tid_x + row * N] = x.to(type_)
    given = [(np.arange(N) * 3 / 4).astype(NUMPY[t]) for t in types]
    given[4:8:2] = [x - 20 for x in given[4:8:2]]
    found = [np.zeros((len(types), N), NUMPY[t]) for t in types]
    launch(b.finish(), *given, *found)
    for type_, rows in zip(types, found, strict=True):
        for source, x, row in zip(types, given, rows, strict=True):  # type: ignore[assignment]
            if source in (i32, i64) and type_ in (u32, u64):
                continue  # a negative number: judged below
            assert_exact(row, x.astype(NUMPY[type_]))
    assert_exact(found[7][4], given[4].astype(np.int64).astype(np.uint64))


@kernel_test(schedules=["early"], targets="sm_90a")
def test_parameters_of_every_type_and_vectors(launch: Launch) -> None:
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", bf16)
    b.pointer("out", f32, output=True)
    for declare, name in ((b.f16, "h"), (b.bf16, "g"), (b.f32, "s"), (b.f64, "d")):
        declare(name)
    for declare, name in ((b.i32, "i"), (b.u32, "u"), (b.i64, "j"), (b.u64, "v")):  # type: ignore[assignment]
        declare(name)
    a = b.begin()
    numbers = [a[name].to(f32) for name in ("h", "g", "s", "d", "i", "u", "j", "v")]
    total = b.vector(numbers).sum() + (a["i"] < 0).to(f32) + (a["j"] >> 1).to(f32)
    row = b.load(a["x"].at(b.tid_x * 4), bf16, 4, align=8).to(f32)
    scaled = (row * a["s"] - row) / 2.0 + row
    b.store(scaled, a["out"].at(b.tid_x * 4), align=16)
    a["out"][b.tid_x + 128] = total + row.largest()
    x = (np.arange(128) % 37 - 18).astype(ml_dtypes.bfloat16)
    out = np.zeros(160, np.float32)
    launch(b.finish(), x, out, 0.5, ml_dtypes.bfloat16(2), 3.0, 0.25, -7, 11, -5, 13)
    wide = x.astype(np.float32)
    assert_exact(out[:128], wide * 3 / 2 - wide / 2 + wide)
    sums = 0.5 + 2 + 3 + 0.25 - 7 + 11 - 5 + 13 + 1 - 3
    assert_exact(out[128:], wide.reshape(-1, 4).max(1) + np.float32(sums))


@kernel_test(schedules=["early"], targets="sm_90a")
def test_variables_of_every_kind(launch: Launch) -> None:
    """A signed integer, a half, registers and an address go round a loop."""
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", f16)
    b.pointer("out", f32, output=True)
    a = b.begin()
    place, left = b.variable(a["x"].at(b.tid_x * 2)), b.variable(b.i32(3))
    sums, most = b.variable(b.vector([b.f32(0.0)] * 2)), b.variable(b.f16(-100.0))
    with b.while_(lambda: left.value > -1):
        pair = b.load(place.value, f16, 2)
        sums.set(sums.value + pair.to(f32))
        most.set(most.value.max(pair[0]))
        place.set(place.value.at(64))
        left.set(left.value - 1)
    b.store(sums.value, a["out"].at(b.tid_x * 2), align=8)
    a["out"][b.tid_x + 64] = most.value.to(f32)
    x = (np.random.default_rng(1).integers(-99, 99, (4, 32, 2)) / 4).astype(np.float16)
    out = np.zeros(96, np.float32)
    launch(b.finish(), x, out)
    assert_exact(out[:64].reshape(32, 2), x.astype(np.float32).sum(0))
    assert_exact(out[64:], x[:, :, 0].max(0).astype(np.float32))


# ---- nonsense ------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[KernelBuilder], object], str]] = {
    "mixed signs": (lambda b: b.i32(1) + b.tid_x, "signed and an unsigned"),
    "mixed widths": (lambda b: b.i32(1) + b.i64(1), "different widths"),
    "floats of two types": (lambda b: b.f32(1.0) + b.f16(1.0), "another type"),
    "an integer and a float": (lambda b: b.f32(1.0) + b.tid_x, "another type"),
    "a float's bits": (lambda b: b.f16(1.0) & 3, "integer operation"),
    "beyond i32": (lambda b: b.i32(1 << 31), "does not fit"),
    "beyond u32": (lambda b: b.i32(0) + (1 << 31), "does not fit"),
    "beyond f16": (lambda b: b.f16(65536), "beyond f16"),
    "a pair's order": (lambda b: b.f16x2(1.0) < 2, "no order"),
    "a pair as a number": (lambda b: b.f16x2(1.0).to(f32), "pair"),
    "a part of a number": (lambda b: b.f16(1.0)[0], "no such part"),
    "a pair of two types": (lambda b: b.pair(b.f16(1.0), b.f32(1.0)), "no pair"),
    "f64's ex2": (lambda b: b.f64(1.0).ex2(), "no ex2 of f64"),
    "no type": (lambda b: b.tid_x.to("f32"), "no type of numbers"),
    "an element's type": (lambda b: b.f32(1.0).to(nvgen.tf32), "no type of numbers"),
    "an index of an untyped pointer": (lambda b: b.shared_word("w")[0], "no type"),
    "another type into memory": (
        lambda b: b.shared_word("w").of(f32).__setitem__(0, b.tid_x),
        "another type is stored",
    ),
    "a parameter behind begin": (lambda b: b.f32("late"), "before the body"),
    "vectors of two lengths": (
        lambda b: b.vector([b.f32(1.0)]) + b.vector([b.f32(1.0)] * 2),
        "two kinds",
    ),
    "a condition in a vector": (lambda b: b.vector([b.tid_x == 0]), "no number"),
    "nothing in a vector": (lambda b: b.vector([]), "one type"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_at_its_line(name: str) -> None:
    wrong, text = REFUSED[name]
    b = KernelBuilder("k", block=32)
    b.begin()
    with pytest.raises(InputError, match=text) as caught:
        wrong(b)
    assert caught.value.findings[0].place.file == __file__
