"""Rounding modes, least and greatest, flushing and approximations of nvvm, as PTX says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import nvgen
from intrinsics.findings import SelectionError
from tests.oracle import exact_floats as exact
from tests.oracle.exact_floats import KINDS, Kind, Number, read, write
from tests.oracle.float_runs import (
    ARITHMETIC,
    FLUSHING,
    LETTER,
    SUFFIX,
    TARGET,
    Words,
    _fma,
    _near_ties,
    _only_simulated,
    compare,
    edges,
    kernel,
    on_device,
    some,
    triples,
)

pytestmark = pytest.mark.gpu


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


# ---- what is not selected ------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "function"), [("sin.f32", "__nv_sinf"), ("exp.f64", "__nv_exp"),
                                                ("log2.f32", "__nv_log2f")])  # fmt: skip
def test_what_needs_libdevice_names_its_function(name: str, function: str):
    type_ = "float" if name.endswith("32") else "double"
    text = kernel(type_, f"%r = call {type_} @llvm.{name}({type_} %a)", type_)
    with pytest.raises(SelectionError, match=function):
        nvgen.compile(text, target=TARGET)
