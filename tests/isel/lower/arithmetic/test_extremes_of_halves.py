"""A comparison of halves that chooses between a value and a constant: one instruction, same value.

What answers is numpy: the comparison, then the choice.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen

TYPES = {"half": ("H", np.dtype(np.float16)), "bfloat": ("R", np.dtype(ml_dtypes.bfloat16))}
NUMBERS = (0.0, -0.0, 1.5, -1.5, 6e-5, -6e-5, 1e-6, np.inf, -np.inf, np.nan, 100.0, -100.0)
CONSTANTS = (0.0, -0.0, 1.5, -1.5, np.inf, np.nan)
RELATIONS: dict[str, Callable[[NDArray[np.float32], np.float32], NDArray[np.bool_]]] = {
    "gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal,
}  # fmt: skip
PREDICATES = [f"{ordered}{relation}" for ordered in "ou" for relation in RELATIONS]
ONE = re.compile(r"\b(?:min|max)\.b?f16")


def literal(type_: str, number: float) -> str:
    letter, dtype = TYPES[type_]
    return f"0x{letter}{int(np.array(number, dtype).view(np.uint16)):04X}"


def kernel(type_: str, choices: list[tuple[str, str]], constant: float, flags: str = "") -> str:
    """Each thread's value under each choice: a comparison, and what is chosen where it holds."""
    c = literal(type_, constant)
    lines = []
    for n, (comparison, chosen) in enumerate(choices):
        predicate, sides = comparison.split(" ", 1)
        lines += [
            f"%c{n} = fcmp {predicate} {type_} {sides.replace('c', c)}",
            f"%r{n} = select {flags}i1 %c{n}, {chosen.replace('T', type_).replace('c', c)}",
            f"%o{n} = getelementptr [{len(choices)} x i16], ptr addrspace(1) %out, i32 %t, i32 {n}",
            f"store {type_} %r{n}, ptr addrspace(1) %o{n}",
        ]
    body = "\n  ".join(lines)
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i16, ptr addrspace(1) %in, i32 %t
  %x = load {type_}, ptr addrspace(1) %p
  {body}
  ret void
}}
"""


CHOICES = [
    (f"{predicate} {sides}", chosen)
    for predicate, sides, chosen in itertools.product(
        PREDICATES, ("%x, c", "c, %x"), ("T %x, T c", "T c, T %x")
    )
]


def holds(comparison: str, x: NDArray[np.float32], c: np.float32) -> NDArray[np.bool_]:
    predicate, sides = comparison.split(" ", 1)
    relation = RELATIONS[predicate[1:]]
    found = relation(x, c) if sides == "%x, c" else relation(np.full_like(x, c), x)
    return found | ((np.isnan(x) | np.isnan(c)) & (predicate[0] == "u"))


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("constant", CONSTANTS, ids=str)
def test_every_choice_is_numpys(type_: str, constant: float) -> None:
    dtype = TYPES[type_][1]
    given = np.array(NUMBERS, dtype)
    bits = given.view(np.uint16)
    c = np.array(constant, dtype)
    compiled = nvgen.compile(kernel(type_, CHOICES, constant), target="sm_90a")
    out = np.zeros((len(given), len(CHOICES)), np.uint16)
    compiled.run(bits, out, block=len(given), device="sim")
    for n, (comparison, chosen) in enumerate(CHOICES):
        found = holds(comparison, given.astype(np.float32), c.astype(np.float32))
        if not chosen.startswith("T %x"):
            found = ~found
        expected = np.where(found, bits, c.view(np.uint16))
        assert out[:, n].tolist() == expected.tolist(), (comparison, chosen)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    ("comparison", "chosen", "constant", "flags", "one"),
    [
        ("ogt %x, c", "T %x, T c", 1.5, "", True),
        ("ule %x, c", "T c, T %x", 1.5, "", True),
        ("olt c, %x", "T %x, T c", 0.0, "", True),
        ("olt %x, c", "T %x, T c", -0.0, "", True),
        ("oge %x, c", "T %x, T c", 0.0, "nsz ", True),
        ("oge %x, c", "T %x, T c", 0.0, "", False),  # -0, where max gives +0
        ("ugt %x, c", "T %x, T c", 1.5, "", False),  # a NaN, where max gives the constant
        ("ogt %x, c", "T %x, T c", np.nan, "", False),
    ],
)
def test_it_is_one_instruction_where_no_value_differs(
    type_: str, comparison: str, chosen: str, constant: float, flags: str, one: bool
) -> None:
    text = kernel(type_, [(comparison, chosen)], constant, flags)
    compiled = nvgen.compile(text, target="sm_90a")
    assert bool(ONE.search(compiled.ptx)) is one
    assert ("setp" in compiled.ptx) is not one
    assert compiled.cubin()


def test_neighbours_share_one() -> None:
    text = """
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %x = load <2 x half>, ptr addrspace(1) %p
  %c = fcmp ogt <2 x half> %x, zeroinitializer
  %r = select <2 x i1> %c, <2 x half> %x, <2 x half> zeroinitializer
  store <2 x half> %r, ptr addrspace(1) %p
  ret void
}
"""
    ptx = nvgen.compile(text, target="sm_90a").ptx
    assert ptx.count("max.f16x2") == 1
    assert "setp" not in ptx


@pytest.mark.parametrize(
    ("target", "attribute"), [("sm_75", ""), ("sm_90a", '"denormal-fp-math"="preserve-sign"')]
)
def test_it_stays_a_choice_where_the_instruction_is_missing_or_flushes(
    target: str, attribute: str
) -> None:
    text = kernel("half", [("ogt %x, c", "T %x, T c")], 1.5).replace(") {", f") {attribute} {{")
    assert "max.f16" not in nvgen.compile(text, target=target).ptx
