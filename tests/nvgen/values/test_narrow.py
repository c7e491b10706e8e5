"""Numbers of 8 bits (e4m3, e5m2), and reductions over threads, against ml_dtypes and numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from nvgen import ElementType, InputError, KernelBuilder, bf16, e4m3, e5m2, f16, f32, i8, i32, u8
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each

N = 32
TYPES = [e4m3, e5m2]


def numbers(dtype: ElementType, other: ElementType, count: int) -> np.ndarray:
    """Some of all sizes, ties, zeros of both signs, and beyond the largest."""
    largest = 448.0 if dtype is e4m3 else 57344.0
    rng = np.random.default_rng(count)
    found = rng.standard_normal(N * count) * np.exp2(rng.integers(-12, 9, N * count))
    found[:8] = [0.0, -0.0, largest, -largest, 2 * largest, -4 * largest, 1.0625, 1.1875]
    if other is f16:
        found = np.clip(found, -60000, 60000)
    return found.astype(other.numpy)


def narrow(given: np.ndarray, dtype: ElementType) -> np.ndarray:
    """PTX's .satfinite: to nearest even, and the largest number for what is beyond it."""
    most = 448.0 if dtype is e4m3 else 57344.0
    return np.clip(given.astype(np.float32), -most, most).astype(dtype.numpy)


