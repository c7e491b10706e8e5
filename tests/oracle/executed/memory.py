"""Tensor and shared memory of the CTAs of one program, while the program is made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tests.intrinsics.published.packing import PER_PIECE
from tests.oracle.executed.draws import Codes, Random
from tests.oracle.executed.forms import Form
from tests.oracle.executed.kernel import BLOCK, COLUMNS, IMAGE, LANES, UNIT, Bytes, Cells, Words
from tests.oracle.executed.operands import Operands
from tests.oracle.executed.shapes import Shape
from tests.oracle.executed.shared import Placed, modes, place
from tests.oracle.executed.tensor import (
    Columns,
    columns_of_d,
    path_of,
    put_factors,
    put_metadata,
    put_operand,
)


class TooLargeError(Exception):
    """A and B do not fit into shared memory."""


@dataclass
class Memory:
    """Cells (rank, lane, column) full of dirt, of which columns are handed out.

    Column 0 is tensor memory's `first`; matrices begin at lane `lane`.
    """

    rng: Random
    form: Form
    shape: Shape
    letter: str
    lane: int
    first: int
    cells: Cells
    columns: Columns
    parts: list[Placed] = field(default_factory=list)

    @classmethod
    def draw(cls, rng: Random, form: Form, s: Shape) -> Memory:
        """Somewhere in tensor memory, sometimes all of it."""
        letter = path_of(s.m, ws=form.ws, pair=form.pair, sparse=form.sparse)
        lane = 16 * int(rng.integers(2)) if letter in "CF" else 0
        least = columns_of_d(letter, s.n) + 8 + (52 if form.k96 else 36) * form.steps
        total = COLUMNS if rng.random() < 0.03 else -(-least // BLOCK) * BLOCK
        first = 4 * int(rng.integers(0, (COLUMNS - total) // 4 + 1))
        cells = rng.integers(0, 1 << 32, (form.ranks, LANES, total), dtype=np.uint32)
        columns = Columns(rng, np.zeros(total, dtype=bool))
        return cls(rng, form, s, letter, lane, first, cells, columns)

    def image(self) -> Bytes:
        """Shared memory (rank, byte), dirt around the matrices.

        Raises: TooLargeError.
        """
        size = -(-max([UNIT, *(part.end for part in self.parts)]) // UNIT) * UNIT
        if size > IMAGE:
            raise TooLargeError
        image = self.rng.integers(0, 256, (self.form.ranks, size)).astype(np.uint8)
        for part in self.parts:
            for rank, pieces in enumerate(part.pieces):
                image[rank][part.addresses[..., None] + np.arange(16)] = pieces
        return image

    def operands(self, given: Operands, before: Words | None) -> Words:
        """Put the operands of one instruction; what it shares with `before` stays where it is."""
        form, s = self.form, self.shape
        made = Words(0, 0, 0, 0, enable_d=False)
        if before is not None and form.shares_a:
            made = replace(
                made, a=before.a, meta=before.meta, sfa=before.sfa,
                absolute=(before.absolute[0], False),
            )  # fmt: skip
        else:
            made = self._left(given)
        if before is not None and form.shares_b:
            made = replace(made, b=before.b, sfb=before.sfb)
        else:
            word, absolute = self._share(given.b, s.b, mn=s.b_mn)
            made = replace(made, b=word, absolute=(made.absolute[0], absolute))
        if given.sfb is not None:
            made = replace(made, sfb=self._factors(given.sfb, s.ids[1], rows_of_all=True))
        return made

    def _left(self, given: Operands) -> Words:
        """A, its metadata and its scale factors."""
        s, kind = self.shape, self.form.kind.name
        made = Words(0, 0, 0, 0, enable_d=False)
        if self.form.a_tensor:
            column = self.columns.take(12 if self.form.k96 else 8)
            put_operand(self.cells, given.a, s.a, kind, self.letter, self.lane, column)
            made = replace(made, a=self._address(column))
        else:
            word, absolute = self._share(given.a, s.a, mn=s.a_mn)
            made = replace(made, a=word, absolute=(absolute, False))
        if given.indices is not None:
            column = self.columns.take(4, 4)
            for cells, part in zip(self.cells, self._halves(given.indices), strict=True):
                put_metadata(cells, part, kind, self.letter, self.lane, column, s.selector)
            made = replace(made, meta=self._address(column))
        if given.sfa is not None:
            made = replace(made, sfa=self._factors(given.sfa, s.ids[0], rows_of_all=False))
        return made

    def _address(self, column: int) -> int:
        return self.lane << 16 | self.first + column

    def _halves(self, codes: Codes) -> list[Codes]:
        """Each CTA's rows."""
        return np.split(codes, self.form.ranks)

    def _factors(self, codes: Codes, scale_id: int, *, rows_of_all: bool) -> int:
        """A's are each CTA's own rows, B's are all in both; of layout B they are in halves."""
        words = 2 if codes.shape[1] in (3, 6) else 1
        column = self.columns.take((8 if rows_of_all else 4) * words, 4)
        parts = [codes] * self.form.ranks if rows_of_all else self._halves(codes)
        for cells, part in zip(self.cells, parts, strict=True):
            split = rows_of_all and self.letter == "B"
            put_factors(cells, part, scale_id, column, split=split)
        return self.first + column

    def _share(self, codes: Codes, type_: str, *, mn: bool) -> tuple[int, bool]:
        """The descriptor, and whether its leading dimension is an address."""
        kind, parts = self.form.kind.name, self._halves(codes)
        per = PER_PIECE[type_.upper(), kind]
        rows, k = parts[0].shape
        mode = str(self.rng.choice(modes(type_, mn=mn, row_bytes=16 * k // per)))
        if mn and rows % per:  # columns that a shift does not reach
            room = np.zeros((-rows % per, k), np.uint32)
            parts = [np.concatenate([part, room]) for part in parts]
        free = max((part.end for part in self.parts), default=0)
        placed = place(self.rng, parts, type_, kind, free, mn=mn, mode=mode)
        self.parts.append(placed)
        return placed.layout.word(), placed.layout.absolute
