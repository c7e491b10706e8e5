"""The builder's verbs for warps, rare uses of mbarriers, fences, atomics and barriers that reduce.

Each calls LLVM's own intrinsic or instruction, for the PTX of the manual; what they compute is
compared with numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from llvmlite import ir

from intrinsics.findings import InputError
from intrinsics.modifiers import (
    AccPrecision,
    AtomicOp,
    ReduceOp,
    ScalarType,
    Scope,
    Sem,
    Shuffle,
    Vec,
    Vote,
    WarpReduce,
)
from nvgen import KernelBuilder, SimulationError, bf16, f32, f64, i32, u16, u32
from nvgen.built import Kernel
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Float, Int
from nvgen.values.pointers import Barrier, Pointer
from tests.each import each

T, A = ScalarType, AtomicOp
Verb: TypeAlias = Callable[[KernelBuilder], object]


def _remote(b: KernelBuilder) -> Barrier:
    return b.of_cta(b.mbarrier("m"), 1)


def _everywhere(b: KernelBuilder) -> Pointer:
    """An address in global memory."""
    return Pointer(b, b.at_caller().inttoptr(b.const(256, 64).value, ir.PointerType(addrspace=1)))


def _token(b: KernelBuilder) -> Int:
    return b.mbarrier_arrive(b.mbarrier("n"))


VERBS: dict[str, tuple[Verb, str]] = {
    "shfl.sync.idx.i32": (
        lambda b: b.shfl_sync(Shuffle.IDX, b.tid_x, 3), "shfl.sync.idx.b32"),
    "shfl.sync.bfly.i32p": (
        lambda b: b.shfl_sync_p(Shuffle.BFLY, b.tid_x, 16), "shfl.sync.bfly.b32"),
    "vote.any.sync": (lambda b: b.vote_sync(Vote.ANY, b.tid_x == 1), "vote.sync.any.pred"),
    "vote.ballot.sync": (
        lambda b: b.vote_sync(Vote.BALLOT, b.tid_x == 1), "vote.sync.ballot.b32"),
    "match.any.sync.i32": (lambda b: b.match_any_sync(b.tid_x), "match.any.sync.b32"),
    "match.all.sync.i64p": (
        lambda b: b.match_all_sync(b.tid_x.zext(64)), "match.all.sync.b64"),
    "redux.sync.add": (
        lambda b: b.redux_sync(WarpReduce.ADD, T.U32, b.tid_x), "redux.sync.add.s32"),
    "redux.sync.umax": (
        lambda b: b.redux_sync(WarpReduce.MAX, T.U32, b.tid_x), "redux.sync.max.u32"),
    "redux.sync.xor": (
        lambda b: b.redux_sync(WarpReduce.XOR, T.B32, b.tid_x), "redux.sync.xor.b32"),
    "redux.sync.fmin.abs.NaN": (
        lambda b: b.redux_sync(WarpReduce.MIN, T.F32, b.tid_x, abs=True, nan=True),
        "redux.sync.min.abs.NaN.f32"),
    "multimem.ld.reduce.add.acc.f32.relaxed.sys.v4.bf16x2": (
        lambda b: b.multimem_ld_reduce(
            _everywhere(b), op=A.ADD, type=T.BF16X2, vec=Vec.V4, acc=AccPrecision.F32,
            sem=Sem.RELAXED, scope=Scope.SYS),
        "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2"),
    "multimem.st.release.sys.v2.f32": (
        lambda b: b.multimem_st(
            _everywhere(b), [b.f32(1.0), b.f32(2.0)], type=T.F32, vec=Vec.V2, sem=Sem.RELEASE,
            scope=Scope.SYS),
        "multimem.st.release.sys.global.v2.f32 ["),
    "multimem.red.add.relaxed.sys.u32": (
        lambda b: b.multimem_red(_everywhere(b), b.tid_x, op=A.ADD, type=T.U32, sem=Sem.RELAXED),
        "multimem.red.relaxed.sys.global.add.u32 ["),
    "multimem.cp.async.bulk.bytemask": (
        lambda b: b.multimem_cp_async_bulk(
            _everywhere(b), b.shared_word("bytes"), 64, byte_mask=0xFF),
        "multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask ["),
    "multimem.cp.reduce.async.bulk.add.bf16": (
        lambda b: b.multimem_cp_reduce_async_bulk(
            A.ADD, T.BF16, _everywhere(b), b.shared_word("bytes"), 64),
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 ["),
    "activemask": (lambda b: b.activemask(), "activemask.b32"),
    "nanosleep": (lambda b: b.nanosleep(20), "nanosleep.u32 20;"),
    "mbarrier.arrive.noComplete.shared": (
        lambda b: b.mbarrier_arrive_no_complete(b.mbarrier("m"), 2),
        "mbarrier.arrive.noComplete.shared.b64"),
    "mbarrier.arrive.drop.scope.cta.space.cta": (
        lambda b: b.mbarrier_arrive_drop(b.mbarrier("m")), "mbarrier.arrive_drop.shared.b64"),
    "mbarrier.arrive.drop.relaxed.scope.cluster.space.cta": (
        lambda b: b.mbarrier_arrive_drop(b.mbarrier("m"), 2, scope=Scope.CLUSTER, relaxed=True),
        "mbarrier.arrive_drop.relaxed.cluster.shared.b64"),
    "mbarrier.arrive.drop.noComplete.shared": (
        lambda b: b.mbarrier_arrive_drop_no_complete(b.mbarrier("m"), 1),
        "mbarrier.arrive_drop.noComplete.shared.b64"),
    "mbarrier.arrive.drop.expect.tx.scope.cta.space.cta": (
        lambda b: b.mbarrier_arrive_drop_expect_tx(b.mbarrier("m"), 64),
        "mbarrier.arrive_drop.expect_tx.shared.b64"),
    "mbarrier.arrive.drop.scope.cluster.space.cluster": (
        lambda b: b.mbarrier_arrive_drop_space_cluster(_remote(b)),
        "mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _,"),
    "mbarrier.arrive.expect.tx.relaxed.scope.cluster.space.cluster": (
        lambda b: b.mbarrier_arrive_expect_tx_space_cluster(_remote(b), 64, relaxed=True),
        "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _,"),
    "mbarrier.arrive.drop.expect.tx.scope.cluster.space.cluster": (
        lambda b: b.mbarrier_arrive_drop_expect_tx_space_cluster(_remote(b), 64),
        "mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64 _,"),
    "mbarrier.complete.tx.scope.cta.space.cta": (
        lambda b: b.mbarrier_complete_tx(b.mbarrier("m"), 64),
        "mbarrier.complete_tx.relaxed.cta.shared.b64"),
    "mbarrier.expect.tx.scope.cluster.space.cluster": (
        lambda b: b.mbarrier_expect_tx_space_cluster(_remote(b), 64),
        "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64"),
    "mbarrier.complete.tx.scope.cluster.space.cluster": (
        lambda b: b.mbarrier_complete_tx_space_cluster(_remote(b), 64),
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64"),
    "mbarrier.try.wait.scope.cta.space.cta": (
        lambda b: b.mbarrier_try_wait(b.mbarrier("m"), _token(b)),
        "mbarrier.try_wait.shared.b64"),
    "mbarrier.try.wait.tl.scope.cluster.space.cta": (
        lambda b: b.mbarrier_try_wait(b.mbarrier("m"), _token(b), hint=9, scope=Scope.CLUSTER),
        "mbarrier.try_wait.acquire.cluster.shared.b64"),
    "mbarrier.pending.count": (
        lambda b: b.store(b.mbarrier_pending_count(_token(b)), b.shared_word("w")),
        "mbarrier.pending_count.b64"),
    "barrier.cta.arrive.count": (lambda b: b.barrier_cta_arrive(1, 64), "barrier.arrive 1, 64;"),
    "barrier.cta.red.popc.all": (
        lambda b: b.barrier_cta_red(ReduceOp.POPC, b.tid_x == 1), "barrier.red.popc.u32"),
    "barrier.cta.red.and.aligned.count": (
        lambda b: b.barrier_cta_red(ReduceOp.AND, b.tid_x == 1, 2, 128, aligned=True),
        "bar.red.and.pred"),
    'fence syncscope("block") acq_rel': (
        lambda b: b.fence(Sem.ACQ_REL, Scope.CTA), "fence.acq_rel.cta;"),
    'fence syncscope("cluster") acquire': (
        lambda b: b.fence(Sem.ACQUIRE, Scope.CLUSTER), "fence.acquire.cluster;"),
    "fence seq_cst": (lambda b: b.fence(Sem.SC, Scope.SYS), "fence.sc.sys;"),
    "atomicrmw add ptr addrspace(3)": (
        lambda b: b.atom(A.ADD, T.U32, b.shared_word("w"), 1, scope=Scope.CTA),
        "atom.relaxed.cta.shared.add.u32"),
    "atomicrmw min ptr addrspace(7)": (
        lambda b: b.atom(
            A.MIN, T.S32, b.mapa_shared_cluster(b.shared_word("w"), 1), -4,
            sem=Sem.ACQ_REL, scope=Scope.CLUSTER,
        ),
        "atom.acq_rel.cluster.shared::cluster.min.s32"),
    "atomicrmw fadd ptr addrspace(3)": (
        lambda b: b.atom(A.ADD, f32, b.shared_word("w"), 1.0, scope=Scope.SYS),
        "atom.relaxed.sys.shared.add.f32"),
    "cmpxchg ptr addrspace(3)": (
        lambda b: b.atom_cas(b.shared_word("w"), b.tid_x, 1, sem=Sem.ACQUIRE),
        "atom.acquire.gpu.shared.cas.b32"),
    "load atomic i32, ptr addrspace(3)": (
        lambda b: b.atom_load(b.shared_array("a", T.U32, 1), scope=Scope.CTA),
        "ld.acquire.cta.shared.b32"),
    "load atomic i64, ptr addrspace(1)": (
        lambda b: b.atom_load(_everywhere(b).of(f64), sem=Sem.RELAXED, scope=Scope.SYS),
        "ld.relaxed.sys.global.b64"),
    "store atomic i16": (
        lambda b: b.atom_store(_everywhere(b).of(bf16), b.bf16(1.0)),
        "st.release.gpu.global.b16"),
}  # fmt: skip


def kernel(verb: Verb) -> Kernel:
    b = KernelBuilder("k", block=128)
    b.begin()
    verb(b)
    return b.finish()


@each("name", VERBS)
@pytest.mark.wrong_kernel
def test_a_verb_is_what_llvm_calls_by_its_name(name: str) -> None:
    """LLVM's verifier has accepted it; the PTX is the manual's."""
    verb, ptx = VERBS[name]
    built = kernel(verb)
    called = f"@llvm.nvvm.{name}(" if name.partition(" ")[1] == "" else name
    assert called in built.llvm
    assert ptx in built.compile(target="sm_100a").ptx


@pytest.mark.parametrize(
    ("verb", "got"),
    [
        (lambda b: b.shfl_sync(Shuffle.UP, 1.5, 1), "1.5"),
        (lambda b: b.match_any_sync(b.tid_x.to(u16)), "i16"),
        (lambda b: b.fence(Sem.RELAXED, Scope.CTA), ".relaxed"),
        (lambda b: b.atom(A.MIN, T.B32, b.shared_word("w"), 1), ".b32"),
        (lambda b: b.atom(A.INC, T.S32, b.shared_word("w"), 1), ".s32"),
        (lambda b: b.atom(A.ADD, T.U32, b.shared_word("w"), 1, sem=Sem.WEAK), ".weak"),
        (lambda b: b.atom(A.ADD, T.U32, b.shared_word("w"), 1, sem="relaxed"), "'relaxed'"),
        (lambda b: b.atom(A.ADD, T.U32, b.shared_word("w"), 1, scope="gpu"), "'gpu'"),
        (lambda b: b.atom("add", T.U32, b.shared_word("w"), 1), "'add'"),
        (lambda b: b.atom(A.ADD, "u32", b.shared_word("w"), 1), "'u32'"),
        (lambda b: b.atom(A.ADD, T.U32, b.tid_x, 1), "Int"),
        (lambda b: b.atom(A.MAX, T.F32, b.shared_word("w"), 1.0), ".f32"),
        (lambda b: b.atom_cas(b.shared_word("w"), 0, 1), "0"),
        (lambda b: b.atom_cas(b.shared_word("w"), b.f32(0.0), 1), "f32"),
        (lambda b: b.atom_cas(None, b.u32(0), 1), "NoneType"),
        (lambda b: b.atom_load(b.shared_array("a", T.U32, 1), sem=Sem.RELEASE), ".release"),
        (lambda b: b.atom_load(b.shared_word("w")), "an index"),
        (lambda b: b.atom_load(b.tid_x), "Int"),
        (lambda b: b.atom_store(b.shared_array("a", T.U32, 1), 1, sem=Sem.ACQUIRE), ".acquire"),
        (lambda b: b.atom_store(b.shared_array("a", T.U32, 1), b.f32(1)), "f32"),
        (lambda b: b.fence("sc", Scope.CTA), "'sc'"),
        (lambda b: b.fence(Sem.SC, "cta"), "'cta'"),
        (lambda b: b.sreg("tid_q"), "'tid_q'"),
        (lambda b: b.sreg("tid"), "'tid'"),
        (lambda b: b.sreg(None), "None"),
    ],
)
def test_what_ptx_has_not_is_refused(verb: Verb, got: str) -> None:
    with pytest.raises(InputError) as caught:
        kernel(verb)
    assert caught.value.findings[0].got == got


def exchanges() -> Kernel:
    """Each of 32 threads writes a row of what the others told it."""
    b = KernelBuilder("exchanges", block=32)
    b.pointer("x")
    b.pointer("out", output=True)
    args = b.begin()
    source, target = args["x"], args["out"]
    assert isinstance(source, Pointer)
    assert isinstance(target, Pointer)
    x = b.load_word(source + b.tid_x * 4)
    above, reached = b.shfl_sync_p(Shuffle.DOWN, x, 5)
    rows = [
        b.shfl_sync(Shuffle.UP, x, 3),
        above,
        reached.zext(32),
        b.shfl_sync(Shuffle.BFLY, x, 9),
        b.shfl_sync(Shuffle.IDX, x, 1, 0x181F),  # in segments of eight lanes
        b.vote_sync(Vote.BALLOT, x == 3),
        b.vote_sync(Vote.ANY, x == 3).zext(32),
        b.match_any_sync(x),
        b.match_all_sync(x)[1].zext(32),
        b.redux_sync(WarpReduce.ADD, T.U32, x),
        b.redux_sync(WarpReduce.MAX, T.S32, x - 4),
        b.activemask(),
    ]
    for number, value in enumerate(rows):
        b.store(value, target + (b.tid_x + number * 32) * 4)
    return b.finish()


def expected_of(x: np.ndarray) -> np.ndarray:
    lanes = np.arange(32)
    same = [(np.array(1 << lanes, np.uint64) * (x == own)).sum() for own in x]
    rows = [
        np.where(lanes >= 3, x[(lanes - 3) % 32], x),
        np.where(lanes + 5 <= 31, x[(lanes + 5) % 32], x),
        lanes + 5 <= 31,
        x[lanes ^ 9],
        x[lanes // 8 * 8 + 1],
        np.full(32, int(sum(1 << i for i in range(32) if x[i] == 3))),
        np.full(32, (x == 3).any()),
        same,
        np.full(32, (x == x[0]).all()),
        np.full(32, x.sum()),
        np.full(32, (x.astype(np.int32) - 4).max()),
        np.full(32, 0xFFFFFFFF),
    ]
    return np.array([np.asarray(row).astype(np.uint32) for row in rows])


@kernel_test(schedules="all", targets="sm_90a")
def test_values_of_other_threads(launch: Launch) -> None:
    x = np.random.default_rng(5).integers(0, 8, 32).astype(np.uint32)
    out = np.zeros((12, 32), np.uint32)
    launch(exchanges(), x, out=out)
    assert_exact(out, expected_of(x))


def counts() -> Kernel:
    """All threads of two warps count in shared memory and in global memory, and vote."""
    b = KernelBuilder("counts", block=64)
    b.pointer("counters")
    target = b.begin()["counters"]
    assert isinstance(target, Pointer)
    word = b.shared_word("word")
    with b.if_thread(0):
        b.store(b.const(0), word)
    b.barrier_cta_sync_aligned()
    b.atom(A.ADD, T.U32, word, b.tid_x, scope=Scope.CTA)
    b.atom(A.MAX, T.U32, target, b.tid_x + 7)
    b.atom(A.ADD, f32, target + 4, 1)
    b.atom_cas(target + 8, b.const(0), 9)
    odd = b.barrier_cta_red(ReduceOp.POPC, (b.tid_x & 1) == 1, aligned=True)
    with b.if_thread(0):
        b.store(b.load_word(word), target + 12)
        b.store(odd, target + 16)
    return b.finish()


@kernel_test(schedules="all", targets="sm_90a")
def test_atomic_operations_and_a_barrier_that_counts(launch: Launch) -> None:
    out = np.zeros(5, np.uint32)
    launch(counts(), out)
    ones = int(np.float32(64).view(np.uint32))
    assert_exact(out, np.array([70, ones, 9, 64 * 63 // 2, 32], np.uint32))


def places() -> Kernel:
    """Each thread of a two-dimensional launch writes where it is, one counts what it finds."""
    b = KernelBuilder("places", block=(8, 4), target="sm_90a")
    b.pointer("out", i32, output=True)
    b.pointer("sum", f32)
    b.pointer("least", i32)
    args = b.begin()
    row = b.ctaid_y * 4 + b.tid_y
    column = b.ctaid_x * 8 + b.tid_x
    args["out"][row * 16 + column] = (b.lane + b.nctaid_y * 100).to(i32)
    before = b.atom(A.ADD, f32, args["sum"], 0.5)
    assert isinstance(before, Float)
    old = b.atom(A.MIN, i32, args["least"], row.to(i32) - 9)
    assert old.signed
    return b.finish()


@kernel_test(schedules="all", targets="sm_90a")
def test_where_a_thread_is_and_atomics_of_numbers(launch: Launch) -> None:
    out, total, least = np.zeros((12, 16), np.int32), np.zeros(1, np.float32), np.ones(1, np.int32)
    launch(places(), out, total, least, grid=(2, 3))
    lanes = np.arange(32).reshape(4, 8)
    assert_exact(out, np.tile(lanes, (3, 2)).astype(np.int32) + 300)
    assert_exact(total, np.float32([96]))
    assert_exact(least, np.int32([-9]))


def handed_on(load: Sem, store: Sem) -> Kernel:
    """A chain of CTAs: each adds its number to what the one before has left behind its flag."""
    b = KernelBuilder("handed_on", block=32)
    b.pointer("sums", u32)
    b.pointer("flags", u32)
    args = b.begin()
    mine = b.ctaid_x
    with b.if_thread(0):
        before = b.variable(0)
        with b.if_(mine > 0):
            seen = b.variable(0)
            with b.while_(lambda: seen.value == 0):
                seen.set(b.atom_load(args["flags"].at(mine - 1), sem=load))
            before.set(args["sums"][mine - 1])
        args["sums"][mine] = before.value + mine
        b.atom_store(args["flags"].at(mine), 1, sem=store)
    return b.finish()


@kernel_test(schedules="all", targets="sm_90a")
def test_what_a_store_released_a_load_acquires(launch: Launch) -> None:
    sums, flags = np.zeros(8, np.uint32), np.zeros(8, np.uint32)
    launch(handed_on(Sem.ACQUIRE, Sem.RELEASE), sums, flags, grid=8)
    assert_exact(sums, np.cumsum(np.arange(8)).astype(np.uint32))


@pytest.mark.parametrize(
    "sems", [(Sem.RELAXED, Sem.RELEASE), (Sem.ACQUIRE, Sem.RELAXED)], ids=["load", "store"]
)
def test_relaxed_ones_hand_nothing_on(sems: tuple[Sem, Sem]) -> None:
    sums, flags = np.zeros(8, np.uint32), np.zeros(8, np.uint32)
    with pytest.raises(SimulationError, match="race"):
        handed_on(*sems).compile(target="sm_90a").run(sums, flags, grid=8, device="sim")


@kernel_test(schedules="all", targets="sm_90a")
def test_whole_warps_wait_for_what_another_cta_hands_on(launch: Launch) -> None:
    """All lanes see it, and no warp goes on before all of its flags are there."""
    b = KernelBuilder("told_to_all", block=64)
    b.pointer("words", u32)
    b.pointer("flags", u32)
    args = b.begin()
    words, flags = args["words"], args["flags"]
    with b.if_(b.ctaid_x == 0):
        words[b.tid_x] = b.tid_x * 3
        b.atom_store(flags.at(b.tid_x), 1)
    with b.else_():
        b.wait_until(lambda: b.atom_load(flags.at(b.tid_x)) != 0)
        words[b.tid_x + 64] = words[b.tid_x ^ 31]
    sums, told = np.zeros(128, np.uint32), np.zeros(64, np.uint32)
    launch(b.finish(), sums, told, grid=2)
    assert_exact(sums[64:], 3 * (np.arange(64, dtype=np.uint32) ^ 31))


def test_a_lane_does_not_wait_for_its_warp_alone() -> None:
    b = KernelBuilder("k", block=64)
    b.pointer("flag", u32)
    args = b.begin()
    with pytest.raises(InputError, match="whole warps wait"), b.elect():
        b.wait_until(lambda: b.atom_load(args["flag"]) != 0)
