"""No use of an accumulator moves ahead of the wait for it, and accumulators stay in place.

LLVM's passes are shown kernels in which they do the first without nvgen's help; ptxas says whether
what comes of kernels at every level lets multiplies overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.modifiers import ScalarType as T
from intrinsics.modifiers import Space
from isel.llvm import ir
from isel.verifier.functions import verify_functions
from nvgen import Kernel, KernelBuilder
from nvgen import compile as compile_module
from nvgen.optimizer import shield
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer
from tests.nvgen.optimizer.passes import LEVELS, body, shielded

MULTIPLY = "@llvm.nvvm.wgmma.mma_async.m64n8k16.f32.f16.f16"
SUM = "<4 x float>"


def multiply(result: str, d: str) -> str:
    operands = f"{SUM} {d}, i64 %a, i64 %b, i1 true, i32 1, i32 1, i32 0, i32 0"
    return f"  {result} = call {SUM} {MULTIPLY}({operands})\n"


FENCE = "  call void @llvm.nvvm.wgmma.fence.sync.aligned()\n"
COMMIT = "  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()\n"
DECLARED = f"""\
declare {SUM} {MULTIPLY}({SUM}, i64, i64, i1, i32, i32, i32, i32)
"""


def wait(left: int = 0) -> str:
    return f"  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 {left})\n"


def kernel(text: str) -> str:
    parameters = "ptr addrspace(1) %out, i64 %a, i64 %b, i32 %n"
    return f'define ptx_kernel void @k({parameters}) "nvvm.reqntid"="128" {{\n{text}}}\n' + DECLARED


TURNS = """\
  br label %turn
turn:
  %i = phi i32 [ 0, %0 ], [ %j, %turn ]
"""
AGAIN = """\
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %turn, label %end
end:
  ret void
"""
DOUBLED = f"""\
  %x = extractelement {SUM} %d, i32 0
  %y = fmul float %x, 2.0
  %p = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %y, ptr addrspace(1) %p
"""

OUT_OF_A_LOOP = kernel(
    FENCE + multiply("%d", "zeroinitializer") + COMMIT + TURNS + wait() + DOUBLED + AGAIN
)
"""The product does not change as the loop runs, and the wait for it is in the loop."""

OVER_A_WAY = kernel(
    FENCE
    + multiply("%d", "zeroinitializer")
    + COMMIT
    + f"""\
  %c = icmp eq i32 %n, 0
  br i1 %c, label %one, label %other
one:
{wait()}  %x = extractelement {SUM} %d, i32 0
  %y = fmul float %x, 2.0
  store float %y, ptr addrspace(1) %out
  ret void
other:
{wait()}  %x2 = extractelement {SUM} %d, i32 0
  %y2 = fmul float %x2, 2.0
  %p2 = getelementptr float, ptr addrspace(1) %out, i32 1
  store float %y2, ptr addrspace(1) %p2
  ret void
"""
)
"""Both ways wait, and make the same of the product."""

BROKEN_WITHOUT = {"out of a loop": OUT_OF_A_LOOP}
TEXTS = {**BROKEN_WITHOUT, "over a way": OVER_A_WAY}


def _hand_nothing(lines: list[str], function: ir.Function, prefix: str) -> list[object]:
    return []


def said(text: str, opt: int) -> list[str]:
    return [f.rule for f in verify_functions(compile_module(text, target="sm_90a", opt=opt).module)]


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("text", BROKEN_WITHOUT.values(), ids=BROKEN_WITHOUT)
def test_llvm_reads_an_accumulator_in_flight_if_it_may(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the other tests would prove nothing."""
    monkeypatch.setattr(shield, "through_waits", _hand_nothing)
    assert said(text, 3) == ["wgmma.mma_async/in-flight"]


@pytest.mark.parametrize("opt", range(4))
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_uses_stay_behind_the_wait(text: str, opt: int) -> None:
    compiled = compile_module(text, target="sm_90a", opt=opt)
    assert verify_functions(compiled.module) == []
    said_too = [f.rule for f in compiled.assembled().findings]
    assert "ptxas/wgmma-serialized" not in said_too
    before, _, behind = compiled.ptx.partition("wgmma.wait_group")
    assert "wgmma.mma_async" in before
    assert "mul.rn.f32" not in before
    assert "mul.rn.f32" in behind


CHAIN = kernel(
    FENCE
    + multiply("%d", "zeroinitializer")
    + COMMIT
    + wait(1)
    + TURNS
    + f"  %s = phi {SUM} [ %d, %0 ], [ %t, %turn ]\n"
    + wait()
    + FENCE
    + multiply("%t", "%s")
    + COMMIT
    + AGAIN.replace("  ret void", wait() + f"  store {SUM} %t, ptr addrspace(1) %out\n  ret void")
)


