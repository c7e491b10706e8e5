"""Addresses of blocks and indirectbr: an interpreter of byte code, as its rules are in Python.

LLVM's own back end for PTX has no indirectbr; ptxas judges what nvgen makes of it.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen

MACHINE = """
@tab = internal addrspace(1) constant [4 x ptr] [ptr blockaddress(@k, %add),
  ptr blockaddress(@k, %sub), ptr blockaddress(@k, %mul), ptr blockaddress(@k, %halt)]
@far = internal addrspace(1) constant [2 x i32] [
  i32 trunc (i64 sub (i64 ptrtoint (ptr blockaddress(@k, %mul) to i64),
    i64 ptrtoint (ptr blockaddress(@k, %add) to i64)) to i32), i32 7]
define ptx_kernel void @k(ptr addrspace(1) %code, ptr addrspace(1) %out) {
entry:
  br label %next
next:
  %pc = phi i64 [ 0, %entry ], [ %pc2, %add ], [ %pc2, %sub ], [ %pc2, %mul ]
  %acc = phi i32 [ 1, %entry ], [ %a, %add ], [ %s, %sub ], [ %m, %mul ]
  %op.p = getelementptr i32, ptr addrspace(1) %code, i64 %pc
  %op = load i32, ptr addrspace(1) %op.p
  %arg.n = add i64 %pc, 1
  %arg.p = getelementptr i32, ptr addrspace(1) %code, i64 %arg.n
  %arg = load i32, ptr addrspace(1) %arg.p
  %pc2 = add i64 %pc, 2
  %at = getelementptr ptr, ptr addrspace(1) @tab, i32 %op
  %to = load ptr, ptr addrspace(1) %at
  indirectbr ptr %to, [label %add, label %sub, label %mul, label %halt, label %never]
add:
  %a = add i32 %acc, %arg
  br label %next
sub:
  %s = sub i32 %acc, %arg
  br label %next
mul:
  %m = mul i32 %acc, %arg
  br label %next
halt:
  store i32 %acc, ptr addrspace(1) %out
  ret void
never:
  store i32 -1, ptr addrspace(1) %out
  ret void
}
"""
PROGRAMS = [
    [(3, 0)],
    [(0, 5), (2, 7), (1, 4), (3, 0)],
    [(2, 3), (2, 3), (0, 1), (2, -2), (1, 100), (3, 9)],
]


def interpreted(program: list[tuple[int, int]]) -> int:
    """What a program leaves in the accumulator, which begins with 1."""
    total = 1
    for op, argument in program:
        match op:
            case 0:
                total += argument
            case 1:
                total -= argument
            case 2:
                total *= argument
    return total


@pytest.mark.parametrize("opt", [None, 0, 3])
def test_an_interpreter_jumps_to_what_it_reads(opt: int | None):
    compiled = nvgen.compile(MACHINE, target="sm_90a", opt=opt)
    assert compiled.cubin()
    for program in PROGRAMS:
        code, out = np.array(program, np.int32).reshape(-1), np.zeros(1, np.int32)
        compiled.run(code, out, block=1, device="sim")
        assert out[0] == interpreted(program)


EQUAL = """
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {
entry:
  %c = icmp eq i32 %n, 0
  %to = select i1 %c, ptr blockaddress(@k, %one), ptr blockaddress(@k, %two)
  %same = icmp eq ptr %to, blockaddress(@k, %two)
  %null = icmp eq ptr %to, null
  %both = or i1 %same, %null
  %word = zext i1 %both to i32
  store i32 %word, ptr addrspace(1) %out
  indirectbr ptr %to, [label %one, label %two]
one:
  br label %end
two:
  br label %end
end:
  %x = phi i32 [ 11, %one ], [ 22, %two ]
  %p = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %x, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.parametrize(("n", "expected"), [(0, [0, 11]), (5, [1, 22])])
def test_addresses_of_blocks_are_compared(n: int, expected: list[int]):
    out = np.zeros(2, np.int32)
    nvgen.compile(EQUAL, target="sm_90a").run(out, n, block=1, device="sim")
    assert out.tolist() == expected


def test_a_branch_to_nowhere_ends():
    """No block's address is taken: whatever is branched to, the program is undefined."""
    text = """
define ptx_kernel void @k(ptr %p) {
  indirectbr ptr %p, [label %a]
a:
  ret void
}
"""
    assert nvgen.compile(text, target="sm_90a", opt=0).cubin()
