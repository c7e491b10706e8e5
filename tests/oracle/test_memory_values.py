"""Memory of every kind means on the simulated GPU what it means on the host's processor.

As in `tests.oracle.host_and_device`: one LLVM IR runs on both, and every byte must be equal.
Runs on a GPU, too (`NVGEN_TEST_DEVICE=cuda`).
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from tests.oracle.gpu import launch
from tests.oracle.host_and_device import TARGET, assert_equal, blank, both

pytestmark = pytest.mark.gpu

THREADS = 8
SIZE = 256
"""Bytes of memory of each thread."""


def kernel(body: str, declarations: str = "") -> str:
    """A kernel whose threads have `%in` and `%out`, SIZE bytes of each; `%n` is 64-bit, below 8."""
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %input, ptr addrspace(1) %output) {{
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = zext i32 %tid to i64
  %at = mul i64 %n, {SIZE}
  %in = getelementptr i8, ptr addrspace(1) %input, i64 %at
  %out = getelementptr i8, ptr addrspace(1) %output, i64 %at
{body}
  ret void
}}
{declarations}
"""


def data() -> NDArray[np.uint8]:
    return np.random.default_rng(5).integers(0, 256, THREADS * SIZE).astype(np.uint8)


def check(text: str, opt: int = 0) -> None:
    out = blank(THREADS * SIZE)
    assert_equal(text, both(text, [data(), out], block=(THREADS, 1, 1), opt=opt))


# ---- types and alignments --------------------------------------------------------------------

TYPES = {
    **{f"i{n}": (1, 4, 16) for n in (8, 16, 32, 64)},
    **dict.fromkeys(("half", "bfloat", "float", "double", "ptr addrspace(1)", "ptr"), (1, 2, 8)),
    "<2 x i8>": (1, 2), "<4 x i8>": (1, 4), "<3 x i8>": (1, 4), "<16 x i8>": (1, 4, 16),
    "<2 x half>": (2, 4), "<8 x i16>": (2, 4, 16), "<5 x i16>": (2, 8), "<2 x float>": (1, 4, 8),
    "<4 x float>": (4, 8, 16), "<3 x i32>": (4, 16), "<8 x float>": (4, 16, 32),
    "<4 x double>": (8, 16, 32), "<2 x ptr>": (8, 16), "[5 x i32]": (1, 4, 8),
    "{ i32, double, [3 x i16], ptr }": (4, 8, 16), "<{ i8, i32, i16, i64 }>": (1, 4),
    "{ i8, <4 x float>, { i16, i8 } }": (1, 16), "[2 x { float, i8 }]": (4, 8),
}  # fmt: skip


@pytest.mark.parametrize("type_", TYPES)
def test_a_value_of_any_type_goes_through_memory(type_: str) -> None:
    lines = []
    for number, align in enumerate(TYPES[type_]):
        at = number * 64 + (align if align < 16 else 0)
        lines += [
            f"  %p{number} = getelementptr i8, ptr addrspace(1) %in, i64 {at}",
            f"  %q{number} = getelementptr i8, ptr addrspace(1) %out, i64 {at}",
            f"  %v{number} = load {type_}, ptr addrspace(1) %p{number}, align {align}",
            f"  store {type_} %v{number}, ptr addrspace(1) %q{number}, align {align}",
        ]
    check(kernel("\n".join(lines)))


BITS = {2: "i8", 4: "i8", 8: "i8", 9: "i16", 16: "i16", 32: "i32"}


@pytest.mark.parametrize("count", BITS)
def test_vectors_of_bits_move_as_they_stand(count: int) -> None:
    last = (1 << count) - 1
    body = f"""
  %x = load {BITS[count]}, ptr addrspace(1) %in, align 4
  %y = and {BITS[count]} %x, {last}
  store {BITS[count]} %y, ptr addrspace(1) %out, align 4
  %v = load <{count} x i1>, ptr addrspace(1) %out, align 4
  %q = getelementptr i8, ptr addrspace(1) %out, i64 16
  store <{count} x i1> %v, ptr addrspace(1) %q, align 4"""
    check(kernel(body))


