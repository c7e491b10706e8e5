"""A tile multiply whose sums lie in registers: a kernel of the builder's, of mma.sync or wgmma.

Layer: nvgen.  Input: a tile multiply with its atom, and a target that has it.  Output: a kernel

    @multiply(a, b, d)      D = A · B, where C is zero

of one CTA.  In global memory A lies as [m][k], B as [n][k] and D as [m][n]; shared memory is
dynamic, for A and B in pieces of 128 bytes of K.  Warps and warpgroups share the rows and columns
of D.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError, SelectionError, Severity
from intrinsics.layouts.register_layout import warp_grids
from intrinsics.multiplies.register_atom import AtomTarget, RegisterAtom
from intrinsics.multiplies.tile_dot import TileDot
from intrinsics.targets import Target
from nvgen.builder.kernel import KernelBuilder
from nvgen.built import Kernel
from nvgen.values.pointers import Pointer

_SPAN = 128
"""Bytes of K in one piece of shared memory, at most."""

_SUMS = 128
"""Sums that a thread may hold, so that registers are left for the rest."""

_WARPS = (4, 8, 2, 1)
"""How many warps a CTA of mma.sync has: the first number with which they share D."""


def register_kernel(name: str, dot: TileDot, atom: RegisterAtom, target: Target) -> Kernel:
    """The kernel of `dot`.

    Raises: SelectionError for an atom or a tile that no kernel is made for.
    """
    threads = _threads(dot, atom)
    for text, got, expected in _problems(dot, atom, threads):
        raise _refused(dot, text, got, expected)
    try:
        return _built(name, dot, atom, target, threads)
    except InputError as error:  # the builder's requirements: the types' and the tiles'
        first = error.findings[0]
        raise _refused(dot, first.message, first.got, first.expected) from None


def _refused(dot: TileDot, text: str, got: str, expected: str) -> SelectionError:
    finding = Finding(
        "nv_tileaa.dot/kernel", Severity.ERROR, text, op=dot.op, got=got, expected=expected
    )
    return SelectionError([finding])


def _threads(dot: TileDot, atom: RegisterAtom) -> int:
    """The fewest threads that can hold D; 0 where none can."""
    m, n = dot.c.rows, dot.c.columns
    if atom.machine is AtomTarget.SM90:
        counts = [128 * groups for groups in (1, 2, 4) if m % (64 * groups) == 0]
    else:
        counts = [32 * warps for warps in _WARPS if warp_grids(warps, m, n)]
    return next((count for count in counts if m * n // count <= _SUMS), 0)


def _problems(dot: TileDot, atom: RegisterAtom, threads: int) -> Iterator[tuple[str, str, str]]:
    """What does not fit, what there is, and what would fit."""
    if not threads:
        most = "a smaller tile"
        yield "the sums do not fit into the registers of a CTA", f"{dot.c}", most
    if atom.d is ElementType.F16:
        yield "a kernel is made for sums of f32 or s32", atom.name, "an accumulator of f32"
    if atom.k * atom.a.bits != 256:
        yield "a kernel is made for atoms of 32 bytes of K", atom.name, f"k{256 // atom.a.bits}"


def _built(name: str, dot: TileDot, atom: RegisterAtom, target: Target, threads: int) -> Kernel:
    row = dot.a.columns * atom.a.bits // 8
    span = min(row, _SPAN)
    step = span * 8 // atom.a.bits
    b = KernelBuilder(name, block=threads, dynamic_shared=True, target=target.name)
    for parameter in ("a", "b"):
        b.pointer(parameter)
    b.pointer("d", output=True)
    given = {key: _pointer(value) for key, value in b.begin().items()}
    tiles = [
        b.shared_tiles(f"{matrix}_tile", element, (rows, step), row // span, swizzle=span)
        for matrix, element, rows in (
            ("a", atom.a, dot.a.rows),
            ("b", atom.b, dot.b.columns),
        )
    ]
    for number in range(row // span):
        for matrix, tile in zip("ab", tiles, strict=True):
            b.load_tile(tile[number], given[matrix] + number * span, dot.a.columns)
    b.load_commit()
    b.load_wait(0)
    sums = b.accumulator(dot.c.rows, dot.c.columns, atom.d)
    for number in range(row // span):
        b.gemm_async(sums, tiles[0][number], tiles[1][number], accumulate=number > 0)
    sums.commit()
    sums.wait()
    sums.store(given["d"], dot.c.columns, atom.d)
    return b.finish()


def _pointer(value: object) -> Pointer:
    assert isinstance(value, Pointer)
    return value
