"""Facts about a function's registers while its records are made.

Layer: isel.select.  In SSA form what once holds of a register holds wherever it is live; what is
known of one block only is forgotten where the next one begins.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from intrinsics.mir import Form, Reg, Scalar
from intrinsics.modifiers import Compare, ScalarType


class Sum(NamedTuple):
    """`number` + or - `base`; whether it is still so of both extended by sign, or with zeros."""

    base: Reg
    number: int
    signed: bool
    unsigned: bool
    sign: int = 1


class Added(NamedTuple):
    """`left` + `right`; whether it is still so of both extended by sign, or with zeros."""

    left: Reg
    right: Reg
    signed: bool
    unsigned: bool


class Compared(NamedTuple):
    """A comparison of two integers, as numbers of a type."""

    cmp: Compare
    type: ScalarType
    left: Reg
    right: Scalar


class Root(NamedTuple):
    """An approximate square root: of what, and the form that 1 by it is."""

    of: Reg
    reciprocal: Form


class RegisterFacts:
    """Facts about registers that later instructions ask for."""

    def __init__(self) -> None:
        # (step of a getelementptr, bits) -> the bytes that it steps over, and
        # (base, step, bits) -> the address that it leads to:
        # those of this block, and those of the entry block, which comes before all
        self.scaled: dict[Hashable, Reg] = {}
        self.kept: dict[Hashable, Reg] = {}
        # register -> the one that it is a copy of
        self.copies: dict[Reg, Reg] = {}
        # division, dividend, divisor -> the quotient, in this block
        self.quotients: dict[Hashable, Reg] = {}
        # register -> the one twice as wide whose upper half it was shifted down from
        self.uppers: dict[Reg, Reg] = {}
        # register of 32 bits -> what was shifted to the left, and by how many bits
        self.shifted: dict[Reg, tuple[Reg, int]] = {}
        # register -> the sum that it holds
        self.sums: dict[Reg, Sum] = {}
        # register -> the two registers that it is the sum of, one of which is such a sum
        self.added: dict[Reg, Added] = {}
        # register -> from which bit on it is known to hold zeros
        self.zero_above: dict[Reg, int] = {}
        # registers -> the word that they are the parts of
        self.words: dict[tuple[Scalar, ...], Reg] = {}
        # word, and which half -> the register that the half was cut into last
        self.cut: dict[tuple[Reg, int], Reg] = {}
        # register of 16 bits -> the register of 32 of which it is a byte, and which
        self.bytes: dict[Reg, tuple[Reg, int]] = {}
        # register -> the one half as wide that it was extended from, and whether by its sign
        self.halves: dict[Reg, tuple[Reg, bool]] = {}
        # predicate -> the comparison that it holds
        self.compared: dict[Reg, Compared] = {}
        # Of floating point: factors of products, in this block; roots and what they are roots of.
        self.products: dict[str, tuple[tuple[Scalar, ...], tuple[Scalar, ...]]] = {}
        self.roots: dict[Reg, Root] = {}

    def forget_block(self) -> None:
        """Forget what is known of the current block only."""
        self.scaled = {}
        self.quotients = {}
        self.products = {}
