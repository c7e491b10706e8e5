"""Forms of the walkthrough's PTX that the machine does not have, and what holds instead.

Layer: intrinsics.  Tile compilers that spell tcgen05 as `intrinsics.rows.walkthrough` does are
documented with PTX that no assembler takes, or that means something else.  Each row says who is
against it: "ptxas" refuses the statement, "the manual" gives it another meaning.
"""

from __future__ import annotations

from enum import Enum

from intrinsics.findings import Finding, Severity
from intrinsics.lazy_dataclass import dataclass


class Judge(Enum):
    """The authority that rejects a form."""

    PTXAS = "ptxas refuses the walkthrough's form"
    MANUAL = "the manual gives the walkthrough's form another meaning"


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """One form: the pseudo row (or "tcgen05.mma") that it is of, and what nvgen writes instead.

    `text` is the form as it is documented, with registers as in PTX; `section` the manual's.
    """

    rule: str
    row: str
    text: str
    judge: Judge
    why: str
    instead: str
    section: str

    def finding(self) -> Finding:
        """The note about it."""
        return Finding(
            f"walkthrough/{self.rule}",
            Severity.NOTE,
            f"{self.judge.value}: {self.why}",
            op=self.row,
            got=self.text,
            expected=self.instead,
            section=f"PTX ISA, {self.section}",
        )


# fmt: off
FORMS: tuple[RefusedForm, ...] = (
    RefusedForm(
        "form-alloc", "walkthrough.alloc",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%rd1], 16;", Judge.PTXAS,
        "an allocation is a power of 2 in 32..512 columns",
        "128 columns for 128 columns of f32", "tcgen05.alloc",
    ),
    RefusedForm(
        "form-descriptor", "walkthrough.encode",
        "the descriptor of wgmma, bit for bit", Judge.MANUAL,
        "bits 46-48 are 0b001 and the swizzle code has three bits, 61-63: 128 bytes are 2 there, "
        "and 1 is 128 bytes in atoms of 32",
        "tcgen05's own descriptor; swizzle code 1 of the walkthrough becomes 2",
        "Shared memory descriptor (Table 40)",
    ),
    RefusedForm(
        "form-idesc", "tcgen05.mma",
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r1], %rd1, %rd2, 193, 1;",
        Judge.MANUAL,
        "the operand is the instruction descriptor, 32 bits of shape and types; as one, the "
        "control word 0xC1 has M = 0, N = 0 and a reserved bit",
        "the descriptor that the atom gives", "Instruction descriptor (Table 42)",
    ),
    RefusedForm(
        "form-cta-group", "tcgen05.mma",
        "tcgen05.mma.cta_group::3.kind::f16 [%r1], %rd1, %rd2, %r2, 1;", Judge.PTXAS,
        "there is one CTA or a pair: codes 1 and 2 of the control word's bits 0-1",
        ".cta_group::1 or .cta_group::2", "tcgen05.mma",
    ),
    RefusedForm(
        "form-wait", "walkthrough.wait",
        "tcgen05.wait.cta_group::1.sync.aligned;", Judge.PTXAS,
        "tcgen05.wait is for loads and stores; a multiply is complete when a commit arrives on an "
        "mbarrier",
        "tcgen05.commit, mbarrier.try_wait, tcgen05.fence::after_thread_sync", "tcgen05.commit",
    ),
    RefusedForm(
        "form-ld-shape", "walkthrough.ld",
        "tcgen05.ld.sync.aligned.m64n8x32b.b32 {%r1}, [%r2];", Judge.PTXAS,
        "the shapes are .16x64b, .16x128b, .16x256b, .32x32b and .16x32bx2",
        "tcgen05.ld.sync.aligned.16x32bx2.x128.b32 by each warp, from its own lanes", "tcgen05.ld",
    ),
    RefusedForm(
        "form-ld-half", "walkthrough.ld",
        "tcgen05.ld.sync.aligned.16x64b.x32.b32", Judge.MANUAL,
        "32 repetitions of 64 bits are 64 of the 128 columns, and of a row a thread gets a "
        "quarter, not the whole",
        "tcgen05.ld.sync.aligned.16x32bx2.x128.b32", "Matrix fragments for shape .16x64b",
    ),
    RefusedForm(
        "form-cp-shape", "walkthrough.cp",
        "tcgen05.cp.smem.tmem.m64n128b [%r1], %rd1;", Judge.PTXAS,
        "the shapes are .128x256b, .4x256b, .128x128b, .64x128b and .32x128b",
        "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23, for one", "tcgen05.cp",
    ),
    RefusedForm(
        "form-sparse-k", "tcgen05.mma.sp",
        "the atom sm100_umma_m64n128k16_f32_bf16_bf16_sp", Judge.MANUAL,
        "a sparse multiply has twice the K of a dense one",
        "sm100_umma_m64n128k32_f32_bf16_bf16_sp", "Matrix Shape (Table 39)",
    ),
    RefusedForm(
        "form-dealloc", "walkthrough.dealloc",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [%r1], 16;", Judge.PTXAS,
        "the address stands without brackets, and the columns are those of the allocation",
        "tcgen05.dealloc… %r1, 128;", "tcgen05.dealloc",
    ),
    RefusedForm(
        "form-relinquish", "walkthrough.relinquish",
        "a CTA that ends without tcgen05.relinquish_alloc_permit keeps others from allocating",
        Judge.MANUAL,
        "it gives up the right to allocate while the CTA goes on; nothing has to be given up at "
        "the end",
        "selected where it stands, demanded nowhere", "tcgen05.relinquish_alloc_permit",
    ),
)
# fmt: on
