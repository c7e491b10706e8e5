"""The builder's verbs for clusters: each calls LLVM's intrinsic of its name, for the right PTX."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import InputError, Severity, VerificationError
from intrinsics.modifiers import AtomicOp, ClusterDimension, Scope
from nvgen import KernelBuilder, u32, u64
from nvgen.built import Kernel
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer
from nvgen.values.vectors import Vector
from tests.each import each

Verb: TypeAlias = Callable[[KernelBuilder, dict[str, Pointer | Int]], object]


def _pointer(value: Pointer | Int) -> Pointer:
    assert isinstance(value, Pointer)
    return value


def _answer(b: KernelBuilder) -> Vector:
    return b.load(b.shared_array("answer", u32, 4), u32, 4, align=16)


VERBS: dict[str, tuple[Verb, str]] = {
    "barrier.cluster.arrive.aligned": (
        lambda b, a: b.barrier_cluster_arrive(), "barrier.cluster.arrive.aligned;"),
    "barrier.cluster.arrive.relaxed": (
        lambda b, a: b.barrier_cluster_arrive(relaxed=True, aligned=False),
        "barrier.cluster.arrive.relaxed;"),
    "barrier.cluster.wait": (
        lambda b, a: b.barrier_cluster_wait(aligned=False), "barrier.cluster.wait;"),
    "barrier.cluster.wait.aligned": (
        lambda b, a: b.barrier_cluster_sync(), "barrier.cluster.wait.aligned;"),
    "mapa.shared.cluster": (
        lambda b, a: b.mapa_shared_cluster(b.shared_word("s"), b.tid_x), ""),
    "mbarrier.arrive.scope.cluster.space.cluster": (
        lambda b, a: b.mbarrier_arrive_space_cluster(b.of_cta(b.mbarrier("m"), 0)),
        "mbarrier.arrive.release.cluster.shared::cluster.b64"),
    "mbarrier.arrive.relaxed.scope.cluster.space.cluster": (
        lambda b, a: b.mbarrier_arrive_space_cluster(b.of_cta(b.mbarrier("m"), 1), relaxed=True),
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64"),
    "mbarrier.try.wait.parity.scope.cluster.space.cta": (
        lambda b, a: b.wait(b.mbarrier("m"), 0, scope=Scope.CLUSTER),
        "mbarrier.try_wait.parity.acquire.cluster.shared.b64"),
    "getctarank.shared.cluster": (
        lambda b, a: b.getctarank_shared_cluster(b.shared_word("s")), ""),
    "fence.acquire.sync_restrict.space.cluster.scope.cluster": (
        lambda b, a: b.fence_acquire_sync_restrict(),
        "fence.acquire.sync_restrict::shared::cluster.cluster;"),
    "fence.release.sync_restrict.space.cta.scope.cluster": (
        lambda b, a: b.fence_release_sync_restrict(),
        "fence.release.sync_restrict::shared::cta.cluster;"),
    "fence.proxy.async_generic.acquire.sync_restrict.space.cluster.scope.cluster": (
        lambda b, a: b.fence_proxy_async_generic_acquire(),
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"),
    "fence.proxy.async_generic.release.sync_restrict.space.cta.scope.cluster": (
        lambda b, a: b.fence_proxy_async_generic_release(),
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"),
    "fence.proxy.alias": (lambda b, a: b.fence_proxy_alias(), "fence.proxy.alias;"),
    "fence.proxy.tensormap_generic.release.cta": (
        lambda b, a: b.fence_proxy_tensormap_release(Scope.CTA),
        "fence.proxy.tensormap::generic.release.cta;"),
    "fence.proxy.tensormap_generic.acquire.gpu": (
        lambda b, a: b.fence_proxy_tensormap_acquire(_pointer(a["map"])),
        "fence.proxy.tensormap::generic.acquire.gpu"),
    "setmaxnreg.inc.sync.aligned.u32": (
        lambda b, a: b.setmaxnreg_inc(232), "setmaxnreg.inc.sync.aligned.u32 232;"),
    "setmaxnreg.dec.sync.aligned.u32": (
        lambda b, a: b.setmaxnreg_dec(40), "setmaxnreg.dec.sync.aligned.u32 40;"),
    "griddepcontrol.wait": (lambda b, a: b.griddepcontrol_wait(), "griddepcontrol.wait;"),
    "griddepcontrol.launch.dependents": (
        lambda b, a: b.griddepcontrol_launch_dependents(), "griddepcontrol.launch_dependents;"),
    "clusterlaunchcontrol.query_cancel.is_canceled": (
        lambda b, a: b.clusterlaunchcontrol_query_cancel_is_canceled(_answer(b)), ""),
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.z": (
        lambda b, a: b.clusterlaunchcontrol_query_cancel_get_first_ctaid_dimension(
            _answer(b), dimension=ClusterDimension.Z),
        ""),
}  # fmt: skip


def kernel(verb: Verb) -> Kernel:
    b = KernelBuilder("k", block=128)
    b.tensor_map("map", dtype=ElementType.F16, box=(8, 64), swizzle=128)
    verb(b, b.begin())
    return b.finish()


@each("name", VERBS)
@pytest.mark.wrong_kernel
def test_a_verb_calls_the_intrinsic_of_its_name(name: str) -> None:
    """LLVM's own name, which LLVM's verifier has accepted; the PTX is the manual's."""
    verb, ptx = VERBS[name]
    built = kernel(verb)
    assert name in re.findall(r"call .*?@llvm\.nvvm\.([\w.]+)\(", built.llvm)
    assert ptx in built.compile(target="sm_100a").ptx


