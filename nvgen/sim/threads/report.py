"""Reports of runs that do not end: waits, arrivals at their barriers, and positions of threads.

Layer: nvgen.sim.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.findings import Finding, Place, Severity
from intrinsics.lazy_dataclass import dataclass
from nvgen.launching.launches import lanes_in_words
from nvgen.sim.faults import DeadlockError, LimitError
from nvgen.sim.threads.barriers import MBarrier
from nvgen.sim.threads.machine import Cta, Instruction, Machine, Polled, Strand
from nvgen.sim.threads.suppliers import LAST, Suppliers


def deadlock(machine: Machine) -> DeadlockError:
    """The error of a deadlock: a finding for each group of threads that waits.

    Waits for mbarriers come first, since other waits mostly depend on them.  The first is for an
    mbarrier on which the rest depends, explains why it is not signalled, and has a table of all
    mbarriers.  Beyond a limit the last finding counts the rest.
    """
    strands = [f for cta in machine.ctas for warp in cta.warps for f in warp.strands]
    blame = _Blame.of(machine, strands)
    barriers = blame.sorted(_named(machine, strands))
    rank = {id(barrier): number for number, (_, barrier) in enumerate(barriers)}
    strands.sort(key=lambda f: len(rank) if f.polled is None else rank[id(f.polled.barrier)])
    findings = [_finding(strand) for strand in strands[:_SHOWN]]
    if findings and barriers:
        findings[0] = replace(findings[0], got=_table(barriers))
        polled = strands[0].polled
        if polled is not None:
            why = f"{findings[0].expected}; {blame.reason(polled.barrier)}"
            hint = _FIRST_FILL if blame.is_first_fill(polled) else findings[0].hint
            findings[0] = replace(findings[0], expected=why, hint=hint)
    more = len(strands) - len(findings)
    if more > 0:
        text = f"deadlock: {more} more groups of threads wait"
        findings.append(Finding("sim/deadlock", Severity.ERROR, text))
    return DeadlockError(findings)


def _named(machine: Machine, strands: list[Strand]) -> list[tuple[str, MBarrier]]:
    """All mbarriers, invalidated ones included that threads wait for."""
    several = len(machine.ctas) > 1
    found = [
        (f"CTA {cta.number} {barrier.name}" if several else barrier.name, barrier)
        for cta in machine.ctas
        for barrier in cta.mbarriers.values()
    ]
    known = {id(barrier) for _, barrier in found}
    polled = [f.polled.barrier for f in strands if f.polled is not None]
    return found + [(b.name, b) for b in {id(b): b for b in polled if id(b) not in known}.values()]


@dataclass(slots=True)
class _Blame:
    """The wait-for graph of mbarriers: those that threads wait for, and the threads that could
    signal them.

    One depends on another if all threads that could signal it wait, some of them for the other.
    """

    waited: dict[int, MBarrier]
    suppliers: dict[int, list[Strand]]
    starts: dict[int, int]  # for mbarriers that threads wait for the first time, their rank

    @classmethod
    def of(cls, machine: Machine, strands: list[Strand]) -> _Blame:
        """The wait-for graph of threads that wait."""
        waited = {id(f.polled.barrier): f.polled.barrier for f in strands if f.polled is not None}
        those = Suppliers(machine, strands)
        suppliers = {key: those.of(barrier) for key, barrier in waited.items()}
        starts: dict[int, int] = {}
        for f in strands:
            if f.polled is not None and f.warp.number not in f.polled.barrier.seen:
                key = id(f.polled.barrier)
                starts[key] = min(those.rank(f), starts.get(key, LAST))
        return cls(waited, suppliers, starts)

    def sorted(self, barriers: list[tuple[str, MBarrier]]) -> list[tuple[str, MBarrier]]:
        """The mbarriers in the order of the report: root causes first, idle ones last.

        A root cause is one that no thread is left to signal, or one in a cycle.  Among these the
        one on which most others depend is first, then one at which all have arrived that could,
        then one whose bytes are outstanding, then one that is phases behind, then one for which
        threads wait for the first time, those that fill stages before the others.
        """
        hangs = {key: self._hangs_on(key) for key in self.waited}
        order = {key: number for number, key in enumerate(self.waited)}

        def place(
            item: tuple[str, MBarrier],
        ) -> tuple[bool, bool, bool, int, bool, bool, int, int, int]:
            key, barrier = id(item[1]), item[1]
            if key not in self.waited:
                return True, True, True, 0, True, True, 0, 0, 0
            on = hangs[key]
            circle = all(key in hangs[other] for other in on)
            others = sum(key in later for other, later in hangs.items() if other != key)
            return (
                False, bool(self.suppliers[key]), not circle, -others, not self._is_miscounted(key),
                barrier.tx == 0, barrier.phase, self.starts.get(key, LAST + 1), order[key],
            )  # fmt: skip

        return sorted(barriers, key=place)

    def _hangs_on(self, key: int) -> set[int]:
        """The mbarriers that one depends on, transitively."""
        found: set[int] = set()
        work = [key]
        while work:
            for one in self._next(work.pop()):
                if one not in found:
                    found.add(one)
                    work.append(one)
        return found

    def _next(self, key: int) -> set[int]:
        those = self.suppliers[key]
        return {id(f.polled.barrier) for f in those if f.polled is not None} - {key}

    def _is_miscounted(self, key: int) -> bool:
        """Whether as many threads have arrived as could, and the phase expects more."""
        barrier, those = self.waited[key], self.suppliers[key]
        come = barrier.expected - barrier.pending
        return bool(barrier.pending and come) and sum(f.mask.bit_count() for f in those) <= come

    def is_first_fill(self, polled: Polled) -> bool:
        """Whether a ring's producer waits for a stage that no thread has filled or emptied yet."""
        barrier = polled.barrier
        fresh = not barrier.phase and barrier.pending == barrier.expected
        return fresh and polled.awaits == 0 and self.starts.get(id(barrier), LAST) < LAST

    def reason(self, barrier: MBarrier) -> str:
        """Why an mbarrier is not signalled."""
        those = self.suppliers[id(barrier)]
        if not those:
            return "no thread that is left can signal it"
        who = those[0]
        rest = f", and {len(those) - 1} more groups of threads wait" if len(those) > 1 else ""
        return f"who could signal it waits: {_who(who)} for {who.waiting or 'a change'}{rest}"


