"""What multiplies need stands before their fence: the pass on records, and compiled kernels.

The passes' input is written as PTX, whose registers are written more than once.
"""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest

import nvgen
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.element import ElementType as E
from intrinsics.modifiers import ScalarType as T
from intrinsics.modifiers import Space
from intrinsics.targets import parse_ptx
from isel.passes.order_wgmma import order_wgmma
from isel.verifier.functions import verify_functions
from nvgen import KernelBuilder
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.options import Options
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.numbers import Int
from tests.each import each
from tests.isel.verifier.function.wgmma_text import DESCRIPTORS, kernel
from tests.oracle.ptxas_modules import report


def ordered(body: str) -> list[str]:
    """The statements of a body behind its descriptors, after the pass; multiplies by their D."""
    module = read_ptx(kernel(DESCRIPTORS + body + "\n    ret;")).module
    (function,) = module.functions
    order_wgmma(function)
    text = print_ptx(module, parse_ptx("8.4")).text
    statements = re.findall(r"^\s+([@a-z][^;]*);", text, re.MULTILINE)
    start = next(i for i, s in enumerate(statements) if s == "mov.u32 \t%r50, 7" or "50" in s)
    return [
        re.sub(r"wgmma\.mma_async\S* \{(%f\d).*?\}", r"mma \1", re.sub(r"\s+", " ", s))
        for s in statements[start + 1 : -1]
    ]


MARK = "mov.u32 %r50, 7;"
CASES = {
    "zeros": (
        "$fence; mov.f32 %f0, %f8; mov.f32 %f1, %f8; $m0, %rd1, %rd2, $rest; $commit;",
        ["mov.f32 %f0, %f8", "mov.f32 %f1, %f8", "wgmma.fence", "mma %f0, %rd1", "wgmma.commit"],
    ),
    "for the second multiply": (
        "$fence; $m0, %rd1, %rd2, $rest; mov.f32 %f4, %f8; $m1, %rd1, %rd2, $rest; $commit;",
        ["mov.f32 %f4, %f8", "wgmma.fence", "mma %f0, %rd1", "mma %f4, %rd1", "wgmma.commit"],
    ),
    "a descriptor that a multiply has read stays": (
        "$fence; $m0, %rd1, %rd2, $rest; add.s64 %rd1, %rd1, 2; mov.f32 %f4, %f8;"
        "$m1, %rd1, %rd2, $rest; $commit;",
        ["mov.f32 %f4, %f8", "wgmma.fence", "mma %f0, %rd1", "add.s64 %rd1", "mma %f4, %rd1",
         "wgmma.commit"],
    ),
    "what a multiply made stays": (
        "$fence; $m0, %rd1, %rd2, $rest; mov.f32 %f4, %f0; $m1, %rd1, %rd2, $rest; $commit;",
        ["wgmma.fence", "mma %f0, %rd1", "mov.f32 %f4, %f0", "mma %f4, %rd1", "wgmma.commit"],
    ),
    "what is made of it comes along": (
        "$fence; add.f32 %f9, %f8, %f8; mov.f32 %f0, %f9; $m0, %rd1, %rd2, $rest; $commit;",
        ["add.f32 %f9", "mov.f32 %f0, %f9", "wgmma.fence", "mma %f0, %rd1", "wgmma.commit"],
    ),
    "a load comes along": (
        "$fence; ld.shared.f32 %f0, [a_ring]; $m0, %rd1, %rd2, $rest; $commit;",
        ["ld.shared.f32 %f0", "wgmma.fence", "mma %f0, %rd1", "wgmma.commit"],
    ),
    "a store and what stands behind it stay": (
        "$fence; st.shared.f32 [a_ring], %f8; mov.f32 %f0, %f8; $m0, %rd1, %rd2, $rest; $commit;",
        ["wgmma.fence", "st.shared.f32 [a_ring]", "mov.f32 %f0", "mma %f0, %rd1", "wgmma.commit"],
    ),
    "nothing to do": (
        "$fence; add.s64 %rd3, %rd1, 2; $m0, %rd3, %rd2, $rest; $commit;",
        ["wgmma.fence", "add.s64 %rd3", "mma %f0, %rd3", "wgmma.commit"],
    ),
    "behind the last fence": (
        "$fence; $m0, %rd1, %rd2, $rest; $commit; $fence; mov.f32 %f4, %f8;"
        "$m1, %rd1, %rd2, $rest; $commit;",
        ["wgmma.fence", "mma %f0, %rd1", "wgmma.commit", "mov.f32 %f4, %f8", "wgmma.fence",
         "mma %f4, %rd1", "wgmma.commit"],
    ),
}  # fmt: skip
"""Statements behind a mark, and how those begin that are there after the pass."""


