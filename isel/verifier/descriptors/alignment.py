"""Alignment that an instruction needs and the declaration of a variable does not promise.

Layer: isel.verifier.descriptors.  Input: the known bits of an address in shared memory, and those
that were known if every variable had the largest alignment.  Output: breaches.  ptxas places a
variable at any multiple of the alignment that it declares: an address that would be aligned if the
variable were is so by chance.  PTX ISA, Variables: Alignment; cp.async.bulk.tensor; cp.async.bulk;
cp.async; ldmatrix; stmatrix; wgmma, Matrix Descriptor Format.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.findings import Severity
from intrinsics.known_bits import KnownBits
from intrinsics.limits import TENSOR_COPY_ALIGNMENT
from intrinsics.mir import Imm, MachineInstr
from intrinsics.rows import bulk, bulk_reduce, copies, matrix, tma, tma_stores
from isel.verifier.descriptors.breach import Breach
from isel.verifier.rule import VerifierRule

DECLARED = VerifierRule(
    "{op}/declared-alignment",
    "a variable declares less alignment than what accesses it needs",
    "Variables, Alignment",
    Severity.WARNING,
    hint=".align of the variable, __align__ in CUDA C++: ptxas places it at any multiple of that, "
    "so the kernel may be right in one module and wrong in the next",
)
RULES = (DECLARED,)

MOST = 1024
OF_MATRICES = 16
"""Bytes whose multiple the address in a matrix descriptor is."""

_COPIES = (copies.COPY.id, copies.COPY_OR_IGNORE.id)

PLACES = {
    row.id: names
    for rows, names in (
        ((tma.TILE_LOAD, tma.IM2COL_LOAD, bulk.LOAD, bulk.LOAD_PART), ("dst",)),
        ((tma.TILE_STORE, tma_stores.REDUCE, bulk.STORE, bulk_reduce.STORE), ("src",)),
        ((bulk.TO_CLUSTER, bulk_reduce.TO_CLUSTER), ("dst", "src")),
        ((copies.COPY, copies.COPY_OR_IGNORE), ("dst",)),
        ((matrix.LDMATRIX, matrix.STMATRIX), ("a",)),
    )
    for row in rows
}
"""By row, the operands that are addresses in shared memory."""

_BULK = 16


def needed(mi: MachineInstr) -> int:
    """The alignment in bytes that a record's addresses in shared memory need."""
    if ".tensor" in mi.row.id:
        return TENSOR_COPY_ALIGNMENT
    if mi.row.id in _COPIES:
        size = mi["size"]
        return size.value if isinstance(size, Imm) else 1
    return _BULK


def judge(known: KnownBits, generous: KnownBits, size: int) -> Iterator[Breach]:
    """The breach of an address of which only the variable's alignment says whether it fits."""
    low = size - 1
    if known.mask & low == low or generous.field(0, low.bit_length()) is None:
        return
    aligned = (known.mask + 1) & ~known.mask
    yield Breach(
        DECLARED,
        f"a variable of which every multiple of {aligned} may be the address",
        f".align {size} or more",
    )
