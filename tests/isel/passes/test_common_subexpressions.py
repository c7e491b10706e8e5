"""A value is computed once wherever another place has it on every way, and nowhere else."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nvgen
from asmprinter.mir.reader import read_mir
from intrinsics.mir import MachineFunction, successors
from isel.control_flow import dominator_tree, dominators, reach
from isel.passes.common_subexpressions import share_values
from tests.isel.passes.ssa_functions import Drawn, means, ssa_functions
from tests.turns import examples


@examples(60)
@given(ssa_functions())
def test_the_meaning_stays_and_nothing_is_computed_twice(drawn: Drawn) -> None:
    expected = means(drawn.function)
    share_values(drawn.function)
    assert means(drawn.function) == expected
    after = successors(drawn.function)
    sums = [
        mi.ops[1:]
        for n in reach(after, [0])
        for mi in drawn.function.blocks[n].instrs
        if mi.row.id == "add.int"
    ]
    twice = [what for what, count in Counter(sums).items() if count > 1]
    assert not twice


@examples(200)
@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_the_tree_of_dominators_has_those_that_every_way_passes(after: list[list[int]]) -> None:
    everything = dominators(after)
    above: dict[int, set[int]] = {0: {0}}
    pending = [0]
    below = dominator_tree(after)
    while pending:
        node = pending.pop()
        for lower in below[node]:
            above[lower] = {lower} | above[node]
            pending.append(lower)
    found = {node: {i for i in range(8) if everything[node] >> i & 1} for node in above}
    assert above == found
    lost = set(range(8)) - set(above)
    assert not lost & {target for node in above for target in after[node]}


KEPT = {
    "a clock": ("MOV_U64 sreg:clock64", "b64"),
    "where the thread runs": ("MOV_U32 sreg:smid", "b32"),
    "a load": ("LD_GLOBAL_B32 [%p]", "b32"),
    "who is there": ("ACTIVEMASK_B32", "b32"),
}
SHARED = {
    "the thread's number": ("MOV_U32 sreg:tid.x", "b32"),
    "an address": ("MOV_B64 @x", "b64"),
    "a sum": ("ADD_S32 %n, imm:4", "b32"),
    "a root": ("SQRT_RN_F32 %n", "b32"),
    "a product of floats": ("MUL_RN_F32 %n, fimm:0f80000000", "b32"),
}


def _function(body: str) -> MachineFunction:
    head = (
        "target sm_90a\nglobal @x : size 4 align 4\nkernel @k(\n  param @a : u64 size 8 align 8\n)"
    )
    text = f"{head} {{\nbb.entry:\n  %p:b64 = LD_PARAM_B64 [@a]\n  %n:b32 = LD_GLOBAL_B32 [%p]\n"
    return read_mir(text + body + "  RET\n}\n").functions[0]


def _both(record: str, register: str, guard: str = "") -> str:
    """The record twice, each with a use of its result."""
    return "".join(
        f"  {guard}%{name}:{register} = {record}\n  ST_GLOBAL_{register.upper()} [%p], %{name}\n"
        for name in ("one", "other")
    )


@pytest.mark.parametrize(
    ("record", "register", "left"),
    [(*case, 2) for case in KEPT.values()] + [(*case, 1) for case in SHARED.values()],
    ids=[*KEPT, *SHARED],
)
def test_what_depends_on_operands_alone_is_shared(record: str, register: str, left: int) -> None:
    function = _function(_both(record, register))
    opcode = record.partition(" ")[0]
    before = [mi for mi in function.instructions() if mi.opcode == opcode]
    share_values(function)
    after = [mi for mi in function.instructions() if mi.opcode == opcode]
    assert len(after) == len(before) - 2 + left
    (one, other) = [mi.ops[1] for mi in function.instructions() if mi.row.id == "st"]
    assert (one == other) == (left == 1)


def test_what_only_some_threads_compute_is_computed_again() -> None:
    body = "  %c:pred, _ = SETP_EQ_S32 %n, imm:0\n" + _both("ADD_S32 %n, imm:4", "b32", "@%c:pred ")
    function = _function(body)
    count = len(list(function.instructions()))
    share_values(function)
    assert len(list(function.instructions())) == count


def test_what_assembly_writes_again_is_not_what_it_was() -> None:
    body = f"  %m:b32 = MOV_B32 imm:1\n{_both('ADD_S32 %m, imm:4', 'b32')}  %m = MOV_B32 imm:2\n"
    function = _function(body)
    count = len(list(function.instructions()))
    share_values(function)
    assert len(list(function.instructions())) == count


def test_neighbours_share_what_the_way_to_both_has() -> None:
    """An index that both ways of a fork use is scaled once, and what one of them has alone there.

    What one of the ways and their end have is computed where they part, as the other one needs it.
    The texts are LLVM IR: at the default level nvgen has no pass of LLVM's to do it.
    """
    way = """
{name}:
  %{name}.i = mul i32 %n, {factor}
  %{name}.p = getelementptr i32, ptr addrspace(1) %p, i32 %{name}.i
  %{name}.v = mul i32 %n, 1{factor}
  store i32 %{name}.v, ptr addrspace(1) %{name}.p
  br label %end"""
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {\n  %i = mul i32 %n, 7\n"
        "  store i32 %i, ptr addrspace(1) %p\n  %c = icmp eq i32 %n, 5\n"
        "  br i1 %c, label %one, label %other\n"
        + way.format(name="one", factor=7) + way.format(name="other", factor=9)
        + "\nend:\n  %again = mul i32 %n, 9\n  store i32 %again, ptr addrspace(1) %p\n"
        "  ret void\n}\n"
    )  # fmt: skip
    ptx = nvgen.compile(text, target="sm_90a").ptx
    assert len(re.findall(r"mul\.lo\.s32 .*, 7;", ptx)) == 1
    assert len(re.findall(r"mul\.lo\.s32 .*, 9;", ptx)) == 1
    for factor, store in re.findall(r"mul\.lo\.s32 .*, (1\d);\n\t(.*)", ptx):
        assert store.startswith("st.global.b32"), factor


NEIGHBOURS = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = shl nuw nsw i32 %t, 1
  %in = icmp ult i32 %i, %n
  br i1 %in, label %one, label %next
one:
  %a = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %x, i64 %a
  %v = load i32, ptr addrspace(1) %p
  br label %next
next:
  %u = phi i32 [ %v, %one ], [ 0, %0 ]
  %j = or disjoint i32 %i, 1
  %too = icmp ult i32 %j, %n
  br i1 %too, label %two, label %last
two:
  %b = zext i32 %j to i64
  %q = getelementptr i32, ptr addrspace(1) %x, i64 %b
  %w = load i32, ptr addrspace(1) %q
  br label %last
last:
  %z = phi i32 [ %w, %two ], [ 0, %next ]
  %s = add i32 %u, %z
  %d = zext i32 %t to i64
  %r = getelementptr i32, ptr addrspace(1) %y, i64 %d
  store i32 %s, ptr addrspace(1) %r
  ret void
}
"""


