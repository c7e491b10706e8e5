"""The tile multiply with its atom: which instruction of the machine does it.

Layer: intrinsics.  The second form of an MMA (`nv_tileaa.dot`): the tiles are tensors, and three
attributes say the atom, the precision of the inputs and what fast-math allows.  `pick_dot` takes
the atom from the tiles' shapes and types, of the machine that multiplies; an object that was made
otherwise is judged by `problems`, in the words of tile compilers.

    %acc_out = nv_tileaa.dot %a_tile, %b_tile, %acc_in
             { atom            = #cute.mma_atom<sm100_umma_m64n128k16_f32_bf16_bf16>,
               input_precision = "bf16",
               fastmath        = "contract" }
             : tensor<64x16xbf16>, tensor<16x128xbf16>, tensor<64x128xf32>
                  -> tensor<64x128xf32>

A tile may be larger than its atom: then the atom is repeated along M, N and K.  PTX ISA, Matrix
Shape (Table 39); mma; Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from intrinsics.descriptors.idesc import DENSE_K, INPUT_CODES, OUTPUT_CODES, m_values, n_values
from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import SCALED_KINDS, MmaKind
from intrinsics.multiplies.mma_atom import AtomError, MmaAtom, parse_atom
from intrinsics.multiplies.register_atom import (
    AtomTarget,
    RegisterAtom,
    depth,
    is_register_atom,
    parse_register_atom,
    widths,
)
from intrinsics.multiplies.tile_multiply import (
    NAMES,
    Names,
    Tile,
    TileMultiply,
    fastmath_problems,
    tile_problems,
)
from intrinsics.row import Problem

Atom: TypeAlias = MmaAtom | RegisterAtom
"""An instruction of any machine."""

_PRECISIONS: dict[ElementType, tuple[ElementType, ...]] = {
    ElementType.F32: (ElementType.TF32,),
    ElementType.TF32: (ElementType.TF32,),
}
"""In which precisions an element may enter the multiply, where that is not its own."""


@dataclass(frozen=True, slots=True)
class TileDot:
    """D (m × n) = A (m × k) · B (k × n) + C (m × n) by atoms called `atom`.

    `input_precision` is the type in which A enters the multiply, and of B where it is another one
    with a comma between them.
    """

    a: Tile
    b: Tile
    c: Tile
    atom: str
    input_precision: str
    fastmath: str = ""
    names: Names = NAMES

    @property
    def op(self) -> str:
        """The operation's name."""
        return "nv_tileaa.dot"

    def problems(self) -> list[Problem]:
        """Errors of its tiles, of its atom, and of the two together."""
        tiles = {"a": self.a, "b": self.b, "c": self.c}
        found = [*tile_problems(tiles), *fastmath_problems(self.fastmath)]
        try:
            atom = parse_any(self.atom)
        except AtomError as error:
            return [*found, Problem("atom", str(error), self.atom, error.expected, "atom")]
        return [*found, *self._types(atom), *self._repeats(atom)]

    def _types(self, atom: Atom) -> Iterator[Problem]:
        """Whether what goes in and comes out is what the atom multiplies."""
        if atom.d is not self.c.element:
            yield Problem(
                "output-type",
                f"atom output type does not match accumulator: {atom.d.value} in {self.atom}, "
                f"{self.c.element.value} in C",
                self.c.element.value, atom.d.value, "c",
            )  # fmt: skip
        for name, tile, element in (("a", self.a, atom.a), ("b", self.b, atom.b)):
            if element not in precisions(tile.element):
                yield self._incompatible(name, element.value, tile)
        wanted = _precision(atom)
        if self.input_precision != wanted and atom.a in precisions(self.a.element):
            yield self._incompatible("input_precision", self.input_precision, self.a, wanted)

    def _incompatible(self, subject: str, got: str, tile: Tile, expected: str = "") -> Problem:
        known = expected or " or ".join(one.value for one in precisions(tile.element))
        return Problem(
            "input-precision",
            f"atom input precision incompatible with operand type: {got} with "
            f"{tile.element.value} in {self.atom}",
            got, known, subject,
        )  # fmt: skip

    def _repeats(self, atom: Atom) -> Iterator[Problem]:
        """Whether the tile is a whole number of atoms."""
        sizes = (("M", self.a.rows, atom.m), ("N", self.b.columns, atom.n))
        for what, size, step in (*sizes, ("K", self.a.columns, atom.k)):
            if size % step:
                yield Problem(
                    "atom-shape",
                    f"the tile is no whole number of atoms: {what} is {size}, the atom's {step}",
                    str(size), f"a multiple of {step}", "atom",
                )  # fmt: skip

    def __str__(self) -> str:
        attributes = [
            ("atom", f"#cute.mma_atom<{self.atom}>"),
            ("input_precision", f'"{self.input_precision}"'),
        ]
        if self.fastmath:
            attributes.append(("fastmath", f'"{self.fastmath}"'))
        listed = ",\n           ".join(f"{name:<15} = {value}" for name, value in attributes)
        types = ", ".join(f"tensor<{tile}>" for tile in (self.a, self.b, self.c))
        return (
            f"%{self.names.d} = {self.op} {self.names}\n         {{ {listed} }}\n"
            f"         : {types}\n              -> tensor<{self.c}>"
        )


