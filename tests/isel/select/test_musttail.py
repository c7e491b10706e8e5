"""A call that must be a tail call is a plain one, as in LLVM's code, whatever it passes on."""

from __future__ import annotations

from tests.oracle.side_by_side import compare

SUMS = """
define internal i64 @sum(i64 %n, i64 %total) noinline {
  %done = icmp eq i64 %n, 0
  br i1 %done, label %end, label %more
end:
  ret i64 %total
more:
  %m = sub i64 %n, 1
  %t = add i64 %total, %n
  %r = musttail call i64 @sum(i64 %m, i64 %t)
  ret i64 %r
}
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %r = call i64 @sum(i64 9, i64 0)
  store i64 %r, ptr addrspace(1) %out
  ret void
}
"""
STRUCTS = """
define internal void @fill(ptr sret({ i64, i64 }) %to) noinline {
  store { i64, i64 } { i64 3, i64 4 }, ptr %to
  ret void
}
define internal void @passes(ptr sret({ i64, i64 }) %to) noinline {
  musttail call void @fill(ptr sret({ i64, i64 }) %to)
  ret void
}
define internal { i64, i32 } @pair(i64 %x) noinline {
  %a = insertvalue { i64, i32 } { i64 0, i32 7 }, i64 %x, 0
  ret { i64, i32 } %a
}
define internal { i64, i32 } @gives(i64 %x) noinline {
  %r = musttail call { i64, i32 } @pair(i64 %x)
  ret { i64, i32 } %r
}
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %plain = addrspacecast ptr addrspace(1) %out to ptr
  call void @passes(ptr sret({ i64, i64 }) %plain)
  %r = call { i64, i32 } @gives(i64 11)
  %x = extractvalue { i64, i32 } %r, 0
  %p = getelementptr i64, ptr addrspace(1) %out, i64 2
  store i64 %x, ptr addrspace(1) %p
  ret void
}
"""
POINTER = """
define internal i64 @twice(ptr %g, i64 %x) noinline {
  %y = add i64 %x, %x
  ret i64 %y
}
define internal i64 @through(ptr %g, i64 %x) noinline {
  %r = musttail call i64 %g(ptr %g, i64 %x)
  ret i64 %r
}
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %r = call i64 @through(ptr @twice, i64 21)
  store i64 %r, ptr addrspace(1) %out
  ret void
}
"""


def test_values_are_llvms() -> None:
    compare({"sums": SUMS, "structs": STRUCTS, "through a pointer": POINTER})
