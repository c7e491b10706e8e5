"""A number in what an index is a multiple of is an offset; the addresses are what they were.

`(x | 1) << 6`, as IREE's convolutions have it, is 64 elements behind `x << 6`.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from tests.oracle.side_by_side import compare

SCALES = {
    "shifted": "shl {flags}i32 %s{n}, 6",
    "multiplied": "mul {flags}i32 %s{n}, 12",
}
SUMS = {"or": "or disjoint i32 %x, {n}", "add": "add nuw i32 %x, {n}"}
KERNEL = """
@number = addrspace(1) global i32 {x}
define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %x0 = load volatile i32, ptr addrspace(1) @number
  %x = shl nuw i32 %x0, 2
  %zero = ptrtoint ptr addrspace(1) %out to i64
{lines}
  ret void
}}
"""
ADDRESS = """
  %s{n} = {sum}
  %m{n} = {scale}
  %w{n} = zext i32 %m{n} to i64
  %p{n} = getelementptr float, ptr addrspace(1) %out, i64 %w{n}
  %a{n} = ptrtoint ptr addrspace(1) %p{n} to i64
  %d{n} = sub i64 %a{n}, %zero
  %o{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}
  store i64 %d{n}, ptr addrspace(1) %o{n}
"""
ACCESS = """
  %s{n} = {sum}
  %m{n} = {scale}
  %w{n} = zext i32 %m{n} to i64
  %p{n} = getelementptr float, ptr addrspace(1) %out, i64 %w{n}
  store float 1.0, ptr addrspace(1) %p{n}
"""


def kernel(template: str, sum_: str, scale: str, flags: str, x: int = 5) -> str:
    """Places that three sums of one value lead to."""
    lines = "".join(
        template.format(
            n=n, sum=SUMS[sum_].format(n=n), scale=SCALES[scale].format(n=n, flags=flags)
        )
        for n in (1, 2, 3)
    )
    return KERNEL.format(x=x, lines=lines)


@pytest.mark.turns(3)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sum_", SUMS)
def test_addresses_are_llvms(sum_: str, scale: str, opt: int) -> None:
    """Flags are given where they hold: (4 * 0xfffffff + 3) * 12 has more than 32 bits."""
    numbers = {"small": (5, True), "large": ((1 << 23) - 1, True), "wraps": ((1 << 28) - 1, False)}
    modules = {
        f"{name}, {flags}": kernel(ADDRESS, sum_, scale, flags, x)
        for name, (x, holds) in numbers.items()
        for flags in (("", "nuw ", "nuw nsw ") if holds else ("",))
    }
    compare(modules, opt=opt)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sum_", SUMS)
def test_one_address_serves_all(sum_: str, scale: str) -> None:
    ptx = nvgen.compile(kernel(ACCESS, sum_, scale, "nuw "), target="sm_90a").ptx
    step = 64 if scale == "shifted" else 12
    offsets = re.findall(r"st\.global\.b32 \[%rd\d+\+(\d+)\]", ptx)
    assert offsets == [str(4 * step * n) for n in (1, 2, 3)]


def test_a_scaled_sum_that_may_wrap_is_no_offset() -> None:
    ptx = nvgen.compile(kernel(ACCESS, "or", "shifted", ""), target="sm_90a").ptx
    assert not re.search(r"st\.global\.b32 \[%rd\d+\+", ptx)


SMALL = "and i32 %x0, {most}"
"""What stands for the `shl nuw` of the kernel: numbers of a few bits."""


def bounded(template: str, scale: str, most: int, x: int) -> str:
    """The kernel with sums of a number of which the bits alone say how large it may be."""
    text = kernel(template, "add", scale, "", x).replace("add nuw", "add")
    return text.replace("shl nuw i32 %x0, 2", SMALL.format(most=most))


@pytest.mark.parametrize("scale", SCALES)
def test_sums_of_small_numbers_promise_what_others_say(scale: str) -> None:
    """(2^24 - 1 + 3) * 12 has less than 32 bits; (2^27 - 1 + 3) * 64 has more."""
    modules = {
        f"{most}": bounded(ADDRESS, scale, most, most)
        for most in (63, (1 << 24) - 1, (1 << 27) - 1)
    }
    compare(modules)
    step = 64 if scale == "shifted" else 12
    for most, takes in ((63, True), ((1 << 27) - 1, False)):
        ptx = nvgen.compile(bounded(ACCESS, scale, most, 5), target="sm_90a").ptx
        offsets = re.findall(r"st\.global\.b32 \[%rd\d+\+(\d+)\]", ptx)
        assert offsets == ([str(4 * step * n) for n in (1, 2, 3)] if takes else [])


THREAD = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"


@pytest.mark.parametrize("extended", ["", "sext", "zext"])
def test_a_thread_has_a_small_number(extended: str) -> None:
    """CUDA's blocks have 1024 threads, whose numbers go through 64 bits, as MLIR's `index`."""
    text = bounded(ACCESS, "shifted", 63, 5)
    thread = "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
    if extended:
        thread += f"\n  %w = {extended} i32 %x to i64\n  %y = trunc i64 %w to i32"
    text = THREAD + text.replace(SMALL.format(most=63), thread)
    if extended:
        text = text.replace("add i32 %x,", "add i32 %y,")
    ptx = nvgen.compile(text, target="sm_90a").ptx
    assert re.findall(r"st\.global\.b32 \[%rd\d+\+(\d+)\]", ptx) == ["256", "512", "768"]
