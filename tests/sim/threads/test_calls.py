"""Calls on the simulated machine: frames, ways back, and what goes wrong.

The kernels are PTX, as LLVM or a person writes it; values of compiled calls are compared with the
host's in `tests.oracle.test_call_values`.
"""

from __future__ import annotations

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import SimulationError
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
SCHEDULES = ("early", "late", "random:1", "random:2")


def run(text: str, out: np.ndarray, *more: object, schedule: str = "early") -> None:
    reading = read_ptx(HEAD + text, "k.ptx")
    assert reading.findings == []
    simulate(
        reading.module, "k", [out, *more], grid=(1, 1, 1), block=(out.size, 1, 1),  # type: ignore[list-item]
        schedule=parse_schedule(schedule),
    )  # fmt: skip


def fault_of(text: str) -> str:
    with pytest.raises(SimulationError) as caught:
        run(text, np.zeros(32, np.uint32))
    return str(caught.value)


ENTRY = """.visible .entry k(.param .u64 out)
{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<8>;
    .param .b32 given;
    .param .b32 got;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
"""
END = """
    st.global.b32 [%rd3], %r2;
    ret;
}
"""
CALL = """
    st.param.b32 [given], %r1;
    call.uni (got), f, (given);
    ld.param.b32 %r2, [got];
"""
SQUARE = """.func (.param .b32 result) f(.param .b32 n)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [n];
    mul.lo.s32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_each_thread_has_parameters_of_its_own(schedule: str):
    out = np.zeros(40, np.uint32)
    run(SQUARE + ENTRY + CALL + END, out, schedule=schedule)
    assert out.tolist() == [t * t for t in range(40)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_registers_of_the_caller_stay(schedule: str):
    """A function that uses the same names, and calls itself as often as its thread says."""
    depth = """.func (.param .b32 result) f(.param .b32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .param .b32 less;
    .param .b32 rest;
    ld.param.b32 %r1, [n];
    mov.b32 %r2, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    sub.s32 %r3, %r1, 1;
    st.param.b32 [less], %r3;
    call.uni (rest), f, (less);
    ld.param.b32 %r2, [rest];
    add.s32 %r2, %r2, %r1;
DONE:
    st.param.b32 [result], %r2;
    ret;
}
"""
    out = np.zeros(32, np.uint32)
    run(depth + ENTRY + CALL + END, out, schedule=schedule)
    assert out.tolist() == [t * (t + 1) // 2 for t in range(32)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_meet_again_behind_a_call_that_only_some_make(schedule: str):
    body = """
    mov.b32 %r2, 7;
    setp.lt.u32 %p1, %r1, 9;
    @!%p1 bra JOINED;
""" + CALL + """
JOINED:
    bar.warp.sync -1;
    vote.sync.ballot.b32 %r3, %p1, -1;
    add.s32 %r2, %r2, %r3;
"""  # fmt: skip
    out = np.zeros(32, np.uint32)
    run(SQUARE + ENTRY + body + END, out, schedule=schedule)
    assert out.tolist() == [(t * t if t < 9 else 7) + 511 for t in range(32)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_return_that_some_threads_take_early(schedule: str):
    early = """.func (.param .b32 result) f(.param .b32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [n];
    st.param.b32 [result], 1;
    setp.lt.u32 %p1, %r1, 4;
    @%p1 ret;
    st.param.b32 [result], %r1;
    ret;
}
"""
    out = np.zeros(32, np.uint32)
    run(early + ENTRY + CALL + END, out, schedule=schedule)
    assert out.tolist() == [1, 1, 1, 1, *range(4, 32)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_call_by_pointer_goes_where_each_thread_says(schedule: str):
    other = SQUARE.replace(" f(", " g(").replace(
        "mul.lo.s32 %r2, %r1, %r1", "add.s32 %r2, %r1, 100"
    )
    body = """
    table: .callprototype (.param .b32 _) _ (.param .b32 _);
    mov.u64 %rd4, f;
    mov.u64 %rd5, g;
    and.b32 %r4, %r1, 1;
    setp.eq.u32 %p1, %r4, 0;
    selp.b64 %rd6, %rd4, %rd5, %p1;
    st.param.b32 [given], %r1;
    call (got), %rd6, (given), table;
    ld.param.b32 %r2, [got];
