"""The bytes of shared memory that tensor copies out of it read: those of a box of their map.

Layer: isel.verifier.function.  The boxes of tensor maps are the host's; they are known where a
launch gives them.  Not judged are im2col copies, whose maps only a launch knows.  PTX ISA,
cp.async.bulk.tensor; cp.reduce.async.bulk.tensor; Tensor Modes.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import StoreMode
from intrinsics.row import Attribute
from isel.verifier.function.flow.evaluate import Evaluator
from isel.verifier.function.flow.values import Symbol
from isel.verifier.function.report import Report

_STORES = ("cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor")
_BOXES: Mapping[Attribute, int] = {None: 1, StoreMode.TILE: 1, StoreMode.SCATTER4: 4}
"""How many boxes of its tensor map a copy reads; with scatter4, a box is one row."""


def bytes_of_stores(report: Report) -> dict[int, int]:
    """The bytes that each tensor store reads, by its record, where they are known."""
    graph = report.analysis.graph
    found: dict[int, int] = {}
    there = {
        graph.node_of(index) for index, mi in enumerate(graph.records)
        if report.boxes and mi.row.id in _STORES
    }  # fmt: skip
    for role in report.analysis.roles if there else ():
        flow = role.walker.flow
        for node in there.intersection(flow.reached()):
            for index, mi, evaluator in flow.visit(node):
                size = _size(report.boxes, mi, evaluator) if mi.row.id in _STORES else None
                if size is not None:
                    found[index] = min(size, found.get(index, size))
    return found


def _size(boxes: Mapping[str, int], mi: MachineInstr, evaluator: Evaluator) -> int | None:
    times, tensor = _BOXES.get(mi.form.attributes.get("mode")), evaluator.slot(mi, "tmap")
    if times is None or tensor.offset != 0 or not isinstance(tensor.base, Symbol):
        return None
    box = boxes.get(tensor.base.name)
    return box and times * box
