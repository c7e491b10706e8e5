"""Tensor memory: who owns which columns, what is in them, and which lanes a warp may reach.

PTX ISA, Tensor Memory Allocation: 512 columns of 128 lanes, in powers of 2 from 32 columns on;
tcgen05.alloc blocks while there is no room; sizes do not increase from one allocation to the next;
all is given back before the kernel exits.  Where each register of the five shapes of tcgen05.ld and
tcgen05.st lies is tested in `test_tensor_layouts`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvgen.sim.faults import DeadlockError, Fault
from nvgen.sim.memory.tensor_memory import TensorMemory
from tests.each import each
from tests.sim.layouts import COUNTS, REGISTERS, cell, column_count, register_count
from tests.sim.ptx import SCHEDULES, findings, rule, run

SIZES = (32, 64, 128, 256, 512)
WORDS = ".shared .align 4 .b32 slot;\n.shared .align 4 .b32 second;"


# ---- allocation against a model --------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(SIZES), st.integers(0, 9)), max_size=30))
def test_allocations_own_their_columns(steps: list[tuple[bool, int, int]]):
    """They never overlap, and only fail when no aligned run of columns is free."""
    memory, owned = TensorMemory(), dict[int, int]()
    smallest = 512
    for give_back, size, which in steps:
        if give_back and owned:
            start = sorted(owned)[which % len(owned)]
            memory.release(start, owned.pop(start))
            continue
        if size > smallest:
            with pytest.raises(Fault):
                memory.allocate(size, from_top=False)
            continue
        taken = {c for start, n in owned.items() for c in range(start, start + n)}
        room = [s for s in range(0, 512, size) if not taken & set(range(s, s + size))]
        start = memory.allocate(size, from_top=bool(which % 2))  # type: ignore[assignment]
        assert (start in room) if room else start is None
        if start is not None:
            owned[start] = size
            smallest = size
    assert memory.allocations == owned


@pytest.mark.parametrize("columns", [0, 1, 16, 31, 33, 48, 96, 500, 513, 1024])
@pytest.mark.parametrize("verb", ["allocate", "release"])
def test_other_numbers_of_columns_are_faults(verb: str, columns: int):
    memory = TensorMemory()

    def act() -> None:
        if verb == "allocate":
            memory.allocate(columns, from_top=False)
        else:
            memory.release(0, columns)

    with pytest.raises(Fault) as caught:
        act()
    assert caught.value.findings[0].rule == "sim/columns"


def test_sizes_do_not_increase():
    """tcgen05.alloc: the number of columns should not increase between any two allocations."""
    memory = TensorMemory()
    assert memory.allocate(64, from_top=False) == 0
    memory.release(0, 64)
    with pytest.raises(Fault) as caught:
        memory.allocate(128, from_top=False)
    assert caught.value.findings[0].rule == "sim/alloc-increasing"
    assert memory.allocate(64, from_top=False) == 0


def test_all_512_columns_can_be_had_in_any_sizes():
    memory = TensorMemory()
    sizes = [256, 128, 64, 32, 32]
    starts = [memory.allocate(size, from_top=False) for size in sizes]
    assert None not in starts
    assert memory.allocate(32, from_top=False) is None


WRONG = {
    "other columns": (128, 32),
    "more than it has": (64, 128),
    "a part": (64, 32),
    "its second half": (96, 32),
    "a lane": (64 | 16 << 16, 64),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_was_not_allocated_so_is_not_given_back(what: str):
    address, columns = WRONG[what]
    memory = TensorMemory()
    memory.allocate(64, from_top=False)
    memory.allocate(64, from_top=False)
    with pytest.raises(Fault) as caught:
        memory.release(address, columns)
    assert caught.value.findings[0].rule == "sim/dealloc"
    assert "64 columns at 0, 64 columns at 64" in caught.value.findings[0].expected
    assert memory.allocations == {0: 64, 64: 64}


# ---- cells -----------------------------------------------------------------------------------


def test_cells_forget_their_previous_allocation():
    """What an earlier owner left behind counts as unwritten."""
    memory = TensorMemory()
    lane, column = np.zeros((1, 1), np.int64), np.full((1, 1), 5, np.int64)
    memory.allocate(32, from_top=False)
    memory.write(lane, column, np.full((1, 1), 7, np.uint32), "test")
    assert memory.read(lane, column, "test")[0, 0] == 7
    memory.release(0, 32)
    memory.allocate(32, from_top=False)
    with pytest.raises(Fault) as caught:
        memory.read(lane, column, "test")
    assert caught.value.findings[0].rule == "sim/uninitialized"


@pytest.mark.parametrize(
    ("lane", "column", "good"),
    [(0, 64, True), (127, 127, True), (128, 64, False), (-1, 64, False), (0, 63, False),
     (0, 128, False), (0, 512, False), (0, -1, False)],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["read", "write"])
def test_cells_outside_of_the_allocations_are_faults(verb: str, lane: int, column: int, good: bool):
    memory = TensorMemory()
    memory.allocations[64] = 64
    memory.written[:] = True
    at = np.array([[lane]]), np.array([[column]])

    def touch() -> None:
        if verb == "read":
            memory.read(*at, "test")
        else:
            memory.write(*at, np.zeros((1, 1), np.uint32), "test")

    if good:
        touch()
        return
    with pytest.raises(Fault) as caught:
        touch()
    assert caught.value.findings[0].rule == "sim/tensor-memory-bounds"


# ---- the instructions ------------------------------------------------------------------------

ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"


def in_memory(body: str, columns: int = 64) -> str:
    """Warp 0 allocates, all threads execute `body` with the address in %r10, warp 0 gives back.

    %r11 is the address in the warp's own lanes.
    """
    return f"""
    setp.ge.u32 %p9, %tx, 32;
    @%p9 bra ready;
    {ALLOC} [slot], {columns};
