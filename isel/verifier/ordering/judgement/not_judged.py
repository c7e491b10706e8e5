"""Notes about records that no run judged: the verdict is then "incomplete".

Layer: isel.verifier.ordering.  Input: the logs of a kernel's runs.  Output: notes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from intrinsics.findings import Finding, Severity
from intrinsics.mir import MachineInstr, Reg, Special, guard_register
from isel.verifier.function.boxes import unknown_maps
from isel.verifier.function.flow.evaluate import WAITS
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.report import Report
from isel.verifier.locations import place_of
from isel.verifier.ordering.judgement.sizes import are_confirmed
from isel.verifier.ordering.program import Program
from isel.verifier.ordering.run.log import Log
from isel.verifier.ordering.run.machine import shared_variables


def check(report: Report, program: Program, logs: list[Log]) -> None:
    """Note what no run came to, and loops over buffers in which none comes to a buffer again.

    Where a run has a deadlock, that is the finding.
    """
    if not are_confirmed(logs, shared_variables(report.module, report.analysis.function)):
        _boxes(report)
    if all(log.truncated for log in logs if log.number):
        _behind_the_budget(report, program.events, logs)
    elif not any(log.stuck for log in logs):
        _unreached(report, program, logs)
        _single_turns(report, program, logs)


def _boxes(report: Report) -> None:
    """Note tensor copies whose bytes are not known, and how the user can give them."""
    maps = unknown_maps(report)
    if maps:
        copies = set[int]().union(*maps.values())
        named = [f"--box {name}=BYTES" for name in sorted(maps) if name]
        _note(
            report,
            "verify/boxes",
            min(copies),
            "the boxes of tensor maps are not known: whether phases expect the bytes that come was "
            "not checked",
            f"{len(copies)} tensor copies",
            " ".join(named[:_MOST_NAMED]) + " …" * (len(named) > _MOST_NAMED),
        )


_MOST_NAMED = 4
"""The most tensor maps that a note names."""


def _behind_the_budget(report: Report, events: set[int], logs: list[Log]) -> None:
    """Note records that no run reached before its budget ended."""
    missing = events.difference(*(log.threads for log in logs))
    if missing:
        _note(
            report,
            "verify/budget",
            min(missing),
            "the kernel was executed for so long, and has not come here: what is missing in what "
            "follows was not looked for",
            f"{len(missing)} of {len(events)} records that access memory or synchronise",
        )


def _unreached(report: Report, program: Program, logs: list[Log]) -> None:
    """Note asynchronous operations that some warp can reach, and none did in any run, but for
    those that the numbers of threads alone keep from being executed.
    """
    graph = program.graph
    done = set[int]().union(*(log.threads for log in logs))
    came = {graph.node_of(index) for index in done}
    there = program.reachable_events()
    found = {index for index in there if graph.records[index].row.effects.is_asynchronous}
    missing = {
        index
        for index in found - done
        if graph.node_of(index) not in came or _has_made_up_guard(graph, index)
    }
    if missing:
        _note(
            report,
            "verify/unreached",
            min(missing),
            "made-up arguments and contents of memory never lead here: what is missing around it "
            "was not looked for",
            f"{len(missing)} of {len(found)} asynchronous operations",
        )


def _single_turns(report: Report, program: Program, logs: list[Log]) -> None:
    """Note waits in loops whose turns arguments or memory count, if no run came to one of their
    mbarriers a second time.
    """
    first: dict[tuple[int, int, int], int] = {}
    again: set[tuple[int, int]] = set()
    waits: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for run, log in enumerate(logs):
        for actor, found in log.waits.items():
            for wait in found:
                if wait.mbarrier is not None:
                    here = actor, wait.mbarrier.at
                    waits[wait.record].add(here)
                    if first.setdefault((run, *here), wait.phase) != wait.phase:
                        again.add(here)
    once = {index for index, there in waits.items() if again.isdisjoint(there)}
    loops = _counted_loops(program)
    graph = program.graph
    flat = {index for index in once if program.loops[graph.node_of(index)] in loops}
    if flat:
        _note(
            report,
            "verify/turns",
            min(flat),
            "no run comes to an mbarrier of this wait again: what the next turn of a ring does to "
            "its buffers was not looked for",
            f"{len(flat)} of {len(waits)} waits",
        )


def _counted_loops(program: Program) -> set[int]:
    """The loops, by their component, that do more than wait, and whose turns are not constant."""
    graph, loops = program.graph, program.loops
    busy = {
        loops[node]
        for node, steps in enumerate(program.steps)
        if any(step.is_event and step.mi.row.id not in WAITS for step in steps)
    }
    found: set[int] = set()
    for node, end in enumerate(program.exits):
        inside = [loops[target] == loops[node] for target in (end.taken, end.next)]
        if end.branch is None or loops[node] not in busy or all(inside) or not any(inside):
            continue
        assert end.branch.guard is not None
        if _is_made_up(graph, guard_register(end.branch.guard)):
            found.add(loops[node])
    return found


def _has_made_up_guard(graph: Graph, index: int) -> bool:
    guard = graph.records[index].guard
    return guard is not None and _is_made_up(graph, guard_register(guard))


def _is_made_up(graph: Graph, condition: Reg) -> bool:
    """Whether a condition follows from arguments, memory, or the number of the CTA."""
    return any(
        mi.row.id.startswith(_LOADS) or any(map(_is_of_grid, _specials(mi)))
        for reg in graph.behind([condition])
        for mi in graph.writing(reg)
    )


_LOADS = ("ld", "atom", "clusterlaunchcontrol")


def _specials(mi: MachineInstr) -> Iterator[Special]:
    return (op for op in mi.ops if isinstance(op, Special))


def _is_of_grid(special: Special) -> bool:
    return special.name.startswith(("ctaid", "nctaid", "clusterid", "nclusterid"))


def stopped(report: Report, records: set[int]) -> None:
    """Note records with so many races that the rest were not compared."""
    if records:
        _note(
            report,
            "verify/races",
            min(records),
            "so many accesses race that those behind this one were not compared",
            "a run in which nearly everything races",
        )


def _note(
    report: Report, rule: str, index: int, message: str, got: str, expected: str = ""
) -> None:
    mi = report.record(index)
    place = place_of(report.module.locations[mi.loc], report.analysis.function.name)
    report.findings[rule, index] = Finding(
        rule,
        Severity.NOTE,
        message,
        place,
        op=mi.row.head,
        got=got,
        expected=expected,
        incomplete=True,
    )
