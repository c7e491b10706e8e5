"""Masked accesses, and intrinsics that move elements: the same values as LLVM's own PTX gives."""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from tests.oracle import side_by_side

HEAD = """
@data = internal addrspace(1) global <{ <4 x i32>, <4 x i32> }>
  <{ <4 x i32> <i32 3, i32 -5, i32 7, i32 0>, <4 x i32> <i32 2, i32 9, i32 4, i32 6> }>, align 16
@table = internal addrspace(1) constant [2 x i32] [i32 16, i32 8]
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %zero = load i32, ptr addrspace(1) %out
  %v = load <4 x i32>, ptr addrspace(1) @data
  %at4 = getelementptr i32, ptr addrspace(1) @data, i32 4
  %w = load <4 x i32>, ptr addrspace(1) %at4
  %splat = insertelement <4 x i32> poison, i32 %zero, i32 0
  %zeros = shufflevector <4 x i32> %splat, <4 x i32> poison, <4 x i32> zeroinitializer
  %m = icmp sgt <4 x i32> %v, %zeros
  %p = getelementptr i8, ptr addrspace(1) %out, i64 16
"""
STORE = "  store {0} %r, ptr addrspace(1) %out\n"
INT4 = STORE.format("<4 x i32>")
FIXED = "<i1 0, i1 1, i1 1, i1 0>"
V4, P1, M4 = "<4 x i32>", "ptr addrspace(1)", "<4 x i1>"
PLACES = f"  %q = getelementptr i32, {P1} @data, {V4} <i32 6, i32 1, i32 0, i32 4>\n"


def call(name: str, result: str, *given: tuple[str, str], attributes: str = "") -> tuple[str, str]:
    """A call of an intrinsic, and its declaration."""
    shown = ", ".join(f"{t} {attributes if 'ptr' in t else ''} {v}" for t, v in given)
    head = "call void" if result == "void" else f"%r = call {result}"
    return (
        f"  {head} @llvm.{name}({shown})\n",
        f"declare {result} @llvm.{name}({', '.join(t for t, _ in given)})\n",
    )


def body(before: str, called: tuple[str, str], after: str = "") -> str:
    return f"{HEAD}{before}{called[0]}{after}  ret void\n}}\n{called[1]}"


def masked(verb: str, mask: str, pointer: str = "%at4", before: str = "") -> str:
    """A masked load of one kind, or a store."""
    kind, suffix = {
        "%q": (f"<4 x {P1}>", "v4i32.v4p1"), "%g": ("ptr", "v4i32"),
    }.get(pointer, (P1, "v4i32.p1"))  # fmt: skip
    where, name = ((kind, pointer), (M4, mask)), f"masked.{verb}.{suffix}"
    if verb in ("load", "gather", "expandload"):
        called = call(name, V4, *where, (V4, "%v"), attributes="align 4")
        return body(before, called, INT4)
    return body(before, call(name, "void", (V4, "%w"), *where, attributes="align 4"))


