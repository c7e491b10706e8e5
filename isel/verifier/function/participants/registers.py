"""Rules about setmaxnreg: registers that warpgroups release and request.

Layer: isel.verifier.function.  A CTA gets the registers of all its threads when it starts: what one
warpgroup releases another can request, and setmaxnreg.inc blocks until there are enough.  PTX ISA,
setmaxnreg; Performance-Tuning Directives.
"""

from __future__ import annotations

import math

from intrinsics.findings import Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import REGISTERS, WARPGROUP_WARPS
from intrinsics.mir import Imm, Launch, Reg, registers_of
from intrinsics.row import Completion
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.report import Report
from isel.verifier.function.roles import Role
from isel.verifier.function.wgmma.in_flight import COMMIT
from isel.verifier.rule import VerifierRule

CHANGES = _INC, _DEC = "setmaxnreg.inc", "setmaxnreg.dec"
_PARTS = 4
"""Parts of a multiprocessor, each with a quarter of its registers."""

_MOST, _GRAIN, _LEAST = 255, 8, 24

_FRAME = 24
"""Registers before the first accumulator in kernels with wgmma, as ptxas 13.5 allocates them."""

_SECTION = "setmaxnreg"
_BOUNDS = ".maxnreg, or .minnctapersm beside .reqntid or .maxntid"

IGNORED = VerifierRule(
    "{op}/ignored",
    "setmaxnreg may be ignored: nothing says how many registers a thread has at entry",
    _SECTION,
    Severity.WARNING,
    expected=f"{_BOUNDS}; or so many registers in use that a multiprocessor holds one CTA only",
    hint='in LLVM IR: "nvvm.maxnreg", or "nvvm.minctasm" beside "nvvm.reqntid"; '
    "KernelBuilder(…, minctasm=1)",
    misses=False,
    ptxas="accepts, with the remark C7508, and leaves it out",
)
DIRECTION = VerifierRule(
    "{op}/direction",
    "setmaxnreg.inc asks for fewer registers than the warp has, or .dec keeps more",
    _SECTION,
    misses=False,
    ptxas="refuses .dec, as it generates code (C7406)",
)
AGAIN = VerifierRule(
    "{op}/again",
    "a warpgroup changes its registers again without a barrier in between",
    _SECTION,
    Severity.REVIEW,
    expected="a barrier of the warpgroup's threads between two setmaxnreg",
)
BUDGET = VerifierRule(
    "setmaxnreg.inc/budget",
    "the warps ask for more registers than the CTA has: setmaxnreg.inc waits forever",
    _SECTION,
    hint="let the other warpgroups give more back with setmaxnreg.dec, or ask for less",
    misses=False,
)
ORDER = VerifierRule(
    "setmaxnreg.inc/order",
    "registers are asked for before another warpgroup can give some back: setmaxnreg.inc waits "
    "for them, and setmaxnreg.dec stands behind a barrier that waits for this warp",
    _SECTION,
    expected="setmaxnreg.dec of the other warpgroups before that barrier",
)
NO_ROOM = VerifierRule(
    "launch/registers",
    "no multiprocessor has the registers that the kernel's threads start with: it is not launched",
    _SECTION,
    hint="registers are given to whole warps, and the warps are spread over four quarters of the "
    "multiprocessor, each with 16,384 registers of its own",
    misses=False,
)
WAITS = "registers that other warps give back"
"""What setmaxnreg.inc waits for, in the words of a deadlock."""

RULES = (IGNORED, DIRECTION, AGAIN, BUDGET, ORDER, NO_ROOM)


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    changes = [e for role in report.analysis.roles for e in role.events() if _count(e) is not None]
    if not changes:
        return
    synchronised(report)
    first = at_first(report)
    if not first:
        report.add(IGNORED, min(e.index for e in changes), got="none of them")
        return
    for role in report.analysis.roles:
        _directions(report, role, first)
    if report.analysis.block:
        _room(report, first, min(e.index for e in changes))
        _budget(report, first)


