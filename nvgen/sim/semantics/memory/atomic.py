"""Read-modify-write operations: each lane's in turn, in the order of the lanes.

Layer: nvgen.sim.semantics.  The simulator runs one record of one warp at a time, so every one is
atomic, whatever its scope; `nvgen.sim.races` looks at orders and scopes.  PTX ISA, atom; red.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from intrinsics.mir import MachineInstr
from intrinsics.modifiers import AtomicOp, NoFtz, ScalarType, Sem, Space
from intrinsics.row import Attribute
from nvgen.sim.actors.vector_clock import Order
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.regions import Access, Addresses, Bytes, Proxy, Region, gather, scatter
from nvgen.sim.races.scopes import reach_of
from nvgen.sim.semantics.memory.accesses import Owners, find, order_of
from nvgen.sim.threads.compile import Compiler, Maker, Setter
from nvgen.sim.threads.lane_values import unsigned
from nvgen.sim.threads.machine import WARP, Outcome, Step, Strand, Warp, lane_numbers
from nvgen.sim.threads.remote import deliver

T = ScalarType

Combine = Callable[[int, int], int]
"""The old value and the operand, as untyped bits, to the new value."""

_FLOATS: dict[ScalarType, type[np.float16 | np.float32 | np.float64]] = {
    T.F16: np.float16,
    T.F32: np.float32,
    T.F64: np.float64,
}
_HALF_PAIRS = {T.F16X2: T.F16, T.BF16X2: T.BF16}
_NAN = {T.F16: 0x7FFF, T.BF16: 0x7FFF, T.F32: 0x7FFF_FFFF, T.F64: 0x7FFF_FFFF_FFFF_FFFF}


def atom(c: Compiler, mi: MachineInstr) -> Step:
    """atom and red: the result, where there is one, is what memory held."""
    type_ = mi.form.attributes["type"]
    assert isinstance(type_, ScalarType)
    if type_.bits > 64:
        raise not_simulated("a 128-bit register")
    space, address = mi.form.attributes["space"], c.address(mi["a"])
    assert space is None or isinstance(space, Space)
    value, third = mi["b"], mi.get("c")
    getters = [c.get(v, type_) for v in (value if isinstance(value, tuple) else (value,))]
    swap = c.get(third, type_) if third is not None else None
    writers = _writers(c, mi, len(getters))
    combine = {flush: combination(mi, type_, flush=flush) for flush in (False, True)}
    size, dtype = type_.bits // 8, unsigned(type_.bits)
    releases = mi.form.attributes.get("sem") in (Sem.RELEASE, Sem.ACQ_REL)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        if releases:
            deliver(warp.cta)
        memory = warp.cta.machine.memory
        before, changed = memory.version, False
        places = _places(strand, address(warp), space, size * len(getters), mi)
        operands = [get(warp) for get in getters]
        swaps = swap(warp) if swap is not None else None
        found = np.zeros((len(getters), WARP), dtype)
        for lane, (region, offset) in zip(lane_numbers(strand.mask), places, strict=True):
            for n, operand in enumerate(operands):
                there = np.array([offset + n * size])
                old = int(gather(region, there, size).view(dtype)[0, 0])
                found[n, lane] = old
                if swaps is None:
                    new = combine[not _is_shared(region, warp)](old, int(operand[lane]))
                else:
                    new = int(swaps[lane]) if old == int(operand[lane]) else old
                scatter(region, there, _bytes(new, size))
                changed |= new != old
        if not changed:  # memory is as it was, so no polling thread is woken
            memory.version = before
        for n, write in enumerate(writers):
            if write is not None:
                write(strand, found[n])
        return None

    return run


def _is_shared(region: Region, warp: Warp) -> bool:
    """Whether a region is shared memory of a warp's cluster."""
    return any(region is cta.shared for cta in warp.cta.cluster.ctas)


def _writers(c: Compiler, mi: MachineInstr, count: int) -> list[Setter | None]:
    result = mi.get("d")
    targets = result if isinstance(result, tuple) else (result,) * count
    return [c.set(reg) if type(reg) is int else None for reg in targets]


