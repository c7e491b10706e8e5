"""Records that compute integers and have nothing to do with order by themselves.

Layer: isel.verifier.ordering.  Input: a record and the values of its operands.  Output: the values
of the registers that it writes; data that nobody knows gives unknown numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Shuffle, Vote
from isel.verifier.function.evaluate import shuffle_source
from isel.verifier.function.values import LANES
from isel.verifier.ordering import windows
from isel.verifier.ordering.numbers import (
    PURE,
    Number,
    Operation,
    compared,
    conjunction,
    disjunction,
    lanes_of,
    lanewise,
    packed,
    selected,
)
from isel.verifier.ordering.strand import Strand

if TYPE_CHECKING:
    from isel.verifier.ordering.execute import Run

_POINTER = 1 << 40
"""Every pointer in memory: a place far from shared memory."""


@dataclass(slots=True)
class Plain:
    """A record, and the threads that execute it: those of a strand in the lanes of a mask."""

    run: Run
    strand: Strand
    mi: MachineInstr
    mask: int

    def slot(self, name: str) -> Number:
        """The value of an operand."""
        return self.run.slot(self.strand, self.mi, name)

    def write(self, name: str, number: Number) -> None:
        """Give the register of an operand a value."""
        self.run.write(self.strand, self.mi.get(name), number, self.mask)


def compute(p: Plain) -> None:
    """Write what a record computes."""
    row = p.mi.row.id
    pure, other = PURE.get(row), _OTHERS.get(row)
    if pure is not None:
        operands, make = pure
        p.write("d", *_computed(p, operands, lambda *numbers: (_arithmetic(p.mi, make, numbers),)))
    elif other is not None:
        other(p)
    else:
        for reg in p.mi.defs():
            p.run.write(p.strand, reg, None, p.mask)


def _computed(
    p: Plain, operands: Sequence[str], run: Callable[..., tuple[Number, ...]]
) -> tuple[Number, ...]:
    """What a record computes of its operands' values and of nothing else; worked out once."""
    numbers = tuple([p.slot(name) for name in operands])
    key, results = (p.mi.form, numbers), p.run.program.results
    found = results.get(key)
    if found is None:
        found = results[key] = run(*numbers)
    return found


def _arithmetic(
    mi: MachineInstr,
    make: Callable[[MachineInstr], Operation | None],
    numbers: tuple[Number, ...],
) -> Number:
    if mi.row.id in ("and", "or") and mi.scalar_type().bits == 1:
        return (conjunction if mi.row.id == "and" else disjunction)(*numbers)
    operation = make(mi)
    if operation is None or mi.form.facts.get("sat") is not None:
        return None
    return lanewise(operation, *numbers)


def _mov(p: Plain) -> None:
    p.write("d", p.slot("a"))


def _setp(p: Plain) -> None:
    both = _computed(p, "abc", lambda a, b, c: compared(p.mi, a, b, c))
    for name, number in zip("pq", both, strict=True):
        p.write(name, number)


def _selp(p: Plain) -> None:
    p.write("d", *_computed(p, "abc", lambda a, b, c: (selected(a, b, c),)))


def _elect(p: Plain) -> None:
    first = (p.mask & -p.mask).bit_length() - 1
    p.write("lane", first)
    p.write("elected", tuple(int(i == first) for i in range(LANES)))


def _load(p: Plain) -> None:
    """Parameters and global data: every integer is the same, every pointer a place of its own."""
    type_ = p.mi.scalar_type()
    number = p.run.launch.number if type_.bits <= 32 else _POINTER
    p.write("d", None if type_.kind == "f" else number & (1 << type_.bits) - 1)


def _activemask(p: Plain) -> None:
    p.write("d", p.mask)


def _mapa(p: Plain) -> None:
    p.write("d", lanewise(windows.in_window, p.slot("a"), p.slot("b")))


def _rank(p: Plain) -> None:
    p.write("d", lanewise(windows.rank_of, p.slot("a")))


def _shuffle(p: Plain) -> None:
    a, b, c = (lanes_of(p.slot(name)) for name in "abc")
    mode = p.mi.form.facts["mode"]
    assert isinstance(mode, Shuffle)
    found: list[int | None] = []
    reached: list[int | None] = []
    for lane in range(LANES):
        by, bounds = b[lane], c[lane]
        if by is None or bounds is None:
            found.append(None)
            reached.append(None)
            continue
        source, ok = shuffle_source(mode, lane, by, bounds)
        source = source if ok else lane
        found.append(a[source] if p.strand.mask >> source & 1 else a[lane])
        reached.append(int(ok))
    p.write("d", packed(tuple(found)))
    p.write("p", packed(tuple(reached)))


def _vote(p: Plain) -> None:
    lanes = lanes_of(p.slot("a"))
    found: Number = None
    if all(lanes[i] is not None for i in range(LANES) if p.mask >> i & 1):
        ballot = sum(1 << i for i in range(LANES) if p.mask >> i & 1 and lanes[i])
        match p.mi.form.facts.get("mode"):
            case Vote.ALL:
                found = int(ballot == p.mask)
            case Vote.ANY:
                found = int(ballot != 0)
            case Vote.UNI:
                found = int(ballot in (0, p.mask))
            case _:
                found = ballot
    p.write("d", found)


def _unpack(p: Plain) -> None:
    ops = p.mi.get("d")
    if not isinstance(ops, tuple):
        return
    number, part = p.slot("a"), p.mi.scalar_type().bits // len(ops)
    for at, op in enumerate(ops):
        found = lanewise(lambda x, at=at: x >> at * part & (1 << part) - 1, number)
        p.run.write(p.strand, op, found, p.mask)


def _pack(p: Plain) -> None:
    ops = p.mi.get("a")
    if not isinstance(ops, tuple):
        return
    part = p.mi.scalar_type().bits // len(ops)
    numbers = [p.run.value(p.strand, op) for op in ops]
    found = lanewise(
        lambda *xs: sum((x & (1 << part) - 1) << i * part for i, x in enumerate(xs)), *numbers
    )
    p.write("d", found)


_OTHERS: dict[str, Callable[[Plain], None]] = {
    **dict.fromkeys(("mov", "cvta", "cvta.to"), _mov),
    "setp.int": _setp,
    "selp": _selp,
    "elect.sync": _elect,
    "ld": _load,
    "activemask": _activemask,
    "mapa": _mapa,
    "getctarank": _rank,
    "shfl.sync": _shuffle,
    **dict.fromkeys(("vote.sync", "vote.sync.ballot"), _vote),
    **dict.fromkeys(("mov.unpack2", "mov.unpack4"), _unpack),
    **dict.fromkeys(("mov.pack2", "mov.pack4"), _pack),
}
"""By row; what is not here gives unknown numbers."""
