"""A matrix in registers as bytes: the A of a multiply in fp8.

Layer: nvgen.fragments.  K is in the order of the threads' own elements, so that nothing is
exchanged; B is stored in the same order.  PTX ISA, Register Fragments of wgmma.mma_async; cvt.
"""

from __future__ import annotations

from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.layouts.register_layout import FragmentLayout, warp_layout, warpgroup_layout
from intrinsics.modifiers import ScalarType
from nvgen.calling.refusals import refuse
from nvgen.fragments.layouts import OfThreads
from nvgen.instructions.roles import WARP
from nvgen.llvm.ir_text import vector_value
from nvgen.shared_memory.allocations import SharedMemory
from nvgen.values.number_types import narrow_word
from nvgen.values.numbers import Int, Number
from nvgen.values.vectors import Vector

_STEP = 32
"""Columns of an A of bytes in one multiply."""

_WORDS = ((0, 4), (2, 6), (8, 12), (10, 14))
"""The first columns of the two pairs in each register of such an A, of the 16 columns of a step.

Eight columns are a pair of one row and a pair of the row eight further down.
"""

_BYTES = (ElementType.E4M3, ElementType.E5M2)


def as_bytes(self: OfThreads, dtype: ElementType) -> Vector:
    """Round f32 to fp8, as the registers of A of another multiply: four for 32 columns.

    K is in the order in which `transpose_bytes` stores B; `warpgroup_operand` makes A of them.
    Numbers beyond the type saturate.

    Raises: InputError for other types, and columns that are not a multiple of 32.
    """
    b, vector, layout = self.builder, self.vector, self.holders.layout
    known = vector.type is ScalarType.F32 and _is_of_a_multiply(layout)
    if not known or dtype not in _BYTES or layout.columns % _STEP:
        expected = "sums of one multiply's rows in f32, multiples of 32 columns; e4m3 or e5m2"
        raise refuse("no bytes of A", got=f"{self.words} to {dtype.value}", expected=expected)
    sums = list(vector)
    steps = range(0, len(sums), len(_WORDS) * 4)
    return b.words([_word(b, sums, step, pair, dtype) for step in steps for pair in _WORDS])


def _is_of_a_multiply(layout: FragmentLayout) -> bool:
    """Whether the matrix is what one multiply of a warp or a warpgroup leaves."""
    if layout.threads == WARP:
        return layout == warp_layout(16, layout.columns)
    return layout == warpgroup_layout(64, layout.columns, 32)


def _word(
    b: SharedMemory, sums: list[Number], step: int, pair: tuple[int, int], dtype: ElementType
) -> Int:
    """Two pairs of adjacent elements in a register, the first one in its low bytes."""
    type_ = ScalarType(dtype.value)
    values = ([sums[step + at + i].value for i in (0, 1)] for at in pair)
    halves = (narrow_word(sums[step].builder, low, high, type_) for low, high in values)
    word = vector_value(b.at_caller(), ir.IntType(16), 2, halves)
    return Int(b, b.at_caller().bitcast(word, ir.IntType(32)))
