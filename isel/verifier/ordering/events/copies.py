"""Events of asynchronous copies, of the groups that they are committed to, and their complete-tx.

Layer: isel.verifier.ordering.events.  PTX ISA, cp.async; cp.async.bulk; st.async;
clusterlaunchcontrol.try_cancel.
"""

from __future__ import annotations

from dataclasses import replace

from intrinsics.limits import BULK_COPY_ALIGNMENT, TENSOR_COPY_ALIGNMENT
from intrinsics.mir import Imm, MachineInstr
from intrinsics.modifiers import CtaGroup
from isel.verifier.function.events import Kind
from isel.verifier.ordering.events import lane_order, regions, warp_order
from isel.verifier.ordering.events.execution import Event, Execution
from isel.verifier.ordering.events.memory import note_astray
from isel.verifier.ordering.integers import windows
from isel.verifier.ordering.integers.numbers import lanes_of
from isel.verifier.ordering.run.clocks import NO_RELEASE, Clock, Release, Source, joined, source_of
from isel.verifier.ordering.run.lanes import lanes_at
from isel.verifier.ordering.run.machine import Copying
from isel.verifier.ordering.run.synchronisation import Delivery

_BULK = "bulk"
"""The source in clocks that counts bulk copies out of shared memory."""
_SENT = "sent"
"""The source in clocks that counts copies between shared memories."""
_OF_TENSORS = ("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor")


def _bulk_load(e: Execution) -> bool:
    """A bulk copy to shared memory, which completes on an mbarrier."""
    destination, mbar = e.number("dst"), e.number("mbar")
    if destination is None or mbar is None:
        return e.is_unknown("address of a copy")
    size, peers, source = e.number("size"), e.number("cta_mask"), e.number("src")
    e.aligned(destination, _alignment(e.mi))
    sent: Clock = {}
    if source is not None and windows.is_in_shared(source):
        e.aligned(source, BULK_COPY_ALIGNMENT)
        read = regions.shared(source, size or BULK_COPY_ALIGNMENT, writes=False)
        e.log(Kind.COPY_OUT, [read], done=_SENT, by_proxy=True)
        sent = e.issued(_SENT)  # its source has been read once it is written
    pair = e.mi.form.attributes.get("cta_group") is CtaGroup.TWO
    signals = windows.signals_of(mbar, peers, pair=pair)
    for to, at in zip(windows.in_ctas(destination, peers), signals, strict=True):
        mbarrier = e.mbarrier_at(at)
        if mbarrier is None:
            continue
        copy, count = _next_copy(e, at)
        region = regions.shared(to, size or 0, writes=True, exact=size is not None, name="copy")
        phase, log = (at, mbarrier.phase), e.run.log
        if size is None:
            log.copies.setdefault(phase, []).append((e.strand.actor, region.first))
        else:
            log.copied_bytes[phase] = log.copied_bytes.get(phase, 0) + size
        e.log(Kind.COPY_IN, [region], count=count, source=copy, by_proxy=True)
        clock = {copy: count, **sent}
        e.run.track(copy, count, mbarrier)
        e.deliver(mbarrier, Delivery(Release(known=clock, proxied=clock), size))
    return True


def _alignment(mi: MachineInstr) -> int:
    """The alignment of a copy in shared memory."""
    return TENSOR_COPY_ALIGNMENT if mi.row.id.startswith(_OF_TENSORS) else BULK_COPY_ALIGNMENT


def _next_copy(e: Execution, mbarrier: int) -> tuple[Source, int]:
    """The epoch of one more copy that an mbarrier tracks."""
    source = source_of("copy", mbarrier)
    count = e.machine.copies[mbarrier] = e.machine.copies.get(mbarrier, 0) + 1
    return source, count


def _bulk_store(e: Execution) -> bool:
    source = e.number("src")
    if source is None:
        return e.is_unknown("address of a copy")
    e.aligned(source, _alignment(e.mi))
    size = e.number("size") or e.run.program.boxes.get(e.index, BULK_COPY_ALIGNMENT)
    region = regions.shared(source, size, writes=False)
    e.log(Kind.COPY_OUT, [region], done=_BULK, by_proxy=True)
    lane_order.accessed(e, lanes_at(source, e.mask, size, (region,), writes=False))
    return True


def _store_async(e: Execution) -> bool:
    """Each thread's store completes on the mbarrier that it names, perhaps each in another CTA."""
    by_mbarrier: dict[int, int] = {}
    for lane, at in enumerate(lanes_of(e.slot("mbar"))):
        if e.mask >> lane & 1 and at is not None:
            by_mbarrier[at] = by_mbarrier.get(at, 0) | 1 << lane
    for mbarrier, _ in e.mbarriers():
        found = regions.generic(e.mi.form, e.slot("a"), by_mbarrier[mbarrier.at], writes=True)
        copy, count = _next_copy(e, mbarrier.at)
        e.log(Kind.COPY_IN, found, count=count, source=copy)
        size = sum(r.last - r.first for r in found)
        e.deliver(mbarrier, Delivery(Release({copy: count}), size))
    return True


