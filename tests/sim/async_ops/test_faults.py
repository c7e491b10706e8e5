"""What a program may not do is a fault at its line, under every schedule."""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from intrinsics.findings import SimulationError
from nvgen import KernelBuilder
from nvgen.launching.parameters import Output
from nvgen.sim.faults import Fault, NotSimulatedError
from nvgen.values.pointers import Pointer
from tests.each import each
from tests.sim.async_ops.scheduled import ARRIVE_AT, SCHEDULES, TRY_WAIT, deadlock_of
from tests.sim.kernels import (
    TARGET,
    load_vector,
)


def test_columns_that_are_never_deallocated():
    """A second allocation of all columns blocks; nobody deallocates the first."""
    body = """
  %low = icmp eq i32 %warp, 0
  br i1 %low, label %one, label %two
one:
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @first, i32 512)
  br label %meet
two:
  br label %meet
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %low, label %end, label %more
more:
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @second, i32 512)
  br label %end
end:
  ret void
"""
    found = deadlock_of(body, "early")
    assert any("tensor memory" in f.message and "512" in f.message for f in found)


GLOBALS = """
@words = internal addrspace(3) global [16 x i32] undef, align 16
@slot = internal addrspace(3) global i32 undef, align 4
"""
ALLOC = "call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @slot, i32 32)"
TADDR = """
  %base = load i32, ptr addrspace(3) @slot
  %d = inttoptr i32 %base to ptr addrspace(6)"""