# ---- the stack -------------------------------------------------------------------------------

STACK = {
    "one variable": """
  %x = alloca i32
  %v = load i32, ptr addrspace(1) %in
  store i32 %v, ptr %x
  %w = load i32, ptr %x
  store i32 %w, ptr addrspace(1) %out""",
    "an array at a variable index": """
  %x = alloca [8 x i32], align 4
  call void @llvm.lifetime.start.p0(ptr %x)
  %v = load [8 x i32], ptr addrspace(1) %in
  store [8 x i32] %v, ptr %x
  %p = getelementptr [8 x i32], ptr %x, i64 0, i64 %n
  %w = load i32, ptr %p
  store i32 %w, ptr addrspace(1) %out
  call void @llvm.lifetime.end.p0(ptr %x)""",
    "two variables and a pointer to one of them": """
  %x = alloca i64, align 16
  %y = alloca i64
  store i64 11, ptr %x
  store i64 22, ptr %y
  %odd = trunc i64 %n to i1
  %p = select i1 %odd, ptr %x, ptr %y
  %w = load i64, ptr %p
  store i64 %w, ptr addrspace(1) %out
  store i64 %n, ptr %p
  %a = load i64, ptr %x
  %b = load i64, ptr %y
  %q = getelementptr i64, ptr addrspace(1) %out, i64 1
  store i64 %a, ptr addrspace(1) %q
  %r = getelementptr i64, ptr addrspace(1) %out, i64 2
  store i64 %b, ptr addrspace(1) %r""",
    "a pointer to the stack in memory": """
  %x = alloca i64
  %px = alloca ptr
  store i64 %n, ptr %x
  store ptr %x, ptr %px
  %p = load ptr, ptr %px
  %v = load i64, ptr %p
  store i64 %v, ptr addrspace(1) %out""",
    "volatile": """
  %x = alloca i32
  store volatile i32 5, ptr %x
  %v = load volatile i32, ptr %x
  store volatile i32 %v, ptr addrspace(1) %out""",
    "several elements": """
  %x = alloca i16, i32 20, align 8
  %p = getelementptr i16, ptr %x, i64 %n
  %q = getelementptr i16, ptr %p, i64 7
  store i16 77, ptr %q, align 2
  %v = load i16, ptr %q, align 2
  store i16 %v, ptr addrspace(1) %out""",
}
LIFETIMES = """
"""


@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("name", STACK)
def test_the_stack(name: str, opt: int) -> None:
    check(kernel(STACK[name], LIFETIMES), opt)


# ---- atomics ---------------------------------------------------------------------------------

OPERATIONS = (
    "xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin", "uinc_wrap",
    "udec_wrap", "usub_cond", "usub_sat",
)  # fmt: skip


@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_atomicrmw_of_integers(operation: str, width: int) -> None:
    """Each thread its own memory: the old value and the new one."""
    type_, size = f"i{width}", width // 8
    body = f"""
  %a = load {type_}, ptr addrspace(1) %in
  %p = getelementptr i8, ptr addrspace(1) %in, i64 8
  %b = load {type_}, ptr addrspace(1) %p
  %at1 = getelementptr i8, ptr addrspace(1) %out, i64 {3 * size}
  store {type_} %a, ptr addrspace(1) %at1
  %old = atomicrmw {operation} ptr addrspace(1) %at1, {type_} %b monotonic
  %q = getelementptr i8, ptr addrspace(1) %out, i64 64
  store {type_} %old, ptr addrspace(1) %q
  %again = atomicrmw {operation} ptr addrspace(1) %at1, {type_} %a seq_cst
  %r = getelementptr i8, ptr addrspace(1) %out, i64 72
  store {type_} %again, ptr addrspace(1) %r"""
    check(kernel(body))


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("weak", ["", "weak "])
def test_cmpxchg_swaps_where_it_finds_what_it_expects(type_: str, weak: str) -> None:
    body = f"""
  %a = load {type_}, ptr addrspace(1) %in
  %odd = trunc i64 %n to i1
  %other = xor {type_} %a, 5
  %expected = select i1 %odd, {type_} %a, {type_} %other
  %p = getelementptr i8, ptr addrspace(1) %out, i64 8
  store {type_} %a, ptr addrspace(1) %p
  %pair = cmpxchg {weak}ptr addrspace(1) %p, {type_} %expected, {type_} 3 acq_rel monotonic
  %old = extractvalue {{ {type_}, i1 }} %pair, 0
  %done = extractvalue {{ {type_}, i1 }} %pair, 1
  store {type_} %old, ptr addrspace(1) %out
  %byte = zext i1 %done to i8
  %q = getelementptr i8, ptr addrspace(1) %out, i64 16
  store i8 %byte, ptr addrspace(1) %q"""
    check(kernel(body))


