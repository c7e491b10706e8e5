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


def needed(mi: MachineInstr) -> Iterator[tuple[str, int]]:
    """Operands that are addresses in shared memory, and the alignment in bytes that they need."""
    for name, aligned in mi.row.aligned.items():
        if isinstance(aligned, str):
            size = mi[aligned]
            yield name, size.value if isinstance(size, Imm) else 1
        else:
            yield name, aligned


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