DEALLOC = "call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) %d, i32 32)"
HALF = "%half = icmp ult i32 %tid, 16\n  br i1 %half, label %low, label %end\nlow:\n"
LD = "%v = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1(ptr addrspace(6) %d, i1 0)"
FAULTS = {
    "a global load behind the end": """
  %p = getelementptr i32, ptr addrspace(1) %in, i32 33
  %v = load i32, ptr addrspace(1) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a global load that is half behind the end": """
  %p = getelementptr i32, ptr addrspace(1) %odd, i32 30
  %v = load <2 x i32>, ptr addrspace(1) %p, align 8 ; here
  store <2 x i32> %v, ptr addrspace(1) %out""",
    "a global load before the beginning": """
  %p = getelementptr i32, ptr addrspace(1) %in, i32 -1
  %v = load i32, ptr addrspace(1) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a global store behind the end, by one thread": """
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %tid
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  store i32 1, ptr addrspace(1) %q ; here""",
    "a null pointer": """
  %v = load i32, ptr addrspace(1) null ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a global load of what nobody wrote": """
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  %v = load i32, ptr addrspace(1) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a misaligned load": """
  %p = getelementptr i8, ptr addrspace(1) %in, i32 2
  %v = load i32, ptr addrspace(1) %p, align 4 ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a shared load of what nobody wrote": """
  %p = getelementptr i32, ptr addrspace(3) @words, i32 3
  %v = load i32, ptr addrspace(3) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a shared load of what others wrote": """
  store i32 1, ptr addrspace(3) @words
  %p = getelementptr i32, ptr addrspace(3) @words, i32 1
  %v = load i32, ptr addrspace(3) %p ; here
  store i32 %v, ptr addrspace(1) %out""",
    "a shared store behind the end": """
  %p = getelementptr i32, ptr addrspace(3) @words, i32 4096
  store i32 1, ptr addrspace(3) %p ; here""",
    "a wait on what is no mbarrier": f"""
  %v = {TRY_WAIT} @words, i32 0) ; here""",
    "an arrival on what is no mbarrier": f"""
  %v = {ARRIVE_AT} @words, i32 1) ; here""",
    "an allocation of 48 columns": f"""
  %n = load i32, ptr addrspace(1) %in
  %columns = add i32 %n, 48
  {ALLOC.replace("i32 32)", "i32 %columns)")} ; here""",
    "an allocation after giving up the right": f"""
  call void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg1()
  {ALLOC} ; here""",
    "columns given back twice": f"""
  {ALLOC}{TADDR}
  {DEALLOC}
  {DEALLOC} ; here""",
    "columns given back by another lane's address": f"""
  {ALLOC}{TADDR}
  %e = getelementptr i8, ptr addrspace(6) %d, i32 2097152
  {DEALLOC.replace("%d", "%e")} ; here""",
    "half of the columns given back": f"""
  {ALLOC.replace("32)", "64)")}{TADDR}
  {DEALLOC} ; here""",
    "a tensor memory load without an allocation": f"""
  %d = inttoptr i32 0 to ptr addrspace(6)
  {LD} ; here""",
    "a tensor memory load of what nobody wrote": f"""
  {ALLOC}{TADDR}
  {LD} ; here""",
    "a tensor memory load after giving it back": f"""
  {ALLOC}{TADDR}
  call void @llvm.nvvm.tcgen05.st.32x32b.x1(ptr addrspace(6) %d, i32 1, i1 0)
  call void @llvm.nvvm.tcgen05.wait.st()
  {DEALLOC}
  {LD} ; here""",
    "addresses that differ from thread to thread": f"""
  {ALLOC}{TADDR}
  %e = getelementptr i8, ptr addrspace(6) %d, i32 %tid
  {LD.replace("%d", "%e")} ; here""",
    "half a warp at tcgen05.ld": f"""
  {ALLOC}{TADDR}
  {HALF}  {LD} ; here""",
    "half a warp at tcgen05.st": f"""
  {ALLOC}{TADDR}
  {HALF}  call void @llvm.nvvm.tcgen05.st.32x32b.x1(ptr addrspace(6) %d, i32 1, i1 0) ; here""",
    "half a warp at tcgen05.wait": f"""
  {HALF}  call void @llvm.nvvm.tcgen05.wait.ld() ; here""",
    "half a warp at tcgen05.alloc": f"""
  {HALF}  {ALLOC} ; here""",
    "half a warp at tcgen05.dealloc": f"""
  {ALLOC}{TADDR}
  {HALF}  {DEALLOC} ; here""",
    "half a warp at bar.sync": f"""
  {HALF}  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) ; here""",
}


@pytest.mark.wrong_kernel
@pytest.mark.parametrize("schedule", ["early", "late"])
@each("name", FAULTS)
def test_a_fault_names_its_line(name: str, schedule: str):
    body = FAULTS[name]
    end = "  br label %end\nend:\n" if "low:" in body else ""
    text = (
        GLOBALS
        + "define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, "
        + "ptr addrspace(1) %odd) "
        + '"nvvm.reqntid"="32" {\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()'
        + f"{body}\n{end}  ret void\n}}\n"
    )
    (line,) = (i for i, t in enumerate(text.splitlines(), 1) if t.endswith("; here"))
    compiled = nvgen.compile(text, target=TARGET)
    given, result, odd = (np.zeros(n, np.uint32) for n in (32, 32, 31))
    with pytest.raises(SimulationError) as caught:
        compiled.run(given, Output(result), odd, schedule=schedule)
    finding = caught.value.findings[0]
    assert not isinstance(caught.value, NotSimulatedError)
    assert finding.place.line == line
    assert finding.place.function == "k"
    assert finding.message


def test_an_output_of_the_builder_counts_as_unwritten():
    """`pointer(..., output=True)`: what the array held before the launch does not count."""
    b = KernelBuilder("reads_its_output", block=32)
    b.pointer("d", output=True)
    d = b.begin()["d"]
    assert isinstance(d, Pointer)
    value = load_vector(b, d, 1)
    b.store(value, d + 4, align=4)
    with pytest.raises(Fault) as caught:
        b.finish().compile(target=TARGET).run(np.zeros(4, np.uint32))
    assert caught.value.findings[0].rule == "sim/uninitialized"


@pytest.mark.wrong_kernel
def test_columns_that_are_never_given_back_are_a_finding():
    text = (
        GLOBALS
        + 'define ptx_kernel void @k() "nvvm.reqntid"="32" {\n'
        + f"  {ALLOC}\n  ret void\n}}\n"
    )
    with pytest.raises(SimulationError) as caught:
        nvgen.compile(text, target=TARGET).run()
    assert "deallocated" in caught.value.findings[0].message


@pytest.mark.parametrize("schedule", SCHEDULES[:4])
def test_exactly_one_thread_is_elected(schedule: str):
    b = KernelBuilder("election", block=64)
    b.pointer("out")
    out = b.begin()["out"]
    assert isinstance(out, Pointer)
    with b.elect():
        b.store(b.const(1), out + b.tid_x.zext(64) * 4, align=4)
    votes = np.zeros(64, np.uint32)
    b.finish().compile(target=TARGET).run(votes, schedule=schedule)
    assert votes[:32].sum() == 1
    assert votes[32:].sum() == 1