@each("name", CASES)
def test_what_fills_registers_stands_before_the_fence(name: str) -> None:
    body, expected = CASES[name]
    found = ordered(f"{MARK}\n    {body}")
    assert len(found) == len(expected), found
    assert all(f.startswith(e) for f, e in zip(found, expected, strict=True)), found


def _filled(b: KernelBuilder, name: str, of: E) -> SharedTile:
    """A tile of 64 x 64 that 128 threads write before they go on."""
    tile = b.shared_tile(name, of, (64, 64))
    for chunk in range(4):
        place = tile.chunk(b.tid_x >> 1, (b.tid_x & 1) * 4 + chunk)
        b.store(b.words([b.const(1)] * 4), place, align=16)
    b.fence_proxy_async(Space.SHARED_CTA)
    b.barrier_cta_sync_aligned()
    return tile


@pytest.mark.parametrize("opt", range(4))
def test_a_constant_accumulator_is_filled_before_the_fence(opt: int) -> None:
    """Zeros are an operand of the multiply in LLVM IR; nothing is wrong with what comes of it."""
    b = KernelBuilder("k", block=128)
    out = b.shared_word("first"), b.shared_word("second")
    b.begin()
    tile = _filled(b, "tile", E.F16)
    a = b.wgmma_descriptor(tile.pointer, WgmmaDescriptor(0))
    sums = [b.wgmma_accumulator(16), b.wgmma_accumulator(16)]
    b.wgmma_fence()
    for i, d in enumerate(sums):
        b.wgmma_mma_async(d, a, a + 2 * i, atype=T.F16)
    b.wgmma_commit_group()
    b.wgmma_wait_group(0)
    for d, place in zip(sums, out, strict=True):
        b.store(d.registers, place)
    compiled = b.finish().compile(target="sm_90a", opt=opt)
    assert len(re.findall(r"mov\.b32 +\t*%r\d+, 0;", compiled.ptx)) == 16
    between = compiled.ptx[compiled.ptx.index("wgmma.fence") : compiled.ptx.index("wgmma.commit")]
    assert "mov" not in between
    found = {f.rule for f in verify_functions(compiled.module)}
    assert found <= {"shared/race"}  # every warp stores its sums to the same words
    assert compiled.assembled().findings == ()


BRANCH = """
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra NONE;
SOME:
    mov.f32 %f0, 0f00000000; mov.f32 %f1, {one}; mov.f32 %f8, 0f00000000;
TURN:
    $fence; $m0, %rd1, %rd2, $rest; $commit;
    @%p2 bra TURN;
    bra END;
NONE:
    {first} mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f8, 0f00000000;
END:
    $wait 0; st.shared.f32 [a_ring], %f0; st.shared.f32 [a_ring+4], %f1;
"""


@pytest.mark.parametrize(
    ("one", "first", "hoisted"),
    [
        ("0f00000000", "", ["%f0", "%f1"]),
        ("0f3F800000", "", ["%f0"]),
        ("0f00000000", "add.f32 %f9, %f0, %f1;", []),
    ],
)
def test_numbers_of_both_ways_stand_before_the_branch(
    one: str, first: str, hoisted: list[str]
) -> None:
    """Those of accumulators, where both are the same and nothing asks for what was there."""
    found = ordered(MARK + BRANCH.format(one=one, first=first))
    branch = next(i for i, s in enumerate(found) if "bra" in s)
    before = [s for s in found[:branch] if s.startswith("mov")]
    assert [re.findall(r"%f\d", s)[0] for s in before] == hoisted
    written = [s for s in found if re.match(r"mov\.\S+ %f[018]\b", s)]
    assert len(written) == 6 - len(hoisted)


# ---- numbers that other records keep behind the fence --------------------------------------------


def statements(body: str) -> list[str]:
    """A body after the pass, without its multiplies' operands and the mark."""
    return [s for s in ordered(f"{MARK}\n    {body}") if not s.startswith(("add", "setp", "st."))]


ZERO, READ = "mov.f32 %f0, 0f00000000;", "st.shared.f32 [a_ring], %f0;"
FIRST = ["mov.f32 %f0, 0f00000000", "wgmma.fence"]


def begins(found: list[str], expected: list[str]) -> bool:
    return len(found) >= len(expected) and all(
        f.startswith(e) for f, e in zip(found, expected, strict=False)
    )