def _table(barriers: list[tuple[str, MBarrier]]) -> str:
    """A line for each mbarrier, aligned; at most `_ROWS`."""
    width = max(len(name) for name, _ in barriers[:_ROWS])
    rows = [f"{name:<{width}} {barrier.describe()}" for name, barrier in barriers[:_ROWS]]
    more = len(barriers) - len(rows)
    return "\n".join([*rows, *([f"and {more} more mbarriers"] if more else [])])


_ROWS = 8
"""The most mbarriers in the table of a report."""

_FIRST_FILL = (
    "who waits for a stage to be empty begins with parity 1: the phase before the first counts as "
    "complete"
)
_EACH_ARRIVES = "let each warp that waits arrive, so that none is two phases late"

_SHOWN = 24
"""The most groups of threads that a report names."""


def unfinished(machine: Machine) -> LimitError:
    """The error of a run that exceeded its limit: one finding for each position of threads.

    The positions with most groups of threads are first.
    """
    limits, engine = machine.limits, machine.engine
    late = machine.steps <= limits.steps
    allowed = f"{limits.seconds:g} s" if late else f"{limits.steps} steps"
    places: dict[tuple[str, int, int], list[Strand]] = {}
    for strand in (f for cta in machine.ctas for warp in cta.warps for f in warp.strands):
        at = strand.frame.code.name, strand.block, strand.at
        places.setdefault(at, []).append(strand)
    found = sorted(places.values(), key=len, reverse=True)
    rule = "sim/timeout" if late else "sim/max-steps"
    first = Finding(
        rule,
        Severity.ERROR,
        f"the kernel did not end in {allowed}",
        _instruction(found[0][0]).place if found else Place(),
        op=_instruction(found[0][0]).mi.opcode if found else "",
        got=f"{machine.steps} steps, {len(engine.in_flight)} asynchronous operations under way",
        expected="an end",
        hint="look for a loop that does not end; timeout=… (--timeout) and max_steps=… "
        "(--max-steps) allow more",
    )
    notes = [_standing(rule, group) for group in found[:_SHOWN]]
    if len(found) > _SHOWN:
        text = f"threads are at {len(found) - _SHOWN} more places"
        notes.append(Finding(rule, Severity.NOTE, text))
    return LimitError([first, *notes])


def _standing(rule: str, group: list[Strand]) -> Finding:
    """The finding for groups of threads at one position."""
    names = [_who(strand) for strand in group[:_NAMED]]
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
"""The most groups of threads at one position that a finding names."""

_HINTS = {
    "bytes that were": "expect the bytes of the copies that name the mbarrier, and no more",
    "came unexpected": "expect the bytes of every copy that names the mbarrier: a box counts "
    "whole, a multicast in each CTA",
    "more arrival": "mbarrier.init counts the arrivals that a phase gets: one for each thread or "
    "operation that arrives",
}
"""What to look at, by what an mbarrier lacks."""


def _name(cta: Cta) -> str:
    if len(cta.cluster.ctas) == 1:
        return f"CTA {cta.number}"
    return f"CTA {cta.number} (rank {cta.rank} of cluster {cta.cluster.number})"


def _who(strand: Strand) -> str:
    warp = strand.warp
    return f"{_name(warp.cta)}, warp {warp.number}, {lanes_in_words(strand.mask)}"


def _instruction(strand: Strand) -> Instruction:
    """The next instruction of a strand, or its end; empty blocks are skipped."""
    blocks = strand.frame.code.blocks
    for block in blocks[strand.block :]:
        if block.instructions:
            return block.instructions[min(strand.at, len(block.instructions) - 1)]
    return next(block.instructions[-1] for block in reversed(blocks) if block.instructions)


_MEMBERS_COME = (
    "all threads of its mask execute it: move it out of the branch, or name those that come there"
)


def _finding(strand: Strand) -> Finding:
    instruction, polled = _instruction(strand), strand.polled
    missing = polled.barrier.missing() if polled else ""
    missed = polled.barrier.missed(strand.warp.number, polled.awaits & 1) if polled else ""
    hint = next((hint for lacks, hint in _HINTS.items() if lacks in missing), "")
    if strand.waiting.startswith("threads of the mask"):
        hint = _MEMBERS_COME
    return Finding(
        "sim/deadlock",
        Severity.ERROR,
        f"deadlock: {_who(strand)} wait for {strand.waiting or 'a change that never comes'}",
        polled.place if polled else instruction.place,
        op=polled.op if polled else instruction.mi.opcode,
        got=f"{polled.barrier.name} {polled.barrier.describe()}" if polled else "",
        expected=missing or "a thread that comes too",
        hint=f"{missed}: {_EACH_ARRIVES}" if missed else hint,
    )