@pytest.mark.parametrize("count", [16, 100, 264])
def test_a_number_of_registers_that_is_none(count: int) -> None:
    """LLVM's verifier has the manual's range, and says so first."""
    with pytest.raises(InputError, match="setmaxnreg"):
        kernel(lambda b, a: b.setmaxnreg_inc(count)).compile(target="sm_100a")


def test_an_unknown_register_count_of_a_warpgroup_is_reported() -> None:
    """setmaxnreg needs to know what a thread starts with; ptxas ignores it otherwise."""
    compiled = kernel(lambda b, a: b.setmaxnreg_dec(40)).compile(target="sm_90a")
    (finding,) = compiled.findings
    assert (finding.rule, finding.severity) == ("setmaxnreg.dec/ignored", Severity.WARNING)


def specialised(most: int, **bound: int) -> Kernel:
    """One warpgroup of three gives registers back, the others get `most`."""
    b = KernelBuilder("budget", block=384, **bound)
    b.begin()
    with b.if_warpgroup(2):
        b.setmaxnreg_dec(24)
    with b.if_(b.warpgroup < 2):
        b.setmaxnreg_inc(most)
    return b.finish()


BOUNDS = {".maxnreg 168": {"maxnreg": 168}, ".minnctapersm 1": {"minctasm": 1}}


@pytest.mark.parametrize("directive", BOUNDS)
def test_a_builder_says_what_a_thread_starts_with(directive: str) -> None:
    """With 168 each, 128 * 144 that one warpgroup gives back are 72 for each of the two others."""
    compiled = specialised(240, **BOUNDS[directive]).compile(target="sm_90a", level="all")
    assert directive in compiled.ptx
    assert [f for f in compiled.findings if f.rule.startswith("setmaxnreg")] == []
    assert compiled.assembled().findings == ()


@pytest.mark.parametrize("directive", BOUNDS)
def test_a_budget_that_is_overdrawn(directive: str) -> None:
    with pytest.raises(VerificationError) as error:
        specialised(248, **BOUNDS[directive]).compile(target="sm_90a", level="all")
    assert [f.rule for f in error.value.findings] == ["setmaxnreg.inc/budget"]


@pytest.mark.parametrize("bound", [{"maxnreg": 0}, {"maxnreg": "168"}, {"minctasm": -1}])
def test_bounds_that_are_none(bound: dict[str, int]) -> None:
    """A bound is a whole number from 1."""
    with pytest.raises(InputError, match=f"no {next(iter(bound))}"):
        KernelBuilder("budget", block=384, **bound)


def asked() -> Kernel:
    """Each CTA asks for the work of one that has not started, and says whose it does next."""
    b = KernelBuilder("asked", block=32, target="sm_100a")
    b.pointer("next", u32, output=True)
    following = b.begin()["next"]
    answer, told = b.shared_array("answer", u32, 4), b.mbarrier("told")
    b.make_mbarriers((told, 1))
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(told, 16)
        b.clusterlaunchcontrol_try_cancel_async(answer, told)
    b.wait(told, 0)
    for response in (b.load(answer, u32, 4, align=16), b.load(answer, u64, 2, align=16)):
        is_canceled = b.clusterlaunchcontrol_query_cancel_is_canceled(response)
        first = b.clusterlaunchcontrol_query_cancel_get_first_ctaid_dimension(
            response, dimension=ClusterDimension.X
        )
        with b.if_(b.tid_x == 0):
            following[b.ctaid_x] = b.select(is_canceled, first, 77)
    return b.finish()


@kernel_test(schedules="all", targets="sm_100a")
def test_all_ctas_of_a_simulated_grid_start(launch: Launch) -> None:
    """No request to cancel one is granted, so each is told that it has no more work."""
    following = np.zeros(3, np.uint32)
    launch(asked(), following, grid=3)
    assert_exact(following, np.full(3, 77, np.uint32))


@kernel_test(schedules="all", targets="sm_100a")
def test_a_loop_over_blocks_begins_with_the_ctas_own(launch: Launch) -> None:
    """No other one is granted here: each block is worked on once, by its own CTA."""
    b = KernelBuilder("blocks", block=64, target="sm_100a")
    b.pointer("seen", u32)
    seen = b.begin()["seen"]
    with b.blocks() as (x, y, z), b.if_thread(0):
        b.atom(AtomicOp.ADD, u32, seen.at((z * 2 + y) * 3 + x), 1)
    counted = np.zeros((2, 2, 3), np.uint32)
    compiled = b.finish().compile(level="function")
    assert compiled.findings == []
    launch(compiled, counted, grid=(3, 2, 2))
    assert_exact(counted, np.ones((2, 2, 3), np.uint32))


def test_no_loop_over_blocks_in_clusters() -> None:
    b = KernelBuilder("blocks", block=64, cluster=2, target="sm_100a")
    b.begin()
    with pytest.raises(InputError, match="takes over blocks"), b.blocks():
        pass


def test_an_answer_has_128_bits() -> None:
    with pytest.raises(InputError, match="an operand of 128 bits") as caught:
        kernel(
            lambda b, a: b.clusterlaunchcontrol_query_cancel_is_canceled(
                b.load(b.shared_array("answer", u32, 2), u32, 2)
            )
        )
    assert caught.value.findings[0].got == "2 of u32"
