"""Operators of the builder's integers against numpy's, and the even CTA of a pair.

Integers of kernels are unsigned, as indices are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from nvgen import KernelBuilder
from nvgen.values.pointers import pointer_of
from tests.oracle.gpu import launch

THREADS = 96
EDGES = (0, 1, 2, 5, 31, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF)
# The lists are of 9 and 8, so that each number meets each, itself too.
WORDS = np.resize(np.array(EDGES, np.uint32), THREADS)
OTHERS = np.resize(np.array(EDGES[1:], np.uint32), THREADS)

ARITHMETIC = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_,
    operator.or_, operator.xor,
)  # fmt: skip
COMPARISONS = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip


def made(operation: Callable[..., object]) -> np.ndarray:
    """What the threads make of their two numbers; a condition counts as 0 or 1."""
    b = KernelBuilder("k", block=THREADS)
    for name in ("x", "y", "out"):
        b.pointer(name, output=name == "out")
    args = b.begin()
    place = (b.tid_x * 4).zext(64)
    x, y = (b.load_word(args[name] + place) for name in ("x", "y"))
    found = operation(x, y)
    b.store(found.zext(32) if found.bits == 1 else found, args["out"] + place)  # type: ignore[attr-defined]
    out = np.zeros(THREADS, np.uint32)
    launch(b.finish().compile(target="sm_90a"), WORDS, OTHERS, out, block=(THREADS, 1, 1))
    return out


@pytest.mark.gpu
@pytest.mark.parametrize("operation", [*ARITHMETIC, *COMPARISONS], ids=lambda o: o.__name__)
def test_an_operator_is_numpys(operation: Callable[..., object]) -> None:
    assert made(operation).tolist() == operation(WORDS, OTHERS).astype(np.uint32).tolist()  # type: ignore[attr-defined]


@pytest.mark.gpu
@pytest.mark.parametrize("shift", [operator.lshift, operator.rshift], ids=lambda o: o.__name__)
def test_a_shift_is_of_an_unsigned_number(shift: Callable[..., object]) -> None:
    assert made(lambda x, y: shift(x, 5)).tolist() == shift(WORDS, np.uint32(5)).tolist()  # type: ignore[attr-defined]


def test_the_even_cta_of_a_pair() -> None:
    b = KernelBuilder("k", block=32, cluster=4)
    b.pointer("out", output=True)
    args = b.begin()
    rank = b.getctarank_shared_cluster(pointer_of(b.of_even_cta(b.mbarrier("m"))))
    b.store(rank, args["out"] + (b.ctaid_x * 4).zext(64))
    out = np.zeros(4, np.uint32)
    compiled = b.finish().compile(target="sm_90a")
    compiled.run(out, grid=4, block=32, cluster=4)
    assert out.tolist() == [0, 0, 2, 2]
