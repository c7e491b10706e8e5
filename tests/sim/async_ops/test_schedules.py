"""Asynchronous operations are late when nothing orders them, and a wrong program shows it.

A right program gives one answer under every schedule.  Take one synchronisation away, and the
schedule "late" must give another outcome: wrong numbers, a fault, or a deadlock report.  What a
program may not do at all is a fault with its place under every schedule.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from llvmlite import binding, ir
from numpy.typing import NDArray

import nvgen
from intrinsics.element import ElementType
from intrinsics.findings import Finding, InputError, SimulationError
from intrinsics.modifiers import LdStNum, MmaKind
from nvgen import KernelBuilder
from nvgen.compilation.compile_text import check_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from nvgen.launching.parameters import Output
from nvgen.launching.tensor_map import tensor_map
from nvgen.shared_memory.tiles import SharedTile
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.faults import DeadlockError, Fault, NotSimulatedError
from nvgen.sim.launch import simulate
from nvgen.sim.threads.limits import Limits
from nvgen.values.numbers import Int
from nvgen.values.pointers import Barrier, Pointer
from nvgen.values.vectors import Vector
from tests.each import each
from tests.oracle.gemm import Gemm
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

SCHEDULES = ("early", "late", *(f"random:{seed}" for seed in range(6)))
SAMPLE = Path(__file__).parents[3] / "samples" / "01_gemm_tile.py"


def load_sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_gemm_tile", SAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def canonical(text: str) -> str:
    """The module as LLVM prints it, so that edits do not depend on how the builder writes it."""
    return str(binding.parse_assembly(text, context=binding.get_global_context()))


sample = load_sample()
TEXT = canonical(sample.build().llvm)


def changed(pattern: str, replacement: str, text: str = TEXT, *, count: int = 0) -> str:
    """The sample with a change that does happen."""
    found, changes = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    assert changes, f"nothing matches {pattern}"
    assert not count or changes == count
    return found


@functools.cache
def compiled(text: str) -> Compiled:
    """Once for all schedules."""
    return nvgen.compile(text, target=TARGET)


@functools.cache
def compiled_sample(text: str) -> Compiled:
    """The sample's text or a changed one, with what the sample's kernel takes."""
    found = nvgen.compile(text, target=TARGET)
    found.kernel = sample.build()
    return found


def outcome(text: str, schedule: str) -> str:
    """What becomes of the sample's kernel: "right", "wrong", or the rule of the first finding."""
    a, b, expected = sample.operands()
    d = np.full((sample.M, sample.N), np.nan, np.float32)
    try:
        compiled_sample(text).run(a, b, d, schedule=schedule)
    except SimulationError as error:
        return error.findings[0].rule
    return "right" if np.array_equal(d, expected) else "wrong"


# ---- the sample ------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_sample_is_right_under_every_schedule(schedule: str):
    assert outcome(TEXT, schedule) == "right"


NVVM = r"@llvm\.nvvm\."


def wait_of(barrier: str) -> str:
    return rf"call i1 {NVVM}mbarrier\.try\.wait\S*\(ptr addrspace\(3\) @{barrier}, i32 0\)"


def line_with(text: str) -> str:
    return rf"^.*call \w+ {NVVM}{text}.*\n"


ARRIVE = "call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @loaded, i32 1)"
EXPECT = rf"call i64 {NVVM}mbarrier\.arrive\.expect\.tx\S*\(ptr addrspace\(3\) @loaded, i32 32768\)"
DECLARE_ARRIVE = (
    "declare i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3), i32)\n"
)
REMOVED = {
    "the wait for the MMAs": (wait_of("multiplied"), "icmp eq i32 0, 0"),
    "the wait for the copies": (wait_of("loaded"), "icmp eq i32 0, 0"),
    "the expected bytes": (EXPECT, ARRIVE),
    "the expected bytes and the arrival": (rf"^.*{EXPECT}.*\n", ""),
    "the commit": (line_with(r"tcgen05\.commit"), ""),
    "half of the expected bytes": ("i32 32768", "i32 16384"),
    "one of the copies": (line_with(r"cp\.async\S*\([^\n]*ptr %b,"), ""),
    "the barrier after the allocation": (
        rf"({NVVM}tcgen05\.alloc(?:.*\n)*?){line_with('barrier.cta.sync')}",
        r"\1",
    ),
}
"""What is taken away: a pattern that the sample's text has once, and what stands there then."""


