"""Floating-point numbers in registers, 32 lanes at a time: formats, packing, rounding, modifiers.

Layer: nvgen.sim.semantics.  A value is an array with the bits of 32 lanes; of a packed type 64
numbers, those of the low halves first.  Results are rounded once, as in IEEE 754, and a NaN among
them is canonical: all bits but the sign are set.  PTX ISA, Floating Point Instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Rounding, ScalarType
from intrinsics.row import Attribute
from nvgen.sim.semantics.arithmetic import ieee
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.lane_values import unsigned
from nvgen.sim.threads.machine import Outcome, Step, Strand, Values

T = ScalarType


R = Rounding


Bits: TypeAlias = NDArray[np.unsignedinteger]


Doubles: TypeAlias = NDArray[np.float64]


Attributes: TypeAlias = Mapping[str, Attribute]


Compute: TypeAlias = Callable[..., Bits]


FORMATS = {T.F16: ieee.F16, T.BF16: ieee.BF16, T.F32: ieee.F32, T.F64: ieee.F64}


_PACKED = {T.F16X2: T.F16, T.BF16X2: T.BF16, T.F32X2: T.F32}


# ---- lanes -----------------------------------------------------------------------------------


def element_of(type_: ScalarType) -> ScalarType:
    """The element type of a packed type; any other type itself."""
    return _PACKED.get(type_, type_)


def elements(values: Values, type_: ScalarType) -> Bits:
    """The elements in registers, as bits: of a packed type the low halves first, then the high
    ones.
    """
    whole: Bits = values.astype(unsigned(type_.bits), copy=False)
    if type_ not in _PACKED:
        return whole
    part = unsigned(type_.bits // 2)
    half = whole.dtype.type(type_.bits // 2)
    return np.concatenate([whole.astype(part), (whole >> half).astype(part)])


def joined(bits: Bits, type_: ScalarType) -> Bits:
    """The inverse of `elements`: registers from the bits of their elements."""
    if type_ not in _PACKED:
        return bits
    low, high = np.split(bits.astype(unsigned(type_.bits)), 2)
    found: Bits = low | high << low.dtype.type(type_.bits // 2)
    return found


def doubles(bits: Bits, kind: ScalarType) -> Doubles:
    """Numbers of any format as doubles, which represent each of them exactly."""
    if kind is T.BF16:
        bits, kind = bits.astype(np.uint32) << np.uint32(16), T.F32
    found: Doubles = bits.view(_NATIVE[kind]).astype(np.float64)
    return found


_NATIVE = {T.F16: np.float16, T.F32: np.float32, T.F64: np.float64}
"""The types of numpy for formats; it has none for bfloat16."""


def rounded(numbers: Doubles, kind: ScalarType) -> Bits:
    """Doubles rounded once, to nearest, with canonical NaNs."""
    match kind:
        case T.F64:
            found: Bits = numbers.view(np.uint64)
        case T.F32:
            found = numbers.astype(np.float32).view(np.uint32)
        case T.F16:
            found = numbers.astype(np.float16).view(np.uint16)
        case _:
            found = _bfloats(numbers)
    return np.where(np.isnan(numbers), found.dtype.type(FORMATS[kind].nan), found)


def _bfloats(numbers: Doubles) -> Bits:
    """Rounds to odd as a float first, so that the second rounding sees no false tie."""
    near = numbers.astype(np.float32)
    bits = near.view(np.uint32)
    back = near.astype(np.float64)
    bits = bits - (np.abs(back) > np.abs(numbers)).astype(np.uint32)
    bits = bits | ((back != numbers) & ~np.isnan(numbers)).astype(np.uint32)
    odd = bits >> np.uint32(16) & np.uint32(1)
    found: Bits = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    return found


def flushed(bits: Bits, kind: ScalarType) -> Bits:
    """Subnormal numbers replaced by zeros of their sign."""
    f = FORMATS[kind]
    number = bits.dtype.type
    subnormal = bits & number(f.infinity) == 0
    return np.where(subnormal, bits & number(f.sign), bits)


def is_nan(bits: Bits, kind: ScalarType) -> NDArray[np.bool_]:
    """Which bit patterns are NaN."""
    f = FORMATS[kind]
    found: NDArray[np.bool_] = bits & bits.dtype.type(f.sign - 1) > f.infinity
    return found


def one_by_one(compute: Callable[..., int]) -> Compute:
    """A computation on Python integers, applied to each lane."""

    def run(*operands: Bits) -> Bits:
        dtype = operands[0].dtype
        return np.array([compute(*lane) for lane in zip(*(o.tolist() for o in operands),
                                                       strict=True)], dtype)  # fmt: skip

    return run


def finishing(kind: ScalarType, attributes: Attributes) -> Callable[[Bits], Bits]:
    """The effect of .ftz, .sat and .relu on a result."""
    f = FORMATS[kind]
    flushes, saturates, keeps_positive = (
        attributes.get(name) is not None for name in ("ftz", "sat", "relu")
    )

    def finish(bits: Bits) -> Bits:
        number = bits.dtype.type
        if flushes:
            bits = flushed(bits, kind)
        if saturates:
            one = number(f.bias << f.fraction)
            bits = np.where(is_nan(bits, kind) | (bits & number(f.sign) != 0), number(0), bits)
            bits = np.minimum(bits, one)
        if keeps_positive:
            nan = is_nan(bits, kind)
            negative = bits & number(f.sign) != 0
            bits = np.where(nan, number(f.nan), np.where(negative, number(0), bits))
        return bits

    return finish


def operation(factory: Callable[[ScalarType, Attributes], Compute], *slots: str) -> Maker:
    """The maker for an instruction whose operands and result have one type."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        attributes = mi.form.attributes
        type_ = attributes["type"]
        assert isinstance(type_, ScalarType)
        given = [slot for slot in slots if mi.get(slot) is not None]
        getters = [c.get(mi[slot], type_) for slot in given]
        result = mi["d"]
        assert type(result) is int
        write = c.set(result)
        kind = element_of(type_)
        compute = factory(kind, attributes)
        flush = attributes.get("ftz") is not None
        finish = finishing(kind, attributes)

        def run(strand: Strand) -> Outcome:
            operands = [elements(get(strand.warp), type_) for get in getters]
            if flush:
                operands = [flushed(o, kind) for o in operands]
            found = finish(compute(*operands))
            write(strand, joined(found, type_))
            return None

        return run

    return make


def rounding_of(attributes: Attributes) -> Rounding:
    """The rounding mode of an instruction; to nearest even where it names none."""
    mode = attributes.get("rnd")
    return mode if isinstance(mode, Rounding) else R.RN
