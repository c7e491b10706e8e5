"""Accesses to memory mean on the device what they mean on the host; parameters do, too."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import nvgen
from tests.oracle.host_and_device import SENTINEL, TARGET, assert_equal, blank, both
from tests.oracle.integer_edges import (
    edges,
)
from tests.oracle.jit import Dim3, HostKernel

pytestmark = pytest.mark.gpu


# ---- memory ----------------------------------------------------------------------------------

INTEGERS = [("i8", 1), ("i16", 2), ("i32", 4), ("i64", 8)]
VECTORS = [
    (f"<{n} x {name}>", n * size) for name, size in INTEGERS for n in (2, 3, 4, 8) if n * size <= 32
]
ALIGNMENTS = (1, 2, 4, 8, 16)
ACCESSES = [
    (type_, size, align)
    for type_, size in INTEGERS + VECTORS
    for align in ALIGNMENTS
    if align <= 2 * size
]


@pytest.mark.parametrize(("type_", "size", "align"), ACCESSES)
def test_a_load_and_a_store_of_any_alignment(type_: str, size: int, align: int):
    """Addresses are aligned to `align` and no better, so a wider access would fault."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = mul i32 %tid, 96
  %start = add i32 %row, {align}
  %p = getelementptr i8, ptr addrspace(1) %in, i32 %start
  %q = getelementptr i8, ptr addrspace(1) %out, i32 %start
  %v = load {type_}, ptr addrspace(1) %p, align {align}
  store {type_} %v, ptr addrspace(1) %q, align {align}
  ret void
}}
"""
    data = np.random.default_rng(size).integers(0, 256, 96 * 8).astype(np.uint8)
    found = both(text, [data, blank(96 * 8)], block=(8, 1, 1))
    assert_equal(text, found)
    out = found[1][1].reshape(8, 96)
    assert np.array_equal(
        out[:, align : align + size], data.reshape(8, 96)[:, align : align + size]
    )
    assert (np.delete(out, np.s_[align : align + size], axis=1) == SENTINEL).all()


@pytest.mark.parametrize(("type_", "size"), VECTORS)
def test_elements_of_vectors(type_: str, size: int):
    """Take a vector apart, put it together in reverse, shuffle it, and store it all."""
    count = int(type_[1:].split()[0])
    element = type_.split()[-1][:-1]
    lines = []
    previous = "poison"
    for i in range(count):
        lines.append(f"%e{i} = extractelement {type_} %v, i32 {i}")
        lines.append(
            f"%w{i} = insertelement {type_} {previous}, {element} %e{i}, i32 {count - 1 - i}"
        )
        previous = f"%w{i}"
    mask = ", ".join(f"i32 {(2 * i + 1) % (2 * count)}" for i in range(count))
    lines.append(f"%s = shufflevector {type_} %v, {type_} {previous}, <{count} x i32> <{mask}>")
    body = "\n  ".join(lines)
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = mul i32 %tid, 128
  %p = getelementptr i8, ptr addrspace(1) %in, i32 %row
  %q = getelementptr i8, ptr addrspace(1) %out, i32 %row
  %q2 = getelementptr i8, ptr addrspace(1) %q, i32 64
  %v = load {type_}, ptr addrspace(1) %p, align 32
  {body}
  store {type_} {previous}, ptr addrspace(1) %q, align 32
  store {type_} %s, ptr addrspace(1) %q2, align 32
  ret void
}}
"""
    data = np.random.default_rng(size).integers(0, 256, 128 * 4).astype(np.uint8)
    assert_equal(text, both(text, [data, blank(128 * 4)], block=(4, 1, 1)))


