"""Neighbours that are aligned as a whole move as one, and memory holds what it held before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nvgen
from tests.oracle.side_by_side import TARGET, compare
from tests.turns import examples

HEAD = "define ptx_kernel void @k(ptr addrspace(1) %out) {\n"
TYPES = {"i32": 4, "float": 4, "i64": 8, "double": 8, "i16": 2, "i8": 1, "ptr addrspace(1)": 8}


def kernel(*lines: str) -> str:
    return HEAD + "".join(f"  {line}\n" for line in lines) + "  ret void\n}\n"


def access(n: int, type_: str, offset: int, alignment: int, value: str = "") -> list[str]:
    """A store of a value to `%base` + offset, or a load of `%vN` from there."""
    step = f"%p{n} = getelementptr i8, ptr addrspace(1) %base, i64 {offset}"
    what = f"store {type_} {value}," if value else f"%v{n} = load {type_},"
    return [step, f"{what} ptr addrspace(1) %p{n}, align {alignment}"]


BASE = "%base = getelementptr i64, ptr addrspace(1) %out, i64 4"


def moved(lines: Sequence[str]) -> Counter[str]:
    """How often each load or store of global memory stands in the PTX."""
    ptx = nvgen.compile(kernel(*lines), target=TARGET).ptx
    return Counter(re.findall(r"\b((?:ld|st)\.global\S*) ", ptx))


def stores(*given_: tuple[int, str, int, int]) -> list[str]:
    return [BASE] + [
        line
        for n, (offset, type_, alignment, value) in enumerate(given_)
        for line in access(n, type_, offset, alignment, str(value))
    ]


WRITTEN = {
    "four words": ([(0, "i32", 16, 1), (4, "i32", 4, 2), (8, "i32", 8, 3), (12, "i32", 4, 4)],
                   {"st.global.v4.b32": 1}),
    "the last one first": ([(4, "i32", 4, 1), (0, "i32", 8, 2)], {"st.global.v2.b32": 1}),
    "two long words": ([(0, "i64", 16, 1), (8, "i64", 8, 2)], {"st.global.v2.b64": 1}),
    "not aligned": ([(0, "i32", 4, 1), (4, "i32", 8, 2)], {"st.global.b32": 2}),
    "a gap": ([(0, "i32", 8, 1), (8, "i32", 4, 2)], {"st.global.b32": 2}),
    "two and one": ([(0, "i32", 8, 1), (4, "i32", 4, 2), (8, "i32", 8, 3)],
                    {"st.global.v2.b32": 1, "st.global.b32": 1}),
    "one over another": ([(0, "i64", 16, -1), (4, "i32", 4, 7), (8, "i64", 8, 2)],
                         {"st.global.b64": 2, "st.global.b32": 1}),
    "twice": ([(0, "i32", 8, 1), (4, "i32", 4, 2), (0, "i32", 8, 3)], {"st.global.v2.b32": 1}),
    "halves": ([(0, "i16", 4, 1), (2, "i16", 2, 2)], {"st.global.b32": 1}),
    "bytes": ([(n, "i8", 8 >> n % 2, n) for n in range(8)], {"st.global.v2.b32": 1}),
    "no whole bytes": ([(0, "i24", 8, 1), (4, "i24", 4, 2)],
                       {"st.global.b16": 2, "st.global.b8": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_stores_that_are_neighbours_are_one(name: str) -> None:
    given_, expected = WRITTEN[name]
    assert moved(stores(*given_)) == expected


def test_what_may_lie_between_keeps_the_order() -> None:
    """A load, a store of another pointer, a call, and what is volatile."""
    somewhere = [
        "%far = load volatile i64, ptr addrspace(1) %out",
        "%other = getelementptr i8, ptr addrspace(1) %out, i64 %far",
    ]
    first = access(0, "i32", 0, 8, "1")
    second = access(1, "i32", 4, 4, "2")
    for between in (
        "%w = load i32, ptr addrspace(1) %out",
        "store i32 3, ptr addrspace(1) %other",
        'call void asm sideeffect "nanosleep.u32 1;", "~{memory}"()',
        "fence seq_cst",
        "store volatile i32 3, ptr addrspace(1) %out",
    ):
        found = moved([BASE, *somewhere, *first, between, *second])
        assert not any(".v2" in name for name in found), between


def test_loads_that_are_neighbours_are_one_where_nothing_is_written_between() -> None:
    one, two = access(0, "float", 4, 4), access(1, "float", 0, 8)
    kept = ["%s = fadd float %v0, %v1", "store float %s, ptr addrspace(1) %out"]
    assert moved([BASE, *one, *two, *kept]) == {"ld.global.v2.b32": 1, "st.global.b32": 1}
    write = [
        "%p = load ptr addrspace(1), ptr addrspace(3) null",
        "store i32 1, ptr addrspace(1) %p",
    ]
    found = moved([BASE, *one, *write, *two, *kept])
    assert (found["ld.global.b32"], found["st.global.b32"]) == (2, 2)
    volatile = [line.replace("load", "load volatile") for line in one]
    assert "ld.global.v2.b32" not in moved([BASE, *volatile, *two, *kept])


def test_words_of_two_types_are_one_access() -> None:
    lines = [*access(0, "float", 0, 8), *access(1, "i32", 4, 4)]
    kept = ["%n = fptosi float %v0 to i32", "%s = add i32 %n, %v1",
            "store i32 %s, ptr addrspace(1) %out"]  # fmt: skip
    assert moved([BASE, *lines, *kept])["ld.global.v2.b32"] == 1


PURE = {
    "call float @llvm.fma.f32(float %x, float %x, float %x)": True,
    "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()": True,
    "call i32 @known(i32 1)": True,
    "call i32 @endless(i32 1)": False,
    "call i32 @together(i32 1)": False,
    "call i32 @reads(i32 1)": False,
    "call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 1, i32 0, i32 31)": False,
    "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)": False,
}
DECLARED = """
declare i32 @known(i32) willreturn memory(none)
declare i32 @endless(i32) memory(none)
declare i32 @together(i32) convergent willreturn memory(none)
declare i32 @reads(i32) willreturn memory(read)
"""


@pytest.mark.parametrize("call", PURE)
def test_accesses_move_across_calls_that_touch_no_memory_and_return(call: str) -> None:
    """Stores: they may not pass what reads either."""
    one, two = access(0, "i32", 0, 8, "1"), access(1, "i32", 4, 4, "2")
    text = kernel(BASE, "%x = fadd float 1.0, 2.0", *one, call, *two) + DECLARED
    ptx = nvgen.compile(text, target=TARGET).ptx
    assert ("st.global.v2.b32" in ptx) is PURE[call]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Stores of numbers and copies of words, at offsets that may overlap; each may be aligned."""
    lines = [BASE]
    loaded: list[tuple[str, str]] = []
    for n in range(draw(st.integers(2, 10))):
        type_ = draw(st.sampled_from(["i32", "float", "i64", "i16", "i8"]))
        size = TYPES[type_]
        offset = draw(st.integers(0, 32 // size - 1)) * size
        largest = next(a for a in (16, 8, 4, 2, 1) if offset % a == 0)
        same = [name for name, of in loaded if of == type_]
        number = "0x4009220000000000" if type_ == "float" else str(n + 3)
        if draw(st.booleans()):
            lines += access(n, type_, offset, draw(st.sampled_from([size, largest])))
            loaded.append((f"%v{n}", type_))
        else:
            value = draw(st.sampled_from([*same, number]))
            lines += access(n, type_, offset, draw(st.sampled_from([size, largest])), value)
    for at, (name, type_) in enumerate(loaded):
        lines.append(f"%q{at} = getelementptr i64, ptr addrspace(1) %out, i64 {12 + at}")
        lines.append(f"store {type_} {name}, ptr addrspace(1) %q{at}")
    return kernel(*lines, "store i64 1, ptr addrspace(1) %out")


@examples(12)
@given(st.lists(programs(), min_size=4, max_size=4))
def test_memory_is_what_llvm_leaves(texts: list[str]) -> None:
    compare({f"{n}": text for n, text in enumerate(texts)})


def test_a_step_over_what_has_no_size_is_told_where_it_stands() -> None:
    step = '%p = getelementptr target("spirv.Image"), ptr addrspace(1) %out, i64 1'
    with pytest.raises(nvgen.NvgenError) as error:
        nvgen.compile(kernel(step, "store i32 1, ptr addrspace(1) %p, align 8"), target=TARGET)
    assert "has no size" in str(error.value)
