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

_COPIES = ("cp.async", "cp.async.ignore_src")

PLACES = {
    "cp.async.bulk.tensor.load": ("dst",),
    "cp.async.bulk.tensor.load.im2col": ("dst",),
    "cp.async.bulk.tensor.store": ("src",),
    "cp.reduce.async.bulk.tensor": ("src",),
    "cp.async.bulk.load": ("dst",),
    "cp.async.bulk.load.ignore_oob": ("dst",),
    "cp.async.bulk.to_cluster": ("dst", "src"),
    "cp.async.bulk.store": ("src",),
    "cp.reduce.async.bulk.to_cluster": ("dst", "src"),
    "cp.reduce.async.bulk.store": ("src",),
    **dict.fromkeys(_COPIES, ("dst",)),
    "ldmatrix": ("a",),
    "stmatrix": ("a",),
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
