"""tcgen05.alloc.exclusive and tcgen05.dealloc.exclusive.

PTX ISA 9.4, tcgen05.alloc: an exclusive allocation blocks until there is no other live allocation;
its columns are a multiple of 32; a dealloc.exclusive of the same number of columns gives it back.
"""

from __future__ import annotations

import numpy as np
import pytest

from nvgen.sim.faults import DeadlockError, Fault, NotSimulatedError
from nvgen.sim.memory.tensor_memory import TensorMemory
from tests.each import each
from tests.sim.ptx import SCHEDULES, run

WORDS = ".shared .align 4 .b32 slot;\n.shared .align 4 .b32 second;"
PLAIN = "tcgen05.{}.cta_group::1.sync.aligned{}.b32"
ALLOC, DEALLOC = PLAIN.format("alloc", ".shared::cta"), PLAIN.format("dealloc", "")
ALLOC_X, DEALLOC_X = (
    ALLOC.replace("alloc", "alloc.exclusive"),
    DEALLOC.replace("dealloc", "dealloc.exclusive"),
)


@each("columns", range(-32, 640, 16))
def test_columns_are_a_multiple_of_32(columns: int):
    memory = TensorMemory()
    if columns % 32 == 0 and 32 <= columns <= 512:
        start = memory.allocate(columns, from_top=False, exclusive=True)
        assert start == 0
        assert memory.allocations == {0: columns}
        memory.release(0, columns, exclusive=True)
        assert memory.allocations == {}
        return
    wrong = NotSimulatedError if columns in (544, 576) else Fault
    with pytest.raises(wrong):
        memory.allocate(columns, from_top=False, exclusive=True)


@pytest.mark.parametrize("exclusive", [False, True])
def test_both_halves_of_a_life_are_exclusive_or_neither(exclusive: bool):
    memory = TensorMemory()
    start = memory.allocate(64, from_top=True, exclusive=exclusive)
    assert start is not None
    with pytest.raises(Fault) as caught:
        memory.release(start, 64, exclusive=not exclusive)
    assert caught.value.findings[0].rule == "sim/dealloc"
    memory.release(start, 64, exclusive=exclusive)


def test_what_is_allocated_beside_it_is_refused():
    memory = TensorMemory()
    memory.allocate(96, from_top=False, exclusive=True)
    with pytest.raises(NotSimulatedError):
        memory.allocate(32, from_top=False)
    assert memory.allocate(32, from_top=False, exclusive=True) is None, "it waits"


BOTH = f"""
    setp.ge.u32 %p1, %tx, 32;
    @%p1 bra other;
    {ALLOC} [slot], 64;
    bar.sync 0;
    ld.shared.u32 %r1, [slot];
    {DEALLOC} %r1, 64;
    ret;
other:
    bar.sync 0;
    {ALLOC_X} [second], 32;
    ld.shared.u32 %r3, [second];
    {DEALLOC_X} %r3, 32;
    mad.wide.u32 %rd1, %tx, 4, %a0;
    st.global.u32 [%rd1], 1;"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_blocks_until_there_is_no_other(schedule: str):
    """There would be room for both."""
    seen = np.zeros(64, np.uint32)
    run(BOTH, seen, variables=WORDS, threads=64, schedule=schedule, version="9.4")
    assert seen.tolist() == [0] * 32 + [1] * 32


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_it_waits_for_ever_if_the_other_stays(schedule: str):
    text = BOTH.replace(f"    {DEALLOC} %r1, 64;\n", "")
    seen = np.zeros(64, np.uint32)
    with pytest.raises(DeadlockError) as caught:
        run(text, seen, variables=WORDS, threads=64, schedule=schedule, version="9.4")
    assert "32 free columns" in caught.value.findings[0].message
