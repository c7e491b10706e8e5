"""Hazards of asynchronous operations, one kernel each: in the right order, and with one missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.findings import SimulationError
from intrinsics.modifiers import LdStNum, MmaKind
from nvgen import KernelBuilder
from nvgen.shared_memory.tiles import SharedTile
from nvgen.sim.faults import Fault
from nvgen.values.numbers import Int
from nvgen.values.pointers import Barrier, Pointer
from nvgen.values.vectors import Vector
from tests.sim.async_ops.scheduled import SCHEDULES, canonical, changed, compiled, line_with
from tests.sim.kernels import (
    TARGET,
    allocate,
    copy_in,
    copy_out,
    deallocate,
    descriptor,
    init_barriers,
    load_vector,
    shared_bytes,
    thread_sync,
)
from tests.sim.matrices import Placement, instruction_descriptor

Floats = NDArray[np.float32]


K_MAJOR = Placement(False, 32, 16, 256)
MN_MAJOR = Placement(True, 128, 2048, 1024)
RNG = np.random.default_rng(4)
A, A2 = (RNG.integers(-8, 9, (128, 16)).astype(np.float16) for _ in range(2))
IDENTITY = np.eye(16, dtype=np.float16)
START = RNG.integers(-99, 99, (128, 16)).astype(np.float32)
COLUMNS = 32


@dataclass(frozen=True)
class Scene:
    """A kernel under construction: A, A2 and the identity in shared memory, 16 columns filled."""

    b: KernelBuilder
    args: dict[str, Pointer | Int]
    taddr: Int
    a: SharedTile
    a2: SharedTile
    identity: SharedTile
    done: Barrier

    def pointer(self, name: str) -> Pointer:
        found = self.args[name]
        assert isinstance(found, Pointer)
        return found

    def lanes(self, column: int = 0) -> Pointer:
        """The address of the warp's own lanes."""
        return self.b.tensor_pointer(self.taddr + ((self.b.tid_x >> 5) << 21) + column)

    def row(self, name: str) -> Pointer:
        """The thread's 16 words of an array."""
        return self.pointer(name) + self.b.tid_x.zext(64) * 64

    def mma(self, tile: SharedTile, *, add: bool, n: int = 16, transposed: bool = False) -> None:
        """D = A (+ D) in columns 0 to n, by the one thread that gets here."""
        place = MN_MAJOR if transposed else K_MAJOR
        idesc = instruction_descriptor(MmaKind.F16, 128, n, "f16", "f16", a_mn=transposed)
        left = descriptor(self.b, tile, place.descriptor)
        right = descriptor(self.b, self.identity, K_MAJOR.descriptor)
        d = self.b.tensor_pointer(self.taddr)
        self.b.tcgen05_mma(d, left, right, idesc, int(add), kind=MmaKind.F16)

    def finish_mma(self) -> None:
        """Every thread waits for the commit."""
        self.b.wait(self.done, 0)
        self.b.tcgen05_fence_after_thread_sync()

    def show(self) -> None:
        """Columns 0 to 15 to the result."""
        values = self.b.tcgen05_ld(self.lanes(), num=LdStNum.X16)
        self.b.tcgen05_wait_ld()
        self.b.store(values, self.row("out"), align=16)


def images(*, transposed: bool = False) -> list[NDArray[np.uint8]]:
    """A, A2 and the identity as they lie in shared memory."""
    second = MN_MAJOR if transposed else K_MAJOR
    return [K_MAJOR.image(A), second.image(A2), K_MAJOR.image(IDENTITY)]


def scene_text(act: Callable[[Scene], None], *, transposed: bool = False) -> str:
    """The kernel of a scene."""
    b = KernelBuilder("scene", block=128)
    for name in ("a", "a2", "identity", "start", "out"):
        b.pointer(name)
    args = b.begin()
    names = ("a", "a2", "identity")
    tiles = [
        shared_bytes(b, f"{name}_tile", image.size)
        for name, image in zip(names, images(transposed=transposed), strict=True)
    ]
    done = b.mbarrier("done")
    init_barriers(b, done)
    taddr = allocate(b, b.shared_word("slot"), COLUMNS)
    for name, tile in zip(names, tiles, strict=True):
        source = args[name]
        assert isinstance(source, Pointer)
        copy_in(b, source, tile.pointer, tile.nbytes)
    scene = Scene(b, args, taddr, *tiles, done)  # type: ignore[call-arg]
    b.tcgen05_st(scene.lanes(), load_vector(b, scene.row("start"), 16), num=LdStNum.X16)
    b.tcgen05_wait_st()
    thread_sync(b)
    act(scene)
    deallocate(b, taddr, COLUMNS)
    return canonical(b.finish().llvm)


