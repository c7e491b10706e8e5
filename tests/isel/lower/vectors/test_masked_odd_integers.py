"""Masked accesses of integers of any width: elements stand where LLVM's code has them.

Memory has nothing beyond the bits of an element: there LLVM leaves open what is read.
"""

from __future__ import annotations

import pytest

from tests.oracle.side_by_side import compare

pytestmark = pytest.mark.turns(6)

WIDTHS = (1, 3, 7, 8, 12, 24, 33, 40, 63, 64, 65, 128)
DEADLY = (8, 12)
"""Of vectors of 4 and 8 bytes LLVM ends the process, where a load's mask is a number."""

MASKS = {
    "known": "<4 x i1> <i1 true, i1 false, i1 true, i1 true>",
    "all": "<4 x i1> splat (i1 true)",
    "none": "<4 x i1> zeroinitializer",
    "asked": "<4 x i1> %mask",
}
FRAME = """
@data = addrspace(1) global [16 x i64] zeroinitializer
@whole = addrspace(1) global [8 x i64] zeroinitializer
@places = addrspace(1) global <4 x i32> <i32 2, i32 0, i32 3, i32 1>
@bits = addrspace(1) global i32 13
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %word = load volatile i32, ptr addrspace(1) @bits
  %four = trunc i32 %word to i4
  %mask = bitcast i4 %four to <4 x i1>
  %at = load volatile <4 x i32>, ptr addrspace(1) @places
  %to = getelementptr TYPE, ptr addrspace(1) @data, <4 x i32> %at
INITIAL
  %given = load volatile VECTOR, ptr addrspace(1) @whole
LINES
  ret void
}
"""
READING = {
    "load": "@llvm.masked.load.v4TYPE.p1(ptr addrspace(1) @FROM, i32 8, MASK, VECTOR %given)",
    "gather": "@llvm.masked.gather.v4TYPE.v4p1(<4 x ptr addrspace(1)> %to, i32 1, MASK, "
    "VECTOR zeroinitializer)",
    "expandload": "@llvm.masked.expandload.v4TYPE(ptr addrspacecast (ptr addrspace(1) @data to "
    "ptr), MASK, VECTOR %given)",
}
WRITING = {
    "store": "@llvm.masked.store.v4TYPE.p1(VECTOR %given, ptr addrspace(1) %out, i32 8, MASK)",
    "scatter": "@llvm.masked.scatter.v4TYPE.v4p1(VECTOR %given, <4 x ptr addrspace(1)> %into, "
    "i32 1, MASK)",
    "compressstore": "@llvm.masked.compressstore.v4TYPE(VECTOR %given, ptr %plain, MASK)",
}


CASTS = {
    -1: "zext TYPE %s{n} to i64",
    0: "add TYPE %s{n}, 0",
    1: "trunc TYPE %s{n} to i64",
}
"""To a word, from fewer bits, as many, or more."""


def initial(bits: int) -> str:
    """Lines that write elements of an array, and a vector, which has its bits closer together."""
    values = [(0x9E3779B97F4A7C15F39CC0605CEDC835 >> 3 * n) % (1 << bits) for n in range(8)]
    lines = [
        f"  %d{n} = getelementptr TYPE, ptr addrspace(1) @data, i32 {n}\n"
        f"  store volatile TYPE {value}, ptr addrspace(1) %d{n}"
        for n, value in enumerate(values)
    ]
    vector = ", ".join(f"TYPE {value}" for value in values[:4])
    return "\n".join([*lines, f"  store volatile VECTOR <{vector}>, ptr addrspace(1) @whole"])


def kernel(verb: str, bits: int, mask: str) -> str:
    """One access; of what was read each element is written as a word, its upper 64 bits."""
    lines = [
        "  %last = getelementptr i64, ptr addrspace(1) %out, i64 31",
        "  store i64 1, ptr addrspace(1) %last",
        "  %plain = addrspacecast ptr addrspace(1) %out to ptr",
        "  %into = getelementptr TYPE, ptr addrspace(1) %out, <4 x i32> %at",
    ]
    if verb in WRITING:
        lines.append(f"  call void {WRITING[verb]}")
    else:
        lines.append(f"  %v = call VECTOR {READING[verb]}")
        for n in range(4):
            lines += [
                f"  %e{n} = extractelement VECTOR %v, i32 {n}",
                f"  %s{n} = lshr TYPE %e{n}, {max(bits - 64, 0)}",
                f"  %w{n} = {CASTS[(bits > 64) - (bits < 64)].format(n=n)}",
                f"  %p{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}",
                f"  store i64 %w{n}, ptr addrspace(1) %p{n}",
            ]
    text = FRAME.replace("INITIAL", initial(bits)).replace("LINES", "\n".join(lines))
    text = text.replace("MASK", MASKS[mask]).replace("FROM", "whole" if mask == "all" else "data")
    return text.replace("VECTOR", f"<4 x i{bits}>").replace("TYPE", f"i{bits}")


@pytest.mark.parametrize("verb", [*READING, *WRITING])
def test_values_are_llvms(verb: str) -> None:
    compare(
        {
            f"i{bits}, {mask}": kernel(verb, bits, mask)
            for bits in WIDTHS
            for mask in MASKS
            if (verb, mask) != ("load", "known") or bits not in DEADLY
        }
    )
