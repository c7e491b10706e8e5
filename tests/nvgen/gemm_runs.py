"""One gemm_async on the simulator: operands by lot, the kernel around it, and what must come out.

Operands go into memory as bytes by formulas of this file; the kernel brings them by TMA (A in
tensor memory: by threads), multiplies, and dumps the accumulator's columns, lane by lane.  Numbers
are small integers, scale factors powers of two, so that float64 and f32 hold every sum exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.modifiers import CtaGroup, LdStNum
from nvgen import Kernel, KernelBuilder
from nvgen.builder.registers import Vector
from nvgen.builder.tensor_tiles import OperandTile, SparseTile
from nvgen.builder.tiles import SharedTile
from nvgen.builder.values import Barrier, Int, Pointer
from tests.oracle.block_scaled import numbers

Bytes = npt.NDArray[np.uint8]
Matrix = npt.NDArray[np.float64]

COLUMNS = 512
_SMALL = {E.E2M1: (0, 2, 4, 6, 10, 12, 14), E.E2M3: (0, 8, 16, 24, 40, 48), E.E3M2: (0, 12, 16, 20)}
"""Codes of integers of narrow types: E2M1 0, 1, 2, 4, E2M3 0, 1, 2, 4, E3M2 0, 1, 2, 4; signed."""


@dataclass(frozen=True)
class Form:
    """What is multiplied; `size` is how many elements share a factor, 0 for none."""

    m: int = 128
    n: int = 128
    k: int = 64
    types: tuple[E, E] = (E.F16, E.F16)
    majors: tuple[Major, Major] = (Major.K, Major.K)
    padded: tuple[bool, bool] = (False, False)
    swizzle: int = 128
    in_tensor_memory: bool = False
    size: int = 0
    factor: E = E.UE8M0
    loop: bool = False
    stationary: bool = False
    pair: bool = False
    sparse: bool = False

    @property
    def stored(self) -> int:
        """Elements of A's rows that are stored."""
        return self.k // 2 if self.sparse else self.k

    @property
    def ctas(self) -> int:
        """CTAs that hold equal parts of A's and of B's rows."""
        return 2 if self.pair else 1

    @property
    def rows(self) -> tuple[int, int]:
        """Rows of A and of B in a CTA."""
        return self.m // self.ctas, self.n // self.ctas

    @property
    def step(self) -> int:
        """K of an instruction."""
        bits = self.types[0].bits
        if bits == 4 and not self.padded[0]:
            return 64
        return 256 // max(bits, 8) * (2 if self.sparse else 1)

    @property
    def columns(self) -> int:
        """Columns of the accumulator."""
        if self.pair:
            return self.n * self.m // 256
        return self.n * self.m // 128 if self.stationary else self.n


@dataclass
class Data:
    """A matrix: its numbers with their factors, its codes, and the factors' blocks."""

    meant: Matrix
    codes: npt.NDArray[np.uint32]
    blocks: npt.NDArray[np.int32] | None
    words: npt.NDArray[np.int32] | None = None


