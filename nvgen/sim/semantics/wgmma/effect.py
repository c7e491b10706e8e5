"""A warpgroup's multiply under way: reads A and B, multiplies, and writes D into registers.

Layer: nvgen.sim.semantics.  Input: decoded descriptors and the registers of four warps; output:
their accumulators.  What is modelled of the numbers is in `mma_numbers`: the products of one
instruction are summed exactly and rounded once, then added to D; integers are exact.  A Hopper chip
aligns the products of one instruction to the largest of them and D and drops what lies below 24
bits (below about 14 for elements of 8 bits), so the last bits of inexact sums differ from these;
sums whose every term and partial sum is an integer of few bits are the same.  PTX ISA,
wgmma.mma_async; wgmma.mma_async.sp.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.element import ElementType, Major
from intrinsics.layouts.fragments_wgmma import ROWS, a_fragment, accumulator_fragment
from intrinsics.layouts.packing import PIECE, unpack_cells
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Reg
from intrinsics.modifiers import MmaKind
from nvgen.sim.semantics.tcgen05.mma_numbers import (
    Cells,
    Numbers,
    accumulate,
    accumulate_integers,
    integer_sums,
    sums,
)
from nvgen.sim.semantics.tcgen05.mma_operands import (
    Codes,
    MatrixLayout,
    numbers,
    shared_matrix,
    shared_pieces,
)
from nvgen.sim.semantics.wgmma.sparse import Metadata, expand
from nvgen.sim.threads.machine import WARP, Cta, Frame

Words = NDArray[np.uint32]
Integers = NDArray[np.int64]
Index = slice | Integers
"""Words of registers in the memory of a frame."""

_WORD_BYTES = 4
_A_WORDS = 8
"""Words of a row of A."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of A or B: their type, a kind of tcgen05.mma that stores them so, their order.

    Single bits are stored as bytes of eight.
    """

    type_: ElementType
    kind: MmaKind
    bits: int
    major: Major = Major.K
    negate: bool = False

    @property
    def layout(self) -> MatrixLayout:
        """Their layout in shared memory."""
        return MatrixLayout(self.type_, self.kind, self.major)


@dataclass(frozen=True, slots=True)
class DecodedWgmma:
    """A decoded wgmma record: the width of D, K with the zeros of a sparse A, types and signs."""

    name: str
    n: int
    k: int
    d: ElementType
    a: Elements
    b: Elements
    saturate: bool = False
    sparse: bool = False
    selector: int = 0

    @property
    def stored(self) -> int:
        """Elements of a row of A that are stored; bytes, for single bits."""
        return _A_WORDS * 32 // max(self.a.bits, 8)

    @property
    def columns(self) -> int:
        """Rows of B that are stored, in elements; bytes, for single bits."""
        return self.k * self.a.bits // max(self.a.bits, 8)


@dataclass(frozen=True, slots=True)
class RegisterWords:
    """The rows of a frame's memory that hold 32-bit registers, as words of 32 threads each."""

    first: Integers

    @classmethod
    def of(cls, frame: Frame, registers: tuple[Reg, ...]) -> RegisterWords:
        """The register words of one function."""
        start = frame.memory.__array_interface__["data"][0]
        places = [frame.values[r].__array_interface__["data"][0] - start for r in registers]
        return cls(np.array(places, np.int64) // _WORD_BYTES)

    @property
    def index(self) -> Index:
        """The words of all threads, as one stretch where they are one."""
        first = self.first
        if bool((first[1:] - first[:-1] == WARP).all()):
            return slice(int(first[0]), int(first[-1]) + WARP)
        return (first[:, None] + np.arange(WARP)).reshape(-1)


@dataclass(eq=False, slots=True)
class WgmmaOperation:
    """One multiply of a warpgroup under way; calling it lets it take effect.

    `d` says where the accumulators lie in the registers of each frame; A is a descriptor, or where
    its registers lie.
    """

    cta: Cta
    form: DecodedWgmma
    frames: tuple[Frame, ...]
    d: Index
    a: SharedMemoryDescriptor | Index
    b: SharedMemoryDescriptor
    accumulate: bool
    metadata: Metadata | None = None

    def __call__(self) -> None:
        """Read A, B and D, and write D.

        Raises: Fault; NotSimulatedError.
        """
        form = self.form
        (a, kept), b = self._a(), self._b()
        old = self._old() if self.accumulate else None
        if form.d is ElementType.S32:
            total = integer_sums(a, b)
            cells = accumulate_integers(total, old, saturate=form.saturate)
        else:
            found = sums(a, b, kept)
            cells = accumulate(found, old, form.d, 0)
        self._write(cells)
        self.cta.machine.changed()

    def check_fenced(self) -> None:
        """Whether a proxy fence lies behind all that threads wrote of A and B, at the issue.

        Raises: Fault; NotSimulatedError for a layout that is not known.
        """
        form, region = self.form, self.cta.shared
        matrices = [("B", self.b, form.n, form.columns, form.b)]
        if isinstance(self.a, SharedMemoryDescriptor):
            matrices.insert(0, ("A", self.a, ROWS, form.stored, form.a))
        for name, where, rows, k, elements in matrices:
            pieces = shared_pieces(where, rows, k, elements.layout) + region.base
            agent = f"{form.name} ({name})"
            self.cta.machine.memory.check_fenced(region, pieces, PIECE, agent)

    # ---- A and B -----------------------------------------------------------------------------

    def _a(self) -> tuple[Numbers, NDArray[np.bool_] | None]:
        """A, 64 × K, and of a sparse one which elements are stored."""
        form, elements = self.form, self.form.a
        agent = f"{form.name} (A)"
        if isinstance(self.a, SharedMemoryDescriptor):
            every = np.ones(ROWS, np.bool_)
            codes = shared_matrix(self.cta, self.a, every, form.stored, elements.layout, agent)
        else:
            words = self._read(self.a)[_a_order()].reshape(ROWS, _A_WORDS)
            codes = unpack_cells(words, elements.type_, elements.kind)
        if self.metadata is None:
            return _numbers(codes, elements), None
        kept = expand(np.ones_like(codes), self.metadata, agent) != 0
        return _numbers(expand(codes, self.metadata, agent), elements), kept

    def _b(self) -> Numbers:
        """B transposed, N × K."""
        form, elements = self.form, self.form.b
        agent = f"{form.name} (B)"
        every = np.ones(form.n, np.bool_)
        codes = shared_matrix(self.cta, self.b, every, form.columns, elements.layout, agent)
        return _numbers(codes, elements)

    # ---- registers ---------------------------------------------------------------------------

    def _read(self, where: Index) -> Words:
        """Registers of the four warps, one behind the other: warps, registers, lanes."""
        return np.concatenate([frame.memory.view(np.uint32)[where] for frame in self.frames])

    def _old(self) -> Cells:
        """D before, 64 × N."""
        form = self.form
        words = self._read(self.d)
        if form.d is ElementType.F16:
            halves: NDArray[np.uint16] = words.view(np.uint16)[_d_order(form.n, 16)]
            return halves.reshape(ROWS, form.n).astype(np.uint32)
        return words[_d_order(form.n, 32)].reshape(ROWS, form.n)

    def _write(self, cells: Cells) -> None:
        form = self.form
        if form.d is ElementType.F16:
            halves = cells.astype(np.uint16).reshape(-1)
            words = halves[_d_places(form.n, 16)].view(np.uint32)
        else:
            words = cells.reshape(-1)[_d_places(form.n, 32)]
        for frame, part in zip(self.frames, np.split(words, len(self.frames)), strict=True):
            frame.memory.view(np.uint32)[self.d] = part


def _numbers(codes: Codes, elements: Elements) -> Numbers:
    if elements.bits == 1:
        return np.unpackbits(codes.astype(np.uint8), axis=1).astype(np.float64)
    found = numbers(codes, elements.type_)
    return -found if elements.negate else found


# ---- orders ----------------------------------------------------------------------------------


@functools.cache
def _d_places(n: int, bits: int) -> Integers:
    """The element of D, row by row, that each place of the registers of four warps holds."""
    row, column = accumulator_fragment(n, bits)
    return _by_register(row * n + column)


@functools.cache
def _d_order(n: int, bits: int) -> Integers:
    """The place of each element of D, row by row."""
    return np.argsort(_d_places(n, bits))


@functools.cache
def _a_order() -> Integers:
    """The place of each word of A, row by row."""
    row, word = a_fragment(32)
    return np.argsort(_by_register(row * _A_WORDS + word))


def _by_register(of_threads: Integers) -> Integers:
    """(threads, registers, elements) as registers lie in frames: warps, registers, lanes."""
    threads, registers, elements = of_threads.shape
    apart = of_threads.reshape(threads // WARP, WARP, registers, elements)
    return np.ascontiguousarray(apart.transpose(0, 2, 1, 3)).reshape(-1)