def test_a_number_goes_before_the_fence_over_what_has_effects() -> None:
    found = statements(f"$fence; bar.sync 0; {ZERO} $m0, %rd1, %rd2, $rest; $commit;")
    assert begins(found, [*FIRST, "bar.sync", "mma %f0"])


def test_a_number_goes_before_a_fence_in_an_earlier_block() -> None:
    spin = "SPIN: @%p1 bra SPIN;"
    found = statements(f"$fence; {spin} {ZERO} $m0, %rd1, %rd2, $rest; $commit;")
    assert begins(found, FIRST)


def test_a_number_in_a_loop_does_not_leave_it() -> None:
    """Each turn begins with zeros, and a fence before the loop orders only the first ones."""
    turn = f"$fence; TURN: {ZERO} $m0, %rd1, %rd2, $rest; $commit; $wait 0; {READ} @%p1 bra TURN;"
    found = statements(turn)
    assert found[0].startswith("wgmma.fence")
    assert any(s.startswith("mov.f32 %f0") for s in found)


def test_a_number_stays_where_another_way_needs_what_was_there() -> None:
    found = statements(
        f"add.f32 %f0, %f8, %f8; $fence; @%p1 bra END; {ZERO} $m0, %rd1, %rd2, $rest; $commit;"
        f"$wait 0; END: {READ}"
    )
    assert begins(found, ["wgmma.fence"])
    assert any(s.startswith("mov.f32 %f0") for s in found)


def test_a_number_behind_another_use_of_its_register_stays() -> None:
    found = statements(
        f"$fence; $m0, %rd1, %rd2, $rest; $commit; $wait 0; {READ} {ZERO}"
        f"$m0, %rd1, %rd2, $rest; $commit; $wait 0; {READ}"
    )
    assert begins(found, ["wgmma.fence", "mma %f0", "wgmma.commit", "wgmma.wait", "mov.f32 %f0"])


def test_a_multiply_that_replaces_its_accumulator_needs_no_number() -> None:
    rest = "0, 1, 1, 0, 0"
    found = statements(f"{ZERO} $fence; $m0, %rd1, %rd2, {rest}; $commit; $wait 0; {READ}")
    assert begins(found, ["wgmma.fence", "mma %f0"])


def test_a_number_that_a_later_multiply_adds_to_stays_before_its_fence() -> None:
    body = "$fence; $m1, %rd1, %rd2, $rest; $commit; $wait 0;"
    found = statements(f"{body} {ZERO} $fence; $m0, %rd1, %rd2, $rest; $commit;")
    at = next(i for i, s in enumerate(found) if s.startswith("mov.f32 %f0"))
    assert found[at - 1].startswith("wgmma.wait")
    assert found[at + 1].startswith("wgmma.fence")


@pytest.mark.turns(4)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("between", ["nothing", "shuffle", "wait", "loop"])
@pytest.mark.parametrize("accumulate", ["no", "yes", "asked"])
def test_zeros_of_a_tile_stand_before_the_fence_or_nowhere(
    between: str, accumulate: str, opt: int
) -> None:
    """Whatever the kernel does between the fence and the multiply."""
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.pointer("out", output=True)
    b.integer("n")
    args = b.begin()
    a, w = _filled(b, "a", E.BF16), _filled(b, "w", E.BF16)
    bar = b.mbarrier("bar")
    b.make_mbarriers((bar, 128))
    b.mbarrier_arrive(bar)
    d, n = b.warpgroup_tile(64, 64), args["n"]
    assert isinstance(n, Int)
    adds = {"no": False, "yes": True, "asked": n > 5}[accumulate]
    b.wgmma_fence()
    if between == "shuffle":
        a = a.part(b.warpgroup * 64, 64)
    elif between == "wait":
        b.wait(bar, 0)
    with b.range(n) if between == "loop" else nullcontext():
        b.gemm_async(d, a, w, accumulate=adds)
    b.wgmma_commit_group()
    b.wgmma_wait_group(0)
    b.store(d.parts[0].registers[3], args["out"] + b.tid_x * 4)
    compiled = b.finish().compile(opt=opt, level="function")
    multiplies = compiled.ptx[: compiled.ptx.rindex("wgmma.mma_async")]
    (accumulator,) = set(re.findall(r"bf16\.bf16 \{(.*?)\}", compiled.ptx))
    fence = multiplies.index("wgmma.fence")
    names = {name.strip() for name in accumulator.split(",")}
    zeros = [m.start() for m in re.finditer(r"mov\.b32 +\t*(%r\d+), 0;", multiplies)
             if m[1] in names]  # fmt: skip
    needed = accumulate != "no" or between == "loop"
    assert len(zeros) in ({32} if accumulate != "no" else {0, 1})
    assert needed or not zeros
    assert all(at < fence for at in zeros)
    assert compiled.assembled().findings == ()


