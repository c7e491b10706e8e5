"""cvt from and to floating-point types, 32 lanes at a time.

Layer: nvgen.sim.semantics.  Each number is rounded once, by `ieee` or by numpy where the
conversion is exact or numpy's own.  To an integer the result is clamped to its range; a NaN becomes
0, or from f64 and to 64 bits the highest bit alone.
PTX ISA, Data Movement and Conversion Instructions: cvt.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Rounding, ScalarType
from nvgen.sim.faults import not_simulated
from nvgen.sim.semantics.arithmetic import ieee
from nvgen.sim.semantics.arithmetic.float_lanes import (
    FORMATS,
    Attributes,
    Bits,
    Doubles,
    doubles,
    element_of,
    elements,
    finishing,
    flushed,
    joined,
    rounded,
)
from nvgen.sim.threads.compile import Compiler, Getter, Maker, Setter
from nvgen.sim.threads.lane_values import unsigned
from nvgen.sim.threads.machine import Outcome, Step, Strand, Values

T = ScalarType
R = Rounding
_INTEGRAL = (R.RNI, R.RZI, R.RMI, R.RPI)
_WHOLE = {R.RNI: np.rint, R.RZI: np.trunc, R.RMI: np.floor, R.RPI: np.ceil}


def _types(mi: MachineInstr) -> tuple[ScalarType, ScalarType]:
    dtype, atype = mi.form.attributes["dtype"], mi.form.attributes["atype"]
    assert isinstance(dtype, ScalarType)
    assert isinstance(atype, ScalarType)
    return dtype, atype


def _mode(attributes: Attributes) -> Rounding:
    mode = attributes.get("rnd")
    return mode if isinstance(mode, Rounding) else R.RN


def _result(c: Compiler, mi: MachineInstr) -> tuple[Setter, int]:
    """What writes the result, and the width of its register."""
    reg = mi["d"]
    assert type(reg) is int
    return c.set(reg), c.function.regs.classes[reg].bits


def _step(get: Getter, write: Setter, compute: Callable[[Values], Bits]) -> Step:
    def run(strand: Strand) -> Outcome:
        write(strand, compute(get(strand.warp)))
        return None

    return run


# ---- between floating-point types --------------------------------------------------------------


def _between(
    source: ScalarType, to: ScalarType, attributes: Attributes
) -> Callable[[Values], Bits]:
    """Numbers of one type as those of another."""
    mode = _mode(attributes)
    finite = attributes.get("satfinite") is not None
    flushes_source = attributes.get("ftz") is not None and source is T.F32
    names = ("ftz", "sat", "relu") if to is T.F32 else ("sat", "relu")
    finish = finishing(to, {name: attributes.get(name) for name in names})

    def run(values: Values) -> Bits:
        bits = elements(values, source)
        if flushes_source:
            bits = flushed(bits, source)
        if mode in _INTEGRAL:
            whole = _integral(doubles(bits, source), mode)
            found = rounded(whole, to)
        elif mode is R.RN:
            found = rounded(doubles(bits, source), to)
        else:
            f, g = FORMATS[source], FORMATS[to]
            lanes = [ieee.convert(b, f, g, mode) for b in bits.tolist()]
            found = np.array(lanes, unsigned(to.bits))
        if finite:
            found = _finite(found, to)
        return finish(found)

    return run


def _integral(numbers: Doubles, mode: Rounding) -> Doubles:
    """Integral numbers, with the sign of what they are made of."""
    found: Doubles = np.copysign(_WHOLE[mode](numbers), numbers)
    return found


def _finite(bits: Bits, kind: ScalarType) -> Bits:
    """Infinities as the largest finite number."""
    f = FORMATS[kind]
    number = bits.dtype.type
    infinite = bits & number(f.sign - 1) == f.infinity
    return np.where(infinite, bits & number(f.sign) | number(f.largest), bits)


def between(c: Compiler, mi: MachineInstr) -> Step:
    """A number in another floating-point type, or an integral one of the same."""
    to, source = _types(mi)
    write, _ = _result(c, mi)
    return _step(c.get(mi["a"], source), write, _between(source, to, mi.form.attributes))


def to_tf32(c: Compiler, mi: MachineInstr) -> Step:
    """A float with ten bits of fraction, the others zero."""
    attributes = mi.form.attributes
    mode, finite = _mode(attributes), attributes.get("satfinite") is not None
    write, _ = _result(c, mi)
    finish = finishing(T.F32, {"relu": attributes.get("relu")})

    def lane(bits: int) -> int:
        if ieee.is_nan(bits, ieee.F32):
            return ieee.F32.nan
        found = ieee.convert(bits, ieee.F32, ieee.TF32, mode)
        if finite and ieee.is_infinite(found, ieee.TF32):
            found = found & ieee.TF32.sign | ieee.TF32.largest
        return found << 13

    def compute(values: Values) -> Bits:
        found = np.array([lane(b) for b in elements(values, T.F32).tolist()], np.uint32)
        return finish(found)

    return _step(c.get(mi["a"], T.F32), write, compute)


# ---- integers --------------------------------------------------------------------------------


def _range(type_: ScalarType) -> tuple[int, int]:
    bits = type_.bits
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_.is_signed else (0, (1 << bits) - 1)


def to_integer(c: Compiler, mi: MachineInstr) -> Step:
    """The integer that a number is rounded to, clamped to its type's range."""
    to, source = _types(mi)
    attributes = mi.form.attributes
    mode, flush = _mode(attributes), attributes.get("ftz") is not None
    write, width = _result(c, mi)
    low, high = _range(to)
    wide = source is T.F64 or to.bits == 64
    unknown = 1 << to.bits - 1 if wide else 0
    mask = (1 << width) - 1

    def lane(number: float) -> int:
        if number != number:
            return unknown
        if number in (float("inf"), float("-inf")):
            return (high if number > 0 else low) & mask
        return min(max(int(number), low), high) & mask

    def compute(values: Values) -> Bits:
        bits = elements(values, source)
        numbers = doubles(flushed(bits, source) if flush else bits, source)
        whole = _WHOLE[mode](numbers).tolist()
        return np.array([lane(n) for n in whole], unsigned(width))

    return _step(c.get(mi["a"], source), write, compute)


