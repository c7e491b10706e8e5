"""The boxes of tensor maps, and the bytes that tensor copies out of shared memory read: a box of
their map.

Layer: isel.verifier.function.  The boxes of tensor maps are the host's; they are known where a
launch or the user gives them, each by the parameter that holds the map or a pointer to it, with the
map's offset there: `maps+64`.  Not judged are im2col copies, whose maps only a launch knows.  PTX
ISA, cp.async.bulk.tensor; cp.reduce.async.bulk.tensor; Tensor Modes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import StoreMode
from intrinsics.row import Attribute
from isel.verifier.function.flow.evaluate import Evaluator
from isel.verifier.function.flow.values import Parameter, Symbol, Value, where
from isel.verifier.function.report import Report

TENSOR_LOADS = ("cp.async.bulk.tensor.load", "cp.async.bulk.tensor.load.im2col")
_STORES = ("cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor")
_BOXES: Mapping[Attribute, int] = {None: 1, StoreMode.TILE: 1, StoreMode.SCATTER4: 4}
"""How many boxes of its tensor map a copy reads; with scatter4, a box is one row."""


def map_of(tensor: Value) -> str:
    """The parameter, with an offset in it, where a tensor map is; "" where it is elsewhere."""
    place = where(tensor)
    if place is None or place.offset is None or not isinstance(place.base, (Symbol, Parameter)):
        return ""
    return str(place)


def unknown_maps(report: Report) -> dict[str, set[int]]:
    """The copies to shared memory whose boxes are not known, by the name of the tensor map."""
    graph = report.analysis.graph
    copies = {index for index, mi in enumerate(graph.records) if mi.row.id in TENSOR_LOADS}
    nodes = {graph.node_of(index) for index in copies}
    found: dict[str, set[int]] = defaultdict(set)
    for role in report.analysis.roles:
        for node in nodes.intersection(role.walker.flow.reached()):
            for index, mi, evaluator in role.walker.flow.visit(node, copies):
                name = map_of(evaluator.slot(mi, "tmap"))
                if name not in report.boxes:
                    found[name].add(index)
    return found


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
    box = boxes.get(map_of(tensor))
    return times * box if times and box else None
