"""Divergence in a warpgroup: its warps do not, or may not, execute its instructions alike.

Layer: isel.verifier.ordering.  Input: a kernel and the logs of its runs.  Output: an error for a
warpgroup instruction that the warps executed a different number of times in every run that came to
it; a review where that was so in some runs, whose arguments are made up, or where the condition
before it is one that warps may evaluate differently: a vote, a shuffle, an atomic operation, data
of each thread.  PTX ISA, wgmma.fence; wgmma.commit_group; wgmma.wait_group: "should only be used if
it is known that all threads in the warpgroup evaluate the condition identically".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from intrinsics.findings import Severity, errors
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import WARPGROUP_WARPS
from intrinsics.mir import MachineInstr, Reg, guard_register
from intrinsics.modifiers import SHARED_OF_CTA
from intrinsics.row import IssueScope
from isel.uniformity import Divergence, divergence
from isel.verifier.function.flow.warp_flow import WarpFlow
from isel.verifier.function.participants.warpgroups import IN_PIECES, WARPGROUP, change
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Analysis
from isel.verifier.ordering.run.log import Log
from isel.verifier.ordering.run.strand import place_of, warpgroup_of

_NAME = WARPGROUP.id.removeprefix("{op}")
_HINT = "a condition of the whole warpgroup: bar.red, or a flag in shared memory behind a barrier"


def check(report: Report, logs: list[Log]) -> None:
    """Report what the warps of a warpgroup do not execute alike."""
    reported = [f for (rule, _), f in report.findings.items() if rule.endswith(_NAME)]
    if report.analysis.graph.has_opaque or errors(reported):
        return
    followed = [log for log in logs if not (log.guessed or log.unknown)]
    apart = [_apart(report, log) for log in followed]
    whole = [log for log in followed if not (log.truncated or log.stuck)]
    found = {one.index: one for one in apart if one is not None}
    always = {index for index in found if _is_always(index, apart, whole)}
    for index in always or found:
        severity = Severity.ERROR if always else Severity.REVIEW
        if found[index].is_alike:
            severity = Severity.WARNING
        hint = IN_PIECES if found[index].is_alike else ""
        report.add(WARPGROUP, index, got=found[index].said, severity=severity, hint=hint)
    if not any(apart):
        _check_conditions(report, trusted=len(followed) == len(logs))


def _is_always(index: int, apart: list[_Apart | None], whole: list[Log]) -> bool:
    """Whether the warps differed at a record in every complete run that came to it."""
    runs = sum(any(index in done for done in log.warpgroup_instructions.values()) for log in whole)
    return 0 < runs <= sum(one is not None and one.index == index for one in apart)


# ---- what was executed -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Apart:
    """A record that the warps of a warpgroup executed a different number of times, in words.

    `is_alike` says that the other warps executed different records that do the same.
    """

    index: int
    said: str
    is_alike: bool


def _apart(report: Report, log: Log) -> _Apart | None:
    """The first record that the warps of a warpgroup executed differently."""
    groups: dict[int, list[int]] = {}
    for actor in sorted(log.warpgroup_instructions):
        groups.setdefault(warpgroup_of(actor), []).append(actor)
    for actors in groups.values():
        if len(actors) == WARPGROUP_WARPS and (found := _apart_in(report, log, actors)) is not None:
            return found
    return None


def _apart_in(report: Report, log: Log, actors: list[int]) -> _Apart | None:
    done = [log.warpgroup_instructions[actor] for actor in actors]
    least = min(map(len, done))
    same = next((i for i in range(least) if len({one[i] for one in done}) > 1), least)
    if same == least and (log.truncated or log.stuck):
        return None  # some warps were cut short before
    counts = [Counter(one) for one in done]
    for index in dict.fromkeys(one[same] for one in done if len(one) > same):
        times = [count[index] for count in counts]
        if len(set(times)) > 1:
            said = (f"{n} in warp {place_of(a)[1]}" for a, n in zip(actors, times, strict=True))
            far = least if log.truncated or log.stuck else None  # some warps were cut short there
            alike = {tuple(change(report.record(i)) or i for i in one[:far]) for one in done}
            return _Apart(index, f"executions: {', '.join(said)}", len(alike) == 1)
    return None


# ---- conditions that are not known ---------------------------------------------------------------


def _check_conditions(report: Report, *, trusted: bool) -> None:
    """Review conditions of warpgroup instructions that the warps may evaluate differently.

    With `trusted` runs, a table in shared memory that tells each warp its role is known to agree.
    """
    doubtful = list(_doubtful(report))
    if not doubtful:
        return
    analysis = report.analysis
    settled = _settled(analysis)
    if trusted:
        settled |= {reg for mi in analysis.graph.records for reg in _from_table(mi)}
    found = divergence(analysis.function, settled)
    blocks = [i for i, block in enumerate(analysis.function.blocks) for _ in block.instrs]
    reported: set[int] = set()
    for index in doubtful:
        source = _source(found, report.record(index), blocks[index])
        if source is None or id(source) in reported:
            continue
        reported.add(id(source))
        place = next(i for i, mi in enumerate(analysis.graph.records) if mi is source)
        report.add(
            WARPGROUP,
            index,
            severity=Severity.REVIEW,
            got=f"a condition that each warp may decide differently, from {report.line(place)}",
            hint=_HINT,
        )


def _doubtful(report: Report) -> Iterator[int]:
    """Warpgroup records of which it is not known which warps execute them."""
    for index, found in sorted(report.analysis.sites.items()):
        row = found[0][1].mi.row
        perhaps = any(event.threads.perhaps for _, event in found)
        reported = (f"{row.head}/aligned", index) in report.findings
        if row.effects.scope is IssueScope.WARPGROUP and perhaps and not reported:
            yield index


def _source(found: Divergence, mi: MachineInstr, block: int) -> MachineInstr | None:
    """The record whose result decides differently in each warp whether a record runs.

    None for none.
    """
    for one in (mi, found.blocks.get(block)):
        if one is not None and (source := found.registers.get(_guard(one))) is not None:
            return source
    return None


def _guard(mi: MachineInstr) -> Reg:
    return -1 if mi.guard is None else guard_register(mi.guard)


def _from_table(mi: MachineInstr) -> Iterator[Reg]:
    if mi.row.id == "ld" and mi.form.attributes.get("space") in SHARED_OF_CTA:
        yield from mi.defs()


def _settled(analysis: Analysis) -> set[Reg]:
    """Registers that hold one known number in all threads of each warpgroup that writes them."""
    groups: dict[int, list[WarpFlow]] = {}
    for walker in analysis.walkers:
        groups.setdefault(walker.flow.warp.number // WARPGROUP_WARPS, []).append(walker.flow)
    written: set[Reg] = set().union(*(walker.flow.values for walker in analysis.walkers))
    return {reg for reg in written if all(_is_one(reg, flows) for flows in groups.values())}


def _is_one(reg: Reg, flows: list[WarpFlow]) -> bool:
    """Whether a register holds one known number in these warps, or none in any of them."""
    numbers = {flow.values[reg].number for flow in flows if reg in flow.values}
    return not numbers or (len(numbers) == 1 and isinstance(numbers.pop(), int))
