"""Generic pointers whose address space is known: the accesses, and what the simulator does."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle.side_by_side import compare

HEAD = """
@tile = internal addrspace(3) global [64 x i32] undef, align 16
@other = internal addrspace(3) global [64 x i32] undef, align 16
@table = internal addrspace(4) constant [4 x i32] [i32 3, i32 5, i32 7, i32 11]
"""

STEPS = """
define ptx_kernel void @k(ptr %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %a = getelementptr [64 x i32], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 0, i64 %i
  %p = getelementptr i32, ptr %x, i64 %i
  %v = load i32, ptr %p
  store i32 %v, ptr %a
  call void @llvm.nvvm.barrier0()
  %j = xor i64 %i, 1
  %b = getelementptr [64 x i32], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i64 0, i64 %j
  %w = load i32, ptr %b
  store i32 %w, ptr %p
  ret void
}
"""

LOOP = """
define ptx_kernel void @k(ptr %x) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %q = getelementptr i32, ptr %x, i64 %i
  %v = load i32, ptr %q
  %one = addrspacecast ptr addrspace(3) @tile to ptr
  %two = getelementptr i8, ptr addrspacecast (ptr addrspace(3) @other to ptr), i64 0
  %even = trunc i32 %t to i1
  %base = select i1 %even, ptr %one, ptr %two
  %a = getelementptr i32, ptr %base, i64 %i
  store i32 %v, ptr %a
  %start = getelementptr i32, ptr %base, i64 %i
  br label %loop
loop:
  %p = phi ptr [ %start, %entry ], [ %same, %loop ]
  %g = phi ptr [ %q, %entry ], [ %next, %loop ]
  %n = phi i32 [ 0, %entry ], [ %m, %loop ]
  %w = load i32, ptr %p
  %c = and i32 %n, 3
  %d = zext i32 %c to i64
  %e = getelementptr i32, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 %d
  %f = load i32, ptr %e
  %s = add i32 %w, %f
  store i32 %s, ptr %p
  store i32 %s, ptr %g
  %same = freeze ptr %p
  %next = getelementptr i32, ptr %g, i64 32
  %m = add i32 %n, 1
  %more = icmp ult i32 %m, 4
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

EITHER = """
define ptx_kernel void @k(ptr %x, i1 %c) {
  %p = select i1 %c, ptr %x, ptr addrspacecast (ptr addrspace(3) @tile to ptr)
  store i32 1, ptr %p
  %y = load ptr, ptr %x
  store i32 2, ptr %y
  %z = inttoptr i64 64 to ptr
  store i32 3, ptr %z
  ret void
}
"""


def accesses(text: str) -> list[str]:
    ptx = nvgen.compile(HEAD + text, target="sm_90a").ptx
    return re.findall(r"\b((?:ld|st)(?:\.(?!param)\w+)*)\.(?:b|u|s)(?:8|32|64) ", ptx)


def test_steps_through_a_converted_variable_are_taken_in_its_space() -> None:
    assert set(accesses(STEPS)) == {"ld.global", "st.global", "ld.shared", "st.shared"}
    x = np.arange(64, dtype=np.int32)
    nvgen.compile(HEAD + STEPS, target="sm_90a").run(x, block=64, device="sim")
    assert (x == np.arange(64) ^ 1).all()


def test_selections_and_phis_of_one_space_are_of_that_space() -> None:
    found = accesses(LOOP)
    assert set(found) == {"ld.global", "st.global", "ld.shared", "st.shared", "ld.const"}
    x = np.concatenate([np.arange(32), np.zeros(96)]).astype(np.int32)
    nvgen.compile(HEAD + LOOP, target="sm_90a").run(x, block=32, device="sim")
    sums = np.arange(32) + np.cumsum([3, 5, 7, 11])[:, None]
    assert (x == sums.reshape(-1)).all()


def test_what_may_point_anywhere_stays_generic() -> None:
    assert accesses(EITHER) == ["st", "ld.global", "st", "st"]


PERHAPS = """
define ptx_kernel void @k(ptr %x, ptr %y, i32 %n) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %some, label %meet
some:
  br label %meet
meet:
  %p = phi ptr [ %y, %some ], [ null, %entry ]
  %none = icmp eq ptr %p, null
  %q = select i1 %none, ptr %x, ptr %p
  %v = atomicrmw add ptr %q, i32 7 monotonic
  ret void
}
"""


@pytest.mark.parametrize(("n", "sums"), [(0, [0, 7]), (1, [7, 0])])
def test_a_pointer_that_may_be_null_points_where_it_points_otherwise(
    n: int, sums: list[int]
) -> None:
    compiled = nvgen.compile(HEAD + PERHAPS, target="sm_90a", opt=0)
    assert re.findall(r"\b(?:atom|red)\S+", compiled.ptx) == ["atom.relaxed.sys.global.add.u32"]
    x, y = np.zeros((2, 1), np.int32)
    compiled.run(x, y, n, block=1, device="sim")
    assert [x[0], y[0]] == sums


@pytest.mark.parametrize("level", [0, 3])
def test_a_device_function_knows_nothing_of_its_pointers(level: int) -> None:
    text = "define void @f(ptr %p) {\n  store i32 1, ptr %p\n  ret void\n}\n"
    ptx = nvgen.compile(HEAD + text, target="sm_90a", opt=level).ptx
    assert re.search(r"\bst\.b32 \[", ptx)


