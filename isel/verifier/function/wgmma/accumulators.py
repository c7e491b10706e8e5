"""Rules about the registers of wgmma: when a thread may access accumulators and A.

Layer: isel.verifier.function.  A wgmma.mma_async is in flight after it has been issued.
wgmma.fence orders other accesses of its registers before it; until wgmma.wait_group completes its
group, only multiplies of the same shape with the same accumulator may access them. PTX ISA,
wgmma.fence, wgmma.mma_async, wgmma.commit_group, wgmma.wait_group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import TypeAlias

from intrinsics.findings import Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr, Reg, registers_of
from intrinsics.modifiers.wgmma import WgmmaShape
from intrinsics.row import Attribute, Completion
from isel.verifier.function.events import Event, Kind, guarded
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.flow.threads import Threads
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.flow.warp_flow import WarpFlow
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.walks.paths import Walker
from isel.verifier.function.walks.tracking import Tracked
from isel.verifier.function.wgmma.in_flight import FENCE, ORDERING, InFlight, most_left
from isel.verifier.rule import VerifierRule

UNFENCED = VerifierRule(
    "{op}/fence",
    "the registers of a multiply are not ordered with what came before",
    "wgmma.fence",
    expected="wgmma.fence behind the last other access of its registers, before the multiply",
    hint="wgmma.fence before the first multiply, and again when others than multiplies accessed "
    "accumulators or registers of A",
)
TOUCHED = VerifierRule(
    "wgmma.mma_async/in-flight",
    "a register of a multiply is accessed while the multiply may still run",
    "wgmma.wait_group",
    expected="wgmma.commit_group behind the multiply, and a wgmma.wait_group that leaves fewer "
    "groups than were committed since",
    ptxas="accepts, and may add a wait (C7517) or let multiplies wait for each other (C7514)",
)
TOUCHED_A = VerifierRule(
    "wgmma.mma_async/a-in-flight",
    "a register of A is accessed while the multiply may still run",
    "wgmma.wait_group",
    expected="a wgmma.wait_group that waits for the multiply before its A changes",
    hint="or two sets of registers for A, in turn, with one group in flight",
    ptxas="accepts; gives A of the next turn other registers where it unrolls the loop, the same "
    "ones where it does not",
)
MIXED = VerifierRule(
    "{op}/mixed",
    "multiplies of different shapes are in flight on the same accumulator registers",
    "wgmma.fence",
    expected="the same shape, type and registers; or wgmma.wait_group and wgmma.fence in between",
)
UNCOMMITTED = VerifierRule(
    "{op}/no-commit",
    "a multiply is in no group when the kernel ends",
    "wgmma.commit_group",
    expected="wgmma.commit_group behind the multiply",
)
RULES = (UNFENCED, TOUCHED, TOUCHED_A, MIXED, UNCOMMITTED)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    multiplies = {
        index: _Multiply.of(index, mi)
        for index, mi in enumerate(report.analysis.graph.records)
        if mi.row.effects.completion is Completion.WGMMA_GROUP
    }
    if not multiplies:
        return
    cells = _Cells.of(multiplies.values())
    records = cells.records(report.analysis.graph)
    kept = most_left(report.analysis.graph)
    tracked: dict[object, Tracked] = {}
    for role in report.analysis.roles:
        if any(e.kind is Kind.WARPGROUP_MULTIPLY for e in role.events()):
            _Thread(report, role, cells, records, kept, tracked).check()


# ---- registers -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Multiply:
    """The registers of one multiply, with the shape and type of its accumulator."""

    index: int
    d: frozenset[Reg]
    a: frozenset[Reg]
    shape: Attribute
    dtype: Attribute

    @classmethod
    def of(cls, index: int, mi: MachineInstr) -> _Multiply:
        """The multiply of a record; A is in registers where its operand is a vector."""
        a = frozenset[Reg]() if type(mi["a"]) is int else frozenset(registers_of(mi["a"]))
        d = frozenset(registers_of(mi["d"]))
        return cls(index, d, a, mi.form.attributes.get("shape"), mi.form.attributes.get("dtype"))

    def differs(self, other: _Multiply) -> str:
        """Why two multiplies in flight may not share an accumulator; "" if they may."""
        if self.d != other.d:
            return "other registers beside those that both have"
        if self.dtype is not other.dtype:
            return "another type"
        return "another shape" if self.shape is not other.shape else ""

    def has_other_depth(self, other: _Multiply) -> bool:
        """Whether two multiplies differ in K only, and so have the same accumulator layout.

        The manual asks for the same shape, although each register holds the same element.
        """
        shapes = self.shape, other.shape
        same = self.d == other.d and self.dtype is other.dtype
        return same and len({s.n for s in shapes if isinstance(s, WgmmaShape)}) == 1


@dataclass(slots=True)
class _Cells:
    """Equivalence classes of registers that belong to the same operands, by number."""

    multiplies: dict[int, _Multiply]
    number: dict[Reg, int] = field(default_factory=dict)

    @classmethod
    def of(cls, multiplies: Iterable[_Multiply]) -> _Cells:
        """The classes of the registers of all multiplies."""
        owners: dict[Reg, list[tuple[int, str]]] = {}
        found = cls({m.index: m for m in multiplies})
        for m in found.multiplies.values():
            for name, registers in (("d", m.d), ("a", m.a)):
                for reg in registers:
                    owners.setdefault(reg, []).append((m.index, name))
        numbers: dict[tuple[tuple[int, str], ...], int] = {}
        for reg, those in owners.items():
            found.number[reg] = numbers.setdefault(tuple(those), len(numbers))
        return found

    def records(self, graph: Graph) -> dict[int, frozenset[int]]:
        """The records of a function that decide, or touch some of these registers, with their
        classes.
        """
        found = {}
        for index, mi in enumerate(graph.records):
            cells = self.touched((*graph.defs[index], *graph.uses[index]))
            if cells or index in self.multiplies or mi.form.row.id in ORDERING:
                found[index] = cells
        return found

    def touched(self, registers: Iterable[Reg]) -> frozenset[int]:
        """The classes of some registers."""
        number = self.number
        return frozenset([number[reg] for reg in registers if reg in number])


# ---- one thread ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _State:
    """The multiplies in flight; before the first fence of a kernel no register is ordered."""

    running: InFlight[int] = field(default_factory=InFlight)
    fenced: bool = False


Touches: TypeAlias = frozenset[tuple[int, int]]
"""Classes of registers, each with a record that accessed it since the last fence."""


class _Thread:
    """The walk of a role's threads; its events are all records that access these registers.

    `records` has their classes of registers, `tracked` are the registers that walks of roles with
    equal flows track.
    """

    def __init__(
        self, report: Report, role: Role, cells: _Cells, records: dict[int, frozenset[int]],
        kept: int, tracked: dict[object, Tracked],
    ) -> None:  # fmt: skip
        self.report = report
        self.cells = cells
        self.records = records
        self.kept = kept
        self.early: dict[tuple[VerifierRule, int], tuple[int, str]] = {}
        self.seen: set[tuple[int, InFlight[int]]] = set()
        self.walker = Walker.of(role.walker.flow, self._events(role.walker.flow), tracked)

    def check(self) -> None:
        """Walk, check what is in flight at the exit, and report each multiply's first early access.

        Later accesses are early for the same reason.
        """
        walk = self.walker.walk(_State(), self._step)
        self.walker.gather(self._since_fence)
        for (rule, _), (index, got) in self.early.items():
            self.report.add(rule, index, got=got)
        for _, state in walk.at_exit():
            for index in state.running.issued:
                self.report.add(UNCOMMITTED, index, got="the kernel ends without a commit")

    def _events(self, flow: WarpFlow) -> dict[int, list[Event]]:
        """The records of each node that decide; of those that touch the same cells the first.

        What is in flight changes at multiplies and at what orders them: until then a record that
        touches what has certainly been touched is neither the first that comes too early for a
        multiply, nor the first behind a fence.
        """
        found: dict[int, list[Event]] = {}
        everyone = Threads((1 << LANES) - 1)
        for node in flow.reached():
            known: set[int] = set()
            for index, mi, evaluator in flow.visit(node, self.records):
                decides = index in self.cells.multiplies or mi.form.row.id in ORDERING
                cells = self.records[index]
                if not decides and cells <= known:
                    continue
                event = guarded(flow, node, Event(Kind.OTHER, index, mi, everyone), evaluator)
                if event is None:
                    continue
                found.setdefault(node, []).append(event)
                if decides:
                    known.clear()
                elif event.guard is None:
                    known |= cells
        return found

    def _step(self, state: _State, event: Event) -> _State:
        multiply = self.cells.multiplies.get(event.index)
        if multiply is not None:
            self._judge_multiply(state, multiply)
            return _State(state.running.issue(event.index), fenced=True)
        if event.mi.row.id == FENCE:
            return _State(state.running, fenced=True)
        if event.mi.row.id in ORDERING:
            return replace(state, running=state.running.after(event, self.kept))
        self._touch(state, event)
        return state

    def _touch(self, state: _State, event: Event) -> None:
        if (here := (event.index, state.running)) in self.seen:
            return
        self.seen.add(here)
        registers = {*event.mi.defs(), *event.mi.uses()}
        for index in state.running:
            multiply = self.cells.multiplies[index]
            if registers & multiply.d:
                self._touched(state, event.index, index, "a register of")
            elif registers & multiply.a:
                self._touched(state, event.index, index, "a register of A of", TOUCHED_A)

    def _since_fence(self, touches: Touches, event: Event) -> Touches:
        """What may have accessed each class since the last fence; judges multiplies by it.

        Paths are united where they join: a kernel may store each register under a condition.
        """
        multiply = self.cells.multiplies.get(event.index)
        if multiply is not None:
            self._judge_touches(touches, multiply)
        elif event.mi.row.id == FENCE:
            return frozenset()
        elif event.mi.row.id not in ORDERING:
            new = self.records[event.index] - {cell for cell, _ in touches}
            return touches.union((cell, event.index) for cell in new)
        return touches

    def _judge_touches(self, touches: Touches, multiply: _Multiply) -> None:
        own = self.cells.touched(multiply.d | multiply.a)
        for cell, index in sorted(touches):
            if cell in own:
                got = f"no wgmma.fence behind {self.report.line(index)}, which accesses them"
                self.report.add(UNFENCED, multiply.index, got=got)

    def _judge_multiply(self, state: _State, multiply: _Multiply) -> None:
        if not state.fenced:
            self.report.add(UNFENCED, multiply.index, got="no wgmma.fence on a way to it")
        for index in state.running:
            self._judge_pair(state, multiply, self.cells.multiplies[index])

    def _judge_pair(self, state: _State, multiply: _Multiply, earlier: _Multiply) -> None:
        if multiply.a & earlier.d:
            self._touched(state, multiply.index, earlier.index, "A in the accumulator of")
        if multiply.d & earlier.a:
            self._touched(state, multiply.index, earlier.index, "an accumulator in A of")
        differs = multiply.differs(earlier) if multiply.d & earlier.d else ""
        if differs:
            self.report.add(
                MIXED,
                multiply.index,
                severity=Severity.REVIEW if multiply.has_other_depth(earlier) else None,
                got=f"{differs}, and {self.report.line(earlier.index)} may still run",
            )

    def _touched(
        self, state: _State, index: int, multiply: int, what: str, rule: VerifierRule = TOUCHED
    ) -> None:
        key = rule, multiply
        if key in self.early and self.early[key][0] < index:
            return
        issued = multiply in state.running.issued
        which = "is in no group yet" if issued else "may still run"
        found = index, f"{what} {self.report.line(multiply)}, which {which}"
        self.early[key] = min(self.early.get(key, found), found)
