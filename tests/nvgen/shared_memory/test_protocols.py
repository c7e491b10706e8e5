"""mbarriers made, expected and given back; the CTAs of a cluster that meet; the peer of a pair."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import InputError, VerificationError
from intrinsics.modifiers import Scope
from nvgen import Kernel, KernelBuilder, f32, u32
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.pointers import Pointer
from tests.each import each

E = ElementType


def statements(kernel: Kernel, target: str) -> list[str]:
    """The kernel's synchronisation in PTX, in order."""
    ptx = kernel.compile(target=target).ptx
    found = re.findall(r"^\s*(?:@!?%p\d+ )?((?:mbarrier|fence|bar|barrier)\.[^\s;]+)", ptx, re.M)
    return [name.removesuffix(".b64") for name in found]


def made(
    body: Callable[[KernelBuilder], None],
    *,
    target: str | None = None,
    cluster: int = 1,
    block: int | tuple[int, int, int] = 64,
) -> Kernel:
    b = KernelBuilder("k", block=block, cluster=cluster, target=target)
    b.begin()
    body(b)
    return b.finish()


# ---- meeting -------------------------------------------------------------------------------------

FENCE, CTA = "fence.mbarrier_init.release.cluster", "bar.sync"
ARRIVE, RELAXED, WAIT = (
    "barrier.cluster.arrive.aligned",
    "barrier.cluster.arrive.relaxed.aligned",
    "barrier.cluster.wait.aligned",
)


@each("scope", [None, Scope.CTA, Scope.CLUSTER])
@each("cluster", [1, 2, 4])
@each("target", ["sm_80", "sm_90a", "sm_100a"])
@each("memory", [True, False])
def test_the_three_gates_of_a_meeting(
    target: str, cluster: int, scope: Scope | None, memory: bool
) -> None:
    """A cluster meets on sm_90 or later, with more than one CTA, in cluster scope."""
    kernel = made(
        lambda b: b.cluster_sync(scope=scope, memory=memory), target=target, cluster=cluster
    )
    wide = target != "sm_80" and cluster > 1 and scope is not Scope.CTA
    expected = [CTA] if not wide else [ARRIVE, WAIT] if memory else [FENCE, RELAXED, WAIT]
    assert statements(kernel, target) == expected


def test_threads_of_warps_that_are_not_whole_meet() -> None:
    kernel = made(lambda b: b.cluster_sync(aligned=False), cluster=2)
    assert statements(kernel, "sm_90a") == ["barrier.cluster.arrive", "barrier.cluster.wait"]
    kernel = made(lambda b: b.cluster_sync(aligned=False))
    assert statements(kernel, "sm_90a") == ["barrier.sync"]


@pytest.mark.parametrize("operation", ["cluster_sync", "make_mbarriers", "invalidate_mbarriers"])
def test_all_threads_come_by(operation: str) -> None:
    def body(b: KernelBuilder) -> None:
        with b.if_warp(0):
            getattr(b, operation)()

    with pytest.raises(InputError, match=f"{operation} is for all threads of the CTA"):
        made(body)


def test_no_other_scope() -> None:
    with pytest.raises(InputError, match="no scope of threads"):
        made(lambda b: b.cluster_sync(scope=Scope.GPU))


def test_waits_and_arrivals_before_sm_90() -> None:
    """sm_80 has neither mbarrier.try_wait nor arrivals with a count: Target ISA Notes of both."""

    def body(b: KernelBuilder) -> None:
        full = b.mbarrier("full")
        b.make_mbarriers((full, 64))
        b.mbarrier_arrive(full)
        b.wait(full, 0)
        b.mbarrier_arrive_drop(full)

    new = made(body, target="sm_90a").compile()
    assert "mbarrier.try_wait" in new.ptx
    assert re.search(r"mbarrier\.arrive\.\S+ \S+ \[full\], 1;", new.ptx)
    old = made(body, target="sm_80").compile()
    assert "mbarrier.test_wait" in old.ptx
    assert re.search(r"mbarrier\.arrive\.\S+ \S+ \[full\];", old.ptx)
    assert re.search(r"mbarrier\.arrive_drop\.\S+ \S+ \[full\];", old.ptx)
    for schedule in ("early", "late"):
        old.run(device="sim", schedule=schedule)


def test_a_count_is_named_where_the_target_has_none() -> None:
    """The message names the operand, and nothing that is not there."""
    with pytest.raises(VerificationError) as found:
        made(lambda b: b.mbarrier_arrive(b.mbarrier("full"), 2), target="sm_80").compile()
    messages = [f.message for f in found.value.findings if f.rule.endswith("count-target")]
    assert messages == ["the operand count is not supported on sm_80"]


