"""Printing, assertions, PTX in a kernel's own words, and functions that kernels share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nvgen import InputError, KernelBuilder, SimulationError, bf16, device_function, f16, f32, u32
from nvgen.testing import Launch, assert_exact, kernel_test

pytestmark = pytest.mark.filterwarnings("error::nvgen.FindingWarning")


def begun(block: int = 32) -> tuple[KernelBuilder, dict]:
    b = KernelBuilder("k", block=block, target="sm_90a")
    b.pointer("x", f32)
    b.pointer("out", f32, output=True)
    return b, b.begin()


@pytest.mark.parametrize("opt", [0, 3])
def test_the_simulator_prints(opt: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers of every length; only the threads that come by; percent signs."""
    b, args = begun()
    with b.if_(b.tid_x % 16 == 3):
        x = args["x"][b.tid_x]
        b.printf(
            "%3d|%u of %08x: %.2f %g 100%%\n", b.i32(-5), b.tid_x, b.u64(1 << 40), x, x.to(f16)
        )
    b.printf("")
    with b.if_(b.tid_x == 0):
        b.printf("done\n")
    x = (np.arange(32) / 4).astype(np.float32)
    b.finish().compile(opt=opt).run(x, np.zeros(1, np.float32), device="sim")
    lines = [f" -5|{n} of {1 << 40:08x}: {n / 4:.2f} {n / 4:g} 100%\n" for n in (3, 19)]
    assert capsys.readouterr().out == "".join(lines) + "done\n"


def test_an_assertion_ends_the_run_where_it_stands() -> None:
    b, args = begun()
    b.device_assert(args["x"][b.tid_x] < 31.5, "numbers are small")
    compiled = b.finish().compile()
    x = np.arange(32, dtype=np.float32)
    compiled.run(x, np.zeros(1, np.float32), device="sim")
    compiled.cubin()
    x[7] = 40
    with pytest.raises(SimulationError, match="numbers are small") as caught:
        compiled.run(x, np.zeros(1, np.float32), device="sim")
    (found,) = caught.value.findings[:1]
    assert found.rule == "sim/assertion"
    assert "threads 7 to 7 of warp 0" in found.got
    assert __file__ in found.expected


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
def test_ptx_in_the_kernels_own_words(launch: Launch) -> None:
    """One result, two, a condition, a half, an address."""
    b, args = begun()
    x = args["x"][b.tid_x]
    bits = b.ptx("lop3.b32 $0, $1, $2, $3, 0x1e;", x.word, b.tid_x, b.const(9), result=u32)
    low, high = b.ptx(  # type: ignore[misc]
        "add.u32 $0, $2, 1;\n mul.lo.u32 $1, $2, 3;", b.tid_x, result=(u32, u32), volatile=False
    )
    half = b.ptx("neg.f16 $0, $1;", x.to(f16), result=f16)
    loaded = b.ptx("ld.global.f32 $0, [$1];", args["x"].at(b.tid_x), result=f32)
    chosen = b.ptx("selp.b32 $0, $1, $2, $3;", low, high, b.tid_x < 9, result=u32)
    b.ptx("st.global.f32 [$0], $1;", args["out"].at(b.tid_x), half.to(f32) * 2 + loaded)
    args["out"][b.tid_x + 32] = (bits & 0xFF).to(f32)
    args["out"][b.tid_x + 64] = chosen.to(f32)
    x = np.arange(32, dtype=np.float32) - 7
    out = np.zeros(96, np.float32)
    launch(b.finish(), x, out)
    n = np.arange(32)
    mixed = x.view(np.uint32) ^ (n.astype(np.uint32) | 9)
    assert_exact(
        out, np.concatenate([x - 2 * x, mixed & 0xFF, np.where(n < 9, n + 1, n * 3)]).astype("f4")
    )


@device_function
def polynomial(b, x, scale):
    """Where x is positive, by a branch and a loop of its own; of every type."""
    total = b.variable(x)
    with b.if_(x > 0), b.range(3):
        total.set(total.value * scale + 1)
    return total.value


@device_function
def put(b, place, value):
    place[b.tid_x] = value


