"""Switches go where LLVM's reference says, however many cases they have, and by tables."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import numpy as np
import pytest

import nvgen
from isel.lower.branches.switches import FEW

ARMS = 5

CASES: dict[str, tuple[int, Sequence[int]]] = {
    "few": (32, (7, 1, 3)),
    "a run from zero": (8, range(15)),
    "a run from elsewhere": (32, range(3, 24)),
    "a run up to the greatest": (8, range(247, 256)),
    "a run around zero": (16, range(-4, 9)),
    "a run around the limits of signed numbers": (32, range((1 << 31) - 5, (1 << 31) + 5)),
    "all numbers of a width": (3, range(8)),
    "numbers with gaps": (16, (0, 5, 6, 7, 900, 32767, 32768, 65535)),
    "runs apart": (32, (*range(9), *range(1000, 1009), 5000, *range(-9, -2))),
    "an odd width": (33, (1 << 32, 0, 1, 2, (1 << 33) - 1, 77)),
    "a run of 64 bits": (64, range(1 << 40, (1 << 40) + 9)),
    "the greatest numbers": (64, tuple((1 << 64) - 1 - n * n for n in range(11))),
    "more bits than a register": (128, (1 << 100, 0, 1, 2, 3, 4)),
    "a run of more bits than a register": (128, range((1 << 64) - 4, (1 << 64) + 4)),
}


def _random_cases(seed: int) -> tuple[int, Sequence[int]]:
    """Runs, steps and single numbers, where they meet or not, at a width's ends too."""
    draw = random.Random(seed)
    bits = draw.choice((5, 8, 16, 24, 32, 47, 64, 128))
    found: set[int] = set()
    for _ in range(draw.randint(1, 4)):
        start = draw.choice((0, 1 << (bits - 1), draw.randrange(1 << bits))) - draw.randint(0, 5)
        step = draw.choice((1, 1, 2, 9, 10, 11))
        found |= {(start + step * n) % (1 << bits) for n in range(draw.randint(1, 9))}
    return bits, draw.sample(sorted(found), len(found))


CASES |= {f"drawn by {seed}": _random_cases(seed) for seed in range(8)}


@pytest.mark.parametrize("name", CASES)
def test_each_number_goes_to_its_case(name: str) -> None:
    bits, cases = CASES[name]
    numbers = [*cases, *(n + 1 for n in cases), *(n - 1 for n in cases)]
    probes = sorted({n % (1 << bits) for n in numbers})
    inputs = np.array([[p & (1 << 64) - 1, p >> 64] for p in probes], np.uint64)
    out = np.zeros(len(probes), np.int32)
    nvgen.compile(_text(bits, cases), target="sm_90a").run(inputs, out, block=len(probes))
    arm = {number % (1 << bits): 100 + place % ARMS for place, number in enumerate(cases)}
    assert list(out) == [arm.get(probe, -7) for probe in probes]


def test_a_way_has_few_comparisons() -> None:
    """As many as halving needs, and those at its end."""
    ptx = nvgen.compile(_text(32, [1000 * n for n in range(64)]), target="sm_90a").ptx
    runs = re.split(r"^\$L\w*:|setp\.lt", ptx, flags=re.MULTILINE)
    assert 1 < max(run.count("setp.eq") for run in runs) <= FEW
    assert ptx.count("setp.eq") == 64


def test_numbers_in_a_row_that_go_to_one_block_are_compared_once() -> None:
    ptx = nvgen.compile(_switch(32, dict.fromkeys(range(40, 90), 0)), target="sm_90a").ptx
    assert (ptx.count("setp."), ptx.count("brx.idx")) == (1, 0)


TABLES: dict[str, tuple[int, Sequence[int], list[int]]] = {
    "three cases": (32, range(3), []),
    "four cases": (32, range(4), [4]),
    "a tenth": (32, range(0, 80, 10), [71]),
    "less than a tenth": (32, range(0, 160, 20), []),
    "from elsewhere": (32, range(100, 108), [8]),
    "around zero": (32, range(-4, 4), [8]),
    "two runs": (32, (*range(8), *range(1000, 1008)), [8, 8]),
    "a run and another number": (32, (*range(8), 9999), [8]),
    "8 bits": (8, range(8), [8]),
    "16 bits": (16, range(20), [20]),
    "64 bits": (64, range(1 << 40, (1 << 40) + 8), [8]),
    "128 bits": (128, range(8), [8]),
}
"""The lengths of the tables that LLVM 22 makes of cases each of which has a block of its own, asked
by `tests/oracle/test_switch_tables.py`."""


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_llvm(name: str) -> None:
    bits, cases, expected = TABLES[name]
    ptx = nvgen.compile(one_block_each(bits, cases), target="sm_90a").ptx
    assert table_lengths(ptx) == expected


def test_a_table_is_entered_after_one_comparison() -> None:
    """Of the distance from the least case with the greatest distance."""
    ptx = nvgen.compile(_switch(32, {n: n for n in range(3, 9)}), target="sm_90a").ptx
    assert (ptx.count("setp."), ptx.count("brx.idx")) == (1, 1)


