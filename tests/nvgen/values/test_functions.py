"""Functions of numbers: rounding, sines and logarithms beside numpy's, bits beside Python's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from nvgen import (
    ElementType,
    InputError,
    KernelBuilder,
    ScalarType,
    Sem,
    bf16,
    f16,
    f32,
    f64,
    i32,
    i64,
    u8,
    u32,
    u64,
)
from nvgen.testing import Launch, assert_exact, kernel_test

COUNT = 64
ROUNDED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
}  # fmt: skip
EDGES = (0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.4999, 100.5, -7.0, np.inf, -np.inf, 65504, 1e-4)


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64])
def test_numbers_are_rounded_as_numpy_does(launch: Launch, dtype: object) -> None:
    """Each in the type itself; of f16 a pair beside it."""
    b = KernelBuilder("rounded", block=COUNT, target="sm_90a")
    b.pointer("x", dtype)
    for name in ROUNDED:
        b.pointer(name, dtype, output=True)
    args = b.begin()
    x = args["x"][b.tid_x]
    for name in ROUNDED:
        one = getattr(x, name)()
        if dtype is f16:
            pair = getattr(b.pair(x, x), name)()
            one = b.select(b.tid_x & 1 == 0, pair[0], pair[1])
        args[name][b.tid_x] = one
    type_ = {f16: np.float16, bf16: ml_dtypes.bfloat16, f32: np.float32, f64: np.float64}[dtype]
    x = np.resize(np.array(EDGES), COUNT).astype(type_)  # type: ignore[assignment]
    found = [np.zeros(COUNT, type_) for _ in ROUNDED]
    launch(b.finish(), x, *found)
    for got, expected in zip(found, ROUNDED.values(), strict=True):
        assert_exact(got, expected(x).astype(type_))


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
def test_sines_and_logarithms_are_near_numpys(launch: Launch) -> None:
    """As near as the manual says that sin.approx and cos.approx are; others a few units."""
    b = KernelBuilder("functions", block=COUNT, target="sm_90a")
    b.pointer("x", f32)
    names = ("sin", "cos", "exp", "log")
    for name in names:
        b.pointer(name, f32, output=True)
    args = b.begin()
    x = args["x"][b.tid_x]
    for name in names:
        args[name][b.tid_x] = getattr(x, name)()
    x = np.linspace(0.05, 3.1, COUNT).astype(np.float32)  # type: ignore[assignment]
    found = [np.zeros(COUNT, np.float32) for _ in names]
    launch(b.finish(), x, *found)
    for got, name in zip(found, names, strict=True):
        expected = getattr(np, name)(x.astype(np.float64))
        most = 2.0**-20.5 if name in ("sin", "cos") else 1e-6 * np.maximum(np.abs(expected), 0.2)
        assert (np.abs(got - expected) <= most).all(), name


@kernel_test(schedules=["early"], targets="sm_90a", opt=0)
@pytest.mark.parametrize("ftz", [False, True])
def test_exponentials_have_the_error_that_is_documented(launch: Launch, ftz: bool) -> None:
    """From the least number that f32 has to the greatest, and beyond both.

    By rounding, x·log₂e loses 2^-24 of itself, and the constant lg, which is f32's, |lg - log₂e|:
    that part of the exponent times ln 2 is the part of the result.  ex2's own is 2^-22.
    """
    threads, turns = 512, 32
    b = KernelBuilder("exponentials", block=threads, target="sm_90a")
    b.pointer("x", f32)
    b.pointer("y", f32, output=True)
    args = b.begin()
    with b.range(turns) as turn:
        at = turn * threads + b.tid_x
        args["y"][at] = args["x"][at].exp(ftz=ftz)
    rng = np.random.default_rng(5)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-149, 1e-38, 88.7, 89, -87.33, -87.34, -110]
    near_0 = np.concatenate([sign * 2.0 ** rng.uniform(-30, 2, 2000) for sign in (1, -1)])
    spread = np.linspace(-104, 88.72, threads * turns - len(edges) - len(near_0))
    x = np.concatenate([edges, near_0, spread]).astype(np.float32)
    y = np.zeros_like(x)
    launch(b.finish(), x, y)
    expected = np.exp(x.astype(np.float64))
    log2e = np.float64(np.float32(np.log2(np.e)))
    of_exponent = 2.0**-24 + abs(log2e / np.log2(np.e) - 1)
    assert of_exponent <= 1.23 * 2.0**-24  # as the docstring says it
    finite = np.isfinite(x) & (expected < 3.4e38)
    least, exact = 2.0**-126, expected[finite]
    most = (1.23 * 2.0**-24 * np.abs(x[finite]) + 2.0**-22) * exact + 2.0**-149
    most = np.where(ftz & (exact < least * (1 + 1e-5)), least * (1 + 1e-5), most)
    assert finite.sum() > 16_000
    assert (np.abs(y[finite] - exact) <= most).all()
    beyond = np.where(expected < 3.4e38, expected, np.inf)[~finite]
    wanted = np.where(np.isnan(x[~finite]), np.nan, beyond).astype(np.float32)
    assert_exact(y[~finite], wanted, bits=False)
    assert not ftz or not ((y > 0) & (y < least)).any()


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("dtype", [u32, i32, u64, i64])
def test_bits_are_counted_as_python_does(launch: Launch, dtype: object) -> None:
    width = 64 if dtype in (u64, i64) else 32
    b = KernelBuilder("bits", block=COUNT, target="sm_90a")
    type_ = np.dtype(f"{'u' if dtype in (u32, u64) else 'i'}{width // 8}")
    names = ("popc", "clz", "brev", "abs")
    for name in ("x", *names):
        b.pointer(name, dtype, output=name != "x")
    args = b.begin()
    for name in names:
        args[name][b.tid_x] = getattr(args["x"][b.tid_x], name)()
    edges = [0, 1, 2, 5, -1, -5, 1 << width - 1, (1 << width - 1) - 1, 0x00FF_1200]
    x = np.array([n % (1 << width) for n in edges], f"u{width // 8}").view(type_)
    x = np.resize(x, COUNT)
    found = [np.zeros(COUNT, type_) for _ in names]
    launch(b.finish(), x, *found)
    words = [int(n) % (1 << width) for n in x]
    expected = (
        [n.bit_count() for n in words],
        [width - n.bit_length() for n in words],
        [int(f"{n:0{width}b}"[::-1], 2) for n in words],
        [int(n) if n >= 0 else -int(n) % (1 << width) for n in x],
    )
    for got, wanted in zip(found, expected, strict=True):
        assert [int(n) % (1 << width) for n in got] == wanted


REFUSED: dict[str, tuple[Callable[[KernelBuilder], object], str]] = {
    "no sine of f64": (lambda b: b.f64(1.0).sin(), "no sin of f64"),
    "no exponential of f64": (lambda b: b.f64(1.0).exp(), "no ex2 of f64"),
    "a loop as Python has it": (lambda b: b.range(0, b.tid_x).__enter__(), "stop comes first"),
    "a known loop as Python has it": (lambda b: b.range(0, 8).__enter__(), "stop comes first"),
    "steps to zero": (lambda b: b.range(0, 8, b.tid_x + 1).__enter__(), "stop comes first"),
    "a slice": (lambda b: b.shared_array("s", f32, 4)[1:3], "no index"),
    "a scope in words": (lambda b: b.mbarrier_arrive(b.mbarrier("m"), scope="cta"), "no scope"),
    "an ordering as a scope": (
        lambda b: b.mbarrier_arrive(b.mbarrier("m"), scope=Sem.RELAXED),
        "no scope",
    ),
    "no scope": (lambda b: b.mbarrier_arrive(b.mbarrier("m"), scope=None), "no scope"),
    "a shape in words": (
        lambda b: b.ldmatrix(b.shared_array("s", u32, 64), shape="x"),
        "no shape of an instruction",
    ),
    "a type in words": (
        lambda b: b.wgmma_mma_async(
            b.wgmma_accumulator(64), 0, 0, atype=ScalarType.BF16, btype="bf16"
        ),
        "no btype of an instruction",
    ),
    "rounded to digits": (lambda b: round(b.f32(1.0), 2), "not rounded to digits"),
    "two indices": (lambda b: b.shared_array("s", f32, 4)[b.tid_x, 0], "no index"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused(name: str) -> None:
    wrong, text = REFUSED[name]
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match=text) as caught:
        wrong(b)
    assert caught.value.findings[0].place.file == __file__


ARRAYS: dict[str, tuple[object, np.dtype, bool]] = {
    "numpy's usual floats": (f32, np.dtype("f8"), False),
    "integers": (f32, np.dtype("i4"), False),
    "bits": (f32, np.dtype("u4"), True),
    "the other half": (f16, np.dtype(ml_dtypes.bfloat16), False),
    "bits of a half": (bf16, np.dtype("i2"), True),
    "the other sign": (u32, np.dtype("i4"), True),
    "wider integers": (u32, np.dtype("i8"), False),
    "floats": (i64, np.dtype("f8"), False),
    "complex numbers": (f32, np.dtype("c8"), False),
    "longer complex numbers": (f64, np.dtype("c16"), False),
    "truths": (f32, np.dtype("?"), False),
    "truths as bytes": (u8, np.dtype("?"), True),
    "a format without pointers as bytes": (u8, np.dtype(ml_dtypes.float8_e8m0fnu), True),
    "another order of bytes": (f32, np.dtype(">f4"), False),
    "the order of bytes": (u32, np.dtype(">u4"), False),
    "objects": (u64, np.dtype("O"), False),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_has_the_numbers_of_its_pointer(name: str) -> None:
    dtype, given, fits = ARRAYS[name]
    b = KernelBuilder("k", block=1, target="sm_90a")
    b.pointer("x", dtype)
    args = b.begin()
    args["x"][0] = args["x"][1]
    compiled = b.finish().compile()
    x = np.arange(2).astype(given)
    if not fits:
        with pytest.raises(InputError, match="'x' is a pointer to numbers of another type"):
            compiled.run(x, device="sim")
        return
    compiled.run(x, device="sim")
    assert x[0] == x[1]


@dataclass(frozen=True)
class Elsewhere:
    """An array of another library, which is asked for its type alone."""

    dtype: object

    def __dlpack__(self) -> None:
        raise BufferError("no memory")


@pytest.mark.parametrize(
    ("given", "fits"),
    [("f2", False), ("f4", False), (ml_dtypes.bfloat16, True), ("u2", True), ("?", False)],
)
def test_an_array_of_another_library_has_the_numbers_of_its_map(given: object, fits: bool) -> None:
    b = KernelBuilder("k", block=1, target="sm_90a")
    b.tile_map("x", ElementType.BF16, (8, 64))
    b.begin()
    compiled = b.finish().compile()
    text = "the array cannot be used" if fits else "'x' is a tensor map of numbers of another type"
    with pytest.raises(InputError, match=text):
        compiled.run(Elsewhere(np.dtype(given)), device="sim")


def test_a_loop_down_to_zero_may_stop_there() -> None:
    b = KernelBuilder("down", block=1, target="sm_90a")
    b.pointer("out", u32)
    args = b.begin()
    with b.range(0, start=b.tid_x + 3, step=-1) as i:  # 3, 2, 1
        args["out"][0] = args["out"][0] * 10 + i
    out = np.zeros(1, np.uint32)
    b.finish().compile().run(out, device="sim")
    assert out[0] == 321


def test_a_loop_up_to_zero_comes_from_below() -> None:
    """Signed integers, and no turn where the stop is 0 as the start is."""
    b = KernelBuilder("up", block=1, target="sm_90a")
    b.pointer("out", i32)
    args = b.begin()
    with b.range(0, start=b.tid_x.to(i32) - 3) as i:  # -3, -2, -1
        args["out"][0] = args["out"][0] * 10 + i
    with b.range(0):
        args["out"][0] = 7
    out = np.zeros(1, np.int32)
    b.finish().compile().run(out, device="sim")
    assert out[0] == -321


@kernel_test(schedules="all", targets="sm_90a")
def test_an_address_of_the_peer_is_its_shared_memory(launch: Launch) -> None:
    b = KernelBuilder("peer", block=32, cluster=2, target="sm_90a")
    b.pointer("x", f32)
    b.pointer("y", f32, output=True)
    args = b.begin()
    mine = b.shared_array("mine", f32, 32)
    place = b.ctaid_x * 32 + b.tid_x
    mine[b.tid_x] = args["x"][place]
    b.cluster_sync()
    args["y"][place] = b.of_peer(mine)[31 - b.tid_x] + b.of_cta(mine, 0)[b.tid_x]
    b.cluster_sync()
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(b.finish(), x, y, grid=2)
    halves = x.reshape(2, 32)
    assert_exact(y, (halves[::-1, ::-1] + halves[0]).reshape(-1))