def test_vectors_of_constants():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %p = getelementptr i8, ptr addrspace(1) %out, i64 16
  %q = getelementptr i8, ptr addrspace(1) %out, i64 32
  %r = getelementptr i8, ptr addrspace(1) %out, i64 48
  store <4 x i32> <i32 1, i32 -1, i32 -2147483648, i32 0>, ptr addrspace(1) %out
  store <2 x i64> <i64 -1, i64 4294967296>, ptr addrspace(1) %p
  store <8 x i16> zeroinitializer, ptr addrspace(1) %q
  store <4 x i8> <i8 -128, i8 127, i8 -1, i8 1>, ptr addrspace(1) %r
  ret void
}
"""
    assert_equal(text, both(text, [blank(64)], block=(1, 1, 1)))


def test_bits_keep_their_place_when_vectors_change_their_type():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %v = load <4 x i32>, ptr addrspace(1) %in
  %a = bitcast <4 x i32> %v to <2 x i64>
  %e = extractelement <2 x i64> %a, i32 1
  %b = bitcast i64 %e to <4 x i16>
  %f = extractelement <4 x i16> %b, i32 3
  %q = getelementptr i8, ptr addrspace(1) %out, i64 16
  %r = getelementptr i8, ptr addrspace(1) %out, i64 24
  store <2 x i64> %a, ptr addrspace(1) %out
  store <4 x i16> %b, ptr addrspace(1) %q
  store i16 %f, ptr addrspace(1) %r
  ret void
}
"""
    data = np.arange(16, dtype=np.uint8) * 17
    assert_equal(text, both(text, [data, blank(32)], block=(1, 1, 1)))


