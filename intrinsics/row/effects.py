"""Effects of a row beside its results: memory, convergence, issuing threads, completion.

Layer: intrinsics.row.
"""

from __future__ import annotations

from enum import Enum, Flag, auto

from intrinsics.lazy_dataclass import dataclass


class IssueScope(Enum):
    """The threads that execute one instance of the operation together."""

    THREAD = "thread"
    WARP = "warp"
    WARPGROUP = "warpgroup"
    CTA = "CTA"
    CTA_PAIR = "CTA pair"


class Effect(Flag):
    """Effects of an instruction beside its results."""

    NONE = 0
    READS_MEMORY = auto()
    WRITES_MEMORY = auto()
    CONVERGENT = auto()  # its set of threads must not change
    ALIGNED = auto()  # the whole warp must execute it together
    ASYNC_PROXY = auto()  # touches memory through the async proxy
    TERMINATOR = auto()  # ends a block
    BARRIER = auto()  # orders other operations, so nothing moves across it
    CARRY = auto()  # reads or writes the carry flag, so their order counts


class Completion(Enum):
    """How the completion of an operation can be observed."""

    AT_ISSUE = "at issue"
    WAIT_LD = "tcgen05.wait::ld"
    WAIT_ST = "tcgen05.wait::st"
    COMMIT = "tcgen05.commit on an mbarrier"
    TRANSACTION = "transaction bytes on an mbarrier"
    COPY_GROUP = "cp.async.wait_group, cp.async.wait_all or cp.async.mbarrier.arrive of its thread"
    BULK_GROUP = "cp.async.bulk.wait_group on its bulk async-group"
    WGMMA_GROUP = "wgmma.wait_group on its wgmma-group"


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of a row: for dead-code elimination, the verifier and the simulator."""

    effect: Effect = Effect.NONE
    scope: IssueScope = IssueScope.THREAD
    completion: Completion = Completion.AT_ISSUE

    @property
    def is_asynchronous(self) -> bool:
        """Whether the operation may still run when the thread goes on."""
        return self.completion is not Completion.AT_ISSUE

    @property
    def is_pure(self) -> bool:
        """Whether the instruction may be removed when its results are not used."""
        return self.effect in (Effect.NONE, Effect.READS_MEMORY)


PURE = Effects()
