"""Small kernels that show what is in shared and tensor memory, for tests of the simulator.

Every kernel is one CTA of 128 threads.  `SharedDump` runs TMA copies into filled shared memory and
hands all its bytes back; `TensorProgram` fills tensor memory cell by cell, lets a test add its own
instructions, and hands every cell back, so that what must stay untouched is seen too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.modifiers import (
    CollectorA,
    CollectorWs,
    CtaGroup,
    LdStNum,
    LdStShape,
    MmaKind,
    ScaleVec,
)
from nvgen import Kernel, KernelBuilder
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int
from nvgen.values.pointers import Barrier, Pointer
from nvgen.values.vectors import Vector
from tests.oracle.gpu import launch

TARGET = "sm_100a"
TMA_TARGET = "sm_90a"
THREADS = 128
LANES = 128
FILLER = 0xC3

Bytes = NDArray[np.uint8]
Cells = NDArray[np.uint32]

_I32 = ir.IntType(32)
_QUAD = ir.VectorType(_I32, 4)
SHAPES = {shape.value: shape for shape in LdStShape}
NUMS = {num.times: num for num in LdStNum}


# ---- pieces ----------------------------------------------------------------------------------


def shared_bytes(b: KernelBuilder, name: str, size: int) -> SharedTile:
    """Room for `size` bytes of shared memory at a multiple of 1024."""
    return b.shared_tile(name, ElementType.U8, (size // 16, 16), swizzle=128)


def pointer(args: Mapping[str, Pointer | Int], name: str) -> Pointer:
    """A parameter that is a pointer."""
    found = args[name]
    assert isinstance(found, Pointer)
    return found


def integer(args: Mapping[str, Pointer | Int], name: str) -> Int:
    """A parameter that is an integer."""
    found = args[name]
    assert isinstance(found, Int)
    return found


def at(b: KernelBuilder, base: Pointer, offset: Int) -> ir.Value:
    """The address `offset` bytes further on, as a pointer without a type."""
    address = b.at_caller().ptrtoint(base.value, ir.IntType(64))
    moved = b.at_caller().add(address, offset.value)
    return b.at_caller().inttoptr(moved, ir.PointerType(addrspace=base.space))


def for_each_quad(b: KernelBuilder, size: int, body: Callable[[Int], None]) -> None:
    """Run `body` with the offset of every 16 bytes of `size`, spread over the threads."""
    step = 16 * THREADS
    with b.range((size + step - 1) // step) as i:
        offset = i * step + b.tid_x * 16
        with b.if_(offset < size):
            body(offset.zext(64))


def copy_in(b: KernelBuilder, source: Pointer, target: Pointer, size: int) -> None:
    """All threads copy bytes from global to shared memory, and make them visible to the MMA."""

    def quad(offset: Int) -> None:
        value = b.at_caller().load(at(b, source, offset), typ=_QUAD, align=16)
        b.at_caller().store(value, at(b, target, offset), align=16)

    for_each_quad(b, size, quad)
    b.fence_proxy_async()


def copy_out(b: KernelBuilder, source: Pointer, target: Pointer, size: int) -> None:
    """All threads copy bytes from shared to global memory."""

    def quad(offset: Int) -> None:
        value = b.at_caller().load(at(b, source, offset), typ=_QUAD, align=16)
        b.at_caller().store(value, at(b, target, offset), align=16)

    for_each_quad(b, size, quad)


def fill(b: KernelBuilder, target: Pointer, size: int) -> None:
    """All threads write `FILLER` into shared memory."""
    word = int.from_bytes(bytes([FILLER] * 4), "little")
    quad = ir.Constant(_QUAD, [ir.Constant(_I32, word)] * 4)

    def store(offset: Int) -> None:
        b.at_caller().store(quad, at(b, target, offset), align=16)

    for_each_quad(b, size, store)
    b.fence_proxy_async()


def init_barriers(b: KernelBuilder, *barriers: Barrier) -> None:
    """Thread 0 makes mbarriers for one arrival; follow it with a barrier of the CTA."""
    with b.if_thread(0):
        for barrier in barriers:
            b.mbarrier_init(barrier, 1)
        b.fence_mbarrier_init_release_cluster()


def allocate(b: KernelBuilder, slot: Pointer, columns: int) -> Int:
    """Warp 0 allocates tensor memory; every thread learns the address."""
    with b.if_warp(0):
        b.tcgen05_alloc(slot, columns)
    thread_sync(b)
    return b.load_word(slot)


def thread_sync(b: KernelBuilder) -> None:
    """All threads meet, and tensor memory operations are ordered around it."""
    b.tcgen05_fence_before_thread_sync()
    b.barrier_cta_sync_aligned()
    b.tcgen05_fence_after_thread_sync()


def deallocate(b: KernelBuilder, taddr: Int, columns: int) -> None:
    """Warp 0 gives tensor memory back."""
    thread_sync(b)
    with b.if_warp(0):
        b.tcgen05_dealloc(b.tensor_pointer(taddr), columns)
        b.tcgen05_relinq_alloc_permit()


def load_vector(b: KernelBuilder, source: Pointer, count: int) -> Vector:
    """`count` registers from global memory."""
    type_ = _I32 if count == 1 else ir.VectorType(_I32, count)
    align = min(16, 4 * (count & -count))
    return Vector(b, b.at_caller().load(source.value, typ=type_, align=align), count)


# ---- TMA -------------------------------------------------------------------------------------


def move_cells(b: KernelBuilder, taddr: Int, cells: Pointer, columns: int, *, store: bool) -> None:
    """Every thread moves its lane of all columns between tensor and global memory."""
    lane = b.tensor_pointer(taddr + ((b.tid_x >> 5) << 21))
    row = cells + b.tid_x.zext(64) * (4 * columns)
    with b.range(columns // 32) as i:
        at, column = row + i.zext(64) * 128, lane + i * 32
        if store:
            values = b.tcgen05_ld(column, num=LdStNum.X32)
            b.tcgen05_wait_ld()
            b.store(values, at, align=16)
        else:
            b.tcgen05_st(column, load_vector(b, at, 32), num=LdStNum.X32)
            b.tcgen05_wait_st()


@dataclass
class SharedDump:
    """A kernel that fills `size` bytes of shared memory, copies one box over them, and shows them.

    The box goes to `offset`; its coordinates are the launch's integers, outermost first.
    """

    dtype: ElementType
    box: tuple[int, ...]
    swizzle: int
    size: int
    offset: int = 0
    schedule: str = "early"
    kernel: Kernel = field(init=False)

    def __post_init__(self) -> None:
        b = KernelBuilder("dump", block=THREADS)
        b.tensor_map("source", dtype=self.dtype, box=self.box, swizzle=self.swizzle)
        b.pointer("out")
        names = [f"c{i}" for i in range(len(self.box))]
        for name in names:
            b.integer(name)
        args = b.begin()
        tile, loaded = shared_bytes(b, "tile", self.size), b.mbarrier("loaded")
        init_barriers(b, loaded)
        fill(b, tile.pointer, self.size)
        b.barrier_cta_sync_aligned()
        with b.if_thread(0):
            count = int(np.prod(self.box)) * self.dtype.bits // 8
            b.mbarrier_arrive_expect_tx(loaded, count)
            coordinates = [integer(args, name) for name in reversed(names)]
            b.cp_async_bulk_tensor_g2s_tile(
                tile.pointer + self.offset, loaded, pointer(args, "source"), coordinates
            )
        b.wait(loaded, 0)
        copy_out(b, tile.pointer, pointer(args, "out"), self.size)
        self.kernel = b.finish()
        self._compiled = self.kernel.compile(target=TMA_TARGET)

    def run(self, source: NDArray[np.generic], start: tuple[int, ...]) -> Bytes:
        """All bytes of shared memory after the copy."""
        out = np.zeros(self.size, np.uint8)
        launch(self._compiled, source, out, *start, block=(THREADS, 1, 1), schedule=self.schedule)
        return out


# ---- tensor memory ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Mma:
    """One tcgen05.mma: offsets in bytes into A's and B's images, and D's address from the base.

    `a_desc` and `b_desc` are descriptors of a matrix at shared address 0.  With `a_cell` A lies in
    tensor memory at that address instead; `sfa`, `sfb` and `sp_meta` are addresses there, too.
    `ws` makes it weight-stationary; `far` is where the second buffers of A and B begin, if their
    leading dimension is an address.
    """

    kind: MmaKind
    idesc: int
    a_desc: int = 0
    b_desc: int = 0
    a_offset: int = 0
    b_offset: int = 0
    d: int = 0
    enable_d: int = 0
    a_cell: int | None = None
    scale_d: int | None = None
    ashift: bool = False
    mask: tuple[int, ...] | None = None
    sfa: int | None = None
    sfb: int | None = None
    scale_vec: ScaleVec | None = None
    sp_meta: int | None = None
    collector: CollectorA | CollectorWs | None = None
    ws: bool = False
    far: int | None = None
    zero_mask: int | None = None


@dataclass
class TensorProgram:
    """A kernel over `columns` columns of tensor memory, all of whose cells a test gives and sees.

    Images of A and B go to shared memory as they are; MMAs are issued by one thread in order and
    committed; `body` may add instructions that all threads execute, with the base address.  With
    `blank` no cell is given at first.
    """

    columns: int
    a_size: int = 0
    b_size: int = 0
    mmas: tuple[Mma, ...] = ()
    body: Callable[[KernelBuilder, Int, Pointer], None] | None = None
    extra: int = 0
    target: str = TARGET
    blank: bool = False
    kernel: Kernel = field(init=False)

    def __post_init__(self) -> None:
        b = KernelBuilder("cells", block=THREADS)
        for name in ("cells", "a", "b", "extra"):
            b.pointer(name)
        args = b.begin()
        a = shared_bytes(b, "a_image", self.a_size) if self.a_size else None
        b_image = shared_bytes(b, "b_image", self.b_size) if self.b_size else None
        slot, done = b.shared_word("slot"), b.mbarrier("done")
        init_barriers(b, done)
        taddr = allocate(b, slot, self.columns)
        if not self.blank:
            move_cells(b, taddr, pointer(args, "cells"), self.columns, store=False)
        for image, name in ((a, "a"), (b_image, "b")):
            if image is not None:
                copy_in(b, pointer(args, name), image.pointer, image.nbytes)
        thread_sync(b)
        if self.mmas:
            with b.if_thread(0):
                for mma in self.mmas:
                    issue(b, taddr, mma, a, b_image)
                b.tcgen05_commit(done)
            b.wait(done, 0)
            b.tcgen05_fence_after_thread_sync()
        if self.body is not None:
            self.body(b, taddr, pointer(args, "extra"))
        thread_sync(b)
        move_cells(b, taddr, pointer(args, "cells"), self.columns, store=True)
        deallocate(b, taddr, self.columns)
        self.kernel = b.finish()
        self._compiled = self.kernel.compile(target=self.target)

    def run(
        self,
        cells: Cells,
        a: Bytes | None = None,
        b: Bytes | None = None,
        extra: NDArray[np.generic] | None = None,
        *,
        schedule: str = "early",
    ) -> Cells:
        """All cells (lane, column) afterwards, from `cells` before; `extra` changes in place."""
        assert cells.shape == (LANES, self.columns)
        nothing = np.zeros(16, np.uint8)
        after = cells.copy()
        arrays = [nothing if x is None else x for x in (a, b, extra)]
        self._compiled.run(after, *arrays, schedule=schedule)
        return after


def issue(
    b: KernelBuilder,
    taddr: Int,
    mma: Mma,
    a: SharedTile | None,
    b_image: SharedTile | None,
    group: CtaGroup = CtaGroup.ONE,
) -> None:
    """One multiply, whose addresses count from `taddr` and from the images."""
    left: Int | Pointer
    if mma.a_cell is not None:
        left = b.tensor_pointer(taddr + mma.a_cell)
    else:
        left = descriptor(b, a, mma.a_desc, mma.a_offset, mma.far)
    mask = None
    if mma.mask is not None:
        words = [ir.Constant(_I32, word) for word in mma.mask]
        mask = Vector(b, ir.Constant(ir.VectorType(_I32, len(words)), words), len(words))

    def cell(address: int | None) -> Pointer | None:
        return None if address is None else b.tensor_pointer(taddr + address)

    if mma.ws:
        stationary = mma.collector if isinstance(mma.collector, CollectorWs) else None
        b.tcgen05_mma_ws(
            b.tensor_pointer(taddr + mma.d),
            left,
            descriptor(b, b_image, mma.b_desc, mma.b_offset, mma.far),
            mma.idesc,
            mma.enable_d,
            kind=mma.kind,
            collector=stationary or CollectorWs.B0_DISCARD,
            zero_mask=_unknown(b, mma.zero_mask),
            sp_meta=cell(mma.sp_meta),
        )
        return
    b.tcgen05_mma(
        b.tensor_pointer(taddr + mma.d),
        left,
        descriptor(b, b_image, mma.b_desc, mma.b_offset, mma.far),
        mma.idesc,
        mma.enable_d,
        kind=mma.kind,
        cta_group=group,
        scale_d=mma.scale_d,
        ashift=mma.ashift,
        mask=mask,
        scale_vec=mma.scale_vec,
        sfa=cell(mma.sfa),
        sfb=cell(mma.sfb),
        sp_meta=cell(mma.sp_meta),
        collector_a=(
            mma.collector if isinstance(mma.collector, CollectorA) else CollectorA.DISCARD
        ),
    )


def _unknown(b: KernelBuilder, word: int | None) -> Int | None:
    """A number that no compiler knows."""
    return None if word is None else (b.tid_x >> 10).zext(64) | word


def descriptor(
    b: KernelBuilder,
    image: SharedTile | None,
    constant: int,
    offset: int = 0,
    far: int | None = None,
) -> Int:
    """A descriptor whose start address is that of the image, `offset` bytes further on, and whose
    leading dimension is the address `far` bytes further on.
    """
    assert image is not None
    address = b.at_caller().ptrtoint(image.pointer.value, _I32)
    start = ((Int(b, address) + offset) & 0x3FFFF) >> 4
    if far is None:
        return start.zext(64) | constant
    leading = ((Int(b, address) + far) & 0x3FFFF) >> 4
    return start.zext(64) | leading.zext(64) << 16 | constant
