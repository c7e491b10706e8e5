"""Other records whose results are integers: loads, votes, shuffles; and what threads keep.

Layer: isel.verifier.ordering.  Input: a record and the values of its operands.  Output: the values
of the registers that it writes; unknown data gives unknown numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from intrinsics.mir import Mem
from intrinsics.modifiers import Match, Shuffle, Space, Vote
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.flow.warps import shuffle_source
from isel.verifier.ordering.integers.calculations import COMPUTED
from isel.verifier.ordering.integers.numbers import Number, lanes_of, masks_of, packed
from isel.verifier.ordering.integers.windows import POINTER
from isel.verifier.ordering.program import is_one_place
from isel.verifier.ordering.run import local_memory
from isel.verifier.ordering.run.plain_step import Plain


def compute(p: Plain) -> None:
    """Write the results of a record that has no calculation."""
    other = _OTHERS.get(p.mi.row.id)
    if other is not None:
        other(p)
    else:
        for reg in p.mi.defs():
            p.run.write(p.strand, reg, None, p.mask)


# ---- others ------------------------------------------------------------------------------------


_ONE_LANE = [tuple([int(i == one) for i in range(LANES)]) for one in range(LANES)]
"""For each lane, a predicate that holds there alone."""


_SIDE_BY_SIDE = 4
"""Elements of memory that differ, in some runs: the beginnings of sequences, the sizes of a matrix.
"""


def _elect(p: Plain) -> None:
    first = (p.mask & -p.mask).bit_length() - 1
    p.write("lane", first)
    p.write("elected", _ONE_LANE[first])


def _load(p: Plain) -> None:
    """Load parameters or global data: every integer is the same, every pointer an address of its
    own.  In a run of a later cluster integers that lie side by side in memory increase, and in one
    that has contents of memory these are other than the arguments.

    Floating-point numbers have the bits of the integer: kernels compare them with zero.  An element
    of an array among the parameters is not known, since its elements depend on each other.
    """
    space = p.mi.form.attributes.get("space")
    if space is Space.LOCAL:
        local_memory.load(p)
        return
    type_, of_param = p.mi.scalar_type(), space is Space.PARAM
    if of_param and not is_one_place(p.run.program.graph, p.mi.get("a")):
        p.write("d", None)
        return
    p.run.log.assumed |= not of_param
    if not of_param and p.run.launch.contents is not None:
        p.run.log.assume()
    p.run.log.reads_arguments |= type_.bits <= 32
    number = _integer(p, of_param=of_param) if type_.bits <= 32 else POINTER
    known = type_.kind != "f" or of_param or _is_for_floats(p)
    if of_param or not p.run.launch.place:
        p.write("d", number & (1 << type_.bits) - 1 if known else None)
        return
    step, first = p.run.launch.number, _offset(p) * 8 // type_.bits
    for place, reg in enumerate(p.elements("d"), first):
        rise = step * place if known and 0 < place < _SIDE_BY_SIDE else 0
        if rise and reg in p.run.program.wanted:
            p.run.log.assume()
        p.run.write(p.strand, reg, number + rise & (1 << type_.bits) - 1 if known else None, p.mask)


def _offset(p: Plain) -> int:
    """The constant offset of the address of a load."""
    address = p.mi.get("a")
    return address.offset if isinstance(address, Mem) else 0


def _integer(p: Plain, *, of_param: bool) -> int:
    """The integer that is loaded: that of all arguments, or the value of this one."""
    launch, address = p.run.launch, p.mi.get("a")
    if not of_param and launch.contents is not None:
        return launch.contents
    return launch.number if address is None else launch.values.get(address, launch.number)


def _is_for_floats(p: Plain) -> bool:
    """Whether the destination register holds nothing but floating-point numbers."""
    reg, classes = p.mi.get("d"), p.run.program.graph.function.regs.classes
    return type(reg) is int and classes[reg].kind == "f"


def _activemask(p: Plain) -> None:
    p.write("d", p.mask)


def _shuffle(p: Plain) -> None:
    mode = p.mi.form.attributes["mode"]
    assert isinstance(mode, Shuffle)
    found, reached = _shuffled(mode, *map(p.slot, "abc"), p.strand.mask)
    p.write("d", found)
    p.write("p", reached)


@functools.lru_cache(1024)  # warps and runs repeat the same shuffles
def _shuffled(mode: Shuffle, a: Number, b: Number, c: Number, here: int) -> tuple[Number, Number]:
    """The value that each lane reads, and whether its source lane is in range."""
    mine, by, bounds = lanes_of(a), lanes_of(b), lanes_of(c)
    found: list[int | None] = []
    reached: list[int | None] = []
    for lane, (step, bound) in enumerate(zip(by, bounds, strict=True)):
        if step is None or bound is None:
            found.append(None)
            reached.append(None)
            continue
        source, ok = shuffle_source(mode, lane, step, bound)
        found.append(mine[source if ok and here >> source & 1 else lane])
        reached.append(int(ok))
    return packed(tuple(found)), packed(tuple(reached))


def _vote(p: Plain) -> None:
    holds, unknown = masks_of(p.slot("a"))
    found: Number = None
    if not unknown & p.mask:
        ballot = holds & p.mask
        match p.mi.form.attributes.get("mode"):
            case Vote.ALL:
                found = int(ballot == p.mask)
            case Vote.ANY:
                found = int(ballot != 0)
            case Vote.UNI:
                found = int(ballot in (0, p.mask))
            case _:
                found = ballot
    p.write("d", found)


def _match(p: Plain) -> None:
    """The mask of the lanes with the same number, or of all lanes where all have the same."""
    here = [i for i in range(LANES) if p.mask >> i & 1]
    lanes = lanes_of(p.slot("a"))
    found: Number = None
    alike: Number = None
    if all(lanes[i] is not None for i in here):
        groups = [sum(1 << i for i in here if lanes[i] == one) for one in lanes]
        alike = int(groups[here[0]] == p.mask)
        found = packed(tuple(groups))
        if p.mi.form.attributes["mode"] is Match.ALL:
            found = p.mask if alike else 0
    p.write("d", found)
    p.write("p", alike)


_OTHERS: dict[str, Callable[[Plain], None]] = {
    **dict(
        zip(COMPUTED, (_elect, _load, _activemask, _shuffle, _vote, _vote, _match), strict=True)
    ),
    "st": local_memory.store,
}
"""By row; records that are neither here nor calculated give unknown numbers."""
