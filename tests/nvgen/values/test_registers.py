"""Registers carry the type of what they hold: f32 has arithmetic, other bits are no integers."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.element import ElementType as E
from intrinsics.modifiers import ScalarType as T
from intrinsics.modifiers import Shuffle, WarpReduce
from nvgen import InputError, KernelBuilder, f32
from nvgen.instructions.table import NAMED
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import F32, Float, Int
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector

THREADS = 64
INTEGER_OPERATORS = (
    operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor, operator.lshift,
    operator.rshift,
)  # fmt: skip


def begun(target: str = "sm_90a", block: int = 128) -> tuple[KernelBuilder, Pointer]:
    b = KernelBuilder("k", block=block, target=target)
    b.pointer("x")
    b.pointer("out", output=True)
    out = b.begin()["out"]
    assert isinstance(out, Pointer)
    return b, out


def registers(dtype: E) -> Vector:
    """Those of a multiply's sums."""
    b, _ = begun()
    return b.warpgroup_tile(64, 64, dtype).parts[0].registers


# ---- integer operations on what is no integer --------------------------------------------------


@pytest.mark.parametrize("dtype", [E.F32, E.F16])
@pytest.mark.parametrize("operation", INTEGER_OPERATORS)
def test_integer_operations_on_registers_of_sums_are_refused(
    dtype: E, operation: Callable[[object, object], object]
) -> None:
    value = registers(dtype)[0]
    for pair in ((value, value), (value, 3), (3, value)):
        with pytest.raises(InputError, match=r"x\.word") as caught:
            operation(*pair)
        assert caught.value.findings[0].place.file == __file__


def test_registers_of_sums_are_of_their_type() -> None:
    half, whole = registers(E.F16)[0], registers(E.S32)[0]
    assert isinstance(half, Float)
    assert half.type is T.F16X2
    assert isinstance(whole, Int)
    assert whole.words == "i32"
    with pytest.raises(InputError, match="no order"):
        _ = half < half


def test_an_f32_and_an_integer_are_not_mixed() -> None:
    b, _ = begun()
    value = b.f32(b.tid_x)
    for operation in (operator.add, operator.sub, operator.mul, operator.lt):
        for pair in ((value, b.tid_x), (b.tid_x, value)):
            with pytest.raises(InputError):
                operation(*pair)


def test_a_vector_is_no_factor() -> None:
    b, _ = begun()
    both = b.words([b.tid_x, b.tid_x])
    with pytest.raises(InputError, match="vectors of two kinds"):
        _ = both.f32 * both


def test_what_is_beyond_f32_is_refused() -> None:
    b, _ = begun()
    with pytest.raises(InputError, match="beyond"):
        b.f32(1e40)


def test_an_integer_where_a_fraction_is_given_names_f32() -> None:
    b, _ = begun()
    for wrong in (lambda: b.tid_x * 1.5, lambda: b.const(1.5)):
        with pytest.raises(InputError, match=r"b\.f32"):
            wrong()


# ---- arithmetic ----------------------------------------------------------------------------------


def two(b: KernelBuilder) -> tuple[F32, F32]:
    x = b._ir.function.args[0]
    place = (Pointer(b, x) + b.tid_x * 8).of(f32)
    first, second = place[0], place[1]
    assert isinstance(first, F32)
    assert isinstance(second, F32)
    return first, second


OPERATIONS: dict[str, tuple[Callable[[KernelBuilder, F32, F32], Float], Callable[..., object]]] = {
    "sum": (lambda b, x, y: x + y, lambda x, y: x + y),
    "difference": (lambda b, x, y: x - y, lambda x, y: x - y),
    "product": (lambda b, x, y: x * y, lambda x, y: x * y),
    "negative": (lambda b, x, y: -x, lambda x, y: -x),
    "by a number": (lambda b, x, y: 1.5 * x - 2 + y * 3, lambda x, y: 1.5 * x - 2 + y * 3),
    "from a number": (lambda b, x, y: 1 - x, lambda x, y: 1 - x),
    "fma": (
        lambda b, x, y: x.fma(y, 0.25),
        lambda x, y: (x.astype(np.float64) * y + 0.25).astype(np.float32),
    ),
    "the greater": (lambda b, x, y: x.max(1), lambda x, y: np.fmax(x, 1)),
    "selected": (
        lambda b, x, y: b.select(x < y, x, 0.0),
        lambda x, y: np.where(x < y, x, np.float32(0)),
    ),
    "unequal": (
        lambda b, x, y: b.select(x != x, b.f32(1.0), y),
        lambda x, y: np.where(x != x, np.float32(1), y),
    ),
}


