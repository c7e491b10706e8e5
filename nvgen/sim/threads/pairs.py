"""The rendezvous of the warps of a CTA pair that manage their tensor memory.

Layer: nvgen.sim.  One warp of each CTA takes part in an operation with .cta_group::2; the first one
to arrive waits for the other.  Several warps of a CTA take part in the order of their arrival, for
each kind of operation separately.  PTX ISA, tcgen05: CTA Pair, Issue Granularity.
"""

from __future__ import annotations

from dataclasses import field

from intrinsics.lazy_dataclass import dataclass


@dataclass(slots=True, eq=False)
class Meeting:
    """One operation of a pair: the warp and the operands of each CTA that has arrived, by rank.

    `answer` is the result, once it is done; `announced` are the ranks whose arrival has been
    recorded, `gone` those that have the result.
    """

    warps: dict[int, int] = field(default_factory=dict)
    operands: dict[int, tuple[int, ...]] = field(default_factory=dict)
    answer: int | None = None
    announced: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Meetings:
    """The operations of a pair in progress, by name, in the order in which they began."""

    under_way: dict[str, list[Meeting]] = field(default_factory=dict)

    def join(self, op: str, rank: int, warp: int, operands: tuple[int, ...]) -> Meeting:
        """The rendezvous of a warp that arrives, or polls for the other one."""
        meetings = self.under_way.setdefault(op, [])
        for meeting in meetings:
            if meeting.warps.get(rank) == warp and rank not in meeting.gone:
                return meeting
        for meeting in meetings:
            if rank not in meeting.warps:
                break
        else:
            meeting = Meeting()
            meetings.append(meeting)
        meeting.warps[rank] = warp
        meeting.operands[rank] = operands
        return meeting

    def leave(self, op: str, meeting: Meeting, rank: int) -> None:
        """A warp continues; the last one ends the rendezvous."""
        meeting.gone.add(rank)
        if len(meeting.gone) == 2:
            self.under_way[op].remove(meeting)
