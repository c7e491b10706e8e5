"""Rules about accumulators that were never initialised.

Layer: isel.verifier.function.  Input: a function's control-flow graph.  A multiply adds to its
accumulators; where none of the ways to its first execution writes one, what it adds to is
undefined.  PTX ISA, mma; wgmma.mma_async.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.findings import Severity
from intrinsics.mir import Imm, MachineInstr, Reg, registers_of
from intrinsics.rows.wgmma import MULTIPLIES
from isel.control_flow import reach
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

UNWRITTEN = VerifierRule(
    "{op}/unwritten",
    "a multiply adds to registers that nothing has written",
    severity=Severity.WARNING,
    expected="accumulators that are set to 0, or loaded, before the first multiply",
    misses=False,
)
RULES = (UNWRITTEN,)

_WARPGROUP = frozenset(row.id for row in MULTIPLIES)


def check(report: Report) -> None:
    """Report the multiplies that break the rule of this module."""
    graph = report.analysis.graph
    if graph.has_opaque:
        return
    before: dict[int, set[int]] = {}  # a node with multiplies -> the nodes on the ways to it
    for index, mi in enumerate(graph.records):
        sums = [*_sums(mi)]
        if not sums:
            continue
        here = graph.node_of(index)
        if here not in before:
            before[here] = reach(graph.after, [0], {here})
        missing = [reg for reg in sums if not _is_written(graph, reg, index, here, before[here])]
        if missing:
            report.add(UNWRITTEN, index, got=f"{len(missing)} of {len(sums)} in each thread")


def _sums(mi: MachineInstr) -> Iterator[Reg]:
    """The registers that a multiply adds to."""
    if mi.row.head.startswith("mma") and mi.get("c") is not None:
        yield from registers_of(mi["c"])
    elif mi.row.id in _WARPGROUP:
        adds = mi.get("scale_d")
        if isinstance(adds, Imm) and adds.value:
            yield from registers_of(mi["d"])


def _is_written(graph: Graph, reg: Reg, index: int, here: int, before: set[int]) -> bool:
    """Whether a record that may come before the first execution of record `index` writes it."""
    return any(
        writer < index if (node := graph.node_of(writer)) == here else node in before
        for writer in graph.writers.get(reg, ())
    )