def test_neighbours_that_are_read_on_conditions_share_an_address() -> None:
    compiled = nvgen.compile(NEIGHBOURS, target="sm_90a")
    first, second = re.findall(r"ld\.global\.b32 %r\d+, \[(%rd\d+)(?:\+4)?\]", compiled.ptx)
    assert first == second
    x, y = np.arange(64, dtype=np.int32), np.zeros(32, np.int32)
    compiled.run(x, y, 41, block=32, device="sim")
    within = np.where(np.arange(64) < 41, np.arange(64), 0)
    assert (y == within.reshape(32, 2).sum(1)).all()


BEGINNINGS = """
@tile = internal addrspace(3) global [64 x i32] undef
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t
  %in = icmp ult i32 %t, %n
  br i1 %in, label %one, label %next
one:
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %a = getelementptr i32, ptr addrspace(3) @tile, i32 %t
  store i32 %size, ptr addrspace(3) %a
  br label %next
next:
  %v = load i32, ptr addrspace(1) %p
  %odd = icmp sgt i32 %v, 20
  br i1 %odd, label %two, label %last
two:
  %again = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b = getelementptr i32, ptr addrspace(3) @tile, i32 %t
  %w = load i32, ptr addrspace(3) %b
  %s = add i32 %again, %w
  %q = getelementptr i32, ptr addrspace(1) %y, i32 %t
  store i32 %s, ptr addrspace(1) %q
  br label %last
last:
  ret void
}
"""


def test_special_registers_and_symbols_are_read_once() -> None:
    compiled = nvgen.compile(BEGINNINGS, target="sm_90a")
    assert compiled.ptx.count("%ntid.x") == 1
    assert len(re.findall(r"mov\.b64 .*, tile;", compiled.ptx)) == 1
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    compiled.run(x, y, 64, block=64, device="sim")
    assert (y == np.where(x > 20, 128, 0)).all()


SWITCH = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
entry:
  br label %turn
turn:
  %x = phi i32 [ 9, %entry ], [ 5, %next ]
  switch i32 %x, label %next [ i32 5, label %five  i32 9, label %next ]
five:
  %is_nine = icmp eq i32 %x, 9
  %number = select i1 %is_nine, i32 9, i32 5
  store i32 %number, ptr addrspace(1) %out
  ret void
next:
  br label %turn
}
"""


def test_a_comparison_behind_a_branch_is_not_known_where_the_branch_goes() -> None:
    """A switch asks for 9 where it has not left for 5; the turn before has another answer."""
    out = np.zeros(1, np.int32)
    nvgen.compile(SWITCH, target="sm_90a", opt=0).run(out, block=1)
    assert out[0] == 5


def test_a_comparison_of_two_branches_is_made_before_them() -> None:
    """As XLA writes them: LLVM's optimiser has moved each to where it is used."""
    kernel = """
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n, i32 %m) {
entry:
  %way = icmp eq i32 %m, 3
  br i1 %way, label %one, label %other
one:
  %c = icmp slt i32 %n, 0
  %x = select i1 %c, i32 5, i32 6
  br label %end
other:
  %d = icmp slt i32 %n, 0
  %y = select i1 %d, i32 7, i32 8
  br label %end
end:
  %z = phi i32 [ %x, %one ], [ %y, %other ]
  store i32 %z, ptr addrspace(1) %out
  ret void
}
"""
    assert nvgen.compile(kernel, target="sm_90a").ptx.count("setp.lt.s32") == 1
