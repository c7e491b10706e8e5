"""A proxy fence reaches what its thread has written: in its own CTA, or in all of the cluster.

PTX ISA, membar / fence: fence.proxy.async; Async proxy.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ptx import SCHEDULES, findings

REMOTE = """
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u32 %r1, %cluster_ctarank;
    setp.ne.u32 %p1, %r1, 0;
    setp.ne.u32 %p2, %tx, 0;
    @%p2 bra written;
    @!%p1 bra written;
    mov.u32 %r2, tile;
    mapa.shared::cluster.u32 %r3, %r2, 0;
    st.shared::cluster.v4.b32 [%r3], {{7, 8, 9, 10}};
    {fence}
written:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%p2 bra read;
    @%p1 bra read;
    cp.async.bulk.global.shared::cta.bulk_group [%a0], [tile], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
read:
    barrier.cluster.arrive;
    barrier.cluster.wait;
"""
"""CTA 1 writes the tile of CTA 0, which copies it to global memory."""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fence", ["fence.proxy.async;", "fence.proxy.async.shared::cluster;"])
def test_a_fence_of_the_cluster_reaches_another_cta(fence: str, schedule: str) -> None:
    out = np.zeros(4, np.uint32)
    variables = ".shared .align 16 .b8 tile[16];"
    body = REMOTE.format(fence=fence)
    at = {"schedule": schedule, "grid": (2, 1, 1), "cluster": (2, 1, 1)}
    assert findings(body, out, variables=variables, **at) == []
    assert out.tolist() == [7, 8, 9, 10]


@pytest.mark.parametrize("fence", ["", "fence.proxy.async.shared::cta;"])
def test_none_or_one_of_the_own_cta_does_not(fence: str) -> None:
    out, variables = np.zeros(4, np.uint32), ".shared .align 16 .b8 tile[16];"
    body = REMOTE.format(fence=fence)
    found = findings(body, out, variables=variables, grid=(2, 1, 1), cluster=(2, 1, 1))
    assert [finding.rule for finding in found] == ["sim/proxy-fence"]
