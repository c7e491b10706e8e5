"""Expect-tx accounting: a phase of an mbarrier expects the bytes that its copies complete.

Layer: isel.verifier.function.  Expected and completed bytes are summed over records that are
executed equally often: on a straight path, or each once in every iteration of one loop.  The bytes
of a tensor copy are those of a box of its tensor map, which the host knows; where boxes are not
given, they are some, beside those of copies of known size. Not judged are mbarriers at unknown
addresses, conditional copies, and multicasts in clusters of more than four CTAs. PTX ISA, mbarrier:
Tracking asynchronous operations; cp.async.bulk, cp.async.bulk.tensor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import BULK_COPY_ALIGNMENT
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import LoadMode
from intrinsics.row import Attribute, Completion
from isel.verifier.function.barriers.clusters import cluster_size, is_of_pair
from isel.verifier.function.boxes import TENSOR_LOADS, map_of
from isel.verifier.function.flow.evaluate import Evaluator
from isel.verifier.function.flow.threads import Threads, threads_of
from isel.verifier.function.flow.values import MemoryLocation, Symbol, where
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Analysis, Role
from isel.verifier.function.walks.execution_counts import ExecutionCounts, successors_of
from isel.verifier.rule import VerifierRule

BYTES = VerifierRule(
    "mbarrier/bytes",
    "a phase expects other bytes than its copies bring",
    "mbarrier, Tracking asynchronous operations",
    hint="expect the size of every box, whatever of it lies outside of the tensor; a multicast "
    "brings all of its box to each CTA of its mask",
)
RULES = (BYTES,)

_MOST_RANKS = 4
_EXPECTS = (
    "mbarrier.arrive.expect_tx",
    "mbarrier.arrive_drop.expect_tx",
    "mbarrier.expect_tx",
)

_BULK = ("cp.async.bulk.load", "cp.async.bulk.load.ignore_oob")
_BOXES: Mapping[Attribute, int] = {None: 1, LoadMode.TILE: 1, LoadMode.GATHER4: 4}
"""How many boxes of its tensor map a copy transfers; with gather4, a box is one row."""


@dataclass(frozen=True, slots=True)
class _Item:
    """A record that expects bytes on an mbarrier of its CTA, or completes some in the CTAs
    `ranks`: `size` at least, and no other number where it is `exact`.
    """

    index: int
    place: MemoryLocation
    expects: bool
    size: int
    ranks: tuple[int, ...]
    exact: bool = True


@dataclass(slots=True)
class _Unit:
    """Items that are executed equally often.

    `certain`: once, or once in each iteration of `loop`.
    """

    rank: int
    loop: int
    certain: bool
    items: list[_Item] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether it both expects and completes bytes."""
        return len({item.expects for item in self.items}) == 2


def check(report: Report) -> None:
    """Report mbarriers whose expected bytes are not those of their copies."""
    analysis = report.analysis
    records = analysis.graph.records
    if not analysis.block or not any(mi.row.id in _EXPECTS for mi in records):
        return
    if any(mi.row.id == "mbarrier.complete_tx" for mi in records):
        return
    if not report.boxes and all(mi.row.id not in _BULK for mi in records):
        return  # the sizes of all copies are unknown
    ranks = _ranks(report)
    units: dict[str, list[_Unit]] = defaultdict(list)
    for rank, seen in enumerate(ranks):
        for role in seen.roles:
            found = _items(report, role, rank, len(ranks))
            if found is None:
                return
            for name, unit in _units(role, rank, found):
                units[name].append(unit)
    for of_variable in units.values():
        _judge(report, of_variable, len(ranks))


def _ranks(report: Report) -> list[Analysis]:
    """The analysis of each CTA of the cluster whose accounts differ."""
    analysis = report.analysis
    together = any(
        mi.get("cta_mask") is not None or is_of_pair(mi) for mi in analysis.graph.records
    )
    size = cluster_size(analysis.function, report.cluster)
    if not together or size == 1:
        return [analysis]
    if size is None or size > _MOST_RANKS:
        return []
    return [analysis.of_rank(n) for n in range(size)]


# ---- what expects bytes, and what brings them ------------------------------------------------


def _items(
    report: Report, role: Role, rank: int, size: int
) -> list[tuple[int, Threads, _Item]] | None:
    """The items of a role with their nodes and threads; None where one of them is not known."""
    flow = role.walker.flow
    there = {
        flow.graph.node_of(index) for index, mi in enumerate(flow.graph.records)
        if _is_counted(mi)
    }  # fmt: skip
    threads = threads_of(flow)
    found = []
    for node in flow.reached():
        for index, mi, evaluator in flow.visit(node) if node in there else ():
            if not _is_counted(mi):
                continue
            item = _item(report, index, mi, evaluator, rank, size)
            count = threads[node].count
            if item is None or count is None or threads[node].perhaps or mi.guard is not None:
                return None
            times = count * len(role.warps)
            found.append((node, threads[node], replace(item, size=item.size * times)))
    return found


def _is_counted(mi: MachineInstr) -> bool:
    return mi.row.id in _EXPECTS or _is_copy(mi)


