"""mma statements that ptxas accepts and that nvgen refuses on purpose, each with its rule."""

from __future__ import annotations

from tests.oracle.agreement import Deliberate

_STRANGER = r"(%f1|%u1|%s1|%hx1|%p1|%rd1|%r1|1|1\.0|0f00000000)"

DELIBERATE: tuple[Deliberate, ...] = (
    Deliberate(
        rf"\{{((%r|%fd)\d+, ([^}}]*, )?{_STRANGER}|{_STRANGER}, ([^}}]*, )?(%r|%fd)\d+)\}}",
        "mma/operands",
        "registers of several types, or numbers, in one matrix: one that is right is enough",
    ),
    Deliberate(
        r" .*\{(0f00000000|1|1\.0)(, \1)*\}",
        "mma/operands",
        "numbers in the place of a matrix: C has them in some families, f64 in each matrix",
    ),
    Deliberate(
        r"\.(f64|e[45]m[23])\.\S* \{.*_.*\}",
        "mma/operands",
        "a sink among sums of f64 or of bytes, which ptxas takes on some targets only",
    ),
    Deliberate(
        r"^mma\S* \{([^},]*), ([^}]*, )?\1[,}]|^mma\S* \{[^}]*, (%\w+), ([^}]*, )?\3[,}]",
        "mma/repeated-register",
        "a register twice in D, where two elements belong",
    ),
    Deliberate(
        r"^mma\S*\.(e4m3|s8|u8|s4|u4|b1)\.\S* .*\{%p[01](, %p1)*(, %p2, %p3)?\}",
        "mma/operands",
        "predicates as a matrix of narrow elements",
    ),
    Deliberate(
        r"^mma(?=\S*\.[su]4\.[su]4\.)\S*\.(popc|xor)",
        "ptx/unknown-modifier",
        "an operation on single bits, of integers of four",
    ),
)
"""What differs in `tests.oracle.mma_sync_product`."""

KINDS: tuple[Deliberate, ...] = (
    Deliberate(
        r"kind::\S* .*\{%r9\}, 0",
        "mma.sp::ordered_metadata/operands",
        "braces around metadata: ptxas takes them with kinds alone",
    ),
    *(
        entry
        for head in ("mma", "mma.sp::ordered_metadata")
        for entry in (
            Deliberate(
                r"\{(1\.0, %h1|%h1, 1\.0)\}",
                f"{head}/operands",
                "a floating-point number as the number of a byte or a thread, beside a register",
            ),
            Deliberate(
                rf"^{head}\.sync\S*kind::f8f6f4\S* .*\{{%p0, %p1(, %p2, %p3)?\}}",
                f"{head}/operands",
                "predicates as a matrix of narrow elements",
            ),
        )
    ),
)
"""What differs in `tests.oracle.mma_kind_product`."""

SPARSE: tuple[Deliberate, ...] = tuple(
    entry
    for head in ("mma.sp", "mma.sp::ordered_metadata")
    for entry in (
        Deliberate(
            r"\.m16n8k32\.row\.col\.f32\.f16\.f16\.f32 .*, %r9, [23];",
            f"{head}/immediate-range",
            "a selector that the shape does not have: ptxas looks at it for f16 sums and bf16 only",
        ),
        Deliberate(
            r" .*\{(%[ufsp]|%hx)0[,}]",
            f"{head}/operands",
            "registers of other types: any of 32 bits will do, and predicates",
        ),
        Deliberate(
            r", (%hx7|%p7|\{%r7\}|\{%r7, %r8\}), 0;$",
            f"{head}/operands",
            "two half floats, predicates, or braces, as metadata",
        ),
        Deliberate(
            r"\.e[45]m[23]\..*, %f7, 0;$",
            f"{head}/operands",
            "floating-point numbers as metadata of bytes: ptxas takes them on some targets only",
        ),
    )
)
"""What differs in `tests.oracle.mma_sp_product`."""