def pruned(form: Form, whole: Data, rng: np.random.Generator) -> Data:
    """A with two of each four elements left out by lot: what is stored, and the metadata's words.

    For f16 sixteen rows share sixteen lanes of a column for 32 elements; for bytes a row has its
    own lane, and a column for each 32 elements.
    """
    chunks = form.k // 4
    places = np.sort(rng.permuted(np.tile(np.arange(4), (form.m, chunks, 1)), axis=2)[:, :, :2])
    stored = np.take_along_axis(whole.codes.reshape(form.m, chunks, 4), places, axis=2)
    kept = np.zeros((form.m, chunks, 4))
    np.put_along_axis(kept, places, 1.0, axis=2)
    words = np.zeros((form.m, chunks // 8), np.int64)
    for row in range(form.m):
        for chunk in range(chunks):
            bits = int(places[row, chunk, 0] | places[row, chunk, 1] << 2)
            if form.types[0].bits == 16:
                lane = row // 16 * 16 + chunk % 8 // 4 * 8 + row % 8
                words[lane, chunk // 8] |= bits << row // 8 % 2 * 16 + chunk % 4 * 4
            else:
                words[row, chunk // 8] |= bits << chunk % 8 * 4
    meant = whole.meant * kept.reshape(form.m, form.k)
    return Data(meant, stored.reshape(form.m, -1), None, words.astype(np.uint32).view(np.int32))


def matrix(form: Form, rows: int, which: int, rng: np.random.Generator) -> Data:
    """A or B by lot."""
    type_ = form.types[which]
    if type_ in _SMALL:
        codes = rng.choice(np.array(_SMALL[type_], np.uint32), (rows, form.k))
    else:
        values = rng.integers(-4, 5, (rows, form.k)).astype(type_.numpy)
        codes = values.view(f"u{type_.bits // 8}").astype(np.uint32)
    meant = numbers(codes, type_.value)
    if not form.size:
        return Data(meant, codes, None)
    exponents = rng.integers(-1, 3, (rows, form.k // form.size))
    scale = np.exp2(exponents)
    factors = scale.astype(form.factor.numpy).view(np.uint8)
    return Data(meant * scale.repeat(form.size, axis=1), codes, blocked(factors))


def blocked(factors: Bytes) -> npt.NDArray[np.int32]:
    """The factors in blocks of 128 rows by four, each 512 bytes; a short block has zeros behind."""
    rows, count = factors.shape
    down, along = -(-rows // 128), -(-count // 4)
    found = np.zeros((down * along, 512), np.uint8)
    for row in range(rows):
        for factor in range(count):
            place = row % 32 * 16 + row % 128 // 32 * 4 + factor % 4
            found[row // 128 * along + factor // 4, place] = factors[row, factor]
    return found.view(np.int32)


def in_bytes(form: Form, which: int, codes: npt.NDArray[np.uint32], *, cells: bool) -> Bytes:
    """Rows of codes as bytes, elements from the lowest bits upwards.

    Padded elements, and those of 6 bits: in tensor memory (`cells`) a byte each, four bits in its
    middle; in shared memory 16 of them in the first of 16 bytes.
    """
    type_ = form.types[which]
    rows = len(codes)
    narrow = type_.bits == 6 or (type_.bits == 4 and form.padded[which])
    if narrow and cells:
        return (codes << (2 if type_.bits == 4 else 0)).astype(np.uint8)
    bits = (codes[:, :, None] >> np.arange(type_.bits, dtype=np.uint32) & 1).astype(np.uint8)
    if not narrow:
        return np.packbits(bits.reshape(rows, -1), axis=1, bitorder="little")
    packed = np.packbits(bits.reshape(rows, -1, 16 * type_.bits), axis=2, bitorder="little")
    padding = np.zeros((*packed.shape[:2], 16 - packed.shape[2]), np.uint8)
    return np.concatenate([packed, padding], axis=2).reshape(rows, -1)


def in_memory(form: Form, which: int, codes: npt.NDArray[np.uint32]) -> Bytes:
    """A matrix as it lies in global memory: K or rows innermost."""
    if form.majors[which] is Major.K:
        return in_bytes(form, which, codes, cells=False)
    return in_bytes(form, which, np.ascontiguousarray(codes.T), cells=False)


def kernel(form: Form) -> Kernel:
    """The kernel: a, b, then the factors if there are any, then the dump, then the steps."""
    b = KernelBuilder("k", block=128, cluster=form.ctas, dynamic_shared=True)
    group = CtaGroup.TWO if form.pair else CtaGroup.ONE
    boxes = [
        (_box(rows if major is Major.K else form.k), form.swizzle)
        for rows, major in zip(form.rows, form.majors, strict=True)
    ]
    if form.in_tensor_memory:
        b.pointer("a")
    else:
        b.tensor_map("a", dtype=E.U8, box=boxes[0], swizzle=form.swizzle)
    b.tensor_map("b", dtype=E.U8, box=boxes[1], swizzle=form.swizzle)
    if form.sparse:
        b.pointer("words")
    scales = ("sfa", "sfb") if form.size else ()
    scaled = dict(zip(scales, (form.rows[0], form.n), strict=False))  # of B each CTA has all
    for name, rows in scaled.items():
        down, along = -(-rows // 128), -(-form.k // (4 * form.size))
        b.tensor_map(name, dtype=E.S32, box=(down * along, 128))
    b.pointer("d", output=True)
    b.integer("steps")
    args = b.begin()
    rank = b.cluster_ctarank if form.pair else b.const(0)

    loaded, done = b.mbarrier("loaded"), b.mbarrier("done")
    tiles = {
        name: b.shared_tile(
            name, form.types[i], (form.rows[i], (form.stored, form.k)[i]), swizzle=form.swizzle,
            major=form.majors[i], padded=form.padded[i],
        )
        for i, name in enumerate("ab") if not (name == "a" and form.in_tensor_memory)
    }  # fmt: skip
    factors = {
        name: b.shared_scales(name, rows, form.k, dtype=form.factor, size=form.size).first
        for name, rows in scaled.items()
    }
    with b.if_thread(0):
        b.mbarrier_init(loaded, 1)
        b.mbarrier_init(done, 1)
        b.fence_mbarrier_init_release_cluster()
    if form.pair:
        b.barrier_cluster_sync()
    tmem = b.tensor_memory("tmem", COLUMNS, cta_group=group)
    d = tmem.tile(form.m, form.n, stationary=form.stationary)
    _clear(b, form, d.pointer)
    left: SharedTile | OperandTile | SparseTile
    if form.sparse and form.in_tensor_memory:
        left = tmem.sparse_tile(form.m, form.k, form.types[0])
        _fill(b, OperandTile(left.values, form.m, form.stored, form.types[0]), args["a"])
        _fill(b, OperandTile(left.metadata, form.m, form.k // 32, E.S32), args["words"])
    elif form.in_tensor_memory:
        left = tmem.operand_tile(form.m, form.k, form.types[0], padded=form.padded[0])
        _fill(b, left, args["a"])
    else:
        left = tiles["a"]
    more: dict[str, Pointer] = {}
    if form.sparse and not form.in_tensor_memory:
        more["metadata"] = tmem.metadata(form.k, form.types[0])
        _fill(b, OperandTile(more["metadata"], form.m, form.k // 32, E.S32), args["words"])
    held = {
        name: tmem.scale_tile(rows, form.k, form.factor, form.size) for name, rows in scaled.items()
    }
    with b.if_thread(0):
        whole = [*tiles.values(), *factors.values()]
        with b.if_(rank == 0):
            nbytes = form.ctas * sum(tile.nbytes for tile in whole)
            b.mbarrier_arrive_expect_tx(loaded, nbytes)
        there = b.of_even_cta(loaded) if form.pair else loaded
        for name, tile in tiles.items():
            _bring(b, tile, args[name], there, rank, group if form.pair else None)
        for name, scale in factors.items():
            first = rank * scale.blocks[0] * scale.blocks[1] if name == "sfa" else b.const(0)
            b.cp_async_bulk_tensor_g2s_tile(
                scale.pointer, there, args[name], (0, first),
                cta_group=group if form.pair else None,
            )  # fmt: skip
    with b.if_warp(0), b.if_(rank == 0):
        b.wait(loaded, 0)
        b.tcgen05_fence_after_thread_sync()
        with b.elect():
            for name, target in held.items():
                b.copy_scales(target, factors[name], cta_group=group)
            if form.loop:
                with b.range(args["steps"]) as step:
                    b.gemm_async(
                        d, left, tiles["b"], step=step, accumulate=step != 0,
                        stationary=form.stationary, cta_group=group, **held, **more,
                    )  # fmt: skip
            else:
                b.gemm_async(
                    d,
                    left,
                    tiles["b"],
                    stationary=form.stationary,
                    cta_group=group,
                    **held,
                    **more,
                )
            b.tcgen05_commit(done, cta_group=group, cta_mask=3 if form.pair else None)
    b.wait(done, 0)
    b.tcgen05_fence_after_thread_sync()
    _dump(b, form, d.pointer, args["d"], rank)
    if form.pair:
        b.barrier_cluster_sync()
    tmem.free()
    return b.finish()


def _bring(
    b: KernelBuilder, tile: SharedTile, tensor: Pointer | Int, loaded: Barrier, rank: Int,
    group: CtaGroup | None,
) -> None:  # fmt: skip
    """A CTA's tile, a span at a time, in boxes that TMA can do."""
    by_rows = tile.major is Major.K
    bytes_before = rank * (0 if by_rows else tile.rows * tile.bits // 8)
    rows_before = rank * (tile.rows if by_rows else 0)
    across = tile.rows if tile.major is Major.K else tile.k
    along = (tile.k if tile.major is Major.K else tile.rows) * tile.bits // 8
    for span in range(along // tile.swizzle):
        for first in range(0, across, _box(across)):
            target = tile.pointer + (span * across + first) * tile.swizzle
            assert isinstance(tensor, Pointer)
            place = bytes_before + span * tile.swizzle, rows_before + first
            b.cp_async_bulk_tensor_g2s_tile(target, loaded, tensor, place, cta_group=group)


def _box(rows: int) -> int:
    """Rows of a box: all, or half of them where they are more than 256."""
    return rows if rows <= 256 else rows // 2


def _fill(b: KernelBuilder, tile: OperandTile, source: Pointer | Int) -> None:
    """A into tensor memory: a row for each thread, 32 columns at a time or what there is."""
    assert isinstance(source, Pointer)
    width = min(tile.columns, 32)
    row = source + b.zext(b.tid_x, 64) * (4 * tile.columns)
    for first in range(0, tile.columns, width):
        type_ = ir.VectorType(ir.IntType(32), width)
        address = (row + 4 * first).value
        values = Vector(b, b.at_caller().load(address, typ=type_, align=16), width)
        b.tcgen05_st(
            tile.pointer + ((b.tid_x >> 5) << 21) + first, values, num=LdStNum[f"X{width}"]
        )
    b.tcgen05_wait_st()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()


def _clear(b: KernelBuilder, form: Form, columns: Pointer) -> None:
    """Zeros in every lane that is dumped: layout F writes half of them only."""
    type_ = ir.VectorType(ir.IntType(32), 8)
    zeros = Vector(b, ir.Constant(type_, [0] * 8), 8)
    for first in range(0, form.columns, 8):
        b.tcgen05_st(columns + ((b.tid_x >> 5) << 21) + first, zeros, num=LdStNum.X8)
    b.tcgen05_wait_st()
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()


def _dump(b: KernelBuilder, form: Form, columns: Pointer, target: Pointer | Int, rank: Int) -> None:
    """The accumulator's columns of every lane, eight at a time."""
    assert isinstance(target, Pointer)
    row = target + b.zext(rank * 128 + b.tid_x, 64) * (4 * form.columns)
    for first in range(0, form.columns, 8):
        values = b.tcgen05_ld(columns + ((b.tid_x >> 5) << 21) + first, num=LdStNum.X8)
        b.tcgen05_wait_ld()
        b.store(values, row + 4 * first, align=16)


def cells(form: Form) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The lane and the column of each element of D; lanes of an odd CTA are 128 and more.

    Layouts D, E, F and G, and of pairs A and B.
    """
    row, column = np.arange(form.m)[:, None], np.arange(form.n)[None, :]
    if form.pair and form.m == 128:
        return row // 64 * 128 + row % 64 + column // (form.n // 2) * 64, (
            column % (form.n // 2) + 0 * row
        )
    if form.stationary:
        part = column // form.columns
        return row + part * form.m, column % form.columns + 0 * row
    if form.m == 64:
        return row // 16 * 32 + row % 16 + 0 * column, column + 0 * row
    return row + 0 * column, column + 0 * row


def run(form: Form, *, target: str, schedule: str = "early", opt: int = 0, seed: int = 0) -> None:
    """Run a form and compare all of D.

    Raises: AssertionError when an element differs.
    """
    rng = np.random.default_rng(seed)
    a, b = matrix(form, form.m, 0, rng), matrix(form, form.n, 1, rng)
    if form.sparse:
        a = pruned(form, a, rng)
    if form.in_tensor_memory:
        first = in_bytes(form, 0, a.codes, cells=True)
    else:
        first = in_memory(form, 0, a.codes)
    inputs: list[object] = [first, in_memory(form, 1, b.codes)]
    inputs += [] if a.words is None else [a.words]
    inputs += [data.blocks for data in (a, b) if data.blocks is not None]
    dump = np.full((128 * form.ctas, form.columns), np.nan, np.float32)
    steps = form.k // form.step
    kernel(form).compile(target=target, opt=opt).run(
        *inputs, dump, steps, grid=form.ctas, schedule=schedule
    )
    expected = (a.meant @ b.meant.T).astype(np.float32)
    np.testing.assert_array_equal(dump[cells(form)], expected)
