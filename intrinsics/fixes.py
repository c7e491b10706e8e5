"""Errors and gaps of the manual, LLVM and ptxas, and what nvgen does instead.

Layer: intrinsics.  Each row was found on the date that it gives; its `shown` says what shows it.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Fix:
    """One erratum: its source and subject, what it says, what holds, and what shows it."""

    subject: str
    source: str
    says: str
    holds: str
    shown: str
    date: str


FIXES: tuple[Fix, ...] = (
    Fix(
        "zero-column mask",
        "PTX ISA 9.0, Table 45",
        "the skip span counts columns that are used, the use span those that are zero",
        "the other way round",
        "the four worked examples below the table",
        "2026-11-20",
    ),
    Fix(
        "tcgen05.mma, scale-input-d with .kind::i8",
        "ptxas 13.5",
        "accepts any number",
        "an error: the operand is dropped, the machine code is the same without it",
        "SASS with and without the operand; PTX ISA lists f16 and tf32 only",
        "2026-11-20",
    ),
    Fix(
        "tcgen05.mma.ws with a small number after enable-input-d",
        "ptxas 13.5",
        "accepts it, as a zero-column mask",
        "an error: bit 39 of a mask descriptor says that there is a mask",
        "PTX ISA, Table 45",
        "2026-11-20",
    ),
    Fix(
        "tcgen05.ld with one register twice",
        "ptxas 13.5, checking only",
        "accepts it",
        "an error",
        "ptxas 13.5, generating code: C7308",
        "2026-11-20",
    ),
    Fix(
        "cp.async.bulk.tensor, addresses",
        "ptxas 13.5",
        "accepts registers of any type, and floating-point numbers without brackets",
        "addresses in brackets, as everywhere",
        "PTX ISA, cp.async.bulk.tensor",
        "2026-11-20",
    ),
    Fix(
        "cp.async.bulk.tensor, innermost coordinate",
        "PTX ISA 9.0, cp.async.bulk.tensor",
        "asks nothing of it",
        "a multiple of 16 bytes",
        "an H200 (driver 580.159): an illegal instruction with any other, in every swizzling",
        "2026-11-20",
    ),
    Fix(
        "cp.async.bulk.tensor, destination",
        "PTX ISA 9.0, cp.async.bulk.tensor",
        "128 bytes, in some modes less",
        "a multiple of 128 bytes for every tile load, and for the source of a store",
        "an H200 (driver 580.159): a misaligned address at 16, 32, 64 and 112",
        "2026-11-20",
    ),
    Fix(
        "cp.async.bulk.tensor, coordinates of a tile store",
        "PTX ISA 9.0, cp.async.bulk.tensor",
        "asks nothing of them",
        "none is negative; a tile may begin behind the tensor's end",
        "an H200 (driver 580.159): an illegal instruction with a negative one, in every dimension",
        "2026-11-20",
    ),
    Fix(
        "bfe with a position or length in a register beyond 255",
        "PTX ISA 9.0, bfe",
        "takes the low byte",
        "an error",
        "an H200 (driver 580.159): 256 is a position behind the value, and a length of all of it",
        "2026-11-20",
    ),
    Fix(
        "cta_group 0 and 3 in the control word",
        "compilers that use the word",
        "0 stands for one CTA",
        "1 and 2 only",
        "PTX ISA, tcgen05.mma: .cta_group::1 and .cta_group::2",
        "2026-11-20",
    ),
    Fix(
        "tcgen05.commit on a generic address",
        "LLVM 22",
        "prints .shared::cluster although the address is generic",
        "prints no state space",
        "PTX ISA, tcgen05.commit: without a space the address is generic",
        "2026-11-20",
    ),
    Fix(
        "barrier.cluster.arrive, some threads of a warp with .relaxed",
        "PTX ISA 9.0, barrier.cluster",
        "asks nothing of what other threads of the warp arrive with",
        "the same semantics for all threads of a warp",
        "an H200 (driver 580.159): the kernel never ends when half of a warp is .relaxed",
        "2026-11-22",
    ),
)
