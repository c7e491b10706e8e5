"""`nvgen draw tmem`: options become a matrix in tensor memory.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from intrinsics.descriptors.idesc import DENSE_K, INPUT_CODES, m_values, n_values, series
from intrinsics.element import ElementType
from intrinsics.findings import input_error
from intrinsics.layouts.data_paths import DataPath, accumulator_cells, data_path, operand_cells
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COLUMNS
from intrinsics.modifiers import FP4_KINDS, MmaKind
from nvgen.commands.layouts.factors import draw_factors, draw_metadata
from nvgen.commands.layouts.values import choice, kind_of, number
from nvgen.drawing.picture import Picture
from nvgen.drawing.tensor import Subject, tensor_picture

_Defaults = dict[str, str | bool | None]
_MMA: _Defaults = {"m": "128", "n": "64", "group": "1", "ws": False, "sparse": False, "kind": None}
_SCALED: _Defaults = {
    "m": "128", "group": "1", "sparse": False, "kind": None, "k": None, "scale_vec": None, "id": "0"
}  # fmt: skip
_OPTIONS: dict[str, _Defaults] = {
    "d": {**_MMA, "lane": "0"},
    "a": {**_MMA, "lane": "0", "k": None, "type": None},
    "sfa": _SCALED,
    "sfb": {**_SCALED, "n": "64"},
    "metadata": {**_MMA, "lane": "0", "k": None, "id": "0"},
}
"""The options that each matrix depends on, with what they are where they are not given."""


@dataclass(frozen=True, slots=True)
class Mma:
    """The MMA that was asked about; `lane` is that of the addresses of D, A and metadata."""

    path: DataPath
    kind: MmaKind
    m: int
    n: int
    group: int
    sparse: bool
    lane: int


def draw_tmem(arguments: argparse.Namespace, *, coarse: bool) -> Picture:
    """The picture that the options ask for.

    Raises: InputError.
    """
    whats: dict[str, Callable[[], Picture]] = {
        "d": lambda: _accumulator(_mma(arguments, MmaKind.F16), coarse=coarse),
        "a": lambda: _operand(arguments, _mma(arguments, MmaKind.F16), coarse=coarse),
        "sfa": lambda: draw_factors(arguments, "sfa"),
        "sfb": lambda: draw_factors(arguments, "sfb"),
        "metadata": lambda: _metadata(arguments),
    }
    draw = choice("what", arguments.matrix, whats)
    _settle_options(arguments)
    return draw()


def _settle_options(arguments: argparse.Namespace) -> None:
    """Refuse options that change nothing, and fill in those that were not given."""
    known = _OPTIONS[arguments.matrix]
    for name in sorted({name for options in _OPTIONS.values() for name in options}):
        given = getattr(arguments, name)
        option = f"--{name.replace('_', '-')}"
        if name in known:
            setattr(arguments, name, known[name] if given is None else given)
        elif given:
            raise input_error(
                "draw/option", f"--what {arguments.matrix} does not depend on {option}",
                got=option, expected=", ".join(f"--{n.replace('_', '-')}" for n in known),
                hint="leave it out",
            )  # fmt: skip


def _mma(arguments: argparse.Namespace, default: MmaKind) -> Mma:
    kind = default if arguments.kind is None else kind_of(arguments.kind)
    group = number("group", arguments.group, 1, 2)
    sparse, ws = arguments.sparse, arguments.ws
    m, n = number("m", arguments.m, 1, 256), number("n", arguments.n, 1, 256)
    shapes = m_values(kind, group, sparse=sparse, ws=ws)
    form = f"{kind.value} with cta_group::{group}" + (" and .ws" if ws else "")
    if m not in shapes:
        raise input_error(
            "draw/m", f"M does not exist for {form}", got=str(m),
            expected=" or ".join(map(str, shapes)) or "no M",
            hint=("" if ws else _of_a_pair(kind, m, sparse=sparse))
            or "nvgen explain layout A, … G says which MMAs have which layout",
        )  # fmt: skip
    columns = n_values(kind, group, sparse=sparse, ws=ws)
    if n not in columns:
        raise input_error(
            "draw/n", f"N does not exist for {form}", got=str(n), expected=series(columns)
        )
    path = data_path(m, group=group, ws=ws, sparse=sparse)
    starts = {str(start): start for start in path.lane_starts}
    return Mma(path, kind, m, n, group, sparse, choice("lane", arguments.lane, starts))


def _accumulator(mma: Mma, *, coarse: bool) -> Picture:
    title = f"D of M = {mma.m}, N = {mma.n}: layout {mma.path.value}, {mma.path.title}"
    cells = accumulator_cells(mma.path, mma.m, mma.n)
    subject = Subject("D", 1, mma.lane, mma.group == 2)
    notes = [*_notes(mma), "one element in 32 bits; one of 16 fills the lower half"]
    return tensor_picture(title, notes, subject, [cells], coarse=coarse)


def _operand(arguments: argparse.Namespace, mma: Mma, *, coarse: bool) -> Picture:
    if mma.kind not in INPUT_CODES:
        raise input_error(
            "draw/kind", f"the types of {mma.kind.value} are not documented", got=mma.kind.value,
            expected=", ".join(kind.value for kind in INPUT_CODES),
        )  # fmt: skip
    known = {type_.value: type_ for type_ in INPUT_CODES[mma.kind].values()}
    type_ = choice("type", arguments.type or next(iter(known)), known)
    per_cell = _per_cell(type_, mma.kind)
    step = DENSE_K[mma.kind] * (2 if mma.sparse else 1)
    stored = 2 if mma.sparse else 1
    k = number("k", arguments.k or str(step), step, COLUMNS * per_cell * stored, step=step)
    columns = k // stored // per_cell
    copies = operand_cells(mma.path, mma.m, columns)
    title = f"A of M = {mma.m}, K = {k}, {type_.value}: layout {mma.path.value}, {mma.path.title}"
    notes = _notes(mma)
    if len(copies) > 1:
        notes.append(f"A stands there {len(copies)} times, once for each part of N")
    if type_.bits < 8 and mma.kind not in FP4_KINDS:
        notes.append(
            f"each element has a byte: nvgen explain packing {type_.value} says which bits"
        )
    if mma.sparse:
        notes.append(f"the values of a sparse A: {k // 2} are stored of each row's {k}")
    subject = Subject("A", per_cell, mma.lane, mma.group == 2)
    return tensor_picture(title, notes, subject, copies, coarse=coarse)


def _of_a_pair(kind: MmaKind, m: int, *, sparse: bool) -> str:
    """The hint that there is such an M for two CTAs; "" if there is none."""
    return "--group 2 has it" if m in m_values(kind, 2, sparse=sparse, ws=False) else ""


def _per_cell(type_: ElementType, kind: MmaKind) -> int:
    """Elements in 32 bits: narrow ones have a byte each but for the 4-bit kinds."""
    return 8 if kind in FP4_KINDS else 32 // max(type_.bits, 8)


def _notes(mma: Mma) -> list[str]:
    notes = ["columns count from the address; warp w of a warpgroup reaches lanes 32w to 32w + 31"]
    if len(mma.path.lane_starts) > 1:
        notes.append(f"half of the lanes, here from an address in lane {mma.lane}")
    return notes


def _metadata(arguments: argparse.Namespace) -> Picture:
    arguments.sparse = True
    mma = _mma(arguments, MmaKind.F16)
    return draw_metadata(arguments, mma.path, mma.kind, mma.lane)
