"""Intrinsics that say how to round: the values, beside exact fractions; other questions of LLVM's.

What answers for values is IEEE 754 (`tests.oracle.exact_floats`); for the rest LLVM's own PTX.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import nvgen
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import NvgenError
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from tests.isel.lower.arithmetic.test_lowered_intrinsics import NAMES, numbers, run
from tests.oracle import llvm
from tests.oracle.exact_floats import (
    KINDS,
    Kind,
    Number,
    add,
    divide,
    multiply,
    negative,
    read,
    root,
    write,
)

MODES = {"tonearest": "rn", "upward": "rp", "downward": "rm", "towardzero": "rz", "dynamic": "rn"}
FAMILY = "llvm.experimental.constrained"
VERBS = {"fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2, "fma": 3, "sqrt": 1}


def constrained(verb: str, type_: str, mode: str) -> tuple[str, str]:
    """One result of %x and of the number that %n holds."""
    bits = KINDS[type_].width
    operands = ", ".join(f"{type_} {v}" for v in ("%x", "%y#", "%x")[: VERBS[verb]])
    return type_, (
        f"%i# = trunc i256 %n to i{bits}\n%y# = bitcast i{bits} %i# to {type_}\n"
        f"call {type_} @{FAMILY}.{verb}.{NAMES[type_]}({operands}, "
        f'metadata !"round.{mode}", metadata !"fpexcept.strict")'
    )


def exact(verb: str, x: Number, y: Number, kind: Kind, mode: str) -> int:
    """The bits that IEEE 754 says."""
    match verb:
        case "fadd":
            return write(add(x, y, mode), kind, mode)
        case "fsub":
            return write(add(x, negative(y), mode), kind, mode)
        case "fmul":
            return write(multiply(x, y), kind, mode)
        case "fdiv":
            return write(divide(x, y), kind, mode)
        case "fma":
            return write(add(multiply(x, y), x, mode), kind, mode)
        case _:
            return root(x, kind, mode)


def pairs(kind: Kind) -> Iterator[tuple[int, int]]:
    """Numbers beside others, a fifth of all that there are."""
    some = numbers(kind)[::5]
    yield from zip(some, some[7:] + some[:7], strict=True)


@pytest.mark.parametrize("type_", ["float", "double"])
def test_rounding_as_stated(type_: str):
    kind = KINDS[type_]
    cases = [(verb, mode) for verb in VERBS for mode in MODES]
    rows = list(pairs(kind))
    found = run(type_, [constrained(verb, type_, mode) for verb, mode in cases], rows)
    for (x, y), row in zip(rows, found, strict=True):
        for (verb, mode), bits in zip(cases, row, strict=True):
            wanted = exact(verb, read(x, kind), read(y, kind), kind, MODES[mode])
            nan = read(wanted, kind).nan
            assert bits == wanted or (nan and read(bits, kind).nan), (verb, mode, hex(x), hex(y))


def kernel(call: str, declaration: str, *, result: str = "i1") -> str:
    """A kernel that stores what a call gives."""
    return f"""{llvm.HEADER}
define ptx_kernel void @k(ptr addrspace(1) %o, ptr %p, float %f, <2 x float> %v, i64 %n) {{
  %r = call {result} {call}
  store {result} %r, ptr addrspace(1) %o
  ret void
}}
declare {result} {declaration}
"""


EXACT = 'metadata !"fpexcept.strict"'
STRICT = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
CALLS = [
    kernel("@llvm.returnaddress(i32 0)", "@llvm.returnaddress(i32 immarg)", result="ptr"),
    kernel("@llvm.frameaddress.p0(i32 0)", "@llvm.frameaddress.p0(i32 immarg)", result="ptr"),
    kernel("@llvm.allow.ubsan.check(i8 1)", "@llvm.allow.ubsan.check(i8 immarg)"),
    kernel('@llvm.allow.runtime.check(metadata !"a")', "@llvm.allow.runtime.check(metadata)"),
    kernel('@llvm.type.test(ptr %p, metadata !"a")', "@llvm.type.test(ptr, metadata)"),
    kernel("@llvm.get.dynamic.area.offset.i64()", "@llvm.get.dynamic.area.offset.i64()",
           result="i64"),
    kernel(f"@{FAMILY}.fadd.v2f32(<2 x float> %v, <2 x float> %v, {STRICT})",
           f"@{FAMILY}.fadd.v2f32(<2 x float>, <2 x float>, metadata, metadata)",
           result="<2 x float>"),
    kernel(f'@{FAMILY}.fptosi.i32.f32(float %f, metadata !"fpexcept.strict")',
           f"@{FAMILY}.fptosi.i32.f32(float, metadata)", result="i32"),
    kernel(f"@{FAMILY}.uitofp.f32.i64(i64 %n, {STRICT})",
           f"@{FAMILY}.uitofp.f32.i64(i64, metadata, metadata)", result="float"),
    kernel(f'@{FAMILY}.ceil.f32(float %f, metadata !"fpexcept.strict")',
           f"@{FAMILY}.ceil.f32(float, metadata)", result="float"),
]  # fmt: skip


def test_answers_as_llvms():
    """Each kernel stores what LLVM's does, byte for byte."""
    theirs = llvm.compile_all(CALLS, "sm_90a", "8.6")
    for text, outcome in zip(CALLS, theirs, strict=True):
        ours = nvgen.compile(text, target="sm_90a").ptx
        assert stored(ours) == stored(outcome.ptx), text


def stored(ptx: str) -> bytes:
    """The first bytes behind the pointer that a kernel stores through."""
    memory = np.full(16, 0xAA, np.uint8)
    vector = np.array([1.5, -2.5], np.float32)
    arguments = [memory, memory, np.float32(-7.75), vector, 1 << 40 | 12345]
    module, one = read_ptx(ptx, "k.ptx").module, (1, 1, 1)
    simulate(module, "k", arguments, grid=one, block=one, schedule=parse_schedule("early"))
    return memory.tobytes()


def test_comparisons_and_annotations():
    """LLVM compares none strictly, and takes the others: nothing is left of them."""
    text = f"""
@s = private constant [2 x i8] c"a\\00", section "llvm.metadata"
define ptx_kernel void @k(ptr addrspace(1) %o, float %f) {{
  %a = alloca float
  call void @llvm.var.annotation.p0.p0(ptr %a, ptr @s, ptr @s, i32 3, ptr null)
  %i = call ptr @llvm.invariant.start.p0(i64 4, ptr %a)
  call void @llvm.invariant.end.p0(ptr %i, i64 4, ptr %a)
  %c = call i1 @{FAMILY}.fcmps.f32(float %f, float 2.0, metadata !"olt", {EXACT})
  %r = zext i1 %c to i8
  store i8 %r, ptr addrspace(1) %o
  ret void
}}
declare i1 @{FAMILY}.fcmps.f32(float, float, metadata, metadata)
"""
    for number, wanted in ((1.0, 1), (2.0, 0), (float("nan"), 0)):
        out = np.full(1, 7, np.uint8)
        nvgen.compile(text, target="sm_90a").run(out, np.float32(number), block=1)
        assert out[0] == wanted


def test_a_mode_that_no_form_has():
    """A half that rounds upwards is refused, not rounded to the nearest."""
    text = kernel(
        f'@{FAMILY}.fadd.f16(half 1.0, half 2.0, metadata !"round.upward", '
        'metadata !"fpexcept.ignore")',
        f"@{FAMILY}.fadd.f16(half, half, metadata, metadata)",
        result="half",
    )
    with pytest.raises(NvgenError, match="constrained"):
        nvgen.compile(text, target="sm_90a")
