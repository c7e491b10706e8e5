"""mma.sp: metadata from registers, and the matrix that a sparse A stands for.

Layer: nvgen.sim.semantics.  An index that means nothing ends the run: the manual calls it undefined
behaviour.  Of two of four (or two pairs of eight) places must differ; with ::ordered_metadata, and
for e4m3, e5m2 and narrower types, they must ascend.  For tf32 there are two indices.  PTX ISA,
Sparse matrix storage; see `intrinsics.layouts.fragments_mma_sparse`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.layouts.fragments_mma_sparse import ROWS, chunk_size, metadata_fragment
from intrinsics.layouts.sparse import ASCENDING_INDICES, HALF_INDICES
from intrinsics.mir import Imm, MachineInstr
from intrinsics.modifiers import ScalarType
from intrinsics.modifiers.mma_sync import MmaShape
from nvgen.sim.faults import fault
from nvgen.sim.semantics.warp.mma_sync_registers import Bits
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.machine import Warp

Expand: TypeAlias = Callable[[Warp, Bits], Bits]
"""The whole of A, 16 by K, from what is stored of it."""

_DIFFERENT = tuple(i | j << 2 for i in range(4) for j in range(4) if i != j)


def expander(c: Compiler, mi: MachineInstr, bits: int, *, ordered: bool) -> Expand:
    """The function that expands the sparse A of a record, with elements of `bits` in a register."""
    shape, selector = mi.form.attributes["shape"], mi["sp_sel"]
    assert isinstance(shape, MmaShape)
    assert isinstance(selector, Imm)
    thread, place = metadata_fragment(shape, bits, selector.value)
    held = c.get(mi["sp_meta"], ScalarType.B32)
    size = chunk_size(bits)
    allowed = HALF_INDICES if size == 2 else ASCENDING_INDICES if ordered else _DIFFERENT
    places = place.astype(np.uint32)

    def expand(warp: Warp, stored: Bits) -> Bits:
        words = held(warp).astype(np.uint32)
        indices = (words[thread] >> places & np.uint32(15)).astype(np.uint8)
        _check(mi, indices, allowed, thread)
        return _expanded(stored, indices, size)

    return expand


def _expanded(stored: Bits, indices: NDArray[np.uint8], size: int) -> Bits:
    """The elements at the places of a row that its indices name, and zeros."""
    first, second = (indices & 3).astype(np.int64), (indices >> 2).astype(np.int64)
    chosen = first[..., None] // 2 if size == 2 else np.stack([first, second], axis=-1)
    chunks, kept = chosen.shape[1:]
    width = size // 2 // kept
    units = np.zeros((ROWS, chunks, 2 * kept, width), stored.dtype)
    given = stored.reshape(ROWS, chunks, kept, width)
    np.put_along_axis(units, chosen[..., None], given, axis=2)
    return units.reshape(ROWS, chunks * size)


def _check(
    mi: MachineInstr,
    indices: NDArray[np.uint8],
    allowed: tuple[int, ...],
    thread: NDArray[np.int64],
) -> None:
    """Whether all indices mean something.

    Raises: Fault.
    """
    wrong = np.argwhere(~np.isin(indices, allowed))
    if not len(wrong):
        return
    row, chunk = (int(i) for i in wrong[0])
    index = int(indices[row, chunk])
    turned = index in _DIFFERENT and allowed is ASCENDING_INDICES
    raise fault(
        "sparse-metadata",
        f"{mi.row.head}: row {row}, chunk {chunk} of A: index {index:#06b} "
        + ("is not in order" if turned else "has no meaning"),
        got=f"{index:#06b} in the metadata of lane {int(thread[row, chunk])}",
        expected=", ".join(f"{one:#06b}" for one in sorted(allowed)),
        hint="the lower two bits are the place of the element that is stored first" * turned,
        section="Sparse matrix storage",
    )
