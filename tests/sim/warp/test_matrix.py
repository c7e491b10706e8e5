"""Matrices that a warp loads, stores and transposes: every form, who reads what, and what is wrong.

The expected registers follow from the drawings of the PTX manual by numpy, with no help of nvgen's
own tables.  PTX ISA, ldmatrix; stmatrix; movmatrix.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nvgen.launching.parameters import Output
from tests.sim.ptx import SCHEDULES, findings, rule, run

pytestmark = pytest.mark.turns(6)

Words = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

VARIABLES = ".shared .align 128 .b8 tile[1024];"

FILL = """
    shl.b32 %r1, %lane, 5;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %rd1, %a0;
    ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd2];
    ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd2+16];
    st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};
    st.shared.v4.u32 [%r3+16], {%r8, %r9, %r10, %r11};
    bar.warp.sync -1;
"""
"""The 1024 bytes of the first argument come into the tile; %r2 is its address."""

LINES = """
    shl.b32 %r12, %lane, 2;
    add.u64 %rd3, %a1, 0;
    cvt.u64.u32 %rd4, %r12;
    add.u64 %rd3, %rd3, %rd4;
    ld.global.u32 %r13, [%rd3];
    add.u32 %r13, %r13, %r2;
"""
"""%r13: where the thread's line lies, of which the second argument gives the offset."""

SHOW = """
    shl.b32 %r12, %lane, 4;
    cvt.u64.u32 %rd5, %r12;
    add.u64 %rd5, %rd5, %a2;
    st.global.v4.u32 [%rd5], {%r20, %r21, %r22, %r23};
"""
"""Four registers of each thread come into the third argument."""

NOTHING = "mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0; mov.u32 %r23, 0;"
REGISTERS = ("%r20", "%r21", "%r22", "%r23")


def contents(seed: int = 5) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, 1024, np.uint8)


def offsets(seed: int = 7) -> Words:
    """32 different lines of 16 bytes, in any order: of a swizzled tile, say."""
    return (np.random.default_rng(seed).permutation(64)[:32] * 16).astype(np.uint32)


def lines_of(data: Bytes, where: Words) -> Bytes:
    return np.stack([data[at : at + 16] for at in where])


# ---- the drawings ----------------------------------------------------------------------------


def m8n8(lines: Bytes, *, trans: bool) -> Words:
    """The register of each thread of one matrix: thread 4 i + j has elements 2 j, 2 j + 1 of row i.

    With `.trans` the rows in memory are the columns of the matrix.
    """
    elements = lines.copy().view(np.uint16).reshape(8, 8)
    matrix = elements.T if trans else elements
    found = np.zeros(32, np.uint32)
    for thread in range(32):
        row, pair = thread // 4, thread % 4
        low, high = (int(matrix[row, 2 * pair + i]) for i in (0, 1))
        found[thread] = low | high << 16
    return found


def widened(lines: Bytes, bits: int) -> Bytes:
    """16 elements of `bits` bits from the lowest on, each in a byte of its own."""
    out = np.zeros_like(lines)
    for row, line in enumerate(lines):
        number = int.from_bytes(line.tobytes(), "little")
        out[row] = [number >> bits * i & (1 << bits) - 1 for i in range(16)]
    return out


def word(parts: list[int]) -> int:
    return sum(int(part) << 8 * i for i, part in enumerate(parts))


