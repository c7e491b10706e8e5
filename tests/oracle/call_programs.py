"""Kernels that call functions, for the host's processor and a GPU to agree on.

Each is ``k(ptr x, ptr out)``: thread ``t`` reads the 64-bit word ``x[t]`` and writes ``out[t]``.
The functions are ``noinline``, so that the calls are still there however much is optimised.
"""

from __future__ import annotations

HEADER = 'target triple = "nvptx64-nvidia-cuda"\n'


def kernel(functions: str, body: str) -> str:
    """A kernel that makes %r, an i64, of %v, %t and %lane."""
    return f"""{HEADER}declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{functions}
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr i64, ptr addrspace(1) %x, i32 %t
  %v = load i64, ptr addrspace(1) %px
  %w = trunc i64 %v to i32
  %lane = and i32 %t, 31
{body}
  %po = getelementptr i64, ptr addrspace(1) %out, i32 %t
  store i64 %r, ptr addrspace(1) %po
  ret void
}}
"""


def _extended(bits: int, how: str) -> str:
    """A narrow number through a parameter and a result, extended by an attribute."""
    cast = {"signext": "sext", "zeroext": "zext"}[how]
    return kernel(
        f"""define internal {how} i{bits} @f(i{bits} {how} %a, i64 %b) noinline {{
  %wide = {cast} i{bits} %a to i64
  %sum = add i64 %wide, %b
  %low = trunc i64 %sum to i{bits}
  ret i{bits} %low
}}""",
        f"""  %n = trunc i64 %v to i{bits}
  %s = call {how} i{bits} @f(i{bits} {how} %n, i64 %v)
  %r = {cast} i{bits} %s to i64""",
    )


_FACTORIAL = """define internal i64 @f(i64 %n) noinline {
  %end = icmp ult i64 %n, 2
  br i1 %end, label %one, label %more
one:
  ret i64 1
more:
  %less = sub i64 %n, 1
  %rest = call i64 @f(i64 %less)
  %all = mul i64 %rest, %n
  ret i64 %all
}"""

_EVEN_ODD = """define internal i1 @even(i32 %n) noinline {
  %end = icmp eq i32 %n, 0
  br i1 %end, label %yes, label %more
yes:
  ret i1 true
more:
  %less = sub i32 %n, 1
  %odd = call i1 @odd(i32 %less)
  ret i1 %odd
}
define internal i1 @odd(i32 %n) noinline {
  %end = icmp eq i32 %n, 0
  br i1 %end, label %no, label %more
no:
  ret i1 false
more:
  %less = sub i32 %n, 1
  %even = call i1 @even(i32 %less)
  ret i1 %even
}"""

_FIBONACCI = """define internal i64 @fib(i64 %n) noinline {
  %end = icmp ult i64 %n, 2
  br i1 %end, label %leaf, label %more
leaf:
  ret i64 %n
more:
  %n1 = sub i64 %n, 1
  %n2 = sub i64 %n, 2
  %a = call i64 @fib(i64 %n1)
  %b = call i64 @fib(i64 %n2)
  %c = add i64 %a, %b
  ret i64 %c
}"""

_CHAIN = """define internal i64 @f(i64 %n, ptr %above) noinline {
  %own = alloca [3 x i64], align 8
  %mine = getelementptr i64, ptr %own, i64 1
  store i64 %n, ptr %mine
  %end = icmp eq i64 %n, 0
  br i1 %end, label %leaf, label %more
leaf:
  br label %done
more:
  %less = sub i64 %n, 1
  %rest = call i64 @f(i64 %less, ptr %mine)
  br label %done
done:
  %sum = phi i64 [ 1, %leaf ], [ %rest, %more ]
  %left = load i64, ptr %mine
  %before = load i64, ptr %above
  %new = add i64 %before, %left
  store i64 %new, ptr %above
  %tripled = mul i64 %sum, 3
  %r = add i64 %tripled, %left
  ret i64 %r
}"""
"""Each call has an array, and adds what it holds in the end to its caller's."""

_STRUCT = """%S = type { i32, i64, i8, i16 }
define internal %S @f(%S %s, i64 %add) noinline {
  %a = extractvalue %S %s, 1
  %b = add i64 %a, %add
  %t = insertvalue %S %s, i64 %b, 1
  %c = extractvalue %S %s, 2
  %d = add i8 %c, 77
  %u = insertvalue %S %t, i8 %d, 2
  ret %S %u
}"""