# ---- the life of mbarriers -----------------------------------------------------------------------


def one_life(b: KernelBuilder) -> None:
    full, empty = b.mbarriers("full", 2), b.mbarrier("empty")
    b.make_mbarriers((full, 1), (empty, 4))
    b.invalidate_mbarriers(full, empty)


INITS, INVALS = ["mbarrier.init.shared"] * 3, ["mbarrier.inval.shared"] * 3


def test_mbarriers_of_a_cta() -> None:
    assert statements(made(one_life), "sm_90a") == [
        *INITS, FENCE, CTA,
        CTA, *INVALS, FENCE, CTA,
    ]  # fmt: skip


def test_mbarriers_of_a_cluster() -> None:
    assert statements(made(one_life, cluster=2), "sm_90a") == [
        *INITS, FENCE, RELAXED, WAIT,
        ARRIVE, WAIT, *INVALS, FENCE, CTA,
    ]  # fmt: skip


def test_mbarriers_where_there_is_no_such_fence() -> None:
    """fence.mbarrier_init came with sm_90; mbarriers with sm_80."""
    assert statements(made(one_life, target="sm_80"), "sm_80") == [
        *INITS, CTA, CTA, *INVALS, CTA,
    ]  # fmt: skip


def test_counts_are_as_given() -> None:
    ptx = made(one_life).compile(target="sm_90a").ptx
    inits = re.findall(r"mbarrier\.init\S+ \[(\S+)\], (\d+);", ptx)
    assert inits == [("full", "1"), ("full+8", "1"), ("empty", "4")]


@kernel_test(targets="sm_90a")
@pytest.mark.gpu
@pytest.mark.parametrize("block", [(64, 1, 1), (8, 4, 2)])
def test_memory_of_mbarriers_is_free_behind_them(
    launch: Launch, block: tuple[int, int, int]
) -> None:
    """Two lives of one mbarrier, with another count, then words in its place."""
    b = KernelBuilder("lives", block=block)
    b.pointer("out", output=True)
    out = b.begin()["out"]
    assert isinstance(out, Pointer)
    barrier = b.mbarrier("barrier")
    number = b.tid_x + (b.sreg("tid.y") + b.sreg("tid.z") * block[1]) * block[0]
    for count in (64, 32):
        b.make_mbarriers((barrier, count))
        with b.if_(number < count):
            b.mbarrier_arrive(barrier)
        b.wait(barrier, 0)
        b.invalidate_mbarriers(barrier)
    with b.if_(number == 0):
        b.store(b.const(7, 32), barrier.pointer)
    b.barrier_cta_sync_aligned()
    b.store(b.load_word(barrier.pointer), out + (number * 4).zext(64))
    found = np.zeros(64, np.int32)
    launch(b.finish(), found)
    assert_exact(found, np.full(64, 7, np.int32))


# ---- bytes that a phase expects ------------------------------------------------------------------


def test_bytes_of_tiles_and_boxes() -> None:
    """A box has its elements times their size; so has a tile that one copy fills."""
    b = KernelBuilder("k", block=32)
    b.tensor_map("a", dtype=E.BF16, box=(64, 64), swizzle=128)
    b.tensor_map("f", dtype=E.F32, box=(4, 8, 16))
    args = b.begin()
    a, f = args["a"], args["f"]
    assert isinstance(a, Pointer)
    assert isinstance(f, Pointer)
    tile = b.shared_tile("tile", E.BF16, (64, 64))
    ring = b.shared_tiles("ring", E.E4M3, (128, 128), 2)
    assert b.transaction_bytes(a) == 64 * 64 * 2 == b.transaction_bytes(tile)
    assert b.transaction_bytes(f) == 4 * 8 * 16 * 4
    assert b.transaction_bytes(ring) == b.transaction_bytes(ring[1]) == 128 * 128
    assert b.transaction_bytes(a, f, ring) == 8192 + 2048 + 16384
    assert b.transaction_bytes(a, f, ctas=2) == 2 * (8192 + 2048)
    with pytest.raises(InputError, match="no number of bytes"):
        b.transaction_bytes()
    with pytest.raises(InputError, match="1 to 1048575"):
        b.transaction_bytes(a, ctas=128)
    with pytest.raises(InputError, match="nothing that a copy fills") as caught:
        b.transaction_bytes(b.shared_array("halo", f32, 256))
    assert caught.value.findings[0].got == "Pointer"