ADDRESSES = {
    "i1 index, -1 or 0": "getelementptr i32, ptr addrspace(1) %mid, i1 %i1",
    "i1 index in a row": "getelementptr [5 x i8], ptr addrspace(1) %mid, i64 %i64, i1 %i1",
    "i8 index, negative": "getelementptr i32, ptr addrspace(1) %mid, i8 %i8",
    "i16 index, negative": "getelementptr i16, ptr addrspace(1) %mid, i16 %i16",
    "i32 index, negative": "getelementptr i64, ptr addrspace(1) %mid, i32 %i32",
    "i64 index, negative": "getelementptr i8, ptr addrspace(1) %mid, i64 %i64",
    "constant index": "getelementptr i64, ptr addrspace(1) %mid, i64 -3",
    "array of arrays": (
        "getelementptr [3 x [5 x i8]], ptr addrspace(1) %mid, i32 1, i32 2, i64 %i64"
    ),
    "struct, padded": "getelementptr {i8, i64, i16}, ptr addrspace(1) %mid, i32 %i32, i32 1",
    "struct, its end": "getelementptr {i8, i64, i16}, ptr addrspace(1) %mid, i32 %i32, i32 2",
    "packed struct": "getelementptr <{i8, i64, i16}>, ptr addrspace(1) %mid, i32 %i32, i32 2",
    "nested struct": (
        "getelementptr {i32, [2 x {i8, i32}], i8}, ptr addrspace(1) %mid,"
        " i64 1, i32 1, i64 1, i32 1"
    ),
    "struct with a vector": "getelementptr {i8, <4 x i32>}, ptr addrspace(1) %mid, i64 1, i32 1",
    "struct with i1": "getelementptr {i1, i1, i16}, ptr addrspace(1) %mid, i32 %i32, i32 2",
    "inbounds": "getelementptr inbounds i32, ptr addrspace(1) %mid, i32 %i32",
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address(name: str):
    """One thread marks the byte that a getelementptr names, for indices -2 to 3."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %i64) {{
  %i1 = trunc i64 %i64 to i1
  %i8 = trunc i64 %i64 to i8
  %i16 = trunc i64 %i64 to i16
  %i32 = trunc i64 %i64 to i32
  %mid = getelementptr i8, ptr addrspace(1) %out, i64 256
  %p = {ADDRESSES[name]}
  %v = load i8, ptr addrspace(1) %in
  store i8 %v, ptr addrspace(1) %p
  ret void
}}
"""
    mark = np.array([0x3C], np.uint8)
    for index in range(-2, 4):
        found = both(text, [mark, blank(512), index], block=(1, 1, 1))
        assert_equal(text, found)
        assert (found[1][1] == 0x3C).sum() == 1


def test_addresses_of_a_vector_of_conditions():
    """What is known and what is not: a condition that holds is the index -1."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n) {
  %even = trunc i32 %n to i1
  %base = insertelement <2 x ptr addrspace(1)> poison, ptr addrspace(1) %in, i32 0
  %both = insertelement <2 x ptr addrspace(1)> %base, ptr addrspace(1) %in, i32 1
  %end = getelementptr i8, <2 x ptr addrspace(1)> %both, i64 2
  %some = insertelement <2 x i1> <i1 true, i1 true>, i1 %even, i32 1
  %p = getelementptr i8, <2 x ptr addrspace(1)> %end, <2 x i1> %some
  %q = getelementptr i8, <2 x ptr addrspace(1)> %p, <2 x i1> <i1 true, i1 false>
  %one = extractelement <2 x ptr addrspace(1)> %q, i32 0
  %other = extractelement <2 x ptr addrspace(1)> %q, i32 1
  %a = load i8, ptr addrspace(1) %one
  %b = load i8, ptr addrspace(1) %other
  store i8 %a, ptr addrspace(1) %out
  %o = getelementptr i8, ptr addrspace(1) %out, i64 1
  store i8 %b, ptr addrspace(1) %o
  ret void
}
"""
    data = np.array([10, 11, 12], np.uint8)
    for n in (0, 1):
        found = both(text, [data, blank(2), n], block=(1, 1, 1))
        assert_equal(text, found)
        assert found[1][1].tolist() == [10, 12 - n]


@pytest.mark.parametrize("bits", [65, 77, 128, 200])
def test_pointers_and_integers_wider_than_they_are(bits: int):
    """An address is extended by zeros, and of a wide number the low 64 bits are one."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %a = ptrtoint ptr addrspace(1) %in to i{bits}
  %above = lshr i{bits} %a, 64
  %far = or i{bits} %a, {1 << 64}
  %back = inttoptr i{bits} %far to ptr addrspace(1)
  %v = load i8, ptr addrspace(1) %back
  %zero = trunc i{bits} %above to i8
  store i8 %v, ptr addrspace(1) %out
  %o = getelementptr i8, ptr addrspace(1) %out, i64 1
  store i8 %zero, ptr addrspace(1) %o
  ret void
}}
"""
    found = both(text, [np.array([77], np.uint8), blank(2)], block=(1, 1, 1))
    assert_equal(text, found)
    assert found[1][1].tolist() == [77, 0]


def test_pointers_are_compared_selected_and_turned_into_integers():
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %tid
  %q = getelementptr i32, ptr addrspace(1) %in, i32 7
  %low = icmp ult ptr addrspace(1) %p, %q
  %min = select i1 %low, ptr addrspace(1) %p, ptr addrspace(1) %q
  %a = ptrtoint ptr addrspace(1) %min to i64
  %b = ptrtoint ptr addrspace(1) %in to i64
  %d = sub i64 %a, %b
  %sum = add i64 %b, %d
  %back = inttoptr i64 %sum to ptr addrspace(1)
  %v = load i32, ptr addrspace(1) %back
  %w = trunc i64 %d to i32
  %r = add i32 %v, %w
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %r, ptr addrspace(1) %o
  ret void
}
"""
    data = np.arange(16, dtype=np.int32) * 1000
    assert_equal(text, both(text, [data, blank(64)], block=(16, 1, 1)))


@pytest.mark.parametrize("access", ["load", "store"])
def test_the_threads_of_a_warp_reach_different_arrays(access: str):
    """One instruction, whose address is in one array for even threads, in another for odd ones."""
    line = {
        "load": "%v = load i32, ptr addrspace(1) %at\n  store i32 %v, ptr addrspace(1) %o",
        "store": "store i32 %tid, ptr addrspace(1) %at",
    }[access]
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = trunc i32 %tid to i1
  %base = select i1 %odd, ptr addrspace(1) %a, ptr addrspace(1) %b
  %at = getelementptr i32, ptr addrspace(1) %base, i32 %tid
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  {line}
  ret void
}}
"""
    a, b = np.arange(32, dtype=np.uint32) + 100, np.arange(32, dtype=np.uint32) + 200
    assert_equal(text, both(text, [a, b, blank(128)]))