def m8n16(lines: Bytes) -> Words:
    """Thread 4 i + j has elements 4 j to 4 j + 3 of row i."""
    return np.array(
        [word(list(lines[t // 4, 4 * (t % 4) : 4 * (t % 4) + 4])) for t in range(32)], np.uint32
    )


def m16n16(lines: Bytes) -> Words:
    """Two registers: of column i, then i + 8, the elements 4 j to 4 j + 3; (32, 2)."""
    found = np.zeros((32, 2), np.uint32)
    for thread in range(32):
        i, j = divmod(thread, 4)
        for half in (0, 1):
            found[thread, half] = word([lines[4 * j + k, i + 8 * half] for k in range(4)])
    return found


def m16n8(registers: Words) -> Bytes:
    """The 8 lines that a transposed store of 16 by 8 bytes writes.

    A thread has elements 2 j, 2 j + 1 of row i, then of row i + 8; a line is a column.
    """
    lines = np.zeros((8, 16), np.uint8)
    for thread in range(32):
        i, j = divmod(thread, 4)
        for k in range(4):
            lines[2 * j + k % 2, i + k // 2 * 8] = int(registers[thread]) >> 8 * k & 0xFF
    return lines


# ---- loads -----------------------------------------------------------------------------------


def loaded(form: str, count: int, schedule: str = "early", target: str = "sm_90a") -> Words:
    """The registers of the 32 threads behind a load, by register."""
    out = np.zeros((32, 4), np.uint32)
    registers = ", ".join(REGISTERS[:count])
    body = FILL + LINES + NOTHING + f"ldmatrix.sync.aligned.{form} {{{registers}}}, [%r13];" + SHOW
    run(
        body, contents(), offsets(), Output(out),
        variables=VARIABLES, schedule=schedule, target=target, version="8.6",
    )  # fmt: skip
    return out.T


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("space", [".shared", ".shared::cta"])
def test_matrices_of_16_bits(count: int, trans: bool, space: str, schedule: str) -> None:
    found = loaded(f"m8n8.x{count}{'.trans' * trans}{space}.b16", count, schedule)
    lines = lines_of(contents(), offsets())
    for matrix in range(count):
        expected = m8n8(lines[8 * matrix : 8 * matrix + 8], trans=trans)
        assert found[matrix].tolist() == expected.tolist(), matrix
    assert not found[count:].any()


@pytest.mark.parametrize("bits", [4, 6])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_rows_of_narrow_elements(count: int, bits: int) -> None:
    source = {4: "b4x16_p64", 6: "b6x16_p32"}[bits]
    found = loaded(f"m8n16.x{count}.shared.b8x16.{source}", count, target="sm_100a")
    lines = widened(lines_of(contents(), offsets()), bits)
    for matrix in range(count):
        assert found[matrix].tolist() == m8n16(lines[8 * matrix : 8 * matrix + 8]).tolist()


@pytest.mark.parametrize("format_", ["b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"])
@pytest.mark.parametrize("count", [1, 2])
def test_transposed_matrices_of_bytes(count: int, format_: str) -> None:
    found = loaded(f"m16n16.x{count}.trans.shared.{format_}", 2 * count, target="sm_100a")
    lines = lines_of(contents(), offsets())
    if format_ != "b8":
        lines = widened(lines, int(format_[7]))
    for matrix in range(count):
        expected = m16n16(lines[16 * matrix : 16 * matrix + 16])
        assert found[2 * matrix : 2 * matrix + 2].tolist() == expected.T.tolist()


@pytest.mark.gpu
def test_a_register_may_be_discarded_and_an_address_may_be_generic() -> None:
    out = np.zeros((32, 4), np.uint32)
    generic = "cvt.u64.u32 %rd6, %r13; cvta.shared.u64 %rd6, %rd6;"
    load = "ldmatrix.sync.aligned.m8n8.x4.b16 {%r20, _, %r22, %r20}, [%rd6];"
    body = FILL + LINES + NOTHING + generic + load.replace("%r20}", "%r23}") + SHOW
    run(body, contents(), offsets(), Output(out), variables=VARIABLES, target="sm_90a")
    lines = lines_of(contents(), offsets())
    for register, matrix in ((0, 0), (2, 2), (3, 3)):
        expected = m8n8(lines[8 * matrix : 8 * matrix + 8], trans=False)
        assert out[:, register].tolist() == expected.tolist()
    assert not out[:, 1].any()


# ---- stores ----------------------------------------------------------------------------------

TAKE = """
    shl.b32 %r12, %lane, 4;
    cvt.u64.u32 %rd5, %r12;
    add.u64 %rd5, %rd5, %a2;
    ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd5];
"""
BACK = """
    bar.warp.sync -1;
    add.u64 %rd6, %rd1, %a3;
    ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];
    ld.shared.v4.u32 {%r8, %r9, %r10, %r11}, [%r3+16];
    st.global.v4.u32 [%rd6], {%r4, %r5, %r6, %r7};
    st.global.v4.u32 [%rd6+16], {%r8, %r9, %r10, %r11};
"""
"""The tile comes into the fourth argument."""


def stored(form: str, count: int, schedule: str = "early", target: str = "sm_90a") -> Bytes:
    """The 1024 bytes of the tile behind a store of `registers`."""
    out = np.zeros(1024, np.uint8)
    given = ", ".join(REGISTERS[:count])
    body = FILL + LINES + TAKE + f"stmatrix.sync.aligned.{form} [%r13], {{{given}}};" + BACK
    run(
        body, contents(), offsets(), registers(), Output(out),
        variables=VARIABLES, schedule=schedule, target=target, version="8.6",
    )  # fmt: skip
    return out


def registers() -> Words:
    return np.random.default_rng(3).integers(0, 1 << 32, (32, 4), np.uint64).astype(np.uint32)


def stored_lines(lines: Bytes) -> Bytes:
    """The tile with some lines written: those of the threads that give their addresses."""
    found = contents()
    for line, at in zip(lines, offsets(), strict=False):
        found[at : at + 16] = line
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("space", [".shared", ".shared::cta"])
def test_stores_of_16_bits(count: int, trans: bool, space: str, schedule: str) -> None:
    """The lines from which a load gives these registers."""
    out = stored(f"m8n8.x{count}{'.trans' * trans}{space}.b16", count, schedule)
    lines = lines_of(out, offsets())
    for matrix in range(count):
        found = m8n8(lines[8 * matrix : 8 * matrix + 8], trans=trans)
        assert found.tolist() == registers()[:, matrix].tolist()
    assert out.tolist() == stored_lines(lines[: 8 * count]).tolist()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_transposed_stores_of_bytes(count: int) -> None:
    out = stored(f"m16n8.x{count}.trans.shared.b8", count, target="sm_100a")
    lines = np.concatenate([m16n8(registers()[:, matrix]) for matrix in range(count)])
    assert out.tolist() == stored_lines(lines).tolist()


# ---- transpositions --------------------------------------------------------------------------


@pytest.mark.gpu
def test_a_matrix_is_transposed_in_registers() -> None:
    out = np.zeros((32, 4), np.uint32)
    body = (
        NOTHING
        + "ld.global.u32 %r1, [%rd1];"
        + ("movmatrix.sync.aligned.m8n8.trans.b16 %r20, %r1;")
    )
    lane = "shl.b32 %r2, %lane, 2; cvt.u64.u32 %rd1, %r2; add.u64 %rd1, %rd1, %a0;"
    given = registers()[:, 0].copy()
    run(lane + body + SHOW, given, offsets(), Output(out), target="sm_90a")
    rows = given.view(np.uint16).reshape(8, 8)
    assert out[:, 0].tolist() == m8n8(rows.view(np.uint8).reshape(8, 16), trans=True).tolist()


# ---- what is wrong ---------------------------------------------------------------------------

LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r13];"
STORE = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r13], {%r20};"


def broken(body: str, where: Words | None = None) -> str:
    given = offsets() if where is None else where
    return rule(body, contents(), given, np.zeros(128, np.uint32), variables=VARIABLES)


def test_what_follows_the_rules_has_no_fault() -> None:
    assert broken(FILL + LINES + LOAD) == ""
    assert broken(FILL + LINES + NOTHING + STORE) == ""


@pytest.mark.parametrize("operation", [LOAD, STORE])
def test_lines_begin_at_multiples_of_16(operation: str) -> None:
    where = offsets()
    where[5] += 8
    assert broken(FILL + LINES + NOTHING + operation, where) == "misaligned"


def test_a_line_that_no_thread_needs_to_give_may_be_anything() -> None:
    where = offsets()
    where[8:] = 3
    assert broken(FILL + LINES + NOTHING + STORE, where) == ""


@pytest.mark.parametrize("operation", [LOAD, STORE])
def test_lines_lie_within_shared_memory(operation: str) -> None:
    where = offsets()
    where[2] = 1024
    assert broken(FILL + LINES + NOTHING + operation, where) == "out-of-bounds"


def test_a_load_reads_what_was_written() -> None:
    assert broken("mov.u32 %r2, tile;" + LINES + LOAD) == "uninitialized"


def test_a_generic_address_is_one_of_shared_memory() -> None:
    body = FILL + "ldmatrix.sync.aligned.m8n8.x1.b16 {%r20}, [%a0];"
    assert broken(body) == "state-space"


def test_a_warp_that_is_not_whole_is_refused() -> None:
    found = findings(
        FILL + LINES + LOAD, contents(), offsets(), np.zeros(128, np.uint32),
        variables=VARIABLES, threads=16,
    )  # fmt: skip
    assert [f.rule for f in found] == ["sim/partial-warp"]


# ---- races -----------------------------------------------------------------------------------


def test_lines_of_other_threads_need_a_barrier() -> None:
    """A thread has the elements of lines that others have written."""
    assert broken(FILL.replace("bar.warp.sync -1;", "") + LINES + LOAD) == "race"


@pytest.mark.parametrize(("trans", "found"), [("", ""), (".trans", "race")])
def test_a_thread_may_load_what_it_has_stored_itself(trans: str, found: str) -> None:
    """Not transposed, what a thread gets lies where a store puts what it has; transposed, not."""
    store = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r13], {%lane};"
    load = f"ldmatrix.sync.aligned.m8n8.x1{trans}.shared.b16 {{%r21}}, [%r13];"
    assert broken(FILL + LINES + store + load) == found


def test_a_load_of_a_line_and_a_store_of_its_owner_race() -> None:
    """Thread 0 gives the address of line 0, and threads 0 to 3 read it."""
    write = "setp.ne.u32 %p1, %lane, 9; @!%p1 st.shared.u32 [%r2], %r4;"
    where = (np.arange(32) * 16).astype(np.uint32)
    assert broken(FILL + LINES + LOAD + write, where) == "race"
    together = LOAD + "bar.warp.sync -1;" + write
    assert broken(FILL + LINES + together, where) == ""