def _is_copy(mi: MachineInstr) -> bool:
    return mi.row.effects.completion is Completion.TRANSACTION and mi.get("mbar") is not None


def _item(
    report: Report, index: int, mi: MachineInstr, evaluator: Evaluator, rank: int, size: int
) -> _Item | None:
    place = where(evaluator.slot(mi, "mbar"))
    if place is None or not isinstance(place.base, Symbol):
        return None
    if mi.row.id in _EXPECTS:
        number = evaluator.slot(mi, "tx_count").number
        if not isinstance(number, int) or mi.get("cta_mask") is not None:
            return None
        return _Item(index, place, True, number, (rank,))
    brought = _brought(report.boxes, mi, evaluator)
    ranks = _destinations(mi, evaluator, rank, size)
    return _Item(index, place, False, brought[0], ranks, brought[1]) if brought and ranks else None


def _brought(
    boxes: Mapping[str, int], mi: MachineInstr, evaluator: Evaluator
) -> tuple[int, bool] | None:
    """The bytes of a copy, and whether it has exactly as many, not at least."""
    if mi.row.id in _BULK:
        number = evaluator.slot(mi, "size").number
        return (number, True) if isinstance(number, int) else None
    if mi.row.id not in TENSOR_LOADS:
        return None
    times = _BOXES.get(mi.form.attributes.get("mode"))
    box = boxes.get(map_of(evaluator.slot(mi, "tmap")))
    return (times * box, True) if times and box else (BULK_COPY_ALIGNMENT, False)


def _destinations(mi: MachineInstr, evaluator: Evaluator, rank: int, size: int) -> tuple[int, ...]:
    """The CTAs whose mbarriers a copy completes on; for a pair it is the even one."""
    if is_of_pair(mi) and mi.get("cta_mask") is None:
        return (rank & ~1,)
    if mi.get("cta_mask") is None:
        return (rank,)
    mask = evaluator.slot(mi, "cta_mask").number
    if not isinstance(mask, int) or is_of_pair(mi):
        return ()
    return tuple(n for n in range(size) if mask >> n & 1)


# ---- records that are executed equally often -------------------------------------------------


def _units(
    role: Role, rank: int, items: Sequence[tuple[int, Threads, _Item]]
) -> Iterator[tuple[str, _Unit]]:
    """The units of a role, each with the variable of its mbarriers."""
    flow = role.walker.flow
    for lanes in {threads.lanes for _, threads, _ in items}:
        own = [(node, item) for node, threads, item in items if threads.lanes == lanes]
        graph = ExecutionCounts(successors_of(flow, lanes))
        units: dict[tuple[str, int], _Unit] = {}
        for node, item in own:
            assert isinstance(item.place.base, Symbol)
            name = item.place.base.name
            first = next(n for n, _ in own if graph.are_equal(n, node))
            unit = units.get((name, first))
            if unit is None:
                unit = units[name, first] = _Unit(rank, graph.loop(node), graph.is_certain(node))
            unit.items.append(item)
        yield from ((name, unit) for (name, _), unit in units.items())


# ---- the account -----------------------------------------------------------------------------


def _judge(report: Report, units: list[_Unit], size: int) -> None:
    """Compare expected and completed bytes of the mbarriers of a variable."""
    if size == 1 and all(unit.is_whole for unit in units):
        for unit in units:
            _compare(report, unit.items)
        return
    if len({unit.loop for unit in units}) != 1 or not all(unit.certain for unit in units):
        return
    items = [item for unit in units for item in unit.items]
    if len({item.expects for item in items}) == 2:
        for rank in range(size):
            in_cta = f" in CTA {rank} of the cluster" if size > 1 else ""
            _compare(report, [item for item in items if rank in item.ranks], in_cta)


def _compare(report: Report, items: list[_Item], in_cta: str = "") -> None:
    """Compare the accounts of one CTA: of each mbarrier, where the offsets of all are known."""
    places = {item.place for item in items}
    if any(place.offset is None for place in places):
        _account(report, items, in_cta)
        return
    for place in places:
        _account(report, [item for item in items if item.place == place], in_cta)


def _account(report: Report, items: list[_Item], in_cta: str) -> None:
    """Report a difference; in a single CTA, one-sided accounts have rules of their own."""
    expects = [item for item in items if item.expects]
    copies = [item for item in items if not item.expects]
    expected, brought = sum(i.size for i in expects), sum(i.size for i in copies)
    exact, more = all(item.exact for item in copies), expected - brought
    is_right = more == 0 if exact else more >= 0 and more % BULK_COPY_ALIGNMENT == 0
    if is_right or (not in_cta and not (expects and copies)):
        return
    at_least = "" if exact else "at least "
    lines = dict.fromkeys(f"{item.size} by {report.line(item.index)}" for item in copies)
    come = f"{at_least}{brought} come: " + ", ".join(lines) if lines else "none come"
    blamed = (expects or copies)[0]
    report.add(
        BYTES,
        blamed.index,
        got=f"{blamed.place}{in_cta} expects {expected} bytes; {come}",
        expected=f"{at_least}{brought} bytes",
    )
