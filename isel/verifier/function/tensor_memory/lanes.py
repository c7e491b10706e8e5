"""Rules about the lanes of tensor memory that a warp loads and stores.

Layer: isel.verifier.function.  An address is known from the values of the warp's registers
(`check`), or from a run in `isel.verifier.ordering`.  PTX ISA, tcgen05: Access restrictions.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.findings import Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import LdStShape
from isel.verifier.function.events import MOVES
from isel.verifier.function.flow.values import LANES, Loaded
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

UNIFORM_ADDRESS = VerifierRule(
    "{op}/uniform-address",
    "the threads of a warp give different addresses of tensor memory",
    expected="one address, that of the first lane of the warp",
    hint="the lane of a thread is implied: add the warp's first lane << 16 only",
    misses=False,
)
LANE_QUARTER = VerifierRule(
    "{op}/lane-quarter",
    "a warp can access only the quarter of the lanes that its number has in its warpgroup",
    "tcgen05, Access restrictions",
    hint="add (warp % 4) << 21 to the address",
    misses=False,
)
_WITHOUT_QUARTER = (
    "add (warp % 4) << 21 to the address: as it is, code compiled with -G is reported to stop "
    "here, and other code to access the warp's own lanes"
)
"""deepseek-ai/DeepGEMM, pull request 341; FlashInfer has kernels that leave the quarter out."""

RULES = (UNIFORM_ADDRESS, LANE_QUARTER)


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """An access of a warp (its number in the CTA) that begins at a lane.

    `doubtful` if that is a guess.
    """

    index: int
    mi: MachineInstr
    warp: int
    lane: int
    doubtful: bool = False

    @property
    def own(self) -> int:
        """The first lane of the warp's quarter."""
        return self.warp % 4 * LANES

    @property
    def starts(self) -> tuple[int, ...]:
        """The lanes at which the access may begin."""
        whole = self.mi.form.attributes.get("shape") is LdStShape.S32X32B
        return (self.own,) if whole else (self.own, self.own + 16)

    @property
    def is_strayed(self) -> bool:
        """Whether it begins at any other lane."""
        return self.lane not in self.starts

    @property
    def has_no_quarter(self) -> bool:
        """Whether the lane would be right if the warp's quarter were added to it."""
        return self.lane + self.own in self.starts


def check(report: Report) -> None:
    """Report addresses that are known without a run, where the block is known."""
    if not report.analysis.block:
        return
    wrong = []
    for walker in report.analysis.walkers:
        warp = walker.flow.warp.number
        for event in walker.each():
            if event.kind not in MOVES:
                continue
            address = event.value("taddr")
            assert address is not None
            if isinstance(address.offset, tuple):
                got = f"offsets {address.offset[0]:#x}, {address.offset[1]:#x}, …"
                report.add(UNIFORM_ADDRESS, event.index, got=got)
            elif address.offset is not None and isinstance(address.base, Loaded | None):
                wrong.append(LaneAccess(event.index, event.mi, warp, address.offset >> 16 & 0xFFFF))
    strayed(report, wrong)


def strayed(report: Report, accesses: Iterable[LaneAccess]) -> None:
    """Report the accesses outside of the warp's lanes; for each record the most certain one."""
    worst: dict[int, LaneAccess] = {}
    for access in accesses:
        known = worst.get(access.index)
        if access.is_strayed and (known is None or _doubts(access) < _doubts(known)):
            worst[access.index] = access
    for access in worst.values():
        _report(report, access)


def _doubts(access: LaneAccess) -> tuple[bool, bool]:
    return access.doubtful, access.has_no_quarter


def _report(report: Report, access: LaneAccess) -> None:
    own, left_out = access.own, access.has_no_quarter
    severity = Severity.REVIEW if access.doubtful else Severity.ERROR
    report.add(
        LANE_QUARTER,
        access.index,
        severity=Severity.WARNING if left_out else severity,
        hint=_WITHOUT_QUARTER if left_out else "",
        got=f"lane {access.lane}, in warp {access.warp}",
        expected=" or ".join(f"lane {start}" for start in access.starts)
        + f", of lanes {own} to {own + LANES - 1}",
    )
