"""A matrix in the registers of a warp or a warpgroup, as a table and in words.

Layer: intrinsics (numpy).  Input: the name of a fragment, which begins with its instruction:

    ldmatrix.m8n8.x4.trans    stmatrix.m16n8.x2    mma.m16n8k16.a.f16    mma.m16n8k16.d.f32
    wgmma.d.n96.f32           wgmma.a.f16

Output: where each element of each register lies, and the formula of that.  Rows of ldmatrix and
stmatrix are lines of memory: line i is at the address that thread i gives.  PTX ISA, ldmatrix;
stmatrix; Matrix Fragments for mma; Register Fragments and Shared Memory Matrix Layouts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrinsics.fragments_matrix import LINE, matrix_bytes
from intrinsics.fragments_mma import fragment_a, fragment_b, fragment_c
from intrinsics.matrix import MatrixNum, MatrixShape
from intrinsics.mma_sync import MmaShape
from intrinsics.wgmma_fragments import a_fragment, accumulator_fragment

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RegisterFragment:
    """Where elements lie: two arrays of threads by registers by elements of a register.

    `place` are the formulas of row and column of element e of register r of thread t; `across` and
    `down` say what columns and rows are, and `note` what there is to know of them.
    """

    title: str
    row: Indices
    column: Indices
    bits: int
    place: tuple[str, str]
    down: str
    across: str
    note: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns the matrix has."""
        return int(self.row.max()) + 1, int(self.column.max()) + 1


EXAMPLES = (
    "ldmatrix.m8n8.x4.trans, stmatrix.m16n8.x2, mma.m16n8k16.a.f16, mma.m16n8k16.d.f32, "
    "wgmma.d.n96.f32, wgmma.a.f16"
)
"""One name of each kind."""

_MATRIX = re.compile(r"(ld|st)matrix\.(m\d+n\d+)(?:\.(x\d))?(\.trans)?")
_WGMMA_D = re.compile(r"wgmma\.d\.n(\d{1,3})(?:\.(f16|f32|s32))?")
_WGMMA_A = re.compile(r"wgmma\.a\.([a-z]+\d\w*)")
_MMA = re.compile(r"mma\.(m\d+n8k\d+)\.([abcd])\.([a-z]+\d+\w*)")
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}


def named_fragment(name: str) -> RegisterFragment | None:
    """The fragment called `name`; None where there is none."""
    text = name.lstrip(".")
    if match := _MATRIX.fullmatch(text):
        return _matrix(match[1], match[2], match[3] or "x1", transposed=match[4] is not None)
    if match := _MMA.fullmatch(text):
        return _mma(match[1], match[2], match[3])
    if match := _WGMMA_D.fullmatch(text):
        return _accumulators(int(match[1]), 16 if match[2] == "f16" else 32, text)
    if match := _WGMMA_A.fullmatch(text):
        return _wgmma_a(_BITS.get(match[1], 0), text)
    return None


# ---- ldmatrix and stmatrix -------------------------------------------------------------------

_SHAPES = {
    "ld": (MatrixShape.M8N8, MatrixShape.M8N16, MatrixShape.M16N16),
    "st": (MatrixShape.M8N8, MatrixShape.M16N8),
}


def _matrix(verb: str, shape: str, num: str, *, transposed: bool) -> RegisterFragment | None:
    found = next((s for s in _SHAPES[verb] if s.value == shape), None)
    number = next((n for n in MatrixNum if n.value == num), None)
    if found is None or number is None or (found.lines == LINE and number is MatrixNum.X4):
        return None
    turned = transposed or found in (MatrixShape.M16N16, MatrixShape.M16N8)
    if turned and found is MatrixShape.M8N16:
        return None
    size = 2 if found is MatrixShape.M8N8 else 1
    line, byte = matrix_bytes(found, number.count, transposed=turned)
    registers = found.registers * number.count
    shaped = (32, registers, 4 // size)
    name = f"{verb}matrix.{shape}.{num}{'.trans' * turned}"
    return RegisterFragment(
        f"registers of {name}",
        line[:, ::size].reshape(shaped),
        byte[:, ::size].reshape(shaped) // size,
        8 * size,
        _FORMULAS[found, turned],
        "line",
        f"element of {8 * size} bits",
        "line i lies at the address that thread i gives",
    )


_FORMULAS = {
    (MatrixShape.M8N8, False): ("8 * r + t // 4", "2 * (t % 4) + e"),
    (MatrixShape.M8N8, True): ("8 * r + 2 * (t % 4) + e", "t // 4"),
    (MatrixShape.M8N16, False): ("8 * r + t // 4", "4 * (t % 4) + e"),
    (MatrixShape.M16N16, True): ("16 * (r // 2) + 4 * (t % 4) + e", "t // 4 + 8 * (r % 2)"),
    (MatrixShape.M16N8, True): ("8 * r + 2 * (t % 4) + e % 2", "t // 4 + 8 * (e // 2)"),
}

# ---- mma ------------------------------------------------------------------------------------

_FACTORS = {
    **_BITS,
    **dict.fromkeys(("s4", "u4"), 4),
    "f64": 64,
}
_SUMS = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}
_SUMMED_IN = {
    **dict.fromkeys(("f16", "e4m3", "e5m2"), ("f16", "f32")),
    **dict.fromkeys(("bf16", "tf32"), ("f32",)),
    "f64": ("f64",),
}
"""Types of sums; those of integers and bits are s32."""

