"""The threads that could still signal an mbarrier, in a deadlock: a reachability analysis.

Layer: nvgen.sim.  Input: threads that wait, each at a record.  A thread may signal an mbarrier if
from its record, or from where it returns to, a record is reachable that signals one at such an
address.  Branches that depend only on a thread's own numbers (roles of warps, elected by their
number) are evaluated; those that depend on memory or other threads may go either way.  Addresses
are traced through moves and sums to the variable that they begin at; one that cannot be traced may
be any.  What is certain is that no thread is left: those that have exited signal no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr, Mem, Not, Reg, Special, Sym
from intrinsics.modifiers import Space
from intrinsics.row import Completion, Effect
from nvgen.sim.threads.barriers import MBarrier
from nvgen.sim.threads.machine import Code, Cta, Frame, Instruction, Machine, Return, Strand

_ARRIVALS = (
    "mbarrier.arrive", "mbarrier.arrive_drop", "mbarrier.arrive.expect_tx",
    "mbarrier.arrive_drop.expect_tx", "cp.async.mbarrier.arrive", "tcgen05.commit",
)  # fmt: skip
_EXPECTS = ("mbarrier.expect_tx", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop.expect_tx")
_COMPLETES = "mbarrier.complete_tx"

LAST = 2
"""The rank of threads that neither fill stages nor multiply."""

_KEEPS_OFFSET = ("mov", "cvt", "cvta", "mapa")
_FOLLOWED = 64
"""The most records that an address is traced through."""


@dataclass(frozen=True, slots=True)
class _VariableOffset:
    """The address of a signal: an offset from a variable's beginning, all of it where `exact`."""

    variable: str
    offset: int
    exact: bool


_Signal = tuple[MachineInstr, list[_VariableOffset]]
"""A record that signals an mbarrier, and the addresses; none where they are not known."""


_IMPURE = (
    Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.ASYNC_PROXY
    | Effect.TERMINATOR | Effect.BARRIER | Effect.CARRY
)  # fmt: skip
_CLOCKS = ("clock", "globaltimer")
_PARAMETERS = tuple(space for space in Space if space.value.startswith("param"))


@dataclass(slots=True)
class _Signals:
    """The signals of a function's records, and which of them are reachable."""

    code: Code
    position: dict[str, int]
    makers: dict[Reg, list[Instruction]]
    calls: bool
    fixed: dict[Reg, bool] = field(default_factory=dict)  # whether it has a single value

    @classmethod
    def of(cls, code: Code) -> _Signals:
        makers: dict[Reg, list[Instruction]] = {}
        those = [one for block in code.blocks for one in block.instructions]
        for one in those:
            for register in one.mi.defs():
                makers.setdefault(register, []).append(one)
        position = {block.name: number for number, block in enumerate(code.blocks)}
        return cls(code, position, makers, any(one.mi.row.head == "call" for one in those))

    def of_thread(self, strand: Strand, frame: Frame, block: int, at: int) -> list[_Signal]:
        """The signals that are reachable from a position."""
        found: list[_Signal] = []
        seen, work = set[int](), [(block, at)]
        while work:
            number, first = work.pop()
            targets, falls = set[int](), True
            local: dict[Reg, Instruction] = {}  # the last writer of a register in this block
            for one in self.code.blocks[number].instructions[first:]:
                local |= dict.fromkeys(one.mi.defs(), one)
                if "mbar" in one.mi.row.operand:
                    found.append((one.mi, self.offsets(one.mi)))
                if not one.mi.form.is_terminator:
                    continue
                taken = self._taken(strand, frame, one.mi, local)
                if taken is not False:
                    targets |= {self.position[name] for name in one.mi.labels()}
                if taken:
                    falls = False
                    break
            if falls and number + 1 < len(self.code.blocks):
                targets.add(number + 1)
            work += [(target, 0) for target in targets - seen]
            seen |= targets
        return found

    def _taken(
        self, strand: Strand, frame: Frame, mi: MachineInstr, local: dict[Reg, Instruction]
    ) -> bool | None:
        """Whether all threads take a branch, or none; None where that is not known."""
        if mi.guard is None:
            return True
        negated = isinstance(mi.guard, Not)
        register = mi.guard.reg if isinstance(mi.guard, Not) else mi.guard
        made = local.get(register)
        if made is None and not self._is_fixed(register):
            return None
        made = made or self.makers[register][0]
        if not _is_pure(made.mi) or not all(self._is_fixed(use) for use in made.mi.uses()):
            return None
        strand.warp.enter(frame)
        done: set[Reg] = set()
        for use in made.mi.uses():
            self._compute(strand, use, done)
        made.run(strand)
        values = frame.values[register][strand.lanes].astype(bool) ^ negated
        return bool(values[0]) if (values == values[0]).all() else None

    def _is_fixed(self, register: Reg) -> bool:
        """Whether a register has one value, which a thread's numbers and parameters determine."""
        known = self.fixed.get(register)
        if known is not None:
            return known
        self.fixed[register] = False  # in a cycle it has many values
        made = self.makers.get(register, [])
        found = len(made) == 1 and _is_pure(made[0].mi)
        self.fixed[register] = found and all(self._is_fixed(use) for use in made[0].mi.uses())
        return self.fixed[register]

    def _compute(self, strand: Strand, register: Reg, done: set[Reg]) -> None:
        """Evaluate a fixed register: the run is over, and its registers are free for that."""
        if register in done:
            return
        done.add(register)
        (one,) = self.makers[register]
        for use in one.mi.uses():
            self._compute(strand, use, done)
        one.run(strand)

    def offsets(self, mi: MachineInstr) -> list[_VariableOffset]:
        """The addresses that a record signals; empty where they are not known."""
        op = mi["mbar"]
        if not isinstance(op, Mem):
            return []
        if isinstance(op.base, Sym):
            return [_VariableOffset(op.base.name, op.base.offset + op.offset, exact=True)]
        return self._followed(op.base, op.offset)

    def _followed(self, register: Reg, offset: int) -> list[_VariableOffset]:
        found, seen = [], set[Reg]()
        work: list[tuple[Reg, int, bool]] = [(register, offset, True)]
        while work and len(seen) < _FOLLOWED:
            reg, plus, exact = work.pop()
            made = self.makers.get(reg, [])
            if reg in seen or not made:
                continue
            seen.add(reg)
            for mi in (one.mi for one in made):
                exact_here = exact and len(made) == 1
                numbers = sum(op.value for op in mi.ops if isinstance(op, Imm))
                keeps = mi.row.id.startswith(_KEEPS_OFFSET)
                if mi.row.id.startswith("add"):
                    plus_here = plus + numbers
                    exact_here = exact_here and len(list(mi.uses())) == 1
                else:
                    plus_here, exact_here = plus, exact_here and keeps
                found += [
                    _VariableOffset(op.name, op.offset + plus_here, exact_here)
                    for op in mi.ops
                    if isinstance(op, Sym)
                ]
                if not mi.row.head.startswith(("ld", "atom")):
                    work += [(use, plus_here, exact_here) for use in mi.uses()]
        return found


