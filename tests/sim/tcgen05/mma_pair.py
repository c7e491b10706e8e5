"""A kernel of two CTAs whose tensor cores multiply together, all cells of both in a test's hands.

`PairProgram` is `TensorProgram` for .cta_group::2: each CTA has cells and images of A and B of its
own; thread 0 of one CTA issues the multiplies when both are ready, and its commit tells both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from intrinsics.modifiers import CtaGroup
from nvgen import Kernel, KernelBuilder
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer
from tests.sim.kernels import (
    LANES,
    THREADS,
    Mma,
    copy_in,
    init_barriers,
    issue,
    move_cells,
    pointer,
    shared_bytes,
    thread_sync,
)


@dataclass
class PairProgram:
    """A kernel over `columns` columns of the tensor memory of both CTAs."""

    columns: int
    size: int
    mmas: tuple[Mma, ...]
    issuer: int = 0
    target: str = "sm_100a"
    b_size: int | None = None
    kernel: Kernel = field(init=False)

    def __post_init__(self) -> None:
        b = KernelBuilder("pair", block=THREADS, cluster=2)
        for name in ("cells", "a", "b"):
            b.pointer(name)
        args = b.begin()
        a = shared_bytes(b, "a_image", self.size)
        b_image = shared_bytes(b, "b_image", self.b_size or self.size)
        slot, done = b.shared_word("slot"), b.mbarrier("done")
        rank = b.cluster_ctarank
        init_barriers(b, done)
        with b.if_warp(0):
            b.tcgen05_alloc(slot, self.columns, cta_group=CtaGroup.TWO)
        thread_sync(b)
        taddr = b.load_word(slot)
        cells = self._own(b, pointer(args, "cells"), rank, 4 * LANES * self.columns)
        move_cells(b, taddr, cells, self.columns, store=False)
        for image, name in ((a, "a"), (b_image, "b")):
            own = self._own(b, pointer(args, name), rank, image.nbytes)
            copy_in(b, own, image.pointer, image.nbytes)
        thread_sync(b)
        b.barrier_cluster_sync()
        b.tcgen05_fence_after_thread_sync()
        with b.if_(rank == self.issuer), b.if_thread(0):
            for mma in self.mmas:
                issue(b, taddr, mma, a, b_image, CtaGroup.TWO)
            b.tcgen05_commit(done, cta_group=CtaGroup.TWO, cta_mask=Int(b, ir.IntType(16)(3)))
        b.wait(done, 0)
        b.tcgen05_fence_after_thread_sync()
        move_cells(b, taddr, cells, self.columns, store=True)
        thread_sync(b)
        b.barrier_cluster_sync()
        with b.if_warp(0):
            b.tcgen05_dealloc(b.tensor_pointer(taddr), self.columns, cta_group=CtaGroup.TWO)
            b.tcgen05_relinq_alloc_permit(cta_group=CtaGroup.TWO)
        self.kernel = b.finish()
        self._compiled = self.kernel.compile(target=self.target)

    def _own(self, b: KernelBuilder, base: Pointer, rank: Int, size: int) -> Pointer:
        return base + rank.zext(64) * size

    def run(
        self,
        cells: NDArray[np.uint32],
        a: NDArray[np.uint8],
        b: NDArray[np.uint8],
        *,
        schedule: str = "early",
    ) -> NDArray[np.uint32]:
        """All cells (CTA, lane, column) afterwards; the images are (CTA, bytes)."""
        assert cells.shape == (2, LANES, self.columns)
        assert a.shape == (2, self.size)
        assert b.shape == (2, self.b_size or self.size)
        after = cells.copy()
        self._compiled.run(after, a, b, grid=2, schedule=schedule)
        return after
