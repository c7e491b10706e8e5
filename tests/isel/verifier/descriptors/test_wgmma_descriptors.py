"""Rules about descriptors of wgmma: each with a word that breaks it and one that does not.

Words are built bit by bit as the manual has them: PTX ISA, Asynchronous Warpgroup Level Matrix
Shared Memory Layout, Matrix Descriptor Format.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from isel.verifier.descriptors.check import RULES, verify_descriptors
from tests.each import each
from tests.isel.verifier.descriptors.descriptor_words import HEAD, found_in, kernel, smem


def word(
    *, address: int = 0x4000, lbo: int = 16, sbo: int = 1024, base: int = 0, swizzle: int = 1,
    more: int = 0,
) -> int:  # fmt: skip
    """Sizes in bytes; swizzling 0 is none, 1 is of 128 bytes, 2 of 64, 3 of 32."""
    return address >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | base << 49 | swizzle << 62 | more


def sums(n: int) -> str:
    return "{" + ", ".join(f"%f{i}" for i in range(n // 2)) + "}"


def multiply(
    *, n: int = 64, a: int | str | None = None, b: int | str | None = None, trans_a: int = 0,
    trans_b: int = 0,
) -> str:  # fmt: skip
    """A multiply of halves; descriptors are literals or registers."""
    a, b = word() if a is None else a, word() if b is None else b
    head = f".reg .f32 %f<{n // 2}>; wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"
    return f"{head} {sums(n)}, {a}, {b}, 1, 1, 1, {trans_a}, {trans_b};"


def said(text: str) -> list[Finding]:
    return found_in(text, "sm_90a")


def encoded(address: str) -> str:
    """A descriptor of an address that a register holds, and of a layout that is a literal."""
    return (
        f"mov.u32 %r7, {address}; and.b32 %r8, %r7, 0x3FFFF; shr.u32 %r9, %r8, 4; "
        f"cvt.u64.u32 %rd8, %r9; or.b64 %rd9, %rd8, {word(address=0)}; "
    )


@dataclass(frozen=True)
class Case:
    """What breaks one rule, what does not, and what the finding says."""

    rule: str
    wrong: str
    right: str
    got: str
    severity: Severity = Severity.ERROR


REVIEW = Severity.REVIEW

CASES = [
    Case("reserved", multiply(b=word(more=1 << 46)), multiply(), "b: bit 46"),
    Case("reserved", multiply(a=word(more=1 << 52 | 1 << 61)), multiply(), "a: bit 52, 61"),
    Case("reserved", multiply(a=smem(swizzle=2)), multiply(), "a: bit 46"),
    Case("unused", multiply(b=word(more=1 << 14)), multiply(), "b: bit 14", REVIEW),
    Case("unused", multiply(b=word(more=3 << 30)), multiply(), "b: bit 30, 31", REVIEW),
    Case(
        "unused",
        "ld.param.u64 %rd7, [given]; and.b64 %rd8, %rd7, 16383;"
        f"or.b64 %rd9, %rd8, {word(address=0, more=1 << 15)};" + multiply(a="%rd9"),
        "ld.param.u64 %rd7, [given]; and.b64 %rd8, %rd7, 16383;"
        f"or.b64 %rd9, %rd8, {word(address=0)};" + multiply(a="%rd9"),
        "a: bit 15", REVIEW,
    ),
    Case(
        "alignment", encoded("tile+8") + multiply(b="%rd9"),
        encoded("tile+32") + multiply(b="%rd9"), "b: an address 8 bytes behind one",
    ),
    Case(
        "base-offset", multiply(a=word(swizzle=0, lbo=128, sbo=256, base=1)),
        multiply(a=word(swizzle=0, lbo=128, sbo=256)), "a: base offset 1", REVIEW,
    ),
    Case("base-offset", multiply(b=word(swizzle=0, lbo=128, sbo=256, base=7)),
         multiply(b=word(base=7)), "b: base offset 7", REVIEW),
    Case("layout", multiply(b=word(sbo=512)), multiply(b=word(sbo=2048)),
         "b: lbo 16, sbo 512", REVIEW),
    Case("layout", multiply(a=word(sbo=0)), multiply(a=word()), "a: lbo 16, sbo 0", REVIEW),
    Case("layout", multiply(b=word(swizzle=2, sbo=256)), multiply(b=word(swizzle=2, sbo=512)),
         "b: lbo 16, sbo 256", REVIEW),
    Case("layout", multiply(b=word(swizzle=0, lbo=16, sbo=256)),
         multiply(b=word(swizzle=0, lbo=128, sbo=256)), "b: lbo 16, sbo 256", REVIEW),
]  # fmt: skip


@each("case", CASES, ids=lambda c: f"{c.rule}: {c.got}")
def test_a_rule_is_broken_by_one_word_only(case: Case) -> None:
    found = said(case.wrong)
    assert {f.rule for f in found} == {f"wgmma.mma_async/wgmma-desc-{case.rule}"}
    assert found[0].severity is case.severity
    assert found[0].got.partition(" in 0x")[0] == case.got
    assert found[0].subject == case.got[0]
    assert said(case.right) == []


def test_each_rule_has_a_case() -> None:
    rules = [r.id.removeprefix("{op}/wgmma-desc-") for r in RULES if "/wgmma-" in r.id]
    assert set(rules) == {case.rule for case in CASES}


def test_a_descriptor_of_tcgen05_is_recognised() -> None:
    """It has 0b001 at bits 46-48, and 2 for 128 bytes at bits 61-63."""
    (found,) = said(multiply(b=smem(swizzle=2)))
    assert "tcgen05" in found.hint


@each("swizzle", range(4))
@each("n", [8, 64, 256])
def test_a_canonical_layout_is_right(swizzle: int, n: int) -> None:
    """Rows of one span, in groups of eight; without swizzling in pieces of 8 by 16 bytes."""
    span = (16, 128, 64, 32)[swizzle]
    lying = word(swizzle=swizzle, lbo=128, sbo=8 * span * (1 + (swizzle == 0)))
    assert said(multiply(n=n, a=lying, b=lying)) == []


def test_eight_columns_need_no_stride() -> None:
    assert said(multiply(n=8, b=word(sbo=0))) == []


def test_where_columns_lie_together_no_stride_is_judged() -> None:
    assert said(multiply(b=word(sbo=512), trans_b=1)) == []
    assert said(multiply(a=word(sbo=0), trans_a=1)) == []


@pytest.mark.parametrize("step", [2, 4, 6])
def test_a_step_along_k_is_right(step: int) -> None:
    """32 bytes further in rows of 128: two units of the start address."""
    lines = encoded("tile") + f"add.s64 %rd10, %rd9, {step};"
    assert said(lines + multiply(a="%rd10", b="%rd10")) == []


def test_what_is_not_known_is_not_judged() -> None:
    assert said("ld.param.u64 %rd9, [given];" + multiply(a="%rd9", b="%rd9")) == []


def test_a_sparse_multiply_has_half_of_a() -> None:
    """A stores 32 bytes of each row, B all 64."""
    head = ".reg .f32 %f<4>; wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"
    tail = f"{word()}, %r1, 0, 1, 1, 1, 0, 0;"
    right = f"{head} {sums(8)}, {word(swizzle=3, sbo=256)}, {tail}"
    assert said(right) == []
    (found,) = said(right.replace(str(word(swizzle=3, sbo=256)), str(word(swizzle=3, sbo=128))))
    assert found.rule == "wgmma.mma_async.sp/wgmma-desc-layout"


# ---- where a swizzled matrix begins -----------------------------------------------------------


def placed(align: int, at: str = "tile", swizzle: int = 1, base: int = 0) -> list[Finding]:
    """What is said of a matrix at `at`, whose variable is aligned to `align` bytes."""
    lying = f"or.b64 %rd9, %rd9, {word(address=0, swizzle=swizzle, base=base)};"
    statements = encoded(at).replace(str(word(address=0)), "0") + lying + multiply(b="%rd9")
    text = HEAD.format(target="sm_90a").replace("align 1024", f"align {align}")
    return verify_descriptors(read_ptx(text + kernel(statements), "k.ptx").module)


@pytest.mark.parametrize(("align", "swizzle"), [(128, 1), (512, 1), (128, 2), (256, 2), (128, 3)])
def test_a_matrix_that_may_begin_in_the_midst_of_the_pattern(align: int, swizzle: int) -> None:
    """The pattern of 128-byte swizzling is 1,024 bytes long, of 64 512, of 32 256."""
    (found,) = placed(align, swizzle=swizzle)
    assert (found.rule, found.severity) == ("wgmma.mma_async/smem-desc-pattern", Severity.WARNING)
    assert f"a multiple of {align} only" in found.got
    assert f"{(0, 1024, 512, 256)[swizzle]} bytes" in found.expected


@pytest.mark.parametrize(("align", "swizzle"), [(1024, 1), (512, 2), (256, 3)])
def test_a_matrix_that_begins_with_the_pattern(align: int, swizzle: int) -> None:
    assert placed(align, swizzle=swizzle) == []


def test_a_base_offset_says_where_in_the_pattern_a_matrix_begins() -> None:
    assert placed(1024, at="tile+128", base=1) == []


def test_dynamic_shared_memory_begins_where_nobody_knows() -> None:
    text = HEAD.format(target="sm_90a").replace(
        ".shared .align 1024 .b8 tile[65536]", ".extern .shared .align 128 .b8 tile[]"
    )
    statements = encoded("tile") + multiply(b="%rd9")
    assert verify_descriptors(read_ptx(text + kernel(statements), "k.ptx").module) == []