@pytest.mark.parametrize(
    ("bits", "cases", "default"),
    [(32, range(3, 9), "unreachable"), (3, range(8), "ret void"), (8, range(256), "ret void")],
)
def test_nothing_is_compared_where_there_are_no_others(
    bits: int, cases: Sequence[int], default: str
) -> None:
    text = one_block_each(bits, cases, default)
    ptx = nvgen.compile(text, target="sm_90a").ptx
    assert (ptx.count("setp."), ptx.count("brx.idx")) == (0, 1)


LOOP = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %head ], [ %next, %head ], [ %next, %add ], [ %next, %xor ]
  %sum = phi i32 [ %t, %entry ], [ 1, %head ], [ 1, %head ], [ %a, %add ], [ %x, %xor ]
  %next = add i32 %i, 1
  %way = add i32 %i, %t
  %case = and i32 %way, 7
  switch i32 %case, label %end [
    i32 0, label %head
    i32 1, label %add
    i32 2, label %xor
    i32 3, label %head
    i32 4, label %add
  ]
add:
  %a = add i32 %sum, 5
  br label %head
xor:
  %x = xor i32 %sum, 77
  br label %head
end:
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %sum, ptr addrspace(1) %p
  ret void
}
"""


def _around(thread: int) -> int:
    """What a thread stores that goes round `LOOP`."""
    found = thread
    for case in range(thread & 7, 8):
        match case:
            case 0 | 3:
                found = 1
            case 1 | 4:
                found += 5
            case 2:
                found ^= 77
            case _:
                break
    return found


@pytest.mark.parametrize("schedule", ["early", "late", "random:1"])
@pytest.mark.parametrize("opt", [0, 3])
def test_a_table_leads_back_to_its_loop(opt: int, schedule: str) -> None:
    compiled = nvgen.compile(LOOP, target="sm_90a", opt=opt)
    assert compiled.ptx.count("brx.idx") == 1
    out = np.zeros(64, np.uint32)
    compiled.run(out, block=64, schedule=schedule)
    assert list(out) == [_around(thread) for thread in range(64)]


def test_mir_with_a_table_compiles_on() -> None:
    """Each stage's text is read back, and gives the same PTX."""
    compiled = nvgen.compile(LOOP, target="sm_90a")
    for stage in compiled.stages:
        text = compiled.stages[stage]
        if text.startswith("; nvgen MIR"):
            assert "BRX_IDX" in text
            assert _body(nvgen.compile(text).ptx) == _body(compiled.ptx), stage


def _body(ptx: str) -> str:
    return re.sub(r"\$L_\w+|%\w+|//.*|\.loc.*", "", ptx[ptx.index("{") :])


def table_lengths(ptx: str) -> list[int]:
    """How many labels the tables of a module have."""
    return sorted(len(one.split(",")) for one in re.findall(r"\.branchtargets\s+([^;]+);", ptx))


def one_block_each(bits: int, cases: Sequence[int], default: str = "ret void") -> str:
    """A kernel whose cases go to a block each."""
    return _switch(bits, {n: k for k, n in enumerate(cases)}, default)


def _switch(bits: int, cases: dict[int, int], default: str = "ret void") -> str:
    """A kernel that stores the number of the block that a case goes to."""
    places = "".join(f"    i{bits} {n}, label %c{k}\n" for n, k in cases.items())
    blocks = "".join(
        f"c{k}:\n  store volatile i32 {k}, ptr addrspace(1) %p\n  ret void\n"
        for k in dict.fromkeys(cases.values())
    )
    return (
        f"define ptx_kernel void @k(ptr addrspace(1) %p, i{bits} %x) {{\n"
        f"  switch i{bits} %x, label %default [\n{places}  ]\n{blocks}default:\n  {default}\n}}\n"
    )


def _text(bits: int, cases: Sequence[int]) -> str:
    """Stores 100 and the number of the arm, or -7, that a thread's number goes to."""
    places = "".join(f"    i{bits} {n}, label %c{k % ARMS}\n" for k, n in enumerate(cases))
    arms = [range(k, len(cases), ARMS) for k in range(ARMS) if k < len(cases)]
    blocks = "".join(
        f"c{k}:\n  %y{k} = phi i32 " + ", ".join(f"[ {100 + k}, %entry ]" for _ in own)
        + "\n  br label %end\n"
        for k, own in enumerate(arms)
    )  # fmt: skip
    values = "".join(f", [ %y{k}, %c{k} ]" for k in range(len(arms)))
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [16 x i8], ptr addrspace(1) %in, i32 %t
  %w = load i128, ptr addrspace(1) %p, align 8
  %m = and i128 %w, {(1 << bits) - 1}
  {"%x = add i128 %m, 0" if bits == 128 else f"%x = trunc i128 %m to i{bits}"}
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  switch i{bits} %x, label %end [
{places}  ]
{blocks}end:
  %v = phi i32 [ -7, %entry ]{values}
  store i32 %v, ptr addrspace(1) %q
  ret void
}}
"""
