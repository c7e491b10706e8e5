"""Matrices of warp-level multiplies in registers, by name: A, B, C, D, metadata, scale factors.

Layer: intrinsics (numpy).  Input: a name, whose last part is a type, a sparsity selector, or the
selectors of a byte and of threads:

    mma.m16n8k16.a.f16           mma.m16n8k16.d.f32             mma.m16n8k64.sfa.4x
    mma.sp.m16n8k32.a.f16        mma.sp.m16n8k32.metadata.f16.1 mma.m16n8k32.sfb.1x.3.2

PTX ISA, Matrix Fragments for mma; Matrix fragments for multiply-accumulate operation with sparse
matrix A; Block Scaling for mma.sync.  Metadata that no source explains have no name.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts.fragments_mma import fragment_a, fragment_b, fragment_c
from intrinsics.layouts.fragments_mma_factors import factor_fragment
from intrinsics.layouts.fragments_mma_sparse import chunk_size, metadata_fragment, stored
from intrinsics.layouts.register_elements import RegisterFragment
from intrinsics.modifiers.mma_sync import MmaShape

Indices = NDArray[np.int64]
S = MmaShape

_MATRIX = re.compile(r"mma(\.sp)?\.(m\d+n8k\d+)\.([abcd])\.([a-z]+\d+\w*)")
_METADATA = re.compile(r"mma\.sp\.(m\d+n8k\d+)\.metadata\.([a-z]+\d+\w*?)(?:\.(\d))?")
_FACTORS = re.compile(r"mma(\.sp)?\.(m\d+n8k\d+)\.sf([ab])\.([124])x(?:\.(\d)\.(\d))?")


def mma_fragment(name: str) -> RegisterFragment | None:
    """The fragment called `name`; None where there is none."""
    if match := _MATRIX.fullmatch(name):
        shape = _shape(match[2], sparse=match[1] is not None)
        if shape is None:
            return None
        if match[3] in "cd":
            return _sums(name, shape, match[4], sparse=match[1] is not None)
        return _factor(name, shape, match[3], match[4], sparse=match[1] is not None)
    if match := _METADATA.fullmatch(name):
        shape = _shape(match[1], sparse=True)
        return shape and _metadata(name, shape, match[2], int(match[3] or 0))
    if match := _FACTORS.fullmatch(name):
        place = int(match[5] or 0), int(match[6] or 0)
        known = _SCALED.get((match[1] is not None, match[2]), ())
        return _scales(name, match[3], int(match[4]), place) if int(match[4]) in known else None
    return None


# ---- what there is ---------------------------------------------------------------------------

_BYTES = ("e4m3", "e5m2")
_NARROW = (*_BYTES, "e2m3", "e3m2", "e2m1")
_BITS = {
    **dict.fromkeys(("f16", "bf16"), 16),
    "tf32": 32,
    "f64": 64,
    **dict.fromkeys(("s4", "u4"), 4),
    "b1": 1,
}
"""Bits of an element in a register, where it is no byte."""

_SUM_BITS = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}
_SUMMED_IN = {
    **dict.fromkeys(("f16", "e4m3", "e5m2", "e2m3", "e3m2"), ("f16", "f32")),
    **dict.fromkeys(("bf16", "tf32", "e2m1"), ("f32",)),
    "f64": ("f64",),
}
"""Types of sums; those of integers and bits are s32."""

_DENSE = {
    S.M16N8K4: ("tf32", "f64"),
    S.M16N8K8: ("f16", "bf16", "tf32", "f64"),
    S.M16N8K16: ("f16", "bf16", *_BYTES, "s8", "u8", "f64"),
    S.M16N8K32: (*_NARROW, "s8", "u8", "s4", "u4"),
    S.M16N8K64: ("s4", "u4", "e2m1"),
    S.M8N8K4: ("f64",),
    S.M8N8K16: ("s8", "u8"),
    S.M8N8K32: ("s4", "u4"),
    S.M8N8K128: ("b1",),
    S.M16N8K128: ("b1",),
    S.M16N8K256: ("b1",),
}
"""Which elements a dense multiply of a shape has; m8n8k4 of f16 has quarters of warps instead."""

_SPARSE = {
    S.M16N8K8: ("tf32",),
    S.M16N8K16: ("f16", "bf16", "tf32"),
    S.M16N8K32: ("f16", "bf16", "s8", "u8"),
    S.M16N8K64: (*_NARROW, "s8", "u8", "s4", "u4"),
    S.M16N8K128: ("s4", "u4", "e2m1"),
}
_PACKED = {False: S.M16N8K64, True: S.M16N8K128}
"""The shape in which elements of e2m1 have no byte each, dense and sparse."""

_SCALED = {
    (False, "m16n8k32"): (1,),
    (False, "m16n8k64"): (2, 4),
    (True, "m16n8k64"): (1,),
    (True, "m16n8k128"): (2, 4),
}
"""How many scale factors a row has."""

_CONTAINED = {"e2m1": "2 to 5", "e2m3": "0 to 5", "e3m2": "0 to 5"}


def _kinds(*, sparse: bool) -> dict[MmaShape, tuple[str, ...]]:
    return _SPARSE if sparse else _DENSE


def _shape(text: str, *, sparse: bool) -> MmaShape | None:
    return next((s for s in _kinds(sparse=sparse) if s.value == text), None)


def _bits(type_: str, shape: MmaShape, *, sparse: bool) -> int:
    if type_ == "e2m1" and shape is _PACKED[sparse]:
        return 4
    return _BITS.get(type_, 8)


# ---- A, B, C and D ---------------------------------------------------------------------------


def _factor(
    name: str, shape: MmaShape, matrix: str, type_: str, *, sparse: bool
) -> RegisterFragment | None:
    if type_ not in _kinds(sparse=sparse)[shape]:
        return None
    bits = _bits(type_, shape, sparse=sparse)
    each = max(32 // bits, 1)
    along = f"{4 * each} * ({{0}}) + {each} * (t % 4) + e" if each > 1 else "4 * ({0}) + t % 4"
    rows = shape.m // 8
    if matrix == "a":
        cells = fragment_a(stored(shape) if sparse else shape, bits)
        down = f"t // 4 + 8 * (r % {rows})" if rows > 1 else "t // 4"
        place = (down, along.format(f"r // {rows}" if rows > 1 else "r"))
    else:
        cells = fragment_b(shape, bits)
        place = (along.format("r"), "t // 4")
    notes = ["columns count what is stored"] if sparse and matrix == "a" else []
    if bits == 8 and type_ in _CONTAINED:
        notes.append(f"an element is in bits {_CONTAINED[type_]} of its byte")
    return _of_elements(name, cells, (each, bits), place, "; ".join(notes))


def _sums(name: str, shape: MmaShape, type_: str, *, sparse: bool) -> RegisterFragment | None:
    kinds = _kinds(sparse=sparse)[shape]
    if not any(type_ in _SUMMED_IN.get(kind, ("s32",)) for kind in kinds):
        return None
    bits = _SUM_BITS[type_]
    each = 2 if bits == 16 else 1
    place = (
        ("t // 4 + 8 * r", "2 * (t % 4) + e")
        if each == 2
        else ("t // 4 + 8 * (r // 2)", "2 * (t % 4) + r % 2")
    )
    return _of_elements(name, fragment_c(shape), (each, bits), place)


def _of_elements(
    name: str,
    cells: tuple[Indices, Indices],
    held: tuple[int, int],
    place: tuple[str, str],
    note: str = "",
) -> RegisterFragment:
    """A fragment of elements that are numbered register by register; `held` in one, of how many
    bits."""
    each, bits = held
    row, column = np.broadcast_arrays(*cells)
    shaped = (row.shape[0], row.shape[1] // each, each)
    return RegisterFragment(
        f"registers of {name}",
        row.reshape(shaped),
        column.reshape(shaped),
        bits,
        place,
        "row",
        "column",
        note,
    )


# ---- metadata and scale factors --------------------------------------------------------------


def _metadata(name: str, shape: MmaShape, type_: str, selector: int) -> RegisterFragment | None:
    """The indices of a sparse A: rows by chunks."""
    if type_ not in _SPARSE[shape]:
        return None
    bits = _bits(type_, shape, sparse=True)
    try:
        thread, bit = metadata_fragment(shape, bits, selector)
    except (ValueError, NotImplementedError):
        return None
    size, chunks = chunk_size(bits), thread.shape[1]
    row = "t // 4 + 8 * (e // 4)"
    column = {4: "e % 4", 8: "4 * (t % 2) + e % 4"}.get(chunks, "8 * (t % 4 // 2) + e")
    if chunks == 16:
        row = "t // 4 + 8 * (t % 2)"
    note = f"columns are chunks of {size} elements, of which half are stored"
    return _of_threads(name, (thread, bit // 4), 4, (row, column), ("row", "chunk"), note=note)


def _scales(
    name: str, matrix: str, factors: int, place: tuple[int, int]
) -> RegisterFragment | None:
    """Scale factors of A, rows by blocks of K, or of B, blocks of K by columns."""
    try:
        thread, byte = np.broadcast_arrays(*factor_fragment(matrix, factors, *place))
    except ValueError:
        return None
    held = thread, byte - place[0]
    if matrix == "a":
        formula, axes = ("t // 4 + 8 * (t % 2)", "e"), ("row", "block")
        note = "columns are blocks of K"
        return _of_threads(name, held, 8, formula, axes, note=note, low=8 * place[0])
    formula, axes = ("e", "t // 4"), ("block", "column")
    turned, note = (held[0].T, held[1].T), "rows are blocks of K"
    return _of_threads(name, turned, 8, formula, axes, note=note, low=8 * place[0])


def _of_threads(
    name: str,
    held: tuple[Indices, Indices],
    bits: int,
    place: tuple[str, str],
    axes: tuple[str, str],
    *,
    note: str = "",
    low: int = 0,
) -> RegisterFragment:
    """A fragment of one register in some threads; `held` are the thread and place of each cell."""
    thread, element = held
    holders = np.unique(thread)
    at = np.searchsorted(holders, thread)
    row = np.zeros((len(holders), 1, int(element.max()) + 1), np.int64)
    column = np.zeros_like(row)
    rows, columns = np.indices(thread.shape)
    row[at, 0, element], column[at, 0, element] = rows, columns
    threads = tuple(int(one) for one in holders)
    return RegisterFragment(
        f"registers of {name}", row, column, bits, place, *axes, note, threads, low
    )