@device_function
def divided(b, x, y, place):
    """Several values come back, of several types."""
    quotient = b.variable(x // y)
    with b.if_(quotient.value > 3):
        quotient.set(quotient.value + 100)
    return quotient.value, (x % y).to(f32) * 0.5, place + 128, b.vector([y, x]), x > 20


@device_function
def alone(b, x):
    return (x + 1,)


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
def test_a_function_gives_several_values(launch: Launch) -> None:
    b, args = begun()
    whole, half, place, both, large = divided(b.tid_x, b.const(5), args["out"])  # type: ignore[misc]
    (more,) = alone(whole)  # type: ignore[misc]
    args["out"][b.tid_x] = b.select(large, half, -half)
    place[b.tid_x] = more.to(f32)
    place[b.tid_x + 32] = (both[0] * 64 + both[1]).to(f32)
    x, out = np.zeros(1, np.float32), np.zeros(96, np.float32)
    launch(b.finish(), x, out)
    n = np.arange(32)
    halves = np.where(n > 20, 0.5, -0.5) * (n % 5)
    wholes = np.where(n // 5 > 3, n // 5 + 100, n // 5) + 1
    assert_exact(out, np.concatenate([halves, wholes, 5 * 64 + n]).astype(np.float32))


@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
def test_functions_that_kernels_share(launch: Launch) -> None:
    """Two kernels; one of them with two types; one without a result; a call in a branch."""
    x = (np.arange(32) / 8 - 2).astype(np.float32)

    def expected(x: np.ndarray) -> np.ndarray:
        y = x.copy()
        for _ in range(3):
            y = np.where(x > 0, y * x.dtype.type(0.5) + x.dtype.type(1), y)
        return y

    for twice in (False, True):
        b, args = begun()
        given = args["x"][b.tid_x]
        result = b.variable(polynomial(given, b.f32(0.5)))
        with b.if_(b.tid_x < 16):
            result.set(result.value + polynomial(result.value, b.f32(0.5)))
        if twice:
            narrow = polynomial(given.to(bf16), b.bf16(0.5))
            result.set(result.value + narrow.to(f32))
        put(args["out"], result.value)
        kernel = b.finish()
        assert kernel.llvm.count("define internal") == 2 + twice
        out = np.zeros(32, np.float32)
        launch(kernel, x, out)
        y = expected(x)
        y = np.where(np.arange(32) < 16, y + expected(y), y)
        if twice:
            y = y + expected(x.astype(bf16.numpy)).astype(np.float32)
        assert_exact(out, y.astype(np.float32))


REFUSED: dict[str, tuple[Callable[[KernelBuilder], object], str]] = {
    "too few values": (lambda b: b.printf("%d %d", b.tid_x), "another number of conversions"),
    "a float as an integer": (lambda b: b.printf("%d", b.f32(1.0)), "no value for %d"),
    "a Python number": (lambda b: b.printf("%d", 3), "no value for %d"),
    "a string": (lambda b: b.printf("%s", "x"), "no value for %s"),
    "no condition": (lambda b: b.device_assert(b.tid_x, "x"), "no condition"),
    "no register": (lambda b: b.ptx("mov.b32 $0, $1;", 3, result=u32), "no value of the kernel"),
    "a number passed": (lambda b: polynomial(b.f32(1.0), 0.5), "no value of the kernel"),
    "nothing passed": (lambda b: polynomial(), "with nothing"),
    "what comes back": (lambda b: device_function(lambda b, x: 3)(b.tid_x), "gives no value"),  # type: ignore[return-value]
    "one of what comes back": (
        lambda b: device_function(lambda b, x: (x, 3.5))(b.tid_x),  # type: ignore[return-value]
        "gives no value",
    ),
    "no values at all": (lambda b: device_function(lambda b, x: ())(b.tid_x), "gives no value"),
    "a value of the kernel that is not passed": (
        lambda b: device_function(lambda inner, x, y=b.tid_x + 1: x + y)(b.tid_x),
        "of another kernel",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_at_its_line(name: str) -> None:
    wrong, text = REFUSED[name]
    b, _ = begun()
    with pytest.raises(InputError, match=text) as caught:
        wrong(b)
    assert caught.value.findings[0].place.file == __file__
    b.finish()