_KINDS = {
    MmaShape.M16N8K4: ("tf32", "f64"),
    MmaShape.M16N8K8: ("f16", "bf16", "tf32", "f64"),
    MmaShape.M16N8K16: ("f16", "bf16", "e4m3", "e5m2", "s8", "u8", "f64"),
    MmaShape.M16N8K32: ("e4m3", "e5m2", "s8", "u8", "s4", "u4"),
    MmaShape.M16N8K64: ("s4", "u4"),
    MmaShape.M8N8K4: ("f64",),
    MmaShape.M8N8K16: ("s8", "u8"),
    MmaShape.M8N8K32: ("s4", "u4"),
    MmaShape.M8N8K128: ("b1",),
    MmaShape.M16N8K128: ("b1",),
    MmaShape.M16N8K256: ("b1",),
}
"""Which elements a dense multiply of a shape has; m8n8k4 of f16 has quarters of warps instead."""


def _mma(shape: str, matrix: str, type_: str) -> RegisterFragment | None:
    found = next((s for s in MmaShape if s.value == shape), None)
    if found is None:
        return None
    title = f"registers of mma.{shape}.{matrix}.{type_}"
    if matrix in "cd":
        return _mma_sums(found, title, _SUMS.get(type_, 0) if _has_sums(found, type_) else 0)
    if type_ not in _KINDS[found]:
        return None
    bits = _FACTORS[type_]
    each = max(32 // bits, 1)
    along = f"{4 * each} * ({{0}}) + {each} * (t % 4) + e" if each > 1 else "4 * ({0}) + t % 4"
    rows = found.m // 8
    if matrix == "a":
        row, column = fragment_a(found, bits)
        down = f"t // 4 + 8 * (r % {rows})" if rows > 1 else "t // 4"
        place = (down, along.format(f"r // {rows}" if rows > 1 else "r"))
    else:
        row, column = fragment_b(found, bits)
        place = (along.format("r"), "t // 4")
    return _of_elements(title, (row, column), each, bits, place)


def _has_sums(shape: MmaShape, type_: str) -> bool:
    """Whether products of the shape are summed in a type."""
    return any(type_ in _SUMMED_IN.get(kind, ("s32",)) for kind in _KINDS[shape])


def _mma_sums(shape: MmaShape, title: str, bits: int) -> RegisterFragment | None:
    if not bits:
        return None
    each = 2 if bits == 16 else 1
    place = (
        ("t // 4 + 8 * r", "2 * (t % 4) + e")
        if each == 2
        else ("t // 4 + 8 * (r // 2)", "2 * (t % 4) + r % 2")
    )
    return _of_elements(title, fragment_c(shape), each, bits, place)


def _of_elements(
    title: str, cells: tuple[Indices, Indices], each: int, bits: int, place: tuple[str, str]
) -> RegisterFragment:
    """A fragment of elements that are numbered register by register."""
    row, column = np.broadcast_arrays(*cells)
    shaped = (row.shape[0], row.shape[1] // each, each)
    return RegisterFragment(
        title, row.reshape(shaped), column.reshape(shaped), bits, place, "row", "column"
    )


# ---- wgmma -----------------------------------------------------------------------------------

_ROW = "16 * (t // 32) + t % 32 // 4"


def _accumulators(n: int, bits: int, name: str) -> RegisterFragment | None:
    if n % 8 or not 8 <= n <= 256:
        return None
    place = (
        (f"{_ROW} + 8 * (r // 2 % 2)", "8 * (r // 4) + 2 * (t % 4) + r % 2")
        if bits == 32
        else (f"{_ROW} + 8 * (r % 2)", "8 * (r // 2) + 2 * (t % 4) + e")
    )
    row, column = accumulator_fragment(n, bits)
    return RegisterFragment(f"registers of {name}", row, column, bits, place, "row", "column")


def _wgmma_a(bits: int, name: str) -> RegisterFragment | None:
    if not bits:
        return None
    each = 32 // bits
    column = "4 * (r // 2) + t % 4"
    place = (
        f"{_ROW} + 8 * (r % 2)",
        column if each == 1 else f"{each} * ({column}) + e",
    )
    row, found = a_fragment(bits)
    return RegisterFragment(f"registers of {name}", row, found, bits, place, "row", "column")
