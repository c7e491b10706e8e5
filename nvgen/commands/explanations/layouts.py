"""The layouts that `nvgen explain` knows by name: swizzling modes, register fragments.

Layer: nvgen.commands.  Shapes and strides are those of CuTe layouts, as the manual has them.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import input_error
from intrinsics.layouts.register_elements import RegisterFragment
from intrinsics.layouts.swizzling import swizzle as swizzled
from intrinsics.modifiers import LdStShape
from nvgen.commands.explanations.question import Fields, Question
from nvgen.commands.layouts.fragment_name import TensorFragment, fragment_of
from nvgen.commands.layouts.shared import SWIZZLES

_FUNCTIONS = {
    Swizzle.NONE: "Swizzle<0, 4, 3>",
    Swizzle.B32: "Swizzle<1, 4, 3>",
    Swizzle.B64: "Swizzle<2, 4, 3>",
    Swizzle.B128: "Swizzle<3, 4, 3>",
    Swizzle.B128_ATOM32: "Swizzle<2, 5, 2>",
}
"""CuTe's names for what is XORed; the last is CUTLASS's, the others are the manual's."""


def swizzle(question: Question) -> Fields:
    """A swizzling mode: its code, its function and its canonical layouts."""
    mode = SWIZZLES.get(question.text)
    if mode is None:
        raise input_error(
            "explain/swizzle", "no such swizzling mode", got=question.text,
            expected=", ".join(SWIZZLES),
        )  # fmt: skip
    pieces = mode.span // 16
    return [
        ("61-63", "code", f"{mode.value} {mode.words}"),
        ("", "function", _FUNCTIONS[mode]),
        *_exchanged(mode),
        ("", "span", f"{mode.span} bytes, {pieces} piece{'s' * (pieces > 1)} of 16"),
        ("", "repeats", f"every {mode.repeat} bytes; the alignment for a base offset of 0"),
        *_canonical(mode, pieces),
    ]


def _exchanged(mode: Swizzle) -> Fields:
    """Which bits of an address are exchanged by XOR with which, as the addresses show."""
    flipped = swizzled(1 << np.arange(4, 14, dtype=np.int64), mode)
    pairs = [
        (low, high)
        for high, address in enumerate(flipped.tolist(), 4)
        for low in range(4, high)
        if address >> low & 1
    ]
    found = [(str(low), "address bit", f"bit {low} XOR bit {high}") for low, high in sorted(pairs)]
    return found or [("", "address bits", "as they are")]


def _canonical(mode: Swizzle, pieces: int) -> Fields:
    """The canonical layouts, T elements being 16 bytes; PTX ISA, Canonical Layouts."""
    t = ("", "T", "elements in 16 bytes, which strides are counted in")
    match mode:
        case Swizzle.NONE:
            return [
                ("", "K-major", "((8,m),(T,2k)):((1T,SBO),(1,LBO))"),
                ("", "MN-major", "((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))"),
                t,
            ]
        case Swizzle.B32 | Swizzle.B64 | Swizzle.B128:
            return [
                ("", "K-major", f"((8,m),(T,2k)):(({pieces}T,SBO),(1,T))"),
                ("", "MN-major", f"((T,{pieces},m),(8,k)):((1,T,LBO),({pieces}T,SBO))"),
                t,
            ]
        case Swizzle.B128_ATOM32:
            return [
                ("", "K-major", "not documented"),
                ("", "MN-major", "((T,8,m),(4,k)):((1,T,LBO),(8T,SBO)), of 32-bit elements alone"),
                t,
            ]
    assert_never(mode)


# ---- registers -------------------------------------------------------------------------------

_FORMULAS = {
    LdStShape.S32X32B: ("t", "r"),
    LdStShape.S16X64B: ("t // 4 + 8 * (t % 2)", "2 * r + t // 2 % 2"),
    LdStShape.S16X128B: ("t // 4 + 8 * (r % 2)", "4 * (r // 2) + t % 4"),
    LdStShape.S16X256B: (
        "t // 4 + 8 * (r // 2 % 2)",
        "8 * (r // 4) + 2 * (t % 4) + r % 2",
    ),
    LdStShape.S16X32BX2: ("t % 16", "r + t // 16 * split"),
}
"""Lane and column of register r of thread t; `split` is the immediate operand."""


def fragment(question: Question) -> Fields:
    """A fragment: how many registers, and which cell or element each one is."""
    found = fragment_of(question.options.value, question.options, "explain")
    return _registers(found) if isinstance(found, RegisterFragment) else _cells(found)


def _registers(found: RegisterFragment) -> Fields:
    threads, registers, elements = found.row.shape
    rows, columns = found.shape
    row, column = found.place
    few = found.threads != ()
    start = f"bit {found.low}" if few else "the lowest bits"
    several = [("", "elements", f"e = 0 to {elements - 1} of {found.bits} bits in a register, "
                f"from {start} on")] if elements > 1 or few else []  # fmt: skip
    holders = ", ".join(map(str, found.threads)) if few else f"0 to {threads - 1}"
    return [
        ("", "registers", f"r = 0 to {registers - 1} in each thread t = {holders}"),
        *several,
        ("", "rows", f"{rows}" + (f"; {found.note}" if found.note else "")),
        ("", "columns", f"{columns}"),
        ("", "row", row),
        ("", "column", column),
    ]


def _cells(found: TensorFragment) -> Fields:
    """A shape of tcgen05.ld and .st."""
    shape, registers, pack = found.shape, found.registers, found.pack
    lane, column = _FORMULAS[shape]
    lanes = 32 if shape is LdStShape.S32X32B else 16
    wide = lanes == 32 or shape is LdStShape.S16X32BX2
    columns = registers if wide else 2 * registers
    halves = 2 if pack else 1
    fields = [
        ("", "registers", f"r = 0 to {registers - 1} in each thread t = 0 to 31"),
        ("", "lanes", f"{lanes}"),
        ("", "columns", f"{columns * halves}" + (" twice" if lanes == 16 and wide else "")),
        ("", "lane", lane),
    ]
    if not pack:
        return [*fields, ("", "column", column)]
    halves_apart = shape is LdStShape.S16X32BX2  # by the operand, as it is
    low = "2 * r + t // 16 * split" if halves_apart else f"2 * ({column})"
    return [
        *fields,
        ("0-15", "column", low),
        ("16-31", "column", f"{low} + 1"),
        ("", "of a cell", "bits 0 to 15"),
    ]