def without(what: str) -> str:
    return changed(*REMOVED[what], count=1) + DECLARE_ARRIVE


@pytest.mark.parametrize("what", REMOVED)
def test_the_sample_without_one_synchronisation_goes_wrong(what: str):
    assert outcome(without(what), "late") != "right"


@pytest.mark.parametrize("what", ["the wait for the copies", "half of the expected bytes"])
def test_some_random_schedule_shows_it_as_well(what: str):
    """An operation may be under way for long under a random schedule too, not only for moments."""
    found = {outcome(without(what), f"random:{seed}") for seed in range(16)}
    assert found - {"right"}


UNSEEN = {
    "the fence before the barrier": r"tcgen05\.fence\.before",
    "the fence after making barriers": r"fence\.mbarrier_init",
}
"""What a right program has, and the simulator does not miss.

No tcgen05 operation comes before that barrier, so the fence there has nothing to order.  Move the
other case up to `REMOVED` when it is modelled.
"""


@pytest.mark.parametrize("what", UNSEEN)
def test_a_missing_fence_is_not_seen_yet(what: str):
    assert outcome(changed(line_with(UNSEEN[what]), ""), "late") == "right"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_the_fence_after_the_wait_the_load_may_come_first(schedule: str):
    assert outcome(changed(line_with(r"tcgen05\.fence\.after"), ""), schedule) == "sim/race"


def test_a_register_that_is_used_needs_no_wait():
    """Register dependencies, same thread: the stores use what the loads brought."""
    waits = list(re.finditer(line_with(r"tcgen05\.wait\.ld"), TEXT, re.MULTILINE))
    assert len(waits) == 4
    last = waits[-1].start()  # behind it the columns are freed
    text = changed(line_with(r"tcgen05\.wait\.ld"), "", TEXT[:last], count=3) + TEXT[last:]
    for schedule in SCHEDULES:
        assert outcome(text, schedule) == "right", schedule


def test_columns_are_freed_behind_a_wait_for_their_loads():
    text = changed(line_with(r"tcgen05\.wait\.ld"), "", count=4)
    for schedule in SCHEDULES:
        assert outcome(text, schedule) == "sim/race", schedule


def test_expecting_more_bytes_than_come_is_a_deadlock_that_says_so():
    text = changed("i32 32768", "i32 40960", count=1)
    for schedule in ("early", "late"):
        assert outcome(text, schedule) == "sim/deadlock"


def test_the_same_seed_gives_the_same_run():
    """Every number of a racing kernel's result, and its steps, for the same seed twice."""

    def run(seed: int) -> tuple[bytes, str]:
        a, b, _ = sample.operands()
        d = np.zeros((sample.M, sample.N), np.float32)
        statistics = compiled_sample(TEXT).run(a, b, d, schedule=f"random:{seed}")
        return d.tobytes(), str(statistics)

    def race(seed: int) -> str:
        return outcome(without("the wait for the copies"), f"random:{seed}")

    assert run(3) == run(3)
    assert [race(seed) for seed in range(6)] == [race(seed) for seed in range(6)]


def test_an_unknown_schedule_is_refused():
    with pytest.raises(InputError):
        outcome(TEXT, "sometimes")


# ---- loops over K ----------------------------------------------------------------------------

LOOPS = [
    Gemm(128, 32, 256, k_tile=64, loop=True),
    Gemm(64, 16, 80, k_tile=16, swizzle=32),
    Gemm(128, 24, 64, "e4m3", "e5m2", k_tile=32, swizzle=32, loop=True),
]


def product_is_right(problem: Gemm, compiled: Compiled, schedule: str) -> bool:
    a, b, c = problem.integers(1)
    d = np.full((problem.m, problem.n), np.nan, np.float32)
    try:
        compiled.run(a, b, c, d, schedule=schedule)
    except SimulationError:
        return False
    return np.array_equal(d, problem.expected(a, b, c))


