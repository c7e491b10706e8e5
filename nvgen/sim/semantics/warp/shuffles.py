"""Exchanges between the threads of a warp: shuffles, votes, matches, reductions.

Layer: nvgen.sim.semantics.  All threads of the member mask that have not exited reach the record
before any continues; threads with other masks execute it separately.  A read from a lane that does
not take part gives a conspicuous pattern.  PTX ISA, shfl.sync; vote.sync; match.sync; redux.sync;
activemask.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Match, ScalarType, Shuffle, Vote, WarpReduce
from nvgen.sim.semantics.synchronization.sync import gathered
from nvgen.sim.threads.compile import Compiler, Maker, Setter
from nvgen.sim.threads.lane_values import flags, unsigned
from nvgen.sim.threads.machine import (
    WARP,
    Lanes,
    Outcome,
    Step,
    Strand,
    Values,
    first_lane,
    lane_numbers,
    lanes_of,
    mask_of,
)

T = ScalarType
Words = NDArray[np.uint32]

_LANES = np.arange(WARP, dtype=np.int64)
_UNDEFINED = 0xCDCDCDCD
"""The value of a lane that does not take part."""

_NAN = 0x7FFFFFFF

Action = Callable[[Strand, int], None]
"""The effect on threads that have converged: the strand, and their member mask."""


def _together(c: Compiler, mi: MachineInstr, act: Action) -> Step:
    """`act` for the threads that give one mask, once all of the mask are here."""
    members = c.get(mi["membermask"], T.B32)

    def run(strand: Strand) -> Outcome:
        masks = members(strand.warp)
        mask = int(masks[first_lane(strand.mask)])
        same = mask_of(flags(masks == mask)) & strand.mask
        if same != strand.mask:
            strand.fork(strand.mask & ~same, strand.at)
            strand.mask = same
        waiting = gathered(strand, mask, mi, who_left=False)
        if waiting is None:
            act(strand, mask & strand.mask)
            clocks = strand.warp.cta.machine.engine.clocks
            if clocks is not None:
                clocks.exchange(strand)
        return waiting

    return run


def _setter(c: Compiler, mi: MachineInstr, slot: str) -> Setter | None:
    reg = mi.get(slot)
    return c.set(reg) if type(reg) is int else None


def _write(setter: Setter | None, strand: Strand, values: Values) -> None:
    if setter is not None:
        setter(strand, values)


# ---- shuffles --------------------------------------------------------------------------------


def shuffle(c: Compiler, mi: MachineInstr) -> Step:
    """The value of another lane, and whether the source lane is in range."""
    a, b, bounds = (c.get(mi[slot], T.B32) for slot in ("a", "b", "c"))
    d, p = _setter(c, mi, "d"), _setter(c, mi, "p")
    mode = mi.form.attributes["mode"]
    assert isinstance(mode, Shuffle)

    def act(strand: Strand, members: int) -> None:
        warp = strand.warp
        source, reached = _source(mode, b(warp), bounds(warp))
        values = np.where(lanes_of(members), a(warp), np.uint32(_UNDEFINED))
        _write(d, strand, values[source])
        _write(p, strand, reached)

    return _together(c, mi, act)


def _source(mode: Shuffle, b: Values, bounds: Values) -> tuple[NDArray[np.int64], Lanes]:
    """The source lane of each lane; its own where that is out of range."""
    step = b.astype(np.int64) & 31
    clamp, segment = bounds.astype(np.int64) & 31, bounds.astype(np.int64) >> 8 & 31
    first = _LANES & segment
    last = first | (clamp & ~segment)
    match mode:
        case Shuffle.UP:
            source = _LANES - step
            reached = source >= last
        case Shuffle.DOWN:
            source = _LANES + step
            reached = source <= last
        case Shuffle.BFLY:
            source = _LANES ^ step
            reached = source <= last
        case Shuffle.IDX:
            source = first | (step & ~segment)
            reached = source <= last
    return np.where(reached, source, _LANES), reached


# ---- votes and matches -----------------------------------------------------------------------


def vote(c: Compiler, mi: MachineInstr) -> Step:
    """The result of a vote on a predicate by all members."""
    a, d = c.get(mi["a"], T.PRED), _setter(c, mi, "d")
    mode = mi.form.attributes["mode"]
    assert isinstance(mode, Vote)

    def act(strand: Strand, members: int) -> None:
        yes = mask_of(flags(a(strand.warp))) & members
        match mode:
            case Vote.BALLOT:
                _write(d, strand, np.full(WARP, yes, np.uint32))
                return
            case Vote.ALL:
                holds = yes == members
            case Vote.ANY:
                holds = yes != 0
            case Vote.UNI:
                holds = yes in (0, members)
        _write(d, strand, np.full(WARP, holds, np.bool_))

    return _together(c, mi, act)


def match(c: Compiler, mi: MachineInstr) -> Step:
    """Which members have the same value."""
    type_, mode = mi.form.attributes["type"], mi.form.attributes["mode"]
    assert isinstance(type_, ScalarType)
    a, d, p = c.get(mi["a"], type_), _setter(c, mi, "d"), _setter(c, mi, "p")

    def act(strand: Strand, members: int) -> None:
        values = a(strand.warp)
        if mode is Match.ANY:
            same = [mask_of(flags(values == value)) & members for value in values]
            _write(d, strand, np.array(same, np.uint32))
            return
        agree = len({int(values[lane]) for lane in lane_numbers(members)}) == 1
        _write(d, strand, np.full(WARP, members if agree else 0, np.uint32))
        _write(p, strand, np.full(WARP, agree, np.bool_))

    return _together(c, mi, act)


def active(c: Compiler, mi: MachineInstr) -> Step:
    """The threads that execute the record convergently."""
    d = _setter(c, mi, "d")

    def run(strand: Strand) -> Outcome:
        _write(d, strand, np.full(WARP, strand.mask, np.uint32))
        return None

    return run


# ---- reductions ------------------------------------------------------------------------------

_REDUCE: dict[WarpReduce, np.ufunc] = {
    WarpReduce.ADD: np.add,
    WarpReduce.MIN: np.minimum,
    WarpReduce.MAX: np.maximum,
    WarpReduce.AND: np.bitwise_and,
    WarpReduce.OR: np.bitwise_or,
    WarpReduce.XOR: np.bitwise_xor,
}


def reduce(c: Compiler, mi: MachineInstr) -> Step:
    """The reduction of the members' values."""
    attributes = mi.form.attributes
    type_, op = attributes["type"], attributes["op"]
    assert isinstance(type_, ScalarType)
    assert isinstance(op, WarpReduce)
    a, d = c.get(mi["a"], T.F32 if type_ is T.F32 else T.B32), _setter(c, mi, "d")
    magnitude, keeps_nan = attributes["abs"] is not None, attributes["nan"] is not None

    def act(strand: Strand, members: int) -> None:
        words = a(strand.warp)[lanes_of(members)].astype(np.uint32, copy=False)
        if type_ is T.F32:
            found = _extreme(words, op, magnitude=magnitude, keeps_nan=keeps_nan)
        else:
            numbers = words.view(np.int32) if type_.is_signed else words
            with np.errstate(over="ignore"):
                found = int(_REDUCE[op].reduce(numbers, dtype=numbers.dtype)) & 0xFFFFFFFF
        _write(d, strand, np.full(WARP, found, unsigned(32)))

    return _together(c, mi, act)


