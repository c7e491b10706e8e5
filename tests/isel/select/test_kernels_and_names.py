"""Kernels, their parameters and names, as records."""

from __future__ import annotations

import re

from asmprinter.ptx.printer import print_ptx
from intrinsics.mir import Launch
from intrinsics.modifiers import ScalarType, Space
from intrinsics.targets import PTX_VERSIONS
from tests.isel.select.selected import lowered


def test_names_that_ptx_does_not_allow_stay_apart():
    text = """
    @a.b = addrspace(1) global i32 1
    @"a_$_b" = addrspace(1) global i32 2
    define ptx_kernel void @k() { ret void }
    """
    first, second = lowered(text).variables
    assert first.name != second.name
    for variable in (first, second):
        assert re.fullmatch(r"[A-Za-z_$][\w$]*", variable.name, re.ASCII)


def test_kernel_attributes_become_launch_bounds():
    text = """
    define ptx_kernel void @k() #0 { ret void }
    attributes #0 = { "nvvm.reqntid"="128,2" "nvvm.cluster_dim"="2,1,1" "nvvm.maxnreg"="64"
      "nvvm.minctasm"="3" }
    """
    (function,) = lowered(text).functions
    assert function.launch == Launch((128, 2), (), (2, 1, 1), 64, 3)


def test_kernels_may_be_marked_by_metadata():
    text = """
    define void @k() { ret void }
    !nvvm.annotations = !{!0}
    !0 = !{ptr @k, !"kernel", i32 1}
    """
    (function,) = lowered(text).functions
    assert function.is_kernel


def test_parameters():
    text = """
    define ptx_kernel void @k(i8 %a, i64 %b, double %c, ptr addrspace(1) align 16 %d,
        ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %e) { ret void }
    """
    (function,) = lowered(text).functions
    a, b, c, d, e = function.params
    assert [p.size for p in function.params] == [1, 8, 8, 8, 128]
    assert [p.name for p in function.params] == [f"k_param_{n}" for n in range(5)]
    assert (a.type, b.type, c.type) == (ScalarType.U8, ScalarType.U64, ScalarType.F64)
    assert (d.is_pointer, d.pointee, d.pointee_align) == (True, Space.GLOBAL, 16)
    assert (e.type, e.align, e.constant) == (ScalarType.B8, 64, True)
    assert not e.is_pointer


def test_a_pointer_into_the_clusters_shared_memory():
    """PTX ISA, .ptr: the space is .const, .global, .local or .shared; LLVM leaves this one out."""
    text = "define ptx_kernel void @k(ptr addrspace(7) %p) { ret void }"
    printed = print_ptx(lowered(text), PTX_VERSIONS[-1]).text
    (param,) = [line for line in printed.splitlines() if "k_param_0" in line]
    assert "::cluster" not in param


def test_variables():
    text = """
    @smem = external addrspace(3) global [0 x i8], align 1024
    @tile = internal addrspace(3) global [16 x half] poison, align 128
    @table = addrspace(1) global [3 x i16] [i16 1, i16 -1, i16 256]
    @scale = addrspace(4) constant float 1.0
    define ptx_kernel void @k() { ret void }
    """
    smem, tile, table, scale = lowered(text).variables
    assert (smem.space, smem.size, smem.align, smem.external) == (Space.SHARED, 0, 1024, True)
    assert (tile.space, tile.size, tile.data, tile.external) == (Space.SHARED, 32, None, False)
    assert table.data == bytes([1, 0, 255, 255, 0, 1])  # little-endian
    assert (scale.space, scale.data) == (Space.CONST, bytes([0, 0, 0x80, 0x3F]))
