"""Branches ask for what comparisons give, so that ptxas unrolls loops; what they mean stays."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from itertools import product

import pytest

import nvgen
from asmprinter.mir.reader import read_mir
from intrinsics.modifiers import Compare
from isel.passes.block_placement import place_blocks
from tests.oracle import llvm
from tests.oracle.llvm_sass import machine_code

TARGET = "sm_90a"
_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _holds(compare: Compare, a: float, b: float) -> bool:
    """What the PTX ISA says of setp: orderings are false of NaN, those with u are true."""
    name = compare.value
    nan = math.isnan(a) or math.isnan(b)
    if name in ("num", "nan"):
        return nan == (name == "nan")
    if name in _ORDERED or name in _UNSIGNED:
        return not nan and _ORDERED[_UNSIGNED.get(name, name)](a, b)
    return nan or _ORDERED[name[:-1]](a, b)


@pytest.mark.parametrize("floats", [False, True])
def test_the_contrary_holds_where_a_comparison_does_not(floats: bool) -> None:
    numbers = [-1.0, 0.0, 2.0, *([math.nan] if floats else [])]
    only_ints, only_floats = set(_UNSIGNED), {c.value for c in Compare} - {*_ORDERED, *_UNSIGNED}
    for compare in Compare:
        if compare.value in (only_ints if floats else only_floats):
            continue
        contrary = compare.contrary(floats=floats)
        for a, b in product(numbers, repeat=2):
            assert _holds(contrary, a, b) is not _holds(compare, a, b), compare


FORK = """target sm_90a
kernel @k(
) {{
bb.entry:
  %n:b32 = MOV_U32 sreg:tid.x
  {test}
  @{guard}:pred BRA bb.end
bb.one:
  TRAP
bb.end:
  {use}RET
}}
"""


@pytest.mark.parametrize(
    ("test", "guard", "use", "turned"),
    [
        ("%c:pred, _ = SETP_LT_S32 %n, imm:4", "!%c", "", "SETP_GE_S32"),
        ("%c:pred, _ = SETP_LO_U32 %n, imm:4", "!%c", "", "SETP_HS_U32"),
        ("%c:pred, _ = SETP_LT_F32 %n, fimm:0f00000000", "!%c", "", "SETP_GEU_F32"),
        ("%c:pred, _ = SETP_LT_S32 %n, imm:4", "%c", "", ""),
        ("%c:pred, _ = SETP_LT_S32 %n, imm:4", "!%c", "%m:b32 = SELP_B32 %n, imm:1, %c\n  ", ""),
        ("%c:pred, %d:pred = SETP_LT_S32 %n, imm:4", "!%c", "", ""),
    ],
)
def test_a_test_is_turned_where_one_branch_alone_asks_for_the_contrary(
    test: str, guard: str, use: str, turned: str
) -> None:
    function = read_mir(FORK.format(test=test, guard=guard, use=use)).functions[0]
    before = [mi.opcode for mi in function.instructions()]
    guards = [mi.guard for mi in function.instructions()]
    place_blocks(function)
    after = [mi.opcode for mi in function.instructions()]
    assert (after[1] if after != before else "") == turned
    assert ([mi.guard for mi in function.instructions()] != guards) == bool(turned)


def test_ptxas_unrolls_loops_at_least_as_it_does_those_of_llvms_ptx() -> None:
    """Sums of products, 512 of them: a test of equality ends the loop."""
    text = f"""{llvm.HEADER}
define ptx_kernel void @k(ptr addrspace(1) noalias %a, ptr addrspace(1) noalias %b) {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr addrspace(1) %a, i32 %i
  %x = load float, ptr addrspace(1) %p
  %y = fmul float %x, %x
  %next = fadd float %sum, %y
  %j = add nuw nsw i32 %i, 1
  %done = icmp eq i32 %j, 512
  br i1 %done, label %end, label %loop
end:
  store float %next, ptr addrspace(1) %b
  ret void
}}
"""
    (outcome,) = llvm.compile_all([text], TARGET, "8.7")
    ptx = nvgen.compile(text, target=TARGET).ptx
    rolled = re.sub(r"^(\$L_loop:)", r'\1 .pragma "nounroll";', ptx, flags=re.MULTILINE)
    texts = {"nvgen": ptx, "LLVM": outcome.ptx, "rolled": rolled}
    size = {name: len(code) for name, code in machine_code(texts, TARGET, "8.7").items()}
    assert size["nvgen"] > 2 * size["rolled"]
    assert size["nvgen"] >= size["LLVM"]