@pytest.mark.parametrize("problem", LOOPS, ids=str)
def test_a_loop_over_k_is_right_under_every_schedule(problem: Gemm):
    compiled = problem.build().compile(target=TARGET)
    for schedule in ("early", "late", "random:1", "random:2"):
        assert product_is_right(problem, compiled, schedule), schedule


@pytest.mark.parametrize("barrier", ["loaded", "multiplied"])
def test_a_loop_that_forgets_to_turn_the_parity_goes_wrong(barrier: str):
    """Waiting for parity 0 in the second round returns at once: that phase is over."""
    problem = LOOPS[0]
    kernel = problem.build()
    text = changed(
        rf"(try\.wait\S*\(ptr addrspace\(3\) @{barrier}, )i32 %[\w.]+\)",
        r"\1i32 0)",
        canonical(kernel.llvm),
        count=1,
    )
    compiled = nvgen.compile(text, target=TARGET)
    compiled.kernel = kernel
    assert not product_is_right(problem, compiled, "late")


# ---- hazards, one kernel each ----------------------------------------------------------------

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


# ---- waiting ---------------------------------------------------------------------------------

BARRIER_KERNEL = """
@first = internal addrspace(3) global [8 x i8] undef, align 8
@second = internal addrspace(3) global [8 x i8] undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %out) "nvvm.reqntid"="64" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %warp = lshr i32 %tid, 5
  %zero = icmp eq i32 %tid, 0
  br i1 %zero, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @first, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @second, i32 1)
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
BODY
}
"""
TRY_WAIT = "call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3)"
ARRIVE_AT = "call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3)"


def run_text(body: str, out: NDArray[np.generic], schedule: str) -> None:
    text = BARRIER_KERNEL.replace("BODY", body)
    check_text(text, Options(target=TARGET)).run(
        out, schedule=schedule
    )  # the rules know deadlocks, too


@pytest.mark.parametrize("schedule", SCHEDULES[:4])
def test_the_phase_before_the_first_has_completed(schedule: str):
    """mbarrier.try_wait.parity: parity 1 on a new barrier is that of the phase before."""
    body = f"""
  br label %spin
spin:
  %done = {TRY_WAIT} @first, i32 1)
  br i1 %done, label %on, label %spin
on:
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 7, ptr addrspace(1) %p
  ret void
"""
    out = np.zeros(64, np.uint32)
    run_text(body, out, schedule)
    assert (out == 7).all()


def test_a_try_wait_may_fail_although_the_phase_is_over():
    """A program that looks once and goes on is wrong: late, the first look fails."""
    body = f"""
  br i1 %zero, label %come, label %look
come:
  %token = {ARRIVE_AT} @first, i32 1)
  br label %look
look:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %done = {TRY_WAIT} @first, i32 0)
  %word = zext i1 %done to i32
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %word, ptr addrspace(1) %p
  ret void
"""
    for schedule, seen in (("early", 1), ("late", 0)):
        out = np.full(64, 9, np.uint32)
        run_text(body, out, schedule)
        assert (out == seen).all()


@pytest.mark.parametrize("schedule", ["early", "late", "random:0"])
def test_a_loop_that_counts_its_turns_still_ends(schedule: str):
    """Each turn changes a register, and yet the copy that it waits for must come one day."""
    text = """
@loaded = internal addrspace(3) global [8 x i8] undef, align 8
@tile = internal addrspace(3) global [512 x i8] undef, align 128
define ptx_kernel void @k(ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map,
    ptr addrspace(1) %out) "nvvm.reqntid"="1" {
entry:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @loaded, i32 1)
  call void @llvm.nvvm.fence.mbarrier_init.release.cluster()
  %t = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @loaded,
    i32 256)
  %to = addrspacecast ptr addrspace(3) @tile to ptr addrspace(7)
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(7) %to,
    ptr addrspace(3) @loaded, ptr %map, i32 0, i16 0, i64 0, i1 0, i1 0, i32 0)
  br label %spin
spin:
  %n = phi i32 [ 0, %entry ], [ %m, %spin ]
  %m = add i32 %n, 1
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @loaded,
    i32 0)
  br i1 %done, label %on, label %spin
on:
  %v = load i8, ptr addrspace(3) @tile
  %w = zext i8 %v to i32
  %turns = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %w, ptr addrspace(1) %out
  store i32 %m, ptr addrspace(1) %turns
  ret void
}
"""
    compiled = nvgen.compile(text, target=TARGET)
    source, out = np.full(512, 0x2A, np.uint8), np.zeros(2, np.uint32)
    simulate(
        compiled.module,
        "k",
        [tensor_map(source, (256,)), out],
        grid=(1, 1, 1),
        block=(1, 1, 1),
        schedule=parse_schedule(schedule),
        limits=Limits(20_000),
    )
    assert out[0] == 0x2A
    assert out[1] >= 1