_VECTOR = """define internal <4 x i32> @f(<4 x i32> %a, <2 x i16> %b, [3 x i8] %c) noinline {
  %x = extractelement <2 x i16> %b, i32 1
  %y = zext i16 %x to i32
  %z = extractvalue [3 x i8] %c, 2
  %z32 = sext i8 %z to i32
  %s = add i32 %y, %z32
  %e = extractelement <4 x i32> %a, i32 0
  %q = add i32 %e, %s
  %v = insertelement <4 x i32> %a, i32 %q, i32 2
  ret <4 x i32> %v
}"""

_MANY = """define internal i64 @f(i1 %a, i8 %b, i16 %c, i32 %d, i64 %e,
    i1 zeroext %f, i8 signext %g) noinline {
  %a64 = zext i1 %a to i64
  %b64 = zext i8 %b to i64
  %c64 = sext i16 %c to i64
  %d64 = zext i32 %d to i64
  %f64 = sext i1 %f to i64
  %g64 = sext i8 %g to i64
  %s1 = add i64 %a64, %b64
  %s2 = shl i64 %s1, 3
  %s3 = add i64 %s2, %c64
  %s4 = xor i64 %s3, %d64
  %s5 = add i64 %s4, %e
  %s6 = sub i64 %s5, %f64
  %s7 = xor i64 %s6, %g64
  ret i64 %s7
}"""

_POINTERS = """define internal i64 @plus(i64 %a, i64 %b) noinline {
  %c = add i64 %a, %b
  ret i64 %c
}
define internal i64 @times(i64 %a, i64 %b) noinline {
  %c = mul i64 %a, %b
  ret i64 %c
}
define internal i64 @apply(ptr %f, i64 %a, i64 %b) noinline {
  %c = call i64 %f(i64 %a, i64 %b)
  ret i64 %c
}"""

_STORES = """define internal void @put(ptr addrspace(1) %p, i64 %v) noinline {
  %w = xor i64 %v, 255
  store i64 %w, ptr addrspace(1) %p
  ret void
}"""

_LONG = """define internal i128 @f(i128 %a, i1 %b, i128 %c) noinline {
  %s = add i128 %a, %c
  %t = select i1 %b, i128 %s, i128 %a
  ret i128 %t
}"""

