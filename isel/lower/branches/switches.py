"""Switches as tables of branches, and as a binary search among tables and few cases.

Layer: isel.lower.  Input: a function.  Output: the same function, or one in the place of whose long
switches stand, as LLVM 22 makes them:

- a table, for cases that go at least `_ENTRIES` ways one after the other and fill a tenth of their
  range: what is beyond its ends goes to the default first, and so do its gaps.  No number needs to
  be compared where the default is unreachable, or there are no others.
- a chain of at most `FEW` comparisons, of numbers in a row that go to the same block one.
- a search among these: a comparison with the first of the upper half decides between the halves.

The cases are ordered as signed or as unsigned numbers, whichever gives fewer parts.  ptxas 13.5
makes tables of four of the chains that it finds, one for each: with the whole table in PTX a switch
of 64 stores is 273 instructions of sm_90 rather than 394, of 8 stores 49 rather than 58.
LLVM Language Reference, switch.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import I32, VOID, IntType
from isel.llvm.vocabulary import IntPredicate, Opcode
from isel.lower.rewriter import Emitter, FreshNames, number

FEW = 4
"""Cases that are compared in a chain."""

_ENTRIES = 4
"""Parts of a table, at least."""

_SPARSE = 10
"""Numbers of a table for each that is a case, at most."""

_LONGEST = 256
"""Runs of a table that is not the whole switch, at most: more are not looked for."""

_WORD = 64
"""Bits of what a register holds; numbers of fewer are compared in one of 32 or 64."""


def with_searches(function: ir.Function) -> ir.Function:
    """The function with tables and searches in the place of long switches."""
    search = _Search(function)
    blocks = [one for block in function.blocks for one in search.split(block)]
    if not search.ways:
        return function
    return function.with_blocks([search.with_phis(block) for block in blocks])


# ---- parts -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """Cases in a row that go to one block."""

    low: int
    high: int
    target: str

    @property
    def count(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True, slots=True)
class _Table:
    """Runs that a table has."""

    runs: tuple[_Run, ...]

    @property
    def low(self) -> int:
        return self.runs[0].low

    @property
    def high(self) -> int:
        return self.runs[-1].high

    def targets(self, default: str) -> list[str]:
        """The target of each number, from the lowest one on."""
        found: list[str] = []
        for run in self.runs:
            found += [default] * (run.low - self.low - len(found))
            found += [run.target] * run.count
        return found


_Part = _Run | _Table


def _runs(cases: Iterable[tuple[int, str]]) -> list[_Run]:
    """The runs of cases, in order."""
    found: list[_Run] = []
    for value, target in sorted(cases):
        last = found[-1] if found else None
        if last is not None and (last.high + 1, last.target) == (value, target):
            found[-1] = _Run(last.low, value, target)
        else:
            found.append(_Run(value, value, target))
    return found


def _parts(runs: list[_Run]) -> list[_Part]:
    """As few parts as the runs come to, of tables and of single runs."""
    first = list(itertools.accumulate((run.count for run in runs), initial=0))
    if len(runs) >= _ENTRIES and _is_dense(runs, first, 0, len(runs)):
        return [_Table(tuple(runs))]
    least, ends = [0] * (len(runs) + 1), [0] * len(runs)
    for at in reversed(range(len(runs))):
        least[at], ends[at] = least[at + 1] + 1, at + 1
        for end in _ends_of_tables(runs, at, first):
            if least[end] < least[at]:
                least[at], ends[at] = least[end] + 1, end
    found: list[_Part] = []
    at = 0
    while at < len(runs):
        end = ends[at]
        found.append(_Table(tuple(runs[at:end])) if end > at + 1 else runs[at])
        at = end
    return found


def _is_dense(runs: list[_Run], first: list[int], at: int, end: int) -> bool:
    """Whether some runs fill a table; `first` has how many cases stand before each."""
    return runs[end - 1].high - runs[at].low < _SPARSE * (first[end] - first[at])


def _ends_of_tables(runs: list[_Run], at: int, first: list[int]) -> Iterator[int]:
    """Where tables may end that begin with a run."""
    most = runs[at].low + _SPARSE * (first[-1] - first[at])
    for end in range(at + _ENTRIES, min(at + _LONGEST, len(runs)) + 1):
        if runs[end - 1].high >= most:
            return
        if _is_dense(runs, first, at, end):
            yield end


def _is_short(parts: Sequence[_Part]) -> bool:
    """Whether comparing with one number after the other will do."""
    counts = [part.count for part in parts if isinstance(part, _Run)]
    return len(counts) == len(parts) and sum(counts) <= FEW


# ---- code ------------------------------------------------------------------------------------


class _Code(Emitter):
    """The blocks in the place of a switch.

    `number` is what is compared and counted from; `is_closed` says that nothing goes to the default
    but what a table has no case for.
    """

    def __init__(
        self, switch: ir.Switch, names: FreshNames, block: ir.Block, *, is_signed: bool,
        is_closed: bool,
    ) -> None:  # fmt: skip
        super().__init__(names, [block], switch)
        self.switch = switch
        self.is_signed = is_signed
        self.is_closed = is_closed
        self.number = switch.condition

    def search(self, parts: list[_Part]) -> None:
        """End the last block with what finds one of the parts."""
        runs = [part for part in parts if isinstance(part, _Run)]
        if len(runs) == len(parts) <= FEW:
            self._chain(runs)
        elif len(parts) == 1 and isinstance(parts[0], _Table):
            self._table(parts[0])
        else:
            middle = len(parts) // 2
            predicate = IntPredicate.SLT if self.is_signed else IntPredicate.ULT
            lower, upper = self.names.new("lower"), self.names.new("upper")
            self._branch(predicate, self.number, parts[middle].low, lower, upper)
            for name, half in ((lower, parts[:middle]), (upper, parts[middle:])):
                self.open(name)
                self.search(half)

    def extend(self, bits: int) -> None:
        """Compare numbers of more bits."""
        opcode = Opcode.SEXT if self.is_signed else Opcode.ZEXT
        self.number = self.cast(opcode, self.number, IntType(bits), self.name("index"))

    def _chain(self, runs: list[_Run]) -> None:
        """Compare with one run after the other; where all are few numbers, with each of these."""
        type_, default = _type(self.switch.condition), self.switch.default
        if self.is_closed:  # the last one needs no comparison
            *runs, last = runs
            default = last.target
        is_short = _is_short(runs)
        for run in runs:
            if run.count > 1 and not is_short:
                other, offset = self.names.new("other"), self._offset(run.low)
                self._branch(IntPredicate.ULT, offset, run.count, run.target, other)
                self.open(other)
        cases = tuple(
            (number(type_, n), run.target)
            for run in runs
            if run.count == 1 or is_short
            for n in range(run.low, run.high + 1)
        )
        self.add(dataclasses.replace(self.switch, cases=cases, default=default))

    def _table(self, table: _Table) -> None:
        """Leave with what is beyond the table's ends, and branch through it."""
        offset = self._offset(table.low)
        beyond = table.high - table.low + 1
        if not self.is_closed and beyond < 1 << _type(self.switch.condition).bits:
            inside = self.names.new("inside")
            self._branch(IntPredicate.ULT, offset, beyond, inside, self.switch.default)
            self.open(inside)
        if _type(offset).bits > I32.bits:
            offset = self.cast(Opcode.TRUNC, offset, I32, self.name("index"))
        targets = table.targets(self.switch.default)
        cases = tuple((number(I32, n), target) for n, target in enumerate(targets))
        common = self.common(Opcode.SWITCH, None)
        self.add(ir.Switch(*common, VOID, offset, targets[-1], cases, True))

    # ---- instructions ------------------------------------------------------------------------

    def _offset(self, low: int) -> llvm.Value:
        """The number counted from another one."""
        if not low:
            return self.number
        least = number(_type(self.number), low)
        return self.binary(Opcode.SUB, self.number, least, self.name("offset"))

    def _branch(
        self, predicate: IntPredicate, value: llvm.Value, bound: int, yes: str, no: str
    ) -> None:
        """End a block with a branch on how a number compares with another."""
        other = number(_type(value), bound)
        self.branch_if(self.compare(predicate, value, other, self.name("compares")), yes, no)


