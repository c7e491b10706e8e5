# ruff: noqa: E501 - a call of assembly is one line of LLVM IR
"""Inline assembly: what its text means, beside LLVM's own PTX of the same module.

Both texts run in the simulator and must leave the same bytes; LLVM puts the text into its output,
nvgen reads it into records.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, InputError, SelectionError, Severity
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from tests.oracle import llvm

THREADS = 32


def kernel(body: str) -> str:
    """A kernel whose threads have `%x`, a number of their own, and 16 bytes at `%out`."""
    return f"""
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
@table = addrspace(1) global [4 x i32] [i32 3, i32 5, i32 7, i32 11]
define ptx_kernel void @k(ptr addrspace(1) %input, ptr addrspace(1) %output) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = zext i32 %tid to i64
  %in = getelementptr i32, ptr addrspace(1) %input, i64 %n
  %at = mul i64 %n, 16
  %out = getelementptr i8, ptr addrspace(1) %output, i64 %at
  %x = load i32, ptr addrspace(1) %in
  br label %work
work:
{body}
  ret void
}}
@words = internal addrspace(3) global [32 x i32] undef
"""


def data() -> NDArray[np.uint32]:
    return np.random.default_rng(3).integers(0, 1 << 32, THREADS).astype(np.uint32)


def by_nvgen(text: str, opt: int = 0) -> NDArray[np.uint8]:
    out = np.zeros(16 * THREADS, np.uint8)
    nvgen.compile(text, target="sm_90a", opt=opt).run(data(), out, block=THREADS)
    return out


def by_llvm(text: str) -> NDArray[np.uint8]:
    (outcome,) = llvm.compile_all([text], "sm_90a", "8.0")
    module = read_ptx(outcome.ptx).module
    out = np.zeros(16 * THREADS, np.uint8)
    simulate(
        module,
        "k",
        [data(), out],
        grid=(1, 1, 1),
        block=(THREADS, 1, 1),
        schedule=parse_schedule("early"),
    )
    return out


STORE = "store i32 %y, ptr addrspace(1) %out"
RIGHT = {
    "one statement": f'%y = call i32 asm "add.u32 $0, $1, $2;", "=r,r,r"(i32 %x, i32 9)\n{STORE}',
    "spaces between constraints": f'%y = call i32 asm "add.u32 $0, $1, $2;", "=r, r, r"(i32 %x, i32 9)\n{STORE}',
    "a number in the text": f'%y = call i32 asm "shl.b32 $0, $1, $2;", "=r,r,n"(i32 %x, i32 5)\n{STORE}',
    "an operand in braces": f'%y = call i32 asm "add.u32 ${{0}}, ${{1:r}}, ${{2:n}};", "=r,r,n"(i32 %x, i32 4)\n{STORE}',
    "a dollar": f'%y = call i32 asm "{{ .reg .b32 $$t; mov.b32 $$t, $1; mov.b32 $0, $$t; }}", "=r,r"(i32 %x)\n{STORE}',
    "the first of two dialects": f'%y = call i32 asm "$(add$|sub$).u32 $0, $1, $1;", "=r,r"(i32 %x)\n{STORE}',
    "several results": """%s = call { i32, i64, float } asm "not.b32 $0, $3;\\0Acvt.u64.u32 $1, $3; mov.b32 $2, $3;", "=r,=l,=f,r"(i32 %x)
  %a = extractvalue { i32, i64, float } %s, 0
  %b = extractvalue { i32, i64, float } %s, 1
  %c = extractvalue { i32, i64, float } %s, 2
  %p = getelementptr i8, ptr addrspace(1) %out, i64 4
  %q = getelementptr i8, ptr addrspace(1) %out, i64 8
  store i32 %a, ptr addrspace(1) %out
  store float %c, ptr addrspace(1) %p
  store i64 %b, ptr addrspace(1) %q""",
    "a predicate": f"""%c = icmp ugt i32 %x, 2147483648
  %y = call i32 asm "selp.b32 $0, 7, 8, $1;", "=r,b"(i1 %c)
  {STORE}""",
    "a predicate that comes back": f"""%c = call i1 asm "setp.lt.u32 $0, $1, 1000000000;", "=b,r"(i32 %x)
  %y = select i1 %c, i32 1, i32 2
  {STORE}""",
    "a number under a condition": f"""%c = icmp ugt i32 %x, 2147483648
  %y = call i32 asm "mov.u32 $0, 3;\\0A@$2 add.u32 $0, $0, $1;", "=r,r,b"(i32 %x, i1 %c)
  {STORE}""",
    "a tied operand": f'%y = call i32 asm "mad.lo.u32 $0, $0, 3, $2;", "=r,0,r"(i32 %x, i32 1)\n{STORE}',
    "a tied operand that stays": f'%y = call i32 asm "// $0 is looked at", "=r,0"(i32 %x)\n{STORE}',
    "the value that was tied lives on": f"""%z = call i32 asm "add.u32 $0, $0, 1;", "=r,0"(i32 %x)
  %y = xor i32 %z, %x
  {STORE}""",
    "a loop of its own": f"""%y = call i32 asm sideeffect "{{ .reg .pred p; .reg .u32 i; mov.u32 i, 5; mov.u32 $0, $1;
    AGAIN: add.u32 $0, $0, i; sub.u32 i, i, 1; setp.ne.u32 p, i, 0; @p bra AGAIN; }}", "=r,r"(i32 %x)
  {STORE}""",
    "a tied operand around a loop": f"""br label %loop