def from_integer(c: Compiler, mi: MachineInstr) -> Step:
    """An integer as a number, rounded once."""
    to, source = _types(mi)
    attributes = mi.form.attributes
    write, _ = _result(c, mi)
    convert = functools.partial(ieee.from_integer, to=FORMATS[to], mode=_mode(attributes))
    signed, finish = source.is_signed, finishing(to, attributes)
    top = 1 << source.bits - 1

    def compute(values: Values) -> Bits:
        numbers: list[int] = values.astype(unsigned(source.bits)).tolist()
        if signed:
            numbers = [(n ^ top) - top for n in numbers]
        found = np.array([convert(n) for n in numbers], unsigned(to.bits))
        return finish(found)

    return _step(c.get(mi["a"], source), write, compute)


# ---- pairs -----------------------------------------------------------------------------------


def pair(c: Compiler, mi: MachineInstr) -> Step:
    """Two floats in one register, the first in its upper half."""
    to, source = _types(mi)
    kind = element_of(to)
    compute = _between(source, kind, mi.form.attributes)
    high, low = (c.get(mi[slot], source) for slot in ("a", "b"))
    write, _ = _result(c, mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        both = np.concatenate([elements(low(warp), source), elements(high(warp), source)])
        write(strand, joined(compute(both), to))
        return None

    return run


_NARROW = {
    T.E4M3X2: ieee.E4M3,
    T.E5M2X2: ieee.E5M2,
    T.E2M3X2: ieee.E2M3,
    T.E3M2X2: ieee.E3M2,
    T.E2M1X2: ieee.E2M1,
}


def _shrink(source: ScalarType, to: ScalarType, attributes: Attributes) -> Callable[[Bits], Bits]:
    """Numbers in a narrow format, what is too large as the largest."""
    f, g, mode = FORMATS[source], _NARROW[to], _mode(attributes)
    keeps_positive = attributes.get("relu") is not None
    nan = 0x7F if to in (T.E4M3X2, T.E5M2X2) else g.largest

    def lane(bits: int) -> int:
        if ieee.is_nan(bits, f):
            return nan
        if keeps_positive and bits & f.sign:
            return 0
        found = ieee.convert(bits, f, g, mode)
        infinite = ieee.is_infinite(found, g)
        return found & g.sign | g.largest if infinite else found

    return lambda bits: np.array([lane(b) for b in bits.tolist()], np.uint8)


def _packed_narrow(low: Bits, high: Bits, to: ScalarType) -> Bits:
    bits = 4 if to is T.E2M1X2 else 8
    return low.astype(np.uint16) | high.astype(np.uint16) << np.uint16(bits)


def to_narrow(c: Compiler, mi: MachineInstr) -> Step:
    """Two floats in a narrow format, the first in the upper half."""
    to, source = _types(mi)
    compute = _shrink(source, to, mi.form.attributes)
    high, low = (c.get(mi[slot], source) for slot in ("a", "b"))
    write, _ = _result(c, mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        a, b = (compute(elements(get(warp), source)) for get in (low, high))
        write(strand, _packed_narrow(a, b, to))
        return None

    return run


def narrow_pair(c: Compiler, mi: MachineInstr) -> Step:
    """Two halves or bfloats in a narrow format."""
    to, source = _types(mi)
    kind = element_of(source)
    compute = _shrink(kind, to, mi.form.attributes)
    write, _ = _result(c, mi)

    def run(values: Values) -> Bits:
        low, high = np.split(compute(elements(values, source)), 2)
        return _packed_narrow(low, high, to)

    return _step(c.get(mi["a"], source), write, run)


def from_narrow(c: Compiler, mi: MachineInstr) -> Step:
    """Two numbers of a narrow format as halves or bfloats."""
    to, source = _types(mi)
    kind, f = element_of(to), _NARROW[source]
    write, _ = _result(c, mi)
    bits_each = 4 if source is T.E2M1X2 else 8
    attributes = mi.form.attributes
    if attributes.get("satfinite") is not None:
        raise not_simulated(mi.opcode)
    finish = finishing(kind, attributes)

    def grown(values: Bits) -> Bits:
        kept = (values & values.dtype.type((1 << f.bits) - 1)).tolist()
        found = [ieee.convert(b, f, FORMATS[kind], R.RN) for b in kept]
        return finish(np.array(found, np.uint16))

    def run(values: Values) -> Bits:
        whole = values.astype(np.uint16)
        halves = np.concatenate([whole, whole >> np.uint16(bits_each)])
        if f.bits == 4:
            halves = halves & np.uint16(15)
        return joined(grown(halves), to)

    return _step(c.get(mi["a"], source), write, run)


SEMANTICS: dict[str, Maker] = {
    "cvt.float": between,
    "cvt.from_bf16": between,
    "cvt.to_bf16": between,
    "cvt.to_int": to_integer,
    "cvt.bf16_to_int": to_integer,
    "cvt.from_int": from_integer,
    "cvt.bf16_from_int": from_integer,
    "cvt.tf32": to_tf32,
    "cvt.pair": pair,
    "cvt.to_narrow": to_narrow,
    "cvt.narrow_pair": narrow_pair,
    "cvt.from_narrow": from_narrow,
}