@each("dtype", TYPES, ids=lambda t: t.value)
@each("other", [f32, f16, bf16], ids=lambda t: t.value)
@each("count", [1, 2, 3, 8])
@kernel_test(schedules="early", targets="sm_89", opt=(0, 3))
def test_numbers_go_to_8_bits_and_back(
    launch: Launch, dtype: ElementType, other: ElementType, count: int
) -> None:
    b = KernelBuilder("k", block=N, target=launch.target)
    b.pointer("x", other)
    b.pointer("small", dtype, output=True)
    b.pointer("back", other, output=True)
    args = b.begin()
    at = b.tid_x * count
    if count == 1:
        made = args["x"][at].to(dtype)
        args["small"][at] = made
        args["back"][at] = args["small"][at].to(other)
    else:
        values = b.load(args["x"].at(at), other, count)
        b.store(values.to(dtype), args["small"].at(at), align=1)
        back = b.load(args["small"].at(at), dtype, count, align=1).to(other)
        b.store(back, args["back"].at(at), align=other.bits // 8)
    x = numbers(dtype, other, count)
    small, back = np.zeros(N * count, dtype.numpy), np.zeros(N * count, other.numpy)  # type: ignore[assignment]
    launch(b.finish(), x, small, back)
    assert_exact(small.view(np.uint8), narrow(x, dtype).view(np.uint8))
    assert_exact(back, narrow(x, dtype).astype(np.float32).astype(other.numpy))


def begun() -> tuple[KernelBuilder, dict]:
    b = KernelBuilder("k", block=N, target="sm_90a")
    b.pointer("q", e4m3)
    b.pointer("bytes", u8)
    return b, b.begin()


REFUSED: dict[str, Callable[[KernelBuilder, dict], object]] = {
    "no arithmetic of 8 bits": lambda b, a: a["q"][0] + a["q"][1],
    "no arithmetic of 8 bits.": lambda b, a: -a["q"][0],
    "no arithmetic of 8 bits..": lambda b, a: a["q"][0] < 1.0,
    "no arithmetic of 8 bits...": lambda b, a: b.load(a["q"], e4m3, 4) * 2.0,
    "beyond e4m3": lambda b, a: b.select(b.tid_x == 0, a["q"][0], 1000.0),
    "another type": lambda b, a: operator.setitem(a["bytes"], 0, a["q"][0]),
    "another type.": lambda b, a: operator.setitem(a["q"], 0, a["bytes"][0]),
}


@each("text", REFUSED)
def test_what_numbers_of_8_bits_are_not_is_refused(text: str) -> None:
    b, args = begun()
    with pytest.raises(InputError, match=text.rstrip(".")):
        REFUSED[text](b, args)


# ---- reductions ----------------------------------------------------------------------------------


@pytest.mark.turns(3)
@each("threads", [32, 96, 256])
@each("name", ["sum", "max"])
@kernel_test(schedules="all", targets="sm_80")
def test_all_threads_get_what_they_reduce(launch: Launch, threads: int, name: str) -> None:
    """Twice in turn, in the same slots: the second must not overtake the first."""
    function = {"sum": operator.add, "max": lambda x, y: x.max(y)}[name]
    b = KernelBuilder("k", block=threads, target=launch.target)
    b.pointer("x", i32)
    b.pointer("y", i32, output=True)
    args = b.begin()
    slots = b.shared_array("slots", i32, threads // 32)
    mine = args["x"][b.tid_x]
    once = b.cta_reduce(mine, function, slots)
    again = b.cta_reduce(mine ^ 1, function, slots)
    warp = b.warp_reduce(mine, function)
    for number, value in enumerate((once, again, warp)):
        args["y"][b.tid_x + number * threads] = value
    x = np.random.default_rng(threads).integers(-999, 999, threads).astype(np.int32)
    y = np.zeros(3 * threads, np.int32)
    launch(b.finish(), x, y)
    model = {"sum": np.sum, "max": np.max}[name]
    warps = model(x.reshape(-1, 32), axis=1)
    whole = [np.full(threads, model(x)), np.full(threads, model(x ^ 1)), np.repeat(warps, 32)]
    assert_exact(y, np.concatenate(whole).astype(np.int32))


def test_reductions_are_for_whole_warps_and_all_threads() -> None:
    b = KernelBuilder("k", block=48, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match="no whole warps"):
        b.cta_reduce(b.tid_x, operator.add)
    b = KernelBuilder("k", block=64, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match="all threads of the CTA"), b.if_warp(0):
        b.cta_reduce(b.tid_x, operator.add)


@pytest.mark.turns(8)
@kernel_test(targets=["sm_80", "sm_90a", "sm_100a"], opt=[0, 3])
@pytest.mark.parametrize("narrow", [i8, u8], ids=["i8", "u8"])
@pytest.mark.parametrize("wide", [f16, bf16], ids=lambda t: t.value)
def test_every_byte_and_every_half_of_it(
    launch: Launch, narrow: ElementType, wide: ElementType
) -> None:
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", narrow)
    b.pointer("numbers", wide, output=True)
    b.pointer("halves", wide, output=True)
    x, numbers, halves = b.begin().values()
    given = b.load(x.at(b.thread * 8), narrow, 8, align=8)
    b.store(given.to(wide), numbers.at(b.thread * 8), align=16)
    b.store(given.unpacked(wide), halves.at(b.thread * 16), align=16)
    bits = np.arange(256, dtype=np.uint8)
    got, parts = np.zeros(256, wide.numpy), np.zeros(512, wide.numpy)
    launch(b.finish().compile(opt=launch.opt), bits.view(narrow.numpy), got, parts)
    assert_exact(got, bits.view(narrow.numpy).astype(wide.numpy))
    nibbles = np.stack([bits & 15, bits >> 4], 1).ravel().astype(np.int64)
    if narrow is i8:
        nibbles -= 16 * (nibbles > 7)
    assert_exact(parts, nibbles.astype(wide.numpy))


@kernel_test(schedules=["early"], targets=("sm_80", "sm_90a"), opt=(0, 3))
@pytest.mark.parametrize("wide", [f16, bf16], ids=lambda t: t.value)
def test_every_pair_of_floats_of_four_bits(launch: Launch, wide: ElementType) -> None:
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", u8)
    b.pointer("numbers", wide, output=True)
    x, numbers = b.begin().values()
    given = b.load(x.at(b.thread * 8), u8, 8, align=8)
    b.store(given.unpacked(wide, ElementType.E2M1), numbers.at(b.thread * 16), align=16)
    bits = np.arange(256, dtype=np.uint8)
    found = np.zeros(512, wide.numpy)
    launch(b.finish().compile(opt=launch.opt), bits, found)
    positive = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    every = np.concatenate([positive, -positive]).astype(wide.numpy)
    assert_exact(found, every[np.stack([bits & 15, bits >> 4], 1).ravel()])


def test_only_whole_registers_are_unpacked() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", i8)
    x = b.begin()["x"]
    with pytest.raises(InputError, match="no integers of four bits"):
        b.load(x, i8, 2).unpacked(bf16)
    with pytest.raises(InputError, match="no integers of four bits"):
        b.load(x, i8, 4).unpacked(f32)
    with pytest.raises(InputError, match="no floats of four bits"):
        b.load(x, i8, 4).unpacked(f16, ElementType.E3M2)
