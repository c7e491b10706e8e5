"""One kernel for each family of forms: fills memory, issues the MMAs, shows every cell.

The words of the instructions (addresses, descriptors, masks) and the number of the form are data of
the launch, so a kernel serves all programs of its family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from intrinsics.element import ElementType
from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup, LdStNum
from nvgen import Compiled, KernelBuilder
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector
from tests.oracle.executed.forms import Family, Form, family_of, forms_of
from tests.sim.kernels import (
    THREADS,
    init_barriers,
    load_vector,
    pointer,
    thread_sync,
)

Cells = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]

COLUMNS = 512
IMAGE = 160 * 1024
"""Bytes of shared memory for A and B; what a launch does not give is never written."""

BLOCK = 64
"""Columns are given and shown in blocks of so many; others are never written."""

LANES = 128

ROW = 256
BOX = (16, ROW)
UNIT = 16 * ROW
"""Images are multiples of it: the bytes of one copy from global memory."""

STEP = 24
"""Words of one instruction."""

WORDS = 8 + 2 * STEP
"""Words that say what one CTA does."""

_I32, _I64 = ir.IntType(32), ir.IntType(64)


@dataclass(frozen=True)
class Words:
    """The operands of one MMA.

    Addresses in tensor memory count from the allocation's, `a` and `b` are descriptors whose start
    addresses count from the image's; with A in tensor memory `a` is its address.  `absolute` says
    of which descriptors (A's, B's) the leading dimension is an address, which counts from there.
    """

    idesc: int
    a: int
    b: int
    d: int
    enable_d: bool
    sfa: int = 0
    sfb: int = 0
    meta: int = 0
    mask: tuple[int, ...] = (0,) * 8
    zero_mask: int = 0
    absolute: tuple[bool, bool] = (False, False)

    def encode(self) -> npt.NDArray[np.uint32]:
        """24 words of 32 bits."""
        small = [self.idesc, self.d, int(self.enable_d), self.sfa, self.sfb, self.meta]
        wide = [self.a, self.b, self.zero_mask]
        halves = [half for word in wide for half in (word & 0xFFFFFFFF, word >> 32)]
        bases = [1 | absolute << 16 for absolute in self.absolute]
        return np.array([*small, *halves, *self.mask, *bases, 0, 0], dtype=np.uint32)


@dataclass(frozen=True)
class Work:
    """What the CTAs of one cluster do.

    Cells are (rank, lane, column) and images (rank, byte); column 0 is tensor memory's `first`.
    """

    form: Form
    words: tuple[Words, ...]
    cells: Cells
    first: int
    image: Bytes

    def header(self, rank: int, cells: int, image: int) -> npt.NDArray[np.uint32]:
        """8 words: offsets of a CTA's cells and image, and what else it must know."""
        ranks, lanes, columns = self.cells.shape
        assert (ranks, lanes) == (self.form.ranks, LANES)
        assert columns % BLOCK == 0
        assert self.first + columns <= COLUMNS
        size = self.image.shape[1]
        assert size % UNIT == 0
        assert size <= IMAGE
        number = forms_of(family_of(self.form)).index(self.form)
        start = cells + rank * LANES * columns
        words = [
            start,
            (image + rank * size) // ROW,
            size,
            columns // BLOCK,
            self.first,
            number,
            0,
            0,
        ]
        return np.array(words, dtype=np.uint32)

    def encoded(self) -> npt.NDArray[np.uint32]:
        """The words of two instructions."""
        return np.concatenate([one.encode() for one in (self.words * 2)[:2]])


