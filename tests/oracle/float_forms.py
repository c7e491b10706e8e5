"""Floating-point statements, legal and illegal, enumerated from the PTX manual.

As :mod:`tests.oracle.legality_forms`, whose helpers it uses: nothing here says which statement is
legal, and nothing comes from nvgen's tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import (
    REGISTERS,
    SOME,
    garble,
    pairwise,
    shuffle,
    spoil,
    statement,
    unique,
)

HOME: dict[str, str] = {
    ".f16": "%h", ".bf16": "%h", ".f32": "%f", ".f64": "%fd", ".f16x2": "%r", ".bf16x2": "%r",
    ".f32x2": "%rd",
}  # fmt: skip
"""The registers of a type."""

PLACES: tuple[str, ...] = ("", ".rn", ".rz", ".rm", ".rp", ".rni", ".approx")
LITERALS: tuple[str, ...] = ("0f3F800000", "0d3FF0000000000000", "1.5", "1", "0x3C00")


def _same(op: str, kind: str, count: int) -> str:
    """A statement whose operands are all registers of one type."""
    return statement(op + kind, *(f"{HOME[kind]}{n + 1}" for n in range(count)))


def arithmetic() -> list[str]:
    """add sub mul fma mad ("Floating Point", "Half Precision" and "Mixed Precision Instructions").

    Rounding x ftz x saturation x type in full for sums and products, for fma with relu and oob
    too; mixed precision in full; literals and a register of each class in each place.
    """
    out = []
    product = itertools.product
    for op, places, ftz, sat, kind in product(
        ("add", "sub", "mul"), PLACES, ("", ".ftz"), ("", ".sat"), HOME
    ):
        out.append(_same(op + places + ftz + sat, kind, 3))
    ends = ("", ".sat", ".relu", ".oob", ".oob.relu", ".sat.relu")
    for places, ftz, end, kind in product(PLACES[:6], ("", ".ftz"), ends, HOME):
        out.append(_same("fma" + places + ftz + end, kind, 4))
    for places, ftz, sat, kind in product(
        ("", ".rn", ".rz"), ("", ".ftz"), ("", ".sat"), (".f16", ".f32", ".f64", ".bf16")
    ):
        out.append(_same("mad" + places + ftz + sat, kind, 4))
    for op, places, ftz, sat, kind in product(
        ("add", "sub", "mul", "fma"), PLACES[:5], ("", ".ftz"), ("", ".sat"), (".f16", ".bf16")
    ):
        factor = "%h3" if op == "fma" else ""
        out.append(statement(f"{op}{places}{ftz}{sat}.f32{kind}", "%f1", "%h2", factor, "%f4"))
    for kind, literal in product(HOME, LITERALS):
        reg = HOME[kind]
        out.append(statement(f"add{kind}", f"{reg}1", f"{reg}2", literal))
        out.append(statement(f"mul{kind}", f"{reg}1", literal, f"{reg}2"))
        out.append(statement(f"fma.rn{kind}", f"{reg}1", f"{reg}2", f"{reg}3", literal))
    for kind, register, place in product(HOME, REGISTERS, range(3)):
        operands = [f"{HOME[kind]}{n + 1}" for n in range(3)]
        operands[place] = register
        out.append(statement(f"mul.rn{kind}", *operands))
    out += spoil("add.rn.f32", ("%f1", "%f2", "%f3"))
    out += spoil("mul.f64", ("%fd1", "%fd2", "%fd3"), SOME)
    out += spoil("fma.rn.f16x2", ("%r1", "%r2", "%r3", "%r4"), SOME)
    out += spoil("fma.rn.bf16", ("%h1", "%h2", "%h3", "%h4"), SOME)
    out += spoil("add.f32.f16", ("%f1", "%h2", "%f3"), SOME)
    out += shuffle("add", [".rn", ".ftz", ".sat", ".f32"], "%f1", "%f2", "%f3")
    out += shuffle("fma", [".rn", ".relu", ".bf16"], "%h1", "%h2", "%h3", "%h4")
    out += garble("add.f32", ("%f1", "%f2", "%f3"))
    return unique(out)


NARROW = ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4", "e2m1p4x4", "ue8m0x4")


def _narrow(op: str, modifiers: str, types: tuple[str, ...]) -> str:
    """A statement on four narrow numbers: those of FP4 without padding are in 16 bits."""
    d, *sources = types
    homes = ["%h" if t == "e2m1x4" else "%r" for t in types]
    last = ["%r4"] if op != "mul" else []
    registers = [f"{home}{n + 1}" for n, home in enumerate(homes)] + last
    return statement(f"{op}{modifiers}.{'.'.join((d, *sources))}", *registers)


def narrow_arithmetic() -> list[str]:
    """add sub mul fma ("alternate floating-point formats", PTX ISA 9.4).

    Types in full; modifiers, literals and a register of each class in each place for some.
    """
    out = []
    product = itertools.product
    counts = {"add": 2, "sub": 2, "mul": 3, "fma": 3}
    for op, count in counts.items():
        out += [_narrow(op, ".rn.satfinite", types) for types in product(NARROW, repeat=count)]
        some = ("e4m3x4", "e2m1x4", "e5m2x4")[:count]
        for places, end in product(PLACES, ("", ".satfinite", ".sat", ".relu", ".ftz")):
            out.append(_narrow(op, places + end, some))
    for register, place in product((*REGISTERS, "7", "1.0"), range(4)):
        operands = ["%r1", "%h2", "%r3", "%r4"]
        operands[place] = register
        out.append(statement("fma.rn.e4m3x4.e2m1x4.e5m2x4", *operands))
    out += spoil("mul.rn.e4m3x4.e2m1x4.e5m2x4", ("%r1", "%h2", "%r3"), SOME)
    return unique(out)


def approximations() -> list[str]:
    """div rcp sqrt rsqrt sin cos lg2 ex2 tanh neg abs copysign testp.

    Operation x rounding or approximation x ftz x type in full.
    """
    out = []
    product = itertools.product
    kinds = tuple(k for k in HOME if k != ".f32x2")
    for places, ftz, sat, kind in product(
        (*PLACES, ".full"), ("", ".ftz"), ("", ".sat"), (".f16", ".f32", ".f64", ".bf16")
    ):
        out.append(_same("div" + places + ftz + sat, kind, 3))
    for op, places, ftz, kind in product(
        ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"), PLACES, ("", ".ftz"), kinds
    ):
        out.append(_same(op + places + ftz, kind, 2))
    for op, places, ftz, kind in product(("neg", "abs"), ("", ".rn", ".sat"), ("", ".ftz"), HOME):
        out.append(_same(op + places + ftz, kind, 2))
    for kind in HOME:
        out.append(_same("copysign", kind, 3))
        out.append(_same("copysign.ftz", kind, 3))
        asked = ("finite", "infinite", "number", "notanumber", "normal", "subnormal", "nan")
        tests = ["", *(f".{a}" for a in asked)]
        out += [statement(f"testp{test}{kind}", "%p1", f"{HOME[kind]}2") for test in tests]
    for literal in LITERALS:
        out += [statement("rcp.approx.f32", "%f1", literal), statement("neg.f64", "%fd1", literal)]
        out += [statement("testp.normal.f32", "%p1", literal),
                statement("copysign.f32", "%f1", literal, "%f2")]  # fmt: skip
    out += spoil("div.rn.f32", ("%f1", "%f2", "%f3"), SOME)
    out += spoil("sqrt.approx.ftz.f32", ("%f1", "%f2"), SOME)
    out += spoil("neg.bf16x2", ("%r1", "%r2"), SOME)
    out += spoil("abs.f16", ("%h1", "%h2"), SOME)
    out += spoil("testp.finite.f64", ("%p1", "%fd2"), SOME)
    out += spoil("ex2.approx.f32", ("%f1", "%f2"), SOME)
    out += shuffle("rcp", [".approx", ".ftz", ".f64"], "%fd1", "%fd2")
    out += shuffle("tanh", [".approx", ".f16x2"], "%r1", "%r2")
    return unique(out)


def extremes_comparisons() -> list[str]:
    """min max setp of floating-point numbers.

    min: ftz x NaN x xorsign x abs x relu x type x two or three operands in full; setp: comparison x
    ftz x type x one or two results; combiners in pairs.
    """
    out = []
    product = itertools.product
    for op, ftz, nan, sign, relu, kind, count in product(
        ("min", "max"), ("", ".ftz"), ("", ".NaN"), ("", ".xorsign.abs", ".abs", ".xorsign"),
        ("", ".relu"), HOME, (3, 4),
    ):  # fmt: skip
        if op == "min" or not relu:
            out.append(_same(op + ftz + nan + sign + relu, kind, count))
    compares = (".eq", ".ne", ".lt", ".le", ".gt", ".ge", ".lo", ".hs", ".equ", ".neu", ".ltu",
                ".leu", ".gtu", ".geu", ".num", ".nan", ".nosuch")  # fmt: skip
    for compare, ftz, kind, results in product(compares, ("", ".ftz"), HOME, ("%p1", "%p1|%p2")):
        reg = HOME[kind]
        out.append(statement(f"setp{compare}{ftz}{kind}", results, f"{reg}2", f"{reg}3"))
    for compare, combine, ftz, kind, results, third in pairwise(
        compares[:-1], ("", ".and", ".or", ".xor", ".nand"), ("", ".ftz"), tuple(HOME),
        ("%p1", "%p1|%p2", "_|%p2", "%p1|_"), ("", "%p3", "!%p3", "1"),
    ):  # fmt: skip
        reg = HOME[kind]
        op = f"setp{compare}{combine}{ftz}{kind}"
        out.append(statement(op, results, f"{reg}2", f"{reg}3", third))
    for kind, literal in product(HOME, LITERALS):
        reg = HOME[kind]
        out.append(statement(f"setp.lt{kind}", "%p1", f"{reg}1", literal))
        out.append(statement(f"setp.gtu{kind}", "%p1", literal, f"{reg}1"))
        out.append(statement(f"max{kind}", f"{reg}1", f"{reg}1", literal))
        out.append(statement(f"selp{kind}", f"{reg}1", literal, literal, "%p1"))
    for kind, register in product(HOME, REGISTERS):
        out.append(statement(f"setp.eq{kind}", "%p1", register, register))
        out.append(statement(f"min{kind}", register, register, register))
    out += spoil("min.NaN.f32", ("%f1", "%f2", "%f3"), SOME)
    out += spoil("max.f32", ("%f1", "%f2", "%f3", "%f4"), SOME)
    out += spoil("setp.ltu.f32", ("%p1|%p2", "%f1", "%f2"), SOME)
    out += spoil("setp.num.or.f16x2", ("%p1|%p2", "%r1", "%r2", "!%p3"), SOME)
    out += shuffle("max", [".ftz", ".NaN", ".xorsign", ".abs", ".f16x2"], "%r1", "%r2", "%r3")
    return unique(out)


CVT_REGISTERS = {
    ".u8": "%h", ".s8": "%h", ".u16": "%h", ".s16": "%h", ".u32": "%r", ".s32": "%r",
    ".u64": "%rd", ".s64": "%rd", **HOME, ".tf32": "%r",
}  # fmt: skip


def conversions() -> list[str]:
    """cvt from and to floating-point types ("Data Movement and Conversion Instructions: cvt").

    Rounding x ftz x saturation x both types in full where one is floating-point, with the last
    places beside `.rn` and the integral roundings beside `.rni` on a sample; the packed and the
    narrow formats in full; the class of each register.
    """
    product = itertools.product
    floats = (".f16", ".bf16", ".f32", ".f64")
    whole = (".u8", ".s16", ".u32", ".s64")
    out = []
    ends = ("", ".sat", ".relu", ".satfinite", ".relu.satfinite", ".sat.relu")
    for places, ftz, end, to, source in product(
        ("", ".rn", ".rz", ".rp", ".rni", ".rmi", ".rna"), ("", ".ftz"), ends,
        (*floats, ".tf32", *whole), (*floats, *whole),
    ):  # fmt: skip
        if {to, source} <= {*whole}:
            continue
        op = f"cvt{places}{ftz}{end}{to}{source}"
        out.append(statement(op, CVT_REGISTERS[to] + "1", CVT_REGISTERS[source] + "2"))
    return unique(out + _packed_conversions() + _conversion_operands())


def _packed_conversions() -> list[str]:
    product = itertools.product
    out = []
    ends = ("", ".relu", ".satfinite", ".relu.satfinite", ".satfinite.relu")
    for places, ftz, end, to, more in product(
        ("", ".rn", ".rz", ".rm", ".rna", ".rs"), ("", ".ftz"), ends, (".f16x2", ".bf16x2"),
        ("", "%r4", "5"),
    ):  # fmt: skip
        out.append(statement(f"cvt{places}{ftz}{end}{to}.f32", "%r1", "%f2", "%f3", more))
    ends = ("", ".relu", ".satfinite", ".satfinite.relu")  # type: ignore[assignment]
    for places, end, narrow in product(
        ("", ".rn", ".rz", ".rp", ".rs"), ends,
        (".e4m3x2", ".e5m2x2", ".e2m3x2", ".e3m2x2", ".e2m1x2", ".ue8m0x2", ".e4m3"),
    ):  # fmt: skip
        reg = "%c" if narrow == ".e2m1x2" else "%h"
        op = f"cvt{places}{end}"
        out.append(statement(f"{op}{narrow}.f32", f"{reg}1", "%f2", "%f3"))
        for pair in (".f16x2", ".bf16x2"):
            out.append(statement(f"{op}{narrow}{pair}", f"{reg}1", "%r2"))
            out.append(statement(f"{op}{pair}{narrow}", "%r1", f"{reg}2"))
    return out


def _conversion_operands() -> list[str]:
    product = itertools.product
    out = []
    for op, to, source in (
        ("cvt.rn", ".f16", ".f32"), ("cvt", ".f32", ".f16"), ("cvt.rzi", ".s32", ".f32"),
        ("cvt.rzi", ".u8", ".f32"), ("cvt.rn", ".f32", ".s16"), ("cvt.rn", ".f64", ".u64"),
        ("cvt.rn", ".f32", ".f64"), ("cvt.rn", ".bf16", ".f32"), ("cvt", ".f32", ".bf16"),
        ("cvt.rna", ".tf32", ".f32"), ("cvt.rmi", ".f16", ".f16"), ("cvt.rzi", ".s64", ".bf16"),
        ("cvt", ".f64", ".f32"), ("cvt.rpi", ".u32", ".f64"),
    ):  # fmt: skip
        for register in REGISTERS:
            out.append(statement(op + to + source, register, CVT_REGISTERS[source] + "2"))
            out.append(statement(op + to + source, CVT_REGISTERS[to] + "1", register))
        out += [statement(op + to + source, CVT_REGISTERS[to] + "1", x) for x in LITERALS]
    for register, (op, *operands) in product(
        REGISTERS,
        (("cvt.rn.f16x2.f32", "%r1", "%f2", "%f3"), ("cvt.rz.bf16x2.f32", "%r1", "%f2", "%f3"),
         ("cvt.rn.satfinite.e4m3x2.f32", "%h1", "%f2", "%f3"),
         ("cvt.rn.satfinite.e5m2x2.f16x2", "%h1", "%r2"), ("cvt.rn.f16x2.e4m3x2", "%r1", "%h2"),
         ("cvt.rn.satfinite.e2m1x2.f32", "%c1", "%f2", "%f3"),
         ("cvt.rn.bf16x2.ue8m0x2", "%r1", "%h2"), ("cvt.rs.f16x2.f32", "%r1", "%f2", "%f3", "%r4")),
    ):  # fmt: skip
        for place in range(len(operands)):
            changed = [*operands]
            changed[place] = register
            out.append(statement(op, *changed))
    out += spoil("cvt.rn.relu.f16x2.f32", ("%r1", "%f2", "%f3"), SOME)
    out += spoil("cvt.rzi.s32.f32", ("%r1", "%f2"), SOME)
    out += spoil("cvt.rn.satfinite.e4m3x2.f16x2", ("%h1", "%r2"), SOME)
    out += shuffle("cvt", [".rn", ".satfinite", ".relu", ".e4m3x2.f32"], "%h1", "%f1", "%f2")
    out += shuffle("cvt", [".rn", ".f32", ".s32"], "%f1", "%r1")
    return out


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "float arithmetic": arithmetic,
    "narrow float arithmetic": narrow_arithmetic,
    "float approximations": approximations,
    "float min/max/setp": extremes_comparisons,
    "float conversions": conversions,
}
