"""A matrix in the registers of a warp or a warpgroup, as a table and in words.

Layer: intrinsics (numpy).  Input: the name of a fragment, which begins with its instruction:

    ldmatrix.m8n8.x4.trans    stmatrix.m16n8.x2    mma.m16n8k16.a.f16    mma.m16n8k16.d.f32
    wgmma.d.n96.f32           wgmma.a.f16

Output: where each element of each register lies, and the formula of that.  Rows of ldmatrix and
stmatrix are lines of memory: line i is at the address that thread i gives.  What there is of mma is
in `register_fragment_mma`.  PTX ISA, ldmatrix; stmatrix; Register Fragments and Shared
Memory Matrix Layouts.
"""

from __future__ import annotations

import re

from intrinsics.layouts.fragments_matrix import LINE, matrix_bytes
from intrinsics.layouts.fragments_wgmma import a_fragment, accumulator_fragment
from intrinsics.layouts.register_elements import RegisterFragment
from intrinsics.layouts.register_fragment_mma import mma_fragment
from intrinsics.modifiers.matrix import MatrixNum, MatrixShape

EXAMPLES = (
    "ldmatrix.m8n8.x4.trans, stmatrix.m16n8.x2, mma.m16n8k16.a.f16, mma.m16n8k16.d.f32, "
    "mma.sp.m16n8k32.metadata.f16, mma.m16n8k64.sfa.4x, wgmma.d.n96.f32, wgmma.a.f16"
)
"""One name of each kind."""

_MATRIX = re.compile(r"(ld|st)matrix\.(m\d+n\d+)(?:\.(x\d))?(\.trans)?")
_WGMMA_D = re.compile(r"wgmma\.d\.n(\d{1,3})(?:\.(f16|f32|s32))?")
_WGMMA_A = re.compile(r"wgmma\.a\.([a-z]+\d\w*)")
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}


def named_fragment(name: str) -> RegisterFragment | None:
    """The fragment called `name`; None where there is none."""
    text = name.lstrip(".")
    if match := _MATRIX.fullmatch(text):
        return _matrix(match[1], match[2], match[3] or "x1", transposed=match[4] is not None)
    if text.startswith("mma."):
        return mma_fragment(text)
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
