"""GEMM kernels made with the builder's `gemm_async`, and what they should compute.

`Gemm` describes D = A·Bᵀ (+ C) by one CTA: tiles of K brought by TMA, one after the other into the
same shared memory, multiplied into one accumulator.  The expected values are numpy's, from the
inputs as numbers; nothing of the simulator's is used for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.modifiers import LdStNum
from nvgen import Kernel, KernelBuilder
from nvgen.multiplies.tensor_accumulator import TensorTile
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int
from nvgen.values.pointers import Barrier, Pointer
from nvgen.values.vectors import Vector

Array = NDArray[np.generic]
Floats = NDArray[np.float32]

DTYPES: dict[str, np.dtype[np.generic]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
}
BOX_LIMIT = 256


@dataclass(frozen=True)
class Gemm:
    """One problem and how it is cut: K in tiles of `k_tile`, rows of `swizzle` bytes in spans."""

    m: int
    n: int
    k: int
    a: str = "f16"
    b: str = "f16"
    k_tile: int = 0
    swizzle: int = 128
    add_c: bool = False
    loop: bool = False

    def __str__(self) -> str:
        parts = [f"{self.m}x{self.n}x{self.k}", self.a, self.b, f"tile{self.tile}"]
        parts += [f"swizzle{self.swizzle}", *(["c"] if self.add_c else [])]
        return "-".join([*parts, *(["loop"] if self.loop else [])])

    @property
    def tile(self) -> int:
        """K of one tile."""
        return self.k_tile or self.k

    @property
    def columns(self) -> int:
        """Columns of tensor memory to allocate."""
        return max(32, 1 << (self.n - 1).bit_length())

    # ---- the kernel --------------------------------------------------------------------------

    def build(self) -> Kernel:
        """The kernel; its arguments are A, B, C and D."""
        types = ElementType(self.a), ElementType(self.b)
        b = KernelBuilder("gemm", block=128)
        for name, type_, rows in zip("ab", types, (self.m, self.n), strict=True):
            span = self.swizzle * 8 // type_.bits
            b.tensor_map(
                name, dtype=type_, box=(min(rows, box_rows(rows)), span), swizzle=self.swizzle
            )
        b.pointer("c")
        b.pointer("d")
        args = b.begin()
        a_tile = b.shared_tile("a_tile", types[0], (self.m, self.tile), swizzle=self.swizzle)
        b_tile = b.shared_tile("b_tile", types[1], (self.n, self.tile), swizzle=self.swizzle)
        loaded, multiplied = b.mbarrier("loaded"), b.mbarrier("multiplied")
        slot = b.shared_word("slot")
        with b.if_warp(0):
            b.tcgen05_alloc(slot, self.columns)
        with b.if_thread(0):
            b.mbarrier_init(loaded, 1)
            b.mbarrier_init(multiplied, 1)
            b.fence_mbarrier_init_release_cluster()
        _meet(b)
        accumulator = b.tensor_tile(b.load_word(slot), self.m, self.n)
        self._initial(b, accumulator, args["c"])
        _meet(b)
        steps = self.k // self.tile
        barriers = loaded, multiplied
        maps = args["a"], args["b"]
        if self.loop:
            with b.range(steps) as index:
                self._step(b, accumulator, (a_tile, b_tile), maps, barriers, index, add=True)
        else:
            for i in range(steps):
                add = self.add_c or i > 0
                self._step(b, accumulator, (a_tile, b_tile), maps, barriers, b.const(i), add=add)
        self._result(b, accumulator, args["d"])
        _meet(b)
        with b.if_warp(0):
            b.tcgen05_dealloc(accumulator.pointer, self.columns)
            b.tcgen05_relinq_alloc_permit()
        return b.finish()

    def _step(
        self,
        b: KernelBuilder,
        accumulator: TensorTile,
        tiles: tuple[SharedTile, SharedTile],
        maps: tuple[Pointer | Int, Pointer | Int],
        barriers: tuple[Barrier, Barrier],
        i: Int,
        *,
        add: bool,
    ) -> None:
        """One tile of K: bring it, multiply it, wait until its memory is free again."""
        loaded, multiplied = barriers
        with b.if_thread(0):
            b.mbarrier_arrive_expect_tx(loaded, sum(tile.nbytes for tile in tiles))
            for tile, tensor_map in zip(tiles, maps, strict=True):
                self._bring(b, tile, tensor_map, loaded, i)
        with b.if_warp(0):
            b.wait(loaded, i & 1)
            with b.elect():
                b.gemm_async(accumulator, *tiles, accumulate=add)
                b.tcgen05_commit(multiplied)
        b.wait(multiplied, i & 1)
        b.tcgen05_fence_after_thread_sync()

    def _bring(
        self, b: KernelBuilder, tile: SharedTile, tensor_map: Pointer | Int, mbar: Barrier, i: Int
    ) -> None:
        assert isinstance(tensor_map, Pointer)
        box = box_rows(tile.rows)
        width = tile.span
        for span in range(tile.k // width):
            for row in range(0, tile.rows, box):
                offset = (span * tile.rows + row) * self.swizzle
                k = i * self.tile + span * width
                b.cp_async_bulk_tensor_g2s_tile(tile.pointer + offset, mbar, tensor_map, (k, row))

    def _rows(self, b: KernelBuilder, array: Pointer | Int) -> tuple[Pointer, Int]:
        """The row of a matrix that a thread's lane holds, and whether it holds one."""
        assert isinstance(array, Pointer)
        warp, lane = b.tid_x >> 5, b.tid_x & 31
        height = self.m // 4
        row = warp * height + (lane & (height - 1))
        return array + row.zext(64) * (4 * self.n), lane < height

    def _initial(self, b: KernelBuilder, accumulator: TensorTile, c: Pointer | Int) -> None:
        """C into tensor memory: all that an accumulator's lanes will be read from."""
        row, _ = self._rows(b, c)
        with b.range(self.n // 8) as i:
            pointer = row + i.zext(64) * 32
            type_ = ir.VectorType(ir.IntType(32), 8)
            values = Vector(b, b.at_caller().load(pointer.value, typ=type_, align=16), 8)
            b.tcgen05_st(
                accumulator.pointer + ((b.tid_x >> 5) << 21) + i * 8, values, num=LdStNum.X8
            )
        b.tcgen05_wait_st()

    def _result(self, b: KernelBuilder, accumulator: TensorTile, d: Pointer | Int) -> None:
        row, holds = self._rows(b, d)
        with b.range(self.n // 8) as i:
            lane = accumulator.pointer + ((b.tid_x >> 5) << 21)
            values = b.tcgen05_ld(lane + i * 8, num=LdStNum.X8)
            b.tcgen05_wait_ld()
            with b.if_(holds):
                b.store(values, row + i.zext(64) * 32, align=16)

    # ---- the numbers -------------------------------------------------------------------------

    def integers(self, seed: int) -> tuple[Array, Array, Floats]:
        """Small integers, so that every sum is exact in any order."""
        rng = np.random.default_rng(seed)
        a, b = (
            rng.integers(-8, 9, (rows, self.k)).astype(DTYPES[name])
            for rows, name in ((self.m, self.a), (self.n, self.b))
        )
        return a, b, rng.integers(-1000, 1000, (self.m, self.n)).astype(np.float32)

    def reals(self, seed: int) -> tuple[Array, Array, Floats]:
        """Normally distributed numbers, rounded to the element types."""
        rng = np.random.default_rng(seed)
        a, b = (
            to_type(rng.standard_normal((rows, self.k)), name)
            for rows, name in ((self.m, self.a), (self.n, self.b))
        )
        return a, b, rng.standard_normal((self.m, self.n)).astype(np.float32)

    def expected(self, a: Array, b: Array, c: Floats) -> NDArray[np.float64]:
        """The result in double precision: products of these types are exact there."""
        product = a.astype(np.float64) @ b.astype(np.float64).T
        return product + c if self.add_c or self.loop else product

    def bound(self, a: Array, b: Array, c: Floats) -> NDArray[np.float64]:
        """How far a sum in f32 may be from the exact one, whatever the order of additions.

        With n additions, each rounded with relative error at most u, the error is at most
        n·u / (1 - n·u) times the sum of the absolute values.  Products are exact in f32: 11 + 11
        bits at most.  u = 2⁻²³ allows for truncation as well as for rounding to the nearest.
        """
        u, additions = 2.0**-23, self.k + 1
        magnitude = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T + np.abs(c)
        return additions * u / (1 - additions * u) * magnitude


def box_rows(rows: int) -> int:
    """Rows of one TMA box: all, or half of them where the box would be too tall."""
    return rows if rows <= BOX_LIMIT else rows // 2


def to_type(values: NDArray[np.float64], name: str) -> Array:
    """Numbers in an element type; tf32 is f32 with the last 13 bits zero."""
    if name != "tf32":
        return values.astype(DTYPES[name])
    words = values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
    return words.view(np.float32)


def _meet(b: KernelBuilder) -> None:
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()