def numbers() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Few bits each, so that an f64 holds x·y + 0.25 exactly."""
    rng = np.random.default_rng(7)
    found = rng.integers(-4096, 4097, 2 * THREADS).astype(np.float32) / np.float32(64)
    found[:2] = np.nan, 1
    return found


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("name", OPERATIONS)
def test_f32_is_as_numpys(launch: Launch, name: str) -> None:
    operation, model = OPERATIONS[name]
    b, out = begun(block=THREADS)
    b.store(operation(b, *two(b)), out + b.tid_x * 4)
    x, d = numbers(), np.zeros(THREADS, np.float32)
    launch(b.finish(), x, d)
    expected = np.asarray(model(x[::2], x[1::2]), np.float32)
    assert_exact(np.isnan(d), np.isnan(expected))
    assert_exact(np.nan_to_num(d), np.nan_to_num(expected))


@kernel_test(schedules=["early"], targets="sm_90a")
def test_an_f32_goes_where_words_go(launch: Launch) -> None:
    """Into a vector, a shuffle, a variable, a pair of bf16; it stays an f32 on the way."""
    b, out = begun(block=32)
    x, _ = two(b)
    sum_ = b.variable(b.f32(0.0))
    with b.range(3):
        sum_.set(sum_.value + x)
    swapped = b.shfl_sync(Shuffle.BFLY, sum_.value, 1)
    b.store(b.words([swapped, sum_.value]), out + b.tid_x * 8, align=8)
    given = numbers()[2:66]
    d = np.zeros(64, np.float32)
    launch(b.finish(), given, d)
    tripled = given[::2] * 3
    assert_exact(d[1::2], tripled)
    assert_exact(d[::2], tripled.reshape(-1, 2)[:, ::-1].reshape(-1))


def test_what_is_given_keeps_its_type() -> None:
    b, _ = begun("sm_100a")
    x = b.f32(1.0)
    assert isinstance(b.shfl_sync(Shuffle.IDX, x, 0), F32)
    both = b.shfl_sync_p(Shuffle.IDX, b.tid_x, 0)
    assert NAMED["shfl_sync_p"].returns == f"tuple[{', '.join(type(one).__name__ for one in both)}]"
    assert isinstance(b.shfl_sync_p(Shuffle.IDX, x, 0)[0], F32)
    assert isinstance(b.redux_sync(WarpReduce.MAX, T.F32, x), F32)
    assert isinstance(b.redux_sync(WarpReduce.MAX, T.F32, b.tid_x), Int)
    assert isinstance(x.word, Int)
    assert [type(part) for part in b.words([x, x]).f32] == [F32, F32]
    assert {type(part) for part in registers(E.F32)[0:4]} == {F32}
    with pytest.raises(InputError, match="reduced"):
        b.redux_sync(WarpReduce.MAX, T.S32, x)


def test_sums_of_a_warp_are_of_their_type() -> None:
    b, _ = begun("sm_80", block=32)
    kinds = {dtype: b.warp_tile(16, 8, dtype).parts[0][0].registers[0] for dtype in (E.F32, E.S32)}
    assert isinstance(kinds[E.F32], F32)
    assert isinstance(kinds[E.S32], Int)
    assert kinds[E.S32].signed


# ---- variables -----------------------------------------------------------------------------------


def test_a_variable_takes_python_numbers() -> None:
    b, out = begun(block=32)
    v, f = b.variable(0), b.variable(b.f32(0))
    v.set(5)
    f.set(1.5)
    b.store(v.value, out)
    b.store(f.value, out + 4)
    got = np.zeros(2, np.uint32)
    b.finish().compile().run(np.zeros(1), got)
    assert got.tolist() == [5, 0x3FC00000]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b, v: v + 1,
        lambda b, v: 1 + v,
        lambda b, v: v == 0,
        lambda b, v: v < 3,
        lambda b, v: b.select(v.value == 0, v, 1),
        lambda b, v: b.tid_x + v,
        lambda b, v: bool(v),
    ],
)
def test_a_variable_is_not_its_value(wrong: Callable[[KernelBuilder, object], object]) -> None:
    b, _ = begun()
    with pytest.raises(InputError, match=r"v\.value"):
        wrong(b, b.variable(0))


def test_a_variable_keeps_its_type() -> None:
    b, _ = begun()
    with pytest.raises(InputError, match="keeps its type"):
        b.variable(0).set(b.f32(1.0))
    with pytest.raises(InputError, match="keeps its type"):
        b.variable(b.f32(1.0)).set(b.tid_x)
    with pytest.raises(InputError, match="keeps its type"):
        b.variable(0).set(b.const(1, 64))


# ---- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("x", [0, 4, 0x7FFF_FFFC, 0x8000_0000, 0xFFFF_FFFC])
def test_an_offset_is_unsigned_as_an_integer_is(x: int, opt: int) -> None:
    """From 2 GiB on too: p + x - (the same x in 64 bits) is p."""
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("out", output=True)
    b.integer("x")
    args = b.begin()
    out, offset = args["out"], args["x"]
    assert isinstance(out, Pointer)
    assert isinstance(offset, Int)
    b.store(b.const(7), (out + offset) - offset.zext(64))
    b.store(b.const(8), (out + offset.zext(64)) - offset + 4)
    got = np.zeros(4, np.int32)
    b.finish().compile(opt=opt).run(got, x)
    assert got.tolist() == [7, 8, 0, 0]