def _room(report: Report, first: int, index: int) -> None:
    """A block whose size is fixed has enough registers to be launched."""
    warps = len(report.analysis.walkers)
    if not report.bounded and first * _in_quarters(warps) > REGISTERS:
        report.add(
            NO_ROOM,
            index,
            got=f"{warps} warps whose threads start with {first} registers",
            expected=f"at most {_share(warps * LANES, 1)} for a thread of so many warps",
        )


def at_first(report: Report) -> int:
    """The registers of a thread at the kernel's start; 0 where that is not known."""
    asked = [
        count.value for mi in report.analysis.graph.records
        if mi.form.row.id == _INC and isinstance(count := mi.get("count"), Imm)
    ]  # fmt: skip
    first = at_entry(report.analysis.function.launch, max(asked, default=0), _needed(report))
    return _rounded(first or 0)


def at_entry(launch: Launch, asked: int = 0, needed: int = 0) -> int | None:
    """The registers of a thread at a kernel's start; None where that is not known.

    `asked` is the largest request of a setmaxnreg.inc (0: there is none), `needed` what a thread
    needs at least.  As ptxas 13.5 computes it: a warp's share of the multiprocessor's registers,
    with the warps of all its CTAs spread evenly over its four parts; at most what is requested.
    Where the number of CTAs is not given, and a second one does not fit, there is one.
    """
    size = math.prod(launch.reqntid or launch.maxntid or (0,))
    share = None
    if size and launch.minctasm:
        share = _share(size, launch.minctasm)
    elif size and not launch.maxnreg and _rounded(needed) > _share(size, 2):
        share = _share(size, 1)
    given = [n for n in (share, launch.maxnreg) if n]
    return min([*given, asked or _MOST]) if given else None


