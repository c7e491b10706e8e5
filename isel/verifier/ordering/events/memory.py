"""Events of loads and stores of shared memory, of strong accesses to flags, and of fences.

Layer: isel.verifier.ordering.events.  PTX ISA, Memory Consistency Model; fence.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping

from intrinsics.mir import Form
from intrinsics.modifiers import ScalarType, Sem, Space
from isel.verifier.function.events import ATOMICS, Kind
from isel.verifier.function.flow.values import LANES
from isel.verifier.ordering.events import lane_order, regions, warp_order
from isel.verifier.ordering.events.execution import Event, Execution
from isel.verifier.ordering.integers.numbers import Number, lanes_of, lanewise, moved, packed
from isel.verifier.ordering.integers.windows import is_in_shared, may_be_shared
from isel.verifier.ordering.program import BULK_STORES
from isel.verifier.ordering.run.clocks import joined
from isel.verifier.ordering.run.synchronisation import StrongLocation


def _is_strong(e: Execution) -> bool:
    return e.mi.form.attributes.get("sem") not in (None, Sem.WEAK)


def _load(e: Execution) -> bool:
    if _is_strong(e):
        return _load_flag(e)
    address = e.slot("a")
    touched = regions.touched(e.mi.form, address, e.mask, False)
    shared = touched.in_shared
    if shared or touched.strays:
        _log(e, Kind.SHARED_LOAD, address, touched)
    width = _width(e.mi.form)
    for element, op in enumerate(e.elements("d")):
        if op not in e.run.program.wanted:
            continue
        number = _stored(e, moved(address, element * width)) if shared else None
        if width == 1:
            number = lanewise(lambda x: x & 0xFF, number)
        e.run.write(e.strand, op, number, e.mask)
    return True


@functools.cache
def _width(form: Form) -> int:
    """The bytes of an element."""
    type_ = form.attributes.get("type")
    return max(type_.bits // 8, 1) if isinstance(type_, ScalarType) else 4


def _stored(e: Execution, address: Number) -> Number:
    """The number stored at an address, as far as it is known."""
    memory = e.machine.memory
    return packed(tuple(None if a is None else memory.get(a) for a in lanes_of(address)))


def _load_flag(e: Execution) -> bool:
    """A strong load; one that reads nothing new blocks until something new is stored.

    A load of global memory returns anyway: another cluster may have written it.  So does one whose
    results decide nothing: nobody waits with it, and it reads what is there.
    """
    address, seen, width = e.slot("a"), e.strand.seen, _width(e.mi.form)
    here = regions.union_lanes(address, e.mask)
    flags = e.machine.flags

    def version() -> tuple[int, ...]:
        return tuple(flags[at].version if at in flags else 0 for at in sorted(here))

    def resume() -> bool:
        unchanged = e.strand.failed and version() == before and is_foreign
        seen[e.index] = version()
        _acquire_flag(e, address)
        if unchanged:
            e.run.log.guess()
            e.forget()
            return True
        for element, op in enumerate(e.elements("d")):
            found = _stored(e, moved(address, element * width))
            e.run.write(e.strand, op, found, e.mask)
        return True

    old = seen.get(e.index)
    stored = all(at in e.machine.memory for at in here)
    before = old or (0,) * len(here)
    is_foreign = not may_be_shared(address)
    decides = any(op in e.run.program.wanted for op in e.elements("d"))
    if (old is None and stored) or version() != before or not here or not decides:
        return resume()
    e.machine.polls.add(e.index)
    if is_foreign:
        e.machine.ended_elsewhere.add(e.index)
    return e.wait(lambda: version() != before, resume, "a flag in memory")


def _store(e: Execution) -> bool:
    address = e.slot("a")
    strong = _is_strong(e)
    touched = _written(e, address)
    if (touched.in_shared or touched.strays) and not strong:
        _log(e, Kind.SHARED_STORE, address, touched)
    width = _width(e.mi.form)
    known = e.strand.registers.get
    numbers = [
        known(op) if type(op) is int else e.run.value(e.strand, op) for op in e.elements("b")
    ]
    if not e.run.program.reads_bytes and numbers.count(None) == len(numbers):
        _spoil(e, _spoilt(address, e.mask, width, len(numbers)))
    else:
        for element, number in enumerate(numbers):
            data = lanes_of(number)
            for lane, at in _places(moved(address, element * width), e.mask).items():
                _put(e, at, data[lane], width)
    if strong:
        e.run.log.strong.update(regions.union_lanes(address, e.mask))
        _release_flag(e, address)
    return True


def _fill(e: Execution) -> bool:
    """st.bulk: weak stores of many bytes by one thread."""
    address, size = e.slot("a"), e.number("size")
    note_astray(e, address)
    if may_be_shared(address) and size is not None:
        e.log(Kind.SHARED_STORE, regions.shared_regions(address, e.mask, size, writes=True))
        for at in regions.union_lanes(address, e.mask):
            _spoil(e, dict.fromkeys(range(at, at + min(size, _MOST_SPOILT))))
    return True


_MOST_SPOILT = 4096
"""Bytes of a bulk store whose contents are forgotten one by one."""


def _spoil(e: Execution, places: Mapping[int, None]) -> None:
    """Store unknown data: without flags, memory that was never written is unknown anyway."""
    memory = e.machine.memory
    if e.run.program.reads_flags:
        memory.update(places)
    else:
        memory.update(dict.fromkeys(places.keys() & memory.keys()))


@functools.lru_cache(1024)  # warps repeat the same addresses
def _spoilt(address: Number, mask: int, width: int, count: int) -> Mapping[int, None]:
    """The bytes that a store of `count` elements of unknown data overwrites, in every lane."""
    places = (_places(moved(address, i * width), mask).values() for i in range(count))
    return dict.fromkeys(itertools.chain.from_iterable(places))


def note_astray(e: Execution, address: Number) -> None:
    """Log a write to an address that is unknown in some lane, and may be in shared memory."""
    _written(e, address)


def _written(e: Execution, address: Number) -> regions.Touched:
    """What is written at an address; logged if that is unknown in some lane."""
    touched = regions.touched(e.mi.form, address, e.mask, True)
    if touched.strays:
        e.run.log.unknown_writes.add(e.index)
    return touched


def _log(e: Execution, kind: Kind, address: Number, touched: regions.Touched) -> None:
    """Log an access to shared memory."""
    if touched.misplaced is not None:
        e.misaligned(*touched.misplaced)
    found = touched.regions
    if touched.strays:
        found = e.run.anywhere(e.index, e.strand.rank, writes=kind is Kind.SHARED_STORE) or found
    if found:
        e.log(kind, found)
    if touched.regions and e.mi.row.id not in ATOMICS:
        lane_order.accessed(e, touched.lanes)


@functools.lru_cache(1024)  # warps repeat the same addresses
def _places(address: Number, mask: int) -> Mapping[int, int]:
    """The known addresses of the lanes of a mask."""
    return {i: at for i, at in enumerate(lanes_of(address)) if mask >> i & 1 and at is not None}


def _put(e: Execution, at: int, number: int | None, width: int) -> None:
    """Store a number; where the kernel reads single bytes, those after the first one too."""
    memory = e.machine.memory
    memory[at] = number
    if e.run.program.reads_bytes:
        for byte in range(1, width):
            memory[at + byte] = None if number is None else number >> 8 * byte


_ATOMIC: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__, "exch": lambda _, b: b, "or": int.__or__, "and": int.__and__,
    "xor": int.__xor__, "max": max, "min": min, "inc": lambda a, b: 0 if a >= b else a + 1,
}  # fmt: skip


def _atomic(e: Execution) -> bool:
    address = e.slot("a")
    touched = _written(e, address)
    if touched.in_shared or touched.strays:
        _log(e, Kind.SHARED_STORE, address, touched)
    _release_flag(e, address)
    _acquire_flag(e, address)
    data, memory = lanes_of(e.slot("b")), e.machine.memory
    operation = _ATOMIC.get(str(getattr(e.mi.form.attributes.get("op"), "value", "")))
    results: list[int | None] = [None] * LANES
    for lane, at in enumerate(lanes_of(address)):
        if not e.mask >> lane & 1 or at is None:
            continue
        old, by = memory.get(at, None if is_in_shared(at) else 0), data[lane]
        results[lane] = old
        memory[at] = None
        if operation is not None and old is not None and by is not None:
            memory[at] = operation(old, by) & 0xFFFFFFFF
    e.write("d", packed(tuple(results)))
    return True


def _release_flag(e: Execution, address: Number) -> None:
    """Release the clocks of the thread, or those of its last fence, by a strong write."""
    releases = e.mi.form.attributes.get("sem") in (Sem.RELEASE, Sem.ACQ_REL)
    release = e.release(arrives=True)
    release = release if releases else e.relaxed_release()
    for at in regions.union_lanes(address, e.mask):
        e.machine.flags.setdefault(at, StrongLocation()).write(release)
        e.machine.changed = True


def _acquire_flag(e: Execution, address: Number) -> None:
    relaxed = e.mi.form.attributes.get("sem") not in (Sem.ACQUIRE, Sem.ACQ_REL)
    for at in regions.union_lanes(address, e.mask):
        flag = e.machine.flags.get(at)
        if flag is not None:
            e.strand.clocks.acquire(flag.release, relaxed=relaxed)
            warp_order.met(e.machine, e.strand.actor)


def _fence(e: Execution) -> bool:
    clocks = e.strand.clocks
    clocks.acquire(clocks.acquiring)
    clocks.released = e.release()
    warp_order.met(e.machine, e.strand.actor)
    return True


def _proxy_fence(e: Execution) -> bool:
    if e.mi.form.attributes.get("space") is Space.GLOBAL:
        return True  # it says nothing of shared memory
    clocks = e.strand.clocks
    clocks.proxied = joined(clocks.proxied, e.release().known)
    return True


EVENTS: dict[str, Event] = {
    **dict.fromkeys(("ld", "ldmatrix"), _load),
    **dict.fromkeys(("st", "stmatrix"), _store),
    **dict.fromkeys(BULK_STORES, _fill),
    **dict.fromkeys(ATOMICS, _atomic),
    **dict.fromkeys(("fence", "membar"), _fence),
    **dict.fromkeys(("fence.proxy.async", "fence.proxy.async::generic"), _proxy_fence),
}
"""By row."""
