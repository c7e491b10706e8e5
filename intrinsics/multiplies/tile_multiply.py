"""The tile multiply: three tiles, and how much precision may be traded, before any machine.

Layer: intrinsics.  The first form of an MMA (`cuda_tile.mmaf`, `mmai` for integers): operands with
types and shapes, and nothing of tensor memory, control words, CTA groups or collectors.  An object
is made as it is, right or wrong; `problems` judges it, in the words of tile compilers.

    %acc_out = cuda_tile.mmaf %a_tile, %b_tile, %acc_in
             { fastmath = "contract" }
             : !cuda_tile.tile<64x16xbf16>,
               !cuda_tile.tile<16x128xbf16>,
               !cuda_tile.tile<64x128xf32>
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.row import Problem

MOST_ELEMENTS = 1 << 24
"""Elements of the largest tile."""

INTEGERS = (ElementType.S8, ElementType.U8, ElementType.S32)


class FastMath(Enum):
    """What a lowering may assume or relax; LLVM Language Reference, Fast-Math Flags."""

    REASSOC = "reassoc"
    CONTRACT = "contract"
    NNAN = "nnan"
    NINF = "ninf"
    NSZ = "nsz"
    ARCP = "arcp"
    AFN = "afn"
    FAST = "fast"


@dataclass(frozen=True, slots=True)
class Tile:
    """A matrix of `rows` by `columns` elements."""

    rows: int
    columns: int
    element: ElementType

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}x{self.element.value}"


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the operands and the result, without %."""

    a: str = "a_tile"
    b: str = "b_tile"
    c: str = "acc_in"
    d: str = "acc_out"

    def __str__(self) -> str:
        return f"%{self.a}, %{self.b}, %{self.c}"


NAMES = Names()
"""The names that they have in examples."""


@dataclass(frozen=True, slots=True)
class TileMultiply:
    """D (m × n) = A (m × k) · B (k × n) + C (m × n); D has the type of C.

    `fastmath` is the attribute as it was given, "" for none: several flags stand with commas.
    """

    a: Tile
    b: Tile
    c: Tile
    fastmath: str = ""
    names: Names = NAMES

    @property
    def op(self) -> str:
        """The operation's name."""
        return "cuda_tile.mmai" if self.c.element in INTEGERS else "cuda_tile.mmaf"

    def problems(self) -> list[Problem]:
        """Errors in shapes, sizes, and the fast-math attribute."""
        tiles = {"a": self.a, "b": self.b, "c": self.c}
        return [
            *tile_problems(tiles),
            *_elements(tiles),
            *fastmath_problems(self.fastmath),
        ]

    def __str__(self) -> str:
        types = (f"!cuda_tile.tile<{tile}>" for tile in (self.a, self.b, self.c))
        attributes = f'\n         {{ fastmath = "{self.fastmath}" }}' if self.fastmath else ""
        return f"%{self.names.d} = {self.op} {self.names}{attributes}\n         : " + (
            ",\n           ".join(types)
        )


def tile_problems(tiles: dict[str, Tile]) -> Iterator[Problem]:
    """Errors in the sizes of the tiles A, B and C, by rules that hold at every stage."""
    for name, tile in tiles.items():
        yield from _size(name, tile)
    a, b, c = tiles["a"], tiles["b"], tiles["c"]
    for what, one, first, other, second in (
        ("K", "A", a.columns, "B", b.rows),
        ("M", "A", a.rows, "C", c.rows),
        ("N", "B", b.columns, "C", c.columns),
    ):
        if first != second:
            yield Problem(
                "dimensions",
                f"tile dimensions must conform: {what} is {first} in {one} and {second} in {other}",
                f"{a.rows}x{a.columns} times {b.rows}x{b.columns} plus {c.rows}x{c.columns}",
                "MxK times KxN plus MxN",
                other.lower(),
            )


def _size(name: str, tile: Tile) -> Iterator[Problem]:
    for dimension in (tile.rows, tile.columns):
        if dimension < 1 or dimension & (dimension - 1):
            yield Problem(
                "power-of-two",
                f"tile dimensions must be powers of two: {dimension} in {name.upper()}",
                str(tile), "1, 2, 4, 8, …", name,
            )  # fmt: skip
    elements = tile.rows * tile.columns
    if elements > MOST_ELEMENTS:
        yield Problem(
            "maximum",
            f"tile would exceed the maximum of {MOST_ELEMENTS} elements: {name.upper()} has "
            f"{elements}",
            str(tile), f"at most {MOST_ELEMENTS} elements", name,
        )  # fmt: skip


def _elements(tiles: dict[str, Tile]) -> Iterator[Problem]:
    """Integers are multiplied by integers, into integers."""
    integer = tiles["c"].element in INTEGERS
    for name in ("a", "b"):
        element = tiles[name].element
        if (element in INTEGERS) is not integer:
            what = "integers" if integer else "floating-point numbers"
            yield Problem(
                "element",
                f"an accumulator of {tiles['c'].element.value} takes {what}, not {element.value}",
                element.value, what, name,
            )  # fmt: skip


def fastmath_problems(fastmath: str) -> Iterator[Problem]:
    """Whether each flag of the attribute is one."""
    known = {member.value for member in FastMath}
    for flag in filter(None, (part.strip() for part in fastmath.split(","))):
        if flag not in known:
            names = ", ".join(member.value for member in FastMath)
            yield Problem(
                "fastmath", f"fastmath attribute is not one of {{{names}}}", f'"{flag}"', names,
                "fastmath",
            )  # fmt: skip
