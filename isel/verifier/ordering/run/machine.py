"""The state that all threads of a cluster share in a run: memory, mbarriers, barriers, allocations.

Layer: isel.verifier.ordering.  Arguments are made up: every integer is the same number, but those
that `Launch.values` names, and every pointer an address of its own far from shared memory.  Shared
variables have addresses, each CTA its own window of them, as `mapa` gives them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineFunction, Module, Op, Variable
from intrinsics.modifiers import SHARED_OF_CTA, Space
from isel.verifier.function.flow.values import LANES
from isel.verifier.function.flow.warps import lanes_along
from isel.verifier.ordering.integers.numbers import Number, packed
from isel.verifier.ordering.integers.windows import in_window
from isel.verifier.ordering.memory_regions import Region
from isel.verifier.ordering.run.clocks import Clock, Counters, Source
from isel.verifier.ordering.run.lanes import Pending
from isel.verifier.ordering.run.log import Access, Log, Point
from isel.verifier.ordering.run.strand import Strand
from isel.verifier.ordering.run.synchronisation import Barrier, Mbarrier, StrongLocation

_FIRST = 1024
_ELSEWHERE = 1 << 40
_LOCAL = 1 << 20
"""From the local memory of a thread to that of the next."""
_LIMIT = 256 << 10
_NOWHERE = 1 << 24
_GRID = 2
"""Clusters of the grid along x in a run of the first."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch that a run assumes: block, cluster, and the value of integer arguments.

    `registers` is how many registers a thread has at first, 0 where that is not known.  `values`
    are the arguments that have another value, by the address of the parameter; `contents` is every
    integer in memory, None that of arguments.  `place` is the number of the cluster along x.
    """

    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)
    number: int = 512
    registers: int = 0
    values: Mapping[Op, int] = field(default_factory=dict)
    contents: int | None = None
    place: int = 0

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def ctas(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def clusters(self) -> int:
        """Clusters of the grid along x: as many behind this one as before it, or two."""
        return 2 * self.place + 1 if self.place else _GRID


@dataclass(slots=True)
class Allocation:
    """Columns that tcgen05.alloc gave: where their address is stored, and which warp asked for
    them.

    `freed` is the epoch at which the record `freed_by` freed them; `lost` says that since then a
    deallocation freed columns that are not known.
    """

    first: int
    count: int
    slot: int
    index: int
    actor: int
    made: Point
    freed: Point | None = None
    freed_by: int = -1
    lost: bool = False


class Copying(NamedTuple):
    """Copies of `width` bytes by a cp.async, of the threads that have not waited for theirs.

    Where others have, `part` is what counts in clocks when these are complete.
    """

    record: int
    address: Number
    width: int
    mask: int
    part: Source | None = None


@dataclass(slots=True)
class Machine:
    """The shared state of a cluster.

    `outstanding` are the mbarriers with outstanding asynchronous operations; `unsynchronised` the
    accesses of threads of each warp since these last synchronised, and `unordered` those to shared
    memory that the warp's other threads need not see; `copying` the cp.async of each warp for
    which not all threads have waited, by number.  `issued` counts the operations
    of each thread that a commit tracks; `fenced` are those of other threads that fences order
    before them. `polls` are records whose wait may return without success, `ended_elsewhere` those
    whose wait another cluster may end. `end` is the offset behind the last shared variable, where
    the size of all is known; `judged` are the regions that a record accessed, by its number and
    their identity, with those of them that are logged.
    """

    launch: Launch
    addresses: dict[str, int]
    log: Log
    local: Container[str] = ()
    mbarriers: dict[int, Mbarrier] = field(default_factory=dict)
    outstanding: dict[int, Mbarrier] = field(default_factory=dict)
    unsynchronised: dict[int, list[Access]] = field(default_factory=dict)
    unordered: dict[int, Pending] = field(default_factory=lambda: defaultdict(Pending))
    barriers: dict[tuple[int, int], Barrier] = field(default_factory=dict)
    memory: dict[int, int | None] = field(default_factory=dict)
    flags: dict[int, StrongLocation] = field(default_factory=dict)
    allocations: dict[int, list[Allocation]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    allocated: dict[int, int] = field(default_factory=dict)
    relinquished: dict[int, list[tuple[int, Point]]] = field(default_factory=dict)
    uninitialised: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    counters: dict[int, Counters] = field(default_factory=lambda: defaultdict(Counters))
    copies: dict[int, int] = field(default_factory=dict)
    groups: dict[Source, list[int]] = field(default_factory=dict)
    copying: dict[int, dict[int, Copying]] = field(default_factory=lambda: defaultdict(dict))
    collectors: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    polls: set[int] = field(default_factory=set)
    ended_elsewhere: set[int] = field(default_factory=set)
    issued: dict[int, int] = field(default_factory=dict)
    fenced: dict[int, Clock] = field(default_factory=dict)
    variables: list[SharedVariable] = field(default_factory=list)
    end: int = _NOWHERE
    exited: dict[int, int] = field(default_factory=dict)
    registers: dict[int, int] = field(default_factory=dict)
    pool: dict[int, int] = field(default_factory=dict)
    changed: bool = False
    judged: dict[tuple[int, int], tuple[Sequence[Region], Sequence[Region]]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, module: Module, function: MachineFunction, launch: Launch) -> Machine:
        """The machine for a function."""
        addresses = _addresses([*module.variables, *function.variables], function)
        local = {v.name for v in function.variables if v.space is Space.LOCAL}
        variables = shared_variables(module, function)
        end = max((v.last for v in variables), default=_NOWHERE)
        if not all(v.sized for v in variables):
            end = _NOWHERE
        log = Log(launch.number, divisor=min(launch.values.values(), default=0))
        return cls(launch, addresses, log, local=local, variables=variables, end=end)

    def address(self, name: str, strand: Strand) -> Number:
        """The address of a variable or parameter, as the threads of a strand see it."""
        found = self.addresses.get(name)
        if found is None:
            return None
        if name in self.local:
            first = found + strand.actor * LANES * _LOCAL
            return tuple(range(first, first + LANES * _LOCAL, _LOCAL))
        return found if found >= _ELSEWHERE else in_window(found, strand.rank)

    def has_variable_at(self, offset: int) -> bool:
        """Whether a shared variable begins at an offset: then a word may be its descriptor."""
        return any(v.first <= offset < v.last for v in self.variables)

    def barrier(self, rank: int, number: int, wanted: int, *, of_all: bool) -> Barrier:
        """A barrier of a CTA, or of the cluster (-1); `of_all` threads that have not exited.

        The first to arrive says how many threads it waits for: each phase may have its own count.
        """
        key = (-1, -1) if number < 0 else (rank, number)
        found = self.barriers.get(key)
        if found is None:
            found = self.barriers[key] = Barrier(wanted, of_all)
        if not found.arrived:
            found.of_all = of_all
            found.wanted = wanted - (self.exited.get(key[0], 0) if of_all else 0)
        return found


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """The address range of a variable of shared memory, and its alignment; `sized` says that its
    end is known.
    """

    name: str
    first: int
    last: int
    sized: bool
    align: int


def shared_variables(module: Module, function: MachineFunction) -> list[SharedVariable]:
    """The variables of shared memory, each with its address range in the window of a CTA."""
    variables = [*module.variables, *function.variables]
    at = _addresses(variables, function)
    return [
        SharedVariable(v.name, at[v.name], at[v.name] + (v.size or _LIMIT), bool(v.size), v.align)
        for v in variables
        if v.space in SHARED_OF_CTA
    ]


def _addresses(variables: list[Variable], function: MachineFunction) -> dict[str, int]:
    found: dict[str, int] = {}
    at = _FIRST
    shared = [v for v in variables if v.space in SHARED_OF_CTA]
    for variable in sorted(shared, key=lambda v: v.size == 0):
        align = max(variable.align, 16) if variable.size else 1024
        at = -(-at // align) * align
        found[variable.name] = at
        at += variable.size
    others = [v.name for v in variables if v.name not in found] + [p.name for p in function.params]
    for number, name in enumerate(others, 1):
        found[name] = _ELSEWHERE * number
    return found


def special(name: str, launch: Launch, rank: int, warp: int) -> Number:
    """The value of a special register in the lanes of a warp."""
    x, y, _ = launch.block
    first = warp * LANES
    base, _, axis = name.partition(".")
    at = "xyz".find(axis) if axis else 0
    cx, cy, _ = launch.cluster
    mine = (rank % cx, rank // cx % cy, rank // (cx * cy))
    match base:
        case "tid" if at >= 0:
            step = (1, x, x * y)[at]
            size = launch.block[at]
            return packed(lanes_along(first, step, size))
        case "ntid" if at >= 0:
            return launch.block[at]
        case "ctaid" if at == 0:
            return mine[0] + cx * launch.place
        case "ctaid" | "cluster_ctaid" if at >= 0:
            return mine[at]
        case "nctaid" if at >= 0:
            return launch.cluster[at] * (launch.clusters if at == 0 else 1)
        case "cluster_nctaid" if at >= 0:
            return launch.cluster[at]
        case "nclusterid":
            return launch.clusters if at == 0 else 1
        case "clusterid":
            return launch.place if at == 0 else 0
    fixed = {
        "cluster_ctarank": rank,
        "cluster_nctarank": launch.ctas,
        "warpid": warp,
        "nwarpid": -(-launch.threads // LANES),
        "is_explicit_cluster": 1,
        "dynamic_smem_size": 200 << 10,
        "total_smem_size": 227 << 10,
        "smid": rank,
        "nsmid": 132,
    }
    if name == "laneid":
        return tuple(range(LANES))
    if name.startswith("lanemask_"):
        return tuple(_lanemask(name, i) for i in range(LANES))
    return fixed.get(name)


def _lanemask(name: str, lane: int) -> int:
    full = (1 << LANES) - 1
    low = (1 << lane) - 1
    found = {"eq": 1 << lane, "lt": low, "le": low | 1 << lane, "gt": full & ~(low | 1 << lane)}
    return found.get(name[9:], full & ~low)
