"""tcgen05.cp from shared to tensor memory, and tcgen05.shift of its rows.

Layer: nvgen.sim.semantics.  Input: a shared memory descriptor and a tensor memory address; both
operations are asynchronous, and a commit tracks them.  PTX ISA, tcgen05.cp; Data Movement Shape;
Optional Decompression; tcgen05.shift.

A copy reads rows of 16 or 32 bytes, K-major as a matrix operand of that many bytes, and writes each
to cells of one lane, or with a multicast of several.  The manual gives the shapes only; which rows
lie where is CuTe's (Copy_Traits of SM100_UTCCP_*), and agrees with the addresses that DeepGEMM,
FlashMLA (swizzled rows, 16 bytes at a time) and Triton pass:

    128x256b, 128x128b   row i to lane i
    64x128b .02_13       row i to lanes i and i + 64
    64x128b .01_23       row i of each 32 to lanes i and i + 32 of each 64
    32x128b .warpx4      row i to lanes i, i + 32, i + 64 and i + 96
    4x256b               row i to lane i * 32, counted from the lane of the address

Public kernels give columns that are multiples of 4; others are refused.

With .cta_group::2 one thread of the pair copies, or shifts, in both CTAs: the same descriptor is
read in the shared memory of each, and the same address written in its tensor memory (DeepGEMM's and
CUTLASS' kernels keep their scale factors so).

A copy that decompresses reads 16 narrow elements in the first 8 or 12 bytes of each 16, and writes
a byte for each (`intrinsics.layouts.packing.decompress`); what lies in the padding does not count.

A shift moves 32 bytes (8 columns) of 32 lanes: lane i gets what lane i + 1 had, and the last lane
keeps what it has.  The manual says "down by one row, except the last" and not which way that is;
the direction is inferred from CuTe, where .4x256b refreshes the last lane of each 32, and has not
been confirmed on a machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.smem_desc import problems as descriptor_problems
from intrinsics.descriptors.tensor_address import TensorAddress
from intrinsics.element import Major
from intrinsics.layouts.packing import PIECE, decompress
from intrinsics.layouts.shared_memory import piece_addresses
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CopyFormat, CopyMulticast, CopyShape, ScalarType
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.memory.regions import Access, Proxy, gather
from nvgen.sim.semantics.tcgen05.order import TensorOp, earlier
from nvgen.sim.threads.clusters import participants
from nvgen.sim.threads.compile import Compiler, Maker
from nvgen.sim.threads.machine import Cta, Outcome, Step, Strand
from nvgen.sim.threads.steps import one_lane

_ROWS = {
    CopyShape.S128X256B: 128,
    CopyShape.S4X256B: 4,
    CopyShape.S128X128B: 128,
    CopyShape.S64X128B: 64,
    CopyShape.S32X128B: 32,
}
_USED = {CopyFormat.B8X16: 16, CopyFormat.B6X16_P32: 12, CopyFormat.B4X16_P64: 8}
_WIDE = (CopyShape.S128X256B, CopyShape.S4X256B)
_COLUMN_GRAIN = 4
_SHIFTED_COLUMNS = 8

Lanes = NDArray[np.int64]


def destination_lanes(shape: CopyShape, multicast: CopyMulticast | None) -> Lanes:
    """The lanes that each row of a copy goes to, counted from the lane of its address.

    Shape (copies, rows).
    """
    row = np.arange(_ROWS[shape], dtype=np.int64)[None, :]
    copy = np.arange(4, dtype=np.int64)[:, None]
    match multicast:
        case CopyMulticast.WARPX4:
            return row + 32 * copy
        case CopyMulticast.WARPX2_02_13:
            return row + 64 * copy[:2]
        case CopyMulticast.WARPX2_01_23:
            return row % 32 + row // 32 * 64 + 32 * copy[:2]
        case None:
            return row * 32 if shape is CopyShape.S4X256B else row


@dataclass(frozen=True, slots=True)
class CopyForm:
    """The decoded modifiers of a tcgen05.cp."""

    shape: CopyShape
    lanes: Lanes
    source: CopyFormat | None

    @classmethod
    def of(cls, mi: MachineInstr) -> CopyForm:
        """The form of a record."""
        attributes = mi.form.attributes
        shape, multicast, source = (
            attributes["shape"],
            attributes["multicast"],
            attributes["src_fmt"],
        )
        assert isinstance(shape, CopyShape)
        assert multicast is None or isinstance(multicast, CopyMulticast)
        assert source is None or isinstance(source, CopyFormat)
        assert (source is None) == (attributes["dst_fmt"] is None)
        return cls(shape, destination_lanes(shape, multicast), source)

    @property
    def pieces_per_row(self) -> int:
        """Pieces of 16 bytes in a row."""
        return 2 if self.shape in _WIDE else 1

    @property
    def used(self) -> int:
        """Bytes of a piece that are read; the others are padding."""
        return PIECE if self.source is None else _USED[self.source]

    @property
    def order(self) -> TensorOp:
        """How the copy is ordered with other tcgen05 operations."""
        return TensorOp.COPY_4X256B if self.shape is CopyShape.S4X256B else TensorOp.COPY


def copy(c: Compiler, mi: MachineInstr) -> Step:
    """Issue a copy from shared to tensor memory."""
    form = CopyForm.of(mi)
    taddr, s_desc = c.address(mi["taddr"]), c.get(mi["s_desc"], ScalarType.U64)
    group, place = mi.form.attributes["cta_group"], c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cta = warp.cta
        lane = one_lane(strand, "tcgen05.cp")
        ctas = participants(cta, group, "tcgen05.cp")
        descriptor = _descriptor(int(s_desc(warp)[lane]), form.pieces_per_row)
        where = _destination(int(taddr(warp)[lane]), form)
        effect = Copy(ctas, form, descriptor, where)
        engine = cta.machine.engine
        thread = (cta.number, warp.number, lane)
        before = earlier(engine, form.order, ctas)
        engine.issue(AsyncOp("tcgen05.cp", thread, "mma", effect, place, before))
        return None

    return run


def _descriptor(word: int, pieces: int) -> SharedMemoryDescriptor:
    for problem in descriptor_problems(word):
        raise fault(
            "smem-desc",
            f"descriptor of tcgen05.cp: {problem.text}",
            got=problem.got,
            expected=problem.expected,
            section="Shared memory descriptor",
        )
    found = SharedMemoryDescriptor.decode(word)
    if found.swizzle is Swizzle.B128_ATOM32:
        raise fault(
            "smem-desc",
            "descriptor of tcgen05.cp: rows of bytes have no swizzling of 32-byte atoms",
            got=found.swizzle.words,
            expected="one without 32-byte atoms",
            section="Shared Memory Layout and Swizzling (Table 53)",
        )
    if found.absolute_lbo:
        raise not_simulated("tcgen05.cp with an absolute leading dimension")
    span = found.swizzle.span
    if found.swizzle is not Swizzle.NONE and found.address % span + pieces * PIECE > span:
        raise not_simulated("tcgen05.cp of rows that leave the span of their swizzling")
    return found


def _destination(word: int, form: CopyForm) -> TensorAddress:
    """The address, checked.

    Raises: Fault when a lane would lie outside; NotSimulatedError for a column that is not a
    multiple of 4.
    """
    where = TensorAddress.decode(word)
    last = 127 - int(form.lanes.max())
    if where.lane > last:
        raise fault(
            "lane-alignment",
            f"tcgen05.cp.{form.shape.value} begins at a lane from which it leaves tensor memory",
            got=str(where),
            expected=f"lane 0 to {last}" if last else "lane 0",
            section="tcgen05.cp",
        )
    if where.column % _COLUMN_GRAIN:
        raise not_simulated(
            f"tcgen05.cp to {where}",
            hint=f"columns that are multiples of {_COLUMN_GRAIN} are simulated",
        )
    return where


@dataclass(eq=False, slots=True)
class Copy:
    """One copy under way; calling it lets it take effect in each of the CTAs.

    Each CTA's tensor memory gets what lies in its own shared memory.
    """

    ctas: tuple[Cta, ...]
    form: CopyForm
    descriptor: SharedMemoryDescriptor
    where: TensorAddress

    def __call__(self) -> None:
        """Read the rows, and write them to their cells."""
        lanes = self.where.lane + self.form.lanes[:, :, None]
        columns = self.where.column + np.arange(4 * self.form.pieces_per_row, dtype=np.int64)
        for cta in self.ctas:
            rows = self._rows(cta)
            cta.tensor.write(lanes, columns[None, None, :], rows, "tcgen05.cp")
            cta.machine.changed()

    def _rows(self, cta: Cta) -> NDArray[np.uint32]:
        """The rows that a CTA's shared memory holds, as 32-bit words: (rows, 4 or 8)."""
        rows, pieces = self.form.lanes.shape[1], self.form.pieces_per_row
        addresses = piece_addresses(self.descriptor, rows, pieces, 1, Major.K)
        region = cta.shared
        offsets = cta.machine.memory.access(
            region,
            addresses + region.base,
            self.form.used,
            Access.READ,
            Proxy.ASYNC,
            "tcgen05.cp",
            align=PIECE,
        )
        found = gather(region, offsets, PIECE)
        if self.form.source is not None:
            found = decompress(found, self.form.source)
        return np.ascontiguousarray(found).view(np.uint32).reshape(rows, 4 * pieces)


