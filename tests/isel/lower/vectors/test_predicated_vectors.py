"""Vector-predicated intrinsics: of the elements that count the values that LLVM's PTX gives."""

from __future__ import annotations

import pytest

from tests.oracle.side_by_side import compare

VECTOR, FLOATS = "<4 x i32>", "<4 x float>"
NUMBERS = (-7, 9, 65537, 4, 3, 0, 2, 5)
INPUT = f"@in = addrspace(1) global [8 x i32] [{', '.join(f'i32 {n}' for n in NUMBERS)}]"
MASK = "<4 x i1> <i1 1, i1 0, i1 1, i1 1>"
BINARY = (
    "add",
    "sub",
    "mul",
    "and",
    "or",
    "xor",
    "shl",
    "lshr",
    "ashr",
    "sdiv",
    "urem",
    "smax",
    "umin",
)


def kernel(body: str, declared: str) -> str:
    """A kernel that writes elements 0 and 2 of `%r`, which count."""
    return f"""{INPUT}
{declared}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %q = getelementptr i32, ptr addrspace(1) @in, i32 4
  %x = load volatile {VECTOR}, ptr addrspace(1) @in
  %y = load volatile {VECTOR}, ptr addrspace(1) %q
  %n = load volatile i32, ptr addrspace(1) %q
  {body}
  ret void
}}
"""


def elements(body: str, declared: str) -> str:
    return kernel(
        f"""{body}
  %e0 = extractelement {VECTOR} %r, i32 0
  %e2 = extractelement {VECTOR} %r, i32 2
  %o = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %e0, ptr addrspace(1) %out
  store i32 %e2, ptr addrspace(1) %o""",
        declared,
    )


def binary(op: str) -> str:
    name = f"@llvm.vp.{op}.v4i32"
    return elements(
        f"%r = call {VECTOR} {name}({VECTOR} %x, {VECTOR} %y, {MASK}, i32 %n)",
        f"declare {VECTOR} {name}({VECTOR}, {VECTOR}, <4 x i1>, i32)",
    )


OTHERS = {
    "floats": elements(
        f"""%f = call <4 x float> @llvm.vp.sitofp.v4f32.v4i32({VECTOR} %x, {MASK}, i32 %n)
  %g = call {FLOATS} @llvm.vp.fma.v4f32({FLOATS} %f, {FLOATS} %f, {FLOATS} %f, {MASK}, i32 4)
  %c = call <4 x i1> @llvm.vp.fcmp.v4f32({FLOATS} %f, {FLOATS} %g, metadata !"olt", {MASK}, i32 4)
  %s = call {FLOATS} @llvm.vp.select.v4f32(<4 x i1> %c, {FLOATS} %f, {FLOATS} %g, i32 4)
  %m = call {FLOATS} @llvm.vp.fneg.v4f32({FLOATS} %s, {MASK}, i32 4)
  %r = bitcast <4 x float> %m to {VECTOR}""",
        """declare <4 x float> @llvm.vp.sitofp.v4f32.v4i32(<4 x i32>, <4 x i1>, i32)
declare <4 x float> @llvm.vp.fneg.v4f32(<4 x float>, <4 x i1>, i32)""",
    ),
    "merge": elements(
        f"%r = call {VECTOR} @llvm.vp.merge.v4i32({MASK}, {VECTOR} %x, {VECTOR} %y, i32 2)",
        "declare <4 x i32> @llvm.vp.merge.v4i32(<4 x i1>, <4 x i32>, <4 x i32>, i32)",
    ),
    **{
        f"reduce {op}": kernel(
            f"""%t = call i32 @llvm.vp.reduce.{op}.v4i32(i32 5, {VECTOR} %x, {MASK}, i32 %n)
  store i32 %t, ptr addrspace(1) %out""",
            f"declare i32 @llvm.vp.reduce.{op}.v4i32(i32, {VECTOR}, <4 x i1>, i32)",
        )
        for op in ("add", "mul", "and", "xor")
    },
    "gather and scatter": kernel(
        f"""%ps = getelementptr i32, ptr addrspace(1) @in, <4 x i32> <i32 6, i32 0, i32 3, i32 1>
  %t = call {VECTOR} @llvm.vp.gather.v4i32.v4p1(<4 x ptr addrspace(1)> %ps, {MASK}, i32 %n)
  %qs = getelementptr i32, ptr addrspace(1) %out, <4 x i32> <i32 4, i32 1, i32 0, i32 7>
  call void @llvm.vp.scatter.v4i32.v4p1({VECTOR} %t, <4 x ptr addrspace(1)> %qs, {MASK}, i32 3)""",
        """declare <4 x i32> @llvm.vp.gather.v4i32.v4p1(<4 x ptr addrspace(1)>, <4 x i1>, i32)
declare void @llvm.vp.scatter.v4i32.v4p1(<4 x i32>, <4 x ptr addrspace(1)>, <4 x i1>, i32)""",
    ),
    "load and store": kernel(
        f"""%t = call {VECTOR} @llvm.vp.load.v4i32.p1(ptr addrspace(1) align 4 @in, {MASK}, i32 %n)
  %p = getelementptr i8, ptr addrspace(1) %out, i32 2
  call void @llvm.vp.store.v4i32.p1({VECTOR} %t, ptr addrspace(1) align 2 %p, {MASK}, i32 %n)""",
        """declare <4 x i32> @llvm.vp.load.v4i32.p1(ptr addrspace(1), <4 x i1>, i32)
declare void @llvm.vp.store.v4i32.p1(<4 x i32>, ptr addrspace(1), <4 x i1>, i32)""",
    ),
}  # fmt: skip


@pytest.mark.turns(3)
@pytest.mark.parametrize("opt", [0, 3])
def test_what_counts_is_llvms(opt: int) -> None:
    compare({op: binary(op) for op in BINARY} | OTHERS, opt=opt)
