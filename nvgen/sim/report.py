"""Reports of runs that do not end: waits, arrivals at their barriers, and where threads are.

Layer: nvgen.sim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intrinsics.findings import Finding, Place, Severity
from nvgen.sim.faults import DeadlockError, LimitError

if TYPE_CHECKING:
    from nvgen.sim.machine import Cta, Fragment, Instruction, Machine


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


def unfinished(machine: Machine) -> LimitError:
    """That a run took longer than it may, and where its threads are: one finding for each place,
    the places where most groups of threads are first.
    """
    limits, engine = machine.limits, machine.engine
    late = machine.steps <= limits.steps
    allowed = f"{limits.seconds:g} s" if late else f"{limits.steps} steps"
    places: dict[tuple[str, int, int], list[Fragment]] = {}
    for fragment in (f for cta in machine.ctas for warp in cta.warps for f in warp.fragments):
        at = fragment.frame.code.name, fragment.block, fragment.at
        places.setdefault(at, []).append(fragment)
    found = sorted(places.values(), key=len, reverse=True)
    rule = "sim/timeout" if late else "sim/max-steps"
    first = Finding(
        rule,
        Severity.ERROR,
        f"the kernel did not end in {allowed}",
        _instruction(found[0][0]).place if found else Place(),
        op=_instruction(found[0][0]).mi.opcode if found else "",
        got=f"{machine.steps} steps, {len(engine.pending)} asynchronous operations under way",
        expected="an end",
        hint="look for a loop that does not end; timeout=… (--timeout) and max_steps=… "
        "(--max-steps) allow more",
    )
    notes = [_standing(rule, group) for group in found[:_SHOWN]]
    if len(found) > _SHOWN:
        text = f"threads are at {len(found) - _SHOWN} more places"
        notes.append(Finding(rule, Severity.NOTE, text))
    return LimitError([first, *notes])


def _standing(rule: str, group: list[Fragment]) -> Finding:
    """Where some groups of threads are; of many the first ones have their names told."""
    names = [_who(fragment) for fragment in group[:_NAMED]]
    more = len(group) - len(names)
    who = "; ".join(names) + (f"; and {more} more groups of threads" if more else "")
    instruction = _instruction(group[0])
    waiting = group[0].waiting
    return Finding(
        rule,
        Severity.NOTE,
        f"{who}: {f'wait for {waiting}' if waiting else 'are here'}",
        instruction.place,
        op=instruction.mi.opcode,
    )


_NAMED = 4
"""Groups of threads at one place that a report names."""

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


def _who(fragment: Fragment) -> str:
    warp = fragment.warp
    return f"{_name(warp.cta)}, warp {warp.number}, {lanes_in_words(fragment.mask)}"


def _instruction(fragment: Fragment) -> Instruction:
    """What a fragment does next, or where it ends: a block without records is passed over."""
    blocks = fragment.frame.code.blocks
    for block in blocks[fragment.block :]:
        if block.instructions:
            return block.instructions[min(fragment.at, len(block.instructions) - 1)]
    return next(block.instructions[-1] for block in reversed(blocks) if block.instructions)


def _finding(machine: Machine, fragment: Fragment) -> Finding:
    instruction = _instruction(fragment)
    warp = fragment.warp
    who = _who(fragment)
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
