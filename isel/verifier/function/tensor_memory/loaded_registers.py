"""Rule about registers that a tcgen05.ld may still write: nothing else writes them meanwhile.

Layer: isel.verifier.function.  A record that reads such a register has what was loaded; one that
writes it needs tcgen05.wait::ld first.  Behind a branch it is a review: whether a thread takes the
path is not followed.  PTX ISA, tcgen05: Register dependencies, same thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from intrinsics.findings import Severity
from intrinsics.mir import Reg
from intrinsics.modifiers import WaitOp
from isel.verifier.function.flow.graph import Graph, Node
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

OVERWRITTEN = VerifierRule(
    "{op}/register-overwritten",
    "a register is written again while the load may still write it",
    "tcgen05, Register dependencies, same thread",
    expected="tcgen05.wait::ld before the second",
)
RULES = (OVERWRITTEN,)

_LOAD = "tcgen05.ld"

_Pending: TypeAlias = Mapping[Reg, frozenset[int]]
"""The loads that may still write each register."""


def check(report: Report) -> None:
    """Report loads whose registers are written before they are read or waited for."""
    graph = report.analysis.graph
    loads = {i for i, mi in enumerate(graph.records) if mi.row.id.startswith(_LOAD)}
    if all(reg in graph.single for index in loads for reg in graph.defs[index]):
        return
    before: list[dict[Reg, frozenset[int]]] = [{} for _ in graph.nodes]
    work, found = [*graph.order], dict[int, int]()
    while work:
        number = work.pop(0)
        behind = _behind(graph, graph.nodes[number], before[number], loads, found)
        for target in graph.after[number]:
            known = before[target]
            joined = {r: known.get(r, frozenset()) | old for r, old in behind.items()}
            if joined.items() - known.items():
                known.update(joined)
                work.append(target)
    for load, index in found.items():
        straight = load < index and graph.node_of(load) == graph.node_of(index)
        report.add(
            OVERWRITTEN,
            load,
            got=f"{report.line(index)} writes it",
            severity=None if straight else Severity.REVIEW,
        )


def _behind(
    graph: Graph, node: Node, before: _Pending, loads: set[int], found: dict[int, int]
) -> _Pending:
    """The loads under way behind a node; `found` gets those whose registers it overwrites."""
    pending = dict(before)
    for index, mi in enumerate(node.records, node.first):
        if mi.form.attributes.get("op") is WaitOp.LD:
            pending.clear()
        for reg in graph.uses[index]:
            pending.pop(reg, None)
        for reg in graph.defs[index]:
            for load in pending.pop(reg, ()):
                found.setdefault(load, index)
            if index in loads and reg not in graph.single:
                pending[reg] = frozenset((index,))
    return pending
