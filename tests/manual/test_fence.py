"""9.7.16.11.1, tcgen05.fence."""

from __future__ import annotations

from tests.manual.rows import Held, Row, kernels, statements

_BEFORE, _AFTER = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"

ROWS = (
    Row("it says on which side", _BEFORE, "tcgen05.fence;", "ptx/missing-modifier", refused=True),
    Row("of which there are two", _AFTER, "tcgen05.fence::thread_sync;",
        "ptx/unknown-instruction", refused=True),
    Row("it is no .sync.aligned one", f"@%p1 {_BEFORE}",
        "tcgen05.fence::before_thread_sync.sync.aligned;", "ptx/unknown-modifier", refused=True),
    Row("it has no operand", f"@%p1 {_AFTER}", "tcgen05.fence::after_thread_sync [%r1];",
        "ptx/operands", refused=True),
    Row("sm_100 has none", _BEFORE, _BEFORE, "tcgen05.fence/target", refused=True,
        target="sm_100", elsewhere="sm_100a 8.6"),
    Row("families have it from 8.8", _AFTER, _AFTER, "tcgen05.fence/target", refused=True,
        target="sm_100f", ptx="8.7", elsewhere="sm_100f 8.8"),
)  # fmt: skip

HELD = (
    Held("it orders what comes before against an arrival", "tcgen05/fence-before",
         ("no fence before the arrival", "no fence before a relaxed arrival",
          "two issuers without a fence before", "a flag without a fence before")),
    Held("it orders what comes behind against a wait", "tcgen05/fence-after",
         ("no fence after a relaxed wait", "no fence after the barrier",
          "the fence before the wait",
          "a flag without a fence after", "a copy without a fence after")),
    Held("a load is an asynchronous operation behind a wait", "tcgen05.ld/before-fence",
         ("no fence", "fence before the wait", "fence on one way", "the wrong fence",
          "fence in the issuer only")),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_a_kernel = kernels(HELD)