# ---- deadlocks -------------------------------------------------------------------------------


def deadlock_of(body: str, schedule: str) -> list[Finding]:
    with pytest.raises(DeadlockError) as caught:
        run_text(body, np.zeros(64, np.uint32), schedule)
    return list(caught.value.findings)


@pytest.mark.parametrize("schedule", ["early", "late", "random:5"])
def test_two_warps_that_wait_for_each_other(schedule: str):
    """Each warp waits for the barrier at which the other would arrive after its own wait."""
    body = f"""
  %low = icmp eq i32 %warp, 0
  br i1 %low, label %one, label %two
one:
  %d1 = {TRY_WAIT} @first, i32 0)
  br i1 %d1, label %one_on, label %one
one_on:
  %t1 = {ARRIVE_AT} @second, i32 1)
  ret void
two:
  %d2 = {TRY_WAIT} @second, i32 0)
  br i1 %d2, label %two_on, label %two
two_on:
  %t2 = {ARRIVE_AT} @first, i32 1)
  ret void
"""
    found = deadlock_of(body, schedule)
    assert {f.rule for f in found} == {"sim/deadlock"}
    by_warp = {("warp 0" in f.message, "warp 1" in f.message): f for f in found}
    assert len(found) == 2
    for flags, barrier, line in (((True, False), "first", 20), ((False, True), "second", 26)):
        finding = by_warp[flags]
        assert barrier in finding.message
        assert "parity 0" in finding.message
        assert finding.place.line == line
        assert "0 of 1 arrivals" in finding.got


@pytest.mark.parametrize("schedule", ["early", "late"])
def test_a_phase_that_is_never_completed_again(schedule: str):
    """The second wait needs a second arrival: parity 1, phase 1."""
    body = f"""
  br i1 %zero, label %come, label %wait
come:
  %t = {ARRIVE_AT} @first, i32 1)
  br label %wait
wait:
  %d1 = {TRY_WAIT} @first, i32 0)
  br i1 %d1, label %again, label %wait
again:
  %d2 = {TRY_WAIT} @first, i32 1)
  br i1 %d2, label %on, label %again
on:
  ret void
"""
    for finding in deadlock_of(body, schedule):
        assert "first" in finding.message
        assert "parity 1" in finding.message
        assert "phase 1" in finding.got


@pytest.mark.parametrize("schedule", ["early", "late"])
def test_a_barrier_of_the_cta_that_one_warp_does_not_reach(schedule: str):
    body = f"""
  %low = icmp eq i32 %warp, 0
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
two:
  %d2 = {TRY_WAIT} @second, i32 0)
  br i1 %d2, label %two_on, label %two
two_on:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
"""
    messages = [f.message for f in deadlock_of(body, schedule)]
    assert any("barrier 0" in m and "warp 0" in m and "32 of 64" in m for m in messages)
    assert any("second" in m and "warp 1" in m for m in messages)


@pytest.mark.parametrize("schedule", ["early", "late"])
def test_bytes_that_never_come(schedule: str):
    text = changed("i32 32768", "i32 40960", count=1)
    a, b, _ = sample.operands()
    compiled = nvgen.compile(text, target=TARGET)
    compiled.kernel = sample.build()
    with pytest.raises(DeadlockError) as caught:
        compiled.run(a, b, np.zeros((sample.M, sample.N), np.float32), schedule=schedule)
    waiting = [f for f in caught.value.findings if "loaded" in f.message]
    assert waiting
    assert all("32768 of 40960 expected bytes" in f.got for f in waiting)


