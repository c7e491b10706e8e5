"""Tensor memory's layouts for `nvgen explain`: data paths, scale factors, metadata, packing.

Layer: nvgen.commands.  All of it is read off the layouts of `intrinsics`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from intrinsics.element import ElementType
from intrinsics.findings import input_error
from intrinsics.layouts.data_paths import DataPath, accumulator_cells
from intrinsics.layouts.packing import PIECE, Codes, elements_per_piece, pack_cells, pack_pieces
from intrinsics.layouts.scale_factors import columns_of, scale_cells, scale_ids
from intrinsics.layouts.sparse import CHUNK_BITS, chunk, indices
from intrinsics.modifiers import MmaKind
from nvgen.commands.explanations.question import Fields, Question
from nvgen.commands.layouts.factors import elements_text, scaling
from nvgen.commands.layouts.values import input_type, kind_with
from nvgen.drawing.picture import plural, span_text

_PARTS = {
    1: ("all of N",),
    2: ("the first half of N", "the second half of N"),
    4: tuple(f"the {number} quarter of N" for number in ("first", "second", "third", "last")),
}


def layout(question: Question) -> Fields:
    """A data path: which rows of D, and which part of N, each group of lanes has."""
    paths = {path.value: path for path in DataPath}
    path = paths.get(question.text.upper())
    if path is None:
        raise input_error("explain/layout", "no such layout", got=question.text, expected="A to G")
    copies = "where D's are" if path.parts == 1 else "where D's are, in each of these lanes"
    return [
        ("", "used by", path.title),
        ("", "address in lane", " or ".join(map(str, path.lane_starts))),
        *_held(path),
        ("", "A's rows", copies),
    ]


def _held(path: DataPath) -> Iterator[tuple[str, str, str]]:
    """The runs of lanes of D, at most 32 long, counted from the address."""
    cells = accumulator_cells(path, path.m, path.parts)
    shape = (path.m, path.parts)
    ranks = np.broadcast_to(cells.rank, shape).tolist()
    lanes = np.broadcast_to(cells.lane, shape).tolist()
    for rank in range(path.ctas):
        for part in range(path.parts):
            found = [(lanes[i][part], i) for i in range(path.m) if ranks[i][part] == rank]
            for _, group in groupby(found, key=lambda at: (at[0] - at[1], at[0] // 32)):
                run = list(group)
                cta = f"{('even', 'odd')[rank]} CTA, " if path.ctas > 1 else ""
                where = f"{cta}lanes {span_text(run[0][0], run[-1][0])}"
                rows = span_text(run[0][1], run[-1][1])
                yield "", where, f"rows {rows} of D, {_PARTS[path.parts][part]}"


# ---- scale factors ---------------------------------------------------------------------------


def scale_id(question: Question) -> Fields:
    """A scale factor id: which bytes of which columns it selects."""
    options = question.options
    kind, vec, k, factors = scaling(options.kind, options.scale_vec, options.k, "explain")
    allowed = scale_ids(factors)
    if question.value not in allowed:
        raise input_error(
            "explain/scale-id", f"no such id with {factors} factors a row", got=question.text,
            expected=", ".join(map(str, allowed)),
        )  # fmt: skip
    return [
        ("", "factors a row", f"{factors} of {kind.value}.{vec.value} with K = {k}"),
        ("", "elements a factor", elements_text(kind, k, factors).rstrip(",")),
        ("", "lane of row r", "r % 32, and the same in the lanes 32, 64 and 96 further on"),
        (
            "",
            "in layout B",
            "of B: rows of the first half of N in lanes 0 to 63, twice; of the "
            "second, with r from 0, in the others",
        ),
        *_factors(factors, question.value),
        ("", "columns", _columns(factors, question.value)),
    ]


def _factors(factors: int, scale_id: int) -> Iterator[tuple[str, str, str]]:
    """Byte and column of each factor of a row; the next block is further on for more rows."""
    few, many = (scale_cells(rows, factors, scale_id) for rows in (128, 256))
    for factor in range(factors):
        byte, near, far = (int(a[0, factor]) for a in (few.byte, few.column, many.column))
        column = "r // 32"
        if near or far:
            column += f" + {near}, or r // 32 + {far} with more than 128 rows"
        yield f"{8 * byte}-{8 * byte + 7}", f"factor {factor}", f"column {column}"


def _columns(factors: int, scale_id: int) -> str:
    return ", ".join(
        f"{columns_of(rows, factors, scale_id)} for {rows} rows" for rows in (64, 128, 256)
    )


# ---- sparse A --------------------------------------------------------------------------------


def metadata(question: Question) -> Fields:
    """Indices of a sparse A: which elements of its chunk each one says are stored."""
    kind = question.kind(MmaKind.F16)
    if kind is MmaKind.TI16:
        raise input_error(
            "explain/kind", "the sparse matrices of kind::ti16 are not documented", got=kind.value,
            expected="another kind",
        )  # fmt: skip
    size, known = chunk(kind), indices(kind)
    count = _digits(question)
    fields: Fields = []
    wrong: list[str] = []
    for number in range(count):
        low = number * CHUNK_BITS
        index = question.value >> low & 0xF
        meaning = f"{index:#06b}, no meaning"
        if index in known:
            stored = ", ".join(map(str, _stored(kind, index)))
            meaning = f"{index:#06b}, of {size} elements {stored} stored"
        else:
            wrong.append(f"{index:#06b}")
        fields.append((f"{low}-{low + CHUNK_BITS - 1}", f"index {number}", meaning))
    if wrong:
        expected = ", ".join(f"{index:#06b}" for index in known)
        fields.append(("", "wrong", f"{', '.join(wrong)}: undefined, {expected} have a meaning"))
    return fields


def _stored(kind: MmaKind, index: int) -> list[int]:
    """The elements of a chunk that are stored, in the order in which they are."""
    if kind is MmaKind.TF32:
        return [indices(kind).index(index)]
    width = chunk(kind) // 4
    return [place * width + i for place in (index & 3, index >> 2) for i in range(width)]


def _digits(question: Question) -> int:
    """How many indices were written: those of the digits, else those that are not zero."""
    text = question.text.lower().replace("_", "")
    if text.startswith("0x"):
        return len(text) - 2
    if text.startswith("0b"):
        return -(-(len(text) - 2) // CHUNK_BITS)
    return max(-(-question.value.bit_length() // CHUNK_BITS), 1)


# ---- packing ---------------------------------------------------------------------------------


def packing(question: Question) -> Fields:
    """The packing of elements in 16 bytes of shared memory and 32 bits of tensor memory."""
    type_ = input_type(question.text, "explain/packing")
    kind = kind_with(question.options.kind, type_, "explain")
    count = elements_per_piece(type_, kind)
    piece = [_bits(pack_pieces(_one(type_, count, i), type_, kind)) for i in range(count)]
    cell_count = count * 4 // PIECE
    cell = [_bits(pack_cells(_one(type_, cell_count, i), type_, kind)) for i in range(cell_count)]
    padding = PIECE - count * type_.bits // 8
    filled = f"{count} elements" + (f" and {padding} bytes of padding" if padding else "")
    fields = [
        ("", "kind", kind.value),
        ("", "in 16 bytes of shared memory", filled),
        *((piece[i], f"of these, element {i}", "") for i in sorted({0, 1, count - 1})),
        ("", "in a cell of tensor memory", f"{plural(cell_count, 'element')} of A"),
        *((bits, f"of it, element {i}", "") for i, bits in enumerate(cell)),
    ]
    return [(bits, name, text or f"{type_.bits} bits") for bits, name, text in fields]


def _one(type_: ElementType, count: int, place: int) -> Codes:
    """Codes of zeros, but for one whose bits are all set."""
    codes = np.zeros(count, np.uint32)
    codes[place] = (1 << type_.bits) - 1
    return codes


def _bits(data: Codes) -> str:
    """The run of bits that are set."""
    number = int.from_bytes(np.ascontiguousarray(data).tobytes(), "little")
    low = (number & -number).bit_length() - 1
    return f"{low}-{number.bit_length() - 1}"
