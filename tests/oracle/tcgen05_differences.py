"""tcgen05 statements that ptxas accepts and that nvgen refuses on purpose, each with its rule."""

from __future__ import annotations

from tests.oracle.agreement import Deliberate

_ENABLE = r"(!?%p\d|-?\d+|0x20U|4294967296|WARP_SZ|1\+2)"
_NUMBER = r"(-?\d+|0x\w+|WARP_SZ|1\+2)"
_PLAIN = r"^(@!?%p1 )?tcgen05\.mma(?!\S*\.ws)\S*"
_STATIONARY = r"^(@!?%p1 )?tcgen05\.mma\.ws\S*"

DELIBERATE: tuple[Deliberate, ...] = (
    *(
        Deliberate(
            rf"{_PLAIN}\.kind::{kind}\b\S* .*, {_ENABLE}, {_NUMBER};",
            f"{head}/{rule}",
            f"a scale for D with kind::{kind}: ptxas takes any and {then}",
        )
        for kind, rule, then in (
            ("i8", "scale-d-i8", "drops it without a word"),
            ("i8", "scale-d-target", "drops it without a word"),
            ("ti16", "scale-d-ti16", "then cannot make code of it"),
        )
        for head in ("tcgen05.mma", "tcgen05.mma.sp")
    ),
    *(
        Deliberate(
            rf"{_STATIONARY} .*, {_ENABLE}, (?!0;){_NUMBER};",
            f"{head}/zero-mask-number",
            "a small number as a zero-column mask: a scale for D, which .ws does not have",
        )
        for head in ("tcgen05.mma.ws", "tcgen05.mma.ws.sp")
    ),
    *(
        Deliberate(
            rf"^(@!?%p1 )?tcgen05\.{head}\.\S* .*, 4294967328;",
            f"tcgen05.{head}/immediate-range",
            "a number of columns of more than 32 bits, of which ptxas looks at the low 32",
        )
        for head in ("alloc", "dealloc")
    ),
    Deliberate(
        r"tcgen05\.commit\S*\.sync_restrict::shared::(cta|cluster)\b(?!::)",
        "tcgen05.commit/sync-restrict-fence",
        "a modifier of fence.proxy.async, which ptxas takes and the manual does not have here",
    ),
)
"""What differs in `tests.oracle.tcgen05_product`."""

_LOADS = ("tcgen05.ld", "tcgen05.ld.red", "tcgen05.ld.spcompress", "tcgen05.ld.red.spcompress")
_PRODUCTS = ("tcgen05.mma", "tcgen05.mma.sp")
_LANE_RULES = (
    "tcgen05.mma/operands", "tcgen05.mma/scale-d-i8", "tcgen05.mma/scale-d-ti16",
    "tcgen05.mma/scale-d-target", "tcgen05.mma.sp/operands",
)  # fmt: skip

IN_MUTANTS: tuple[Deliberate, ...] = (
    *(
        Deliberate(
            rf"tcgen05\.mma\S* .*, (?![01],|[01];){_NUMBER}(, {_NUMBER})?;",
            f"{head}/enable-d-number",
            "a number other than 0 and 1 as enable-input-d: ptxas takes any for true",
        )
        for head in ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp")
    ),
    *(
        Deliberate(
            r"tcgen05\.\S*\.(b2|b8x16|b6x16_p32|b4x16_p64)\b",
            rule,
            "a type or format of another instruction: ptxas looks at it nowhere else",
        )
        for rule in ("ptx/unknown-modifier", "ptx/types")
    ),
    *(
        Deliberate(
            rf"{_PLAIN} .*, !?%p\d, {_ENABLE}(, {_NUMBER})?;",
            rule,
            "a predicate as the vector of lane masks",
        )
        for rule in _LANE_RULES
    ),
    *(
        Deliberate(
            rf"{_PLAIN} .*, {_ENABLE}, -?\d{{10,}};",
            f"{head}/immediate-range",
            "a scale for D of more than 32 bits, of which ptxas looks at the low 32",
        )
        for head in _PRODUCTS
    ),
    *(
        Deliberate(
            r"tcgen05\.ld\S* .*[{ ](%\w+)[,}].*[{ ]\1[,}]",
            f"{head}/repeated-register",
            "a register twice: refused by ptxas as it generates code",
        )
        for head in _LOADS
    ),
    *(
        Deliberate(
            r"tcgen05\.ld\S* \{.*\}, (%hx\d|\{%\w+\}),",
            f"{head}/operands",
            "two half floats, or braces around one register, as what a reduction gives",
        )
        for head in ("tcgen05.ld.red", "tcgen05.ld.red.spcompress")
    ),
)
"""What differs besides in the statements of `tests.oracle.tcgen05_mutations`."""

WITNESSES: tuple[str, ...] = (
    "tcgen05.mma.cta_group::1.kind::f16.b8x16 [%r0], %rd1, %rd2, %r3, %p1;",
    "tcgen05.ld.red.sync.b2.aligned.32x32b.x2.max.f32 {%r1, %r2}, %r3, [%r4];",
    *(
        f"tcgen05.mma.cta_group::1.kind::{kind} [%r0], %rd1, %rd2, %r3, %p1, %p1, 15;"
        for kind in ("f16", "i8", "ti16")
    ),
    "tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %rd1, %rd2, [%r6], %r3, %p1, %p1, 15;",
    "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, %r3, %p1, 4294967297;",
    "tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %rd1, %rd2, [%r6], %r3, %p1, 4294967297;",
    *(
        f"tcgen05.mma{form}.cta_group::1.kind::f16 [%r0], %rd1, %rd2, {metadata}%r3, 2;"
        for form, metadata in (("", ""), (".sp", "[%r6], "), (".ws", ""), (".ws.sp", "[%r6], "))
    ),
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r1}, [%r4];",
    "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%r1, %r1}, %r3, [%r4];",
    "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%r1, %r2}, %hx1, [%r4];",
    *(
        f"tcgen05.ld{red}.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2 {{%r1}}, {rest};"
        for red, rest in (
            ("", "{%r2, %r2}, [%r4]"),
            (".red", "{%r2, %r2}, %r3, [%r4]"),
            (".red", "{%r2, %r3}, %hx1, [%r4]"),
        )
    ),
)
"""A statement for each entry of `IN_MUTANTS`."""