ready:
    bar.sync 0;
    ld.shared.u32 %r10, [slot];
    shr.u32 %r12, %tx, 5;
    and.b32 %r12, %r12, 3;
    shl.b32 %r12, %r12, 21;
    add.u32 %r11, %r10, %r12;
{body}
    bar.sync 0;
    @%p9 bra end;
    {DEALLOC} %r10, {columns};
end:"""


HAND_OVER = """
    setp.ge.u32 %p1, %tx, 32;
    @%p1 bra other;
    {alloc} [slot], 512;
    bar.sync 0;
    ld.shared.u32 %r1, [slot];
    mov.u32 %r2, 0;
turn:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 20;
    @%p2 bra turn;
    {dealloc} %r1, 512;
    ret;
other:
    bar.sync 0;
    {alloc} [second], 256;
    ld.shared.u32 %r3, [second];
    {dealloc} %r3, 256;
    mad.wide.u32 %rd1, %tx, 4, %a0;
    st.global.u32 [%rd1], 1;"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_allocation_blocks_until_there_is_room(schedule: str):
    """Warp 1 asks while warp 0 has all columns, and gets them once warp 0 gives them back."""
    seen = np.zeros(64, np.uint32)
    body = HAND_OVER.format(alloc=ALLOC, dealloc=DEALLOC)
    run(body, seen, variables=WORDS, threads=64, schedule=schedule)
    assert seen.tolist() == [0] * 32 + [1] * 32


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_allocation_that_never_gets_room_is_a_deadlock(schedule: str):
    """The report says which warp waits for how many columns."""
    body = HAND_OVER.format(alloc=ALLOC, dealloc=DEALLOC)
    without = body.replace(f"    {DEALLOC} %r1, 512;\n", "")
    with pytest.raises(DeadlockError) as caught:
        run(without, np.zeros(64, np.uint32), variables=WORDS, threads=64, schedule=schedule)
    (finding,) = caught.value.findings
    assert "warp 1" in finding.message
    assert "256 free columns of tensor memory" in finding.message
    assert finding.op.startswith("TCGEN05_ALLOC")


def test_the_address_goes_to_shared_memory():
    """tcgen05.alloc writes to .shared::cta; elsewhere it is undefined."""
    assert rule(f"    {ALLOC} [slot+4], 32;", variables=".shared .align 4 .b32 slot;") == (
        "out-of-bounds"
    )
    assert rule(f"    {ALLOC} [slot+2], 32;", variables=WORDS) == "misaligned"


STORE = "tcgen05.st.sync.aligned.32x32b.x1.b32 [{}], {{%tx}};\n    tcgen05.wait::st.sync.aligned;"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r20}}, [{}];\n    tcgen05.wait::ld.sync.aligned;"