def _try_cancel(e: Execution) -> bool:
    """The 16 bytes of a clusterlaunchcontrol.try_cancel, in one CTA or in all of the cluster."""
    at, to = e.number("mbar"), e.number("a")
    if at is None:
        return e.is_unknown("mbarrier address")
    whole = e.mi.form.attributes["multicast"] is not None
    ctas = (1 << e.run.launch.ctas) - 1 if whole else None
    for number, one in enumerate(windows.in_ctas(at, ctas)):
        mbarrier = e.machine.mbarriers.get(one)
        if mbarrier is None:
            continue
        release = NO_RELEASE
        if to is not None:
            copy, count = _next_copy(e, one)
            there = windows.in_ctas(to, ctas)[number]
            region = regions.shared(there, BULK_COPY_ALIGNMENT, writes=True)
            e.log(Kind.COPY_IN, [region], count=count, source=copy, by_proxy=True)
            release = Release(known={copy: count}, proxied={copy: count})
        e.deliver(mbarrier, Delivery(release, 16))
    return True


# ---- groups ------------------------------------------------------------------------------------


def commit_group(kind: str) -> Event:
    """The event that commits what the warp has issued of a kind to a group."""

    def commit(e: Execution) -> bool:
        groups = e.machine.groups.setdefault(e.source(kind), [])
        groups.append(e.counters.get(kind))
        return True

    return commit


def _wait_group(e: Execution) -> bool:
    clocks, clock = e.strand.clocks, {e.source(_BULK): complete(e, _BULK)}
    clocks.complete(clock)
    clocks.proxied = joined(clocks.proxied, clock)
    return True


def complete(e: Execution, kind: str) -> int:
    """The number of operations that are complete after a wait for all groups but the newest."""
    groups = e.machine.groups.get(e.source(kind), [])
    left = e.mi.get("n")
    keep = left.value if isinstance(left, Imm) else 0
    done = groups[: len(groups) - keep] if keep else groups
    return done[-1] if done else 0


# ---- cp.async ----------------------------------------------------------------------------------

_CP_ASYNC = "cp.async"


def _copy_async(e: Execution) -> bool:
    address, size = e.slot("dst"), e.mi.get("size")
    note_astray(e, address)
    if windows.may_be_shared(address):
        width = size.value if isinstance(size, Imm) else 16
        e.aligned(address, width)
        found = regions.shared_regions(address, e.mask, width, writes=True)
        e.log(Kind.SHARED_STORE, found, done=_CP_ASYNC)
        copy = Copying(e.index, address, width, e.mask)
        e.machine.copying[e.strand.actor][e.counters.get(_CP_ASYNC)] = copy
        if found:
            lane_order.accessed(e, lanes_at(address, e.mask, width, found, writes=True))
    return True


def _copies_arrive(e: Execution) -> bool:
    counts = e.mi.form.attributes.get("noinc") is not None
    warp_order.arrived(e.machine, e.strand.actor, e.mask, e.index)
    for mbarrier, threads in e.mbarriers():
        release = Release(joined(e.release().known, e.issued(_CP_ASYNC)))
        e.signals(mbarrier)
        if counts:
            mbarrier.arrive(threads, release)
        else:
            mbarrier.release = mbarrier.release.and_(release)
    return True


def _wait_all(e: Execution) -> bool:
    e.strand.clocks.complete(_completed(e, e.counters.get(_CP_ASYNC)))
    return True


def _wait_for_groups(e: Execution) -> bool:
    clocks, clock = e.strand.clocks, _completed(e, complete(e, _CP_ASYNC))
    clocks.complete(clock)
    clocks.proxied = joined(clocks.proxied, clock)
    return True


def _completed(e: Execution, count: int) -> Clock:
    """A clock with the first cp.async of the warp, so many of them, of the threads that wait.

    Each thread waits for its own copies: what others copy is from here on an access of its own.
    """
    clock: dict[Source, int] = {e.source(_CP_ASYNC): count}
    copying = e.machine.copying[e.strand.actor]
    for number, copy in [*copying.items()]:
        if number > count or (copy.part is not None and not copy.mask & e.mask):
            continue
        if copy.part is not None:
            clock[copy.part] = 1
        rest = copy.mask & ~e.mask
        del copying[number]
        if rest:
            copying[number] = _parted(e, copy, rest)
    return clock


def _parted(e: Execution, copy: Copying, rest: int) -> Copying:
    """The copies of threads that have not waited, as an access of their own."""
    part = e.source(f"{_CP_ASYNC} {e.counters.next('parts')}")
    found = regions.shared_regions(copy.address, rest, copy.width, writes=True)
    replace(e, index=copy.record, mask=rest).log(Kind.SHARED_STORE, found, source=part, count=1)
    return copy._replace(mask=rest, part=part)


EVENTS: dict[str, Event] = {
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
            "multimem.cp.async.bulk",
            "multimem.cp.reduce.async.bulk",
        ),
        _bulk_store,
    ),
    "cp.async.bulk.commit_group": commit_group(_BULK),
    "cp.async.bulk.wait_group": _wait_group,
    **dict.fromkeys(("cp.async", "cp.async.ignore_src"), _copy_async),
    "cp.async.commit_group": commit_group(_CP_ASYNC),
    "cp.async.wait_group": _wait_for_groups,
    "cp.async.wait_all": _wait_all,
    "cp.async.mbarrier.arrive": _copies_arrive,
    **dict.fromkeys(("st.async", "red.async"), _store_async),
    "clusterlaunchcontrol.try_cancel.async": _try_cancel,
}
"""By row."""
