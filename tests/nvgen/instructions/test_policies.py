"""The builder's verbs for cache policies, and a copy that takes one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.modifiers import CachePriority
from nvgen import KernelBuilder
from nvgen.built import Kernel
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer

LAST, FIRST = CachePriority.LAST, CachePriority.FIRST
BYTES = 512


def copying(policy: Callable[[KernelBuilder, Pointer], Int]) -> Kernel:
    """A kernel that brings `BYTES` bytes into shared memory and back, with a cache policy."""
    b = KernelBuilder("copying", block=32)
    b.pointer("x")
    b.pointer("out", output=True)
    args = b.begin()
    source, target = args["x"], args["out"]
    assert isinstance(source, Pointer)
    assert isinstance(target, Pointer)
    made = policy(b, source)
    row = b.shared_tile("row", ElementType.F16, (4, 64)).pointer
    full = b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.elect():
        b.mbarrier_arrive_expect_tx(full, BYTES)
        b.cp_async_bulk_global_to_shared_cluster(row, full, source, BYTES, cache_policy=made)
    b.wait(full, 0)
    with b.elect():
        b.cp_async_bulk_shared_cta_to_global(target, row, BYTES, cache_policy=made)
        b.cp_async_bulk_commit_group()
        b.cp_async_bulk_wait_group(0)
    b.invalidate_mbarriers(full)
    return b.finish()


VERBS: dict[str, tuple[Callable[[KernelBuilder, Pointer], Int], str]] = {
    "fractional.L2.evict.last": (
        lambda b, x: b.createpolicy_fractional(LAST),
        "createpolicy.fractional.L2::evict_last.b64 %rd",
    ),
    "fractional.L2.evict.normal.L2.evict.first": (
        lambda b, x: b.createpolicy_fractional(CachePriority.NORMAL, 0.25, secondary=FIRST),
        "createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 %rd",
    ),
    "range.global.L2.evict.last.L2.evict.unchanged": (
        lambda b, x: b.createpolicy_range(LAST, x, 128, BYTES, secondary=CachePriority.UNCHANGED),
        "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd",
    ),
    "cvt.L2": (
        lambda b, x: b.createpolicy_cvt_l2(b.createpolicy_fractional(FIRST)),
        "createpolicy.cvt.L2.b64 %rd",
    ),
}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_the_manuals_instruction(name: str) -> None:
    verb, ptx = VERBS[name]
    built = copying(verb)
    assert f"@llvm.nvvm.createpolicy.{name}(" in built.llvm
    assert ptx in built.compile(target="sm_90a").ptx


@pytest.mark.turns(3)
@kernel_test(schedules="all", targets="sm_90a")
def test_a_policy_changes_no_result(launch: Launch) -> None:
    x = np.random.default_rng(3).integers(0, 1 << 32, BYTES // 4).astype(np.uint32)
    for verb, _ in VERBS.values():
        out = np.zeros_like(x)
        launch(copying(verb), x, out=out)
        assert_exact(out, x)


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5, float("nan")])
def test_no_fraction(fraction: float) -> None:
    with pytest.raises(InputError, match="no fraction"):
        copying(lambda b, x: b.createpolicy_fractional(LAST, fraction))


def test_a_second_priority_that_ptx_has_not() -> None:
    with pytest.raises(InputError, match="no intrinsic"):
        copying(lambda b, x: b.createpolicy_fractional(FIRST, secondary=LAST))
