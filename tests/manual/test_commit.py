"""9.7.16.12.1, tcgen05.commit."""

from __future__ import annotations

from tests.manual.rows import Held, Row, kernels, statements

_COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one{}.b64 [{}]{};"
_CAST = ".shared::cluster.multicast::cluster"


def _commit(more: str = ".shared::cluster", mbar: str = "mbar", mask: str = "") -> str:
    return _COMMIT.format(more, mbar, mask)


_MISSING, _UNKNOWN = "ptx/missing-modifier", "ptx/unknown-modifier"

ROWS = (
    Row("it says what happens at the mbarrier", _commit(),
        _commit().replace(".mbarrier::arrive::one", ""), _MISSING, refused=True),
    Row("which is one arrival", _commit(mbar="%r1"),
        _commit().replace("arrive::one", "complete_tx::bytes"), _UNKNOWN, refused=True),
    Row(".cta_group has to stand", _commit(), _commit().replace(".cta_group::1", ""), _MISSING,
        refused=True),
    Row("the type is .b64", _commit(), _commit().replace(".b64", ".b32"), "ptx/types",
        refused=True),
    Row("a multicast has a mask", _commit(_CAST, mask=", %h1"), _commit(_CAST),
        "tcgen05.commit/operands", refused=True),
    Row("and nothing else has", _commit(), _commit(mask=", %h1"), "tcgen05.commit/operands",
        refused=True),
    Row("the mask has 16 bits", _commit(_CAST, mask=", %h2"), _commit(_CAST, mask=", %r2"),
        "tcgen05.commit/operands", refused=True),
    Row("without a state space the address is generic", _commit("", "%rd1"),
        _commit(".shared::cta"), "ptx/state-spaces", refused=True),
    Row("sm_90a has none", _commit(), _commit(), "tcgen05.commit/target", refused=True,
        target="sm_90a", elsewhere="sm_103a"),
)  # fmt: skip

HELD = (
    Held("it tracks what its own thread has issued before", "tcgen05.mma/no-commit",
         ("commit first", "commit by another thread", "no commit", "commit on one way")),
    Held("one thread commits", "tcgen05.commit/threads",
         ("a commit by the whole warp", "a commit by each warp")),
    Held("what it tracks is complete when the mbarrier's phase is", "tcgen05.ld/before-completion",
         ("no wait", "waits for the wrong barrier", "the old phase", "asks only once")),
    Held("before the columns are freed, too", "tcgen05.dealloc/before-completion",
         ("freed without wait", "an MMA after the last wait")),
    Held("one commit is one arrival", "mbarrier/arrivals", ("one arrival too few",)),
    Held("and two are two", "mbarrier/ends-early",
         ("two commits counted as one", "an arrival beside the commit")),
    Held("its mbarrier lies in shared memory", "tcgen05.commit/window",
         ("a commit to a parameter",)),
    Held("its mbarrier has been made", "mbarrier/uninitialized",
         ("not initialised", "not initialised on one way")),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_a_kernel = kernels(HELD)
