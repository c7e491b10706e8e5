"""Shared memory that threads fill and the async proxy reads, with no fence.proxy.async between.

PTX ISA, Async proxy: that of bulk copies and of wgmma; a store is of the generic proxy.  Of which
cp.async is the manual does not say, and CUTLASS multiplies what cp.async has brought without a
fence: there the missing fence is for review, and a run goes on.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from intrinsics.findings import Severity, SimulationError
from tests.isel.verifier import kernels
from tests.isel.verifier.kernels import severities
from tests.sim.ptx import SCHEDULES

COPY = "cp.async.cg.shared.global [%r3], [%rd2], 16; cp.async.wait_all;"
STORE = "st.shared.v4.b32 [%r3], {%t, %t, %t, %t};"
FENCE = "fence.proxy.async.shared::cta;"


def kernel(fill: str) -> str:
    """A module whose kernel fills a tile, each thread its 16 bytes, and sends it to memory."""
    body = f"""\
    .shared .align 128 .b8 tile[2048];
    mad.wide.u32 %rd2, %t, 16, %source;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %t, 16, %r2;
    {fill}
    bar.sync 0;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra END;
    cp.async.bulk.global.shared::cta.bulk_group [%to], [tile], 2048;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:"""
    return kernels.kernel(body, ".param .u64 source, .param .u64 to")


def sent(fill: str, schedule: str) -> NDArray[np.uint32]:
    """What a run sends of 2048 numbered bytes."""
    source, to = np.arange(512, dtype=np.uint32), np.zeros(512, np.uint32)
    nvgen.compile(kernel(fill)).run(source, to, grid=1, block=128, schedule=schedule)
    return to


def test_what_threads_store_needs_a_fence() -> None:
    assert severities(kernel(STORE)) == {("shared/proxy-fence", Severity.ERROR)}
    assert severities(kernel(STORE + FENCE)) == set()


def test_what_they_copy_may_need_one() -> None:
    assert severities(kernel(COPY)) == {("shared/proxy-fence", Severity.REVIEW)}
    assert severities(kernel(COPY + FENCE)) == set()


@pytest.mark.wrong_kernel
@pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_ends_only_where_the_manual_forbids(schedule: str) -> None:
    assert np.array_equal(sent(COPY, schedule), np.arange(512))
    with pytest.raises(SimulationError) as error:
        sent(STORE, schedule)
    assert error.value.findings[0].rule == "sim/proxy-fence"
