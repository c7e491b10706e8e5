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
from tests.isel.verifier.function import tensor_kernels
from tests.sim.ptx import SCHEDULES

COPY = "cp.async.cg.shared.global [%r3], [%rd2], 16; cp.async.wait_all;"
STORE = "st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};"
FENCE = "fence.proxy.async.shared::cta;"


def kernel(fill: str) -> str:
    """A module whose kernel fills a tile, each thread its 16 bytes, and sends it to memory."""
    return f"""\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 source, .param .u64 to) .reqntid 128
{{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .shared .align 128 .b8 tile[2048];
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [source];
    ld.param.u64 %rd3, [to];
    mad.wide.u32 %rd2, %r1, 16, %rd1;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, 16, %r2;
    {fill}
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra END;
    cp.async.bulk.global.shared::cta.bulk_group [%rd3], [tile], 2048;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:
    ret;
}}
"""


def said(fill: str) -> dict[str, Severity]:
    return {f.rule: f.severity for f in tensor_kernels.said(kernel(fill))}


def sent(fill: str, schedule: str) -> NDArray[np.uint32]:
    """What a run sends of 2048 numbered bytes."""
    source, to = np.arange(512, dtype=np.uint32), np.zeros(512, np.uint32)
    nvgen.compile(kernel(fill)).run(source, to, grid=1, block=128, schedule=schedule)
    return to


def test_what_threads_store_needs_a_fence() -> None:
    assert said(STORE) == {"shared/proxy-fence": Severity.ERROR}
    assert said(STORE + FENCE) == {}


def test_what_they_copy_may_need_one() -> None:
    assert said(COPY) == {"shared/proxy-fence": Severity.REVIEW}
    assert said(COPY + FENCE) == {}


@pytest.mark.wrong_kernel
@pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_ends_only_where_the_manual_forbids(schedule: str) -> None:
    assert np.array_equal(sent(COPY, schedule), np.arange(512))
    with pytest.raises(SimulationError) as error:
        sent(STORE, schedule)
    assert error.value.findings[0].rule == "sim/proxy-fence"
