"""Rules about scale factors and metadata in tensor memory, which MMAs read beside the matrices.

Layer: isel.verifier.function.  Scale factors are in every quarter of the lanes; only some metadata
indices are legal.  Checked is only what one record alone writes at known columns.  PTX ISA, Block
Scaling, Sparse Matrices.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, Reg
from intrinsics.modifiers import LdStShape, MmaKind
from isel.verifier.function.events import Event, Kind, tensor_operands
from isel.verifier.function.report import Report
from isel.verifier.function.tensor_memory.extents import SCALES, ColumnRange, regions
from isel.verifier.rule import VerifierRule

_QUARTER = (1 << 32) - 1

SCALE_LANES = VerifierRule(
    "{op}/scale-lanes",
    "scale factors are not written to all four quarters of the lanes",
    "tcgen05, Block Scaling",
    Severity.REVIEW,
    expected="the same scale factors in lanes 0, 32, 64 and 96 on",
    hint="tcgen05.cp with .32x128b.warpx4 writes all four; of stores, four warps have one each",
)
METADATA = VerifierRule(
    "{op}/metadata",
    "the metadata of a sparse matrix has an index that means nothing",
    "tcgen05, Sparse Matrices",
    misses=False,
)
RULES = (SCALE_LANES, METADATA)


@dataclass(frozen=True, slots=True)
class _Writer:
    """An event that writes tensor memory, and its region; None where that is not known."""

    event: Event
    region: ColumnRange | None


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    readers = report.analysis.events(Kind.MULTIPLY)
    if not report.analysis.block or not any(e.value("sfa") or e.value("sp_meta") for e in readers):
        return
    writers = _writers(report)
    constants = _constants(report)
    for event in readers:
        for region in regions(event):
            if region.name in SCALES:
                _all_quarters(report, event, region, writers)
            elif region.name == "the metadata":
                _indices(report, event, region, writers, constants)


def _writers(report: Report) -> list[_Writer]:
    """Every store and copy to tensor memory, of each warp."""
    found: list[_Writer] = []
    for sites in report.analysis.sites.values():
        for _, event in sites:
            if event.kind in (Kind.TENSOR_STORE, Kind.TENSOR_COPY):
                places = regions(event)
                found += [_Writer(event, place) for place in places] or [_Writer(event, None)]
    return found


def _of(region: ColumnRange, writers: list[_Writer]) -> list[_Writer] | None:
    """The writers of a region's columns; None where an unknown write may be among them."""
    found = []
    for writer in writers:
        if writer.region is None:
            bases = [value.base for _, value in tensor_operands(writer.event)]
            if None in bases or region.base in bases:
                return None
        elif _in_columns(writer.region, region):
            found.append(writer)
    return found


def _in_columns(one: ColumnRange, other: ColumnRange) -> bool:
    return (
        one.base == other.base
        and one.column < other.column + other.count
        and other.column < one.column + one.count
    )


# ---- scales ----------------------------------------------------------------------------------


def _all_quarters(
    report: Report, event: Event, region: ColumnRange, writers: list[_Writer]
) -> None:
    found = _of(region, writers)
    if not found:
        return
    lanes = 0
    for writer in found:
        assert writer.region is not None
        lanes |= writer.region.lanes
    missing = [first for first in (0, 32, 64, 96) if not lanes >> first & _QUARTER]
    if missing:
        report.add(
            SCALE_LANES,
            event.index,
            got=f"{region}; nothing writes lanes "
            + ", ".join(f"{first} to {first + 31}" for first in missing),
        )


# ---- metadata --------------------------------------------------------------------------------

_PAIRS = frozenset((0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110))
_SINGLE = frozenset((0b1110, 0b0100))
"""Legal indices: of two elements among four, or of one among two (tf32)."""

_SELECTED = (MmaKind.F16, MmaKind.TF32)
"""Kinds whose sparsity selector picks parts of the columns: some of a word may not be read."""


def _constants(report: Report) -> dict[Reg, int]:
    """Registers that exactly one mov sets, to a constant."""
    graph = report.analysis.graph
    found: dict[Reg, int] = {}
    for mi in graph.records:
        source = mi.get("a")
        if mi.row.id == "mov" and mi.guard is None and isinstance(source, Imm):
            found.update((reg, source.value) for reg in mi.defs() if reg in graph.single)
    return found


def _indices(
    report: Report,
    event: Event,
    region: ColumnRange,
    writers: list[_Writer],
    constants: dict[Reg, int],
) -> None:
    """Check constants that are stored to the columns of an MMA's metadata."""
    found = _of(region, writers)
    if not found or len({writer.event.index for writer in found}) > 1:
        return
    kind = event.mi.attributes().get("kind")
    legal = _SINGLE if kind is MmaKind.TF32 else _PAIRS
    for word in _stored(found[0], region, constants):
        halves = [_wrong(word >> shift & 0xFFFF, legal) for shift in (0, 16)]
        if not any(halves):
            continue
        doubt = kind in _SELECTED and not all(halves)
        wrong = sorted({index for half in halves for index in half})
        report.add(
            METADATA,
            event.index,
            severity=Severity.REVIEW if doubt else Severity.ERROR,
            got=", ".join(f"0b{i:04b}" for i in wrong)
            + f" in {word:#010x}, which {report.line(found[0].event.index)} writes",
            expected="of each 4 bits one of " + ", ".join(f"0b{i:04b}" for i in sorted(legal)),
        )


def _wrong(half: int, legal: frozenset[int]) -> list[int]:
    return [i for shift in (0, 4, 8, 12) if (i := half >> shift & 15) not in legal]


def _stored(writer: _Writer, region: ColumnRange, constants: dict[Reg, int]) -> list[int]:
    """The known words that a store writes to the columns of a region."""
    mi, place = writer.event.mi, writer.region
    registers = mi.get("r")
    plain = (
        mi.form.attributes.get("shape") is LdStShape.S32X32B
        and mi.form.attributes.get("unpack") is None
    )
    if place is None or not plain or not isinstance(registers, tuple):
        return []
    first = region.column - place.column
    read = [registers[i] for i in range(max(first, 0), min(first + region.count, len(registers)))]
    words = [op.value if isinstance(op, Imm) else constants.get(op) for op in read
             if isinstance(op, (Imm, int))]  # fmt: skip
    return [word & 0xFFFFFFFF for word in words if word is not None]