def _share(size: int, ctas: int) -> int:
    """The most registers of a thread where a multiprocessor holds `ctas` CTAs."""
    threads = _in_quarters(-(-size // LANES) * ctas)
    return min(REGISTERS // threads // _GRAIN * _GRAIN, _MOST)


def _in_quarters(warps: int) -> int:
    """The threads of these warps, rounded up to the same number in each part of a
    multiprocessor.
    """
    return -(-warps // _PARTS) * _PARTS * LANES


def _needed(report: Report) -> int:
    """The registers that a thread needs at least: accumulators in flight together, and the
    frame.
    """
    most, live = 0, set[Reg]()
    for node in report.analysis.graph.nodes:
        live.clear()
        for mi in node.records:
            row = mi.form.row
            if row.effects.completion is Completion.WGMMA_GROUP:
                live.update(registers_of(mi["d"]))
                most = max(most, len(live))
            elif row.id == COMMIT:
                live.clear()
    return most + _FRAME if most else 0


def _count(event: Event) -> int | None:
    """The registers of each thread after a setmaxnreg, None for other events."""
    if event.mi.row.id not in CHANGES:
        return None
    count = event.mi.get("count")
    return count.value if isinstance(count, Imm) else None


def _requests(event: Event) -> bool:
    return event.mi.row.id == _INC


# ---- one warpgroup ---------------------------------------------------------------------------


_SYNCS = (Kind.BARRIER, Kind.DONE)


def synchronised(report: Report) -> None:
    """Report two changes of a warp without a barrier between them, where the block is known."""
    for role in report.analysis.roles if report.analysis.block else ():
        _synchronised(report, role)


def _synchronised(report: Report, role: Role) -> None:
    """Two changes are separated by a barrier, unless one of them changes nothing."""

    def step(changed: int, event: Event) -> int:
        count = _count(event)
        if count is not None:
            if changed not in (0, count):
                report.add(AGAIN, event.index, got=f"{role}: a way on which there is none")
            return count
        return 0 if event.kind in _SYNCS else changed

    role.walker.walk(0, step)


def _directions(report: Report, role: Role, first: int) -> None:
    """Each setmaxnreg changes the count in its direction, on every CFG path."""
    found: dict[int, set[int]] = {}
    events: dict[int, Event] = {}

    def step(now: int, event: Event) -> int:
        count = _count(event)
        if count is None:
            return now
        found.setdefault(event.index, set()).add(now)
        events[event.index] = event
        return count

    role.walker.walk(first, step)
    for index, before in found.items():
        count = _count(events[index])
        assert count is not None
        wrong = [n for n in before if (n > count if _requests(events[index]) else n < count)]
        if len(wrong) < len(before) or (count > _MOST and max(before) == _MOST):
            continue
        report.add(
            DIRECTION,
            index,
            got=f"{count}, where a thread has {wrong[0]}",
            expected=f"at {'least' if _requests(events[index]) else 'most'} {wrong[0]}",
        )


# ---- the whole CTA ---------------------------------------------------------------------------


def _budget(report: Report, first: int) -> None:
    """The requests of a warpgroup are satisfiable when the others hold their fewest registers.

    And when all hold their last counts.
    """
    roles = report.analysis.roles
    warps = len(report.analysis.walkers)
    pool = _rounded(first) * warps
    held = [_Held.of(role, first) for role in roles]
    in_the_end = sum(h.last * len(role.warps) for role, h in zip(roles, held, strict=True))
    for index, sites in report.analysis.sites.items():
        count = _count(sites[0][1])
        if count is None or not _requests(sites[0][1]):
            continue
        group = {warp // WARPGROUP_WARPS for warp, _ in sites}
        least = _least(roles, held, {min(group)})
        asked = count * WARPGROUP_WARPS + least
        last = any(h.last == count for role, h in zip(roles, held, strict=True)
                   if any(e.index == index for e in role.events()))  # fmt: skip
        wanted = asked if asked > pool else in_the_end if last else 0
        if wanted > pool:
            report.add(
                BUDGET,
                index,
                got=f"{_holdings(roles, held)}: {wanted * LANES} registers",
                expected=f"at most {pool * LANES}: {warps * LANES} threads start with "
                f"{_rounded(first)}",
                hint=_fitting(pool, count, roles, held),
            )


def _fitting(pool: int, count: int, roles: list[Role], held: list[_Held]) -> str:
    """Counts that would fit: for the requests of `count`, or for the other warpgroups.

    `pool` is for one lane of each warp.
    """
    asking = sum(len(role.warps) for role, h in zip(roles, held, strict=True) if h.last == count)
    others = sum(len(role.warps) for role in roles) - asking
    kept = sum(h.last * len(r.warps) for r, h in zip(roles, held, strict=True) if h.last != count)
    if not asking:
        return ""
    less = (pool - kept) // asking // _GRAIN * _GRAIN
    found = [f"setmaxnreg.inc {less} fits beside what the others keep"] if less >= _LEAST else []
    if others:
        rest = (pool - count * asking) // others // _GRAIN * _GRAIN
        if rest >= _LEAST:
            found.append(f"{count} fits when the others come to setmaxnreg.dec {rest}")
    return "; ".join(found)


@dataclass(frozen=True, slots=True)
class _Held:
    """Registers of a thread: its fewest, and its last count."""

    least: int
    last: int

    @classmethod
    def of(cls, role: Role, first: int) -> _Held:
        """The registers that warps of a role hold; where paths differ, the fewer."""
        seen = {_rounded(first)}

        def step(now: int, event: Event) -> int:
            count = _count(event)
            if count is not None:
                seen.add(count)
            return now if count is None else count

        walk = role.walker.walk(_rounded(first), step)
        ends = [state for _, state in walk.at_exit()]
        return cls(min(seen), min(ends, default=min(seen)))


def _least(roles: list[Role], held: list[_Held], but: set[int]) -> int:
    """The fewest registers, for each lane, of all warps outside of these warpgroups."""
    return sum(
        h.least
        for role, h in zip(roles, held, strict=True)
        for warp in role.warps
        if warp // WARPGROUP_WARPS not in but
    )


def _holdings(roles: list[Role], held: list[_Held]) -> str:
    return ", ".join(
        f"{role} {h.last}" if h.least == h.last else f"{role} {h.least} to {h.last}"
        for role, h in zip(roles, held, strict=True)
    )


def _rounded(count: int) -> int:
    return -(-count // _GRAIN) * _GRAIN