def _places(
    strand: Strand, addresses: Addresses, space: Space | None, size: int, mi: MachineInstr
) -> list[tuple[Region, int]]:
    """Where each lane's bytes are, after the checks that a load and a store make."""
    warp = strand.warp
    agent = f"{mi.row.head} of warp {warp.number}"
    chosen = addresses[strand.lanes]
    owners = Owners.of(strand, size)
    found: list[tuple[Region, int] | None] = [None] * chosen.size
    for region, where, part in find(warp.cta, chosen, space, agent, Access.WRITE, owners):
        if region.private:
            raise fault(
                "atomic-space",
                f"{agent} reaches {region.name}, which has no atomic operations",
                expected="global or shared memory",
                section=mi.row.section,
            )
        memory = warp.cta.machine.memory
        order, reach, lanes = order_of(mi, Order.RELAXED), reach_of(mi), owners.lanes[part]
        for kind in (Access.READ, Access.WRITE):
            offsets = memory.access(
                region,
                where,
                size,
                kind,
                Proxy.GENERIC,
                agent,
                align=size,
                order=order,
                reach=reach,
                lanes=lanes,
            )
        if region.shadow is not None:
            region.shadow.exchange(offsets, lanes, order, reach)
        for index, offset in zip(part, offsets, strict=True):
            found[index] = region, int(offset)
    return [place for place in found if place is not None]


def _bytes(value: int, size: int) -> Bytes:
    return np.frombuffer(value.to_bytes(size, "little"), np.uint8)[None, :]


# ---- operations ------------------------------------------------------------------------------


def combination(mi: MachineInstr, type_: ScalarType, *, flush: bool) -> Combine:
    """The function of the old value and the operand that an atomic operation computes."""
    op, keeps = mi.form.attributes.get("op"), mi.form.attributes.get("noftz") is NoFtz.NOFTZ
    if type_ in _HALF_PAIRS:
        one = _combine_floats(op, _HALF_PAIRS[type_], flush=False)
        return lambda old, v: one(old & 0xFFFF, v & 0xFFFF) | one(old >> 16, v >> 16) << 16
    if type_.kind == "f":
        return _combine_floats(op, type_, flush=flush and type_ is T.F32 and not keeps)
    mask = (1 << type_.bits) - 1
    match op:
        case AtomicOp.ADD:
            return lambda old, v: (old + v) & mask
        case AtomicOp.AND:
            return lambda old, v: old & v
        case AtomicOp.OR:
            return lambda old, v: old | v
        case AtomicOp.XOR:
            return lambda old, v: old ^ v
        case AtomicOp.INC:
            return lambda old, v: 0 if old >= v else old + 1
        case AtomicOp.DEC:
            return lambda old, v: v if old == 0 or old > v else old - 1
        case AtomicOp.MIN | AtomicOp.MAX:
            choose = min if op is AtomicOp.MIN else max
            sign = 1 << (type_.bits - 1) if type_.is_signed else 0
            return lambda old, v: choose(old ^ sign, v ^ sign) ^ sign
    return lambda old, v: v


def _combine_floats(op: Attribute, type_: ScalarType, *, flush: bool) -> Combine:
    """Sums rounded to the nearest; of a number and a NaN the number is least and greatest."""

    def value(bits: int) -> float:
        found = _value(bits, type_)
        tiny = flush and abs(found) < 2.0**-126
        return math.copysign(0.0, found) if tiny else found

    def combine(old: int, v: int) -> int:
        a, b = value(old), value(v)
        if op is AtomicOp.ADD:
            total = _bits(a + b, type_)
            return _bits(value(total), type_) if flush else total
        if math.isnan(a) or math.isnan(b):
            return _NAN[type_] if math.isnan(a) and math.isnan(b) else v if math.isnan(a) else old
        if a == b:
            return old & v if op is AtomicOp.MAX else old | v
        smaller = old if a < b else v
        return smaller if op is AtomicOp.MIN else old + v - smaller

    return combine


def _value(bits: int, type_: ScalarType) -> float:
    if type_ is T.BF16:
        return float(np.uint32(bits << 16).view(np.float32))
    return float(unsigned(type_.bits)(bits).view(_FLOATS[type_]))


def _bits(value: float, type_: ScalarType) -> int:
    if math.isnan(value):
        return _NAN[type_]
    with np.errstate(over="ignore"):
        if type_ is T.BF16:
            word = int(np.float32(value).view(np.uint32))
            return (word + 0x7FFF + (word >> 16 & 1)) >> 16
        return int(_FLOATS[type_](value).view(unsigned(type_.bits)))


SEMANTICS: dict[str, Maker] = {"atom": atom, "atom.cas": atom, "red": atom, "multimem.red": atom}