@cache
def compiled(family: Family) -> Compiled:
    """The kernel of all forms of a family."""
    pair = family.pair
    group = CtaGroup.TWO if pair else CtaGroup.ONE
    b = KernelBuilder("executed", block=THREADS, cluster=1 + pair, dynamic_shared=True)
    b.pointer("cells")
    b.tensor_map("images", dtype=ElementType.U8, box=BOX)
    b.pointer("words")
    args = b.begin()
    tile = b.shared_tile("image", ElementType.U8, (IMAGE // 16, 16), swizzle=128)
    done, loaded = b.mbarrier("done"), b.mbarrier("loaded")
    init_barriers(b, done, loaded)
    tensor = b.tensor_memory("slot", COLUMNS, cta_group=group)
    taddr = tensor.address
    words = pointer(args, "words") + b.ctaid_x.zext(64) * (4 * WORDS)
    cells, image, size, blocks, first, number = (b.load_word(words + 4 * i) for i in range(6))
    own_cells = pointer(args, "cells") + cells.zext(64) * 4
    _cells(b, taddr + first, own_cells, blocks, store=False)
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, size)
        with b.range(size // UNIT) as i:
            target = tile.pointer + (i * UNIT).zext(64)
            row = image + i * BOX[0]
            b.cp_async_bulk_tensor_g2s_tile(target, loaded, pointer(args, "images"), [0, row])
    b.wait(loaded, 0)
    _meet(b, pair=pair)
    issuer = (b.tid_x | (b.cluster_ctarank if pair else 0)) == 0
    with b.if_(issuer):
        for index, form in enumerate(forms_of(family)):
            with b.if_(number == index):
                for step in range(form.steps):
                    _issue(b, form, step, taddr, tile.pointer, words + 32 + 4 * STEP * step)
        b.tcgen05_commit(done, cta_group=group, cta_mask=b.const(3, 16) if pair else None)
    b.wait(done, 0)
    b.tcgen05_fence_after_thread_sync()
    _cells(b, taddr + first, own_cells, blocks, store=True)
    _meet(b, pair=pair)
    tensor.free()
    return b.finish().compile(target=family.target)


def _meet(b: KernelBuilder, *, pair: bool) -> None:
    """All threads of the cluster meet, and tensor memory operations are ordered around it."""
    if not pair:
        thread_sync(b)
        return
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cluster_sync()
    b.tcgen05_fence_after_thread_sync()


def run(works: Sequence[Work], *, schedule: str) -> list[Cells]:
    """The given cells of each work after one launch; all works are of one kernel."""
    form = works[0].form
    flat = [
        one.cells.reshape(form.ranks, LANES, -1, BLOCK).transpose(0, 2, 1, 3).ravel()
        for one in works
    ]
    cells = np.concatenate(flat)
    images = np.concatenate([one.image.reshape(-1, ROW) for one in works])
    at = np.cumsum([0, *map(len, flat)])
    images_at = np.cumsum([0, *(one.image.size for one in works)])
    words = [
        np.concatenate([one.header(rank, int(at[i]), int(images_at[i])), one.encoded()])
        for i, one in enumerate(works)
        for rank in range(form.ranks)
    ]
    compiled(family_of(form)).run(
        cells, images, np.concatenate(words), grid=len(words), cluster=form.ranks, schedule=schedule
    )
    return [
        cells[at[i] : at[i + 1]]
        .reshape(form.ranks, -1, LANES, BLOCK)
        .transpose(0, 2, 1, 3)
        .reshape(one.cells.shape)
        for i, one in enumerate(works)
    ]


def _cells(b: KernelBuilder, taddr: Int, cells: Pointer, blocks: Int, *, store: bool) -> None:
    """Every thread moves its lane of the given columns between tensor and global memory."""
    lane = b.tensor_pointer(taddr + ((b.tid_x >> 5) << 21))
    row = cells + b.tid_x.zext(64) * (4 * BLOCK)
    with b.range(blocks) as i:
        at, column = row + i.zext(64) * (4 * BLOCK * LANES), lane + i * BLOCK
        if store:
            values = b.tcgen05_ld(column, num=LdStNum.X64)
            b.tcgen05_wait_ld()
            b.store(values, at, align=16)
        else:
            b.tcgen05_st(column, load_vector(b, at, BLOCK), num=LdStNum.X64)
            b.tcgen05_wait_st()


def _issue(
    b: KernelBuilder, form: Form, step: int, taddr: Int, image: Pointer, words: Pointer
) -> None:
    def wide(index: int) -> Int:
        value = b.at_caller().load((words + 4 * index).value, typ=_I64, align=8)
        return Int(b, value)

    def cell(index: int) -> Pointer:
        return b.tensor_pointer(taddr + b.load_word(words + 4 * index))

    start = (Int(b, b.at_caller().ptrtoint(image.value, _I32)) >> 4).zext(64)

    def based(index: int, bases: int) -> Int:
        """A descriptor, its addresses moved to where the image is."""
        return wide(index) + start * b.load_word(words + 4 * bases).zext(64)

    a: Int | Pointer = based(6, 20)
    if form.a_tensor:
        a = cell(6)
    d, idesc = cell(1), b.load_word(words)
    enable = b.load_word(words + 8) != 0
    meta = cell(5) if form.sparse else None
    collector = form.collectors[step]
    if form.ws:
        assert isinstance(collector, CollectorWs)
        zero_mask = wide(10) if form.zero_mask else None
        b.tcgen05_mma_ws(
            d, a, based(8, 21), idesc, enable, kind=form.kind, collector=collector,
            zero_mask=zero_mask, sp_meta=meta,
        )  # fmt: skip
        return
    assert isinstance(collector, CollectorA)
    mask = None
    if form.mask:
        count = 4 * form.ranks
        type_ = ir.VectorType(_I32, count)
        mask = Vector(b, b.at_caller().load((words + 48).value, typ=type_, align=16), count)
    b.tcgen05_mma(
        d, a, based(8, 21), idesc, enable, kind=form.kind,
        cta_group=CtaGroup.TWO if form.pair else CtaGroup.ONE, collector_a=collector, mask=mask,
        scale_d=form.scale_d, scale_vec=form.vector, sfa=cell(3) if form.scaled else None,
        sfb=cell(4) if form.scaled else None, sp_meta=meta,
    )  # fmt: skip
