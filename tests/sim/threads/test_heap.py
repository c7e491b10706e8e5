"""malloc and free of a kernel: each allocation is memory of its own, until it is freed.

CUDA C++ Programming Guide, Dynamic Global Memory Allocation and Operations: malloc returns null
where the heap has no room, memory that any thread may free, aligned to 16 bytes; free takes what
malloc returned, once, or null.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.each import each
from tests.sim.ptx import SCHEDULES, findings, run

DECLARED = """
.extern .func (.param .b64 got) malloc(.param .b64 size);
.extern .func free(.param .b64 address);
.shared .align 8 .b64 shared_address;
"""


def malloc(size: int, register: str = "%rd1") -> str:
    return f"""
    {{ .param .b64 size; st.param.b64 [size], {size}; .param .b64 got;
    call.uni (got), malloc, (size);
    ld.param.b64 {register}, [got]; }}"""


def free(register: str = "%rd1") -> str:
    return f"""
    {{ .param .b64 address; st.param.b64 [address], {register};
    call.uni free, (address); }}"""


STORE = "\n    st.u32 [%rd1], %lane; st.u32 [%rd1+4], %lane;"
LOAD = "\n    ld.u32 %r1, [%rd1];"
RIGHT = malloc(8) + STORE + LOAD + free()

SHARED = f"""
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra meet;{malloc(8)}{STORE}
    st.shared.u64 [shared_address], %rd1;
meet:
    bar.sync 0;
    ld.shared.u64 %rd1, [shared_address];
    ld.u32 %r1, [%rd1];
    bar.sync 1;
    setp.ne.u32 %p1, %tx, 40;
    @%p1 bra end;{free()}
end:"""
"""Thread 0 allocates, all 64 read, and thread 40 frees."""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_each_thread_has_memory_of_its_own(schedule: str) -> None:
    out = np.zeros(64, np.uint64)
    body = RIGHT.replace(LOAD, LOAD + """
    mad.wide.u32 %rd2, %tx, 8, %a0;
    shl.b64 %rd3, %rd1, 8;
    cvt.u64.u32 %rd4, %r1;
    or.b64 %rd3, %rd3, %rd4;
    st.global.u64 [%rd2], %rd3;""")  # fmt: skip
    assert run(body, out, variables=DECLARED, threads=64, schedule=schedule).leaked == 0
    assert (out & 255).tolist() == [*range(32), *range(32)]
    starts = sorted((out >> 8).tolist())
    assert all(a % 16 == 0 for a in starts)
    assert (np.diff(starts) >= 8).all()


WRONG = {
    "beyond the end": (RIGHT.replace("[%rd1+4]", "[%rd1+8]"), "out-of-bounds"),
    "read before it is written": (RIGHT.replace(STORE, ""), "uninitialized"),
    "read after free": (malloc(8) + STORE + free() + LOAD, "freed"),
    "freed twice": (RIGHT + free(), "free"),
    "an address within": (RIGHT.replace(LOAD, LOAD + "add.u64 %rd1, %rd1, 4;"), "free"),
    "freed before all have read": (SHARED.replace("bar.sync 1;", ""), "race"),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("name", WRONG)
def test_mistakes(name: str, schedule: str) -> None:
    body, rule = WRONG[name]
    found = findings(body, variables=DECLARED, threads=64, schedule=schedule)
    allowed = {rule, "freed"} if rule == "race" else {rule}  # where free came first
    assert found[0].rule.removeprefix("sim/") in allowed
    if rule != "race":
        assert re.search(r"thread \d+ of CTA 0", found[0].message + found[0].got), "whose it is"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_thread_may_free(schedule: str) -> None:
    assert run(SHARED, variables=DECLARED, threads=64, schedule=schedule).leaked == 0


def test_what_nobody_frees_is_counted() -> None:
    body = RIGHT.replace(free(), "setp.eq.u32 %p1, %tx, 7;\n    @%p1 bra end;" + free() + "\nend:")
    assert run(body, variables=DECLARED).leaked == 8


def test_null_where_there_is_no_room_and_null_is_freed() -> None:
    out = np.ones(32, np.uint64)
    body = malloc(1 << 40) + free() + """
    mad.wide.u32 %rd2, %tx, 8, %a0;
    st.global.u64 [%rd2], %rd1;"""  # fmt: skip
    run(body, out, variables=DECLARED)
    assert not out.any()
