"""An element of a vector in memory, at a computed place, moves alone, and to and from its place."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import nvgen
from tests.oracle.side_by_side import TARGET, compare

HEAD = """
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %base = getelementptr i64, ptr addrspace(1) %out, i64 8
  %from = getelementptr i64, ptr addrspace(1) %out, i64 16
"""


def kernel(*lines: str) -> str:
    return HEAD + "".join(f"  {line}\n" for line in lines) + "  ret void\n}\n"


def filled(type_: str, count: int) -> list[str]:
    """Numbers in the words that vectors are loaded from."""
    lines = []
    for at, where in enumerate(["base"] * count + ["from"] * count):
        step = f"getelementptr {type_}, ptr addrspace(1) %{where}, i64 {at % count}"
        number = f"{at + 3}.0" if type_ in ("float", "double") else str(at + 3)
        lines += [f"%f{at} = {step}", f"store {type_} {number}, ptr addrspace(1) %f{at}"]
    return lines


def change(type_: str, count: int, index: int, wide: str = "i32") -> list[str]:
    """An element of the vector at `base` is replaced, by one of the vector at `from`."""
    vector = f"<{count} x {type_}>"
    resized = {"i32": "add i32 %t, 0", "i64": "zext i32 %t to i64"}
    return [
        f"%w = {resized.get(wide, f'trunc i32 %t to {wide}')}",
        f"%at = add {wide} %w, {index}",
        f"%v = load {vector}, ptr addrspace(1) %from, align 8",
        f"%x = extractelement {vector} %v, {wide} %at",
        f"%o = load {vector}, ptr addrspace(1) %base, align 8",
        f"%n = insertelement {vector} %o, {type_} %x, {wide} %at",
        f"store {vector} %n, ptr addrspace(1) %base, align 8",
    ]


CHANGES = {
    f"{type_} {count} {index} {wide}": [*filled(type_, count), *change(type_, count, index, wide)]
    for type_, count, index, wide in (
        ("i32", 4, 2, "i32"), ("float", 4, 3, "i64"), ("i64", 4, 1, "i32"), ("i8", 8, 7, "i32"),
        ("i16", 4, 0, "i8"), ("i32", 5, 4, "i32"), ("double", 4, 2, "i2"), ("i16", 7, 5, "i64"),
    )
}  # fmt: skip


def test_memory_is_what_llvm_leaves() -> None:
    compare({name: kernel(*lines) for name, lines in CHANGES.items()})


def moved(*lines: str) -> Counter[str]:
    ptx = nvgen.compile(kernel(*lines), target=TARGET).ptx
    return Counter(re.findall(r"\b((?:ld|st)\.global\S*) ", ptx))


def test_one_element_moves() -> None:
    assert moved(*change("i32", 4, 1)) == {"ld.global.b32": 1, "st.global.b32": 1}


@pytest.mark.parametrize(
    "between",
    [
        "store i32 1, ptr addrspace(1) %out",
        "%s = load volatile i32, ptr addrspace(1) %out",
        "fence seq_cst",
    ],
)
def test_what_may_write_between_keeps_the_vector(between: str) -> None:
    *first, last = change("i32", 4, 1)
    assert moved(*first, between, last)["st.global.v2.b32"] == 2


def test_a_vector_that_is_wanted_whole_is_loaded() -> None:
    more = "%q = getelementptr i64, ptr addrspace(1) %out, i64 24"
    lines = [*change("i32", 4, 1), more, "store <4 x i32> %v, ptr addrspace(1) %q, align 8"]
    found = moved(*lines)
    assert found["ld.global.v2.b32"] == 2
    assert found["st.global.b32"] == 1


def test_another_place_is_no_change() -> None:
    """The vector goes elsewhere, with all its elements."""
    *first, _ = change("i32", 4, 1)
    found = moved(*first, "store <4 x i32> %n, ptr addrspace(1) %out, align 8")
    assert found["st.global.v2.b32"] == 2


def test_an_index_beyond_the_vector_is_no_address_beyond_it() -> None:
    """The result is poison, the access has to stay inside."""
    text = kernel(*filled("i32", 4), *change("i32", 4, 77), "store i32 1, ptr addrspace(1) %out")
    out = np.zeros(18, np.uint64)  # as many as the vectors reach
    nvgen.compile(text, target=TARGET).run(out, block=1)
    assert out[0] == 1