def _extreme(words: Words, op: WarpReduce, *, magnitude: bool, keeps_nan: bool) -> int:
    """The bits of the least or greatest number: -0 is less than 0, a NaN counts or is left out."""
    words = words & np.uint32(0x7FFFFFFF) if magnitude else words
    is_nan = words & np.uint32(0x7FFFFFFF) > np.uint32(0x7F800000)
    if is_nan.all() or (keeps_nan and is_nan.any()):
        return _NAN
    numbers = words[~is_nan].astype(np.int64)
    # The order of the bits is that of the numbers, once those of negative ones are turned round.
    keys = np.where(numbers >> 31 == 1, ~numbers & 0x7FFFFFFF, numbers | 0x80000000)
    at = int(keys.argmin() if op is WarpReduce.MIN else keys.argmax())
    return int(numbers[at])


def nothing(c: Compiler, mi: MachineInstr) -> Step:
    """No effect here: time, counters, registers and other grids are not modelled."""
    return lambda strand: None


SEMANTICS: dict[str, Maker] = {
    "shfl.sync": shuffle,
    "vote.sync": vote,
    "vote.sync.ballot": vote,
    "match.sync": match,
    "redux.sync": reduce,
    "activemask": active,
    **dict.fromkeys(
        (
            *("nanosleep", "pmevent", "pmevent.mask", "griddepcontrol"),
            *("setmaxnreg.inc", "setmaxnreg.dec"),
        ),
        nothing,
    ),
}