def test_each_use_gets_the_value_of_the_last_wait_before_it() -> None:
    """Through the first wait, the loop's, and the last: a product has as many names."""
    text = body(shielded(CHAIN, 1, "sm_90a"))
    pattern = rf"(\S+) = (?:tail )?call {SUM} @llvm.nvvm.wgmma.waited.v4f32\({SUM} (\S+)\)"
    handed = dict(re.findall(pattern, text))
    (product,) = re.findall(rf"(\S+) = (?:tail )?call {SUM} {MULTIPLY}\({SUM} zero", text)
    (after,) = re.findall(rf"(\S+) = (?:tail )?call {SUM} {MULTIPLY}\({SUM} %", text)
    (carried,) = re.findall(rf"(\S+) = phi {SUM}", text)
    (given,) = re.findall(rf"{MULTIPLY}\({SUM} (%[^,]+),", text)
    first = next(name for name, of in handed.items() if of == product)
    assert re.search(rf"{carried} = phi {SUM} .*\[ {re.escape(first)}, ", text)
    assert handed[given] == carried
    (stored,) = re.findall(rf"store {SUM} (%[^,]+),", text)
    assert handed[stored] == after
    assert len(handed) == 3


@pytest.mark.parametrize("level", LEVELS)
def test_the_result_of_a_shielded_wait_is_no_instruction(level: int) -> None:
    """The statements of wgmma are those of the source, and nothing moves a register in the loop."""
    compiled = compile_module(CHAIN, target="sm_90a", opt=level)
    turn = compiled.ptx.partition("$L_turn:")[2]
    assert "wgmma.mma_async" in turn
    assert "mov" not in turn
    assert compiled.assembled().findings == ()


# ---- what the builder makes ------------------------------------------------------------------

Body = Callable[[KernelBuilder, Int, Pointer], None]


def built(body: Body) -> Kernel:
    b = KernelBuilder("k", block=128)
    b.integer("n")
    b.pointer("out")
    given = b.begin()
    n, out = given["n"], given["out"]
    assert isinstance(n, Int)
    assert isinstance(out, Pointer)
    body(b, n, out)
    return b.finish()


def one_left(b: KernelBuilder, n: Int, out: Pointer) -> None:
    """A group stays in flight over the end of the loop."""
    tile = b.shared_word("tile")
    d = b.wgmma_accumulator(64)
    with b.range(n) as i:
        a = b.wgmma_descriptor(tile + i * 32, WgmmaDescriptor(0))
        b.wgmma_fence()
        b.wgmma_mma_async(d, a, a, i != 0, atype=T.F16)
        b.wgmma_commit_group()
        b.wgmma_wait_group(1)
    b.wgmma_wait_group(0)
    b.store(d.registers, out)


def waits_first(b: KernelBuilder, n: Int, out: Pointer) -> None:
    """Each turn begins with the wait for the turn before; two accumulators."""
    tile = b.shared_word("tile")
    sums = [b.wgmma_accumulator(64), b.wgmma_accumulator(64)]
    with b.range(n) as i:
        b.wgmma_wait_group(0)
        b.store(i, tile)
        b.fence_proxy_async(Space.SHARED_CTA)
        b.barrier_cta_sync_aligned()
        b.wgmma_fence()
        for k, d in enumerate(sums):
            a = b.wgmma_descriptor(tile + i * 32 + 64 * k, WgmmaDescriptor(0))
            b.wgmma_mma_async(d, a, a, atype=T.F16)
        b.wgmma_commit_group()
    b.wgmma_wait_group(0)
    for k, d in enumerate(sums):
        b.store(d.registers, out + 256 * k)


def scaled(b: KernelBuilder, n: Int, out: Pointer) -> None:
    """Tiles after tiles: the sums of one are stored before the next begins with zeros."""
    tile = b.shared_word("tile")
    with b.range(n) as i:
        d = b.wgmma_accumulator(32)
        with b.range(n) as j:
            a = b.wgmma_descriptor(tile + j * 32, WgmmaDescriptor(0))
            b.wgmma_fence()
            b.wgmma_mma_async(d, a, a, atype=T.F16)
            b.wgmma_commit_group()
            b.wgmma_wait_group(0)
        b.store(d.registers, out + i * 64)


BUILT: dict[str, Body] = {"one left": one_left, "waits first": waits_first, "tiles": scaled}


@pytest.mark.turns(4)
@pytest.mark.parametrize("opt", range(4))
@pytest.mark.parametrize("body_", BUILT.values(), ids=BUILT)
def test_multiplies_overlap_at_every_level(body_: Body, opt: int) -> None:
    compiled = built(body_).compile(target="sm_90a", opt=opt)
    assert compiled.assembled().findings == ()
    beyond = "wgmma.mma_async/beyond-variable"  # the matrix is a word: registers are what matters
    assert {f.rule for f in verify_functions(compiled.module)} == {beyond}
    for loop in re.findall(r"wgmma\.fence(.*?)wgmma\.commit", compiled.ptx, re.DOTALL):
        assert not re.search(r"\bmov\.(b32|f32)\s+%r\d+, (%r|0)", loop)
