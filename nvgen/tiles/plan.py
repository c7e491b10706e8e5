"""The plan of a tile multiply on tcgen05: where matrices and accumulators lie.

Layer: nvgen.  Input: a tile multiply with its atom.  Output: the sizes and places of its kernel,
which `nvgen.tiles.tensor` writes down.  PTX ISA, tcgen05, Data Path Layout Organization.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COLUMNS, MOST_SHARED
from intrinsics.modifiers import FP4_KINDS
from intrinsics.multiplies.mma_atom import MmaAtom
from intrinsics.multiplies.tile_dot import TileDot

THREADS = 128

_TO_ALL, _TO_HALVES, _WHOLE = "i32 4, i32 3, i32 0", "i32 3, i32 2, i32 0", "i32 0, i32 0, i32 0"
"""Copies: 32 lanes of 16 bytes to all four parts of the lanes, 64 to two parts each, and 128 lanes
of 32 bytes."""

SPANS = {128: 1, 64: 2, 32: 3}
"""Bytes of a span, and the walkthrough's code of the swizzle that has it."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A or B in the shared memory of a CTA: `rows` of `row` bytes, `own` of them in each atom.

    A step of K has `step` bytes; the matrix begins `base` bytes behind the tiles' beginning.
    """

    name: str
    rows: int
    own: int
    row: int
    step: int
    base: int

    @property
    def span(self) -> int:
        """Bytes of a row, along K, that lie side by side: the span of the swizzling."""
        return next(span for span in SPANS if self.row >= span)

    @property
    def size(self) -> int:
        """Bytes of the matrix."""
        return self.rows * self.row

    def place(self, first: int, byte: int) -> int:
        """The offset of byte `byte` of K in row `first`."""
        piece, within = divmod(byte, self.span)
        return self.base + piece * self.rows * self.span + first * self.span + within


@dataclass(frozen=True, slots=True)
class Images:
    """Images of tensor memory, `count` of `size` bytes, and how they are copied there.

    `each` says that the CTAs of a pair have their own, `spread` that two blocks of 32 lanes come
    from global memory, which lie side by side in all four parts of the lanes.
    """

    name: str
    count: int
    size: int
    copy: str
    base: int
    each: bool = True
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes of a kernel, for one CTA."""

    name: str
    dot: TileDot
    atom: MmaAtom

    @property
    def ctas(self) -> int:
        """CTAs that multiply together."""
        return 2 if self.atom.pair else 1

    @property
    def rows(self) -> int:
        """Rows of A and D of one atom."""
        return self.atom.m // self.ctas

    @property
    def steps(self) -> int:
        """Atoms along K."""
        return self.dot.a.columns // self.atom.k

    @property
    def a(self) -> Matrix:
        """A; of a sparse one, the elements that are stored."""
        return self._matrix("a", self.dot.a.rows, self.rows, self.atom.a, 0)

    @property
    def b(self) -> Matrix:
        """B, as N rows of K."""
        n = self.dot.b.columns
        return self._matrix("b", n, self.atom.n // self.ctas, self.atom.b, self.a.size)

    def _matrix(self, name: str, rows: int, own: int, type_: ElementType, base: int) -> Matrix:
        bits = type_.bits if self.atom.kind in FP4_KINDS else max(type_.bits, 8)
        step = self.atom.k * bits // 8 // (2 if self.atom.sparse and name == "a" else 1)
        return Matrix(name, rows // self.ctas, own, step * self.steps, step, base)

    @property
    def images(self) -> list[Images]:
        """The images that are copied to tensor memory."""
        base = self.a.size + self.b.size
        along_m = self.dot.a.rows // self.atom.m * self.steps
        along_n = self.dot.b.columns // self.atom.n * self.steps
        found = []
        if self.atom.sparse:
            found.append(Images("e", along_m, 16 * 128, "i32 2, i32 0, i32 0", base))
        if self.atom.scale is not None:
            size = 16 * 32
            found.append(Images("sfa", along_m, size, _TO_ALL, base))
            base += along_m * size
            found.append(self._factors_of_b(along_n, base))
        return found

    def _factors_of_b(self, count: int, base: int) -> Images:
        if self.halves:
            return Images("sfb", count, 16 * 64, _TO_HALVES, base, each=False)
        if self.atom.n > 128:
            return Images("sfb", count, 32 * 128, _WHOLE, base, each=False, spread=True)
        return Images("sfb", count, 16 * 32, _TO_ALL, base, each=False)

    @property
    def halves(self) -> bool:
        """Whether each half of the columns of D has half of the lanes: layout B."""
        return self.atom.pair and self.rows == 64

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        return self.a.size + self.b.size + sum(one.count * one.size for one in self.images)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The accumulators: the first row and column of each in D, of both CTAs together."""
        m, n = self.dot.a.rows, self.dot.b.columns
        return [(i, j) for i in range(0, m, self.atom.m) for j in range(0, n, self.atom.n)]

    @property
    def sharing(self) -> int:
        """How many threads hold a row of D together: PTX ISA, Data Path Layout Organization."""
        if self.atom.stationary:
            return THREADS // self.rows
        return 2 if self.halves else 1

    @property
    def values(self) -> int:
        """Elements of D that a thread has of one accumulator."""
        return self.atom.n // self.sharing

    @property
    def handles(self) -> list[tuple[str, int]]:
        """The allocations: names, and the walkthrough's columns of 2 KiB."""
        own = [(f"%h{number}", -(-self.values // 4)) for number in range(len(self.parts))]
        return own + [(f"%{i.name}.h{n}", 8) for i in self.images for n in range(i.count)]

    def problems(self) -> Iterator[tuple[str, str, str]]:
        """What does not fit: the rule, what is needed, and the limit."""
        taken = sum(max(32, 1 << (4 * columns - 1).bit_length()) for _, columns in self.handles)
        if taken > COLUMNS:
            text = f"allocated tmem out of resource: {taken} columns of {COLUMNS}"
            yield text, f"{taken} columns", f"{COLUMNS} columns"
        if self.shared > MOST_SHARED:
            yield "the tiles do not fit into shared memory", str(self.shared), str(MOST_SHARED)
