"""Control flow that is easy to get wrong means on the device what it means on the host."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.host_and_device import assert_equal, blank, both

pytestmark = pytest.mark.gpu


FLOW = {
    # A loop that exchanges two values every round: copies made one after the other lose one.
    "swap": """
entry:
  br label %loop
loop:
  %x = phi i32 [ %a, %entry ], [ %y, %loop ]
  %y = phi i32 [ %b, %entry ], [ %x, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %r = shl i32 %x, 1
  %s = xor i32 %r, %y
  br label %end
""",
    # The phi is used behind the loop after its next value exists: the two must not share.
    "lost copy": """
entry:
  br label %loop
loop:
  %x = phi i32 [ %a, %entry ], [ %next, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %next = add i32 %x, %b
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %s = sub i32 %x, %n
  br label %end
""",
    # Three values in a ring, and one that is copied out of it.
    "rotation": """
entry:
  br label %loop
loop:
  %x = phi i32 [ %a, %entry ], [ %y, %loop ]
  %y = phi i32 [ %b, %entry ], [ %z, %loop ]
  %z = phi i32 [ %n, %entry ], [ %x, %loop ]
  %w = phi i32 [ 7, %entry ], [ %x, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %more = icmp ule i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  %t = mul i32 %y, 3
  %u = xor i32 %t, %z
  %s = add i32 %u, %w
  br label %end
""",
    # A loop with two entries.
    "irreducible": """
entry:
  %low = trunc i32 %a to i1
  br i1 %low, label %left, label %right
left:
  %p = phi i32 [ %a, %entry ], [ %q2, %right ]
  %i = phi i32 [ 0, %entry ], [ %k, %right ]
  %p2 = mul i32 %p, 5
  %j = add i32 %i, 1
  %out1 = icmp ugt i32 %j, 9
  br i1 %out1, label %done, label %right
right:
  %q = phi i32 [ %b, %entry ], [ %p2, %left ]
  %k0 = phi i32 [ 3, %entry ], [ %j, %left ]
  %q2 = add i32 %q, %n
  %k = add i32 %k0, 1
  %out2 = icmp ugt i32 %k, 7
  br i1 %out2, label %done, label %left
done:
  %s = phi i32 [ %p2, %left ], [ %q2, %right ]
  br label %end
""",
    # A critical edge: its source has two successors, its target two predecessors.
    "critical edge": """
entry:
  %c = icmp slt i32 %a, %b
  br i1 %c, label %join, label %other
other:
  %d = icmp eq i32 %n, 2
  br i1 %d, label %join, label %third
third:
  br label %join
join:
  %s = phi i32 [ %a, %entry ], [ %b, %other ], [ -1, %third ]
  br label %end
""",
    # Both arms go to one block.
    "same target": """
entry:
  %c = icmp slt i32 %a, %b
  br i1 %c, label %join, label %join
join:
  %s = phi i32 [ %a, %entry ], [ %a, %entry ]
  br label %end
""",
    "switch": """
entry:
  switch i32 %n, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 3, label %one
    i32 -1, label %zero
  ]
zero:
  %z = add i32 %a, 100
  br label %join
one:
  %o = phi i32 [ 11, %entry ], [ 11, %entry ]
  %m = mul i32 %o, %b
  br label %join
other:
  br label %join
join:
  %s = phi i32 [ %z, %zero ], [ %m, %one ], [ %n, %other ]
  br label %end
""",
    "switch without cases": """
entry:
  switch i32 %n, label %only [ ]
only:
  %s = add i32 %a, %b
  br label %end
""",
    # A loop inside a loop; how often each thread goes around depends on its data.
    "nest": """
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i2, %after ]
  %t = phi i32 [ %a, %entry ], [ %v, %after ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j2, %inner ]
  %u = phi i32 [ %t, %outer ], [ %v, %inner ]
  %v = add i32 %u, %b
  %j2 = add i32 %j, 1
  %more = icmp ule i32 %j2, %i
  br i1 %more, label %inner, label %after
after:
  %i2 = add i32 %i, 1
  %again = icmp ult i32 %i2, %n
  br i1 %again, label %outer, label %done
done:
  %s = xor i32 %v, %t
  br label %end
""",
    # A condition that is a phi of conditions.
    "i1 phi": """
entry:
  %c = icmp ugt i32 %a, %b
  br i1 %c, label %yes, label %no
yes:
  %d = icmp eq i32 %n, 1
  br label %join
no:
  br label %join
join:
  %flag = phi i1 [ %d, %yes ], [ true, %no ]
  br i1 %flag, label %big, label %small
big:
  br label %done
small:
  br label %done
done:
  %s = phi i32 [ 1, %big ], [ %a, %small ]
  br label %end
""",
}


@pytest.mark.parametrize("opt", range(4))
@pytest.mark.parametrize("name", FLOW)
def test_control_flow(name: str, opt: int):
    body = FLOW[name].strip()
    label, rest = body.split("\n", 1)
    blocks = rest.strip("\n").split("\n")
    last = [line[:-1] for line in blocks if line.endswith(":")]
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
{label}
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr [3 x i32], ptr addrspace(1) %in, i32 %tid
  %pb = getelementptr i32, ptr addrspace(1) %pa, i64 1
  %pn = getelementptr i32, ptr addrspace(1) %pa, i64 2
  %a = load i32, ptr addrspace(1) %pa
  %b = load i32, ptr addrspace(1) %pb
  %n = load i32, ptr addrspace(1) %pn
{rest}
end:
  %result = phi i32 [ %s, %{last[-1] if last else "entry"} ]
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %result, ptr addrspace(1) %po
  ret void
}}
"""
    rng = np.random.default_rng(3)
    data = rng.integers(-50, 50, (48, 3)).astype(np.int32)
    data[:, 2] = rng.integers(-1 if name.startswith("switch") else 0, 6, 48)
    assert_equal(text, both(text, [data, blank(4 * 48)], block=(48, 1, 1), opt=opt))


def test_threads_return_at_different_places():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  %odd = trunc i32 %tid to i1
  br i1 %odd, label %early, label %late
early:
  store i32 1, ptr addrspace(1) %p
  ret void
late:
  %big = icmp ugt i32 %tid, 40
  br i1 %big, label %gone, label %on
gone:
  ret void
on:
  store i32 2, ptr addrspace(1) %p
  ret void
}
"""
    found = both(text, [blank(4 * 70)], block=(70, 1, 1))
    assert_equal(text, found)
    words = found[1][0].view(np.uint32)
    assert words[1] == 1
    assert words[2] == 2
    assert words[42] == 0xA5A5A5A5
