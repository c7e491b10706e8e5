"""Variables on the stack that are never alive at once share memory: as LLVM has it, where it can.

`llvm.lifetime.start` and `.end` bound the lives.  LLVM's own PTX of the same modules has as many
bytes, and leaves the same values in the simulator.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.side_by_side import TARGET, compare


def start(name: str) -> str:
    return f"  call void @llvm.lifetime.start.p0(ptr %{name})\n"


def end(name: str) -> str:
    return f"  call void @llvm.lifetime.end.p0(ptr %{name})\n"


def use(name: str, seed: str) -> str:
    """Fill a variable and add it up; the sum joins what is in global memory."""
    return f"  call void @use(ptr %{name}, i64 {seed}, ptr addrspace(1) %out)\n"


def whole(name: str, seed: str = "7") -> str:
    """A life."""
    return start(name) + use(name, seed) + end(name)


FORK = "  %odd = trunc i64 %given to i1\n  br i1 %odd, label %left, label %right\n"

CASES: dict[str, tuple[dict[str, int], str, int]] = {
    "one after the other": ({"a": 5, "b": 5}, whole("a") + whole("b", "9"), 40),
    "one inside the other": (
        {"a": 5, "b": 5}, start("a") + use("a", "3") + whole("b") + use("a", "4") + end("a"), 80),
    "they overlap": (
        {"a": 5, "b": 5},
        start("a") + use("a", "3") + start("b") + use("b", "4") + end("a") + use("b", "5")
        + end("b"), 80),
    "in two arms": (
        {"a": 5, "b": 5},
        f"{FORK}left:\n{whole('a')}  br label %on\nright:\n{whole('b', '9')}  br label %on\non:\n",
        40),
    "one lives on behind the arms": (
        {"a": 5, "b": 5},
        f"{FORK}left:\n{start('a')}{use('a', '7')}  br label %on\nright:\n{whole('b', '9')}"
        f"  br label %on\non:\n{end('a')}", 40),
    "one lives in an arm and the other behind it": (
        {"a": 5, "b": 5},
        f"{FORK}left:\n{start('a')}{use('a', '7')}  br label %right\nright:\n{whole('b', '9')}"
        f"{end('a')}", 80),
    "a life goes round a loop": (
        {"a": 5, "b": 5},
        "  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n"
        f"{whole('b', '%i')}{start('a')}{use('a', '%i')}  %j = add i64 %i, 1\n"
        "  %more = icmp ult i64 %j, 3\n  br i1 %more, label %loop, label %on\non:\n"
        + end("a"), 80),
    "lives of each iteration": (
        {"a": 5, "b": 5},
        "  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n"
        f"{whole('b', '%i')}{whole('a', '%i')}  %j = add i64 %i, 1\n"
        "  %more = icmp ult i64 %j, 3\n  br i1 %more, label %loop, label %on\non:\n", 40),
    "no marks": ({"a": 5, "b": 5}, use("a", "7") + use("b", "9"), 80),
    "one without marks": (
        {"a": 5, "b": 5, "c": 5}, whole("a") + use("c", "8") + whole("b", "9") + use("c", "2"), 80),
    "as large as the largest": ({"a": 5, "b": 9, "c": 6}, whole("a") + whole("b") + whole("c"), 72),
    "two lives at a time need two": (
        {"a": 5, "b": 5, "c": 5, "d": 5},
        start("a") + start("b") + use("a", "1") + use("b", "2") + end("a") + start("c")
        + use("c", "3") + use("b", "4") + end("b") + start("d") + use("d", "5") + use("c", "6")
        + end("c") + end("d"), 80),
}  # fmt: skip
"""The variables and their 64-bit elements, the code, and the bytes of local memory it needs."""


def module(name: str) -> str:
    """The kernel of a case, which reads `given` and runs the code."""
    variables, code, _ = CASES[name]
    allocas = "".join(f"  %{v} = alloca [{n} x i64], align 8\n" for v, n in variables.items())
    return f"""
define internal void @use(ptr %p, i64 %seed, ptr addrspace(1) %out) noinline {{
entry:
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %i1, %fill ]
  %at = getelementptr i64, ptr %p, i64 %i
  %v = mul i64 %seed, 31
  %w = add i64 %v, %i
  store volatile i64 %w, ptr %at
  %i1 = add i64 %i, 1
  %full = icmp eq i64 %i1, 5
  br i1 %full, label %sum, label %fill
sum:
  %j = phi i64 [ 0, %fill ], [ %j1, %sum ]
  %from = getelementptr i64, ptr %p, i64 %j
  %x = load volatile i64, ptr %from
  %old = load i64, ptr addrspace(1) %out
  %ten = mul i64 %old, 10
  %new = add i64 %ten, %x
  store i64 %new, ptr addrspace(1) %out
  %j1 = add i64 %j, 1
  %done = icmp eq i64 %j1, 5
  br i1 %done, label %end, label %sum
end:
  ret void
}}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
entry:
{allocas}  %given = load volatile i64, ptr addrspace(1) %out
{code}  ret void
}}
"""


def local_bytes(ptx: str) -> int:
    """The bytes of all local variables of a PTX module."""
    return sum(int(n) for n in re.findall(r"^\s*\.local .*\[(\d+)\]", ptx, re.MULTILINE))


@pytest.mark.parametrize("name", CASES)
def test_as_many_bytes_as_are_alive_at_once(name: str) -> None:
    assert local_bytes(nvgen.compile(module(name), target=TARGET).ptx) == CASES[name][2]


def test_llvm_has_as_many() -> None:
    outcomes = llvm.compile_all([module(name) for name in CASES], TARGET, "8.8")
    got = {name: local_bytes(outcome.ptx) for name, outcome in zip(CASES, outcomes, strict=True)}
    assert got == {name: expected for name, (_, _, expected) in CASES.items()}


@pytest.mark.turns(3)
def test_values_are_what_llvm_leaves() -> None:
    compare({name: module(name) for name in CASES})


def test_a_slot_is_aligned_for_each() -> None:
    text = module("one after the other").replace(
        "%b = alloca [5 x i64], align 8", "%b = alloca [5 x i64], align 32"
    )
    assert ".local .align 32 .b8" in nvgen.compile(text, target=TARGET).ptx


@pytest.mark.parametrize("mark", ["start", "end"])
def test_a_mark_of_what_nobody_knows_keeps_all_apart(mark: str) -> None:
    text = module("one after the other").replace(
        start("a"), f"{start('a')}  call void @llvm.lifetime.{mark}.p0(ptr poison)\n"
    )
    assert local_bytes(nvgen.compile(text, target=TARGET, opt=0).ptx) == 80
