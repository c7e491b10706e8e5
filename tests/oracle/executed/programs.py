"""Programs of one form, drawn at random, with what must be in tensor memory after them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tests.oracle.executed.draws import Matrix, Random
from tests.oracle.executed.expected import Expected, draw_d, expected_d, store_d
from tests.oracle.executed.forms import Form
from tests.oracle.executed.kernel import Bytes, Cells, Words
from tests.oracle.executed.memory import Memory, TooLargeError
from tests.oracle.executed.operands import Operands, draw_operands, draw_units
from tests.oracle.executed.shapes import Shape, draw_shape, idesc
from tests.oracle.executed.tensor import Region, accumulator, columns_of_d, masked_lanes
from tests.oracle.executed.zero_masks import ZeroMask, draw_zero_mask


@dataclass(frozen=True)
class Program:
    """A program, and what D must be after it; the lanes of `live` elements are not disabled."""

    form: Form
    shape: Shape
    layouts: tuple[str, ...]
    words: list[Words]
    cells: Cells
    first: int
    image: Bytes
    d: Region
    live: npt.NDArray[np.bool_]
    expected: Expected

    def describe(self) -> str:
        """The form, the shape and the layouts in shared memory."""
        return f"{self.form}: {self.shape}, {'; '.join(self.layouts)}"


def program_of(form: Form, seed: int) -> Program:
    """The program of a form that a seed stands for, whatever other forms there are."""
    name = zlib.crc32(str(form).encode())
    return draw_program(np.random.default_rng([name, seed]), form)


def draw_program(rng: Random, form: Form) -> Program:
    """One that fits into shared memory."""
    while True:
        try:
            return _draw_program(rng, form)
        except TooLargeError:
            continue


def _draw_program(rng: Random, form: Form) -> Program:
    s = draw_shape(rng, form)
    exact = s.d == "s32" or bool(rng.random() < 0.75)
    zero = draw_zero_mask(rng, s.m, s.n) if form.zero_mask else None
    units = draw_units(rng, form, s)
    given: list[Operands] = []
    for step in range(form.steps):
        drawn = draw_operands(rng, form, s, s.n + (zero.shift if zero else 0), units, exact=exact)
        if step and form.shares_a:
            first = given[0]
            drawn = replace(drawn, a=first.a, indices=first.indices, sfa=first.sfa)
        if step and form.shares_b:
            drawn = replace(drawn, b=given[0].b, sfb=given[0].sfb)
        given.append(drawn)
    unit = units.product if exact else 0.0
    old = draw_d(rng, s, unit, 2.0 ** -(form.scale_d or 0))
    mask = _draw_mask(rng, form.ranks) if form.mask else None
    enabled = bool(rng.random() < 0.6)
    return build(rng, form, s, given, old, unit=unit, enabled=enabled, mask=mask, zero=zero)


def _draw_mask(rng: Random, ranks: int) -> tuple[int, ...]:
    if rng.random() < 0.2:
        return (0xFFFFFFFF, 0, 0, 0xFFFFFFFF) * ranks
    return tuple(int(word) for word in rng.integers(0, 1 << 32, 4 * ranks))


def build(
    rng: Random, form: Form, s: Shape, given: list[Operands], old: Matrix, *, unit: float,
    enabled: bool, mask: tuple[int, ...] | None = None, zero: ZeroMask | None = None,
) -> Program:  # fmt: skip
    """Put given numbers into memory, somewhere.

    Raises: TooLargeError when A and B do not fit into shared memory as they were put.
    """
    memory = Memory.draw(rng, form, s)
    column = memory.columns.take(columns_of_d(memory.letter, s.n))
    region = accumulator(memory.letter, s.n, memory.lane, column)
    disabled = mask or (0,) * (4 * form.ranks)
    words: list[Words] = []
    for step, one in enumerate(given):
        made = memory.operands(one, words[0] if step else None)
        words.append(
            replace(
                made,
                idesc=idesc(form, s, zero.most if zero else 0),
                d=memory.lane << 16 | memory.first + column,
                enable_d=enabled or step > 0,
                mask=(disabled * 2)[:8],
                zero_mask=zero.word if zero else 0,
            )
        )
    image = memory.image()
    stored = store_d(old, s.d)
    if s.d == "f16":
        stored = stored | rng.integers(0, 1 << 16, stored.shape, dtype=np.uint32) << np.uint32(16)
    region.put(memory.cells, stored)
    after = expected_d(form, s, given, unit, zero, old, enabled=enabled)
    live = ~masked_lanes(disabled)[region.rank, region.lane]
    layouts = tuple(part.layout.describe() for part in memory.parts)
    return Program(form, s, layouts, words, memory.cells, memory.first, image, region, live, after)