def test_an_array_that_is_passed_twice_is_one_memory():
    """What is stored through one pointer is loaded through the other, and comes back."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %same) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  %q = getelementptr i32, ptr addrspace(1) %same, i32 %tid
  store i32 %tid, ptr addrspace(1) %p
  %v = load i32, ptr addrspace(1) %q
  %w = add i32 %v, 1000
  store i32 %w, ptr addrspace(1) %p
  ret void
}
"""
    host, gpu = np.full(32, 7, np.uint32), np.full(32, 7, np.uint32)
    HostKernel(text).run(host, host)
    nvgen.compile(text, target=TARGET).run(gpu, gpu, block=32)
    assert np.array_equal(host, gpu)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_integer_parameters(width: int):
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %out, i8 %pad, i{width} %n) {{
  store i{width} %n, ptr addrspace(1) %out
  %p = getelementptr i64, ptr addrspace(1) %out, i64 1
  %w = zext i8 %pad to i64
  store i64 %w, ptr addrspace(1) %p
  ret void
}}
"""
    for number in edges(width):
        assert_equal(text, both(text, [blank(16), 0x5A, number], block=(1, 1, 1)))


# ---- special registers -----------------------------------------------------------------------

REGISTERS = [f"{r}.{axis}" for r in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
REGISTERS.append("laneid")
SHAPES = [((1, 1, 1), (32, 1, 1)), ((2, 3, 2), (5, 2, 3)), ((3, 1, 1), (40, 2, 1))]


@pytest.mark.parametrize(("grid", "block"), SHAPES, ids=str)
def test_special_registers(grid: Dim3, block: Dim3):
    """Each thread of each CTA knows where it is; CTAs and threads are numbered x first."""
    reads = [
        f"%r{i} = call i32 @llvm.nvvm.read.ptx.sreg.{name}()" for i, name in enumerate(REGISTERS)
    ]
    at = {name: f"%r{i}" for i, name in enumerate(REGISTERS)}
    linear = []
    for kind, size, name in (("tid", "ntid", "t"), ("ctaid", "nctaid", "c")):
        linear += [
            f"%{name}1 = mul i32 {at[kind + '.z']}, {at[size + '.y']}",
            f"%{name}2 = add i32 %{name}1, {at[kind + '.y']}",
            f"%{name}3 = mul i32 %{name}2, {at[size + '.x']}",
            f"%{name} = add i32 %{name}3, {at[kind + '.x']}",
        ]
    threads = int(np.prod(block))
    body = "\n  ".join(
        [
            *reads,
            *linear,
            f"%first = mul i32 %c, {threads}",
            "%number = add i32 %first, %t",
            *(
                f"%p{i} = getelementptr [{len(REGISTERS)} x i32], ptr addrspace(1) %out,"
                f" i32 %number, i32 {i}\n  store i32 %r{i}, ptr addrspace(1) %p{i}"
                for i in range(len(REGISTERS))
            ),
        ]
    )
    declares = "\n".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{n}()" for n in REGISTERS)
    text = (
        f"define ptx_kernel void @k(ptr addrspace(1) %out) {{\n  {body}\n  ret void\n}}\n{declares}"
    )
    size = int(np.prod(grid)) * threads * len(REGISTERS) * 4  # type: ignore[assignment]
    found = both(text, [blank(size)], grid=grid, block=block)
    assert_equal(text, found)
    table = found[1][0].view(np.uint32).reshape(-1, len(REGISTERS))
    assert len({tuple(row) for row in table}) == int(np.prod(grid)) * threads


FORGETFUL = """
import gc
import nvgen
from intrinsics.findings import NvgenError
gc.disable()
for _ in range(4):
    try:
        nvgen.compile("define void @f(i128 %x) { %a = udiv i128 %x, 3 ret void }", target="sm_90a")
    except NvgenError as error:
        error.itself = error
gc.collect()
print("alive")
"""


def test_rejected_modules_can_be_forgotten_in_any_order():
    """An exception keeps the frames that it went through; the collector then frees LLVM's objects
    in an order of its own, and must not end the process by that."""
    done = subprocess.run(
        [sys.executable, "-c", FORGETFUL], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