def precisions(element: ElementType) -> tuple[ElementType, ...]:
    """The types of an atom's input that an operand of `element` may become."""
    return _PRECISIONS.get(element, (element,))


def _precision(atom: Atom) -> str:
    if atom.a is atom.b:
        return atom.a.value
    return f"{atom.a.value},{atom.b.value}"


def dot_of(multiply: TileMultiply, atom: Atom) -> TileDot:
    """The multiply with `atom`."""
    return TileDot(
        multiply.a, multiply.b, multiply.c, atom.name, _precision(atom), multiply.fastmath,
        multiply.names,
    )  # fmt: skip


def multiply_of(dot: TileDot) -> TileMultiply:
    """The multiply without its atom."""
    return TileMultiply(dot.a, dot.b, dot.c, dot.fastmath, dot.names)


def tile_of(atom: Atom) -> TileMultiply:
    """The multiply of one atom: its tiles are of the atom's size."""
    return TileMultiply(
        Tile(atom.m, atom.k, atom.a), Tile(atom.k, atom.n, atom.b), Tile(atom.m, atom.n, atom.d)
    )


def parse_any(name: str) -> Atom:
    """The atom called `name`, of any target.

    Raises: AtomError.
    """
    return parse_register_atom(name) if is_register_atom(name) else parse_atom(name)


def pick_dot(
    multiply: TileMultiply, *, pair: bool = False, machine: AtomTarget = AtomTarget.SM100
) -> TileDot:
    """The multiply with the largest dense atom of a machine of which its tiles are whole numbers.

    `pair` asks for an atom of a CTA pair, which tcgen05 alone has.

    Raises: AtomError where the machine has none for these types or shapes.
    """
    if machine is not AtomTarget.SM100:
        return _in_registers(multiply, machine)
    a, b = (precisions(tile.element)[0] for tile in (multiply.a, multiply.b))
    kind = _kind_of(a, b)
    outputs = OUTPUT_CODES[kind].values()
    if multiply.c.element not in outputs:
        known = " or ".join(type_.value for type_ in outputs)
        raise AtomError(f"{kind.value} gives no {multiply.c.element.value}", known)
    group = 2 if pair else 1
    m = _largest("M", multiply.a.rows, list(m_values(kind, group)))
    n = _largest("N", multiply.b.columns, n_values(kind, group))
    k = _largest("K", multiply.a.columns, [DENSE_K[kind]])
    atom = MmaAtom(kind, m, n, k, multiply.c.element, a, b, pair=pair)
    return dot_of(multiply, parse_atom(atom.name))


def _in_registers(multiply: TileMultiply, machine: AtomTarget) -> TileDot:
    """The multiply with an atom of a warp or a warpgroup."""
    a, b = (precisions(tile.element)[0] for tile in (multiply.a, multiply.b))
    n = widths(machine, a)
    if not n:
        raise AtomError(f"{machine.value} does not multiply {a.value}", "another type")
    atom = RegisterAtom(
        machine,
        _largest("M", multiply.a.rows, [64 if machine is AtomTarget.SM90 else 16]),
        _largest("N", multiply.b.columns, n),
        _largest("K", multiply.a.columns, [depth(machine, a)]),
        multiply.c.element, a, b,
    )  # fmt: skip
    return dot_of(multiply, parse_register_atom(atom.name))


def _kind_of(a: ElementType, b: ElementType) -> MmaKind:
    for kind, codes in INPUT_CODES.items():
        if kind not in SCALED_KINDS and a in codes.values() and b in codes.values():
            return kind
    raise AtomError(f"no kind multiplies {a.value} by {b.value}", "types of one kind")


def _largest(what: str, size: int, known: list[int]) -> int:
    """The largest of the atom's sizes that divides the tile's."""
    fitting = [one for one in known if size > 0 and size % one == 0]
    if fitting:
        return max(fitting)
    raise AtomError(f"no atom has a {what} of {size}", f"a multiple of {min(known)}")