def play_text(text: str, schedule: str, *, transposed: bool = False) -> Floats:
    """Run a scene; returns what it wrote to `out`, one row of 16 for each thread."""
    out = np.full((128, 16), np.nan, np.float32)
    compiled(text).run(*images(transposed=transposed), START, out, schedule=schedule)
    return out


def play(act: Callable[[Scene], None], schedule: str, *, transposed: bool = False) -> Floats:
    """Build a scene and run it."""
    return play_text(scene_text(act, transposed=transposed), schedule, transposed=transposed)


def anti_dependency(s: Scene, *, careful: bool) -> None:
    """Load, store over what was loaded, and use the loaded registers only then."""
    loaded = s.b.tcgen05_ld(s.lanes(), num=LdStNum.X16)
    if careful:
        s.b.tcgen05_wait_ld()
    other = load_vector(s.b, s.pointer("a") + 0, 16)
    s.b.tcgen05_st(s.lanes(), other, num=LdStNum.X16)
    s.b.tcgen05_wait_st()
    s.b.store(loaded, s.row("out"), align=16)


def load_after_store(s: Scene, *, careful: bool) -> None:
    """Store, and load again."""
    s.b.tcgen05_st(s.lanes(16), load_vector(s.b, s.row("start"), 16), num=LdStNum.X16)
    if careful:
        s.b.tcgen05_wait_st()
    values = s.b.tcgen05_ld(s.lanes(16), num=LdStNum.X16)
    s.b.tcgen05_wait_ld()
    s.b.store(values, s.row("out"), align=16)


def store_before_mma(s: Scene, *, careful: bool) -> None:
    """A store into the accumulator that an MMA then adds to."""
    zero = Vector(s.b, ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16), 16)
    s.b.tcgen05_st(s.lanes(), zero, num=LdStNum.X16)
    if careful:
        s.b.tcgen05_wait_st()
    thread_sync(s.b)
    with s.b.if_thread(0):
        s.mma(s.a, add=True)
        s.b.tcgen05_commit(s.done)
    s.finish_mma()
    s.show()


def commit_by_its_own_thread(s: Scene, *, careful: bool) -> None:
    """A commit tracks the MMAs of the thread that executes it, not those of another."""
    with s.b.if_thread(0):
        s.mma(s.a, add=False)
        if careful:
            s.b.tcgen05_commit(s.done)
    if not careful:
        thread_sync(s.b)
        with s.b.if_thread(32):
            s.b.tcgen05_commit(s.done)
    s.finish_mma()
    s.show()


def overwriting_the_operand(s: Scene, *, careful: bool) -> None:
    """Shared memory that an MMA reads is free only after its commit has arrived."""
    with s.b.if_thread(0):
        s.mma(s.a, add=False)
        s.b.tcgen05_commit(s.done)
    if careful:
        s.finish_mma()
    thread_sync(s.b)
    copy_in(s.b, s.pointer("a2"), s.a.pointer, s.a.nbytes)
    thread_sync(s.b)
    s.finish_mma()
    s.show()


def mmas_of_two_shapes(s: Scene, *, careful: bool) -> None:
    """Only MMAs of the same shape and accumulator are a pipeline."""
    with s.b.if_thread(0):
        s.mma(s.a, add=False)
        if careful:
            s.b.tcgen05_commit(s.done)
        else:
            s.mma(s.a2, add=True, n=8)
            s.b.tcgen05_commit(s.done)
    s.finish_mma()
    if careful:
        thread_sync(s.b)
        with s.b.if_thread(0):
            s.mma(s.a2, add=True, n=8)
            s.b.tcgen05_commit(s.done)
        s.b.wait(s.done, 1)
        s.b.tcgen05_fence_after_thread_sync()
    s.show()


SUM_OF_TWO = np.where(np.arange(16) < 8, A.astype(np.float32) + A2, A.astype(np.float32))
HAZARDS = {
    "an overwriting store needs wait::ld": (anti_dependency, START),
    "a load needs wait::st": (load_after_store, START),
    "an MMA needs wait::st": (store_before_mma, A),
    "a commit tracks its own thread": (commit_by_its_own_thread, A),
    "an operand is read until the commit": (overwriting_the_operand, A),
    "shapes are not pipelined": (mmas_of_two_shapes, SUM_OF_TWO),
}


