"""What the table of rules says of ptxas, shown: each rule of a row alone decides about a statement.

For every rule there is a statement, among those that `test_legality` compares (of wgmma, those that
`test_wgmma_product` compares), on which nvgen finds that rule and nothing else, for some target and
PTX version, and ptxas then does what the table says.  The statements know nothing of the rules.
"""

from __future__ import annotations

from tests.oracle import evidence
from tests.oracle.rule_witnesses import claims, confirmed, read, shown

NOT_ALONE = {
    "bar.red/reduce-type", "barrier.red/reduce-type", "cvt/pair",  # the operands do not fit either
    "atom/b128-sys-version", "atom.cas/b128-sys-version", "cp.async.bulk.tensor/multicast-target",
    "ld/eviction-target", "st/eviction-target", "st/param-version",
    "mbarrier.arrive_drop/sink-version", "mbarrier.test_wait.parity/shared-cta-version",
    "mbarrier.try_wait/cluster-target", "mbarrier.try_wait.parity/cluster-target",
    "multimem.ld_reduce/precision-version",  # of PTX 8.1, which no list asks about
}  # fmt: skip
"""Rules that no statement of the lists shows alone: others break with them."""


def test_each_rule_alone_decides() -> None:
    """And, where everything is asked, those of `NOT_ALONE` do not.

    The statements that showed it when the record was written come first.
    """
    every = claims()
    expected = {claim for claim in every if claim.rule not in NOT_ALONE}
    live = evidence.options().live
    verdicts = set() if live else confirmed(read())
    missing = set(every if live else expected) - verdicts
    if missing:
        verdicts |= shown(missing).keys()
    wrong = [
        f"{claim.rule}: {claim.does} is {'not ' if claim in expected else ''}shown; {every[claim]}"
        for claim in sorted(expected ^ (verdicts & every.keys()))
    ]
    assert not wrong, "\n".join(wrong)
