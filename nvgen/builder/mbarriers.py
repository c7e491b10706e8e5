"""The builder's verbs for mbarriers that few kernels need: tokens, drops, transactions, peers.

Layer: nvgen.builder.  The others are in `nvgen.builder.intrinsics`.  A verb whose name ends in
`_space_cluster` takes an mbarrier of any CTA of the cluster, at cluster scope, and gives no token.
PTX ISA, mbarrier.arrive_drop; mbarrier.expect_tx; mbarrier.complete_tx; mbarrier.try_wait;
mbarrier.pending_count.
"""

from __future__ import annotations

from intrinsics.modifiers import NoComplete, Scope, Sem, Space
from intrinsics.row import Fact
from nvgen.builder.clusters import remote
from nvgen.builder.intrinsics import IntrinsicCalls, of_mbarrier, ordering
from nvgen.builder.values import Barrier, Int, IntLike


class MbarrierVerbs(IntrinsicCalls):
    """Calls of the intrinsics of mbarriers."""

    # ---- arrivals ----------------------------------------------------------------------------

    def mbarrier_arrive_no_complete(self, mbar: Barrier, count: IntLike) -> Int:
        """Arrive `count` times, which does not end the phase; returns the phase's token."""
        facts: dict[str, Fact] = {"no_complete": NoComplete.NO_COMPLETE, "space": Space.SHARED}
        return Int(self, self._call("mbarrier.arrive", facts, of_mbarrier(mbar, count=count)))

    def mbarrier_arrive_drop(
        self,
        mbar: Barrier,
        count: IntLike = 1,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Arrive, and be no longer expected in the phases behind; returns the phase's token."""
        facts = ordering(Sem.RELEASE, scope, relaxed=relaxed)
        return Int(self, self._call("mbarrier.arrive_drop", facts, of_mbarrier(mbar, count=count)))

    def mbarrier_arrive_drop_no_complete(self, mbar: Barrier, count: IntLike) -> Int:
        """As `mbarrier_arrive_drop`, where the arrivals do not end the phase."""
        facts: dict[str, Fact] = {"no_complete": NoComplete.NO_COMPLETE, "space": Space.SHARED}
        return Int(self, self._call("mbarrier.arrive_drop", facts, of_mbarrier(mbar, count=count)))

    def mbarrier_arrive_drop_expect_tx(
        self,
        mbar: Barrier,
        tx_count: IntLike,
        *,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Expect bytes in this phase, then arrive and drop out; returns the phase's token."""
        facts = ordering(Sem.RELEASE, scope, relaxed=relaxed)
        operands = of_mbarrier(mbar, tx_count=tx_count)
        return Int(self, self._call("mbarrier.arrive_drop.expect_tx", facts, operands))

    def mbarrier_arrive_drop_space_cluster(
        self, mbar: Barrier, count: IntLike = 1, *, relaxed: bool = False
    ) -> None:
        """Arrive at an mbarrier of any CTA of the cluster, and drop out of it."""
        self._call("mbarrier.arrive_drop", remote(relaxed=relaxed), of_mbarrier(mbar, count=count))

    def mbarrier_arrive_expect_tx_space_cluster(
        self, mbar: Barrier, tx_count: IntLike, *, relaxed: bool = False
    ) -> None:
        """Expect bytes at an mbarrier of any CTA of the cluster, and arrive at it."""
        operands = of_mbarrier(mbar, tx_count=tx_count)
        self._call("mbarrier.arrive.expect_tx", remote(relaxed=relaxed), operands)

    def mbarrier_arrive_drop_expect_tx_space_cluster(
        self, mbar: Barrier, tx_count: IntLike, *, relaxed: bool = False
    ) -> None:
        """Expect bytes at an mbarrier of any CTA of the cluster, arrive and drop out of it."""
        operands = of_mbarrier(mbar, tx_count=tx_count)
        self._call("mbarrier.arrive_drop.expect_tx", remote(relaxed=relaxed), operands)

    # ---- transactions ------------------------------------------------------------------------

    def mbarrier_complete_tx(
        self, mbar: Barrier, tx_count: IntLike, *, scope: Scope = Scope.CTA
    ) -> None:
        """Count bytes as arrived, as a copy would; nothing is copied."""
        facts: dict[str, Fact] = {"sem": Sem.RELAXED, "scope": scope, "space": Space.SHARED}
        self._call("mbarrier.complete_tx", facts, of_mbarrier(mbar, tx_count=tx_count))

    def mbarrier_expect_tx_space_cluster(self, mbar: Barrier, tx_count: IntLike) -> None:
        """Expect bytes in this phase at an mbarrier of any CTA of the cluster."""
        self._call("mbarrier.expect_tx", remote(relaxed=True), of_mbarrier(mbar, tx_count=tx_count))

    def mbarrier_complete_tx_space_cluster(self, mbar: Barrier, tx_count: IntLike) -> None:
        """Count bytes as arrived at an mbarrier of any CTA of the cluster."""
        operands = of_mbarrier(mbar, tx_count=tx_count)
        self._call("mbarrier.complete_tx", remote(relaxed=True), operands)

    # ---- tokens ------------------------------------------------------------------------------

    def mbarrier_try_wait(
        self,
        mbar: Barrier,
        state: Int,
        *,
        hint: IntLike | None = None,
        scope: Scope = Scope.CTA,
        relaxed: bool = False,
    ) -> Int:
        """Whether the phase of a token has completed, after waiting a while for it.

        `hint` is how long, in nanoseconds.
        """
        operands = of_mbarrier(mbar, state=state)
        if hint is not None:
            operands["hint"] = hint
        facts = ordering(Sem.ACQUIRE, scope, relaxed=relaxed)
        return Int(self, self._call("mbarrier.try_wait", facts, operands))

    def mbarrier_pending_count(self, state: Int) -> Int:
        """How many arrivals were missing when a token was made."""
        return Int(self, self._call("mbarrier.pending_count", {}, {"state": state}))