WINDOWS = ("global", "shared", "shared.cluster", "local")
ADDRESSES = {
    "%x": 3,
    "addrspacecast (ptr addrspace(3) @tile to ptr)": 5,
    "addrspacecast (ptr addrspace(4) @table to ptr)": 7,
    "%stack": 9,
    "%either": 11,
}
"""Addresses, and an odd number for each."""

KNOWN = """
define ptx_kernel void @k(ptr %out) {{
  %stack = alloca i32
  %n = load volatile i32, ptr %out
  %c = icmp eq i32 %n, 0
  %x = getelementptr i64, ptr %out, i32 %n
  %either = select i1 %c, ptr %x, ptr addrspacecast (ptr addrspace(3) @tile to ptr)
{asked}
  ret void
}}
"""


def asked(window: str, address: str, at: int) -> str:
    """Lines that store a number where an address is in a window, and another where it is not."""
    return f"""  %q{at} = call i1 @llvm.nvvm.isspacep.{window}(ptr {address})
  br i1 %q{at}, label %yes{at}, label %no{at}
yes{at}:
  br label %on{at}
no{at}:
  br label %on{at}
on{at}:
  %v{at} = phi i64 [ {ADDRESSES[address]}, %yes{at} ], [ 1, %no{at} ]
  %p{at} = getelementptr i64, ptr %out, i64 {at}
  store i64 %v{at}, ptr %p{at}"""


def test_what_is_known_of_an_address_answers_questions_for_its_space() -> None:
    """LLVM's code asks the machine, which is simulated; ours only where it must."""
    lines = [
        asked(window, address, 1 + w * len(ADDRESSES) + a)
        for w, window in enumerate(WINDOWS)
        for a, address in enumerate(ADDRESSES)
    ]
    declared = "".join(f"declare i1 @llvm.nvvm.isspacep.{window}(ptr)\n" for window in WINDOWS)
    text = HEAD + declared + KNOWN.format(asked="\n".join(lines))
    compare({"k": text})
    questions = re.findall(r"isspacep\S* ", nvgen.compile(text, target="sm_90a").ptx)
    assert len(questions) == len(WINDOWS) + 1  # of %either; is @table global memory?


@pytest.mark.parametrize("space", [3, 7])
def test_shared_memory_of_a_peer_is_asked_of_the_machine(space: int):
    """`mapa` gave pointers of the CTA's own shared memory before PTX had a space of clusters."""
    window = f"ptr addrspace({space})"
    text = f"""{HEAD}
declare {window} @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3), i32)
define ptx_kernel void @k(ptr %x, i32 %rank) {{
  %peer = call {window} @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) @tile, i32 %rank)
  %p = addrspacecast {window} %peer to ptr
  %q = call i1 @llvm.nvvm.isspacep.shared(ptr %p)
  %n = zext i1 %q to i32
  store i32 %n, ptr %x
  ret void
}}
"""
    assert "isspacep.shared " in nvgen.compile(text, target="sm_90a").ptx


STACK = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = alloca i32, align 4
  %b = alloca [4 x i32], align 4
  %odd = trunc i32 %t to i1
  store i32 7, ptr %a
  store <4 x i32> <i32 1, i32 2, i32 3, i32 4>, ptr %b, align 4
  %second = getelementptr i32, ptr %b, i64 1
  %at = getelementptr i32, ptr %b, i32 %t
  %either = select i1 %odd, ptr %a, ptr %second
  br label %loop
loop:
  %p = phi ptr [ %either, %entry ], [ %at, %loop ]
  %n = phi i32 [ 0, %entry ], [ %m, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %v = load i32, ptr %p
  %w = add i32 %v, 1
  store i32 %w, ptr %p
  %x = zext i32 %w to i64
  %y = mul i64 %sum, 100
  %more = add i64 %x, %y
  %m = add i32 %n, 1
  %again = icmp slt i32 %m, 4
  br i1 %again, label %loop, label %done
done:
  store i64 %more, ptr addrspace(1) %out
  ret void
}
"""


def test_pointers_to_one_of_several_variables_on_the_stack_are_local() -> None:
    text = HEAD + STACK
    compare({"k": text})
    ptx = nvgen.compile(text, target="sm_90a").ptx
    assert "cvta" not in ptx
    assert set(re.findall(r"\b(?:ld|st)\.\w+", ptx)) == {
        "ld.param",
        "ld.local",
        "st.local",
        "st.global",
    }


CASTS = """
define ptx_kernel void @k(ptr %x) {
  %v = alloca { i32, i32 }
  %w = load i64, ptr %x
  store i64 %w, ptr %v
  %second = getelementptr { i32, i32 }, ptr %v, i32 0, i32 1
  %bytes = bitcast ptr %second to ptr
  %same = bitcast ptr %bytes to ptr
  %p = getelementptr [4 x i8], ptr %same, i32 0, i32 2
  %b = load i8, ptr %p
  store i8 %b, ptr %x
  ret void
}
"""
"""Typed pointers, which LLVM 14 still had, are cast from type to type."""


def test_a_pointer_that_is_cast_and_stepped_is_local() -> None:
    compiled = nvgen.compile(CASTS, target="sm_90a", opt=0)
    assert "ld.local.b8" in compiled.ptx
    x = np.arange(1, 9, dtype=np.uint8)
    compiled.run(x, block=1, device="sim")
    assert (x == [7, 2, 3, 4, 5, 6, 7, 8]).all()
