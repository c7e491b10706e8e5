"""tcgen05.mma, effect: reads A, B and their scale factors and metadata, multiplies, and writes D.

Layer: nvgen.sim.semantics.  Input: decoded descriptors and addresses; output: cells of D in the
tensor memory of the one or two CTAs.  Sparse A is expanded to K elements by its metadata before it
is scaled and multiplied.  A negated matrix is multiplied by -1.  Zero columns of B are not read:
zeros stand for them, and infinity times zero is NaN.  Lanes of D that the mask disables are neither
read nor written; of a pair's eight words of mask the first four are taken to be the even CTA's.
PTX ISA, tcgen05.mma, .sp, .ws; Zero-Column Mask Descriptor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.descriptors.tensor_address import TensorAddress
from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.faults import fault
from nvgen.sim.memory.collectors import Held
from nvgen.sim.semantics.tcgen05.mma_check import DecodedMma
from nvgen.sim.semantics.tcgen05.mma_numbers import (
    Cells,
    Numbers,
    accumulate,
    accumulate_integers,
    integer_sums,
    sums,
)
from nvgen.sim.semantics.tcgen05.mma_operands import (
    Codes,
    Flags,
    MatrixLayout,
    Share,
    accumulator_shares,
    numbers,
    scale_factors,
    shared_matrix,
    tensor_matrix,
)
from nvgen.sim.semantics.tcgen05.mma_sparse import Sparse, expand
from nvgen.sim.threads.machine import Cta


@dataclass(frozen=True, slots=True)
class Extras:
    """Optional inputs of a multiply.

    `scales` are the addresses of the factors of A and B, `metadata` that of a sparse A's indices,
    `mask` the disabled lanes (CTAs × 128), `zeros` the columns of B that count as zero, `skipped`
    how many columns of B lie before the first, `held` the matrix that a collector buffer shares.
    """

    scales: tuple[TensorAddress, TensorAddress] | None = None
    metadata: TensorAddress | None = None
    mask: Flags | None = None
    zeros: Flags | None = None
    skipped: int = 0
    held: Held | None = None


@dataclass(eq=False, slots=True)
class MmaOperation:
    """One matrix multiply in flight, on one CTA or a pair (the even one first).

    Calling it lets it take effect.
    """

    ctas: tuple[Cta, ...]
    shape: DecodedMma
    name: str
    d: TensorAddress
    a: SharedMemoryDescriptor | TensorAddress
    b: SharedMemoryDescriptor
    accumulate: bool
    shift: int = 0
    extras: Extras = Extras()

    def follows(self, other: MmaOperation) -> bool:
        """Whether it is pipelined after `other`: same CTAs, accumulator and shape."""
        mine, theirs = self.shape.idesc, other.shape.idesc
        return (
            self.ctas == other.ctas
            and self.d == other.d
            and (mine.m, mine.n) == (theirs.m, theirs.n)
        )

    def __call__(self) -> None:
        """Read A, B and D, and write D.

        Raises: Fault; NotSimulatedError.
        """
        a, b = self._a(), self._b()
        old = self._old() if self.accumulate else None
        i = self.shape.idesc
        parts = list(zip(a, np.split(b, len(a)), strict=True))
        if i.d is ElementType.S32:
            total = np.concatenate([integer_sums(left, right) for left, right in parts], axis=1)
            cells = accumulate_integers(total, old, saturate=i.saturate)
        else:
            kept = self._kept(len(a)) if not np.isfinite(b).all() else [None] * len(a)
            found = [sums(*part, stored) for part, stored in zip(parts, kept, strict=True)]
            rounded = np.concatenate(found, axis=1)
            cells = accumulate(rounded, old, i.d or ElementType.F32, self.shift)
        for share in self._shares():
            self._write(share, cells[share.rows])
        self.ctas[0].machine.changed()

    # ---- A and B ---------------------------------------------------------------------------

    def _a(self) -> list[Numbers]:
        """A; or as often as there are parts of N that have an A of their own."""
        i, shape = self.shape.idesc, self.shape
        codes = self._a_codes(f"{self.name} (A)")
        if not shape.form.ws:
            self._meet(np.concatenate(codes, axis=1), np.ones(i.m, np.bool_), i.a)
        codes = self._expanded(codes)
        found = [_signed(numbers(part, i.a), negate=i.negate_a) for part in codes]
        if self.extras.scales is None:
            return found
        address, per_cta = self.extras.scales[0], i.m // len(self.ctas)
        factors = np.concatenate(
            [self._factors(cta, address, per_cta, i.sfa_id, "SFA") for cta in self.ctas]
        )
        return [part * factors for part in found]

    def _expanded(self, codes: list[Codes]) -> list[Codes]:
        """A with the zeros that are not stored of a sparse one."""
        i, shape = self.shape.idesc, self.shape
        if self.extras.metadata is None:
            return codes
        where = Sparse(shape.kind, shape.path, i.m, i.k, i.selector)
        return expand(codes, where, self.ctas, self.extras.metadata, f"{self.name} (metadata)")

    def _kept(self, parts: int) -> list[Flags] | list[None]:
        """Which elements of a sparse A are stored, for each part of N."""
        i = self.shape.idesc
        if self.extras.metadata is None:
            return [None] * parts
        ones = np.ones((i.m, self.shape.k_stored), np.uint8)
        found = [part != 0 for part in self._expanded([ones])]
        return found * (parts // len(found))

    def _a_codes(self, agent: str) -> list[Codes]:
        i, shape = self.shape.idesc, self.shape
        layout = MatrixLayout(i.a, i.kind, i.a_major)
        k = shape.k_stored
        if isinstance(self.a, TensorAddress):
            return tensor_matrix(self.ctas, self.a, shape.path, i.m, k, layout, agent)
        every = np.ones(i.m // len(self.ctas), np.bool_)
        parts = [shared_matrix(cta, self.a, every, k, layout, agent) for cta in self.ctas]
        return [_joined(parts)]

    def _b(self) -> Numbers:
        i = self.shape.idesc
        layout = MatrixLayout(i.b, i.kind, i.b_major)
        agent = f"{self.name} (B)"
        skipped = self.extras.skipped
        used = np.ones(i.n, np.bool_) if self.extras.zeros is None else ~self.extras.zeros
        wanted = np.concatenate([np.zeros(skipped, np.bool_), used])
        parts = np.split(wanted, len(self.ctas))
        codes = _joined(
            [
                shared_matrix(cta, self.b, part, i.k, layout, agent)
                for cta, part in zip(self.ctas, parts, strict=True)
            ]
        )
        if self.shape.form.ws:
            self._meet(codes, wanted, i.b)
        found = _signed(numbers(codes[skipped:], i.b), negate=i.negate_b)
        found[~used] = 0.0
        if self.extras.scales is None:
            return found
        address = self.extras.scales[1]
        factors = [self._factors(cta, address, i.n, i.sfb_id, "SFB") for cta in self.ctas]
        if not np.array_equal(factors[0], factors[-1], equal_nan=True):
            raise fault(
                "scale-pair",
                f"{self.name} (SFB): the CTAs of the pair have other factors of B",
                expected="the factors of all columns in both CTAs",
                section="Block Scaling",
            )
        return found * factors[0]

    def _meet(self, codes: Codes, known: Flags, type_: ElementType) -> None:
        """Compare a matrix with what a collector buffer holds of it."""
        if self.extras.held is not None:
            self.extras.held.meet(type_, codes, known)

    def _factors(
        self, cta: Cta, where: TensorAddress, rows: int, number: int, name: str
    ) -> Numbers:
        """The factor of each element: rows × K.  Where N has two parts, so have B's factors."""
        i = self.shape.idesc
        assert i.scale is not None
        count = self.shape.factors
        agent = f"{self.name} ({name})"
        parts = self.shape.path.parts if name == "SFB" else 1
        found = scale_factors(cta.tensor, where, (rows, count), number, i.scale, agent, parts=parts)
        return np.repeat(found, i.k // count, axis=1)

    # ---- D ---------------------------------------------------------------------------------

    def _shares(self) -> tuple[Share, ...]:
        i = self.shape.idesc
        return accumulator_shares(self.shape.path, i.m, i.n, len(self.ctas))

    def _old(self) -> Cells:
        """D before; zeros in lanes that are disabled."""
        i = self.shape.idesc
        found = np.zeros((i.m, i.n), np.uint32)
        for share in self._shares():
            tensor, agent = self.ctas[share.rank].tensor, f"{self.name} (D)"
            lanes, columns = share.lanes + self.d.lane, share.columns + self.d.column
            if self.extras.mask is None:
                found[share.rows] = tensor.read(lanes, columns, agent)
                continue
            lanes, columns, enabled = self._enabled(share, lanes, columns)
            part = np.zeros(enabled.shape, np.uint32)
            part[enabled] = tensor.read(lanes, columns, agent)
            found[share.rows] = part
        return found

    def _write(self, share: Share, cells: Cells) -> None:
        tensor, agent = self.ctas[share.rank].tensor, f"{self.name} (D)"
        lanes, columns = share.lanes + self.d.lane, share.columns + self.d.column
        if self.extras.mask is None:
            tensor.write(lanes, columns, cells, agent)
            return
        lanes, columns, enabled = self._enabled(share, lanes, columns)
        tensor.write(lanes, columns, cells[enabled], agent)

    def _enabled(
        self, share: Share, lanes: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Flags]:
        """The cells that are not disabled, and where they are among the rows and columns of D."""
        assert self.extras.mask is not None
        shape = (len(share.rows), self.shape.idesc.n)
        lanes, columns = np.broadcast_to(lanes, shape), np.broadcast_to(columns, shape)
        enabled: Flags = ~self.extras.mask[share.rank][lanes]
        return lanes[enabled], columns[enabled], enabled


def _joined(parts: list[Codes]) -> Codes:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _signed(found: Numbers, *, negate: bool) -> Numbers:
    return -found if negate else found
