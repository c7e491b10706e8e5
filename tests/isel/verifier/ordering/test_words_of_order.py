"""What findings about order say: the way out is that of the operation that is under way.

Mistakes of small kernels whose rule is the same, and whose remedy is not: a wait of mbarriers, of a
group of copies, a barrier of the cluster in place of one of the CTA.
"""

from __future__ import annotations

import sys

import pytest

from intrinsics.findings import Finding, Severity
from nvgen import KernelBuilder, VerificationError, u32
from tests.isel.verifier.function.protocol_kernels import ASYNC, COPIED, SENT, SUMMED
from tests.isel.verifier.function.small_texts import SYNC
from tests.isel.verifier.function.test_small_kernels import said


def only(text: str, rule: str) -> Finding:
    """The first finding of a rule."""
    return next(f for f in said(text) if f.rule == rule)


def test_bytes_that_do_not_come_are_counted() -> None:
    """A copy brings 256 bytes: from global memory, or from another CTA."""
    for text in (COPIED, SENT):
        found = only(text.replace("_, [bar], 256;", "_, [bar], 512;"), "mbarrier/deadlock")
        assert "1 of 1 arrivals and 256 of 512 expected bytes" in found.got
        assert found.expected == "an expect-tx of 256 bytes, or copies of 512"


def test_copies_of_threads_are_waited_for_by_group() -> None:
    """The barrier is there: what lacks is the wait of the thread that copies."""
    for wait in ("", "    cp.async.wait_group 1;\n    cp.async.commit_group;\n"):
        found = only(ASYNC.replace("    cp.async.wait_all;\n", wait), "shared/race")
        assert "nobody has waited for its end" in found.got
        assert "cp.async.wait_group" in found.expected
        assert "bar.sync" not in found.hint


def test_an_mbarrier_of_another_cta_needs_a_barrier_of_the_cluster() -> None:
    found = only(SENT.replace(SYNC, "    bar.sync 0;\n", 1), "mbarrier/published")
    assert "without a barrier of the cluster after" in found.got
    assert "barrier.cluster.arrive" in found.hint


def test_two_copies_to_the_same_bytes_are_not_told_of_commits() -> None:
    text = SUMMED.replace("cp.reduce.async", "cp.async").replace("bytes.add.u32", "bytes")
    found = only(text, "cp.async.bulk/operand-modified")
    assert "tcgen05" not in found.expected + found.hint
    assert "mbarrier of the first copy" in found.expected


def test_the_other_access_has_its_line_of_python() -> None:
    """Of a kernel of the builder both accesses are named by the lines that wrote them."""
    b = KernelBuilder("k", block=64, target="sm_90a")
    b.pointer("out", u32, output=True)
    out, words = b.begin()["out"], b.shared_array("words", u32, 64)
    stored = first_line_behind()
    words[b.tid_x] = b.tid_x
    out[b.tid_x] = words[b.tid_x ^ 32]
    with pytest.raises(VerificationError) as caught:
        b.finish().compile(level="function")
    (found,) = caught.value.findings
    assert f"(test_words_of_order.py:{stored})" in found.got
    assert found.place.python_line == stored + 1


def test_a_wait_that_an_argument_decides_says_which() -> None:
    """A turn is waited for where the producer has none: a run with less than 64 of K."""
    b = KernelBuilder("k", block=64, target="sm_90a")
    b.u32("k")
    k, full = b.begin()["k"], b.mbarrier("full")
    b.make_mbarriers((full, 1))
    with b.if_thread(0), b.if_(k >= 64):
        b.mbarrier_arrive(full)
    with b.if_thread(32):
        b.wait(full, 0)
    (found,) = b.finish().compile(level="function").findings
    assert found.rule == "mbarrier/deadlock"
    assert found.severity is Severity.REVIEW
    assert "where each integer argument is 5" in found.got


def first_line_behind() -> int:
    """The number of the line behind that of the call."""
    return sys._getframe(1).f_lineno + 1


@pytest.mark.parametrize("first", ["producer", "consumer"])
def test_of_a_ring_that_never_starts_only_who_fills_it_is_told(first: str) -> None:
    """Both wait for phase 0, wherever they stand in the text: the producer has to ask for the phase
    before it.
    """
    b = KernelBuilder("k", block=64, target="sm_90a")
    b.begin()
    full, empty = b.mbarrier("full"), b.mbarrier("empty")
    b.make_mbarriers((full, 1), (empty, 1))
    for role in (first, {"producer": "consumer", "consumer": "producer"}[first]):
        with b.if_thread(0 if role == "producer" else 32):
            b.wait(empty if role == "producer" else full, 0)
            if role == "producer":
                b.mbarrier_arrive_expect_tx(full, 64)
                b.mbarrier_complete_tx(full, 64)
            else:
                b.mbarrier_arrive(empty)
    with pytest.raises(VerificationError) as caught:
        b.finish().compile()
    (found,) = caught.value.findings
    assert found.rule == "mbarrier/deadlock"
    assert found.got.startswith("warp 0 waits here for mbarrier empty, parity 0")
