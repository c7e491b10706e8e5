"""Loads and stores of local memory, which each thread has its own of.

Layer: isel.verifier.ordering.  Compilers keep an array there that is indexed by a run-time value,
often one of mbarriers' addresses.  A variable has another address in each thread, so that all
threads keep theirs in the one memory of a run, each number at the address of its first byte.
PTX ISA, Local State Space.
"""

from __future__ import annotations

from isel.verifier.ordering.integers.numbers import lanes_of, moved, packed
from isel.verifier.ordering.integers.windows import is_in_shared
from isel.verifier.ordering.run.plain_step import Plain


def load(p: Plain) -> None:
    """Load what the thread has stored, where that is known."""
    address, width, memory = p.slot("a"), p.mi.scalar_type().bits // 8, p.run.machine.memory
    for element, op in enumerate(p.elements("d")):
        places = lanes_of(moved(address, element * width))
        found = [None if at is None else _kept(memory, at, width) for at in places]
        p.run.write(p.strand, op, packed(tuple(found)), p.mask)


def _kept(memory: dict[int, int | None], at: int, width: int) -> int | None:
    """The `width` bytes at an address, of the numbers that begin there: each ends at the next."""
    if at not in memory:
        return None
    found, end = 0, width
    for byte in reversed(range(width)):
        if at + byte in memory:
            number = memory[at + byte]
            if number is None:
                return None
            found |= (number & (1 << 8 * (end - byte)) - 1) << 8 * byte
            end = byte
    return found


def store(p: Plain) -> None:
    """Store numbers; at an address that is not known, a thread might overwrite all that it has."""
    address, width, memory = p.slot("a"), p.mi.scalar_type().bits // 8, p.run.machine.memory
    for element, op in enumerate(p.elements("b")):
        data = lanes_of(p.run.value(p.strand, op))
        for lane, at in enumerate(lanes_of(moved(address, element * width))):
            if not p.mask >> lane & 1:
                continue
            if at is None:
                memory.update({other: None for other in memory if not is_in_shared(other)})
            else:
                _keep(memory, at, data[lane], width)


def _keep(memory: dict[int, int | None], at: int, number: int | None, width: int) -> None:
    """Store a number of `width` bytes; what was there before keeps its other bytes."""
    if at in memory and at + width not in memory:
        old = memory[at]
        if old is None or old >> 8 * width:
            memory[at + width] = None if old is None else old >> 8 * width
    memory[at] = number
    for byte in range(1, width):
        memory.pop(at + byte, None)
