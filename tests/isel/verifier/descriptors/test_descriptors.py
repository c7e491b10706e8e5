"""Rules about what stands in descriptors: each with a word that breaks it and one that does not.

The words are built bit by bit from the manual's tables (`descriptor_words`).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from isel.verifier.descriptors.check import RULES, verify_descriptors
from isel.verifier.levels import advice, verify
from isel.verifier.record import verify_records
from tests.each import each
from tests.isel.verifier.descriptors.descriptor_words import (
    F16,
    found_in,
    mma,
    module_of,
    plain,
    scaled,
    smem,
)
from tests.ptx_corpus import FILES

WS = ".ws.cta_group::1.kind::f16"
SP = ".sp.cta_group::1.kind::f16"
PAIR = ".cta_group::2.kind::f16"
TF32 = ".cta_group::1.kind::tf32"
I8 = ".cta_group::1.kind::i8"
F8 = ".cta_group::1.kind::f8f6f4"
MX8 = ".cta_group::1.kind::mxf8f6f4.block_scale"
MX4 = ".cta_group::1.kind::mxf4.block_scale"
PAIR4 = ".cta_group::2.kind::mxf4.block_scale"
NV4 = ".cta_group::1.kind::mxf4nvf4.block_scale"
SCALES = {"scales": ", [%r3], [%r4]"}
META = {"meta": ", [%r5]"}
TENSOR = {"a": "[%r6]"}
SHIFT = {**TENSOR, "modifiers": ".cta_group::1.kind::f16.ashift"}
PLAIN_8 = plain(m=128, n=64, d=1)
TF32_WORD = {"a": 2, "b": 2, "n": 32}
ATOM32 = smem(swizzle=1)
ZERO = ".ws.cta_group::1.kind::f16"
ENCODE = "and.b32 %r8, %r7, 0x3FFFF; shr.u32 %r9, %r8, 4; cvt.u64.u32 %rd8, %r9; "
ENCODE += f"or.b64 %rd9, %rd8, {smem(address=0)};"
PACK = f"bfe.u32 %r8, %r7, 4, 14; mov.b64 %rd9, {{%r8, {smem(address=0) >> 32}}};"
LD = "tcgen05.ld.sync.aligned"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [small];"


@dataclass(frozen=True)
class Case:
    """What breaks one rule, what does not, and what the finding must say."""

    rule: str
    wrong: str
    right: str
    got: str
    severity: Severity = Severity.ERROR
    target: str = "sm_100a"
    right_target: str = ""
    directives: str = ""


def idesc(rule: str, wrong: int, right: int, got: str, **more: object) -> Case:
    """A case of two instruction descriptors in the same instruction."""
    severity, target = more.pop("severity", Severity.ERROR), more.pop("target", "sm_100a")
    return Case(f"idesc-{rule}", mma(wrong, **more), mma(right, **more), got, severity, target)


def desc(rule: str, wrong: int, right: int, got: str, **more: object) -> Case:
    """A case of two shared memory descriptors of B."""
    severity, target = more.pop("severity", Severity.ERROR), more.pop("target", "sm_100a")
    word = more.pop("idesc", plain())
    wrongly, rightly = mma(word, b=wrong, **more), mma(word, b=right, **more)
    return Case(f"smem-desc-{rule}", wrongly, rightly, got, severity, target)


# fmt: off
CASES = [
    idesc("reserved", plain(more=1 << 6), plain(), "bit 6"),
    idesc("reserved", plain(more=1 << 23 | 1 << 29), plain(), "bits 23, 29"),
    idesc("reserved", scaled(more=1 << 31), scaled(), "bit 31", modifiers=MX8, **SCALES),
    idesc("reserved", scaled(more=1 << 12), scaled(), "bit 12", modifiers=MX4, **SCALES),
    idesc("sparsity", plain(sparse=1), plain(), "bit 2 says sparse, the instruction is dense"),
    idesc("sparsity", plain(), plain(sparse=1), "bit 2 says dense, with .sp", modifiers=SP, **META),
    idesc("input-type", plain(a=2), plain(a=1), "A type 2 with kind::f16"),
    idesc("input-type", plain(a=2, b=0), plain(a=2, b=2), "B type 0 with kind::tf32",
          modifiers=TF32),
    idesc("input-type", plain(a=2), plain(a=3), "A type 2 with kind::f8f6f4", modifiers=F8),
    idesc("input-type", scaled(b=0), scaled(), "B type 0 with kind::mxf4", modifiers=MX4, **SCALES),
    idesc("output-type", plain(d=2), plain(d=F16), "D type 2 with kind::f16"),
    idesc("output-type", plain(a=2, b=2, d=0), plain(a=2, b=2), "D type 0 with kind::tf32",
          modifiers=TF32),
    idesc("output-type", plain(d=1), plain(d=2), "D type 1 with kind::i8", modifiers=I8),
    idesc("types", plain(d=F16, a=1), plain(d=F16), "D f16, A bf16"),
    idesc("m", plain(m=48), plain(m=64), "M=48"),
    idesc("m", plain(m=256), plain(m=128), "M=256"),
    idesc("m", plain(m=64), plain(m=256), "M=64", modifiers=PAIR),
    idesc("m", plain(m=256), plain(m=32), "M=256", modifiers=WS),
    idesc("m", scaled(m=256), scaled(), "M=256", modifiers=MX8, **SCALES),
    idesc("n", plain(n=0), plain(n=8), "N=0"),
    idesc("n", plain(n=264), plain(n=256), "N=264"),
    idesc("n", plain(n=24), plain(n=32), "N=24", modifiers=PAIR),
    idesc("n", plain(n=32), plain(n=256), "N=32", modifiers=WS),
    idesc("n", plain(n=256, sparse=1), plain(n=128, sparse=1), "N=256",
          modifiers=".ws.sp.cta_group::1.kind::f16", **META),
    idesc("n", plain(n=40, d=2), plain(n=48, d=2), "N=40", modifiers=I8),
    idesc("n-transpose", plain(n=24, transpose_b=1), plain(n=24), "N=24, B N-major", modifiers=F8,
          b=smem(swizzle=0, lbo=128, sbo=256)),
    idesc("k96", scaled(k96=1), scaled(), "K=96 with M=128, cta_group::1", modifiers=MX4,
          target="sm_103a", **SCALES),
    idesc("k96", scaled(k96=1, m=128), scaled(k96=1, m=256), "K=96 with M=128, cta_group::2",
          modifiers=PAIR4, target="sm_103a", **SCALES),
    Case("idesc-k96-target", mma(scaled(k96=1, m=256), modifiers=PAIR4, **SCALES),
         mma(scaled(k96=1, m=256), modifiers=PAIR4, **SCALES), "K=96 on sm_100a",
         right_target="sm_103a"),
    Case("idesc-k96-target", mma(scaled(k96=1, m=256), modifiers=PAIR4, **SCALES),
         mma(scaled(k96=0, m=256), modifiers=PAIR4, **SCALES), "K=96 on sm_103f",
         Severity.REVIEW, "sm_103f"),
    Case("idesc-k96-scales",
         mma(scaled(k96=1, m=256), modifiers=PAIR4 + ".scale_vec::2X", **SCALES),
         mma(scaled(k96=1, m=256), modifiers=PAIR4 + ".block32", **SCALES),
         "K=96 with .scale_vec::2X", Severity.REVIEW, "sm_103a"),
    idesc("transpose", scaled(transpose_a=1), scaled(), "A MN-major with kind::mxf4",
          modifiers=MX4, **SCALES),
    idesc("transpose-narrow", plain(a=5, b=5, n=128, transpose_b=1), plain(a=5, b=5, n=128),
          "B e2m1, MN-major", modifiers=F8, severity=Severity.REVIEW),
    idesc("transpose-tensor", plain(transpose_a=1), plain(), "A MN-major in tensor memory",
          **TENSOR),
    idesc("negate", plain(d=2, negate=1), plain(d=2), "negate A", modifiers=I8),
    idesc("negate", plain(d=2, negate=2), plain(d=2), "negate B", modifiers=I8),
    idesc("saturate", plain(saturate=1), plain(), "saturate with kind::f16"),
    idesc("max-shift", plain(shift=2), plain(), "maximum shift 16", severity=Severity.REVIEW),
    idesc("ashift", plain(m=64), plain(m=128), "M=64", **SHIFT),
    idesc("selector", plain(sparse=1, selector=2, d=2), plain(sparse=1, d=2),
          "selector 2 with kind::i8", modifiers=".sp.cta_group::1.kind::i8", **META),
    idesc("selector-dense", plain(selector=1), plain(), "selector 1", severity=Severity.REVIEW),
    idesc("scale-type", scaled(ue8m0=0), scaled(), "ue4m3 with kind::mxf8f6f4", modifiers=MX8,
          **SCALES),
    idesc("scale-type", scaled(ue8m0=0), scaled(), "ue4m3 with .block32",
          modifiers=NV4 + ".block32", **SCALES),
    idesc("scale-id", scaled(sfa=1), scaled(sfa=2, sfb=2), "scale factor A id 1", modifiers=MX4,
          **SCALES),
    idesc("scale-id", scaled(sfb=2, ue8m0=0), scaled(ue8m0=0), "scale factor B id 2",
          modifiers=NV4 + ".block16", **SCALES),
    desc("constant", smem(constant=0), smem(), "b: bits 46-48 0b000"),
    desc("reserved", smem(more=1 << 55), smem(), "b: bits 53-60 0x4"),
    desc("unused", smem(more=1 << 15), smem(), "b: bit 15", severity=Severity.REVIEW),
    desc("swizzle", smem(swizzle=3), smem(swizzle=6, sbo=256), "b: swizzling mode 3"),
    desc("swizzle", smem(swizzle=7), smem(swizzle=4, sbo=512), "b: swizzling mode 7"),
    desc("base-offset", smem(swizzle=0, base=1, lbo=128, sbo=256),
         smem(swizzle=2, base=1), "b: base offset 1", severity=Severity.REVIEW),
    desc("lbo-mode-target", smem(absolute=1), smem(), "b: bit 52 on sm_100a"),
    desc("lbo-mode-target", smem(absolute=1), smem(), "b: bit 52 on sm_103f", target="sm_103f",
         severity=Severity.REVIEW),
    desc("lbo-mode-swizzle", smem(absolute=1, swizzle=4), smem(absolute=1),
         "b: 64-byte swizzling", target="sm_103a"),
    desc("lbo-mode-base", smem(absolute=1, base=3), smem(absolute=1), "b: base offset 3",
         target="sm_103a"),
    desc("lbo-mode-major", smem(absolute=1), smem(lbo=2048), "b: MN-major", target="sm_103a",
         idesc=plain(transpose_b=1)),
    desc("transposed-swizzle", ATOM32, smem(lbo=2048),
         "b: 128-byte swizzling, 32-byte atoms with kind::f16, MN-major",
         idesc=plain(transpose_b=1)),
    desc("transposed-swizzle", smem(lbo=2048), ATOM32,
         "b: 128-byte swizzling with kind::tf32, MN-major", modifiers=TF32,
         idesc=plain(transpose_b=1, **TF32_WORD)),
    desc("layout", smem(sbo=512), smem(sbo=2048), "b: lbo 16, sbo 512", severity=Severity.REVIEW),
    desc("layout", ATOM32, smem(), "b: 128-byte swizzling, 32-byte atoms, K-major",
         severity=Severity.REVIEW),
    desc("layout", smem(lbo=0), smem(lbo=2048), "b: lbo 0, sbo 1024", severity=Severity.REVIEW,
         idesc=plain(transpose_b=1)),
    Case("smem-desc-alignment", f"mov.b32 %r7, tile+72; {ENCODE}" + mma(plain(), b="%rd9"),
         f"mov.b32 %r7, tile+64; {ENCODE}" + mma(plain(), b="%rd9"),
         "b: an address 8 bytes behind one"),
    Case("smem-desc-alignment",
         f"mov.b32 %r6, tile; add.u32 %r7, %r6, 4; {PACK} add.s64 %rd9, %rd9, 2;"
         + mma(plain(), b="%rd9"),
         f"mov.b32 %r6, tile; add.u32 %r7, %r6, 32; {PACK}" + mma(plain(), b="%rd9"),
         "b: an address 4 bytes behind one"),
    Case("smem-desc-alignment",
         f"mov.b32 %r7, tile+72; {ENCODE.replace('0x3FFFF', '0x3FFF0')}" + mma(plain(), b="%rd9"),
         f"mov.b32 %r7, tile+64; {ENCODE.replace('0x3FFFF', '0x3FFF0')}" + mma(plain(), b="%rd9"),
         "b: an address 8 bytes behind one"),
    Case("smem-desc-pattern",
         f".shared .align 128 .b8 small[8192]; mov.b32 %r7, small; {ENCODE}"
         + mma(plain(), b="%rd9"),
         f".shared .align 1024 .b8 small[8192]; mov.b32 %r7, small; {ENCODE}"
         + mma(plain(), b="%rd9"),
         "b: 128-byte swizzling at an address known to be a multiple of 128 only",
         severity=Severity.WARNING),
    Case("columns", "mov.b32 %r7, 48; tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd1], %r7;",
         "mov.b32 %r7, 64; tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd1], %r7;",
         "48 columns"),
    Case("columns", "mov.b32 %r7, 16; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r7;",
         "mov.b32 %r7, 512; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, %r7;",
         "16 columns"),
    Case("declared-alignment",
         f".shared .align 4 .b8 small[512]; {LDMATRIX}",
         f".shared .align 16 .b8 small[512]; {LDMATRIX}",
         "a variable of which every multiple of 4", Severity.WARNING),
    Case("register-range", "mov.b32 %r7, 1020; cp.async.bulk.prefetch.L2.global [%rd1], %r7;",
         "mov.b32 %r7, 1024; cp.async.bulk.prefetch.L2.global [%rd1], %r7;", "1020"),
    Case("lane", f"mov.b32 %r7, 0x100000; {LD}.32x32b.x1.b32 {{%r8}}, [%r7];",
         f"mov.b32 %r7, 0x200000; {LD}.32x32b.x1.b32 {{%r8}}, [%r7];", "lane 16 with .32x32b"),
    Case("lane", f"mov.b32 %r7, 0x80000; {LD}.16x64b.x1.b32 {{%r8}}, [%r7];",
         f"mov.b32 %r7, 0x100000; {LD}.16x64b.x1.b32 {{%r8}}, [%r7];", "lane 8 with .16x64b"),
    Case("tensor-bounds", f"mov.b32 %r7, 511; {LD}.16x64b.x1.b32 {{%r8}}, [%r7];",
         f"mov.b32 %r7, 511; {LD}.32x32b.x1.b32 {{%r8}}, [%r7];", "columns 511..512"),
    Case("tensor-bounds", f"mov.b32 %r7, 0x800000; {LD}.32x32b.x1.b32 {{%r8}}, [%r7];",
         f"mov.b32 %r7, 0x600000; {LD}.32x32b.x1.b32 {{%r8}}, [%r7];", "lane 128"),
    Case("tensor-bounds", "mov.b32 %r1, 448; " + mma(plain(n=128)),
         "mov.b32 %r1, 384; " + mma(plain(n=128)), "d: columns 448..575"),
    Case("matrix-lane", "mov.b32 %r1, 0x100000; " + mma(plain(m=128)),
         "mov.b32 %r1, 0x100000; " + mma(plain(m=64)), "d: lane 16, column 0, M=128"),
    Case("zero-mask-shift", mma(plain(m=32), modifiers=ZERO, more=f", {1 << 39 | 20 << 56}"),
         mma(plain(m=64), modifiers=ZERO, more=f", {1 << 39 | 20 << 56}"), "shift 20, M=32"),
    Case("zero-mask-reserved", mma(plain(), modifiers=ZERO, more=f", {1 << 39 | 1 << 36}"),
         mma(plain(), modifiers=ZERO, more=f", {1 << 39}"), "0x1000000000", Severity.REVIEW),
]
# fmt: on

IDS = [f"{case.rule}-{case.got}" for case in CASES]


def of_rule(findings: list[Finding], rule: str) -> list[Finding]:
    return [f for f in findings if f.rule.partition("/")[2] == rule]


@each("case", CASES, ids=IDS)
def test_what_breaks_the_rule(case: Case) -> None:
    findings = found_in(case.wrong, case.target, case.directives)
    (found,) = of_rule(findings, case.rule)
    assert found.got.startswith(case.got)
    assert found.severity is case.severity
    assert found.section
    assert found.place.line
    assert found.expected


@each("case", CASES, ids=IDS)
def test_what_does_not_break_it(case: Case) -> None:
    """The word that is right is right in every respect."""
    target = case.right_target or case.target
    wrong = {f.rule for f in found_in(case.wrong, case.target, case.directives)}
    assert of_rule(found_in(case.right, target, case.directives), case.rule) == []
    assert {f.rule for f in found_in(case.right, target, case.directives)} <= wrong


def test_every_rule_has_a_case() -> None:
    ids = [rule.id.removeprefix("{op}/") for rule in RULES if "/wgmma-" not in rule.id]
    assert len(set(ids)) == len(ids)
    assert set(ids) == {case.rule for case in CASES}


def test_what_compilers_write_is_understood_and_right() -> None:
    """The constant parts of all their descriptors are known, and nothing is wrong with them."""
    multiplies = 0
    for path in FILES:
        module = read_ptx(path.read_text(), path.name).module
        assert verify_descriptors(module) == []
        multiplies += sum(
            mi.row.id == "tcgen05.mma" for f in module.functions for mi in f.instructions()
        )
        broken = path.read_text().replace("1073758272", "1073741888")  # without the constant
        if broken != path.read_text():
            found = verify_descriptors(read_ptx(broken, path.name).module)
            assert of_rule(found, "smem-desc-constant") != []
    assert multiplies > 10


# ---- what is reported where ------------------------------------------------------------------


def test_a_literal_descriptor_is_judged_at_record_level() -> None:
    """Beside the form, which is what ptxas judges: it takes any descriptor."""
    module = module_of(mma(plain(m=48)))
    ptx = module.ptx
    assert verify_records(module, module.target, ptx) == []
    for level in ("record", "function"):
        (error,) = of_rule(verify(module, module.target, ptx, level), "idesc-m")
        assert error.severity is Severity.ERROR


def test_a_descriptor_in_a_register_is_judged_at_function_level() -> None:
    module = module_of(f"mov.b32 %r9, {plain(m=48)};\n" + mma("%r9"))
    ptx = module.ptx
    assert verify(module, module.target, ptx, "record") == []
    (warning,) = of_rule(advice(module, "record"), "idesc-m")
    assert warning.severity is Severity.WARNING
    (error,) = of_rule(verify(module, module.target, ptx, "function"), "idesc-m")
    assert error.severity is Severity.ERROR
    assert advice(module, "function") == []


def test_words_of_a_record_that_is_no_form_are_not_judged_at_record_level() -> None:
    """One mistake, one message: kind::i8 is not there, so its idesc means nothing."""
    module = module_of(mma(plain(m=48)).replace("kind::f16", "kind::i8"), target="sm_103a")
    (found,) = verify(module, module.target, module.ptx, "record")
    assert found.rule == "tcgen05.mma/i8-target"


def test_a_finding_points_at_the_operand_and_reads_the_word() -> None:
    word = plain(m=48)
    (found,) = found_in(mma(word))
    assert found.rule == "tcgen05.mma/idesc-m"
    assert found.subject == "idesc"
    assert found.got == f"M=48 in {word:#x}"
    assert found.expected == "M=64 or M=128 (kind::f16, cta_group::1)"


def test_the_kind_decides_what_the_bits_mean() -> None:
    """kind::f16 and kind::tf32 share an opcode; the type of tf32 has code 2."""
    word = plain(a=2, b=2)
    assert found_in(mma(word, modifiers=TF32)) == []
    assert {f.hint for f in found_in(mma(word))} == {"type 2 is tf32 in kind::tf32"}
    assert {f.got.partition(" in ")[0] for f in found_in(mma(word))} == {
        "A type 2 with kind::f16",
        "B type 2 with kind::f16",
    }


def test_a_descriptor_of_wgmma_is_recognised() -> None:
    """wgmma has no constant at bits 46-48, and 1 for 128 bytes at bits 62-63."""
    wgmmas = 0x400 | 1 << 16 | 64 << 32 | 1 << 62
    (found,) = of_rule(found_in(mma(plain(), b=wgmmas)), "smem-desc-constant")
    assert "wgmma" in found.hint


def test_the_layouts_text_is_that_of_tile_compilers() -> None:
    (found,) = found_in(mma(plain(transpose_b=1), b=smem(lbo=0)))
    assert found.message == "Not a canonical UMMA_MN Layout: Expected stride failure."
    (found,) = found_in(mma(plain(), b=smem(sbo=512)))
    assert found.message == "Not a canonical UMMA_K Layout: Expected stride failure."


def test_each_cta_of_a_pair_has_half_of_the_rows() -> None:
    """N = 16 of a pair is one group of eight rows for each CTA: no stride is used."""
    assert found_in(mma(plain(m=256, n=16), modifiers=PAIR, b=smem(sbo=0))) == []
    assert of_rule(found_in(mma(plain(n=16), b=smem(sbo=0))), "smem-desc-layout") != []


def test_the_descriptor_of_a_copy() -> None:
    copy = "tcgen05.cp.cta_group::1.128x256b [%r1],"
    assert found_in(f"{copy} {smem()};") == []
    (found,) = found_in(f"mov.b64 %rd9, {smem(swizzle=5)}; {copy} %rd9;")
    assert found.rule == "tcgen05.cp/smem-desc-swizzle"
    assert found.got.startswith("s_desc: swizzling mode 5")


@pytest.mark.parametrize(
    "multiply",
    [
        mma(0xFFFF_FFFF, modifiers=".cta_group::1.kind::ti16", b=7),
        mma(0xFFFF_FFFF, modifiers=".cta_group::1.kind::f8f6f4.decompress::lut::b", b="%rd2, 7"),
    ],
)
def test_what_the_manual_does_not_describe_is_not_judged(multiply: str) -> None:
    module = module_of(multiply, "sm_107a")
    assert verify_descriptors(module) == []


def test_lanes_of_a_known_block_are_judged_by_warp() -> None:
    """Each warp has lanes of its own: another rule, which says more."""
    statements = f"mov.b32 %r7, 0x100000; {LD}.32x32b.x1.b32 {{%r8}}, [%r7];"
    module = module_of(statements, directives=".reqntid 32, 1, 1")
    heads = [f.rule for f in verify(module, module.target, module.ptx, "function")]
    assert [r for r in heads if "lane" in r] == ["tcgen05.ld/lane-quarter"]


def test_columns_of_a_pair_with_128_rows_are_folded() -> None:
    """Layout B: 64 rows for each CTA, in 128 lanes and half of the columns."""
    word = plain(m=128, n=256)
    assert found_in("mov.b32 %r1, 384; " + mma(word, modifiers=PAIR)) == []
    (found,) = found_in("mov.b32 %r1, 416; " + mma(word, modifiers=PAIR))
    assert found.got == "d: columns 416..543"


def test_rows_longer_than_a_span_are_not_judged() -> None:
    """B of a sparse MMA has rows of 64 bytes, here in spans of 32."""
    word = plain(sparse=1)
    assert found_in(mma(word, modifiers=SP, b=smem(swizzle=6, sbo=256), **META)) == []


def test_what_is_not_known_is_not_judged() -> None:
    statements = "ld.param.u64 %rd9, [given]; cvt.u32.u64 %r9, %rd9;"
    unknown = mma("%r9", a="%rd9", b="%rd9", d="[%r9]")
    assert verify_descriptors(module_of(statements + unknown)) == []


@each("kind", ["f16", "tf32", "f8f6f4", "i8"])
@each("ws", [False, True])
@each("sparse", [False, True])
def test_every_shape_of_table_39_is_taken(kind: str, ws: bool, sparse: bool) -> None:
    """The shapes of Table 39 for one CTA, written out again."""
    head = f"{'.ws' if ws else ''}{'.sp' if sparse else ''}.cta_group::1.kind::{kind}"
    types = {"f16": (0, 1), "tf32": (2, 1), "f8f6f4": (0, 1), "i8": (0, 2)}[kind]
    if ws:
        rows, columns = (32, 64, 128), (64, 128) if sparse else (64, 128, 256)
    elif kind == "i8":
        rows, columns = (64, 128), (8, 16, 24, 32, 48, 64, 240, 256)  # type: ignore[assignment]
    else:
        rows, columns = (64, 128), (8, 16, 24, 40, 248, 256)  # type: ignore[assignment]
    more = META if sparse else {}
    for m in rows:
        for n in columns:
            word = plain(m=m, n=n, a=types[0], b=types[0], d=types[1], sparse=sparse)
            assert found_in(mma(word, modifiers=head, **more)) == []