def test_columns_that_are_never_deallocated():
    """A second allocation of all columns blocks; nobody deallocates the first."""
    body = """
  %low = icmp eq i32 %warp, 0
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @first, i32 512)
  br label %meet
two:
  br label %meet
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %low, label %end, label %more
more:
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @second, i32 512)
  br label %end
end:
  ret void
"""
    found = deadlock_of(body, "early")
    assert any("tensor memory" in f.message and "512" in f.message for f in found)


# ---- faults have places ----------------------------------------------------------------------

GLOBALS = """
@words = internal addrspace(3) global [16 x i32] undef, align 16
@slot = internal addrspace(3) global i32 undef, align 4
"""
ALLOC = "call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @slot, i32 32)"
TADDR = """
  %base = load i32, ptr addrspace(3) @slot
  %d = inttoptr i32 %base to ptr addrspace(6)"""
DEALLOC = "call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) %d, i32 32)"
HALF = "%half = icmp ult i32 %tid, 16\n  br i1 %half, label %low, label %end\nlow:\n"
LD = "%v = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %d, i1 0)"
FAULTS = {
    "a global load behind the end": """
  %p = getelementptr i32, ptr addrspace(1) %in, i32 33
  %v = load i32, ptr addrspace(1) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a global load that is half behind the end": """
  %p = getelementptr i32, ptr addrspace(1) %odd, i32 30
  %v = load <2 x i32>, ptr addrspace(1) %p, align 8 ; here
  store <2 x i32> %v, ptr addrspace(1) %out""",
    "a global load before the beginning": """
  %p = getelementptr i32, ptr addrspace(1) %in, i32 -1
  %v = load i32, ptr addrspace(1) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a global store behind the end, by one thread": """
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %tid
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  store i32 1, ptr addrspace(1) %q ; here""",
    "a null pointer": """
  %v = load i32, ptr addrspace(1) null ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a global load of what nobody wrote": """
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  %v = load i32, ptr addrspace(1) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a misaligned load": """
  %p = getelementptr i8, ptr addrspace(1) %in, i32 2
  %v = load i32, ptr addrspace(1) %p, align 4 ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a shared load of what nobody wrote": """
  %p = getelementptr i32, ptr addrspace(3) @words, i32 3
  %v = load i32, ptr addrspace(3) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a shared load of what others wrote": """
  store i32 1, ptr addrspace(3) @words
  %p = getelementptr i32, ptr addrspace(3) @words, i32 1
  %v = load i32, ptr addrspace(3) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a shared store behind the end": """
  %p = getelementptr i32, ptr addrspace(3) @words, i32 4096
  store i32 1, ptr addrspace(3) %p ; here""",
    "a wait on what is no mbarrier": f"""
  %v = {TRY_WAIT} @words, i32 0) ; here""",
    "an arrival on what is no mbarrier": f"""
  %v = {ARRIVE_AT} @words, i32 1) ; here""",
    "an allocation of 48 columns": f"""
  %n = load i32, ptr addrspace(1) %in
  %columns = add i32 %n, 48
  {ALLOC.replace("i32 32)", "i32 %columns)")} ; here""",
    "an allocation after giving up the right": f"""
  call void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg1()
  {ALLOC} ; here""",
    "columns given back twice": f"""
  {ALLOC}{TADDR}
  {DEALLOC}
  {DEALLOC} ; here""",
    "columns given back by another lane's address": f"""
  {ALLOC}{TADDR}
  %e = getelementptr i8, ptr addrspace(6) %d, i32 2097152
  {DEALLOC.replace("%d", "%e")} ; here""",
    "half of the columns given back": f"""
  {ALLOC.replace("32)", "64)")}{TADDR}
  {DEALLOC} ; here""",
    "a tensor memory load without an allocation": f"""
  %d = inttoptr i32 0 to ptr addrspace(6)
  {LD} ; here""",
    "a tensor memory load of what nobody wrote": f"""
  {ALLOC}{TADDR}
  {LD} ; here""",
    "a tensor memory load after giving it back": f"""
  {ALLOC}{TADDR}
  call void @llvm.nvvm.tcgen05.st.32x32b.x1(ptr addrspace(6) %d, i32 1, i1 0)
  call void @llvm.nvvm.tcgen05.wait.st()
  {DEALLOC}
  {LD} ; here""",
    "addresses that differ from thread to thread": f"""
  {ALLOC}{TADDR}
  %e = getelementptr i8, ptr addrspace(6) %d, i32 %tid
  {LD.replace("%d", "%e")} ; here""",
    "half a warp at tcgen05.ld": f"""
  {ALLOC}{TADDR}
  {HALF}  {LD} ; here""",
    "half a warp at tcgen05.st": f"""
  {ALLOC}{TADDR}
  {HALF}  call void @llvm.nvvm.tcgen05.st.32x32b.x1(ptr addrspace(6) %d, i32 1, i1 0) ; here""",
    "half a warp at tcgen05.wait": f"""
  {HALF}  call void @llvm.nvvm.tcgen05.wait.ld() ; here""",
    "half a warp at tcgen05.alloc": f"""
  {HALF}  {ALLOC} ; here""",
    "half a warp at tcgen05.dealloc": f"""
  {ALLOC}{TADDR}
  {HALF}  {DEALLOC} ; here""",
    "half a warp at bar.sync": f"""
  {HALF}  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) ; here""",
}


@pytest.mark.parametrize("schedule", ["early", "late"])
@each("name", FAULTS)
def test_a_fault_names_its_line(name: str, schedule: str):
    body = FAULTS[name]
    end = "  br label %end\nend:\n" if "low:" in body else ""
    text = (
        GLOBALS
        + "define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, "
        + "ptr addrspace(1) %odd) "
        + '"nvvm.reqntid"="32" {\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()'
        + f"{body}\n{end}  ret void\n}}\n"
    )
    (line,) = (i for i, t in enumerate(text.splitlines(), 1) if t.endswith("; here"))
    compiled = nvgen.compile(text, target=TARGET)
    given, result, odd = (np.zeros(n, np.uint32) for n in (32, 32, 31))
    with pytest.raises(SimulationError) as caught:
        compiled.run(given, Output(result), odd, schedule=schedule)
    finding = caught.value.findings[0]
    assert not isinstance(caught.value, NotSimulatedError)
    assert finding.place.line == line
    assert finding.place.function == "k"
    assert finding.message


def test_an_output_of_the_builder_counts_as_unwritten():
    """`pointer(..., output=True)`: what the array held before the launch does not count."""
    b = KernelBuilder("reads_its_output", block=32)
    b.pointer("d", output=True)
    d = b.begin()["d"]
    assert isinstance(d, Pointer)
    value = load_vector(b, d, 1)
    b.store(value, d + 4, align=4)
    with pytest.raises(Fault) as caught:
        b.finish().compile(target=TARGET).run(np.zeros(4, np.uint32))
    assert caught.value.findings[0].rule == "sim/uninitialized"


def test_columns_that_are_never_given_back_are_a_finding():
    text = (
        GLOBALS
        + 'define ptx_kernel void @k() "nvvm.reqntid"="32" {\n'
        + f"  {ALLOC}\n  ret void\n}}\n"
    )
    with pytest.raises(SimulationError) as caught:
        nvgen.compile(text, target=TARGET).run()
    assert "deallocated" in caught.value.findings[0].message


@pytest.mark.parametrize("schedule", SCHEDULES[:4])
def test_exactly_one_thread_is_elected(schedule: str):
    b = KernelBuilder("election", block=64)
    b.pointer("out")
    out = b.begin()["out"]
    assert isinstance(out, Pointer)
    with b.elect():
        b.store(b.const(1), out + b.tid_x.zext(64) * 4, align=4)
    votes = np.zeros(64, np.uint32)
    b.finish().compile(target=TARGET).run(votes, schedule=schedule)
    assert votes[:32].sum() == 1
    assert votes[32:].sum() == 1
