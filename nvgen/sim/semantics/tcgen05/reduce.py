"""tcgen05.ld that computes while it loads: .red and .spcompress.

Layer: nvgen.sim.semantics.  PTX ISA, tcgen05.ld.

The reduction is of the numbers that a thread loads, all of one lane.  The manual does not define
.abs, .NaN and zeros here; they are as redux.sync has them: .abs compares magnitudes and gives one,
-0 is less than +0, a NaN is left out unless .NaN is given or there is nothing else, and the NaN
that results is 0x7FFFFFFF.  A .16x32bx2 loads two parts of a lane into two threads, and each thread
gets the result of its own part: ptxas makes two instructions of it, one for threads 0 to 15 and one
for 16 to 31, with the same registers and nothing that would bring the two results together.

.spcompress keeps two of four adjacent numbers, in their order, and gives two bits for each that say
which of the four it is, the first in the lowest bits (16 a register; bits left over are zero).
.abs compares magnitudes and keeps the numbers as they are.  This is the scalar spcompress' rule,
and how a public simulator (tirx) reads PTX ISA 9.4; no machine has confirmed it.  Which of equal
numbers is kept, and where a NaN stands among them, is not known: where it matters, the run ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType, WarpReduce
from nvgen.sim.faults import not_simulated
from nvgen.sim.semantics.arithmetic.float_comparisons import ordered
from nvgen.sim.semantics.arithmetic.float_lanes import FORMATS, is_nan
from nvgen.sim.semantics.tcgen05.registers import CollectiveCells, Words, collective_load
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Step

_F32 = ScalarType.F32
_MAGNITUDE = np.uint32(0x7FFFFFFF)


def reduced(
    words: Words, type_: ScalarType, op: WarpReduce, *, magnitude: bool, keeps_nan: bool
) -> Words:
    """The least or greatest number of each row: (threads, n) to (threads,)."""
    if type_ is not _F32:
        numbers = words.view(np.int32) if type_.is_signed else words
        integers = numbers.min(axis=1) if op is WarpReduce.MIN else numbers.max(axis=1)
        found: Words = integers.view(np.uint32)
        return found
    words = words & _MAGNITUDE if magnitude else words
    nans = is_nan(words, _F32)
    keys = ordered(words, _F32).astype(np.int64)
    last = np.int64(1) << 40
    if op is WarpReduce.MIN:
        at = np.where(nans, last, keys).argmin(axis=1)
    else:
        at = np.where(nans, -last, keys).argmax(axis=1)
    chosen: Words = np.take_along_axis(words, at[:, None], axis=1)[:, 0]
    unknown = nans.any(axis=1) if keeps_nan else nans.all(axis=1)
    return np.where(unknown, np.uint32(FORMATS[_F32].nan), chosen)


def compressed(words: Words, op: WarpReduce, *, magnitude: bool) -> tuple[Words, Words]:
    """The places and the numbers of two of each four: (threads, n) to (…, n / 32), (…, n / 2).

    Raises: NotSimulatedError when it matters which of equal numbers is kept, or a number is a NaN.
    """
    fours = words.reshape(len(words), -1, 4)
    compared = fours & _MAGNITUDE if magnitude else fours
    if is_nan(compared, _F32).any():
        raise not_simulated(
            "tcgen05.ld.spcompress of a NaN", hint="it is not known whether it is kept"
        )
    keys = ordered(compared, _F32).astype(np.int64)
    keys[compared == np.uint32(0x80000000)] = ordered(np.zeros(1, np.uint32), _F32)[0]
    if op is WarpReduce.MAX:
        keys = -keys
    order = np.argsort(keys, axis=2, kind="stable")
    ranked = np.take_along_axis(keys, order, axis=2)
    if (ranked[..., 1] == ranked[..., 2]).any():
        raise not_simulated(
            "tcgen05.ld.spcompress of equal numbers, of which only some can be kept",
            hint="it is not known which of them are kept",
        )
    kept = np.sort(order[..., :2], axis=2)
    numbers: Words = np.take_along_axis(fours, kept, axis=2).reshape(len(words), -1)
    return _packed(kept.reshape(len(words), -1)), numbers


def _packed(places: NDArray[np.int64]) -> Words:
    """Two bits for each place, 16 in a word."""
    count = -(-places.shape[1] // 16) * 16
    filled = np.zeros((len(places), count), np.uint32)
    filled[:, : places.shape[1]] = places
    shifts = np.arange(16, dtype=np.uint32) * np.uint32(2)
    words = filled.reshape(len(places), -1, 16) << shifts
    found: Words = np.bitwise_or.reduce(words, axis=2)
    return found


def ld_red(c: Compiler, mi: MachineInstr) -> Step:
    """Load registers, and the least or greatest of them."""
    attributes = mi.form.attributes
    type_, op = attributes["type"], attributes["op"]
    assert isinstance(type_, ScalarType)
    assert isinstance(op, WarpReduce)
    magnitude, keeps_nan = attributes["abs"] is not None, attributes["nan"] is not None
    targets = mi["r"]
    assert isinstance(targets, tuple)

    def results(words: Words) -> Words:
        last = reduced(words, type_, op, magnitude=magnitude, keeps_nan=keeps_nan)
        return np.concatenate([words, last[:, None]], axis=1)

    cells = CollectiveCells.of(mi, len(targets))
    return collective_load(c, mi, cells, (*targets, mi["redval"]), results)


def ld_spcompress(c: Compiler, mi: MachineInstr) -> Step:
    """Load two of each four numbers, with their places, and with .red the extreme of all."""
    attributes = mi.form.attributes
    op = attributes["op"]
    assert isinstance(op, WarpReduce)
    magnitude, keeps_nan = attributes["abs"] is not None, attributes.get("nan") is not None
    places, numbers = mi["mdata"], mi["cdata"]
    assert isinstance(places, tuple)
    assert isinstance(numbers, tuple)
    redval = mi.get("redval")

    def results(words: Words) -> Words:
        found = [*compressed(words, op, magnitude=magnitude)]
        if redval is not None:
            last = reduced(words, _F32, op, magnitude=magnitude, keeps_nan=keeps_nan)
            found.append(last[:, None])
        return np.concatenate(found, axis=1)

    cells = CollectiveCells.of(mi, 2 * len(numbers))
    extreme = () if redval is None else (redval,)
    return collective_load(c, mi, cells, (*places, *numbers, *extreme), results)


SEMANTICS: dict[str, Maker] = {
    "tcgen05.ld.red": ld_red,
    "tcgen05.ld.spcompress": ld_spcompress,
    "tcgen05.ld.red.spcompress": ld_spcompress,
}
