"""Integers in registers, 32 lanes at a time: as arrays of a type, packed ones apart.

Layer: nvgen.sim.semantics.  PTX ISA, Fundamental Types; Packed Data Types.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr, Op
from intrinsics.modifiers import ScalarType
from nvgen.sim.threads.compile import Compiler, Getter, Maker, Setter
from nvgen.sim.threads.lane_values import unsigned
from nvgen.sim.threads.machine import Outcome, Step, Strand, Values, Warp

T = ScalarType


Integers = NDArray[np.integer]


SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def as_typed(values: Values, type_: ScalarType) -> Integers:
    """The low bits of untyped lanes, as integers of `type_`."""
    bits = type_.bits
    narrow = values.astype(unsigned(bits), copy=False)
    found: Integers = narrow.view(SIGNED[bits]) if type_.is_signed else narrow
    return found


ELEMENTS = {T.U16X2: T.U16, T.S16X2: T.S16, T.U8X4: T.U8, T.S8X4: T.S8}
"""The element types of packed types."""


def elements_of(values: Values, type_: ScalarType) -> Integers:
    """The integers in untyped lanes; of a packed type, those of the first lane first."""
    one = ELEMENTS.get(type_)
    if one is None:
        return as_typed(values, type_)
    words = np.ascontiguousarray(values.astype(np.uint32, copy=False))
    return as_typed(words.view(unsigned(one.bits)), one)


def result_of(c: Compiler, mi: MachineInstr) -> Setter:
    """The setter of a record's result register."""
    reg = mi["d"]
    assert type(reg) is int
    return c.set(reg)


def inputs(c: Compiler, mi: MachineInstr, *slots: str) -> list[Getter]:
    """Getters of operands, as untyped lanes."""
    return [c.get(mi[slot], mi.scalar_type()) for slot in slots]


def integers(
    c: Compiler, mi: MachineInstr, *slots: str, type_: ScalarType | None = None
) -> list[Callable[[Warp], Integers]]:
    """Getters of operands as integers of a type (the record's own).

    Registers of its width are viewed.
    """
    wanted = type_ or mi.scalar_type()
    return [_integer(c, mi[slot], wanted) for slot in slots]


def _integer(c: Compiler, op: Op, type_: ScalarType) -> Callable[[Warp], Integers]:
    get = c.get(op, type_)
    if type(op) is not int or c.function.regs.classes[op].bits != type_.bits:
        return lambda warp: as_typed(get(warp), type_)
    held: np.dtype[np.generic] = np.dtype(
        SIGNED[type_.bits] if type_.is_signed else unsigned(type_.bits)
    )
    return lambda warp: warp.registers[op].view(held)


def unary(compute: Callable[[Integers, int], Integers]) -> Maker:
    """The maker for a function of one integer and its width in bits; the result may be narrower."""

    def make(c: Compiler, mi: MachineInstr) -> Step:
        type_ = mi.scalar_type()
        (a,) = integers(c, mi, "a")
        write = result_of(c, mi)

        def run(strand: Strand) -> Outcome:
            write(strand, compute(a(strand.warp), type_.bits))
            return None

        return run

    return make
