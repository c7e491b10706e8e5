"""Numbers anywhere in an index are offsets, where that changes no address; LLVM is the oracle.

An address is what LLVM's code makes it, in the simulator: for numbers that keep what the sums
promise, and for numbers that wrap where they promise nothing.  Neighbours then share one address
and are read as vectors, and ptxas makes no more instructions than of LLVM's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import nvgen
from tests.benchmarks.machine_code import assemble
from tests.oracle import llvm
from tests.oracle.side_by_side import compare

pytestmark = pytest.mark.turns(3)

TARGET, PTX = "sm_90a", "8.6"
LARGE = (1 << 31) - 1

FRAME = """
@x = addrspace(1) global i32 {x}
@y = addrspace(1) global i32 {y}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %x = load volatile i32, ptr addrspace(1) @x
  %y = load volatile i32, ptr addrspace(1) @y
  %wide = zext i32 %y to i64
  %zero = ptrtoint ptr addrspace(1) %out to i64
{lines}
  ret void
}}
"""
ADDRESS = """
{index}
  %p{n} = getelementptr {inbounds}float, ptr addrspace(1) %out, {type} %i{n}
  %a{n} = ptrtoint ptr addrspace(1) %p{n} to i64
  %d{n} = sub i64 %a{n}, %zero
  %o{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}
  store i64 %d{n}, ptr addrspace(1) %o{n}
"""

INDICES = {
    "number first": "%s{n} = add {flags} i32 %x, {k}\n  %t{n} = add {flags} i32 %s{n}, %y",
    "number last": "%s{n} = add {flags} i32 %y, %x\n  %t{n} = add {flags} i32 %s{n}, {k}",
    "number twice": "%s{n} = add {flags} i32 %x, {k}\n  %u{n} = add {flags} i32 %y, 1\n"
    "  %t{n} = add {flags} i32 %u{n}, %s{n}",
    "number alone": "%t{n} = add {flags} i32 %x, {k}",
    "number taken away": "%t{n} = sub {flags} i32 %x, {k}",
    "scaled": "%s{n} = add {flags} i32 %x, {k}\n  %u{n} = shl {flags} i32 %s{n}, 3\n"
    "  %t{n} = add {flags} i32 %u{n}, %y",
}
EXTENSIONS = {
    "zext": "\n  %i{n} = zext i32 %t{n} to i64",
    "sext": "\n  %i{n} = sext i32 %t{n} to i64",
    "in a sum": "\n  %e{n} = sext i32 %t{n} to i64\n  %i{n} = add i64 %e{n}, %wide",
}
KEPT = {"zext": "nuw", "sext": "nuw nsw", "in a sum": "nuw nsw"}


def addresses(index: str, flags: str, x: int, y: int, inbounds: str = "") -> str:
    """A kernel that writes how far three addresses are."""
    lines = "".join(
        ADDRESS.format(
            n=n, inbounds=inbounds, type="i64", index="  " + index.format(n=n, k=n + 1, flags=flags)
        )
        for n in range(3)
    )
    return FRAME.format(x=x, y=y, lines=lines)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("index", INDICES)
def test_addresses_are_llvms(index: str, extension: str) -> None:
    text = INDICES[index] + EXTENSIONS[extension]
    kept = {
        f"{flags} {x} {y}": addresses(text, flags, x, y)
        for flags in (KEPT[extension], "nsw")
        for x, y in ((40, 7), (4096, 1 << 20))
    }
    wraps = {
        f"wraps {x} {y}": addresses(text, "", x, y)
        for x, y in ((LARGE, 0), (LARGE - 1, LARGE), (-1, 5), (-2, -1), (1, -1), (-LARGE - 1, 0))
    }
    negative = {f"nsw {x} {y}": addresses(text, "nsw", x, y) for x, y in ((-9, 3), (-2000, -7))}
    compare(kept | wraps | (negative if extension != "zext" else {}))


@pytest.mark.parametrize("index", INDICES)
def test_an_index_in_bounds_that_is_not_negative_may_have_wrapped(index: str) -> None:
    """A part of it may be anything: -5 + 9 is 4."""
    text = INDICES[index] + EXTENSIONS["sext"]
    given = ((40, 7), (20, -5), (-5, 29)) if "alone" not in index and "away" not in index else ()
    if index != "scaled":
        compare({f"{x} {y}": addresses(text, "", x, y, "inbounds ") for x, y in (*given, (40, 7))})


def test_bits_that_are_said_to_be_apart_are_not_where_nothing_uses_them() -> None:
    """The `or` is poison here, which nobody sees; the sum of the same two is 6 + 3."""
    index = (
        "%or{n} = or disjoint i32 %x, %y\n  %s{n} = add nuw nsw i32 %x, {k}\n"
        "  %t{n} = add nuw nsw i32 %s{n}, %y\n  %i{n} = zext i32 %t{n} to i64"
    )
    compare({"overlap": addresses(index, "", 6, 3)})


STENCIL = """
define ptx_kernel void @k(ptr addrspace(1) readonly %a, ptr addrspace(1) noalias %out, i32 %z) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %row = mul nuw nsw i32 %b, 1088
  %column = and i32 %z, 992
{lines}
  ret void
}}
"""
"""Sums of a row, a thread and a column, as IREE's pooling has them: numbers in two of the three."""


