"""What records do to order, one function for each kind: accesses, arrivals, waits and fences.

Layer: isel.verifier.ordering.  PTX ISA: mbarrier, barrier, fence, tcgen05 Memory Consistency Model,
cp.async.bulk, wgmma.  A function gets the run, the strand, the record, its number and the threads
that execute it; it returns False where the strand waits before the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from intrinsics.mir import Imm, MachineInstr, Text
from intrinsics.modifiers import CtaGroup, LdStShape, Sem, Space, ThreadSync, WaitOp
from isel.verifier.function.events import Kind
from isel.verifier.function.widths import moved_columns
from isel.verifier.ordering import regions
from isel.verifier.ordering.clocks import SILENCE, Clock, Counters, Source, Told, joined
from isel.verifier.ordering.log import Access, Memory, Region
from isel.verifier.ordering.meetings import Barrier, Delivery, Flag, Mbarrier
from isel.verifier.ordering.numbers import LANES, Number, lanes_of, lanewise, packed, uniform
from isel.verifier.ordering.strand import Strand

if TYPE_CHECKING:
    from isel.verifier.ordering.execute import Run

Event: TypeAlias = Callable[["Run", Strand, MachineInstr, int, int], bool]

_SHARED_LIMIT = 1 << 32
_LANES_OF_QUARTER = 32


def _actor(strand: Strand) -> int:
    return strand.rank * 64 + strand.warp


def _thread(strand: Strand, mask: int) -> int:
    """The first thread of a mask, among those of all CTAs."""
    return _actor(strand) * LANES + (mask & -mask).bit_length() - 1


def _counters(run: Run, strand: Strand) -> Counters:
    return run.machine.counters.setdefault(_actor(strand), Counters())


def _source(kind: str, strand: Strand) -> Source:
    return kind, _actor(strand)


def _number(run: Run, strand: Strand, mi: MachineInstr, name: str, mask: int) -> int | None:
    return uniform(run.slot(strand, mi, name), mask)


def said(run: Run, strand: Strand, index: int = -1) -> Told:
    """What a thread says as it arrives somewhere: at the record `index`, if that is an arrival."""
    if index >= 0:
        here = len(run.log.accesses), index
        run.log.arrivals.setdefault(_actor(strand), []).append(here)
    mind, mine = strand.knowledge, {_source("warp", strand): _counters(run, strand).get("warp")}
    known = joined(mind.known, mine)
    return Told(known, joined(mind.before, mind.heard), mind.proxied, joined(mind.rumour, known))


def _done(told: Told, clock: Clock) -> Told:
    """What is said, and that an asynchronous operation is complete."""
    return Told(
        joined(told.known, clock), joined(told.fenced, clock), joined(told.proxied, clock),
        joined(told.rumour, clock),
    )  # fmt: skip


def _log(
    run: Run, strand: Strand, index: int, kind: Kind, found: list[Region], *,
    done: str = "warp", count: int | None = None, by_proxy: bool = False,
    source: Source | None = None,
) -> None:  # fmt: skip
    counters, mind = _counters(run, strand), strand.knowledge
    here = counters.next("warp")
    alone = strand.mask.bit_count() == 1
    number = count if count is not None else here if done == "warp" else counters.next(done)
    run.log.accesses.append(
        Access(
            index, kind, strand.rank, _actor(strand), len(run.log.accesses), found,
            (source or _source(done, strand), number), mind.known, mind.fenced, mind.proxied,
            mind.heard, joined(mind.rumour, mind.known),
            (_source("warp", strand), here), by_proxy, alone,
        )
    )  # fmt: skip


def _is_shared(address: Number) -> bool:
    return any(a is not None and a < _SHARED_LIMIT for a in lanes_of(address))


# ---- memory ------------------------------------------------------------------------------------


def _load(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    address = run.slot(strand, mi, "a")
    if mi.form.facts.get("sem") not in (None, Sem.WEAK):
        return _load_flag(run, strand, mi, index, mask)
    number: Number = None
    if _is_shared(address):
        found = regions.generic(mi, address, mask, writes=False)
        _log(run, strand, index, Kind.SHARED_LOAD, found)
        number = _remembered(run, address)
    run.write(strand, mi.get("d"), number, mask)
    return True


def _remembered(run: Run, address: Number) -> Number:
    """What was stored at an address, as far as that is known."""
    memory = run.machine.memory
    return packed(tuple(None if a is None else memory.get(a) for a in lanes_of(address)))


def _load_flag(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    """A strong load; one that finds nothing new waits until there is something."""
    address = run.slot(strand, mi, "a")
    here = regions.union_lanes(address, mask)
    flags = run.machine.flags

    def version() -> tuple[int, ...]:
        return tuple(flags[at].version if at in flags else 0 for at in sorted(here))

    def resume() -> bool:
        strand.seen[index] = version()
        _hear_flag(run, strand, mi, address, mask)
        run.write(strand, mi.get("d"), _remembered(run, address), mask)
        return True

    old = strand.seen.get(index)
    stored = all(at in run.machine.memory for at in here)
    if (old is None and stored) or version() != (old or (0,) * len(here)) or not here:
        return resume()
    run.machine.asks.add(index)
    return run.wait(
        strand, index, lambda: version() != (old or (0,) * len(here)), resume, "a flag in memory"
    )


def _store(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    address = run.slot(strand, mi, "a")
    strong = mi.form.facts.get("sem") not in (None, Sem.WEAK)
    if _is_shared(address) and not strong:
        found = regions.generic(mi, address, mask, writes=True)
        _log(run, strand, index, Kind.SHARED_STORE, found)
    data = lanes_of(run.slot(strand, mi, "b"))
    for lane, at in enumerate(lanes_of(address)):
        if mask >> lane & 1 and at is not None:
            run.machine.memory[at] = data[lane]
    if strong:
        _tell_flag(run, strand, mi, address, mask)
    return True


_ATOMIC: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__, "exch": lambda _, b: b, "or": int.__or__, "and": int.__and__,
    "xor": int.__xor__, "max": max, "min": min, "inc": lambda a, b: 0 if a >= b else a + 1,
}  # fmt: skip


def _atomic(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    address = run.slot(strand, mi, "a")
    _tell_flag(run, strand, mi, address, mask)
    _hear_flag(run, strand, mi, address, mask)
    data, memory = lanes_of(run.slot(strand, mi, "b")), run.machine.memory
    operation = _ATOMIC.get(str(getattr(mi.form.facts.get("op"), "value", "")))
    results: list[int | None] = [None] * LANES
    for lane, at in enumerate(lanes_of(address)):
        if not mask >> lane & 1 or at is None:
            continue
        old, by = memory.get(at, 0 if at >= _SHARED_LIMIT else None), data[lane]
        results[lane] = old
        memory[at] = None
        if operation is not None and old is not None and by is not None:
            memory[at] = operation(old, by) & 0xFFFFFFFF
    run.write(strand, mi.get("d"), packed(tuple(results)), mask)
    return True


def _tell_flag(run: Run, strand: Strand, mi: MachineInstr, address: Number, mask: int) -> None:
    """A strong write hands on what its thread knows, or what it knew at its last fence."""
    sem = mi.form.facts.get("sem")
    releases = sem in (Sem.RELEASE, Sem.ACQ_REL)
    told = said(run, strand, run.index)
    told = told if releases else _relaxed(run, strand)
    for at in regions.union_lanes(address, mask):
        run.machine.flags.setdefault(at, Flag()).tell(told)
        run.machine.changed = True


def _hear_flag(run: Run, strand: Strand, mi: MachineInstr, address: Number, mask: int) -> None:
    sem = mi.form.facts.get("sem")
    for at in regions.union_lanes(address, mask):
        flag = run.machine.flags.get(at)
        if flag is None:
            continue
        told = flag.told
        if sem in (Sem.ACQUIRE, Sem.ACQ_REL):
            strand.knowledge.learn(told)
        else:
            strand.knowledge.acquiring = strand.knowledge.acquiring.and_(told)
            strand.knowledge.heard = joined(strand.knowledge.heard, told.fenced)
            strand.knowledge.rumour = joined(strand.knowledge.rumour, told.rumour)


def _relaxed(run: Run, strand: Strand) -> Told:
    """What a relaxed arrival or write hands on: what fences let it, of either kind."""
    mind = strand.knowledge
    fenced = joined(mind.before, mind.heard)
    rumour = joined(said(run, strand).rumour, fenced)
    return Told(joined(mind.released.known, fenced), fenced, mind.released.proxied, rumour)


def _fence(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    mind = strand.knowledge
    mind.learn(mind.acquiring)
    mind.released = said(run, strand)
    return True


def _proxy_fence(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    mind = strand.knowledge
    mind.proxied = joined(mind.proxied, said(run, strand).known)
    return True


def _nothing(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    for reg in mi.defs():
        run.write(strand, reg, None, mask)
    return True


# ---- barriers ----------------------------------------------------------------------------------


def _barrier(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    number = _number(run, strand, mi, "barrier", mask) if mi.get("barrier") is not None else 0
    whole = -(-run.launch.threads // LANES) * LANES
    count = whole
    if mi.get("count") is not None:
        known = _number(run, strand, mi, "count", mask)
        if known is None:
            run.log.unknown.append("barrier count")
        count = known or whole
    if number is None:
        run.log.unknown.append("barrier number")
        return True
    of_all = mi.get("count") is None
    barrier = run.machine.barrier(strand.rank, number, count, of_all=of_all)
    waits, what = "arrive" not in mi.row.id, f"barrier {number} of {count} threads"
    return _meet(run, strand, mi, index, barrier, waits=waits, what=what)


def _meet(
    run: Run, strand: Strand, mi: MachineInstr, index: int, barrier: Barrier, *,
    waits: bool, what: str,
) -> bool:  # fmt: skip
    if waits and not run.gather(strand, index):
        return False
    generation = barrier.generation
    barrier.arrive(LANES, said(run, strand, index))
    for reg in mi.defs():
        run.write(strand, reg, None, strand.mask)
    if not waits:
        return True

    def resume() -> bool:
        strand.knowledge.learn(barrier.over)
        return True

    return run.wait(strand, index, lambda: barrier.generation > generation, resume, what)


def _cluster_arrive(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    barrier = _cluster_barrier(run)
    strand.tokens[-1] = barrier.generation
    barrier.arrive(mask.bit_count(), said(run, strand, index))
    return True


def _cluster_wait(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    barrier, generation = _cluster_barrier(run), strand.tokens.get(-1, 0)

    def resume() -> bool:
        strand.knowledge.learn(barrier.over)
        return True

    return run.wait(
        strand, index, lambda: barrier.generation > generation, resume, "the cluster's barrier"
    )


def _cluster_barrier(run: Run) -> Barrier:
    return run.machine.barrier(0, -1, run.launch.threads * run.launch.ctas, of_all=True)


def _warp_sync(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    members = _number(run, strand, mi, "membermask", mask)
    whole = members is not None and members & ~strand.mask & (1 << LANES) - 1 == 0
    if not whole and not run.gather(strand, index):
        return False
    run.log.met[_actor(strand)] = len(run.log.accesses)
    return True


# ---- mbarriers ---------------------------------------------------------------------------------


def _mbarriers(run: Run, strand: Strand, mi: MachineInstr, mask: int) -> list[tuple[Mbarrier, int]]:
    """The mbarriers that the threads of a mask name, with the number of threads for each."""
    found: dict[int, int] = {}
    number = run.slot(strand, mi, "mbar")
    peers = _number(run, strand, mi, "cta_mask", mask) if mi.get("cta_mask") is not None else None
    for lane, at in enumerate(lanes_of(number)):
        if not mask >> lane & 1:
            continue
        if at is None:
            run.log.unknown.append("mbarrier address")
            continue
        for one in _in_ctas(at, peers):
            found[one] = found.get(one, 0) + 1
    here = []
    for at, threads in found.items():
        mbarrier = run.machine.mbarriers.get(at)
        if mbarrier is None:
            run.absent(at)
        else:
            here.append((mbarrier, threads))
    return here


def _in_ctas(address: int, peers: int | None) -> list[int]:
    if peers is None:
        return [address]
    offset = address & (1 << regions.WINDOW) - 1
    return [offset | r << regions.WINDOW for r in range(16) if peers >> r & 1]


def _init(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    counts = lanes_of(run.slot(strand, mi, "count"))
    for lane, at in enumerate(lanes_of(run.slot(strand, mi, "mbar"))):
        if not mask >> lane & 1:
            continue
        count = counts[lane]
        if at is None or count is None:
            run.log.unknown.append("mbarrier.init")
        else:
            run.machine.mbarriers[at] = Mbarrier(count, index, at)
    return True


def _inval(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    for at in regions.union_lanes(run.slot(strand, mi, "mbar"), mask):
        run.machine.mbarriers.pop(at, None)
    return True


def _arrive(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    count = 1
    if mi.get("count") is not None:
        count = _number(run, strand, mi, "count", mask) or 1
    relaxed = mi.form.facts.get("sem") is Sem.RELAXED
    told = said(run, strand, index)
    told = _relaxed(run, strand) if relaxed else told
    for mbarrier, threads in _mbarriers(run, strand, mi, mask):
        if mi.get("tx_count") is not None:
            _expects(run, strand, mi, mask, mbarrier, threads)
        run.write(strand, mi.get("state"), mbarrier.phase, mask)
        if "drop" in mi.row.id:
            mbarrier.expected -= threads
        mbarrier.arrive(count * threads, told)
        run.machine.changed = True
    return True


def _expect(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    for mbarrier, threads in _mbarriers(run, strand, mi, mask):
        _expects(run, strand, mi, mask, mbarrier, threads)
    return True


def _expects(
    run: Run, strand: Strand, mi: MachineInstr, mask: int, mbarrier: Mbarrier, threads: int
) -> None:
    bytes_ = _number(run, strand, mi, "tx_count", mask)
    mbarrier.expect(None if bytes_ is None else bytes_ * threads)
    run.log.expected[mbarrier.at, mbarrier.phase] = mbarrier.whole


def _complete(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    bytes_ = _number(run, strand, mi, "tx_count", mask)
    for mbarrier, threads in _mbarriers(run, strand, mi, mask):
        whole = None if bytes_ is None else bytes_ * threads
        run.deliver(mbarrier, Delivery(said(run, strand), whole, index=index))
    return True


def _ask(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    found = _mbarriers(run, strand, mi, mask)
    parity = mi.get("phase") is not None
    phase = _number(run, strand, mi, "phase" if parity else "state", mask)
    if len(found) != 1 or phase is None:
        if found or phase is None:
            run.log.unknown.append("wait")
        run.write(strand, mi.get("done"), 1, mask)
        return True
    ((mbarrier, _),) = found
    run.machine.asks.add(index)
    address = next(iter(regions.union_lanes(run.slot(strand, mi, "mbar"), mask)))

    def is_over() -> bool:
        return mbarrier.has_parity_over(phase) if parity else mbarrier.is_over(phase)

    def resume() -> bool:
        if strand.failed and not is_over():
            run.write(strand, mi.get("done"), 0, mask)
            return True
        strand.failed = False
        relaxed = mi.form.facts.get("sem") is Sem.RELAXED
        if relaxed:
            strand.knowledge.heard = joined(strand.knowledge.heard, mbarrier.over.fenced)
            strand.knowledge.rumour = joined(strand.knowledge.rumour, mbarrier.over.rumour)
            strand.knowledge.acquiring = strand.knowledge.acquiring.and_(mbarrier.over)
        else:
            strand.knowledge.learn(mbarrier.over)
        run.write(strand, mi.get("done"), 1, mask)
        return True

    name = f"mbarrier {run.name_of(address)}, parity {phase & 1}"
    if is_over():
        return resume()
    if run.late and strand.asked.get(index) != (address, phase):
        strand.asked[index] = address, phase  # it may return before the phase is over
        run.write(strand, mi.get("done"), 0, mask)
        return True
    return run.wait(strand, index, is_over, resume, name)


# ---- copies ------------------------------------------------------------------------------------


def _bulk_load(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    """A bulk copy to shared memory, which brings its bytes to an mbarrier."""
    destination, mbar = (_number(run, strand, mi, name, mask) for name in ("dst", "mbar"))
    if destination is None or mbar is None:
        run.log.unknown.append("address of a copy")
        return True
    size = _number(run, strand, mi, "size", mask) if mi.get("size") is not None else None
    if size is None:
        size = run.box(mi)
    peers = _number(run, strand, mi, "cta_mask", mask) if mi.get("cta_mask") is not None else None
    source = _number(run, strand, mi, "src", mask) if mi.get("src") is not None else None
    if source is not None and source < _SHARED_LIMIT:
        read = regions.shared(source, size or 16, writes=False)
        _log(run, strand, index, Kind.COPY_OUT, [read], done="sent", by_proxy=True)
    for to, at in zip(_in_ctas(destination, peers), _in_ctas(mbar, peers), strict=True):
        mbarrier = run.machine.mbarriers.get(at)
        if mbarrier is None:
            run.absent(at)
            continue
        source_ = ("copy", at)
        count = run.machine.copies[at] = run.machine.copies.get(at, 0) + 1
        region = regions.shared(to, size or 0, writes=True, exact=size is not None, name="copy")
        if size is None:
            run.log.copies.setdefault((at, mbarrier.phase), []).append(region.first)
        _log(run, strand, index, Kind.COPY_IN, [region], count=count, source=source_, by_proxy=True)
        told = Told({source_: count}, {}, {source_: count})
        run.track(source_, count, at)
        run.deliver(mbarrier, Delivery(told, size, index=index))
    return True


def _bulk_store(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    source = _number(run, strand, mi, "src", mask)
    if source is None:
        run.log.unknown.append("address of a copy")
        return True
    size = _number(run, strand, mi, "size", mask) if mi.get("size") is not None else run.box(mi)
    region = regions.shared(source, size or 16, writes=False)
    _log(run, strand, index, Kind.COPY_OUT, [region], done="bulk", by_proxy=True)
    return True


def _commit_group(kind: str) -> Event:
    def run_(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
        counters = _counters(run, strand)
        groups = run.machine.groups.setdefault((kind, _actor(strand)), [])
        groups.append(counters.get(kind))
        return True

    return run_


def _wait_group(kind: str) -> Event:
    def run_(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
        groups = run.machine.groups.get((kind, _actor(strand)), [])
        left = mi.get("n")
        keep = left.value if isinstance(left, Imm) else 0
        done = groups[: len(groups) - keep] if keep else groups
        count = done[-1] if done else 0
        if kind == "wgmma" and not run.gather(strand, index):
            return False
        mind = strand.knowledge
        clock = {_warpgroup(strand) if kind == "wgmma" else _source(kind, strand): count}
        mind.known, mind.proxied = joined(mind.known, clock), joined(mind.proxied, clock)
        return True

    return run_


def _copy_async(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    address = run.slot(strand, mi, "dst")
    size = mi.get("size")
    if _is_shared(address):
        width = size.value if isinstance(size, Imm) else 16
        found = [
            regions.shared(at, width, writes=True)
            for at in sorted(regions.union_lanes(address, mask))
        ]
        _log(run, strand, index, Kind.SHARED_STORE, found, done="cp.async")
    return True


def _copies_arrive(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    clock = {_source("cp.async", strand): _counters(run, strand).get("cp.async")}
    counts = mi.form.facts.get("noinc") is not None
    for mbarrier, threads in _mbarriers(run, strand, mi, mask):
        told = Told(joined(said(run, strand).known, clock), {}, {})
        if counts:
            mbarrier.arrive(threads, told)
        else:
            mbarrier.told = mbarrier.told.and_(told)
    return True


def _wait_all_copies(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    clock = {_source("cp.async", strand): _counters(run, strand).get("cp.async")}
    strand.knowledge.known = joined(strand.knowledge.known, clock)
    return True


def _store_async(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    address = run.slot(strand, mi, "a")
    found = regions.generic(mi, address, mask, writes=True)
    size = sum(r.last - r.first for r in found)
    for mbarrier, _ in _mbarriers(run, strand, mi, mask):
        at = next(iter(regions.union_lanes(run.slot(strand, mi, "mbar"), mask)))
        count = run.machine.copies[at] = run.machine.copies.get(at, 0) + 1
        source = ("copy", at)
        _log(run, strand, index, Kind.COPY_IN, found, count=count, source=source)
        run.deliver(mbarrier, Delivery(Told({source: count}), size, index=index))
    return True


def _opaque(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    """clusterlaunchcontrol.try_cancel brings 16 bytes to an mbarrier, perhaps of every CTA."""
    text, registers = mi.get("text"), mi.get("registers")
    if not isinstance(text, Text) or not isinstance(registers, tuple):
        return True
    at = uniform(run.value(strand, registers[-1]), mask)
    if at is None:
        run.log.unknown.append("mbarrier address")
        return True
    everywhere = (1 << run.launch.ctas) - 1 if "multicast::cluster::all" in text.text else None
    for one in _in_ctas(at, everywhere):
        mbarrier = run.machine.mbarriers.get(one)
        if mbarrier is not None:
            run.deliver(mbarrier, Delivery(SILENCE, 16, index=index))
    return True


# ---- wgmma -------------------------------------------------------------------------------------


def _warpgroup(strand: Strand) -> Source:
    """The multiplies of a warpgroup, which its four warps issue and complete together."""
    return "wgmma", strand.rank * 16 + strand.warp // 4


def _warpgroup_multiply(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    numbers = {
        name: n for name in ("a", "b")
        if type(mi.get(name)) is int and (n := _number(run, strand, mi, name, mask)) is not None
        and _is_descriptor(run, n)
    }  # fmt: skip
    found = list(regions.warpgroup_matrices(mi, numbers, strand.rank))
    count = _counters(run, strand).next("wgmma")
    source = _warpgroup(strand)
    _log(
        run, strand, index, Kind.WARPGROUP_MULTIPLY, found, count=count, source=source,
        by_proxy=True,
    )  # fmt: skip
    for reg in mi.defs():
        strand.registers.pop(reg, None)
    return True


# ---- tcgen05 -----------------------------------------------------------------------------------


def _ranks(mi: MachineInstr, strand: Strand) -> tuple[int, ...]:
    if mi.form.facts.get("cta_group") is CtaGroup.TWO:
        return strand.rank & ~1, strand.rank | 1
    return (strand.rank,)


def _allocate(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    to, count = (_number(run, strand, mi, name, mask) for name in ("dst", "ncols"))
    if to is None or count is None:
        run.log.unknown.append("tcgen05.alloc")
        return True
    first = run.machine.columns.get(strand.rank, 0)
    run.machine.columns[strand.rank] = first + count
    run.machine.memory[to] = first
    _log(run, strand, index, Kind.SHARED_STORE, [regions.shared(to, 4, writes=True, name="slot")])
    return True


def _free(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    first, count = (_number(run, strand, mi, name, mask) for name in ("taddr", "ncols"))
    if first is None or count is None:
        return True
    first &= 0xFFFF
    found = [Region(Memory.TENSOR, strand.rank, first, first + count, writes=True)]
    _log(run, strand, index, Kind.DEALLOC, found)  # each CTA of a pair frees its own
    return True


def _move(kind: Kind) -> Event:
    def run_(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
        address = _number(run, strand, mi, "taddr", mask)
        name = "ld" if kind is Kind.TENSOR_LOAD else "st"
        for reg in mi.defs():
            strand.registers.pop(reg, None)
        if address is None:
            run.log.unknown.append("tensor memory address")
            return True
        width = moved_columns(mi.form) or 1
        split_shape = mi.form.facts.get("shape") in (LdStShape.S32X32B, LdStShape.S16X32BX2)
        rows = _LANES_OF_QUARTER if split_shape else 16
        lane = address >> 16 & 0x7F
        lanes = ((1 << rows) - 1) << lane
        first = address & 0xFFFF
        split = mi.get("half_split")
        starts = [first] + ([first + split.value] if isinstance(split, Imm) else [])
        found = [
            Region(Memory.TENSOR, strand.rank, at, at + width, lanes, kind is Kind.TENSOR_STORE)
            for at in starts
        ]
        _log(run, strand, index, kind, found, done=name)
        return True

    return run_


def _issue(
    run: Run, strand: Strand, index: int, mask: int, kind: Kind, found: list[Region]
) -> None:
    """An operation that tcgen05.commit of the same thread tracks."""
    thread = _thread(strand, mask)
    count = run.machine.issued[thread] = run.machine.issued.get(thread, 0) + 1
    _log(run, strand, index, kind, found, count=count, source=("tc", thread), by_proxy=True)


def _is_descriptor(run: Run, word: int) -> bool:
    """Whether a word may be a shared memory descriptor: it names a place in a variable."""
    return any(first <= (word & 0x3FFF) << 4 < last for first, last in run.machine.shared)


def _multiply(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    names = ("d", "a", "b", "sp_meta", "sfa", "sfb", "idesc")
    numbers = {n: _number(run, strand, mi, n, mask) for n in names if mi.get(n) is not None}
    if numbers.get("d") is None:
        run.log.unknown.append("tensor memory address")
        return True
    known = {n: v for n, v in numbers.items() if v is not None}
    in_tensor = getattr(mi.form.facts.get("a"), "name", "") == "TENSOR"
    ranks = _ranks(mi, strand)
    touched = {n: v for n, v in known.items() if n not in ("a", "b") or (n == "a" and in_tensor)}
    found = regions.columns(mi, index, Kind.MULTIPLY, touched, ranks)
    matrices = {
        n: v for n, v in known.items()
        if n == "idesc" or ((n == "b" or (n == "a" and not in_tensor)) and _is_descriptor(run, v))
    }  # fmt: skip
    found += regions.matrices(mi, index, matrices, strand.rank, len(ranks))
    _issue(run, strand, index, mask, Kind.MULTIPLY, found)
    return True


def _copy(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    address, descriptor = (_number(run, strand, mi, n, mask) for n in ("taddr", "s_desc"))
    if address is None:
        run.log.unknown.append("tensor memory address")
        return True
    found = regions.columns(mi, index, Kind.TENSOR_COPY, {"taddr": address}, _ranks(mi, strand))
    if descriptor is not None and _is_descriptor(run, descriptor):
        found.append(regions.copied(descriptor, strand.rank))
    _issue(run, strand, index, mask, Kind.TENSOR_COPY, found)
    return True


def _shift(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    address = _number(run, strand, mi, "taddr", mask)
    if address is None:
        run.log.unknown.append("tensor memory address")
        return True
    found = regions.columns(mi, index, Kind.SHIFT, {"taddr": address}, _ranks(mi, strand))
    _issue(run, strand, index, mask, Kind.SHIFT, found)
    return True


def _commit(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    thread = _thread(strand, mask)
    pipelined = {("tc", s[1]): n for s, n in strand.knowledge.fenced.items() if s[0] == "issued"}
    clock = {**pipelined, ("tc", thread): run.machine.issued.get(thread, 0)}
    run.log.committed = dict(joined(run.log.committed, clock))
    told = said(run, strand)
    fenced = joined(told.fenced, strand.knowledge.known)
    told = _done(Told(told.known, fenced, told.proxied, told.rumour), clock)
    for mbarrier, threads in _mbarriers(run, strand, mi, mask):
        run.track(("tc", thread), clock["tc", thread], mbarrier.at)
        run.deliver(mbarrier, Delivery(told, 0, threads, index))
    return True


def _wait_moves(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    kind = "ld" if mi.form.facts.get("op") is WaitOp.LD else "st"
    clock = {_source(kind, strand): _counters(run, strand).get(kind)}
    strand.knowledge.known = joined(strand.knowledge.known, clock)
    return True


def _tensor_fence(run: Run, strand: Strand, mi: MachineInstr, index: int, mask: int) -> bool:
    mind, actor = strand.knowledge, _actor(strand)
    if mi.form.facts.get("side") is ThreadSync.BEFORE:
        own = {s: n for s, n in mind.known.items() if s[1] == actor and s[0] in ("ld", "st")}
        own |= {s: n for s, n in mind.known.items() if s[0] == "tc" and s[1] // LANES == actor}
        own[_source("warp", strand)] = _counters(run, strand).get("warp")
        for thread in range(actor * LANES, (actor + 1) * LANES):
            if thread in run.machine.issued and strand.mask >> thread % LANES & 1:
                own["issued", thread] = run.machine.issued[thread]
        mind.before = joined(joined(mind.before, mind.fenced), own)
    else:
        mind.fenced = joined(mind.fenced, mind.heard)
        mind.known = joined(mind.known, mind.heard)
    return True


EVENTS: dict[str, Event] = {
    **dict.fromkeys(("ld", "ldmatrix"), _load),
    **dict.fromkeys(("st", "stmatrix"), _store),
    **dict.fromkeys(("atom", "atom.cas", "red"), _atomic),
    **dict.fromkeys(("fence", "membar"), _fence),
    **dict.fromkeys(("fence.proxy.async", "fence.proxy.async::generic"), _proxy_fence),
    **dict.fromkeys(
        (
            "fence.mbarrier_init",
            "fence.sync_restrict",
            "fence.proxy.alias",
            "wgmma.fence",
            "fence.proxy.tensormap.release",
            "fence.proxy.tensormap.acquire",
            "mbarrier.pending_count",
            "mbarrier.check_layout",
            "cp.async.bulk.prefetch",
            "cp.async.bulk.prefetch.tensor",
            "cp.async.bulk.prefetch.tensor.im2col",
            "tcgen05.relinquish_alloc_permit",
            "st.async.release",
            "red.async.release",
        ),
        _nothing,
    ),
    **dict.fromkeys(
        ("bar.sync", "barrier.sync", "bar.red", "barrier.red", "bar.arrive", "barrier.arrive"),
        _barrier,
    ),
    "barrier.cluster.arrive": _cluster_arrive,
    "barrier.cluster.wait": _cluster_wait,
    "bar.warp.sync": _warp_sync,
    "mbarrier.init": _init,
    "mbarrier.inval": _inval,
    **dict.fromkeys(
        (
            "mbarrier.arrive",
            "mbarrier.arrive_drop",
            "mbarrier.arrive.expect_tx",
            "mbarrier.arrive_drop.expect_tx",
        ),
        _arrive,
    ),
    "mbarrier.expect_tx": _expect,
    "mbarrier.complete_tx": _complete,
    **dict.fromkeys(
        (
            "mbarrier.test_wait",
            "mbarrier.test_wait.parity",
            "mbarrier.try_wait",
            "mbarrier.try_wait.parity",
        ),
        _ask,
    ),
    **dict.fromkeys(
        (
            "cp.async.bulk.tensor.load",
            "cp.async.bulk.tensor.load.im2col",
            "cp.async.bulk.load",
            "cp.async.bulk.load.ignore_oob",
            "cp.async.bulk.to_cluster",
            "cp.reduce.async.bulk.to_cluster",
        ),
        _bulk_load,
    ),
    **dict.fromkeys(
        (
            "cp.async.bulk.tensor.store",
            "cp.reduce.async.bulk.tensor",
            "cp.async.bulk.store",
            "cp.reduce.async.bulk.store",
        ),
        _bulk_store,
    ),
    "cp.async.bulk.commit_group": _commit_group("bulk"),
    "cp.async.bulk.wait_group": _wait_group("bulk"),
    **dict.fromkeys(("cp.async", "cp.async.ignore_src"), _copy_async),
    "cp.async.commit_group": _commit_group("cp.async"),
    "cp.async.wait_group": _wait_group("cp.async"),
    "cp.async.wait_all": _wait_all_copies,
    "cp.async.mbarrier.arrive": _copies_arrive,
    **dict.fromkeys(("st.async", "red.async"), _store_async),
    "wgmma.commit_group": _commit_group("wgmma"),
    "wgmma.wait_group": _wait_group("wgmma"),
    "tcgen05.alloc": _allocate,
    "tcgen05.dealloc": _free,
    **dict.fromkeys(
        ("tcgen05.ld", "tcgen05.ld.red", "tcgen05.ld.spcompress", "tcgen05.ld.red.spcompress"),
        _move(Kind.TENSOR_LOAD),
    ),
    "tcgen05.st": _move(Kind.TENSOR_STORE),
    "tcgen05.cp": _copy,
    "tcgen05.shift": _shift,
    "tcgen05.commit": _commit,
    "tcgen05.wait": _wait_moves,
    "tcgen05.fence": _tensor_fence,
    **dict.fromkeys(
        ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"), _multiply
    ),
}
"""By row; `wgmma.mma_async` of all types is found by its prefix."""


def event_of(mi: MachineInstr) -> Event | None:
    """What a record does."""
    if mi.row.id == "opaque":
        return _opaque
    if mi.row.id.startswith("wgmma.mma_async"):
        return _warpgroup_multiply
    return EVENTS.get(mi.row.id)


__all__ = ["Event", "Space", "event_of", "lanewise"]
