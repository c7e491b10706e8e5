"""How the results of a multiply lie in tensor memory, and which load of the walkthrough reads them.

Layer: isel.passes.  Input: records of multiplies and loads.  Output: the layout of an accumulator
as the threads of a CTA see it; what is wrong with a load of it.  PTX ISA, Data Path Layout
Organization; Packing format for matrix D.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr
from intrinsics.modifiers import FP4_KINDS, CtaGroup, MmaKind
from intrinsics.row import Problem
from intrinsics.rows.walkthrough import VALUES_OF_LD, LoadShape, LoadValues
from isel.verifier.function.tensor_memory.matrices import MmaExtents
from isel.verifier.function.tensor_memory.widths import (
    ALL_LANES,
    a_columns,
    accumulator,
    metadata_columns,
    scale_columns,
)

MULTIPLIES = ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp")
"""The rows of the multiply."""


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A CTA's part of D: `rows`, of which each thread gets `values` elements.

    `sixteens` says that sixteen lanes of each warp's 32 hold rows (layouts C and F); elsewhere
    every lane does, and where there are fewer than 128 rows the other lanes go on along N.
    """

    rows: int
    values: int
    sixteens: bool
    is_half: bool = False  # elements of 16 bits, one in each cell

    def __str__(self) -> str:
        bits = 16 if self.is_half else 32
        return f"{self.rows} rows, {self.values} values of {bits} bits a thread"


@dataclass(frozen=True, slots=True)
class DecodedMma:
    """The shape and types of a multiply's record."""

    descriptor: InstructionDescriptor
    shape: MmaExtents

    @classmethod
    def of(cls, mi: MachineInstr) -> DecodedMma:
        """Read from a record whose instruction descriptor is a number."""
        idesc, kind = mi["idesc"], mi.attributes()["kind"]
        assert isinstance(idesc, Imm)
        assert isinstance(kind, MmaKind)
        found = InstructionDescriptor.decode(idesc.value, kind)
        stationary = mi.row.id.startswith("tcgen05.mma.ws")
        shape = MmaExtents(
            kind, found.m, found.n, group_of(mi), found.sparse, stationary, found.k96
        )  # fmt: skip
        return cls(found, shape)

    @property
    def accumulator(self) -> Accumulator:
        """The layout of D."""
        parts, lanes = accumulator(self.shape)
        rows = self.shape.m // self.shape.ctas
        half = self.descriptor.d is ElementType.F16
        return Accumulator(rows, self.shape.n // parts, lanes != ALL_LANES, half)

    def columns(self, slot: str) -> int:
        """Columns of tensor memory that an operand takes."""
        scales = scale_columns(self.shape) or (0, 0)
        taken = {
            "d": self.accumulator.values,
            "a": a_columns(self.shape),
            "sp_meta": metadata_columns(self.shape),
            "sfa": scales[0],
            "sfb": scales[1],
        }
        return taken[slot]

    def bits(self, type_: ElementType) -> int:
        """Bits of an element in shared memory: fewer than 8 are padded to a byte, but for fp4
        kinds.
        """
        return type_.bits if self.shape.kind in FP4_KINDS else max(type_.bits, 8)


def group_of(mi: MachineInstr) -> int:
    """The number of CTAs that a multiply or a wait is for."""
    return 2 if mi.form.attributes.get("cta_group") is CtaGroup.TWO else 1


def read_by(mi: MachineInstr) -> Accumulator:
    """The shape that a load reads, by its name alone."""
    shape, values = mi.form.attributes["shape"], mi.form.attributes.get("values")
    assert isinstance(shape, LoadShape)
    count = values.count if isinstance(values, LoadValues) else VALUES_OF_LD
    return Accumulator(shape.rows, count, shape.rows == 64, shape.is_half)


def load_problems(mi: MachineInstr, held: set[Accumulator]) -> Iterator[Problem]:
    """Errors of a load from a handle that holds one of `held`."""
    reads = read_by(mi)
    for one in sorted(held, key=str):
        if len(held) > 1:
            yield Problem(
                "load", "the handle may hold accumulators of several shapes",
                " or ".join(sorted(map(str, held))), "one shape for each handle that is read",
            )  # fmt: skip
            return
        if (one.rows, one.values, one.is_half) != (reads.rows, reads.values, reads.is_half):
            element = "half" if one.is_half else "float"
            bits = 16 if one.is_half else 32
            yield Problem(
                "load", "the load is not of the accumulator's shape", str(reads),
                f"<{one.values} x {element}> of tcgen05.ld.m{one.rows}n8x{bits}b",
            )  # fmt: skip