def test_multiplies_of_inline_assembly_keep_one_accumulator_in_a_loop() -> None:
    """The first replaces what is there, the second adds: no move stands between the two."""
    mma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}"
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %out, i64 %a, i32 %n) {{
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  tail call void asm sideeffect "wgmma.fence.sync.aligned;", ""()
  %d = call {{ float, float, float, float }} asm sideeffect
    "{mma}, $4, $5, 0, 1, 1, 0, 0;", "=f,=f,=f,=f,l,l"(i64 %a, i64 %a)
  %d0 = extractvalue {{ float, float, float, float }} %d, 0
  %d1 = extractvalue {{ float, float, float, float }} %d, 1
  %d2 = extractvalue {{ float, float, float, float }} %d, 2
  %d3 = extractvalue {{ float, float, float, float }} %d, 3
  %e = call {{ float, float, float, float }} asm sideeffect
    "{mma}, $8, $9, $10, 1, 1, 0, 0;", "=f,=f,=f,=f,0,1,2,3,l,l,b"(float %d0, float %d1,
    float %d2, float %d3, i64 %a, i64 %a, i1 true)
  %e0 = extractvalue {{ float, float, float, float }} %e, 0
  tail call void asm sideeffect "wgmma.commit_group.sync.aligned;", ""()
  tail call void asm sideeffect "wgmma.wait_group.sync.aligned 0;", ""()
  store volatile float %e0, ptr addrspace(1) %out
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
    ptx = nvgen.compile(text, target="sm_90a").ptx
    first, second = re.findall(r"wgmma.mma_async\S+ (\{.*?\})", ptx)
    assert first == second
    between = ptx[ptx.index("wgmma.mma_async") : ptx.rindex("wgmma.mma_async")]
    assert "mov.b32" not in between


_SUMS = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0,$1,$2,$3},"
_FOUR = "{ float, float, float, float }"


def _asm_loop() -> str:
    """A multiply that begins a sum and one that adds to it, in inline assembly, in a loop."""
    parts = "\n".join(f"  %s{i} = extractvalue {_FOUR} %s, {i}" for i in range(4))
    given = ", ".join(f"float %s{i}" for i in range(4))
    stores = "\n".join(
        f"  %t{i} = extractvalue {_FOUR} %t, {i}\n"
        f"  %x{i} = fadd float %a{i}, %t{i}\n"
        f"  %p{i} = getelementptr float, ptr addrspace(1) %out, i32 {i}\n"
        f"  store float %x{i}, ptr addrspace(1) %p{i}"
        for i in range(4)
    )
    sums = "\n".join(f"  %a{i} = phi float [ 0.0, %entry ], [ %x{i}, %turn ]" for i in range(4))
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %out, i64 %a, i64 %b, i32 %n) #0 {{
entry:
  br label %turn
turn:
  %i = phi i32 [ 0, %entry ], [ %next, %turn ]
{sums}
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  %s = call {_FOUR} asm sideeffect "{_SUMS} $4, $5, 0, 1, 1, 0, 0;",
    "=f,=f,=f,=f,l,l"(i64 %a, i64 %b)
{parts}
  %t = call {_FOUR} asm sideeffect "{_SUMS} $8, $9, $10, 1, 1, 0, 0;",
    "=f,=f,=f,=f,0,1,2,3,l,l,b"({given}, i64 %b, i64 %a, i1 true)
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
{stores}
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %turn, label %end
end:
  ret void
}}
attributes #0 = {{ "nvvm.reqntid"="128" }}
"""


@pytest.mark.parametrize("opt", [0, 3])
def test_a_sum_that_assembly_begins_and_adds_to_is_not_copied(opt: int) -> None:
    """With scale-d 0 a multiply reads no accumulator: ptxas lets both run on the same registers."""
    made = compile_text(_asm_loop(), Options(target="sm_90a", opt=opt, level="function"))
    multiplies = re.findall(r"wgmma\.mma_async\S* (\{.*?\})", made.ptx)
    assert len(multiplies) == 2
    assert len(set(multiplies)) == 1
    assert not re.search(r"\(C75\d\d\)", report(made.ptx, "sm_90a"))
