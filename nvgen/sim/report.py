"""The deadlock report: who waits for what, what has come, and what has not.

Layer: nvgen.sim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intrinsics.findings import Finding, Severity
from nvgen.sim.faults import DeadlockError

if TYPE_CHECKING:
    from nvgen.sim.machine import Cta, Fragment, Machine


def deadlock(machine: Machine) -> DeadlockError:
    """A finding for each group of threads that waits, those for mbarriers first: others mostly wait
    for them.  Of very many the last one says how many more there are.
    """
    fragments = [f for cta in machine.ctas for warp in cta.warps for f in warp.fragments]
    fragments.sort(key=lambda fragment: fragment.polled is None)
    findings = [_finding(machine, fragment) for fragment in fragments[:_SHOWN]]
    more = len(fragments) - len(findings)
    if more > 0:
        text = f"deadlock: {more} more groups of threads wait"
        findings.append(Finding("sim/deadlock", Severity.ERROR, text))
    return DeadlockError(findings)


_SHOWN = 24
"""Groups of threads that a report names."""

_HINTS = {
    "bytes that were": "expect the bytes of the copies that name the mbarrier, and no more",
    "came unexpected": "expect the bytes of every copy that names the mbarrier: a box counts "
    "whole, a multicast in each CTA",
    "more arrival": "mbarrier.init counts the arrivals that a phase gets: one for each thread or "
    "operation that arrives",
}
"""What to look at, by what an mbarrier lacks."""


def lanes_in_words(mask: int) -> str:
    """A mask of lanes as text: `lane 0`, `lanes 0-31`, `lanes 1-31`."""
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    if len(lanes) == 1:
        return f"lane {lanes[0]}"
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and runs[-1][1] == lane - 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    return "lanes " + ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in runs)


def _name(cta: Cta) -> str:
    if len(cta.cluster.ctas) == 1:
        return f"CTA {cta.number}"
    return f"CTA {cta.number} (rank {cta.rank} of cluster {cta.cluster.number})"


def _finding(machine: Machine, fragment: Fragment) -> Finding:
    block = fragment.frame.code.blocks[fragment.block]
    instruction = block.instructions[min(fragment.at, len(block.instructions) - 1)]
    warp = fragment.warp
    who = f"{_name(warp.cta)}, warp {warp.number}, {lanes_in_words(fragment.mask)}"
    states = "; ".join(b.name + " " + b.describe() for b in warp.cta.mbarriers.values())
    polled = fragment.polled
    missing = polled.barrier.missing() if polled else ""
    return Finding(
        "sim/deadlock",
        Severity.ERROR,
        f"deadlock: {who} wait for {fragment.waiting or 'a change that never comes'}",
        polled.place if polled else instruction.place,
        op=polled.op if polled else instruction.mi.opcode,
        got=states,
        expected=missing or "a thread that comes too",
        hint=next((hint for lacks, hint in _HINTS.items() if lacks in missing), ""),
    )
