"""Which values descriptors are known to have where registers bring them.

An illegal M (48) in the instruction descriptor shows that it was found; where nothing certain is
known of it, nothing is found.
"""

from __future__ import annotations

import time

import pytest

from intrinsics.findings import Finding
from nvgen import compile
from tests.each import each
from tests.isel.verifier.descriptors.descriptor_words import found_in, mma, plain, smem

BAD, GOOD = plain(m=48), plain(m=64)
OTHER = plain(m=80)


def rules(findings: list[Finding]) -> list[str]:
    return [f.rule.partition("/")[2] for f in findings]


def judged(statements: str, operand: str = "%r9") -> list[str]:
    """Rules that the instruction descriptor in a register breaks, behind these statements."""
    return rules(found_in(f"{statements}\n{mma(operand)}"))


KNOWN = {
    "mov": f"mov.b32 %r9, {BAD};",
    "two movs": f"mov.b32 %r8, {BAD}; mov.b32 %r9, %r8;",
    "or": f"mov.b32 %r8, {BAD & 0xFFFF}; or.b32 %r9, %r8, {BAD & ~0xFFFF};",
    "add": f"mov.b32 %r8, {BAD - 16}; add.s32 %r9, %r8, 16;",
    "sub": f"mov.b32 %r8, {BAD + 5}; sub.s32 %r9, %r8, 5;",
    "shl": f"mov.b32 %r7, {48 >> 4}; shl.b32 %r8, %r7, 24; or.b32 %r9, %r8, {plain(m=0)};",
    "mul": f"mov.b32 %r7, 3; mul.lo.s32 %r8, %r7, {1 << 24}; or.b32 %r9, %r8, {plain(m=0)};",
    "mad": f"mov.b32 %r7, 3; mad.lo.s32 %r9, %r7, {1 << 24}, {plain(m=0)};",
    "bfi": f"mov.b32 %r7, 3; mov.b32 %r8, {plain(m=0)}; bfi.b32 %r9, %r7, %r8, 24, 5;",
    "bfe": f"mov.b64 %rd9, {BAD << 8}; bfe.u64 %rd8, %rd9, 8, 32; cvt.u32.u64 %r9, %rd8;",
    "cvt": f"mov.b64 %rd9, {BAD | 7 << 32}; cvt.u32.u64 %r9, %rd9;",
    "unpack": f"mov.b64 %rd9, {BAD << 32}; mov.b64 {{%r8, %r9}}, %rd9;",
    "lop3": f"mov.b32 %r8, {BAD & 0xFFFF}; lop3.b32 %r9, %r8, {BAD & ~0xFFFF}, 0, 0xFC;",
    "shuffle": f"mov.b32 %r8, {BAD}; shfl.sync.idx.b32 %r9, %r8, 0, 31, -1;",
    "equal choices": f"selp.b32 %r9, {BAD}, {BAD}, %p2;",
    "choices that agree on M": f"selp.b32 %r9, {BAD}, {plain(m=48, n=64)}, %p2;",
    "a known choice": f"setp.eq.u32 %p2, 1, 1; selp.b32 %r9, {BAD}, {GOOD}, 1;",
    "both branches": f"""
        @%p2 bra LEFT;
        mov.b32 %r9, {BAD}; bra JOIN;
        LEFT: mov.b32 %r9, {plain(m=48, n=64)};
        JOIN:""",
    "written again": f"mov.b32 %r9, {GOOD}; mov.b32 %r9, {BAD};",
    "a guard that changes nothing": f"mov.b32 %r9, {BAD}; @%p2 mov.b32 %r9, {BAD};",
    "a loop that keeps it": f"""
        mov.b32 %r9, {BAD};
        LOOP: setp.eq.u32 %p2, %r8, 0;
        @%p2 bra LOOP;""",
    "a loop that keeps its upper bits": f"""
        mov.b32 %r9, {BAD};
        LOOP: xor.b32 %r9, %r9, 128;
        @%p2 bra LOOP;""",
}

UNKNOWN = {
    "loaded": "ld.shared.b32 %r9, [mbar];",
    "a parameter": "ld.param.u64 %rd9, [given]; cvt.u32.u64 %r9, %rd9;",
    "choices that differ": f"selp.b32 %r9, {BAD}, {OTHER}, %p2;",
    "branches that differ": f"""
        mov.b32 %r9, {BAD};
        @%p2 bra JOIN;
        mov.b32 %r9, {OTHER};
        JOIN:""",
    "a guard": f"mov.b32 %r9, {BAD}; @%p2 mov.b32 %r9, {OTHER};",
    "a loop that counts": f"""
        mov.b32 %r9, {BAD};
        LOOP: add.s32 %r9, %r9, {1 << 24};
        @%p2 bra LOOP;""",
    "saturating": f"mov.b32 %r8, {BAD}; add.sat.s32 %r9, %r8, 0;",
}


