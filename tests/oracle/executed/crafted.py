"""Programs with given numbers: a code in each element, the rest as a form and a seed have it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.oracle.executed.draws import Codes, Matrix, Random
from tests.oracle.executed.expected import Expected
from tests.oracle.executed.forms import FORMS, Form
from tests.oracle.executed.memory import TooLargeError
from tests.oracle.executed.operands import Operands
from tests.oracle.executed.programs import Program, build
from tests.oracle.executed.shapes import Shape, draw_shape
from tests.oracle.executed.zero_masks import ZeroMask

Fill = Callable[[Random, Shape], Operands]

ONE = {
    "f16": 0x3C00, "bf16": 0x3F80, "tf32": 0x3F800000, "e4m3": 0x38, "e5m2": 0x3C, "e2m3": 0x08,
    "e3m2": 0x0C, "e2m1": 0x02, "s8": 1, "u8": 1,
}  # fmt: skip
"""The code of 1."""


def form_named(name: str) -> Form:
    """The form that prints so."""
    return next(form for form in FORMS if str(form) == name)


def crafted(
    form: Form,
    fill: Fill,
    *,
    a: str,
    b: str,
    old: Matrix | float | None = None,
    zero: ZeroMask | None = None,
    d: str = "f32",
    seed: int = 0,
    m: int | None = None,
    n: int | None = None,
    factor: str = "ue8m0",
) -> Program:
    """A program of types `a`, `b` and `d`, whose numbers `fill` gives; all else is drawn.

    D counts if `old` is given.
    """
    rng = np.random.default_rng([zlib.crc32(f"{form}{a}{b}".encode()), seed])
    while True:
        s = draw_shape(rng, form)
        s = replace(s, a=a, b=b, d=d, saturate=False, negate_a=False, negate_b=False)
        s = replace(s, m=m or s.m, n=n or s.n, factor=factor)
        if b in ("s8", "u8", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1") and s.n % (16 * form.ranks):
            s = replace(s, b_mn=False)
        given = fill(rng, s)
        before = np.zeros((s.m, s.n)) if old is None else np.broadcast_to(old, (s.m, s.n))
        try:
            return build(
                rng, form, s, [given], before, unit=np.inf, enabled=old is not None, zero=zero
            )
        except TooLargeError:
            continue


def expecting(program: Program, values: Matrix) -> Program:
    """The same program, of which these values are expected; NaN stands for any NaN."""
    return replace(program, expected=Expected(values, None, values == 0))


def full(rows: int, k: int, code: int) -> Codes:
    """The same code everywhere."""
    return np.full((rows, k), code, np.uint32)