loop:
  %i = phi i32 [ 0, %work ], [ %j, %loop ]
  %v = phi i32 [ %x, %work ], [ %w, %loop ]
  %w = call i32 asm sideeffect "{{ .reg .pred p; setp.gt.s32 p, $2, 3; @p bra OUT; add.u32 $0, $0, 17; OUT: }}", "=r,0,r"(i32 %v, i32 %i)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, 6
  br i1 %more, label %loop, label %done
done:
  %y = phi i32 [ %w, %loop ]
  {STORE}""",
    "the same text twice": f"""%a = call i32 asm "{{ .reg .pred p; setp.eq.u32 p, $1, 0; @p bra L; not.b32 $0, $1; L: }}", "=r,r"(i32 %x)
  %y = call i32 asm "{{ .reg .pred p; setp.eq.u32 p, $1, 0; @p bra L; not.b32 $0, $1; L: }}", "=r,r"(i32 %a)
  {STORE}""",
    "bytes and words": """%b = trunc i32 %x to i16
  %c = call i16 asm "neg.s16 $0, $1;", "=h,h"(i16 %b)
  store i16 %c, ptr addrspace(1) %out""",
    "pairs of halves": """%h = bitcast i32 1077952512 to <2 x half>
  %i = call <2 x half> asm "add.f16x2 $0, $1, $1;", "=r,r"(<2 x half> %h)
  store <2 x half> %i, ptr addrspace(1) %out""",
    "memory": """%v = call i32 asm sideeffect "ld.global.b32 $0, [$1+4]; st.global.b32 [$2], $0;", "=r,l,l,~{memory}"(ptr addrspace(1) @table, ptr addrspace(1) %out)""",
    "a place in shared memory in a register of 32 bits": f"""%s = getelementptr i32, ptr addrspace(3) @words, i64 %n
  call void asm sideeffect "st.shared.u32 [$0], $1;", "r,r,~{{memory}}"(ptr addrspace(3) %s, i32 %x)
  %y = load i32, ptr addrspace(3) %s
  {STORE}""",
    "a variable by name": f'%y = call i32 asm "ld.global.b32 $0, [table+8];", "=r"()\n{STORE}',
    "memory as an operand": """call void asm sideeffect "st.global.b32 $0, $1;", "=*m,r"(ptr addrspace(1) elementtype(i32) %out, i32 %x)""",
    "nothing comes back": """call void asm sideeffect "st.global.u32 [$0], $1;", "l,r,~{memory}"(ptr addrspace(1) %out, i32 %x)""",
}  # fmt: skip


@pytest.mark.turns(6)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("name", RIGHT)
def test_it_means_what_llvms_text_means(name: str, opt: int):
    text = kernel("  " + RIGHT[name])
    assert by_nvgen(text, opt).tobytes() == by_llvm(text).tobytes()


def test_what_it_says_becomes_records():
    text = kernel('%y = call i32 asm "add.u32 $0, $1, $2;", "=r,r,r"(i32 %x, i32 9)\n' + STORE)
    compiled = nvgen.compile(text, target="sm_90a")
    assert "ADD_U32" in compiled.mir
    assert "OPAQUE" not in compiled.mir


def test_a_statement_that_nvgen_does_not_know_stays_as_it_is_beside_its_registers():
    body = '  %y = call i32 asm "not.b32 $0, $1; newer.u32 $0, $0, $2;", "=r,r,n"(i32 %x, i32 9)\n'
    compiled = nvgen.compile(kernel(body + STORE), target="sm_90a")
    kept = [f for f in compiled.findings if f.rule == "ptx/not-modelled"]
    assert [(f.severity, f.op) for f in kept] == [(Severity.REVIEW, "newer.u32")]
    (line,) = [line for line in compiled.ptx.splitlines() if "newer" in line]
    result, source, number = line.split(maxsplit=1)[1].rstrip(";").split(", ")
    assert result == source
    assert number == "9"
    assert f"st.global.b32 [%rd5], {result};" in compiled.ptx or f", {result};" in compiled.ptx


def test_every_stage_is_read_again():
    body = RIGHT["a tied operand around a loop"]
    compiled = nvgen.compile(kernel("  " + body), target="sm_90a")
    for stage in compiled.stages.values():
        assert nvgen.compile(stage, target="sm_90a").ptx == compiled.ptx


# ---- what is wrong ---------------------------------------------------------------------------

WRONG = {
    "no such constraint": ('"add.u32 $0, $1, 1;", "=x,r"(i32 %x)', "=x"),
    "a register that nobody declared": ('"add.u32 $0, $1, %r77;", "=r,r"(i32 %x)', "%r77"),
    "no such operand": ('"add.u32 $0, $1, $5;", "=r,r"(i32 %x)', "$5"),
    "a label that is nowhere": ('"mov.b32 $0, $1; bra NOWHERE;", "=r,r"(i32 %x)', "NOWHERE"),
    "a brace too many": ('"mov.b32 $0, $1; }", "=r,r"(i32 %x)', "}"),
    "a brace too few": ('"{ mov.b32 $0, $1;", "=r,r"(i32 %x)', "{"),
    "a number that is none": ('"add.u32 $0, $1, $1;", "=r,n"(i32 %x)', "i32"),
    "a value too wide": ('"mov.b32 $0, $1;", "=r,r"(i64 %n)', "i64"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_read_is_reported(name: str):
    call, got = WRONG[name]
    (finding,) = refusal(kernel(f"  %y = call i32 asm {call}\n{STORE}"))
    assert got in finding.got
    assert finding.place.line == 15 or finding.rule.startswith("llvm/")


def refusal(text: str) -> tuple[Finding, ...]:
    with pytest.raises((SelectionError, InputError)) as error:
        nvgen.compile(text, target="sm_90a")
    return tuple(error.value.findings)


@pytest.mark.parametrize("constraints", ["=q,q", "=q,0"])
@pytest.mark.parametrize("type_", ["i1", "i8", "i64", "double", "<2 x i8>", "<2 x i32>"])
def test_a_register_of_128_bits_takes_nothing_smaller(type_: str, constraints: str):
    """LLVM's code generator fails an assertion at these."""
    call = f'%y = call {type_} asm "mov.b128 $0, $1;", "{constraints}"({type_} zeroinitializer)'
    with pytest.raises(SelectionError, match="does not fit the register") as caught:
        nvgen.compile(kernel(call), target="sm_90a")
    assert caught.value.findings[0].expected == "128 bits"
