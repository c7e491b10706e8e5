"""Powers, erf, shifts and divisions by known numbers; expected by numpy and `math`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import KernelBuilder, Shuffle, WarpReduce, bf16, e4m3, f16, f32, f64, i32, u32
from nvgen.testing import assert_exact
from nvgen.values.numbers import Float, Int
from tests.each import each


def computed(x: np.ndarray, dtype: object, function: Callable[[Float], Float]) -> np.ndarray:
    """What a kernel makes of each number."""
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.pointer("x", dtype)
    b.pointer("y", dtype, output=True)
    args = b.begin()
    i = b.ctaid_x * 128 + b.tid_x
    args["y"][i] = function(args["x"][i])
    y = np.zeros_like(x)
    b.finish().compile().run(x, y, grid=len(x) // 128, device="sim")
    return y


def test_the_error_function_is_as_near_as_its_docstring_says() -> None:
    ends = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        4.0,
        1e-30,
        3e38,
        -3e38,
        math.inf,
        -math.inf,
        math.nan,
        0.99999994,
    ]
    x = np.array([*np.linspace(-5, 5, 500), *ends], np.float32)
    x = x[: len(x) // 128 * 128]
    y = computed(x, f32, lambda number: number.erf())
    exact = np.array([math.erf(number) for number in x])
    assert np.isnan(y[np.isnan(x)]).all()
    real = ~np.isnan(x)
    assert (np.abs(y - exact)[real] <= 2.0**-22 * np.abs(exact)[real]).all()
    assert (np.signbit(y) == np.signbit(x))[real].all()
    assert np.isnan(x).any()


@each("dtype", [f16, bf16])
def test_the_error_function_of_halves_is_rounded(dtype: object) -> None:
    x = np.linspace(-3, 3, 128).astype(dtype.numpy)  # type: ignore[attr-defined]
    exact = np.array([math.erf(number) for number in x.astype(np.float64)])
    y = computed(x, dtype, lambda number: number.erf()).astype(np.float64)
    bits = {f16: 10, bf16: 7}[dtype]
    assert (np.abs(y - exact) <= 2.0 ** -(bits + 1) * 1.01 * np.maximum(np.abs(exact), 1e-4)).all()


@each("exponent", [1, 2, 3, 4, 7, 10])
def test_a_power_is_a_product(exponent: int) -> None:
    """Of small whole numbers, whose powers f32 holds exactly."""
    x = np.resize(np.arange(-5, 6), 128)
    powers = x.astype(np.int64) ** exponent
    y = computed(x.astype(np.float32), f32, lambda number: number**exponent)
    assert_exact(y, powers.astype(np.float32))
    whole = computed(x.astype(np.int32), i32, lambda number: number**exponent)
    assert_exact(whole, powers.astype(np.int32))


def test_numbers_of_a_vector_have_powers_and_error_functions() -> None:
    b = KernelBuilder("k", block=1, target="sm_90a")
    b.pointer("x", f32)
    b.pointer("y", f32, output=True)
    args = b.begin()
    four = b.load(args["x"], f32, 4, align=16)
    b.store(four**3 + four.erf() * 0.0, args["y"], align=16)
    x, y = np.array([1, -2, 3, 0.5], np.float32), np.zeros(4, np.float32)
    b.finish().compile().run(x, y, device="sim")
    assert_exact(y, x**3)


REFUSED: dict[str, tuple[Callable[[Int, Float], object], str]] = {
    "an exponent that has a fraction": (lambda n, x: x**0.5, "0.5"),
    "an exponent of the kernel": (lambda n, x: x**x, "Float (f32)"),
    "an exponent of 0": (lambda n, x: n**0, "0"),
    "an exponent below 0": (lambda n, x: x**-1, "-1"),
    "a great exponent": (lambda n, x: n**65, "65"),
    "a shift by all bits": (lambda n, x: n << 32, "32"),
    "a shift below 0": (lambda n, x: n >> -1, "-1"),
    "a quotient by 0": (lambda n, x: n // 0, "u32 by 0"),
    "a remainder by 0": (lambda n, x: n % 0, "u32 by 0"),
    "a wait for a computed number of groups": (
        lambda n, x: n.builder.cp_async_wait_group(n),  # type: ignore[attr-defined]
        "Int (u32)",
    ),
    "an error function of f64": (lambda n, x: x.to(f64).erf(), "f64"),
    "an error function of 8 bits": (lambda n, x: x.to(e4m3) ** 2, "e4m3"),
}


@each("name", REFUSED)
def test_what_has_no_result_is_refused(name: str) -> None:
    function, got = REFUSED[name]
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.f32("x")
    args = b.begin()
    x = args["x"]
    assert isinstance(x, Float)
    with pytest.raises(InputError) as caught:
        function(b.tid_x, x)
    assert caught.value.findings[0].got == got


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("syncthreads", "b.barrier_cta_sync_aligned()"),
        ("__syncwarp", "a KernelBuilder has no '__syncwarp'"),
        ("threadIdx", "b.tid_x"),
        ("program_id", "b.ctaid_x"),
        ("atomicAdd", "b.atom(AtomicOp.ADD"),
        ("tidx", "did you mean b.tid_x"),
        ("qqqqqq", "a KernelBuilder has no 'qqqqqq'"),
    ],
)
def test_names_of_elsewhere_say_what_they_are_here(name: str, here: str) -> None:
    b = KernelBuilder("k", block=32)
    with pytest.raises(AttributeError) as caught:
        getattr(b, name)
    assert here in str(caught.value)
    assert not hasattr(b, name)


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("clamp", "Float has no 'clamp': here it is x.max(least).min(greatest)"),
        ("sqr", "did you mean x.sqrt"),
        ("qqqqqq", "Float has no 'qqqqqq'"),
    ],
)
def test_methods_of_elsewhere_say_what_they_are_here(name: str, here: str) -> None:
    b = KernelBuilder("k", block=32)
    b.f32("x")
    x = b.begin()["x"]
    with pytest.raises(AttributeError) as caught:
        getattr(x, name)
    assert here in str(caught.value)
    assert not hasattr(x, name)
    assert not hasattr(b.tid_x, "log2")


def test_what_ctz_is_here() -> None:
    """As numpy counts: the lowest bit that is set."""
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("y", u32, output=True)
    args = b.begin()
    args["y"][b.tid_x] = (b.tid_x * 8 + 8).brev().clz()
    y = np.zeros(32, np.uint32)
    b.finish().compile().run(y, device="sim")
    n = np.arange(8, 264, 8)
    assert_exact(y, np.log2(n & -n).astype(np.uint32))


def test_types_of_tiles_are_types_of_instructions() -> None:
    """`f32` and `i32` of nvgen are element types; instructions have scalar types."""
    b = KernelBuilder("k", block=32, target="sm_100a")
    b.pointer("x", i32)
    args = b.begin()
    x = args["x"][b.tid_x]
    b.redux_sync(WarpReduce.MAX, f32, x.to(f32))
    args["x"][b.tid_x] = b.redux_sync(WarpReduce.ADD, i32, x)
    args["x"][b.tid_x + 32] = b.warp_reduce(b.shfl_sync(Shuffle.BFLY, x, 1), operator.add)
    args["x"][b.tid_x + 64] = b.mul_hi(x, x, type=u32).to(i32)
    ptx = b.finish().compile().ptx
    assert "redux.sync.add.s32" in ptx


def test_a_parameter_that_there_is_not_is_reported() -> None:
    b = KernelBuilder("k", block=32)
    b.f32("x")
    b.u32("n")
    args = b.begin()
    with pytest.raises(KeyError, match="no parameter 'm': the kernel has x, n"):
        args["m"]
    assert args.get("m") is None
