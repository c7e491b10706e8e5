"""Statements near the legal ones: modifiers and operands dropped, doubled, moved and replaced.

The enumeration of `tests.oracle.tcgen05_product` has the fields that the manual writes, in the
manual's order.  Here chance changes statements that ptxas accepts in one to three places, so that
every operand meets every kind of operand and every instruction the modifiers of all the others.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.oracle import statements

NONSENSE: tuple[str, ...] = (
    ".nosuch", ".kind::f16::f16", ".cta_group::1::2", ".cta_group::0", ".x3", ".x256", ".KIND::f16",
    ".sp", ".ws", ".red", ".collector::a::keep", ".collector::c::fill", ".block64", ".pack::32b",
    ".scale_vec::3X", ".warpx2::03_12", ".warpx3", ".b8x16.b8x16", ".sync_restrict", ".down.down",
)  # fmt: skip
"""Modifiers that no tcgen05 instruction has, and words of its names out of place."""

SEED_TARGETS: tuple[str, ...] = ("sm_107a", "sm_100a", "sm_110a")
"""Where statements are legal that mutants are made of."""

_STATEMENT = re.compile(r"(?P<head>tcgen05\.\w+(?:::\w+)?)(?P<mods>\S*)(?: (?P<rest>.*))?;")


@dataclass(slots=True)
class Parts:
    """A statement taken apart."""

    guard: str
    head: str
    modifiers: list[str]
    operands: list[str]

    @classmethod
    def of(cls, statement: str) -> Parts:
        """The parts of a statement without a guard."""
        found = _STATEMENT.fullmatch(statement)
        if found is None:
            raise ValueError(f"no tcgen05 statement: {statement!r}")
        modifiers = re.findall(r"\.[^.]+", found["mods"])
        operands = re.findall(r"(?:\{[^}]*\}|[^,{}])+", found["rest"] or "")
        return cls("", found["head"], modifiers, [operand.strip() for operand in operands])

    def __str__(self) -> str:
        text = f"{self.guard}{self.head}{''.join(self.modifiers)}"
        return f"{text} {', '.join(self.operands)};" if self.operands else f"{text};"


class Mutator:
    """Changes statements by chance; the same seed gives the same changes."""

    def __init__(self, seeds: Sequence[str], seed: int) -> None:
        self._random = random.Random(seed)
        self._seeds = list(seeds)
        every = (modifier for text in seeds for modifier in Parts.of(text).modifiers)
        self._modifiers = [*dict.fromkeys(every), *NONSENSE, *statements.ALIENS]
        self._changes: tuple[Callable[[Parts], None], ...] = (
            self._drop_modifier, self._repeat_modifier, self._swap_modifiers,
            self._replace_modifier, self._replace_modifier, self._insert_modifier,
            self._insert_modifier, self._drop_operand, self._repeat_operand, self._swap_operands,
            self._replace_operand, self._replace_operand, self._replace_operand,
            self._insert_operand, self._change_vector, self._change_vector, self._guard,
        )  # fmt: skip

    def mutants(self, count: int) -> list[str]:
        """So many different statements."""
        made: dict[str, None] = {}
        while len(made) < count:
            parts = Parts.of(self._random.choice(self._seeds))
            for _ in range(self._random.choices((1, 2, 3), (6, 3, 1))[0]):
                self._random.choice(self._changes)(parts)
            made[str(parts)] = None
        return list(made)

    def _place(self, items: Sequence[str]) -> int:
        return self._random.randrange(len(items)) if items else -1

    def _drop_modifier(self, parts: Parts) -> None:
        if parts.modifiers:
            del parts.modifiers[self._place(parts.modifiers)]

    def _repeat_modifier(self, parts: Parts) -> None:
        if parts.modifiers:
            modifier = self._random.choice(parts.modifiers)
            parts.modifiers.insert(self._random.randrange(len(parts.modifiers) + 1), modifier)

    def _swap_modifiers(self, parts: Parts) -> None:
        _swap(self._random, parts.modifiers)

    def _replace_modifier(self, parts: Parts) -> None:
        if parts.modifiers:
            place = self._place(parts.modifiers)
            parts.modifiers[place] = self._random.choice(self._modifiers)

    def _insert_modifier(self, parts: Parts) -> None:
        place = self._random.randrange(len(parts.modifiers) + 1)
        parts.modifiers.insert(place, self._random.choice(self._modifiers))

    def _drop_operand(self, parts: Parts) -> None:
        if parts.operands:
            del parts.operands[self._place(parts.operands)]

    def _repeat_operand(self, parts: Parts) -> None:
        if parts.operands:
            operand = self._random.choice(parts.operands)
            parts.operands.insert(self._random.randrange(len(parts.operands) + 1), operand)

    def _swap_operands(self, parts: Parts) -> None:
        _swap(self._random, parts.operands)

    def _replace_operand(self, parts: Parts) -> None:
        if parts.operands:
            place = self._place(parts.operands)
            parts.operands[place] = self._random.choice(statements.EVERY)

    def _insert_operand(self, parts: Parts) -> None:
        place = self._random.randrange(len(parts.operands) + 1)
        parts.operands.insert(place, self._random.choice(statements.EVERY))

    def _change_vector(self, parts: Parts) -> None:
        """One element of a vector dropped, doubled or replaced; braces around what is none."""
        if not parts.operands:
            return
        vectors = [n for n, operand in enumerate(parts.operands) if operand.startswith("{")]
        place = self._random.choice(vectors or range(len(parts.operands)))
        elements = parts.operands[place].strip("{}").split(", ")
        other = self._random.choice((*statements.REGISTERS, *statements.LITERALS, "smem", "_"))
        at = self._place(elements)
        elements[at : at + 1] = self._random.choice(
            ([], [elements[at], f"%r{263 - at}"], [other], [elements[at]])
        )
        parts.operands[place] = "{" + ", ".join(elements) + "}" if elements else "%r1"

    def _guard(self, parts: Parts) -> None:
        parts.guard = self._random.choice(("@%p1 ", "@!%p1 "))


def _swap(chance: random.Random, items: list[str]) -> None:
    if len(items) > 1:
        one, other = chance.sample(range(len(items)), 2)
        items[one], items[other] = items[other], items[one]


def batches(items: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """The items in groups of at most ``size``: what crashes ptxas then costs less to find."""
    rest = iter(items)
    while batch := tuple(itertools.islice(rest, size)):
        yield batch