class Suppliers:
    """Which threads could still signal which mbarrier."""

    def __init__(self, machine: Machine, strands: list[Strand]) -> None:
        self._machine = machine
        self._fragments = strands
        self._known: dict[int, _Signals] = {}
        self._those: dict[int, list[_Signal] | None] = {}
        self._where = {
            id(barrier): (cta, offset)
            for cta in machine.ctas
            for offset, barrier in cta.mbarriers.items()
        }

    def of(self, barrier: MBarrier) -> list[Strand]:
        """The threads that could signal what a barrier lacks, were they not waiting."""
        where = self._where.get(id(barrier))
        if where is None:
            return list(self._fragments)
        return [f for f in self._fragments if self._may(f, barrier, *where)]

    def rank(self, strand: Strand) -> int:
        """The order in which waiting threads are blamed where no ring has started: first those that
        signal bytes behind their wait, then those that commit multiplies, then others.
        """
        rows = [mi.row for mi, _ in self._of(strand) or ()]
        if any(r.id in _EXPECTS or r.effects.completion is Completion.TRANSACTION for r in rows):
            return 0
        return 1 if any(row.id == "tcgen05.commit" for row in rows) else LAST

    def _may(self, strand: Strand, barrier: MBarrier, cta: Cta, offset: int) -> bool:
        if strand.warp.cta.cluster is not cta.cluster:
            return False
        those = self._of(strand)
        if those is None:
            return True
        return any(_completes(mi, barrier) and self._reaches(at, offset) for mi, at in those)

    def _of(self, strand: Strand) -> list[_Signal] | None:
        """The signals that threads can reach.

        None where they call functions, which are not analysed.
        """
        if id(strand) not in self._those:
            found: list[_Signal] | None = []
            for frame, block, at in _places(strand):
                signals = self._signals(frame.code)
                if signals.calls or found is None:
                    found = None
                else:
                    found += signals.of_thread(strand, frame, block, at)
            self._those[id(strand)] = found
        return self._those[id(strand)]

    def _signals(self, code: Code) -> _Signals:
        found = self._known.get(id(code))
        if found is None:
            found = self._known[id(code)] = _Signals.of(code)
        return found

    def _reaches(self, offsets: list[_VariableOffset], offset: int) -> bool:
        if not offsets:
            return True
        for signalled in offsets:
            begin = self._machine.symbols.get(signalled.variable)
            if begin is None:
                return True
            at = begin + signalled.offset
            if at == offset or (not signalled.exact and at <= offset):
                return True
        return False


def _places(strand: Strand) -> Iterator[tuple[Frame, int, int]]:
    """The positions of threads, and those that they return to."""
    yield strand.frame, strand.block, strand.at
    back: Return | None = strand.back
    while back is not None:
        yield back.frame, back.block, back.at
        back = back.outer


def _is_pure(mi: MachineInstr) -> bool:
    """Whether a record computes the same whenever it is executed."""
    if mi.guard is not None:
        return False
    if any(isinstance(op, Special) and op.name.startswith(_CLOCKS) for op in mi.ops):
        return False
    if mi.row.id == "ld" and mi.form.attributes["space"] in _PARAMETERS:
        return True
    return not mi.row.effects.effect & _IMPURE


def _completes(mi: MachineInstr, barrier: MBarrier) -> bool:
    """Whether a record signals what the barrier lacks: arrivals, or bytes."""
    completes_bytes = mi.row.effects.completion is Completion.TRANSACTION or mi.row.id == _COMPLETES
    return (
        (barrier.pending > 0 and mi.row.id in _ARRIVALS)
        or (barrier.tx > 0 and completes_bytes)
        or (barrier.tx < 0 and mi.row.id in _EXPECTS)
    )
