"""No block stands before all those that lead to it: ptxas takes a function that it crashes at."""

from __future__ import annotations

import re

import numpy as np

import nvgen
from tests.oracle.ptxas_modules import report

AFTER_FIRST = """
define ptx_kernel void @k(ptr addrspace(1) %x, i32 %n) {
entry:
  br label %loop
after:
  %q = sdiv i32 1000, %m
  %c = icmp sgt i32 %q, 9
  br i1 %c, label %big, label %end
big:
  store i32 %q, ptr addrspace(1) %x
  br label %end
loop:
  %i = phi i32 [ 0, %entry ], [ %m, %loop ]
  %m = add i32 %i, 1
  %more = icmp slt i32 %m, %n
  br i1 %more, label %loop, label %after
end:
  ret void
}
"""


def test_what_follows_a_loop_stands_behind_it() -> None:
    compiled = nvgen.compile(AFTER_FIRST, target="sm_90a", opt=0)
    assert compiled.ptx.index("add.s32") < compiled.ptx.index("div.s32")
    assert "Used " in report(compiled.ptx, "sm_90a", "-O3")  # registers: it came to the end
    for n, expected in ((7, 142), (900, 0)):
        x = np.zeros(1, np.int32)
        compiled.run(x, n, block=1, device="sim")
        assert x[0] == (expected if expected > 9 else 0)


def test_every_label_but_of_loops_stands_behind_a_branch_to_it_or_what_falls_into_it() -> None:
    lines = nvgen.compile(AFTER_FIRST, target="sm_90a", opt=0).ptx.splitlines()
    for at, line in enumerate(lines):
        if (label := re.match(r"(\$L_\w+):", line)) is None:
            continue
        falls = not re.search(r"^\s*(bra|ret)\b", lines[at - 1])
        assert falls or any(f"bra {label[1]};" in one for one in lines[:at]), label[1]