def _type(value: llvm.Value) -> IntType:
    assert isinstance(value.type, IntType)
    return value.type


# ---- functions -------------------------------------------------------------------------------


class _Search:
    """Splits blocks, and remembers into which, by the names of those they came from."""

    def __init__(self, function: ir.Function) -> None:
        self.names = FreshNames(function)
        self.ways: dict[str, list[ir.Block]] = {}
        self._unreachable = {
            block.name
            for block in function.blocks
            if isinstance(block.instructions[0], ir.Unreachable)
        }

    def split(self, block: ir.Block) -> list[ir.Block]:
        """The block, and those of the search that ends it."""
        i = block.instructions[-1]
        cases = _numbers(i) if isinstance(i, ir.Switch) else []
        if not isinstance(i, ir.Switch) or len(cases) < _ENTRIES:
            return [block]
        bits = _type(i.condition).bits
        half = 1 << (bits - 1)
        parts, is_signed = _parts(_runs(cases)), False
        if max(cases)[0] >= half:  # else both orders are the same
            signed = _parts(_runs((n - (n >= half) * 2 * half, target) for n, target in cases))
            is_signed = len(signed) < len(parts)
            parts = signed if is_signed else parts
        if _is_short(parts):
            return [block]
        first = ir.Block(block.name, block.instructions[:-1])
        is_closed = i.default in self._unreachable
        code = _Code(i, self.names, first, is_signed=is_signed, is_closed=is_closed)
        if (wide := -(-bits // 32) * 32) != bits and bits < _WORD:
            code.extend(wide)
        code.search(parts)
        self.ways[block.name] = code.blocks
        return code.blocks

    def with_phis(self, block: ir.Block) -> ir.Block:
        """The block, with the predecessors of its phis updated."""
        if not isinstance(block.instructions[0], ir.Phi):
            return block
        return ir.Block(block.name, [self._phi(i, block.name) for i in block.instructions])

    def _phi(self, i: ir.Instruction, block: str) -> ir.Instruction:
        if not isinstance(i, ir.Phi) or not any(name in self.ways for _, name in i.incoming):
            return i
        incoming = [one for value, name in i.incoming for one in self._from(value, name, block)]
        return dataclasses.replace(i, incoming=tuple(dict.fromkeys(incoming)))

    def _from(self, value: llvm.Value, name: str, block: str) -> Iterable[tuple[llvm.Value, str]]:
        """What comes by an edge that the search has made into several."""
        if name not in self.ways:
            return [(value, name)]
        return [
            (value, one.name) for one in self.ways[name] if block in one.instructions[-1].targets()
        ]


def _numbers(i: ir.Switch) -> list[tuple[int, str]]:
    """The cases that go elsewhere than the default; none where there is no telling."""
    if not isinstance(i.condition.type, IntType) or i.condition.type.bits < 2:
        return []
    known = [(value.value, target) for value, target in i.cases if isinstance(value, llvm.ConstInt)]
    if len(known) < len(i.cases):
        return []
    return [(value, target) for value, target in known if target != i.default]
