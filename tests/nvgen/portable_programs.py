"""One kernel body for every target: a CTA's tile of D = A·Bᵀ, its K through a ring of buffers.

What a test is not about has a default: 128×128, f16, sums in f32, 128 threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from nvgen import Kernel, KernelBuilder
from nvgen.compilation.compiled import Compiled
from nvgen.multiplies.portable import PortableAccumulator
from nvgen.shared_memory.tiles import SharedTile
from nvgen.testing import Launch, assert_exact
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer

TARGETS = ("sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a")
ONE_OF_EACH = ("sm_80", "sm_90a", "sm_100a")
"""A target for each instruction: mma.sync, wgmma.mma_async, tcgen05.mma."""

FP8_TARGETS = TARGETS[1:]
INTEGER_TARGETS = ("sm_80", "sm_90", "sm_90a", "sm_120a")

STEPS = 5
"""Steps of K: more than a ring of three has buffers, and no multiple of them."""

STAGES = 3


@dataclass(frozen=True)
class Case:
    """A tile of D and how it is computed; `k` is that of one buffer, 128 bytes by default."""

    m: int = 128
    n: int = 128
    k: int = 0
    dtypes: tuple[E, E] = (E.F16, E.F16)
    majors: tuple[Major, Major] = (Major.K, Major.K)
    out: E = E.F32
    threads: int = 128
    swizzle: int = 128
    single: bool = False
    """Whether each step of K of an instruction is a call, numbered by the kernel."""

    @property
    def depth(self) -> int:
        """K of one buffer."""
        return self.k or self.swizzle * 8 // self.dtypes[0].bits

    @property
    def sums(self) -> E:
        """The accumulator's type."""
        return E.S32 if self.dtypes[0].is_integer else E.F32

    def operands(self) -> tuple[NDArray[np.generic], NDArray[np.generic], NDArray[np.generic]]:
        """A, B as they lie in memory, and D: small integers, whose sums f16 holds exactly."""
        dice = np.random.default_rng(self.m + self.n)
        depth = self.depth * STEPS
        low = 0 if self.dtypes[0] is E.U8 else -2
        a = dice.integers(low, 3, (self.m, depth)).astype(self.dtypes[0].numpy)
        b = dice.integers(low, 3, (self.n, depth)).astype(self.dtypes[1].numpy)
        d = (a.astype(np.float32) @ b.astype(np.float32).T).astype(self.out.numpy)
        stored = (
            matrix if major is Major.K else np.ascontiguousarray(matrix.T)
            for matrix, major in zip((a, b), self.majors, strict=True)
        )
        return (*stored, d)  # type: ignore[return-value]

    def run(self, launch: Launch) -> None:
        """Launch it for the item's target; D must be exact."""
        a, b, expected = self.operands()
        d = np.zeros_like(expected)
        launch(_compiled(self, launch.target, launch.opt), a, b, d, STEPS)
        assert_exact(d, expected)

    def build(self, target: str) -> Kernel:
        """The kernel; its last argument is how many buffers of K there are."""
        b = KernelBuilder("tile", block=self.threads, dynamic_shared=True, target=target)
        for name in ("a", "b"):
            b.pointer(name)
        b.pointer("d", output=True)
        b.integer("steps")
        args = b.begin()
        steps = args["steps"]
        assert isinstance(steps, Int)
        rings = [
            b.shared_tiles(
                f"{name}_ring", dtype, (rows, self.depth), STAGES, swizzle=self.swizzle, major=major
            )
            for name, rows, dtype, major in zip(
                "ab", (self.m, self.n), self.dtypes, self.majors, strict=True
            )
        ]
        sums = b.accumulator(self.m, self.n, self.sums)
        filled, used = b.ring(STAGES), b.ring(STAGES)

        def load(step: Int) -> None:
            with b.if_(step < steps):
                for name, ring in zip("ab", rings, strict=True):
                    tile = ring[filled.stage]
                    b.load_tile(tile, *_source(b, args[name], tile, steps, step))
            b.load_commit()
            filled.advance()

        for step in range(STAGES - 1):
            load(b.const(step))
        with b.range(steps) as step:  # type: ignore[assignment]
            sums.wait()
            b.load_wait(STAGES - 2)
            tiles = [ring[used.stage] for ring in rings]
            self._multiply(b, sums, tiles, step)
            sums.commit()
            used.advance()
            load(step + (STAGES - 1))
        sums.wait()
        target_of_d = args["d"]
        assert isinstance(target_of_d, Pointer)
        sums.store(target_of_d, self.n, self.out)
        return b.finish()

    def _multiply(
        self, b: KernelBuilder, sums: PortableAccumulator, tiles: list[SharedTile], step: Int
    ) -> None:
        if not self.single:
            b.gemm_async(sums, *tiles, accumulate=step != 0)
            return
        with b.range(self.depth * self.dtypes[0].bits // 256) as part:
            b.gemm_async(sums, *tiles, accumulate=(step + part) != 0, step=part)


@functools.cache
def _compiled(case: Case, target: str, opt: int) -> Compiled:
    """Once for all schedules."""
    made: Compiled = case.build(target).compile(opt=opt)
    return made


def _source(
    b: KernelBuilder, matrix: Pointer | Int, tile: SharedTile, steps: Int, step: Int
) -> tuple[Pointer, Int | int]:
    """Where a tile of a step of K begins in memory, and the elements of a line."""
    assert isinstance(matrix, Pointer)
    size = tile.bits // 8
    if tile.major is Major.K:
        return matrix + (step * (tile.k * size)).zext(64), steps * tile.k
    return matrix + (step * (tile.k * tile.rows * size)).zext(64), tile.rows


Body = Callable[[KernelBuilder, SharedTile, SharedTile], None]


def tiles(target: str, body: Body, *, threads: int = 128, dtype: E = E.F16) -> KernelBuilder:
    """A kernel with an A and a B of 128 rows and 128 bytes of K, in the midst of its body."""
    b = KernelBuilder("k", block=threads, target=target, dynamic_shared=True)
    b.begin()
    shape = 128, 1024 // dtype.bits
    body(b, b.shared_tile("a", dtype, shape), b.shared_tile("b", dtype, shape))
    return b
