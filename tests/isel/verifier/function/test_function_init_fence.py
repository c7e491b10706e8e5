"""fence.mbarrier_init: the initialisation of an mbarrier that others than its CTA's threads see.

PTX ISA, membar / fence: it "orders the prior mbarrier.init operations" of its thread for the
cluster.  Async Proxy: copies of the CTA's own complete on it through another proxy.
"""

from __future__ import annotations

from intrinsics.findings import Finding, Severity
from isel.verifier.functions import verify_functions
from tests.each import each
from tests.isel.verifier.function.kernel_text import EPILOGUE, PROLOGUE, kernel
from tests.isel.verifier.function.tensor_kernels import line_of
from tests.isel.verifier.function.test_function_rules import module_of

COMMIT = "    @%p2 bra PAST;\n    $commit [done];\nPAST:\n"
COPY = COMMIT.replace(
    "$commit [done]",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a_tile], [%rd7], 16, [done]",
)
MULTICAST = COMMIT.replace(
    "$commit [done]",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
    "[done], 3",
)
FENCE = "    $initialised;\n"


def found(text: str) -> list[Finding]:
    every = verify_functions(module_of(text), (128,))
    return [f for f in every if f.rule == "mbarrier.init/fence"]


def of(body: str, *, cluster: int = 1, prologue: str = PROLOGUE) -> str:
    return kernel(prologue + body + EPILOGUE, f".reqntid 128 .reqnctapercluster {cluster}")


def without_fence() -> str:
    assert FENCE in PROLOGUE
    return PROLOGUE.replace(FENCE, "")


RIGHT = {
    "with the fence": of(COPY),
    "a commit of the CTA's own": of(COMMIT, prologue=without_fence()),
    "with the fence, in a cluster": of(MULTICAST, cluster=2),
    "with a fence between the proxies": of(
        COPY, prologue=PROLOGUE.replace(FENCE, "    fence.proxy.async.shared::cta;\n")),
    "with a fence of everything": of(
        COPY, prologue=PROLOGUE.replace(FENCE, "    fence.acq_rel.cluster;\n")),
    "nobody but threads of the CTA": of("", prologue=without_fence()),
    "in a cluster whose CTAs leave each other alone": of(
        "", cluster=2, prologue=without_fence()),
}  # fmt: skip


@each("name", RIGHT)
def test_right(name: str):
    assert found(RIGHT[name]) == []


def test_what_a_multicast_signals_in_another_cta_needs_the_fence():
    text = of(MULTICAST, cluster=2, prologue=without_fence())
    (review,) = found(text)
    assert review.severity is Severity.REVIEW
    assert "another CTA" in review.got
    assert review.place.line in (line_of(text, "mbarrier.init"), line_of(text, "[back], 128"))


def test_within_a_cta_copies_of_the_async_proxy_need_a_fence():
    """Of several mbarriers in a row the last one that the async proxy signals is named."""
    text = of(COPY, prologue=without_fence())
    (review,) = found(text)
    assert review.severity is Severity.REVIEW
    assert "the async proxy may see done" in review.got
    assert review.place.line == line_of(text, "[done], 1")


def test_a_fence_on_one_way_only_is_missing_on_the_other():
    one = PROLOGUE.replace(
        FENCE, "    setp.eq.u32 %p9, %r9, 3;\n    @%p9 bra INITIALISED;\n" + FENCE
    )
    (review,) = found(of(COPY, prologue=one))
    assert review.severity is Severity.REVIEW