@each("statements", KNOWN.values(), ids=KNOWN)
def test_a_value_that_arrives_through_registers(statements: str) -> None:
    assert judged(statements) == ["idesc-m"]


@pytest.mark.parametrize("statements", UNKNOWN.values(), ids=UNKNOWN)
def test_a_value_that_is_not_certain(statements: str) -> None:
    """80, 48 and what is added to them are all no M: only certainty of the bits counts."""
    assert "idesc-m" not in judged(statements)


def test_each_multiply_sees_the_value_that_is_there() -> None:
    """A register that PTX uses twice."""
    first, second = (f"mov.b32 %r9, {word}; {mma('%r9')}" for word in (GOOD, BAD))
    assert rules(found_in(f"{first}\n{second}\n{first}")) == ["idesc-m"]


def test_a_loop_brings_what_is_written_at_its_end() -> None:
    statements = f"""
        mov.b32 %r9, {OTHER};
        LOOP: {mma("%r9")}
        mov.b32 %r9, {GOOD};
        @%p2 bra LOOP;"""
    assert rules(found_in(statements)) == []
    same = statements.replace(str(GOOD), str(plain(m=80, n=64)))
    assert rules(found_in(same)) == ["idesc-m"]


def test_of_a_descriptor_the_address_may_be_unknown() -> None:
    """The constant bits come in through `or`, the address is a parameter's."""
    constant = smem(address=0, constant=0)
    statements = f"""
        ld.param.u64 %rd9, [given];
        cvt.u32.u64 %r8, %rd9;
        and.b32 %r7, %r8, 0x3FFFF; shr.u32 %r6, %r7, 4; cvt.u64.u32 %rd8, %r6;
        or.b64 %rd7, %rd8, {constant};
        add.s64 %rd6, %rd7, 2;
        {mma(GOOD, a="%rd7", b="%rd6")}"""
    assert rules(found_in(statements)) == ["smem-desc-constant", "smem-desc-constant"]


def test_a_descriptor_of_two_halves() -> None:
    """Its upper half is a constant, the lower one comes from a symbol's address."""
    upper = smem(address=0, lbo=0, swizzle=3) >> 32
    statements = f"""
        mov.b32 %r8, tile; bfe.u32 %r7, %r8, 4, 14; mov.b32 %r6, {upper};
        mov.b64 %rd7, {{%r7, %r6}};
        {mma(GOOD, b="%rd7")}"""
    (found,) = found_in(statements)
    assert found.rule == "tcgen05.mma/smem-desc-swizzle"
    assert found.got == "b: swizzling mode 3"


def test_an_opaque_statement_may_write_what_it_names() -> None:
    from asmprinter.ptx.reading.reader import read_ptx
    from isel.verifier.descriptors.check import verify_descriptors

    text = f""".version 9.4
.target sm_100a
.address_size 64
.visible .entry k() {{
.reg .pred %p<9>; .reg .b32 %r<30>;
mov.b32 %r9, {BAD};
vadd.s32.s32.s32 %r9, %r8, %r7;
{mma("%r9")}
ret;
}}
"""
    assert verify_descriptors(read_ptx(text, "k.ptx").module) == []
    without = text.replace("vadd.s32.s32.s32 %r9, %r8, %r7;", "")
    assert rules(verify_descriptors(read_ptx(without, "k.ptx").module)) == ["idesc-m"]


def test_values_of_llvm_ir_through_phis() -> None:
    """Out of SSA form a phi is a register that both branches write."""
    text = f"""
define ptx_kernel void @k(i1 %c, ptr addrspace(6) %d, i64 %a, i64 %b) {{
entry:
  br i1 %c, label %left, label %join
left:
  br label %join
join:
  %idesc = phi i32 [ {BAD}, %entry ], [ {plain(m=48, n=64)}, %left ]
  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %d, i64 %a, i64 %b, i32 %idesc,
    i1 true, i32 0, i32 1, i32 0)
  ret void
}}
"""
    found = compile(text, target="sm_100a").findings
    assert "tcgen05.mma/idesc-m" in {f.rule for f in found}


def test_long_chains_take_linear_time() -> None:
    """A thousand multiplies, each with the descriptor of the one before plus a step."""
    steps = []
    for _ in range(1000):
        steps.append("add.s64 %rd9, %rd9, 2;")
        steps.append(mma(GOOD, b="%rd9"))
    started = time.perf_counter()
    assert found_in(f"mov.b64 %rd9, {smem(address=0)};\n" + "\n".join(steps)) == []
    assert time.perf_counter() - started < 20