@pytest.mark.turns(3)
@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("operation", ["add", "nand", "umin", "xchg"])
def test_atomic_operations_of_the_stack(operation: str, type_: str) -> None:
    """A thread's own variables: nobody else sees what is between the load and the store."""
    body = f"""
  %own = alloca [8 x {type_}], align 16
  %whole = alloca {type_}, align 16
  %p = getelementptr [8 x {type_}], ptr %own, i64 0, i64 %n
  %a = load {type_}, ptr addrspace(1) %in
  %in1 = getelementptr {type_}, ptr addrspace(1) %in, i64 1
  %b = load {type_}, ptr addrspace(1) %in1
  store {type_} %a, ptr %p
  %old = atomicrmw {operation} ptr %p, {type_} %b seq_cst
  %pair = cmpxchg ptr %p, {type_} %a, {type_} 7 acq_rel monotonic
  %found = extractvalue {{ {type_}, i1 }} %pair, 0
  %swapped = extractvalue {{ {type_}, i1 }} %pair, 1
  store atomic {type_} %found, ptr %whole release, align 16
  %again = load atomic {type_}, ptr %whole acquire, align 16
  %last = load {type_}, ptr %p
  store {type_} %old, ptr addrspace(1) %out
  %out1 = getelementptr {type_}, ptr addrspace(1) %out, i64 1
  store {type_} %again, ptr addrspace(1) %out1
  %out2 = getelementptr {type_}, ptr addrspace(1) %out, i64 2
  store {type_} %last, ptr addrspace(1) %out2
  %out3 = getelementptr {type_}, ptr addrspace(1) %out, i64 3
  %flag = zext i1 %swapped to i8
  store i8 %flag, ptr addrspace(1) %out3"""
    check(kernel(body))


def test_atomic_operations_of_one_of_two_variables() -> None:
    """Which one is known at run time alone: both are of the stack."""
    check(
        kernel("""
  %one = alloca i32
  %other = alloca i32
  %a = load i32, ptr addrspace(1) %in
  store i32 %a, ptr %one
  store i32 17, ptr %other
  %is_odd = trunc i32 %a to i1
  %p = select i1 %is_odd, ptr %one, ptr %other
  %old = atomicrmw add ptr %p, i32 5 seq_cst
  store i32 %old, ptr addrspace(1) %out
  %x = load i32, ptr %one
  %out1 = getelementptr i32, ptr addrspace(1) %out, i64 1
  store i32 %x, ptr addrspace(1) %out1
  %y = load i32, ptr %other
  %out2 = getelementptr i32, ptr addrspace(1) %out, i64 2
  store i32 %y, ptr addrspace(1) %out2""")
    )


@pytest.mark.turns(3)
@pytest.mark.parametrize("ordering", ["monotonic", "acquire", "release", "acq_rel", "seq_cst"])
@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
def test_all_threads_add_to_one_place(type_: str, ordering: str) -> None:
    """The sum does not depend on who comes first."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = zext i32 %tid to i64
  %w = {"freeze i64 %n" if type_ == "i64" else f"trunc i64 %n to {type_}"}
  %old = atomicrmw add ptr addrspace(1) %out, {type_} %w {ordering}
  %p = getelementptr {type_}, ptr addrspace(1) %out, i64 4
  %o = atomicrmw umax ptr addrspace(1) %p, {type_} %w syncscope("device") {ordering}
  ret void
}}
"""
    assert_equal(text, both(text, [data(), np.zeros(64, np.uint8)], block=(64, 1, 1)))


