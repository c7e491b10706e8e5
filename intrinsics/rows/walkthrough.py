"""The walkthrough's operations: what a whole CTA does with tensor memory, in one record each.

Layer: intrinsics.  A second spelling of tcgen05, of tile compilers: the CTA allocates, multiplies,
waits, loads and gives back as one, and a tensor memory handle is an i32.  The machine has none of
these: the records are *pseudo* (they have no PTX), and `isel.passes.expand_walkthrough` makes
threads, warps, barriers and fences of them.  The multiply alone is the machine's own record
(`TCGEN05_MMA_CTA_GROUP1_DENSE`), for which only one thread has to be chosen.

Sizes are the walkthrough's: a column is 2 KiB, that is four columns of the hardware's; a handle is
an address in tensor memory.
"""

from __future__ import annotations

from intrinsics.modifiers import CtaGroup, ScalarType
from intrinsics.row import (
    Access,
    Count,
    Effect,
    Effects,
    IssueScope,
    Kind,
    Llvm,
    Numbers,
    Operand,
    Row,
    number,
    register,
    result,
    vector,
)
from intrinsics.rows.tcgen05 import TCGEN05, conditional

HARDWARE_COLUMNS = 4
"""Columns of tensor memory (128 lanes of 32 bits) in one of the walkthrough's, of 2 KiB."""

SWIZZLE_CODES = {0: 0, 1: 2, 2: 4, 3: 6}
"""The walkthrough's swizzle codes (wgmma's: none, 128, 64, 32 bytes) as tcgen05's."""

ROWS_OF_LD, VALUES_OF_LD = 64, 128
"""The accumulator that the load reads: its rows, and the f32 values that a thread gets."""

_TOGETHER = Effects(
    Effect.CONVERGENT | Effect.ALIGNED | Effect.WRITES_MEMORY | Effect.BARRIER, IssueScope.CTA
)
_COLUMNS = Numbers(1, 512 // HARDWARE_COLUMNS)

# fmt: off
ALLOC = Row(
    "tcgen05.alloc.shared", "", "handle, columns", name="walkthrough.alloc",
    operands=(result("handle", ScalarType.B32), number("columns", _COLUMNS)),
    section="tcgen05.alloc", needs=TCGEN05, needs_text=conditional("tcgen05.alloc"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.alloc.shared", "i32:columns", "i32:handle"),),
    simulated=False, pseudo=True,
)

ENCODE = Row(
    "tcgen05.mma_smem_desc.encode", "", "desc, pointer, sbo, lbo, base_offset, swizzle",
    name="walkthrough.encode",
    operands=(
        result("desc", ScalarType.B64),
        Operand("pointer", Kind.REGISTER, ScalarType.B32, widened=True),
        number("sbo", Numbers(0, (1 << 18) - 16, multiple=16)),
        number("lbo", Numbers(0, (1 << 18) - 16, multiple=16)),
        number("base_offset", Numbers(0, 7)), number("swizzle", Numbers(0, 3)),
    ),
    section="Shared memory descriptor", needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    llvm=(Llvm("tcgen05.mma_smem_desc.encode",
               "p3:pointer, i32:sbo, i32:lbo, i32:base_offset, i32:swizzle", "i64:desc"),),
    simulated=False, pseudo=True,
)

WAIT = Row(
    "tcgen05.wait.cta_group__1", name="walkthrough.wait", opcode="TCGEN05_WAIT_CTA_GROUP1",
    section="tcgen05.wait", needs=TCGEN05, needs_text=conditional("tcgen05.wait"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.wait.cta_group__1"),),
    simulated=False, pseudo=True,
)

LD = Row(
    "tcgen05.ld.m64n8x32b", "", "acc, handle", name="walkthrough.ld",
    operands=(
        vector("acc", ScalarType.B32, Count((("", {None: VALUES_OF_LD}),)), Access.WRITE,
               distinct=True),
        register("handle", ScalarType.B32),
    ),
    section="tcgen05.ld", needs=TCGEN05, needs_text=conditional("tcgen05.ld"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.ld.m64n8x32b", "i32:handle", "v*f32:acc"),),
    simulated=False, pseudo=True,
)

DEALLOC = Row(
    "tcgen05.dealloc", "", "handle, columns", name="walkthrough.dealloc",
    operands=(register("handle", ScalarType.B32), number("columns", _COLUMNS)),
    section="tcgen05.dealloc", needs=TCGEN05, needs_text=conditional("tcgen05.dealloc"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.dealloc", "i32:handle, i32:columns"),),
    simulated=False, pseudo=True,
)

RELINQUISH = Row(
    "tcgen05.relinquish_alloc_permit", name="walkthrough.relinquish",
    section="tcgen05.relinquish_alloc_permit", needs=TCGEN05,
    needs_text=conditional("tcgen05.relinquish_alloc_permit"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.relinquish_alloc_permit"),),
    simulated=False, pseudo=True,
)
# fmt: on

ROWS = (ALLOC, ENCODE, WAIT, LD, DEALLOC, RELINQUISH)

MULTIPLY = Llvm(
    "tcgen05.mma.cta_group__1",
    "i32:d, i64:a, i64:b, i32=ctrl, i32=collector, i1:enable_d",
    given={"cta_group": CtaGroup.ONE},
)
"""The spelling of the multiply, whose words stand as they are, and whose shape the atom gives."""