def played(text: str, schedule: str, expected: NDArray[np.generic]) -> str:
    try:
        out = play_text(text, schedule)
    except SimulationError as error:
        return error.findings[0].rule
    return "right" if np.array_equal(out, expected) else "wrong"


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("name", HAZARDS)
def test_a_hazard(name: str):
    act, expected = HAZARDS[name]
    right, wrong = (scene_text(partial(act, careful=careful)) for careful in (True, False))
    for schedule in SCHEDULES[:6]:
        assert played(right, schedule, expected) == "right", schedule
    assert played(wrong, "late", expected) != "right"


@pytest.mark.parametrize("schedule", SCHEDULES[:5])
def test_mmas_of_one_shape_and_accumulator_stay_in_order(schedule: str):
    """Also when their matrices lie differently: A K-major first, then MN-major."""

    def act(s: Scene) -> None:
        with s.b.if_thread(0):
            s.mma(s.a, add=False)
            s.mma(s.a2, add=True, transposed=True)
            s.b.tcgen05_commit(s.done)
        s.finish_mma()
        s.show()

    out = play(act, schedule, transposed=True)
    assert np.array_equal(out, A.astype(np.float32) + A2.astype(np.float32))


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("schedule", SCHEDULES[:3])
def test_a_missing_proxy_fence(schedule: str):
    """Ordinary stores, then an MMA that reads them through the async proxy, with no fence between.

    fence.proxy.async is needed there, under every schedule.
    """
    text = scene_text(partial(commit_by_its_own_thread, careful=True))
    bare = changed(line_with(r"fence\.proxy\.async"), "", text)
    with pytest.raises(SimulationError) as caught:
        play_text(bare, schedule)
    assert caught.value.findings[0].rule == "sim/proxy-fence"


@pytest.mark.wrong_kernel
def test_a_copy_is_not_there_before_its_wait():
    """Shared memory read right after the copy is issued: not written yet, or an old value."""
    b = KernelBuilder("hasty", block=32)
    b.tensor_map("source", dtype=ElementType.U8, box=(32, 16))
    b.pointer("out")
    args = b.begin()
    tile, loaded = shared_bytes(b, "tile", 512), b.mbarrier("loaded")
    init_barriers(b, loaded)
    b.barrier_cta_sync_aligned()
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, 512)
        b.cp_async_bulk_tensor_g2s_tile(tile.pointer, loaded, args["source"], (0, 0))
    b.bar_warp_sync()
    out_pointer = args["out"]
    assert isinstance(out_pointer, Pointer)
    copy_out(b, tile.pointer, out_pointer, 512)
    b.wait(loaded, 0)
    compiled = b.finish().compile(target=TARGET)
    source = np.arange(512, dtype=np.uint8).reshape(32, 16) | 1
    out = np.zeros(512, np.uint8)
    with pytest.raises(Fault) as caught:
        compiled.run(source, out, schedule="late", races=False)
    assert caught.value.findings[0].rule == "sim/uninitialized"
    with pytest.raises(Fault) as caught:
        compiled.run(source, out, schedule="late")
    assert caught.value.findings[0].rule == "sim/race"


@pytest.mark.wrong_kernel
def test_deallocating_columns_while_an_mma_is_in_flight_is_a_fault():
    def act(s: Scene) -> None:
        with s.b.if_thread(0):
            s.mma(s.a, add=False)
            s.b.tcgen05_commit(s.done)

    with pytest.raises(Fault) as caught:
        play(act, "late")
    assert "dealloc" in caught.value.findings[0].message


def test_ending_while_something_is_in_flight_is_a_finding():
    b = KernelBuilder("gone", block=32)
    b.tensor_map("source", dtype=ElementType.U8, box=(32, 16))
    args = b.begin()
    tile, loaded = shared_bytes(b, "tile", 512), b.mbarrier("loaded")
    init_barriers(b, loaded)
    b.barrier_cta_sync_aligned()
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, 512)
        b.cp_async_bulk_tensor_g2s_tile(tile.pointer, loaded, args["source"], (0, 0))
    compiled = b.finish().compile(target=TARGET)
    with pytest.raises(SimulationError) as caught:
        compiled.run(np.zeros((32, 16), np.uint8), schedule="late")
    assert caught.value.findings[0].place.line
