"""wgmma statements that ptxas accepts and that nvgen refuses on purpose, each with its rule."""

from __future__ import annotations

from tests.oracle.agreement import Deliberate

_MULTIPLY = r"^(@%p2 )?wgmma\.mma_async(\.sp)?\.\S* "
_HEADS = ("wgmma.mma_async", "wgmma.mma_async.sp")

DELIBERATE: tuple[Deliberate, ...] = (
    Deliberate(
        r"^wgmma(?!\S*\.aligned)\S*",
        "ptx/missing-modifier",
        ".aligned left out, which the manual says is mandatory",
    ),
    *(
        Deliberate(
            rf"{_MULTIPLY}.*\{{%r0, (%f1|%u1|%s1|%hx1|%r1|1|1\.0)[,}}]",
            f"{head}/operands",
            "registers of several types, or numbers, in one matrix: one that is right is enough",
        )
        for head in _HEADS
    ),
    *(
        Deliberate(
            rf"{_MULTIPLY}\{{%r0, %r0[,}}]",
            f"{head}/repeated-register",
            "a register twice in D, where two sums belong: ptxas makes code of it",
        )
        for head in _HEADS
    ),
    *(
        Deliberate(
            rf"^{head.replace('.', '[.]')}\.sync\S*\.s32\S* .*\{{%p0, %p1, %p2, %p3\}},",
            f"{head}/operands",
            "predicates as a matrix of integers",
        )
        for head in _HEADS
    ),
    Deliberate(
        r"^wgmma\.mma_async\.sp\S* .*, (%hx7|\{%r7\}), 0, %p1",
        "wgmma.mma_async.sp/operands",
        "two half floats, or braces around one register, as metadata",
    ),
)
"""What differs in `tests.oracle.wgmma_product`."""
