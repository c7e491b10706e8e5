"""The numbers of one instruction, and their product.

PTX ISA, Sparse Matrices, Block Scaling; sums of exact draws need no more than 24 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.intrinsics.published.sparsity import CHUNK, PAIRS, SINGLES, SWAPPED
from tests.oracle.executed import draws
from tests.oracle.executed.draws import Codes, Matrix, Random, values_of
from tests.oracle.executed.forms import Form
from tests.oracle.executed.shapes import Shape
from tests.oracle.executed.zero_masks import ZeroMask
from tests.oracle.sparse_products import places

LIMITS = {"MXF8F6F4": 64, "MXF4": 12, "MXF4NVF4": 12}


@dataclass(frozen=True)
class Operands:
    """The numbers of one instruction; A as stored, its metadata, B's rows with those to shift."""

    a: Codes
    b: Codes
    indices: Codes | None
    sfa: Codes | None
    sfb: Codes | None


@dataclass(frozen=True)
class Units:
    """The exponents of what A, B and their scale factors are multiples of."""

    a: int
    b: int
    sfa: int
    sfb: int

    @property
    def product(self) -> float:
        """What all products are multiples of."""
        return 2.0 ** (self.a + self.b + self.sfa + self.sfb)


def draw_units(rng: Random, form: Form, s: Shape) -> Units:
    if s.d == "s32":
        return Units(0, 0, 0, 0)
    a, b = (draws.exponent(rng, one, _exponents(one, s.d)) for one in (s.a, s.b))
    if not form.scaled:
        return Units(a, b, 0, 0)
    return Units(a, b, *(draws.exponent(rng, s.factor) for _ in range(2)))


def _exponents(type_: str, d: str) -> tuple[int, int] | None:
    """Of an f16 D, so that 2,048 units are f16 numbers."""
    if d == "f32" or type_ in ("e2m3", "e3m2", "e2m1"):
        return None
    return (-6, 1) if type_ == "f16" else (-5, 1)


def draw_operands(
    rng: Random, form: Form, s: Shape, rows_b: int, units: Units, *, exact: bool
) -> Operands:
    kind = form.kind.name
    limit = 4 if s.d == "f16" else LIMITS.get(kind, 256)

    def codes(type_: str, shape: tuple[int, int], unit: int) -> Codes:
        if kind == "I8":
            return draws.integers(rng, shape)
        return (
            draws.exact(rng, type_, shape, limit, unit)
            if exact
            else draws.normal(rng, type_, shape)
        )

    a = codes(s.a, (s.m, s.k // 2 if form.sparse else s.k), units.a)
    b = codes(s.b, (rows_b, s.k), units.b)
    indices = sfa = sfb = None
    if form.sparse:
        legal = list(SINGLES) if CHUNK[kind] == 2 else list(PAIRS | SWAPPED)
        indices = rng.choice(np.array(legal, np.uint32), (s.m, s.k // CHUNK[kind]))
    if form.scaled:
        spread = 1 if kind == "MXF8F6F4" else 2
        sfa = draws.factors(rng, s.factor, (s.m, s.per_row), spread, units.sfa)
        sfb = draws.factors(rng, s.factor, (s.n, s.per_row), spread, units.sfb)
    return Operands(a, b, indices, sfa, sfb)


def _values(codes: Codes, type_: str, *, negate: bool) -> Matrix:
    found = values_of(codes, type_)
    return -found if negate else found


def product(form: Form, s: Shape, given: Operands, zero: ZeroMask | None) -> tuple[Matrix, Matrix]:
    """A·Bᵀ with everything but D, and the sum of the sizes of its terms; both (M, N)."""
    a = _values(given.a, s.a, negate=s.negate_a)
    b = _values(given.b, s.b, negate=s.negate_b)
    if zero is not None:
        b = zero.apply(b, s.n)
    if form.sparse:
        assert given.indices is not None
        dense = np.zeros((s.m, s.k))
        np.put_along_axis(dense, places(given.indices, form.kind.name.lower()), a, axis=1)
        a = dense
    if given.sfa is not None and given.sfb is not None:
        each = s.k // s.per_row
        a = a * np.repeat(values_of(given.sfa, s.factor), each, axis=1)
        b = b * np.repeat(values_of(given.sfb, s.factor), each, axis=1)
    with np.errstate(invalid="ignore"):
        return a @ b.T, np.abs(a) @ np.abs(b).T