@pytest.mark.parametrize("type_", ["float", "double"])
def test_a_sum_of_floats_in_memory(type_: str) -> None:
    """Small whole numbers: every order has the same sum."""
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %old = atomicrmw fadd ptr addrspace(1) %out, {type_} 3.0 monotonic
  %p = getelementptr {type_}, ptr addrspace(1) %out, i64 2
  %o = atomicrmw fadd ptr addrspace(1) %p, {type_} -1.0 acq_rel
  ret void
}}
"""
    assert_equal(text, both(text, [data(), np.zeros(32, np.uint8)], block=(32, 1, 1)))


HALF_SUMS = {"half": (0x5600, 0xD000), "bfloat": (0x42C0, 0xC200)}
"""The bits of 96.0 and -32.0: LLVM's code for the host cannot add these in memory."""


@pytest.mark.parametrize("type_", HALF_SUMS)
def test_a_sum_of_half_floats_in_memory(type_: str) -> None:
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %old = atomicrmw fadd ptr addrspace(1) %out, {type_} 3.0 monotonic
  %p = getelementptr {type_}, ptr addrspace(1) %out, i64 2
  %o = atomicrmw fadd ptr addrspace(1) %p, {type_} -1.0 acq_rel
  ret void
}}
"""
    out = np.zeros(4, np.uint16)
    launch(nvgen.compile(text, target=TARGET), out, block=(32, 1, 1))
    assert (out[0], out[2]) == HALF_SUMS[type_]


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64", "float", "double", "ptr"])
def test_atomic_loads_and_stores(type_: str) -> None:
    size = {"i8": 1, "i16": 2, "i32": 4, "float": 4}.get(type_, 8)
    lines, number = [], 0
    for scope in ("", 'syncscope("device") ', 'syncscope("block") ', 'syncscope("singlethread") '):
        for first, last in (("monotonic", "monotonic"), ("acquire", "release"),
                            ("seq_cst", "seq_cst"), ("unordered", "unordered")):  # fmt: skip
            at = number * 8
            lines += [
                f"  %p{number} = getelementptr i8, ptr addrspace(1) %in, i64 {at}",
                f"  %q{number} = getelementptr i8, ptr addrspace(1) %out, i64 {at}",
                f"  %v{number} = load atomic {type_}, ptr addrspace(1) %p{number} {scope}{first}, "
                f"align {size}",
                f"  store atomic {type_} %v{number}, ptr addrspace(1) %q{number} {scope}{last}, "
                f"align {size}",
                f"  fence {scope}{'seq_cst' if number % 2 else 'acq_rel'}",
            ]
            number += 1
    check(kernel("\n".join(lines)))


# ---- copies ----------------------------------------------------------------------------------

COPIES = """
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize("align", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("length", ["0", "1", "15", "128", "131", "%many"])
def test_memcpy_and_memset(length: str, align: int) -> None:
    pointers = f"ptr addrspace(1) align {align} %out, ptr addrspace(1) align {align} %in"
    body = f"""
  %many = mul i64 %n, 11
  call void @llvm.memcpy.p1.p1.i64({pointers}, i64 {length}, i1 false)
  %byte = trunc i64 %n to i8
  %odd = add i8 %byte, 77
  %p = getelementptr i8, ptr addrspace(1) %out, i64 144
  %some = udiv i64 %many, 2
  call void @llvm.memset.p1.i64(ptr addrspace(1) align {align} %p, i8 %odd, i64 %some, i1 false)
  %q = getelementptr i8, ptr addrspace(1) %out, i64 192
  call void @llvm.memset.p1.i64(ptr addrspace(1) align {align} %q, i8 %odd, i64 37, i1 false)"""
    check(kernel(body, COPIES))


@pytest.mark.turns(4)
@pytest.mark.parametrize("align", [1, 4, 16])
@pytest.mark.parametrize("length", ["40", "140", "%many"])
@pytest.mark.parametrize("forward", [True, False])
def test_memmove_of_what_overlaps(forward: bool, length: str, align: int) -> None:
    first, second = ("0", "16") if forward else ("16", "0")
    body = f"""
  %many = mul i64 %n, 13
  %v = load [60 x i32], ptr addrspace(1) %in
  store [60 x i32] %v, ptr addrspace(1) %out
  %p = getelementptr i8, ptr addrspace(1) %out, i64 {first}
  %q = getelementptr i8, ptr addrspace(1) %out, i64 {second}
  call void @llvm.memmove.p1.p1.i64(ptr addrspace(1) align {align} %p,
    ptr addrspace(1) align {align} %q, i64 {length}, i1 false)"""
    check(kernel(body, COPIES))


# ---- variables -------------------------------------------------------------------------------

VARIABLES = """
@number = internal addrspace(1) global i32 305419896
@text = internal addrspace(1) constant [4 x i8] c"abc\\00"
@pair = internal addrspace(1) global <{ i8, i64 }> <{ i8 7, i64 -2 }>
@nothing = internal addrspace(1) global [2 x i64] zeroinitializer
@pointer = internal addrspace(1) global ptr addrspace(1)
  getelementptr (i8, ptr addrspace(1) @text, i64 1)
@plain = internal global [2 x i32] [i32 4, i32 5]
@inside = internal addrspace(1) global { i32, ptr }
  { i32 1, ptr getelementptr ([2 x i32], ptr @plain, i64 0, i64 1) }
@odd = internal addrspace(1) global <{ i8, ptr }> <{ i8 9, ptr @plain }>
@packed = internal addrspace(1) constant [2 x <2 x i24>]
  [<2 x i24> <i24 7, i24 -2>, <2 x i24> <i24 2047, i24 4194304>]
"""


def test_variables_hold_their_initial_values_and_addresses() -> None:
    body = """
  %a = load i32, ptr addrspace(1) @number
  store i32 %a, ptr addrspace(1) %out
  %b = load i64, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @pair, i64 1), align 1
  %p1 = getelementptr i8, ptr addrspace(1) %out, i64 8
  store i64 %b, ptr addrspace(1) %p1
  %p = load ptr addrspace(1), ptr addrspace(1) @pointer
  %c = load i8, ptr addrspace(1) %p
  %p2 = getelementptr i8, ptr addrspace(1) %out, i64 16
  store i8 %c, ptr addrspace(1) %p2
  %q = load ptr, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @inside, i64 8)
  %d = load i32, ptr %q
  %p3 = getelementptr i8, ptr addrspace(1) %out, i64 20
  store i32 %d, ptr addrspace(1) %p3
  %r = load ptr, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @odd, i64 1), align 1
  %e = load i32, ptr %r
  %p4 = getelementptr i8, ptr addrspace(1) %out, i64 24
  store i32 %e, ptr addrspace(1) %p4
  %f = load i64, ptr addrspace(1) getelementptr (i64, ptr addrspace(1) @nothing, i64 1)
  %p5 = getelementptr i8, ptr addrspace(1) %out, i64 32
  store i64 %f, ptr addrspace(1) %p5
  %g = load i32, ptr @plain
  %p6 = getelementptr i8, ptr addrspace(1) %out, i64 40
  store i32 %g, ptr addrspace(1) %p6
  %h = load <2 x i24>, ptr addrspace(1) getelementptr (<2 x i24>, ptr addrspace(1) @packed, i64 1)
  %i = zext <2 x i24> %h to <2 x i32>
  %p7 = getelementptr i8, ptr addrspace(1) %out, i64 48
  store <2 x i32> %i, ptr addrspace(1) %p7"""
    check(kernel(body, VARIABLES))