# ---- shift -----------------------------------------------------------------------------------


def shift(c: Compiler, mi: MachineInstr) -> Step:
    """Issue a shift of 32 lanes by one."""
    taddr = c.address(mi["taddr"])
    group, place = mi.form.attributes["cta_group"], c.place(mi)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        cta = warp.cta
        lane = one_lane(strand, "tcgen05.shift")
        ctas = participants(cta, group, "tcgen05.shift")
        where = TensorAddress.decode(int(taddr(warp)[lane]))
        if where.lane % 32:
            raise fault(
                "lane-alignment",
                "tcgen05.shift begins at a lane that is not a multiple of 32",
                got=str(where),
                expected="lane 0, 32, 64 or 96",
                section="tcgen05.shift",
            )
        engine = cta.machine.engine
        thread = (cta.number, warp.number, lane)
        before = earlier(engine, TensorOp.SHIFT, ctas)
        engine.issue(AsyncOp("tcgen05.shift", thread, "mma", Shift(ctas, where), place, before))
        return None

    return run


@dataclass(eq=False, slots=True)
class Shift:
    """One shift under way; calling it lets it take effect in each of the CTAs."""

    ctas: tuple[Cta, ...]
    where: TensorAddress

    def __call__(self) -> None:
        """Give each lane what the next one has, but for the last."""
        lanes = self.where.lane + np.arange(31, dtype=np.int64)[:, None]
        columns = self.where.column + np.arange(_SHIFTED_COLUMNS, dtype=np.int64)[None, :]
        for cta in self.ctas:
            found = cta.tensor.read(lanes + 1, columns, "tcgen05.shift")
            cta.tensor.write(lanes, columns, found, "tcgen05.shift")
            cta.machine.changed()


SEMANTICS: dict[str, Maker] = {"tcgen05.cp": copy, "tcgen05.shift": shift}
