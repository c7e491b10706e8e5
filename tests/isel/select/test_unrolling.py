"""Loops that are not to be unrolled say so to ptxas, where LLVM's own back end says it."""

from __future__ import annotations

import random
import re
from collections import Counter

import numpy as np
import pytest

import nvgen
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics import catalog
from intrinsics.mir import Block, Label, MachineFunction, MachineInstr, form_of, successors
from isel.passes.block_placement import place_blocks
from tests.oracle import llvm

TARGET = "sm_90a"
LEVELS = (0, None, 3)

HINTS = {
    "none": '!{!"of a front end"}',
    "disable": '!{!"llvm.loop.unroll.disable"}',
    "count 1": '!{!"llvm.loop.unroll.count", i32 1}',
    "count 4": '!{!"llvm.loop.unroll.count", i32 4}',
    "count": '!{!"llvm.loop.unroll.count"}',
    "full": '!{!"llvm.loop.unroll.full"}',
    "enable": '!{!"llvm.loop.unroll.enable"}',
    "runtime": '!{!"llvm.loop.unroll.runtime.disable"}',
    "followup": '!{!"llvm.loop.unroll.followup_all", !"llvm.loop.unroll.disable"}',
    "vectorise": '!{!"llvm.loop.vectorize.width", i32 1}',
    "all forced": '!{!"llvm.loop.disable_nonforced"}',
}
ALONE = "distinct !{!0, !2}"
AMONG_OTHERS = "distinct !{!0, !1, !2}"


@pytest.mark.turns(3)
@pytest.mark.parametrize("loop", [ALONE, AMONG_OTHERS, "!{!1, !2}", "distinct !{!1, !2}"])
def test_ptxas_hears_of_the_hints_that_llvm_tells_it(loop: str) -> None:
    texts = [_loop(loop, hint) for name, hint in HINTS.items() if name != "count"]
    for text, outcome in zip(texts, llvm.compile_all(texts, TARGET, "8.7"), strict=True):
        for level in LEVELS[:2]:
            ptx = nvgen.compile(text, target=TARGET, opt=level).ptx
            assert _marked(ptx) == _marked(outcome.ptx), text


def test_a_count_without_a_number_says_nothing() -> None:
    """LLVM ends the process over it."""
    text = _loop(ALONE, HINTS["count"])
    assert not _marked(nvgen.compile(text, target=TARGET, opt=0).ptx)


@pytest.mark.turns(3)
@pytest.mark.parametrize("hint", ["none", "disable", "count 4", "full"])
def test_llvms_own_passes_heed_the_hint_and_leave_others(hint: str) -> None:
    """At -O3 LLVM unrolls, and marks what is left over; ptxas hears of exactly those loops."""
    compiled = nvgen.compile(_loop(ALONE, HINTS[hint]), target=TARGET, opt=3)
    (outcome,) = llvm.compile_all([compiled.llvm], TARGET, "8.7")
    assert compiled.ptx.count('"nounroll"') == outcome.ptx.count('"nounroll"') > 0
    assert (compiled.ptx.count("ld.volatile") == 1) == (hint == "disable")


def test_the_loops_of_any_graph_are_those_that_llvm_marks() -> None:
    """Nests, several ways back, loops with two entries, blocks that nothing leads to."""
    texts = [_graph(random.Random(seed)) for seed in range(60)]
    found = []
    for text, outcome in zip(texts, llvm.compile_all(texts, TARGET, "8.7", opt=0), strict=True):
        found.append(_marked(nvgen.compile(text, target=TARGET, opt=0).ptx))
        assert found[-1] == _marked(outcome.ptx), text
    assert {0, 1, 2} <= {sum(marked.values()) for marked in found}


def test_texts_keep_it_and_it_changes_no_values() -> None:
    compiled = nvgen.compile(_loop(ALONE, HINTS["disable"]), target=TARGET)
    for stage, mir in compiled.stages.items():
        assert ("nounroll" in mir) == (read_mir(mir).functions[0].blocks[1].nounroll), stage
    (kernel,) = read_ptx(compiled.ptx).module.functions
    assert [block.nounroll for block in kernel.blocks] == [False, True, False]
    out = np.array([5], np.int32)
    compiled.run(out, 4, block=1)
    assert list(out) == [5 * 3**4]


@pytest.mark.parametrize(
    "before", ["ret;\n", ".loc 1 1 0\n", '.pragma "frequency 2";\n'], ids=["late", "loc", "other"]
)
def test_a_pragma_elsewhere_stays_before_its_record(before: str) -> None:
    head = f'.version 8.7\n.target {TARGET}\n.address_size 64\n.file 1 "k.cu"\n'
    text = head + f'.entry k()\n{{\nl:\n{before}.pragma "nounroll";\nbra l;\n}}\n'
    module = read_ptx(text).module
    assert not module.functions[0].blocks[0].nounroll
    assert module.locations[-1].directives.endswith('.pragma "nounroll";')


def test_a_loop_that_begins_with_a_branch_alone_begins_where_that_goes() -> None:
    branch = [
        MachineInstr(form_of(catalog.row("bra")), (Label(name),), None)
        for name in ("head", "body", "head")
    ]
    trap = MachineInstr(form_of(catalog.row("trap")), (), None)
    blocks = [
        Block("entry", [branch[0]]),
        Block("head", [branch[1]], nounroll=True),
        Block("body", [trap, branch[2]]),
    ]
    function = MachineFunction("k", blocks=blocks)
    place_blocks(function)
    marked = [n for n, block in enumerate(function.blocks) if block.nounroll]
    assert [n for n in marked if n in successors(function)[-1]] == marked != []


def _marked(ptx: str) -> Counter[str]:
    """What the blocks with the pragma store first: each block stores a number of its own."""
    return Counter(re.findall(r'\.pragma "nounroll";[^:]*?\b(1\d\d\d);', ptx))


def _loop(loop: str, hint: str) -> str:
    """Multiplies by 3 as often as told, with `!llvm.loop` on the way back."""
    return f"""{llvm.HEADER}
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {{
entry:
  %unused = alloca i32
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  store volatile i32 1000, ptr %unused
  %v = load volatile i32, ptr addrspace(1) %p
  %w = mul i32 %v, 3
  store i32 %w, ptr addrspace(1) %p
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %loop, label %exit, !llvm.loop !0
exit:
  ret void
}}
!0 = {loop}
!1 = !{{!"llvm.loop.mustprogress"}}
!2 = {hint}
"""


def _graph(draw: random.Random) -> str:
    """Blocks that go anywhere; some of them have the hint that disables unrolling."""
    count = draw.randint(2, 9)
    lines = []
    for n in range(count):
        hint = draw.choice(["", ", !llvm.loop !0"])
        one, other = (draw.randrange(count) for _ in range(2))
        lines += [
            f"b{n}:",
            f"  %v{n} = load volatile i32, ptr addrspace(1) %p",
            f"  store volatile i32 {1000 + n}, ptr addrspace(1) %p",
            f"  %c{n} = icmp slt i32 %v{n}, %n",
            draw.choice(
                [
                    *["  ret void", f"  br label %b{one}{hint}"],
                    *[f"  br i1 %c{n}, label %b{one}, label %b{other}{hint}"] * 4,
                ]
            ),
        ]
    return "\n".join(
        [
            llvm.HEADER + "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {",
            "  br label %b0",
            *lines,
            '}\n!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}',
        ]
    )