PROGRAMS = {
    **{
        f"i{bits} {how}": _extended(bits, how)
        for bits in (1, 5, 8, 16, 24, 32, 48)
        for how in ("signext", "zeroext")
    },
    "a recursion": kernel(_FACTORIAL, "  %n = and i64 %v, 15\n  %r = call i64 @f(i64 %n)"),
    "a mutual recursion": kernel(
        _EVEN_ODD,
        "  %n = and i32 %w, 31\n  %e = call i1 @even(i32 %n)\n  %r = zext i1 %e to i64",
    ),
    "a recursion that forks": kernel(
        _FIBONACCI, "  %n = and i64 %v, 7\n  %r = call i64 @fib(i64 %n)"
    ),
    "a recursion with arrays": kernel(
        _CHAIN,
        """  %top = alloca i64
  store i64 5, ptr %top
  %n = and i64 %v, 15
  %sum = call i64 @f(i64 %n, ptr %top)
  %end = load i64, ptr %top
  %high = shl i64 %end, 32
  %r = xor i64 %sum, %high""",
    ),
    "a struct by value": kernel(
        _STRUCT,
        """  %b = trunc i64 %v to i8
  %h = trunc i64 %v to i16
  %s0 = insertvalue %S poison, i32 %w, 0
  %s1 = insertvalue %S %s0, i64 %v, 1
  %s2 = insertvalue %S %s1, i8 %b, 2
  %s3 = insertvalue %S %s2, i16 %h, 3
  %got = call %S @f(%S %s3, i64 12345)
  %g0 = extractvalue %S %got, 0
  %g1 = extractvalue %S %got, 1
  %g2 = extractvalue %S %got, 2
  %g3 = extractvalue %S %got, 3
  %w0 = zext i32 %g0 to i64
  %w2 = zext i8 %g2 to i64
  %w3 = zext i16 %g3 to i64
  %a = add i64 %w0, %g1
  %c = shl i64 %w2, 40
  %d = xor i64 %a, %c
  %r = add i64 %d, %w3""",
    ),
    "vectors and arrays": kernel(
        _VECTOR,
        """  %h = trunc i64 %v to i16
  %b = trunc i64 %v to i8
  %v0 = insertelement <4 x i32> zeroinitializer, i32 %w, i32 0
  %v1 = insertelement <4 x i32> %v0, i32 %t, i32 3
  %p0 = insertelement <2 x i16> zeroinitializer, i16 %h, i32 1
  %a0 = insertvalue [3 x i8] zeroinitializer, i8 %b, 2
  %got = call <4 x i32> @f(<4 x i32> %v1, <2 x i16> %p0, [3 x i8] %a0)
  %e2 = extractelement <4 x i32> %got, i32 2
  %e3 = extractelement <4 x i32> %got, i32 3
  %l = zext i32 %e2 to i64
  %m = zext i32 %e3 to i64
  %n = shl i64 %m, 32
  %r = or i64 %l, %n""",
    ),
    "many parameters": kernel(
        _MANY,
        """  %a = trunc i64 %v to i1
  %b = trunc i64 %v to i8
  %c = trunc i64 %v to i16
  %r = call i64 @f(i1 %a, i8 %b, i16 %c, i32 %w, i64 %v, i1 zeroext %a, i8 signext %b)""",
    ),
    "calls by pointer": kernel(
        _POINTERS,
        """  %odd = trunc i32 %lane to i1
  %f = select i1 %odd, ptr @plus, ptr @times
  %g = select i1 %odd, ptr @times, ptr @plus
  %a = call i64 %f(i64 %v, i64 3)
  %r = call i64 @apply(ptr %g, i64 %a, i64 %v)""",
    ),
    "a call that only some threads make": kernel(
        _FACTORIAL,
        """  %few = icmp ult i32 %lane, 5
  br i1 %few, label %call, label %done
call:
  %n = zext i32 %lane to i64
  %f = call i64 @f(i64 %n)
  br label %done
done:
  %r = phi i64 [ %f, %call ], [ %v, %entry ]""",
    ),
    "calls in a loop": kernel(
        _POINTERS,
        """  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i64 [ %v, %entry ], [ %more, %loop ]
  %once = call i64 @times(i64 %s, i64 3)
  %more = call i64 @plus(i64 %once, i64 7)
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, 9
  br i1 %end, label %done, label %loop
done:
  %r = xor i64 %more, %s""",
    ),
    "a call that stores": kernel(
        _STORES,
        """  %there = getelementptr i64, ptr addrspace(1) %out, i32 %t
  call void @put(ptr addrspace(1) %there, i64 %v)
  %back = load i64, ptr addrspace(1) %there
  %r = add i64 %back, 1""",
    ),
    "integers of 128 bits": kernel(
        _LONG,
        """  %a = zext i64 %v to i128
  %b = trunc i64 %v to i1
  %c = shl i128 %a, 77
  %got = call i128 @f(i128 %a, i1 %b, i128 %c)
  %high = lshr i128 %got, 64
  %l = trunc i128 %got to i64
  %h = trunc i128 %high to i64
  %r = xor i64 %l, %h""",
    ),
    "a struct by its address": kernel(
        """%S = type { i32, i64, i8 }
define internal i64 @f(ptr byval(%S) align 8 %s, i64 %i) noinline {
  %p = getelementptr %S, ptr %s, i32 0, i32 1
  %a = load i64, ptr %p
  store i64 %i, ptr %p
  %b = load i64, ptr %p
  %q = getelementptr %S, ptr %s, i32 0, i32 2
  %c = load i8, ptr %q
  %d = zext i8 %c to i64
  %x = add i64 %a, %b
  %y = add i64 %x, %d
  ret i64 %y
}""",
        """  %s = alloca %S, align 8
  %p0 = getelementptr %S, ptr %s, i32 0, i32 0
  store i32 %t, ptr %p0
  %p = getelementptr %S, ptr %s, i32 0, i32 1
  store i64 %v, ptr %p
  %q = getelementptr %S, ptr %s, i32 0, i32 2
  %b = trunc i64 %v to i8
  store i8 %b, ptr %q
  %got = call i64 @f(ptr byval(%S) align 8 %s, i64 77)
  %m = load i64, ptr %p
  %r = xor i64 %got, %m""",
    ),
    "a tail call": kernel(
        _FACTORIAL
        + """
define i64 @g(i64 %n) noinline {
  %m = and i64 %n, 7
  %r = tail call i64 @f(i64 %m)
  ret i64 %r
}""",
        "  %r = call i64 @g(i64 %v)",
    ),
}