GENERIC = f"  %g = addrspacecast {P1} %at4 to ptr\n"
GENERIC_OUT = f"  %g = addrspacecast {P1} %p to ptr\n"
OUT_PLACES = f"  %q = getelementptr i32, {P1} %out, {V4} <i32 6, i32 1, i32 1, i32 4>\n"
MASKED = {
    f"{verb}, {kind}": text
    for kind, mask in (("a mask in registers", "%m"), ("a mask that is known", FIXED))
    for verb, text in (
        ("load", masked("load", mask)),
        ("store", masked("store", mask, "%p")),
        ("gather", masked("gather", mask, "%q", PLACES)),
        ("scatter", masked("scatter", mask, "%q", OUT_PLACES)),
        ("expandload", masked("expandload", mask, "%g", GENERIC)),
        ("compressstore", masked("compressstore", mask, "%g", GENERIC_OUT)),
    )
}
TWO = (V4, "%v"), (V4, "%w")
PAIR = "{ <2 x i32>, <2 x i32> }"
SECOND = f"  %e = extractvalue {PAIR} %r, 1\n  store <2 x i32> %e, {P1} %out\n"
LANES = "  %s = sext <4 x i1> %r to <4 x i32>\n  store <4 x i32> %s, ptr addrspace(1) %out\n"
LEFT = "  %n = add i32 %zero, 11\n"
NUMBER = f"  %x = add i64 %r, 1\n  store i64 %x, {P1} %out\n"
ADDRESS = "  %a = addrspacecast ptr addrspace(1) @table to ptr\n  %b = ptrtoint ptr %a to i64\n"
MOVES = {
    "reverse": body("", call("vector.reverse.v4i32", V4, (V4, "%v")), INT4),
    "reverse of flags": body("", call("vector.reverse.v4i1", M4, (M4, "%m")), LANES),
    "splice left": body("", call("vector.splice.v4i32", V4, *TWO, ("i32", "1")), INT4),
    "splice right": body("", call("vector.splice.v4i32", V4, *TWO, ("i32", "-3")), INT4),
    "extract": body(
        "", call("vector.extract.v2i32.v4i32", "<2 x i32>", (V4, "%v"), ("i64", "2")),
        STORE.format("<2 x i32>"),
    ),
    "insert": body(
        f"  %h = load <2 x i32>, {P1} @data\n",
        call("vector.insert.v4i32.v2i32", V4, (V4, "%w"), ("<2 x i32>", "%h"), ("i64", "2")), INT4,
    ),
    "interleave": body(
        "", call("vector.interleave2.v8i32", "<8 x i32>", *TWO), STORE.format("<8 x i32>")
    ),
    "deinterleave": body("", call("vector.deinterleave2.v4i32", PAIR, (V4, "%v")), SECOND),
    "compress": body(
        "", call("experimental.vector.compress.v4i32", V4, (V4, "%v"), (M4, "%m"), (V4, "%w")),
        INT4,
    ),
    "steps": body("", call("stepvector.v4i32", V4), INT4),
    "lanes": body(
        LEFT, call("get.active.lane.mask.v4i1.i32", M4, ("i32", "9"), ("i32", "%n")), LANES
    ),
    "lanes that wrap": body(
        LEFT, call("get.active.lane.mask.v4i1.i32", M4, ("i32", "-2"), ("i32", "-1")), LANES
    ),
    "first set": body(
        f"  %f = xor {M4} %m, <i1 1, i1 0, i1 0, i1 0>\n",
        call("experimental.cttz.elts.i64.v4i1", "i64", (M4, "%f"), ("i1", "0")), NUMBER,
    ),
    "rounding": body("", call("get.rounding", "i32"), STORE.format("i32")),
    "a pointer's bits": body(
        f"  %o = getelementptr i8, {P1} %out, i64 13\n",
        call("ptrmask.p1.i64", P1, (P1, "%o"), ("i64", "-8")), f"  store i64 77, {P1} %r\n",
    ),
    "a relative load": body(
        ADDRESS, call("load.relative.i32", "ptr", ("ptr", "%a"), ("i32", "4")),
        f"  %c = ptrtoint ptr %r to i64\n  %d = sub i64 %c, %b\n  store i64 %d, {P1} %out\n",
    ),
}  # fmt: skip


@pytest.mark.turns(3)
@pytest.mark.parametrize("opt", [0, 2])
def test_values_are_those_of_llvm(opt: int):
    side_by_side.compare(MASKED | MOVES, opt=opt)


def test_three_are_interleaved():
    """LLVM's own back end knows pairs only."""
    six = "<6 x i32>"
    parts = [("<2 x i32>", f"<i32 {n}, i32 {n + 1}>") for n in (1, 3, 5)]
    called = call("vector.interleave3.v6i32", six, *parts)
    out = np.zeros(6, np.int32)
    nvgen.compile(body("", called, STORE.format(six)), target="sm_90a", opt=0).run(out, block=1)
    assert out.tolist() == [1, 3, 5, 2, 4, 6]