"""
    out = np.zeros(32, np.uint32)
    run(SQUARE + other + ENTRY + body + END, out, schedule=schedule)
    assert out.tolist() == [t * t if t % 2 == 0 else t + 100 for t in range(32)]


def test_an_exit_in_a_function_ends_the_thread():
    leaves = SQUARE.replace("    st.param", "    exit;\n    st.param")
    out = np.full(32, 9, np.uint32)
    run(leaves + ENTRY + CALL + END, out)
    assert out.tolist() == [9] * 32


def test_a_loop_that_asks_in_vain_in_a_function_is_a_deadlock():
    waits = """.func f(.param .b32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .shared .align 8 .b64 bar;
    mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [bar], 99;
    bar.warp.sync -1;
ASK:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra ASK;
    ret;
}
"""
    body = "    st.param.b32 [given], %r1;\n    call.uni f, (given);\n    mov.b32 %r2, 0;"
    text = waits.replace("    .shared .align 8 .b64 bar;\n", "")
    assert "deadlock" in fault_of(".shared .align 8 .b64 bar;\n" + text + ENTRY + body + END)


def test_a_recursion_without_an_end():
    endless = SQUARE.replace(
        "    st.param.b32 [result]", "    call.uni (again), f, (n2);\n    st.param.b32 [result]"
    ).replace("    ld.param", "    .param .b32 again;\n    .param .b32 n2;\n    ld.param")
    assert "nested more than 1024 deep" in fault_of(endless + ENTRY + CALL + END)


DIGITS = """.func (.param .b32 result) f(.param .b32 n)
{
    .local .align 8 .b8 own[SIZE];
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .param .b32 less;
    .param .b32 rest;
    ld.param.b32 %r1, [n];
    ld.local.b32 %r2, [own+8];
    add.s32 %r2, %r2, %r1;
    st.local.b32 [own+8], %r2;
    mov.b32 %r3, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    sub.s32 %r4, %r1, 1;
    st.param.b32 [less], %r4;
    call.uni (rest), f, (less);
    ld.param.b32 %r3, [rest];
DONE:
    ld.local.b32 %r5, [own+8];
    mad.lo.s32 %r3, %r3, 3, %r5;
    st.param.b32 [result], %r3;
    ret;
}
"""
"""f(n) = 3 f(n - 1) + n, with each n in local memory that was zero."""


@pytest.mark.turns(3)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_active_call_has_local_variables_of_its_own(schedule: str):
    out = np.zeros(32, np.uint32)
    twice = CALL + CALL  # the second finds what the first one left: nothing
    run(DIGITS.replace("SIZE", "16") + ENTRY + twice + END, out, schedule=schedule)
    wanted = [0]
    for n in range(1, 32):
        wanted.append((3 * wanted[-1] + n) % (1 << 32))
    assert out.tolist() == wanted


def test_local_variables_of_the_same_name_are_each_functions_own():
    text = ENTRY.replace("{\n", "{\n    .local .align 8 .b8 own[16];\n", 1)
    body = "    st.local.b32 [own+8], 1000;\n" + CALL + "    ld.local.b32 %r2, [own+8];"
    out = np.zeros(32, np.uint32)
    run(DIGITS.replace("SIZE", "16") + text + body + END, out)
    assert out.tolist() == [1000] * 32


def test_a_recursion_whose_local_variables_have_no_place():
    """A thread has 512 KB at most: CUDA C++ Programming Guide, Technical Specifications."""
    said = fault_of(DIGITS.replace("SIZE", "32768") + ENTRY + CALL + END)
    assert "sim/local-memory" in said
    assert "at most 524288" in said


def test_a_call_of_what_is_no_function():
    body = """
    table: .callprototype (.param .b32 _) _ (.param .b32 _);
    mov.u64 %rd6, 4660;
    call (got), %rd6, (given), table;
    ld.param.b32 %r2, [got];
"""
    assert "what is no function" in fault_of(SQUARE + ENTRY + body + END)


def test_a_call_with_other_parameters():
    wide = SQUARE.replace(".param .b32 n", ".param .b64 n").replace(
        "ld.param.b32 %r1", "ld.param.b32 %r1"
    )
    said = fault_of(wide + ENTRY + CALL + END)
    assert "called with other parameters than it has" in said


def test_a_function_of_another_module_is_not_simulated():
    text = ".extern .func (.param .b32 result) f(.param .b32 n);\n" + ENTRY + CALL + END
    assert "not simulated: a call of f, which another module defines" in fault_of(text)


def test_what_is_not_called_need_not_be_simulated():
    """A function with a statement that nobody knows stands beside the kernel."""
    strange = ".func g()\n{\n    .reg .b32 %r<3>;\n    ret;\n}\n"
    out = np.zeros(32, np.uint32)
    run(strange + SQUARE + ENTRY + CALL + END, out)
    assert out[3] == 9
