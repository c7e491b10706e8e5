"""What multiplies need stands before their fence: the pass on records, and compiled kernels.

The passes' input is written as PTX, whose registers are written more than once.
"""

from __future__ import annotations

import re

import pytest

from asmprinter.ptx_printer import print_ptx
from asmprinter.ptx_reader import read_ptx
from intrinsics.modifiers import ScalarType as T
from intrinsics.targets import parse_ptx
from intrinsics.wgmma_desc import WgmmaDescriptor
from isel.passes.order_wgmma import order_wgmma
from isel.verifier.function.check import verify_functions
from nvgen import KernelBuilder
from tests.each import each
from tests.isel.wgmma_kernels import DESCRIPTORS, kernel


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


@pytest.mark.parametrize("opt", range(4))
def test_a_constant_accumulator_is_filled_before_the_fence(opt: int) -> None:
    """Zeros are an operand of the multiply in LLVM IR; nothing is wrong with what comes of it."""
    b = KernelBuilder("k", block=128)
    tile, out = b.shared_word("tile"), (b.shared_word("first"), b.shared_word("second"))
    b.begin()
    a = b.wgmma_descriptor(tile, WgmmaDescriptor(0))
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
    assert verify_functions(compiled.module) == []
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
    $wait 0;
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