@pytest.mark.parametrize("quarter", range(4))
@pytest.mark.parametrize("access", [STORE, LOAD], ids=["st", "ld"])
@each("warp", range(8))
def test_a_warp_reaches_its_own_quarter_only(access: str, warp: int, quarter: int):
    """Access restrictions: warp w of a warpgroup has lanes 32·w to 32·w + 31."""
    body = in_memory(f"""
    {STORE.format("%r11")}
    bar.sync 0;
    shr.u32 %r1, %tx, 5;
    setp.ne.u32 %p1, %r1, {warp};
    @%p1 bra done;
    add.u32 %r2, %r10, {quarter << 21};
    {access.format("%r2")}
done:""")
    expected = "" if warp % 4 == quarter else "lane-quarter"
    # Two warpgroups store to the same cells here: that is a race.
    assert rule(body, variables=WORDS, threads=256, races=False) == expected


@pytest.mark.parametrize("shape", REGISTERS)
@each("num", [n for n in COUNTS if n <= 32])
def test_a_fragment_ends_with_its_last_column(shape: str, num: int):
    """The columns of a shape just fit into the allocation, or reach one beyond it."""
    count, split = register_count(shape, num), num if shape == "16x32bx2" else 0
    width = column_count(shape, num) + split
    assert width == 1 + max(
        cell(shape, thread, register, split)[1] for thread in range(32) for register in range(count)
    )
    registers = "{" + ", ".join(["%tx"] * count) + "}"
    offset = f", {split}" if split else ""

    def outcome(column: int) -> str:
        body = in_memory(
            f"""
    add.u32 %r2, %r11, {column};
    tcgen05.st.sync.aligned.{shape}.x{num}.b32 [%r2]{offset}, {registers};
    tcgen05.wait::st.sync.aligned;""",
            columns=256,
        )
        return rule(body, variables=WORDS)

    assert outcome(256 - width) == ""
    assert outcome(257 - width) == "tensor-memory-bounds"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_columns_are_not_deallocated_while_they_are_used(schedule: str):
    """A store that was not waited for: a finding under every schedule, as a race if need be."""
    body = f"""
    {ALLOC} [slot], 32;
    ld.shared.u32 %r10, [slot];
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r10], {{%tx}};
    {DEALLOC} %r10, 32;"""
    found = {f.rule for f in findings(body, variables=WORDS, schedule=schedule)}
    assert found in ({"sim/dealloc-busy"}, {"sim/race"})


PARTIAL = {
    "tcgen05.ld": LOAD.format("%r10"),
    "tcgen05.st": STORE.format("%r10"),
    "tcgen05.wait": "tcgen05.wait::ld.sync.aligned;",
    "tcgen05.alloc": f"{ALLOC} [second], 32;",
    "tcgen05.dealloc": f"{DEALLOC} %r10, 64;",
    "tcgen05.relinquish_alloc_permit": (
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
    ),
}


@pytest.mark.parametrize("schedule", ["early", "late"])
@pytest.mark.parametrize("op", PARTIAL)
def test_half_a_warp_at_an_aligned_operation(op: str, schedule: str):
    """By a branch, or after the other half has exited: a finding that says which lanes."""
    branch = in_memory(f"    setp.lt.u32 %p1, %lane, 16;\n    @%p1 bra on;\n    {PARTIAL[op]}\non:")
    found = [f for f in findings(branch, variables=WORDS, schedule=schedule) if op in f.message]
    assert any(".aligned" in f.message and "lanes 16-31" in f.message for f in found)
    gone = in_memory(f"    setp.lt.u32 %p1, %lane, 16;\n    @%p1 ret;\n    {PARTIAL[op]}")
    (finding, *_) = findings(gone, variables=WORDS, schedule=schedule)
    assert finding.rule == "sim/aligned-exited"
    assert finding.got == "lanes 0xffff0000"


def test_a_guard_that_half_a_warp_passes():
    body = in_memory(f"    setp.lt.u32 %p1, %lane, 16;\n    @%p1 {PARTIAL['tcgen05.wait']}")
    assert rule(body, variables=WORDS) == "aligned-divergence"


def test_a_guard_that_never_holds_is_no_use():
    body = in_memory("    setp.lt.u32 %p1, %lane, 0;\n    @%p1 tcgen05.wait::ld.sync.aligned;")
    assert rule(body, variables=WORDS) == ""


def test_what_is_kept_at_the_end_is_named_by_its_allocation():
    """The finding stands at the tcgen05.alloc whose columns were not given back."""
    body = f"    mov.u32 %r1, 0;\n    {ALLOC} [slot], 64;"
    (finding,) = findings(body, variables=WORDS)
    assert finding.rule == "sim/tensor-memory-leak"
    assert "64 columns" in finding.got
    assert finding.place.line > 0
