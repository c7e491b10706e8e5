"""Bulk reductions: bytes of shared memory combined with another CTA's, or with global memory.

Layer: nvgen.sim.semantics.  They take effect as bulk copies do; each element is read, combined and
written at once.  Sums of floating-point numbers keep subnormals; of a number and a NaN the number
is least and greatest, as red has it.  PTX ISA, cp.reduce.async.bulk.
"""

from __future__ import annotations

import functools

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import NoFtz, ScalarType, Space
from nvgen.sim.semantics.copies.bulk import Store, issued_to_cluster, issuer, stretch_maker
from nvgen.sim.semantics.copies.bulk_memory import Stretch, count_bytes
from nvgen.sim.semantics.memory.atomic import Combine, combination
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand, lane_numbers

_NAME = "bulk reduction"


def to_cluster(c: Compiler, mi: MachineInstr) -> Step:
    """Issue reductions of another CTA's shared memory with the own one's bytes."""
    size, combine = _element(mi)
    effect = functools.partial(_Reduction, size=size, combine=combine)
    return issued_to_cluster(c, mi, _NAME, "in", effect)


def _element(mi: MachineInstr) -> tuple[int, Combine]:
    """The bytes of an element, and what becomes of two."""
    type_ = mi.form.attributes["type"]
    assert isinstance(type_, ScalarType)
    return type_.bits // 8, combination(mi, type_, flush=False)


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Bytes in flight to another CTA, and the mbarrier there that they complete on."""

    source: Stretch
    target: Stretch
    barrier: int
    size: int
    combine: Combine

    def __call__(self) -> None:
        """Read, combine, and complete the bytes.

        Raises: Fault when a CTA that it accesses has exited, or has no mbarrier there.
        """
        self.target.combine(self.source.read(self.source.whole), self.size, self.combine)
        count_bytes(self.target.cta, self.barrier, self.target.size, self.target.agent)


def store(c: Compiler, mi: MachineInstr) -> Step:
    """Issue reductions of global memory: their reads, and after these what they do there."""
    source = stretch_maker(c, mi, "src", Space.SHARED_CTA, _NAME)
    target = stretch_maker(c, mi, "dst", Space.GLOBAL, _NAME)
    size, combine = _element(mi)
    issue = issuer(c, mi, _NAME)
    assert mi.form.attributes["noftz"] in (None, NoFtz.NOFTZ)  # subnormals are kept in either case

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        for lane in lane_numbers(strand.mask):
            to = target(warp, lane)
            issue(warp, lane, _Sum(source(warp, lane), to, to.whole, size=size, combine=combine))
        return None

    return run


@dataclass(slots=True, kw_only=True)
class _Sum(Store):
    """Bytes in flight from shared to global memory, where they are combined."""

    size: int
    combine: Combine

    def write(self) -> None:
        """Combine them with those in memory."""
        if self.data is None:  # the read has failed, and is reported
            return
        self.target.combine(self.data, self.size, self.combine)
        self.target.cta.machine.changed()


SEMANTICS: dict[str, Maker] = {
    "cp.reduce.async.bulk.to_cluster": to_cluster,
    "cp.reduce.async.bulk.store": store,
    "multimem.cp.reduce.async.bulk": store,
}