def stencil() -> str:
    """A 3 x 3 window: rows are 1088 elements apart, columns 32."""
    lines, total = [], "0.0"
    for row in range(3):
        lines += [
            f"  %r{row} = add nuw nsw i32 %row, {1088 * row}",
            f"  %at{row} = add nuw nsw i32 %r{row}, %t",
        ]
        for column in range(3):
            n = 3 * row + column
            lines += [
                f"  %c{n} = add nuw nsw i32 %column, {32 * column}",
                f"  %s{n} = add nuw nsw i32 %at{row}, %c{n}",
                f"  %i{n} = zext nneg i32 %s{n} to i64",
                f"  %p{n} = getelementptr inbounds float, ptr addrspace(1) %a, i64 %i{n}",
                f"  %v{n} = load float, ptr addrspace(1) %p{n}",
                f"  %f{n} = fadd float {total}, %v{n}",
            ]
            total = f"%f{n}"
    lines.append(f"  store float {total}, ptr addrspace(1) %out")
    return STENCIL.format(lines="\n".join(lines))


RUN_OF_FOUR = """
define ptx_kernel void @k(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) %out, i32 %x) {{
  %q = shl nuw nsw i32 %x, 2
{lines}
  ret void
}}
"""


def run_of_four() -> str:
    """Four elements `4 x`, `4 x + 1`, …: what aligns the first aligns them all."""
    lines, total = [], "0.0"
    for n in range(4):
        lines += [
            f"  %s{n} = or disjoint i32 %q, {n}" if n else "",
            f"  %i{n} = zext nneg i32 %{f's{n}' if n else 'q'} to i64",
            f"  %p{n} = getelementptr inbounds float, ptr addrspace(1) %a, i64 %i{n}",
            f"  %v{n} = load float, ptr addrspace(1) %p{n}, align {4 if n else 16}",
            f"  %f{n} = fadd float {total}, %v{n}",
        ]
        total = f"%f{n}"
    lines.append(f"  store float {total}, ptr addrspace(1) %out")
    return RUN_OF_FOUR.format(lines="\n".join(lines))


def test_neighbours_share_one_address() -> None:
    ptx = nvgen.compile(stencil(), target=TARGET).ptx
    read = re.findall(r"ld\.global\S* %r\d+, \[(%rd\d+)(?:\+(\d+))?\]", ptx)
    assert len({base for base, _ in read}) == 1
    assert sorted(int(offset or 0) for _, offset in read) == sorted(
        4 * (1088 * row + 32 * column) for row in range(3) for column in range(3)
    )


def test_neighbours_are_one_vector() -> None:
    ptx = nvgen.compile(run_of_four(), target=TARGET).ptx
    assert len(re.findall(r"ld\.global", ptx)) == len(re.findall(r"ld\.global\S*\.v4\.", ptx)) == 1


@pytest.mark.parametrize("make", [stencil, run_of_four])
def test_ptxas_makes_no_more_instructions_than_of_llvms_text(make: Callable[[], str]) -> None:
    text = make()
    (theirs,) = llvm.compile_all([llvm.HEADER + text], TARGET, PTX, opt=3)
    ours = assemble(nvgen.compile(text, target=TARGET, ptx=PTX).ptx, TARGET)
    assert ours.instructions <= assemble(theirs.ptx, TARGET).instructions