@kernel_test(targets="sm_90a")
@pytest.mark.gpu
def test_a_copy_that_is_expected(launch: Launch) -> None:
    b = KernelBuilder("copy", block=32)
    b.tensor_map("source", dtype=E.F32, box=(8, 32))
    b.pointer("out", output=True)
    args = b.begin()
    source, out = args["source"], args["out"]
    assert isinstance(source, Pointer)
    assert isinstance(out, Pointer)
    tile, full = b.shared_tile("tile", E.F32, (8, 32), swizzle=0), b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, source)
        b.cp_async_bulk_tensor_g2s_tile(tile.pointer, full, source, [0, 0])
    b.wait(full, 0)
    for row in range(8):
        at = (b.tid_x * 4).zext(64)
        b.store(b.load_word(tile.pointer + row * 128 + at), out + row * 128 + at, align=4)
    given = np.arange(256, dtype=np.float32).reshape(8, 32)
    found = np.zeros_like(given)
    launch(b.finish(), given, found)
    assert_exact(found, given)


# ---- pairs ---------------------------------------------------------------------------------------


@kernel_test(targets="sm_90a")
@pytest.mark.gpu
def test_peers_hand_over_to_each_other(launch: Launch) -> None:
    """Each CTA of two pairs writes a word for its peer, arrives there, and reads its own."""
    b = KernelBuilder("peers", block=32, cluster=4)
    b.pointer("words")
    b.pointer("out", output=True)
    args = b.begin()
    words, out = args["words"], args["out"]
    assert isinstance(words, Pointer)
    assert isinstance(out, Pointer)
    ready = b.mbarrier("ready")
    b.make_mbarriers((ready, 1))
    mine, peer = b.sreg("cluster.ctarank"), b.peer_rank()
    with b.if_thread(0):
        b.store(mine * 10 + 1, words + (peer * 4).zext(64))
        b.mbarrier_arrive_space_cluster(b.of_peer(ready))
        b.wait(ready, 0, scope=Scope.CLUSTER)
        b.store(b.load_word(words + (mine * 4).zext(64)), out + (mine * 4).zext(64))
    b.cluster_sync()
    found = np.zeros(4, np.int32)
    launch(b.finish(), np.zeros(4, np.int32), found, grid=4)
    assert_exact(found, np.array([11, 1, 31, 21], np.int32))  # the rank ^ 1 of each, times 10, + 1


@kernel_test(targets="sm_90a")
def test_one_arrival_at_a_peer_counts_for_several(launch: Launch) -> None:
    """Relaxed it hands over nothing: the word comes by the cluster's barrier."""
    b = KernelBuilder("peers", block=32, cluster=2)
    b.pointer("out", u32, output=True)
    out, words = b.begin()["out"], b.shared_array("words", u32, 1)
    ready = b.mbarrier("ready")
    b.make_mbarriers((ready, 3))
    with b.if_thread(0):
        words[0] = b.peer_rank() + 5
        b.mbarrier_arrive_space_cluster(b.of_peer(ready), 3, relaxed=True)
        b.wait(ready, 0, scope=Scope.CLUSTER)
    b.cluster_sync()
    with b.if_thread(0):
        out[b.ctaid_x] = b.of_peer(words)[0]
    b.cluster_sync()
    found = np.zeros(2, np.uint32)
    compiled = b.finish().compile(target=launch.target, level="function")
    assert "mbarrier.arrive.relaxed.cluster.shared::cluster" in compiled.ptx
    launch(compiled, found, grid=2)
    assert_exact(found, np.array([5, 6], np.uint32))


@pytest.mark.parametrize("cluster", [1, 3])
def test_no_pair_no_peer(cluster: int) -> None:
    with pytest.raises(InputError, match="a CTA has a peer in a cluster of pairs"):
        made(lambda b: b.of_peer(b.mbarrier("bar")), cluster=cluster)


def test_what_is_made_is_clean_at_every_level() -> None:
    for cluster in (1, 2):
        kernel = made(one_life, cluster=cluster)
        assert kernel.compile(target="sm_90a", level="function").findings == []


@kernel_test(targets="sm_90a")
def test_what_is_several_is_gone_through(launch: Launch) -> None:
    """Tiles and mbarriers unpack to as many as there are, each at a place of its own."""
    b = KernelBuilder("several", block=1, target="sm_90a")
    b.pointer("out", u32, output=True)
    out = b.begin()["out"]
    first, second = b.shared_tiles("tiles", E.U8, (64, 64), 2, swizzle=64)
    one, two, three = b.mbarriers("barriers", 3)
    places = [thing.pointer for thing in (first, second, one, two, three)]
    for number, place in enumerate(places):
        b.store(b.const(number), place)
    for number, place in enumerate(places):
        out[number] = b.load_word(place)
    found = np.full(5, 9, np.uint32)
    launch(b.finish(), found)
    assert_exact(found, np.arange(5, dtype=np.uint32))
