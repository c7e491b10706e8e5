"""The builder's arithmetic in registers, against ml_dtypes and numpy."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from nvgen import KernelBuilder
from nvgen.values.numbers import Int
from tests.oracle.gpu import launch

Words = NDArray[np.uint32]
Binary = Callable[[KernelBuilder, Int, Int], Int]

THREADS = 64


def numbers(seed: int) -> NDArray[np.float32]:
    """Some of every kind: large and small, halfway between two bf16, infinite, negative zeros."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(THREADS).astype(np.float32)
    found *= np.exp2(rng.integers(-20, 15, THREADS)).astype(np.float32)
    found[:6] = [0.0, -0.0, np.inf, -np.inf, 1 + 2.0**-8, 1 + 3 * 2.0**-8]
    return rng.permutation(found)


def made(operation: Binary) -> Words:
    """What 64 threads make of their two numbers."""
    b = KernelBuilder("k", block=THREADS)
    for name in ("x", "y", "out"):
        b.pointer(name, output=name == "out")
    args = b.begin()
    place = (b.tid_x * 4).zext(64)
    x, y = (b.load_word(args[name] + place) for name in ("x", "y"))
    b.store(operation(b, x, y), args["out"] + place)
    out = np.zeros(THREADS, np.uint32)
    launch(b.finish().compile(target="sm_90a"), numbers(1), numbers(2), out, block=(THREADS, 1, 1))
    return out


def halves(low: NDArray[np.generic], high: NDArray[np.generic]) -> Words:
    parts = [part.view(np.uint16).astype(np.uint32) for part in (low, high)]
    return parts[0] | parts[1] << np.uint32(16)


@pytest.mark.gpu
def test_packed_numbers_may_be_clamped_at_zero() -> None:
    found = made(lambda b, x, y: b.pack_bf16x2(x, y, relu=True))
    low, high = (np.maximum(n, 0).astype(ml_dtypes.bfloat16) for n in (numbers(1), numbers(2)))
    assert found.tolist() == halves(low, high).tolist()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("operation", "model"),
    [
        (lambda b, x, y: b.f32(x).min(b.f32(y)), np.minimum),
        (lambda b, x, y: b.f32(x).max(b.f32(y)), np.maximum),
        (lambda b, x, y: b.f32(x) + b.f32(y).max(0), lambda x, y: x + np.maximum(y, 0)),
    ],
)
def test_f32(operation: Binary, model: np.ufunc) -> None:
    x, y = numbers(1), numbers(2)
    with np.errstate(invalid="ignore"):
        expected = model(x, y)
    found = made(operation).view(np.float32)
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.gpu
def test_the_lesser_and_the_greater_of_unsigned_numbers() -> None:
    x, y = numbers(1).view(np.uint32), numbers(2).view(np.uint32)
    found = made(lambda b, x, y: b.min(x, y) ^ b.max(x, 0x8000_0000))
    assert found.tolist() == (np.minimum(x, y) ^ np.maximum(x, 0x8000_0000)).tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("operation", [lambda x: -x, lambda x: ~x], ids=["negative", "inverted"])
def test_an_integer_with_a_sign(operation: Callable[[object], object]) -> None:
    found = made(lambda b, x, y: operation(x))  # type: ignore[return-value]
    assert found.tolist() == operation(numbers(1).view(np.uint32)).tolist()  # type: ignore[attr-defined]


@pytest.mark.gpu
def test_an_address_before_another() -> None:
    """Thread i reads the word of thread 63 - i, counted from the end."""
    b = KernelBuilder("k", block=THREADS)
    b.pointer("x")
    b.pointer("out", output=True)
    args = b.begin()
    place = (b.tid_x * 4).zext(64)
    last = args["x"] + 4 * THREADS
    b.store(b.load_word(last - place - 4), args["out"] + place)
    out = np.zeros(THREADS, np.float32)
    launch(b.finish().compile(target="sm_90a"), numbers(1), out, block=(THREADS, 1, 1))
    assert out.tobytes() == numbers(1)[::-1].tobytes()
