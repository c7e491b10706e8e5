"""Clusters from LLVM IR and from the builder, by the calls that users make.

Expected values are worked out from the ranks that the manual defines.  On a GPU these tests run as
they are.
"""

from __future__ import annotations

import numpy as np

from nvgen import KernelBuilder
from nvgen.built import Kernel
from nvgen.testing import Launch, kernel_test
from tests.sim.kernels import at, pointer

NEIGHBOURS = """
@s = internal addrspace(3) global [32 x i32] undef, align 4
define ptx_kernel void @next(ptr addrspace(1) %out) #0 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %mine = getelementptr [32 x i32], ptr addrspace(3) @s, i32 0, i32 %tid
  %b100 = mul i32 %block, 100
  %value = add i32 %b100, %tid
  store i32 %value, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %up = add i32 %rank, 1
  %other = urem i32 %up, %size
  %far = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %mine, i32 %other)
  %got = load i32, ptr addrspace(7) %far
  %row = mul i32 %block, 32
  %at = add i32 %row, %tid
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %at
  store i32 %got, ptr addrspace(1) %to
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  ret void
}
attributes #0 = { "nvvm.cluster_dim"="3" "nvvm.reqntid"="32" }
"""


@kernel_test(schedules="all", targets="sm_90a", opt=(0, 3))
def test_every_thread_reads_its_neighbour(launch: Launch) -> None:
    """The kernel says its cluster; the launch may say it too."""
    expected = np.array([1, 2, 0, 4, 5, 3])[:, None] * 100 + np.arange(32)
    for shape in ({}, {"cluster": 3}):
        found = np.zeros((6, 32), np.uint32)
        launch(NEIGHBOURS, found, grid=6, block=32, **shape)
        assert (found == expected).all()


def told() -> Kernel:
    """Each CTA writes 7 more than its rank into the word of the next one of its cluster."""
    b = KernelBuilder("told", block=32)
    b.pointer("out", output=True)
    out = pointer(b.begin(), "out")
    word = b.shared_word("word")
    rank, size = b.cluster_ctarank, b.sreg("cluster.nctarank")
    b.barrier_cluster_sync()
    with b.if_thread(0):
        b.store(rank + 7, b.mapa_shared_cluster(word, (rank + 1) % size))
    b.barrier_cluster_sync()
    with b.if_thread(0):
        b.at_caller().store(b.load_word(word).value, at(b, out, (b.ctaid_x * 4).zext(64)))
    return b.finish()


@kernel_test(schedules="all", targets="sm_90a")
def test_ctas_write_to_each_other(launch: Launch) -> None:
    found = np.zeros(8, np.uint32)
    launch(told(), out=found, grid=8, cluster=4)
    assert found.tolist() == [10, 7, 8, 9] * 2
