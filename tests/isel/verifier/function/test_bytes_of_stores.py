"""Bytes that st.async and red.async bring to an mbarrier are what a phase may expect.

The right kernels run on the simulator; without the store the rule says that nothing comes.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.element import ElementType
from intrinsics.findings import VerificationError
from intrinsics.modifiers import AtomicOp, ScalarType, Scope
from isel.verifier.function.barriers.phases import NO_BYTES
from nvgen import Kernel, KernelBuilder
from nvgen.values.pointers import Pointer

LANES = 32


def build(brings: str) -> Kernel:
    """Each CTA of a pair is sent a word by each lane of the other one, and gives it out."""
    b = KernelBuilder("exchange", block=LANES, cluster=2)
    b.pointer("given")
    b.pointer("out", output=True)
    args = b.begin()
    given, out = args["given"], args["out"]
    assert isinstance(given, Pointer)
    assert isinstance(out, Pointer)
    words = b.shared_tile("words", ElementType.F32, (1, LANES), swizzle=0).pointer
    come = b.mbarrier("come")
    b.store(b.const(0), words + b.tid_x * 4)
    b.make_mbarriers((come, 1))
    b.cluster_sync()
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(come, LANES * 4)
    mine = ((b.ctaid_x * LANES + b.tid_x) * 4).zext(64)
    value = b.load_word(given + mine)
    theirs = b.mapa_shared_cluster(words + b.tid_x * 4, b.peer_rank())
    match brings:
        case "st.async":
            b.st_async_shared_cluster(ScalarType.B32, theirs, [value], b.of_peer(come))
        case "red.async":
            b.red_async_shared_cluster(AtomicOp.ADD, ScalarType.S32, theirs, value, b.of_peer(come))
    b.wait(come, 0, scope=Scope.CLUSTER)
    b.store(b.load_word(words + b.tid_x * 4), out + mine)
    b.cluster_sync()
    return b.finish()


@pytest.mark.parametrize("brings", ["st.async", "red.async"])
def test_stores_bring_bytes(brings: str) -> None:
    compiled = build(brings).compile(target="sm_90a", level="all")
    given = np.arange(2 * LANES, dtype=np.int32)
    out = np.zeros_like(given)
    compiled.run(given, out, grid=2)
    assert np.array_equal(out, np.roll(given, LANES))


def test_without_a_store_nothing_comes() -> None:
    with pytest.raises(VerificationError) as caught:
        build("").compile(target="sm_90a", level="function")
    (found,) = caught.value.findings
    assert found.rule == NO_BYTES.id
    assert found.got == "nothing signals come"
